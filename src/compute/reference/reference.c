/* The reference backend: every stage slow, in double, obviously right. Used by `voltmill verify`,
 * by tests, and to judge the other backends. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/shared/clipped.h"
#include "compute/shared/dedisperse_table.h"
#include "dsp/dft.h"
#include "dsp/steps.h"

#include <stdlib.h>

/* Dedispersion as the formula says, in double. */

static uint64_t dedisperse_needed_bytes(const struct dedisperse_spec *spec)
{
    (void)spec;
    return sizeof(dedisperse_t);
}

static status_t dedisperse_add_up(dedisperse_t *dedisperse, buffer_t *in,
                                  const struct dedisperse_input *input, uint64_t samples,
                                  buffer_t *out, uint64_t out_stride)
{
    const struct dedisperse_spec *spec = &dedisperse->spec;
    float *to = host_data(out);
    for (uint32_t dm = 0; dm < spec->delays->ndms; dm++) {
        for (uint64_t t = 0; t < samples; t++) {
            to[dm * out_stride + t] = dedisperse_formula(spec, input, host_data(in), dm, t);
        }
    }
    return STATUS_OK;
}

static const struct dedisperse_ops reference_dedisperse = {.stage = {.size = sizeof(dedisperse_t)},
                                                           .bytes = dedisperse_needed_bytes,
                                                           .run = dedisperse_add_up};

struct reference {
    struct channelise base;
    size_t samples;                       /* P */
    double *coeff;                        /* [T][P] */
    double complex *folded;               /* [P] one filtered spectrum */
    double complex *bins;                 /* [P] its transform */
    double complex *first;                /* [P] of a pair of streams: the first one's */
    double *carry[MOST_OUTPUTS];          /* [sums][nchannels] the dump that is being summed */
    float *factors[MOST_OUTPUTS];         /* [nstreams][nchannels] of outputs of few bits, */
    struct clipped clipped[MOST_OUTPUTS]; /* and of the run what is clipped there */
    uint64_t next;                        /* spectrum that comes next */
};

static status_t reference_open(const struct backend_options *options, backend_t **out)
{
    (void)options;
    return memory_zeroed(1, sizeof **out, "a backend", out);
}

static void reference_close(backend_t *backend)
{
    free(backend);
}

static void reference_destroy(void *channelise)
{
    struct reference *r = channelise;
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        MEMORY_FREE(r->carry[i], r->factors[i]);
    }
    MEMORY_FREE(r->coeff, r->folded, r->bins, r->first);
}

static status_t reference_create(backend_t *backend, void *made)
{
    struct reference *r = made;
    const struct channelise_spec given = r->base.spec, *spec = &given;
    (void)backend;
    r->samples = channelise_samples(spec);
    TRY(memory_zeroed(r->samples * spec->taps, sizeof(double), "coefficients", &r->coeff));
    if (!spec->is_spectra) {
        memcpy(r->coeff, spec->coeff, r->samples * spec->taps * sizeof(double));
    }
    r->base.spec.coeff = r->coeff;
    TRY(memory_zeroed(r->samples, sizeof *r->folded, "a spectrum", &r->folded));
    TRY(memory_zeroed(r->samples, sizeof *r->bins, "a spectrum", &r->bins));
    TRY(memory_zeroed(r->samples, sizeof *r->first, "a spectrum", &r->first));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(memory_zeroed(channelise_row_floats(spec, i, spec->nstreams), sizeof(double), "a dump",
                          &r->carry[i]));
        TRY(spec->outputs[i].bits ? memory_zeroed((size_t)spec->nstreams * spec->nchannels,
                                                  sizeof(float), "scales", &r->factors[i])
                                  : STATUS_OK);
    }
    return STATUS_OK;
}

static uint64_t reference_needed_bytes(const struct channelise_spec *spec)
{
    uint64_t samples = channelise_samples(spec);
    /* dft_forward() takes a table, a scratch row and a little more. */
    uint64_t bytes = samples * spec->taps * 8 + samples * 7 * 16;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        bytes += channelise_row_floats(spec, i, spec->nstreams) * (spec->outputs[i].bits ? 10 : 8);
    }
    return bytes;
}

static void reference_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    struct reference *r = (struct reference *)channelise;
    const struct channelise_spec *spec = &r->base.spec;
    r->next = first_spectrum;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        memset(r->carry[i], 0,
               (size_t)channelise_row_floats(spec, i, spec->nstreams) * sizeof(double));
    }
}

static status_t reference_scale(channelise_t *channelise, uint32_t i, uint32_t nstreams,
                                const float *factors)
{
    const struct reference *r = (const struct reference *)channelise;
    memcpy(r->factors[i], factors,
           (size_t)nstreams * r->base.spec.nchannels * sizeof *r->factors[i]);
    return STATUS_OK;
}

/* y[n] = sum_t x[s H + t P + n] b[t P + n], turned round by s H places, so that exponents count
 * from the first sample of spectrum 0; then Y = DFT(y). With (-1)^n folded into b, an odd turn
 * leaves a sign. */
static status_t reference_make_spectrum(struct reference *r, const char *in,
                                        const struct sample_input *input, uint32_t stream, size_t s)
{
    const struct channelise_spec *spec = &r->base.spec;
    struct sample_coding coding = channelise_coding(spec);
    size_t turn = channelise_turn(spec, r->next + s);
    double sign = spec->is_shifted && turn % 2 != 0 ? -1 : 1;
    for (size_t n = 0; n < r->samples; n++) {
        double complex sum = 0;
        for (size_t t = 0; t < spec->taps; t++) {
            double volts[2];
            size_t at = s * channelise_hop(spec) + t * r->samples + n;
            (void)sample_volts(&coding, in, input, stream, at, volts);
            sum += (volts[0] + volts[1] * I) * r->coeff[t * r->samples + n];
        }
        r->folded[(n + turn) % r->samples] = sign * sum;
    }
    return dft_forward(r->samples, r->folded, r->bins);
}

/* Takes a spectrum that came in. */
static void reference_take_spectrum(struct reference *r, const char *in, uint32_t stream,
                                    uint32_t nstreams, size_t s)
{
    const float *from = (const float *)(const void *)in + 2 * (s * nstreams + stream) * r->samples;
    for (size_t k = 0; k < r->samples; k++) {
        r->bins[k] = from[2 * k] + (double)from[2 * k + 1] * I;
    }
}

/* Adds spectrum number r->next + s to channel k of a sum of output i. */
static void reference_add(struct reference *r, uint32_t i, uint32_t sum, uint32_t nstreams,
                          size_t s, size_t k, double value, float *out)
{
    const struct channelise_spec *spec = &r->base.spec;
    uint64_t integrate = spec->outputs[i].integrate;
    uint64_t row = dumps_finished(r->next, s, integrate);
    double *total = &r->carry[i][(size_t)sum * spec->nchannels + k];
    *total += value;
    if ((r->next + s + 1) % integrate == 0) {
        uint64_t at = row * channelise_sums(&spec->outputs[i], nstreams) + sum;
        out[at * spec->nchannels + k] = (float)*total;
        *total = 0;
    }
}

static double reference_power(double complex bin)
{
    return creal(bin) * creal(bin) + cimag(bin) * cimag(bin);
}

/* The sums of a pair's stream `half`, and those of both when the second is there. */
static void reference_add_pair(struct reference *r, uint32_t i, uint32_t stream, int half,
                               uint32_t nstreams, size_t s, size_t k, float *out)
{
    const struct channelise_spec *spec = &r->base.spec;
    uint32_t inner = spec->pol_inner;
    uint32_t sum = stream / (2 * inner) * COHERENCY_SUMS * inner + stream % inner;
    double complex bin = r->bins[spec->first_channel + k];
    double complex cross = r->first[spec->first_channel + k] * conj(bin);
    reference_add(r, i, sum + (half ? inner : 0), nstreams, s, k, reference_power(bin), out);
    if (half) {
        reference_add(r, i, sum + 2 * inner, nstreams, s, k, creal(cross), out);
        reference_add(r, i, sum + 3 * inner, nstreams, s, k, cimag(cross), out);
    }
}

/* Rounds a number of spectrum s, channel k, to few bits. */
static void reference_round(const struct reference *r, uint32_t i, uint32_t stream,
                            uint32_t nstreams, size_t s, size_t k, const float pair[2], char *out)
{
    const struct channelise_spec *spec = &r->base.spec;
    const struct steps_form form = {.bits = spec->outputs[i].bits, .is_signed = 1};
    uint16_t clipped[2] = {0, 0};
    uint32_t *counts = clipped_line(&r->clipped[i], stream, s) + 2 * k;
    steps_store(&(const struct steps_rows){
        .form = form,
        .rows = pair,
        .count = 1,
        .lines = 1,
        .factor = &r->factors[i][stream * spec->nchannels + k],
        .out = out + ((s * nstreams + stream) * spec->nchannels + k) * 2 * (form.bits / 8),
        .low = &clipped[0],
        .high = &clipped[1]});
    counts[0] += clipped[0];
    counts[1] += clipped[1];
}

/* Puts the spectrum r->bins, number r->next + s, into output i. */
static void reference_deliver(struct reference *r, uint32_t i, uint32_t stream, int half,
                              uint32_t nstreams, size_t s, float *out)
{
    const struct channelise_spec *spec = &r->base.spec;
    size_t nchannels = spec->nchannels;
    for (size_t k = 0; k < nchannels; k++) {
        double complex bin = r->bins[spec->first_channel + k];
        double power = reference_power(bin);
        const float pair[2] = {(float)creal(bin), (float)cimag(bin)};
        switch (spec->outputs[i].quantity) {
        case QUANTITY_SPECTRA:
            if (spec->outputs[i].bits) {
                reference_round(r, i, stream, nstreams, s, k, pair, (char *)out);
            } else {
                memcpy(out + 2 * ((s * nstreams + stream) * nchannels + k), pair, sizeof pair);
            }
            break;
        case QUANTITY_COHERENCY:
            reference_add_pair(r, i, stream, half, nstreams, s, k, out);
            break;
        case QUANTITY_SQUARES:
            reference_add(r, i, stream, nstreams, s, k, power * power, out);
            break;
        default:
            reference_add(r, i, stream, nstreams, s, k, power, out);
        }
    }
}

/* Makes all spectra of a stream, or of a pair of streams. */
static status_t reference_run_streams(struct reference *r, const char *in,
                                      const struct sample_input *input, const uint32_t streams[2],
                                      int count, uint32_t nstreams, uint64_t spectra,
                                      void *const data[MOST_OUTPUTS])
{
    for (size_t s = 0; s < spectra; s++) {
        for (int half = 0; half < count; half++) {
            if (r->base.spec.is_spectra) {
                reference_take_spectrum(r, in, streams[half], nstreams, s);
            } else {
                TRY(reference_make_spectrum(r, in, input, streams[half], s));
            }
            for (uint32_t i = 0; i < r->base.spec.noutputs; i++) {
                reference_deliver(r, i, streams[half], half, nstreams, s, data[i]);
            }
            memcpy(r->first, r->bins, r->samples * sizeof *r->bins);
        }
    }
    return STATUS_OK;
}

static status_t reference_run(channelise_t *channelise, const channelise_t *first, buffer_t *in,
                              const struct sample_input *input, uint32_t nstreams, uint64_t spectra,
                              uint64_t counted, buffer_t *const *out, uint64_t *rows)
{
    struct reference *r = (struct reference *)channelise;
    const struct channelise_spec *spec = &r->base.spec;
    const void *samples = host_data(in);
    void *data[MOST_OUTPUTS] = {NULL};
    const struct sample_coding coding = channelise_coding(spec);
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        data[i] = host_data(out[i]);
        rows[i] = dumps_finished(r->next, spectra, spec->outputs[i].integrate);
        if (spec->outputs[i].bits) {
            r->clipped[i] = clipped_begin(spec, i, nstreams, r->next, spectra, data[i]);
        }
    }
    for (uint32_t stream = 0; stream < nstreams; stream++) {
        int has_pairs = channelise_has_pairs(spec);
        const uint32_t streams[2] = {stream, stream + spec->pol_inner};
        if (!has_pairs || stream / spec->pol_inner % 2 == 0) {
            TRY(reference_run_streams(r, samples, input, streams, has_pairs ? 2 : 1, nstreams,
                                      spectra, data));
        }
    }
    if (!first) {
        ((struct host_buffer *)in)->missing =
            spec->is_spectra ? 0 : samples_missing(&coding, samples, input, nstreams, 0, counted);
    }
    r->next += spectra;
    return STATUS_OK;
}

static const struct channelise_ops reference_channelise = {
    .stage = {sizeof(struct reference), reference_create, reference_destroy, NULL, NULL},
    .bytes = {reference_needed_bytes},
    .begin = reference_begin,
    .scale = reference_scale,
    .run = reference_run};

static const struct buffer_ops reference_buffers = {sizeof(struct host_buffer), host_buffer_create,
                                                    host_buffer_destroy,        host_buffer_get,
                                                    host_buffer_missing,        NULL};

const struct backend_ops reference_ops = {.kind = BACKEND_REFERENCE,
                                          .abilities = {.is_reference = 1, .slots = 1},
                                          .channelise = &reference_channelise,
                                          .dedisperse = &reference_dedisperse,
                                          .synthesise = &reference_synthesise,
                                          .correlate = &reference_correlate,
                                          .open = reference_open,
                                          .close = reference_close,
                                          .buffers = &reference_buffers,
                                          .measure = host_measure};
