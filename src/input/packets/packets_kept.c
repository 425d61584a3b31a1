/* Headers that are kept: a stretch that grows at its end and is cut off at its beginning. */
#include "input/packets/packets_kept.h"

#include "base/memory.h"
#include "input/packets/frames.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

enum {
    STRETCH_BYTES = 4 << 20, /* of a mapping, at least: each costs calls of the system */
    LEAST_BYTES = 256 << 10  /* of one at the end of a file: below, reads cost less */
};

/* The first `count` stretches are wanted no more. */
static void kept_unmap(struct packets_kept *kept, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        mapping_close(kept->stretches[i].mapping);
    }
    kept->nstretches -= count;
    memmove(kept->stretches, kept->stretches + count, kept->nstretches * sizeof *kept->stretches);
}

void packets_kept_free(struct packets_kept *kept)
{
    kept_unmap(kept, kept->nstretches);
    free(kept->items);
    free(kept->places);
    *kept = (struct packets_kept){.path = NULL};
}

const unsigned char *packets_kept_bytes(const struct packets_kept *kept, uint64_t frame)
{
    for (uint32_t i = 0; i < kept->nstretches; i++) {
        const struct packets_stretch *stretch = &kept->stretches[i];
        if (frame >= stretch->first && frame < stretch->end) {
            return (const unsigned char *)mapping_data(stretch->mapping) +
                   (frame - stretch->first) * kept->frame_bytes;
        }
    }
    return NULL;
}

int packets_kept_drop_cut(struct packets_kept *kept)
{
    int is_cut = 0;
    for (uint32_t i = 0; i < kept->nstretches; i++) {
        is_cut = is_cut || mapping_is_cut(kept->stretches[i].mapping);
    }
    if (is_cut) {
        kept_unmap(kept, kept->nstretches);
    }
    return is_cut;
}

static status_t kept_make_room(struct packets_kept *kept, uint64_t count)
{
    status_t st = STATUS_OK;
    struct packet *items = NULL;
    char *places = NULL;
    if (count <= kept->room) {
        goto out;
    }
    TRY(memory_zeroed((size_t)count * 2, sizeof *items, "headers", &items));
    TRY(memory_zeroed((size_t)count * 2, 1, "headers", &places));
    if (kept->count > 0) {
        memcpy(items, kept->items, (size_t)kept->count * sizeof *items);
        memcpy(places, kept->places, (size_t)kept->count);
    }
    free(kept->items);
    free(kept->places);
    kept->items = items;
    kept->places = places;
    kept->room = count * 2;
    items = NULL;
    places = NULL;
out:
    free(items);
    free(places);
    return st;
}

/* Nothing from before `first` on is wanted any more; what is not there begins anew. */
static void kept_cut(struct packets_kept *kept, const struct packets_open *open, uint64_t first)
{
    uint64_t cut = first - kept->first;
    uint32_t passed = 0;
    if (kept->path != open->file->path || first < kept->first || cut > kept->count) {
        kept_unmap(kept, kept->nstretches);
        kept->path = open->file->path;
        kept->frame_bytes = open->packets->frame_bytes;
        kept->first = first;
        kept->count = kept->judged_low = kept->judged_high = 0;
        return;
    }
    kept->first = first;
    kept->count -= cut;
    memmove(kept->items, kept->items + cut, (size_t)kept->count * sizeof *kept->items);
    memmove(kept->places, kept->places + cut, (size_t)kept->count);
    while (passed < kept->nstretches && kept->stretches[passed].end <= first) {
        passed++;
    }
    uint64_t from = passed > 0 ? kept->stretches[0].first : 0;
    uint64_t to = passed > 0 ? kept->stretches[passed - 1].end : 0;
    kept_unmap(kept, passed);
    if (kept->is_huge && to > from) {
        uint64_t offset = frames_offset(kept->frame_bytes, open->file, from);
        file_forget(open->fd, offset,
                    frames_offset(kept->frame_bytes, open->file, to - 1) + kept->frame_bytes -
                        offset);
    }
}

/* Shows frames at .. end - 1 of a run as memory, and some behind them: a few stretches hold all
 * that is kept. Where that cannot be, nothing is shown. */
static void kept_map(struct packets_kept *kept, const struct packets_open *open, uint64_t at,
                     uint64_t end)
{
    const struct packets_stretch *last =
        kept->nstretches > 0 ? &kept->stretches[kept->nstretches - 1] : NULL;
    uint64_t least = max_u64(ceil_div_u64(STRETCH_BYTES, kept->frame_bytes),
                             (end - kept->first) / (PACKETS_STRETCHES / 2));
    uint64_t from = last ? max_u64(last->end, at) : at;
    if (from >= end || kept->nstretches == PACKETS_STRETCHES) {
        return;
    }
    uint64_t to = min_u64(max_u64(end, from + least), frames_run_end(open->file, from));
    uint64_t bytes = (to - from) * kept->frame_bytes;
    if (bytes < LEAST_BYTES) {
        return;
    }
    mapping_t *mapping =
        mapping_open(open->fd, frames_offset(kept->frame_bytes, open->file, from), bytes);
    if (mapping) {
        kept->stretches[kept->nstretches++] = (struct packets_stretch){mapping, from, to};
    }
}

/* Headers of frames first .. end - 1, from memory as far as they are there. */
static status_t kept_look(const struct packets_open *open, uint64_t first, uint64_t end,
                          struct packet *out)
{
    status_t st = STATUS_OK;
    for (uint64_t i = first; i < end; i++) {
        const unsigned char *bytes = packets_kept_bytes(open->kept, i);
        TRY(bytes ? packets_look(open, i, bytes, &out[i - first])
                  : packets_read_headers(open, i, 1, &out[i - first]));
    }
out:
    return st;
}

static status_t kept_extend(struct packets_kept *kept, const struct packets_open *open,
                            uint64_t end)
{
    status_t st = STATUS_OK;
    uint64_t at = kept->first + kept->count;
    if (end <= at) {
        goto out;
    }
    TRY(kept_make_room(kept, end - kept->first));
    for (uint64_t from = at; from < end; from = frames_run_end(open->file, from)) {
        kept_map(kept, open, from, min_u64(end, frames_run_end(open->file, from)));
    }
    st = kept_look(open, at, end, kept->items + kept->count);
    if (packets_kept_drop_cut(kept)) {
        report_clear(); /* of what was no header any more */
        st = kept_look(open, at, end, kept->items + kept->count);
    }
    TRY(st);
    kept->count = end - kept->first;
out:
    return st;
}

status_t packets_keep(const struct packets_open *open, uint64_t low, uint64_t high,
                      const struct packet **headers, const char **places)
{
    status_t st = STATUS_OK;
    struct packets_kept *kept = open->kept;
    kept_cut(kept, open, low > PACKETS_AROUND ? low - PACKETS_AROUND : 0);
    TRY(kept_extend(kept, open, min_u64(high + PACKETS_AROUND, open->file->frames)));
    if (low < kept->judged_low || low > kept->judged_high) {
        kept->judged_low = kept->judged_high = low;
    }
    if (kept->judged_high < high) {
        packets_judge(open, kept->items, kept->first, kept->count, kept->judged_high, high,
                      kept->places + (kept->judged_high - kept->first));
        kept->judged_high = high;
    }
    *headers = kept->items + (low - kept->first);
    *places = kept->places + (low - kept->first);
out:
    return st;
}
