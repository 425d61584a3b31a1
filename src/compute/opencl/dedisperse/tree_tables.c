/* Patterns of one tile after the other, in the kernel's form. */
#include "compute/opencl/dedisperse/tree_tables.h"

#include "base/memory.h"
#include "dsp/dispersion/patterns.h"

#include <stdlib.h>

/* Samples between delays of a pattern, beyond which it is made twice rather than all between. */
enum { REACH = 1024, HEAD = 4 };

/* A tile under way. */
struct tile_tables {
    const struct dedisperse_shape_problem *problem;
    const struct dedisperse_shape *shape;
    const struct pattern_level *level;
    const struct patterns *patterns;
    const uint32_t *rel; /* [ndms][nrows] */
    uint32_t tile, dm, ndms, groups;
};

void tree_tables_free(struct tree_tables *tables)
{
    free(tables->steps);
    free(tables->patterns);
    free(tables->starts);
    free(tables->firsts);
    *tables = (struct tree_tables){0};
}

static uint32_t tables_levels(uint32_t group)
{
    return group == 4 ? 2 : group == 8 ? 3 : 4;
}

/* Samples from a pattern's least delay on to where each of its rows begins. */
static void tables_expand(const struct patterns *p, uint32_t level, uint32_t number, uint32_t begin,
                          uint32_t *out)
{
    const struct pattern *one = &p->levels[level].patterns[number];
    uint32_t next = begin + (uint32_t)one->shift;
    if (level == 0) {
        out[0] = begin;
        out[1] = one->right == PATTERN_NONE ? 0 : next;
        return;
    }
    tables_expand(p, level - 1, one->left, begin, out);
    if (one->right != PATTERN_NONE) {
        tables_expand(p, level - 1, one->right, next, out + ((size_t)1 << level));
    }
}

/* Units of a made row whose DMs lie `span` samples apart. */
static uint32_t tables_units(const struct dedisperse_shape *shape, uint32_t span)
{
    uint32_t samples = dedisperse_shape_tile_samples(shape) + span;
    /* Words begin up to a sample before, and one more is read. */
    return shape->pack == 2 ? (samples + 3) / 4 + 1 : samples + 1;
}

static status_t tables_add_patterns(struct tree_tables *t, const struct tile_tables *tile,
                                    uint32_t step, uint64_t *room)
{
    status_t st = STATUS_OK;
    uint32_t group = tile->shape->group;
    uint32_t top = tables_levels(group) - 1;
    uint32_t *head = t->steps + ((size_t)tile->tile * t->nsteps + step) * HEAD;
    uint32_t span = 0;
    head[0] = (uint32_t)t->npatterns;
    for (uint32_t g = step * tile->groups; g < (step + 1) * tile->groups; g++) {
        /* A group behind the last row is one of zeros. */
        int is_there = g < tile->level->ngroups;
        uint32_t first = is_there ? tile->level->first[g] : 0;
        uint32_t end = is_there ? tile->level->first[g + 1] : 1;
        for (uint32_t i = first; i < end; i++) {
            const struct pattern *p = &tile->level->patterns[i];
            if (t->npatterns == *room) {
                uint64_t more = *room > 0 ? 2 * *room : 1024;
                uint32_t *list = realloc(t->patterns, more * (group + 1) * sizeof *list);
                REQUIRE(list, STATUS_DEVICE, "out of memory: patterns of delays");
                t->patterns = list;
                *room = more;
            }
            uint32_t *to = t->patterns + t->npatterns++ * (group + 1);
            for (uint32_t k = 0; k <= group; k++) {
                to[k] = 0;
            }
            to[0] = is_there ? g * group : tile->problem->nrows;
            if (is_there) {
                tables_expand(tile->patterns, top, i, p->least, to + 1);
                span = p->most - p->least > span ? p->most - p->least : span;
            }
        }
    }
    head[1] = (uint32_t)t->npatterns - head[0];
    head[2] = tables_units(tile->shape, span);
    head[3] = (uint32_t)(((UINT64_C(1) << 32) + head[2] - 1) / head[2]);
    uint64_t units = (uint64_t)head[1] * head[2];
    t->units += units;
    t->made = max_u64(t->made, units * (tile->shape->pack == 2 ? 2 : 1));
out:
    return st;
}

/* Where the DMs of a tile find their sums of one step. */
static void tables_set_starts(struct tree_tables *t, const struct tile_tables *tile, uint32_t step)
{
    const uint32_t *head = t->steps + ((size_t)tile->tile * t->nsteps + step) * HEAD;
    const struct pattern_level *level = tile->level;
    uint32_t row = head[2] * (tile->shape->pack == 2 ? 4 : 1);
    uint32_t first = step * tile->groups;
    for (uint32_t dm = 0; dm < tile->ndms; dm++) {
        uint32_t *starts = t->starts + (size_t)(tile->dm + dm) * t->nsteps * tile->groups + first;
        for (uint32_t j = 0; j < tile->groups; j++) {
            uint32_t g = first + j;
            if (g < level->ngroups) {
                uint32_t number = tile->patterns->of[(size_t)g * tile->ndms + dm];
                uint32_t rel =
                    tile->rel[(size_t)dm * tile->problem->nrows + (size_t)g * tile->shape->group];
                starts[j] =
                    (number - level->first[first]) * row + rel - level->patterns[number].least;
            } else {
                uint32_t real = level->first[level->ngroups] -
                                level->first[first < level->ngroups ? first : level->ngroups];
                uint32_t behind = g - (first < level->ngroups ? level->ngroups : first);
                starts[j] = (real + behind) * row;
            }
        }
    }
}

static status_t tables_add_tile(struct tree_tables *t, const struct tile_tables *of,
                                const struct dedisperse_shape_spans *spans, uint64_t *room)
{
    status_t st = STATUS_OK;
    struct tile_tables tile = *of;
    const struct dedisperse_shape_problem *p = tile.problem;
    struct patterns patterns = {0};
    uint32_t *rel = NULL;
    uint32_t nlevels = tables_levels(tile.shape->group);
    TRY(memory_zeroed((size_t)tile.ndms * p->nrows, sizeof *rel, "delays", &rel));
    for (size_t i = 0; i < (size_t)tile.ndms * p->nrows; i++) {
        rel[i] = dedisperse_shape_rel(spans, p->delays[(size_t)tile.dm * p->nrows + i],
                                      (uint32_t)(i / p->nrows));
    }
    TRY(patterns_create(rel, tile.ndms, p->nrows, nlevels, REACH, &patterns));
    tile.rel = rel;
    tile.patterns = &patterns;
    tile.level = &patterns.levels[nlevels - 1];
    for (uint32_t step = 0; step < t->nsteps; step++) {
        TRY(tables_add_patterns(t, &tile, step, room));
        tables_set_starts(t, &tile, step);
    }
out:
    patterns_free(&patterns);
    free(rel);
    return st;
}

status_t tree_tables_create(const struct dedisperse_shape_problem *p,
                            const struct dedisperse_shape *shape,
                            const struct dedisperse_shape_spans *spans, uint32_t every,
                            struct tree_tables *out)
{
    status_t st = STATUS_OK;
    struct tree_tables t = {0};
    uint32_t dms = dedisperse_shape_tile_dms(shape);
    uint32_t groups = shape->chunk / shape->group;
    /* Floats are added sixteen rows at a time. */
    uint32_t unit =
        p->is_float && shape->chunk < DEDISPERSE_SIXTEEN ? DEDISPERSE_SIXTEEN : shape->chunk;
    uint64_t room = 0;
    t.ntiles = (uint32_t)ceil_div_u64(p->ndms, dms);
    t.nsteps = (uint32_t)(ceil_div_u64(p->nrows, unit) * (unit / shape->chunk));
    size_t nstarts = (size_t)p->ndms * t.nsteps * groups;
    TRY(memory_zeroed((size_t)t.ntiles * t.nsteps * HEAD, sizeof *t.steps, "steps", &t.steps));
    TRY(memory_zeroed(nstarts, sizeof *t.starts, "delays", &t.starts));
    TRY(memory_zeroed((size_t)t.ntiles + 1, sizeof *t.firsts, "tiles", &t.firsts));
    for (uint32_t i = 0; i <= t.ntiles; i++) {
        t.firsts[i] = (uint32_t)min_u64((uint64_t)i * dms, p->ndms);
    }
    for (uint32_t i = every / 2 < t.ntiles ? every / 2 : 0; i < t.ntiles; i += every) {
        struct tile_tables tile = {.problem = p,
                                   .shape = shape,
                                   .tile = i,
                                   .dm = t.firsts[i],
                                   .ndms = t.firsts[i + 1] - t.firsts[i],
                                   .groups = groups};
        TRY(tables_add_tile(&t, &tile, spans, &room));
    }
    t.units *= every;
    *out = t;
    t = (struct tree_tables){0};
out:
    tree_tables_free(&t);
    return st;
}

uint64_t tree_tables_local_bytes(const struct dedisperse_shape *shape, uint64_t made)
{
    uint32_t groups = shape->chunk / shape->group;
    return (made + (uint64_t)dedisperse_shape_tile_dms(shape) * groups) * sizeof(uint32_t);
}

status_t tree_tables_options(const struct dedisperse_shape_problem *p,
                             const struct dedisperse_shape *s, const struct tree_tables *tables,
                             struct text *out)
{
    return text_add(out,
                    "-DSAMPLE=%u -DFLOATS=%d -DPACK=%u -DNROWS=%u -DGROUP_ROWS=%u -DGROUPS=%u "
                    "-DNSTEPS=%u -DMADE=%llu -DTIME_ITEMS=%u -DDM_ITEMS=%u -DTIME_OUT=%u "
                    "-DDM_OUT=%u -DSKEW=%u -DPTX=%u",
                    p->sample_bytes, p->is_float, s->pack, p->nrows, s->group, s->chunk / s->group,
                    tables->nsteps, (unsigned long long)((tables->made + 3) / 4 * 4), s->time_items,
                    s->dm_items, s->time_out, s->dm_out, s->skew, s->is_ptx);
}
