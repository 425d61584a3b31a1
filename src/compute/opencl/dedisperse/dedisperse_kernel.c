/* The kernel is built for its shape; delays become tables of tiles. */
#include "compute/opencl/dedisperse/dedisperse_kernel.h"

#include "base/memory.h"
#include "compute/opencl/dedisperse/dedisperse_space.h"

#include <stdlib.h>

void dedisperse_kernel_destroy(dedisperse_kernel_t *kernel)
{
    if (!kernel) {
        return;
    }
    LAUNCH_RELEASE(kernel->id, kernel->fold);
    DEVICE_RELEASE(kernel->device, kernel->rel, kernel->bases, kernel->firsts, kernel->steps,
                   kernel->tables, kernel->words, kernel->reaches);
    tree_tables_free(&kernel->tree);
    free(kernel->tiles);
    free(kernel);
}

/* The rows of one tile in both tables, padded ones at 0. */
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
    status_t st = STATUS_OK;
    uint32_t padded = dedisperse_shape_padded(p, &kernel->shape);
    uint32_t dms = kernel->spans.dms;
    uint32_t tile = 0;
    uint32_t *rel = NULL;
    uint32_t *bases = NULL;
    uint32_t *firsts = NULL;
    TRY_OUT(memory_zeroed((size_t)p->ndms * padded, sizeof *rel, "delays", &rel));
    TRY_OUT(memory_zeroed((size_t)kernel->spans.ntiles * padded, sizeof *bases, "delays", &bases));
    TRY_OUT(memory_zeroed((size_t)kernel->spans.ntiles + 1, sizeof *firsts, "tiles", &firsts));
    TRY_OUT(memory_zeroed((size_t)p->nranges + 1, sizeof *kernel->tiles, "tiles", &kernel->tiles));
    for (uint32_t range = 0; range < p->nranges; range++) {
        for (uint32_t dm = p->firsts[range]; dm < p->firsts[range + 1]; dm += dms, tile++) {
            firsts[tile] = dm;
            kernel_fill_tile(kernel, p, dm, (uint32_t)min_u64(dm + dms, p->firsts[range + 1]), rel,
                             bases + (size_t)tile * padded);
        }
        kernel->tiles[range + 1] = tile;
    }
    firsts[tile] = p->ndms;
    TRY_OUT(device_put(kernel->device, rel, (size_t)p->ndms * padded * sizeof *rel, "delays",
                       &kernel->rel));
    TRY_OUT(device_put(kernel->device, bases, (size_t)tile * padded * sizeof *bases, "delays",
                       &kernel->bases));
    TRY_OUT(device_put(kernel->device, firsts, ((size_t)tile + 1) * sizeof *firsts, "tiles",
                       &kernel->firsts));
out:
    free(rel);
    free(bases);
    free(firsts);
    return st;
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

/* Words of each row behind its tiles, in fours; the row of zeros has the most. */
static status_t kernel_put_reaches(dedisperse_kernel_t *kernel,
                                   const struct dedisperse_shape_problem *p)
{
    enum { FOUR = 4 };
    status_t st = STATUS_OK;
    uint32_t *reaches = NULL;
    uint32_t most = 0;
    TRY_OUT(memory_zeroed((size_t)p->nrows + 1, sizeof *reaches, "delays", &reaches));
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
    TRY_OUT(device_put(kernel->device, reaches, ((size_t)p->nrows + 1) * sizeof *reaches, "delays",
                       &kernel->reaches));
out:
    free(reaches);
    return st;
}

/* Room for words of as many samples as ever come. */
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
    status_t st = STATUS_OK;
    const struct tree_tables *t = &kernel->tree;
    TRY_OUT(memory_zeroed(2, sizeof *kernel->tiles, "tiles", &kernel->tiles));
    kernel->tiles[1] = t->ntiles;
    TRY_OUT(kernel_put_list(kernel, &t->steps, &kernel->steps));
    TRY_OUT(kernel_put_list(kernel, &t->tables, &kernel->tables));
    TRY_OUT(kernel_put_list(kernel, &t->tiles, &kernel->firsts));
    TRY_OUT(kernel_folds(kernel) ? kernel_allocate_words(kernel, p) : STATUS_OK);
out:
    tree_tables_free(&kernel->tree);
    return st;
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
    status_t st = STATUS_OK;
    const struct device_info *device = &kernel->device->info;
    struct text words = {0};
    const char *why = NULL;
    double cost = 0;
    kernel->shape = *shape;
    TRY_OUT(dedisperse_shape_words(shape, &words));
    REQUIRE_OUT(dedisperse_space_fits(&kernel->problem, device, shape, &kernel->spans, &cost, &why),
                STATUS_USAGE, "dedispersion cannot be run as %s: %s", words.data, why);
    if (shape->group > 0) {
        TRY_OUT(tree_tables_create(&kernel->problem, shape, &kernel->spans, device->local_bytes, 1,
                                   &kernel->tree));
    }
out:
    text_free(&words);
    return st;
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

status_t dedisperse_kernel_create(device_t *device, const struct dedisperse_shape_problem *problem,
                                  const struct dedisperse_shape *shape, dedisperse_kernel_t **out)
{
    status_t st = STATUS_OK;
    dedisperse_kernel_t *kernel = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *kernel, "dedispersion", &kernel));
    kernel->device = device;
    kernel->problem = *problem;
    TRY_OUT(shape->pack > 0 ? kernel_take(kernel, shape) : kernel_take_best(kernel));
    REQUIRE_OUT(kernel->shape.group == 0 || kernel->tree.fits, STATUS_USAGE,
                "dedispersion cannot be run so: %llu bytes of local memory do not hold the sums of "
                "the patterns of delays",
                (unsigned long long)device->info.local_bytes);
    TRY_OUT(kernel_build(kernel));
    if (out) {
        TRY_OUT(kernel->shape.group > 0 ? kernel_put_tree(kernel, problem)
                                        : kernel_make_tables(kernel, problem));
        kernel->problem.delays = NULL;
        kernel->problem.firsts = NULL;
        *out = kernel;
        kernel = NULL;
    }
out:
    dedisperse_kernel_destroy(kernel);
    return st;
}

uint64_t dedisperse_kernel_slack(const dedisperse_kernel_t *kernel)
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

status_t dedisperse_kernel_run(dedisperse_kernel_t *kernel, struct stopwatch *watch, cl_mem rows,
                               uint64_t row_stride, uint64_t samples, uint32_t range, cl_mem out,
                               uint64_t out_stride)
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
