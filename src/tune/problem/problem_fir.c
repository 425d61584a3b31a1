/* How a long filter is computed, as a problem of the tuner; the automatic choice; and trials, on
 * random samples. */
#include "tune/problem/problem_fir.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "tune/problem/problem_bank.h"
#include "tune/problem/problems.h"
#include "tune/tuning.h"

#include <math.h>

/* ---- fir windows ---- */

/* Some rows of a filter's first stream beside those of the reference: the first ones, some around
 * the last border of blocks, some between, the last ones.
 *
 * Rows by the reference, from copies of the samples that they are made of. */

const double fir_rms_limit = 1e-6;
const double fir_worst_limit = 1e-5;

/* Floats of a row. */
static size_t fir_row_floats(const struct filter_spec *spec)
{
    return spec->is_complex_out ? 2 : 1;
}

/* For `samples` of stream 0 that are in memory as `input` says. fir_windows_free() in any case. */
static void fir_windows_begin(struct fir_windows *windows, const struct filter_spec *spec,
                              const void *data, const struct sample_input *input, uint64_t samples)
{
    enum { MOST = 1 << 16 };
    const size_t numbers = (size_t)spec->taps * (spec->is_complex_coeff ? 2 : 1);
    uint64_t count = min_u64(samples, MOST);
    double power = 0;
    double gain = spec->response ? 1 : 0; /* a response passes what comes */
    for (uint64_t n = 0; n < count; n++) {
        double volts[2] = {0, 0};
        sample_volts(&spec->coding, data, input, 0, n, volts);
        power += volts[0] * volts[0] + volts[1] * volts[1];
    }
    for (size_t i = 0; !spec->response && i < numbers; i++) {
        gain += spec->coeff[i] * spec->coeff[i];
    }
    *windows = (struct fir_windows){.unit = sqrt(power / (double)count * gain)};
}

static void fir_windows_free(struct fir_windows *windows)
{
    for (uint32_t w = 0; w < FIR_WINDOWS; w++) {
        free(memory_move(&windows->list[w].expected));
    }
}

/* Sums of long filters take long, so fewer of them. */
static void windows_place(struct fir_windows *windows, const struct filter_spec *spec,
                          uint64_t rows)
{
    enum { WORK = 1 << 20, LEAST = 8, MOST = 4096 };
    const uint64_t grain = max_u64(filter_grain(spec), 1);
    uint64_t count = min_u64(min_u64(max_u64(WORK / spec->taps, LEAST), MOST), rows);
    uint64_t last = rows - count;
    uint64_t edge = (rows - 1) / grain * grain;
    uint64_t border = edge > count / 2 ? edge - count / 2 : 0;
    const uint64_t at[FIR_WINDOWS] = {0, min_u64(border, last), last / 3, last};
    for (uint32_t w = 0; w < FIR_WINDOWS; w++) {
        windows->list[w].first = at[w];
        windows->list[w].rows = count;
    }
}

static status_t windows_expect_one(struct fir_window *window, const struct filter_spec *spec,
                                   const struct fir_trial *trial, backend_t *reference)
{
    const struct sample_input *input = &trial->input;
    const struct stage_run *whole = &trial->run;
    const uint64_t grain = filter_grain(spec);
    const uint64_t from = window->first / grain * grain;
    const uint64_t until = ceil_div_u64(window->first + window->rows, grain) * grain;
    const uint64_t first = from * spec->decimate;
    const uint64_t end = min_u64((until - 1) * spec->decimate + spec->taps, whole->samples);
    const size_t re[1] = {0};
    const size_t im[1] = {input->im[0] - input->re[0]};
    const struct sample_input copied = {re, im, input->step};
    const size_t bytes = (size_t)window->rows * fir_row_floats(spec) * sizeof(float);
    const struct stage_run run = {.streams = stream_range(0, 1),
                                  .first_sample = whole->first_sample + (int64_t)first,
                                  .samples = end - first,
                                  .first_row = (int64_t)window->first,
                                  .rows = window->rows,
                                  .out_stride = window->rows};
    SCOPED(buffer_destroy_at) buffer_t *out = NULL;
    SCOPED(buffer_destroy_at) buffer_t *in = NULL;
    SCOPED(stage_destroy_at) filter_t *stage = NULL;
    void *rows = NULL;
    free(memory_move(&window->expected));
    TRY(memory_zeroed(bytes, 1, "a trial", &window->expected));
    TRY(bank_part(reference, trial->in, input->re[0] + first * input->step,
                  (end - first) * input->step, &in));
    TRY(buffer_create(reference, BUFFER_OUT, bytes, &out));
    TRY(filter_create(reference, spec, &stage));
    TRY(stage_run(stage, in, &copied, &run, out));
    TRY(buffer_get(out, &rows));
    memcpy(window->expected, rows, bytes);
    return STATUS_OK;
}

/* The trial's rows, from row 0 on, by the reference; of responses, with transforms of the length
 * that the spec's choice has. Fails with DEVICE. */
static status_t fir_windows_expect(struct fir_trial *trial)
{
    struct fir_windows *windows = &trial->windows;
    struct filter_spec one = trial->spec;
    SCOPED(backend_close_at) backend_t *reference = NULL;
    windows_place(windows, &trial->spec, trial->run.rows);
    one.nstreams = 1;
    one.max_rows = windows->list[0].rows;
    one.method = one.response ? FILTER_OVERLAP_SAVE : FILTER_DIRECT;
    one.choice =
        (struct filter_choice){.backend = BACKEND_REFERENCE,
                               .shape = {.method = one.method, .length = one.choice.shape.length}};
    TRY(bank_open_reference(&reference));
    for (uint32_t w = 0; w < FIR_WINDOWS; w++) {
        TRY(windows_expect_one(&windows->list[w], &one, trial, reference));
    }
    return STATUS_OK;
}

void fir_windows_compare(struct fir_windows *windows, const struct filter_spec *spec,
                         const float *out, uint32_t *wrong)
{
    const size_t floats = fir_row_floats(spec);
    double sum = 0;
    uint64_t count = 0;
    uint32_t off = 0;
    for (const struct fir_window *w = windows->list; w < windows->list + FIR_WINDOWS; w++) {
        const float *found = out + w->first * floats;
        for (uint64_t row = 0; row < w->rows; row++) {
            double square = 0;
            for (size_t i = row * floats; i < (row + 1) * floats; i++) {
                double error = (double)found[i] - (double)w->expected[i];
                square += error * error;
            }
            off += !(sqrt(square) <= fir_worst_limit * windows->unit);
            sum += square;
            count++;
        }
    }
    windows->error = sqrt(sum / (double)count) / windows->unit;
    *wrong += off > 0 ? off : !(windows->error <= fir_rms_limit);
}

/* ---- fir trial ---- */

static uint64_t trial_samples(const struct filter_spec *spec, uint64_t rows)
{
    return (rows - 1) * spec->decimate + spec->taps;
}

static uint64_t trial_stream_bytes(const struct filter_spec *spec, uint64_t rows)
{
    return trial_samples(spec, rows) * sample_bytes(spec->coding.format, spec->coding.is_complex);
}

/* Returns the words of 8 bytes of noise that the input takes. */
static uint64_t trial_words(const struct filter_spec *spec, uint64_t rows)
{
    return trial_stream_bytes(spec, rows) * spec->nstreams / sizeof(uint64_t) + 1;
}

static uint64_t trial_out_bytes(const struct filter_spec *spec, uint64_t rows)
{
    return rows * spec->nstreams * fir_row_floats(spec) * sizeof(float);
}

/* Returns the bytes of this machine's memory that such a trial takes without pairs, but for the
 * stage. */
static uint64_t fir_trial_bytes(const struct filter_spec *spec, uint64_t rows)
{
    return trial_words(spec, rows) * sizeof(uint64_t) + trial_out_bytes(spec, rows);
}

void fir_trial_end(struct fir_trial *trial)
{
    stage_destroy(trial->stage);
    stage_destroy(trial->copy);
    buffer_destroy(trial->in);
    buffer_destroy(trial->out);
    for (uint32_t i = 0; i < trial->npairs; i++) {
        buffer_destroy(trial->pairs[i].in);
        buffer_destroy(trial->pairs[i].out);
    }
    fir_windows_free(&trial->windows);
    MEMORY_FREE(trial->pairs, trial->re, trial->im);
    *trial = (struct fir_trial){.backend = NULL};
}

static status_t trial_lay_out(struct fir_trial *trial)
{
    const struct filter_spec *spec = &trial->spec;
    const struct sample_coding *coding = &spec->coding;
    size_t stream = (size_t)trial_stream_bytes(spec, trial->rows);
    TRY(bank_places(spec->nstreams, stream, coding->format, coding->is_complex, &trial->re,
                    &trial->im));
    trial->input = (struct sample_input){trial->re, trial->im,
                                         sample_bytes(coding->format, coding->is_complex)};
    trial->run =
        (struct stage_run){.streams = stream_range(0, spec->nstreams),
                           .first_sample = spec->first + (spec->shift ? spec->shift[0] : 0),
                           .samples = trial->samples,
                           .rows = trial->rows,
                           .out_stride = trial->rows};
    return STATUS_OK;
}

/* One coefficient of 1, from samples as they are to floats, or of rows. */
static status_t trial_make_copy(struct fir_trial *trial)
{
    static const double one[1] = {1};
    const struct filter_spec *spec = &trial->spec;
    struct filter_spec copy = {
        .coding = {.format = SAMPLE_F32, .is_complex = spec->coding.is_complex},
        .is_complex_out = spec->coding.is_complex,
        .taps = 1,
        .decimate = 1,
        .coeff = one,
        .nstreams = spec->nstreams,
        .max_rows = max_u64(trial->samples, trial->rows),
        .threads = spec->threads};
    return filter_create(trial->backend, &copy, &trial->copy);
}

/* Copies the output of a stage of floats: rows that follow each other without gaps. */
static status_t trial_copy(struct fir_trial *trial, buffer_t *from, buffer_t *to, uint64_t count)
{
    struct stage_run run = {
        .streams = stream_range(0, 1), .samples = count, .rows = count, .out_stride = count};
    const size_t re[1] = {0};
    const size_t im[1] = {trial->spec.coding.is_complex ? sizeof(float) : 0};
    struct sample_input input = {re, im, trial->input.step};
    return stage_run(trial->copy, from, &input, &run, to);
}

static status_t trial_make_pairs(struct fir_trial *trial, uint32_t pairs)
{
    double unused[DEVICE_STEPS];
    uint64_t in_bytes = trial_stream_bytes(&trial->spec, trial->rows);
    uint64_t out_bytes = trial_out_bytes(&trial->spec, trial->rows);
    TRY(memory_zeroed(pairs, sizeof *trial->pairs, "pairs of buffers", &trial->pairs));
    TRY(trial_make_copy(trial));
    for (; trial->npairs < pairs; trial->npairs++) {
        struct fir_pair *pair = &trial->pairs[trial->npairs];
        status_t made = buffer_create(trial->backend, BUFFER_BETWEEN, in_bytes, &pair->in);
        made = made ? made : buffer_create(trial->backend, BUFFER_BETWEEN, out_bytes, &pair->out);
        if (made != STATUS_OK) {
            buffer_destroy(pair->in);
            *pair = (struct fir_pair){.in = NULL};
            TRY(made);
        }
        TRY(trial_copy(trial, trial->in, pair->in, trial->samples));
    }
    return stage_times(trial->copy, unused);
}

status_t fir_trial_begin(backend_t *backend, const struct filter_spec *spec, uint64_t rows,
                         uint32_t pairs, struct fir_trial *out)
{
    void *data = NULL;
    *out = (struct fir_trial){.backend = backend, .spec = *spec, .rows = rows};
    out->samples = trial_samples(spec, rows);
    out->spec.max_rows = rows;
    out->spec.is_timed = 1;
    TRY(trial_lay_out(out));
    TRY(bank_noise_buffer(backend, spec->coding.format, 0, trial_words(spec, rows), &out->in));
    TRY(buffer_create(backend, BUFFER_OUT, trial_out_bytes(spec, rows), &out->out));
    TRY(buffer_get(out->in, &data));
    fir_windows_begin(&out->windows, &out->spec, data, &out->input, out->samples);
    return pairs > 0 ? trial_make_pairs(out, pairs) : STATUS_OK;
}

/* Limits the following runs to `rows` rows. */
static void fir_trial_cut(struct fir_trial *trial, uint64_t rows)
{
    trial->run.rows = min_u64(rows, trial->rows);
    trial->run.samples = trial_samples(&trial->spec, trial->run.rows);
}

/* Fills the rows with wrong values, so that rows that are not written are found. */
static status_t trial_spoil(struct fir_trial *trial)
{
    void *data = NULL;
    TRY(buffer_get(trial->out, &data));
    memset(data, 0xff, (size_t)trial_out_bytes(&trial->spec, trial->rows));
    return STATUS_OK;
}

static status_t trial_compare(struct fir_trial *trial, uint32_t *wrong)
{
    void *data = NULL;
    TRY(buffer_get(trial->out, &data));
    fir_windows_compare(&trial->windows, &trial->spec, data, wrong);
    return STATUS_OK;
}

/* Times a run with the transfers from the host and back. */
static status_t trial_run_moved(struct fir_trial *trial, struct trial_run *out)
{
    void *data = NULL;
    double started = clock_now();
    TRY(stage_run(trial->stage, trial->in, &trial->input, &trial->run, trial->out));
    TRY(buffer_get(trial->out, &data));
    out->seconds = clock_now() - started;
    return stage_times(trial->stage, out->steps);
}

static status_t trial_run(void *context, struct trial_run *out)
{
    struct fir_trial *trial = context;
    *out = (struct trial_run){.seconds = 0};
    if (trial->is_moved || trial->npairs == 0) {
        TRY(trial_run_moved(trial, out));
    } else {
        trial->turn = (trial->turn + 1) % trial->npairs;
        struct fir_pair *pair = &trial->pairs[trial->turn];
        double started = clock_now();
        TRY(stage_run(trial->stage, pair->in, &trial->input, &trial->run, pair->out));
        TRY(stage_times(trial->stage, out->steps));
        out->seconds = clock_now() - started;
    }
    if (!trial->is_moved) {
        trial_run_settle(out, STEP_DEINTERLEAVE);
    }
    return STATUS_OK;
}

static status_t trial_check(void *context, uint32_t *wrong)
{
    struct fir_trial *trial = context;
    if (!trial->is_moved && trial->npairs > 0) {
        TRY(trial_spoil(trial));
        TRY(trial_copy(trial, trial->pairs[trial->turn].out, trial->out,
                       trial->rows * trial->spec.nstreams));
    }
    return trial_compare(trial, wrong);
}

/* Checks the outputs of one run, before any run is timed. */
static status_t trial_verify(struct fir_trial *trial, uint32_t *wrong)
{
    struct trial_run unused;
    TRY(trial_spoil(trial));
    TRY(trial_run_moved(trial, &unused));
    return trial_compare(trial, wrong);
}

static const struct trial trial_timed = {trial_run, trial_check};

status_t fir_trial_time(struct fir_trial *trial, const struct filter_choice *choice,
                        uint32_t repeats, const struct tune_time *time, struct trial_times *times)
{
    uint32_t wrong = 0;
    struct filter_spec *spec = &trial->spec;
    stage_destroy(memory_move(&trial->stage));
    spec->choice = *choice;
    TRY(filter_create(trial->backend, spec, &trial->stage));
    TRY(fir_windows_expect(trial));
    TRY(trial_verify(trial, &wrong));
    trial->is_moved = 0;
    TRY(trial_time(&trial_timed, trial, repeats, time, times));
    times->wrong += wrong;
    return STATUS_OK;
}

status_t fir_trial_time_moved(struct fir_trial *trial, uint32_t repeats,
                              const struct tune_time *time, struct trial_times *times)
{
    trial->is_moved = 1;
    return trial_time(&trial_timed, trial, repeats, time, times);
}

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
    return backend_abilities(kind)->uses_threads ? text_add(out, ", %u threads", spec->threads)
                                                 : STATUS_OK;
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
                         struct trial_times *out)
{
    struct fir_space *fir = context;
    const struct filter_choice choice = {backend_which(fir->trial.backend), fir->shapes[i]};
    fir_trial_cut(&fir->trial, fir_timed_rows(&fir->trial, &choice.shape));
    TRY(fir_trial_time(&fir->trial, &choice, repeats, time, out));
    out->median *= fir_scale(&fir->trial);
    return STATUS_OK;
}

/* Returns the largest number of bytes that any shape needs beside the trial's own. */
static uint64_t fir_bytes(backend_t *backend, const struct filter_spec *spec,
                          const struct filter_shape *shapes, uint32_t count)
{
    uint64_t most = 0;
    struct filter_spec one = *spec;
    one.choice.backend = backend_which(backend);
    for (uint32_t i = 0; i < count; i++) {
        one.choice.shape = shapes[i];
        most = max_u64(most, filter_bytes(one.choice.backend, &one, MEMORY_HOST));
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
    MEMORY_FREE(fir->shapes, fir);
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
    struct filter_choice choice = spec->choice;
    SCOPED(free_at) struct filter_shape *list = NULL;
    uint32_t count = 0;
    if (choice.backend == BACKEND_AUTO) {
        TRY(filter_choose(backend_which(backend), spec, &choice));
        TRY(filter_candidates(backend, spec, &list, &count));
    }
    TRY(tune_few(&tune_fir, backend, spec, "filter", (const uint32_t *)list, count > 1 ? count : 0,
                 memory, (uint32_t *)&choice.shape));
    *out = choice;
    return STATUS_OK;
}
