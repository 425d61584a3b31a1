/* FIR filters as their definition says, in double: sums, sample by sample. A frequency response has
 * none: it is multiplied onto the transforms of the blocks that the choice says.
 *
 * Coefficients are summed whatever method is asked for: the result is the same. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "dsp/dft.h"

struct reference_filter {
    struct filter base;
    double (*coeff)[2];       /* [T] */
    double (*samples)[2];     /* of one stream, those of a run's rows */
    double complex *block;    /* [length] */
    double complex *spectrum; /* [length] */
    double (*response)[2];    /* [length] */
};

/* Input of a run. */
struct reference_source {
    const struct filter_spec *spec;
    const struct sample_input *input;
    const struct stage_run *run;
    const char *in;
};

static uint64_t reference_most_samples(const struct filter_spec *spec)
{
    return spec->max_rows * spec->decimate + spec->taps - 1;
}

static uint64_t reference_filter_bytes(const struct filter_spec *spec)
{
    if (spec->response) {
        /* Block, spectrum, response, and what dft_forward() takes. */
        return (uint64_t)spec->choice.shape.length * 6 * 16;
    }
    return (spec->taps + reference_most_samples(spec)) * 16;
}

/* Blocks of at least twice the taps. */
static uint32_t reference_length(const struct filter_spec *spec)
{
    uint32_t length = 16;
    while (length < 2 * (uint64_t)spec->taps + spec->decimate) {
        length *= 2;
    }
    return length;
}

static status_t reference_filter_choose(const struct filter_spec *spec, struct filter_choice *out)
{
    struct filter_shape shape = {.method = FILTER_DIRECT};
    REQUIRE(!spec->response || spec->method != FILTER_DIRECT, STATUS_USAGE,
            "a filter that is a frequency response has no direct form: method: overlap-save");
    if (spec->response || spec->method == FILTER_OVERLAP_SAVE) {
        shape.method = FILTER_OVERLAP_SAVE;
        shape.length = reference_length(spec);
    }
    *out = (struct filter_choice){.backend = BACKEND_REFERENCE, .shape = shape};
    return STATUS_OK;
}

/* Lists one shape: the reference is not tuned. */
static status_t reference_filter_candidates(backend_t *backend, const struct filter_spec *spec,
                                            struct filter_shape **out, uint32_t *count)
{
    struct filter_choice choice;
    struct filter_shape *list = NULL;
    (void)backend;
    TRY(reference_filter_choose(spec, &choice));
    TRY(memory_zeroed(1, sizeof *list, "shapes", &list));
    list[0] = choice.shape;
    *out = list;
    *count = 1;
    return STATUS_OK;
}

static void reference_filter_destroy(void *filter)
{
    struct reference_filter *r = filter;
    MEMORY_FREE(r->coeff, r->samples, r->block, r->spectrum, r->response);
}

static status_t reference_filter_create(backend_t *backend, void *made)
{
    struct reference_filter *r = made;
    const struct filter_spec given = r->base.spec, *spec = &given;
    size_t length = spec->choice.shape.length;
    (void)backend;
    r->base.spec.coeff = NULL;
    if (spec->response) {
        REQUIRE(length >= (uint64_t)spec->taps - 1 + spec->decimate, STATUS_USAGE,
                "a filter of %u taps in blocks of %zu samples", spec->taps, length);
        TRY(memory_zeroed(length, sizeof *r->block, "a block", &r->block));
        TRY(memory_zeroed(length, sizeof *r->spectrum, "a block", &r->spectrum));
        TRY(memory_zeroed(length, sizeof *r->response, "a response", &r->response));
    } else {
        TRY(memory_zeroed(spec->taps, sizeof *r->coeff, "coefficients", &r->coeff));
        TRY(memory_zeroed((size_t)reference_most_samples(spec), sizeof *r->samples, "samples",
                          &r->samples));
        for (size_t i = 0; i < spec->taps; i++) {
            r->coeff[i][0] = spec->coeff[spec->is_complex_coeff ? 2 * i : i];
            r->coeff[i][1] = spec->is_complex_coeff ? spec->coeff[2 * i + 1] : 0;
        }
    }
    return STATUS_OK;
}

/* Sample n of the observation in volts; 0 where the buffer does not have it. */
static void reference_sample(const struct reference_source *source, uint32_t stream, int64_t n,
                             double volts[2])
{
    int64_t place = n - source->run->first_sample;
    volts[0] = volts[1] = 0;
    if (place >= 0 && (uint64_t)place < source->run->samples) {
        (void)sample_volts(&source->spec->coding, source->in, source->input, stream, (size_t)place,
                           volts);
    }
}

/* The first sample that row m of a stream of the run is made of. */
static int64_t reference_first_sample(const struct reference_source *source, uint32_t stream,
                                      int64_t row)
{
    const struct filter_spec *spec = source->spec;
    int64_t shift = spec->shift ? spec->shift[stream_set_at(&source->run->streams, stream)] : 0;
    return row * spec->decimate + shift + spec->first;
}

static void reference_store(const struct reference_source *source, float *out, uint32_t stream,
                            uint64_t row, double re, double im)
{
    size_t at = (size_t)(stream * source->run->out_stride + row);
    if (source->spec->is_complex_out) {
        out[2 * at] = (float)re;
        out[2 * at + 1] = (float)im;
    } else {
        out[at] = (float)re;
    }
}

/* y[m] = sum_i c[i] x[m D + T - 1 - i], x counting from the first sample that row 0 needs. */
static void reference_sum_rows(struct reference_filter *r, const struct reference_source *source,
                               uint32_t stream, float *out)
{
    const struct filter_spec *spec = &r->base.spec;
    uint64_t rows = source->run->rows;
    int64_t first = reference_first_sample(source, stream, source->run->first_row);
    for (uint64_t n = 0; rows > 0 && n < (rows - 1) * spec->decimate + spec->taps; n++) {
        reference_sample(source, stream, first + (int64_t)n, r->samples[n]);
    }
    for (uint64_t m = 0; m < rows; m++) {
        double re = 0;
        double im = 0;
        for (size_t i = 0; i < spec->taps; i++) {
            const double *c = r->coeff[i];
            const double *x = r->samples[m * spec->decimate + spec->taps - 1 - i];
            re += c[0] * x[0] - c[1] * x[1];
            im += c[0] * x[1] + c[1] * x[0];
        }
        reference_store(source, out, stream, m, re, im);
    }
}

/* g = the circular convolution of the samples from `first` on, zeros after the last that counts,
 * with the response: inverse DFT of their DFTs' product, which is the conjugate of the DFT of its
 * conjugate. Leaves it in r->block. */
static status_t reference_convolve(struct reference_filter *r,
                                   const struct reference_source *source, uint32_t stream,
                                   int64_t first, size_t samples)
{
    size_t length = r->base.spec.choice.shape.length;
    for (size_t q = 0; q < length; q++) {
        double volts[2] = {0, 0};
        if (q < samples) {
            reference_sample(source, stream, first + (int64_t)q, volts);
        }
        r->block[q] = volts[0] + volts[1] * I;
    }
    TRY(dft_forward(length, r->block, r->spectrum));
    for (size_t k = 0; k < length; k++) {
        r->spectrum[k] = conj(r->spectrum[k] * (r->response[k][0] + r->response[k][1] * I));
    }
    TRY(dft_forward(length, r->spectrum, r->block));
    for (size_t q = 0; q < length; q++) {
        r->block[q] = conj(r->block[q]) / (double)length;
    }
    return STATUS_OK;
}

/* Blocks of V rows on the grid of the observation. */
static status_t reference_respond(struct reference_filter *r, const struct reference_source *source,
                                  uint32_t stream, float *out)
{
    const struct filter_spec *spec = &r->base.spec;
    const struct stage_run *run = source->run;
    uint32_t length = spec->choice.shape.length;
    int64_t valid = (length - (spec->taps - 1)) / spec->decimate;
    int64_t end = run->first_row + (int64_t)run->rows;
    size_t samples = (size_t)(valid - 1) * spec->decimate + spec->taps;
    spec->response(spec->context, spec->response_of[stream_set_at(&run->streams, stream)], length,
                   r->response);
    for (int64_t m = run->first_row; m < end;) {
        int64_t within = (m % valid + valid) % valid;
        int64_t first = reference_first_sample(source, stream, m - within);
        TRY(reference_convolve(r, source, stream, first, samples));
        for (; within < valid && m < end; within++, m++) {
            double complex y = r->block[within * spec->decimate - spec->first];
            reference_store(source, out, stream, (uint64_t)(m - run->first_row), creal(y),
                            cimag(y));
        }
    }
    return STATUS_OK;
}

static status_t reference_filter_run(void *filter, buffer_t *in, const struct sample_input *input,
                                     const struct stage_run *run, buffer_t *out)
{
    struct reference_filter *r = filter;
    const struct reference_source source = {&r->base.spec, input, run, host_data(in)};
    for (uint32_t stream = 0; stream < run->streams.count; stream++) {
        if (r->base.spec.response) {
            TRY(reference_respond(r, &source, stream, host_data(out)));
        } else {
            reference_sum_rows(r, &source, stream, host_data(out));
        }
    }
    ((struct host_buffer *)in)->missing =
        samples_missing(&r->base.spec.coding, source.in, input, run->streams.count,
                        run->counted_first, run->counted);
    return STATUS_OK;
}

const struct filter_ops reference_filter = {
    .stage = {sizeof(struct reference_filter), reference_filter_create, reference_filter_destroy,
              NULL, reference_filter_run},
    .choose = reference_filter_choose,
    .bytes = {reference_filter_bytes},
    .candidates = reference_filter_candidates};
