/* The sum of a stream: its own noise, sources of noise, its tones, the pulsar. */
#include "synth/signal.h"

#include "base/memory.h"
#include "dsp/delay_model.h"
#include "dsp/phasor.h"
#include "dsp/stokes.h"
#include "synth/pulses.h"

#include <fftw3.h>
#include <math.h>

/* ---- polarise ----
 *
 * Feeds' coherencies from Stokes parameters, and their root: two independent waveforms whose sums
 * have these coherencies. */

static const double POLARISE_DEGREE = 0.01745329251994329577;

/* Stokes parameters of a source as its specification says it, as shares of I: Q, U, V (IAU). */
static void polarise_stokes(const struct synth_polarisation *polarisation, double quv[3])
{
    quv[0] = quv[1] = quv[2] = 0;
    if (polarisation->circular) {
        quv[2] = STOKES_V_OF_RIGHT * polarisation->circular;
    } else if (polarisation->has_linear) {
        quv[0] = cos(2 * POLARISE_DEGREE * polarisation->linear_deg);
        quv[1] = sin(2 * POLARISE_DEGREE * polarisation->linear_deg);
    } else if (polarisation->has_stokes) {
        quv[0] = polarisation->q / polarisation->i;
        quv[1] = polarisation->u / polarisation->i;
        quv[2] = polarisation->v / polarisation->i;
    }
    const double degree = sqrt(quv[0] * quv[0] + quv[1] * quv[1] + quv[2] * quv[2]);
    for (int i = 0; i < 3 && degree > 1; i++) {
        quv[i] /= degree; /* by rounding, as the specification has been checked */
    }
}

/* Computes the gains (re, im; amplitudes of exp(+ i omega t)) by which a source is gains[0] e0 +
 * gains[1] e1 in polarisation `pol`, where e0 and e1 are independent waveforms. Without a
 * polarisation, or with names of no feeds, it is e0 in every `pol`; I always equals that of such a
 * source. gains[1] is 0 if it is fully polarised. The stronger feed has the phase of e0.
 *
 * Feeds are what polarisations are named (dsp/stokes.h): X and Y, R and L, in either order. */
static void polarise_gains(const struct synth_spec *spec,
                           const struct synth_polarisation *polarisation, uint32_t pol,
                           double gains[2][2])
{
    struct stokes stokes;
    double quv[3];
    double difference = 0;
    double cross[2];
    gains[0][0] = 1;
    gains[0][1] = gains[1][0] = gains[1][1] = 0;
    if (!polarise_is_given(polarisation) ||
        !stokes_of_names(synth_spec_pol_name(spec, 0), synth_spec_pol_name(spec, 1), &stokes)) {
        return;
    }
    polarise_stokes(polarisation, quv);
    stokes_products(&stokes, quv, &difference, cross);
    const int is_second = (pol == 1) != stokes.is_swapped;
    const int is_second_stronger = difference < 0;
    const double strong = 1 + fabs(difference);
    const double weak = 1 - fabs(difference);
    if (is_second == is_second_stronger) {
        gains[0][0] = sqrt(strong);
        return;
    }
    /* X strong: Y = (X Y*)* / sqrt(XX) e0 + ...; Y strong: X = X Y* / sqrt(YY) e0 + ... */
    const double sign = is_second ? -1 : 1;
    gains[0][0] = cross[0] / sqrt(strong);
    gains[0][1] = sign * cross[1] / sqrt(strong);
    const double shared = (cross[0] * cross[0] + cross[1] * cross[1]) / strong;
    gains[1][0] = sqrt(fmax(weak - shared, 0));
}

/* ---- noise sources ----
 *
 * Noise of a band is made where bands are simple: as random numbers in the bins of a spectrum.
 *
 * Blocks of LENGTH samples begin at every LENGTH / 2; each is a spectrum's transform under half a
 * turn of a sine, and as the squares of the two that overlap add up to 1, their sum has the same
 * power at every sample. A delayed block is the transform of a spectrum whose phases are turned,
 * under the delayed sine: any fraction of a sample is exact.
 *
 * Where a stretch of a pulsed source begins and ends follows from its number alone, so that no cut
 * moves it. */

/* Returns the sample at or after `at`, at least `from` and at most `to`. */
static uint64_t gate_sample(double at, uint64_t from, uint64_t to)
{
    const double sample = ceil(at);
    return sample <= (double)from ? from : sample >= (double)to ? to : (uint64_t)sample;
}

/* Finds the first samples *first .. *end - 1 among from .. to - 1 at which the gate is on; returns
 * 0 if there are none. It is on from the sample at or after (k + phase) period to the one before (k
 * + phase + duty) period, k any integer; always if there is no period. */
static int gate_find(const struct synth_spec *spec, const struct synth_pulsed *pulsed,
                     uint64_t from, uint64_t to, uint64_t *first, uint64_t *end)
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
    SCOPED(emitters_destroy_at) emitters_t *e = NULL;
    SCOPED(free_at) struct emitter_block *block = NULL;
    TRY(memory_zeroed(1, sizeof *e, "sources of noise", &e));
    TRY(memory_aligned(1, sizeof *block, "sources of noise", &block));
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
    REQUIRE(e->inverse && e->analytic, STATUS_DEVICE, "FFTW cannot plan a transform of %d points",
            (int)LENGTH);
    *out = memory_move(&e);
    return STATUS_OK;
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
    const struct synth_spec *spec = e->spec;
    SCOPED(free_at) struct emitter_block *block = NULL;
    TRY(memory_aligned(1, sizeof *block, "sources of noise", &block));
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
    return STATUS_OK;
}

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

/* Computes cos and sin of 2 pi turns / 2^64. */
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

/* Converts a number of samples to an integer, at least 0. */
static uint64_t tone_sample(double number)
{
    return number > 0 ? (uint64_t)fmin(number, 0x1p63) : 0;
}

/* Finds the samples *first .. *end - 1 at which the tone is in the channel. */
static void tone_find_stay(const struct synth_spec *spec, const struct synth_tone *tone,
                           uint32_t chan, uint64_t *first, uint64_t *end)
{
    const double low_hz = tone_edge_hz(spec, chan);
    const double high_hz = tone_edge_hz(spec, (uint64_t)chan + 1);
    if (tone->drift_hz_per_s == 0) {
        *first = 0;
        *end = tone->freq_hz >= low_hz && tone->freq_hz < high_hz ? UINT64_MAX : 0;
        return;
    }
    const double scale = spec->sample_rate_hz / tone->drift_hz_per_s;
    const double low = (low_hz - tone->freq_hz) * scale;
    const double high = (high_hz - tone->freq_hz) * scale;
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

/* Computes the phase factors of a tone in each of the ROTATION samples from `begin` on. A drifting
 * tone turns faster with each sample: only the part that its curve adds comes from a table for all
 * times, the rest are products of two factors. */
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
    SCOPED(signal_destroy_at) signal_t *signal = NULL;
    TRY(memory_zeroed(1, sizeof *signal, "the synthetic sky", &signal));
    signal->spec = spec;
    TRY(noise_create(&signal->noise));
    if (spec->pulsar.period > 0 && spec->pulsar.amplitude > 0) {
        TRY(pulsar_begin(spec, &signal->pulsar));
    }
    TRY(spec->nbursts > 0 ? bursts_create(spec, signal->noise, &signal->bursts) : STATUS_OK);
    TRY(spec->nnoise_sources > 0 ? emitters_create(spec, signal->noise, &signal->emitters)
                                 : STATUS_OK);
    *out = memory_move(&signal);
    return STATUS_OK;
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
