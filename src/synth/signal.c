/* What a stream adds up: noise of its own, the tones that it holds, the pulsar. */
#include "synth/signal.h"

#include "base/memory.h"
#include "synth/burst.h"
#include "synth/source/emitter.h"
#include "synth/source/impulse.h"
#include "synth/source/polarise.h"
#include "synth/source/tone.h"

#include <stdlib.h>
#include <string.h>

struct signal {
    const struct synth_spec *spec;
    noise_t *noise;
    pulsar_t *pulsar;     /* NULL: none */
    bursts_t *bursts;     /* NULL: none */
    emitters_t *emitters; /* NULL: none */
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
    if (spec->nnoise_sources > 0) {
        TRY(emitters_create(spec, signal->noise, &signal->emitters));
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
    emitters_destroy(signal->emitters);
    bursts_destroy(signal->bursts);
    pulsar_destroy(signal->pulsar);
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

/* Of a polarised pulsar there are two noises, so much of each. */
static status_t signal_add_pulsar(const signal_t *signal, uint32_t pol, uint32_t chan,
                                  uint64_t first, uint64_t count, float *out)
{
    status_t st = STATUS_OK;
    const struct synth_spec *spec = signal->spec;
    const struct synth_polarisation *polarisation = &spec->pulsar.polarisation;
    double gains[2][2];
    polarise_gains(spec, polarisation, pol, gains);
    for (uint32_t w = 0; w < 2; w++) {
        struct noise_key key = noise_key(spec->seed, NOISE_PULSAR, w, chan);
        if (gains[w][0] != 0 || gains[w][1] != 0) {
            TRY(pulsar_add(signal->pulsar, signal->noise, key, synth_spec_chan_hz(spec, chan),
                           polarise_is_given(polarisation) ? gains[w] : NULL, first, count, out));
        }
    }
out:
    return st;
}

status_t signal_make(const signal_t *signal, uint32_t antenna, uint32_t chan, uint64_t first,
                     uint64_t count, float *out)
{
    status_t st = STATUS_OK;
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
    if (signal->pulsar) {
        TRY(signal_add_pulsar(signal, antenna % spec->pols, chan, first, count, out));
    }
    if (signal->bursts) {
        TRY(bursts_add(signal->bursts, chan, first, count, out));
    }
    if (signal->emitters) {
        TRY(emitters_add(signal->emitters, antenna % spec->pols, chan, first, count, out));
    }
    for (uint32_t i = 0; i < spec->nimpulses; i++) {
        impulse_add(spec, i, first, count, out);
    }
    if (spec->sideband < 0) {
        signal_reverse(spec->is_complex, first, count, out);
    }
out:
    return st;
}
