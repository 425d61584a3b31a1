/* The stage `channelise`, handed on to its backend. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "dsp/overlap.h"

size_t channelise_samples(const struct channelise_spec *spec)
{
    return (size_t)spec->channels * (spec->is_complex ? 1 : 2);
}

size_t channelise_hop(const struct channelise_spec *spec)
{
    return spec->hop > 0 ? spec->hop : channelise_samples(spec);
}

int channelise_is_oversampled(const struct channelise_spec *spec)
{
    return channelise_hop(spec) < channelise_samples(spec);
}

size_t channelise_turn(const struct channelise_spec *spec, uint64_t spectrum)
{
    uint64_t samples = channelise_samples(spec);
    return (size_t)(spectrum % samples * channelise_hop(spec) % samples);
}

struct channelise_spec channelise_of_spectra(const struct channelise_spec *bank)
{
    struct channelise_spec spec = *bank;
    spec.is_spectra = 1;
    spec.channels = bank->nchannels;
    spec.first_channel = 0;
    spec.taps = 1;
    spec.is_complex = 1;
    spec.hop = 0;
    spec.format = SAMPLE_F32;
    spec.conjugate = 0;
    spec.missing.is_none = 1;
    spec.coeff = NULL;
    spec.is_interleaved = 0;
    spec.is_beside = 0;
    spec.beside = NULL;
    spec.most_samples = 0;
    spec.kernel = KERNEL_AUTO;
    spec.simd = bank->choice.backend == BACKEND_CPU ? bank->choice.shape.simd : bank->simd;
    spec.choice = (struct channelise_choice){.backend = BACKEND_AUTO};
    return spec;
}

uint64_t channelise_inputs(const struct channelise_spec *spec, uint64_t spectra)
{
    const struct overlap bank =
        overlap_filter_bank(channelise_samples(spec), spec->taps, channelise_hop(spec));
    return overlap_inputs(&bank, spectra);
}

struct sample_coding channelise_coding(const struct channelise_spec *spec)
{
    return (struct sample_coding){.format = spec->format,
                                  .is_complex = spec->is_complex,
                                  .nibbles = spec->nibbles,
                                  .conjugate = spec->conjugate,
                                  .has_missing_value = spec->missing.has_value,
                                  .missing_value = spec->missing.value,
                                  .is_made = spec->missing.is_none};
}

uint32_t channelise_sums(const struct channelise_output *output, uint32_t nstreams)
{
    return output->quantity == QUANTITY_COHERENCY ? nstreams / 2 * COHERENCY_SUMS : nstreams;
}

uint64_t channelise_row_floats(const struct channelise_spec *spec, uint32_t i, uint32_t nstreams)
{
    const struct channelise_output *output = &spec->outputs[i];
    uint64_t parts = output->quantity == QUANTITY_SPECTRA ? 2 : 1;
    return parts * channelise_sums(output, nstreams) * spec->nchannels;
}

uint64_t channelise_row_bytes(const struct channelise_spec *spec, uint32_t i, uint32_t nstreams)
{
    uint32_t bits = spec->outputs[i].bits;
    return channelise_row_floats(spec, i, nstreams) * (bits ? bits / 8 : sizeof(float));
}

/* Bytes of what is counted of a block of scale_rows. */
static uint64_t channelise_counts_bytes(const struct channelise_spec *spec, uint32_t nstreams)
{
    return (uint64_t)nstreams * spec->nchannels * 2 * sizeof(uint32_t);
}

struct channelise_clipped channelise_clipped(const struct channelise_spec *spec, uint32_t i,
                                             uint32_t nstreams, uint64_t first, uint64_t rows)
{
    enum { ALIGNED = 64 };
    uint64_t scale_rows = spec->outputs[i].scale_rows;
    uint64_t blocks = rows > 0 ? (first + rows - 1) / scale_rows - first / scale_rows + 1 : 0;
    uint64_t bytes = rows * channelise_row_bytes(spec, i, nstreams);
    return (struct channelise_clipped){ceil_div_u64(bytes, ALIGNED) * ALIGNED,
                                       blocks * channelise_counts_bytes(spec, nstreams), blocks};
}

uint64_t channelise_output_bytes(const struct channelise_spec *spec, uint32_t i, uint32_t nstreams,
                                 uint64_t rows)
{
    if (!spec->outputs[i].bits) {
        return rows * channelise_row_bytes(spec, i, nstreams);
    }
    struct channelise_clipped most = channelise_clipped(spec, i, nstreams, 0, rows);
    /* Rows that do not begin with a block touch one more. */
    return most.at + most.bytes + channelise_counts_bytes(spec, nstreams);
}

int channelise_has_pairs(const struct channelise_spec *spec)
{
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (spec->outputs[i].quantity == QUANTITY_COHERENCY) {
            return 1;
        }
    }
    return 0;
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
    return backend->ops->channelise->candidates && !spec->is_spectra
               ? backend->ops->channelise->candidates(backend, spec, space, out, count)
               : STATUS_OK;
}

status_t channelise_create(backend_t *backend, const struct channelise_spec *spec,
                           channelise_t **out)
{
    return stage_create(backend, backend->ops->channelise, spec, sizeof *spec, "the filter bank",
                        out);
}

void channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    channelise->ops->begin(channelise, first_spectrum);
}

status_t channelise_scale(channelise_t *channelise, uint32_t i, uint32_t nstreams,
                          const float *factors)
{
    return channelise->ops->scale(channelise, i, nstreams, factors);
}

status_t channelise_run(channelise_t *channelise, buffer_t *in, const struct sample_input *input,
                        uint32_t nstreams, uint64_t spectra, uint64_t counted, buffer_t *const *out,
                        uint64_t *rows)
{
    return channelise->ops->run(channelise, NULL, in, input, nstreams, spectra, counted, out, rows);
}

status_t channelise_run_after(channelise_t *channelise, const channelise_t *first, buffer_t *in,
                              const struct sample_input *input, uint32_t nstreams, uint64_t spectra,
                              buffer_t *const *out, uint64_t *rows)
{
    return channelise->ops->run(channelise, first, in, input, nstreams, spectra, 0, out, rows);
}

status_t fft_baseline_create(backend_t *backend, const struct channelise_spec *spec,
                             uint64_t spectra, fft_baseline_t **out)
{
    const struct fft_baseline_ops *ops = backend->ops->fft_baseline;
    *out = NULL;
    return ops ? ops->create(backend, spec, spectra, out) : STATUS_OK;
}

double fft_baseline_time(fft_baseline_t *baseline)
{
    return baseline->ops->time(baseline);
}
