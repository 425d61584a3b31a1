/* The kernels, and the tables of offsets that they read. */
#include "compute/opencl/deinterleave.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
    STREAM_ALIGNMENT = 16, /* bytes: kernels load up to 16 at once */
    /* As in kernels/deinterleave.cl. */
    WIDTH = 256,
    TILE = 1024,
    MOST_STREAMS = 32,
    COUNTS_BYTES = DEINTERLEAVE_GROUPS * sizeof(cl_ulong)
};

/* Numbers are read byte by byte, or whole where each is at a multiple of its size; where streams
 * lie well already, they are only looked at. */
enum variant { VARIANT_BYTES, VARIANT_ALIGNED, VARIANT_SCAN, VARIANTS };

struct deinterleave {
    device_t *device;
    struct sample_coding coding;
    cl_kernel kernels[VARIANTS]; /* made when needed */
    cl_mem out;
    uint64_t stride; /* bytes of a stream in it */
    struct sample_places places;
};

void sample_places_free(struct sample_places *places)
{
    DEVICE_RELEASE(places->device, places->re, places->im, places->found);
    free(places->offsets);
}

status_t sample_places_create(device_t *device, uint32_t nstreams, struct sample_places *out)
{
    const uint64_t bytes = nstreams * sizeof(cl_ulong);
    *out = (struct sample_places){.device = device, .nstreams = nstreams};
    TRY(memory_zeroed(2 * (size_t)nstreams, sizeof *out->offsets, "offsets", &out->offsets));
    TRY(device_allocate(device, bytes, "offsets", &out->re));
    TRY(device_allocate(device, bytes, "offsets", &out->im));
    TRY(device_allocate(device, COUNTS_BYTES, "counts", &out->found));
    return device_clear(device, out->found, 0, COUNTS_BYTES);
}

status_t sample_places_bring(struct sample_places *places, const struct sample_coding *coding,
                             const struct sample_input *input, uint32_t nstreams)
{
    cl_ulong *re = places->offsets;
    cl_ulong *im = places->offsets + places->nstreams;
    int differs = nstreams != places->known;
    for (uint32_t i = 0; i < nstreams; i++) {
        cl_ulong imaginary = coding->is_complex ? input->im[i] : input->re[i];
        differs |= re[i] != input->re[i] || im[i] != imaginary;
        re[i] = input->re[i];
        im[i] = imaginary;
    }
    if (differs) {
        places->known = 0; /* until they are there */
        TRY(device_write(places->device, places->re, 0, re, nstreams * sizeof *re, "offsets"));
        TRY(device_write(places->device, places->im, 0, im, nstreams * sizeof *im, "offsets"));
    }
    places->known = nstreams;
    return STATUS_OK;
}

status_t sample_places_fetch(const struct sample_places *places, cl_ulong *counts, cl_event *done)
{
    CL_TRY(places->device,
           clEnqueueReadBuffer(places->device->compute, places->found, CL_FALSE, 0, COUNTS_BYTES,
                               counts, 0, NULL, done),
           "read counts");
    return device_clear(places->device, places->found, 0, COUNTS_BYTES);
}

int sample_places_are_aligned(const struct sample_coding *coding, const struct sample_input *input,
                              uint32_t nstreams)
{
    size_t bytes = sample_types[coding->format].bytes;
    size_t odd = input->step % bytes;
    for (uint32_t i = 0; i < nstreams; i++) {
        odd |= input->re[i] % bytes;
        odd |= coding->is_complex ? input->im[i] % bytes : 0;
    }
    return odd == 0;
}

static size_t deinterleave_sample_bytes(const struct sample_coding *coding)
{
    return sample_bytes(coding->format, coding->is_complex);
}

/* Whether some sample could be missing. */
static int deinterleave_must_look(const struct sample_coding *coding)
{
    return coding->format == SAMPLE_F32 || coding->has_missing_value;
}

void deinterleave_destroy(deinterleave_t *d)
{
    if (!d) {
        return;
    }
    launch_release_all(d->kernels, VARIANTS);
    DEVICE_RELEASE(d->device, d->out);
    sample_places_free(&d->places);
    free(d);
}

/* Returns the bytes of one stream of a block, in order. */
static uint64_t deinterleave_stride(const struct sample_coding *coding, uint64_t samples)
{
    return ceil_div_u64(samples * deinterleave_sample_bytes(coding), STREAM_ALIGNMENT) *
           STREAM_ALIGNMENT;
}

/* Returns the bytes that are allocated at first. Only the input shows whether samples of an archive
 * need deinterleaving, and then it is too late to halve blocks. Samples that a stage made are in
 * order. */
static uint64_t deinterleave_foreseen(const struct sample_coding *coding, uint64_t samples)
{
    return coding->is_made ? 0 : deinterleave_stride(coding, samples);
}

uint64_t deinterleave_bytes(const struct sample_coding *coding, uint32_t nstreams, uint64_t samples)
{
    return (deinterleave_foreseen(coding, samples) + 2 * sizeof(cl_ulong)) * nstreams +
           COUNTS_BYTES;
}

status_t deinterleave_create(device_t *device, const struct sample_coding *coding,
                             uint32_t nstreams, uint64_t samples, deinterleave_t **out)
{
    SCOPED(deinterleave_destroy_at) deinterleave_t *d = NULL;
    TRY(memory_zeroed(1, sizeof *d, "deinterleaved samples", &d));
    d->device = device;
    d->coding = *coding;
    d->stride = deinterleave_foreseen(coding, samples);
    TRY(sample_places_create(device, nstreams, &d->places));
    if (d->stride > 0) {
        TRY(device_allocate(device, d->stride * nstreams, "deinterleaved samples", &d->out));
    }
    *out = memory_move(&d);
    return STATUS_OK;
}

uint64_t deinterleave_extent(const struct sample_coding *coding, const struct sample_input *input,
                             uint32_t nstreams, uint64_t samples)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < nstreams; i++) {
        last = max_u64(last, max_u64(input->re[i], coding->is_complex ? input->im[i] : 0));
    }
    return last + (samples - 1) * input->step + sample_types[coding->format].bytes;
}

/* Whether the streams are as the filters read them; gives their distance. */
static int deinterleave_lies_well(const struct sample_coding *coding,
                                  const struct sample_input *input, uint32_t nstreams,
                                  uint64_t *stride)
{
    size_t part = sample_part_bytes(coding->format, coding->is_complex);
    *stride = nstreams > 1 && input->re[1] > input->re[0] ? input->re[1] - input->re[0] : 0;
    if (input->step != deinterleave_sample_bytes(coding) || *stride % STREAM_ALIGNMENT != 0 ||
        (nstreams > 1 && *stride == 0)) {
        return 0;
    }
    for (uint32_t i = 0; i < nstreams; i++) {
        if (input->re[i] != i * *stride ||
            (coding->is_complex && input->im[i] != input->re[i] + part)) {
            return 0;
        }
    }
    return 1;
}

/* The missing value as the samples' own type has it. A value that the type cannot hold is never
 * met. */
static int deinterleave_missing_literal(const struct sample_coding *coding, double *value)
{
    const struct sample_type *type = &sample_types[coding->format];
    *value = coding->missing_value;
    if (type->is_float) {
        /* Infinities are missing anyway. */
        return isfinite((float)*value);
    }
    return *value >= type->least && *value <= type->most && *value == (double)(int64_t)*value;
}

void deinterleave_options(const struct sample_coding *coding, struct text *out)
{
    text_add(out, " -DFORMAT=%d -DCOMPLEX=%d -DCONJUGATE=%d -DNIBBLE_OFFSET=%d -DNIBBLE_HIGH_RE=%d",
             (int)coding->format, coding->is_complex != 0, coding->is_complex && coding->conjugate,
             coding->nibbles.offset_binary != 0, coding->nibbles.high_is_real != 0);
}

void missing_options(const struct sample_coding *coding, struct text *out)
{
    double missing = 0;
    if (coding->has_missing_value && deinterleave_missing_literal(coding, &missing)) {
        if (coding->format == SAMPLE_F32) {
            text_add(out, " -DHAS_MISSING=1 -DMISSING=%af", (double)(float)missing);
        } else {
            text_add(out, " -DHAS_MISSING=1 -DMISSING=%d", (int)missing);
        }
    }
}

static void deinterleave_kernel_options(const deinterleave_t *d, int aligned, struct text *out)
{
    const struct sample_coding *coding = &d->coding;
    uint32_t streams = 1;
    while (streams < d->places.nstreams && streams < MOST_STREAMS) {
        streams *= 2;
    }
    deinterleave_options(coding, out);
    text_add(out, " -DTILE_STREAMS=%u -DALIGNED=%d -DWIDTH=%d", streams, aligned != 0, WIDTH);
    missing_options(coding, out);
}

static struct launch_size deinterleave_size(uint64_t samples, uint32_t streams)
{
    uint64_t tiles = ceil_div_u64(samples * streams, TILE) + 1;
    return (struct launch_size){(size_t)min_u64(tiles, DEINTERLEAVE_GROUPS), WIDTH};
}

/* Makes the kernel of a variant when it is first used. */
static status_t deinterleave_build(deinterleave_t *d, enum variant variant)
{
    const int is_scan = variant == VARIANT_SCAN;
    const enum program_source sources[] = {SOURCE_SAMPLES, SOURCE_MISSING,
                                           is_scan ? SOURCE_SCAN : SOURCE_DEINTERLEAVE};
    struct text options = {0};
    if (d->kernels[variant]) {
        return STATUS_OK;
    }
    deinterleave_kernel_options(d, variant == VARIANT_ALIGNED, &options);
    return launch_build(d->device, sources, 3, &options, is_scan ? "scan" : "deinterleave",
                        &d->kernels[variant]);
}

/* Streams that are longer than was said at first. Whoever still reads the old ones holds on to them
 * until it is done. */
static status_t deinterleave_grow(deinterleave_t *d, uint64_t samples)
{
    uint64_t stride = deinterleave_stride(&d->coding, samples);
    if (stride > d->stride) {
        DEVICE_RELEASE(d->device, d->out);
        d->out = NULL;
        d->stride = 0;
        TRY(device_allocate(d->device, stride * d->places.nstreams, "deinterleaved samples",
                            &d->out));
        d->stride = stride;
    }
    return STATUS_OK;
}

static status_t deinterleave_copy(deinterleave_t *d, struct stopwatch *watch,
                                  const struct deinterleave_block *block)
{
    const struct sample_input *input = block->input;
    enum variant variant = sample_places_are_aligned(&d->coding, input, block->nstreams)
                               ? VARIANT_ALIGNED
                               : VARIANT_BYTES;
    TRY(deinterleave_grow(d, block->samples));
    TRY(sample_places_bring(&d->places, &d->coding, input, block->nstreams));
    TRY(deinterleave_build(d, variant));
    return LAUNCH(d->device, d->kernels[variant],
                  deinterleave_size(block->samples, block->nstreams), watch, STEP_DEINTERLEAVE,
                  ARGUMENT(block->in), ARGUMENT(d->places.re), ARGUMENT(d->places.im),
                  ARGUMENT_ULONG(input->step), ARGUMENT(d->out), ARGUMENT_ULONG(d->stride),
                  ARGUMENT_ULONG(block->samples), ARGUMENT_UINT(block->nstreams),
                  ARGUMENT_ULONG(block->counted_first), ARGUMENT_ULONG(block->counted),
                  ARGUMENT(d->places.found));
}

static status_t deinterleave_scan(deinterleave_t *d, struct stopwatch *watch,
                                  const struct deinterleave_block *block, uint64_t stride)
{
    TRY(deinterleave_build(d, VARIANT_SCAN));
    return LAUNCH(d->device, d->kernels[VARIANT_SCAN],
                  deinterleave_size(block->samples, block->nstreams), watch, STEP_DEINTERLEAVE,
                  ARGUMENT(block->in), ARGUMENT_ULONG(stride), ARGUMENT_ULONG(block->samples),
                  ARGUMENT_UINT(block->nstreams), ARGUMENT_ULONG(block->counted_first),
                  ARGUMENT_ULONG(block->counted), ARGUMENT(d->places.found));
}

cl_mem deinterleave_found(const deinterleave_t *d)
{
    return d->places.found;
}

status_t deinterleave_run(deinterleave_t *d, struct stopwatch *watch,
                          const struct deinterleave_block *block, cl_mem *out, uint64_t *stride,
                          int *is_left)
{
    *out = block->in;
    if (deinterleave_lies_well(&d->coding, block->input, block->nstreams, stride)) {
        int must_look = !block->is_clean && deinterleave_must_look(&d->coding);
        TRY(must_look && !block->may_leave ? deinterleave_scan(d, watch, block, *stride)
                                           : STATUS_OK);
        if (is_left) {
            *is_left = must_look && block->may_leave;
        }
        return STATUS_OK;
    }
    TRY(deinterleave_copy(d, watch, block));
    *out = d->out;
    *stride = d->stride;
    return STATUS_OK;
}

status_t deinterleave_fetch(deinterleave_t *d, cl_ulong *counts, cl_event *done)
{
    return deinterleave_must_look(&d->coding) ? sample_places_fetch(&d->places, counts, done)
                                              : STATUS_OK;
}
