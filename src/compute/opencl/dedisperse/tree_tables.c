/* One tile after the other, in the kernel's form. */
#include "compute/opencl/dedisperse/tree_tables.h"

#include "base/memory.h"
#include "dsp/dispersion/patterns.h"

#include <string.h>

enum {
    TREE_MOST_PATTERNS = 96, /* most of a step, for its patterns, in fours of numbers */
    TREE_MOST_OFFSETS = 64,  /* for its offsets */
    TREE_MOST_ROWS = 32,     /* rows of a step */
    TREE_MOST_SINGLE = 16    /* of a step of single ones */
};

/* A step's needs: words and pieces, for groups from .. to - 1 in their order. */
struct tree_step {
    int is_single;
    uint32_t from, to, rows_at, sums_at; /* where rows and sums are */
    uint64_t staged, made, pieces;
};

/* A tile under way; of groups of rows, and all of their rows. */
struct tree_tile {
    const struct dedisperse_shape_problem *problem;
    const struct dedisperse_shape *shape;
    const struct dedisperse_shape_spans *spans;
    struct patterns patterns;
    const struct pattern_level *level;
    uint32_t dm, ndms, ngroups, columns, memory;
    uint32_t *rel;          /* [ndms][nrows] */
    uint32_t *base, *count; /* [ngroups * group] the samples of a row that are staged */
    uint32_t *staged;       /* [ngroups * group] where */
    uint32_t *made;         /* [patterns] where */
    uint32_t *order;        /* [ngroups] groups: single ones first */
    uint32_t nsingle, nsteps;
    struct tree_step *steps; /* [3 * ngroups] */
};

/* ---- tree tile ---- */

/* One tile of DMs of the tree kernel (kernels/dedisperse_tree.cl): its patterns, cut into steps of
 * as many groups as local memory holds. No call of OpenCL: pure functions of the problem.
 *
 * Groups of rows one after the other, steps of them side by side in local memory. */

enum { LANES = 32 /* work-items of those of a group that NVIDIA runs together */ };

/* Levels of a group's patterns; 16-bit numbers of a pattern's piece; work-items that make a piece,
 * or stage a row; units of a piece that each of them makes; all of a piece's. */
static uint32_t tree_tile_levels(uint32_t group)
{
    return group == 4 ? 2 : group == 8 ? 3 : 4;
}

/* Groups that are added at once: of floats at least sixteen rows. */
static uint32_t tile_together(const struct dedisperse_shape_problem *p,
                              const struct dedisperse_shape *s)
{
    return !p->is_float ? 1 : s->group == 4 ? 4 : 2;
}

static uint32_t tree_tile_entry(const struct dedisperse_shape *s)
{
    return s->group == 4 ? 8 : s->group == 8 ? 16 : 24;
}

static uint32_t tree_tile_lanes(const struct dedisperse_shape *s)
{
    uint32_t items = s->time_items * s->dm_items;
    return items % LANES == 0 ? LANES : items;
}

static uint32_t tree_tile_rounds(const struct dedisperse_shape *s)
{
    return s->group == 4 ? 3 : 2;
}

static uint32_t tree_tile_piece(const struct dedisperse_shape *s)
{
    return tree_tile_rounds(s) * tree_tile_lanes(s);
}

/* Finds, for each row, the samples that the tile's DMs read. Rows after the last are rows of
 * zeros, as long as others of their group. */
static void tile_find_spans(struct tree_tile *t)
{
    const struct dedisperse_shape_problem *p = t->problem;
    for (uint32_t row = 0; row < t->ngroups * t->shape->group; row++) {
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        if (row >= p->nrows) {
            t->count[row] = row % t->shape->group > 0 ? t->count[row - 1] : t->columns;
            continue;
        }
        for (uint32_t dm = 0; dm < t->ndms; dm++) {
            uint32_t rel = t->rel[(size_t)dm * p->nrows + row];
            least = rel < least ? rel : least;
            most = rel > most ? rel : most;
        }
        t->base[row] = least / 4 * 4;
        t->count[row] = (t->columns + most - t->base[row] + 3) / 4 * 4;
    }
}

/* Patterns, and room for all else. */
static status_t tile_prepare(struct tree_tile *t)
{
    const struct dedisperse_shape_problem *p = t->problem;
    size_t nrows = (size_t)t->ngroups * t->shape->group;
    uint32_t nlevels = tree_tile_levels(t->shape->group);
    TRY(memory_zeroed((size_t)t->ndms * p->nrows, sizeof *t->rel, "delays", &t->rel));
    TRY(memory_zeroed(nrows, sizeof *t->base, "delays", &t->base));
    TRY(memory_zeroed(nrows, sizeof *t->count, "delays", &t->count));
    TRY(memory_zeroed(nrows, sizeof *t->staged, "delays", &t->staged));
    TRY(memory_zeroed(t->ngroups, sizeof *t->order, "delays", &t->order));
    TRY(memory_zeroed(3 * (size_t)t->ngroups, sizeof *t->steps, "delays", &t->steps));
    for (size_t i = 0; i < (size_t)t->ndms * p->nrows; i++) {
        t->rel[i] = dedisperse_shape_rel(t->spans, p->delays[(size_t)t->dm * p->nrows + i],
                                         (uint32_t)(i / p->nrows));
    }
    /* Samples further apart than the length of a row take less room as two rows. */
    TRY(patterns_create(t->rel, t->ndms, p->nrows, nlevels, t->columns, &t->patterns));
    t->level = &t->patterns.levels[nlevels - 1];
    TRY(memory_zeroed((size_t)t->level->first[t->level->ngroups] + t->ngroups, sizeof *t->made,
                      "patterns", &t->made));
    tile_find_spans(t);
    return STATUS_OK;
}

static void tree_tile_free(struct tree_tile *t)
{
    patterns_free(&t->patterns);
    MEMORY_FREE(t->rel, t->base, t->count, t->staged, t->made, t->order, t->steps);
}

/* The first pattern of a group, and each; one of zeros is in groups after the last. */
static uint32_t tree_tile_first(const struct tree_tile *t, uint32_t g)
{
    uint32_t there = g < t->level->ngroups ? g : t->level->ngroups;
    return t->level->first[there] + (g - there);
}

static struct pattern tree_tile_pattern(const struct tree_tile *t, uint32_t number)
{
    return number < t->level->first[t->level->ngroups] ? t->level->patterns[number]
                                                       : (struct pattern){.least = 0};
}

/* Words of a pattern's sums, in fours: whatever is in local memory begins at a four. */
static uint32_t tree_tile_words(const struct tree_tile *t, const struct pattern *p)
{
    return (t->shape->pack * (t->columns + p->most - p->least) + 3) / 4 * 4;
}

/* Adds what group number g takes to a step. */
static void tile_add_group(const struct tree_tile *t, uint32_t g, struct tree_step *step)
{
    uint32_t piece = tree_tile_piece(t->shape);
    for (uint32_t k = 0; k < t->shape->group; k++) {
        step->staged += t->count[g * t->shape->group + k];
    }
    for (uint32_t i = tree_tile_first(t, g); !step->is_single && i < tree_tile_first(t, g + 1);
         i++) {
        struct pattern p = tree_tile_pattern(t, i);
        uint32_t units = t->columns + p.most - p.least;
        step->made += tree_tile_words(t, &p);
        step->pieces += ceil_div_u64(units, piece);
    }
}

/* Whether a group is better added row by row, by words of local memory: a row's word is read for
 * four samples and taken apart, a sum's for two; a unit of a pattern is read in as many words as
 * rows, and written in two; or because steps would not be side by side. Words of samples are
 * packed there. */
static int tile_is_single(const struct tree_tile *t, uint32_t g)
{
    struct tree_step step = {.is_single = 0};
    double dms = dedisperse_shape_tile_dms(t->shape);
    uint32_t group = t->shape->group;
    uint32_t pack = t->shape->pack;
    tile_add_group(t, g, &step);
    return pack == 2 &&
           ((double)step.made / pack * (group + pack) + dms * pack * t->columns >
                group * dms * t->columns ||
            step.made + step.staged > t->memory / 10 * 4 ||
            step.pieces * tree_tile_entry(t->shape) > 8 * (uint64_t)TREE_MOST_PATTERNS);
}

static void tile_put_in_order(struct tree_tile *t)
{
    uint32_t end = 0;
    for (uint32_t g = 0; g < t->ngroups; g++) {
        t->nsingle += (uint32_t)tile_is_single(t, g);
    }
    for (uint32_t g = 0, singles = 0; g < t->ngroups; g++) {
        /* As many as were counted: single ones are those that come before. */
        t->order[tile_is_single(t, g) ? singles++ : t->nsingle + end++] = g;
    }
}

/* Groups that a step adds up, or its single rows; its rows; fours of numbers for its patterns, and
 * for its offsets. */
static uint32_t tree_tile_sums(const struct tree_tile *t, const struct tree_step *step)
{
    return (step->to - step->from) * (step->is_single ? t->shape->group : 1);
}

static uint32_t tree_tile_rows(const struct tree_tile *t, const struct tree_step *step)
{
    return (step->to - step->from) * t->shape->group;
}

static uint64_t tree_tile_pattern_fours(const struct tree_tile *t, const struct tree_step *step)
{
    return step->pieces * tree_tile_entry(t->shape) / 8;
}

static uint64_t tree_tile_offset_fours(const struct tree_tile *t, const struct tree_step *step)
{
    uint64_t pairs = (uint64_t)(tree_tile_sums(t, step) + 1) / 2;
    return pairs * dedisperse_shape_tile_dms(t->shape) / 4;
}

/* Words from .. to - 1 of local memory. */
struct tile_span {
    uint32_t from, to;
};

/* Finds `size` free words beside `count` spans, at the lowest or the highest place. */
static int tile_find(const struct tree_tile *t, struct tile_span *taken, uint32_t count,
                     uint64_t size, int is_high, uint32_t *out)
{
    uint32_t from = 0;
    int found = 0;
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && taken[k].from < taken[k - 1].from; k--) {
            struct tile_span span = taken[k];
            taken[k] = taken[k - 1];
            taken[k - 1] = span;
        }
    }
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t to = i < count ? taken[i].from : t->memory;
        if (from + size <= to && (!found || is_high)) {
            *out = is_high ? to - (uint32_t)size : from;
            found = 1;
        }
        from = i < count && taken[i].to > from ? taken[i].to : from;
    }
    return found;
}

/* The span of a placed step in local memory while it is added: sums, or single rows. */
static struct tile_span tile_added(const struct tree_step *step)
{
    uint32_t at = step->is_single ? step->rows_at : step->sums_at;
    return (struct tile_span){at, at + (uint32_t)(step->is_single ? step->staged : step->made)};
}

/* Finds room for step number i beside those before it. Of groups rows are there while they come
 * and while sums are made of them, sums while they are made and while they are added; single rows
 * come a phase later, and are there until they are added. */
static int tile_place(const struct tree_tile *t, uint32_t i, struct tree_step *step)
{
    static const struct tree_step none = {.is_single = 0};
    const struct tree_step *last = i > 0 ? &t->steps[i - 1] : &none;
    const struct tree_step *other = i > 1 ? &t->steps[i - 2] : &none;
    struct tile_span rows[] = {
        tile_added(last),
        tile_added(other),
        {last->rows_at, last->rows_at + (last->is_single ? 0 : (uint32_t)last->staged)}};
    if (step->is_single) {
        return tile_find(t, rows, 1, step->staged, 1, &step->rows_at);
    }
    struct tile_span sums[] = {tile_added(last), {0, 0}};
    if (!tile_find(t, rows, 3, step->staged, 0, &step->rows_at)) {
        return 0;
    }
    sums[1] = (struct tile_span){step->rows_at, step->rows_at + (uint32_t)step->staged};
    return tile_find(t, sums, 2, step->made, 1, &step->sums_at);
}

/* Whether a block holds a step's tables. */
static int tile_step_fits(const struct tree_tile *t, const struct tree_step *step)
{
    return tree_tile_pattern_fours(t, step) <= TREE_MOST_PATTERNS &&
           tree_tile_offset_fours(t, step) <= TREE_MOST_OFFSETS &&
           tree_tile_rows(t, step) <= (step->is_single ? TREE_MOST_SINGLE : TREE_MOST_ROWS);
}

/* Cuts step number i: as many groups as fit, perhaps none. */
static void tile_cut_step(const struct tree_tile *t, uint32_t i, struct tree_step *out)
{
    uint32_t together = tile_together(t->problem, t->shape);
    uint32_t end = out->is_single ? t->nsingle : t->ngroups;
    while (out->to < end && tree_tile_rows(t, out) < t->shape->chunk) {
        struct tree_step step = *out;
        for (uint32_t k = 0; k < together; k++) {
            tile_add_group(t, t->order[step.to++], &step);
        }
        /* Else the next one finds no room. */
        int is_large = step.staged + step.made > t->memory / 2;
        if (!tile_step_fits(t, &step) || (is_large && out->to > out->from) ||
            !tile_place(t, i, &step)) {
            break;
        }
        *out = step;
        if (t->problem->is_float &&
            step.to * t->shape->group % dedisperse_block(t->problem->nrows) == 0) {
            break;
        }
    }
}

/* Cuts groups into steps; one may be empty, so that the next finds room. 0: local memory does not
 * hold them. */
static int tile_cut(struct tree_tile *t)
{
    uint32_t empty = 0;
    for (uint32_t next = 0; next < t->ngroups; next = t->steps[t->nsteps++].to) {
        struct tree_step *step = &t->steps[t->nsteps];
        *step = (struct tree_step){.is_single = next < t->nsingle, .from = next, .to = next};
        tile_cut_step(t, t->nsteps, step);
        empty = step->to > next ? 0 : empty + 1;
        if (empty > 2) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < t->nsteps; i++) {
        const struct tree_step *step = &t->steps[i];
        uint32_t at = step->rows_at;
        for (uint32_t o = step->from; o < step->to; o++) {
            for (uint32_t k = 0; k < t->shape->group; k++) {
                uint32_t row = t->order[o] * t->shape->group + k;
                t->staged[row] = at;
                at += t->count[row];
            }
        }
    }
    return 1;
}

/* Tile number dm / (DMs of a tile), in `memory` words of local memory; `out` refers to the
 * arguments. *fits: whether it could be cut into steps. tree_tile_free() in any case. Fails with
 * DEVICE (memory). */
static status_t tree_tile_create(const struct dedisperse_shape_problem *p,
                                 const struct dedisperse_shape *shape,
                                 const struct dedisperse_shape_spans *spans, uint32_t dm,
                                 uint32_t memory, struct tree_tile *out, int *fits)
{
    uint64_t groups = ceil_div_u64(p->nrows, shape->group);
    uint64_t together = tile_together(p, shape);
    *out = (struct tree_tile){.problem = p,
                              .shape = shape,
                              .spans = spans,
                              .dm = dm,
                              .ndms =
                                  (uint32_t)min_u64(dedisperse_shape_tile_dms(shape), p->ndms - dm),
                              .ngroups = (uint32_t)(ceil_div_u64(groups, together) * together),
                              .columns = shape->time_items * shape->time_out / shape->pack,
                              .memory = memory};
    TRY(tile_prepare(out));
    tile_put_in_order(out);
    *fits = tile_cut(out);
    return STATUS_OK;
}

/* ---- tree tables ---- */

enum {
    WORD_BYTES = 4, /* of local memory */
    HEAD = 4,       /* numbers of a step, and of a row */
    BLOCK = TREE_MOST_PATTERNS + TREE_MOST_OFFSETS + TREE_MOST_ROWS + TREE_MOST_SINGLE,
    MOST_LOCAL = 48 << 10, /* bytes of local memory of a group: of more, fewer run at a time */
    ASYNC_CAPABILITY = 8,  /* from which on NVIDIA's devices copy without waiting */
    ALL_ROWS = 257,        /* rows of 8 bits whose sums fit 16 */
    FULL_ROWS = 192        /* the same beside 14 bits that are left */
};

/* Flags of a step. */
#define TREE_SINGLE (1U << 15)  /* rows, not sums */
#define TREE_FULL (1U << 31)    /* high parts are set aside after it; a block of floats ends */
#define TREE_ENDS (1U << 22)    /* even bytes are found after it */
#define TREE_GOES_ON (1U << 23) /* more single rows follow a full step */

void tree_tables_free(struct tree_tables *tables)
{
    MEMORY_FREE(tables->steps.numbers, tables->tables.numbers, tables->tiles.numbers);
    *tables = (struct tree_tables){0};
}

/* Appends `count` zeros; *out points to them. */
static status_t tables_grow(struct tree_list *list, uint64_t count, uint32_t **out)
{
    const uint64_t all = list->count + count;
    if (all > list->room) { /* growing may copy all of them: seldom */
        TRY(memory_grown(list->count + all, sizeof **out, "patterns of delays", &list->numbers));
        list->room = list->count + all;
    }
    *out = list->numbers + list->count;
    memset(*out, 0, count * sizeof **out);
    list->count = all;
    return STATUS_OK;
}

/* Computes the samples from a pattern's least delay to the beginning of each of its rows. */
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

/* Appends the rows of a step. */
static status_t tile_put_rows(const struct tree_tile *t, struct tree_list *tables,
                              const struct tree_step *step)
{
    uint32_t *to = NULL;
    for (uint32_t o = step->from; o < step->to; o++) {
        for (uint32_t k = 0; k < t->shape->group; k++) {
            uint32_t row = t->order[o] * t->shape->group + k;
            TRY(tables_grow(tables, HEAD, &to));
            to[0] = row < t->problem->nrows ? row : t->problem->nrows;
            to[1] = t->base[row] / 4;
            to[2] = WORD_BYTES * t->staged[row];
            to[3] = t->count[row] / 4;
        }
    }
    return STATUS_OK;
}

static void tables_put_half(uint32_t *numbers, uint64_t i, uint32_t half)
{
    numbers[i / 2] |= half << (16 * (i % 2));
}

/* One pattern of group g, whose sums are from word `made` on. Returns the number of pieces. */
static uint64_t tile_put_pattern(const struct tree_tile *t, uint32_t g, uint32_t number,
                                 uint32_t made, uint32_t *block, uint64_t piece)
{
    uint32_t group = t->shape->group;
    uint32_t entry = tree_tile_entry(t->shape);
    uint32_t step = tree_tile_piece(t->shape);
    uint32_t begins[DEDISPERSE_SIXTEEN] = {0};
    struct pattern p = tree_tile_pattern(t, number);
    uint32_t end = t->columns + p.most - p.least;
    uint64_t pieces = 0;
    if (g < t->level->ngroups) {
        tables_expand(&t->patterns, tree_tile_levels(group) - 1, number, p.least, begins);
    }
    for (uint32_t unit = 0; unit < end; unit += step, pieces++) {
        uint64_t at = (piece + pieces) * entry;
        uint32_t units = end - unit < step ? end - unit : step;
        for (uint32_t k = 0; k < group; k++) {
            uint32_t row = g * group + k;
            uint32_t begin = row < t->problem->nrows ? begins[k] - t->base[row] : 0;
            tables_put_half(block, at + k, WORD_BYTES * (t->staged[row] + begin + unit));
        }
        tables_put_half(block, at + group, WORD_BYTES * (made + t->shape->pack * unit));
        tables_put_half(block, at + group + 1, units);
    }
    return pieces;
}

/* A 16-bit offset for each DM of the tile, into pair number i / 2; DMs after the last are the
 * last. */
static void tile_put_offsets(const struct tree_tile *t, uint32_t row, uint32_t i, uint32_t group,
                             uint32_t *pairs)
{
    const struct dedisperse_shape_problem *p = t->problem;
    uint32_t dms = dedisperse_shape_tile_dms(t->shape);
    int is_there = row < p->nrows;
    for (uint32_t d = 0; d < dms; d++) {
        uint32_t dm = d < t->ndms ? d : t->ndms - 1;
        uint32_t rel = is_there ? t->rel[(size_t)dm * p->nrows + row] : 0;
        uint32_t offset = t->staged[row] + rel - t->base[row];
        if (group < t->ngroups) {
            uint32_t number =
                is_there ? t->patterns.of[(size_t)group * t->ndms + dm] : tree_tile_first(t, group);
            offset = t->made[number] + t->shape->pack * (rel - tree_tile_pattern(t, number).least);
        }
        pairs[(size_t)(i / 2) * dms + d] |= WORD_BYTES * offset << (16 * (i % 2));
    }
}

/* Appends the patterns of a step of groups. */
static status_t tile_put_patterns(struct tree_tile *t, struct tree_list *tables,
                                  const struct tree_step *step)
{
    uint32_t *block = NULL;
    uint32_t made = step->sums_at;
    uint64_t piece = 0;
    TRY(tables_grow(tables, tree_tile_pattern_fours(t, step) * HEAD, &block));
    for (uint32_t o = step->from; o < step->to; o++) {
        uint32_t g = t->order[o];
        for (uint32_t i = tree_tile_first(t, g); i < tree_tile_first(t, g + 1); i++) {
            struct pattern p = tree_tile_pattern(t, i);
            t->made[i] = made;
            piece += tile_put_pattern(t, g, i, made, block, piece);
            made += tree_tile_words(t, &p);
        }
    }
    return STATUS_OK;
}

/* Appends the offsets of a step. */
static status_t tile_put_all_offsets(const struct tree_tile *t, struct tree_list *tables,
                                     const struct tree_step *step)
{
    uint32_t *pairs = NULL;
    uint32_t n = 0;
    TRY(tables_grow(tables, tree_tile_offset_fours(t, step) * HEAD, &pairs));
    for (uint32_t o = step->from; o < step->to; o++) {
        uint32_t g = t->order[o];
        uint32_t group = t->shape->group;
        for (uint32_t k = 0; step->is_single && k < group; k++) {
            tile_put_offsets(t, g * group + k, n++, t->ngroups, pairs);
        }
        if (!step->is_single) {
            tile_put_offsets(t, g * group, n++, g, pairs);
        }
    }
    return STATUS_OK;
}

/* Sets the flags of the phase that adds step number i; *since counts rows since high parts were set
 * aside. */
static void tile_set_flags(const struct tree_tile *t, uint32_t i, uint32_t *since, uint32_t *head)
{
    const struct tree_step *step = &t->steps[i];
    const struct tree_step *next = i + 1 < t->nsteps ? step + 1 : NULL;
    int goes_on = next && next->is_single;
    int is_more = t->problem->nrows > ALL_ROWS;
    int is_block = step->to * t->shape->group % dedisperse_block(t->problem->nrows) == 0;
    *since += tree_tile_rows(t, step);
    head[2] |= tree_tile_sums(t, step) << 16 | (step->is_single ? TREE_SINGLE : 0);
    if (t->problem->is_float) {
        head[2] |= next && is_block && step->to > step->from ? TREE_FULL : 0;
    } else if (next && is_more && *since + tree_tile_rows(t, next) > FULL_ROWS) {
        head[2] |= TREE_FULL;
        head[3] |= goes_on ? TREE_GOES_ON : 0;
        *since = 0;
    }
    if (step->is_single) {
        head[3] |= *since == 0 || !goes_on ? TREE_ENDS : 0;
    }
}

/* Phase number i: rows of step i (single ones of the step before it), patterns of step i - 1,
 * offsets of step i - 2. */
static status_t tile_put_phase(struct tree_tile *t, struct tree_tables *out, uint32_t i,
                               uint32_t *since)
{
    uint64_t begin = out->tables.count / HEAD;
    const struct tree_step *one = i < t->nsteps ? &t->steps[i] : NULL;
    const struct tree_step *two = i > 0 && i - 1 < t->nsteps ? &t->steps[i - 1] : NULL;
    const struct tree_step *three = i > 1 ? &t->steps[i - 2] : NULL;
    uint32_t *head = NULL;
    TRY(tables_grow(&out->steps, HEAD, &head));
    TRY(one && !one->is_single ? tile_put_rows(t, &out->tables, one) : STATUS_OK);
    TRY(two && two->is_single ? tile_put_rows(t, &out->tables, two) : STATUS_OK);
    head[3] = (uint32_t)(out->tables.count / HEAD - begin);
    if (two && !two->is_single) {
        TRY(tile_put_patterns(t, &out->tables, two));
        head[2] = (uint32_t)two->pieces;
    }
    if (three) {
        TRY(tile_put_all_offsets(t, &out->tables, three));
        tile_set_flags(t, i - 2, since, head);
        out->made += three->made;
        out->staged += three->staged;
        out->added += (uint64_t)tree_tile_sums(t, three) * dedisperse_shape_tile_dms(t->shape) *
                      t->columns * (three->is_single ? 1 : t->shape->pack);
    }
    head[0] = (uint32_t)begin;
    head[1] = (uint32_t)(out->tables.count / HEAD - begin);
    return STATUS_OK;
}

static status_t tile_put_phases(struct tree_tile *t, struct tree_tables *out)
{
    uint32_t since = 0;
    for (uint32_t i = 0; i < t->nsteps + 2; i++) {
        TRY(tile_put_phase(t, out, i, &since));
    }
    return STATUS_OK;
}

static status_t tables_put_tile(struct tree_tables *t, uint32_t dm)
{
    uint32_t *to = NULL;
    TRY(tables_grow(&t->tiles, 2, &to));
    to[0] = dm;
    to[1] = (uint32_t)(t->steps.count / HEAD);
    return STATUS_OK;
}

static status_t tables_add_tile(struct tree_tables *t, const struct dedisperse_shape_problem *p,
                                const struct dedisperse_shape *shape,
                                const struct dedisperse_shape_spans *spans, uint32_t dm)
{
    SCOPED(tree_tile_free) struct tree_tile tile = {.ndms = 0};
    TRY(tree_tile_create(p, shape, spans, dm, t->memory, &tile, &t->fits));
    return t->fits ? tile_put_phases(&tile, t) : STATUS_OK;
}

status_t tree_tables_create(const struct dedisperse_shape_problem *p,
                            const struct dedisperse_shape *shape,
                            const struct dedisperse_shape_spans *spans, uint64_t local,
                            uint32_t every, struct tree_tables *out)
{
    uint32_t dms = dedisperse_shape_tile_dms(shape);
    uint64_t blocks = 2 * (uint64_t)BLOCK * HEAD * sizeof(uint32_t);
    uint64_t words = min_u64(local, MOST_LOCAL) / sizeof(uint32_t);
    SCOPED(tree_tables_free)
    struct tree_tables t = {.ntiles = (uint32_t)ceil_div_u64(p->ndms, dms)};
    t.fits = words * sizeof(uint32_t) > blocks;
    t.memory = t.fits ? (uint32_t)(words - blocks / sizeof(uint32_t)) / 8 * 8 : 0;
    for (uint32_t i = every / 2 < t.ntiles ? every / 2 : 0; i < t.ntiles && t.fits; i += every) {
        TRY(tables_put_tile(&t, i * dms));
        TRY(tables_add_tile(&t, p, shape, spans, i * dms));
    }
    TRY(tables_put_tile(&t, p->ndms));
    t.phases = t.steps.count / HEAD * every;
    /* A phase looks at the two after it. */
    uint32_t *behind = NULL;
    TRY(tables_grow(&t.steps, 2 * HEAD, &behind));
    t.made *= every;
    t.staged *= every;
    t.added *= every;
    *out = t;
    t = (struct tree_tables){0};
    return STATUS_OK;
}

uint64_t tree_tables_local_bytes(const struct tree_tables *tables)
{
    return (tables->memory + 2 * (uint64_t)BLOCK * HEAD) * sizeof(uint32_t);
}

/* Registers of a work-item, so that as many groups run beside each other as find theirs there: the
 * compiler would take what there is for one. */
static uint32_t tables_most_registers(const struct dedisperse_shape_problem *p,
                                      const struct dedisperse_shape *s)
{
    enum { LEAST_BESIDE = 40, MOST_GROUPS = 4, MOST = 248, WARP = 32 };
    uint32_t items = (uint32_t)ceil_div_u64((uint64_t)s->time_items * s->dm_items, WARP) * WARP;
    uint32_t wanted = dedisperse_shape_registers(p, s) + LEAST_BESIDE;
    uint32_t groups = UNIT_REGISTERS / items / wanted;
    groups = groups < 1 ? 1 : groups > MOST_GROUPS ? MOST_GROUPS : groups;
    uint32_t most = UNIT_REGISTERS / items / groups / 8 * 8;
    return most > MOST ? MOST : most;
}

void tree_tables_options(const struct dedisperse_shape_problem *p, const struct dedisperse_shape *s,
                         const struct tree_tables *tables, const struct device_info *device,
                         struct text *out)
{
    uint32_t most = tables_most_registers(p, s);
    text_add(out,
             "-DSAMPLE=%u -DFLOATS=%d -DPACK=%u -DNROWS=%u -DGROUP_ROWS=%u -DMEMORY=%u "
             "-DBLOCK=%u -DLANES=%u -DTIME_ITEMS=%u -DDM_ITEMS=%u -DTIME_OUT=%u -DDM_OUT=%u "
             "-DSKEW=%u -DPTX=%u -DASYNC=%d -DPIECE=%u",
             p->sample_bytes, p->is_float, s->pack, p->nrows, s->group, tables->memory, BLOCK,
             tree_tile_lanes(s), s->time_items, s->dm_items, s->time_out, s->dm_out, s->skew,
             s->is_ptx, s->is_ptx && device->capability >= ASYNC_CAPABILITY, tree_tile_rounds(s));
    if (s->is_ptx) {
        text_add(out, " -cl-nv-maxrregcount=%u", most);
    }
}
