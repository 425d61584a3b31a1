/* Runs of samples that are left out, and what they take from each sum. */
#include "pipeline/left_out.h"

#include "base/memory.h"
#include "compute/boxcar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the channels of a sum, so many times more than enter it make it NaN. */
enum { LEAST_SHARE = 10 };

void left_out_free(struct left_out *list)
{
    free(list->runs);
    *list = (struct left_out){0};
}

static status_t left_out_add(struct left_out *list, struct left_out_run run)
{
    status_t st = STATUS_OK;
    if (list->count == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 64;
        struct left_out_run *grown = realloc(list->runs, room * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: samples that are left out");
        list->runs = grown;
        list->room = room;
    }
    list->runs[list->count++] = run;
out:
    return st;
}

status_t left_out_keep(const struct left_out *before, uint64_t from, uint64_t count,
                       struct left_out *list)
{
    status_t st = STATUS_OK;
    size_t known = before->count;
    list->count = 0; /* both may be one: no run is written before it was taken */
    for (size_t i = 0; i < known && count > 0; i++) {
        struct left_out_run run = before->runs[i];
        run.first = max_u64(run.first, from) - from;
        run.end = min_u64(max_u64(run.end, from) - from, count);
        TRY(run.first < run.end ? left_out_add(list, run) : STATUS_OK);
    }
out:
    return st;
}

/* Whether there is a NaN among them; written so that compilers take many at a time. */
static int left_out_has_nan(const float *row, uint32_t count)
{
    int has = 0;
    for (uint32_t c = 0; c < count; c++) {
        has |= row[c] != row[c];
    }
    return has;
}

/* What is NaN of a row: `open` are the runs of each channel that may go on. */
static status_t left_out_add_row(struct left_out *list, uint64_t at, int is_unread, float *row,
                                 uint32_t channels, size_t *open)
{
    status_t st = STATUS_OK;
    for (uint32_t c = 0; c < channels; c++) {
        if (!isnan(row[c])) {
            continue;
        }
        row[c] = 0;
        struct left_out_run *last = open[c] > 0 ? &list->runs[open[c] - 1] : NULL;
        if (last && last->end == at && last->is_unread == is_unread) {
            last->end = at + 1;
        } else {
            TRY(left_out_add(list, (struct left_out_run){c, is_unread, at, at + 1}));
            open[c] = list->count;
        }
    }
out:
    return st;
}

status_t left_out_find(const struct dedisperse_plan *plan, power_reader_t *reader, int64_t first,
                       uint64_t from, uint64_t count, char *samples, const char *bad,
                       struct left_out *list)
{
    status_t st = STATUS_OK;
    uint32_t channels = plan->fbh5->nchannels;
    int is_float = plan->input.format == SERIES_F32;
    size_t *open = NULL;
    for (uint64_t at = from; at < from + count; at++) {
        char *row = samples + at * plan->input.row_bytes;
        float *values = (float *)(void *)row;
        int is_unread = 1;
        if (bad && bad[at]) { /* sums of rows, some of which could be read */
            memset(row, 0, (size_t)plan->input.row_bytes);
            TRY(left_out_add(list, (struct left_out_run){LEFT_OUT_OF_ALL, 1, at, at + 1}));
        } else if (is_float && left_out_has_nan(values, channels)) {
            TRY(open ? STATUS_OK : memory_zeroed(channels, sizeof *open, "channels", &open));
            TRY(power_reader_is_marked(reader, (uint64_t)(first + (int64_t)at), &is_unread));
            TRY(left_out_add_row(list, at, is_unread, values, channels, open));
        }
    }
out:
    free(open);
    return st;
}

/* Outputs of one DM, as differences from one to the next: channels that do not enter. */
struct lacking {
    int32_t *all, *unread; /* [count + 1] */
    uint64_t count;
};

static int left_out_take(const struct dedisperse_plan *plan, const struct dm_group *group,
                         uint32_t dm, uint32_t channel, const struct left_out_run *run,
                         struct lacking *lacking)
{
    uint64_t delay = dm_group_delay(plan, group, dm, channel);
    uint64_t low = run->first > delay ? run->first - delay : 0;
    uint64_t high = min_u64(run->end > delay ? run->end - delay : 0, lacking->count);
    if (plan->mask[channel] || low >= high) {
        return 0;
    }
    lacking->all[low]++;
    lacking->all[high]--;
    lacking->unread[low] += run->is_unread;
    lacking->unread[high] -= run->is_unread;
    return 1;
}

/* What becomes of the sums of a DM. Returns whether it is a hole. */
static int left_out_scale_sums(const struct lacking *lacking, int32_t channels, float *out,
                               uint8_t *share)
{
    int is_hole = 0;
    int32_t lacks = 0;
    int32_t unread = 0;
    for (uint64_t t = 0; t < lacking->count; t++) {
        lacks += lacking->all[t];
        unread += lacking->unread[t];
        int32_t there = channels - lacks;
        int is_nan = lacks > 0 && (int64_t)there * LEAST_SHARE < channels;
        if (share) {
            share[t] = (uint8_t)(is_nan ? 0 : (int64_t)there * BOXCAR_ALL / channels);
        }
        if (is_nan) {
            out[t] = NAN;
            is_hole |= unread > 0;
        } else if (lacks > 0) {
            out[t] = out[t] * ((float)channels / (float)there);
        }
    }
    return is_hole;
}

status_t left_out_scale(const struct dedisperse_plan *plan, const struct dm_group *group,
                        const struct left_out *list, uint64_t count, uint64_t stride, float *out,
                        char *holes, int *has_holes, uint8_t *share)
{
    status_t st = STATUS_OK;
    uint32_t channels = group->delays.nchannels;
    int32_t there = 0;
    struct lacking lacking = {.count = count};
    *has_holes = 0;
    memset(holes, 0, group->delays.ndms);
    if (list->count == 0) {
        return STATUS_OK;
    }
    for (uint32_t c = 0; c < channels; c++) {
        there += !plan->mask[c];
    }
    if (share) {
        memset(share, BOXCAR_ALL, group->delays.ndms * (size_t)stride);
    }
    TRY(memory_zeroed((size_t)count + 1, 2 * sizeof(int32_t), "sums", &lacking.all));
    lacking.unread = lacking.all + count + 1;
    for (uint32_t dm = 0; dm < group->delays.ndms; dm++) {
        int any = 0;
        for (size_t i = 0; i < list->count; i++) {
            const struct left_out_run *run = &list->runs[i];
            int is_all = run->channel == LEFT_OUT_OF_ALL;
            for (uint32_t c = is_all ? 0 : run->channel; c < (is_all ? channels : run->channel + 1);
                 c++) {
                any |= left_out_take(plan, group, dm, c, run, &lacking);
            }
        }
        if (any) {
            holes[dm] = (char)left_out_scale_sums(&lacking, there, out + dm * stride,
                                                  share ? share + dm * stride : NULL);
            *has_holes |= holes[dm];
            memset(lacking.all, 0, 2 * ((size_t)count + 1) * sizeof *lacking.all);
        }
    }
out:
    free(lacking.all);
    return st;
}
