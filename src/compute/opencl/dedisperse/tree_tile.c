/* Groups of rows one behind the other, steps of them side by side in local memory. */
#include "compute/opencl/dedisperse/tree_tile.h"

#include "base/memory.h"

#include <stdlib.h>

enum { LANES = 32 /* work-items of those of a group that NVIDIA runs together */ };

uint32_t tree_tile_levels(uint32_t group)
{
    return group == 4 ? 2 : group == 8 ? 3 : 4;
}

/* Groups that are added at once: of floats at least sixteen rows. */
static uint32_t tile_together(const struct dedisperse_shape_problem *p,
                              const struct dedisperse_shape *s)
{
    return !p->is_float ? 1 : s->group == 4 ? 4 : 2;
}

uint32_t tree_tile_entry(const struct dedisperse_shape *s)
{
    return s->group == 4 ? 8 : s->group == 8 ? 16 : 24;
}

uint32_t tree_tile_lanes(const struct dedisperse_shape *s)
{
    uint32_t items = s->time_items * s->dm_items;
    return items % LANES == 0 ? LANES : items;
}

uint32_t tree_tile_rounds(const struct dedisperse_shape *s)
{
    return s->group == 4 ? 3 : 2;
}

uint32_t tree_tile_piece(const struct dedisperse_shape *s)
{
    return tree_tile_rounds(s) * tree_tile_lanes(s);
}

/* Of each row the samples that the tile's DMs read. Rows behind the last are rows of zeros, as long
 * as others of their group. */
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
    status_t st = STATUS_OK;
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
    /* What is further apart than a row is long is shorter twice. */
    TRY(patterns_create(t->rel, t->ndms, p->nrows, nlevels, t->columns, &t->patterns));
    t->level = &t->patterns.levels[nlevels - 1];
    TRY(memory_zeroed((size_t)t->level->first[t->level->ngroups] + t->ngroups, sizeof *t->made,
                      "patterns", &t->made));
    tile_find_spans(t);
out:
    return st;
}

void tree_tile_free(struct tree_tile *t)
{
    patterns_free(&t->patterns);
    free(t->rel);
    free(t->base);
    free(t->count);
    free(t->staged);
    free(t->made);
    free(t->order);
    free(t->steps);
}

uint32_t tree_tile_first(const struct tree_tile *t, uint32_t g)
{
    uint32_t there = g < t->level->ngroups ? g : t->level->ngroups;
    return t->level->first[there] + (g - there);
}

struct pattern tree_tile_pattern(const struct tree_tile *t, uint32_t number)
{
    return number < t->level->first[t->level->ngroups] ? t->level->patterns[number]
                                                       : (struct pattern){.least = 0};
}

uint32_t tree_tile_words(const struct tree_tile *t, const struct pattern *p)
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
 * rows, and written in two; or because steps would not lie side by side. Words of samples are
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

uint32_t tree_tile_sums(const struct tree_tile *t, const struct tree_step *step)
{
    return (step->to - step->from) * (step->is_single ? t->shape->group : 1);
}

uint32_t tree_tile_rows(const struct tree_tile *t, const struct tree_step *step)
{
    return (step->to - step->from) * t->shape->group;
}

uint64_t tree_tile_pattern_fours(const struct tree_tile *t, const struct tree_step *step)
{
    return step->pieces * tree_tile_entry(t->shape) / 8;
}

uint64_t tree_tile_offset_fours(const struct tree_tile *t, const struct tree_step *step)
{
    uint64_t pairs = (uint64_t)(tree_tile_sums(t, step) + 1) / 2;
    return pairs * dedisperse_shape_tile_dms(t->shape) / 4;
}

/* Words from .. to - 1 of local memory. */
struct tile_span {
    uint32_t from, to;
};

/* Where `size` words are free beside `count` spans: as low, or as high, as can be. */
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

/* What a step that was placed has in local memory while it is added: sums, or single rows. */
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

/* Step number i, of as many groups as fit; maybe none. */
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

status_t tree_tile_create(const struct dedisperse_shape_problem *p,
                          const struct dedisperse_shape *shape,
                          const struct dedisperse_shape_spans *spans, uint32_t dm, uint32_t memory,
                          struct tree_tile *out, int *fits)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}
