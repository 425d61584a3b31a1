/* Plans of FFTW, made by wisdom that the cache keeps. */
#include "compute/cpu/fft/cpu_fft.h"

#include "base/memory.h"
#include "base/text.h"
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

struct cpu_fft_shape cpu_fft_inverse(size_t points, int is_complex)
{
    const struct cpu_fft_shape forward = cpu_fft_shape(points, is_complex);
    struct cpu_fft_shape shape = forward;
    shape.is_inverse = 1;
    shape.in_row = forward.out_row;
    shape.out_row = forward.in_row;
    return shape;
}

enum fft_planning cpu_fft_effort(enum fft_planning planning, uint64_t count)
{
    if (planning != PLANNING_AUTO) {
        return planning;
    }
    return count >= patient_count   ? PLANNING_PATIENT
           : count >= measure_count ? PLANNING_MEASURE
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

/* The plan that this wisdom tells, or NULL. What else FFTW knows would change it. */
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

/* Whether wisdom tells a plan of every shape. */
static status_t fft_is_enough(const struct cpu_fft_shape *shapes, size_t count, const char *wisdom,
                              int *out)
{
    status_t st = STATUS_OK;
    float *in = NULL;
    float *spectra = NULL;
    *out = 1;
    for (size_t i = 0; i < count && *out; i++) {
        TRY_OUT(fft_create_rows(&shapes[i], &in, &spectra));
        fftwf_plan plan = fft_follow(&shapes[i], in, spectra, wisdom);
        *out = plan != NULL;
        fftwf_destroy_plan(plan);
        free(in);
        free(spectra);
        in = spectra = NULL;
    }
out:
    free(in);
    free(spectra);
    return st;
}

/* Plans from nothing; gives the wisdom of these plans alone, or NULL when it does not tell all of
 * them: FFTW's planner was out of time then. */
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
        free(in);
        free(spectra);
        in = spectra = NULL;
    }
    wisdom = fftwf_export_wisdom_to_string();
    TRY_OUT(wisdom ? fft_is_enough(shapes, count, wisdom, &is_enough) : STATUS_OK);
    if (is_enough) {
        *out = wisdom;
        wisdom = NULL;
    }
out:
    fftwf_set_timelimit(FFTW_NO_TIMELIMIT);
    free(in);
    free(spectra);
    free(wisdom);
    return st;
}

status_t cpu_fft_wisdom(const struct cpu_fft_shape *shapes, size_t count, enum fft_planning effort,
                        char *out, size_t room)
{
    status_t st = STATUS_OK;
    struct text key = {0};
    char *wisdom = NULL;
    void *kept = NULL;
    size_t size = 0;
    out[0] = '\0';
    if (effort == PLANNING_ESTIMATE) {
        goto out;
    }
    TRY_OUT(fft_make_key(shapes, count, effort, &key));
    TRY_OUT(cache_get(cache_kind, key.data, &kept, &size));
    if (!kept && effort == PLANNING_PATIENT) {
        TRY_OUT(fft_plan_anew(shapes, count, FFTW_PATIENT, most_patience, &wisdom));
    }
    if (!kept && !wisdom) {
        TRY_OUT(fft_plan_anew(shapes, count, FFTW_MEASURE, most_measuring, &wisdom));
    }
    if (wisdom) {
        size = strlen(wisdom);
        (void)cache_put(cache_kind, key.data, wisdom, size);
    }
    if (size > 0 && size < room) {
        memcpy(out, kept ? kept : wisdom, size);
        out[size] = '\0';
    }
out:
    free(kept);
    free(wisdom);
    text_free(&key);
    return st;
}

status_t cpu_fft_create(const struct cpu_fft_shape *shape, const char *wisdom, cpu_fft_t **out)
{
    status_t st = STATUS_OK;
    cpu_fft_t *transform = NULL;
    float *in = NULL;
    float *spectra = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *transform, "a transform", &transform));
    TRY_OUT(fft_create_rows(shape, &in, &spectra));
    transform->is_complex = shape->is_complex;
    transform->is_inverse = shape->is_inverse;
    if (wisdom[0] != '\0') {
        transform->plan = fft_follow(shape, in, spectra, wisdom);
        REQUIRE_OUT(transform->plan, STATUS_DEVICE,
                    "this machine cannot follow the FFTW plan that rank 0 made for its own: run on "
                    "machines of one kind, or with run.fft_planning=estimate");
    } else {
        fftwf_forget_wisdom();
        transform->plan = fft_make_plan(shape, in, spectra, FFTW_ESTIMATE);
        REQUIRE_OUT(transform->plan, STATUS_DEVICE, "FFTW cannot plan a transform of %zu points",
                    shape->points);
    }
    *out = transform;
    transform = NULL;
out:
    cpu_fft_destroy(transform);
    free(in);
    free(spectra);
    return st;
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
