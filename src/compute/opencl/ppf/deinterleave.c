#include "compute/opencl/ppf/deinterleave.h"

#include "base/memory.h"
#include "compute/opencl/ppf/steps.h"

#include <stdlib.h>
#include <string.h>

/* Streams begin at multiples of so many bytes: kernels load up to 16 at once. */
enum { STREAM_ALIGNMENT = 16 };

/* Samples lie anyhow, or at multiples of their numbers' size, or well: then they are only looked
 * at. */
enum way { WAY_BYTES, WAY_ALIGNED, WAY_SCAN, WAYS };

struct deinterleave {
    device_t *device;
    struct channelise_spec spec;
    cl_kernel kernels[WAYS]; /* made when needed */
    cl_mem dealt;
    uint64_t stride;   /* bytes of a stream in it */
    cl_mem re, im;     /* ulong [streams] */
    cl_mem found;      /* ulong [DEAL_GROUPS] missing samples of the last run */
    cl_ulong *offsets; /* [2][streams] as they stand on the device */
    uint32_t known;    /* streams of them */
};

static size_t deinterleave_sample_bytes(const struct channelise_spec *spec)
{
    return sample_bytes(spec->format, spec->is_complex);
}

/* Whether some sample could be missing. */
static int deinterleave_must_look(const struct channelise_spec *spec)
{
    return spec->format == SAMPLE_F32 || spec->has_missing_value;
}

void deinterleave_destroy(deinterleave_t *dealer)
{
    if (!dealer) {
        return;
    }
    for (int i = 0; i < WAYS; i++) {
        launch_release(dealer->kernels[i]);
    }
    device_release(dealer->device, dealer->dealt);
    device_release(dealer->device, dealer->re);
    device_release(dealer->device, dealer->im);
    device_release(dealer->device, dealer->found);
    free(dealer->offsets);
    free(dealer);
}

/* Of one stream of a block, in order. */
static uint64_t deinterleave_dealer_stride(const struct channelise_spec *spec)
{
    uint64_t samples = channelise_inputs(spec, spec->max_spectra) * channelise_samples(spec);
    return ceil_div_u64(samples * deinterleave_sample_bytes(spec), STREAM_ALIGNMENT) *
           STREAM_ALIGNMENT;
}

uint64_t deinterleave_bytes(const struct channelise_spec *spec)
{
    return (deinterleave_dealer_stride(spec) + 2 * sizeof(cl_ulong)) * spec->nstreams +
           DEAL_GROUPS * sizeof(cl_ulong);
}

status_t deinterleave_create(device_t *device, const struct channelise_spec *spec,
                             deinterleave_t **out)
{
    status_t st = STATUS_OK;
    deinterleave_t *dealer = NULL;
    TRY(memory_zeroed(1, sizeof *dealer, "the dealer", &dealer));
    dealer->device = device;
    dealer->spec = *spec;
    dealer->spec.coeff = NULL;
    dealer->stride = deinterleave_dealer_stride(spec);
    TRY(memory_zeroed(2 * (size_t)spec->nstreams, sizeof *dealer->offsets, "offsets",
                      &dealer->offsets));
    TRY(device_allocate(device, spec->nstreams * sizeof(cl_ulong), "offsets", &dealer->re));
    TRY(device_allocate(device, spec->nstreams * sizeof(cl_ulong), "offsets", &dealer->im));
    TRY(device_allocate(device, DEAL_GROUPS * sizeof(cl_ulong), "counts", &dealer->found));
    /* Whether it is needed, only the input tells; by then it is too late to halve blocks. */
    TRY(device_allocate(device, dealer->stride * spec->nstreams, "samples in order",
                        &dealer->dealt));
    TRY(device_clear(device, dealer->found, 0, DEAL_GROUPS * sizeof(cl_ulong)));
    *out = dealer;
    dealer = NULL;
out:
    deinterleave_destroy(dealer);
    return st;
}

uint64_t deinterleave_extent(const struct channelise_spec *spec,
                             const struct channelise_input *input, uint32_t nstreams,
                             uint64_t samples)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < nstreams; i++) {
        last = max_u64(last, max_u64(input->re[i], spec->is_complex ? input->im[i] : 0));
    }
    return last + (samples - 1) * input->step + sample_types[spec->format].bytes;
}

/* Whether the streams lie as the filters read them; gives their distance. */
static int deinterleave_lies_well(const struct channelise_spec *spec,
                                  const struct channelise_input *input, uint32_t nstreams,
                                  uint64_t *stride)
{
    size_t part = sample_part_bytes(spec->format, spec->is_complex);
    *stride = nstreams > 1 && input->re[1] > input->re[0] ? input->re[1] - input->re[0] : 0;
    if (input->step != deinterleave_sample_bytes(spec) || *stride % STREAM_ALIGNMENT != 0 ||
        (nstreams > 1 && *stride == 0)) {
        return 0;
    }
    for (uint32_t i = 0; i < nstreams; i++) {
        if (input->re[i] != i * *stride ||
            (spec->is_complex && input->im[i] != input->re[i] + part)) {
            return 0;
        }
    }
    return 1;
}

/* Whether every number lies at a multiple of its size. */
static int deinterleave_is_aligned(const struct channelise_spec *spec,
                                   const struct channelise_input *input, uint32_t nstreams)
{
    size_t bytes = sample_types[spec->format].bytes;
    size_t odd = input->step % bytes;
    for (uint32_t i = 0; i < nstreams; i++) {
        odd |= input->re[i] % bytes;
        odd |= spec->is_complex ? input->im[i] % bytes : 0;
    }
    return odd == 0;
}

static status_t deinterleave_find_kernel(deinterleave_t *dealer, enum way way, cl_kernel *out)
{
    status_t st = STATUS_OK;
    const enum program_source sources[] = {SOURCE_SAMPLES, SOURCE_MISSING,
                                           way == WAY_SCAN ? SOURCE_SCAN : SOURCE_DEAL};
    struct text options = {0};
    if (!dealer->kernels[way]) {
        TRY(deal_options(&dealer->spec, way == WAY_ALIGNED, &options));
        TRY(launch_build(dealer->device, sources, 3, options.data,
                         way == WAY_SCAN ? "scan" : "deal", &dealer->kernels[way]));
    }
    *out = dealer->kernels[way];
out:
    text_free(&options);
    return st;
}

/* Offsets differ from block to block only at a chunk's end, or with another group of streams. */
static status_t deinterleave_bring_offsets(deinterleave_t *dealer,
                                           const struct channelise_input *input, uint32_t nstreams)
{
    status_t st = STATUS_OK;
    cl_ulong *re = dealer->offsets;
    cl_ulong *im = dealer->offsets + dealer->spec.nstreams;
    const cl_mem memory[] = {dealer->re, dealer->im};
    int differs = nstreams != dealer->known;
    for (uint32_t i = 0; i < nstreams; i++) {
        cl_ulong imaginary = dealer->spec.is_complex ? input->im[i] : input->re[i];
        differs |= re[i] != input->re[i] || im[i] != imaginary;
        re[i] = input->re[i];
        im[i] = imaginary;
    }
    dealer->known = nstreams;
    for (int i = 0; differs && i < 2; i++) {
        TRY(device_write(dealer->device, memory[i], 0, i ? im : re, nstreams * sizeof(cl_ulong),
                         "offsets"));
    }
out:
    return st;
}

static status_t deinterleave_deal(deinterleave_t *dealer, struct stopwatch *watch, cl_mem in,
                                  const struct channelise_input *input, uint32_t nstreams,
                                  uint64_t samples, uint64_t counted)
{
    status_t st = STATUS_OK;
    enum way way =
        deinterleave_is_aligned(&dealer->spec, input, nstreams) ? WAY_ALIGNED : WAY_BYTES;
    cl_kernel kernel = NULL;
    TRY(deinterleave_bring_offsets(dealer, input, nstreams));
    TRY(deinterleave_find_kernel(dealer, way, &kernel));
    TRY(LAUNCH(dealer->device, kernel, deal_size(samples, nstreams), watch, STEP_DEAL, ARGUMENT(in),
               ARGUMENT(dealer->re), ARGUMENT(dealer->im), ARGUMENT_ULONG(input->step),
               ARGUMENT(dealer->dealt), ARGUMENT_ULONG(dealer->stride), ARGUMENT_ULONG(samples),
               ARGUMENT_UINT(nstreams), ARGUMENT_ULONG(counted), ARGUMENT(dealer->found)));
out:
    return st;
}

static status_t deinterleave_scan(deinterleave_t *dealer, struct stopwatch *watch, cl_mem in,
                                  uint64_t stride, uint32_t nstreams, uint64_t samples,
                                  uint64_t counted)
{
    status_t st = STATUS_OK;
    cl_kernel kernel = NULL;
    TRY(deinterleave_find_kernel(dealer, WAY_SCAN, &kernel));
    TRY(LAUNCH(dealer->device, kernel, deal_size(samples, nstreams), watch, STEP_DEAL, ARGUMENT(in),
               ARGUMENT_ULONG(stride), ARGUMENT_ULONG(samples), ARGUMENT_UINT(nstreams),
               ARGUMENT_ULONG(counted), ARGUMENT(dealer->found)));
out:
    return st;
}

status_t deinterleave_run(deinterleave_t *dealer, struct stopwatch *watch, cl_mem in,
                          const struct channelise_input *input, uint32_t nstreams, uint64_t samples,
                          uint64_t counted, cl_mem *out, uint64_t *stride)
{
    status_t st = STATUS_OK;
    *out = in;
    if (deinterleave_lies_well(&dealer->spec, input, nstreams, stride)) {
        if (deinterleave_must_look(&dealer->spec)) {
            TRY(deinterleave_scan(dealer, watch, in, *stride, nstreams, samples, counted));
        }
        goto out;
    }
    TRY(deinterleave_deal(dealer, watch, in, input, nstreams, samples, counted));
    *out = dealer->dealt;
    *stride = dealer->stride;
out:
    return st;
}

status_t deinterleave_fetch(deinterleave_t *dealer, cl_ulong *counts, cl_event *done)
{
    status_t st = STATUS_OK;
    const size_t bytes = DEAL_GROUPS * sizeof(cl_ulong);
    if (!deinterleave_must_look(&dealer->spec)) {
        goto out;
    }
    CL_TRY(dealer->device,
           clEnqueueReadBuffer(dealer->device->compute, dealer->found, CL_FALSE, 0, bytes, counts,
                               0, NULL, done),
           "read counts");
    TRY(device_clear(dealer->device, dealer->found, 0, bytes));
out:
    return st;
}
