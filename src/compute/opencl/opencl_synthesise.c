/* The stage on an OpenCL device: up, transform back, filter, down; blocks overlap through three
 * queues. */
#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl.h"
#include "compute/opencl/program.h"
#include "compute/opencl/transform.h"

#include <stdlib.h>

enum {
    /* MiB of transformed spectra: long launches (H200, 2^28 rows: 2.13 ms in one, 2.21 in five), of
     * which a large device has room; of any GPU; what a processor's caches hold. */
    TILE_MOST = 2560,
    TILE_LEAST = 512,
    TILE_HOST = 2,
    TILE_SHARE = 24, /* of the rank's memory of a device at most, if that is more than TILE_LEAST */
    FIR_WIDTH = 64,  /* work-items of a group */
    FIR_ROWS = 8,    /* most rows of an item */
    /* Most meetings of an item's rows with spectra in a kernel that is unrolled: of a GPU, and of a
     * processor, which builds large kernels slowly. */
    FIR_MEETINGS = 512,
    FIR_MEETINGS_HOST = 48,
    COMPLEX_BYTES = 2 * sizeof(float)
};

struct stage {
    struct synthesise base;
    struct opencl *opencl;
    transform_t *transform;
    cl_kernel fir;
    cl_mem coeff;
    uint32_t rows; /* of a work-item */
    int is_unrolled;
    uint64_t tile; /* spectra that are transformed at a time */
    struct stopwatch watch;
};

static void opencl_synthesise_destroy(synthesise_t *synthesise)
{
    struct stage *stage = (struct stage *)synthesise;
    device_t *device = stage->opencl->device;
    clFinish(device->compute);
    transform_destroy(stage->transform);
    LAUNCH_RELEASE(stage->fir);
    DEVICE_RELEASE(device, stage->coeff);
    stopwatch_free(&stage->watch);
    free(stage);
}

static uint64_t synthesise_length(const struct synthesise_spec *spec)
{
    return (uint64_t)spec->taps * spec->points;
}

/* Most spectra that a row is made of. */
static uint64_t synthesise_reach(const struct synthesise_spec *spec)
{
    return ceil_div_u64(synthesise_length(spec), spec->hop);
}

/* Spectra of a tile: what `bytes` hold, but no more than a run needs, and some times what two
 * neighbouring tiles share: k hop rows are made of k + reach spectra at most. */
static uint64_t synthesise_tile(const struct synthesise_spec *spec, uint64_t bytes)
{
    enum { SHARES = 4 };
    const uint64_t reach = synthesise_reach(spec);
    const uint64_t room = bytes / ((uint64_t)spec->nstreams * spec->points * COMPLEX_BYTES);
    return min_u64(max_u64(room, SHARES * reach),
                   ceil_div_u64(max_u64(spec->max_rows, 1), spec->hop) + reach);
}

static uint64_t synthesise_tile_bytes(const device_t *device)
{
    const uint64_t least = (uint64_t)TILE_LEAST << 20, most = (uint64_t)TILE_MOST << 20;
    const uint64_t share = min_u64(device->room / TILE_SHARE, most);
    return device->info.is_gpu ? max_u64(share, least) : (uint64_t)TILE_HOST << 20;
}

static status_t opencl_synthesise_choose(backend_t *backend, const struct synthesise_spec *spec,
                                         struct synthesise_choice *out)
{
    out->shape = transform_choose(spec, &((struct opencl *)backend)->device->info);
    return STATUS_OK;
}

static status_t synthesise_put_coefficients(struct stage *stage)
{
    status_t st = STATUS_OK;
    const struct synthesise_spec *spec = &stage->base.spec;
    const uint64_t length = synthesise_length(spec);
    float *table = NULL;
    TRY_OUT(memory_aligned(length, sizeof *table, "coefficients", &table));
    for (uint64_t i = 0; i < length; i++) {
        table[i] = (float)spec->coeff[i];
    }
    TRY_OUT(device_put(stage->opencl->device, table, length * sizeof *table, "coefficients",
                       &stage->coeff));
out:
    free(table);
    return st;
}

/* As many rows an item as can be unrolled; one of very many taps. */
static void synthesise_settle_rows(struct stage *stage)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    const uint64_t most = stage->opencl->device->info.is_gpu ? FIR_MEETINGS : FIR_MEETINGS_HOST;
    stage->rows = 2 * FIR_ROWS;
    do {
        stage->rows /= 2;
        const uint64_t span = synthesise_length(spec) + (stage->rows - 1) * (uint64_t)spec->points;
        stage->is_unrolled = ceil_div_u64(span, spec->hop) * stage->rows <= most;
    } while (!stage->is_unrolled && stage->rows > 1);
}

static status_t synthesise_build(struct stage *stage)
{
    static const enum program_source sources[] = {SOURCE_BUTTERFLIES, SOURCE_SYNTHESIS_FIR};
    const struct synthesise_spec *spec = &stage->base.spec;
    struct text options = {0};
    text_add(&options,
             "-DPOINTS=%u -DHOP=%u -DLENGTH=%llu -DSIGNED=%d -DIS_REAL_OUT=%d -DROWS=%u "
             "-DUNROLLED=%d -DFIR_WIDTH=%d",
             spec->points, spec->hop, (unsigned long long)synthesise_length(spec),
             transform_is_signed(stage->transform), spec->is_real_out != 0, stage->rows,
             stage->is_unrolled, (int)FIR_WIDTH);
    return launch_build(stage->opencl->device, sources, 2, &options, "synthesis_fir", &stage->fir);
}

static status_t opencl_synthesise_create(backend_t *backend, synthesise_t *made)
{
    const struct synthesise_spec *spec = &made->spec;
    struct stage *stage = (struct stage *)made;
    struct opencl *opencl = (struct opencl *)backend;
    stage->opencl = opencl;
    REQUIRE(synthesise_length(spec) <= INT32_MAX / 2, STATUS_USAGE,
            "synthesise: a filter of %llu samples, %d are the most on a device",
            (unsigned long long)synthesise_length(spec), INT32_MAX / 2);
    stage->watch.is_on = spec->is_timed;
    stage->tile = synthesise_tile(spec, synthesise_tile_bytes(opencl->device));
    synthesise_settle_rows(stage);
    if (stage->base.spec.choice.backend != BACKEND_OPENCL) {
        TRY(opencl_synthesise_choose(backend, spec, &stage->base.spec.choice));
    }
    TRY(transform_create(opencl->device, &stage->base.spec, stage->tile, &stage->transform));
    TRY(synthesise_put_coefficients(stage));
    TRY(synthesise_build(stage));
    stage->base.spec.coeff = NULL;
    return STATUS_OK;
}

/* Rounded down; `divisor` > 0. */
static int64_t synthesise_quotient(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0);
}

/* The first spectrum that row n is made of, and the last. */
static int64_t synthesise_first(const struct synthesise_spec *spec, int64_t n)
{
    const int64_t length = (int64_t)synthesise_length(spec);
    return synthesise_quotient(n - spec->first - length + spec->hop, spec->hop);
}

static int64_t synthesise_last(const struct synthesise_spec *spec, int64_t n)
{
    return synthesise_quotient(n - spec->first, spec->hop);
}

/* State of a run. */
struct progress {
    struct opencl_buffer *in, *out;
    const struct sample_input *input;
    const struct stage_run *run;
    uint64_t looked; /* places before it have been counted */
};

/* Transforms the spectra of places from .. to - 1 of the buffer, and counts what is missing among
 * those that were not looked at yet. */
static status_t synthesise_transform(struct stage *stage, struct progress *progress, uint64_t from,
                                     uint64_t to, cl_mem *u)
{
    const struct stage_run *run = progress->run;
    const uint64_t counted_end = min_u64(run->counted_first + run->counted, to);
    const uint64_t counted_first = max_u64(max_u64(run->counted_first, progress->looked), from);
    const struct transform_block block = {
        .in = progress->in->memory,
        .input = progress->input,
        .nstreams = run->nstreams,
        .from = from,
        .count = to - from,
        .counted_first = counted_first,
        .counted = counted_end > counted_first ? counted_end - counted_first : 0};
    TRY(transform_run(stage->transform, &stage->watch, &block, u));
    progress->looked = max_u64(progress->looked, to);
    return STATUS_OK;
}

/* Places that hold spectra which no row needed, but which are to be counted. */
static status_t synthesise_count_rest(struct stage *stage, struct progress *progress, uint64_t end)
{
    const struct stage_run *run = progress->run;
    cl_mem u = NULL;
    end = min_u64(end, run->counted_first + run->counted);
    for (uint64_t at = max_u64(progress->looked, run->counted_first); at < end;) {
        const uint64_t to = min_u64(at + stage->tile, end);
        TRY(synthesise_transform(stage, progress, at, to, &u));
        at = to;
    }
    return STATUS_OK;
}

/* Rows `at` .. `at + count - 1` of the run, which one tile is enough for. */
static status_t synthesise_piece(struct stage *stage, struct progress *progress, uint64_t at,
                                 uint64_t count)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    const struct stage_run *run = progress->run;
    const int64_t n = run->first_row + (int64_t)at;
    const int64_t length = (int64_t)synthesise_length(spec);
    const int64_t wanted = synthesise_first(spec, n);
    const int64_t first = wanted - run->first_sample; /* its place in the buffer */
    const int64_t end = synthesise_last(spec, n + (int64_t)count - 1) - run->first_sample + 1;
    const uint64_t from = first > 0 ? min_u64((uint64_t)first, run->samples) : 0;
    const uint64_t to = end > (int64_t)from ? min_u64((uint64_t)end, run->samples) : from;
    const uint32_t turned =
        (uint32_t)((n % spec->points + spec->points + (int64_t)(spec->turn % spec->points)) %
                   spec->points);
    const uint64_t across = ceil_div_u64(spec->points, FIR_WIDTH);
    const uint64_t down = ceil_div_u64(count, (uint64_t)stage->rows * spec->points);
    const struct launch_size size = {(size_t)(across * down * run->nstreams), FIR_WIDTH};
    const cl_long base = first - (int64_t)from;
    const cl_uint rest = (cl_uint)(n - spec->first - length + spec->hop - wanted * spec->hop);
    cl_mem u = NULL;
    TRY(synthesise_count_rest(stage, progress, from));
    TRY(synthesise_transform(stage, progress, from, to, &u));
    return LAUNCH(stage->opencl->device, stage->fir, size, &stage->watch, STEP_FILTER, ARGUMENT(u),
                  ARGUMENT_ULONG(to - from), ARGUMENT_UINT(run->nstreams), ARGUMENT(stage->coeff),
                  ARGUMENT(base), ARGUMENT(rest), ARGUMENT_UINT(turned),
                  ARGUMENT(progress->out->memory), ARGUMENT_ULONG(at),
                  ARGUMENT_ULONG(run->out_stride), ARGUMENT_ULONG(count));
}

static status_t synthesise_pieces(struct stage *stage, struct progress *progress)
{
    const struct synthesise_spec *spec = &stage->base.spec;
    const struct stage_run *run = progress->run;
    /* Whole items, where there is room for some. */
    const uint64_t grain = (uint64_t)stage->rows * spec->points;
    const uint64_t most = (stage->tile - synthesise_reach(spec)) * spec->hop;
    const uint64_t piece = most > grain ? most / grain * grain : most;
    for (uint64_t at = 0; at < run->rows; at += piece) {
        TRY(synthesise_piece(stage, progress, at, min_u64(piece, run->rows - at)));
    }
    return synthesise_count_rest(stage, progress, run->samples);
}

static status_t opencl_synthesise_run(synthesise_t *synthesise, buffer_t *in_buffer,
                                      const struct sample_input *input, const struct stage_run *run,
                                      buffer_t *out_buffer)
{
    struct stage *stage = (struct stage *)synthesise;
    const struct synthesise_spec *spec = &stage->base.spec;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    struct progress progress = {in, (struct opencl_buffer *)out_buffer, input, run, 0};
    const uint64_t extent = run->samples > 0
                                ? deinterleave_extent(&spec->coding, input,
                                                      run->nstreams * spec->channels, run->samples)
                                : 0;
    const uint64_t row_bytes = spec->is_real_out ? sizeof(float) : COMPLEX_BYTES;
    const uint64_t bytes = ((run->nstreams - 1) * run->out_stride + run->rows) * row_bytes;
    TRY(opencl_block_begin(in, extent, &out_buffer, 1, &stage->watch));
    TRY(synthesise_pieces(stage, &progress));
    if (in->use == BUFFER_IN) {
        TRY(transform_fetch(stage->transform, in->counts, &in->counted));
    }
    return opencl_block_end(in, &out_buffer, &bytes, 1, &stage->watch);
}

static uint64_t opencl_synthesise_bytes(const struct synthesise_spec *spec)
{
    return DRIVER_BYTES + synthesise_length(spec) * sizeof(float) +
           (uint64_t)spec->nstreams * spec->channels * 2 * sizeof(cl_ulong);
}

static uint64_t opencl_synthesise_device_bytes(const struct synthesise_spec *spec)
{
    return transform_bytes(spec, synthesise_tile(spec, (uint64_t)TILE_MOST << 20)) +
           synthesise_length(spec) * sizeof(float);
}

static status_t opencl_synthesise_times(synthesise_t *synthesise, double seconds[DEVICE_STEPS])
{
    struct stage *stage = (struct stage *)synthesise;
    return stopwatch_collect(&stage->watch, stage->opencl->device, seconds);
}

static status_t opencl_synthesise_words(const struct synthesise_choice *choice, struct text *out)
{
    return transform_words(&choice->shape, out);
}

const struct synthesise_ops opencl_synthesise = {.bytes = opencl_synthesise_bytes,
                                                 .size = sizeof(struct stage),
                                                 .create = opencl_synthesise_create,
                                                 .destroy = opencl_synthesise_destroy,
                                                 .run = opencl_synthesise_run,
                                                 .choose = opencl_synthesise_choose,
                                                 .words = opencl_synthesise_words,
                                                 .device_bytes = opencl_synthesise_device_bytes,
                                                 .times = opencl_synthesise_times};
