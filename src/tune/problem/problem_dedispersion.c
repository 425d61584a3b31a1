/* How the sums of dedispersion are made, as a problem of the tuner; and its trials, on random
 * samples. */
#include "tune/problem/problem_dedispersion.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/units.h"
#include "compute/shared/agreement.h"
#include "compute/shared/dedisperse_table.h"
#include "dsp/noise.h"
#include "io/cache.h"
#include "tune/problem/problems.h"
#include "tune/search.h"

#include <inttypes.h>
#include <omp.h>

/* Places where outputs are compared; times by which runs are shifted in turn. */
enum { DM_PLACES = 7, TIME_PLACES = 3, PLACE_SAMPLES = 8, SHIFTS = 8 };

struct dedispersion_trial {
    backend_t *backend;
    struct dedisperse_spec spec;
    struct dedisperse_input input;
    buffer_t *in, *out;
    uint64_t samples, stride;
    uint32_t shift;
    dedisperse_t *stage; /* that is timed */
    int is_whole, is_warm;
    int has_expected[SHIFTS];
    float expected[SHIFTS][DM_PLACES][TIME_PLACES][PLACE_SAMPLES];
};

void dedispersion_trial_destroy(dedispersion_trial_t *trial)
{
    if (!trial) {
        return;
    }
    buffer_destroy(trial->in);
    buffer_destroy(trial->out);
    free(trial);
}

/* Fills the input with noise, [time][channel] as in FBH5. */
static status_t trial_fill(dedispersion_trial_t *trial)
{
    void *data = NULL;
    size_t bytes = series_bytes(trial->spec.format);
    size_t nchannels = trial->spec.delays->nchannels;
    uint64_t count = (dedisperse_inputs(&trial->spec, trial->samples) + SHIFTS) * nchannels;
    uint64_t words = count * bytes / sizeof(uint64_t) + 1;
    trial->input = (struct dedisperse_input){0, nchannels * bytes, bytes, 0};
    TRY(buffer_create(trial->backend, BUFFER_IN, words * sizeof(uint64_t), &trial->in));
    TRY(buffer_get(trial->in, &data));
    noise_words(0, 0, words, data);
    /* Numbers from 0 to 4096 where any bits could be none, or huge. */
    for (uint64_t i = 0; trial->spec.format == SERIES_F32 && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)data + i * sizeof bits, sizeof bits);
        ((float *)data)[i] = (float)(bits >> 8) / 4096;
    }
    return STATUS_OK;
}

static uint32_t trial_dm_place(const dedispersion_trial_t *trial, uint32_t i)
{
    return (uint32_t)((uint64_t)(trial->spec.delays->ndms - 1) * i / (DM_PLACES - 1));
}

static uint64_t trial_time_place(const dedispersion_trial_t *trial, uint32_t i)
{
    uint64_t last = trial->samples > PLACE_SAMPLES ? trial->samples - PLACE_SAMPLES : 0;
    return last * i / (TIME_PLACES - 1);
}

/* Computes the expected results for the runs of this shift. */
static status_t trial_expect(dedispersion_trial_t *trial)
{
    void *data = NULL;
    uint32_t shift = trial->shift;
    if (trial->has_expected[shift]) {
        return STATUS_OK;
    }
    TRY(buffer_get(trial->in, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        for (uint32_t i = 0; i < TIME_PLACES; i++) {
            for (uint32_t j = 0; j < PLACE_SAMPLES && j < trial->samples; j++) {
                trial->expected[shift][d][i][j] =
                    dedisperse_formula(&trial->spec, &trial->input, data, trial_dm_place(trial, d),
                                       trial_time_place(trial, i) + j);
            }
        }
    }
    trial->has_expected[shift] = 1;
    return STATUS_OK;
}

status_t dedispersion_trial_create(backend_t *backend, const struct dedisperse_spec *spec,
                                   dedispersion_trial_t **out)
{
    SCOPED(dedispersion_trial_destroy_at) dedispersion_trial_t *trial = NULL;
    TRY(memory_zeroed(1, sizeof *trial, "a trial", &trial));
    trial->backend = backend;
    trial->spec = *spec;
    trial->spec.is_timed = 1;
    trial->samples = spec->max_samples;
    trial->stride = ceil_div_u64(trial->samples, 32) * 32;
    TRY(trial_fill(trial));
    TRY(buffer_create(backend, BUFFER_OUT, spec->delays->ndms * trial->stride * sizeof(float),
                      &trial->out));
    *out = memory_move(&trial);
    return STATUS_OK;
}

/* Fills the outputs with wrong values, so that outputs that are never downloaded are found. */
static status_t trial_spoil(dedispersion_trial_t *trial)
{
    void *data = NULL;
    TRY(buffer_get(trial->out, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        memset((float *)data + trial_dm_place(trial, d) * trial->stride, 0xff,
               trial->stride * sizeof(float));
    }
    return STATUS_OK;
}

/* Integers are exact, floats good to a millionth. */
static status_t trial_check(void *context, uint32_t *wrong)
{
    struct dedispersion_trial *trial = context;
    void *data = NULL;
    double limit = trial->spec.format == SERIES_F32 ? 0.2 * agreement_worst_limit : 0;
    TRY(buffer_get(trial->out, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        const float *row = (const float *)data + trial_dm_place(trial, d) * trial->stride;
        for (uint32_t i = 0; i < TIME_PLACES; i++) {
            for (uint32_t j = 0; j < PLACE_SAMPLES && j < trial->samples; j++) {
                struct agreement one = {0};
                agreement_sums(&one, &row[trial_time_place(trial, i) + j],
                               &trial->expected[trial->shift][d][i][j], 1, 0);
                *wrong += !(one.worst <= limit);
            }
        }
    }
    return STATUS_OK;
}

/* The first run of a stage brings the samples up in any case. */
static status_t trial_run(void *context, struct trial_run *out)
{
    struct dedispersion_trial *trial = context;
    void *data = NULL;
    double started = clock_now();
    TRY(trial->is_whole || !trial->is_warm
            ? dedisperse_run(trial->stage, trial->in, &trial->input, trial->samples, trial->out,
                             trial->stride)
            : dedisperse_again(trial->stage, trial->in, &trial->input, trial->samples, trial->out,
                               trial->stride));
    TRY(buffer_get(trial->out, &data));
    *out = (struct trial_run){.seconds = clock_now() - started};
    TRY(stage_times(trial->stage, out->steps));
    trial_run_settle(out, STEP_FILTER);
    trial->is_warm = 1;
    return STATUS_OK;
}

status_t dedispersion_trial_time(dedispersion_trial_t *trial, const struct dedisperse_shape *shape,
                                 uint32_t repeats, int is_whole, const struct tune_time *time,
                                 struct text *words, struct trial_times *out)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {trial_run, trial_check};
    trial->shift = (trial->shift + 1) % SHIFTS;
    trial->input.offset = trial->shift * trial->input.time_step;
    trial->spec.shape = shape ? *shape : (struct dedisperse_shape){0};
    trial->is_whole = is_whole;
    trial->is_warm = 0;
    TRY_OUT(trial_expect(trial));
    TRY_OUT(dedisperse_create(trial->backend, &trial->spec, &trial->stage));
    TRY_OUT(words ? dedisperse_words(trial->stage, words) : STATUS_OK);
    TRY_OUT(trial_spoil(trial));
    TRY_OUT(trial_time(&timed, trial, repeats, time, out));
out:
    stage_destroy(memory_move(&trial->stage));
    return st;
}

buffer_t *dedispersion_trial_samples(const dedispersion_trial_t *trial,
                                     struct dedisperse_input *input)
{
    *input = trial->input;
    return trial->in;
}

buffer_t *dedispersion_trial_series(const dedispersion_trial_t *trial, uint64_t *stride)
{
    *stride = trial->stride;
    return trial->out;
}

static const struct tune_parameter dedispersion_parameters[] = {{"staging", 0, STAGINGS - 1, NULL},
                                                                {"pack", 0, UINT32_MAX, NULL},
                                                                {"time_items", 0, UINT32_MAX, NULL},
                                                                {"dm_items", 0, UINT32_MAX, NULL},
                                                                {"time_out", 0, UINT32_MAX, NULL},
                                                                {"dm_out", 0, UINT32_MAX, NULL},
                                                                {"chunk", 0, UINT32_MAX, NULL},
                                                                {"skew", 0, UINT32_MAX, NULL},
                                                                {"ptx", 0, 1, NULL},
                                                                {"group", 0, 16, NULL}};

enum { SHAPE_NUMBERS = sizeof dedispersion_parameters / sizeof *dedispersion_parameters };

_Static_assert(sizeof(struct dedisperse_shape) == SHAPE_NUMBERS * sizeof(uint32_t),
               "a shape is a row of numbers");

static status_t dedispersion_words(const uint32_t *values, struct text *out)
{
    struct dedisperse_shape shape;
    memcpy(&shape, values, sizeof shape);
    return dedisperse_shape_words(&shape, out);
}

static int dedispersion_parse(const char *words, uint32_t *values)
{
    struct dedisperse_shape shape;
    int good = dedisperse_shape_parse(words, &shape);
    if (good) {
        memcpy(values, &shape, sizeof shape);
    }
    return good;
}

static status_t dedispersion_kernel(enum backend_kind kind, const void *what, struct text *out)
{
    const struct dedisperse_spec *spec = what;
    static const char *const formats[] = {"uint8", "uint16", "float32"};
    static const char *const modes[] = {[DEDISPERSE_AUTO] = "",
                                        [DEDISPERSE_BRUTE] = " by brute force",
                                        [DEDISPERSE_TREE] = " in a tree"};
    TRY(text_add(out, " %s%s", formats[spec->format],
                 spec->steps ? " in two steps" : modes[spec->mode]));
    return backend_abilities(kind)->uses_threads ? text_add(out, " on %u threads", spec->threads)
                                                 : STATUS_OK;
}

static uint64_t dedispersion_hash_delays(const struct dedisperse_spec *spec)
{
    const struct dispersion *delays = spec->delays;
    uint64_t parts[3] = {0};
    parts[0] = cache_hash(delays->table, sizeof *delays->table * delays->ndms * delays->nchannels);
    parts[1] = spec->mask ? cache_hash(spec->mask, delays->nchannels) : 0;
    parts[2] = spec->steps ? spec->steps->group : 0;
    return cache_hash(parts, sizeof parts);
}

static status_t dedispersion_describe(backend_t *backend, const void *what, struct tune_key *out)
{
    const struct dedisperse_spec *spec = what;
    const struct dispersion *delays = spec->delays;
    uint32_t used = dedisperse_count_used(spec);
    out->features[0] = used;
    out->features[1] = delays->ndms;
    out->features[2] = (double)spec->max_samples;
    out->features[3] = 1 + (double)delays->largest / delays->ndms;
    TRY(dedisperse_identity(backend, &out->identity));
    return text_add(
        &out->words, "%u channels, %u DMs, %" PRIu64 " samples, delays up to %u (%016" PRIx64 ")",
        used, delays->ndms, spec->max_samples, delays->largest, dedispersion_hash_delays(spec));
}

static status_t dedispersion_fits(backend_t *backend, const void *spec, const uint32_t *values,
                                  int *out)
{
    struct dedisperse_shape shape;
    const char *why = NULL;
    double cost = 0;
    memcpy(&shape, values, sizeof shape);
    *out = dedisperse_shape_fits(backend, spec, &shape, &cost, &why);
    return STATUS_OK;
}

struct shapes {
    backend_t *backend;
    const struct dedisperse_spec *spec;
    dedispersion_trial_t *trial;
    struct dedisperse_shape *shapes;
    double *costs;
    uint32_t count;
};

struct preparing {
    const struct shapes *shapes;
    const uint32_t *list;
    const struct tune_time *time;
    unsigned char *done;
};

static void dedispersion_compile(void *context, uint32_t thread, uint64_t task)
{
    const struct preparing *p = context;
    const struct shapes *shapes = p->shapes;
    (void)thread;
    if (!tune_time_is_over(p->time, 1)) {
        (void)dedisperse_build(shapes->backend, shapes->spec, &shapes->shapes[p->list[task]]);
        report_clear(); /* of this thread; the stage that uses it reports the failure */
        p->done[task] = 1;
    }
}

/* Compiles as many at once as there are processors. */
static void dedispersion_prepare(void *context, const uint32_t *list, uint32_t count,
                                 const struct tune_time *time, unsigned char *done)
{
    struct preparing preparing = {context, list, time, done};
    pool_each(count, count, dedispersion_compile, &preparing);
}

static status_t dedispersion_time(void *context, uint32_t i, uint32_t repeats,
                                  const struct tune_time *time, struct trial_times *out)
{
    struct shapes *shapes = context;
    return dedispersion_trial_time(shapes->trial, &shapes->shapes[i], repeats, 0, time, NULL, out);
}

/* One after the others, unless it is among the first `known` of them. */
static void dedispersion_put(struct shapes *shapes, uint32_t known,
                             const struct dedisperse_candidate *candidate)
{
    for (uint32_t i = 0; i < known; i++) {
        if (memcmp(&shapes->shapes[i], &candidate->shape, sizeof candidate->shape) == 0) {
            return;
        }
    }
    shapes->shapes[shapes->count] = candidate->shape;
    shapes->costs[shapes->count++] = candidate->cost;
}

/* Adds a shape that must be in the list, if it fits. */
static void dedispersion_put_row(struct shapes *shapes, const uint32_t *values)
{
    struct dedisperse_candidate candidate;
    const char *why = NULL;
    memcpy(&candidate.shape, values, sizeof candidate.shape);
    if (dedisperse_shape_fits(shapes->backend, shapes->spec, &candidate.shape, &candidate.cost,
                              &why)) {
        dedispersion_put(shapes, shapes->count, &candidate);
    }
}

/* Reads "time_out=1/2/4"; *takes is cleared if `values` (NULL: any) have another one. */
static status_t dedispersion_read_part(const char *text, char *part, const uint32_t *values,
                                       int *takes)
{
    const char *name = strsep(&part, "=");
    uint32_t p = 0;
    int is_among = 0;
    while (p < SHAPE_NUMBERS && strcmp(dedispersion_parameters[p].name, name) != 0) {
        p++;
    }
    REQUIRE(p < SHAPE_NUMBERS, STATUS_USAGE, "\"%s\": there is no parameter \"%s\"", text, name);
    do {
        const char *value = part ? strsep(&part, "/") : "";
        uint64_t number = 0;
        REQUIRE(units_parse_u64(value, &number) && number <= UINT32_MAX, STATUS_USAGE,
                "\"%s\": expected values such as %s=1/2/4", text, name);
        is_among |= values && values[p] == number;
    } while (part);
    *takes &= is_among;
    return STATUS_OK;
}

/* Reads "time_out=1/2/4,chunk=8": *takes is whether these are values of such a shape. Fails with
 * USAGE. */
static status_t dedispersion_take(const char *text, const uint32_t *values, int *takes)
{
    SCOPED(free_at) char *copy = NULL;
    *takes = 1;
    TRY(memory_text(text, &copy));
    char *rest = copy;
    for (char *part = strsep(&rest, ","); part; part = strsep(&rest, ",")) {
        TRY(dedispersion_read_part(text, part, values, takes));
    }
    return STATUS_OK;
}

/* Drops what has other values than those that are wanted. */
static status_t dedispersion_drop_others(struct dedisperse_candidate *list, uint32_t *count,
                                         const char *only)
{
    uint32_t n = 0;
    int takes = 0;
    TRY(dedispersion_take(only, NULL, &takes));
    for (uint32_t i = 0; i < *count; i++) {
        TRY(dedispersion_take(only, (const uint32_t *)&list[i].shape, &takes));
        if (takes) {
            list[n++] = list[i];
        }
    }
    *count = n;
    return STATUS_OK;
}

static uint32_t dedispersion_step_of(const struct tune_pick *pick, uint32_t count)
{
    uint32_t step = pick->every > 0 ? pick->every : 1;
    if (pick->most > 0 && ceil_div_u64(count, step) > pick->most) {
        step = (uint32_t)ceil_div_u64(count, pick->most);
    }
    return step;
}

static status_t dedispersion_list(struct shapes *shapes, const struct tune_pick *pick,
                                  struct tune_space *out)
{
    SCOPED(free_at) struct dedisperse_candidate *list = NULL;
    if (!pick->is_only) {
        TRY(dedisperse_candidates(shapes->backend, shapes->spec, &list, &out->fit));
        TRY(pick->only ? dedispersion_drop_others(list, &out->fit, pick->only) : STATUS_OK);
    }
    uint32_t step = dedispersion_step_of(pick, out->fit);
    out->is_thinned = pick->is_only || pick->only || step > 1;
    size_t most = (size_t)pick->nalso + ceil_div_u64(out->fit, step) + 1;
    TRY(memory_zeroed(most, sizeof *shapes->shapes, "shapes", &shapes->shapes));
    TRY(memory_zeroed(most, sizeof *shapes->costs, "shapes", &shapes->costs));
    for (uint32_t i = 0; i < pick->nalso; i++) {
        dedispersion_put_row(shapes, pick->also + (size_t)i * SHAPE_NUMBERS);
    }
    uint32_t first = shapes->count;
    for (uint64_t i = 0; i < out->fit; i += step) {
        dedispersion_put(shapes, first, &list[i]);
    }
    if (pick->known) {
        dedispersion_put_row(shapes, pick->known);
    }
    return STATUS_OK;
}

static status_t dedispersion_begin(backend_t *backend, const void *spec,
                                   const struct tune_pick *pick, uint64_t memory,
                                   struct tune_space *out)
{
    struct shapes *shapes = NULL;
    SCOPED(free_at) char *folder = cache_path("");
    (void)memory; /* only the stage's own blocks are tried, whose memory is planned */
    TRY(memory_zeroed(1, sizeof *shapes, "shapes", &shapes));
    shapes->backend = backend;
    shapes->spec = spec;
    *out = (struct tune_space){.problem = &tune_dedispersion,
                               .context = shapes,
                               /* Without a cache what is compiled ahead would be lost. */
                               .prepare =
                                   folder && omp_get_num_procs() > 1 ? dedispersion_prepare : NULL,
                               .ahead = (uint32_t)omp_get_num_procs(),
                               .time = dedispersion_time};
    TRY(dedispersion_trial_create(backend, spec, &shapes->trial));
    TRY(dedispersion_list(shapes, pick, out));
    out->count = shapes->count;
    out->values = (const uint32_t *)shapes->shapes;
    out->costs = shapes->costs;
    return STATUS_OK;
}

static void dedispersion_end(struct tune_space *space)
{
    struct shapes *shapes = space->context;
    dedispersion_trial_destroy(shapes->trial);
    MEMORY_FREE(shapes->shapes, shapes->costs, shapes);
}

const struct tune_problem tune_dedispersion = {.name = "dedisperse",
                                               .version = 2, /* 1: without groups */
                                               .title = "dedispersion",
                                               .far = 4, /* the model knows better then */
                                               .nparameters = SHAPE_NUMBERS,
                                               .parameters = dedispersion_parameters,
                                               .words = dedispersion_words,
                                               .parse = dedispersion_parse,
                                               .kernel = dedispersion_kernel,
                                               .describe = dedispersion_describe,
                                               .fits = dedispersion_fits,
                                               .begin = dedispersion_begin,
                                               .end = dedispersion_end};
