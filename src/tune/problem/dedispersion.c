#include "tune/problem/dedispersion.h"

#include "base/memory.h"
#include "io/cache.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_NUMBERS = sizeof(struct dedisperse_shape) / sizeof(uint32_t) };

static const char *const shape_names[SHAPE_NUMBERS] = {
    "staging", "pack", "time_items", "dm_items", "time_out", "dm_out", "chunk", "skew", "ptx"};

_Static_assert(sizeof(struct dedisperse_shape) == SHAPE_NUMBERS * sizeof(uint32_t),
               "a shape is a row of numbers");

struct tune_dedispersion {
    dedispersion_trial_t *trial;
    struct tune_space space;
    struct dedisperse_shape *shapes;
    double *costs;
    uint32_t all;
    int is_thinned;
};

static status_t dedispersion_words_of(void *context, uint32_t i, struct text *out)
{
    const struct tune_dedispersion *shapes = context;
    return dedisperse_shape_words(&shapes->shapes[i], out);
}

/* Compilers wait for nobody: as many at once as there are processors. */
static void dedispersion_prepare(void *context, const uint32_t *list, uint32_t count,
                                 const struct tune_time *time, unsigned char *done)
{
    const struct tune_dedispersion *shapes = context;
    backend_t *backend = dedispersion_trial_backend(shapes->trial);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)count)
    for (uint32_t k = 0; k < count; k++) {
        if (!tune_time_is_over(time, 1)) {
            (void)dedisperse_build(backend, dedispersion_trial_spec(shapes->trial),
                                   &shapes->shapes[list[k]]);
            report_clear(); /* of this thread; whoever takes it finds out */
            done[k] = 1;
        }
    }
}

static status_t dedispersion_time_shape(void *context, uint32_t i, uint32_t repeats,
                                        const struct tune_time *time, struct tune_measure *out)
{
    status_t st = STATUS_OK;
    struct tune_dedispersion *shapes = context;
    struct dedispersion_trial_times times;
    TRY(dedispersion_trial_time(shapes->trial, &shapes->shapes[i], repeats, 0, time, NULL, &times));
    out->seconds = times.median;
    out->wrong = times.wrong;
out:
    return st;
}

void tune_dedispersion_destroy(tune_dedispersion_t *shapes)
{
    if (shapes) {
        free(shapes->shapes);
        free(shapes->costs);
        free(shapes);
    }
}

static int dedispersion_is_there(const struct tune_dedispersion *shapes, uint32_t n,
                                 const struct dedisperse_shape *shape)
{
    for (uint32_t i = 0; i < n; i++) {
        if (memcmp(&shapes->shapes[i], shape, sizeof *shape) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Those that must be there, behind the first n; how many fit and were not there. */
static uint32_t dedispersion_add_others(struct tune_dedispersion *shapes, uint32_t n,
                                        const struct dedisperse_shape *list, uint32_t count)
{
    uint32_t added = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *why = NULL;
        double cost = 0;
        if (!dedispersion_is_there(shapes, n + added, &list[i]) &&
            dedisperse_shape_fits(dedispersion_trial_backend(shapes->trial),
                                  dedispersion_trial_spec(shapes->trial), &list[i], &cost, &why)) {
            shapes->shapes[n + added] = list[i];
            shapes->costs[n + added++] = cost;
        }
    }
    return added;
}

static uint32_t dedispersion_step_of(const struct tune_thinning *thinning, uint32_t count)
{
    uint32_t step = thinning->every > 0 ? thinning->every : 1;
    if (thinning->most > 0 && ceil_div_u64(count, step) > thinning->most) {
        step = (uint32_t)ceil_div_u64(count, thinning->most);
    }
    return step;
}

/* Drops what has other values than those that are wanted. */
static status_t dedispersion_drop_others(struct dedisperse_candidate *list, uint32_t *count,
                                         const char *only)
{
    status_t st = STATUS_OK;
    struct tune_filter filter;
    uint32_t n = 0;
    TRY(tune_filter_read(only, shape_names, SHAPE_NUMBERS, &filter));
    for (uint32_t i = 0; i < *count; i++) {
        if (tune_filter_takes(&filter, (const uint32_t *)&list[i].shape, SHAPE_NUMBERS)) {
            list[n++] = list[i];
        }
    }
    *count = n;
out:
    return st;
}

static status_t dedispersion_fill(struct tune_dedispersion *shapes,
                                  const struct tune_thinning *thinning)
{
    status_t st = STATUS_OK;
    struct dedisperse_candidate *list = NULL;
    if (!thinning->is_only) {
        TRY(dedisperse_candidates(dedispersion_trial_backend(shapes->trial),
                                  dedispersion_trial_spec(shapes->trial), &list, &shapes->all));
        TRY(thinning->only ? dedispersion_drop_others(list, &shapes->all, thinning->only)
                           : STATUS_OK);
    }
    uint32_t step = dedispersion_step_of(thinning, shapes->all);
    shapes->is_thinned = thinning->is_only || thinning->only || step > 1;
    size_t most = (size_t)thinning->nalso + ceil_div_u64(shapes->all, step) + 1;
    TRY(memory_zeroed(most, sizeof *shapes->shapes, "shapes", &shapes->shapes));
    TRY(memory_zeroed(most, sizeof *shapes->costs, "shapes", &shapes->costs));
    uint32_t nothers = dedispersion_add_others(shapes, 0, thinning->also, thinning->nalso);
    uint32_t n = nothers;
    for (uint64_t i = 0; i < shapes->all; i += step) {
        if (!dedispersion_is_there(shapes, nothers, &list[i].shape)) {
            shapes->shapes[n] = list[i].shape;
            shapes->costs[n++] = list[i].cost;
        }
    }
    if (thinning->known) {
        n += dedispersion_add_others(shapes, n, thinning->known, 1);
    }
    shapes->space.count = n;
out:
    free(list);
    return st;
}

status_t tune_dedispersion_create(dedispersion_trial_t *trial, const struct tune_thinning *thinning,
                                  tune_dedispersion_t **out)
{
    status_t st = STATUS_OK;
    tune_dedispersion_t *shapes = NULL;
    char *folder = cache_path("");
    TRY(memory_zeroed(1, sizeof *shapes, "shapes", &shapes));
    shapes->trial = trial;
    TRY(dedispersion_fill(shapes, thinning));
    shapes->space.context = shapes;
    shapes->space.nparameters = SHAPE_NUMBERS;
    shapes->space.names = shape_names;
    shapes->space.values = (const uint32_t *)shapes->shapes;
    shapes->space.costs = shapes->costs;
    shapes->space.words = dedispersion_words_of;
    /* Without a cache what is compiled ahead would be lost. */
    shapes->space.prepare = folder && omp_get_num_procs() > 1 ? dedispersion_prepare : NULL;
    shapes->space.ahead = (uint32_t)omp_get_num_procs();
    shapes->space.time = dedispersion_time_shape;
    *out = shapes;
    shapes = NULL;
out:
    free(folder);
    tune_dedispersion_destroy(shapes);
    return st;
}

const struct tune_space *tune_dedispersion_space(const tune_dedispersion_t *shapes)
{
    return &shapes->space;
}

const struct dedisperse_shape *tune_dedispersion_shape(const tune_dedispersion_t *shapes,
                                                       uint32_t i)
{
    return &shapes->shapes[i];
}

uint32_t tune_dedispersion_all(const tune_dedispersion_t *shapes)
{
    return shapes->all;
}

int tune_dedispersion_find(const tune_dedispersion_t *shapes, const struct dedisperse_shape *shape,
                           uint32_t *out)
{
    for (uint32_t i = 0; i < shapes->space.count; i++) {
        if (memcmp(&shapes->shapes[i], shape, sizeof *shape) == 0) {
            *out = i;
            return 1;
        }
    }
    return 0;
}

int tune_dedispersion_is_thinned(const tune_dedispersion_t *shapes)
{
    return shapes->is_thinned;
}
