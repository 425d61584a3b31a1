/* The synthesis as its definition says, in double: spectrum by spectrum, each adds what its filter
 * makes of it to the rows. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "dsp/dft.h"
#include "dsp/overlap.h"

#include <string.h>

struct reference_synthesise {
    struct synthesise base;
    double *coeff;          /* [L] */
    double complex *points; /* [C] a spectrum, conjugate */
    double complex *stream; /* [C] its transform, u */
    double complex *rows;   /* [max_rows] sums */
};

/* Input of a run. */
struct synthesise_source {
    const struct sample_input *input;
    const struct stage_run *run;
    const char *in;
};

static uint64_t reference_synthesise_bytes(const struct synthesise_spec *spec)
{
    /* A spectrum, its transform, and what dft_forward() takes. */
    return (uint64_t)spec->taps * spec->points * 8 +
           ((uint64_t)spec->points * 5 + spec->max_rows) * 16;
}

static void reference_synthesise_destroy(void *synthesise)
{
    struct reference_synthesise *r = synthesise;
    MEMORY_FREE(r->coeff, r->points, r->stream, r->rows);
}

static status_t reference_synthesise_create(backend_t *backend, void *made)
{
    struct reference_synthesise *r = made;
    const struct synthesise_spec given = r->base.spec, *spec = &given;
    const size_t length = (size_t)spec->taps * spec->points;
    (void)backend;
    r->base.spec.coeff = NULL;
    TRY(memory_zeroed(length, sizeof *r->coeff, "coefficients", &r->coeff));
    memcpy(r->coeff, spec->coeff, length * sizeof *r->coeff);
    TRY(memory_zeroed(spec->points, sizeof *r->points, "a spectrum", &r->points));
    TRY(memory_zeroed(spec->points, sizeof *r->stream, "a spectrum", &r->stream));
    return memory_zeroed((size_t)spec->max_rows, sizeof *r->rows, "rows", &r->rows);
}

/* a modulo b, of which b > 0: 0 .. b - 1. */
static size_t reference_modulo(int64_t a, int64_t b)
{
    return (size_t)((a % b + b) % b);
}

/* u of spectrum s of a stream, which the buffer has: an inverse transform is the conjugate of the
 * transform of the conjugate. */
static status_t reference_synthesise_stream(struct reference_synthesise *r,
                                            const struct synthesise_source *source, uint32_t stream,
                                            int64_t s)
{
    const struct synthesise_spec *spec = &r->base.spec;
    const int64_t place = s - source->run->first_sample;
    memset(r->points, 0, spec->points * sizeof *r->points);
    for (uint32_t c = 0; c < spec->channels; c++) {
        const size_t m = reference_modulo(spec->first_point + (int64_t)c, spec->points);
        double volts[2];
        (void)sample_volts(&spec->coding, source->in, source->input, stream * spec->channels + c,
                           (size_t)place, volts);
        r->points[m] = volts[0] - volts[1] * I;
        if (spec->is_real_out && m > 0) {
            r->points[m] *= 2;
        }
    }
    TRY(dft_forward(spec->points, r->points, r->stream));
    for (size_t j = 0; j < spec->points; j++) {
        r->stream[j] = spec->is_real_out ? creal(r->stream[j]) : conj(r->stream[j]);
    }
    return STATUS_OK;
}

/* Adds spectrum s to the run's rows. */
static void reference_synthesise_add(struct reference_synthesise *r, const struct stage_run *run,
                                     int64_t s)
{
    const struct synthesise_spec *spec = &r->base.spec;
    const int64_t turn = (int64_t)(spec->turn % spec->points);
    const int64_t begin = s * spec->hop + spec->first;
    const struct overlap_rows of_spectrum = {begin, begin + (int64_t)spec->taps * spec->points};
    const struct overlap_rows of_run = {run->first_row, run->first_row + (int64_t)run->rows};
    const struct overlap_rows rows = overlap_common(of_spectrum, of_run);
    for (int64_t n = rows.first; n < rows.end; n++) {
        r->rows[n - run->first_row] +=
            r->coeff[n - begin] * r->stream[reference_modulo(n + turn, spec->points)];
    }
}

static void reference_synthesise_store(const struct reference_synthesise *r, uint64_t rows,
                                       float *out)
{
    const int is_real = r->base.spec.is_real_out;
    for (uint64_t row = 0; row < rows; row++) {
        if (is_real) {
            out[row] = (float)creal(r->rows[row]);
        } else {
            out[2 * row] = (float)creal(r->rows[row]);
            out[2 * row + 1] = (float)cimag(r->rows[row]);
        }
    }
}

static status_t reference_synthesise_run(void *synthesise, buffer_t *in,
                                         const struct sample_input *input,
                                         const struct stage_run *run, buffer_t *out)
{
    struct reference_synthesise *r = synthesise;
    const struct synthesise_spec *spec = &r->base.spec;
    const struct overlap overlap =
        overlap_synthesise((uint64_t)spec->taps * spec->points, spec->first, spec->hop);
    const struct overlap_rows rows = {run->first_row, run->first_row + (int64_t)run->rows};
    const struct overlap_rows there = {run->first_sample,
                                       run->first_sample + (int64_t)run->samples};
    const struct synthesise_source source = {input, run, host_data(in)};
    struct overlap_rows needed;
    float *to = host_data(out);
    TRY(overlap_needs(&overlap, 0, rows, &needed));
    needed = overlap_common(needed, there);
    for (uint32_t stream = 0; stream < run->streams.count; stream++) {
        memset(r->rows, 0, (size_t)run->rows * sizeof *r->rows);
        for (int64_t s = needed.first; s < needed.end; s++) {
            TRY(reference_synthesise_stream(r, &source, stream, s));
            reference_synthesise_add(r, run, s);
        }
        reference_synthesise_store(r, run->rows,
                                   to + stream * run->out_stride * (spec->is_real_out ? 1 : 2));
    }
    ((struct host_buffer *)in)->missing =
        samples_missing(&spec->coding, source.in, input, run->streams.count * spec->channels,
                        run->counted_first, run->counted);
    return STATUS_OK;
}

const struct synthesise_ops reference_synthesise = {
    .stage = {sizeof(struct reference_synthesise), reference_synthesise_create,
              reference_synthesise_destroy, NULL, reference_synthesise_run},
    .bytes = {reference_synthesise_bytes}};
