/* How a dedispersion is cut into chunks of outputs in time and of DMs, within run.memory. */
#include "base/memory.h"
#include "product/spans.h"
#include "run/budget.h"
#include "run/dedispersion_parts.h"
#include "run/journal_head.h"

enum {
    GRAIN = 64,             /* outputs: what a block is a multiple of, and has at least */
    PAGE_OUTPUTS = 1024,    /* of 4 KiB: long chunks are multiples of it */
    CHUNKS = 64,            /* so that ranks have something to share */
    BOUNCE_BYTES = 4 << 20, /* rows of the file that are added up at a time */
    ORDER_COST = 8          /* reading and ordering a sample against adding it */
};

/* A way to cut: DMs of a chunk, outputs of a chunk and of a block. */
struct cut {
    uint32_t dms;
    uint32_t span; /* of the delays in a group, the largest */
    uint64_t outputs, block;
    double cost;
};

uint64_t dedispersion_bounce(const struct dedispersion *d)
{
    uint64_t one = fbh5_row_bytes(d->fbh5);
    return d->input.is_reduced ? max_u64(BOUNCE_BYTES / one, 1) * one : 0;
}

uint32_t dedispersion_slots(enum backend_kind backend)
{
    enum { SLOTS = 3 }; /* one is read, one worked on, one written */
    return backend == BACKEND_REFERENCE ? 1 : SLOTS;
}

/* Memory that is no block's. */
static uint64_t fixed_bytes(const struct dedispersion *d)
{
    uint64_t channels = d->delays.nchannels;
    uint64_t rows = d->delays.ndms;
    uint64_t tables = 4 * channels * rows * (d->what->is_two_step ? 4 : 2);
    uint64_t spans = ceil_div_u64(rows, spans_rows(rows, d->outputs * sizeof(float)));
    return BUDGET_BASE_BYTES + dedispersion_bounce(d) + tables + 3 * 4 * spans +
           (d->fbh5->data_offset > 0 ? 0 : BUDGET_HDF5_BYTES + d->fbh5->cache_bytes);
}

static uint64_t block_bytes(const struct dedispersion *d, const struct cut *cut, uint64_t block)
{
    struct dm_group group = {
        .delays = {.nchannels = d->delays.nchannels, .ndms = cut->dms, .largest = cut->span},
        .steps = d->steps};
    group.steps.nsteps = (uint32_t)min_u64(d->steps.nsteps, cut->dms);
    struct dedisperse_spec spec = dedispersion_stage(d, &group, block);
    return dedispersion_slots(d->backend) *
               ((block + cut->span) * d->input.row_bytes + cut->dms * block * sizeof(float)) +
           dedisperse_bytes(d->backend, &spec);
}

static uint32_t largest_span(const struct dedispersion *d, uint32_t dms)
{
    uint32_t most = 0;
    for (uint32_t first = 0; first < d->delays.ndms; first += dms) {
        uint32_t base;
        uint32_t span;
        dm_group_span(d, first, (uint32_t)min_u64(dms, d->delays.ndms - first), &base, &span);
        most = span > most ? span : most;
    }
    return most;
}

/* Outputs of a chunk when memory does not matter. */
static uint64_t wanted_outputs(const struct dedispersion *d, uint32_t dms)
{
    uint64_t integrate = d->job->channels > 0 ? d->job->products[d->what->input].integrate : 1;
    if (d->job->chunk_spectra > 0) {
        uint64_t whole = ceil_div_u64(d->job->chunk_spectra, integrate);
        return min_u64(max_u64(ceil_div_u64(whole, d->what->downsample), 1), d->outputs);
    }
    uint64_t parts = ceil_div_u64(CHUNKS, ceil_div_u64(d->delays.ndms, dms));
    uint64_t wanted = max_u64(ceil_div_u64(d->outputs, parts), GRAIN);
    uint64_t quantum = wanted > 4 * PAGE_OUTPUTS ? PAGE_OUTPUTS : 1;
    return min_u64(ceil_div_u64(wanted, quantum) * quantum, d->outputs);
}

/* The longest block that fits; 0 when none does. */
static uint64_t longest_block(const struct dedispersion *d, const struct cut *cut, uint64_t budget)
{
    uint64_t low = 0;
    uint64_t high = ceil_div_u64(cut->outputs, GRAIN);
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (block_bytes(d, cut, middle * GRAIN) <= budget) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return min_u64(low * GRAIN, cut->outputs);
}

/* The way to cut into groups of `dms` DMs. Every group orders its input for itself, every block its
 * overlap again; both count for less the more DMs share them. */
static struct cut cut_by(const struct dedispersion *d, uint32_t dms, uint64_t outputs,
                         uint64_t budget)
{
    struct cut cut = {.dms = dms, .span = largest_span(d, dms), .outputs = outputs};
    cut.block = longest_block(d, &cut, budget);
    cut.cost = (1 + (double)cut.span / (double)max_u64(cut.block, 1)) * ORDER_COST / dms;
    return cut;
}

static status_t too_little(const struct dedispersion *d, const struct cut *cut)
{
    char needed[UNITS_TEXT];
    char given[UNITS_TEXT];
    char seconds[UNITS_TEXT];
    uint64_t least = block_bytes(d, cut, GRAIN) + fixed_bytes(d);
    return report_fail(STATUS_USAGE,
                       "%s: run.memory is %s, but to dedisperse %u channels with delays of up to "
                       "%s at least %s (%llu bytes) a rank are needed",
                       d->job->path, units_bytes(d->job->memory, given), d->delays.nchannels,
                       units_seconds(d->delays.largest * d->product.time.step, seconds),
                       units_bytes(least, needed), (unsigned long long)least);
}

static status_t choose(const struct dedispersion *d, uint64_t budget, struct cut *out)
{
    status_t st = STATUS_OK;
    struct cut best = {.block = 0};
    struct cut cut = {.dms = 0};
    for (uint32_t dms = d->delays.ndms;; dms = (dms + 1) / 2) {
        cut = cut_by(d, dms, wanted_outputs(d, dms), budget);
        if (cut.block > 0 && (best.block == 0 || cut.cost < best.cost)) {
            best = cut;
        }
        if (dms == 1) {
            break;
        }
    }
    if (best.block == 0) {
        TRY(too_little(d, &cut));
    }
    *out = best;
out:
    return st;
}

/* What all blocks together read of the file. */
static uint64_t count_read(const struct dedispersion *d, const struct cut *cut)
{
    uint64_t groups = ceil_div_u64(d->delays.ndms, cut->dms);
    uint64_t blocks = ceil_div_u64(d->outputs, cut->block);
    uint64_t rows = d->outputs + blocks * cut->span;
    return groups * rows * d->what->downsample * fbh5_row_bytes(d->fbh5);
}

status_t dedispersion_cut(struct dedispersion *d, const struct chunking *begun)
{
    status_t st = STATUS_OK;
    uint64_t fixed = fixed_bytes(d);
    uint64_t budget = d->job->memory > fixed ? d->job->memory - fixed : 0;
    struct cut cut = {.dms = 0};
    if (begun) {
        REQUIRE(begun->spectra == d->delays.ndms && begun->streams == d->outputs, STATUS_USAGE,
                "%s: %s was begun with other DMs or times: --restart begins anew", d->job->path,
                d->what->file);
        cut = cut_by(d, (uint32_t)begun->chunk_spectra, begun->group_streams, budget);
        if (cut.block == 0) {
            TRY(too_little(d, &cut));
        }
    } else {
        TRY(choose(d, budget, &cut));
    }
    d->chunking = (struct chunking){.spectra = d->delays.ndms,
                                    .chunk_spectra = cut.dms,
                                    .block_spectra = cut.dms,
                                    .streams = (uint32_t)d->outputs,
                                    .group_streams = (uint32_t)cut.outputs};
    REQUIRE(ceil_div_u64(d->outputs, cut.outputs) <=
                JOURNAL_MOST_CHUNKS / ceil_div_u64(d->delays.ndms, cut.dms),
            STATUS_USAGE, "%s: run.chunk is %llu, which makes far too many chunks", d->job->path,
            (unsigned long long)d->job->chunk_spectra);
    d->block_outputs = cut.block;
    d->read_bytes = count_read(d, &cut);
    d->memory_bytes = fixed + block_bytes(d, &cut, cut.block);
out:
    return st;
}
