/* The stage on an OpenCL device: up, deinterleave, filter bank, down; blocks overlap through three
 * queues. */
#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl.h"
#include "compute/opencl/ppf/opencl_ppf.h"

#include <stdlib.h>

struct stage {
    struct channelise base;
    struct opencl *opencl;
    deinterleave_t *deinterleave; /* its own, or that of the stage beside it */
    cl_mem lined_up;              /* samples as the last run has unpacked them, */
    uint64_t stride;              /* bytes from one stream to the next */
    ppf_t *bank;
    struct stopwatch watch;
    status_t begun; /* of the chunk: told by the next run */
};

static void opencl_channelise_destroy(channelise_t *channelise)
{
    struct stage *stage = (struct stage *)channelise;
    clFinish(stage->opencl->device->compute);
    ppf_destroy(stage->bank);
    if (!stage->base.spec.is_beside) {
        deinterleave_destroy(stage->deinterleave);
    }
    stopwatch_free(&stage->watch);
    free(stage);
}

/* Samples of a stream that there is room to unpack. */
static uint64_t channelise_most_samples(const struct channelise_spec *spec)
{
    return max_u64(channelise_inputs(spec, spec->max_spectra), spec->most_samples);
}

static status_t opencl_channelise_create(backend_t *backend, const struct channelise_spec *spec,
                                         channelise_t **out)
{
    status_t st = STATUS_OK;
    struct stage *stage = NULL;
    struct opencl *opencl = (struct opencl *)backend;
    struct channelise_choice choice = spec->choice;
    const struct sample_coding coding = channelise_coding(spec);
    TRY(memory_zeroed(1, sizeof *stage, "the filter bank", &stage));
    stage->base.spec = *spec;
    stage->opencl = opencl;
    stage->watch.is_on = spec->is_timed;
    if (choice.backend != BACKEND_OPENCL) {
        TRY(opencl_channelise_choose(backend, spec, &choice));
    }
    if (spec->is_beside) {
        stage->deinterleave = ((const struct stage *)spec->beside)->deinterleave;
    } else {
        TRY(deinterleave_create(opencl->device, &coding, spec->nstreams,
                                channelise_most_samples(spec), &stage->deinterleave));
    }
    TRY(ppf_create(opencl->device, spec, &choice, &stage->bank));
    stage->base.spec.coeff = NULL;
    *out = &stage->base;
    stage = NULL;
out:
    if (stage) {
        opencl_channelise_destroy(&stage->base);
    }
    return st;
}

static uint64_t opencl_channelise_bytes(const struct channelise_spec *spec)
{
    /* Coefficients as floats on their way to the device, tables, and what a driver and its compiler
     * take. */
    enum { DRIVER_BYTES = 64 << 20 };
    return DRIVER_BYTES + channelise_samples(spec) * spec->taps * sizeof(float) +
           (uint64_t)spec->channels * 4 * sizeof(float);
}

static uint64_t opencl_channelise_device_bytes(const struct channelise_spec *spec)
{
    const struct sample_coding coding = channelise_coding(spec);
    uint64_t unpacked = spec->is_beside ? 0
                                        : deinterleave_bytes(&coding, spec->nstreams,
                                                             channelise_most_samples(spec));
    return unpacked + ppf_bytes(spec);
}

static void opencl_channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    struct stage *stage = (struct stage *)channelise;
    stage->begun = ppf_begin(stage->bank, first_spectrum);
}

static status_t opencl_channelise_scale(channelise_t *channelise, uint32_t i, uint32_t nstreams,
                                        const float *factors)
{
    return ppf_scale(((struct stage *)channelise)->bank, i, nstreams, factors);
}

/* Brings samples to the device and lines them up; *is_left: nobody has looked for missing ones. */
static status_t channelise_unpack(struct stage *stage, struct opencl_buffer *in,
                                  const struct sample_input *input, uint32_t nstreams,
                                  uint64_t spectra, uint64_t counted, buffer_t *const *out,
                                  int *is_left)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &stage->base.spec;
    const struct sample_coding coding = channelise_coding(spec);
    uint64_t samples = channelise_inputs(spec, spectra);
    /* Stages that share samples rely on what the first has done of them. */
    int may_leave = ppf_looks(stage->bank) && spec->most_samples == 0;
    const struct deinterleave_block block = {
        in->memory, input, nstreams, samples, 0, counted, in->use == BUFFER_BETWEEN, may_leave};
    TRY(opencl_block_begin(in, deinterleave_extent(&coding, input, nstreams, samples), out,
                           spec->noutputs, &stage->watch));
    TRY(deinterleave_run(stage->deinterleave, &stage->watch, &block, &stage->lined_up,
                         &stage->stride, is_left));
out:
    return st;
}

static status_t opencl_channelise_run(channelise_t *channelise, const channelise_t *first,
                                      buffer_t *in_buffer, const struct sample_input *input,
                                      uint32_t nstreams, uint64_t spectra, uint64_t counted,
                                      buffer_t *const *out, uint64_t *rows)
{
    status_t st = STATUS_OK;
    struct stage *stage = (struct stage *)channelise;
    const struct stage *unpacked = first ? (const struct stage *)first : stage;
    const struct channelise_spec *spec = &stage->base.spec;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    uint64_t bytes[MOST_OUTPUTS];
    cl_mem outs[MOST_OUTPUTS];
    int is_left = 0;
    TRY(stage->begun);
    TRY(first ? opencl_block_begin(in, 0, out, spec->noutputs, &stage->watch)
              : channelise_unpack(stage, in, input, nstreams, spectra, counted, out, &is_left));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        outs[i] = ((struct opencl_buffer *)out[i])->memory;
    }
    const struct ppf_look look = {deinterleave_found(stage->deinterleave),
                                  is_left ? counted / channelise_samples(spec) : 0};
    TRY(ppf_run(stage->bank, &stage->watch, unpacked->lined_up, unpacked->stride, nstreams, spectra,
                &look, outs, rows, bytes));
    if (!first && in->use != BUFFER_BETWEEN) {
        TRY(deinterleave_fetch(stage->deinterleave, in->counts, &in->counted));
    }
    TRY(opencl_block_end(in, out, bytes, spec->noutputs, &stage->watch));
out:
    return st;
}

static status_t opencl_channelise_times(channelise_t *channelise, double seconds[CHANNELISE_STEPS])
{
    struct stage *stage = (struct stage *)channelise;
    return stopwatch_collect(&stage->watch, stage->opencl->device, seconds);
}

static status_t opencl_channelise_words(const struct channelise_choice *choice, struct text *out)
{
    status_t st = STATUS_OK;
    const struct channelise_shape *s = &choice->shape;
    if (s->kernel == KERNEL_FUSED) {
        TRY(text_add(out, "fused, factors first (%u values, %u spectra an item, radices", s->values,
                     s->batch));
        for (uint32_t i = 0; i < CHANNELISE_STAGES && s->radix[i] > 1; i++) {
            TRY(text_add(out, " %u", s->radix[i]));
        }
        TRY(text_add(out, ")"));
    } else if (s->kernel == KERNEL_FINE) {
        TRY(text_add(out, "fine, factors first (%u", s->radix[0]));
        for (uint32_t i = 1; i < CHANNELISE_STAGES && s->radix[i] > 1; i++) {
            TRY(text_add(out, " x %u", s->radix[i]));
        }
        TRY(text_add(out, " points, %u spectra an item)", s->batch));
    } else if (s->kernel == KERNEL_BLOCKS) {
        TRY(text_add(out, "blocks (%u wide, %u spectra an item, %u of them beside each other) + %s",
                     s->width, s->run, s->teams, fft_name((enum fft_kind)s->fft)));
    } else {
        TRY(text_add(out, "%s (%u wide, %u spectra, %u columns an item) + %s",
                     kernel_name((enum kernel_kind)s->kernel), s->width, s->run, s->vector,
                     fft_name((enum fft_kind)s->fft)));
    }
out:
    return st;
}

const struct channelise_ops opencl_channelise = {.create = opencl_channelise_create,
                                                 .destroy = opencl_channelise_destroy,
                                                 .bytes = opencl_channelise_bytes,
                                                 .device_bytes = opencl_channelise_device_bytes,
                                                 .begin = opencl_channelise_begin,
                                                 .scale = opencl_channelise_scale,
                                                 .run = opencl_channelise_run,
                                                 .times = opencl_channelise_times,
                                                 .choose = opencl_channelise_choose,
                                                 .words = opencl_channelise_words,
                                                 .candidates = opencl_channelise_candidates,
                                                 .identity = opencl_channelise_identity};
