/* Series searched on the device, in three launches: blocks whose noise is all there, those of them
 * that lack something (or all, where the first kernel cannot), and the cells that these have found
 * worth a closer look. */
#include "base/memory.h"
#include "compute/opencl/opencl.h"

#include <math.h>

/* As in kernels/peaks/. */
enum {
    WHOLE_ITEMS = 32,
    ANY_ITEMS = 128,
    REFINE_ITEMS = 64,
    PEAKS_BLOCK = 4096,
    ROW_FLOATS = 4,
    COUNTS = 2
};
enum {
    PEAKS_LOCAL_BYTES = 28 << 10,
    REFINE_GROUPS = 16, /* of a compute unit */
    OTHERS_GROUPS = 4,
    PTX_CAPABILITY = 9 /* of NVIDIA's devices: every driver of theirs knows the kernels' PTX */
};

struct stage {
    struct peaks base;
    device_t *device;
    struct boxes boxes;
    float least; /* S/N of a power of two that is looked at more closely */
    cl_kernel whole, any, refine;
    cl_mem scale; /* [widths + 1] 1 / sqrt(width) */
    /* Buffers of a launch, see kernels/peaks/blocks.cl, with the cells and blocks that they hold at
     * most. */
    cl_mem counts, noise, list, others;
    uint64_t cells, blocks;
    struct stopwatch watch;
};

static void opencl_peaks_destroy(void *base)
{
    struct stage *stage = base;
    clFinish(stage->device->compute);
    LAUNCH_RELEASE(stage->whole, stage->any, stage->refine);
    DEVICE_RELEASE(stage->device, stage->scale, stage->counts, stage->noise, stage->list,
                   stage->others);
    stopwatch_free(&stage->watch);
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
    static const enum program_source sources[] = {SOURCE_BLOCKS, SOURCE_PEAKS_WHOLE,
                                                  SOURCE_PEAKS_ANY, SOURCE_REFINE};
    const device_t *device = stage->device;
    struct text options = {0};
    int is_exact = peaks_divides_exactly(device);
    const struct launch_made kernels[] = {
        {"peaks_whole", &stage->whole}, {"peaks_any", &stage->any}, {"refine", &stage->refine}};
    text_add(&options, "-DWIDTHS=%u -DEXACT=%d -DPTX=%d%s", stage->boxes.widths, is_exact,
             device->info.capability >= PTX_CAPABILITY,
             is_exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    return launch_build_all(device, sources, sizeof sources / sizeof *sources, &options, kernels,
                            3);
}

static status_t opencl_peaks_create(backend_t *backend, const struct boxes *boxes, int is_timed,
                                    peaks_t **out)
{
    SCOPED(stage_destroy_at) struct stage *stage = NULL;
    double scale[PEAKS_MOST_WIDTH + 1] = {0};
    device_t *device = ((struct opencl *)backend)->device;
    *out = NULL;
    if (!peaks_can(device, boxes)) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *stage, "a search", &stage));
    stage->base.ops = &opencl_peaks;
    stage->device = device;
    stage->boxes = *boxes;
    stage->least = boxes_least(boxes);
    stage->watch.is_on = is_timed;
    TRY(peaks_build(stage));
    for (uint32_t w = 1; w <= boxes->widths; w++) {
        scale[w] = 1 / sqrt(w);
    }
    TRY(device_put(device, scale, (boxes->widths + 1) * sizeof *scale, "a search", &stage->scale));
    TRY(device_allocate(device, COUNTS * sizeof(cl_uint), "a search", &stage->counts));
    *out = memory_move(&stage);
    return STATUS_OK;
}

static status_t opencl_peaks_reserve(peaks_t *base, uint64_t nseries, uint64_t times)
{
    struct stage *stage = (struct stage *)base;
    device_t *device = stage->device;
    uint64_t cells = max_u64(nseries * ceil_div_u64(times, PEAK_CELL), stage->cells);
    uint64_t blocks = max_u64(nseries * ceil_div_u64(times, PEAKS_BLOCK), stage->blocks);
    if (cells == stage->cells && blocks == stage->blocks) {
        return STATUS_OK;
    }
    CL_TRY(device, clFinish(device->compute), "search");
    DEVICE_RELEASE(device, stage->list, stage->noise, stage->others);
    stage->list = stage->noise = stage->others = NULL;
    stage->cells = stage->blocks = 0;
    TRY(device_allocate(device, cells * sizeof(cl_uint), "a search", &stage->list));
    TRY(device_allocate(device, blocks * 2 * sizeof(float), "a search", &stage->noise));
    TRY(device_allocate(device, blocks * sizeof(cl_uint), "a search", &stage->others));
    stage->cells = cells;
    stage->blocks = blocks;
    return STATUS_OK;
}

/* The blocks of a run: see kernels/peaks/blocks.cl. */
struct peaks_launch {
    const struct opencl_buffer *rows, *out;
    cl_ulong stride, column;
    cl_uint blocks, series, starts, times, noise_times;
    int is_whole; /* the faster kernel takes them: noise is that of a whole block, rows lie well */
};

static struct peaks_launch peaks_launch_of(const struct stage *stage, const struct peaks_rows *of,
                                           uint64_t first, uint64_t end)
{
    const uint64_t column = first - of->from;
    const uint64_t noise_times = min_u64(stage->boxes.outputs, PEAKS_BLOCK);
    return (struct peaks_launch){.stride = of->stride,
                                 .column = column,
                                 .blocks = (cl_uint)ceil_div_u64(end - first, PEAKS_BLOCK),
                                 .series = (cl_uint)of->nseries,
                                 .starts = (cl_uint)(end - first),
                                 .times = (cl_uint)(boxes_need_end(&stage->boxes, end) - first),
                                 .noise_times = (cl_uint)noise_times,
                                 .is_whole = noise_times == PEAKS_BLOCK &&
                                             of->stride % ROW_FLOATS == 0 &&
                                             column % ROW_FLOATS == 0};
}

static status_t peaks_launch_whole(struct stage *stage, const struct peaks_launch *l)
{
    const struct launch_size size = {(size_t)l->blocks * l->series, WHOLE_ITEMS};
    return LAUNCH(stage->device, stage->whole, size, &stage->watch, STEP_DETECT,
                  ARGUMENT(l->rows->memory), ARGUMENT(l->stride), ARGUMENT(l->column),
                  ARGUMENT(l->blocks), ARGUMENT(l->series), ARGUMENT(l->starts), ARGUMENT(l->times),
                  ARGUMENT(stage->least), ARGUMENT(l->out->memory), ARGUMENT(stage->noise),
                  ARGUMENT(stage->list), ARGUMENT(stage->others), ARGUMENT(stage->counts));
}

static status_t peaks_launch(struct stage *stage, const struct peaks_launch *l)
{
    const device_t *device = stage->device;
    const size_t units = device->info.units;
    const float threshold = (float)stage->boxes.threshold;
    const struct launch_size any = {
        l->is_whole ? OTHERS_GROUPS * units : (size_t)l->blocks * l->series, ANY_ITEMS};
    const struct launch_size refined = {REFINE_GROUPS * units, REFINE_ITEMS};
    TRY(device_clear(device, stage->counts, 0, COUNTS * sizeof(cl_uint)));
    TRY(l->is_whole ? peaks_launch_whole(stage, l) : STATUS_OK);
    TRY(LAUNCH(device, stage->any, any, &stage->watch, STEP_DETECT, ARGUMENT(l->rows->memory),
               ARGUMENT(l->stride), ARGUMENT(l->column), ARGUMENT(l->blocks), ARGUMENT(l->series),
               ARGUMENT(l->starts), ARGUMENT(l->times), ARGUMENT(l->noise_times),
               ARGUMENT(stage->least), ARGUMENT_UINT((cl_uint)l->is_whole),
               ARGUMENT(l->out->memory), ARGUMENT(stage->noise), ARGUMENT(stage->list),
               ARGUMENT(stage->others), ARGUMENT(stage->counts)));
    return LAUNCH(device, stage->refine, refined, &stage->watch, STEP_DETECT,
                  ARGUMENT(l->rows->memory), ARGUMENT(l->stride), ARGUMENT(l->column),
                  ARGUMENT(l->series), ARGUMENT(l->starts), ARGUMENT(l->times), ARGUMENT(threshold),
                  ARGUMENT(stage->scale), ARGUMENT(l->out->memory), ARGUMENT(stage->noise),
                  ARGUMENT(stage->list), ARGUMENT(stage->counts));
}

static status_t opencl_peaks_run(peaks_t *base, buffer_t *rows, const struct peaks_rows *of,
                                 uint64_t first, uint64_t end, buffer_t *out)
{
    struct stage *stage = (struct stage *)base;
    struct opencl_buffer *in = (struct opencl_buffer *)rows;
    const uint64_t bytes = of->nseries * ceil_div_u64(end - first, PEAK_CELL) * sizeof(struct peak);
    struct peaks_launch launch = peaks_launch_of(stage, of, first, end);
    launch.rows = in;
    launch.out = (const struct opencl_buffer *)out;
    TRY(opencl_peaks_reserve(base, of->nseries, end - first));
    TRY(opencl_block_begin(in, 0, &out, 1, &stage->watch));
    TRY(peaks_launch(stage, &launch));
    return opencl_block_end(in, &out, &bytes, 1, &stage->watch);
}

static status_t opencl_peaks_times(void *base, double seconds[DEVICE_STEPS])
{
    struct stage *stage = base;
    return stopwatch_collect(&stage->watch, stage->device, seconds);
}

const struct peaks_ops opencl_peaks = {
    .stage = {.destroy = opencl_peaks_destroy, .times = opencl_peaks_times},
    .create = opencl_peaks_create,
    .reserve = opencl_peaks_reserve,
    .run = opencl_peaks_run};
