/* Correlation as its definition says, in double. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/shared/correlate_table.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reference_correlate {
    struct correlate base;
    double complex *carry; /* [npairs][columns / average][products] the dump that is summed */
    uint64_t floats;
};

static void correlate_end(correlate_t *correlate)
{
    struct reference_correlate *r = (struct reference_correlate *)correlate;
    free(r->carry);
    free(r);
}

static status_t correlate_start(backend_t *backend, correlate_t *made)
{
    const struct correlate_spec *spec = &made->spec;
    struct reference_correlate *r = (struct reference_correlate *)made;
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
    void *from = NULL;
    void *to = NULL;
    TRY(buffer_get(in, &from));
    TRY(buffer_get(out, &to));
    float *row = to;
    for (uint64_t s = 0; s < spectra; s++) {
        const float *spectrum = (const float *)from + s * correlate_inputs(spec) * columns * 2;
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

const struct correlate_ops reference_correlate = {.size = sizeof(struct reference_correlate),
                                                  .create = correlate_start,
                                                  .destroy = correlate_end,
                                                  .bytes = correlate_needed_bytes,
                                                  .begin = correlate_forget,
                                                  .run = correlate_add_up};
