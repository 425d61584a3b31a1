/* Stations of an array as the definitions say, in double: beams, and pairs correlated. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/shared/beam_weights.h"
#include "compute/shared/correlate_table.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t reference_beamform_bytes(const struct between_spec *spec)
{
    return sizeof(struct between) + beam_spec_bytes(spec);
}

static void reference_beamform_destroy(void *base)
{
    between_t *beamform = base;
    beam_spec_free(&beamform->spec);
}

static status_t reference_beamform_create(backend_t *backend, void *base)
{
    between_t *made = base;
    const struct between_spec given = made->spec;
    (void)backend;
    return beam_spec_copy(&given, &made->spec);
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
    const struct between_spec *spec;
    const float *in;
    struct beamform_turns turns;
    uint64_t first, s; /* of the run, and in it */
    uint32_t beam, pol, coarse, channel;
};

/* Computes a station's part of the sum. Returns 0 if the station is skipped. */
static int reference_part(const struct reference_beam *at, uint32_t i, double number[2])
{
    const struct between_spec *spec = at->spec;
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

static status_t reference_beamform_run(between_t *beamform, buffer_t *in, uint64_t first,
                                       uint64_t spectra, const struct beamform_turns *turns,
                                       buffer_t *out)
{
    const struct between_spec *spec = &beamform->spec;
    struct reference_beam at = {.spec = spec, .in = host_data(in), .turns = *turns, .first = first};
    const uint64_t row = (uint64_t)spec->beams * spec->pols * spec->coarse * spec->nchannels;
    float *to = host_data(out);
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

const struct between_ops reference_beamform = {.stage = {sizeof(struct between),
                                                         reference_beamform_create,
                                                         reference_beamform_destroy, NULL, NULL},
                                               .bytes = {reference_beamform_bytes},
                                               .run = reference_beamform_run};

struct reference_correlate {
    struct correlate base;
    double complex *carry; /* [npairs][columns / average][products] the dump that is summed */
    uint64_t floats;
};

static void correlate_end(void *correlate)
{
    struct reference_correlate *r = correlate;
    free(r->carry);
}

static status_t correlate_start(backend_t *backend, void *made)
{
    struct reference_correlate *r = made;
    const struct correlate_spec *spec = &r->base.spec;
    (void)backend;
    r->floats = correlate_row_floats(spec);
    return memory_zeroed(r->floats / 2, sizeof *r->carry, "a dump", &r->carry);
}

static uint64_t correlate_needed_bytes(const struct correlate_spec *spec)
{
    return sizeof(struct reference_correlate) +
           correlate_row_floats(spec) / 2 * sizeof(double complex);
}

static void correlate_forget(correlate_t *correlate)
{
    struct reference_correlate *r = (struct reference_correlate *)correlate;
    memset(r->carry, 0, r->floats / 2 * sizeof *r->carry);
}

/* The number of an input in a column, with its gain; turned if there are turns. */
static double complex correlate_number(const struct correlate_spec *spec, const float *spectrum,
                                       const float *turns, uint32_t input, uint64_t column)
{
    const uint64_t at = 2 * (input * correlate_columns(spec) + column);
    double complex number = (double)spectrum[at] + (double)spectrum[at + 1] * I;
    if (spec->gains) {
        number *= (double)spec->gains[at] + (double)spec->gains[at + 1] * I;
    }
    if (turns) {
        const uint64_t coarse = column / spec->nchannels;
        const float *turn = turns + 2 * (input / spec->pols * (uint64_t)spec->coarse + coarse);
        const double channel = (double)(column % spec->nchannels);
        number *= cexp(2 * M_PI * I * ((double)turn[0] + channel * (double)turn[1]));
    }
    return number;
}

static void correlate_add(struct reference_correlate *r, const float *spectrum, const float *turns,
                          uint32_t pair, uint64_t column)
{
    const struct correlate_spec *spec = &r->base.spec;
    const uint32_t *stations = spec->pairs[pair];
    const float *turned = stations[0] == stations[1] ? NULL : turns;
    double complex *sums =
        r->carry + (pair * (correlate_columns(spec) / spec->average) + column / spec->average) *
                       correlate_products(spec);
    for (uint32_t p = 0; p < spec->pols; p++) {
        for (uint32_t q = 0; q < spec->pols; q++) {
            sums[correlate_product(p, q)] +=
                correlate_number(spec, spectrum, turned, stations[0] * spec->pols + p, column) *
                conj(
                    correlate_number(spec, spectrum, turned, stations[1] * spec->pols + q, column));
        }
    }
}

static status_t correlate_add_up(correlate_t *correlate, buffer_t *in, uint64_t spectra,
                                 const float *turns, buffer_t *out)
{
    struct reference_correlate *r = (struct reference_correlate *)correlate;
    const struct correlate_spec *spec = &r->base.spec;
    const uint64_t columns = correlate_columns(spec);
    const float *from = host_data(in);
    float *row = host_data(out);
    for (uint64_t s = 0; s < spectra; s++) {
        const float *spectrum = from + s * correlate_inputs(spec) * columns * 2;
        const float *turn = turns ? turns + s * spec->stations * spec->coarse * 2 : NULL;
        for (uint32_t pair = 0; pair < spec->npairs; pair++) {
            for (uint64_t column = 0; column < columns; column++) {
                correlate_add(r, spectrum, turn, pair, column);
            }
        }
        if ((correlate->next + s + 1) % spec->integrate == 0) {
            for (uint64_t i = 0; i < r->floats / 2; i++) {
                row[2 * i] = (float)creal(r->carry[i]);
                row[2 * i + 1] = (float)cimag(r->carry[i]);
            }
            row += r->floats;
            correlate_forget(correlate);
        }
    }
    return STATUS_OK;
}

const struct correlate_ops reference_correlate = {
    .stage = {sizeof(struct reference_correlate), correlate_start, correlate_end, NULL, NULL},
    .bytes = {correlate_needed_bytes},
    .begin = correlate_forget,
    .run = correlate_add_up};
