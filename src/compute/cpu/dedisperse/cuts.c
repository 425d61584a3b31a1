/* Which cuts of the loops there are, by brute force and in a tree, and what each may cost. */
#include "base/memory.h"
#include "compute/cpu/dedisperse/cpu_tree.h"
#include "compute/cpu/dedisperse/tiles.h"

#include <math.h>
#include <stdlib.h>

static struct dedisperse_shape cuts_shape(uint32_t group, uint32_t strips, uint32_t dms)
{
    return (struct dedisperse_shape){.staging = STAGING_STRIPS,
                                     .pack = 1,
                                     .time_items = 1,
                                     .dm_items = 1,
                                     .time_out = strips,
                                     .dm_out = dms,
                                     .chunk = STRIP_CHUNK,
                                     .group = group};
}

struct dedisperse_shape cpu_dedisperse_brute(uint32_t nrows)
{
    /* The rows of a piece fit the cache. */
    uint64_t fit = CACHE_BYTES / ((uint64_t)nrows * STRIP_BYTES);
    return cuts_shape(0, (uint32_t)(fit < 1 ? 1 : min_u64(fit, MOST_STRIPS)), TILE_DMS);
}

/* Delays of a tile of DMs in the middle, without channels that are masked. */
static status_t cuts_sample(const struct dedisperse_spec *spec, uint32_t ndms, uint32_t *nused,
                            uint32_t **out)
{
    status_t st = STATUS_OK;
    const struct dispersion *from = spec->delays;
    uint32_t first = (from->ndms - ndms) / 2;
    uint32_t *delays = NULL;
    size_t n = 0;
    TRY(memory_zeroed((size_t)ndms * from->nchannels, sizeof *delays, "delays", &delays));
    for (size_t dm = first; dm < (size_t)first + ndms; dm++) {
        for (uint32_t c = 0; c < from->nchannels; c++) {
            if (!spec->mask || !spec->mask[c]) {
                delays[n++] = from->table[dm * from->nchannels + c];
            }
        }
    }
    *nused = (uint32_t)(n / ndms);
    *out = delays;
out:
    return st;
}

/* The additions of a tree, of brute force's as 1, in a tile of the middle; infinite when nobody
 * knows, or when it would be brute force after all. */
static double cuts_adds(const struct dedisperse_spec *spec, const struct dedisperse_shape *shape)
{
    struct dedisperse_table table = {.nrows = (uint32_t)min_u64(shape->dm_out, spec->delays->ndms)};
    cpu_tree_t *tree = NULL;
    double adds = INFINITY;
    if (cuts_sample(spec, table.nrows, &table.nused, &table.delays) == STATUS_OK &&
        table.nused > 0 &&
        cpu_tree_create(&table, spec->format, shape, strip_kernels(simd_best()), &tree) ==
            STATUS_OK) {
        adds = tree ? 1 / cpu_tree_gain(tree) : INFINITY;
    } else {
        report_clear();
    }
    cpu_tree_destroy(tree);
    free(table.delays);
    return adds;
}

/* How much longer the last thread works than if all ended together. */
static double cuts_imbalance(const struct dedisperse_spec *spec,
                             const struct dedisperse_shape *shape)
{
    uint64_t strip = STRIP_BYTES / (spec->format == SERIES_U8 ? sizeof(uint16_t) : 4);
    uint64_t threads = spec->threads > 0 ? spec->threads : 1;
    uint64_t tasks = ceil_div_u64(max_u64(spec->max_samples, 1), shape->time_out * strip) *
                     ceil_div_u64(spec->delays->ndms, shape->dm_out);
    return (double)(ceil_div_u64(tasks, threads) * threads) / (double)tasks;
}

/* Of brute force: twice the rows that the cache holds, or half of them, and other tiles than the
 * usual one cost some percent: more is not known, measuring is quick. Of a tree: what an addition
 * of it takes beside one of brute force, measured over its shapes on processors of AMD's and
 * Intel's. */
static double cuts_expected(const struct dedisperse_spec *spec,
                            const struct dedisperse_shape *shape)
{
    static const double tree_costs[] = {[SERIES_U8] = 1.9, [SERIES_U16] = 2.5, [SERIES_F32] = 1.6};
    const double rate = 2e10; /* of a thread, adds a second */
    double rows = spec->steps ? spec->steps->ngroups : spec->delays->nchannels;
    double adds = (double)spec->max_samples * spec->delays->ndms * rows;
    double all = adds / (rate * (spec->threads > 0 ? spec->threads : 1));
    if (shape->group > 0) {
        return all * cuts_imbalance(spec, shape) *
               (0.05 + tree_costs[spec->format] * cuts_adds(spec, shape));
    }
    double cache = fabs(log2(rows * shape->time_out * STRIP_BYTES / CACHE_BYTES));
    double tile = fabs(log2((double)shape->dm_out / TILE_DMS));
    return all * (1 + 0.05 * cache + 0.05 * tile);
}

struct dedisperse_shape cpu_dedisperse_best(const struct dedisperse_spec *spec, uint32_t nused)
{
    enum { TREE_STRIPS = 2, TREES = 12 };
    static const uint32_t dms[] = {256, 128, 64, 32};
    struct dedisperse_shape best = cpu_dedisperse_brute(nused);
    double least = spec->mode == DEDISPERSE_TREE ? INFINITY : cuts_expected(spec, &best);
    for (uint32_t i = 0; i < TREES && spec->mode != DEDISPERSE_BRUTE; i++) {
        struct dedisperse_shape tree =
            cuts_shape((uint32_t)TREE_LEAST_GROUP << i % 3, TREE_STRIPS, dms[i / 3]);
        double cost = cuts_expected(spec, &tree);
        if (cost < least || best.group < (spec->mode == DEDISPERSE_TREE)) {
            least = cost;
            best = tree;
        }
    }
    return best;
}

static const char *cuts_object_to_tree(const struct dedisperse_shape *shape)
{
    return shape->group != 4 && shape->group != 8 && shape->group != 16
               ? "groups have 4, 8 or 16 channels"
           : shape->time_out < 1 || shape->time_out > TREE_MOST_STRIPS
               ? "pieces of a tree have 1 to 8 strips"
           : shape->dm_out < 1 || shape->dm_out > TREE_MOST_DMS
               ? "tiles of a tree have 1 to 256 DMs"
           : shape->dm_out * shape->time_out > TREE_MOST_AREA
               ? "tiles of a tree have at most 512 strips of DMs"
               : NULL;
}

static const char *cuts_object_to_brute(const struct dedisperse_shape *shape)
{
    return shape->time_out < 1 || shape->time_out > MOST_STRIPS ? "pieces have 1 to 64 strips"
           : shape->dm_out < 1 || shape->dm_out > MOST_TILE_DMS ? "tiles have 1 to 64 DMs"
                                                                : NULL;
}

int cpu_dedisperse_fits(backend_t *backend, const struct dedisperse_spec *spec,
                        const struct dedisperse_shape *shape, double *cost, const char **why)
{
    (void)backend;
    *why = shape->staging != STAGING_STRIPS ? "CPUs take strips"
           : shape->pack != 1 || shape->time_items != 1 || shape->dm_items != 1 ||
                   shape->chunk != STRIP_CHUNK || shape->skew != 0 || shape->is_ptx != 0
               ? "expected strips:1:1x1:STRIPSxDMS:32:0:0, or with :GROUP"
           : shape->group > 0 ? cuts_object_to_tree(shape)
                              : cuts_object_to_brute(shape);
    *cost = *why ? INFINITY : cuts_expected(spec, shape);
    return *why == NULL;
}

/* One behind the others, but for a tree that would be brute force after all where that is in the
 * list, too. */
static void cuts_put(const struct dedisperse_spec *spec, struct dedisperse_shape shape,
                     struct dedisperse_candidate *list, uint32_t *count)
{
    double cost = cuts_expected(spec, &shape);
    if (isfinite(cost) || spec->mode == DEDISPERSE_TREE) {
        list[(*count)++] = (struct dedisperse_candidate){.shape = shape, .cost = cost};
    }
}

status_t cpu_dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                                   struct dedisperse_candidate **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    static const uint32_t strips[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
    static const uint32_t dms[] = {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
    enum { STRIPS = sizeof strips / sizeof *strips, DMS = sizeof dms / sizeof *dms, GROUPS = 4 };
    struct dedisperse_candidate *list = NULL;
    uint32_t n = 0;
    (void)backend;
    TRY(memory_zeroed((size_t)STRIPS * DMS * GROUPS, sizeof *list, "shapes", &list));
    for (uint32_t i = 0; i < STRIPS * DMS; i++) {
        struct dedisperse_shape shape = cuts_shape(0, strips[i % STRIPS], dms[i / STRIPS]);
        if (spec->mode != DEDISPERSE_TREE && !cuts_object_to_brute(&shape)) {
            cuts_put(spec, shape, list, &n);
        }
        for (shape.group = 4; shape.group <= TREE_MOST_GROUP; shape.group *= 2) {
            if (spec->mode != DEDISPERSE_BRUTE && !spec->steps && shape.dm_out >= 16 &&
                !cuts_object_to_tree(&shape)) {
                cuts_put(spec, shape, list, &n);
            }
        }
    }
    *out = list;
    *count = n;
out:
    return st;
}
