/* The stages of dedispersion in order: which samples of the filterbank a block takes, from the file
 * or from the device, and the sums that are written of it. */
#include "pipeline/dedisperse_pipeline.h"

#include "base/memory.h"
#include "compute/boxcar.h"
#include "compute/peaks.h"
#include "pipeline/power_reader.h"
#include "pipeline/seek.h"
#include "plan/dedisperse_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples of a filterbank that sums of a dedispersion leave out: those that are NaN, because too
 * much was missing of what they are made of, and those that cannot be read. A sum over some of its
 * channels is scaled to all of them: times channels that should enter / channels that do; NaN where
 * less than a tenth does. Which are left out follows from the sum's own samples: the same however
 * the work is cut.
 *
 * Runs of samples that are left out, and what they take from each sum. */

/* Inputs first .. end - 1 in time of a block, of a channel. */
#define LEFT_OUT_OF_ALL UINT32_MAX
struct left_out_run {
    uint32_t channel; /* LEFT_OUT_OF_ALL: of each */
    int is_unread;    /* could not be read, now or when the power was made */
    uint64_t first, end;
};

/* Starts from {0}; grows, and is kept: count = 0 empties it. */
struct left_out {
    struct left_out_run *runs;
    size_t count, room;
};

/* A sum is NaN if the missing channels are this many times more than those that enter it. */
enum { LEAST_SHARE = 10 };

static void left_out_free(struct left_out *list)
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

/* Begins a list with what is known of inputs from .. from + count - 1 of another block, or of the
 * one before in the same list, which are the first ones of this. Fails with DEVICE (memory). */
static status_t left_out_keep(const struct left_out *before, uint64_t from, uint64_t count,
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

/* Runs of NaN in a row: `open` are the runs of each channel that may go on. */
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

/* Looks at inputs from .. from + count - 1, which were just read; what is NaN becomes 0.
 *
 *   samples   [from + count][nchannels] of the plan's format
 *   bad       char [from + count] 1: could not be read; NULL: all could
 *   first     which input sample of the plan the block's first one is
 *
 * Fails with DEVICE, DATA. */
static status_t left_out_find(const struct dedisperse_plan *plan, power_reader_t *reader,
                              int64_t first, uint64_t from, uint64_t count, char *samples,
                              const char *bad, struct left_out *list)
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

/* Scales the first `count` sums of each DM, or makes them NaN.
 *
 *   out     float [ndms][stride]
 *   holes   char [ndms] 1: some became NaN because samples of theirs could not be read
 *   share   [ndms][stride] what entered of the channels that should, BOXCAR_ALL being all; 0: NaN;
 *           NULL: not asked for
 *
 * Returns whether any hole is there. Fails with DEVICE (memory). */
static status_t left_out_scale(const struct dedisperse_plan *plan, const struct dm_group *group,
                               const struct left_out *list, uint64_t count, uint64_t stride,
                               float *out, char *holes, int *has_holes, uint8_t *share)
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

enum { LEAST_BLOCK = 64, STRIDE = 64 /* outputs that rows to be searched are multiples of */ };

/* One block under way. */
struct slot {
    buffer_t *in, *out, *peaks; /* peaks: NULL where the host's threads search */
    struct chunk chunk;
    uint32_t base;                 /* delay of the chunk's DMs that all have */
    uint64_t inputs;               /* samples in time */
    uint64_t own, own_end;         /* outputs that the block is for */
    uint64_t from, count, stride;  /* outputs that are made, and from one DM's to the next's */
    int is_searched;               /* by the backend: their peaks are in `peaks` */
    struct power_reader_part part; /* of the filterbank; the rest of the inputs is padding */
    int is_resident;               /* that part is on the device */
    char *bad; /* [samples] 1: could not be read; NULL unless run.on_bad is nan */
    /* Samples that the block before has read already: in which slot, from where on, how many. */
    uint32_t kept_slot;
    uint64_t kept_from, kept;
    char *samples;            /* the reader's: of `in`, in host memory */
    struct left_out left_out; /* of the inputs; none of what is on the device */
};

struct dedispersing {
    pipeline_t *pipeline;
    const struct dedisperse_plan *plan;
    backend_t *backend; /* the caller's */
    struct pipeline_sink sink;
    power_reader_t *reader;
    const struct device_carry *between;
    resident_rows_t *resident;      /* rows on the device; NULL: none */
    struct resident_rows_sums sums; /* what becomes of them */
    double inputs, fetched;         /* samples in time, so far: all, and those from the device */
    struct slot slots[PIPELINE_MOST_SLOTS];
    uint32_t nslots;
    uint64_t block; /* outputs of its own; the plan's, or less if the device is small */
    int is_whole;   /* as the plan's, unless the device is too small */
    struct dm_group group;
    uint32_t first_dm;  /* of the group; the stage is its */
    int has_last;       /* a block of this group was read before, */
    uint32_t last_slot; /* here */
    dedisperse_t *stage;
    seek_t *seek;   /* NULL: nothing is searched */
    peaks_t *peaks; /* NULL: the host's threads search */
    char *holes;    /* [DMs of a chunk] 1: some of its outputs are NaN; the writer's */
    uint8_t *share; /* [DMs of a chunk][outputs made] for `seek`; the writer's */
};

static void dedispersing_drop_stage(struct dedispersing *p)
{
    dedisperse_destroy(p->stage);
    p->stage = NULL;
    dm_group_free(&p->group);
}

static void dedispersing_drop_slots(struct dedispersing *p)
{
    for (uint32_t i = 0; i < p->nslots; i++) {
        buffer_destroy(p->slots[i].in);
        buffer_destroy(p->slots[i].out);
        buffer_destroy(p->slots[i].peaks);
        free(p->slots[i].bad);
        left_out_free(&p->slots[i].left_out);
        p->slots[i] = (struct slot){.in = NULL};
    }
}

/* The first DM of the group whose delays span most. */
static uint32_t dedispersing_widest_group(const struct dedisperse_plan *plan, uint32_t *span)
{
    uint32_t widest = 0;
    *span = 0;
    for (uint64_t at = 0; at < plan->delays.ndms; at += plan->chunking.chunk_spectra) {
        uint64_t count = min_u64(plan->chunking.chunk_spectra, plan->delays.ndms - at);
        uint32_t base;
        uint32_t mine;
        dm_group_span(plan, (uint32_t)at, (uint32_t)count, &base, &mine);
        widest = mine > *span ? (uint32_t)at : widest;
        *span = mine > *span ? mine : *span;
    }
    return widest;
}

/* Outputs that a block makes. */
static uint64_t dedispersing_made(const struct dedispersing *p)
{
    return p->is_whole ? dedisperse_plan_made(p->plan, p->block) : p->block;
}

/* Whether the backend finds the peaks of blocks. */
static int dedispersing_finds(const struct dedispersing *p)
{
    return p->is_whole && p->peaks;
}

static status_t dedispersing_create_slots(struct dedispersing *p, uint32_t span)
{
    status_t st = STATUS_OK;
    const struct dedisperse_plan *plan = p->plan;
    const struct overlap widest = overlap_delay(0, span);
    uint64_t dms = plan->chunking.chunk_spectra;
    uint64_t samples = overlap_inputs(&widest, dedispersing_made(p));
    uint64_t in = samples * plan->input.row_bytes;
    uint64_t out = dms * dedispersing_made(p) * sizeof(float);
    uint64_t peaks = dms * ceil_div_u64(p->block, PEAK_CELL) * sizeof(struct peak);
    /* Series that only a search wants stay on the device. */
    enum buffer_use use = dedispersing_finds(p) && !plan->what->file ? BUFFER_BETWEEN : BUFFER_OUT;
    for (uint32_t i = 0; i < p->nslots; i++) {
        TRY(buffer_create(p->backend, BUFFER_IN, in, &p->slots[i].in));
        TRY(buffer_create(p->backend, use, out, &p->slots[i].out));
        if (dedispersing_finds(p)) {
            TRY(buffer_create(p->backend, BUFFER_OUT, peaks, &p->slots[i].peaks));
            TRY(peaks_reserve(p->peaks, dms, p->block));
        }
        if (plan->job->on_bad == ON_BAD_NAN) {
            TRY(memory_zeroed((size_t)samples, 1, "rows", &p->slots[i].bad));
        }
    }
out:
    return st;
}

static status_t dedispersing_create_stage(struct dedispersing *p, uint32_t first, uint32_t count)
{
    status_t st = STATUS_OK;
    const struct dedisperse_shape *shape = &p->plan->shape;
    const char *why = NULL;
    double cost = 0;
    dedispersing_drop_stage(p);
    TRY(dm_group_create(p->plan, first, count, &p->group));
    struct dedisperse_spec spec = dedisperse_plan_stage(p->plan, &p->group, dedispersing_made(p));
    /* A tuned shape that does not fit this group is left to the model. */
    if (shape->pack > 0 && dedisperse_shape_fits(p->backend, &spec, shape, &cost, &why)) {
        spec.shape = *shape;
    }
    TRY(dedisperse_create(p->backend, &spec, &p->stage));
    p->first_dm = first;
out:
    return st;
}

/* Half as many outputs to a block; where that is no whole block of noise, series are gathered. */
static void dedispersing_halve(struct dedispersing *p)
{
    uint64_t whole = p->is_whole ? p->block / 2 / p->plan->bursts.boxes.block : 0;
    p->is_whole = whole > 0;
    p->block = whole > 0 ? whole * p->plan->bursts.boxes.block : max_u64(p->block / 2, 1);
}

/* The device may have less room than the plan thought: then the rows that stay on it go, then
 * blocks are halved. The stage of the group that needs most is made first. */
static status_t dedispersing_fit(struct dedispersing *p)
{
    status_t st = STATUS_OK;
    uint64_t ndms = p->plan->delays.ndms;
    uint32_t span;
    uint32_t first = dedispersing_widest_group(p->plan, &span);
    uint64_t dms = min_u64(p->plan->chunking.chunk_spectra, ndms - first);
    for (;;) {
        st = dedispersing_create_slots(p, span);
        if (st == STATUS_OK) {
            st = dedispersing_create_stage(p, first, (uint32_t)dms);
        }
        if (st == STATUS_OK || !backend_was_full(p->backend)) {
            break;
        }
        int has_cleared = p->between && device_carry_clear(p->between);
        if (!has_cleared && p->block <= LEAST_BLOCK) {
            break;
        }
        report_clear();
        dedispersing_drop_stage(p);
        dedispersing_drop_slots(p);
        if (!has_cleared) {
            dedispersing_halve(p);
        }
    }
    return st;
}

/* The reader thread. What the block before has read is copied: delays may be much longer than
 * blocks are, and files far away. */
static status_t dedispersing_read(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    struct dedispersing *p = context;
    struct slot *slot = &p->slots[number];
    const struct slot *before = &p->slots[slot->kept_slot];
    uint64_t row = p->plan->input.row_bytes;
    uint64_t kept = slot->kept;
    void *in = NULL;
    if (slot->is_resident) {
        slot->left_out.count = 0;
        goto out;
    }
    TRY(buffer_get(slot->in, &in));
    slot->samples = in;
    if (kept > 0) {
        memmove(in, before->samples + slot->kept_from * row, (size_t)(kept * row));
    }
    TRY(left_out_keep(&before->left_out, slot->kept_from, kept, &slot->left_out));
    if (kept < slot->inputs) {
        TRY(power_reader_read(p->reader, p->plan->first + (int64_t)(slot->from + slot->base + kept),
                              slot->inputs - kept, slot->samples + kept * row,
                              slot->bad ? slot->bad + kept : NULL));
    }
    TRY(left_out_find(p->plan, p->reader, p->plan->first + (int64_t)(slot->from + slot->base), kept,
                      slot->inputs - kept, slot->samples, slot->bad, &slot->left_out));
out:
    return st;
}

static void dedispersing_range(const void *context, const struct chunk *chunk, uint64_t *from,
                               uint64_t *end)
{
    const struct dedispersing *p = context;
    *from = chunk->first_stream;
    *end = *from + chunk->streams;
    if (!p->is_whole) {
        dedisperse_plan_range(p->plan, chunk, from, end);
    }
}

/* Whether the block's outputs are the chunk's; else boxes and noise reach over them. */
static int dedispersing_is_own(const struct slot *slot)
{
    return slot->own >= slot->chunk.first_stream &&
           slot->own < (uint64_t)slot->chunk.first_stream + slot->chunk.streams;
}

/* Puts the block's own outputs; those around them are overwritten. */
static status_t dedispersing_put(const struct dedispersing *p, const struct slot *slot,
                                 float *series, const char *holes)
{
    struct chunk part = slot->chunk;
    size_t count = (size_t)(slot->own_end - slot->own);
    part.first_stream = (uint32_t)slot->own;
    part.streams = (uint32_t)count;
    for (uint64_t dm = 0; dm < part.count && slot->stride > count; dm++) {
        memmove(series + dm * count, series + dm * slot->stride + (slot->own - slot->from),
                count * sizeof *series);
    }
    return p->sink.put(p->sink.context, 0, &part, part.first, part.count, series, holes);
}

/* Searches the block's series, or takes what the backend has found in them. */
static status_t dedispersing_seek(struct dedispersing *p, const struct slot *slot,
                                  const float *series, const char *holes)
{
    status_t st = STATUS_OK;
    const uint8_t *share = slot->left_out.count > 0 ? p->share : NULL;
    const struct boxcar_rows rows = {series, share, slot->chunk.count, slot->stride, slot->from};
    void *found = NULL;
    if (!p->is_whole) {
        TRY(seek_take(p->seek, &slot->chunk, slot->from, slot->count, series, share, holes));
        goto out;
    }
    TRY(slot->is_searched ? pipeline_get(p->pipeline, slot->peaks, &found) : STATUS_OK);
    TRY(seek_blocks(p->seek, &slot->chunk, slot->own, slot->own_end, &rows, found, holes));
out:
    return st;
}

/* The writer thread. */
static status_t dedispersing_write(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    struct dedispersing *p = context;
    struct slot *slot = &p->slots[number];
    void *series = NULL;
    int has_holes = 0;
    uint64_t first;
    uint64_t end;
    dedispersing_range(p, &slot->chunk, &first, &end);
    if (p->plan->what->file || !slot->is_searched) {
        TRY(pipeline_get(p->pipeline, slot->out, &series));
        TRY(left_out_scale(p->plan, &p->group, &slot->left_out, slot->count, slot->stride, series,
                           p->holes, &has_holes, p->share));
    }
    const char *holes = has_holes ? p->holes : NULL;
    TRY(p->seek ? dedispersing_seek(p, slot, series, holes) : STATUS_OK);
    if (p->plan->what->file && dedispersing_is_own(slot)) {
        TRY(dedispersing_put(p, slot, series, holes));
    }
    if (p->sink.end && slot->own_end == end) {
        TRY(p->sink.end(p->sink.context, &slot->chunk, NULL));
    }
out:
    return st;
}

/* The samples of a block, from the device. */
static status_t dedispersing_fetch(const struct dedispersing *p, const struct slot *slot)
{
    status_t st = STATUS_OK;
    uint64_t row = p->plan->input.row_bytes;
    struct power_reader_part part = slot->part;
    uint64_t end = part.lead + part.count;
    TRY(resident_rows_blank(p->resident, slot->in, 0, part.lead * row));
    TRY(resident_rows_fetch(p->resident, &p->sums, part.first, part.count, slot->in,
                            part.lead * row));
    TRY(resident_rows_blank(p->resident, slot->in, end * row, (slot->inputs - end) * row));
out:
    return st;
}

static status_t dedispersing_compute(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    struct dedispersing *p = context;
    const struct dedisperse_plan *plan = p->plan;
    struct slot *slot = &p->slots[number];
    struct dedisperse_input input = {0, (size_t)plan->input.row_bytes,
                                     series_bytes(plan->input.format), slot->is_resident};
    if (slot->is_resident) {
        TRY(dedispersing_fetch(p, slot));
    }
    TRY(dedisperse_run(p->stage, slot->in, &input, slot->count, slot->out, slot->stride));
    /* The host first scales sums that lack something, and searches them itself. */
    slot->is_searched = dedispersing_finds(p) && slot->left_out.count == 0;
    if (slot->is_searched) {
        const struct peaks_rows of = {slot->chunk.count, slot->stride, slot->from};
        TRY(peaks_run(p->peaks, slot->out, &of, slot->own, slot->own_end, slot->peaks));
    }
out:
    return st;
}

static struct pipeline_block dedispersing_describe(const void *context, uint32_t number,
                                                   int is_reading)
{
    const struct dedispersing *p = context;
    const struct slot *slot = &p->slots[number];
    return (struct pipeline_block){is_reading ? p->plan->fbh5->path
                                              : job_series_name(p->plan->what),
                                   "times", slot->from, slot->count};
}

/* The stage of other DMs takes the place of the one before, when nobody needs that any more. */
static status_t dedispersing_begin(void *context, driver_t *driver, const struct chunk *chunk)
{
    status_t st = STATUS_OK;
    struct dedispersing *p = context;
    if (p->first_dm != chunk->first) {
        TRY(pipeline_finish(p->pipeline, driver));
        TRY(dedispersing_create_stage(p, (uint32_t)chunk->first, (uint32_t)chunk->count));
        p->has_last = 0;
    }
out:
    return st;
}

/* Which outputs the block that begins here is for, and which it makes. */
static void dedispersing_place(const struct dedispersing *p, struct slot *slot, uint64_t from)
{
    const struct boxes *boxes = &p->plan->bursts.boxes;
    uint64_t first = slot->chunk.first_stream;
    uint64_t last = first + slot->chunk.streams;
    uint64_t begin;
    uint64_t end;
    dedispersing_range(p, &slot->chunk, &begin, &end);
    /* Series are written of the chunk's own outputs alone. */
    if (p->plan->what->file) {
        end = from < first ? first : from < last ? last : end;
    }
    slot->own = slot->from = from;
    slot->own_end = from + min_u64(p->block, end - from);
    slot->count = slot->stride = slot->own_end - from;
    if (p->is_whole) {
        slot->from = boxes_need_from(boxes, from, slot->own_end);
        slot->count = boxes_need_end(boxes, slot->own_end) - slot->from;
        slot->stride = ceil_div_u64(slot->count, STRIDE) * STRIDE;
    }
}

static status_t dedispersing_prepare(void *context, uint32_t number, const struct chunk *chunk,
                                     uint64_t from, uint64_t *count)
{
    struct dedispersing *p = context;
    struct slot *slot = &p->slots[number];
    const struct slot before = p->slots[p->last_slot]; /* perhaps this one */
    slot->chunk = *chunk;
    slot->base = p->group.base;
    dedispersing_place(p, slot, from);
    *count = slot->own_end - slot->own;
    slot->inputs = overlap_inputs(&p->group.overlap, slot->count);
    /* What came from the device was never in the host's memory. */
    int goes_on = p->has_last && slot->from >= before.from &&
                  slot->from <= before.from + before.count && !before.is_resident;
    slot->kept_slot = p->last_slot;
    slot->kept_from = goes_on ? slot->from - before.from : 0;
    slot->kept = goes_on ? min_u64(before.inputs - slot->kept_from, slot->inputs) : 0;
    slot->part = power_reader_clip(p->plan, p->plan->first + (int64_t)(slot->from + slot->base),
                                   slot->inputs);
    slot->is_resident = p->resident && resident_rows_holds(p->resident, &p->sums, slot->part.first,
                                                           slot->part.count);
    p->inputs += (double)slot->inputs;
    p->fetched += slot->is_resident ? (double)slot->inputs : 0;
    p->last_slot = number;
    p->has_last = 1;
    return STATUS_OK;
}

static void dedispersing_destroy(void *context)
{
    struct dedispersing *p = context;
    if (p) {
        dedispersing_drop_stage(p);
        dedispersing_drop_slots(p);
        power_reader_destroy(p->reader);
        seek_destroy(p->seek);
        peaks_destroy(p->peaks);
        free(p->holes);
        free(p->share);
        free(p);
    }
}

status_t dedisperse_pipeline_create(const struct dedisperse_plan *plan, backend_t *backend,
                                    const struct device_carry *between,
                                    const struct pipeline_sink *sink, pipeline_t **out)
{
    status_t st = STATUS_OK;
    struct dedispersing *p = NULL;
    TRY(memory_zeroed(1, sizeof *p, "the pipeline", &p));
    p->plan = plan;
    p->backend = backend;
    p->between = between;
    /* What is on the device is as the filter bank has left it. */
    int may_stay = between && between->backend == backend && !plan->what->is_zero_dm;
    p->resident = may_stay ? between->resident[plan->what->input] : NULL;
    p->sums = (struct resident_rows_sums){.each = plan->what->downsample,
                                          .nifs_there = plan->fbh5->nifs,
                                          .nchannels = plan->fbh5->nchannels,
                                          .ifs = plan->ifs,
                                          .nifs = plan->nifs};
    p->sink = *sink;
    p->nslots = dedisperse_plan_slots(plan->backend);
    p->block = plan->block_outputs;
    TRY(memory_zeroed((size_t)plan->chunking.chunk_spectra, 1, "holes", &p->holes));
    TRY(power_reader_create(plan, &p->reader));
    if (plan->bursts.boxes.widths > 0) {
        TRY(seek_create(plan, sink, plan->what->file ? 1 : 0, &p->seek));
        p->is_whole = plan->bursts.is_whole;
        TRY(memory_aligned((size_t)plan->chunking.chunk_spectra, (size_t)dedispersing_made(p),
                           "series", &p->share));
    }
    TRY(p->is_whole ? peaks_create(backend, &plan->bursts.boxes, 0, &p->peaks) : STATUS_OK);
    TRY(dedispersing_fit(p));
    struct pipeline_stages stages = {.context = p,
                                     .cuts_streams = 1,
                                     .begin = dedispersing_begin,
                                     .range = dedispersing_range,
                                     .prepare = dedispersing_prepare,
                                     .read = dedispersing_read,
                                     .compute = dedispersing_compute,
                                     .write = dedispersing_write,
                                     .describe = dedispersing_describe,
                                     .destroy = dedispersing_destroy};
    TRY(pipeline_create(p->nslots, &stages, &p->pipeline));
    *out = p->pipeline;
    p = NULL;
out:
    dedispersing_destroy(p);
    return st;
}

double dedisperse_pipeline_carried(const pipeline_t *pipeline)
{
    const struct dedispersing *p = pipeline_context(pipeline);
    return p->inputs > 0 ? p->fetched / p->inputs : 0;
}
