/* Which cuts of the loops there are, by brute force and in a tree, and what each may cost. */
#include "base/memory.h"
#include "compute/cpu/dedisperse/cpu_tree.h"
#include "compute/cpu/dedisperse/tiles.h"
#include "dsp/dispersion/patterns.h"

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

/* Additions of joining the rows of a level's patterns, of parts `levels` below. */
static double cuts_joins(const struct patterns *p, uint32_t level, uint32_t levels, double piece)
{
    const struct pattern_level *made = &p->levels[level];
    double samples = 0;
    for (uint32_t i = 0; i < made->first[made->ngroups]; i++) {
        samples += piece + (made->patterns[i].most - made->patterns[i].least);
    }
    return samples / piece * ((1 << levels) - 1);
}

/* The additions of a tree, of brute force's as 1, in a tile of the middle; infinite when nobody
 * knows. */
static double cuts_adds(const struct dedisperse_spec *spec, const struct dedisperse_shape *shape)
{
    uint32_t ndms = (uint32_t)min_u64(shape->dm_out, spec->delays->ndms);
    uint32_t top = shape->group == 4 ? 1 : shape->group == 8 ? 2 : 3;
    size_t wide = spec->format == SERIES_U8 ? sizeof(uint16_t) : sizeof(uint32_t);
    double piece = (double)shape->time_out * STRIP_BYTES / (double)wide;
    struct patterns p = {0};
    uint32_t *delays = NULL;
    uint32_t nused = 0;
    double adds = INFINITY;
    if (cuts_sample(spec, ndms, &nused, &delays) == STATUS_OK && nused > 0 &&
        patterns_create(delays, ndms, nused, top + 1, (uint32_t)piece, &p) == STATUS_OK) {
        const struct pattern_level *fours = &p.levels[1];
        const struct pattern_level *whole = &p.levels[top];
        uint64_t joins =
            fours->first[fours->ngroups] + (top > 1 ? (uint64_t)whole->first[whole->ngroups] : 0);
        adds = cuts_joins(&p, 1, 2, piece) + (top > 1 ? cuts_joins(&p, top, top - 1, piece) : 0) +
               (double)ndms * p.levels[top].ngroups;
        adds /= (double)ndms * nused;
        /* Then it would be brute force after all. */
        adds = joins > (uint64_t)ndms * nused / TREE_DELAYS_A_JOIN ? INFINITY : adds;
    } else {
        report_clear();
    }
    patterns_free(&p);
    free(delays);
    return adds;
}

/* Of brute force: twice the rows that the cache holds, or half of them, and other tiles than the
 * usual one cost some percent: more is not known, measuring is quick. Of a tree: what an addition
 * of it takes beside one of brute force, measured over its shapes on two processors of AMD's. */
static double cuts_expected(const struct dedisperse_spec *spec,
                            const struct dedisperse_shape *shape)
{
    static const double tree_costs[] = {[SERIES_U8] = 2.2, [SERIES_U16] = 2.0, [SERIES_F32] = 1.6};
    const double rate = 2e10; /* of a thread, adds a second */
    double rows = spec->steps ? spec->steps->ngroups : spec->delays->nchannels;
    double adds = (double)spec->max_samples * spec->delays->ndms * rows;
    double all = adds / (rate * (spec->threads > 0 ? spec->threads : 1));
    if (shape->group > 0) {
        return all * (0.05 + tree_costs[spec->format] * cuts_adds(spec, shape));
    }
    double cache = fabs(log2(rows * shape->time_out * STRIP_BYTES / CACHE_BYTES));
    double tile = fabs(log2((double)shape->dm_out / TILE_DMS));
    return all * (1 + 0.05 * cache + 0.05 * tile);
}

struct dedisperse_shape cpu_dedisperse_best(const struct dedisperse_spec *spec, uint32_t nused)
{
    enum { TREE_STRIPS = 2, TREE_DMS = 64 };
    struct dedisperse_shape best = cpu_dedisperse_brute(nused);
    double least = spec->mode == DEDISPERSE_TREE ? INFINITY : cuts_expected(spec, &best);
    for (uint32_t group = 4; group <= 8 && spec->mode != DEDISPERSE_BRUTE; group *= 2) {
        struct dedisperse_shape tree = cuts_shape(group, TREE_STRIPS, TREE_DMS);
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
               ? "tiles of a tree have 1 to 128 DMs"
           : shape->dm_out * shape->time_out > TREE_MOST_AREA
               ? "tiles of a tree have at most 128 strips of DMs"
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
    static const uint32_t dms[] = {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
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
