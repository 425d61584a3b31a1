/* Laying out a tree, tile by tile and group by group. A row pays when enough DMs add it: else they
 * add the two that it would be made of. Floats are added in one order, so all their rows are made.
 */
#include "compute/cpu/dedisperse/tree_layout.h"

#include "base/memory.h"
#include "dsp/dispersion/patterns.h"

#include <stdlib.h>

enum {
    LEVELS = 4,     /* of patterns: pairs, fours, eights, sixteens */
    LEAST_USES = 4, /* DMs: three cost as much either way */
    MOST_LISTED = TREE_PART_CHANNELS / TREE_LEAST_GROUP
};

/* A tile under way.
 *
 *   uses    [level][pattern]   DMs that add this row itself
 *   at      [level][pattern]   its place; PATTERN_NONE: it is not made
 *   parts   [level][pattern]   whether a row of the level above needs it
 *   listed  [dm]               of the chunk: its rows
 */
struct tree_tile {
    struct patterns patterns;
    const uint32_t *delays;
    uint32_t number, group;
    size_t passing, rows; /* places that are taken */
    uint32_t *uses[LEVELS], *at[LEVELS];
    uint8_t *parts[LEVELS];
    uint32_t nlisted[TREE_MOST_DMS], listed[TREE_MOST_DMS][MOST_LISTED];
};

/* Room for one more element. */
static status_t tree_grow(void *list, size_t bytes, uint64_t count, uint64_t *room)
{
    status_t st = STATUS_OK;
    void **at = list;
    if (count == *room) {
        uint64_t more = *room > 0 ? 2 * *room : 1024;
        void *grown = realloc(*at, more * bytes);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: patterns of delays");
        *at = grown;
        *room = more;
    }
out:
    return st;
}

/* The patterns of a level in the group under way: *begin .. *end - 1. */
static void tree_range(const cpu_tree_t *tree, const struct tree_tile *tile, uint32_t level,
                       uint32_t *begin, uint32_t *end)
{
    const struct pattern_level *l = &tile->patterns.levels[level];
    uint32_t each = 1U << (tree->top - level);
    uint32_t last = (uint32_t)min_u64((uint64_t)(tile->group + 1) * each, l->ngroups);
    *begin = l->first[tile->group * each];
    *end = l->first[last];
}

/* Which rows of the group are made: from the widest down, what is not made is added in halves. */
static void tree_choose_rows(const cpu_tree_t *tree, struct tree_tile *tile)
{
    const uint32_t *of = tile->patterns.of + (size_t)tile->group * tile->patterns.ndms;
    for (uint32_t dm = 0; dm < tile->patterns.ndms; dm++) {
        tile->uses[tree->top][of[dm]]++;
    }
    for (uint32_t level = tree->top; level > 1; level--) {
        uint32_t begin, end;
        tree_range(tree, tile, level, &begin, &end);
        for (uint32_t i = begin; i < end; i++) {
            const struct pattern *p = &tile->patterns.levels[level].patterns[i];
            uint32_t halves = p->right != PATTERN_NONE ? 2 : 1;
            int is_made = tree->is_float || tile->parts[level][i] ||
                          (halves == 2 && tile->uses[level][i] >= LEAST_USES);
            for (uint32_t k = 0; k < halves; k++) {
                uint32_t half = k == 0 ? p->left : p->right;
                tile->parts[level - 1][half] |= (uint8_t)is_made;
                tile->uses[level - 1][half] += is_made ? 0 : tile->uses[level][i];
            }
            tile->at[level][i] = is_made ? 0 : PATTERN_NONE;
        }
    }
}

/* The delays of a four's channels where its first has `delay`; PATTERN_NONE behind the last one. */
static void tree_four(const struct patterns *patterns, const struct pattern *four, uint32_t delay,
                      uint32_t delays[4])
{
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t number = k == 0 ? four->left : four->right;
        delays[2 * k] = delays[2 * k + 1] = PATTERN_NONE;
        if (number != PATTERN_NONE) {
            const struct pattern *pair = &patterns->levels[0].patterns[number];
            delays[2 * k] = delay + (k == 0 ? 0 : (uint32_t)four->shift);
            if (pair->right != PATTERN_NONE) {
                delays[2 * k + 1] = delays[2 * k] + (uint32_t)pair->shift;
            }
        }
    }
}

/* Where in memory the row of a pattern begins at this delay of its first channel. */
static uint32_t tree_place(const struct tree_tile *tile, uint32_t level, uint32_t number,
                           uint32_t delay)
{
    return tile->at[level][number] + delay - tile->patterns.levels[level].patterns[number].least;
}

static status_t tree_put_join(cpu_tree_t *tree, struct tree_tile *tile, uint32_t level,
                              uint32_t number, uint32_t row)
{
    status_t st = STATUS_OK;
    const struct pattern *p = &tile->patterns.levels[level].patterns[number];
    int passes = tile->uses[level][number] == 0;
    size_t *taken = passes ? &tile->passing : &tile->rows;
    size_t line = 64 / tree->sums->sample_bytes;
    size_t samples = tree->piece + (p->most - p->least);
    struct tree_join join = {.level = level,
                             .row = row,
                             .from = {PATTERN_NONE, PATTERN_NONE, PATTERN_NONE, PATTERN_NONE},
                             .to = (uint32_t)*taken | (passes ? TREE_PASSING : 0),
                             .span = p->most - p->least};
    if (level == 1) {
        tree_four(&tile->patterns, p, p->least, join.from);
    } else {
        join.from[0] = tree_place(tile, level - 1, p->left, p->least);
        if (p->right != PATTERN_NONE) {
            join.from[1] = tree_place(tile, level - 1, p->right, p->least + (uint32_t)p->shift);
        }
    }
    for (uint32_t i = 1; i < 4; i++) {
        tree->joined += join.from[i] != PATTERN_NONE ? samples : 0;
    }
    tile->at[level][number] = join.to;
    *taken += ceil_div_u64(samples, line) * line;
    tree->longest = samples > tree->longest ? samples : tree->longest;
    TRY(tree_grow(&tree->joins, sizeof *tree->joins, tree->njoins, &tree->room.joins));
    tree->joins[tree->njoins++] = join;
out:
    return st;
}

/* Adds to a DM's list the rows that make a pattern up. */
static void tree_list_rows(struct tree_tile *tile, uint32_t dm, uint32_t level, uint32_t number,
                           uint32_t delay)
{
    const struct pattern *p = &tile->patterns.levels[level].patterns[number];
    if (tile->at[level][number] != PATTERN_NONE) {
        tile->listed[dm][tile->nlisted[dm]++] = tree_place(tile, level, number, delay);
        return;
    }
    tree_list_rows(tile, dm, level - 1, p->left, delay);
    if (p->right != PATTERN_NONE) {
        tree_list_rows(tile, dm, level - 1, p->right, delay + (uint32_t)p->shift);
    }
}

/* The chunk is whole: the lists of its DMs one behind the other. */
static status_t tree_end_chunk(cpu_tree_t *tree, struct tree_tile *tile)
{
    status_t st = STATUS_OK;
    for (uint32_t dm = 0; dm < tile->patterns.ndms; dm++) {
        TRY(tree_grow(&tree->lists, sizeof *tree->lists, tree->nlists, &tree->room.lists));
        tree->lists[tree->nlists++] = tree->nstarts;
        for (uint32_t i = 0; i < tile->nlisted[dm]; i++) {
            TRY(tree_grow(&tree->starts, sizeof *tree->starts, tree->nstarts, &tree->room.starts));
            tree->starts[tree->nstarts++] = tile->listed[dm][i];
        }
        tile->nlisted[dm] = 0;
    }
    tree->rows = tile->rows > tree->rows ? tile->rows : tree->rows;
    tile->rows = 0;
out:
    return st;
}

/* Whether DMs must add what there is before the next group is made. */
static int tree_is_chunk_full(const cpu_tree_t *tree, const struct tree_tile *tile)
{
    uint32_t channels = (tile->group + 1) * tree->group;
    int is_full = tile->rows * tree->sums->sample_bytes >= TREE_ROWS_BYTES;
    return tile->group + 1 == tree->ntop || channels % TREE_PART_CHANNELS == 0 ||
           (is_full && channels % TREE_MOST_GROUP == 0);
}

static status_t tree_lay_group(cpu_tree_t *tree, struct tree_tile *tile)
{
    status_t st = STATUS_OK;
    size_t number = (size_t)tile->number * tree->ntop + tile->group;
    const uint32_t *of = tile->patterns.of + (size_t)tile->group * tile->patterns.ndms;
    tile->passing = 0;
    tree_choose_rows(tree, tile);
    for (uint32_t level = 1; level <= tree->top; level++) {
        uint32_t begin, end;
        uint32_t four = tile->group * tree->group / 4;
        tree_range(tree, tile, level, &begin, &end);
        for (uint32_t i = begin; i < end; i++) {
            while (level == 1 && i == tile->patterns.levels[1].first[four + 1]) {
                four++;
            }
            if (tile->at[level][i] != PATTERN_NONE) {
                TRY(tree_put_join(tree, tile, level, i, 4 * four));
            }
        }
    }
    for (uint32_t dm = 0; dm < tile->patterns.ndms; dm++) {
        uint32_t delay = tile->delays[(size_t)dm * tree->nrows + (size_t)tile->group * tree->group];
        tree_list_rows(tile, dm, tree->top, of[dm], delay);
    }
    tree->ends[number] = tree->njoins;
    tree->passing = tile->passing > tree->passing ? tile->passing : tree->passing;
    tree->flushes[number] = (uint8_t)tree_is_chunk_full(tree, tile);
    TRY(tree->flushes[number] ? tree_end_chunk(tree, tile) : STATUS_OK);
out:
    return st;
}

static status_t tree_lay_tile(cpu_tree_t *tree, uint32_t number)
{
    status_t st = STATUS_OK;
    struct tree_tile *tile = NULL;
    uint32_t dm = number * tree->tile;
    TRY(memory_zeroed(1, sizeof *tile, "patterns", &tile));
    tile->number = number;
    tile->delays = tree->delays + (size_t)dm * tree->nrows;
    TRY(patterns_create(tile->delays, (uint32_t)min_u64(tree->tile, tree->ndms - dm), tree->nrows,
                        tree->top + 1, (uint32_t)tree->piece, &tile->patterns));
    for (uint32_t level = 1; level <= tree->top; level++) {
        const struct pattern_level *l = &tile->patterns.levels[level];
        size_t count = l->first[l->ngroups];
        TRY(memory_zeroed(count, sizeof(uint32_t), "patterns", &tile->uses[level]));
        TRY(memory_zeroed(count, sizeof(uint32_t), "patterns", &tile->at[level]));
        TRY(memory_zeroed(count, 1, "patterns", &tile->parts[level]));
    }
    tree->first[number] = tree->nlists;
    for (tile->group = 0; tile->group < tree->ntop; tile->group++) {
        TRY(tree_lay_group(tree, tile));
    }
out:
    for (uint32_t level = 0; tile && level < LEVELS; level++) {
        free(tile->uses[level]);
        free(tile->at[level]);
        free(tile->parts[level]);
    }
    if (tile) {
        patterns_free(&tile->patterns);
    }
    free(tile);
    return st;
}

status_t tree_lay_out(cpu_tree_t *tree)
{
    status_t st = STATUS_OK;
    size_t groups = (size_t)tree->ntiles * tree->ntop;
    TRY(memory_zeroed(groups, sizeof *tree->ends, "patterns", &tree->ends));
    TRY(memory_zeroed(groups, 1, "patterns", &tree->flushes));
    TRY(memory_zeroed(tree->ntiles, sizeof *tree->first, "patterns", &tree->first));
    for (uint32_t tile = 0; tile < tree->ntiles && tree->njoins <= tree->most_joins; tile++) {
        TRY(tree_lay_tile(tree, tile));
    }
    TRY(tree_grow(&tree->lists, sizeof *tree->lists, tree->nlists, &tree->room.lists));
    tree->lists[tree->nlists] = tree->nstarts;
out:
    return st;
}
