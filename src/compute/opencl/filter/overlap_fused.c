/* Overlap-save by our own transforms: kernels/filter/filter_fused.cl, and
 * kernels/filter/filter_rows.cl where a work-group does not hold them. */
#include "base/memory.h"
#include "compute/opencl/filter/overlap_kinds.h"
#include "compute/shared/filter_table.h"

#include <stdlib.h>

enum {
    PAIR_BYTES = 2 * sizeof(float),
    NEIGHBOURS = 32,   /* work-items of NVIDIA's warps */
    COLUMN_WIDTH = 256 /* work-items of a group that go along the columns */
};

enum fused_kernel { FUSED_ALL, ROWS_THERE = 0, ROWS_MIDDLE, ROWS_BACK, FUSED_KERNELS };
static const char *const rows_names[] = {"rows_there", "rows_middle", "rows_back"};

struct fused {
    device_t *device;
    struct filter_spec spec;
    const struct overlap_kind *kind;
    cl_kernel kernels[FUSED_KERNELS];
    cl_mem table, factors;
    cl_mem columns, work; /* in rows: factors of the columns, blocks of a batch */
};

static void fused_destroy(void *made)
{
    struct fused *fused = made;
    if (fused) {
        for (int i = 0; i < FUSED_KERNELS; i++) {
            launch_release(fused->kernels[i]);
        }
        device_release(fused->device, fused->table);
        device_release(fused->device, fused->factors);
        device_release(fused->device, fused->columns);
        device_release(fused->device, fused->work);
        free(fused);
    }
}

/* One butterfly of `rows` points, as far apart as a row is long. */
static struct overlap_stages fused_columns(const struct overlap_kind *kind)
{
    return (struct overlap_stages){.points = kind->rows,
                                   .radix = {kind->rows, 1, 1, 1},
                                   .first_blocks = 1,
                                   .spread = kind->length / kind->rows};
}

static uint64_t fused_work_bytes(const struct filter_spec *spec)
{
    const struct filter_shape *shape = &spec->choice.shape;
    return (uint64_t)shape->batch * shape->length * PAIR_BYTES;
}

static uint64_t fused_bytes(const struct filter_spec *spec)
{
    const struct overlap_kind *kind = overlap_kind(&spec->choice.shape);
    const struct overlap_stages stages = overlap_kind_stages(kind);
    uint64_t bytes =
        filter_table_bytes(spec, kind->length) + overlap_factor_count(&stages) * PAIR_BYTES;
    return kind->rows > 1 ? bytes + kind->length * (uint64_t)PAIR_BYTES + fused_work_bytes(spec)
                          : bytes;
}

/* The responses, each in the kernel's order. */
static status_t fused_put_table(struct fused *fused, const struct overlap_stages *stages)
{
    status_t st = STATUS_OK;
    const struct filter_spec *spec = &fused->spec;
    const uint32_t length = fused->kind->length;
    float(*table)[2] = NULL;
    uint32_t *places = NULL;
    TRY(memory_zeroed(length, sizeof *places, "places of frequencies", &places));
    overlap_places(stages, places);
    TRY(filter_table_create(spec, length, places, &table));
    TRY(device_put(fused->device, table, filter_table_bytes(spec, length), "responses",
                   &fused->table));
out:
    free(places);
    free(table);
    return st;
}

static status_t fused_put_factors(struct fused *fused, const struct overlap_stages *stages,
                                  cl_mem *out)
{
    status_t st = STATUS_OK;
    float(*factors)[2] = NULL;
    size_t count = overlap_factor_count(stages);
    TRY(memory_zeroed(count, sizeof *factors, "factors", &factors));
    overlap_factors(stages, factors);
    TRY(device_put(fused->device, factors, count * sizeof *factors, "factors", out));
out:
    free(factors);
    return st;
}

static status_t fused_options(const struct fused *fused, const struct overlap_stages *stages,
                              struct text *out)
{
    status_t st = STATUS_OK;
    const struct overlap_kind *kind = fused->kind;
    const struct filter_spec *spec = &fused->spec;
    const int is_nvidia = fused->device->info.is_nvidia;
    TRY(filter_options(spec, out));
    TRY(text_add(out, " -DPOINTS=%u -DVALUES=%u -DSTAGES=%u -DTEAMS=%u", stages->points,
                 kind->values, overlap_stage_count(stages), kind->teams));
    for (int i = 0; i < OVERLAP_STAGES; i++) {
        TRY(text_add(out, " -DRADIX%d=%u", i, kind->radix[i]));
    }
    TRY(text_add(out, " -DPAD=%u -DPARTS=%u -DIN_WARP=%d", kind->pad, kind->parts,
                 is_nvidia && overlap_kind_width(kind) % NEIGHBOURS == 0));
    TRY(text_add(out, " -DTAPS=%u -DTAKE=%u -DVALID=%llu", spec->taps, filter_take(spec),
                 (unsigned long long)filter_valid(spec)));
    if (kind->rows > 1) {
        TRY(text_add(out, " -DROWS=%u -DFIRST_BLOCKS=%u -DWIDTH=%d", kind->rows, kind->rows,
                     (int)COLUMN_WIDTH));
    }
    if (is_nvidia && kind->registers > 0) {
        TRY(text_add(out, " -DFREE_SIZE=1 -cl-nv-maxrregcount=%u", kind->registers));
    }
out:
    return st;
}

static status_t fused_build(struct fused *fused, const struct overlap_stages *stages)
{
    status_t st = STATUS_OK;
    const int is_rows = fused->kind->rows > 1;
    const enum program_source sources[] = {SOURCE_FILTER_SAMPLES, SOURCE_BUTTERFLIES,
                                           SOURCE_SCRAMBLED,
                                           is_rows ? SOURCE_FILTER_ROWS : SOURCE_FILTER_FUSED};
    struct text options = {0};
    cl_program program = NULL;
    TRY(fused_options(fused, stages, &options));
    TRY(program_build(fused->device, sources, sizeof sources / sizeof *sources, options.data,
                      &program));
    for (int i = 0; i < (is_rows ? FUSED_KERNELS : 1); i++) {
        TRY(program_kernel(fused->device, program, is_rows ? rows_names[i] : "filter_fused",
                           &fused->kernels[i]));
    }
out:
    if (program) {
        clReleaseProgram(program); /* the kernels hold on to it */
    }
    text_free(&options);
    return st;
}

static status_t fused_create(device_t *device, const struct filter_spec *spec, void **out)
{
    status_t st = STATUS_OK;
    struct fused *fused = NULL;
    TRY(memory_zeroed(1, sizeof *fused, "a filter", &fused));
    fused->device = device;
    fused->spec = *spec;
    fused->kind = overlap_kind(&spec->choice.shape);
    const struct overlap_stages stages = overlap_kind_stages(fused->kind);
    TRY(fused_put_table(fused, &stages));
    TRY(fused_put_factors(fused, &stages, &fused->factors));
    TRY(fused_build(fused, &stages));
    if (fused->kind->rows > 1) {
        const struct overlap_stages columns = fused_columns(fused->kind);
        TRY(fused_put_factors(fused, &columns, &fused->columns));
        TRY(device_allocate(device, fused_work_bytes(spec), "blocks of a filter", &fused->work));
    }
    *out = fused;
    fused = NULL;
out:
    fused_destroy(fused);
    return st;
}

static status_t fused_run_all(const struct fused *fused, struct stopwatch *watch,
                              const struct filter_block *run, cl_long first, uint32_t blocks)
{
    const struct launch_size size = {
        (size_t)ceil_div_u64((uint64_t)blocks * run->nstreams, fused->kind->teams),
        overlap_kind_width(fused->kind)};
    const cl_long base = fused->spec.first - run->first_sample;
    const cl_long first_row = run->first_row;
    return LAUNCH(fused->device, fused->kernels[FUSED_ALL], size, watch, STEP_FILTER,
                  ARGUMENT(run->in), ARGUMENT_ULONG(run->in_stride), ARGUMENT_ULONG(run->samples),
                  ARGUMENT(base), ARGUMENT(run->streams), ARGUMENT(fused->table),
                  ARGUMENT(fused->factors), ARGUMENT(run->out), ARGUMENT_ULONG(run->out_stride),
                  ARGUMENT(first_row), ARGUMENT_ULONG(run->rows), ARGUMENT(first),
                  ARGUMENT_UINT(blocks), ARGUMENT_UINT(run->nstreams));
}

/* `count` blocks of all streams in one row, from number `from` on. */
static status_t fused_run_rows(const struct fused *fused, struct stopwatch *watch,
                               const struct filter_block *run, cl_long first, uint32_t blocks,
                               uint32_t from, uint32_t count)
{
    status_t st = STATUS_OK;
    const struct overlap_kind *kind = fused->kind;
    const struct launch_size across = {(size_t)count * (kind->length / kind->rows / COLUMN_WIDTH),
                                       COLUMN_WIDTH};
    const struct launch_size along = {(size_t)count * kind->rows, overlap_kind_width(kind)};
    const cl_long base = fused->spec.first - run->first_sample;
    const cl_long first_row = run->first_row;
    const cl_uint nblocks = blocks, at = from, nstreams = run->nstreams;
    TRY(LAUNCH(fused->device, fused->kernels[ROWS_THERE], across, watch, STEP_FILTER,
               ARGUMENT(run->in), ARGUMENT_ULONG(run->in_stride), ARGUMENT_ULONG(run->samples),
               ARGUMENT(base), ARGUMENT(run->streams), ARGUMENT(first), ARGUMENT(nblocks),
               ARGUMENT(nstreams), ARGUMENT(at), ARGUMENT(fused->work)));
    TRY(LAUNCH(fused->device, fused->kernels[ROWS_MIDDLE], along, watch, STEP_FILTER,
               ARGUMENT(run->streams), ARGUMENT(fused->table), ARGUMENT(fused->factors),
               ARGUMENT(nblocks), ARGUMENT(nstreams), ARGUMENT(at), ARGUMENT(fused->work)));
    TRY(LAUNCH(fused->device, fused->kernels[ROWS_BACK], across, watch, STEP_FILTER,
               ARGUMENT(fused->columns), ARGUMENT(fused->work), ARGUMENT(nblocks),
               ARGUMENT(nstreams), ARGUMENT(at), ARGUMENT(first), ARGUMENT(run->out),
               ARGUMENT_ULONG(run->out_stride), ARGUMENT(first_row), ARGUMENT_ULONG(run->rows)));
out:
    return st;
}

static status_t fused_run(void *made, struct stopwatch *watch, const struct filter_block *run)
{
    status_t st = STATUS_OK;
    const struct fused *fused = made;
    int64_t first = 0;
    uint64_t blocks = 0;
    filter_blocks(&fused->spec, run, &first, &blocks);
    uint64_t all = blocks * run->nstreams;
    const uint64_t batch = fused->spec.choice.shape.batch;
    REQUIRE(all <= UINT32_MAX, STATUS_DEVICE, "a filter of %u taps takes too many blocks at once",
            fused->spec.taps);
    if (fused->kind->rows == 1) {
        TRY(fused_run_all(fused, watch, run, first, (uint32_t)blocks));
    }
    for (uint64_t from = 0; fused->kind->rows > 1 && from < all; from += batch) {
        TRY(fused_run_rows(fused, watch, run, first, (uint32_t)blocks, (uint32_t)from,
                           (uint32_t)min_u64(batch, all - from)));
    }
out:
    return st;
}

const struct filter_way filter_fused = {overlap_kind_can, overlap_kind_settle, fused_create,
                                        fused_destroy,    fused_run,           fused_bytes};
