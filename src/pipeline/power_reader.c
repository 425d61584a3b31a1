/* Reads rows, halves what cannot be read until it is found, and adds up in doubles. */
#include "pipeline/power_reader.h"

#include "compute/boxcar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct power_reader {
    const struct dedisperse_plan *plan;
    fbh5_reader_t *rows;
    char *bounce;  /* rows as the file has them */
    double *sums;  /* [nchannels] */
    uint64_t room; /* rows in `bounce` */
    char *bad;     /* [room] 1: the row in `bounce` was unreadable */
    int has_warned;
};

status_t power_reader_create(const struct dedisperse_plan *plan, power_reader_t **out)
{
    SCOPED(power_reader_destroy_at) power_reader_t *reader = NULL;
    uint64_t bytes = dedisperse_plan_bounce(plan);
    TRY(memory_zeroed(1, sizeof *reader, "a reader", &reader));
    reader->plan = plan;
    TRY(fbh5_reader_create(plan->fbh5, plan->fbh5->chunks.row_bytes, plan->threads, &reader->rows));
    TRY(memory_aligned((size_t)bytes, 1, "rows", &reader->bounce));
    TRY(memory_zeroed(plan->fbh5->nchannels, sizeof *reader->sums, "sums", &reader->sums));
    reader->room = bytes / fbh5_row_bytes(plan->fbh5);
    TRY(memory_zeroed((size_t)reader->room, 1, "rows", &reader->bad));
    *out = memory_move(&reader);
    return STATUS_OK;
}

void power_reader_destroy(power_reader_t *reader)
{
    if (reader) {
        fbh5_reader_destroy(reader->rows);
        MEMORY_FREE(reader->bounce, reader->bad, reader->sums, reader);
    }
}

/* Rows that cannot all be read: half of them, and half again, if run.on_bad is nan. Those that
 * cannot be are zeros in `out` and marked in `bad`. */
static status_t power_reader_read_rows(power_reader_t *reader, uint64_t first, uint64_t count,
                                       char *out, char *bad)
{
    uint64_t row = fbh5_row_bytes(reader->plan->fbh5);
    uint64_t half = count / 2;
    const status_t st = fbh5_read_rows(reader->rows, first, count, out);
    if (st != STATUS_DATA || !fbh5_is_unreadable(reader->rows) ||
        reader->plan->job->on_bad != ON_BAD_NAN) {
        return st;
    }
    if (!reader->has_warned) {
        report_warn_loudly("%s", report_cause());
    }
    reader->has_warned = 1;
    report_clear();
    if (count == 1) {
        memset(out, 0, (size_t)row);
        *bad = 1;
        return STATUS_OK;
    }
    TRY(power_reader_read_rows(reader, first, half, out, bad));
    return power_reader_read_rows(reader, first + half, count - half, out + half * row, bad + half);
}

/* Loops of their own for each format, so that the compiler makes vectors of them. */
#define ADD_AND_STORE(type)                                                                        \
    static void add_##type(double *restrict sums, const void *restrict row, uint32_t count)        \
    {                                                                                              \
        for (uint32_t c = 0; c < count; c++) {                                                     \
            sums[c] += (double)((const type *)row)[c];                                             \
        }                                                                                          \
    }                                                                                              \
    static void store_##type(void *restrict out, const double *restrict sums, uint32_t count)      \
    {                                                                                              \
        for (uint32_t c = 0; c < count; c++) {                                                     \
            ((type *)out)[c] = (type)sums[c];                                                      \
        }                                                                                          \
    }
ADD_AND_STORE(uint8_t)
ADD_AND_STORE(uint16_t)
ADD_AND_STORE(float)

static const struct {
    void (*add)(double *restrict sums, const void *restrict row, uint32_t count);
    void (*store)(void *restrict out, const double *restrict sums, uint32_t count);
} formats[] = {[SERIES_U8] = {add_uint8_t, store_uint8_t},
               [SERIES_U16] = {add_uint16_t, store_uint16_t},
               [SERIES_F32] = {add_float, store_float}};

/* Adds the wanted ifs of one row. */
static void power_reader_add_row(power_reader_t *reader, const char *row)
{
    const struct dedisperse_plan *plan = reader->plan;
    const struct fbh5 *fbh5 = plan->fbh5;
    enum series_format format = fbh5->sample_bytes == 1   ? SERIES_U8
                                : fbh5->sample_bytes == 2 ? SERIES_U16
                                                          : SERIES_F32;
    for (uint32_t i = 0; i < plan->nifs; i++) {
        formats[format].add(reader->sums,
                            row + (size_t)plan->ifs[i] * fbh5->nchannels * fbh5->sample_bytes,
                            fbh5->nchannels);
    }
}

/* Rows of the file come in pieces that fit the bounce buffer; a sum may go on from one to the next.
 */
static status_t power_reader_reduce(power_reader_t *reader, uint64_t first, uint64_t count,
                                    char *out, char *bad)
{
    const struct dedisperse_plan *plan = reader->plan;
    uint64_t each = plan->what->downsample;
    uint64_t row = fbh5_row_bytes(plan->fbh5);
    uint64_t rows = count * each;
    memset(reader->sums, 0, plan->fbh5->nchannels * sizeof *reader->sums);
    for (uint64_t from = 0; from < rows; from += reader->room) {
        uint64_t piece = min_u64(reader->room, rows - from);
        memset(reader->bad, 0, (size_t)piece);
        TRY(power_reader_read_rows(reader, first * each + from, piece, reader->bounce,
                                   reader->bad));
        for (uint64_t i = 0; i < piece; i++) {
            uint64_t sample = (from + i) / each;
            power_reader_add_row(reader, reader->bounce + i * row);
            if (reader->bad[i]) {
                bad[sample] = 1;
            }
            if ((from + i + 1) % each == 0) {
                dedisperse_plan_step(plan, reader->sums);
                /* Whole numbers below 2^53 are exact in double, however they are added. */
                formats[plan->input.format].store(out + sample * plan->input.row_bytes,
                                                  reader->sums, plan->fbh5->nchannels);
                memset(reader->sums, 0, plan->fbh5->nchannels * sizeof *reader->sums);
            }
        }
    }
    return STATUS_OK;
}

struct power_reader_part power_reader_clip(const struct dedisperse_plan *plan, int64_t first,
                                           uint64_t count)
{
    struct overlap_rows part =
        overlap_common((struct overlap_rows){first, first + (int64_t)count},
                       (struct overlap_rows){0, (int64_t)plan->input.samples});
    /* All of it is padding in front when none of it is there. */
    int is_there = part.end > part.first;
    return (struct power_reader_part){.lead = is_there ? (uint64_t)(part.first - first) : count,
                                      .first = is_there ? (uint64_t)part.first : 0,
                                      .count = is_there ? (uint64_t)(part.end - part.first) : 0};
}

status_t power_reader_read(power_reader_t *reader, int64_t first, uint64_t count, void *out,
                           char *bad)
{
    const struct dedisperse_plan_input *input = &reader->plan->input;
    struct power_reader_part part = power_reader_clip(reader->plan, first, count);
    uint64_t before = part.lead * input->row_bytes;
    char *samples = (char *)out + before;
    char *marks = bad ? bad + part.lead : NULL;
    memset(out, 0, (size_t)before);
    if (bad) {
        memset(bad, 0, (size_t)count);
    }
    if (part.count > 0 && input->is_reduced) {
        TRY(power_reader_reduce(reader, part.first, part.count, samples, marks));
    } else if (part.count > 0) {
        TRY(power_reader_read_rows(reader, part.first, part.count, samples, marks));
    }
    memset(samples + part.count * input->row_bytes, 0,
           (size_t)((count - part.count) * input->row_bytes - before));
    return STATUS_OK;
}

/* A sum is NaN if the missing channels are this many times more than those that enter it. */
enum { LEAST_SHARE = 10 };

void left_out_free(struct left_out *list)
{
    free(list->runs);
    *list = (struct left_out){0};
}

static status_t left_out_add(struct left_out *list, struct left_out_run run)
{
    if (list->count == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 64;
        struct left_out_run *grown = realloc(list->runs, room * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: samples that are left out");
        list->runs = grown;
        list->room = room;
    }
    list->runs[list->count++] = run;
    return STATUS_OK;
}

status_t left_out_keep(const struct left_out *before, uint64_t from, uint64_t count,
                       struct left_out *list)
{
    size_t known = before->count;
    list->count = 0; /* both may be one: no run is written before it was taken */
    for (size_t i = 0; i < known && count > 0; i++) {
        struct left_out_run run = before->runs[i];
        run.first = max_u64(run.first, from) - from;
        run.end = min_u64(max_u64(run.end, from) - from, count);
        TRY(run.first < run.end ? left_out_add(list, run) : STATUS_OK);
    }
    return STATUS_OK;
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

/* Runs of NaN in a row: `open` are the runs of each channel that may go on. */
static status_t left_out_add_row(struct left_out *list, uint64_t at, int is_unread, float *row,
                                 uint32_t channels, size_t *open)
{
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
    return STATUS_OK;
}

status_t left_out_find(const struct dedisperse_plan *plan, power_reader_t *reader, int64_t first,
                       uint64_t from, uint64_t count, char *samples, const char *bad,
                       struct left_out *list)
{
    uint32_t channels = plan->fbh5->nchannels;
    const uint64_t each = plan->what->downsample;
    int is_float = plan->input.format == SERIES_F32;
    SCOPED(free_at) size_t *open = NULL;
    for (uint64_t at = from; at < from + count; at++) {
        char *row = samples + at * plan->input.row_bytes;
        float *values = (float *)(void *)row;
        if (bad && bad[at]) { /* sums of rows, some of which could be read */
            memset(row, 0, (size_t)plan->input.row_bytes);
            TRY(left_out_add(list, (struct left_out_run){LEFT_OUT_OF_ALL, 1, at, at + 1}));
        } else if (is_float && left_out_has_nan(values, channels)) {
            TRY(open ? STATUS_OK : memory_zeroed(channels, sizeof *open, "channels", &open));
            int is_unread = 0; /* it may be NaN because its input could not be read */
            for (uint64_t i = 0; i < each && !is_unread; i++) {
                TRY(fbh5_is_marked(reader->rows, (uint64_t)(first + (int64_t)at) * each + i,
                                   &is_unread));
            }
            TRY(left_out_add_row(list, at, is_unread, values, channels, open));
        }
    }
    return STATUS_OK;
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

/* Stores the sums of a DM. Returns whether it is a hole. */
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

SCOPED_CALLS(lacking_free, struct lacking, free(at->all))

status_t left_out_scale(const struct dedisperse_plan *plan, const struct dm_group *group,
                        const struct left_out *list, uint64_t count, uint64_t stride, float *out,
                        char *holes, int *has_holes, uint8_t *share)
{
    uint32_t channels = group->delays.nchannels;
    int32_t there = 0;
    SCOPED(lacking_free) struct lacking lacking = {.count = count};
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
    return STATUS_OK;
}
