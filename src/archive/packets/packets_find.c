/* Where in a file the frames of some periods lie: by the headers of a few. */
#include "archive/packets/packets.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Frames are looked at in groups, so that a header with a wrong time misleads nobody. */
enum { GROUP = 9, CLOSE = 4 /* groups: near enough */, ENDS = 512 /* frames */ };

static int packets_by_period(const void *left, const void *right)
{
    const struct packet *a = left;
    const struct packet *b = right;
    return (a->period > b->period) - (a->period < b->period);
}

/* The median period of a group; *found = 0: no frame of it has one. */
static status_t packets_group_period(const struct packets_open *file, uint64_t group,
                                     int64_t *period, int *found)
{
    status_t st = STATUS_OK;
    struct packet frames[GROUP];
    uint64_t first = group * GROUP;
    uint64_t count = min_u64(GROUP, file->frames - first);
    size_t known = 0;
    TRY(packets_read_headers(file, first, count, frames));
    for (uint64_t i = 0; i < count; i++) {
        if (frames[i].is_known) {
            frames[known++] = frames[i];
        }
    }
    qsort(frames, known, sizeof *frames, packets_by_period);
    *found = known > 0;
    *period = known > 0 ? frames[known / 2].period : 0;
out:
    return st;
}

/* Groups between which the bound lies: `low` is one before it (0: the file's beginning), `high` one
 * behind it, and the periods there. */
struct packets_bracket {
    uint64_t low, high;
    int64_t low_period, high_period;
};

/* A group strictly in between where the bound should be: by the periods on both sides, a step to
 * either side in turns, so that both close in; every third time in the middle. */
static uint64_t packets_next_guess(const struct packets_bracket *b, int64_t wanted, uint32_t turn)
{
    uint64_t between = b->high - b->low;
    double share = b->high_period > b->low_period
                       ? (double)(wanted - b->low_period) / (double)(b->high_period - b->low_period)
                       : 0.5;
    share = turn % 3 == 2 || share < 0 || share > 1 ? 0.5 : share;
    uint64_t step = (uint64_t)(share * (double)between);
    if (turn % 3 == 0) {
        step = step > CLOSE / 2 ? step - CLOSE / 2 : 1;
    } else if (turn % 3 == 1) {
        step += CLOSE / 2;
    }
    return b->low + max_u64(1, min_u64(step, between - 1));
}

/* Closes in on a period. What is not known decides for the side that leads to more being read. */
static status_t packets_close_in(const struct packets_open *file, int64_t wanted, int is_end,
                                 struct packets_bracket *b)
{
    status_t st = STATUS_OK;
    for (uint32_t turn = 0; b->high - b->low > CLOSE; turn++) {
        uint64_t group = packets_next_guess(b, wanted, turn);
        int64_t period = 0;
        int found = 0;
        TRY(packets_group_period(file, group, &period, &found));
        int is_before = found ? (is_end ? period <= wanted : period < wanted) : is_end;
        if (is_before) {
            b->low = group;
            b->low_period = found ? period : b->low_period;
        } else {
            b->high = group;
            b->high_period = found ? period : b->high_period;
        }
    }
out:
    return st;
}

status_t packets_find(const struct packets_open *file, int64_t first, int64_t last, uint64_t *low,
                      uint64_t *high)
{
    status_t st = STATUS_OK;
    uint64_t groups = ceil_div_u64(file->frames, GROUP);
    int64_t far = 2 * (int64_t)file->packets->window;
    const struct packets *packets = file->packets;
    struct packets_bracket all = {0, groups, 0, (int64_t)packets->periods};
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        if (strcmp(packets->files[i].path, file->path) == 0) {
            all.low_period = packets->files[i].first;
            all.high_period = packets->files[i].last;
        }
    }
    struct packets_bracket b = all;
    TRY(packets_close_in(file, first - far, 0, &b));
    *low = b.low * GROUP;
    b.high = groups;
    b.high_period = all.high_period;
    TRY(packets_close_in(file, last + far, 1, &b));
    *high = min_u64((b.high + 1) * GROUP, file->frames);
out:
    return st;
}

/* The least and greatest period of those of some frames that are in place. */
static status_t packets_span_of(const struct packets_open *file, uint64_t low, uint64_t high,
                                int64_t *first, int64_t *last, int *found)
{
    status_t st = STATUS_OK;
    struct packet *frames = NULL;
    char *in_place = NULL;
    uint64_t from = low > PACKETS_AROUND ? low - PACKETS_AROUND : 0;
    uint64_t to = min_u64(high + PACKETS_AROUND, file->frames);
    TRY(memory_zeroed((size_t)(to - from), sizeof *frames, "headers", &frames));
    TRY(memory_zeroed((size_t)(high - low), 1, "headers", &in_place));
    TRY(packets_read_headers(file, from, to - from, frames));
    packets_judge(file->packets, frames, from, to - from, low, high, in_place);
    for (uint64_t i = low; i < high; i++) {
        int64_t period = frames[i - from].period;
        if (in_place[i - low]) {
            *first = *found && *first < period ? *first : period;
            *last = *found && *last > period ? *last : period;
            *found = 1;
        }
    }
out:
    free(frames);
    free(in_place);
    return st;
}

status_t packets_span(const struct packets_open *file, int64_t *first, int64_t *last)
{
    status_t st = STATUS_OK;
    int found = 0;
    uint64_t ends =
        min_u64(max_u64(ENDS, 4 * file->packets->window * file->packets->nthreads), file->frames);
    TRY(packets_span_of(file, 0, ends, first, last, &found));
    TRY(packets_span_of(file, file->frames - ends, file->frames, first, last, &found));
    REQUIRE(found, STATUS_DATA,
            "%s: none of its first and last %" PRIu64 " frames has a header that says its time",
            file->path, ends);
out:
    return st;
}

status_t packets_check_order(const struct packets_open *file)
{
    enum { LOOKS = 64 };
    status_t st = STATUS_OK;
    uint64_t groups = ceil_div_u64(file->frames, GROUP);
    int64_t far = 2 * (int64_t)file->packets->window;
    int64_t latest = INT64_MIN + far;
    uint64_t latest_group = 0;
    uint64_t step = max_u64(1, groups / LOOKS);
    for (uint64_t group = 0; group < groups; group += step) {
        int64_t period = 0;
        int found = 0;
        TRY(packets_group_period(file, group, &period, &found));
        REQUIRE(!found || period >= latest - far, STATUS_DATA,
                "%s: the frames at byte %" PRIu64 " are %" PRId64
                " frame times earlier than those at byte %" PRIu64
                ": expected frames in order of time, but for %" PRIu64 " frame times",
                file->path, group * GROUP * file->packets->frame_bytes, latest - period,
                latest_group * GROUP * file->packets->frame_bytes, file->packets->window);
        if (found && period > latest) {
            latest = period;
            latest_group = group;
        }
    }
out:
    return st;
}
