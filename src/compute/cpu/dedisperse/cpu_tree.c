/* Everything that depends on delays is settled when the tree is made: a tile is a list of rows to
 * be joined, in the order in which they are, and for each DM where its rows begin.
 *
 * Rows of four channels are made first, of these those of eight or sixteen: fewer of pairs would be
 * made, but each costs a load more than it saves. They lie in memory that the next group takes
 * again; only rows of whole groups stay, until there are enough of them for the cache, or for
 * 16-bit sums. Then each DM adds them (a chunk), strip by strip, so that neighbouring DMs find in
 * L1 what they share. */
#include "compute/cpu/dedisperse/cpu_tree.h"

#include "base/memory.h"
#include "dsp/dispersion/patterns.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROW_SLACK = 128,        /* samples that joining may reach beyond a row */
    ROWS_BYTES = 256 << 10, /* of a chunk, about: they stay in L2 */
    CHUNK_CHANNELS = 256,   /* 8-bit samples of which fit 16 bits */
    FEW_JOINS = 1 << 12,    /* always allowed */
    STEPS = 2               /* fours, groups of fours */
};

/* to[t] = sum of from[i][t] for piece + span samples. Of channels `from` are delays of channels
 * `row` .. row + 3, else places in memory; PATTERN_NONE: zeros. */
struct tree_join {
    uint32_t row, from[4], to, span;
};

struct cpu_tree {
    const struct strip_kernel *channels, *sums, *adds;
    int is_narrow; /* 16-bit sums: flushed after each chunk */
    uint32_t nrows, ndms, group, nsteps, ntop, tile, ntiles;
    uint64_t piece;
    struct tree_join *joins;
    uint64_t njoins, room, most_joins;
    uint64_t joined;             /* samples in a piece */
    uint64_t *ends;              /* [ntiles][ntop][nsteps] behind the last join of each step */
    uint8_t *flushes;            /* [ntiles][ntop] whether a chunk ends with this group */
    uint32_t *starts;            /* [ndms][ntop] where a DM's rows begin */
    size_t fours, rows, longest; /* samples: of fours, of the last step, of a row */
    char *zeros;
};

/* A tile that is laid out: cursors, and where rows of patterns lie. */
struct tree_layout {
    const struct patterns *patterns;
    const uint32_t *delays; /* of the tile */
    uint32_t tile;
    size_t fours, rows;
    uint32_t chunk;      /* its first group */
    uint32_t *at[STEPS]; /* of each pattern of the step's level */
};

void cpu_tree_destroy(cpu_tree_t *tree)
{
    if (tree) {
        free(tree->joins);
        free(tree->ends);
        free(tree->flushes);
        free(tree->starts);
        free(tree->zeros);
        free(tree);
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
    double adds =
        (double)tree->joined / (double)tree->piece + (double)tree->ndms * (double)tree->ntop;
    return (double)tree->ndms * tree->nrows / adds;
}

static size_t cpu_tree_totals_bytes(const cpu_tree_t *tree)
{
    return tree->tile * tree->piece * sizeof(uint32_t);
}

size_t cpu_tree_scratch(const cpu_tree_t *tree)
{
    size_t samples = tree->fours + tree->rows + 2 * ROW_SLACK;
    return ceil_div_u64(
               STRIP_SUMS + cpu_tree_totals_bytes(tree) + samples * tree->sums->sample_bytes, 64) *
           64;
}

static uint64_t cpu_tree_most_joins(uint64_t nrows, uint64_t ndms)
{
    return max_u64(nrows * ndms / TREE_DELAYS_A_JOIN, FEW_JOINS);
}

uint64_t cpu_tree_most_bytes(uint32_t nrows, uint32_t ndms)
{
    uint64_t ngroups = ceil_div_u64(nrows, TREE_LEAST_GROUP);
    return 2 * cpu_tree_most_joins(nrows, ndms) * sizeof(struct tree_join) +
           ngroups * ndms * (sizeof(uint32_t) + 3 * sizeof(uint64_t) / 16);
}

uint64_t cpu_tree_most_scratch(void)
{
    /* A tile's rows of a group take at most what its DMs would, alone. */
    uint64_t rows = (uint64_t)TREE_MOST_AREA * STRIP_BYTES + TREE_MOST_DMS * ROW_SLACK * 4;
    return ROWS_BYTES + 2 * (TREE_MOST_GROUP / TREE_LEAST_GROUP) * rows +
           TREE_MOST_AREA * 2 * STRIP_BYTES + (64 << 10);
}

static status_t cpu_tree_put(cpu_tree_t *tree, const struct tree_join *join)
{
    status_t st = STATUS_OK;
    if (tree->njoins == tree->room) {
        uint64_t room = tree->room > 0 ? 2 * tree->room : 1024;
        struct tree_join *more = realloc(tree->joins, room * sizeof *more);
        REQUIRE(more, STATUS_DEVICE, "out of memory: patterns of delays");
        tree->joins = more;
        tree->room = room;
    }
    tree->joins[tree->njoins++] = *join;
    for (uint32_t i = 1; i < 4; i++) {
        tree->joined += join->from[i] != PATTERN_NONE ? tree->piece + join->span : 0;
    }
out:
    return st;
}

static uint32_t cpu_tree_level(const cpu_tree_t *tree, uint32_t step)
{
    return step == 0 ? 1 : tree->group == 8 ? 2 : 3;
}

/* The parts of pattern `number` of a level, `levels` below, as delays of their first rows at the
 * pattern's least delay, and which patterns (or rows) they are. */
static void cpu_tree_list_parts(const struct patterns *patterns, uint32_t level, uint32_t number,
                                uint32_t delay, uint32_t levels, uint32_t *delays, uint32_t *parts)
{
    if (number == PATTERN_NONE || levels == 0) {
        *delays = delay;
        *parts = number;
        for (uint32_t i = 1; i < 1U << levels; i++) {
            parts[i] = PATTERN_NONE;
        }
        return;
    }
    const struct pattern *p = &patterns->levels[level].patterns[number];
    uint32_t half = 1U << (levels - 1);
    cpu_tree_list_parts(patterns, level - 1, p->left, delay, levels - 1, delays, parts);
    cpu_tree_list_parts(patterns, level - 1, p->right, delay + (uint32_t)p->shift, levels - 1,
                        delays + half, parts + half);
}

/* The row of one pattern of group `g` of a step's level. */
static status_t cpu_tree_lay_row(cpu_tree_t *tree, struct tree_layout *layout, uint32_t step,
                                 uint32_t g, uint32_t number)
{
    uint32_t level = cpu_tree_level(tree, step);
    const struct pattern *p = &layout->patterns->levels[level].patterns[number];
    size_t *cursor = step + 1 == tree->nsteps ? &layout->rows : &layout->fours;
    size_t row = tree->piece + (p->most - p->least);
    struct tree_join join = {.row = 4 * g, .to = (uint32_t)*cursor, .span = p->most - p->least};
    uint32_t parts[4] = {0, 0, PATTERN_NONE, PATTERN_NONE};
    uint32_t delays[4] = {0};
    cpu_tree_list_parts(layout->patterns, level, number, p->least, level == 2 ? 1 : 2, delays,
                        parts);
    for (uint32_t i = 0; i < 4; i++) {
        join.from[i] = parts[i] == PATTERN_NONE ? PATTERN_NONE : delays[i];
        if (step > 0 && parts[i] != PATTERN_NONE) {
            join.from[i] += layout->at[0][parts[i]];
            join.from[i] -= layout->patterns->levels[1].patterns[parts[i]].least;
        }
    }
    layout->at[step][number] = (uint32_t)*cursor;
    *cursor += ceil_div_u64(row, ROW_SLACK) * ROW_SLACK;
    tree->longest = row > tree->longest ? row : tree->longest;
    return cpu_tree_put(tree, &join);
}

/* Whether DMs must add what there is before the next group is made; what is full is emptied. */
static int cpu_tree_ends_chunk(const cpu_tree_t *tree, struct tree_layout *layout, uint32_t group)
{
    uint32_t channels = (group + 1 - layout->chunk) * tree->group;
    int is_full =
        layout->rows * tree->sums->sample_bytes >= ROWS_BYTES || channels >= CHUNK_CHANNELS;
    if (group + 1 < tree->ntop && !(is_full && channels % TREE_MOST_GROUP == 0)) {
        return 0;
    }
    layout->rows = 0;
    layout->chunk = group + 1;
    return 1;
}

static status_t cpu_tree_lay_group(cpu_tree_t *tree, struct tree_layout *layout, uint32_t group)
{
    status_t st = STATUS_OK;
    const struct patterns *patterns = layout->patterns;
    uint32_t last = tree->nsteps - 1;
    size_t number = (size_t)layout->tile * tree->ntop + group;
    const struct pattern_level *top = &patterns->levels[patterns->nlevels - 1];
    const uint32_t *of = patterns->of + (size_t)group * patterns->ndms;
    layout->fours = 0;
    for (uint32_t step = 0; step <= last; step++) {
        const struct pattern_level *level = &patterns->levels[cpu_tree_level(tree, step)];
        uint32_t each = step == last ? 1 : tree->group / 4;
        uint32_t end = (uint32_t)min_u64((uint64_t)(group + 1) * each, level->ngroups);
        for (uint32_t g = group * each; g < end; g++) {
            for (uint32_t i = level->first[g]; i < level->first[g + 1]; i++) {
                TRY(cpu_tree_lay_row(tree, layout, step, g, i));
            }
        }
        tree->ends[number * tree->nsteps + step] = tree->njoins;
    }
    for (uint32_t dm = 0; dm < patterns->ndms; dm++) {
        size_t line = (size_t)layout->tile * tree->tile + dm;
        tree->starts[line * tree->ntop + group] =
            layout->at[last][of[dm]] +
            layout->delays[(size_t)dm * tree->nrows + (size_t)group * tree->group] -
            top->patterns[of[dm]].least;
    }
    tree->fours = layout->fours > tree->fours ? layout->fours : tree->fours;
    tree->rows = layout->rows > tree->rows ? layout->rows : tree->rows;
    tree->flushes[number] = (uint8_t)cpu_tree_ends_chunk(tree, layout, group);
out:
    return st;
}

static status_t cpu_tree_lay_tile(cpu_tree_t *tree, const uint32_t *delays, uint32_t tile)
{
    status_t st = STATUS_OK;
    struct patterns patterns = {0};
    uint32_t dm = tile * tree->tile;
    uint32_t ndms = (uint32_t)min_u64(tree->tile, tree->ndms - dm);
    struct tree_layout layout = {
        .patterns = &patterns, .delays = delays + (size_t)dm * tree->nrows, .tile = tile};
    TRY(patterns_create(layout.delays, ndms, tree->nrows,
                        1 + cpu_tree_level(tree, tree->nsteps - 1), (uint32_t)tree->piece,
                        &patterns));
    for (uint32_t step = 0; step < tree->nsteps; step++) {
        const struct pattern_level *level = &patterns.levels[cpu_tree_level(tree, step)];
        TRY(memory_zeroed(level->first[level->ngroups], sizeof(uint32_t), "patterns",
                          &layout.at[step]));
    }
    for (uint32_t group = 0; group < tree->ntop; group++) {
        TRY(cpu_tree_lay_group(tree, &layout, group));
    }
out:
    for (uint32_t step = 0; step < STEPS; step++) {
        free(layout.at[step]);
    }
    patterns_free(&patterns);
    return st;
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
    tree->is_narrow = format == SERIES_U8;
}

static status_t cpu_tree_lay_out(cpu_tree_t *tree, const uint32_t *delays)
{
    status_t st = STATUS_OK;
    size_t groups = (size_t)tree->ntiles * tree->ntop;
    TRY(memory_zeroed(groups * tree->nsteps, sizeof *tree->ends, "patterns", &tree->ends));
    TRY(memory_zeroed(groups, 1, "patterns", &tree->flushes));
    TRY(memory_zeroed((size_t)tree->ndms * tree->ntop, sizeof *tree->starts, "patterns",
                      &tree->starts));
    for (uint32_t tile = 0; tile < tree->ntiles && tree->njoins <= tree->most_joins; tile++) {
        TRY(cpu_tree_lay_tile(tree, delays, tile));
    }
    TRY(memory_zeroed((tree->longest + 2 * ROW_SLACK), tree->sums->sample_bytes, "zeros",
                      &tree->zeros));
out:
    return st;
}

status_t cpu_tree_create(const struct dedisperse_table *table, enum series_format format,
                         const struct dedisperse_shape *shape, const struct strip_kernels *kernels,
                         cpu_tree_t **out)
{
    status_t st = STATUS_OK;
    cpu_tree_t *tree = NULL;
    *out = NULL;
    TRY(memory_zeroed(1, sizeof *tree, "patterns", &tree));
    tree->nrows = table->nused;
    tree->ndms = table->nrows;
    tree->group = shape->group;
    tree->nsteps = shape->group == 4 ? 1 : 2;
    tree->ntop = (uint32_t)ceil_div_u64(tree->nrows, tree->group);
    tree->tile = shape->dm_out;
    tree->ntiles = (uint32_t)ceil_div_u64(tree->ndms, tree->tile);
    cpu_tree_choose_kernels(tree, format, kernels);
    tree->piece = (uint64_t)shape->time_out * STRIP_BYTES / tree->sums->sample_bytes;
    tree->most_joins = cpu_tree_most_joins(tree->nrows, tree->ndms);
    TRY(cpu_tree_lay_out(tree, table->delays));
    if (tree->njoins <= tree->most_joins) {
        *out = tree;
        tree = NULL;
    }
out:
    cpu_tree_destroy(tree);
    return st;
}

/* A thread's memory. */
struct tree_memory {
    char *sums, *totals, *fours, *rows;
};

static struct tree_memory cpu_tree_cut_memory(const cpu_tree_t *tree, char *scratch)
{
    struct tree_memory m = {.sums = scratch, .totals = scratch + STRIP_SUMS};
    m.rows = m.totals + cpu_tree_totals_bytes(tree);
    m.fours = m.rows + (tree->rows + ROW_SLACK) * tree->sums->sample_bytes;
    return m;
}

/* All rows of a group: of fours first. */
static void cpu_tree_make_rows(const cpu_tree_t *tree, const struct tree_memory *m,
                               const char *rows, size_t stride, size_t group, uint64_t count)
{
    size_t narrow = tree->channels->sample_bytes;
    size_t wide = tree->sums->sample_bytes;
    const uint64_t *ends = tree->ends + group * tree->nsteps;
    const struct tree_join *j = tree->joins + (group > 0 ? ends[-1] : 0);
    const void *from[4];
    for (const struct tree_join *end = tree->joins + ends[0]; j < end; j++) {
        const char *row = rows + j->row * stride;
        for (uint32_t i = 0; i < 4; i++) {
            from[i] =
                j->from[i] == PATTERN_NONE ? tree->zeros : row + i * stride + j->from[i] * narrow;
        }
        tree->channels->join(from, count + j->span,
                             (tree->nsteps > 1 ? m->fours : m->rows) + j->to * wide);
    }
    for (const struct tree_join *end = tree->joins + ends[tree->nsteps - 1]; j < end; j++) {
        for (uint32_t i = 0; i < 4; i++) {
            from[i] = j->from[i] == PATTERN_NONE ? tree->zeros : m->fours + j->from[i] * wide;
        }
        (tree->group == 8 ? tree->sums->join_two : tree->sums->join)(from, count + j->span,
                                                                     m->rows + j->to * wide);
    }
}

/* Adds a chunk's rows, of groups first .. end - 1, to the totals of all DMs. */
static void cpu_tree_add_chunk(const cpu_tree_t *tree, const struct tree_memory *m, uint32_t tile,
                               uint32_t first, uint32_t end, uint64_t count)
{
    uint32_t dm = tile * tree->tile;
    uint32_t ndms = (uint32_t)min_u64(tree->tile, tree->ndms - dm);
    size_t strip = STRIP_BYTES / tree->sums->sample_bytes;
    for (uint64_t t = 0; t < count; t += strip) {
        for (uint32_t d = 0; d < ndms; d++) {
            const uint32_t *starts = tree->starts + (size_t)(dm + d) * tree->ntop + first;
            char *total = m->totals + (d * tree->piece + t) * sizeof(uint32_t);
            tree->adds->add(m->rows + t * tree->sums->sample_bytes, 0, starts, end - first,
                            tree->is_narrow || first == 0, tree->is_narrow ? m->sums : total);
            if (tree->is_narrow && first == 0) {
                memset(total, 0, strip * sizeof(uint32_t));
            }
            if (tree->is_narrow) {
                tree->adds->flush(m->sums, total);
            }
        }
    }
}

void cpu_tree_sum(const cpu_tree_t *tree, const char *rows, size_t stride, uint32_t tile,
                  uint64_t samples, void *scratch, float *out, uint64_t out_stride)
{
    struct tree_memory m = cpu_tree_cut_memory(tree, scratch);
    size_t strip = STRIP_BYTES / tree->sums->sample_bytes;
    uint64_t count = ceil_div_u64(samples, strip) * strip;
    uint32_t first = 0;
    uint32_t dm = tile * tree->tile;
    uint32_t ndms = (uint32_t)min_u64(tree->tile, tree->ndms - dm);
    for (uint32_t group = 0; group < tree->ntop; group++) {
        size_t number = (size_t)tile * tree->ntop + group;
        cpu_tree_make_rows(tree, &m, rows, stride, number, count);
        if (tree->flushes[number]) {
            cpu_tree_add_chunk(tree, &m, tile, first, group + 1, count);
            first = group + 1;
        }
    }
    for (uint32_t d = 0; d < ndms; d++) {
        tree->adds->give(m.totals + d * tree->piece * sizeof(uint32_t), samples,
                         out + (dm + d) * out_stride);
    }
}
