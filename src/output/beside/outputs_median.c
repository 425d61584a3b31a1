/* The median of each column of a product, when all of its rows are there: columns are shared among
 * the ranks, each of which reads all rows of its own; rank 0 puts them in. Exact, so the same bytes
 * on any number of ranks. Nothing of it is kept when it does not come to an end: the next run
 * begins it again. */
#include "output/outputs_parts.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/medians.h"
#include "ranks/agree.h"
#include "ranks/liveness.h"
#include "ranks/stop.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PIECE_BYTES = 16 << 20, /* that are read from one message to the next */
    WHOLE_ROW = 1 << 16,    /* bytes of a row up to which it is read as a whole */
    MOST_REDUCED = 1 << 24  /* numbers of a message */
};

struct counting {
    const outputs_t *outputs;
    const struct output *output;
    double patience;
    uint64_t columns; /* of the product */
    uint64_t tile;    /* most columns of a rank at a time */
    uint64_t rows;    /* read at a time */
    int is_whole;     /* whole rows are read */
    medians_t *medians;
    float *piece;
    uint32_t *found; /* [columns] bits of floats, where this rank has found them */
};

static status_t counting_begin(struct counting *c, uint32_t threads)
{
    status_t st = STATUS_OK;
    int size;
    MPI_Comm_size(c->outputs->comm, &size);
    c->columns = c->output->place.row_bytes / sizeof(float);
    c->tile = min_u64(ceil_div_u64(c->columns, (uint64_t)size), MEDIANS_COLUMNS);
    c->is_whole = c->output->place.row_bytes <= WHOLE_ROW;
    uint64_t row = (c->is_whole ? c->columns : c->tile) * sizeof(float);
    c->rows = max_u64(PIECE_BYTES / row, 1);
    TRY(medians_create(c->tile, threads, &c->medians));
    TRY(memory_zeroed((size_t)c->rows, (size_t)row, "rows", &c->piece));
    TRY(memory_zeroed((size_t)c->columns, sizeof *c->found, "medians", &c->found));
out:
    return st;
}

static void counting_end(struct counting *c)
{
    medians_destroy(c->medians);
    free(c->piece);
    free(c->found);
}

/* Rows first .. first + count - 1 of columns from .. from + columns - 1. */
static status_t counting_add(struct counting *c, uint64_t first, uint64_t count, uint64_t from,
                             uint64_t columns)
{
    status_t st = STATUS_OK;
    const struct output *output = c->output;
    uint64_t row = output->place.row_bytes;
    uint64_t at = output->place.data_offset + first * row;
    REQUIRE(!stop_wanted(), STATUS_STOPPED,
            "%s is complete, and its medians were being found; the same command goes on",
            output->part);
    if (columns == 0) {
        goto out;
    }
    if (c->is_whole) {
        TRY(file_read(output->fd, output->part, at, c->piece, count * row));
        medians_add(c->medians, c->piece + from, count, c->columns);
        goto out;
    }
    for (uint64_t i = 0; i < count; i++) {
        TRY(file_read(output->fd, output->part, at + i * row + from * sizeof(float),
                      c->piece + i * columns, columns * sizeof(float)));
    }
    medians_add(c->medians, c->piece, count, columns);
out:
    return st;
}

/* Within the patience: nobody else would see a rank hang now. */
static status_t counting_watch(const struct counting *c, liveness_watchdog_t **out)
{
    enum { MESSAGE_BYTES = 8192 };
    char message[MESSAGE_BYTES];
    if (c->outputs->rank != 0) {
        return STATUS_OK;
    }
    snprintf(message, sizeof message,
             "%.4000s: its medians could not be found: nothing has moved for %g s: the same "
             "command goes on",
             c->output->part, c->patience);
    return liveness_watchdog_begin(c->patience, message, out);
}

/* All rows of this rank's columns, three times. */
static status_t counting_columns_all(struct counting *c, uint64_t from, uint64_t columns)
{
    status_t st = STATUS_OK;
    MPI_Comm comm = c->outputs->comm;
    uint64_t rows = c->output->place.rows;
    liveness_watchdog_t *watchdog = NULL;
    for (int pass = 0; pass < MEDIANS_PASSES; pass++) {
        medians_begin(c->medians, pass, columns);
        for (uint64_t first = 0; first < rows; first += c->rows) {
            TRY(agree_all(comm, counting_watch(c, &watchdog)));
            TRY(agree_all(comm,
                          counting_add(c, first, min_u64(c->rows, rows - first), from, columns)));
            liveness_watchdog_end(watchdog);
            watchdog = NULL;
        }
    }
    medians_get(c->medians, (float *)(void *)(c->found + min_u64(from, c->columns - 1)));
out:
    liveness_watchdog_end(watchdog);
    return st;
}

/* To rank 0, which has all of them then, and writes them. */
static status_t counting_gather_all(struct counting *c)
{
    status_t st = STATUS_OK;
    MPI_Comm comm = c->outputs->comm;
    const struct output *output = c->output;
    for (uint64_t at = 0; at < c->columns; at += MOST_REDUCED) {
        int count = (int)min_u64(MOST_REDUCED, c->columns - at);
        int is_first = c->outputs->rank == 0;
        MPI_Reduce(is_first ? MPI_IN_PLACE : c->found + at, is_first ? c->found + at : NULL, count,
                   MPI_UINT32_T, MPI_BOR, 0, comm);
    }
    if (c->outputs->rank == 0) {
        TRY(file_write(output->fd, output->part, output->place.bandpass_offset, c->found,
                       c->columns * sizeof *c->found));
    }
out:
    return st;
}

status_t outputs_median_all(outputs_t *outputs, uint32_t i, uint32_t threads, double patience)
{
    status_t st = STATUS_OK;
    MPI_Comm comm = outputs->comm;
    struct counting c = {.outputs = outputs, .output = &outputs->outputs[i], .patience = patience};
    int size;
    MPI_Comm_size(comm, &size);
    TRY(agree_all(comm, counting_begin(&c, (uint32_t)max_u64(threads, 1))));
    for (uint64_t first = 0; first < c.columns; first += (uint64_t)size * c.tile) {
        uint64_t from = first + (uint64_t)outputs->rank * c.tile;
        uint64_t columns = from < c.columns ? min_u64(c.tile, c.columns - from) : 0;
        TRY(counting_columns_all(&c, from, columns));
    }
    TRY(agree_all(comm, counting_gather_all(&c)));
out:
    counting_end(&c);
    return st;
}
