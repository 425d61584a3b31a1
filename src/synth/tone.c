/* A tone's phase is counted in whole numbers, as fractions of a turn: no number of samples is too
 * large for it. */
#include "synth/tone.h"

#include "synth/gate.h"
#include "synth/polarise.h"

#include <math.h>

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

void tone_add(const struct synth_spec *spec, const struct synth_tone *tone, uint32_t pol,
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
