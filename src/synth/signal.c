/* The sum of a stream: its own noise, its tones, the pulsar. */
#include "synth/signal.h"

#include "base/memory.h"
#include "synth/emitter.h"
#include "synth/pulses.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tone ---- */

/* Tones: carriers of one frequency, or of one that drifts.
 *
 * A tone's phase is counted in whole numbers, as fractions of a turn: no number of samples is too
 * large for it. */

enum {
    ROTATION = 256, /* samples for which a tone turns on from one exact phase */
    FINE = 16       /* of these, steps that are one product away from a table of as many */
};

__extension__ typedef unsigned __int128 tone_wide_t;

static const double TURN = 6.28318530717958647692;

/* How a tone turns in a coarse channel: phase = start + step n + curve n^2, in turns modulo 1. */
struct tone_course {
    uint64_t start, step; /* 2^-64 turns, per sample */
    tone_wide_t curve;    /* 2^-128 turns, per sample^2 */
    double height[2];     /* amplitude and gain */
};

/* The fraction of a turn in a / b, b > 0, in units of 2^-128, rounded towards 0. Long division with
 * exact remainders: a quotient in double would lose a thousandth of a turn by sample 10^13. */
static tone_wide_t tone_turn_fraction(double a, double b)
{
    const double digit = 4294967296.0; /* 2^32 */
    tone_wide_t fraction = 0;
    double rest = fmod(fabs(a), b);
    for (int i = 0; i < 4; i++) {
        double next = fmod(rest * digit, b);
        fraction = fraction << 32 | (uint64_t)llrint((rest * digit - next) / b);
        rest = next;
    }
    return fraction;
}

static uint64_t tone_turns(double a, double b)
{
    const uint64_t fraction = (uint64_t)(tone_turn_fraction(a, b) >> 64);
    return a < 0 ? 0 - fraction : fraction;
}

/* cos, sin of 2 pi turns / 2^64. */
static void tone_phasor(uint64_t turns, double out[2])
{
    double angle = TURN * ((double)(int64_t)turns / 18446744073709551616.0);
    out[0] = cos(angle);
    out[1] = sin(angle);
}

static void tone_times(double a[2], const double b[2])
{
    const double re = a[0] * b[0] - a[1] * b[1];
    a[1] = a[0] * b[1] + a[1] * b[0];
    a[0] = re;
}

/* The lower edge of a coarse channel, as its lower neighbour has its upper one. */
static double tone_edge_hz(const struct synth_spec *spec, uint64_t chan)
{
    const double width_hz = spec->sample_rate_hz / (spec->is_complex ? 1 : 2);
    return spec->freq_hz + ((double)chan - (double)spec->chans / 2) * width_hz;
}

/* A number of samples, not less than 0. */
static uint64_t tone_sample(double number)
{
    return number > 0 ? (uint64_t)fmin(number, 0x1p63) : 0;
}

/* The samples from *first to *end - 1 at which the channel holds the tone. */
static void tone_find_stay(const struct synth_spec *spec, const struct synth_tone *tone,
                           uint32_t chan, uint64_t *first, uint64_t *end)
{
    if (tone->drift_hz_per_s == 0) {
        const double half_hz = spec->sample_rate_hz / (spec->is_complex ? 2 : 4);
        const double offset_hz = tone->freq_hz - synth_spec_chan_hz(spec, chan);
        *first = 0;
        *end = offset_hz >= -half_hz && offset_hz < half_hz ? UINT64_MAX : 0;
        return;
    }
    const double scale = spec->sample_rate_hz / tone->drift_hz_per_s;
    const double low = (tone_edge_hz(spec, chan) - tone->freq_hz) * scale;
    const double high = (tone_edge_hz(spec, (uint64_t)chan + 1) - tone->freq_hz) * scale;
    *first = tone_sample(scale > 0 ? ceil(low) : floor(high) + 1);
    *end = tone_sample(scale > 0 ? ceil(high) : floor(low) + 1);
}

static struct tone_course tone_find_course(const struct synth_spec *spec,
                                           const struct synth_tone *tone, uint32_t pol,
                                           uint32_t chan)
{
    const double rate_hz = spec->sample_rate_hz;
    const double offset_hz = tone->freq_hz - synth_spec_chan_hz(spec, chan);
    double gains[2][2];
    polarise_gains(spec, &tone->polarisation, pol, gains);
    struct tone_course course = {
        .start = tone_turns(tone->phase, 1),
        .step = tone_turns(spec->is_complex ? offset_hz : offset_hz + rate_hz / 4, rate_hz),
        .curve = tone_turn_fraction(tone->drift_hz_per_s, 2 * rate_hz * rate_hz),
        .height = {tone->amplitude * gains[0][0], tone->amplitude * gains[0][1]}};
    if (tone->drift_hz_per_s < 0) {
        course.curve = 0 - course.curve;
    }
    return course;
}

/* How far a tone turns in each of the ROTATION samples from `begin` on. A drifting one turns faster
 * with each of them: all that a table for all times can hold is what its curve adds, the rest
 * are products of two. */
static void tone_fill_turns(const struct tone_course *course, uint64_t begin, double (*bend)[2],
                            double (*turn)[2])
{
    const uint64_t step = course->step + (uint64_t)(2 * course->curve * begin >> 64);
    double fine[FINE][2];
    double coarse[ROTATION / FINE][2];
    for (uint64_t i = 0; i < FINE; i++) {
        tone_phasor(i * step, fine[i]);
    }
    for (uint64_t i = 0; i < ROTATION / FINE; i++) {
        tone_phasor(FINE * i * step, coarse[i]);
    }
    for (int i = 0; i < ROTATION; i++) {
        turn[i][0] = coarse[i / FINE][0];
        turn[i][1] = coarse[i / FINE][1];
        tone_times(turn[i], fine[i % FINE]);
        tone_times(turn[i], bend[i]);
    }
}

static void tone_add_piece(int is_complex, const double z[2], double (*turn)[2], uint64_t n,
                           float *restrict out)
{
    for (uint64_t i = 0; i < n; i++) {
        const double *t = turn[i];
        const float re = (float)(z[0] * t[0] - z[1] * t[1]);
        if (is_complex) {
            out[2 * i] += re;
            out[2 * i + 1] += (float)(z[0] * t[1] + z[1] * t[0]);
        } else {
            out[i] += re;
        }
    }
}

/* Each sample is the product of an exact phasor at the last multiple of ROTATION samples and one of
 * the ROTATION that follow it: whatever the cut, the same two factors. */
static void tone_add_course(int is_complex, const struct tone_course *course, uint64_t first,
                            uint64_t count, float *restrict out)
{
    double turn[ROTATION][2];
    double bend[ROTATION][2];
    for (uint64_t i = 0; i < ROTATION; i++) {
        tone_phasor(i * course->step, turn[i]);
        tone_phasor((uint64_t)(course->curve * i * i >> 64), bend[i]);
    }
    for (uint64_t done = 0; done < count;) {
        const uint64_t skip = (first + done) % ROTATION;
        const uint64_t n = count - done < ROTATION - skip ? count - done : ROTATION - skip;
        const uint64_t begin = first + done - skip;
        const tone_wide_t square = (tone_wide_t)begin * begin;
        double z[2];
        tone_phasor(course->start + course->step * begin + (uint64_t)(course->curve * square >> 64),
                    z);
        tone_times(z, course->height);
        if (course->curve != 0) {
            tone_fill_turns(course, begin, bend, turn);
        }
        tone_add_piece(is_complex, z, turn + skip, n, out + done * (is_complex ? 2 : 1));
        done += n;
    }
}

/* Adds a tone to samples first .. first + count - 1 of a coarse channel, in polarisation `pol`, as
 * far as the channel holds it: the frequencies from its lower edge on, without the upper one.
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real
 *
 * At sample n it has turned phase + (f - f0) t + drift t^2 / 2, t = n / rate, where f0 is what the
 * channel has at 0 Hz: exact modulo 1 to 2^-64 n of a turn, and drift / (2 rate^2) is rounded to
 * its 53 bits. */
static void tone_add(const struct synth_spec *spec, const struct synth_tone *tone, uint32_t pol,
                     uint32_t chan, uint64_t first, uint64_t count, float *restrict out)
{
    uint64_t begin;
    uint64_t end;
    tone_find_stay(spec, tone, chan, &begin, &end);
    begin = begin > first ? begin : first;
    end = end < first + count ? end : first + count;
    if (begin >= end) {
        return;
    }
    const struct tone_course course = tone_find_course(spec, tone, pol, chan);
    uint64_t off;
    for (; gate_find(spec, &tone->pulsed, begin, end, &begin, &off); begin = off) {
        tone_add_course(spec->is_complex, &course, begin, off - begin,
                        out + (begin - first) * (spec->is_complex ? 2 : 1));
    }
}

/* ---- signal ---- */

/* Impulses: single samples, in all streams at once, again and again.
 *
 * Which sample an impulse is follows from its number alone. */

/* Adds those of samples first .. first + count - 1: one in each period, at its beginning or, if
 * they are random, anywhere in it.
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real   only re is added to */
static void impulse_add(const struct synth_spec *spec, uint32_t number, uint64_t first,
                        uint64_t count, float *out)
{
    const struct synth_impulses *impulses = &spec->impulses[number];
    const double period = impulses->period_s * spec->sample_rate_hz;
    const uint64_t parts = spec->is_complex ? 2 : 1;
    /* From a period before, as the quotient is rounded. */
    double k = floor((double)first / period - impulses->phase) - 1;
    for (; (k + impulses->phase) * period < (double)(first + count); k++) {
        double turns = k + impulses->phase;
        if (impulses->is_random) {
            uint64_t word;
            noise_words(spec->seed + 1 + number, (uint64_t)(int64_t)k, 1, &word);
            turns += (double)word * 0x1p-64;
        }
        const double at = ceil(turns * period);
        if (at >= (double)first && at < (double)(first + count)) {
            out[((uint64_t)at - first) * parts] += (float)impulses->amplitude;
        }
    }
}

struct signal {
    const struct synth_spec *spec;
    noise_t *noise;
    struct pulsar pulsar; /* its spec is NULL: none */
    bursts_t *bursts;     /* NULL: none */
    emitters_t *emitters; /* NULL: none */
};

status_t signal_create(const struct synth_spec *spec, signal_t **out)
{
    status_t st = STATUS_OK;
    signal_t *signal = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *signal, "the synthetic sky", &signal));
    signal->spec = spec;
    TRY_OUT(noise_create(&signal->noise));
    if (spec->pulsar.period > 0 && spec->pulsar.amplitude > 0) {
        TRY_OUT(pulsar_begin(spec, &signal->pulsar));
    }
    TRY_OUT(spec->nbursts > 0 ? bursts_create(spec, signal->noise, &signal->bursts) : STATUS_OK);
    TRY_OUT(spec->nnoise_sources > 0 ? emitters_create(spec, signal->noise, &signal->emitters)
                                     : STATUS_OK);
    *out = memory_move(&signal);
out:
    signal_destroy(signal);
    return st;
}

void signal_destroy(signal_t *signal)
{
    if (!signal) {
        return;
    }
    emitters_destroy(signal->emitters);
    bursts_destroy(signal->bursts);
    pulsar_end(&signal->pulsar);
    noise_destroy(signal->noise);
    free(signal);
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

/* Adds the pulsar. A polarised one has two noises, with a factor each. */
static status_t signal_add_pulsar(const signal_t *signal, uint32_t pol, uint32_t chan,
                                  uint64_t first, uint64_t count, float *out)
{
    const struct synth_spec *spec = signal->spec;
    const struct synth_polarisation *polarisation = &spec->pulsar.polarisation;
    double gains[2][2];
    polarise_gains(spec, polarisation, pol, gains);
    for (uint32_t w = 0; w < 2; w++) {
        struct noise_key key = noise_key(spec->seed, NOISE_PULSAR, w, chan);
        if (gains[w][0] != 0 || gains[w][1] != 0) {
            TRY(pulsar_add(&signal->pulsar, signal->noise, key, synth_spec_chan_hz(spec, chan),
                           polarise_is_given(polarisation) ? gains[w] : NULL, first, count, out));
        }
    }
    return STATUS_OK;
}

status_t signal_make(const signal_t *signal, uint32_t antenna, uint32_t chan, uint64_t first,
                     uint64_t count, float *out)
{
    const struct synth_spec *spec = signal->spec;
    const uint64_t parts = spec->is_complex ? 2 : 1;
    if (spec->noise > 0) {
        struct noise_key key = noise_key(spec->seed, NOISE_RECEIVER, antenna, chan);
        noise_fill(signal->noise, key, (float)spec->noise, first * parts, count * parts, out);
    } else {
        memset(out, 0, count * parts * sizeof *out);
    }
    for (uint32_t t = 0; t < spec->ntones; t++) {
        tone_add(spec, &spec->tones[t], antenna % spec->pols, chan, first, count, out);
    }
    if (signal->pulsar.spec) {
        TRY(signal_add_pulsar(signal, antenna % spec->pols, chan, first, count, out));
    }
    TRY(signal->bursts ? bursts_add(signal->bursts, chan, first, count, out) : STATUS_OK);
    TRY(signal->emitters ? emitters_add(signal->emitters, antenna, chan, first, count, out)
                         : STATUS_OK);
    for (uint32_t i = 0; i < spec->nimpulses; i++) {
        impulse_add(spec, i, first, count, out);
    }
    if (spec->sideband < 0) {
        signal_reverse(spec->is_complex, first, count, out);
    }
    return STATUS_OK;
}
