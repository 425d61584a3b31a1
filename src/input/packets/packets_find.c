/* Where in a file the frames of some periods lie: by the headers of a few. */
#include "base/memory.h"
#include "input/packets/frames.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CLOSE = 4 /* groups: near enough */, ENDS = 512 /* frames */ };

static int packets_by_period(const void *left, const void *right)
{
    const struct packet *a = left;
    const struct packet *b = right;
    return (a->period > b->period) - (a->period < b->period);
}

/* The median period of a group; *found = 0: no frame of it has one. */
static status_t packets_group_period(const struct packets_open *open, uint64_t group,
                                     int64_t *period, int *found)
{
    status_t st = STATUS_OK;
    struct packet frames[PACKETS_GROUP];
    uint64_t first = group * PACKETS_GROUP;
    uint64_t count = min_u64(PACKETS_GROUP, open->file->frames - first);
    size_t known = 0;
    TRY(packets_read_headers(open, first, count, frames));
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
static status_t packets_close_in(const struct packets_open *open, int64_t wanted, int is_end,
                                 struct packets_bracket *b)
{
    status_t st = STATUS_OK;
    for (uint32_t turn = 0; b->high - b->low > CLOSE; turn++) {
        uint64_t group = packets_next_guess(b, wanted, turn);
        int64_t period = 0;
        int found = 0;
        TRY(packets_group_period(open, group, &period, &found));
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

status_t packets_find(const struct packets_open *open, int64_t first, int64_t last, uint64_t *low,
                      uint64_t *high)
{
    status_t st = STATUS_OK;
    uint64_t groups = ceil_div_u64(open->file->frames, PACKETS_GROUP);
    int64_t far = 2 * (int64_t)open->packets->window;
    struct packets_bracket b = {0, groups, open->file->first, open->file->last};
    TRY(packets_close_in(open, first - far, 0, &b));
    *low = b.low * PACKETS_GROUP;
    b.high = groups;
    b.high_period = open->file->last;
    TRY(packets_close_in(open, last + far, 1, &b));
    *high = min_u64((b.high + 1) * PACKETS_GROUP, open->file->frames);
out:
    return st;
}

/* A frame that alone contradicts those around it is left out. */
static void packets_warn(const struct packets_open *open, uint64_t frame)
{
    if (packets_complain(open, frame) != STATUS_OK) {
        report_warn("%s; it is left out, as are others that alone contradict those around them",
                    report_cause());
        report_clear();
    }
}

/* The least and greatest period of those of some frames that are in place. */
static status_t packets_span_of(const struct packets_open *open, uint64_t low, uint64_t high,
                                int64_t *first, int64_t *last, int *found, int *warned)
{
    status_t st = STATUS_OK;
    struct packet *frames = NULL;
    char *places = NULL;
    uint64_t from = low > PACKETS_AROUND ? low - PACKETS_AROUND : 0;
    uint64_t to = min_u64(high + PACKETS_AROUND, open->file->frames);
    TRY(memory_zeroed((size_t)(to - from), sizeof *frames, "headers", &frames));
    TRY(memory_zeroed((size_t)(high - low), 1, "headers", &places));
    TRY(packets_read_headers(open, from, to - from, frames));
    packets_judge(open, frames, from, to - from, low, high, places);
    for (uint64_t i = low; i < high; i++) {
        int64_t period = frames[i - from].period;
        TRY(places[i - low] == PACKETS_WRONG ? packets_complain(open, i) : STATUS_OK);
        if (frames[i - from].is_contrary && !*warned) {
            packets_warn(open, i);
            *warned = 1;
        }
        if (places[i - low] == PACKETS_IN) {
            *first = *found && *first < period ? *first : period;
            *last = *found && *last > period ? *last : period;
            *found = 1;
        }
    }
out:
    free(frames);
    free(places);
    return st;
}

status_t packets_known_end(const struct packets_open *open, uint64_t *end)
{
    status_t st = STATUS_OK;
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    struct packet frame = {.is_known = 0};
    const struct packets *packets = open->packets;
    int is_known = 0;
    for (*end = open->file->frames; *end > 0 && !is_known; *end -= is_known ? 0 : 1) {
        uint64_t offset = frames_offset(packets->frame_bytes, open->file, *end - 1);
        TRY(file_read(open->fd, open->file->path, offset, header, packets->header_bytes));
        is_known = packets_parse(packets, open->file->path, offset, header, &frame) != STATUS_OK;
        is_known |= frame.is_known; /* or it contradicts others, which packets_judge() decides */
        report_clear();
    }
out:
    return st;
}

status_t packets_span(const struct packets_open *open, int64_t *first, int64_t *last)
{
    status_t st = STATUS_OK;
    int has_first = 0;
    int has_last = 0;
    int warned = 0;
    int64_t low[2] = {0};
    int64_t high[2] = {0};
    uint64_t frames = open->file->frames;
    uint64_t ends =
        min_u64(max_u64(ENDS, 4 * open->packets->window * open->packets->nthreads), frames);
    for (uint64_t at = 0; at < frames && !has_first; at += ends) {
        TRY(packets_span_of(open, at, min_u64(at + ends, frames), &low[0], &high[0], &has_first,
                            &warned));
    }
    for (uint64_t at = frames; at > 0 && has_first && !has_last; at -= min_u64(at, ends)) {
        TRY(packets_span_of(open, at - min_u64(at, ends), at, &low[1], &high[1], &has_last,
                            &warned));
    }
    REQUIRE(has_first && has_last, STATUS_DATA,
            "%s: none of its %" PRIu64 " frames has a header that says its time", open->file->path,
            frames);
    *first = low[0] < low[1] ? low[0] : low[1];
    *last = high[0] > high[1] ? high[0] : high[1];
out:
    return st;
}

status_t packets_check_order(const struct packets_open *open)
{
    status_t st = STATUS_OK;
    uint64_t groups = ceil_div_u64(open->file->frames, PACKETS_GROUP);
    int64_t far = 2 * (int64_t)open->packets->window;
    int64_t latest = INT64_MIN + far;
    uint64_t latest_group = 0;
    uint64_t bytes = open->packets->frame_bytes;
    uint64_t step = max_u64(1, groups / PACKETS_LOOKS);
    for (uint64_t group = 0; group < groups; group += step) {
        int64_t period = 0;
        int found = 0;
        TRY(packets_group_period(open, group, &period, &found));
        REQUIRE(!found || period >= latest - far, STATUS_DATA,
                "%s: the frames at byte %" PRIu64 " are %" PRId64
                " frame times earlier than those at byte %" PRIu64
                ": expected frames in order of time, but for %" PRIu64 " frame times",
                open->file->path, frames_offset(bytes, open->file, group * PACKETS_GROUP),
                latest - period, frames_offset(bytes, open->file, latest_group * PACKETS_GROUP),
                open->packets->window);
        if (found && period > latest) {
            latest = period;
            latest_group = group;
        }
    }
out:
    return st;
}
