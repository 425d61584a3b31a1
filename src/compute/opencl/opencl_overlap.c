/* Overlap-save: through the FFT library, any length, several blocks through memory at a time; or by
 * our own transforms, kernels/filter/filter_fused.cl, and kernels/filter/filter_rows.cl where a
 * work-group does not hold them. */
#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl_filter.h"
#include "compute/shared/filter_table.h"
#include "dsp/overlap.h"

#include <math.h>
#include <string.h>

/* ---- opencl overlap ---- */

/* Code common to all ways of overlap-save, and kernel options for samples and rows. */

void filter_options(const struct filter_spec *spec, struct text *out)
{
    deinterleave_options(&spec->coding, out);
    text_add(out, " -DCOMPLEX_COEFF=%d -DCOMPLEX_OUT=%d -DDECIMATE=%u", spec->is_complex_coeff != 0,
             spec->is_complex_out != 0, spec->decimate);
}

/* Sizes of overlap-save. filter_valid(): rows of a block, V. filter_blocks(): blocks (of real rows:
 * pairs of blocks, filter_grain() rows each) that a run touches. filter_take(): the value of the
 * circular convolution that is a block's first row: y[m] = g[(m - jV) D + filter_take()]. */
static uint64_t filter_valid(const struct filter_spec *spec)
{
    return (spec->choice.shape.length - (spec->taps - 1)) / spec->decimate;
}

static status_t filter_blocks(const struct filter_spec *spec, const struct filter_block *run,
                              int64_t *first, uint32_t *count)
{
    int64_t grain = (int64_t)filter_grain(spec);
    *first = overlap_floor(run->first_row, grain);
    int64_t blocks = overlap_floor(run->first_row + (int64_t)run->rows - 1, grain) - *first + 1;
    REQUIRE((uint64_t)blocks * run->nstreams <= UINT32_MAX, STATUS_DEVICE,
            "a filter of %u taps takes too many blocks at once", spec->taps);
    *count = (uint32_t)blocks;
    return STATUS_OK;
}

static uint32_t filter_take(const struct filter_spec *spec)
{
    return spec->response ? (uint32_t)-spec->first : spec->taps - 1;
}

/* ---- overlap library ---- */

enum {
    L2_BYTES = 32 << 20, /* of blocks at a time: what a large device's L2 holds beside the rest */
    WIDTH = 256,         /* of a work-group */
    VALUE_BYTES = 2 * sizeof(float)
};

enum kernel { KERNEL_GATHER, KERNEL_MULTIPLY, KERNEL_STORE, KERNELS };

static enum fft_kind library_fft(const struct filter_spec *spec)
{
    return spec->fft == FFT_AUTO ? FFT_VKFFT : spec->fft;
}

static int library_can(const struct filter_spec *spec, const struct filter_shape *shape,
                       const struct device_info *device)
{
    return shape->length >= (uint64_t)spec->taps - 1 + spec->decimate &&
           fft_can(library_fft(spec), shape->length) && (!device || WIDTH <= device->group_size);
}

static void library_settle(const struct filter_spec *spec, struct filter_shape *shape)
{
    struct filter_spec settled = *spec;
    settled.choice.shape = *shape;
    uint64_t blocks = (spec->max_rows / filter_grain(&settled) + 2) * spec->nstreams;
    uint64_t batch = max_u64(L2_BYTES / VALUE_BYTES / shape->length, 1);
    shape->batch = shape->batch ? shape->batch : (uint32_t)min_u64(batch, blocks);
    shape->width = shape->values = 0;
}

static uint64_t library_bytes(const struct filter_spec *spec)
{
    const struct filter_shape *shape = &spec->choice.shape;
    /* Work, as much for the library, its stage and tables. */
    return filter_table_bytes(spec, shape->length) +
           (3 * (uint64_t)shape->batch + 2) * shape->length * VALUE_BYTES;
}

static status_t library_put_table(struct filter_made *library)
{
    uint32_t length = library->spec.choice.shape.length;
    float(*table)[2] = NULL;
    TRY(filter_table_create(&library->spec, length, NULL, &table));
    return device_put_table(library->device, table, filter_table_bytes(&library->spec, length),
                            "responses", &library->table);
}

static status_t library_build(struct filter_made *library)
{
    static const enum program_source sources[] = {SOURCE_FILTER_SAMPLES, SOURCE_FILTER_OVERLAP};
    const struct launch_made kernels[KERNELS] = {
        {"filter_gather", &library->kernels[KERNEL_GATHER]},
        {"filter_multiply", &library->kernels[KERNEL_MULTIPLY]},
        {"filter_store", &library->kernels[KERNEL_STORE]}};
    const struct filter_spec *spec = &library->spec;
    uint64_t valid = filter_valid(spec);
    struct text options = {0};
    filter_options(spec, &options);
    text_add(&options, " -DLENGTH=%u -DVALID=%llu -DUSED=%llu -DTAKE=%u", spec->choice.shape.length,
             (unsigned long long)valid,
             (unsigned long long)((valid - 1) * spec->decimate + spec->taps), filter_take(spec));
    return launch_build_all(library->device, sources, 2, &options, kernels, KERNELS);
}

static status_t library_create(struct filter_made *library)
{
    const struct filter_spec *spec = &library->spec;
    const struct filter_shape *shape = &spec->choice.shape;
    TRY(library_put_table(library));
    TRY(library_build(library));
    TRY(device_allocate(library->device, (uint64_t)shape->batch * shape->length * VALUE_BYTES,
                        "blocks of a filter", &library->work));
    return fft_create(library->device, library_fft(spec), shape->length, shape->batch,
                      &library->fft);
}

/* Blocks of all streams in one row, `count` of them from number `from` on; `blocks` a stream. */
static status_t library_run_batch(const struct filter_made *library, struct stopwatch *watch,
                                  const struct filter_block *run, cl_long first, uint32_t blocks,
                                  uint32_t from, uint32_t count)
{
    device_t *device = library->device;
    const struct filter_spec *spec = &library->spec;
    const struct launch_size all = launch_over((uint64_t)count * spec->choice.shape.length, WIDTH);
    const cl_long base = spec->first - run->first_sample;
    const cl_long first_row = run->first_row;
    TRY(LAUNCH(device, library->kernels[KERNEL_GATHER], all, watch, STEP_FILTER, ARGUMENT(run->in),
               ARGUMENT_ULONG(run->in_stride), ARGUMENT_ULONG(run->samples), ARGUMENT(run->streams),
               ARGUMENT(base), ARGUMENT(first), ARGUMENT_UINT(blocks), ARGUMENT_UINT(from),
               ARGUMENT_UINT(count), ARGUMENT(library->work)));
    TRY(fft_run(library->fft, watch, library->work, 0, count));
    TRY(LAUNCH(device, library->kernels[KERNEL_MULTIPLY], all, watch, STEP_FILTER,
               ARGUMENT(run->streams), ARGUMENT(library->table), ARGUMENT_UINT(blocks),
               ARGUMENT_UINT(from), ARGUMENT_UINT(count), ARGUMENT(library->work)));
    TRY(fft_run(library->fft, watch, library->work, 0, count));
    return LAUNCH(device, library->kernels[KERNEL_STORE],
                  launch_over(count * filter_grain(spec), WIDTH), watch, STEP_FILTER,
                  ARGUMENT(library->work), ARGUMENT(first), ARGUMENT_UINT(blocks),
                  ARGUMENT_UINT(from), ARGUMENT_UINT(count), ARGUMENT(run->out),
                  ARGUMENT_ULONG(run->out_stride), ARGUMENT(first_row), ARGUMENT_ULONG(run->rows));
}

static status_t library_run(const struct filter_made *library, struct stopwatch *watch,
                            const struct filter_block *run)
{
    const uint32_t batch = library->spec.choice.shape.batch;
    int64_t first = 0;
    uint32_t blocks = 0;
    TRY(filter_blocks(&library->spec, run, &first, &blocks));
    const uint64_t all = (uint64_t)blocks * run->nstreams;
    for (uint64_t from = 0; from < all; from += batch) {
        uint64_t count = min_u64(batch, all - from);
        TRY(library_run_batch(library, watch, run, first, blocks, (uint32_t)from, (uint32_t)count));
    }
    return STATUS_OK;
}

const struct filter_way filter_library = {library_can, library_settle, library_create, library_run,
                                          library_bytes};

/* Tables of kernels/filter/scrambled.cl: factors of its stages, and responses in its order of
 * frequencies. Pure numbers.
 *
 * Factors from their angles in double: neither recurrences nor sums of angles lose digits. */

enum { OVERLAP_STAGES = 4 };

/* A transform in stages; the radix of those that are not there is 1. */
struct overlap_stages {
    uint32_t points;
    uint32_t radix[OVERLAP_STAGES];
    uint32_t first_blocks; /* rows of a longer one, this many beside each other; 1: it is whole */
    uint32_t spread;       /* columns of a longer one: from a point to the next; 1 */
};

/* Numbers a float4 of the kernels holds. */
enum { PACKED = 2 };

static uint32_t overlap_stage_count(const struct overlap_stages *stages)
{
    uint32_t count = 0;
    while (count < OVERLAP_STAGES && stages->radix[count] > 1) {
        count++;
    }
    return count;
}

/* Bits of `number` after the point: 1 is 1/2, 2 is 1/4, 3 is 3/4. */
static double overlap_mirrored(uint32_t number)
{
    double sum = 0;
    for (double bit = 0.5; number; number >>= 1, bit /= 2) {
        sum += number % 2 * bit;
    }
    return sum;
}

static uint32_t overlap_reverse(uint32_t number, uint32_t length)
{
    uint32_t out = 0;
    for (uint32_t bit = 1; bit < length; bit <<= 1, number >>= 1) {
        out = out << 1 | (number & 1);
    }
    return out;
}

/* The largest power of two in a number >= 1: factor e of a butterfly belongs to level l, e / (1 <<
 * l >> 1) == 1, or to level 0. */
static uint32_t overlap_level_start(uint32_t e)
{
    uint32_t start = 1;
    while (start * 2 <= e) {
        start *= 2;
    }
    return start;
}

static void overlap_put(double half_turns, float out[2])
{
    const double angle = acos(-1.0) * half_turns;
    out[0] = (float)cos(angle);
    out[1] = (float)sin(angle);
}

/* Factor e of block `block` there: exp(-pi i mirrored(sub-block)), of even sub-blocks of a level.
 */
static double overlap_there(uint32_t e, uint32_t block)
{
    if (e == 0) {
        return -overlap_mirrored(block);
    }
    const uint32_t start = overlap_level_start(e); /* 2^(l - 1) */
    return -overlap_mirrored(block * 2 * start + 2 * (e - start));
}

/* Returns x of factor e, exp(pi i x), of the inverse transform: x = (part + g) / 2^l, part = place
 * / step. */
static double overlap_back(uint32_t e, double part)
{
    if (e == 0) {
        return part;
    }
    const uint32_t start = overlap_level_start(e);
    return (part + (e - start)) / (2.0 * start);
}

/* Complex numbers of the kernel's `factors`, and they themselves. */
static size_t overlap_factor_count(const struct overlap_stages *stages)
{
    size_t count = 0, done = 1;
    for (uint32_t i = 0; i < overlap_stage_count(stages); i++) {
        const size_t radix = stages->radix[i];
        count += radix / 2 * stages->first_blocks * done;
        done *= radix;
        count += radix / 2 * (stages->points / done) * stages->spread;
    }
    return count;
}

static void overlap_factors(const struct overlap_stages *stages, float (*out)[2])
{
    const uint32_t count = overlap_stage_count(stages);
    uint32_t done = 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t blocks = stages->first_blocks * done, radix = stages->radix[i];
        for (uint32_t e = 0; e < radix / 2; e++) {
            for (uint32_t block = 0; block < blocks; block++) {
                overlap_put(overlap_there(e, block),
                            out[(e / PACKED * blocks + block) * PACKED + e % PACKED]);
            }
        }
        out += (size_t)radix / 2 * blocks;
        done *= radix;
    }
    uint32_t step = stages->points;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t radix = stages->radix[i];
        step /= radix;
        const uint32_t places = step * stages->spread;
        for (uint32_t e = 0; e < radix / 2; e++) {
            for (uint32_t place = 0; place < places; place++) {
                overlap_put(overlap_back(e, (double)place / places),
                            out[(e / PACKED * places + place) * PACKED + e % PACKED]);
            }
        }
        out += (size_t)radix / 2 * places;
    }
}

/* Computes the index in the kernels' `table` of each of points x first_blocks frequencies of a
 * response. */
static void overlap_places(const struct overlap_stages *stages, uint32_t *out)
{
    const uint32_t points = stages->points, length = points * stages->first_blocks;
    const uint32_t last = stages->radix[overlap_stage_count(stages) - 1];
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t row = i / points, u = i % points / last, value = i % last;
        out[overlap_reverse(i, length)] =
            row * points + (value / PACKED * (points / last) + u) * PACKED + value % PACKED;
    }
}

/* The transforms that the fused overlap-save kernels have: kernels/filter/filter_fused.cl, and in
 * rows kernels/filter/filter_rows.cl. Pure functions.
 *
 * Which transforms the fused kernels have, and which one a filter takes. */

struct overlap_kind {
    uint32_t length, values;        /* of a transform; of a work-item */
    uint32_t radix[OVERLAP_STAGES]; /* of length / rows points */
    uint32_t rows;                  /* 1: all in one kernel */
    uint32_t teams;                 /* of work-items, in a group */
    uint32_t pad, parts;            /* see kernels/filter/scrambled.cl */
    uint32_t registers;             /* NVIDIA; 0: as the compiler likes */
    double cost;                    /* of a point, in time */
};

enum {
    PAIR_BYTES = 2 * sizeof(float),
    MANY_VALUES = 64,      /* that processors' compilers take ten seconds for */
    WORK_BYTES = 512 << 20 /* of blocks in rows at a time: with fewer, starts of kernels weigh */
};

/* Shapes of each length, the best first. A `cost` of 1 is 1.9 ms for 2^28 points on an H200 (8-bit
 * complex samples); those of the longest are a little more than measured: their tables are long,
 * and a run's last block is half empty. */
static const struct overlap_kind kinds[] = {{256, 16, {16, 16, 1, 1}, 1, 8, 4, 1, 0, 0.50},
                                            {256, 8, {4, 8, 8, 1}, 1, 4, 3, 1, 0, 0.50},
                                            {512, 16, {8, 8, 8, 1}, 1, 4, 4, 1, 0, 0.51},
                                            {512, 8, {8, 8, 8, 1}, 1, 2, 3, 1, 0, 0.51},
                                            {1024, 32, {32, 32, 1, 1}, 1, 2, 5, 1, 0, 0.51},
                                            {1024, 16, {4, 16, 16, 1}, 1, 2, 4, 1, 0, 0.51},
                                            {2048, 16, {8, 16, 16, 1}, 1, 1, 4, 1, 0, 0.53},
                                            {2048, 32, {8, 16, 16, 1}, 1, 1, 4, 1, 0, 0.60},
                                            {4096, 16, {16, 16, 16, 1}, 1, 1, 4, 1, 64, 0.55},
                                            {4096, 32, {16, 16, 16, 1}, 1, 1, 4, 2, 0, 0.60},
                                            {8192, 32, {32, 16, 16, 1}, 1, 1, 4, 2, 128, 0.68},
                                            {8192, 64, {32, 16, 16, 1}, 1, 1, 4, 2, 168, 0.73},
                                            {16384, 64, {64, 16, 16, 1}, 1, 1, 4, 4, 255, 1.0},
                                            {32768, 32, {32, 16, 16, 1}, 4, 1, 4, 2, 128, 1.5},
                                            {65536, 32, {32, 16, 16, 1}, 8, 1, 4, 2, 128, 1.6},
                                            {131072, 32, {32, 16, 16, 1}, 16, 1, 4, 2, 128, 1.8},
                                            {262144, 32, {32, 16, 16, 1}, 32, 1, 4, 2, 128, 2.0}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The FFT library's, likewise: every point goes through memory ten times. */
static const double library_cost = 5.4;

/* Returns the row of a shape; NULL: there is none. */
static const struct overlap_kind *overlap_kind(const struct filter_shape *shape)
{
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].length == shape->length &&
            (kinds[i].values == shape->values || !shape->values)) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* Returns the work-items of a group. */
static uint32_t overlap_kind_width(const struct overlap_kind *kind)
{
    return kind->length / kind->rows / kind->values * kind->teams;
}

static uint64_t overlap_kind_local(const struct overlap_kind *kind)
{
    uint64_t points = kind->length / kind->rows / kind->parts;
    return (points + (points >> kind->pad)) * PAIR_BYTES * kind->teams;
}

static struct overlap_stages overlap_kind_stages(const struct overlap_kind *kind)
{
    struct overlap_stages stages = {
        .points = kind->length / kind->rows, .first_blocks = kind->rows, .spread = 1};
    memcpy(stages.radix, kind->radix, sizeof stages.radix);
    return stages;
}

/* A member of struct filter_way. */
static int overlap_kind_can(const struct filter_spec *spec, const struct filter_shape *shape,
                            const struct device_info *device)
{
    const struct overlap_kind *kind = overlap_kind(shape);
    return kind && kind->length >= (uint64_t)spec->taps - 1 + spec->decimate &&
           (!device || ((device->is_gpu || kind->values < MANY_VALUES) &&
                        overlap_kind_width(kind) <= device->group_size &&
                        overlap_kind_local(kind) <= device->local_bytes));
}

static void overlap_kind_settle(const struct filter_spec *spec, struct filter_shape *shape)
{
    const struct overlap_kind *kind = overlap_kind(shape);
    struct filter_spec settled = *spec;
    settled.choice.shape = *shape;
    shape->values = kind->values;
    shape->width = overlap_kind_width(kind);
    uint64_t most = kind->rows > 1 ? WORK_BYTES / PAIR_BYTES / kind->length : 1;
    uint64_t blocks = (spec->max_rows / filter_grain(&settled) + 2) * spec->nstreams;
    shape->batch = shape->batch ? shape->batch : (uint32_t)min_u64(most, blocks);
}

uint32_t filter_fused_length(const struct filter_spec *spec)
{
    uint32_t best = 0;
    /* The library's transforms are eight times as long as the filter. */
    double least = library_cost * 8 / 7;
    for (int i = 0; i < KINDS; i++) {
        const struct filter_shape shape = {.length = kinds[i].length, .values = kinds[i].values};
        if (overlap_kind_can(spec, &shape, NULL)) {
            double valid = floor((kinds[i].length - (spec->taps - 1.0)) / spec->decimate) *
                           spec->decimate / kinds[i].length;
            if (kinds[i].cost / valid < least) {
                least = kinds[i].cost / valid;
                best = kinds[i].length;
            }
        }
    }
    return best;
}

enum {
    NEIGHBOURS = 32,   /* work-items of NVIDIA's warps */
    COLUMN_WIDTH = 256 /* work-items of a group that go along the columns */
};

enum fused_kernel { FUSED_ALL, ROWS_THERE = 0, ROWS_MIDDLE, ROWS_BACK, FUSED_KERNELS };

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

/* Puts the responses on the device, each in the kernel's order. */
static status_t fused_put_table(struct filter_made *fused, const struct overlap_stages *stages)
{
    const struct filter_spec *spec = &fused->spec;
    const uint32_t length = fused->kind->length;
    SCOPED(free_at) float(*table)[2] = NULL;
    SCOPED(free_at) uint32_t *places = NULL;
    TRY(memory_zeroed(length, sizeof *places, "places of frequencies", &places));
    overlap_places(stages, places);
    TRY(filter_table_create(spec, length, places, &table));
    return device_put(fused->device, table, filter_table_bytes(spec, length), "responses",
                      &fused->table);
}

static status_t fused_put_factors(struct filter_made *fused, const struct overlap_stages *stages,
                                  cl_mem *out)
{
    float(*factors)[2] = NULL;
    size_t count = overlap_factor_count(stages);
    TRY(memory_zeroed(count, sizeof *factors, "factors", &factors));
    overlap_factors(stages, factors);
    return device_put_table(fused->device, factors, count * sizeof *factors, "factors", out);
}

static void fused_options(const struct filter_made *fused, const struct overlap_stages *stages,
                          struct text *out)
{
    const struct overlap_kind *kind = fused->kind;
    const struct filter_spec *spec = &fused->spec;
    const int is_nvidia = fused->device->info.is_nvidia;
    filter_options(spec, out);
    text_add(out, " -DPOINTS=%u -DVALUES=%u -DSTAGES=%u -DTEAMS=%u", stages->points, kind->values,
             overlap_stage_count(stages), kind->teams);
    for (int i = 0; i < OVERLAP_STAGES; i++) {
        text_add(out, " -DRADIX%d=%u", i, kind->radix[i]);
    }
    text_add(out, " -DPAD=%u -DPARTS=%u -DIN_WARP=%d", kind->pad, kind->parts,
             is_nvidia && overlap_kind_width(kind) % NEIGHBOURS == 0);
    text_add(out, " -DTAPS=%u -DTAKE=%u -DVALID=%llu", spec->taps, filter_take(spec),
             (unsigned long long)filter_valid(spec));
    if (kind->rows > 1) {
        text_add(out, " -DROWS=%u -DFIRST_BLOCKS=%u -DWIDTH=%d", kind->rows, kind->rows,
                 (int)COLUMN_WIDTH);
    }
    if (is_nvidia && kind->registers > 0) {
        text_add(out, " -DFREE_SIZE=1 -cl-nv-maxrregcount=%u", kind->registers);
    }
}

static status_t fused_build(struct filter_made *fused, const struct overlap_stages *stages)
{
    const int is_rows = fused->kind->rows > 1;
    const enum program_source sources[] = {SOURCE_FILTER_SAMPLES, SOURCE_BUTTERFLIES,
                                           SOURCE_SCRAMBLED,
                                           is_rows ? SOURCE_FILTER_ROWS : SOURCE_FILTER_FUSED};
    const struct launch_made kernels[FUSED_KERNELS] = {
        {is_rows ? "rows_there" : "filter_fused", &fused->kernels[ROWS_THERE]},
        {"rows_middle", &fused->kernels[ROWS_MIDDLE]},
        {"rows_back", &fused->kernels[ROWS_BACK]}};
    struct text options = {0};
    fused_options(fused, stages, &options);
    return launch_build_all(fused->device, sources, sizeof sources / sizeof *sources, &options,
                            kernels, is_rows ? FUSED_KERNELS : 1);
}

static status_t fused_create(struct filter_made *fused)
{
    const struct filter_spec *spec = &fused->spec;
    fused->kind = overlap_kind(&spec->choice.shape);
    const struct overlap_stages stages = overlap_kind_stages(fused->kind);
    TRY(fused_put_table(fused, &stages));
    TRY(fused_put_factors(fused, &stages, &fused->factors));
    TRY(fused_build(fused, &stages));
    if (fused->kind->rows > 1) {
        const struct overlap_stages columns = fused_columns(fused->kind);
        TRY(fused_put_factors(fused, &columns, &fused->columns));
        TRY(device_allocate(fused->device, fused_work_bytes(spec), "blocks of a filter",
                            &fused->work));
    }
    return STATUS_OK;
}

static status_t fused_run_all(const struct filter_made *fused, struct stopwatch *watch,
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

/* Runs `count` blocks of all streams in one row, from number `from` on. */
static status_t fused_run_rows(const struct filter_made *fused, struct stopwatch *watch,
                               const struct filter_block *run, cl_long first, uint32_t blocks,
                               uint32_t from, uint32_t count)
{
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
    return LAUNCH(fused->device, fused->kernels[ROWS_BACK], across, watch, STEP_FILTER,
                  ARGUMENT(fused->columns), ARGUMENT(fused->work), ARGUMENT(nblocks),
                  ARGUMENT(nstreams), ARGUMENT(at), ARGUMENT(first), ARGUMENT(run->out),
                  ARGUMENT_ULONG(run->out_stride), ARGUMENT(first_row), ARGUMENT_ULONG(run->rows));
}

static status_t fused_run(const struct filter_made *fused, struct stopwatch *watch,
                          const struct filter_block *run)
{
    int64_t first = 0;
    uint32_t blocks = 0;
    TRY(filter_blocks(&fused->spec, run, &first, &blocks));
    const uint64_t all = (uint64_t)blocks * run->nstreams;
    const uint64_t batch = fused->spec.choice.shape.batch;
    TRY(fused->kind->rows == 1 ? fused_run_all(fused, watch, run, first, blocks) : STATUS_OK);
    for (uint64_t from = 0; fused->kind->rows > 1 && from < all; from += batch) {
        TRY(fused_run_rows(fused, watch, run, first, blocks, (uint32_t)from,
                           (uint32_t)min_u64(batch, all - from)));
    }
    return STATUS_OK;
}

const struct filter_way filter_fused = {overlap_kind_can, overlap_kind_settle, fused_create,
                                        fused_run, fused_bytes};
