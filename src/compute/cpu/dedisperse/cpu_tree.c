/* Everything that depends on delays is settled when the tree is made: a tile is a list of rows to
 * be joined, in the order in which they are, and for each DM where its rows begin.
 *
 * Rows of four channels are made first, of these those of eight and of sixteen: fewer of pairs
 * would be made, but each costs a load more than it saves. Only rows that DMs add themselves stay,
 * until there are enough of them for the cache, or for 16-bit sums. Then each DM adds them (a
 * chunk), strip by strip, so that neighbouring DMs find in L1 what they share. */
#include "compute/cpu/dedisperse/cpu_tree.h"

#include "base/memory.h"
#include "dsp/dispersion/patterns.h"

#include <stdlib.h>

/* The tables of a tree on CPUs: which rows each tile joins, and which of them its DMs add.
 *
 * Laying out a tree, tile by tile and group by group. A row pays when enough DMs add it: else they
 * add the two that it would be made of. Floats are added in one order, so all their rows are made.
 */

enum {
    TREE_PART_CHANNELS = 256,   /* 8-bit samples of which fit 16 bits */
    TREE_ROWS_BYTES = 512 << 10 /* of a chunk, about: they stay in L2 */
};

/* A place in memory that the next group takes again. */
#define TREE_PASSING 0x80000000U

/* A row of sums, to[t] for t < piece + span.
 *
 *   level   1: of channels `row` .. row + 3 at the delays `from`; 2, 3: of two rows of the level
 *           below at the places `from`
 *   from    PATTERN_NONE: zeros
 *   to      its place: samples from the beginning of rows that stay, or of those that pass */
struct tree_join {
    uint32_t level, row, from[4], to, span;
};

/* Tables of a tree. A chunk is some groups: when their rows are made, each DM adds its own. Chunks
 * of TREE_PART_CHANNELS channels make a part.
 *
 *   ends     uint64 [ntiles][ntop]   after the last join of each group
 *   flushes  uint8 [ntiles][ntop]    whether a chunk ends with this group
 *   lists    uint64 [chunks][DMs of the tile] and one more: index in `starts` of a DM's first row
 *   first    uint64 [ntiles]         the first of `lists` of a tile
 *   starts   uint32                  places of rows, from the piece's first sample on */
struct cpu_tree {
    const struct strip_kernel *channels, *sums, *adds;
    int is_float;
    uint32_t nrows, ndms, group, top, ntop, tile, ntiles;
    uint64_t piece;
    const uint32_t *delays; /* [ndms][nrows] of the stage */
    struct tree_join *joins;
    uint32_t *starts;
    uint64_t *lists, *ends, *first;
    uint8_t *flushes;
    uint64_t njoins, nstarts, nlists, most_joins;
    uint64_t joined;               /* samples of a piece, added up to rows */
    size_t passing, rows, longest; /* samples: of rows that pass, that stay, of a row */
    char *zeros;
};

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

/* Chooses the rows of the group that are made, from the widest down. The sum of a row that is not
 * made is added from its halves. */
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

/* The delays of a four's channels where its first has `delay`; PATTERN_NONE after the last one. */
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

/* Returns the index at which the row of a pattern begins, at this delay of its first channel. */
static uint32_t tree_place(const struct tree_tile *tile, uint32_t level, uint32_t number,
                           uint32_t delay)
{
    return tile->at[level][number] + delay - tile->patterns.levels[level].patterns[number].least;
}

static status_t tree_put_join(cpu_tree_t *tree, struct tree_tile *tile, uint32_t level,
                              uint32_t number, uint32_t row)
{
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
    TRY(memory_grow(tree->njoins, sizeof *tree->joins, "patterns of delays", &tree->joins));
    tree->joins[tree->njoins++] = join;
    return STATUS_OK;
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

/* The chunk is whole: the lists of its DMs one after the other. */
static status_t tree_end_chunk(cpu_tree_t *tree, struct tree_tile *tile)
{
    for (uint32_t dm = 0; dm < tile->patterns.ndms; dm++) {
        TRY(memory_grow(tree->nlists, sizeof *tree->lists, "patterns of delays", &tree->lists));
        tree->lists[tree->nlists++] = tree->nstarts;
        for (uint32_t i = 0; i < tile->nlisted[dm]; i++) {
            TRY(memory_grow(tree->nstarts, sizeof *tree->starts, "patterns of delays",
                            &tree->starts));
            tree->starts[tree->nstarts++] = tile->listed[dm][i];
        }
        tile->nlisted[dm] = 0;
    }
    tree->rows = tile->rows > tree->rows ? tile->rows : tree->rows;
    tile->rows = 0;
    return STATUS_OK;
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
            TRY(tile->at[level][i] != PATTERN_NONE ? tree_put_join(tree, tile, level, i, 4 * four)
                                                   : STATUS_OK);
        }
    }
    for (uint32_t dm = 0; dm < tile->patterns.ndms; dm++) {
        uint32_t delay = tile->delays[(size_t)dm * tree->nrows + (size_t)tile->group * tree->group];
        tree_list_rows(tile, dm, tree->top, of[dm], delay);
    }
    tree->ends[number] = tree->njoins;
    tree->passing = tile->passing > tree->passing ? tile->passing : tree->passing;
    tree->flushes[number] = (uint8_t)tree_is_chunk_full(tree, tile);
    return tree->flushes[number] ? tree_end_chunk(tree, tile) : STATUS_OK;
}

static status_t tree_lay_tile(cpu_tree_t *tree, uint32_t number)
{
    status_t st = STATUS_OK;
    struct tree_tile *tile = NULL;
    uint32_t dm = number * tree->tile;
    TRY_OUT(memory_zeroed(1, sizeof *tile, "patterns", &tile));
    tile->number = number;
    tile->delays = tree->delays + (size_t)dm * tree->nrows;
    TRY_OUT(patterns_create(tile->delays, (uint32_t)min_u64(tree->tile, tree->ndms - dm),
                            tree->nrows, tree->top + 1, (uint32_t)tree->piece, &tile->patterns));
    for (uint32_t level = 1; level <= tree->top; level++) {
        const struct pattern_level *l = &tile->patterns.levels[level];
        size_t count = l->first[l->ngroups];
        TRY_OUT(memory_zeroed(count, sizeof(uint32_t), "patterns", &tile->uses[level]));
        TRY_OUT(memory_zeroed(count, sizeof(uint32_t), "patterns", &tile->at[level]));
        TRY_OUT(memory_zeroed(count, 1, "patterns", &tile->parts[level]));
    }
    tree->first[number] = tree->nlists;
    for (tile->group = 0; tile->group < tree->ntop; tile->group++) {
        TRY_OUT(tree_lay_group(tree, tile));
    }
out:
    for (uint32_t level = 0; tile && level < LEVELS; level++) {
        MEMORY_FREE(tile->uses[level], tile->at[level], tile->parts[level]);
    }
    if (tile) {
        patterns_free(&tile->patterns);
    }
    free(tile);
    return st;
}

/* Fills the tables for delays [ndms][nrows]; stops when joins are more than `most_joins`. Fails
 * with DEVICE (memory). */
static status_t tree_lay_out(cpu_tree_t *tree)
{
    size_t groups = (size_t)tree->ntiles * tree->ntop;
    TRY(memory_zeroed(groups, sizeof *tree->ends, "patterns", &tree->ends));
    TRY(memory_zeroed(groups, 1, "patterns", &tree->flushes));
    TRY(memory_zeroed(tree->ntiles, sizeof *tree->first, "patterns", &tree->first));
    for (uint32_t tile = 0; tile < tree->ntiles && tree->njoins <= tree->most_joins; tile++) {
        TRY(tree_lay_tile(tree, tile));
    }
    TRY(memory_grow(tree->nlists, sizeof *tree->lists, "patterns of delays", &tree->lists));
    tree->lists[tree->nlists] = tree->nstarts;
    return STATUS_OK;
}

enum {
    SLACK_BYTES = 512,   /* that joining may reach beyond a row */
    FEW_JOINS = 1 << 12, /* always allowed */
};

void cpu_tree_destroy(cpu_tree_t *tree)
{
    if (tree) {
        MEMORY_FREE(tree->joins, tree->starts, tree->lists, tree->first, tree->ends, tree->flushes,
                    tree->zeros, tree);
    }
}

uint32_t cpu_tree_tiles(const cpu_tree_t *tree)
{
    return tree->ntiles;
}

uint64_t cpu_tree_piece(const cpu_tree_t *tree)
{
    return tree->piece;
}

double cpu_tree_gain(const cpu_tree_t *tree)
{
    double adds = (double)tree->joined / (double)tree->piece + (double)tree->nstarts;
    return (double)tree->ndms * tree->nrows / adds;
}

static size_t cpu_tree_totals_bytes(const cpu_tree_t *tree)
{
    return tree->tile * tree->piece * sizeof(uint32_t);
}

/* Sums of parts, where totals are wider than those, or of floats. */
static size_t cpu_tree_sums_bytes(const cpu_tree_t *tree)
{
    return tree->sums->sample_bytes < sizeof(uint32_t) || tree->is_float
               ? tree->tile * tree->piece * tree->sums->sample_bytes
               : 0;
}

size_t cpu_tree_scratch(const cpu_tree_t *tree)
{
    size_t samples = tree->passing + tree->rows;
    return ceil_div_u64(cpu_tree_totals_bytes(tree) + cpu_tree_sums_bytes(tree) +
                            samples * tree->sums->sample_bytes + 2 * SLACK_BYTES + STRIP_TOTALS,
                        64) *
           64;
}

static uint64_t cpu_tree_most_joins(uint64_t nrows, uint64_t ndms)
{
    return max_u64(nrows * ndms / TREE_DELAYS_A_JOIN, FEW_JOINS);
}

uint64_t cpu_tree_most_bytes(uint32_t nrows, uint32_t ndms)
{
    uint64_t ngroups = ceil_div_u64(nrows, TREE_LEAST_GROUP);
    uint64_t chunks = ceil_div_u64(nrows, TREE_MOST_GROUP);
    return 2 * (cpu_tree_most_joins(nrows, ndms) * sizeof(struct tree_join) +
                ngroups * ndms * sizeof(uint32_t) + chunks * ndms * sizeof(uint64_t)) +
           ngroups * ndms;
}

uint64_t cpu_tree_most_scratch(void)
{
    /* A tile's rows of sixteen channels take at most what its DMs would, alone: four of fours that
     * stay, or six that pass, and twice that where delays of a row are far apart. */
    uint64_t rows = (uint64_t)TREE_MOST_AREA * STRIP_BYTES + TREE_MOST_DMS * 64;
    return TREE_ROWS_BYTES + 20 * rows + TREE_MOST_AREA * 3 * STRIP_BYTES + (64 << 10);
}

static void cpu_tree_choose_kernels(cpu_tree_t *tree, enum series_format format,
                                    const struct strip_kernels *kernels)
{
    static const enum strip_kind channels[] = {STRIP_U8, STRIP_U16, STRIP_F32};
    static const enum strip_kind sums[] = {STRIP_SUM16, STRIP_SUM32, STRIP_F32};
    enum strip_kind adds = tree->group == 4   ? STRIP_F32_BY_4
                           : tree->group == 8 ? STRIP_F32_BY_2
                                              : STRIP_F32_BY_1;
    tree->channels = &kernels->kinds[channels[format]];
    tree->sums = &kernels->kinds[sums[format]];
    tree->adds = format == SERIES_F32 ? &kernels->kinds[adds] : tree->sums;
    tree->is_float = format == SERIES_F32;
}

status_t cpu_tree_create(const struct dedisperse_table *table, enum series_format format,
                         const struct dedisperse_shape *shape, const struct strip_kernels *kernels,
                         cpu_tree_t **out)
{
    SCOPED(cpu_tree_destroy_at) cpu_tree_t *tree = NULL;
    *out = NULL;
    TRY(memory_zeroed(1, sizeof *tree, "patterns", &tree));
    tree->nrows = table->nused;
    tree->ndms = table->nrows;
    tree->delays = table->delays;
    tree->group = shape->group;
    tree->top = shape->group == 4 ? 1 : shape->group == 8 ? 2 : 3;
    tree->ntop = (uint32_t)ceil_div_u64(tree->nrows, tree->group);
    tree->tile = shape->dm_out;
    tree->ntiles = (uint32_t)ceil_div_u64(tree->ndms, tree->tile);
    cpu_tree_choose_kernels(tree, format, kernels);
    tree->piece = (uint64_t)shape->time_out * STRIP_BYTES / tree->sums->sample_bytes;
    tree->most_joins = cpu_tree_most_joins(tree->nrows, tree->ndms);
    TRY(tree_lay_out(tree));
    if (tree->njoins <= tree->most_joins) {
        TRY(memory_zeroed(tree->longest * tree->sums->sample_bytes + SLACK_BYTES, 1, "zeros",
                          &tree->zeros));
        *out = memory_move(&tree);
    }
    return STATUS_OK;
}

/* A thread's memory. */
struct tree_memory {
    char *given, *totals, *sums, *rows, *passing;
};

static struct tree_memory cpu_tree_cut_memory(const cpu_tree_t *tree, char *scratch)
{
    struct tree_memory m = {.given = scratch, .totals = scratch + STRIP_TOTALS};
    m.sums = m.totals + cpu_tree_totals_bytes(tree);
    m.rows = m.sums + cpu_tree_sums_bytes(tree);
    m.passing = m.rows + tree->rows * tree->sums->sample_bytes + SLACK_BYTES;
    return m;
}

static char *cpu_tree_place(const cpu_tree_t *tree, const struct tree_memory *m, uint32_t place)
{
    return (place & TREE_PASSING ? m->passing : m->rows) +
           (size_t)(place & ~TREE_PASSING) * tree->sums->sample_bytes;
}

/* Makes all rows of a group. */
static void cpu_tree_make_rows(const cpu_tree_t *tree, const struct tree_memory *m,
                               const char *rows, size_t stride, size_t group, uint64_t count)
{
    size_t narrow = tree->channels->sample_bytes;
    const struct tree_join *end = tree->joins + tree->ends[group];
    for (const struct tree_join *j = tree->joins + (group > 0 ? tree->ends[group - 1] : 0); j < end;
         j++) {
        const char *row = rows + j->row * stride;
        const void *from[4];
        for (uint32_t i = 0; i < (j->level == 1 ? 4 : 2); i++) {
            from[i] = j->from[i] == PATTERN_NONE ? tree->zeros
                      : j->level == 1            ? row + i * stride + j->from[i] * narrow
                                                 : cpu_tree_place(tree, m, j->from[i]);
        }
        (j->level == 1 ? tree->channels : tree->adds)
            ->join(from, count + j->span, cpu_tree_place(tree, m, j->to));
    }
}

/* Adds a chunk's rows to the totals of the tile's DMs; `list` is that of the first of them. */
static void cpu_tree_add_chunk(const cpu_tree_t *tree, const struct tree_memory *m, uint32_t ndms,
                               const uint64_t *list, unsigned part, uint64_t count)
{
    size_t wide = tree->sums->sample_bytes;
    size_t strip = STRIP_BYTES / wide;
    for (uint64_t t = 0; t < count; t += strip) {
        for (uint32_t d = 0; d < ndms; d++) {
            size_t at = d * tree->piece + t;
            tree->adds->total(m->rows + t * wide, tree->starts + list[d],
                              (uint32_t)(list[d + 1] - list[d]), part, m->sums + at * wide,
                              m->totals + at * sizeof(uint32_t));
        }
    }
}

/* Returns the flags of the chunk that ends with this group within its part. */
static unsigned cpu_tree_end_part(const cpu_tree_t *tree, uint32_t group, unsigned part)
{
    const uint32_t channels = tree->is_float ? dedisperse_block(tree->nrows) : TREE_PART_CHANNELS;
    int ends = group + 1 == tree->ntop || (group + 1) * tree->group % channels == 0;
    return part | (ends ? PART_ENDS : 0);
}

/* Totals become floats, with streaming stores if requested. */
static void cpu_tree_give(const cpu_tree_t *tree, const struct tree_memory *m, uint32_t d,
                          uint64_t samples, int is_streamed, float *out)
{
    const uint64_t most = STRIP_TOTALS / sizeof(float);
    for (uint64_t t = 0; t < samples; t += most) {
        const char *total = m->totals + (d * tree->piece + t) * sizeof(uint32_t);
        size_t count = (size_t)min_u64(most, samples - t);
        tree->adds->give(total, count, is_streamed ? (float *)(void *)m->given : out + t);
        if (is_streamed) {
            tree->adds->stream(m->given, count, out + t);
        }
    }
}

void cpu_tree_sum(const cpu_tree_t *tree, const char *rows, size_t stride, uint32_t tile,
                  uint64_t samples, int is_streamed, void *scratch, float *out, uint64_t out_stride)
{
    struct tree_memory m = cpu_tree_cut_memory(tree, scratch);
    size_t strip = STRIP_BYTES / tree->sums->sample_bytes;
    uint64_t count = ceil_div_u64(samples, strip) * strip;
    uint32_t dm = tile * tree->tile;
    uint32_t ndms = (uint32_t)min_u64(tree->tile, tree->ndms - dm);
    const uint64_t *list = tree->lists + tree->first[tile];
    unsigned part = PART_BEGINS | PART_IS_FIRST;
    for (uint32_t group = 0; group < tree->ntop; group++) {
        size_t number = (size_t)tile * tree->ntop + group;
        cpu_tree_make_rows(tree, &m, rows, stride, number, count);
        if (tree->flushes[number]) {
            part = cpu_tree_end_part(tree, group, part);
            cpu_tree_add_chunk(tree, &m, ndms, list, part, count);
            list += ndms;
            part = part & PART_ENDS ? PART_BEGINS : part & PART_IS_FIRST;
        }
    }
    for (uint32_t d = 0; d < ndms; d++) {
        cpu_tree_give(tree, &m, d, samples, is_streamed, out + (dm + d) * out_stride);
    }
}
