/* What a stream adds up: noise of its own, the tones that it holds, the pulsar. */
#include "synth/signal.h"

#include "base/memory.h"
#include "synth/burst.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROTATION = 256 }; /* samples for which a tone turns on from one exact phase */

static const double TURN = 6.28318530717958647692;

struct signal {
    const struct synth_spec *spec;
    noise_t *noise;
    pulsar_t *pulsar; /* NULL: none */
    bursts_t *bursts; /* NULL: none */
};

status_t signal_create(const struct synth_spec *spec, signal_t **out)
{
    status_t st = STATUS_OK;
    signal_t *signal = NULL;
    TRY(memory_zeroed(1, sizeof *signal, "the synthetic sky", &signal));
    signal->spec = spec;
    TRY(noise_create(&signal->noise));
    if (spec->pulsar.period > 0 && spec->pulsar.amplitude > 0) {
        TRY(pulsar_create(spec, &signal->pulsar));
    }
    if (spec->nbursts > 0) {
        TRY(bursts_create(spec, signal->noise, &signal->bursts));
    }
    *out = signal;
    signal = NULL;
out:
    signal_destroy(signal);
    return st;
}

void signal_destroy(signal_t *signal)
{
    if (!signal) {
        return;
    }
    bursts_destroy(signal->bursts);
    pulsar_destroy(signal->pulsar);
    noise_destroy(signal->noise);
    free(signal);
}

/* The fraction of a turn in a / b, b > 0, in units of 2^-64, rounded towards 0. Long division with
 * exact remainders: a quotient in double would lose a thousandth of a turn by sample 10^13. */
static uint64_t signal_turn_fraction(double a, double b)
{
    const double digit = 4294967296.0; /* 2^32 */
    uint64_t fraction = 0;
    double rest = fmod(a, b);
    if (rest < 0) {
        return 0 - signal_turn_fraction(-a, b);
    }
    for (int i = 0; i < 2; i++) {
        double next = fmod(rest * digit, b);
        fraction = fraction << 32 | (uint64_t)llrint((rest * digit - next) / b);
        rest = next;
    }
    return fraction;
}

/* cos, sin of 2 pi turns / 2^64. */
static void signal_phasor(uint64_t turns, double out[2])
{
    double angle = TURN * ((double)(int64_t)turns / 18446744073709551616.0);
    out[0] = cos(angle);
    out[1] = sin(angle);
}

/* How fast a tone turns in a coarse channel, in 2^-64 turns per sample; returns 0 when the channel
 * does not hold it. */
static int signal_tone_step(const struct synth_spec *spec, double freq_hz, double chan_hz,
                            uint64_t *step)
{
    const double half_hz = spec->sample_rate_hz / (spec->is_complex ? 2 : 4);
    const double offset_hz = freq_hz - chan_hz;
    if (!(offset_hz >= -half_hz && offset_hz < half_hz)) {
        return 0;
    }
    *step = signal_turn_fraction(spec->is_complex ? offset_hz : offset_hz + half_hz,
                                 spec->sample_rate_hz);
    return 1;
}

/* Adds a tone. Each sample is the product of an exact phasor at the last multiple of ROTATION
 * samples and one of the ROTATION that follow it: whatever the cut, the same two factors. */
static void signal_tone_add(int is_complex, const struct synth_tone *tone, uint64_t step,
                            uint64_t first, uint64_t count, float *restrict out)
{
    const uint64_t start = signal_turn_fraction(tone->phase, 1);
    double turn[ROTATION][2];
    for (uint64_t i = 0; i < ROTATION; i++) {
        signal_phasor(i * step, turn[i]);
    }
    for (uint64_t done = 0; done < count;) {
        const uint64_t skip = (first + done) % ROTATION;
        const uint64_t n = min_u64(ROTATION - skip, count - done);
        double z[2];
        signal_phasor(start + step * (first + done - skip), z);
        z[0] *= tone->amplitude;
        z[1] *= tone->amplitude;
        for (uint64_t i = 0; i < n; i++) {
            const double *t = turn[skip + i];
            const float re = (float)(z[0] * t[0] - z[1] * t[1]);
            if (is_complex) {
                out[2 * (done + i)] += re;
                out[2 * (done + i) + 1] += (float)(z[0] * t[1] + z[1] * t[0]);
            } else {
                out[done + i] += re;
            }
        }
        done += n;
    }
}

/* Frequency falls with phase rotation: what came before is conjugated, or of real samples every
 * other one is negated, which turns their spectrum round. */
static void signal_reverse(int is_complex, uint64_t first, uint64_t count, float *restrict out)
{
    if (is_complex) {
        for (uint64_t i = 0; i < count; i++) {
            out[2 * i + 1] = -out[2 * i + 1];
        }
        return;
    }
    for (uint64_t i = (first + 1) % 2; i < count; i += 2) {
        out[i] = -out[i];
    }
}

status_t signal_make(const signal_t *signal, uint32_t antenna, uint32_t chan, uint64_t first,
                     uint64_t count, float *out)
{
    status_t st = STATUS_OK;
    const struct synth_spec *spec = signal->spec;
    const double chan_hz = synth_spec_chan_hz(spec, chan);
    const uint64_t parts = spec->is_complex ? 2 : 1;
    if (spec->noise > 0) {
        struct noise_key key = noise_key(spec->seed, NOISE_RECEIVER, antenna, chan);
        noise_fill(signal->noise, key, (float)spec->noise, first * parts, count * parts, out);
    } else {
        memset(out, 0, count * parts * sizeof *out);
    }
    for (uint32_t t = 0; t < spec->ntones; t++) {
        uint64_t step = 0;
        if (signal_tone_step(spec, spec->tones[t].freq_hz, chan_hz, &step)) {
            signal_tone_add(spec->is_complex, &spec->tones[t], step, first, count, out);
        }
    }
    if (signal->pulsar) {
        struct noise_key key = noise_key(spec->seed, NOISE_PULSAR, 0, chan);
        TRY(pulsar_add(signal->pulsar, signal->noise, key, chan_hz, first, count, out));
    }
    if (signal->bursts) {
        TRY(bursts_add(signal->bursts, chan, first, count, out));
    }
    if (spec->sideband < 0) {
        signal_reverse(spec->is_complex, first, count, out);
    }
out:
    return st;
}
