/* How work is cut so that it fits: groups of streams, chunks, blocks. */
#include "plan/budget.h"

#include "base/memory.h"
#include "base/units.h"
#include "compute/backend.h"
#include "compute/device_side.h"
#include "input/read/reader.h"
#include "plan/beams_plan.h"
#include "plan/channelise_plan.h"
#include "plan/plan_products.h"
#include "plan/visibilities_plan.h"
#include "product/contents.h"
#include "product/export/export_rows.h"
#include "product/ifs.h"

#include <math.h>
#include <stdio.h>

const uint64_t budget_reach_bytes[] = {[REACH_HDF5] = 24 << 20,
                                       [REACH_PIECES] = 0,
                                       [REACH_PACKETS] = 24 << 20,
                                       [REACH_TABLE] = 24 << 20};

/* The memory of a block, of a group of streams and of all else. For budget.c alone. */

/* Quantities that the memory of a block depends on, over all groups of a size. */
struct budget_group {
    uint32_t streams;
    uint64_t step_bytes;   /* of a slab, for one sample of each stream: of the largest */
    uint64_t bounce_bytes; /* that the reader needs to cut time steps */
    uint64_t read_bytes;   /* of a time step, by all groups together; */
    int reads_twice;       /* some of them by several; beams always do so */
    int is_ingested;       /* samples can go to the device while they are read */
    uint64_t overlaps;     /* spectra of a chunk, at least, for what neighbours share */
};

enum {
    BOUNCE_BYTES = 4 << 20, /* of a reader that needs parts of time steps */
    A_CHUNK = 4             /* times a chunk: what a thread needs to decompress one */
};

/* Measures the groups into which the work is cut. Fails with DEVICE. */
static status_t budget_measure_group(const struct channelise_plan *work, struct budget_group *out)
{
    /* The host reads no samples, unless they are floats (pipeline/channelise_write.c). */
    *out = (struct budget_group){.streams = work->chunking.group_streams,
                                 .is_ingested = backend_abilities(work->backend)->ingests &&
                                                !sample_types[work->seen->format].is_float};
    struct slab *slab = NULL;
    TRY(slab_create(work->archive, stream_range(0, work->archive->nstreams), &slab));
    const uint64_t once = slab_bytes(slab, 1);
    slab_destroy(slab);
    for (uint32_t i = 0; i < chunk_groups(&work->chunking); i++) {
        const struct chunk chunk = chunk_at(&work->chunking, i);
        TRY(slab_create(work->archive, channelise_plan_read(work, &chunk), &slab));
        out->read_bytes += slab_bytes(slab, 1);
        out->is_ingested = out->is_ingested && slab->width <= INGEST_PIECE &&
                           reader_can_ingest(work->archive, slab);
        out->step_bytes = max_u64(out->step_bytes, slab_bytes(slab, 1));
        if (slab->width < slab->inner_bytes) {
            out->bounce_bytes =
                max_u64(out->bounce_bytes, max_u64(BOUNCE_BYTES, slab->inner_bytes));
        }
        slab_destroy(slab);
    }
    out->reads_twice = !work->beams && (out->bounce_bytes > 0 || out->read_bytes > once);
    return STATUS_OK;
}

/* The memory that is counted: buffers that only stages of a device read are not the host's. */

/* Bytes of the rows of all filters that a block of `spectra` spectra needs. */
static uint64_t budget_filtered_bytes(const struct channelise_plan *work,
                                      const struct budget_group *group, uint64_t spectra,
                                      enum stage_memory memory)
{
    uint64_t rows[FILTER_PLAN_ROWS];
    uint64_t bytes = 0;
    uint32_t count = work->filters ? filter_plan_count(work->filters) : 0;
    int is_between = memory == MEMORY_HOST && backend_abilities(work->backend)->has_device;
    if (work->filters) {
        filter_plan_lengths(work->filters, channelise_plan_inputs(work, spectra), rows);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_between && (work->is_bank || i + 1 < count)) {
            continue;
        }
        bytes += filter_plan_stride(rows[i + 1]) * channelise_plan_taken(work, group->streams) *
                 filter_plan_row_bytes(work->filters, i);
    }
    return bytes;
}

/* Bytes that stages take of a kind of memory beside the buffers. */
static uint64_t budget_stage_bytes(const struct channelise_plan *work,
                                   const struct budget_group *group, uint64_t spectra,
                                   enum stage_memory memory)
{
    uint64_t rows[FILTER_PLAN_ROWS];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->nbanks && work->is_bank; i++) {
        const struct channelise_plan_bank *bank = &work->banks[i];
        struct channelise_spec spec = bank->channelise;
        struct channelise_spec detect = bank->detect;
        struct between_spec between;
        spec.max_spectra = detect.max_spectra = spectra * bank->ratio;
        spec.nstreams = channelise_plan_taken(work, group->streams);
        detect.nstreams = group->streams;
        channelise_plan_share_samples(work, i, spectra, &spec);
        bytes += channelise_bytes(work->backend, &spec, memory);
        bytes +=
            bank->maker == &bank->detect ? channelise_bytes(work->backend, &detect, memory) : 0;
        for (uint32_t s = 0; s < BETWEEN_COUNT; s++) {
            bytes += beams_plan_between(work, i, s, 0, group->streams, spectra, &between)
                         ? between_bytes(work->backend, &between, memory)
                         : 0;
        }
        /* The plan's own. */
        bytes +=
            work->beams && memory == MEMORY_HOST ? beams_plan_bytes(work, i, group->streams) : 0;
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        struct correlate_spec spec;
        if (work->products[i].visibilities) {
            visibilities_plan_spec(work, i, spectra, &spec);
            bytes += correlate_bytes(work->backend, &spec, memory);
        }
    }
    if (work->filters) {
        filter_plan_lengths(work->filters, channelise_plan_inputs(work, spectra), rows);
    }
    for (uint32_t i = 0; work->filters && i < filter_plan_count(work->filters); i++) {
        const struct stage_plan *stage = filter_plan_stage(work->filters, i);
        bytes += stage->kind->bytes(
            work->backend, stage, channelise_plan_taken(work, group->streams), rows[i + 1], memory);
    }
    return bytes;
}

/* Bytes of the spectra of which stages or visibilities are made. */
static uint64_t budget_between_bytes(const struct channelise_plan *work,
                                     const struct budget_group *group, uint64_t spectra,
                                     enum stage_memory memory)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        for (uint32_t s = 0; s < BETWEEN_COUNT; s++) {
            struct between_spec spec;
            bytes += beams_plan_between(work, i, s, 0, group->streams, spectra, &spec)
                         ? between_left_bytes(&spec)
                         : 0;
        }
    }
    return memory == MEMORY_HOST && backend_abilities(work->backend)->has_device ? 0 : bytes;
}

/* Bytes of the phases of an array's stations and beams in a block. */
static uint64_t budget_turns_bytes(const struct channelise_plan *work,
                                   const struct budget_group *group, uint64_t spectra)
{
    uint64_t floats[2];
    beams_plan_floats(work, group->streams, spectra, floats);
    return (floats[0] + floats[1]) * sizeof(float);
}

/* Bytes of the samples and rows of a block of `spectra` spectra. */
static uint64_t budget_slot_bytes(const struct channelise_plan *work,
                                  const struct budget_group *group, uint64_t spectra,
                                  enum stage_memory memory)
{
    uint64_t bytes = group->step_bytes * channelise_plan_most_samples(work, spectra) +
                     budget_filtered_bytes(work, group, spectra, memory) +
                     budget_between_bytes(work, group, spectra, memory) +
                     (memory == MEMORY_HOST ? budget_turns_bytes(work, group, spectra) : 0);
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        bytes += channelise_plan_rows(work, i, spectra) *
                 (plan_products_made_bytes(work, i, group->streams) +
                  plan_products_squares_bytes(work, i, group->streams));
    }
    return bytes;
}

/* Bytes of the weights of a block of `spectra` spectra: energies, of spectra, dumps, and rows
 * after filters. */
static uint64_t budget_weights_bytes(const struct channelise_plan *work,
                                     const struct budget_group *group, uint64_t spectra)
{
    const uint64_t of_spectrum = 16; /* and of a row after filters */
    const uint64_t of_dump = 6;
    const uint64_t open = 32; /* of a dump that is not complete */
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        const struct channelise_plan_bank *bank = &work->banks[i];
        bytes += bank->has_weights ? of_spectrum * spectra * bank->ratio : 0;
        bytes += bank->has_weights && work->filters
                     ? of_spectrum * channelise_plan_most_samples(work, spectra)
                     : 0;
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        /* The common part of two polarisations is weighed, too, and the result of both. */
        uint64_t times = ifs_are_combined(&work->products[i].spec) ? 3 : 1;
        times = channelise_plan_bank_of(work, i)->has_weights ? times : 0;
        if (work->products[i].visibilities) {
            const uint64_t lines = visibilities_lines(work->products[i].visibilities);
            bytes += (of_dump * channelise_plan_rows(work, i, spectra) + open) * lines;
            continue;
        }
        bytes += times * (of_dump * channelise_plan_rows(work, i, spectra) + open) *
                 channelise_plan_made(work, i, group->streams);
    }
    return bytes;
}

/* Bytes for flagging power: cells of a block, and for each channel of a stream the sums and weights
 * of its dumps. */
static uint64_t budget_flags_bytes(const struct channelise_plan *work,
                                   const struct budget_group *group, uint64_t spectra)
{
    const uint64_t of_cell = 5;
    const uint64_t of_dump = 20;
    const uint64_t open = 64; /* of a dump that is not complete */
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct product_spec *spec = &work->products[i].spec;
        uint64_t cells = spec->flag.is_on ? channelise_plan_rows(work, i, spectra) : 0;
        uint64_t each = spec->flag.is_on ? spec->integrate / spec->flag.spectra : 1;
        uint64_t one = of_cell * cells + of_dump * (cells / each + 1) + open;
        bytes += spec->flag.is_on
                     ? one * channelise_plan_made(work, i, group->streams) * spec->bank.nchannels
                     : 0;
    }
    return bytes;
}

/* Bytes of all that the host keeps of a block of `spectra` spectra: all sets of buffers, weights,
 * flags, the workspace. */
static uint64_t budget_block_bytes(const struct channelise_plan *work,
                                   const struct budget_group *group, uint64_t spectra)
{
    uint64_t held = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t rows = channelise_plan_rows(work, i, spectra);
        held += plan_products_held_bytes(work, i, group->streams, rows);
    }
    return backend_abilities(work->backend)->slots *
               budget_slot_bytes(work, group, spectra, MEMORY_HOST) +
           group->bounce_bytes + budget_weights_bytes(work, group, spectra) + held +
           budget_flags_bytes(work, group, spectra) +
           budget_stage_bytes(work, group, spectra, MEMORY_HOST);
}

/* Bytes that ways to samples take, largest chunk, and largest row of chunks that one time step
 * touches, of all files; 0 if there are none. */
static void budget_measure_files(const struct channelise_plan *work, uint64_t *ways,
                                 uint64_t *chunk, uint64_t *row)
{
    *ways = *chunk = *row = 0;
    for (uint32_t i = 0; i < work->archive->nparts; i++) {
        const struct archive_part *part = &work->archive->parts[i];
        *ways = max_u64(*ways, budget_reach_bytes[part->reach]);
        *chunk = max_u64(*chunk, part->chunk_bytes);
        *row = max_u64(*row, part->row_bytes);
    }
}

/* Memory to read chunked datasets, once that is settled: the chunks that are kept, and those that
 * threads work on: as they are stored, and as they grow while they are decompressed. */
static uint64_t budget_hdf5_bytes(const struct channelise_plan *work)
{
    uint64_t ways;
    uint64_t chunk;
    uint64_t row;
    budget_measure_files(work, &ways, &chunk, &row);
    return ways > 0 ? ways + work->cache_bytes + work->unpackers * A_CHUNK * chunk : 0;
}

/* Blocks of a chunk's length of time would need each chunk of a dataset once; shorter ones meet a
 * whole row of chunks again and again. So keep the row, if it leaves half of the budget; and as
 * many threads decompress chunks as an eighth of it allows: sets work->cache_bytes and unpackers.
 */
static void budget_settle_cache(struct channelise_plan *work, uint64_t memory)
{
    uint64_t ways;
    uint64_t chunk;
    uint64_t row;
    budget_measure_files(work, &ways, &chunk, &row);
    work->cache_bytes = max_u64(chunk, 1 << 20);
    work->unpackers =
        (uint32_t)max_u64(min_u64(memory / 8 / A_CHUNK / max_u64(chunk, 1), work->threads), 1);
    uint64_t busy = work->unpackers * A_CHUNK * chunk;
    if (row / 2 < memory && row + busy + BUDGET_BASE_BYTES <= memory / 2) {
        work->cache_bytes = max_u64(row, work->cache_bytes);
    }
}

/* Rows on their way into files of other formats. */
static uint64_t budget_formats_bytes(const struct channelise_plan *work)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        enum file_format format = work->job->products[i].format;
        if (format != FILE_HDF5) {
            const struct export_rows rows = export_rows_expect(format, &work->products[i].spec);
            bytes += export_writer_bytes(&rows, work->writers);
        }
    }
    return bytes;
}

uint32_t budget_finishers(const struct channelise_plan *work)
{
    const int is_shared = backend_abilities(work->backend)->uses_threads;
    return (uint32_t)max_u64(work->threads / (is_shared ? 4 : 1), 1);
}

/* Bytes that a run keeps from beginning to end: the values that the numbers of archives in few bits
 * stand for; the sums of all spans, and the CRCs that they become; coefficients of filters in
 * double, and of filter banks as they are and folded, and their energies. */
static uint64_t budget_tables_bytes(const struct channelise_plan *work)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->archive->nparts; i++) {
        bytes += work->archive->parts[i].nsteps * sizeof *work->archive->parts[i].steps;
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t rows = work->products[i].spec.rows;
        bytes += 2 * sizeof(uint32_t) *
                 ceil_div_u64(rows, spans_rows(rows, work->products[i].row_bytes));
    }
    if (work->filters && work->filters->synthesis) { /* the job's, and that of the plan */
        bytes += 2 * work->job->synthesise.ncoeff * sizeof(double);
    }
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        const struct filter_spec *spec = &work->filters->stages[i].spec;
        bytes += spec->coeff ? (uint64_t)spec->taps * sizeof(double) * 2 : 0;
    }
    for (uint32_t i = 0; i < work->nbanks; i++) {
        const struct channelise_plan_bank *bank = &work->banks[i];
        bytes += (bank->has_weights ? UINT64_C(3) : UINT64_C(2)) * sizeof(double) *
                 bank->samples_per_spectrum * bank->channelise.taps;
    }
    return bytes;
}

/* Memory that is not a block's: that too, settled costs of the process, coefficients in double. */
static uint64_t budget_fixed_bytes(const struct channelise_plan *work)
{
    return BUDGET_BASE_BYTES + budget_tables_bytes(work) + budget_formats_bytes(work) +
           budget_hdf5_bytes(work) + (uint64_t)work->archive->nstreams * 32;
}

/* Spectra of the smallest block. */
static uint64_t budget_least(const struct channelise_plan *work)
{
    return min_u64(CHUNK_GRAIN, work->chunking.spectra);
}

/* Bytes of the device's memory for the smallest block, with `slots` sets of buffers; 0: the backend
 * has none of its own. */
static uint64_t budget_smallest_device_bytes(const struct channelise_plan *work,
                                             const struct budget_group *group, uint32_t slots)
{
    uint64_t spectra = budget_least(work);
    uint64_t stages = budget_stage_bytes(work, group, spectra, MEMORY_DEVICE);
    return stages > 0 ? stages + slots * budget_slot_bytes(work, group, spectra, MEMORY_DEVICE) : 0;
}

/* Whether the smallest block fits what the job gives a rank of the device's memory; what it does
 * not say, shows when the device is opened. */
static int budget_fits_device(const struct channelise_plan *work, const struct budget_group *group)
{
    enum { LEAST_SLOTS = 2 };
    return work->job->device_memory == 0 ||
           budget_smallest_device_bytes(work, group, LEAST_SLOTS) <= work->job->device_memory;
}

status_t budget_device_bytes(const struct channelise_plan *work, uint64_t *out)
{
    struct budget_group group;
    TRY(budget_measure_group(work, &group));
    *out = budget_smallest_device_bytes(work, &group, 1);
    return STATUS_OK;
}

enum {
    PAGE = 4096,            /* chunk borders in products, so that network clients share no page;
                             * not this machine's, on which no job's chunks depend */
    CHUNK_BYTES = 64 << 20, /* in and out, where nothing else decides: a fraction of a second */
    BLOCKS_A_CHUNK = 8,     /* of a backend that prefers small blocks, so that ranks end together */
    SHORT_PIECE = 1024,     /* of a row: a call for less takes as long; */
    LEAST_CHUNKS = 64,      /* so that ranks have something to share; */
    MOST_CHUNKS = 1 << 22,  /* so that rank 0 keeps up with thousands of ranks */
    GRAINS_A_THREAD = 4,    /* of a block, at least: so that threads end together, */
    THREAD_BYTES = 2 << 20, /* and bytes, up to a chunk: what wakes them up for each block counts */
    OVERLAP_RATIO = 16,     /* a chunk is at least this many times its overlap; */
    LEAST_RATIO = 2,        /* after filters on a device at least this many times, */
    PINNING = 16            /* see budget_worth_ratio() */
};

enum { PROBLEM_TEXT = 512 };

/* "1024 channels with 8 taps and 65536 channels with 4 taps", "filters of up to 131072 samples
 * before 1024 channels with 8 taps". */
static const char *budget_problem(const struct channelise_plan *work, char text[PROBLEM_TEXT])
{
    int64_t longest = 0;
    size_t length = 0;
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        const struct overlap *reach = &work->filters->stages[i].base.reach;
        longest = reach->length > longest ? reach->length : longest;
    }
    if (longest > 1) {
        length = (size_t)snprintf(text, PROBLEM_TEXT, "filters of up to %lld samples%s",
                                  (long long)longest, work->is_bank ? " before " : "");
    }
    for (uint32_t i = 0; work->is_bank && i < work->nbanks && length < PROBLEM_TEXT; i++) {
        const struct channelise_spec *spec = &work->banks[i].channelise;
        length += (size_t)snprintf(text + length, PROBLEM_TEXT - length, "%s%u channels with %u %s",
                                   i > 0 ? " and " : "", spec->channels, spec->taps,
                                   units_plural(spec->taps, "tap", "taps"));
    }
    if (!work->is_bank && longest <= 1) {
        snprintf(text, PROBLEM_TEXT, "voltages of %u streams", work->seen->nstreams);
    }
    return text;
}

/* Cuts the work into groups of `streams` streams that follow each other, or (`coarse` not 0) that
 * are of `coarse` coarse channels. */
static void budget_set_groups(struct channelise_plan *work, uint32_t streams, uint32_t coarse)
{
    work->chunking.group_streams = streams;
    work->chunking.group_coarse = coarse;
    work->chunking.coarse = work->archive->nselected[AXIS_CHAN];
    for (uint32_t i = 0; i < work->nbanks; i++) {
        work->banks[i].channelise.pol_inner = channelise_plan_coarse(work);
    }
}

/* Cuts groups of less than `streams` streams: of fewer coarse channels, and of one size. Returns 0
 * if there are none. */
static int budget_cut_coarse(struct channelise_plan *work, uint32_t streams)
{
    const uint32_t others = work->chunking.streams / work->archive->nselected[AXIS_CHAN];
    uint32_t coarse = channelise_plan_coarse(work);
    while (work->groups.are_coarse && coarse > 1) {
        uint32_t factor = 2;
        while (coarse % factor > 0) {
            factor++;
        }
        coarse /= factor;
        if (others * coarse < streams) {
            budget_set_groups(work, others * coarse, coarse);
            return 1;
        }
    }
    return 0;
}

/* Cuts smaller groups: of half of the streams, or of what products take together of them; then of
 * fewer coarse channels; behind those, of streams again, if they can be fewer. Returns 0 if there
 * are none. */
static int budget_cut_finer(struct channelise_plan *work)
{
    const uint32_t streams = work->chunking.group_streams;
    uint64_t half = ceil_div_u64((streams + 1) / 2, work->groups.quantum) * work->groups.quantum;
    if (work->chunking.group_coarse > 0 && budget_cut_coarse(work, streams)) {
        return 1;
    }
    if (half < streams) {
        budget_set_groups(work, (uint32_t)half, 0);
        return 1;
    }
    return work->chunking.group_coarse == 0 && budget_cut_coarse(work, streams);
}

/* The same, measured: of coarse channels at once where these read less than others of whose bytes
 * some are read twice. Fails with DEVICE; *found: whether there are any. */
static status_t budget_cut_and_measure(struct channelise_plan *work, struct budget_group *group,
                                       int *found)
{
    const uint32_t streams = work->chunking.group_streams;
    *found = budget_cut_finer(work);
    TRY(*found ? budget_measure_group(work, group) : STATUS_OK);
    const struct chunking others = work->chunking;
    const struct budget_group of_others = *group;
    if (*found && others.group_coarse == 0 && group->reads_twice &&
        budget_cut_coarse(work, streams)) {
        TRY(budget_measure_group(work, group));
        if (group->read_bytes >= of_others.read_bytes) {
            budget_set_groups(work, others.group_streams, others.group_coarse);
            *group = of_others;
        }
    }
    return STATUS_OK;
}

/* Whether the smallest block of a group fits what is left for blocks. */
static int budget_fits(const struct channelise_plan *work, const struct budget_group *group,
                       uint64_t budget)
{
    return budget_block_bytes(work, group, budget_least(work)) <= budget;
}

/* Units' worth of samples that two neighbouring blocks both need. */
static uint64_t budget_shared(const struct channelise_plan *work)
{
    uint64_t step = channelise_plan_unit(work);
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        step *= work->filters->stages[i].spec.decimate;
    }
    const int makes_more = work->filters && work->filters->synthesis;
    const uint64_t rows = makes_more ? work->filters->synthesis->spec.hop : 1; /* of a spectrum */
    return ceil_div_u64(channelise_plan_shared(work) * rows, step);
}

/* How many times its overlap a block is, at least, where that takes much memory: measured on an
 * H200's host, a byte in all slots, pinned before the first block, takes some PINNING times as long
 * as reading one that another block has read. With n overlaps in all groups, blocks of r of them
 * take PINNING r + n / r: least where r is the root of n / PINNING. Short runs begin soon, and have
 * chunks for many ranks; long ones read little twice. */
static uint64_t budget_worth_ratio(const struct channelise_plan *work, uint32_t groups)
{
    double n = (double)work->chunking.spectra * groups / (double)max_u64(budget_shared(work), 1);
    return min_u64(max_u64((uint64_t)sqrt(n / PINNING), LEAST_RATIO), OVERLAP_RATIO);
}

/* The same in the memory that there is: long filters on a device always take much. */
static uint64_t budget_overlap_ratio(const struct channelise_plan *work)
{
    int takes_much = work->filters && backend_abilities(work->backend)->has_device;
    return takes_much ? budget_worth_ratio(work, 1) : OVERLAP_RATIO;
}

/* Units of a block of `ratio` times what neighbours share; all, where these are not even two such
 * and ranks have groups to share. */
static uint64_t budget_long_block(const struct channelise_plan *work, uint64_t ratio)
{
    enum { LEAST_GROUPS = 16 };
    const uint64_t block = ratio * budget_shared(work);
    int are_few = work->chunking.spectra < 2 * max_u64(block, CHUNK_GRAIN);
    return are_few && chunk_groups(&work->chunking) >= LEAST_GROUPS ? work->chunking.spectra
                                                                    : block;
}

/* Whether blocks of `ratio` times what neighbours share fit: reading and filtering that twice costs
 * more than memory. */
static int budget_suits(const struct channelise_plan *work, const struct budget_group *group,
                        uint64_t ratio, uint64_t budget)
{
    uint64_t block = budget_long_block(work, ratio);
    block = ceil_div_u64(max_u64(block, 1), CHUNK_GRAIN) * CHUNK_GRAIN;
    block = min_u64(block, work->chunking.spectra);
    return budget_block_bytes(work, group, max_u64(block, budget_least(work))) <= budget;
}

/* Whether groups cost more than memory: they read what others read, too, or write short parts of
 * the rows of some product. */
static int budget_groups_cost(const struct channelise_plan *work, const struct budget_group *group)
{
    const struct chunk chunk = chunk_at(&work->chunking, 0);
    int costs = group->reads_twice;
    for (uint32_t i = 0; i < work->job->nproducts && work->is_bank; i++) {
        const struct channelise_plan_product *product = &work->products[i];
        const struct chunk_pieces pieces =
            chunk_pieces_of(&work->chunking, &chunk, product->row_bytes, product->spec.nifs, 1);
        costs |= pieces.size < SHORT_PIECE;
    }
    return chunk_groups(&work->chunking) > 1 && costs;
}

/* How many streams work together: as the run was begun, else all of them, or as many as let blocks
 * fit: groups that cost more only if the smallest block fits in no others. If it fits in none,
 * those that need least. */
static status_t budget_settle_groups(struct channelise_plan *work, uint64_t budget,
                                     const struct chunking *begun, struct budget_group *group)
{
    budget_set_groups(work, begun ? begun->group_streams : work->formed->nstreams,
                      begun ? begun->group_coarse : 0);
    TRY(budget_measure_group(work, group));
    struct chunking best = work->chunking;
    struct budget_group of_best = *group;
    uint64_t least = budget_block_bytes(work, group, budget_least(work));
    int fits = least <= budget && budget_fits_device(work, group);
    int found = !begun;
    while (found && !(fits && budget_suits(work, group, budget_overlap_ratio(work), budget))) {
        TRY(budget_cut_and_measure(work, group, &found));
        const uint64_t bytes = budget_block_bytes(work, group, budget_least(work));
        int fits_now = bytes <= budget && budget_fits_device(work, group);
        if (!found || (fits && (!fits_now || budget_groups_cost(work, group)))) {
            break;
        }
        if (bytes <= max_u64(least, budget)) {
            best = work->chunking;
            of_best = *group;
            least = bytes;
        }
        fits = fits_now;
    }
    budget_set_groups(work, best.group_streams, best.group_coarse);
    *group = of_best;
    return STATUS_OK;
}

static status_t budget_refuse(const struct channelise_plan *work, const struct chunking *begun,
                              const struct budget_group *group)
{
    uint64_t bytes = budget_block_bytes(work, group, budget_least(work)) + budget_fixed_bytes(work);
    char given[JOB_MEMORY_TEXT];
    char problem[PROBLEM_TEXT];
    char chunks[96] = "";
    char together[96] = "";
    if (work->groups.quantum > 1) {
        snprintf(together, sizeof together, " for the %u streams that a product takes together",
                 group->streams);
    }
    if (budget_hdf5_bytes(work) > 0) {
        snprintf(chunks, sizeof chunks, " (%s of it to read the dataset's chunks)",
                 units_bytes(budget_hdf5_bytes(work)));
    }
    return report_fail(STATUS_USAGE, "%s: run.memory is %s, but %s need at least %s a rank%s%s%s",
                       work->job->path, job_memory_words(work->job, given),
                       budget_problem(work, problem), units_bytes(bytes), together, chunks,
                       begun ? ", as its products were begun; --restart begins anew" : "");
}

static uint64_t budget_round_up(uint64_t value, uint64_t quantum)
{
    return ceil_div_u64(value, quantum) * quantum;
}

/* A block that suits the backend, of at most `most` spectra: not so small that overlaps are read
 * too often, or threads have too few grains to share. */
static uint64_t budget_suiting_block(const struct channelise_plan *work,
                                     const struct budget_group *group, uint64_t most)
{
    uint64_t suits = backend_abilities(work->backend)->block_bytes;
    uint64_t overlaps = budget_overlap_ratio(work) * budget_shared(work);
    if (work->wanted_block > 0) {
        uint64_t wanted = max_u64(ceil_div_u64(work->wanted_block, group->streams), overlaps);
        return min_u64(most, budget_round_up(max_u64(wanted, 1), CHUNK_GRAIN));
    }
    uint64_t one = budget_slot_bytes(work, group, 2 * CHUNK_GRAIN, MEMORY_HOST) -
                   budget_slot_bytes(work, group, CHUNK_GRAIN, MEMORY_HOST);
    if (suits == 0) {
        return most;
    }
    /* Filters gain nothing by it: their overlaps make blocks long. */
    suits = work->filters ? suits : max_u64(suits, (uint64_t)THREAD_BYTES * work->threads);
    uint64_t spectra = suits / max_u64(one / CHUNK_GRAIN, 1);
    uint64_t shared =
        ceil_div_u64((uint64_t)GRAINS_A_THREAD * work->threads, group->streams) * CHUNK_GRAIN;
    spectra = max_u64(max_u64(spectra, overlaps), shared);
    return min_u64(most, budget_round_up(spectra, CHUNK_GRAIN));
}

/* The largest block (a multiple of the grain) that fits. */
static uint64_t budget_largest_block(const struct channelise_plan *work,
                                     const struct budget_group *group, uint64_t budget)
{
    uint64_t low = 1;
    uint64_t high = ceil_div_u64(work->chunking.spectra, CHUNK_GRAIN);
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (budget_block_bytes(work, group, middle * CHUNK_GRAIN) <= budget) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low * CHUNK_GRAIN;
}

/* Returns the smallest number of units whose spectra are a multiple of `spectra`, each having
 * `ratio` of them. */
static uint64_t budget_units(uint64_t spectra, uint64_t ratio)
{
    return spectra / gcd_u64(spectra, ratio);
}

/* Chunks must hold whole dumps of every product (quantum), and whole blocks of those with a scale;
 * and should begin at such borders of every product (fine). 0 when such a number is absurd. */
static void budget_chunk_quanta(const struct channelise_plan *work, uint64_t border,
                                uint64_t *quantum, uint64_t *fine)
{
    *quantum = 1;
    *fine = 1;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t integrate = work->job->products[i].integrate;
        uint64_t ratio = channelise_plan_bank_of(work, i)->ratio;
        uint64_t together = max_u64(work->products[i].spec.steps.rows, 1);
        uint64_t rows = lcm_u64(chunk_row_quantum(work->products[i].row_bytes, border), together);
        uint64_t both = 0;
        if (!multiply_u64(together, integrate, &both)) {
            both = 0;
        }
        *quantum = *quantum && both ? lcm_u64(*quantum, budget_units(both, ratio)) : 0;
        if (!multiply_u64(rows, integrate, &both)) {
            both = 0;
        }
        *fine = *fine && both ? lcm_u64(*fine, budget_units(both, ratio)) : 0;
    }
}

/* Bytes of a block from which on it pays off that `threads` threads fill its pieces. */
static uint64_t budget_least_ingested(uint32_t threads)
{
    enum { PIECES = 2 /* of each */ };
    return (uint64_t)threads * PIECES * INGEST_PIECE;
}

/* Returns the factor by which chunks are longer if their samples go to the device while they are
 * read. They need no pinned memory (except with few threads, which must not change chunks), and the
 * ends of reads count. `most`: a chunk can have this many spectra. The factor is 1 if the rows need
 * as much memory, if chunks would be too small for all threads that can read them, or if most of
 * them would be in two files. */
static uint64_t budget_longer(const struct channelise_plan *work, const struct budget_group *group,
                              uint64_t most)
{
    enum { TIMES = 8, ROWS_RATIO = 4 /* samples to rows, at least */, PART_CHUNKS = 4 };
    /* Bytes of the second half of twice as many spectra: without what blocks share, or a first
     * row. */
    uint64_t all = budget_slot_bytes(work, group, 2 * most, MEMORY_HOST) -
                   budget_slot_bytes(work, group, most, MEMORY_HOST);
    uint64_t samples = group->step_bytes * (channelise_plan_most_samples(work, 2 * most) -
                                            channelise_plan_most_samples(work, most));
    uint64_t of_part = work->chunking.spectra / PART_CHUNKS / work->archive->nparts;
    uint64_t longest = channelise_plan_most_samples(work, min_u64(most, of_part));
    int is_longer = group->is_ingested && all - samples <= samples / ROWS_RATIO &&
                    group->step_bytes * longest >= budget_least_ingested(INGEST_MOST_THREADS);
    return is_longer ? TIMES : 1;
}

/* Spectra of a chunk when the job leaves it to us; `cost` bytes of memory for each spectrum. */
static uint64_t budget_automatic_chunk(const struct channelise_plan *work,
                                       const struct budget_group *group, uint64_t block,
                                       uint64_t quantum, uint64_t fine, uint64_t stripes,
                                       uint64_t cost)
{
    uint64_t suits = BLOCKS_A_CHUNK * backend_abilities(work->backend)->block_bytes;
    uint64_t most = ceil_div_u64(work->chunking.spectra, LEAST_CHUNKS);
    uint64_t longer = budget_longer(work, group, most);
    uint64_t spectra = max_u64(1, (suits > 0 ? suits : longer * CHUNK_BYTES) / max_u64(1, cost));
    if (work->wanted_block > 0) {
        spectra = ceil_div_u64(work->wanted_block, work->chunking.group_streams);
        spectra *= suits > 0 ? BLOCKS_A_CHUNK : 1;
    }
    spectra = min_u64(spectra, most);
    spectra = max_u64(spectra, group->overlaps);
    spectra = max_u64(min_u64(spectra, block), 1);
    uint64_t groups = ceil_div_u64(work->chunking.streams, work->chunking.group_streams);
    spectra = max_u64(spectra, ceil_div_u64(work->chunking.spectra * groups, MOST_CHUNKS));
    if (stripes && budget_round_up(spectra, stripes) <= max_u64(most, spectra)) {
        return budget_round_up(spectra, stripes);
    }
    /* The finer border only where it does not make chunks much larger. */
    if (fine && budget_round_up(spectra, fine) <= max_u64(block, spectra) &&
        budget_round_up(spectra, fine) <= 2 * spectra + 64) {
        return budget_round_up(spectra, fine);
    }
    return budget_round_up(spectra, quantum);
}

/* Returns the bytes of `memory` that are left for blocks. */
static uint64_t budget_for_blocks(struct channelise_plan *work, uint64_t memory)
{
    budget_settle_cache(work, memory);
    uint64_t fixed = budget_fixed_bytes(work);
    return memory > fixed ? memory - fixed : 0;
}

/* Groups of streams and chunks, for so much memory; *budget: what it leaves for blocks. */
static status_t budget_cut(struct channelise_plan *work, uint64_t memory,
                           const struct chunking *begun, struct budget_group *group,
                           uint64_t *budget)
{
    uint64_t quantum;
    uint64_t fine;
    uint64_t stripes;
    /* Each group of beams reads all stations: as few groups as this machine's memory allows. */
    uint64_t whole = work->beams ? budget_for_blocks(work, max_u64(memory, work->job->memory)) : 0;
    *budget = budget_for_blocks(work, memory);
    budget_chunk_quanta(work, work->job->cut.align, &quantum, &stripes);
    budget_chunk_quanta(work, PAGE, &quantum, &fine);
    REQUIRE(quantum > 0 && quantum <= UINT64_C(1) << 62, STATUS_USAGE,
            "%s: no chunk can contain whole rows of all products: their integrate (times "
            "scale_rows) have no sensible common multiple",
            work->job->path);
    REQUIRE(
        !begun ||
            (begun->spectra == work->chunking.spectra && begun->streams == work->chunking.streams &&
             begun->chunk_spectra % quantum == 0 &&
             (begun->group_coarse == 0 || begun->coarse == work->archive->nselected[AXIS_CHAN])),
        STATUS_USAGE, "%s: its products were begun in other chunks: --restart begins anew",
        work->job->path);
    TRY(budget_settle_groups(work, max_u64(*budget, whole), begun, group));
    uint64_t block = budget_largest_block(work, group, *budget);
    const uint64_t ratio = memory > work->job->cut.memory
                               ? budget_worth_ratio(work, chunk_groups(&work->chunking))
                               : budget_overlap_ratio(work);
    group->overlaps = budget_round_up(budget_long_block(work, ratio), CHUNK_GRAIN);
    uint64_t cost = (budget_block_bytes(work, group, (uint64_t)CHUNK_GRAIN * 2) -
                     budget_block_bytes(work, group, CHUNK_GRAIN)) /
                    CHUNK_GRAIN;
    uint64_t asked = ceil_div_u64(work->job->cut.chunk_spectra, work->banks[0].ratio);
    uint64_t chunk = asked > 0
                         ? budget_round_up(asked, quantum)
                         : budget_automatic_chunk(work, group, block, quantum, fine, stripes, cost);
    chunk = min_u64(chunk, budget_round_up(work->chunking.spectra, quantum));
    work->chunking.chunk_spectra = begun ? begun->chunk_spectra : chunk;
    return REQUIRED(chunk_count(&work->chunking) <= CHUNK_MOST, STATUS_USAGE,
                    "%s: run.chunk is %llu, which makes %llu chunks, expected at most %llu",
                    work->job->path, (unsigned long long)work->chunking.chunk_spectra,
                    (unsigned long long)chunk_count(&work->chunking),
                    (unsigned long long)CHUNK_MOST);
}

/* Whether the blocks' samples go to the device while they are read: blocks that are large enough
 * for the threads that there are, where memory is left for pieces. (That of the samples is reckoned
 * all the same: it is taken when a piece cannot be read.) */
static void budget_settle_ingest(struct channelise_plan *work, const struct budget_group *group)
{
    uint64_t block = work->chunking.block_spectra;
    uint64_t samples = group->step_bytes * channelise_plan_most_samples(work, block);
    uint32_t fillers = (uint32_t)min_u64(max_u64(work->threads, 1) - 1, INGEST_MOST_THREADS);
    uint64_t pieces = (uint64_t)fillers * INGEST_EACH * INGEST_PIECE;
    work->fillers = 0;
    if (group->is_ingested && fillers >= INGEST_LEAST_THREADS &&
        samples >= budget_least_ingested(fillers) &&
        budget_block_bytes(work, group, block) + pieces <= work->stage_bytes) {
        work->fillers = fillers;
        work->memory_bytes += pieces;
    }
}

/* Threads for rows of other formats, as far as memory is left. */
static void budget_settle_writers(struct channelise_plan *work)
{
    const uint64_t one = budget_formats_bytes(work);
    const uint64_t left = budget_fixed_bytes(work) + work->stage_bytes - work->memory_bytes;
    work->writers = budget_finishers(work);
    while (budget_formats_bytes(work) - one > left) {
        work->writers--;
    }
    work->memory_bytes += budget_formats_bytes(work) - one;
}

/* Blocks of at most `budget` bytes. */
static void budget_settle_blocks(struct channelise_plan *work, const struct budget_group *group,
                                 uint64_t budget)
{
    struct chunking *chunking = &work->chunking;
    uint64_t block = budget_largest_block(work, group, budget);
    chunking->block_spectra = budget_suiting_block(
        work, group, min_u64(block, budget_round_up(chunking->chunk_spectra, CHUNK_GRAIN)));
    if (work->nbanks > 1) { /* units are large: none that there is not */
        chunking->block_spectra = min_u64(chunking->block_spectra, chunking->chunk_spectra);
    }
    /* CPUs transpose the streams of small blocks at once, in memory of its own. */
    if (budget_block_bytes(work, group, chunking->block_spectra) > budget) {
        chunking->block_spectra = block;
    }
    chunking->block_spectra = min_u64(chunking->block_spectra, chunking->spectra);
    for (uint32_t i = 0; i < work->nbanks; i++) {
        struct channelise_spec *spec = &work->banks[i].channelise;
        spec->nstreams = channelise_plan_taken(work, group->streams);
        spec->max_spectra = chunking->block_spectra * work->banks[i].ratio;
    }
    work->memory_bytes =
        budget_fixed_bytes(work) + budget_block_bytes(work, group, chunking->block_spectra);
    budget_settle_ingest(work, group);
    budget_settle_writers(work);
}

status_t budget_settle(struct channelise_plan *work, const struct chunking *begun)
{
    const struct job *job = work->job;
    struct budget_group group;
    uint64_t usual;
    work->writers = 1;
    uint64_t memory = job->cut.memory;
    TRY(budget_cut(work, memory, begun, &group, &usual));
    while (!begun && memory <= job->memory / 2 &&
           (!budget_suits(work, &group, budget_worth_ratio(work, chunk_groups(&work->chunking)),
                          usual) ||
            (!work->beams && budget_groups_cost(work, &group)))) {
        memory *= 2;
        TRY(budget_cut(work, memory, begun, &group, &usual));
    }
    uint64_t budget = budget_for_blocks(work, job->memory);
    if (!budget_fits(work, &group, budget) && job->memory < job->cut.memory) {
        TRY(budget_cut(work, job->memory, begun, &group, &budget));
    }
    TRY(!budget_fits(work, &group, budget) ? budget_refuse(work, begun, &group) : STATUS_OK);
    work->stage_bytes = budget;
    work->groups.read_bytes = group.read_bytes;
    /* Longer blocks than there are in JOB_MEMORY are no faster, but more memory to touch first. */
    budget_settle_blocks(work, &group,
                         budget_fits(work, &group, usual) ? min_u64(usual, budget) : budget);
    return STATUS_OK;
}
