/* Beams as the definition says, in double. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/shared/beam_weights.h"

#include <math.h>
#include <stdlib.h>

static uint64_t reference_beamform_bytes(const struct beamform_spec *spec)
{
    return sizeof(struct beamform) + beam_spec_bytes(spec);
}

static void reference_beamform_destroy(beamform_t *beamform)
{
    beam_spec_free(&beamform->spec);
    free(beamform);
}

static status_t reference_beamform_create(backend_t *backend, beamform_t *made)
{
    const struct beamform_spec given = made->spec, *spec = &given;
    (void)backend;
    return beam_spec_copy(spec, &made->spec);
}

static void reference_multiply(const double by[2], double number[2])
{
    const double re = number[0] * by[0] - number[1] * by[1];
    number[1] = number[0] * by[1] + number[1] * by[0];
    number[0] = re;
}

/* Multiplies a number by exp(2 pi i (turns[0] + channel turns[1])), whole turns taken away first.
 */
static void reference_turn(const float *turns, uint32_t channel, double number[2])
{
    if (turns) {
        const double along = (double)turns[1] * channel;
        const double angle = 2 * M_PI * (along - rint(along) + turns[0]);
        const double by[2] = {cos(angle), sin(angle)};
        reference_multiply(by, number);
    }
}

/* Input of a run, and the number of a beam that is made of it. */
struct reference_beam {
    const struct beamform_spec *spec;
    const float *in;
    struct beamform_turns turns;
    uint64_t first, s; /* of the run, and in it */
    uint32_t beam, pol, coarse, channel;
};

/* A station's part of the sum; returns 0 if it is skipped. */
static int reference_part(const struct reference_beam *at, uint32_t i, double number[2])
{
    const struct beamform_spec *spec = at->spec;
    const size_t series = (size_t)at->pol * spec->coarse + at->coarse;
    const size_t stream = (at->s * spec->stations + i) * spec->pols * spec->coarse + series;
    const float *x = at->in + 2 * (stream * spec->nchannels + at->channel);
    const size_t turn = 2 * ((size_t)i * spec->coarse + at->coarse);
    const uint64_t cell = (at->first + at->s) / spec->cell - at->first / spec->cell;
    const double volts[2] = {x[0], x[1]};
    beam_weight(spec, at->beam, i, series * spec->nchannels + at->channel, number);
    if (number[0] == 0 && number[1] == 0) {
        return 0;
    }
    if (at->turns.beams) {
        reference_turn(at->turns.beams + cell * beam_cell_turns(spec) +
                           at->beam * beam_station_turns(spec) + turn,
                       at->channel, number);
    }
    if (at->turns.stations) {
        reference_turn(at->turns.stations + at->s * beam_station_turns(spec) + turn, at->channel,
                       number);
    }
    if (number[0] == 1 && number[1] == 0) { /* zeros keep their sign */
        number[0] = volts[0];
        number[1] = volts[1];
    } else {
        reference_multiply(volts, number);
    }
    return 1;
}

static void reference_sum(const struct reference_beam *at, double sum[2])
{
    int is_first = 1;
    sum[0] = sum[1] = 0;
    for (uint32_t i = 0; i < at->spec->stations; i++) {
        double part[2];
        if (reference_part(at, i, part)) {
            sum[0] = is_first ? part[0] : sum[0] + part[0];
            sum[1] = is_first ? part[1] : sum[1] + part[1];
            is_first = 0;
        }
    }
}

static status_t reference_beamform_run(beamform_t *beamform, buffer_t *in, uint64_t first,
                                       uint64_t spectra, const struct beamform_turns *turns,
                                       buffer_t *out)
{
    const struct beamform_spec *spec = &beamform->spec;
    struct reference_beam at = {.spec = spec, .turns = *turns, .first = first};
    const uint64_t row = (uint64_t)spec->beams * spec->pols * spec->coarse * spec->nchannels;
    void *from = NULL;
    void *to = NULL;
    TRY(buffer_get(in, &from));
    TRY(buffer_get(out, &to));
    at.in = from;
    for (uint64_t i = 0; i < spectra * row; i++) {
        const uint64_t series = i / spec->nchannels;
        at.channel = (uint32_t)(i % spec->nchannels);
        at.coarse = (uint32_t)(series % spec->coarse);
        at.pol = (uint32_t)(series / spec->coarse % spec->pols);
        at.beam = (uint32_t)(series / spec->coarse / spec->pols % spec->beams);
        at.s = i / row;
        double sum[2];
        reference_sum(&at, sum);
        ((float *)to)[2 * i] = (float)sum[0];
        ((float *)to)[2 * i + 1] = (float)sum[1];
    }
    return STATUS_OK;
}

const struct beamform_ops reference_beamform = {.bytes = reference_beamform_bytes,
                                                .size = sizeof(struct beamform),
                                                .create = reference_beamform_create,
                                                .destroy = reference_beamform_destroy,
                                                .run = reference_beamform_run};
