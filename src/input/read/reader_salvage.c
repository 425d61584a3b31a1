/* What can perhaps not be read, to the sample: the same whatever is asked for, by whom. */
#include "base/memory.h"
#include "input/read/reader_parts.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20, MOST_PIECE = 1 << 16 };

/* Samples among which those that cannot be read are one range: what lies between two such places of
 * a piece is given up, too. Follows from the archive alone. */
static uint64_t salvage_piece(const struct archive *archive)
{
    uint64_t step =
        (uint64_t)archive->nstreams * sample_bytes(archive->format, archive->is_complex);
    uint64_t piece = MOST_PIECE;
    while (piece > 1 && piece * step > PIECE_BYTES) {
        piece /= 2;
    }
    return piece;
}

/* Reads samples low .. high - 1 into `room`; *is_read 0: they cannot all be read. */
static status_t salvage_try(reader_t *reader, const struct slab *slab, uint64_t low, uint64_t high,
                            char *room, struct losses *losses, int *is_read)
{
    status_t st = STATUS_OK;
    size_t known = losses ? losses->count : 0;
    st = reader_read(reader, slab, low, high - low, room, losses);
    *is_read = st == STATUS_OK;
    if (st == STATUS_DATA && reader_is_unreadable(reader)) {
        report_clear();
        st = STATUS_OK;
        if (losses) {
            losses->count = known;
        }
    }
    return st;
}

/* Samples low .. high - 1, and those of them that are wanted; *is_read as before. */
static status_t salvage_read(reader_t *reader, const struct reader_wanted *wanted, uint64_t low,
                             uint64_t high, char *room, struct losses *losses, int *is_read)
{
    status_t st = STATUS_OK;
    const struct slab *slab = wanted->slab;
    uint64_t from = max_u64(low, wanted->first);
    uint64_t to = min_u64(high, wanted->first + wanted->count);
    *is_read = 1;
    if (low == high) {
        goto out;
    }
    TRY(salvage_try(reader, slab, low, high, room, losses, is_read));
    for (uint64_t slot = 0; slot < slab->nblocks && *is_read && from < to; slot++) {
        memcpy((char *)wanted->out + (slot * wanted->count + from - wanted->first) * slab->width,
               room + (slot * (high - low) + from - low) * slab->width,
               (size_t)((to - from) * slab->width));
    }
out:
    return st;
}

static status_t salvage_give_up(const reader_t *reader, const struct reader_wanted *wanted,
                                uint64_t low, uint64_t high, struct losses *unread)
{
    uint64_t from = max_u64(low, wanted->first);
    uint64_t to = min_u64(high, wanted->first + wanted->count);
    if (from < to) {
        reader_fill_zeros(wanted, reader->archive, from, to - from);
    }
    return losses_add(unread, LOSS_OF_ALL, low, high - low);
}

/* Of samples that cannot all be read the first and the end of the last that cannot: by halves. */
static status_t salvage_find(reader_t *reader, const struct slab *slab, uint64_t low, uint64_t high,
                             char *room, uint64_t *first, uint64_t *end)
{
    status_t st = STATUS_OK;
    int is_read = 0;
    uint64_t good = low; /* all before it can be read, not all before `bad` */
    uint64_t bad = high;
    while (bad - good > 1) {
        uint64_t middle = good + (bad - good) / 2;
        TRY(salvage_try(reader, slab, good, middle, room, NULL, &is_read));
        *(is_read ? &good : &bad) = middle;
    }
    *first = good;
    bad = good; /* not all from it on can be read, but all from `good` on */
    good = high;
    while (good - bad > 1) {
        uint64_t middle = bad + (good - bad) / 2;
        TRY(salvage_try(reader, slab, middle, good, room, NULL, &is_read));
        *(is_read ? &good : &bad) = middle;
    }
    *end = good;
out:
    return st;
}

static status_t salvage_do(reader_t *reader, const struct reader_wanted *wanted, uint64_t low,
                           uint64_t high, char *room, struct losses *losses, struct losses *unread)
{
    status_t st = STATUS_OK;
    int is_read = 0;
    uint64_t first = 0;
    uint64_t end = 0;
    TRY(salvage_read(reader, wanted, low, high, room, losses, &is_read));
    if (is_read) {
        goto out;
    }
    TRY(salvage_find(reader, wanted->slab, low, high, room, &first, &end));
    TRY(salvage_give_up(reader, wanted, first, end, unread));
    /* A disk that fails now and then may fail once more. */
    TRY(salvage_read(reader, wanted, low, first, room, losses, &is_read));
    TRY(is_read ? STATUS_OK : salvage_give_up(reader, wanted, low, first, unread));
    TRY(salvage_read(reader, wanted, end, high, room, losses, &is_read));
    TRY(is_read ? STATUS_OK : salvage_give_up(reader, wanted, end, high, unread));
out:
    return st;
}

status_t reader_salvage(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                        void *out, struct losses *losses, struct losses *unread)
{
    status_t st = STATUS_OK;
    const struct archive *archive = reader->archive;
    uint64_t origin = archive->first_sample;
    uint64_t all = origin + archive->samples;
    uint64_t piece = salvage_piece(archive);
    char *room = NULL;
    const struct reader_wanted wanted = {
        .slab = slab, .nslots = slab->nblocks, .first = first, .count = count, .out = out};
    TRY(memory_aligned((size_t)slab_bytes(slab, piece), 1, "a piece of samples", &room));
    for (uint64_t low = first - (first - origin) % piece; low < first + count; low += piece) {
        TRY(salvage_do(reader, &wanted, low, min_u64(low + piece, all), room, losses, unread));
    }
out:
    free(room);
    return st;
}
