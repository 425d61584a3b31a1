/* The stages of dedispersion in order: which samples of the filterbank a block takes, from the file
 * or from the device, and the sums that are written of it. */
#include "compute/boxcar.h"
#include "pipeline/pipeline_kinds.h"
#include "pipeline/power_reader.h"

#include <stdlib.h>
#include <string.h>

/* The series of a chunk on their way through a search: gathered until a block's boxes and noise are
 * all there, searched, let go. For the writer thread of a dedispersion. */
typedef struct seek seek_t;

struct seek {
    const struct dedisperse_plan *plan;
    struct pipeline_sink sink;
    uint32_t product;
    boxcar_t *boxcar;
    uint64_t room;      /* columns that are held at most */
    float *held;        /* [DMs][room] earlier outputs that blocks need */
    uint8_t *share;     /* [DMs][room] share of their channels that entered */
    uint64_t share_end; /* from here on all did */
    uint64_t from, end; /* outputs that are held */
    uint64_t next;      /* the first of the next block */
    struct peak *peaks; /* [DMs][cells of a block] */
    char *holes;        /* [DMs] of the chunk so far */
    int has_holes;
    char *is_level; /* [DMs] of the chunk: their sums are nothing but rounding */
};

static void seek_destroy(seek_t *seek)
{
    if (seek) {
        boxcar_destroy(seek->boxcar);
        MEMORY_FREE(seek->held, seek->share, seek->peaks, seek->holes, seek->is_level, seek);
    }
}
SCOPED_END(seek_destroy, seek_t *)

/* Peaks go to the sink as rows of that product. Fails with DEVICE. */
static status_t seek_create(const struct dedisperse_plan *plan, const struct pipeline_sink *sink,
                            uint32_t product, seek_t **out)
{
    SCOPED(seek_destroy_at) seek_t *seek = NULL;
    size_t dms = (size_t)plan->chunking.chunk_spectra;
    TRY(memory_zeroed(1, sizeof *seek, "a search", &seek));
    seek->plan = plan;
    seek->sink = *sink;
    seek->product = product;
    seek->room = dedisperse_plan_held(plan);
    TRY(memory_aligned(dms, (size_t)seek->room * sizeof *seek->held, "series", &seek->held));
    TRY(memory_aligned(dms, (size_t)seek->room, "series", &seek->share));
    TRY(memory_aligned(dms, (size_t)plan->bursts.boxes.block / PEAK_CELL * sizeof *seek->peaks,
                       "peaks", &seek->peaks));
    TRY(memory_zeroed(dms, 1, "holes", &seek->holes));
    TRY(memory_zeroed(dms, 1, "DMs", &seek->is_level));
    TRY(boxcar_create(&plan->bursts.boxes, plan->threads, &seek->boxcar));
    *out = memory_move(&seek);
    return STATUS_OK;
}

static void seek_begin(seek_t *seek, const struct chunk *chunk, uint64_t from)
{
    seek->from = seek->end = seek->share_end = from;
    seek->next = chunk->first_stream;
    seek->has_holes = 0;
    memset(seek->holes, 0, (size_t)chunk->count);
    for (uint64_t dm = 0; dm < chunk->count; dm++) {
        const uint32_t number = (uint32_t)(chunk->first + dm);
        seek->is_level[dm] = (char)dedisperse_plan_is_level(seek->plan, number);
    }
}

/* Puts seek->peaks, those of a block. Rounding has no bursts. */
static status_t seek_put(seek_t *seek, const struct chunk *chunk, const struct boxes_block *block)
{
    struct chunk part = *chunk;
    size_t cells = (size_t)ceil_div_u64(block->end - block->first, PEAK_CELL);
    for (uint64_t dm = 0; dm < chunk->count; dm++) {
        if (seek->is_level[dm]) {
            memset(seek->peaks + dm * cells, 0, cells * sizeof *seek->peaks);
        }
    }
    part.first_stream = (uint32_t)block->first;
    part.streams = (uint32_t)(block->end - block->first);
    seek->next = block->end;
    return seek->sink.put(seek->sink.context, seek->product, &part, part.first, part.count,
                          seek->peaks, seek->has_holes ? seek->holes : NULL);
}

static status_t seek_search(seek_t *seek, const struct chunk *chunk,
                            const struct boxes_block *block, const struct boxcar_rows *rows)
{
    boxcar_run(seek->boxcar, block, rows, seek->peaks);
    return seek_put(seek, chunk, block);
}

/* Drops the samples before `from`. */
static void seek_drop(seek_t *seek, uint64_t dms, uint64_t from)
{
    uint64_t gone = from - seek->from;
    size_t bytes = (size_t)(seek->end - from) * sizeof *seek->held;
    for (uint64_t dm = 0; dm < dms && gone > 0; dm++) {
        float *row = seek->held + dm * seek->room;
        memmove(row, row + gone, bytes);
        memmove(seek->share + dm * seek->room, seek->share + dm * seek->room + gone,
                (size_t)(seek->end - from));
    }
    seek->from = from;
}

/* Keeps what is needed from `first` on, of what is held and of what has come up to `end`, which
 * goes after it. */
static void seek_keep(seek_t *seek, const struct boxcar_rows *come, uint64_t first, uint64_t end)
{
    if (first < seek->end) {
        seek_drop(seek, come->ndms, first);
    } else {
        seek->from = seek->end = first;
    }
    uint64_t at = seek->end - seek->from;
    uint64_t there = seek->end - come->from;
    size_t now = (size_t)(end - seek->end);
    for (uint64_t dm = 0; dm < come->ndms; dm++) {
        uint8_t *share = seek->share + dm * seek->room + at;
        memcpy(seek->held + dm * seek->room + at, come->rows + dm * come->stride + there,
               now * sizeof *seek->held);
        if (come->share) {
            memcpy(share, come->share + dm * come->stride + there, now);
        } else {
            memset(share, BOXCAR_ALL, now);
        }
    }
    seek->end = end;
    seek->share_end = come->share ? end : seek->share_end;
}

/* Searches every block that is complete. */
static status_t seek_go_on(seek_t *seek, const struct chunk *chunk, const struct boxcar_rows *come,
                           uint64_t end)
{
    const struct boxes *boxes = &seek->plan->bursts.boxes;
    while (seek->next < (uint64_t)chunk->first_stream + chunk->streams) {
        struct boxes_block block = boxes_block_at(boxes, seek->next);
        uint64_t need = min_u64(block.first, block.noise_first);
        uint64_t need_end = max_u64(block.box_end, block.noise_end);
        if (need_end > end) {
            seek_keep(seek, come, need, end);
            break;
        }
        if (need >= come->from) {
            TRY(seek_search(seek, chunk, &block, come));
            continue;
        }
        seek_keep(seek, come, need, need_end);
        const struct boxcar_rows held = {seek->held,
                                         seek->share_end > seek->from ? seek->share : NULL,
                                         chunk->count, seek->room, seek->from};
        TRY(seek_search(seek, chunk, &block, &held));
    }
    return STATUS_OK;
}

static void seek_add_holes(seek_t *seek, const struct chunk *chunk, const char *holes)
{
    for (uint64_t dm = 0; dm < chunk->count && holes; dm++) {
        seek->holes[dm] |= holes[dm];
        seek->has_holes |= holes[dm];
    }
}

/* Outputs first .. end - 1 that are made for a chunk: beside its own, those that its boxes and its
 * noise reach over. */
static void dedisperse_plan_range(const struct dedisperse_plan *d, const struct chunk *chunk,
                                  uint64_t *first, uint64_t *end)
{
    *first = chunk->first_stream;
    *end = (uint64_t)chunk->first_stream + chunk->streams;
    if (d->bursts.boxes.widths > 0) {
        *first = boxes_need_from(&d->bursts.boxes, *first, *end);
        *end = boxes_need_end(&d->bursts.boxes, *end);
    }
}

/* Outputs from .. from + count - 1 of all DMs of the chunk, which follow those before; the first of
 * them are those that dedisperse_plan_range() says.
 *
 *   series   float [chunk's DMs][count]
 *   share    as left_out_scale() says; NULL: all channels entered
 *   holes    as struct pipeline_sink's; NULL: none
 *
 * Fails as the sink does. */
static status_t seek_take(seek_t *seek, const struct chunk *chunk, uint64_t from, uint64_t count,
                          const float *series, const uint8_t *share, const char *holes)
{
    uint64_t first;
    uint64_t end;
    const struct boxcar_rows come = {series, share, chunk->count, count, from};
    dedisperse_plan_range(seek->plan, chunk, &first, &end);
    if (from == first) {
        seek_begin(seek, chunk, from);
    }
    seek_add_holes(seek, chunk, holes);
    return seek_go_on(seek, chunk, &come, from + count);
}

/* Outputs first .. end - 1 of all DMs of the chunk instead: whole blocks of noise, or the chunk's
 * end, which follow those before.
 *
 *   rows    all that their blocks need; NULL where `found` is not
 *   found   struct peak [blocks][chunk's DMs][cells of the block]: what the backend has found there
 *           (compute/device_side.h); NULL: the host's threads search
 *
 * Fails as the sink does. */
static status_t seek_blocks(seek_t *seek, const struct chunk *chunk, uint64_t first, uint64_t end,
                            const struct boxcar_rows *rows, const struct peak *found,
                            const char *holes)
{
    if (first == chunk->first_stream) {
        seek_begin(seek, chunk, first);
    }
    seek_add_holes(seek, chunk, holes);
    while (first < end) {
        struct boxes_block block = boxes_block_at(&seek->plan->bursts.boxes, first);
        uint64_t count = chunk->count * ceil_div_u64(block.end - block.first, PEAK_CELL);
        if (found) {
            memcpy(seek->peaks, found, (size_t)count * sizeof *found);
            found += count;
            TRY(seek_put(seek, chunk, &block));
        } else {
            TRY(seek_search(seek, chunk, &block, rows));
        }
        first = block.end;
    }
    return STATUS_OK;
}

enum { LEAST_BLOCK = 64, STRIDE = 64 /* outputs that rows to be searched are multiples of */ };

/* One block under way. */
struct slot {
    struct pipeline_slot block;    /* of outputs that it is for */
    buffer_t *in, *out, *peaks;    /* peaks: NULL where the host's threads search */
    uint32_t base;                 /* delay of the chunk's DMs that all have */
    uint64_t inputs;               /* samples in time */
    uint64_t from, count, stride;  /* outputs that are made, and from one DM's to the next's */
    int is_searched;               /* by the backend: their peaks are in `peaks` */
    struct power_reader_part part; /* of the filterbank; the rest of the inputs is padding */
    int is_resident;               /* that part is on the device */
    char *bad; /* [samples] 1: could not be read; NULL unless run.on_bad is nan */
    /* Samples that the block before has read already: in which slot, from where on, how many. */
    const struct slot *before;
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
    uint32_t first_dm; /* of the group; the stage is its */
    struct slot *last; /* the block of this group that was read before; NULL: none */
    dedisperse_t *stage;
    seek_t *seek;   /* NULL: nothing is searched */
    peaks_t *peaks; /* NULL: the host's threads search */
    char *holes;    /* [DMs of a chunk] 1: some of its outputs are NaN; the writer's */
    uint8_t *share; /* [DMs of a chunk][outputs made] for `seek`; the writer's */
};

static void dedispersing_drop_stage(struct dedispersing *p)
{
    stage_destroy(memory_move(&p->stage));
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

/* Returns the first DM of the group with the largest span of delays. */
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
    const struct dedisperse_plan *plan = p->plan;
    const struct overlap widest = overlap_delay(0, span);
    uint64_t dms = plan->chunking.chunk_spectra;
    uint64_t samples = overlap_inputs(&widest, dedispersing_made(p));
    uint64_t in = samples * plan->input.row_bytes;
    uint64_t out = dms * dedispersing_made(p) * sizeof(float);
    uint64_t peaks = dms * ceil_div_u64(p->block, PEAK_CELL) * sizeof(struct peak);
    /* Series that only a search reads stay on the device. */
    enum buffer_use use = dedispersing_finds(p) && !plan->what->file ? BUFFER_BETWEEN : BUFFER_OUT;
    for (uint32_t i = 0; i < p->nslots; i++) {
        TRY(buffer_create(p->backend, BUFFER_IN, in, &p->slots[i].in));
        TRY(buffer_create(p->backend, use, out, &p->slots[i].out));
        if (dedispersing_finds(p)) {
            TRY(buffer_create(p->backend, BUFFER_OUT, peaks, &p->slots[i].peaks));
            TRY(p->peaks->ops->reserve(p->peaks, dms, p->block));
        }
        if (plan->job->on_bad == ON_BAD_NAN) {
            TRY(memory_zeroed((size_t)samples, 1, "rows", &p->slots[i].bad));
        }
    }
    return STATUS_OK;
}

static status_t dedispersing_create_stage(struct dedispersing *p, uint32_t first, uint32_t count)
{
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
    return STATUS_OK;
}

/* Half as many outputs to a block; where that is no whole block of noise, series are gathered. */
static void dedispersing_halve(struct dedispersing *p)
{
    uint64_t whole = p->is_whole ? p->block / 2 / p->plan->bursts.boxes.block : 0;
    p->is_whole = whole > 0;
    p->block = whole > 0 ? whole * p->plan->bursts.boxes.block : max_u64(p->block / 2, 1);
}

/* Gives up all rows that stay on the device. Returns whether there were any. */
static int device_carry_clear(const struct device_carry *between)
{
    int any = 0;
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        any |= between->resident[i] && between->resident[i]->ops->clear(between->resident[i]);
    }
    return any;
}

/* Creates the stages. If the device has less memory than planned, drops the rows that stay on it,
 * then halves the blocks. The stage of the group that needs most memory is created first. */
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
static status_t dedispersing_read(void *context, void *of)
{
    struct dedispersing *p = context;
    struct slot *slot = of;
    const struct slot *before = slot->before;
    uint64_t row = p->plan->input.row_bytes;
    uint64_t kept = slot->kept;
    void *in = NULL;
    if (slot->is_resident) {
        slot->left_out.count = 0;
        return STATUS_OK;
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
    return left_out_find(p->plan, p->reader, p->plan->first + (int64_t)(slot->from + slot->base),
                         kept, slot->inputs - kept, slot->samples, slot->bad, &slot->left_out);
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

static uint64_t slot_end(const struct slot *slot)
{
    return slot->block.from + slot->block.count;
}

/* Puts the block's own outputs; those around them are overwritten. */
static status_t dedispersing_put(const struct dedispersing *p, const struct slot *slot,
                                 float *series, const char *holes)
{
    struct chunk part = slot->block.chunk;
    size_t count = (size_t)slot->block.count;
    part.first_stream = (uint32_t)slot->block.from;
    part.streams = (uint32_t)count;
    for (uint64_t dm = 0; dm < part.count && slot->stride > count; dm++) {
        memmove(series + dm * count, series + dm * slot->stride + (slot->block.from - slot->from),
                count * sizeof *series);
    }
    return p->sink.put(p->sink.context, 0, &part, part.first, part.count, series, holes);
}

/* Searches the block's series, or takes what the backend has found in them. */
static status_t dedispersing_seek(struct dedispersing *p, const struct slot *slot,
                                  const float *series, const char *holes)
{
    const uint8_t *share = slot->left_out.count > 0 ? p->share : NULL;
    const struct boxcar_rows rows = {series, share, slot->block.chunk.count, slot->stride,
                                     slot->from};
    void *found = NULL;
    if (!p->is_whole) {
        return seek_take(p->seek, &slot->block.chunk, slot->from, slot->count, series, share,
                         holes);
    }
    TRY(slot->is_searched ? pipeline_get(p->pipeline, slot->peaks, &found) : STATUS_OK);
    return seek_blocks(p->seek, &slot->block.chunk, slot->block.from, slot_end(slot), &rows, found,
                       holes);
}

/* Searches and writes a block's series, in the writer thread. */
static status_t dedispersing_write(void *context, void *of)
{
    struct dedispersing *p = context;
    struct slot *slot = of;
    void *series = NULL;
    int has_holes = 0;
    /* Whether the block's outputs are the chunk's; else boxes and noise reach over them. */
    const struct chunk *chunk = &slot->block.chunk;
    int is_own = slot->block.from >= chunk->first_stream &&
                 slot->block.from < (uint64_t)chunk->first_stream + chunk->streams;
    if (p->plan->what->file || !slot->is_searched) {
        TRY(pipeline_get(p->pipeline, slot->out, &series));
        TRY(left_out_scale(p->plan, &p->group, &slot->left_out, slot->count, slot->stride, series,
                           p->holes, &has_holes, p->share));
    }
    const char *holes = has_holes ? p->holes : NULL;
    TRY(p->seek ? dedispersing_seek(p, slot, series, holes) : STATUS_OK);
    TRY(p->plan->what->file && is_own ? dedispersing_put(p, slot, series, holes) : STATUS_OK);
    return p->sink.end && slot->block.is_last ? p->sink.end(p->sink.context, chunk, NULL)
                                              : STATUS_OK;
}

static status_t dedispersing_compute(void *context, void *of)
{
    struct dedispersing *p = context;
    const struct dedisperse_plan *plan = p->plan;
    struct slot *slot = of;
    struct dedisperse_input input = {0, (size_t)plan->input.row_bytes,
                                     series_bytes(plan->input.format), slot->is_resident};
    if (slot->is_resident) { /* the samples of the block come from the device */
        const uint64_t row = plan->input.row_bytes;
        const struct power_reader_part part = slot->part;
        const uint64_t end = part.lead + part.count;
        TRY(p->resident->ops->blank(p->resident, slot->in, 0, part.lead * row));
        TRY(p->resident->ops->fetch(p->resident, &p->sums, part.first, part.count, slot->in,
                                    part.lead * row));
        TRY(p->resident->ops->blank(p->resident, slot->in, end * row, (slot->inputs - end) * row));
    }
    TRY(dedisperse_run(p->stage, slot->in, &input, slot->count, slot->out, slot->stride));
    /* The host first scales sums that lack something, and searches them itself. */
    slot->is_searched = dedispersing_finds(p) && slot->left_out.count == 0;
    if (slot->is_searched) {
        const struct peaks_rows rows = {slot->block.chunk.count, slot->stride, slot->from};
        TRY(p->peaks->ops->run(p->peaks, slot->out, &rows, slot->block.from, slot_end(slot),
                               slot->peaks));
    }
    return STATUS_OK;
}

static struct pipeline_block dedispersing_describe(const void *context, const void *of,
                                                   int is_reading)
{
    const struct dedispersing *p = context;
    const struct slot *slot = of;
    return (struct pipeline_block){is_reading ? p->plan->fbh5->path
                                              : job_series_name(p->plan->what),
                                   "times", slot->from, slot->count};
}

/* Replaces the stage by that of other DMs, after its last use. */
static status_t dedispersing_begin(void *context, driver_t *driver, const struct chunk *chunk)
{
    struct dedispersing *p = context;
    if (p->first_dm != chunk->first) {
        TRY(pipeline_finish(p->pipeline, driver));
        TRY(dedispersing_create_stage(p, (uint32_t)chunk->first, (uint32_t)chunk->count));
        p->last = NULL;
    }
    return STATUS_OK;
}

/* Sets the outputs that the block writes, and those that it computes. */
static void dedispersing_place(const struct dedispersing *p, struct slot *slot)
{
    const struct boxes *boxes = &p->plan->bursts.boxes;
    struct pipeline_slot *own = &slot->block;
    uint64_t first = own->chunk.first_stream;
    uint64_t last = first + own->chunk.streams;
    /* Series are written of the chunk's own outputs alone. */
    if (p->plan->what->file && own->from < last) {
        own->count = min_u64(own->count, (own->from < first ? first : last) - own->from);
    }
    slot->from = own->from;
    slot->count = slot->stride = own->count;
    if (p->is_whole) {
        slot->from = boxes_need_from(boxes, own->from, slot_end(slot));
        slot->count = boxes_need_end(boxes, slot_end(slot)) - slot->from;
        slot->stride = ceil_div_u64(slot->count, STRIDE) * STRIDE;
    }
}

static status_t dedispersing_prepare(void *context, void *of)
{
    struct dedispersing *p = context;
    struct slot *slot = of;
    struct slot *last = p->last ? p->last : slot;
    const struct slot before = *last; /* perhaps this one */
    slot->base = p->group.base;
    dedispersing_place(p, slot);
    slot->inputs = overlap_inputs(&p->group.overlap, slot->count);
    /* Resident rows never were in the host's memory. */
    int goes_on = p->last && slot->from >= before.from &&
                  slot->from <= before.from + before.count && !before.is_resident;
    slot->before = last;
    slot->kept_from = goes_on ? slot->from - before.from : 0;
    slot->kept = goes_on ? min_u64(before.inputs - slot->kept_from, slot->inputs) : 0;
    slot->part = power_reader_clip(p->plan, p->plan->first + (int64_t)(slot->from + slot->base),
                                   slot->inputs);
    slot->is_resident = p->resident && p->resident->ops->holds(p->resident, &p->sums,
                                                               slot->part.first, slot->part.count);
    p->inputs += (double)slot->inputs;
    p->fetched += slot->is_resident ? (double)slot->inputs : 0;
    p->last = slot;
    return STATUS_OK;
}

static void dedispersing_release(void *context)
{
    struct dedispersing *p = context;
    dedispersing_drop_stage(p);
    dedispersing_drop_slots(p);
    power_reader_destroy(memory_move(&p->reader));
    seek_destroy(memory_move(&p->seek));
    stage_destroy(memory_move(&p->peaks));
    free(memory_move(&p->holes));
    free(memory_move(&p->share));
}

static void dedispersing_destroy(void *context)
{
    if (context) {
        dedispersing_release(context);
        free(context);
    }
}
SCOPED_END_ANY(dedispersing_destroy)

status_t dedisperse_pipeline_create(const struct dedisperse_plan *plan, backend_t *backend,
                                    const struct device_carry *between,
                                    const struct pipeline_sink *sink, pipeline_t **out)
{
    SCOPED(dedispersing_destroy_at) struct dedispersing *p = NULL;
    TRY(memory_zeroed(1, sizeof *p, "the pipeline", &p));
    p->plan = plan;
    p->backend = backend;
    p->between = between;
    /* Rows on the device are as the filter bank made them. */
    int may_stay = between && between->backend == backend && !plan->input.has_steps;
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
                                     .slots = p->slots,
                                     .slot_bytes = sizeof *p->slots,
                                     .cuts_streams = 1,
                                     .block = p->block,
                                     .begin = dedispersing_begin,
                                     .range = dedispersing_range,
                                     .prepare = dedispersing_prepare,
                                     .read = dedispersing_read,
                                     .compute = dedispersing_compute,
                                     .write = dedispersing_write,
                                     .describe = dedispersing_describe,
                                     .release = dedispersing_release,
                                     .destroy = dedispersing_destroy};
    TRY(pipeline_create(p->nslots, &stages, &p->pipeline));
    *out = p->pipeline;
    p = NULL;
    return STATUS_OK;
}

double dedisperse_pipeline_carried(const pipeline_t *pipeline)
{
    const struct dedispersing *p = pipeline_context(pipeline);
    return p->inputs > 0 ? p->fetched / p->inputs : 0;
}
