#include "pipeline/dedisperse_pipeline.h"

#include "base/memory.h"
#include "pipeline/power_reader.h"
#include "pipeline/ring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 8, LEAST_BLOCK = 64, AHEAD = 1 };

/* One block under way. Whoever has the slot in the ring may touch it. */
struct slot {
    buffer_t *in, *out;
    struct chunk chunk;
    uint32_t base;        /* delay of the chunk's DMs that all have */
    uint64_t inputs;      /* samples in time */
    uint64_t from, count; /* outputs */
    int is_shelved;       /* its samples are on the shelf */
    char *bad;            /* [samples] 1: could not be read; NULL unless run.on_bad is nan */
    /* Samples that the block before has read already: in which slot, from where on, how many. */
    uint32_t kept_slot;
    uint64_t kept_from, kept;
    char *samples; /* the reader's: of `in`, in host memory */
};

struct dedisperse_pipeline {
    const struct dedisperse_plan *plan;
    backend_t *backend; /* the caller's */
    struct pipeline_sink sink;
    power_reader_t *reader;
    const struct device_carry *between;
    resident_rows_t *shelf;
    double inputs, shelved; /* samples in time, so far */
    struct slot slots[MOST_SLOTS];
    uint32_t nslots;
    uint64_t block; /* outputs; the plan's, or less if the device is small */
    struct dm_group group;
    uint32_t first_dm;  /* of the group; the stage is its */
    int has_last;       /* a block of this group was read before, */
    uint32_t last_slot; /* here */
    dedisperse_t *stage;
    ring_t *ring;
    struct flow flow;
    double computing, waiting;
    char *holes; /* [DMs of a chunk] 1: some of its outputs are NaN; the writer's */
};

static void pipeline_drop_stage(dedisperse_pipeline_t *pipe)
{
    dedisperse_destroy(pipe->stage);
    pipe->stage = NULL;
    dm_group_free(&pipe->group);
}

static void pipeline_drop_slots(dedisperse_pipeline_t *pipe)
{
    for (uint32_t i = 0; i < pipe->nslots; i++) {
        buffer_destroy(pipe->slots[i].in);
        buffer_destroy(pipe->slots[i].out);
        free(pipe->slots[i].bad);
        pipe->slots[i] = (struct slot){.in = NULL};
    }
}

/* The first DM of the group whose delays span most. */
static uint32_t pipeline_widest_group(const struct dedisperse_plan *plan, uint32_t *span)
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

static status_t pipeline_create_slots(dedisperse_pipeline_t *pipe, uint32_t span)
{
    status_t st = STATUS_OK;
    const struct dedisperse_plan *plan = pipe->plan;
    uint64_t in = (pipe->block + span) * plan->input.row_bytes;
    uint64_t out = plan->chunking.chunk_spectra * pipe->block * sizeof(float);
    for (uint32_t i = 0; i < pipe->nslots; i++) {
        TRY(buffer_create(pipe->backend, BUFFER_IN, in, &pipe->slots[i].in));
        TRY(buffer_create(pipe->backend, BUFFER_OUT, out, &pipe->slots[i].out));
        if (plan->job->on_bad == ON_BAD_NAN) {
            TRY(memory_zeroed((size_t)(pipe->block + span), 1, "rows", &pipe->slots[i].bad));
        }
    }
out:
    return st;
}

static status_t pipeline_create_stage(dedisperse_pipeline_t *pipe, uint32_t first, uint32_t count)
{
    status_t st = STATUS_OK;
    const struct dedisperse_shape *shape = &pipe->plan->shape;
    const char *why = NULL;
    double cost = 0;
    pipeline_drop_stage(pipe);
    TRY(dm_group_create(pipe->plan, first, count, &pipe->group));
    struct dedisperse_spec spec = dedisperse_plan_stage(pipe->plan, &pipe->group, pipe->block);
    /* A tuned shape that does not fit this group is left to the model. */
    if (shape->pack > 0 && dedisperse_shape_fits(pipe->backend, &spec, shape, &cost, &why)) {
        spec.shape = *shape;
    }
    TRY(dedisperse_create(pipe->backend, &spec, &pipe->stage));
    pipe->first_dm = first;
out:
    return st;
}

/* The device may have less room than the plan thought: then the shelf is cleared, then blocks are
 * halved. The stage of the group that needs most is made first. */
static status_t pipeline_fit(dedisperse_pipeline_t *pipe)
{
    status_t st = STATUS_OK;
    uint64_t ndms = pipe->plan->delays.ndms;
    uint32_t span;
    uint32_t first = pipeline_widest_group(pipe->plan, &span);
    uint64_t dms = min_u64(pipe->plan->chunking.chunk_spectra, ndms - first);
    for (;;) {
        st = pipeline_create_slots(pipe, span);
        if (st == STATUS_OK) {
            st = pipeline_create_stage(pipe, first, (uint32_t)dms);
        }
        if (st == STATUS_OK || !backend_was_full(pipe->backend)) {
            break;
        }
        int has_cleared = pipe->between && device_carry_clear(pipe->between);
        if (!has_cleared && pipe->block <= LEAST_BLOCK) {
            break;
        }
        report_clear();
        pipeline_drop_stage(pipe);
        pipeline_drop_slots(pipe);
        pipe->block = has_cleared ? pipe->block : max_u64(pipe->block / 2, 1);
    }
    return st;
}

/* The reader thread. What the block before has read is copied: delays may be much longer than
 * blocks are, and files far away. */
static status_t pipeline_read_slot(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    dedisperse_pipeline_t *pipe = context;
    struct slot *slot = &pipe->slots[number];
    const struct slot *before = &pipe->slots[slot->kept_slot];
    uint64_t row = pipe->plan->input.row_bytes;
    uint64_t kept = slot->kept;
    void *in = NULL;
    if (slot->is_shelved) {
        goto out;
    }
    TRY(buffer_get(slot->in, &in));
    slot->samples = in;
    if (kept > 0) {
        memmove(in, before->samples + slot->kept_from * row, (size_t)(kept * row));
    }
    if (kept > 0 && slot->bad) {
        memmove(slot->bad, before->bad + slot->kept_from, (size_t)kept);
    }
    TRY(power_reader_read(
        pipe->reader, pipe->plan->first + (int64_t)(slot->from + slot->base + kept),
        slot->inputs - kept, slot->samples + kept * row, slot->bad ? slot->bad + kept : NULL));
out:
    return st;
}

/* Which DMs hold NaN, as sums over rows that are NaN do; NULL when none does. */
static const char *pipeline_find_holes(dedisperse_pipeline_t *pipe, const float *data, uint64_t dms,
                                       uint64_t times)
{
    int any = 0;
    for (uint64_t i = 0; i < dms; i++) {
        int has_nan = 0;
        for (uint64_t j = 0; j < times; j++) {
            has_nan |= isnan(data[i * times + j]) != 0;
        }
        pipe->holes[i] = (char)has_nan;
        any |= has_nan;
    }
    return any ? pipe->holes : NULL;
}

/* The writer thread. */
static status_t pipeline_write_slot(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    dedisperse_pipeline_t *pipe = context;
    struct slot *slot = &pipe->slots[number];
    struct chunk part = slot->chunk;
    void *data = NULL;
    double since = progress_now();
    TRY(buffer_get(slot->out, &data));
    pipe->waiting += progress_now() - since;
    part.first_stream = (uint32_t)slot->from;
    part.streams = (uint32_t)slot->count;
    if (slot->bad) {
        dm_group_blank(pipe->plan, &pipe->group, slot->bad, part.streams, data);
    }
    const char *holes = pipeline_find_holes(pipe, data, part.count, part.streams);
    TRY(pipe->sink.put(pipe->sink.context, 0, &part, part.first, part.count, data, holes));
    uint64_t end = (uint64_t)slot->chunk.first_stream + slot->chunk.streams;
    if (pipe->sink.end && slot->from + slot->count == end) {
        TRY(pipe->sink.end(pipe->sink.context, &slot->chunk, 0));
    }
out:
    return st;
}

/* Which samples of the filterbank a block takes; before and behind them is padding. */
static struct power_reader_part pipeline_part_of(const dedisperse_pipeline_t *pipe,
                                                 const struct slot *slot)
{
    return power_reader_clip(pipe->plan, pipe->plan->first + (int64_t)(slot->from + slot->base),
                             slot->inputs);
}

static struct resident_rows_sums pipeline_sums_of(const struct dedisperse_plan *plan)
{
    return (struct resident_rows_sums){.each = plan->what->downsample,
                                       .nifs_there = plan->fbh5->nifs,
                                       .nchannels = plan->fbh5->nchannels,
                                       .ifs = plan->ifs,
                                       .nifs = plan->nifs};
}

static int pipeline_is_on_shelf(const dedisperse_pipeline_t *pipe, const struct slot *slot)
{
    struct resident_rows_sums sums = pipeline_sums_of(pipe->plan);
    struct power_reader_part part = pipeline_part_of(pipe, slot);
    return pipe->shelf && resident_rows_holds(pipe->shelf, &sums, part.first, part.count);
}

/* The samples of a block, from the shelf. */
static status_t pipeline_fetch(const dedisperse_pipeline_t *pipe, const struct slot *slot)
{
    status_t st = STATUS_OK;
    uint64_t row = pipe->plan->input.row_bytes;
    struct resident_rows_sums sums = pipeline_sums_of(pipe->plan);
    struct power_reader_part part = pipeline_part_of(pipe, slot);
    uint64_t end = part.lead + part.count;
    TRY(resident_rows_blank(pipe->shelf, slot->in, 0, part.lead * row));
    TRY(resident_rows_fetch(pipe->shelf, &sums, part.first, part.count, slot->in, part.lead * row));
    TRY(resident_rows_blank(pipe->shelf, slot->in, end * row, (slot->inputs - end) * row));
out:
    return st;
}

/* Sets the backend to work on the oldest block that was read. */
static status_t pipeline_compute(void *context, uint64_t number)
{
    status_t st = STATUS_OK;
    dedisperse_pipeline_t *pipe = context;
    const struct dedisperse_plan *plan = pipe->plan;
    struct slot *slot = &pipe->slots[number % pipe->nslots];
    double started = progress_now();
    struct dedisperse_input input = {0, (size_t)plan->input.row_bytes,
                                     series_bytes(plan->input.format), slot->is_shelved};
    if (slot->is_shelved) {
        TRY(pipeline_fetch(pipe, slot));
    }
    TRY(dedisperse_run(pipe->stage, slot->in, &input, slot->count, slot->out, slot->count));
    pipe->computing += progress_now() - started;
    ring_pass(pipe->ring);
out:
    return st;
}

static status_t pipeline_say_what_hangs(void *context, const struct ring_counts *at)
{
    const dedisperse_pipeline_t *pipe = context;
    int is_reading = at->read < at->submitted && at->written == at->computed;
    const struct slot *slot = &pipe->slots[(is_reading ? at->read : at->written) % pipe->nslots];
    return report_fail(STATUS_DATA, "%s: times %llu .. %llu could not be %s within %g s",
                       is_reading ? pipe->plan->fbh5->path : pipe->plan->what->file,
                       (unsigned long long)slot->from,
                       (unsigned long long)(slot->from + slot->count),
                       is_reading ? "read" : "finished and written", pipe->flow.patience);
}

status_t dedisperse_pipeline_create(const struct dedisperse_plan *plan, backend_t *backend,
                                    const struct device_carry *between,
                                    const struct pipeline_sink *sink, dedisperse_pipeline_t **out)
{
    status_t st = STATUS_OK;
    dedisperse_pipeline_t *pipe = NULL;
    TRY(memory_zeroed(1, sizeof *pipe, "the pipeline", &pipe));
    pipe->plan = plan;
    pipe->backend = backend;
    pipe->between = between;
    pipe->shelf =
        between && between->backend == backend ? between->shelves[plan->what->input] : NULL;
    pipe->sink = *sink;
    pipe->nslots = dedisperse_plan_slots(plan->backend);
    pipe->block = plan->block_outputs;
    TRY(memory_zeroed((size_t)plan->chunking.chunk_spectra, 1, "holes", &pipe->holes));
    TRY(power_reader_create(plan, &pipe->reader));
    TRY(pipeline_fit(pipe));
    struct ring_work sides = {pipe, pipeline_read_slot, pipeline_write_slot};
    TRY(ring_create(pipe->nslots, &sides, &pipe->ring));
    pipe->flow = (struct flow){.ring = pipe->ring,
                               .context = pipe,
                               .compute = pipeline_compute,
                               .say_what_hangs = pipeline_say_what_hangs};
    *out = pipe;
    pipe = NULL;
out:
    dedisperse_pipeline_destroy(pipe);
    return st;
}

void dedisperse_pipeline_destroy(dedisperse_pipeline_t *pipe)
{
    if (!pipe) {
        return;
    }
    ring_destroy(pipe->ring);
    pipeline_drop_stage(pipe);
    pipeline_drop_slots(pipe);
    power_reader_destroy(pipe->reader);
    free(pipe->holes);
    free(pipe);
}

double dedisperse_pipeline_carried(const dedisperse_pipeline_t *pipe)
{
    return pipe->inputs > 0 ? pipe->shelved / pipe->inputs : 0;
}

void dedisperse_pipeline_limit(dedisperse_pipeline_t *pipe, double seconds)
{
    pipe->flow.patience = seconds;
}

int dedisperse_pipeline_hangs(const dedisperse_pipeline_t *pipe)
{
    return pipe->flow.is_stuck;
}

/* The stage of other DMs takes the place of the one before, when nobody needs that any more. */
static status_t pipeline_take_group(dedisperse_pipeline_t *pipe, driver_t *driver,
                                    const struct chunk *chunk)
{
    status_t st = STATUS_OK;
    if (pipe->first_dm != chunk->first) {
        TRY(flow_work_off(&pipe->flow, driver, 0, 0));
        TRY(pipeline_create_stage(pipe, (uint32_t)chunk->first, (uint32_t)chunk->count));
        pipe->has_last = 0;
    }
out:
    return st;
}

/* The block of outputs from .. from + count - 1 of a chunk. */
static void pipeline_submit(dedisperse_pipeline_t *pipe, const struct chunk *chunk, uint64_t from,
                            uint64_t count)
{
    uint64_t number = ring_counts(pipe->ring).submitted;
    struct slot *slot = &pipe->slots[number % pipe->nslots];
    const struct slot *before = &pipe->slots[pipe->last_slot];
    /* What came from the shelf was never in the host's memory. */
    int goes_on = pipe->has_last && before->from + before->count == from && !before->is_shelved;
    slot->kept_slot = pipe->last_slot;
    slot->kept_from = goes_on ? before->count : 0;
    slot->kept = goes_on ? pipe->group.delays.largest : 0;
    slot->chunk = *chunk;
    slot->base = pipe->group.base;
    slot->from = from;
    slot->count = count;
    slot->inputs = count + pipe->group.delays.largest;
    slot->is_shelved = pipeline_is_on_shelf(pipe, slot);
    pipe->inputs += (double)slot->inputs;
    pipe->shelved += slot->is_shelved ? (double)slot->inputs : 0;
    pipe->last_slot = (uint32_t)(number % pipe->nslots);
    pipe->has_last = 1;
    ring_submit(pipe->ring);
}

status_t dedisperse_pipeline_chunk(dedisperse_pipeline_t *pipe, driver_t *driver,
                                   const struct chunk *chunk)
{
    status_t st = STATUS_OK;
    uint64_t end = (uint64_t)chunk->first_stream + chunk->streams;
    TRY(pipeline_take_group(pipe, driver, chunk));
    for (uint64_t from = chunk->first_stream; from < end; from += pipe->block) {
        TRY(flow_work_off(&pipe->flow, driver, AHEAD, pipe->nslots - 1));
        if (driver && driver_serve(driver)) {
            break;
        }
        pipeline_submit(pipe, chunk, from, min_u64(pipe->block, end - from));
    }
out:
    return st;
}

status_t dedisperse_pipeline_finish(dedisperse_pipeline_t *pipe, driver_t *driver)
{
    return flow_work_off(&pipe->flow, driver, 0, 0);
}

struct pipeline_seconds dedisperse_pipeline_seconds(const dedisperse_pipeline_t *pipe)
{
    struct pipeline_seconds spent = {.compute = pipe->computing + pipe->waiting};
    ring_seconds(pipe->ring, &spent.read, &spent.write);
    spent.write -= pipe->waiting;
    return spent;
}
