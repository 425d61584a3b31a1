/* Dispersed pulses. Dispersion: one transform there, the chirp in pieces, and one transform back.
 *
 * A burst in a coarse channel is one waveform, alike for all antennas: it is made whole, on a
 * circle that contains pulse and sweep, and kept for calls that need other parts of it. Its
 * position is a whole number of samples: the delay of the channel's centre is taken out of the
 * chirp. */
#include "synth/pulses.h"

#include "base/memory.h"
#include "dsp/dispersion/dispersion.h"

#include <fftw3.h>
#include <math.h>
#include <pthread.h>

/* Smearing of a sample, the same for all coarse channels, in samples after and before the delay of
 * its channel's centre. Guards of DISPERSE_GUARD are not included. */
struct disperse_reach {
    double late, early;
};

enum {
    /* Samples beyond the outermost delays on each side. The chirp jumps where the band's edges
     * meet, so its response decays as 1 / (pi k) at k samples: the part beyond has 1e-4 of the
     * energy. */
    DISPERSE_GUARD = 1024,
    DISPERSE_MAX_LENGTH = 1 << 26
};

enum { PIECE = 512 }; /* frequencies at a time */

typedef struct disperse {
    int is_complex;
    uint64_t length, bins; /* samples, frequencies of the transform */
    fftw_plan forward, inverse;
} disperse_t;

/* Returns the chirp of a coarse channel; reference_hz 0: its centre. `shift` holds its centre's
 * delay. */
static struct chirp disperse_chirp(const struct synth_spec *spec, double dm, double reference_hz,
                                   double chan_hz)
{
    struct chirp chirp = {.dm = dm,
                          .centre_hz = chan_hz,
                          .reference_hz = reference_hz > 0 ? reference_hz : chan_hz,
                          .sample_rate_hz = spec->sample_rate_hz,
                          .is_complex = spec->is_complex,
                          .sideband = 1,
                          .is_inverse = 1};
    chirp.shift = chirp_shift(&chirp);
    return chirp;
}

/* Fails with USAGE: a channel that reaches down to 0 Hz, delays out of range. `what` is dispersed:
 * "the pulsar". */
static status_t disperse_find_reach(const struct synth_spec *spec, const char *what, double dm,
                                    double reference_hz, struct disperse_reach *out)
{
    const double half_hz = spec->sample_rate_hz / (spec->is_complex ? 2 : 4);
    struct disperse_reach reach = {0};
    for (uint32_t c = 0; c < spec->chans; c++) {
        const double f0 = synth_spec_chan_hz(spec, c);
        REQUIRE(f0 - half_hz > 0, STATUS_USAGE,
                "%s's dispersion is defined above 0 Hz only: coarse channel %u covers %.9g .. %.9g "
                "Hz",
                what, (unsigned)c, f0 - half_hz, f0 + half_hz);
        const struct chirp chirp = disperse_chirp(spec, dm, reference_hz, f0);
        TRY(chirp_check(&chirp));
        double least;
        double most;
        chirp_delays(&chirp, &least, &most);
        reach.late = fmax(reach.late, ceil((double)chirp.shift - least));
        reach.early = fmax(reach.early, ceil(most - (double)chirp.shift));
    }
    *out = reach;
    return STATUS_OK;
}

/* Allocates the work space of disperse_run(); free() returns it. Fails with DEVICE. */
static status_t disperse_block(const disperse_t *disperse, const char *what, double **out)
{
    return memory_aligned(disperse->bins, sizeof(fftw_complex), what, out);
}

/* FFTW_ESTIMATE does not measure, so the same machine makes the same plan, and every run the same
 * bits. The plans see the alignment of memory_aligned(), as do the blocks that they will run on. */
static status_t disperse_make_plans(disperse_t *d, const char *what)
{
    SCOPED(free_at) double *data = NULL;
    const int n = (int)d->length;
    TRY(disperse_block(d, what, &data));
    fftw_complex *spectrum = (fftw_complex *)data;
    if (d->is_complex) {
        d->forward = fftw_plan_dft_1d(n, spectrum, spectrum, FFTW_FORWARD, FFTW_ESTIMATE);
        d->inverse = fftw_plan_dft_1d(n, spectrum, spectrum, FFTW_BACKWARD, FFTW_ESTIMATE);
    } else {
        d->forward = fftw_plan_dft_r2c_1d(n, data, spectrum, FFTW_ESTIMATE);
        d->inverse = fftw_plan_dft_c2r_1d(n, spectrum, data, FFTW_ESTIMATE);
    }
    return REQUIRED(d->forward && d->inverse, STATUS_DEVICE,
                    "FFTW cannot plan a transform of %s of %d points", what, n);
}

static void disperse_destroy(disperse_t *disperse)
{
    if (!disperse) {
        return;
    }
    fftw_destroy_plan(disperse->inverse);
    fftw_destroy_plan(disperse->forward);
    free(disperse);
}
SCOPED_END(disperse_destroy, disperse_t *)

/* Transforms of `length` samples, a power of two. Makes FFTW plans: not to be called while another
 * thread plans. Fails with USAGE (more than DISPERSE_MAX_LENGTH), DEVICE (memory). */
static status_t disperse_create(const struct synth_spec *spec, const char *what,
                                const struct disperse_reach *reach, double length, disperse_t **out)
{
    SCOPED(disperse_destroy_at) disperse_t *d = NULL;
    REQUIRE(length <= DISPERSE_MAX_LENGTH, STATUS_USAGE,
            "%s's dispersion smears a sample over %.0f samples of a coarse channel and needs a "
            "transform of %.0f points, more than the %d that are supported: lower the DM or the "
            "sample rate, or raise the frequency",
            what, reach->late + reach->early, length, (int)DISPERSE_MAX_LENGTH);
    TRY(memory_zeroed(1, sizeof *d, what, &d));
    d->is_complex = spec->is_complex;
    d->length = (uint64_t)length;
    d->bins = d->is_complex ? d->length : d->length / 2 + 1;
    TRY(disperse_make_plans(d, what));
    *out = memory_move(&d);
    return STATUS_OK;
}

/* Returns the samples of a transform. */
static uint64_t disperse_length(const disperse_t *disperse)
{
    return disperse->length;
}

/* Multiplies a spectrum by the chirp and by `gain` (re, im; NULL: 1), and divides it by the length,
 * by which FFTW's transforms there and back scale. */
static void disperse_multiply(const disperse_t *d, const struct chirp *chirp, const double *gain,
                              double (*restrict data)[2])
{
    const double scale = 1 / (double)d->length;
    double response[PIECE][2];
    for (uint64_t at = 0; at < d->bins; at += PIECE) {
        const uint64_t n = min_u64(PIECE, d->bins - at);
        chirp_exact(chirp, (uint32_t)d->length, (uint32_t)at, (uint32_t)n, response);
        for (uint64_t k = 0; k < n; k++) {
            double re = data[at + k][0] * scale;
            double im = data[at + k][1] * scale;
            if (gain) {
                const double turned = gain[0] * re - gain[1] * im;
                im = gain[0] * im + gain[1] * re;
                re = turned;
            }
            data[at + k][0] = re * response[k][0] - im * response[k][1];
            data[at + k][1] = re * response[k][1] + im * response[k][0];
        }
    }
}

/* Disperses in place, on a circle:
 *
 *   data   [length][2] (re, im) if complex, [length] if real, from disperse_block()
 *
 * The channel's centre frequency is not delayed. Also multiplies by `gain` (re, im; NULL: 1), which
 * for real samples applies to the amplitudes of exp(+ i omega t). May be called by several threads
 * at once.
 */
static void disperse_run(const disperse_t *d, const struct chirp *chirp, const double *gain,
                         double *data)
{
    fftw_complex *spectrum = (fftw_complex *)data;
    if (d->is_complex) {
        fftw_execute_dft(d->forward, spectrum, spectrum);
        disperse_multiply(d, chirp, gain, spectrum);
        fftw_execute_dft(d->inverse, spectrum, spectrum);
    } else {
        fftw_execute_dft_r2c(d->forward, data, spectrum);
        disperse_multiply(d, chirp, gain, spectrum);
        fftw_execute_dft_c2r(d->inverse, spectrum, data);
    }
}

/* A pulsar's noise in pulses, dispersed by overlap-save.
 *
 * The delay of the coarse channel's centre moves the pulses before they are dispersed within the
 * channel: the noise in them is white, and nothing can tell that from moving it
 * too.
 *
 * Block b makes samples b hop .. (b + 1) hop - 1 from `late` samples before and `early` samples
 * after them. Numbers below 0 wrap around modulo 2^64, which noise and pulses take as they are. */

enum { PULSAR_PIECE = 512 }; /* samples of noise made at a time */

/* The state of one call. */
struct block {
    double *data;  /* disperse_block() */
    double offset; /* sample at which a pulse at the channel's centre peaks */
};

/* The shape of the blocks: one for all channels, so that one plan does for all. At least half of a
 * block is to be of use, three quarters where memory allows. */
static status_t pulsar_shape_blocks(struct pulsar *p)
{
    struct disperse_reach reach;
    TRY(disperse_find_reach(p->spec, "the pulsar", p->spec->pulsar.dm, 0, &reach));
    p->late = (uint64_t)reach.late + DISPERSE_GUARD;
    p->early = (uint64_t)reach.early + DISPERSE_GUARD;
    const double needed = exp2(ceil(log2(2 * (double)(p->late + p->early))));
    const double length = needed < DISPERSE_MAX_LENGTH ? 2 * needed : needed;
    TRY(disperse_create(p->spec, "the pulsar", &reach, length, &p->disperse));
    p->length = disperse_length(p->disperse);
    p->hop = p->length - p->late - p->early;
    return STATUS_OK;
}

status_t pulsar_begin(const struct synth_spec *spec, struct pulsar *p)
{
    p->spec = spec;
    p->top_hz = synth_spec_top_hz(spec);
    p->period = spec->pulsar.period * spec->sample_rate_hz;
    return pulsar_shape_blocks(p);
}

/* The amplitude of the pulses at `turns` from the peak of one: the root of the sum of their power.
 * Pulses farther away than 4 widths have less than 1e-19 of their power left. */
static double pulsar_envelope(const struct pulsar *p, double turns)
{
    const double reach = 4 * p->spec->pulsar.width;
    const int neighbours = (int)(reach + 0.5);
    double nearest = turns - floor(turns + 0.5);
    double power = 0;
    for (int i = -neighbours; i <= neighbours; i++) {
        double distance = nearest - i;
        if (fabs(distance) < reach) {
            double widths = distance / p->spec->pulsar.width;
            power += exp2(-4 * widths * widths); /* 1/2 at half a width */
        }
    }
    return p->spec->pulsar.amplitude * sqrt(power);
}

/* Makes the undispersed pulses from sample `first` on; returns 0 when there is none in the block.
 */
static int pulsar_fill_pulses(const struct pulsar *p, const noise_t *noise, struct noise_key key,
                              uint64_t first, struct block *block)
{
    const uint64_t parts = p->spec->is_complex ? 2 : 1;
    int any = 0;
    for (uint64_t at = 0; at < p->length; at += PULSAR_PIECE) {
        float white[2 * PULSAR_PIECE];
        double *data = block->data + at * parts;
        noise_fill(noise, key, 1, (first + at) * parts, PULSAR_PIECE * parts, white);
        /* fmod() is exact: no turn is lost in long observations. */
        double start = fmod((double)(int64_t)(first + at), p->period) - block->offset;
        for (uint64_t i = 0; i < PULSAR_PIECE; i++) {
            double height = pulsar_envelope(p, (start + (double)i) / p->period);
            any |= height > 0;
            for (uint64_t part = 0; part < parts; part++) {
                data[i * parts + part] = height * (double)white[i * parts + part];
            }
        }
    }
    return any;
}

status_t pulsar_add(const struct pulsar *p, const noise_t *noise, struct noise_key key,
                    double chan_hz, const double *gain, uint64_t first, uint64_t count, float *out)
{
    const uint64_t parts = p->spec->is_complex ? 2 : 1;
    SCOPED(free_at) double *data = NULL;
    const struct chirp chirp = disperse_chirp(p->spec, p->spec->pulsar.dm, 0, chan_hz);
    TRY(disperse_block(p->disperse, "a block of the pulsar", &data));
    struct block block = {.data = data};
    const double constant = 1e12 * dispersion_default_constant * p->spec->pulsar.dm;
    const double delay_s = constant * (1 / (chan_hz * chan_hz) - 1 / (p->top_hz * p->top_hz));
    block.offset = p->spec->pulsar.phase * p->period + delay_s * p->spec->sample_rate_hz;
    for (uint64_t done = 0; done < count;) {
        const uint64_t begin = (first + done) / p->hop * p->hop;
        const uint64_t skip = first + done - begin;
        const uint64_t n = min_u64(p->hop - skip, count - done);
        if (pulsar_fill_pulses(p, noise, key, begin - p->late, &block)) {
            disperse_run(p->disperse, &chirp, gain, block.data);
            const double *from = block.data + (p->late + skip) * parts;
            float *to = out + done * parts;
            for (uint64_t i = 0; i < n * parts; i++) {
                to[i] += (float)from[i];
            }
        }
        done += n;
    }
    return STATUS_OK;
}

void pulsar_end(struct pulsar *pulsar)
{
    disperse_destroy(pulsar->disperse);
}

static const uint64_t BURST_KEPT_BYTES = (uint64_t)512 << 20;

struct burst {
    const struct synth_burst *spec;
    uint32_t number;
    double reference_hz;
    int64_t sample; /* nearest to its time */
    double offset;  /* of its time from there, samples */
    double width;   /* samples; 0: one sample */
    uint64_t reach; /* samples of the pulse on either side of it */
    uint64_t place; /* of `sample` in the waveform */
    disperse_t *disperse;
    float **kept; /* [chans] waveforms, NULL where there is none yet; NULL: none is kept */
};

struct bursts {
    const struct synth_spec *spec;
    const noise_t *noise;
    struct burst *burst;  /* [spec->nbursts] */
    pthread_mutex_t lock; /* of all that is kept; held while it is made, so that it is made once */
};

static uint64_t burst_parts(const bursts_t *b)
{
    return b->spec->is_complex ? 2 : 1;
}

static status_t burst_place(const bursts_t *b, struct burst *burst)
{
    const double rate_hz = b->spec->sample_rate_hz;
    const double at = burst->spec->time_s * rate_hz;
    const double most = 4503599627370496.0; /* 2^52: counted exactly */
    REQUIRE(fabs(at) <= most && burst->spec->width_s * rate_hz <= DISPERSE_MAX_LENGTH, STATUS_USAGE,
            "burst %u lies %.9g samples from the observation's start and is %.9g samples wide, "
            "expected at most 2^52 and %d",
            (unsigned)burst->number, at, burst->spec->width_s * rate_hz, (int)DISPERSE_MAX_LENGTH);
    burst->sample = llround(at);
    burst->width = burst->spec->width_s * rate_hz;
    /* A pulse of less than a sample is one. */
    burst->offset = burst->width > 0 ? at - (double)burst->sample : 0;
    burst->reach = (uint64_t)ceil(4 * burst->width);
    return STATUS_OK;
}

static status_t burst_create(const bursts_t *b, uint64_t *bytes, struct burst *burst)
{
    struct disperse_reach reach;
    const struct synth_burst *spec = burst->spec;
    TRY(burst_place(b, burst));
    burst->reference_hz = spec->reference_hz > 0 ? spec->reference_hz : synth_spec_top_hz(b->spec);
    TRY(disperse_find_reach(b->spec, "a burst", spec->dm, burst->reference_hz, &reach));
    const double wings = 2 * ((double)burst->reach + DISPERSE_GUARD) + 1;
    const double length = exp2(ceil(log2(reach.late + reach.early + wings)));
    TRY(disperse_create(b->spec, "a burst", &reach, length, &burst->disperse));
    burst->place = (uint64_t)reach.early + burst->reach + DISPERSE_GUARD;
    *bytes += (uint64_t)length * burst_parts(b) * sizeof(float) * b->spec->chans;
    if (*bytes <= BURST_KEPT_BYTES) {
        TRY(memory_zeroed(b->spec->chans, sizeof *burst->kept, "bursts", &burst->kept));
    }
    return STATUS_OK;
}

status_t bursts_create(const struct synth_spec *spec, const noise_t *noise, bursts_t **out)
{
    SCOPED(bursts_destroy_at) bursts_t *b = NULL;
    uint64_t bytes = 0;
    TRY(memory_zeroed(1, sizeof *b, "bursts", &b));
    b->spec = spec;
    b->noise = noise;
    b->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    TRY(memory_zeroed(spec->nbursts, sizeof *b->burst, "bursts", &b->burst));
    for (uint32_t i = 0; i < spec->nbursts; i++) {
        b->burst[i].spec = &spec->bursts[i];
        b->burst[i].number = i;
        TRY(burst_create(b, &bytes, &b->burst[i]));
    }
    *out = memory_move(&b);
    return STATUS_OK;
}

void bursts_destroy(bursts_t *b)
{
    if (!b) {
        return;
    }
    for (uint32_t i = 0; b->burst && i < b->spec->nbursts; i++) {
        struct burst *burst = &b->burst[i];
        for (uint32_t c = 0; burst->kept && c < b->spec->chans; c++) {
            free(burst->kept[c]);
        }
        free(burst->kept);
        disperse_destroy(burst->disperse);
    }
    pthread_mutex_destroy(&b->lock);
    MEMORY_FREE(b->burst, b);
}

/* Fills in the pulse before dispersion. */
static status_t burst_fill_pulse(const bursts_t *b, const struct burst *burst, uint32_t chan,
                                 double *data)
{
    const uint64_t parts = burst_parts(b);
    const uint64_t count = 2 * burst->reach + 1;
    double *pulse = data + (burst->place - burst->reach) * parts;
    SCOPED(free_at) float *white = NULL;
    if (burst->width == 0) {
        pulse[0] = burst->spec->amplitude;
        return STATUS_OK;
    }
    TRY(memory_aligned(count, parts * sizeof *white, "a burst", &white));
    noise_fill(b->noise, noise_key(b->spec->seed, NOISE_BURST, burst->number, chan), 1, 0,
               count * parts, white);
    for (uint64_t i = 0; i < count * parts; i++) {
        const double widths =
            ((double)(i / parts) - (double)burst->reach - burst->offset) / burst->width;
        /* The root of a power that is 1/2 at half a width. */
        pulse[i] = burst->spec->amplitude * exp2(-2 * widths * widths) * (double)white[i];
    }
    return STATUS_OK;
}

static status_t burst_make(const bursts_t *b, const struct burst *burst, uint32_t chan,
                           const struct chirp *chirp, float **out)
{
    const uint64_t values = disperse_length(burst->disperse) * burst_parts(b);
    SCOPED(free_at) double *data = NULL;
    SCOPED(free_at) float *waveform = NULL;
    TRY(memory_aligned(values, sizeof *waveform, "a burst", &waveform));
    TRY(disperse_block(burst->disperse, "a burst", &data));
    for (uint64_t i = 0; i < values; i++) {
        data[i] = 0;
    }
    TRY(burst_fill_pulse(b, burst, chan, data));
    disperse_run(burst->disperse, chirp, NULL, data);
    for (uint64_t i = 0; i < values; i++) {
        waveform[i] = (float)data[i];
    }
    *out = memory_move(&waveform);
    return STATUS_OK;
}

/* Returns the waveform. It is kept, or the caller frees it (*made). */
static status_t burst_take(bursts_t *b, struct burst *burst, uint32_t chan,
                           const struct chirp *chirp, float **waveform, float **made)
{
    status_t st = STATUS_OK;
    if (!burst->kept) {
        TRY(burst_make(b, burst, chan, chirp, made));
        *waveform = *made;
        return STATUS_OK;
    }
    pthread_mutex_lock(&b->lock);
    if (!burst->kept[chan]) {
        st = burst_make(b, burst, chan, chirp, &burst->kept[chan]);
    }
    *waveform = burst->kept[chan];
    pthread_mutex_unlock(&b->lock);
    return st;
}

/* Adds the burst's part of samples first .. first + count - 1, if it has one. */
static status_t burst_add(bursts_t *b, struct burst *burst, uint32_t chan, int64_t first,
                          int64_t count, float *out)
{
    SCOPED(free_at) float *made = NULL;
    float *waveform = NULL;
    const uint64_t parts = burst_parts(b);
    const struct chirp chirp = disperse_chirp(b->spec, burst->spec->dm, burst->reference_hz,
                                              synth_spec_chan_hz(b->spec, chan));
    /* The inverse takes samples `shift` later, which is before. */
    const int64_t begin = burst->sample - (int64_t)burst->place - chirp.shift;
    const int64_t end = begin + (int64_t)disperse_length(burst->disperse);
    const int64_t from = begin > first ? begin : first;
    const int64_t to = end < first + count ? end : first + count;
    if (from >= to) {
        return STATUS_OK;
    }
    TRY(burst_take(b, burst, chan, &chirp, &waveform, &made));
    const float *in = waveform + (uint64_t)(from - begin) * parts;
    float *sum = out + (uint64_t)(from - first) * parts;
    for (uint64_t i = 0; i < (uint64_t)(to - from) * parts; i++) {
        sum[i] += in[i];
    }
    return STATUS_OK;
}

status_t bursts_add(bursts_t *b, uint32_t chan, uint64_t first, uint64_t count, float *out)
{
    for (uint32_t i = 0; i < b->spec->nbursts; i++) {
        TRY(burst_add(b, &b->burst[i], chan, (int64_t)first, (int64_t)count, out));
    }
    return STATUS_OK;
}
