/* How a long filter is computed, as a problem of the tuner; and the automatic choice. */
#include "base/memory.h"
#include "base/units.h"
#include "tune/problem/fir_trial.h"
#include "tune/problem/problems.h"
#include "tune/search.h"
#include "tune/tuning.h"

#include <stdlib.h>
#include <string.h>

static const char *fir_method_name(uint32_t i)
{
    return filter_method_name((enum filter_method)i);
}

static const char *fir_kernel_name(uint32_t i)
{
    static const char *const names[] = {"auto", "registers", "local", "passes", "fused", "library"};
    return names[i];
}

static const struct tune_parameter fir_parameters[] = {
    {"method", 0, FILTER_OVERLAP_SAVE, fir_method_name},
    {"length", 0, 1U << 30, NULL},
    {"kernel", 0, FILTER_KERNEL_LIBRARY, fir_kernel_name},
    {"simd", 0, 16, NULL},
    {"width", 0, 1 << 16, NULL},
    {"values", 0, 1 << 16, NULL},
    {"batch", 0, 1 << 24, NULL}};

enum { FIR_NUMBERS = sizeof fir_parameters / sizeof *fir_parameters };

_Static_assert(sizeof(struct filter_shape) == FIR_NUMBERS * sizeof(uint32_t),
               "a shape is a row of numbers");

static status_t fir_kernel(enum backend_kind kind, const void *what, struct text *out)
{
    const struct filter_spec *spec = what;
    static const char *const formats[] = {"4 bit", "8 bit", "16 bit", "float"};
    TRY(text_add(out, ", %s %s to %s, ", spec->coding.is_complex ? "complex" : "real",
                 formats[spec->coding.format], spec->is_complex_out ? "complex" : "real"));
    TRY(text_add(out, "%s, method %s, fft %s",
                 spec->response           ? "responses"
                 : spec->is_complex_coeff ? "complex coefficients"
                                          : "real coefficients",
                 filter_method_name(spec->method), fft_name(spec->fft)));
    if (backend_abilities(kind)->uses_threads) {
        TRY(text_add(out, ", %u threads", spec->threads));
    }
    return STATUS_OK;
}

/* Rows of a trial: what says enough, or what a run has, to a power of four, so that a few trials do
 * for runs of all lengths; those that are shorter than some are bound by other things. */
static uint64_t fir_rows(enum backend_kind kind, const struct filter_spec *spec)
{
    enum { LEAST = 1 << 14, HOST_ROWS = 1 << 20, DEVICE_ROWS = 1 << 24, MOST = 1 << 26, TIMES = 8 };
    int is_gpu = backend_abilities(kind)->has_device && backend_has_gpu();
    uint64_t most = is_gpu ? DEVICE_ROWS : HOST_ROWS;
    most = min_u64(max_u64(most, (uint64_t)TIMES * spec->taps) / spec->decimate, MOST);
    uint64_t rows = max_u64(min_u64(most, LEAST), 1);
    while (rows * 4 <= most && (spec->max_rows == 0 || rows * 4 <= spec->max_rows)) {
        rows *= 4;
    }
    return rows;
}

/* As many streams as a run has, where those are short. */
static void fir_shrink(backend_t *backend, struct filter_spec *spec)
{
    struct filter_spec whole = *spec;
    whole.max_rows = 0;
    enum backend_kind kind = backend_which(backend);
    spec->max_rows = fir_rows(kind, spec);
    spec->nstreams =
        (uint32_t)min_u64(spec->nstreams, max_u64(fir_rows(kind, &whole) / spec->max_rows, 1));
}

static status_t fir_describe(backend_t *backend, const void *what, struct tune_key *out)
{
    const struct filter_spec *spec = what;
    const struct sample_coding *coding = &spec->coding;
    out->features[0] = spec->taps;
    out->features[1] = spec->decimate;
    out->features[2] = spec->nstreams;
    out->features[3] = (double)fir_rows(backend_which(backend), spec);
    TRY(backend_identity(backend, &out->identity));
    return text_add(
        &out->words, "%u taps, every %u, %u %s of %.0f rows%s%s", spec->taps, spec->decimate,
        spec->nstreams, units_plural(spec->nstreams, "stream", "streams"), out->features[3],
        coding->conjugate ? ", conjugate" : "", coding->has_missing_value ? ", missing value" : "");
}

static status_t fir_candidates(backend_t *backend, const void *spec, void *out, uint32_t *count)
{
    return filter_candidates(backend, spec, out, count);
}

struct fir_space {
    struct filter_shape *shapes;
    struct fir_trial trial;
};

/* Rows that are timed of all: direct sums take as long for each, and of long filters too long. */
static uint64_t fir_timed_rows(const struct fir_trial *trial, const struct filter_shape *shape)
{
    enum { LEAST = 4096 };
    const struct filter_spec *spec = &trial->spec;
    int is_gpu = backend_abilities(backend_which(trial->backend))->has_device && backend_has_gpu();
    const uint64_t bearable = UINT64_C(1) << (is_gpu ? 36 : 30);
    uint64_t products = (uint64_t)spec->taps * (spec->coding.is_complex ? 2 : 1) *
                        (spec->is_complex_coeff ? 2 : 1) * spec->nstreams;
    uint64_t rows = max_u64(bearable / products, LEAST);
    return shape->method == FILTER_DIRECT ? min_u64(rows, trial->rows) : trial->rows;
}

/* Returns the factor from the time of some rows to the time of all. A block that is not full costs
 * as much as a full one, and is counted as full. */
static double fir_scale(const struct fir_trial *trial)
{
    uint64_t grain = max_u64(filter_grain(&trial->spec), 1);
    return (double)trial->rows / (double)(ceil_div_u64(trial->run.rows, grain) * grain);
}

static status_t fir_time(void *context, uint32_t i, uint32_t repeats, const struct tune_time *time,
                         struct tune_measure *out)
{
    struct fir_space *fir = context;
    const struct filter_choice choice = {backend_which(fir->trial.backend), fir->shapes[i]};
    struct trial_times times;
    fir_trial_cut(&fir->trial, fir_timed_rows(&fir->trial, &choice.shape));
    TRY(fir_trial_time(&fir->trial, &choice, repeats, time, &times));
    out->seconds = times.median * fir_scale(&fir->trial);
    out->wrong = times.wrong;
    return STATUS_OK;
}

/* The most that any of the shapes needs beside the trial's own. */
static uint64_t fir_bytes(backend_t *backend, const struct filter_spec *spec,
                          const struct filter_shape *shapes, uint32_t count)
{
    uint64_t most = 0;
    struct filter_spec one = *spec;
    one.choice.backend = backend_which(backend);
    for (uint32_t i = 0; i < count; i++) {
        one.choice.shape = shapes[i];
        most = max_u64(most, filter_bytes(one.choice.backend, &one));
    }
    return most + fir_trial_bytes(spec, spec->max_rows);
}

/* There is no model: those that are known to be good come first. */
static status_t fir_begin(backend_t *backend, const void *what, const struct tune_pick *pick,
                          uint64_t memory, struct tune_space *out)
{
    struct fir_space *fir = NULL;
    struct filter_spec spec = *(const struct filter_spec *)what;
    (void)pick; /* all of them are few */
    TRY(memory_zeroed(1, sizeof *fir, "a search space", &fir));
    *out = (struct tune_space){.problem = &tune_fir, .context = fir, .time = fir_time};
    TRY(filter_candidates(backend, &spec, &fir->shapes, &out->count));
    out->fit = out->count;
    out->values = (const uint32_t *)fir->shapes;
    if (out->count == 0) {
        return STATUS_OK;
    }
    fir_shrink(backend, &spec);
    while (memory > 0 && spec.max_rows > 1 &&
           fir_bytes(backend, &spec, fir->shapes, out->count) > memory) {
        spec.max_rows /= 2;
    }
    uint64_t bytes = fir_bytes(backend, &spec, fir->shapes, out->count);
    REQUIRE(memory == 0 || bytes <= memory, STATUS_USAGE,
            "run.memory leaves %s for trials of a filter of %u taps, which need %s",
            units_bytes(memory), spec.taps, units_bytes(bytes));
    return fir_trial_begin(backend, &spec, spec.max_rows, 0, &fir->trial);
}

static void fir_end(struct tune_space *space)
{
    struct fir_space *fir = space->context;
    fir_trial_end(&fir->trial);
    free(fir->shapes);
    free(fir);
}

const struct tune_problem tune_fir = {.name = "filter",
                                      .version = 1,
                                      .title = "the filter",
                                      .far = 1, /* where the methods cross is nearer */
                                      .nparameters = FIR_NUMBERS,
                                      .parameters = fir_parameters,
                                      .kernel = fir_kernel,
                                      .describe = fir_describe,
                                      .candidates = fir_candidates,
                                      .begin = fir_begin,
                                      .end = fir_end};

status_t tune_fir_choose(backend_t *backend, const struct filter_spec *spec, uint64_t memory,
                         struct filter_choice *out)
{
    status_t st = STATUS_OK;
    struct filter_choice choice = spec->choice;
    struct filter_shape *list = NULL;
    uint32_t count = 0;
    if (choice.backend == BACKEND_AUTO) {
        TRY_OUT(filter_choose(backend_which(backend), spec, &choice));
        TRY_OUT(filter_candidates(backend, spec, &list, &count));
    }
    TRY_OUT(tune_few(&tune_fir, backend, spec, "filter", (const uint32_t *)list,
                     count > 1 ? count : 0, memory, (uint32_t *)&choice.shape));
    *out = choice;
out:
    free(list);
    return st;
}
