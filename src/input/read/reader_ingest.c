/* Plain reads in pieces, which go on to a device while others are read. Two may be under way, so
 * that threads that find no piece of the one left begin with the other: a barrier behind each block
 * of 100 MiB took a fifth of the time. */
#include "base/memory.h"
#include "input/read/reader_parts.h"
#include "io/file.h"

enum {
    LEAST_BYTES = 4 << 20, /* from here on, several threads read */
    LEAST_PIECE = 64 << 10,
    PIECES_A_THREAD = 4, /* so that threads end together */
    MOST_INGESTS = 2
};

struct ingesting {
    struct reader_share share;
    const reader_t *reader;
    struct reader_pieces to;
    uint64_t offset, bytes, piece;
};

struct reader_ingests {
    struct ingesting items[MOST_INGESTS]; /* in turns */
    uint32_t begun, ended;
};

static uint64_t ingest_piece_bytes(uint64_t bytes, uint64_t most, uint32_t threads)
{
    uint64_t piece = bytes / ((uint64_t)PIECES_A_THREAD * threads) / LEAST_PIECE * LEAST_PIECE;
    return min_u64(most, max_u64(piece, LEAST_PIECE));
}

static status_t ingest_piece(const void *context, uint32_t thread, uint64_t unit)
{
    status_t st = STATUS_OK;
    const struct ingesting *ingesting = context;
    const struct reader_pieces *to = &ingesting->to;
    uint64_t at = unit * ingesting->piece;
    uint64_t bytes = min_u64(ingesting->piece, ingesting->bytes - at);
    void *out = NULL;
    TRY(to->room(to->context, thread - 1, &out));
    TRY(file_read(ingesting->reader->fd, ingesting->reader->path, ingesting->offset + at, out,
                  bytes));
    to->put(to->context, thread - 1, at, bytes);
out:
    return st;
}

/* Where samples lie, if they can be ingested now. */
static struct reader_lying ingest_find(const reader_t *reader, const struct slab *slab,
                                       uint64_t first, uint64_t count,
                                       const struct reader_pieces *to)
{
    struct reader_lying found = {.path = NULL};
    const struct archive *archive = reader->archive;
    const struct reader_ingests *all = reader->ingests;
    uint32_t under_way = all->begun - all->ended;
    int is_possible = reader->threads > 1 && reader->threads - 1 <= to->threads &&
                      slab_bytes(slab, count) >= LEAST_BYTES && under_way < MOST_INGESTS &&
                      !lost_find(archive->losses.lost, archive->losses.nlost, first, count);
    if (is_possible) {
        found = reader_find_lying(archive, slab, first, count);
    }
    if (under_way > 0 && found.path != reader->path) {
        found.path = NULL;
    }
    return found;
}

status_t reader_ingest_begin(reader_t *reader, const struct slab *slab, uint64_t first,
                             uint64_t count, const struct reader_pieces *to, int *begun)
{
    status_t st = STATUS_OK;
    *begun = 0;
    if (!reader->ingests) {
        TRY(memory_zeroed(1, sizeof *reader->ingests, "ingests", &reader->ingests));
    }
    struct reader_ingests *all = reader->ingests;
    const struct reader_lying found = ingest_find(reader, slab, first, count, to);
    if (!found.path) {
        goto out;
    }
    TRY(reader_open_file(reader, found.part, found.path));
    struct ingesting *ingesting = &all->items[all->begun % MOST_INGESTS];
    uint64_t bytes = slab_bytes(slab, count);
    uint64_t piece = ingest_piece_bytes(bytes, to->piece, reader->threads - 1);
    *ingesting = (struct ingesting){
        .share = {.units = ceil_div_u64(bytes, piece), .work = ingest_piece, .context = ingesting},
        .reader = reader,
        .to = *to,
        .offset = found.file_offset,
        .bytes = bytes,
        .piece = piece};
    TRY(reader_share_begin(reader, &ingesting->share));
    all->begun++;
    *begun = 1;
out:
    return st;
}

/* Tends until the share is done; where that fails, gives it up. */
static status_t ingest_tend(reader_t *reader, struct reader_share *share, status_t (*tend)(void *),
                            void *context)
{
    status_t st = STATUS_OK;
    while (!reader_share_is_done(reader, share)) {
        TRY(tend(context));
    }
out:
    if (st != STATUS_OK) {
        reader_share_give_up(reader, share);
    }
    return st;
}

status_t reader_ingest_end(reader_t *reader, status_t (*tend)(void *), void *context, int *done)
{
    status_t st = STATUS_OK;
    struct reader_ingests *all = reader->ingests;
    struct ingesting *ingesting = &all->items[all->ended % MOST_INGESTS];
    *done = 0;
    st = ingest_tend(reader, &ingesting->share, tend, context);
    /* Only now, so that nobody opens another file meanwhile; tend() may have begun the next. */
    all->ended++;
    struct ingesting *next = &all->items[all->ended % MOST_INGESTS];
    int has_next = all->begun != all->ended;
    if (st == STATUS_OK && !ingesting->share.has_failed) {
        *done = 1;
        file_expect(reader->fd, ingesting->offset + (has_next ? 2 : 1) * ingesting->bytes,
                    ingesting->bytes);
        reader_hint(reader, ingesting->offset, ingesting->bytes);
        TRY(reader_check_file(reader));
    } else if (st == STATUS_OK && has_next) {
        TRY(ingest_tend(reader, &next->share, tend, context));
    } else if (has_next) {
        reader_share_give_up(reader, &next->share);
    }
out:
    return st;
}
