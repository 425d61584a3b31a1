/* The stage on an OpenCL device: up, transpose, (sub-bands,) sums, down. In two steps
 * the sub-bands of one step after the other fill the same memory. The kernel is built for its
 * shape; delays become tables of tiles. */
#include "base/memory.h"
#include "compute/opencl/dedisperse/dedisperse_space.h"
#include "compute/opencl/dedisperse/tree_tables.h"
#include "compute/opencl/opencl.h"
#include "compute/shared/dedisperse_table.h"
#include "io/cache.h"

#include <string.h>

typedef struct dedisperse_kernel {
    device_t *device;
    struct dedisperse_shape_problem problem; /* without its arrays */
    struct dedisperse_shape shape;
    struct dedisperse_shape_spans spans;
    uint32_t *tiles; /* [nranges + 1] the first tile of each range */
    cl_kernel id;
    cl_mem rel, bases, firsts;
    /* Tables of a tree, and the kernel that folds rows into words, if it does: see
     * kernels/dedisperse_tree.cl. */
    struct tree_tables tree;
    cl_mem steps, tables, words, reaches;
    cl_kernel fold;
    uint64_t reach, word_stride; /* words of a row after its tiles, at most, and all */
} dedisperse_kernel_t;

static void dedisperse_kernel_destroy(dedisperse_kernel_t *kernel)
{
    if (!kernel) {
        return;
    }
    LAUNCH_RELEASE(kernel->id, kernel->fold);
    DEVICE_RELEASE(kernel->device, kernel->rel, kernel->bases, kernel->firsts, kernel->steps,
                   kernel->tables, kernel->words, kernel->reaches);
    tree_tables_free(&kernel->tree);
    MEMORY_FREE(kernel->tiles, kernel);
}
SCOPED_END(dedisperse_kernel_destroy, dedisperse_kernel_t *)

/* Fills the rows of one tile in both tables; padded ones are 0. */
static void kernel_fill_tile(const dedisperse_kernel_t *kernel,
                             const struct dedisperse_shape_problem *p, uint32_t from, uint32_t to,
                             uint32_t *rel, uint32_t *bases)
{
    uint32_t padded = dedisperse_shape_padded(p, &kernel->shape);
    for (uint32_t row = 0; row < p->nrows; row++) {
        bases[row] = UINT32_MAX;
    }
    for (uint32_t dm = from; dm < to; dm++) {
        const uint32_t *delays = p->delays + (size_t)dm * p->nrows;
        uint32_t *line = rel + (size_t)dm * padded;
        for (uint32_t row = 0; row < p->nrows; row++) {
            line[row] = dedisperse_shape_rel(&kernel->spans, delays[row], dm - from);
            bases[row] = line[row] < bases[row] ? line[row] : bases[row];
        }
    }
    for (uint32_t row = 0; row < p->nrows; row++) {
        bases[row] = dedisperse_shape_base(bases[row]);
    }
}

static status_t kernel_make_tables(dedisperse_kernel_t *kernel,
                                   const struct dedisperse_shape_problem *p)
{
    uint32_t padded = dedisperse_shape_padded(p, &kernel->shape);
    uint32_t dms = kernel->spans.dms;
    uint32_t tile = 0;
    SCOPED(free_at) uint32_t *rel = NULL;
    SCOPED(free_at) uint32_t *bases = NULL;
    SCOPED(free_at) uint32_t *firsts = NULL;
    TRY(memory_zeroed((size_t)p->ndms * padded, sizeof *rel, "delays", &rel));
    TRY(memory_zeroed((size_t)kernel->spans.ntiles * padded, sizeof *bases, "delays", &bases));
    TRY(memory_zeroed((size_t)kernel->spans.ntiles + 1, sizeof *firsts, "tiles", &firsts));
    TRY(memory_zeroed((size_t)p->nranges + 1, sizeof *kernel->tiles, "tiles", &kernel->tiles));
    for (uint32_t range = 0; range < p->nranges; range++) {
        for (uint32_t dm = p->firsts[range]; dm < p->firsts[range + 1]; dm += dms, tile++) {
            firsts[tile] = dm;
            kernel_fill_tile(kernel, p, dm, (uint32_t)min_u64(dm + dms, p->firsts[range + 1]), rel,
                             bases + (size_t)tile * padded);
        }
        kernel->tiles[range + 1] = tile;
    }
    firsts[tile] = p->ndms;
    TRY(device_put(kernel->device, rel, (size_t)p->ndms * padded * sizeof *rel, "delays",
                   &kernel->rel));
    TRY(device_put(kernel->device, bases, (size_t)tile * padded * sizeof *bases, "delays",
                   &kernel->bases));
    return device_put(kernel->device, firsts, ((size_t)tile + 1) * sizeof *firsts, "tiles",
                      &kernel->firsts);
}

static status_t kernel_put_list(dedisperse_kernel_t *kernel, const struct tree_list *list,
                                cl_mem *out)
{
    return device_put(kernel->device, list->numbers, list->count * sizeof *list->numbers,
                      "patterns of delays", out);
}

/* Tiles of a row in time. */
static uint64_t kernel_pieces(const dedisperse_kernel_t *kernel, uint64_t samples)
{
    const struct dedisperse_shape *s = &kernel->shape;
    uint64_t skewed = samples + (uint64_t)s->skew * (kernel->spans.dms - 1);
    return ceil_div_u64(skewed, dedisperse_shape_tile_samples(s));
}

/* Whether a tree's words are not rows as they are. */
static int kernel_folds(const dedisperse_kernel_t *kernel)
{
    return kernel->shape.group > 0 && kernel->problem.sample_bytes < sizeof(uint32_t);
}

/* Words of a row's tiles. */
static uint64_t kernel_words(const dedisperse_kernel_t *kernel, uint64_t samples)
{
    const struct dedisperse_shape *s = &kernel->shape;
    return kernel_pieces(kernel, samples) *
           (dedisperse_shape_tile_samples(s) / (s->pack * s->pack));
}

/* Puts on the device the words of each row beyond its tiles, in multiples of four; the row of zeros
 * has the most. */
static status_t kernel_put_reaches(dedisperse_kernel_t *kernel,
                                   const struct dedisperse_shape_problem *p)
{
    enum { FOUR = 4 };
    uint32_t *reaches = NULL;
    uint32_t most = 0;
    TRY(memory_zeroed((size_t)p->nrows + 1, sizeof *reaches, "delays", &reaches));
    for (uint32_t dm = 0; dm < p->ndms; dm++) {
        for (uint32_t row = 0; row < p->nrows; row++) {
            uint32_t delay = p->delays[(size_t)dm * p->nrows + row];
            reaches[row] = delay > reaches[row] ? delay : reaches[row];
        }
    }
    for (uint32_t row = 0; row < p->nrows; row++) {
        /* Rows are copied in fours, from a four on. */
        reaches[row] = (uint32_t)(((uint64_t)reaches[row] + kernel->spans.front + 2 * FOUR) / FOUR);
        most = reaches[row] > most ? reaches[row] : most;
    }
    reaches[p->nrows] = most;
    kernel->reach = (uint64_t)most * FOUR;
    return device_put_table(kernel->device, reaches, ((size_t)p->nrows + 1) * sizeof *reaches,
                            "delays", &kernel->reaches);
}

/* Allocates words for the largest number of samples. */
static status_t kernel_allocate_words(dedisperse_kernel_t *kernel,
                                      const struct dedisperse_shape_problem *p)
{
    TRY(kernel_put_reaches(kernel, p));
    kernel->word_stride = kernel_words(kernel, p->samples) + kernel->reach;
    return device_allocate(kernel->device,
                           ((uint64_t)p->nrows + 1) * kernel->word_stride * sizeof(uint32_t),
                           "words of samples", &kernel->words);
}

static status_t kernel_put_tree(dedisperse_kernel_t *kernel,
                                const struct dedisperse_shape_problem *p)
{
    const struct tree_tables *t = &kernel->tree;
    TRY(memory_zeroed(2, sizeof *kernel->tiles, "tiles", &kernel->tiles));
    kernel->tiles[1] = t->ntiles;
    TRY(kernel_put_list(kernel, &t->steps, &kernel->steps));
    TRY(kernel_put_list(kernel, &t->tables, &kernel->tables));
    TRY(kernel_put_list(kernel, &t->tiles, &kernel->firsts));
    TRY(kernel_folds(kernel) ? kernel_allocate_words(kernel, p) : STATUS_OK);
    tree_tables_free(&kernel->tree);
    return STATUS_OK;
}

static void dedisperse_shape_options(const struct dedisperse_shape_problem *p,
                                     const struct dedisperse_shape *s,
                                     const struct dedisperse_shape_spans *spans, struct text *out)
{
    text_add(out,
             "-DSAMPLE=%u -DFLOATS=%d -DPACK=%u -DSTAGING=%u -DNROWS=%u -DPADDED=%u "
             "-DTIME_ITEMS=%u -DDM_ITEMS=%u -DTIME_OUT=%u -DDM_OUT=%u -DCHUNK=%u -DSKEW=%u "
             "-DROW=%u -DPTX=%u",
             p->sample_bytes, p->is_float, s->pack, s->staging, p->nrows,
             dedisperse_shape_padded(p, s), s->time_items, s->dm_items, s->time_out, s->dm_out,
             s->chunk, s->skew, dedisperse_shape_row_words(s, spans), s->is_ptx);
}

static status_t kernel_build(dedisperse_kernel_t *kernel)
{
    struct text options = {0};
    int is_tree = kernel->shape.group > 0;
    const enum program_source source = is_tree ? SOURCE_DEDISPERSE_TREE : SOURCE_DEDISPERSE;
    if (is_tree) {
        tree_tables_options(&kernel->problem, &kernel->shape, &kernel->tree, &kernel->device->info,
                            &options);
    } else {
        dedisperse_shape_options(&kernel->problem, &kernel->shape, &kernel->spans, &options);
    }
    const struct launch_made kernels[] = {{is_tree ? "dedisperse_tree" : "dedisperse", &kernel->id},
                                          {"fold", &kernel->fold}};
    return launch_build_all(kernel->device, &source, 1, &options, kernels,
                            kernel_folds(kernel) ? 2 : 1);
}

/* Takes a shape, if it can be; of a tree the tables that are made for it stay until they are on the
 * device. */
static status_t kernel_take(dedisperse_kernel_t *kernel, const struct dedisperse_shape *shape)
{
    const struct device_info *device = &kernel->device->info;
    SCOPED(text_free) struct text words = {0};
    const char *why = NULL;
    double cost = 0;
    kernel->shape = *shape;
    TRY(dedisperse_shape_words(shape, &words));
    REQUIRE(dedisperse_space_fits(&kernel->problem, device, shape, &kernel->spans, &cost, &why),
            strcmp(why, "out of memory") == 0 ? STATUS_DEVICE : STATUS_USAGE,
            "dedispersion cannot be run as %s: %s", words.data, why);
    if (shape->group > 0) {
        TRY(tree_tables_create(&kernel->problem, shape, &kernel->spans, device->local_bytes, 1,
                               &kernel->tree));
    }
    return STATUS_OK;
}

/* Takes what the model likes best: it has looked at some tiles of DMs; should others not fit, DMs
 * are added by brute force. */
static status_t kernel_take_best(dedisperse_kernel_t *kernel)
{
    struct dedisperse_shape_problem brute = kernel->problem;
    const struct device_info *device = &kernel->device->info;
    const struct dedisperse_shape best = dedisperse_space_best(&kernel->problem, device);
    TRY(kernel_take(kernel, &best));
    if (best.group > 0 && !kernel->tree.fits) {
        tree_tables_free(&kernel->tree);
        brute.mode = DEDISPERSE_BRUTE;
        const struct dedisperse_shape shape = dedisperse_space_best(&brute, device);
        TRY(kernel_take(kernel, &shape));
    }
    return STATUS_OK;
}

/* Creates the kernel. The problem's arrays may be freed afterwards. `out` NULL: compiles it into
 * the cache, no more; any number of threads may do so at once. Fails with USAGE (an impossible
 * shape, with the reason), DEVICE (memory; a kernel that does not compile). */
static status_t dedisperse_kernel_create(device_t *device,
                                         const struct dedisperse_shape_problem *problem,
                                         const struct dedisperse_shape *shape,
                                         dedisperse_kernel_t **out)
{
    SCOPED(dedisperse_kernel_destroy_at) dedisperse_kernel_t *kernel = NULL;
    TRY(memory_zeroed(1, sizeof *kernel, "dedispersion", &kernel));
    kernel->device = device;
    kernel->problem = *problem;
    TRY(shape->pack > 0 ? kernel_take(kernel, shape) : kernel_take_best(kernel));
    REQUIRE(kernel->shape.group == 0 || kernel->tree.fits, STATUS_USAGE,
            "dedispersion cannot be run so: %llu bytes of local memory do not hold the sums of "
            "the patterns of delays",
            (unsigned long long)device->info.local_bytes);
    TRY(kernel_build(kernel));
    if (out) {
        TRY(kernel->shape.group > 0 ? kernel_put_tree(kernel, problem)
                                    : kernel_make_tables(kernel, problem));
        kernel->problem.delays = NULL;
        kernel->problem.firsts = NULL;
        *out = memory_move(&kernel);
    }
    return STATUS_OK;
}

/* Returns the samples after the last input of the outputs that rows must have. */
static uint64_t dedisperse_kernel_slack(const dedisperse_kernel_t *kernel)
{
    /* The last tile, skewed, and the words that staging reads beyond it. */
    return dedisperse_shape_tile_samples(&kernel->shape) + kernel->spans.front +
           (uint64_t)kernel->spans.span + 4 * sizeof(uint32_t);
}

/* Enqueues what makes a tree's words of rows. */
static status_t kernel_fold(dedisperse_kernel_t *kernel, struct stopwatch *watch, cl_mem rows,
                            uint64_t row_stride, uint64_t quarter)
{
    enum { ROUNDS = 4 }; /* of a work-item in the longest row */
    const struct dedisperse_shape *s = &kernel->shape;
    const uint64_t items = (uint64_t)s->time_items * s->dm_items;
    const uint64_t pieces = ceil_div_u64((quarter + kernel->reach) / 4, ROUNDS * items);
    const struct launch_size size = {(size_t)(pieces * (kernel->problem.nrows + 1)), (size_t)items};
    return LAUNCH(kernel->device, kernel->fold, size, watch, STEP_FILTER, ARGUMENT(rows),
                  ARGUMENT_ULONG(row_stride / 4), ARGUMENT(kernel->words),
                  ARGUMENT_ULONG(kernel->word_stride / 4), ARGUMENT_ULONG(quarter / 4),
                  ARGUMENT(kernel->reaches), ARGUMENT_UINT((cl_uint)pieces));
}

/* Enqueues range number `range` of the DMs.
 *
 *   rows   [nrows + 1][row_stride]   spans.front samples, then time 0; row nrows is
 *                                    zero; row_stride samples, a multiple of 4
 *   out    float [ndms][out_stride]
 *
 * Fails with DEVICE. */
static status_t dedisperse_kernel_run(dedisperse_kernel_t *kernel, struct stopwatch *watch,
                                      cl_mem rows, uint64_t row_stride, uint64_t samples,
                                      uint32_t range, cl_mem out, uint64_t out_stride)
{
    const struct dedisperse_shape *s = &kernel->shape;
    const int is_tree = s->group > 0;
    const int folds = kernel_folds(kernel);
    const uint64_t pieces = kernel_pieces(kernel, samples);
    const cl_ulong quarter = kernel_words(kernel, samples);
    const uint32_t ntiles = kernel->tiles[range + 1] - kernel->tiles[range];
    const struct launch_size size = {(size_t)(pieces * ntiles),
                                     (size_t)s->time_items * s->dm_items};
    TRY(folds ? kernel_fold(kernel, watch, rows, row_stride, quarter) : STATUS_OK);
    /* The kernel counts what it reads at a time, not samples: four words of a tree. */
    return LAUNCH(
        kernel->device, kernel->id, size, watch, STEP_FILTER,
        ARGUMENT(*(folds ? &kernel->words : &rows)),
        ARGUMENT_ULONG((folds ? kernel->word_stride : row_stride) / (is_tree ? 4 : s->pack)),
        ARGUMENT(*(is_tree ? &kernel->steps : &kernel->rel)),
        ARGUMENT(*(is_tree ? &kernel->tables : &kernel->bases)), ARGUMENT(kernel->firsts),
        ARGUMENT(out), ARGUMENT_ULONG(out_stride), ARGUMENT_ULONG(samples),
        ARGUMENT_IF(is_tree, quarter), ARGUMENT_UINT(kernel->tiles[range]),
        ARGUMENT_UINT((cl_uint)pieces));
}

/* Transposes samples on the device, so that each channel's are in a row; sub-bands of two-step
 * dedispersion.
 *
 * Two kernels of one program, and their tables on the device; then the stage. */

enum { SIDE = 32, GROUP = 256 /* as in kernels/transpose.cl */ };

struct stage {
    struct dedisperse base;
    struct opencl *opencl;
    struct dedisperse_table table;
    dedisperse_kernel_t *kernel;
    cl_kernel transpose, sub_bands;
    cl_mem channels, ends, inner; /* of the table */
    cl_mem rows, sub;
    uint64_t front, row_stride, sub_stride; /* samples */
    struct stopwatch watch;
};

static status_t transpose_build(struct stage *stage)
{
    struct text options = {0};
    static const enum program_source source = SOURCE_TRANSPOSE;
    const struct dedisperse_spec *spec = &stage->base.spec;
    const struct launch_made kernels[] = {{"transpose", &stage->transpose},
                                          {"sub_bands", &stage->sub_bands}};
    text_add(&options, "-DSAMPLE=%zu -DFLOATS=%d", series_bytes(spec->format),
             spec->format == SERIES_F32);
    return launch_build_all(stage->opencl->device, &source, 1, &options, kernels,
                            spec->steps ? 2 : 1);
}

static status_t transpose_put_tables(struct stage *stage)
{
    static const char tables[] = "tables of dedispersion";
    device_t *device = stage->opencl->device;
    const struct dedisperse_table *table = &stage->table;
    TRY(device_put(device, table->channels, table->nused * sizeof *table->channels, tables,
                   &stage->channels));
    if (stage->base.spec.steps) {
        TRY(device_put(device, table->ends, table->ngroups * sizeof *table->ends, tables,
                       &stage->ends));
        TRY(device_put(device, table->delays,
                       (size_t)table->nrows * table->nused * sizeof *table->delays, tables,
                       &stage->inner));
    }
    return STATUS_OK;
}

/* Enqueues it for samples 0 .. times - 1 of every channel of the table.
 *
 *   in     as `input` says
 *   rows   [nused][row_stride] samples   `front` samples, then time 0   */
static status_t transpose_run(struct stage *stage, cl_mem in, const struct dedisperse_input *input,
                              uint64_t times)
{
    const size_t bytes = series_bytes(stage->base.spec.format);
    const uint64_t squares = ceil_div_u64(stage->table.nused, SIDE);
    const struct launch_size size = {(size_t)(squares * ceil_div_u64(times, SIDE)), GROUP};
    return LAUNCH(stage->opencl->device, stage->transpose, size, &stage->watch, STEP_DEINTERLEAVE,
                  ARGUMENT(in), ARGUMENT_ULONG(input->offset / bytes),
                  ARGUMENT_ULONG(input->time_step / bytes),
                  ARGUMENT_ULONG(input->channel_step / bytes), ARGUMENT(stage->channels),
                  ARGUMENT_UINT(stage->table.nused), ARGUMENT_ULONG(times), ARGUMENT(stage->rows),
                  ARGUMENT_ULONG(stage->row_stride), ARGUMENT_ULONG(stage->front),
                  ARGUMENT_UINT((cl_uint)squares),
                  ARGUMENT_UINT(input->channel_step / bytes < input->time_step / bytes));
}

/* Enqueues the sub-bands of step k, as far as outputs of `samples` read them.
 *
 *   rows   [nused][row_stride]       time 0 first
 *   sub    [ngroups][sub_stride]     `sub_front` samples, then time 0: uint16 of uint8, uint32 of
 *          uint16, float of float   */
static status_t transpose_sub_bands(struct stage *stage, uint32_t k, uint64_t samples)
{
    const struct subbands *steps = stage->base.spec.steps;
    const size_t ngroups = steps->ngroups;
    uint64_t reach = 0;
    for (size_t i = steps->first[k] * ngroups; i < steps->first[k + 1] * ngroups; i++) {
        reach = max_u64(reach, steps->outer[i]);
    }
    const uint64_t times = samples + reach;
    const uint64_t pieces = ceil_div_u64(times, GROUP);
    const struct launch_size size = {(size_t)pieces * ngroups, GROUP};
    return LAUNCH(stage->opencl->device, stage->sub_bands, size, &stage->watch, STEP_FILTER,
                  ARGUMENT(stage->rows), ARGUMENT_ULONG(stage->row_stride), ARGUMENT_ULONG(0),
                  ARGUMENT(stage->ends), ARGUMENT(stage->inner),
                  ARGUMENT_ULONG((uint64_t)k * stage->table.nused), ARGUMENT_UINT(steps->ngroups),
                  ARGUMENT_ULONG(times), ARGUMENT(stage->sub), ARGUMENT_ULONG(stage->sub_stride),
                  ARGUMENT_ULONG(stage->kernel->spans.front), ARGUMENT_UINT((cl_uint)pieces));
}

/* Frees all that a stage is made of. */
static void stage_empty(void *dedisperse)
{
    struct stage *stage = dedisperse;
    device_t *device = stage->opencl->device;
    clFinish(device->compute);
    dedisperse_kernel_destroy(stage->kernel);
    LAUNCH_RELEASE(stage->transpose, stage->sub_bands);
    DEVICE_RELEASE(device, stage->channels, stage->ends, stage->inner, stage->rows, stage->sub);
    dedisperse_table_free(&stage->table);
    stopwatch_free(&stage->watch);
    *stage = (struct stage){.base = stage->base, .opencl = stage->opencl};
}

/* Returns the rows that the kernel sums: channels, or the sub-bands of the second step. */
static struct dedisperse_shape_problem dedisperse_problem_of(const struct dedisperse_spec *spec,
                                                             const struct dedisperse_table *table)
{
    const struct subbands *steps = spec->steps;
    uint32_t bytes = (uint32_t)series_bytes(spec->format);
    return (struct dedisperse_shape_problem){.sample_bytes = !steps       ? bytes
                                                             : bytes == 1 ? 2
                                                                          : 4,
                                             .is_float = spec->format == SERIES_F32,
                                             .nrows = steps ? steps->ngroups : table->nused,
                                             .ndms = spec->delays->ndms,
                                             .nranges = steps ? steps->nsteps : 1,
                                             .delays = steps ? steps->outer : table->delays,
                                             .firsts = steps ? steps->first : table->all,
                                             .samples = spec->max_samples,
                                             .mode = spec->mode};
}

static uint64_t dedisperse_whole_words(uint64_t samples)
{
    return ceil_div_u64(samples, 64) * 64;
}

/* Allocates rows on the device, and a row of zeros after them. Other memory that is not written
 * only affects outputs that are dropped. */
static status_t dedisperse_allocate_rows(device_t *device, uint64_t count, uint64_t bytes,
                                         cl_mem *out)
{
    TRY(device_allocate(device, (count + 1) * bytes, "transposed samples", out));
    return device_clear(device, *out, count * bytes, bytes);
}

/* Rows for channels, and in two steps for sub-bands. */
static status_t dedisperse_allocate(struct stage *stage)
{
    device_t *device = stage->opencl->device;
    const struct dedisperse_spec *spec = &stage->base.spec;
    const struct subbands *steps = spec->steps;
    uint64_t inputs = dedisperse_inputs(spec, spec->max_samples);
    uint64_t bytes = series_bytes(spec->format);
    uint64_t nused = stage->table.nused;
    stage->front = steps ? 0 : stage->kernel->spans.front;
    stage->row_stride = dedisperse_whole_words(
        inputs + stage->front + (steps ? 0 : dedisperse_kernel_slack(stage->kernel)));
    TRY(dedisperse_allocate_rows(device, nused, stage->row_stride * bytes, &stage->rows));
    if (steps) {
        stage->sub_stride = dedisperse_whole_words(inputs + stage->kernel->spans.front +
                                                   dedisperse_kernel_slack(stage->kernel));
        TRY(dedisperse_allocate_rows(device, steps->ngroups,
                                     stage->sub_stride * (bytes == 1 ? 2 : 4), &stage->sub));
    }
    return STATUS_OK;
}

static status_t stage_fill(struct stage *stage)
{
    const struct dedisperse_spec *spec = &stage->base.spec;
    stage->watch.is_on = spec->is_timed;
    TRY(dedisperse_table_create(spec, &stage->table));
    struct dedisperse_shape_problem problem = dedisperse_problem_of(spec, &stage->table);
    TRY(dedisperse_kernel_create(stage->opencl->device, &problem, &spec->shape, &stage->kernel));
    TRY(transpose_build(stage));
    TRY(transpose_put_tables(stage));
    return dedisperse_allocate(stage);
}

/* Words that a tree folds rows into are as much memory as the rows, where delays are long four
 * times that, however short blocks become: without room for them channels are added by brute force.
 */
static status_t opencl_dedisperse_create(backend_t *backend, void *dedisperse)
{
    struct stage *stage = dedisperse;
    struct dedisperse_spec *spec = &stage->base.spec;
    stage->opencl = (struct opencl *)backend;
    device_t *device = stage->opencl->device;
    status_t st = stage_fill(stage);
    if (st != STATUS_OK && device->is_full && spec->mode == DEDISPERSE_AUTO &&
        spec->shape.pack == 0) {
        report_clear();
        device->is_full = 0;
        stage_empty(stage);
        spec->mode = DEDISPERSE_BRUTE;
        st = stage_fill(stage);
    }
    return st;
}

static uint64_t opencl_dedisperse_bytes(const struct dedisperse_spec *spec)
{
    enum { MOST_CHUNK = 32 };
    const struct subbands *steps = spec->steps;
    uint64_t rows = steps ? steps->nsteps : spec->delays->ndms;
    uint64_t table = rows * (spec->delays->nchannels + MOST_CHUNK);
    uint64_t outer = steps ? (uint64_t)spec->delays->ndms * (steps->ngroups + MOST_CHUNK) : 0;
    return 3 * 4 * (table + outer);
}

static status_t dedisperse_run_sums(struct stage *stage, uint64_t samples, cl_mem out,
                                    uint64_t out_stride)
{
    const struct subbands *steps = stage->base.spec.steps;
    if (!steps) {
        TRY(dedisperse_kernel_run(stage->kernel, &stage->watch, stage->rows, stage->row_stride,
                                  samples, 0, out, out_stride));
    }
    for (uint32_t k = 0; steps && k < steps->nsteps; k++) {
        TRY(transpose_sub_bands(stage, k, samples));
        TRY(dedisperse_kernel_run(stage->kernel, &stage->watch, stage->sub, stage->sub_stride,
                                  samples, k, out, out_stride));
    }
    return STATUS_OK;
}

/* Bytes of the input that come to the device: none of what an earlier stage has left there. */
static uint64_t dedisperse_upload_bytes(const struct stage *stage,
                                        const struct dedisperse_input *input, uint64_t samples)
{
    const struct dispersion *delays = stage->base.spec.delays;
    if (input->is_there) {
        return 0;
    }
    return input->offset + (dedisperse_inputs(&stage->base.spec, samples) - 1) * input->time_step +
           (uint64_t)(delays->nchannels - 1) * input->channel_step +
           series_bytes(stage->base.spec.format);
}

static status_t opencl_dedisperse_run(dedisperse_t *dedisperse, buffer_t *in_buffer,
                                      const struct dedisperse_input *input, uint64_t samples,
                                      buffer_t *out_buffer, uint64_t out_stride)
{
    struct stage *stage = (struct stage *)dedisperse;
    const struct dispersion *delays = stage->base.spec.delays;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    const struct opencl_buffer *out = (struct opencl_buffer *)out_buffer;
    uint64_t bytes = ((delays->ndms - 1) * out_stride + samples) * sizeof(float);
    TRY(opencl_block_begin(in, dedisperse_upload_bytes(stage, input, samples), &out_buffer, 1,
                           &stage->watch));
    TRY(transpose_run(stage, in->memory, input, dedisperse_inputs(&stage->base.spec, samples)));
    TRY(dedisperse_run_sums(stage, samples, out->memory, out_stride));
    return opencl_block_end(in, &out_buffer, &bytes, 1, &stage->watch);
}

static status_t opencl_dedisperse_again(dedisperse_t *dedisperse, buffer_t *out_buffer,
                                        uint64_t samples, uint64_t out_stride)
{
    struct stage *stage = (struct stage *)dedisperse;
    const device_t *device = stage->opencl->device;
    const struct opencl_buffer *out = (struct opencl_buffer *)out_buffer;
    /* Waits for the download of earlier results before they are overwritten. */
    TRY(device_wait(device, out->moved));
    TRY(dedisperse_run_sums(stage, samples, out->memory, out_stride));
    return device_check(device, clFinish(device->compute), "dedisperse");
}

static status_t opencl_dedisperse_identity(const backend_t *backend, struct text *out)
{
    const struct device_info *info = &((const struct opencl *)backend)->device->info;
    const char *brute = program_source(SOURCE_DEDISPERSE);
    const char *tree = program_source(SOURCE_DEDISPERSE_TREE);
    const uint64_t hashes[2] = {cache_hash(brute, strlen(brute)), cache_hash(tree, strlen(tree))};
    return text_add(out, "%s, %s, driver %s, kernel %016llx", info->platform_name, info->name,
                    info->driver, (unsigned long long)cache_hash(hashes, sizeof hashes));
}

static status_t opencl_dedisperse_build(backend_t *backend, const struct dedisperse_spec *spec,
                                        const struct dedisperse_shape *shape)
{
    device_t *device = ((struct opencl *)backend)->device;
    SCOPED(dedisperse_table_free) struct dedisperse_table table = {0};
    TRY(dedisperse_table_create(spec, &table));
    struct dedisperse_shape_problem problem = dedisperse_problem_of(spec, &table);
    return dedisperse_kernel_create(device, &problem, shape, NULL);
}

OPENCL_TIMES(opencl_dedisperse_times)

static status_t opencl_dedisperse_words(const dedisperse_t *dedisperse, struct text *out)
{
    return dedisperse_shape_words(&((const struct stage *)dedisperse)->kernel->shape, out);
}

static int opencl_dedisperse_fits(backend_t *backend, const struct dedisperse_spec *spec,
                                  const struct dedisperse_shape *shape, double *cost,
                                  const char **why)
{
    const struct device_info *device = &((struct opencl *)backend)->device->info;
    struct dedisperse_table table = {0};
    struct dedisperse_shape_spans spans = {0};
    *why = "out of memory";
    if (report_failed(dedisperse_table_create(spec, &table))) {
        return 0;
    }
    struct dedisperse_shape_problem problem = dedisperse_problem_of(spec, &table);
    int fits = dedisperse_space_fits(&problem, device, shape, &spans, cost, why);
    dedisperse_table_free(&table);
    return fits;
}

static status_t opencl_dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                                             struct dedisperse_candidate **out, uint32_t *count)
{
    const struct device_info *device = &((struct opencl *)backend)->device->info;
    SCOPED(dedisperse_table_free) struct dedisperse_table table = {0};
    TRY(dedisperse_table_create(spec, &table));
    struct dedisperse_shape_problem problem = dedisperse_problem_of(spec, &table);
    return dedisperse_space_candidates(&problem, device, out, count);
}

const struct dedisperse_ops opencl_dedisperse = {.stage = {sizeof(struct stage),
                                                           opencl_dedisperse_create, stage_empty,
                                                           opencl_dedisperse_times, NULL},
                                                 .bytes = opencl_dedisperse_bytes,
                                                 .run = opencl_dedisperse_run,
                                                 .again = opencl_dedisperse_again,
                                                 .words = opencl_dedisperse_words,
                                                 .identity = opencl_dedisperse_identity,
                                                 .build = opencl_dedisperse_build,
                                                 .fits = opencl_dedisperse_fits,
                                                 .candidates = opencl_dedisperse_candidates};
