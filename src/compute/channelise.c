/* The stage `channelise`, handed on to its backend. */
#include "compute/backend_ops.h"
#include "dsp/overlap.h"

#include <math.h>
#include <string.h>

size_t channelise_samples(const struct channelise_spec *spec)
{
    return (size_t)spec->channels * (spec->is_complex ? 1 : 2);
}

uint64_t channelise_inputs(const struct channelise_spec *spec, uint64_t spectra)
{
    const struct overlap bank = overlap_filter_bank(spec->taps);
    return overlap_inputs(&bank, spectra);
}

/* One stored number as a double; *is_missing is set when it is none. */
static double channelise_number(const struct channelise_spec *spec, const char *at, int *is_missing)
{
    double value = 0;
    double missing_value = spec->missing_value;
    if (spec->format == SAMPLE_I8) {
        value = *(const int8_t *)at;
    } else if (spec->format == SAMPLE_I16) {
        int16_t stored;
        memcpy(&stored, at, sizeof stored);
        value = stored;
    } else {
        float stored;
        memcpy(&stored, at, sizeof stored);
        value = (double)stored;
        missing_value = (double)(float)missing_value; /* as a float can hold it */
    }
    *is_missing |= !isfinite(value) || (spec->has_missing_value && value == missing_value);
    return value;
}

/* The high and the low four bits of a byte, as two numbers. */
static void channelise_nibbles(const struct channelise_spec *spec, unsigned byte, double volts[2])
{
    int half[2] = {(int)(byte & 15), (int)(byte >> 4)};
    for (int i = 0; i < 2; i++) {
        int value = spec->nibbles.offset_binary ? half[i] - 8
                    : half[i] < 8               ? half[i]
                                                : half[i] - 16;
        volts[i == spec->nibbles.high_is_real ? 0 : 1] = value;
    }
}

int channelise_sample(const struct channelise_spec *spec, const char *in,
                      const struct channelise_input *input, uint32_t stream, size_t n,
                      double volts[2])
{
    const char *re = in + input->re[stream] + n * input->step;
    int is_missing = 0;
    volts[1] = 0;
    if (spec->format == SAMPLE_I4) {
        unsigned byte = *(const unsigned char *)re;
        channelise_nibbles(spec, byte, volts);
        is_missing = spec->has_missing_value && byte == spec->missing_value;
    } else {
        volts[0] = channelise_number(spec, re, &is_missing);
        if (spec->is_complex) {
            const char *im = in + input->im[stream] + n * input->step;
            volts[1] = channelise_number(spec, im, &is_missing);
        }
    }
    if (is_missing) {
        volts[0] = volts[1] = 0;
    } else if (spec->conjugate) {
        volts[1] = -volts[1];
    }
    return !is_missing;
}

uint64_t dumps_finished(uint64_t first, uint64_t count, uint64_t integrate)
{
    return (first + count) / integrate - first / integrate;
}

status_t channelise_choose(backend_t *backend, const struct channelise_spec *spec,
                           struct channelise_choice *out)
{
    if (!backend->ops->channelise->choose) {
        *out = (struct channelise_choice){.backend = BACKEND_AUTO};
        return STATUS_OK;
    }
    return backend->ops->channelise->choose(backend, spec, out);
}

status_t channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                               enum channelise_space space, struct channelise_shape **out,
                               uint32_t *count)
{
    *out = NULL;
    *count = 0;
    return backend->ops->channelise->candidates
               ? backend->ops->channelise->candidates(backend, spec, space, out, count)
               : STATUS_OK;
}

status_t channelise_identity(const backend_t *backend, struct text *out)
{
    return backend->ops->channelise->identity
               ? backend->ops->channelise->identity(backend, out)
               : text_add(out, "%s", backend_name(backend->ops->kind));
}

status_t channelise_create(backend_t *backend, const struct channelise_spec *spec,
                           channelise_t **out)
{
    status_t st = STATUS_OK;
    TRY(backend->ops->channelise->create(backend, spec, out));
    (*out)->ops = backend->ops->channelise;
out:
    return st;
}

void channelise_destroy(channelise_t *channelise)
{
    if (channelise) {
        channelise->ops->destroy(channelise);
    }
}

void channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    channelise->ops->begin(channelise, first_spectrum);
}

status_t channelise_run(channelise_t *channelise, buffer_t *in,
                        const struct channelise_input *input, uint32_t nstreams, uint64_t spectra,
                        uint64_t counted, buffer_t *const *out, uint64_t *rows)
{
    return channelise->ops->run(channelise, in, input, nstreams, spectra, counted, out, rows);
}

status_t channelise_times(channelise_t *channelise, double seconds[CHANNELISE_STEPS])
{
    memset(seconds, 0, CHANNELISE_STEPS * sizeof *seconds);
    return channelise->ops->times ? channelise->ops->times(channelise, seconds) : STATUS_OK;
}

status_t fft_baseline_create(backend_t *backend, const struct channelise_spec *spec,
                             uint64_t spectra, fft_baseline_t **out)
{
    status_t st = STATUS_OK;
    const struct fft_baseline_ops *ops = backend->ops->fft_baseline;
    *out = NULL;
    if (ops) {
        TRY(ops->create(backend, spec, spectra, out));
        (*out)->ops = ops;
    }
out:
    return st;
}

void fft_baseline_destroy(fft_baseline_t *baseline)
{
    if (baseline) {
        baseline->ops->destroy(baseline);
    }
}

double fft_baseline_time(fft_baseline_t *baseline)
{
    return baseline->ops->time(baseline);
}
