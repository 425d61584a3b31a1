/* Series searched on the device: whole blocks in one launch, those of them that lack something in
 * another one, what is left at the end one by one; behind each, the cells that it has found worth
 * a closer look. */
#include "base/memory.h"
#include "compute/opencl/opencl.h"
#include "compute/opencl/program.h"

#include <math.h>
#include <stdlib.h>

/* As in kernels/peaks/. */
enum { WHOLE_ITEMS = 32, ANY_ITEMS = 128, REFINE_ITEMS = 64, PEAKS_BLOCK = 4096, ROW_FLOATS = 4 };
enum {
    PEAKS_LOCAL_BYTES = 28 << 10,
    REFINE_GROUPS = 16, /* of a compute unit */
    OTHERS_GROUPS = 4
};

struct stage {
    struct peaks base;
    device_t *device;
    struct boxes boxes;
    float least; /* S/N of a power of two that is looked at more closely */
    cl_kernel whole, any, refine;
    cl_mem scale; /* [widths + 1] 1 / sqrt(width) */
    /* Of a launch, see kernels/peaks/blocks.cl; room for so many cells and blocks. */
    cl_mem count, nothers, noise, list, others;
    uint64_t cells, blocks;
    struct stopwatch watch;
};

static void opencl_peaks_destroy(peaks_t *base)
{
    struct stage *stage = (struct stage *)base;
    clFinish(stage->device->compute);
    const cl_mem memory[] = {stage->scale, stage->count, stage->nothers,
                             stage->noise, stage->list,  stage->others};
    launch_release(stage->whole);
    launch_release(stage->any);
    launch_release(stage->refine);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        device_release(stage->device, memory[i]);
    }
    stopwatch_free(&stage->watch);
    free(stage);
}

static int peaks_can(const device_t *device, const struct boxes *boxes)
{
    cl_device_fp_config doubles = 0;
    clGetDeviceInfo(device->info.id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles, NULL);
    return doubles != 0 && device->info.local_bytes >= PEAKS_LOCAL_BYTES &&
           device->info.group_size >= ANY_ITEMS && boxes->widths <= PEAKS_MOST_WIDTH &&
           boxes->block == PEAKS_BLOCK;
}

/* Quotients and roots must be rounded correctly: where floats' are not, doubles' are. */
static int peaks_divides_exactly(const device_t *device)
{
    cl_device_fp_config floats = 0;
    clGetDeviceInfo(device->info.id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL);
    return (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
}

static status_t peaks_build(struct stage *stage)
{
    status_t st = STATUS_OK;
    static const enum program_source sources[] = {SOURCE_BLOCKS, SOURCE_PEAKS_WHOLE,
                                                  SOURCE_PEAKS_ANY, SOURCE_REFINE};
    const device_t *device = stage->device;
    struct text options = {0};
    cl_program program = NULL;
    int is_exact = peaks_divides_exactly(device);
    TRY(text_add(&options, "-DWIDTHS=%u -DEXACT=%d%s", stage->boxes.widths, is_exact,
                 is_exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : ""));
    TRY(program_build(device, sources, sizeof sources / sizeof *sources, options.data, &program));
    TRY(program_kernel(device, program, "peaks_whole", &stage->whole));
    TRY(program_kernel(device, program, "peaks_any", &stage->any));
    TRY(program_kernel(device, program, "refine", &stage->refine));
out:
    if (program) {
        clReleaseProgram(program);
    }
    text_free(&options);
    return st;
}

static status_t opencl_peaks_create(backend_t *backend, const struct boxes *boxes, int is_timed,
                                    peaks_t **out)
{
    status_t st = STATUS_OK;
    struct stage *stage = NULL;
    double scale[PEAKS_MOST_WIDTH + 1] = {0};
    device_t *device = ((struct opencl *)backend)->device;
    *out = NULL;
    if (!peaks_can(device, boxes)) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *stage, "a search", &stage));
    stage->device = device;
    stage->boxes = *boxes;
    stage->least = boxes_least(boxes);
    stage->watch.is_on = is_timed;
    TRY(peaks_build(stage));
    for (uint32_t w = 1; w <= boxes->widths; w++) {
        scale[w] = 1 / sqrt(w);
    }
    TRY(device_put(device, scale, (boxes->widths + 1) * sizeof *scale, "a search", &stage->scale));
    TRY(device_allocate(device, sizeof(cl_uint), "a search", &stage->count));
    TRY(device_allocate(device, sizeof(cl_uint), "a search", &stage->nothers));
    *out = &stage->base;
    stage = NULL;
out:
    if (stage) {
        opencl_peaks_destroy(&stage->base);
    }
    return st;
}

/* Whether a block is one that the faster kernel takes: its noise is that of a whole one. */
static int peaks_is_whole(const struct boxes_block *block, const struct peaks_rows *of)
{
    return block->noise_end - block->noise_first == PEAKS_BLOCK && of->stride % ROW_FLOATS == 0 &&
           (block->first - of->from) % ROW_FLOATS == 0;
}

static status_t opencl_peaks_reserve(peaks_t *base, uint64_t nseries, uint64_t times)
{
    status_t st = STATUS_OK;
    struct stage *stage = (struct stage *)base;
    device_t *device = stage->device;
    uint64_t cells = max_u64(nseries * ceil_div_u64(times, PEAK_CELL), stage->cells);
    uint64_t blocks = max_u64(nseries * ceil_div_u64(times, PEAKS_BLOCK), stage->blocks);
    if (cells == stage->cells && blocks == stage->blocks) {
        goto out;
    }
    CL_TRY(device, clFinish(device->compute), "search");
    device_release(device, stage->list);
    device_release(device, stage->noise);
    device_release(device, stage->others);
    stage->list = stage->noise = stage->others = NULL;
    stage->cells = stage->blocks = 0;
    TRY(device_allocate(device, cells * sizeof(cl_uint), "a search", &stage->list));
    TRY(device_allocate(device, blocks * 2 * sizeof(float), "a search", &stage->noise));
    TRY(device_allocate(device, blocks * sizeof(cl_uint), "a search", &stage->others));
    stage->cells = cells;
    stage->blocks = blocks;
out:
    return st;
}

/* Those of the blocks that lack something go to the list of others. */
static status_t peaks_launch_whole(struct stage *stage, const struct opencl_buffer *rows,
                                   const struct peaks_rows *of, const struct boxes_block *block,
                                   uint64_t count, const struct opencl_buffer *out, uint64_t at)
{
    status_t st = STATUS_OK;
    cl_ulong column = block->first - of->from;
    struct launch_size size = {(size_t)(count * of->nseries), WHOLE_ITEMS};
    TRY(device_clear(stage->device, stage->nothers, 0, sizeof(cl_uint)));
    TRY(LAUNCH(
        stage->device, stage->whole, size, &stage->watch, STEP_DETECT, ARGUMENT(rows->memory),
        ARGUMENT_ULONG(of->stride), ARGUMENT(column), ARGUMENT_UINT((cl_uint)count),
        ARGUMENT_UINT((cl_uint)of->nseries), ARGUMENT_UINT((cl_uint)(block->end - block->first)),
        ARGUMENT_UINT((cl_uint)(block->box_end - block->first)),
        ARGUMENT_UINT((cl_uint)(block->first - block->noise_first)), ARGUMENT(stage->least),
        ARGUMENT(out->memory), ARGUMENT_ULONG(at), ARGUMENT(stage->noise), ARGUMENT(stage->list),
        ARGUMENT(stage->count), ARGUMENT(stage->others), ARGUMENT(stage->nothers)));
out:
    return st;
}

/* `count` blocks like this one, which follow each other. */
static status_t peaks_launch(struct stage *stage, const struct opencl_buffer *rows,
                             const struct peaks_rows *of, const struct boxes_block *block,
                             uint64_t count, const struct opencl_buffer *out, uint64_t at)
{
    status_t st = STATUS_OK;
    const device_t *device = stage->device;
    int is_whole = peaks_is_whole(block, of);
    cl_ulong column = block->first - of->from;
    cl_uint series = (cl_uint)of->nseries;
    cl_uint starts = (cl_uint)(block->end - block->first);
    cl_uint times = (cl_uint)(block->box_end - block->first);
    float threshold = (float)stage->boxes.threshold;
    size_t units = device->info.units;
    struct launch_size any = {is_whole ? OTHERS_GROUPS * units : series, ANY_ITEMS};
    struct launch_size refined = {REFINE_GROUPS * units, REFINE_ITEMS};
    TRY(device_clear(device, stage->count, 0, sizeof(cl_uint)));
    TRY(is_whole ? peaks_launch_whole(stage, rows, of, block, count, out, at) : STATUS_OK);
    TRY(LAUNCH(device, stage->any, any, &stage->watch, STEP_DETECT, ARGUMENT(rows->memory),
               ARGUMENT_ULONG(of->stride), ARGUMENT(column), ARGUMENT_UINT((cl_uint)count),
               ARGUMENT(series), ARGUMENT(starts), ARGUMENT(times),
               ARGUMENT_UINT((cl_uint)(block->first - block->noise_first)),
               ARGUMENT_UINT((cl_uint)(block->noise_end - block->noise_first)),
               ARGUMENT(stage->least), ARGUMENT_UINT((cl_uint)is_whole), ARGUMENT(out->memory),
               ARGUMENT_ULONG(at), ARGUMENT(stage->noise), ARGUMENT(stage->list),
               ARGUMENT(stage->count), ARGUMENT(stage->others), ARGUMENT(stage->nothers)));
    TRY(LAUNCH(device, stage->refine, refined, &stage->watch, STEP_DETECT, ARGUMENT(rows->memory),
               ARGUMENT_ULONG(of->stride), ARGUMENT(column), ARGUMENT(series), ARGUMENT(starts),
               ARGUMENT(times), ARGUMENT(threshold), ARGUMENT(stage->scale), ARGUMENT(out->memory),
               ARGUMENT_ULONG(at), ARGUMENT(stage->noise), ARGUMENT(stage->list),
               ARGUMENT(stage->count)));
out:
    return st;
}

/* How many blocks of full length, whose boxes are all there, follow each other from this one on; at
 * least 1. */
static uint64_t peaks_count_alike(const struct stage *stage, const struct boxes_block *block,
                                  const struct peaks_rows *of, uint64_t end)
{
    const struct boxes *boxes = &stage->boxes;
    uint64_t reach = PEAKS_BLOCK + boxes->widths - 1;
    uint64_t count = 1;
    while (peaks_is_whole(block, of) && block->first + count * PEAKS_BLOCK < end &&
           block->first + count * PEAKS_BLOCK + reach <= boxes->outputs) {
        count++;
    }
    return count;
}

static status_t opencl_peaks_run(peaks_t *base, buffer_t *rows, const struct peaks_rows *of,
                                 uint64_t first, uint64_t end, buffer_t *out)
{
    status_t st = STATUS_OK;
    struct stage *stage = (struct stage *)base;
    struct opencl_buffer *in = (struct opencl_buffer *)rows;
    uint64_t at = 0;
    TRY(opencl_peaks_reserve(base, of->nseries, end - first));
    TRY(opencl_block_begin(in, 0, &out, 1, &stage->watch));
    while (first < end) {
        struct boxes_block block = boxes_block_at(&stage->boxes, first);
        uint64_t count = peaks_count_alike(stage, &block, of, end);
        uint64_t cells = ceil_div_u64(block.end - block.first, PEAK_CELL);
        TRY(peaks_launch(stage, in, of, &block, count, (const struct opencl_buffer *)out, at));
        at += count * of->nseries * cells;
        first = count > 1 ? first + count * PEAKS_BLOCK : block.end;
    }
    uint64_t bytes = at * sizeof(struct peak);
    TRY(opencl_block_end(in, &out, &bytes, 1, &stage->watch));
out:
    return st;
}

static status_t opencl_peaks_seconds(peaks_t *base, double *out)
{
    status_t st = STATUS_OK;
    struct stage *stage = (struct stage *)base;
    double seconds[CHANNELISE_STEPS];
    TRY(stopwatch_collect(&stage->watch, stage->device, seconds));
    *out = seconds[STEP_DETECT];
out:
    return st;
}

const struct peaks_ops opencl_peaks = {.create = opencl_peaks_create,
                                       .destroy = opencl_peaks_destroy,
                                       .reserve = opencl_peaks_reserve,
                                       .run = opencl_peaks_run,
                                       .seconds = opencl_peaks_seconds};
