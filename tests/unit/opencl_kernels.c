/* Every kernel once, on tiny problems in one queue: run under oclgrind by tests/cli/oclgrind.sh.
 * Samples are interleaved, so that they are deinterleaved, then lie well, so that they are only
 * looked at.
 */
#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/ppf/opencl_channelise.h"
#include "compute/opencl/ppf/ppf_steps.h"
#include "dsp/fir/prototype.h"

#include <stdio.h>
#include <stdlib.h>

enum { STREAMS = 2, SPECTRA = 21, MOST_BYTES = 1 << 16 };

static const struct {
    enum kernel_kind kernel;
    enum sample_format format;
    int is_complex;
    uint32_t channels, taps;
    enum quantity quantity;
    uint64_t integrate;
    uint32_t bits;
    uint32_t hop; /* 0: a raw spectrum */
} cases[] = {{KERNEL_FUSED, SAMPLE_I8, 1, 32, 3, QUANTITY_SPECTRA, 1, 0, 0},
             {KERNEL_FUSED, SAMPLE_F32, 0, 32, 2, QUANTITY_POWER, 5, 0, 0},
             {KERNEL_SLIDE, SAMPLE_I16, 1, 10, 3, QUANTITY_SPECTRA, 1, 0, 0},
             {KERNEL_CACHE, SAMPLE_I4, 1, 6, 2, QUANTITY_POWER, 5, 0, 0},
             {KERNEL_LOCAL, SAMPLE_F32, 0, 8, 4, QUANTITY_POWER, 1, 0, 0},
             {KERNEL_CACHE, SAMPLE_I8, 1, 6, 2, QUANTITY_COHERENCY, 5, 0, 0},
             {KERNEL_CACHE, SAMPLE_I8, 0, 6, 2, QUANTITY_COHERENCY, 1, 0, 0},
             {KERNEL_FUSED, SAMPLE_I8, 1, 32, 2, QUANTITY_SQUARES, 5, 0, 0},
             {KERNEL_FUSED, SAMPLE_I8, 1, 32, 2, QUANTITY_SPECTRA, 1, 8, 0},
             {KERNEL_SLIDE, SAMPLE_I8, 0, 10, 2, QUANTITY_SPECTRA, 1, 16, 0},
             {KERNEL_FINE, SAMPLE_I8, 1, 256, 2, QUANTITY_POWER, 5, 0, 0},
             {KERNEL_BLOCKS, SAMPLE_I8, 0, 10, 19, QUANTITY_SPECTRA, 1, 0, 0},
             {KERNEL_FUSED, SAMPLE_I8, 1, 72, 2, QUANTITY_POWER, 5, 0, 0},
             {KERNEL_FUSED, SAMPLE_I8, 1, 32, 2, QUANTITY_SPECTRA, 1, 0, 27}};

/* One case: deinterleaves the samples, filters them, and waits. */
static status_t run_case(device_t *device, size_t i, cl_mem in, cl_mem out)
{
    status_t st = STATUS_OK;
    struct channelise_choice choice = {.backend = BACKEND_OPENCL};
    struct stopwatch watch = {0};
    struct prototype_spec coeff = {
        .channels = cases[i].channels, .taps = cases[i].taps, .window = WINDOW_HANN, .cutoff = 1};
    struct channelise_spec spec = {.channels = cases[i].channels,
                                   .taps = cases[i].taps,
                                   .is_complex = cases[i].is_complex,
                                   .hop = cases[i].hop,
                                   .format = cases[i].format,
                                   .nibbles = {1, 1},
                                   .nchannels = cases[i].channels,
                                   .nstreams = STREAMS,
                                   .pol_inner = 1,
                                   .max_spectra = SPECTRA,
                                   .noutputs = 1,
                                   .outputs = {{.quantity = cases[i].quantity,
                                                .integrate = cases[i].integrate,
                                                .bits = cases[i].bits,
                                                .scale_rows = 8}},
                                   .kernel = cases[i].kernel};
    static const size_t number[] = {1, 1, 2, 4};
    size_t parts = spec.is_complex && spec.format != SAMPLE_I4 ? 2 : 1;
    size_t bytes = number[spec.format] * parts;
    size_t part = parts == 2 ? number[spec.format] : 0;
    size_t re[STREAMS] = {0, bytes};
    size_t im[STREAMS] = {part, bytes + part};
    struct sample_input input = {re, im, STREAMS * bytes};
    uint64_t samples = channelise_inputs(&spec, SPECTRA);
    const struct sample_coding coding = channelise_coding(&spec);
    struct deinterleave_block block = {in, &input, STREAMS, samples, 0, samples, 0, 0};
    double *table = NULL;
    ppf_t *bank = NULL;
    deinterleave_t *deinterleave = NULL;
    struct ppf_look look;
    int is_left = 0;
    cl_mem lined_up = NULL;
    uint64_t stride = 0;
    uint64_t rows = 0;
    uint64_t written = 0;
    float factors[STREAMS * 32];
    cl_ulong counts[DEINTERLEAVE_GROUPS];
    cl_event counted = NULL;
    coeff.samples_per_spectrum = (uint32_t)channelise_samples(&spec);
    TRY_OUT(prototype_create(&coeff, &table));
    spec.coeff = table;
    REQUIRE_OUT(ppf_choices(&device->info, &spec, &choice.shape, 1) == 1, STATUS_DEVICE,
                "no choice");
    TRY_OUT(deinterleave_create(device, &coding, STREAMS, samples, &deinterleave));
    TRY_OUT(ppf_create(device, &spec, &choice, &bank));
    block.may_leave = ppf_looks(bank);
    TRY_OUT(deinterleave_run(deinterleave, &watch, &block, &lined_up, &stride, &is_left));
    TRY_OUT(ppf_begin(bank, 0));
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        factors[k] = (float)k; /* some are clipped */
    }
    TRY_OUT(cases[i].bits ? ppf_scale(bank, 0, STREAMS, factors) : STATUS_OK);
    look = (struct ppf_look){deinterleave_found(deinterleave), is_left ? SPECTRA : 0};
    TRY_OUT(
        ppf_run(bank, &watch, lined_up, stride, STREAMS, SPECTRA, &look, &out, &rows, &written));
    /* Once more from where samples lie well: that of stream 1 begins at a multiple of 16 bytes. */
    re[1] = (size_t)stride;
    im[0] = part;
    im[1] = (size_t)stride + part;
    input.step = bytes;
    block.in = lined_up;
    TRY_OUT(deinterleave_run(deinterleave, &watch, &block, &lined_up, &stride, &is_left));
    TRY_OUT(deinterleave_fetch(deinterleave, counts, &counted));
    TRY_OUT(device_wait(device, counted));
    printf("%s: %llu rows\n", kernel_name(spec.kernel), (unsigned long long)rows);
out:
    ppf_destroy(bank);
    deinterleave_destroy(deinterleave);
    if (counted) {
        clReleaseEvent(counted);
    }
    free(table);
    return st;
}

int main(void)
{
    status_t st = STATUS_OK;
    struct device_info info;
    uint32_t sharers = 1;
    device_t *device = NULL;
    cl_mem in = NULL;
    cl_mem out = NULL;
    const cl_uchar byte = 17;
    TRY_OUT(device_choose(NULL, 0, 1, &info, &sharers));
    TRY_OUT(device_open(&info, 0, 1, &device));
    TRY_OUT(device_allocate(device, MOST_BYTES, "samples", &in));
    TRY_OUT(device_allocate(device, MOST_BYTES, "rows", &out));
    CL_TRY_OUT(device,
               clEnqueueFillBuffer(device->compute, in, &byte, 1, 0, MOST_BYTES, 0, NULL, NULL),
               "fill samples");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY_OUT(run_case(device, i, in, out));
    }
out:
    if (st != STATUS_OK) {
        report_print();
    }
    if (device) {
        clFinish(device->compute);
        DEVICE_RELEASE(device, in);
        DEVICE_RELEASE(device, out);
    }
    device_close(device);
    return (int)st;
}
