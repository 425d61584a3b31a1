/* A pulsar's noise in pulses, dispersed by overlap-save.
 *
 * The delay of the coarse channel's centre moves the pulses before they are dispersed within the
 * channel (synth/disperse.h): the noise in them is white, and nothing can tell that from moving it
 * too.
 *
 * Block b makes samples b hop .. (b + 1) hop - 1 from `late` samples before and `early` samples
 * behind them. Numbers below 0 wrap around modulo 2^64, which noise and pulses take as they are. */
#include "synth/signal.h"

#include "base/memory.h"
#include "dsp/dispersion/dispersion.h"
#include "synth/disperse.h"

#include <math.h>
#include <stdlib.h>

enum { PIECE = 512 }; /* samples of noise made at a time */

struct pulsar {
    int is_complex;
    const struct synth_spec *spec;
    double top_hz;       /* the frequency without delay */
    double period;       /* samples */
    double phase, width; /* turns of the period */
    double amplitude;
    uint64_t length, late, early, hop; /* samples; length = late + hop + early */
    disperse_t *disperse;
};

/* What one call works with. */
struct block {
    double *data;  /* disperse_block() */
    double offset; /* sample at which a pulse at the channel's centre peaks */
};

/* Samples by which f_hz comes after the frequency without delay. */
static double pulsar_delay(const pulsar_t *p, double f_hz)
{
    const double constant = 1e12 * dispersion_default_constant * p->spec->pulsar.dm;
    return constant * (1 / (f_hz * f_hz) - 1 / (p->top_hz * p->top_hz)) * p->spec->sample_rate_hz;
}

/* The shape of the blocks: one for all channels, so that one plan does for all. At least half of a
 * block is to be of use, three quarters where memory allows. */
static status_t pulsar_shape_blocks(pulsar_t *p)
{
    status_t st = STATUS_OK;
    struct disperse_reach reach;
    TRY(disperse_find_reach(p->spec, "the pulsar", p->spec->pulsar.dm, 0, &reach));
    p->late = (uint64_t)reach.late + DISPERSE_GUARD;
    p->early = (uint64_t)reach.early + DISPERSE_GUARD;
    const double needed = exp2(ceil(log2(2 * (double)(p->late + p->early))));
    const double length = needed < DISPERSE_MAX_LENGTH ? 2 * needed : needed;
    TRY(disperse_create(p->spec, "the pulsar", &reach, length, &p->disperse));
    p->length = disperse_length(p->disperse);
    p->hop = p->length - p->late - p->early;
out:
    return st;
}

status_t pulsar_create(const struct synth_spec *spec, pulsar_t **out)
{
    status_t st = STATUS_OK;
    pulsar_t *p = NULL;
    TRY(memory_zeroed(1, sizeof *p, "the pulsar", &p));
    p->is_complex = spec->is_complex;
    p->spec = spec;
    p->top_hz = synth_spec_top_hz(spec);
    p->period = spec->pulsar.period * spec->sample_rate_hz;
    p->phase = spec->pulsar.phase;
    p->width = spec->pulsar.width;
    p->amplitude = spec->pulsar.amplitude;
    TRY(pulsar_shape_blocks(p));
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
    disperse_destroy(pulsar->disperse);
    free(pulsar);
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

status_t pulsar_add(const pulsar_t *p, const noise_t *noise, struct noise_key key, double chan_hz,
                    const double *gain, uint64_t first, uint64_t count, float *out)
{
    status_t st = STATUS_OK;
    const uint64_t parts = p->is_complex ? 2 : 1;
    struct block block = {0};
    const struct chirp chirp = disperse_chirp(p->spec, p->spec->pulsar.dm, 0, chan_hz);
    TRY(disperse_block(p->disperse, "a block of the pulsar", &block.data));
    block.offset = p->phase * p->period + pulsar_delay(p, chan_hz);
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
out:
    free(block.data);
    return st;
}
