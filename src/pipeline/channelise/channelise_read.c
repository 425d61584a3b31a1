/* The samples of a block: to the device while they are read, shown where they lie, or read into its
 * slot. */
#include "base/memory.h"
#include "pipeline/channelise/channelise_parts.h"

status_t channelising_create_ingest(struct channelising *p)
{
    /* The plan is for the rank that has the most threads. */
    p->fillers = (uint32_t)min_u64(p->work->fillers, max_u64(p->work->threads, 1) - 1);
    return p->fillers >= INGEST_LEAST_THREADS && !p->range
               ? ingest_create(p->backend, p->fillers, &p->ingest)
               : STATUS_OK;
}

static status_t slot_room(void *context, uint32_t thread, void **out)
{
    const struct slot *slot = context;
    return ingest_room(slot->ingest, thread, out);
}

static void slot_put(void *context, uint32_t thread, uint64_t at, uint64_t bytes)
{
    const struct slot *slot = context;
    ingest_put(slot->ingest, thread, slot->in, at, bytes);
}

/* slot->is_begun says whether its samples are on their way. */
static status_t channelising_begin(const struct channelising *p, struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct reader_pieces pieces = {.context = slot,
                                         .piece = INGEST_PIECE,
                                         .threads = p->fillers,
                                         .room = slot_room,
                                         .put = slot_put};
    slot->ingest = p->ingest;
    TRY(ingest_begin(p->ingest, slot->in));
    TRY(reader_ingest_begin(p->reader, slot->slab, slot->first_sample, slot->nsamples, &pieces,
                            &slot->is_begun));
out:
    return st;
}

/* Carries pieces, and lets the next block begin as soon as it is known. Behind a failure nobody
 * carries any more. */
static status_t channelising_tend(void *context)
{
    status_t st = STATUS_OK;
    struct channelising *p = context;
    uint32_t number = 0;
    if (!p->has_looked && pipeline_next(p->pipeline, &number)) {
        p->has_looked = 1;
        TRY(channelising_begin(p, &p->slots[number]));
    }
    TRY(ingest_carry(p->ingest));
out:
    if (st != STATUS_OK) {
        ingest_stop(p->ingest);
    }
    return st;
}

/* Gives *done = 0 when the samples must be read into the slot. */
static status_t channelising_ingest(struct channelising *p, struct slot *slot, int *done)
{
    status_t st = STATUS_OK;
    *done = 0;
    TRY(slot->is_begun ? STATUS_OK : channelising_begin(p, slot));
    if (slot->is_begun) {
        slot->is_begun = 0;
        p->has_looked = 0;
        TRY(reader_ingest_end(p->reader, channelising_tend, p, done));
        TRY(ingest_end(p->ingest, slot->in, *done));
    }
out:
    return st;
}

status_t channelising_read(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    struct channelising *p = context;
    const struct channelise_plan *work = p->work;
    struct slot *slot = &p->slots[number];
    uint64_t first = slot->first_sample;
    uint64_t count = slot->nsamples;
    void *in = NULL;
    int is_ingested = 0;
    int may_salvage = work->job->on_bad == ON_BAD_NAN;
    slot->losses.count = slot->unread.count = 0;
    TRY(p->ingest ? channelising_ingest(p, slot, &is_ingested) : STATUS_OK);
    if (is_ingested) {
        goto out;
    }
    /* What lies in a file that was cut off or on a bad disk shows too late in a mapping. */
    if (!may_salvage && buffer_lend(slot->in, NULL)) {
        TRY(reader_map(p->reader, slot->slab, first, count, &slot->mapping));
    }
    if (slot->mapping) {
        buffer_lend(slot->in, mapping_data(slot->mapping));
        goto out;
    }
    TRY(buffer_get(slot->in, &in));
    st = reader_read(p->reader, slot->slab, first, count, in, &slot->losses);
    if (st == STATUS_DATA && may_salvage && reader_is_unreadable(p->reader)) {
        if (!p->has_warned) {
            report_warn("%s", report_cause());
        }
        p->has_warned = 1;
        report_clear();
        slot->losses.count = 0;
        st = reader_salvage(p->reader, slot->slab, first, count, in, &slot->losses, &slot->unread);
    }
out:
    return st;
}
