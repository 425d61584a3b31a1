/* Dispersion as a filter, by overlap-save.
 *
 * A cold plasma delays frequency f by D DM / f^2 (D = 1 / 2.41e-4 s MHz^2 pc^-1 cm^3, the value
 * that all pulsar software agrees on: Lorimer, Kramer 2005, Handbook of pulsar astronomy, section
 * 4.1). Within a coarse channel with centre f0 that is, for voltages of the form exp(+i 2 pi f t),
 *
 *   H(f) = exp(+i 2 pi D DM (f - f0)^2 / (f0^2 f)),
 *
 * whose delay -(1 / 2 pi) d arg H / df = D DM (1 / f^2 - 1 / f0^2) is positive below f0 (Hankins,
 * Rickett 1975, Pulsar signal processing, eq. 17 ff.; their filter takes off what this puts on).
 * The delay of f0 itself moves the pulses before they are dispersed: the noise in them is white,
 * and nothing can tell that from moving it too.
 *
 * Block b makes samples b hop .. (b + 1) hop - 1 from `late` samples before and `early` samples
 * behind them. Numbers below 0 wrap around modulo 2^64, which noise and pulses take as they are. */
#include "synth/signal.h"

#include "base/memory.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>

static const double DISPERSION_S_HZ2 = 1e12 / 2.41e-4;
static const double TURN = 6.28318530717958647692;

enum {
    /* Samples beyond the outermost delays on each side. H jumps where the band's edges meet, so its
     * response rings on as 1 / (pi k) at k samples: what lies beyond holds 1e-4 of the energy. */
    GUARD = 1024,
    MAX_LENGTH = 1 << 26,
    PIECE = 512 /* samples of noise made at a time */
};

struct pulsar {
    int is_complex;
    double rate_hz;
    double dispersion;   /* D DM, seconds Hz^2 */
    double top_hz;       /* the frequency without delay */
    double period;       /* samples */
    double phase, width; /* turns of the period */
    double amplitude;
    uint64_t length, late, early, hop; /* samples; length = late + hop + early */
    uint64_t bins;                     /* of the transform */
    fftw_plan forward, inverse;
};

/* What one call works with. */
struct block {
    double *data;     /* [length][2] or [length]; transformed in place, [bins][2] */
    double *response; /* [bins][2]: H / length */
    double offset;    /* sample at which a pulse at the channel's centre peaks */
};

static double pulsar_bandwidth_hz(const struct synth_spec *spec)
{
    return spec->is_complex ? spec->sample_rate_hz : spec->sample_rate_hz / 2;
}

/* Seconds by which f_hz comes after reference_hz. */
static double pulsar_delay_s(double dispersion, double f_hz, double reference_hz)
{
    return dispersion * (1 / (f_hz * f_hz) - 1 / (reference_hz * reference_hz));
}

/* Sets the frequency without delay, and the shape of the blocks: one for all channels, so that one
 * plan does for all. */
static status_t pulsar_shape_blocks(pulsar_t *p, const struct synth_spec *spec)
{
    status_t st = STATUS_OK;
    const double half_hz = pulsar_bandwidth_hz(spec) / 2;
    double late = 0;
    double early = 0;
    for (uint32_t c = 0; c < spec->chans; c++) {
        const double f0 = synth_spec_chan_hz(spec, c);
        REQUIRE(f0 - half_hz > 0, STATUS_USAGE,
                "a pulsar's dispersion is defined above 0 Hz only: coarse channel %u covers "
                "%.9g .. %.9g Hz",
                (unsigned)c, f0 - half_hz, f0 + half_hz);
        p->top_hz = fmax(p->top_hz, f0 + half_hz);
        late = fmax(late, pulsar_delay_s(p->dispersion, f0 - half_hz, f0));
        early = fmax(early, -pulsar_delay_s(p->dispersion, f0 + half_hz, f0));
    }
    late = ceil(late * p->rate_hz) + GUARD;
    early = ceil(early * p->rate_hz) + GUARD;
    /* At least half of a block is to be of use, three quarters where memory allows. */
    const double needed = exp2(ceil(log2(2 * (late + early))));
    REQUIRE(needed <= MAX_LENGTH, STATUS_USAGE,
            "the pulsar's dispersion smears a sample over %.0f samples of a coarse channel and "
            "needs a transform of %.0f points, more than the %d that are supported: lower the DM "
            "or the sample rate, or raise the frequency",
            late + early - 2 * GUARD, needed, (int)MAX_LENGTH);
    p->late = (uint64_t)late;
    p->early = (uint64_t)early;
    p->length = min_u64(2 * (uint64_t)needed, MAX_LENGTH);
    p->hop = p->length - p->late - p->early;
    p->bins = p->is_complex ? p->length : p->length / 2 + 1;
out:
    return st;
}

/* FFTW_ESTIMATE does not measure, so the same machine makes the same plan, and every run the same
 * bits. The plans see the alignment of memory_aligned(), as do the blocks that they will run on. */
static status_t pulsar_make_plans(pulsar_t *p)
{
    status_t st = STATUS_OK;
    fftw_complex *data = NULL;
    const int n = (int)p->length;
    TRY(memory_aligned(p->bins, sizeof *data, "planning a transform of the pulsar", &data));
    if (p->is_complex) {
        p->forward = fftw_plan_dft_1d(n, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
        p->inverse = fftw_plan_dft_1d(n, data, data, FFTW_BACKWARD, FFTW_ESTIMATE);
    } else {
        p->forward = fftw_plan_dft_r2c_1d(n, *data, data, FFTW_ESTIMATE);
        p->inverse = fftw_plan_dft_c2r_1d(n, data, *data, FFTW_ESTIMATE);
    }
    REQUIRE(p->forward && p->inverse, STATUS_DEVICE,
            "FFTW makes no plan for the pulsar's transform of %d points", n);
out:
    free(data);
    return st;
}

status_t pulsar_create(const struct synth_spec *spec, pulsar_t **out)
{
    status_t st = STATUS_OK;
    pulsar_t *p = NULL;
    TRY(memory_zeroed(1, sizeof *p, "the pulsar", &p));
    p->is_complex = spec->is_complex;
    p->rate_hz = spec->sample_rate_hz;
    p->dispersion = DISPERSION_S_HZ2 * spec->pulsar.dm;
    p->period = spec->pulsar.period * spec->sample_rate_hz;
    p->phase = spec->pulsar.phase;
    p->width = spec->pulsar.width;
    p->amplitude = spec->pulsar.amplitude;
    TRY(pulsar_shape_blocks(p, spec));
    TRY(pulsar_make_plans(p));
    *out = p;
    p = NULL;
out:
    pulsar_destroy(p);
    return st;
}

void pulsar_destroy(pulsar_t *pulsar)
{
    if (!pulsar) {
        return;
    }
    fftw_destroy_plan(pulsar->inverse);
    fftw_destroy_plan(pulsar->forward);
    free(pulsar);
}

static void pulsar_fill_response(const pulsar_t *p, double chan_hz, double *restrict response)
{
    const double step_hz = p->rate_hz / (double)p->length;
    const double scale = 1 / (double)p->length; /* FFTW's transforms there and back leave length */
    for (uint64_t k = 0; k < p->bins; k++) {
        double nu = (double)k * step_hz;
        if (!p->is_complex) {
            nu -= p->rate_hz / 4;
        } else if (k >= p->length / 2) {
            nu -= p->rate_hz;
        }
        double turns = p->dispersion * nu * nu / (chan_hz * chan_hz * (chan_hz + nu));
        turns -= floor(turns);
        response[2 * k] = scale * cos(TURN * turns);
        response[2 * k + 1] = scale * sin(TURN * turns);
    }
}

/* The amplitude of the pulses at `turns` from the peak of one: the root of the sum of their power.
 * Pulses farther away than 4 widths have less than 1e-19 of their power left. */
static double pulsar_envelope(const pulsar_t *p, double turns)
{
    const double reach = 4 * p->width;
    const int neighbours = (int)(reach + 0.5);
    double nearest = turns - floor(turns + 0.5);
    double power = 0;
    for (int i = -neighbours; i <= neighbours; i++) {
        double distance = nearest - i;
        if (fabs(distance) < reach) {
            double widths = distance / p->width;
            power += exp2(-4 * widths * widths); /* 1/2 at half a width */
        }
    }
    return p->amplitude * sqrt(power);
}

/* Makes the undispersed pulses from sample `first` on; returns 0 when there is none in the block.
 */
static int pulsar_fill_pulses(const pulsar_t *p, const noise_t *noise, struct noise_key key,
                              uint64_t first, struct block *block)
{
    const uint64_t parts = p->is_complex ? 2 : 1;
    int any = 0;
    for (uint64_t at = 0; at < p->length; at += PIECE) {
        float white[2 * PIECE];
        double *data = block->data + at * parts;
        noise_fill(noise, key, 1, (first + at) * parts, PIECE * parts, white);
        /* fmod() is exact: no turn is lost in long observations. */
        double start = fmod((double)(int64_t)(first + at), p->period) - block->offset;
        for (uint64_t i = 0; i < PIECE; i++) {
            double height = pulsar_envelope(p, (start + (double)i) / p->period);
            any |= height > 0;
            for (uint64_t part = 0; part < parts; part++) {
                data[i * parts + part] = height * (double)white[i * parts + part];
            }
        }
    }
    return any;
}

static void pulsar_disperse(const pulsar_t *p, struct block *block)
{
    double *restrict data = block->data;
    const double *restrict response = block->response;
    fftw_complex *spectrum = (fftw_complex *)block->data;
    if (p->is_complex) {
        fftw_execute_dft(p->forward, spectrum, spectrum);
    } else {
        fftw_execute_dft_r2c(p->forward, block->data, spectrum);
    }
    for (uint64_t k = 0; k < 2 * p->bins; k += 2) {
        double re = data[k] * response[k] - data[k + 1] * response[k + 1];
        double im = data[k] * response[k + 1] + data[k + 1] * response[k];
        data[k] = re;
        data[k + 1] = im;
    }
    if (p->is_complex) {
        fftw_execute_dft(p->inverse, spectrum, spectrum);
    } else {
        fftw_execute_dft_c2r(p->inverse, spectrum, block->data);
    }
}

status_t pulsar_add(const pulsar_t *p, const noise_t *noise, struct noise_key key, double chan_hz,
                    uint64_t first, uint64_t count, float *out)
{
    status_t st = STATUS_OK;
    const uint64_t parts = p->is_complex ? 2 : 1;
    struct block block = {0};
    TRY(memory_aligned(p->bins, sizeof(fftw_complex), "a block of the pulsar", &block.data));
    TRY(memory_aligned(p->bins, sizeof(fftw_complex), "the dispersion", &block.response));
    pulsar_fill_response(p, chan_hz, block.response);
    block.offset =
        p->phase * p->period + pulsar_delay_s(p->dispersion, chan_hz, p->top_hz) * p->rate_hz;
    for (uint64_t done = 0; done < count;) {
        const uint64_t begin = (first + done) / p->hop * p->hop;
        const uint64_t skip = first + done - begin;
        const uint64_t n = min_u64(p->hop - skip, count - done);
        if (pulsar_fill_pulses(p, noise, key, begin - p->late, &block)) {
            pulsar_disperse(p, &block);
            const double *from = block.data + (p->late + skip) * parts;
            float *to = out + done * parts;
            for (uint64_t i = 0; i < n * parts; i++) {
                to[i] += (float)from[i];
            }
        }
        done += n;
    }
out:
    free(block.response);
    free(block.data);
    return st;
}
