/* The stage on an OpenCL device: up, unpack, filter in one of several ways, down; blocks overlap
 * through three queues. */
#include "compute/opencl/filter/filter_parts.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/filter/filter_choices.h"
#include "compute/shared/filter_table.h"
#include "dsp/overlap.h"

#include <stdlib.h>

struct stage {
    struct filter base;
    struct opencl *opencl;
    deinterleave_t *deinterleave;
    const struct filter_way *way;
    void *made;
    struct filter_stream *known; /* [nstreams] as they stand on the device */
    uint32_t nknown;
    cl_mem streams;
    struct stopwatch watch;
};

static void opencl_filter_destroy(filter_t *filter)
{
    struct stage *stage = (struct stage *)filter;
    device_t *device = stage->opencl->device;
    clFinish(device->compute);
    if (stage->way) {
        stage->way->destroy(stage->made);
    }
    deinterleave_destroy(stage->deinterleave);
    device_release(device, stage->streams);
    stopwatch_free(&stage->watch);
    free(stage->known);
    free(stage);
}

/* Samples of a stream that the rows of a run need, unless streams are shifted. */
static uint64_t filter_samples(const struct filter_spec *spec)
{
    struct overlap overlap =
        overlap_filter(spec->taps, spec->first, spec->decimate, filter_grain(spec));
    return overlap_inputs(&overlap, max_u64(spec->max_rows, 1));
}

static status_t opencl_filter_create(backend_t *backend, const struct filter_spec *spec,
                                     filter_t **out)
{
    status_t st = STATUS_OK;
    struct stage *stage = NULL;
    struct opencl *opencl = (struct opencl *)backend;
    device_t *device = opencl->device;
    TRY(memory_zeroed(1, sizeof *stage, "the filter", &stage));
    stage->base.spec = *spec;
    stage->opencl = opencl;
    stage->watch.is_on = spec->is_timed;
    stage->way = filter_settle(spec, &device->info, &stage->base.spec.choice.shape);
    TRY(memory_zeroed(spec->nstreams, sizeof *stage->known, "streams", &stage->known));
    TRY(device_allocate(device, spec->nstreams * sizeof *stage->known, "streams", &stage->streams));
    TRY(deinterleave_create(device, &spec->coding, spec->nstreams, filter_samples(spec),
                            &stage->deinterleave));
    TRY(stage->way->create(device, &stage->base.spec, &stage->made));
    stage->base.spec.coeff = NULL;
    *out = &stage->base;
    stage = NULL;
out:
    if (stage) {
        opencl_filter_destroy(&stage->base);
    }
    return st;
}

/* Responses and shifts differ from run to run only where groups of streams do. */
static status_t filter_bring_streams(struct stage *stage, const struct filter_run *run)
{
    status_t st = STATUS_OK;
    const struct filter_spec *spec = &stage->base.spec;
    int differs = run->nstreams != stage->nknown;
    for (uint32_t i = 0; i < run->nstreams; i++) {
        uint32_t stream = run->first_stream + i;
        const struct filter_stream wanted = {.shift = spec->shift ? spec->shift[stream] : 0,
                                             .response = filter_table_of(spec, stream)};
        differs |= wanted.shift != stage->known[i].shift;
        differs |= wanted.response != stage->known[i].response;
        stage->known[i] = wanted;
    }
    stage->nknown = run->nstreams;
    if (differs) {
        TRY(device_write(stage->opencl->device, stage->streams, 0, stage->known,
                         run->nstreams * sizeof *stage->known, "streams"));
    }
out:
    return st;
}

static status_t filter_unpack(struct stage *stage, struct opencl_buffer *in,
                              const struct sample_input *input, const struct filter_run *run,
                              struct filter_block *block)
{
    status_t st = STATUS_OK;
    const struct deinterleave_block raw = {
        in->memory,         input,        run->nstreams,        run->samples,
        run->counted_first, run->counted, in->use != BUFFER_IN, 0};
    TRY(deinterleave_run(stage->deinterleave, &stage->watch, &raw, &block->in, &block->in_stride,
                         NULL));
    if (!raw.is_clean) {
        TRY(deinterleave_fetch(stage->deinterleave, in->counts, &in->counted));
    }
out:
    return st;
}

static status_t opencl_filter_run(filter_t *filter, buffer_t *in_buffer,
                                  const struct sample_input *input, const struct filter_run *run,
                                  buffer_t *out_buffer)
{
    status_t st = STATUS_OK;
    struct stage *stage = (struct stage *)filter;
    const struct filter_spec *spec = &stage->base.spec;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    struct opencl_buffer *out = (struct opencl_buffer *)out_buffer;
    uint64_t extent = run->samples > 0
                          ? deinterleave_extent(&spec->coding, input, run->nstreams, run->samples)
                          : 0;
    uint64_t row_bytes = spec->is_complex_out ? 2 * sizeof(float) : sizeof(float);
    uint64_t bytes = ((run->nstreams - 1) * run->out_stride + run->rows) * row_bytes;
    struct filter_block block = {.in = in->memory,
                                 .samples = run->samples,
                                 .nstreams = run->nstreams,
                                 .streams = stage->streams,
                                 .first_sample = run->first_sample,
                                 .first_row = run->first_row,
                                 .rows = run->rows,
                                 .out = out->memory,
                                 .out_stride = run->out_stride};
    TRY(opencl_block_begin(in, extent, &out_buffer, 1, &stage->watch));
    TRY(filter_bring_streams(stage, run));
    TRY(run->samples > 0 ? filter_unpack(stage, in, input, run, &block) : STATUS_OK);
    TRY(run->rows > 0 ? stage->way->run(stage->made, &stage->watch, &block) : STATUS_OK);
    TRY(opencl_block_end(in, &out_buffer, &bytes, 1, &stage->watch));
out:
    return st;
}

static uint64_t opencl_filter_bytes(const struct filter_spec *spec)
{
    enum { DRIVER_BYTES = 64 << 20 }; /* of a driver and its compiler */
    struct filter_shape shape = spec->choice.shape;
    (void)filter_settle(spec, NULL, &shape);
    /* A table on its way to the device. */
    uint64_t table = shape.method == FILTER_OVERLAP_SAVE
                         ? filter_table_bytes(spec, shape.length) +
                               filter_table_extra(spec, shape.length) +
                               shape.length * sizeof(uint32_t)
                         : 4 * sizeof(float) * (uint64_t)(spec->taps + spec->decimate);
    return DRIVER_BYTES + table + spec->nstreams * sizeof(struct filter_stream);
}

static uint64_t opencl_filter_device_bytes(const struct filter_spec *spec)
{
    struct filter_spec settled = *spec;
    const struct filter_way *way = filter_settle(spec, NULL, &settled.choice.shape);
    return deinterleave_bytes(&spec->coding, spec->nstreams, filter_samples(&settled)) +
           spec->nstreams * sizeof(struct filter_stream) + way->bytes(&settled);
}

static status_t opencl_filter_times(filter_t *filter, double seconds[FILTER_STEPS])
{
    status_t st = STATUS_OK;
    struct stage *stage = (struct stage *)filter;
    double steps[CHANNELISE_STEPS];
    TRY(stopwatch_collect(&stage->watch, stage->opencl->device, steps));
    seconds[FILTER_STEP_UPLOAD] = steps[STEP_UPLOAD];
    seconds[FILTER_STEP_UNPACK] = steps[STEP_DEINTERLEAVE];
    seconds[FILTER_STEP_FILTER] = steps[STEP_FILTER] + steps[STEP_TRANSFORM];
    seconds[FILTER_STEP_DOWNLOAD] = steps[STEP_DOWNLOAD];
out:
    return st;
}

const struct filter_ops opencl_filter = {.choose = opencl_filter_choose,
                                         .bytes = opencl_filter_bytes,
                                         .create = opencl_filter_create,
                                         .destroy = opencl_filter_destroy,
                                         .run = opencl_filter_run,
                                         .candidates = opencl_filter_candidates,
                                         .words = opencl_filter_words,
                                         .device_bytes = opencl_filter_device_bytes,
                                         .identity = opencl_channelise_identity,
                                         .times = opencl_filter_times};
