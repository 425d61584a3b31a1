/* Noise of a band is made where bands are simple: as random numbers in the bins of a spectrum.
 * Blocks of LENGTH samples begin at every LENGTH / 2; each is a spectrum's transform under half a
 * turn of a sine, and as the squares of the two that overlap add up to 1, their sum has the same
 * power at every sample. */
#include "synth/source/emitter.h"

#include "base/memory.h"
#include "base/units.h"
#include "synth/source/gate.h"
#include "synth/source/polarise.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 4096, HOP = LENGTH / 2 };

struct emitters {
    const struct synth_spec *spec;
    const noise_t *noise;
    fftw_plan inverse;
    double window[LENGTH];
};

/* What one call works with. */
struct emitter_block {
    double data[LENGTH + 2][2]; /* a spectrum, then its transform */
    double height[LENGTH];      /* rms of each real component in a bin */
    float white[2][2 * LENGTH]; /* of two independent waveforms */
};

/* What a stream has of one source. */
struct emitter_part {
    const struct synth_noise_source *source;
    struct noise_key key[2];
    double gains[2][2];
};

static uint32_t emitter_bins(const emitters_t *e)
{
    return e->spec->is_complex ? LENGTH : LENGTH / 2 + 1;
}

status_t emitters_create(const struct synth_spec *spec, const noise_t *noise, emitters_t **out)
{
    status_t st = STATUS_OK;
    emitters_t *e = NULL;
    struct emitter_block *block = NULL;
    TRY(memory_zeroed(1, sizeof *e, "sources of noise", &e));
    TRY(memory_aligned(1, sizeof *block, "sources of noise", &block));
    e->spec = spec;
    e->noise = noise;
    for (int i = 0; i < LENGTH; i++) {
        e->window[i] = sin(3.14159265358979323846 * (i + 0.5) / LENGTH);
    }
    /* As synth/disperse.c: the same plan on every rank. */
    e->inverse =
        spec->is_complex
            ? fftw_plan_dft_1d(LENGTH, block->data, block->data, FFTW_BACKWARD, FFTW_ESTIMATE)
            : fftw_plan_dft_c2r_1d(LENGTH, block->data, block->data[0], FFTW_ESTIMATE);
    REQUIRE(e->inverse, STATUS_DEVICE, "FFTW makes no plan for a transform of %d points",
            (int)LENGTH);
    *out = e;
    e = NULL;
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
    free(e);
}

/* How much of each bin lies in the source's band, and in the coarse channel's, as an rms. */
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
        /* Of real samples a bin stands for two, but for the first and last, which have no
         * imaginary part. */
        const double twice = is_complex ? 1 : (k == 0 || k == HOP) ? 0.5 : 2;
        height[k] = source->amplitude * sqrt(height[k] / (twice * LENGTH));
    }
}

static void emitter_make_block(const emitters_t *e, const struct emitter_part *part,
                               uint64_t number, struct emitter_block *block)
{
    const uint32_t bins = emitter_bins(e);
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
    if (e->spec->is_complex) {
        fftw_execute_dft(e->inverse, block->data, block->data);
    } else {
        fftw_execute_dft_c2r(e->inverse, block->data, block->data[0]);
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
            emitter_make_block(e, part, number, block);
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

status_t emitters_add(const emitters_t *e, uint32_t pol, uint32_t chan, uint64_t first,
                      uint64_t count, float *out)
{
    status_t st = STATUS_OK;
    const struct synth_spec *spec = e->spec;
    struct emitter_block *block = NULL;
    TRY(memory_aligned(1, sizeof *block, "sources of noise", &block));
    for (uint32_t i = 0; i < spec->nnoise_sources; i++) {
        struct emitter_part part = {.source = &spec->noise_sources[i]};
        for (uint32_t w = 0; w < 2; w++) {
            part.key[w] = noise_key(spec->seed, NOISE_SOURCE, 2 * i + w, chan);
        }
        polarise_gains(spec, &part.source->polarisation, pol, part.gains);
        emitter_fill_heights(e, part.source, synth_spec_chan_hz(spec, chan), block->height);
        for (uint64_t last = (first + count - 1) / HOP, b = first / HOP - 1; b != last + 1; b++) {
            emitter_add_block(e, &part, b, first, count, block, out);
        }
    }
out:
    free(block);
    return st;
}
