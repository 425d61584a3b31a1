/* FFTW alone on arrays in memory, for `bench`: the best that its planner finds, for all transforms
 * of a thread at once or one by one, on as many threads as the filter bank has. */
#include "base/clock.h"
#include "base/memory.h"
#include "compute/cpu/cpu.h"
#include "compute/cpu/fft/fft.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Of the arrays: many times the last-level cache. */
    MOST_POINTS = 1 << 24,
    MOST_THREAD_POINTS = 1 << 22,
    PLANS = 2
};

/* Every thread has a share of the spectra, which it touched first: no two work on one array. */
struct bare {
    pool_t *pool;
    uint64_t shares;
    uint64_t spectra; /* of a share */
    struct cpu_fft_shape shapes[PLANS];
    cpu_fft_t *plans[PLANS];
    int plan; /* that is run */
    float *in, *out;
};

void cpu_bare_destroy(struct bare *bare)
{
    if (!bare) {
        return;
    }
    for (int i = 0; i < PLANS; i++) {
        cpu_fft_destroy(bare->plans[i]);
    }
    free(bare->in);
    free(bare->out);
    free(bare);
}

static void baseline_bare_touch(void *context, uint32_t thread, uint64_t share)
{
    const struct bare *bare = context;
    const struct cpu_fft_shape *shape = &bare->shapes[0];
    uint64_t in = bare->spectra * shape->in_row;
    uint64_t out = bare->spectra * shape->out_row;
    (void)thread;
    memset(bare->in + share * in, 0, (size_t)in * sizeof(float));
    memset(bare->out + share * out, 0, (size_t)out * sizeof(float));
}

static void baseline_bare_transform(void *context, uint32_t thread, uint64_t share)
{
    const struct bare *bare = context;
    const struct cpu_fft_shape *shape = &bare->shapes[bare->plan];
    uint64_t first = share * bare->spectra;
    (void)thread;
    for (uint64_t s = first; s < first + bare->spectra; s += shape->batch) {
        cpu_fft_run(bare->plans[bare->plan], bare->in + s * shape->in_row,
                    bare->out + s * shape->out_row);
    }
}

static void baseline_bare_nothing(void *context, uint32_t thread, uint64_t task)
{
    (void)context;
    (void)thread;
    (void)task;
}

/* Every share once, each on a thread; waits. */
static void baseline_bare_share_out(struct bare *bare,
                                    void (*run)(void *context, uint32_t thread, uint64_t share))
{
    struct pool_block work = {
        .context = bare, .run = {run, baseline_bare_nothing}, .tasks = {bare->shares, 0}};
    pool_wait(bare->pool, pool_submit(bare->pool, &work));
}

static status_t baseline_bare_make(struct bare *bare, const struct channelise_spec *spec,
                                   uint64_t spectra)
{
    status_t st = STATUS_OK;
    /* Patience with all at once takes minutes and gains nothing. */
    static const enum fft_planning efforts[PLANS] = {PLANNING_MEASURE, PLANNING_PATIENT};
    size_t points = channelise_samples(spec);
    size_t in_row = spec->is_complex ? 2 * points : points;
    size_t out_row = spec->is_complex ? 2 * points : points + 4; /* aligned */
    uint64_t most = max_u64(MOST_POINTS, (uint64_t)spec->threads * MOST_THREAD_POINTS) / points;
    char wisdom[4096];
    spectra = max_u64(min_u64(spectra, most), 1);
    bare->shares = min_u64(spec->threads, spectra);
    bare->spectra = spectra / bare->shares;
    spectra = bare->shares * bare->spectra;
    TRY(memory_aligned((size_t)spectra * in_row, sizeof(float), "transforms", &bare->in));
    TRY(memory_aligned((size_t)spectra * out_row, sizeof(float), "transforms", &bare->out));
    for (int i = 0; i < PLANS; i++) {
        struct cpu_fft_shape *shape = &bare->shapes[i];
        *shape = (struct cpu_fft_shape){.points = points,
                                        .is_complex = spec->is_complex,
                                        .batch = i == 0 ? (size_t)bare->spectra : 1,
                                        .in_row = in_row,
                                        .out_row = out_row};
        TRY(cpu_fft_wisdom(shape, efforts[i], wisdom, sizeof wisdom));
        TRY(cpu_fft_create(shape, wisdom, &bare->plans[i]));
    }
    baseline_bare_share_out(bare, baseline_bare_touch);
out:
    return st;
}

status_t cpu_bare_create(backend_t *backend, const struct channelise_spec *spec, uint64_t spectra,
                         struct bare **out)
{
    status_t st = STATUS_OK;
    struct bare *bare = NULL;
    TRY(memory_zeroed(1, sizeof *bare, "transforms", &bare));
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &bare->pool));
    TRY(baseline_bare_make(bare, spec, spectra));
    *out = bare;
    bare = NULL;
out:
    cpu_bare_destroy(bare);
    return st;
}

double cpu_bare_time(struct bare *bare)
{
    double best = 0;
    for (bare->plan = 0; bare->plan < PLANS; bare->plan++) {
        double started = clock_now();
        baseline_bare_share_out(bare, baseline_bare_transform);
        double seconds = clock_now() - started;
        best = bare->plan == 0 || seconds < best ? seconds : best;
    }
    return best / (double)(bare->shares * bare->spectra);
}
