/* Rows by the reference, from copies of the samples that they are made of. */
#include "tune/problem/fir_windows.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double fir_rms_limit = 1e-6;
const double fir_worst_limit = 1e-5;

size_t fir_row_floats(const struct filter_spec *spec)
{
    return spec->is_complex_out ? 2 : 1;
}

void fir_windows_begin(struct fir_windows *windows, const struct filter_spec *spec,
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

void fir_windows_free(struct fir_windows *windows)
{
    for (uint32_t w = 0; w < FIR_WINDOWS; w++) {
        free(windows->list[w].expected);
        windows->list[w].expected = NULL;
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

/* What the blocks of a window's rows are made of goes into a buffer of the reference's. */
static status_t windows_copy(const struct fir_window *window, const struct filter_spec *spec,
                             const struct stage_run *whole, const char *data,
                             const struct sample_input *input, backend_t *reference, buffer_t **in,
                             struct stage_run *run)
{
    status_t st = STATUS_OK;
    const uint64_t grain = filter_grain(spec);
    const uint64_t from = window->first / grain * grain;
    const uint64_t until = ceil_div_u64(window->first + window->rows, grain) * grain;
    const uint64_t first = from * spec->decimate;
    const uint64_t end = min_u64((until - 1) * spec->decimate + spec->taps, whole->samples);
    void *copy = NULL;
    *run = (struct stage_run){.nstreams = 1,
                              .first_sample = whole->first_sample + (int64_t)first,
                              .samples = end - first,
                              .first_row = (int64_t)window->first,
                              .rows = window->rows,
                              .out_stride = window->rows};
    TRY(buffer_create(reference, BUFFER_IN, (end - first) * input->step, in));
    TRY(buffer_get(*in, &copy));
    memcpy(copy, data + input->re[0] + first * input->step, (size_t)(end - first) * input->step);
out:
    return st;
}

static status_t windows_expect_one(struct fir_window *window, const struct filter_spec *spec,
                                   const struct stage_run *whole, const void *data,
                                   const struct sample_input *input, backend_t *reference)
{
    status_t st = STATUS_OK;
    const size_t re[1] = {0};
    const size_t im[1] = {input->im[0] - input->re[0]};
    const struct sample_input copied = {re, im, input->step};
    const size_t bytes = (size_t)window->rows * fir_row_floats(spec) * sizeof(float);
    struct stage_run run;
    buffer_t *in = NULL;
    buffer_t *out = NULL;
    filter_t *stage = NULL;
    void *rows = NULL;
    free(window->expected);
    window->expected = NULL;
    TRY(memory_zeroed(bytes, 1, "a trial", &window->expected));
    TRY(windows_copy(window, spec, whole, data, input, reference, &in, &run));
    TRY(buffer_create(reference, BUFFER_OUT, bytes, &out));
    TRY(filter_create(reference, spec, &stage));
    TRY(filter_run(stage, in, &copied, &run, out));
    TRY(buffer_get(out, &rows));
    memcpy(window->expected, rows, bytes);
out:
    filter_destroy(stage);
    buffer_destroy(in);
    buffer_destroy(out);
    return st;
}

status_t fir_windows_expect(struct fir_windows *windows, const struct filter_spec *spec,
                            const struct stage_run *run, const void *data,
                            const struct sample_input *input)
{
    status_t st = STATUS_OK;
    struct backend_options none = {0};
    struct filter_spec one = *spec;
    backend_t *reference = NULL;
    windows_place(windows, spec, run->rows);
    one.nstreams = 1;
    one.max_rows = windows->list[0].rows;
    one.method = spec->response ? FILTER_OVERLAP_SAVE : FILTER_DIRECT;
    one.choice = (struct filter_choice){
        .backend = BACKEND_REFERENCE,
        .shape = {.method = one.method, .length = spec->choice.shape.length}};
    TRY(backend_open(BACKEND_REFERENCE, &none, &reference));
    for (uint32_t w = 0; w < FIR_WINDOWS; w++) {
        TRY(windows_expect_one(&windows->list[w], &one, run, data, input, reference));
    }
out:
    backend_close(reference);
    return st;
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
