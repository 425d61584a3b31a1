/* Everything that depends on delays is settled when the tree is made (tree_layout.h): a tile is a
 * list of rows to be joined, in the order in which they are, and for each DM where its rows begin.
 *
 * Rows of four channels are made first, of these those of eight and of sixteen: fewer of pairs
 * would be made, but each costs a load more than it saves. Only rows that DMs add themselves stay,
 * until there are enough of them for the cache, or for 16-bit sums. Then each DM adds them (a
 * chunk), strip by strip, so that neighbouring DMs find in L1 what they share. */
#include "compute/cpu/dedisperse/cpu_tree.h"

#include "base/memory.h"
#include "compute/cpu/dedisperse/tree_layout.h"
#include "dsp/dispersion/patterns.h"

#include <stdlib.h>

enum {
    SLACK_BYTES = 512,   /* that joining may reach beyond a row */
    FEW_JOINS = 1 << 12, /* always allowed */
};

void cpu_tree_destroy(cpu_tree_t *tree)
{
    if (tree) {
        free(tree->joins);
        free(tree->starts);
        free(tree->lists);
        free(tree->first);
        free(tree->ends);
        free(tree->flushes);
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
    double adds = (double)tree->joined / (double)tree->piece + (double)tree->nstarts;
    return (double)tree->ndms * tree->nrows / adds;
}

static size_t cpu_tree_totals_bytes(const cpu_tree_t *tree)
{
    return tree->tile * tree->piece * sizeof(uint32_t);
}

/* Sums of parts, where totals are wider than those. */
static size_t cpu_tree_sums_bytes(const cpu_tree_t *tree)
{
    return tree->sums->sample_bytes < sizeof(uint32_t)
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
    status_t st = STATUS_OK;
    cpu_tree_t *tree = NULL;
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
        *out = tree;
        tree = NULL;
    }
out:
    cpu_tree_destroy(tree);
    return st;
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

/* All rows of a group. */
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

/* What the chunk that ends with this group is of its part. */
static unsigned cpu_tree_end_part(const cpu_tree_t *tree, uint32_t group, unsigned part)
{
    int ends = group + 1 == tree->ntop || (group + 1) * tree->group % TREE_PART_CHANNELS == 0;
    return part | (ends ? PART_ENDS : 0);
}

/* Totals become floats, past the caches if told. */
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
