/* How a dedispersion is cut into chunks of outputs in time and of DMs, within run.memory.
 *
 * Every chunk reads more samples than it makes outputs, by the difference of its DMs' delays. So
 * few long chunks read least, but ranks need many to share. Every block of a chunk reorders such an
 * overlap again (it is read once: the pipeline keeps it). The more DMs a chunk has, the fewer
 * outputs of each fit into memory at a time; groups of fewer DMs have longer blocks, and those of
 * small DMs short overlaps, but each group reads and orders all times for itself. The cut minimises
 *
 *   (adds + ORDER_COST samples ordered + READ_COST bytes read + CHUNK_COST chunks)
 *       * (1 + IDLE_CHUNKS / chunks),
 *
 * in additions, over halves, quarters ... of the DMs and 1, 2, 3 ... pieces of time, with at most
 * MOST_CHUNKS chunks unless memory wants more groups. So time is cut as long as pieces are long
 * against the overlap, then DMs. It is a function of the job, the filterbank and the backend, never
 * of the number of ranks. */
#include "compute/boxcar.h"
#include "compute/device_side.h"
#include "io/crc.h"
#include "plan/budget.h"
#include "plan/dedisperse_plan.h"
#include "product/codec.h"
#include "product/contents.h"

#include <math.h>

/* Groups of DMs: what a stage knows of the delays, and what DMs have in common. */
static uint32_t group_step_of(const struct subbands *steps, uint32_t dm)
{
    size_t next = 0; /* the first one begins with DM 0 */
    FIND_FIRST(next, steps->nsteps, steps->first[next] > dm);
    return (uint32_t)next - 1;
}

static void group_widen(uint32_t delay, uint32_t *least, uint32_t *most)
{
    *least = delay < *least ? delay : *least;
    *most = delay > *most ? delay : *most;
}

/* Delays of one DM in two steps: the groups' delays with those within them. */
static void group_widen_steps(const struct subbands *steps, uint32_t nchannels, uint32_t dm,
                              uint32_t *least, uint32_t *most)
{
    const uint32_t *inner = steps->inner + (size_t)group_step_of(steps, dm) * nchannels;
    const uint32_t *outer = steps->outer + (size_t)dm * steps->ngroups;
    for (uint32_t c = 0; c < nchannels; c++) {
        /* A group's own delay, too: it is what is shifted. */
        group_widen(outer[c / steps->group], least, most);
        group_widen(outer[c / steps->group] + inner[c], least, most);
    }
}

status_t dm_ranges_create(struct dedisperse_plan *d)
{
    uint32_t nchannels = d->delays.nchannels;
    SCOPED(free_at) uint32_t *row = NULL;
    TRY(memory_zeroed(nchannels, sizeof *row, "delays", &row));
    TRY(memory_zeroed(d->delays.ndms, sizeof *d->each.least, "delays", &d->each.least));
    TRY(memory_zeroed(d->delays.ndms, sizeof *d->each.most, "delays", &d->each.most));
    for (uint32_t dm = 0; dm < d->delays.ndms; dm++) {
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        dispersion_rows(&d->delays, dm, 1, row);
        d->delays_crc = crc_more(d->delays_crc, row, nchannels * sizeof *row);
        if (d->what->is_two_step) {
            group_widen_steps(&d->steps, nchannels, dm, &least, &most);
        } else {
            for (uint32_t c = 0; c < nchannels; c++) {
                group_widen(row[c], &least, &most);
            }
        }
        d->each.least[dm] = least;
        d->each.most[dm] = most;
    }
    d->overlap = overlap_delays(d->each.least, d->each.most);
    return STATUS_OK;
}

int dedisperse_plan_is_level(const struct dedisperse_plan *d, uint32_t dm)
{
    const struct dm_group all = {.delays = d->delays, .steps = d->steps};
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (uint32_t c = 0; c < d->delays.nchannels && d->what->is_zero_dm; c++) {
        if (!d->mask[c]) {
            group_widen(d->what->is_two_step ? dm_group_delay(d, &all, dm, c)
                                             : dispersion_delay(&d->delays, dm, c),
                        &least, &most);
        }
    }
    return d->what->is_zero_dm && least >= most;
}

void dm_group_span(const struct dedisperse_plan *d, uint32_t first, uint32_t count, uint32_t *base,
                   uint32_t *span)
{
    struct overlap_rows rows = {0, 0};
    for (uint32_t dm = first; dm < first + count; dm++) {
        rows = overlap_union(rows, overlap_reach(&d->overlap, dm));
    }
    *base = (uint32_t)rows.first;
    *span = (uint32_t)(rows.end - rows.first - 1);
}

static uint32_t dm_groups_span(const struct dedisperse_plan *d, uint32_t dms, uint64_t *sum)
{
    uint32_t largest = 0;
    *sum = 0;
    for (uint64_t first = 0; first < d->delays.ndms; first += dms) {
        uint32_t base;
        uint32_t span;
        dm_group_span(d, (uint32_t)first, (uint32_t)min_u64(dms, d->delays.ndms - first), &base,
                      &span);
        largest = span > largest ? span : largest;
        *sum += span;
    }
    return largest;
}

static status_t group_copy_table(const struct dedisperse_plan *d, uint32_t first, uint32_t count,
                                 struct dm_group *group)
{
    size_t nchannels = d->delays.nchannels;
    size_t total = count * nchannels;
    TRY(memory_zeroed(total, sizeof(uint32_t), "delays", &group->delays.table));
    dispersion_rows(&d->delays, first, count, group->delays.table);
    for (size_t i = 0; i < total; i++) {
        /* In two steps the table only says how many there are. */
        uint32_t delay = group->delays.table[i];
        group->delays.table[i] = delay - (uint32_t)min_u64(delay, group->base);
    }
    return STATUS_OK;
}

static status_t group_copy_steps(const struct dedisperse_plan *d, uint32_t first, uint32_t count,
                                 struct dm_group *group)
{
    const struct subbands *from = &d->steps;
    struct subbands *to = &group->steps;
    size_t nchannels = d->delays.nchannels;
    uint32_t step = group_step_of(from, first);
    to->group = from->group;
    to->ngroups = from->ngroups;
    to->error = from->error;
    to->nsteps = group_step_of(from, first + count - 1) - step + 1;
    size_t outers = (size_t)count * to->ngroups;
    TRY(memory_zeroed(to->nsteps * nchannels, sizeof(uint32_t), "delays", &to->inner));
    TRY(memory_zeroed(outers, sizeof(uint32_t), "delays", &to->outer));
    TRY(memory_zeroed((size_t)to->nsteps + 1, sizeof(uint32_t), "delays", &to->first));
    memcpy(to->inner, from->inner + step * nchannels, to->nsteps * nchannels * sizeof(uint32_t));
    for (size_t i = 0; i < outers; i++) {
        to->outer[i] = from->outer[(size_t)first * to->ngroups + i] - group->base;
    }
    for (uint32_t k = 1; k < to->nsteps; k++) {
        to->first[k] = from->first[step + k] - first;
    }
    to->first[to->nsteps] = count;
    return STATUS_OK;
}

status_t dm_group_create(const struct dedisperse_plan *d, uint32_t first, uint32_t count,
                         struct dm_group *out)
{
    SCOPED(dm_group_free)
    struct dm_group group = {.delays = {.nchannels = d->delays.nchannels, .ndms = count}};
    dm_group_span(d, first, count, &group.base, &group.delays.largest);
    group.overlap = overlap_delay(0, group.delays.largest);
    TRY(group_copy_table(d, first, count, &group));
    TRY(d->what->is_two_step ? group_copy_steps(d, first, count, &group) : STATUS_OK);
    *out = group;
    group = (struct dm_group){0};
    return STATUS_OK;
}

void dm_group_free(struct dm_group *group)
{
    dispersion_free(&group->delays);
    subbands_free(&group->steps);
}

struct dedisperse_spec dedisperse_plan_stage(const struct dedisperse_plan *d,
                                             const struct dm_group *group, uint64_t samples)
{
    return (struct dedisperse_spec){.format = d->input.format,
                                    .mode = d->mode,
                                    .delays = &group->delays,
                                    .steps = d->what->is_two_step ? &group->steps : NULL,
                                    .mask = d->mask,
                                    .max_samples = samples,
                                    .threads = d->threads};
}

uint32_t dm_group_delay(const struct dedisperse_plan *d, const struct dm_group *group, uint32_t dm,
                        uint32_t channel)
{
    const struct subbands *steps = &group->steps;
    uint32_t nchannels = group->delays.nchannels;
    if (!d->what->is_two_step) {
        return group->delays.table[(size_t)dm * nchannels + channel];
    }
    return steps->outer[(size_t)dm * steps->ngroups + channel / steps->group] +
           steps->inner[group_step_of(steps, dm) * nchannels + channel];
}

enum {
    GRAIN = 64,             /* outputs: what a block is a multiple of, and has at least */
    PAGE_OUTPUTS = 1024,    /* of 4 KiB: long chunks are multiples of it */
    PEAK_BYTES = 160,       /* of a peak that is grouped, with its group and candidate */
    BOUNCE_BYTES = 4 << 20, /* rows of the file that are added up at a time */
    MOST_CHUNKS = 64,       /* more would not fill ranks better */
    IDLE_CHUNKS = 8,        /* sixteen ranks wait for half a chunk each at the end */
    ORDER_COST = 8,         /* reading a sample from memory and ordering it */
    CACHE_BYTES = 16 << 20, /* of series that stay in a processor's cache until they are searched */
    CACHE_SPANS = 4,        /* outputs of a block are to be more than what it orders once more */
    READ_COST = 256,        /* what a rank of many cores adds while a disk that is shared sends a
                               byte */
    CHUNK_COST = 1 << 26    /* to give one out, to begin and to vouch for it: some milliseconds */
};

/* A cut: DMs of a chunk, outputs of a chunk and of a block. */
struct cut {
    uint32_t dms;
    uint32_t span;  /* of the delays in a group, the largest */
    uint64_t spans; /* of all groups, added up */
    uint64_t outputs, block;
    double cost;
};

uint64_t dedisperse_plan_bounce(const struct dedisperse_plan *d)
{
    uint64_t one = fbh5_row_bytes(d->fbh5);
    return d->input.is_reduced ? max_u64(BOUNCE_BYTES / one, 1) * one : 0;
}

uint32_t dedisperse_plan_slots(enum backend_kind backend)
{
    enum { SLOTS = 3 }; /* one is read, one worked on, one written */
    return backend_abilities(backend)->is_reference ? 1 : SLOTS;
}

uint64_t dedisperse_plan_held(const struct dedisperse_plan *d)
{
    return min_u64(d->bursts.boxes.block + d->bursts.boxes.widths - 1, d->outputs);
}

uint64_t dedisperse_plan_made(const struct dedisperse_plan *d, uint64_t block)
{
    uint64_t made =
        d->bursts.is_whole ? min_u64(block + d->bursts.boxes.widths - 1, d->outputs) : block;
    return d->bursts.is_whole ? ceil_div_u64(made, GRAIN) * GRAIN : made;
}

/* Returns the bytes of a search of `dms` DMs: series, the number of channels in each sum (of a
 * block of the pipeline, too), and the peaks of a block. */
static uint64_t cut_search_bytes(const struct dedisperse_plan *d, uint32_t dms, uint64_t block)
{
    uint64_t cells = d->bursts.boxes.block / PEAK_CELL;
    return d->bursts.boxes.widths > 0
               ? dms * (block + dedisperse_plan_held(d) * (sizeof(float) + 1) +
                        cells * sizeof(struct peak)) +
                     boxcar_bytes(&d->bursts.boxes, d->threads)
               : 0;
}

/* Returns the bytes of the grouping of peaks, by rank 0, when no block is left. */
static uint64_t cut_peaks_bytes(const struct dedisperse_plan *d)
{
    return d->bursts.boxes.widths > 0
               ? PEAK_BYTES *
                     min_u64(d->what->search.most, d->delays.ndms * boxes_cells(&d->bursts.boxes))
               : 0;
}

/* Returns the memory that does not depend on blocks and stays to the end, in bytes. */
static uint64_t cut_kept_bytes(const struct dedisperse_plan *d)
{
    uint64_t channels = d->delays.nchannels;
    uint64_t rows = d->delays.ndms;
    /* For each DM: itself, its place among coherent ones, the minimum and maximum of its delays. */
    uint64_t tables = rows * (4 * sizeof(double) + 2 * sizeof(uint32_t)) +
                      (d->what->is_two_step ? 4 * channels * rows * 3 : 0);
    uint64_t spans = ceil_div_u64(rows, spans_rows(rows, d->outputs * sizeof(float)));
    return BUDGET_BASE_BYTES + tables + 3 * 4 * spans;
}

/* Memory that is no block's. */
static uint64_t cut_fixed_bytes(const struct dedisperse_plan *d)
{
    return cut_kept_bytes(d) + dedisperse_plan_bounce(d) + budget_reach_bytes[d->fbh5->reach] +
           d->fbh5->chunks.row_bytes + fbh5_unpack_bytes(d->fbh5, d->threads);
}

/* Memory of the end: peaks are grouped, or rows compressed. */
static uint64_t cut_end_bytes(const struct dedisperse_plan *d)
{
    const int packs = d->bursts.boxes.widths > 0 || d->what->compression != COMPRESSION_NONE;
    return cut_kept_bytes(d) +
           max_u64(cut_peaks_bytes(d), packs ? packed_work_bytes(d->threads) : 0);
}

/* Returns the bytes of `memory` that are left for blocks; 0, too, if peaks cannot be grouped. */
static uint64_t cut_for_blocks(const struct dedisperse_plan *d, uint64_t memory)
{
    const uint64_t fixed = cut_fixed_bytes(d);
    return memory > max_u64(fixed, cut_kept_bytes(d) + cut_peaks_bytes(d)) ? memory - fixed : 0;
}

static uint64_t cut_block_bytes(const struct dedisperse_plan *d, const struct cut *cut,
                                uint64_t block)
{
    struct dm_group group = {
        .delays = {.nchannels = d->delays.nchannels, .ndms = cut->dms, .largest = cut->span},
        .steps = d->steps};
    group.steps.nsteps = (uint32_t)min_u64(d->steps.nsteps, cut->dms);
    uint64_t made = dedisperse_plan_made(d, block);
    struct dedisperse_spec spec = dedisperse_plan_stage(d, &group, made);
    uint64_t mark = d->job->on_bad == ON_BAD_NAN; /* a byte for each sample */
    uint64_t table = sizeof(uint32_t) * (uint64_t)d->delays.nchannels * cut->dms;
    uint64_t found = d->bursts.is_whole ? ceil_div_u64(block, PEAK_CELL) * sizeof(struct peak) : 0;
    return table +
           dedisperse_plan_slots(d->backend) *
               (dedisperse_inputs(&spec, made) * (d->input.row_bytes + mark) +
                cut->dms * (made * sizeof(float) + found)) +
           dedisperse_bytes(d->backend, &spec) + cut_search_bytes(d, cut->dms, made);
}

/* Chunks of a search are whole blocks of noise. */
static uint64_t cut_whole_blocks(const struct dedisperse_plan *d, uint64_t outputs)
{
    uint64_t block = d->bursts.boxes.widths > 0 ? d->bursts.boxes.block : 1;
    return min_u64(ceil_div_u64(outputs, block) * block, d->outputs);
}

/* Outputs of a chunk when the job says so; 0 when it leaves it to us. */
static uint64_t cut_given_outputs(const struct dedisperse_plan *d)
{
    uint64_t integrate =
        job_reads_voltages(d->job) ? d->job->products[d->what->input].integrate : 1;
    uint64_t whole = ceil_div_u64(d->job->cut.chunk_spectra, integrate);
    return d->job->cut.chunk_spectra > 0
               ? cut_whole_blocks(d, max_u64(ceil_div_u64(whole, d->what->downsample), 1))
               : 0;
}

/* Returns the outputs of a chunk if time is cut into `pieces` pieces. */
static uint64_t cut_piece_outputs(const struct dedisperse_plan *d, uint64_t pieces)
{
    uint64_t wanted = max_u64(ceil_div_u64(d->outputs, pieces), GRAIN);
    uint64_t quantum = wanted > 4 * PAGE_OUTPUTS ? PAGE_OUTPUTS : 1;
    return cut_whole_blocks(d, ceil_div_u64(wanted, quantum) * quantum);
}

/* Returns the outputs that are made for a chunk at a time. If series are gathered and only their
 * boxes count, these include the outputs that the last boxes extend over, so that series are
 * searched in place (pipeline/dedisperse_pipeline.c). */
static uint64_t cut_made(const struct dedisperse_plan *d, const struct cut *cut)
{
    int reaches = d->bursts.boxes.widths > 0 && !d->what->file && !d->bursts.is_whole;
    return min_u64(cut->outputs + (reaches ? d->bursts.boxes.widths - 1 : 0), d->outputs);
}

/* Returns the number that blocks are multiples of, unless a block is the whole chunk. */
static uint64_t cut_grain(const struct dedisperse_plan *d)
{
    return d->bursts.is_whole ? d->bursts.boxes.block : GRAIN;
}

/* Returns the largest useful number of outputs of a block. If the host's threads search series that
 * are not stored, the block fits the cache. */
static uint64_t cut_most_block(const struct dedisperse_plan *d, const struct cut *cut)
{
    uint64_t most = cut_made(d, cut);
    int finds = backend_abilities(d->backend)->finds_peaks;
    uint64_t cached = CACHE_BYTES / (cut->dms * sizeof(float)) / cut_grain(d) * cut_grain(d);
    int is_better =
        d->bursts.is_whole && !finds && cached > 0 && cached >= CACHE_SPANS * (uint64_t)cut->span;
    return is_better ? min_u64(cached, most) : most;
}

/* Returns the length of the longest block that fits; 0: none does. */
static uint64_t cut_longest_block(const struct dedisperse_plan *d, const struct cut *cut,
                                  uint64_t budget)
{
    uint64_t low = 0;
    uint64_t grain = cut_grain(d);
    uint64_t most = cut_most_block(d, cut);
    uint64_t high = ceil_div_u64(most, grain);
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (cut_block_bytes(d, cut, middle * grain) <= budget) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return min_u64(low * grain, most);
}

static uint64_t cut_groups_of(const struct dedisperse_plan *d, const struct cut *cut)
{
    return ceil_div_u64(d->delays.ndms, cut->dms);
}

/* Returns the bytes that all chunks together read of the file. */
static uint64_t cut_count_read(const struct dedisperse_plan *d, const struct cut *cut)
{
    uint64_t pieces = ceil_div_u64(d->outputs, cut->outputs);
    uint64_t samples = cut_groups_of(d, cut) * d->outputs + pieces * cut->spans;
    return samples * d->what->downsample * fbh5_row_bytes(d->fbh5);
}

static double cut_cost_of(const struct dedisperse_plan *d, const struct cut *cut)
{
    uint64_t whole = d->outputs / cut->outputs;
    uint64_t blocks = whole * ceil_div_u64(cut->outputs, cut->block) +
                      ceil_div_u64(d->outputs - whole * cut->outputs, cut->block);
    double chunks = (double)ceil_div_u64(d->outputs, cut->outputs) * (double)cut_groups_of(d, cut);
    double channels = d->delays.nchannels;
    double each = d->what->is_two_step ? (double)d->steps.adds : channels * d->delays.ndms;
    double ordered = channels * ((double)cut_groups_of(d, cut) * (double)d->outputs +
                                 (double)blocks * (double)cut->spans);
    double work = each * (double)d->outputs + ORDER_COST * ordered +
                  READ_COST * (double)cut_count_read(d, cut) + CHUNK_COST * chunks;
    return work * (1 + IDLE_CHUNKS / chunks);
}

/* Completes a cut whose DMs, spans and outputs are settled. Blocks of a chunk are of one
 * length. */
static void cut_settle(const struct dedisperse_plan *d, struct cut *cut, uint64_t budget)
{
    cut->block = cut_longest_block(d, cut, budget);
    if (cut->block > 0) {
        uint64_t made = cut_made(d, cut);
        uint64_t grain = cut_grain(d);
        uint64_t blocks = ceil_div_u64(made, cut->block);
        uint64_t even = ceil_div_u64(ceil_div_u64(made, blocks), grain) * grain;
        cut->block = min_u64(even, made);
        cut->cost = cut_cost_of(d, cut);
    }
}

static status_t cut_too_little(const struct dedisperse_plan *d, const struct cut *cut)
{
    char given[JOB_MEMORY_TEXT];
    uint64_t least = max_u64(cut_block_bytes(d, cut, GRAIN) + cut_fixed_bytes(d),
                             cut_kept_bytes(d) + cut_peaks_bytes(d));
    return report_fail(STATUS_USAGE,
                       "%s: run.memory is %s, but to dedisperse %u channels with delays of up to "
                       "%s at least %s (%llu bytes) a rank are needed",
                       d->job->path, job_memory_words(d->job, given), d->delays.nchannels,
                       units_seconds(d->delays.largest * d->product.time.step), units_bytes(least),
                       (unsigned long long)least);
}

/* The best of all groups of DMs and numbers of pieces of time, or the smallest where none fits: its
 * block is 0. */
static struct cut cut_choose(const struct dedisperse_plan *d, uint64_t budget)
{
    struct cut best = {.block = 0};
    const uint64_t given = cut_given_outputs(d);
    for (uint32_t dms = d->delays.ndms, before = 0; dms != before; dms = (dms + 1) / 2) {
        struct cut cut = {.dms = dms};
        before = dms;
        cut.span = dm_groups_span(d, dms, &cut.spans);
        uint64_t most = given > 0 ? 1 : max_u64(MOST_CHUNKS / cut_groups_of(d, &cut), 1);
        for (uint64_t pieces = 1; pieces <= most; pieces++) {
            cut.outputs = given > 0 ? given : cut_piece_outputs(d, pieces);
            cut_settle(d, &cut, budget);
            if (best.block == 0 || (cut.block > 0 && cut.cost < best.cost)) {
                best = cut;
            }
        }
    }
    return best;
}

/* Chunks as an earlier run has cut them, or the best; block 0: memory is too small. */
static struct cut cut_find(const struct dedisperse_plan *d, const struct chunking *begun,
                           uint64_t budget)
{
    if (!begun) {
        return cut_choose(d, budget);
    }
    struct cut cut = {.dms = (uint32_t)begun->chunk_spectra, .outputs = begun->group_streams};
    cut.span = dm_groups_span(d, cut.dms, &cut.spans);
    cut_settle(d, &cut, budget);
    return cut;
}

/* If memory is scarce, a tree's tables would only make blocks shorter, so AUTO does not choose a
 * tree. */
static void cut_settle_mode(struct dedisperse_plan *d, uint64_t budget)
{
    enum { TREE_SHARE = 16 }; /* of what is left for blocks */
    static const enum dedisperse_mode modes[] = {[JOB_AUTO] = DEDISPERSE_AUTO,
                                                 [JOB_BRUTE] = DEDISPERSE_BRUTE,
                                                 [JOB_TREE] = DEDISPERSE_TREE,
                                                 [JOB_TWO_STEP] = DEDISPERSE_BRUTE};
    const struct dm_group all = {.delays = {.nchannels = d->delays.nchannels,
                                            .ndms = d->delays.ndms,
                                            .largest = d->delays.largest},
                                 .steps = d->steps};
    struct dedisperse_spec spec = dedisperse_plan_stage(d, &all, GRAIN);
    spec.mode = d->mode = modes[d->what->mode];
    uint64_t bytes = dedisperse_bytes(d->backend, &spec);
    spec.mode = DEDISPERSE_BRUTE;
    if (d->mode == DEDISPERSE_AUTO &&
        bytes - dedisperse_bytes(d->backend, &spec) > budget / TREE_SHARE) {
        d->mode = DEDISPERSE_BRUTE;
    }
}

/* Groups of DMs, chunks and blocks for so much memory. */
static struct cut cut_for(struct dedisperse_plan *d, const struct chunking *begun, uint64_t memory)
{
    uint64_t budget = cut_for_blocks(d, memory);
    cut_settle_mode(d, budget);
    /* Blocks are whole blocks of noise: the backend searches, or the host's threads search series
     * in place, which are not stored. */
    d->bursts.is_whole =
        d->bursts.boxes.widths > 0 &&
        (backend_abilities(d->backend)->finds_peaks ? d->bursts.boxes.widths <= PEAKS_MOST_WIDTH
                                                    : !d->what->file);
    struct cut cut = cut_find(d, begun, budget);
    if (cut.block == 0 && d->bursts.is_whole) {
        d->bursts.is_whole = 0;
        cut = cut_find(d, begun, budget);
    }
    return cut;
}

/* With `auto`, chunks are cut for JOB_MEMORY, and blocks, too, if a rank has that much. Otherwise
 * both are cut for the rank's memory. */
static struct cut cut_of_job(struct dedisperse_plan *d, const struct chunking *begun)
{
    const struct job *job = d->job;
    struct cut cut = cut_for(d, begun, job->cut.memory);
    if (cut.block > 0 && job->memory < job->cut.memory) {
        cut_settle(d, &cut, cut_for_blocks(d, job->memory));
    }
    return cut.block > 0 || job->memory == job->cut.memory ? cut : cut_for(d, begun, job->memory);
}

status_t dedisperse_plan_cut(struct dedisperse_plan *d, const struct chunking *begun)
{
    REQUIRE(!begun || (begun->spectra == d->delays.ndms && begun->streams == d->outputs),
            STATUS_USAGE, "%s: %s was begun with other DMs or times: --restart begins anew",
            d->job->path, job_series_name(d->what));
    struct cut cut = cut_of_job(d, begun);
    TRY(cut.block == 0 ? cut_too_little(d, &cut) : STATUS_OK);
    d->chunking = (struct chunking){.spectra = d->delays.ndms,
                                    .chunk_spectra = cut.dms,
                                    .block_spectra = cut.dms,
                                    .streams = (uint32_t)d->outputs,
                                    .group_streams = (uint32_t)cut.outputs};
    REQUIRE(ceil_div_u64(d->outputs, cut.outputs) <=
                CHUNK_MOST / ceil_div_u64(d->delays.ndms, cut.dms),
            STATUS_USAGE,
            "%s: %llu times of %u DMs in chunks of %llu and %llu are more chunks than %llu: select "
            "less of the input, or set a larger run.chunk",
            d->job->path, (unsigned long long)d->outputs, d->delays.ndms,
            (unsigned long long)cut.outputs, (unsigned long long)cut.dms,
            (unsigned long long)CHUNK_MOST);
    d->block_outputs = cut.block;
    d->read_bytes = cut_count_read(d, &cut);
    d->memory_bytes = budget_stated(
        d->job, d->backend, d->threads,
        max_u64(cut_fixed_bytes(d) + cut_block_bytes(d, &cut, cut.block), cut_end_bytes(d)));
    return STATUS_OK;
}
