/* Plans of FFTW, made by wisdom that the cache keeps; and FFTW alone on arrays in memory, for
 * `bench`: the best that its planner finds, for all transforms of a thread at once or one by one,
 * on as many threads as the filter bank has. */
#include "compute/cpu/cpu_fft.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/cpu/cpu.h"
#include "io/cache.h"

#include <fftw3.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 16,         /* floats of a cache line */
    PAD = 2 * LINE,    /* so that rows of 2^n bytes begin in different sets of the cache */
    SMALL_POINTS = 64, /* shorter transforms go in batches */
    MOST_BATCH = 16
};

/* A patient plan takes about as long as 2^17 transforms, a measured one a tenth of that. */
static const uint64_t patient_count = UINT64_C(1) << 19;
static const uint64_t measure_count = UINT64_C(1) << 16;

/* A patient search that takes longer is given up for a measured one, and this, which can take
 * minutes for a million points, for the rule's plan. */
static const double most_patience = 10;
static const double most_measuring = 10;

static const char cache_kind[] = "fftw";

struct cpu_fft {
    int is_complex;
    int is_inverse;
    fftwf_plan plan;
};

static size_t fft_padded(size_t floats)
{
    return (floats + LINE - 1) / LINE * LINE + PAD;
}

struct cpu_fft_shape cpu_fft_shape(size_t points, int is_complex)
{
    return (struct cpu_fft_shape){.points = points,
                                  .is_complex = is_complex,
                                  .batch = points <= SMALL_POINTS ? MOST_BATCH : 1,
                                  .in_row = fft_padded(is_complex ? 2 * points : points),
                                  .out_row = fft_padded(is_complex ? 2 * points : points + 2)};
}

enum fft_planning cpu_fft_effort(enum fft_planning planning, uint64_t count)
{
    return planning != PLANNING_AUTO ? planning
           : count >= patient_count  ? PLANNING_PATIENT
           : count >= measure_count  ? PLANNING_MEASURE
                                     : PLANNING_ESTIMATE;
}

static fftwf_plan fft_make_plan(const struct cpu_fft_shape *shape, float *in, float *out,
                                unsigned flags)
{
    int length = (int)shape->points;
    int batch = (int)shape->batch;
    flags |= FFTW_DESTROY_INPUT;
    if (shape->is_complex) {
        return fftwf_plan_many_dft(1, &length, batch, (fftwf_complex *)in, NULL, 1,
                                   (int)(shape->in_row / 2), (fftwf_complex *)out, NULL, 1,
                                   (int)(shape->out_row / 2),
                                   shape->is_inverse ? FFTW_BACKWARD : FFTW_FORWARD, flags);
    }
    if (shape->is_inverse) {
        return fftwf_plan_many_dft_c2r(1, &length, batch, (fftwf_complex *)in, NULL, 1,
                                       (int)(shape->in_row / 2), out, NULL, 1, (int)shape->out_row,
                                       flags);
    }
    return fftwf_plan_many_dft_r2c(1, &length, batch, in, NULL, 1, (int)shape->in_row,
                                   (fftwf_complex *)out, NULL, 1, (int)(shape->out_row / 2), flags);
}

static status_t fft_create_rows(const struct cpu_fft_shape *shape, float **in, float **out)
{
    TRY(memory_aligned(shape->batch * shape->in_row, sizeof(float), "a transform", in));
    TRY(memory_aligned(shape->batch * shape->out_row, sizeof(float), "a transform", out));
    /* Numbers that are none would be slow. */
    memset(*in, 0, shape->batch * shape->in_row * sizeof(float));
    memset(*out, 0, shape->batch * shape->out_row * sizeof(float));
    return STATUS_OK;
}

static status_t fft_make_key(const struct cpu_fft_shape *shapes, size_t count,
                             enum fft_planning effort, struct text *out)
{
    char processor[256];
    cpu_processor(processor, sizeof processor);
    TRY(text_add(out, "%s\n%s", fftwf_version, processor));
    for (size_t i = 0; i < count; i++) {
        const struct cpu_fft_shape *shape = &shapes[i];
        TRY(text_add(out, "\n%s%s %zu x %zu, rows %zu %zu", shape->is_inverse ? "inverse " : "",
                     shape->is_complex ? "complex" : "real", shape->batch, shape->points,
                     shape->in_row, shape->out_row));
    }
    return text_add(out, ", %s", planning_name(effort));
}

/* The plan that this wisdom contains, or NULL. What else FFTW knows would change it. */
static fftwf_plan fft_follow(const struct cpu_fft_shape *shape, float *in, float *out,
                             const char *wisdom)
{
    fftwf_plan plan = NULL;
    fftwf_forget_wisdom();
    if (fftwf_import_wisdom_from_string(wisdom)) {
        plan = fft_make_plan(shape, in, out, FFTW_MEASURE | FFTW_WISDOM_ONLY);
    }
    fftwf_forget_wisdom();
    return plan;
}

/* Whether wisdom contains a plan of every shape. */
static status_t fft_is_enough(const struct cpu_fft_shape *shapes, size_t count, const char *wisdom,
                              int *out)
{
    SCOPED(free_at) float *in = NULL;
    SCOPED(free_at) float *spectra = NULL;
    *out = 1;
    for (size_t i = 0; i < count && *out; i++) {
        TRY(fft_create_rows(&shapes[i], &in, &spectra));
        fftwf_plan plan = fft_follow(&shapes[i], in, spectra, wisdom);
        *out = plan != NULL;
        fftwf_destroy_plan(plan);
        MEMORY_FREE(in, spectra);
        in = spectra = NULL;
    }
    return STATUS_OK;
}

/* Plans from nothing; gives the wisdom of these plans alone, or NULL when it does not contain all
 * of them: FFTW's planner ran out of time. */
static status_t fft_plan_anew(const struct cpu_fft_shape *shapes, size_t count, unsigned flags,
                              double most, char **out)
{
    status_t st = STATUS_OK;
    char *wisdom = NULL;
    float *in = NULL;
    float *spectra = NULL;
    int is_enough = 0;
    fftwf_forget_wisdom();
    fftwf_set_timelimit(most);
    for (size_t i = 0; i < count; i++) {
        TRY_OUT(fft_create_rows(&shapes[i], &in, &spectra));
        fftwf_destroy_plan(fft_make_plan(&shapes[i], in, spectra, flags));
        MEMORY_FREE(in, spectra);
        in = spectra = NULL;
    }
    wisdom = fftwf_export_wisdom_to_string();
    TRY_OUT(wisdom ? fft_is_enough(shapes, count, wisdom, &is_enough) : STATUS_OK);
    if (is_enough) {
        *out = memory_move(&wisdom);
    }
out:
    fftwf_set_timelimit(FFTW_NO_TIMELIMIT);
    MEMORY_FREE(in, spectra, wisdom);
    return st;
}

status_t cpu_fft_wisdom(const struct cpu_fft_shape *shapes, size_t count, enum fft_planning effort,
                        char *out, size_t room)
{
    SCOPED(text_free) struct text key = {0};
    SCOPED(free_at) char *wisdom = NULL;
    SCOPED(free_at) void *kept = NULL;
    size_t size = 0;
    out[0] = '\0';
    if (effort == PLANNING_ESTIMATE) {
        return STATUS_OK;
    }
    TRY(fft_make_key(shapes, count, effort, &key));
    TRY(cache_get(cache_kind, key.data, &kept, &size));
    if (!kept && effort == PLANNING_PATIENT) {
        TRY(fft_plan_anew(shapes, count, FFTW_PATIENT, most_patience, &wisdom));
    }
    TRY(!kept && !wisdom ? fft_plan_anew(shapes, count, FFTW_MEASURE, most_measuring, &wisdom)
                         : STATUS_OK);
    if (wisdom) {
        size = strlen(wisdom);
        (void)cache_put(cache_kind, key.data, wisdom, size);
    }
    if (size > 0 && size < room) {
        memcpy(out, kept ? kept : wisdom, size);
        out[size] = '\0';
    }
    return STATUS_OK;
}

status_t cpu_fft_create(const struct cpu_fft_shape *shape, const char *wisdom, cpu_fft_t **out)
{
    SCOPED(free_at) float *spectra = NULL;
    SCOPED(free_at) float *in = NULL;
    SCOPED(cpu_fft_destroy_at) cpu_fft_t *transform = NULL;
    TRY(memory_zeroed(1, sizeof *transform, "a transform", &transform));
    TRY(fft_create_rows(shape, &in, &spectra));
    transform->is_complex = shape->is_complex;
    transform->is_inverse = shape->is_inverse;
    if (wisdom[0] != '\0') {
        transform->plan = fft_follow(shape, in, spectra, wisdom);
        REQUIRE(transform->plan, STATUS_DEVICE,
                "this machine cannot follow the FFTW plan that rank 0 made for its own: run on "
                "machines of one kind, or with run.fft_planning=estimate");
    } else {
        fftwf_forget_wisdom();
        transform->plan = fft_make_plan(shape, in, spectra, FFTW_ESTIMATE);
        REQUIRE(transform->plan, STATUS_DEVICE, "FFTW cannot plan a transform of %zu points",
                shape->points);
    }
    *out = memory_move(&transform);
    return STATUS_OK;
}

void cpu_fft_destroy(cpu_fft_t *transform)
{
    if (transform) {
        if (transform->plan) {
            fftwf_destroy_plan(transform->plan);
        }
        free(transform);
    }
}

void cpu_fft_run(const cpu_fft_t *transform, float *in, float *out)
{
    if (transform->is_complex) {
        fftwf_execute_dft(transform->plan, (fftwf_complex *)in, (fftwf_complex *)out);
    } else if (transform->is_inverse) {
        fftwf_execute_dft_c2r(transform->plan, (fftwf_complex *)in, out);
    } else {
        fftwf_execute_dft_r2c(transform->plan, in, (fftwf_complex *)out);
    }
}

status_t cpu_fft_words(const char *wisdom, struct text *out)
{
    if (wisdom[0] == '\0') {
        return text_add(out, "%s by rule", fftwf_version);
    }
    return text_add(out, "%s plan %08x", fftwf_version,
                    (unsigned)(cache_hash(wisdom, strlen(wisdom)) & 0xffffffffU));
}

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

static void baseline_destroy(void *base)
{
    struct baseline *b = base;
    for (int i = 0; i < PLANS; i++) {
        cpu_fft_destroy(b->plans[i]);
    }
    MEMORY_FREE(b->in, b->out);
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

/* Runs every share once, each on a thread, and waits. */
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
    SCOPED(stage_destroy_at) struct baseline *b = NULL;
    TRY(memory_zeroed(1, sizeof *b, "transforms", &b));
    b->base.ops = &cpu_fft_baseline;
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &b->pool));
    TRY(baseline_make(b, spec, spectra));
    *out = memory_move(&b);
    return STATUS_OK;
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

const struct fft_baseline_ops cpu_fft_baseline = {
    .stage = {.destroy = baseline_destroy}, .create = baseline_create, .time = baseline_time};
