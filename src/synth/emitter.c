/* Noise sources. Noise of a band is made where bands are simple: as random numbers in the bins of a
 * spectrum.
 *
 * Blocks of LENGTH samples begin at every LENGTH / 2; each is a spectrum's transform under half a
 * turn of a sine, and as the squares of the two that overlap add up to 1, their sum has the same
 * power at every sample. A delayed block is the transform of a spectrum whose phases are turned,
 * under the delayed sine: any fraction of a sample is exact.
 *
 * Where a stretch of a pulsed source begins and ends follows from its number alone, so that no cut
 * moves it. */
#include "synth/emitter.h"

#include "base/memory.h"
#include "dsp/delay_model.h"
#include "dsp/phasor.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The sample at or after `at`, among from .. to. */
static uint64_t gate_sample(double at, uint64_t from, uint64_t to)
{
    const double sample = ceil(at);
    return sample <= (double)from ? from : sample >= (double)to ? to : (uint64_t)sample;
}

int gate_find(const struct synth_spec *spec, const struct synth_pulsed *pulsed, uint64_t from,
              uint64_t to, uint64_t *first, uint64_t *end)
{
    const double period = pulsed->period_s * spec->sample_rate_hz;
    if (period == 0) {
        *first = from;
        *end = to;
        return from < to;
    }
    /* From one stretch before, as the quotient is rounded. */
    double k = floor((double)from / period - pulsed->phase) - 1;
    for (; (k + pulsed->phase) * period < (double)to; k++) {
        *first = gate_sample((k + pulsed->phase) * period, from, to);
        *end = gate_sample((k + pulsed->phase + pulsed->duty) * period, from, to);
        if (*first < *end) {
            return 1;
        }
    }
    return 0;
}

enum { LENGTH = 4096, HOP = LENGTH / 2 };

struct emitters {
    const struct synth_spec *spec;
    const noise_t *noise;
    fftw_plan inverse;
    fftw_plan analytic; /* complex, of real samples, too */
    double window[LENGTH];
};

/* The state of one call. */
struct emitter_block {
    double data[LENGTH + 2][2]; /* a spectrum, then its transform */
    double height[LENGTH];      /* rms of each real component in a bin */
    float white[2][2 * LENGTH]; /* of two independent waveforms */
};

/* The part of one source in a stream. */
struct emitter_part {
    const struct synth_noise_source *source;
    struct noise_key key[2];
    double gains[2][2];
    uint32_t number, station;
    double carrier_hz; /* sky frequency of bin 0 */
};

status_t emitters_create(const struct synth_spec *spec, const noise_t *noise, emitters_t **out)
{
    status_t st = STATUS_OK;
    emitters_t *e = NULL;
    struct emitter_block *block = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *e, "sources of noise", &e));
    TRY_OUT(memory_aligned(1, sizeof *block, "sources of noise", &block));
    e->spec = spec;
    e->noise = noise;
    for (int i = 0; i < LENGTH; i++) {
        e->window[i] = sin(3.14159265358979323846 * (i + 0.5) / LENGTH);
    }
    /* As synth/pulses.c: the same plan on every rank. */
    e->inverse =
        spec->is_complex
            ? fftw_plan_dft_1d(LENGTH, block->data, block->data, FFTW_BACKWARD, FFTW_ESTIMATE)
            : fftw_plan_dft_c2r_1d(LENGTH, block->data, block->data[0], FFTW_ESTIMATE);
    e->analytic = fftw_plan_dft_1d(LENGTH, block->data, block->data, FFTW_BACKWARD, FFTW_ESTIMATE);
    REQUIRE_OUT(e->inverse && e->analytic, STATUS_DEVICE,
                "FFTW cannot plan a transform of %d points", (int)LENGTH);
    *out = memory_move(&e);
out:
    free(block);
    emitters_destroy(e);
    return st;
}

void emitters_destroy(emitters_t *e)
{
    if (!e) {
        return;
    }
    if (e->inverse) {
        fftw_destroy_plan(e->inverse);
    }
    if (e->analytic) {
        fftw_destroy_plan(e->analytic);
    }
    free(e);
}

/* Computes the share of each bin in the band of the source, and of the coarse channel, as an
 * rms. */
static void emitter_fill_heights(const emitters_t *e, const struct synth_noise_source *source,
                                 double chan_hz, double height[LENGTH])
{
    const struct synth_spec *spec = e->spec;
    const int is_complex = spec->is_complex;
    const double bin_hz = spec->sample_rate_hz / LENGTH;
    const double half_hz = spec->sample_rate_hz / (is_complex ? 2 : 4);
    const double low_hz = source->has_band ? fmax(source->from_hz - chan_hz, -half_hz) : -half_hz;
    const double high_hz = source->has_band ? fmin(source->to_hz - chan_hz, half_hz) : half_hz;
    memset(height, 0, LENGTH * sizeof *height);
    /* The outermost bin of complex samples is both edges of the channel. */
    for (int k = -HOP; k <= HOP; k++) {
        if (!is_complex && k < 0) {
            continue;
        }
        const double at_hz = k * bin_hz - (is_complex ? 0 : half_hz);
        const double from_hz = fmax(at_hz - bin_hz / 2, low_hz);
        const double to_hz = fmin(at_hz + bin_hz / 2, high_hz);
        height[(k + LENGTH) % LENGTH] += fmax(to_hz - from_hz, 0) / bin_hz;
    }
    for (int k = 0; k < LENGTH; k++) {
        /* With real samples a bin represents two, except the first and last, which have no
         * imaginary part. */
        const double twice = is_complex ? 1 : (k == 0 || k == HOP) ? 0.5 : 2;
        height[k] = source->amplitude * sqrt(height[k] / (twice * LENGTH));
    }
}

static void emitter_make_spectrum(const emitters_t *e, const struct emitter_part *part,
                                  uint64_t number, struct emitter_block *block)
{
    const uint32_t bins = e->spec->is_complex ? LENGTH : LENGTH / 2 + 1;
    const int waveforms = part->gains[1][0] != 0 ? 2 : 1;
    memset(block->data, 0, sizeof block->data);
    for (int w = 0; w < waveforms; w++) {
        const double *gain = part->gains[w];
        noise_fill(e->noise, part->key[w], 1, number * 2 * LENGTH, (uint64_t)2 * bins,
                   block->white[w]);
        for (uint32_t k = 0; k < bins; k++) {
            const double re = block->height[k] * (double)block->white[w][2 * k];
            const double im = block->height[k] * (double)block->white[w][2 * k + 1];
            block->data[k][0] += gain[0] * re - gain[1] * im;
            block->data[k][1] += gain[0] * im + gain[1] * re;
        }
    }
}

/* Adds what a block has of samples first .. first + count - 1. The block before the first sample
 * has number -1, modulo 2^64. */
static void emitter_add_block(const emitters_t *e, const struct emitter_part *part, uint64_t number,
                              uint64_t first, uint64_t count, struct emitter_block *block,
                              float *out)
{
    const uint64_t parts = e->spec->is_complex ? 2 : 1;
    const double *data = block->data[0];
    const uint64_t to = min_u64((number + 2) * HOP, first + count);
    uint64_t from = max_u64(number + 1 > 0 ? number * HOP : 0, first);
    uint64_t end;
    int is_made = 0;
    for (; gate_find(e->spec, &part->source->pulsed, from, to, &from, &end); from = end) {
        if (!is_made) {
            emitter_make_spectrum(e, part, number, block);
            if (e->spec->is_complex) {
                fftw_execute_dft(e->inverse, block->data, block->data);
            } else {
                fftw_execute_dft_c2r(e->inverse, block->data, block->data[0]);
            }
            is_made = 1;
        }
        for (uint64_t n = from; n < end; n++) {
            const uint64_t i = n - number * HOP;
            for (uint64_t p = 0; p < parts; p++) {
                out[(n - first) * parts + p] += (float)(e->window[i] * data[i * parts + p]);
            }
        }
    }
}

/* How a block is delayed: its centre comes at `centre_s` after sample 0, `delay_s` late, and
 * `rate` later each second. */
struct emitter_delay {
    double centre_s, delay_s, rate;
};

static struct emitter_delay emitter_find_delay(const emitters_t *e, const struct emitter_part *part,
                                               int64_t number)
{
    const delay_model_t *delays = e->spec->array.delays;
    struct emitter_delay d = {.centre_s = (double)(number + 1) * HOP / e->spec->sample_rate_hz};
    double at[2] = {d.centre_s, 0};
    d.centre_s += delay_at(delays, part->number, part->station, at);
    at[0] = d.centre_s;
    d.delay_s = delay_at(delays, part->number, part->station, at);
    d.rate = delay_rate(delays, part->number, part->station, at);
    return d;
}

static void emitter_turn(double turns, double z[2])
{
    double by[2];
    phasor(turns - rint(turns), by);
    const double re = z[0] * by[0] - z[1] * by[1];
    z[1] = z[0] * by[1] + z[1] * by[0];
    z[0] = re;
}

/* Makes the analytic signal of a block, late by `samples` (less than 1). Of real samples its bins
 * stand for two, but for the first and the last. */
static void emitter_make_delayed(const emitters_t *e, const struct emitter_part *part,
                                 int64_t number, double samples, struct emitter_block *block)
{
    const int is_complex = e->spec->is_complex;
    emitter_make_spectrum(e, part, (uint64_t)number, block);
    for (int k = 0; k < LENGTH; k++) {
        const int bin = is_complex && k >= HOP ? k - LENGTH : k;
        const double factor = !is_complex && k > 0 && k < HOP ? 2 : 1;
        block->data[k][0] *= factor;
        block->data[k][1] *= factor;
        emitter_turn(-bin * samples / LENGTH, block->data[k]);
    }
    fftw_execute_dft(e->analytic, block->data, block->data);
}

/* Adds what a delayed block has of samples first .. first + count - 1. */
static void emitter_add_delayed(const emitters_t *e, const struct emitter_part *part,
                                int64_t number, uint64_t first, uint64_t count,
                                struct emitter_block *block, float *out)
{
    const double pi = 3.14159265358979323846;
    const double rate_hz = e->spec->sample_rate_hz;
    const uint64_t parts = e->spec->is_complex ? 2 : 1;
    const struct emitter_delay d = emitter_find_delay(e, part, number);
    const double whole = rint(d.delay_s * rate_hz);
    const int64_t begin = number * HOP + (int64_t)whole;
    uint64_t from = max_u64((uint64_t)(begin > 1 ? begin - 1 : 0), first);
    const uint64_t to =
        min_u64((uint64_t)(begin + LENGTH > 0 ? begin + LENGTH + 1 : 0), first + count);
    uint64_t end;
    int is_made = 0;
    for (; from < to && gate_find(e->spec, &part->source->pulsed, from, to, &from, &end);
         from = end) {
        if (!is_made) {
            emitter_make_delayed(e, part, number, d.delay_s * rate_hz - whole, block);
            is_made = 1;
        }
        for (uint64_t n = from; n < end; n++) {
            const int64_t i = (int64_t)n - begin;
            const double later_s = d.rate * ((double)n / rate_hz - d.centre_s);
            const double at = (double)i - (d.delay_s * rate_hz - whole) - later_s * rate_hz + 0.5;
            if (at <= 0 || at >= LENGTH) {
                continue;
            }
            double z[2] = {block->data[(i + LENGTH) % LENGTH][0],
                           block->data[(i + LENGTH) % LENGTH][1]};
            emitter_turn(-part->carrier_hz * (d.delay_s + later_s), z);
            for (uint64_t p = 0; p < parts; p++) {
                out[(n - first) * parts + p] += (float)(sin(pi * at / LENGTH) * z[p]);
            }
        }
    }
}

/* Adds all blocks of a source that come at the station within the samples. */
static void emitter_add_far(const emitters_t *e, const struct emitter_part *part, uint64_t first,
                            uint64_t count, struct emitter_block *block, float *out)
{
    const double rate_hz = e->spec->sample_rate_hz;
    const double ends[2] = {(double)first, (double)(first + count)};
    int64_t number[2];
    for (int i = 0; i < 2; i++) {
        const double time[2] = {ends[i] / rate_hz, 0};
        const double delay_s = delay_at(e->spec->array.delays, part->number, part->station, time);
        number[i] = (int64_t)floor((ends[i] - delay_s * rate_hz) / HOP);
    }
    for (int64_t b = number[0] - 2; b <= number[1] + 1; b++) {
        emitter_add_delayed(e, part, b, first, count, block, out);
    }
}

status_t emitters_add(const emitters_t *e, uint32_t antenna, uint32_t chan, uint64_t first,
                      uint64_t count, float *out)
{
    status_t st = STATUS_OK;
    const struct synth_spec *spec = e->spec;
    struct emitter_block *block = NULL;
    TRY_OUT(memory_aligned(1, sizeof *block, "sources of noise", &block));
    for (uint32_t i = 0; i < spec->nnoise_sources; i++) {
        const double chan_hz = synth_spec_chan_hz(spec, chan);
        struct emitter_part part = {
            .source = &spec->noise_sources[i],
            .number = i,
            .carrier_hz = chan_hz - (spec->is_complex ? 0 : spec->sample_rate_hz / 4)};
        for (uint32_t w = 0; w < 2; w++) {
            part.key[w] = noise_key(spec->seed, NOISE_SOURCE, 2 * i + w, chan);
        }
        polarise_gains(spec, &part.source->polarisation, antenna % spec->pols, part.gains);
        emitter_fill_heights(e, part.source, chan_hz, block->height);
        if (part.source->direction) {
            part.station = antenna / spec->pols / spec->beams;
            emitter_add_far(e, &part, first, count, block, out);
            continue;
        }
        for (uint64_t last = (first + count - 1) / HOP, b = first / HOP - 1; b != last + 1; b++) {
            emitter_add_block(e, &part, b, first, count, block, out);
        }
    }
out:
    free(block);
    return st;
}
