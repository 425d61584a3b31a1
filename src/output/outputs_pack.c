/* Compresses the rows of products that are complete, completes files of other formats, puts in
 * medians, before they get their names. Every rank reads chunks and compresses them; rank 0 gives
 * them their places in a second file, in order, and every rank writes its own. Nothing of that is
 * kept when it does not come to an end: the next run begins it again. */
#include "base/memory.h"
#include "base/pool.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/mark.h"
#include "output/outputs_parts.h"
#include "product/candidates.h"
#include "product/codec.h"
#include "product/medians.h"
#include "ranks/agree.h"
#include "ranks/stop.h"

/* Starts a watchdog on rank 0 that ends the process if the finishing of a product hangs longer than
 * the patience: no other part would notice. Ends the watchdog *out of before. */
static status_t pack_watch(const outputs_t *outputs, const struct output *output, double patience,
                           const char *what, watchdog_t **out)
{
    enum { MESSAGE_BYTES = 8192 };
    char message[MESSAGE_BYTES];
    watchdog_end(memory_move(out));
    if (outputs->rank != 0) {
        return STATUS_OK;
    }
    snprintf(message, sizeof message,
             "%.4000s%s: no progress for %g s: run the same command to resume", output->part, what,
             patience);
    return watchdog_begin(patience, message, out);
}

/* The median of each column of a product, when all of its rows are there: columns are shared among
 * the ranks, each of which reads all rows of its own; rank 0 puts them in. Exact, so the same bytes
 * on any number of ranks. Nothing of it is kept when it does not come to an end: the next run
 * begins it again. */

enum {
    WHOLE_ROW = 1 << 16 /* bytes of a row up to which it is read as a whole */
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
    float *found; /* [tile] this rank's; on rank 0, which is the first, [ranks][tile] */
};

static status_t counting_begin(struct counting *c, uint32_t threads)
{
    c->columns = c->output->place.row_bytes / sizeof(float);
    c->tile = min_u64(ceil_div_u64(c->columns, (uint64_t)c->outputs->size), MEDIANS_COLUMNS);
    c->is_whole = c->output->place.row_bytes <= WHOLE_ROW;
    uint64_t row = (c->is_whole ? c->columns : c->tile) * sizeof(float);
    c->rows = max_u64(MEDIANS_PIECE / row, 1);
    TRY(medians_create(c->tile, threads, &c->medians));
    TRY(memory_zeroed((size_t)c->rows, (size_t)row, "rows", &c->piece));
    const size_t ranks = c->outputs->rank == 0 ? (size_t)c->outputs->size : 1;
    return memory_zeroed(ranks * c->tile, sizeof *c->found, "medians", &c->found);
}

/* Rows first .. first + count - 1 of columns from .. from + columns - 1. */
static status_t counting_add(struct counting *c, uint64_t first, uint64_t count, uint64_t from,
                             uint64_t columns)
{
    const struct output *output = c->output;
    uint64_t row = output->place.row_bytes;
    uint64_t at = output->place.data_offset + first * row;
    REQUIRE(!stop_wanted(), STATUS_STOPPED,
            "%s is complete, and its medians were being found; run the same command to resume",
            output->part);
    if (columns == 0) {
        return STATUS_OK;
    }
    if (c->is_whole) {
        TRY(file_read(output->fd, output->part, at, c->piece, count * row));
        medians_add(c->medians, c->piece + from, count, c->columns);
        return STATUS_OK;
    }
    for (uint64_t i = 0; i < count; i++) {
        TRY(file_read(output->fd, output->part, at + i * row + from * sizeof(float),
                      c->piece + i * columns, columns * sizeof(float)));
    }
    medians_add(c->medians, c->piece, count, columns);
    return STATUS_OK;
}

/* Reads all rows of this rank's columns, three times. */
static status_t counting_columns_all(struct counting *c, uint64_t from, uint64_t columns)
{
    MPI_Comm comm = c->outputs->comm;
    uint64_t rows = c->output->place.rows;
    SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
    for (int pass = 0; pass < MEDIANS_PASSES; pass++) {
        medians_begin(c->medians, pass, columns);
        for (uint64_t first = 0; first < rows; first += c->rows) {
            TRY(agree_all(comm, pack_watch(c->outputs, c->output, c->patience,
                                           ": its medians could not be found", &watchdog)));
            TRY(agree_all(comm,
                          counting_add(c, first, min_u64(c->rows, rows - first), from, columns)));
        }
    }
    medians_get(c->medians, c->found);
    return STATUS_OK;
}

/* Collects the medians of columns from `first` on, of all ranks, on rank 0, which writes them. */
static status_t counting_gather_all(struct counting *c, uint64_t first)
{
    const struct output *output = c->output;
    const int is_first = c->outputs->rank == 0;
    const uint64_t count = min_u64((uint64_t)c->outputs->size * c->tile, c->columns - first);
    MPI_Gather(is_first ? MPI_IN_PLACE : c->found, (int)c->tile, MPI_FLOAT, c->found, (int)c->tile,
               MPI_FLOAT, 0, c->outputs->comm);
    return is_first ? file_write(output->fd, output->part,
                                 output->place.bandpass_offset + first * sizeof *c->found, c->found,
                                 count * sizeof *c->found)
                    : STATUS_OK;
}

SCOPED_CALLS(counting_end, struct counting, medians_destroy(at->medians), free(at->piece),
             free(at->found))

/* Puts in the medians of product i, all of which is there, with this number of threads a rank.
 * Fails as outputs_pack_all(). Collective. */
static status_t outputs_median_all(outputs_t *outputs, uint32_t i, uint32_t threads,
                                   double patience)
{
    MPI_Comm comm = outputs->comm;
    SCOPED(counting_end)
    struct counting c = {.outputs = outputs, .output = &outputs->outputs[i], .patience = patience};
    TRY(agree_all(comm, counting_begin(&c, (uint32_t)max_u64(threads, 1))));
    for (uint64_t first = 0; first < c.columns; first += (uint64_t)outputs->size * c.tile) {
        uint64_t from = first + (uint64_t)outputs->rank * c.tile;
        uint64_t columns = from < c.columns ? min_u64(c.tile, c.columns - from) : 0;
        TRY(counting_columns_all(&c, from, columns));
        TRY(agree_all(comm, counting_gather_all(&c, first)));
    }
    return STATUS_OK;
}

/* Completes what ranks have written of product i in another format; each rank has some of it. Fails
 * as outputs_pack_all(). Collective. */
static status_t outputs_complete_all(const outputs_t *outputs, const struct output *output,
                                     double patience)
{
    enum { ROUND = 16 }; /* rows of a table, from one message to the next */
    MPI_Comm comm = outputs->comm;
    SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
    uint64_t step = (uint64_t)outputs->size * ROUND;
    for (uint64_t first = 0; first < output->rows.table.count; first += step) {
        TRY(agree_all(comm,
                      pack_watch(outputs, output, patience, " could not be completed", &watchdog)));
        TRY(agree_all(
            comm,
            stop_wanted()
                ? report_fail(
                      STATUS_STOPPED,
                      "%s has all rows, and was being completed; run the same command to resume",
                      output->part)
                : export_rows_complete(output->writer, first + (uint64_t)outputs->rank * ROUND,
                                       ROUND, 0)));
    }
    return agree_all(comm, file_sync_data(output->fd, output->part));
}

/* Chunks of a round that this rank has compressed. */
struct squeezed {
    char *made;                    /* [PACKED_ROUND][most] */
    uint64_t sizes[PACKED_ROUND];  /* bytes; 0: no chunk */
    uint64_t places[PACKED_ROUND]; /* in the file */
};

/* One product on this rank. */
struct squeezing {
    outputs_t *outputs;
    struct output *output;
    uint32_t threads;
    double patience;
    struct packed_shape shape;
    struct claim_mark mark; /* of the file that is made, for all ranks, */
    int fd;                 /* and its descriptor here */
    packed_t *packed;       /* rank 0's */
    uint64_t *all;          /* [ranks][PACKED_ROUND] sizes, then places */
    uint64_t most;          /* bytes of a compressed chunk */
    codec_t **compressors;
    char **chunks;             /* [threads] uncompressed */
    struct squeezed rounds[2]; /* one is compressed while the other is written */
};

static status_t squeeze_begin(struct squeezing *s)
{
    size_t bytes = (size_t)packed_chunk_bytes(&s->shape);
    s->most = codec_most_bytes(bytes);
    TRY(memory_zeroed(s->threads, sizeof *s->compressors, "compressors", &s->compressors));
    TRY(memory_zeroed(s->threads, sizeof *s->chunks, "chunks", &s->chunks));
    for (uint32_t i = 0; i < s->threads; i++) {
        TRY(codec_create(s->shape.compression, (size_t)s->shape.element_bytes, bytes,
                         &s->compressors[i]));
        TRY(memory_aligned(bytes, 1, "a chunk", &s->chunks[i]));
    }
    for (int i = 0; i < 2; i++) {
        TRY(memory_aligned((size_t)s->most, PACKED_ROUND, "compressed chunks", &s->rounds[i].made));
    }
    TRY(memory_zeroed((size_t)s->outputs->size * PACKED_ROUND, sizeof *s->all, "sizes", &s->all));
    if (s->outputs->rank == 0) {
        s->fd = s->output->packed_fd;
    } else {
        TRY(claim_open(s->output->packed_path, &s->mark, &s->fd));
        TRY(claim_share(s->fd, s->output->packed_path));
    }
    return STATUS_OK;
}

static void squeeze_end(struct squeezing *s)
{
    for (uint32_t i = 0; i < s->threads; i++) {
        codec_destroy(s->compressors ? s->compressors[i] : NULL);
        free(s->chunks ? s->chunks[i] : NULL);
    }
    MEMORY_FREE(s->compressors, s->chunks, s->rounds[0].made, s->rounds[1].made, s->all);
    if (s->outputs->rank > 0) {
        file_close(s->fd);
    }
    packed_destroy(s->packed);
}

struct round {
    struct squeezing *squeezing;
    uint64_t own, count;           /* the chunks of this rank: the first, and how many */
    struct squeezed *now, *before; /* being compressed, and written */
    status_t failed[2 * PACKED_ROUND];
    struct text causes[2 * PACKED_ROUND];
};

/* Compresses chunk i of a round. */
static status_t squeeze_one(const struct round *round, uint32_t thread, uint64_t i)
{
    const struct squeezing *s = round->squeezing;
    const struct output *output = s->output;
    size_t bytes = 0;
    if (i >= round->count) {
        return STATUS_OK;
    }
    TRY(packed_read_chunk(&s->shape, output->fd, output->part, &output->place, round->own + i,
                          s->chunks[thread]));
    TRY(codec_chunk(s->compressors[thread], s->chunks[thread], round->now->made + i * s->most,
                    &bytes));
    round->now->sizes[i] = bytes;
    return STATUS_OK;
}

/* Tasks of both kinds by turns, so that some threads compress while others write. */
static void squeeze_task(void *context, uint32_t thread, uint64_t task)
{
    struct round *round = context;
    const struct squeezing *s = round->squeezing;
    const struct squeezed *before = round->before;
    uint64_t i = task / 2;
    round->failed[task] = task % 2 == 0
                              ? squeeze_one(round, thread, i)
                              : file_write(s->fd, s->output->packed_path, before->places[i],
                                           before->made + i * s->most, before->sizes[i]);
    if (round->failed[task] != STATUS_OK) {
        text_add(&round->causes[task], "%s", report_cause());
        report_clear();
    }
}

/* This rank's chunks of a round, compressed by its threads, and written of the round before. */
static status_t squeeze_round(struct squeezing *s, uint64_t first, struct squeezed *now,
                              struct squeezed *before)
{
    status_t st = STATUS_OK;
    uint64_t count = packed_count(&s->shape);
    uint64_t left = count - min_u64(first, count);
    uint64_t share = min_u64(ceil_div_u64(left, (uint64_t)s->outputs->size), PACKED_ROUND);
    uint64_t own = min_u64((uint64_t)s->outputs->rank * share, left);
    struct round round = {.squeezing = s,
                          .own = first + own,
                          .count = min_u64(share, left - own),
                          .now = now,
                          .before = before};
    memset(now->sizes, 0, sizeof now->sizes);
    pool_each(s->threads, (uint64_t)2 * PACKED_ROUND, squeeze_task, &round);
    for (uint64_t i = 0; i < (uint64_t)2 * PACKED_ROUND; i++) {
        const char *cause = round.causes[i].data;
        if (round.failed[i] != STATUS_OK && st == STATUS_OK) {
            st = report_fail(round.failed[i], "%s", cause ? cause : "a chunk");
        }
        text_free(&round.causes[i]);
    }
    if (st == STATUS_OK && stop_wanted()) {
        st = report_fail(STATUS_STOPPED,
                         "%s is complete, and was being compressed; run the same command to resume",
                         s->output->part);
    }
    return st;
}

static status_t squeeze_rounds_all(struct squeezing *s)
{
    MPI_Comm comm = s->outputs->comm;
    SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
    uint64_t step = (uint64_t)s->outputs->size * PACKED_ROUND;
    uint64_t end = packed_count(&s->shape) + step; /* the last round only writes */
    for (uint64_t first = 0; first < end; first += step) {
        struct squeezed *now = &s->rounds[first / step % 2];
        struct squeezed *before = &s->rounds[(first / step + 1) % 2];
        TRY(agree_all(comm, pack_watch(s->outputs, s->output, s->patience,
                                       ": its rows could not be compressed", &watchdog)));
        TRY(agree_all(comm, squeeze_round(s, first, now, before)));
        MPI_Allgather(now->sizes, PACKED_ROUND, MPI_UINT64_T, s->all, PACKED_ROUND, MPI_UINT64_T,
                      comm);
        status_t st = STATUS_OK;
        for (uint64_t i = 0; i < step && s->outputs->rank == 0 && st == STATUS_OK; i++) {
            st = s->all[i] > 0 ? packed_place(s->packed, s->all[i], &s->all[i]) : STATUS_OK;
        }
        TRY(agree_all(comm, st)); /* rank 0 has turned the sizes of all chunks into their places */
        share_bytes_all(comm, s->all, (size_t)step * sizeof *s->all);
        memcpy(now->places, s->all + (uint64_t)s->outputs->rank * PACKED_ROUND, sizeof now->places);
    }
    /* A slow disk may take longer for all of it than the watchdog waits. */
    watchdog_end(memory_move(&watchdog));
    return agree_all(comm, file_sync_data(s->fd, s->output->packed_path));
}

/* On rank 0. The other file is locked, too: it will be the .part. */
static status_t squeeze_make_file(struct squeezing *s, uint32_t i)
{
    const outputs_t *outputs = s->outputs;
    struct output *output = s->output;
    SCOPED(free_at) char *made = NULL; /* no folder: that of the .part */
    SCOPED(candidates_free) struct candidates found = {.count = 0};
    struct product_spec spec = outputs->spec->items[i].spec;
    struct dedispersed_spec series;
    TRY(outputs_put_counts(output));
    if (spec.kind == PRODUCT_CANDIDATES) {
        TRY(candidates_find(&spec, output->fd, output->part, &output->place, &found));
        series = *spec.series;
        series.search.found = &found;
        spec.series = &series;
    }
    TRY(claim_part(output->packed_path, outputs->options.force, product_is_ours, &output->packed_fd,
                   &made));
    const struct packed_files files = {.from = output->fd,
                                       .to = output->packed_fd,
                                       .part = output->part,
                                       .path = output->packed_path};
    TRY(packed_begin(&files, &spec, outputs->spec->items[i].compression, &s->packed, &s->shape));
    TRY(claim_mark_of(output->packed_fd, output->packed_path, &s->mark));
    return claim_share(output->packed_fd, output->packed_path);
}

/* Completes the compressed file on rank 0: metadata, sync, mark. */
static status_t squeeze_finish_file(struct squeezing *s)
{
    TRY(packed_finish(s->packed, &s->output->packed_place));
    TRY(file_cut_appended(s->fd, s->output->packed_path, s->output->packed_place.file_bytes));
    TRY(file_sync(s->output->packed_fd, s->output->packed_path));
    return mark_hdf5(s->output->packed_fd, s->output->packed_path, MARK_NONE);
}

static const char made[] = ": its compressed file could not be made";

static status_t squeeze_all(outputs_t *outputs, uint32_t i, uint32_t threads, double patience)
{
    MPI_Comm comm = outputs->comm;
    SCOPED(squeeze_end)
    struct squeezing s = {.outputs = outputs,
                          .output = &outputs->outputs[i],
                          .threads = (uint32_t)max_u64(min_u64(threads, PACKED_ROUND), 1),
                          .patience = patience,
                          .fd = -1};
    SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
    TRY(agree_all(comm, pack_watch(outputs, s.output, patience, made, &watchdog)));
    TRY(agree_all(comm, outputs->rank == 0 ? squeeze_make_file(&s, i) : STATUS_OK));
    share_bytes_all(comm, &s.shape, sizeof s.shape);
    share_bytes_all(comm, &s.mark, sizeof s.mark);
    TRY(agree_all(comm, squeeze_begin(&s)));
    watchdog_end(memory_move(&watchdog));
    TRY(squeeze_rounds_all(&s));
    TRY(agree_all(comm, pack_watch(outputs, s.output, patience, made, &watchdog)));
    return agree_all(comm, outputs->rank == 0 ? squeeze_finish_file(&s) : STATUS_OK);
}

status_t outputs_pack_all(outputs_t *outputs, uint32_t threads, double patience)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct output *output = &outputs->outputs[i];
        const struct output_spec_item *item = &outputs->spec->items[i];
        int is_left = !output->is_published && !output->is_packed;
        share_bytes_all(outputs->comm, &is_left, sizeof is_left);
        TRY(is_left && item->has_bandpass ? outputs_median_all(outputs, i, threads, patience)
                                          : STATUS_OK);
        if (is_left && item->format != FILE_HDF5) {
            TRY(outputs_complete_all(outputs, output, patience));
        } else if (is_left && item->compression != COMPRESSION_NONE) {
            TRY(squeeze_all(outputs, i, threads, patience));
        }
    }
    return STATUS_OK;
}
