/* The last step of finishing: rows become few bits, block by block (dsp/steps.h). A block is a
 * fixed number of rows, counted from the observation's first. Chunks begin with a block, so no rows
 * are held at the end of a chunk. Rows that the backend has rounded are unchanged: only their
 * counts of clipped numbers are added up until a block is whole. */
#include "pipeline/finish/finish.h"

#include "plan/plan_products.h"
#include "product/ifs.h"

#include <string.h>

struct quantise_step {
    const struct channelise_plan *work;
    const struct product_spec *spec;
    const float *given; /* the first block's, of all streams: scale, then offset; NULL: none */
    int is_rounded;     /* by the backend */
    struct steps_form form;
    uint32_t parts; /* numbers of a line */
    uint64_t lines; /* of a group */
    struct steps_sums sums;
    float *offset, *factor; /* [lines] */
    float *held;            /* [scale_rows][lines][parts] of a block that is not whole yet */
    uint64_t nheld;
    void *made, *next; /* char [rows][lines][parts] of whole ones: of this run, and of the next */
    float *weights;    /* [rows][columns]: of the rows that are held and come in, */
    char *holes;       /* [rows] likewise */
    uint64_t nkept;    /* rows whose weights and holes are there from before, */
    uint64_t nsent;    /* and how many of them belong to blocks that have left */
    float *scales, *offsets; /* [blocks][lines] of whole ones */
    uint16_t *low, *high;
    uint64_t ncounted; /* blocks of the last rows that were counted to their end */
};

static void quantise_destroy(void *context)
{
    struct quantise_step *step = context;
    if (step) {
        MEMORY_FREE(step->sums.first, step->offset, step->held, step->made, step->next,
                    step->weights, step->holes, step->scales, step->low, step);
    }
}
SCOPED_END_ANY(quantise_destroy)

/* Allocates the memory that budget_block_bytes() counts. */
static status_t quantise_make_room(struct quantise_step *step, uint64_t rows, uint64_t weights)
{
    uint64_t block = min_u64(step->spec->steps.rows, step->spec->rows);
    uint64_t blocks = rows / block + 2;
    uint64_t lines = step->lines;
    TRY(memory_zeroed((size_t)lines, 4 * sizeof(double), "scales", &step->sums.first));
    step->sums.sum = step->sums.first + lines;
    step->sums.squares = step->sums.sum + lines;
    step->sums.count = step->sums.squares + lines;
    TRY(memory_zeroed((size_t)lines, 2 * sizeof(float), "scales", &step->offset));
    step->factor = step->offset + lines;
    TRY(memory_zeroed((size_t)(blocks * lines), 2 * sizeof(float), "scales", &step->scales));
    step->offsets = step->scales + blocks * lines;
    TRY(memory_zeroed((size_t)(blocks * lines), 2 * sizeof(uint16_t), "counts", &step->low));
    step->high = step->low + blocks * lines;
    if (step->is_rounded) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)(block * lines), step->parts * sizeof(float), "rows", &step->held));
    const size_t bytes = step->parts * step->form.bits / 8;
    TRY(memory_zeroed((size_t)((block + rows) * lines), bytes, "rows", &step->made));
    TRY(plan_products_are_put_beside(step->work)
            ? memory_zeroed((size_t)((block + rows) * lines), bytes, "rows", &step->next)
            : STATUS_OK);
    TRY(memory_zeroed((size_t)(block + rows), (size_t)weights * sizeof(float), "weights",
                      &step->weights));
    return memory_zeroed((size_t)(block + rows), 1, "holes", &step->holes);
}

static status_t quantise_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                                void **out)
{
    const struct product_spec *spec = &work->products[i].spec;
    uint32_t streams = work->chunking.group_streams;
    SCOPED(quantise_destroy_at) struct quantise_step *step = NULL;
    *out = NULL;
    if (!quantised_is(spec)) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *step, "a product in few bits", &step));
    step->work = work;
    step->spec = spec;
    step->given = work->products[i].first_scales;
    step->is_rounded = plan_products_rounds(work, i);
    step->form = quantised_form(spec->kind, spec->steps.bits);
    step->parts = step->form.is_signed ? 2 : 1;
    step->lines = plan_products_lines(work, i, streams);
    TRY(quantise_make_room(step, rows, plan_products_weights(work, i, streams)));
    *out = memory_move(&step);
    return STATUS_OK;
}

/* Rows of a run that belong to one block. */
struct quantise_piece {
    uint64_t done, count;  /* rows of the run before it, and its own */
    uint64_t held;         /* rows of its block from runs before */
    uint64_t number, made; /* whole blocks of the run before it, and their rows */
    int is_whole;          /* it ends its block */
};

/* Takes the next piece, where the one before, or none, was; returns 0 after the last. */
static int quantise_next(const struct quantise_step *step, const struct finish_rows *rows,
                         struct quantise_piece *piece)
{
    uint64_t ended = piece->is_whole ? piece->held + piece->count : 0;
    piece->done += piece->count;
    piece->held = piece->is_whole ? 0 : piece->held + piece->count;
    piece->number += piece->is_whole ? 1 : 0;
    piece->made += ended;
    piece->count = min_u64(step->spec->steps.rows - piece->held, rows->count - piece->done);
    piece->is_whole = piece->held + piece->count == step->spec->steps.rows ||
                      rows->first + piece->done + piece->count == step->spec->rows;
    return piece->count > 0;
}

/* The rows of a run; each task has some lines of all of them. */
struct quantise_work {
    struct quantise_step *step;
    const struct finish_rows *rows;
    uint64_t lines, tile;
};

/* Lines first .. first + count - 1 of a block. */
struct quantise_lines {
    uint64_t first, count;
};

/* Scales that were given, of lines of the chunk. */
static void quantise_give(const struct quantise_step *step, const struct chunk *chunk,
                          struct quantise_lines of, float *scale, float *offset)
{
    uint64_t all = step->spec->nifs * step->spec->frequencies;
    const struct chunk_row row = plan_products_row(step->spec);
    const struct chunk_pieces lines = chunk_pieces_of(&step->work->chunking, chunk, all, &row);
    for (uint64_t done = 0, count = 0; done < of.count; done += count) {
        const float *from = step->given + chunk_pieces_at(&lines, of.first + done);
        count = min_u64(of.count - done, lines.size - (of.first + done) % lines.size);
        memcpy(scale + done, from, (size_t)count * sizeof *scale);
        memcpy(offset + done, from + all, (size_t)count * sizeof *offset);
    }
}

/* Measures lines of a piece, and rounds them if it ends its block. */
static void quantise_take(const struct quantise_work *work, struct quantise_lines of,
                          const struct quantise_piece *piece)
{
    struct quantise_step *step = work->step;
    const size_t stride = (size_t)work->lines * step->parts;
    const size_t before = (size_t)of.first * step->parts;
    const size_t count = (size_t)of.count;
    const size_t bytes = step->form.bits / 8;
    const float *from = (const float *)work->rows->data + piece->done * stride + before;
    float *held = step->held + before;
    uint64_t into = piece->number * work->lines + of.first;
    float *scale = step->scales + into;
    float *offset = step->offsets + into;
    float *factor = step->factor + of.first;
    struct steps_sums sums = {step->sums.first + of.first, step->sums.sum + of.first,
                              step->sums.squares + of.first, step->sums.count + of.first};
    double *const each[] = {sums.first, sums.sum, sums.squares, sums.count};
    int is_measured = !step->given || step->work->is_judged;
    for (int i = 0; i < 4 && piece->held == 0; i++) {
        memset(each[i], 0, count * sizeof **each);
    }
    if (is_measured) {
        steps_measure(step->form, from, (size_t)piece->count, stride, count, sums);
    }
    for (uint64_t i = 0; i < piece->count && !piece->is_whole; i++) {
        memcpy(held + (piece->held + i) * stride, from + i * stride,
               count * step->parts * sizeof *from);
    }
    if (!piece->is_whole) {
        return;
    }
    if (is_measured) {
        steps_settle(step->form, sums, count, scale, offset);
    }
    /* Where the first block's count for all, lines without information, which have no number or
     * only zeros, are marked by the scale 0: they get another one when all lines are known
     * (first_scales_make). */
    for (size_t i = 0; i < count && is_measured && step->spec->steps.are_first; i++) {
        if (sums.first[i] == 0 && sums.squares[i] == 0) {
            scale[i] = offset[i] = 0;
        }
    }
    if (step->given) {
        quantise_give(step, work->rows->chunk, of, factor, step->offset + of.first);
        steps_factors(factor, count, factor);
    } else {
        steps_factors(scale, count, factor);
        memcpy(step->offset + of.first, offset, count * sizeof *offset);
    }
    if (!is_measured) {
        quantise_give(step, work->rows->chunk, of, scale, offset);
    }
    memset(step->low + into, 0, count * sizeof *step->low);
    memset(step->high + into, 0, count * sizeof *step->high);
    struct steps_rows rounded = {.form = step->form,
                                 .rows = held,
                                 .count = (size_t)piece->held,
                                 .stride = stride,
                                 .lines = count,
                                 .offset = step->offset + of.first,
                                 .factor = factor,
                                 .out =
                                     (char *)step->made + (piece->made * stride + before) * bytes,
                                 .low = step->low + into,
                                 .high = step->high + into};
    steps_store(&rounded);
    rounded.rows = from;
    rounded.count = (size_t)piece->count;
    rounded.out = (char *)rounded.out + piece->held * stride * bytes;
    steps_store(&rounded);
}

static void quantise_tile(void *context, uint32_t thread, uint64_t tile)
{
    const struct quantise_work *work = context;
    const uint64_t first = tile * work->tile;
    const struct quantise_lines of = {first, min_u64(work->tile, work->lines - first)};
    struct quantise_piece piece = {.held = work->step->nheld};
    (void)thread;
    while (quantise_next(work->step, work->rows, &piece)) {
        quantise_take(work, of, &piece);
    }
}

/* Adds up what the backend has clipped; blocks that are whole leave. */
static void quantise_count(struct quantise_step *step, struct finish_rows *rows, uint64_t lines)
{
    const uint64_t block = step->spec->steps.rows;
    const uint64_t end = rows->first + rows->count;
    const int is_begun = rows->first % block > 0; /* chunks begin with one */
    uint16_t *counts[2] = {step->low, step->high};
    if (rows->count == 0) {
        return;
    }
    for (int side = 0; side < 2; side++) {
        uint16_t *count = counts[side];
        uint64_t carried = is_begun ? lines : 0;
        memmove(count, count + step->ncounted * lines, (size_t)carried * sizeof *count);
        memset(count + carried, 0,
               (size_t)(rows->clipped_blocks * lines - carried) * sizeof *count);
        for (uint64_t i = 0; i < rows->clipped_blocks * lines; i++) {
            count[i] = (uint16_t)(count[i] + rows->clipped[2 * i + (uint64_t)side]);
        }
    }
    rows->steps = (struct product_steps){.first = rows->first / block,
                                         .scale = step->scales,
                                         .offset = step->offsets,
                                         .low = step->low,
                                         .high = step->high};
    for (uint64_t i = 0; i < rows->clipped_blocks; i++) {
        int is_whole = (rows->steps.first + i + 1) * block <= end || end == step->spec->rows;
        rows->steps.count += is_whole ? 1 : 0;
        quantise_give(step, rows->chunk, (struct quantise_lines){0, lines},
                      step->scales + i * lines, step->offsets + i * lines);
    }
    step->ncounted = rows->steps.count;
}

/* Weights and holes of rows that come in stand after those that are held. */
static void quantise_keep_beside(struct quantise_step *step, const struct finish_rows *rows,
                                 uint64_t lines)
{
    uint64_t left = step->nkept - step->nsent;
    memmove(step->weights, step->weights + step->nsent * lines,
            (size_t)(left * lines) * sizeof *step->weights);
    memmove(step->holes, step->holes + step->nsent, (size_t)left);
    if (rows->weights) {
        memcpy(step->weights + left * lines, rows->weights,
               (size_t)(rows->count * lines) * sizeof *step->weights);
    }
    if (rows->holes) {
        memcpy(step->holes + left, rows->holes, (size_t)rows->count);
    } else {
        memset(step->holes + left, 0, (size_t)rows->count);
    }
    step->nkept = left + rows->count;
    step->nsent = 0;
}

static status_t quantise_run(void *context, struct finish_rows *rows)
{
    struct quantise_step *step = context;
    uint64_t lines = rows->columns * rows->channels;
    uint64_t beside =
        step->spec->flag.is_on
            ? lines
            : chunk_share(&step->work->chunking, ifs_weights(step->spec), rows->chunk->streams);
    /* Enough tasks for all threads, but long pieces of rows. */
    const struct quantise_work work = {step, rows, lines, min_u64(max_u64(lines / 64, 128), 1024)};
    if (step->is_rounded) {
        quantise_count(step, rows, lines);
        return STATUS_OK;
    }
    if (rows->is_first) {
        step->nheld = step->nkept = step->nsent = 0;
    }
    uint64_t first = rows->first - step->nheld;
    rows->steps = (struct product_steps){.first = first / step->spec->steps.rows};
    quantise_keep_beside(step, rows, beside);
    struct quantise_piece piece = {.held = step->nheld};
    finish_each(rows, ceil_div_u64(lines, work.tile), quantise_tile, (void *)&work);
    while (quantise_next(step, rows, &piece)) {
    }
    step->nheld = piece.held;
    rows->steps.count = piece.number;
    rows->steps.scale = step->scales;
    rows->steps.offset = step->offsets;
    rows->steps.low = step->low;
    rows->steps.high = step->high;
    step->nsent = piece.made;
    if (!step->work->is_judged) {
        rows->first = first;
        rows->count = piece.made;
        rows->data = step->made;
        finish_turn(rows, &step->made, &step->next);
        rows->weights = step->weights;
        rows->holes = memchr(step->holes, 1, (size_t)piece.made) ? step->holes : NULL;
    }
    return STATUS_OK;
}

const struct finish_step finish_quantise = {
    .create = quantise_create, .run = quantise_run, .destroy = quantise_destroy};
