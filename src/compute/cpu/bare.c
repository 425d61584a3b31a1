/* FFTW alone on arrays in memory, for `bench`: the best that its planner finds, for all transforms
 * at once or one by one. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/cpu/transform.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_POINTS = 1 << 24, /* of the arrays: many times the last-level cache */
    PLANS = 2
};

struct bare {
    uint64_t spectra;
    struct transform_shape shapes[PLANS];
    transform_t *plans[PLANS];
    float *in, *out;
};

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

void cpu_bare_destroy(struct bare *bare)
{
    if (!bare) {
        return;
    }
    for (int i = 0; i < PLANS; i++) {
        transform_destroy(bare->plans[i]);
    }
    free(bare->in);
    free(bare->out);
    free(bare);
}

status_t cpu_bare_create(const struct channelise_spec *spec, uint64_t spectra, struct bare **out)
{
    status_t st = STATUS_OK;
    /* Patience with all at once takes minutes and gains nothing. */
    static const enum fft_planning efforts[PLANS] = {PLANNING_MEASURE, PLANNING_PATIENT};
    struct bare *bare = NULL;
    size_t points = channelise_samples(spec);
    size_t in_row = spec->is_complex ? 2 * points : points;
    size_t out_row = spec->is_complex ? 2 * points : points + 4; /* aligned */
    char wisdom[4096];
    TRY(memory_zeroed(1, sizeof *bare, "transforms", &bare));
    bare->spectra = max_u64(min_u64(spectra, MOST_POINTS / points), 1);
    TRY(memory_aligned((size_t)bare->spectra * in_row, sizeof(float), "transforms", &bare->in));
    TRY(memory_aligned((size_t)bare->spectra * out_row, sizeof(float), "transforms", &bare->out));
    memset(bare->in, 0, (size_t)bare->spectra * in_row * sizeof(float));
    memset(bare->out, 0, (size_t)bare->spectra * out_row * sizeof(float));
    for (int i = 0; i < PLANS; i++) {
        struct transform_shape *shape = &bare->shapes[i];
        *shape = (struct transform_shape){.points = points,
                                          .is_complex = spec->is_complex,
                                          .batch = i == 0 ? (size_t)bare->spectra : 1,
                                          .in_row = in_row,
                                          .out_row = out_row};
        TRY(transform_wisdom(shape, efforts[i], wisdom, sizeof wisdom));
        TRY(transform_create(shape, wisdom, &bare->plans[i]));
    }
    *out = bare;
    bare = NULL;
out:
    cpu_bare_destroy(bare);
    return st;
}

double cpu_bare_time(struct bare *bare)
{
    double best = 0;
    for (int i = 0; i < PLANS; i++) {
        const struct transform_shape *shape = &bare->shapes[i];
        double started = now();
        for (uint64_t s = 0; s < bare->spectra; s += shape->batch) {
            transform_run(bare->plans[i], bare->in + s * shape->in_row,
                          bare->out + s * shape->out_row);
        }
        double seconds = now() - started;
        best = i == 0 || seconds < best ? seconds : best;
    }
    return best / (double)bare->spectra;
}
