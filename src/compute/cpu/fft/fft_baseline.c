/* FFTW alone on arrays in memory, for `bench`: the best that its planner finds, for all transforms
 * of a thread at once or one by one, on as many threads as the filter bank has. */
#include "base/clock.h"
#include "base/memory.h"
#include "compute/cpu/cpu.h"
#include "compute/cpu/fft/cpu_fft.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Points of the arrays: many times the last-level cache. */
    MOST_POINTS = 1 << 24,
    MOST_THREAD_POINTS = 1 << 22,
    PLANS = 2
};

/* Every thread has a share of the spectra, which it touched first: no two work on one array. */
struct baseline {
    struct fft_baseline base;
    pool_t *pool;
    uint64_t shares;
    uint64_t spectra; /* of a share */
    struct cpu_fft_shape shapes[PLANS];
    cpu_fft_t *plans[PLANS];
    int plan; /* that is run */
    float *in, *out;
};

static void baseline_destroy(fft_baseline_t *base)
{
    struct baseline *b = (struct baseline *)base;
    for (int i = 0; i < PLANS; i++) {
        cpu_fft_destroy(b->plans[i]);
    }
    free(b->in);
    free(b->out);
    free(b);
}

static void baseline_touch(void *context, uint32_t thread, uint64_t share)
{
    const struct baseline *b = context;
    const struct cpu_fft_shape *shape = &b->shapes[0];
    uint64_t in = b->spectra * shape->in_row;
    uint64_t out = b->spectra * shape->out_row;
    (void)thread;
    memset(b->in + share * in, 0, (size_t)in * sizeof(float));
    memset(b->out + share * out, 0, (size_t)out * sizeof(float));
}

static void baseline_transform(void *context, uint32_t thread, uint64_t share)
{
    const struct baseline *b = context;
    const struct cpu_fft_shape *shape = &b->shapes[b->plan];
    uint64_t first = share * b->spectra;
    (void)thread;
    for (uint64_t s = first; s < first + b->spectra; s += shape->batch) {
        cpu_fft_run(b->plans[b->plan], b->in + s * shape->in_row, b->out + s * shape->out_row);
    }
}

/* Every share once, each on a thread; waits. */
static void baseline_share_out(struct baseline *b, pool_task_t *run)
{
    struct pool_block work = {.context = b, .run = {run}, .tasks = {b->shares}};
    pool_wait(b->pool, pool_submit(b->pool, &work));
}

static status_t baseline_make(struct baseline *b, const struct channelise_spec *spec,
                              uint64_t spectra)
{
    /* Patience with all at once takes minutes and gains nothing. */
    static const enum fft_planning efforts[PLANS] = {PLANNING_MEASURE, PLANNING_PATIENT};
    size_t points = channelise_samples(spec);
    size_t in_row = spec->is_complex ? 2 * points : points;
    size_t out_row = spec->is_complex ? 2 * points : points + 4; /* aligned */
    uint64_t most = max_u64(MOST_POINTS, (uint64_t)spec->threads * MOST_THREAD_POINTS) / points;
    char wisdom[4096];
    spectra = max_u64(min_u64(spectra, most), 1);
    b->shares = min_u64(spec->threads, spectra);
    b->spectra = spectra / b->shares;
    spectra = b->shares * b->spectra;
    TRY(memory_aligned((size_t)spectra * in_row, sizeof(float), "transforms", &b->in));
    TRY(memory_aligned((size_t)spectra * out_row, sizeof(float), "transforms", &b->out));
    for (int i = 0; i < PLANS; i++) {
        struct cpu_fft_shape *shape = &b->shapes[i];
        *shape = (struct cpu_fft_shape){.points = points,
                                        .is_complex = spec->is_complex,
                                        .batch = i == 0 ? (size_t)b->spectra : 1,
                                        .in_row = in_row,
                                        .out_row = out_row};
        TRY(cpu_fft_wisdom(shape, 1, efforts[i], wisdom, sizeof wisdom));
        TRY(cpu_fft_create(shape, wisdom, &b->plans[i]));
    }
    baseline_share_out(b, baseline_touch);
    return STATUS_OK;
}

static status_t baseline_create(backend_t *backend, const struct channelise_spec *spec,
                                uint64_t spectra, fft_baseline_t **out)
{
    status_t st = STATUS_OK;
    struct baseline *b = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *b, "transforms", &b));
    TRY_OUT(cpu_pool((struct cpu_backend *)backend, spec->threads, &b->pool));
    TRY_OUT(baseline_make(b, spec, spectra));
    *out = &b->base;
    b = NULL;
out:
    if (b) {
        baseline_destroy(&b->base);
    }
    return st;
}

static double baseline_time(fft_baseline_t *base)
{
    struct baseline *b = (struct baseline *)base;
    double best = 0;
    for (b->plan = 0; b->plan < PLANS; b->plan++) {
        double started = clock_now();
        baseline_share_out(b, baseline_transform);
        double seconds = clock_now() - started;
        best = b->plan == 0 || seconds < best ? seconds : best;
    }
    return best / (double)(b->shares * b->spectra);
}

const struct fft_baseline_ops cpu_fft_baseline = {baseline_create, baseline_destroy, baseline_time};
