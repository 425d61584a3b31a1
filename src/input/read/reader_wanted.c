/* What is read of a part: places in the slab, zero volts for what is not there, room to make
 * samples.
 */
#include "base/memory.h"
#include "input/read/reader_parts.h"

#include <stdlib.h>
#include <string.h>

char *reader_place(const struct reader_wanted *wanted, uint64_t slot, uint64_t at)
{
    return wanted->out + (slot * wanted->count + at - wanted->first) * wanted->slab->width;
}

uint64_t reader_block(const reader_t *reader, const struct reader_wanted *wanted, uint64_t slot)
{
    return wanted->slab->blocks[slot] % reader->blocks_per_file;
}

status_t reader_make_bounce(reader_t *reader, size_t bytes)
{
    status_t st = STATUS_OK;
    if (reader->bounce_bytes < bytes) {
        free(reader->bounce);
        reader->bounce = NULL;
        reader->bounce_bytes = 0;
        TRY(memory_aligned(max_u64(reader->threads, 1), bytes, "a read buffer", &reader->bounce));
        reader->bounce_bytes = bytes;
    }
out:
    return st;
}

void reader_fill_zeros(const struct reader_wanted *wanted, const struct archive *archive,
                       uint64_t from, uint64_t samples)
{
    for (uint64_t i = 0; i < wanted->nslots; i++) {
        memset(reader_place(wanted, wanted->slot + i, from), archive_zero_byte(archive),
               (size_t)(samples * wanted->slab->width));
    }
}

status_t reader_lack(const struct reader_wanted *wanted, const struct archive *archive,
                     uint64_t from, uint64_t samples, struct losses *losses)
{
    status_t st = STATUS_OK;
    const struct slab *slab = wanted->slab;
    reader_fill_zeros(wanted, archive, from, samples);
    /* What is in gaps is told of there. */
    int is_known = !losses || archive_gap_in(archive, from, samples) == samples;
    for (uint32_t i = 0; i < slab->nstreams && !is_known; i++) {
        for (int part = 0; part < 2; part++) {
            if (slab->slot[part][i] - wanted->slot < wanted->nslots) {
                TRY(losses_add(losses, slab->first_stream + i, from, samples));
                break;
            }
        }
    }
out:
    return st;
}
