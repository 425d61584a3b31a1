/* The memory that work takes, however it is cut: of blocks, of groups of streams, of all else. */
#include "plan/budget.h"

#include "compute/device_side.h"
#include "compute/shared/beam_weights.h"
#include "plan/beams_plan.h"
#include "plan/flag_mask.h"
#include "plan/plan_products.h"
#include "plan/visibilities_plan.h"
#include "product/codec.h"
#include "product/contents.h"
#include "product/export/export_rows.h"
#include "product/flagged.h"
#include "product/ifs.h"
#include "product/medians.h"

const uint64_t budget_reach_bytes[] = {
    [REACH_HDF5] = 24 << 20, [REACH_PIECES] = 0, [REACH_TABLE] = 24 << 20};

enum { BOUNCE_BYTES = 4 << 20 /* of a reader that needs parts of time steps */ };

/* Measures the groups into which the work is cut. Fails with DEVICE. */
status_t budget_measure_group(const struct channelise_plan *work, struct budget_group *out)
{
    /* The host reads no samples, unless they are floats (pipeline/channelise_write.c). */
    *out = (struct budget_group){.streams = work->chunking.group_streams,
                                 .is_ingested = backend_abilities(work->backend)->ingests &&
                                                !sample_types[work->seen->format].is_float,
                                 .is_whole = 1};
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
        out->is_whole = out->is_whole && reader_ingests_all(work->archive, slab);
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
        if (work->beams && memory == MEMORY_HOST) { /* delays of the plan, weights of all beams */
            bytes += beams_plan_group(work, 0, group->streams).beams * work->array->stations * 2 *
                         sizeof(double) +
                     beam_spec_bytes(&work->beams->spec[i]);
        }
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
uint64_t budget_slot_bytes(const struct channelise_plan *work, const struct budget_group *group,
                           uint64_t spectra, enum stage_memory memory)
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

/* Bytes to take the packets of a block apart, one file after the other. */
static uint64_t budget_packets_bytes(const struct channelise_plan *work, uint64_t spectra)
{
    const uint64_t samples = channelise_plan_most_samples(work, spectra);
    uint64_t most = 0;
    for (uint32_t i = 0; i < work->archive->nparts; i++) {
        const struct archive_part *part = &work->archive->parts[i];
        most = max_u64(most, part->npackets > 0
                                 ? reader_packets_bytes(part->packets, samples, work->threads)
                                 : 0);
    }
    return most;
}

/* Bytes that combining and rounding need: `rows` rows of the former; a block of rows with a scale,
 * and the rounded form of `rows` more. */
static uint64_t budget_held_bytes(const struct channelise_plan *work, uint32_t i, uint32_t streams,
                                  uint64_t rows)
{
    const struct product_spec *spec = &work->products[i].spec;
    const uint64_t measured = 32; /* of a line (dsp/steps.h) */
    const uint64_t told = 12;     /* scale, offset, counts */
    uint64_t dumps = spec->flag.is_on ? rows / flagged_cells(spec) + 1 : rows;
    uint64_t sets = plan_products_are_put_beside(work) ? 2 : 1;
    uint64_t combined = dumps * plan_products_combined_bytes(work, i, streams);
    if (!quantised_is(spec)) {
        return sets * combined;
    }
    uint64_t held = min_u64(spec->steps.rows, spec->rows);
    uint64_t lines = plan_products_lines(work, i, streams);
    uint64_t floats = product_row_bytes(spec->kind, 1, lines);
    uint64_t beside = plan_products_weights(work, i, streams);
    return combined + held * floats +
           (held + rows) * (sets * floats * spec->steps.bits / 32 + beside * sizeof(float)) +
           lines * (measured + 2 * sizeof(float) + (rows / held + 2) * told);
}

/* Bytes of all that the host keeps of a block of `spectra` spectra: all sets of buffers, weights,
 * flags, the workspace. */
uint64_t budget_block_bytes(const struct channelise_plan *work, const struct budget_group *group,
                            uint64_t spectra)
{
    uint64_t held = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t rows = channelise_plan_rows(work, i, spectra);
        held += budget_held_bytes(work, i, group->streams, rows);
    }
    return backend_abilities(work->backend)->slots *
               budget_slot_bytes(work, group, spectra, MEMORY_HOST) +
           group->bounce_bytes + budget_packets_bytes(work, spectra) +
           budget_weights_bytes(work, group, spectra) + held +
           budget_flags_bytes(work, group, spectra) +
           budget_stage_bytes(work, group, spectra, MEMORY_HOST);
}

enum { COUNTS_BYTES = 64 << 10 };

static uint64_t budget_pages(uint64_t bytes)
{
    return ceil_div_u64(bytes, PINNED_PAGE) * PINNED_PAGE;
}

uint64_t budget_pinned_bytes(const struct channelise_plan *work, const struct budget_group *group)
{
    const uint64_t block = work->chunking.block_spectra;
    const uint64_t in = group->step_bytes * channelise_plan_most_samples(work, block);
    const int is_sure = work->fillers > 0 && group->is_whole && !work->shows_missing &&
                        work->job->on_bad != ON_BAD_NAN;
    /* Numbers of missing samples are behind these, or apart where pieces are. */
    uint64_t one = budget_slot_bytes(work, group, block, MEMORY_HOST) - in;
    one += work->fillers > 0 ? PINNED_PAGE + budget_pages(is_sure ? 0 : in)
                             : budget_pages(in + COUNTS_BYTES);
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const uint64_t rows = channelise_plan_rows(work, i, block);
        const uint64_t made = rows * plan_products_made_bytes(work, i, group->streams);
        const uint64_t squares = rows * plan_products_squares_bytes(work, i, group->streams);
        one += budget_pages(made) - made + budget_pages(squares) - squares;
    }
    return work->chunking.slots * one;
}

/* NVIDIA's driver with a device open takes 40 MiB; Open MPI 4.1 with 1 to 8 ranks by shared memory,
 * TCP or UCX 7 to 8, a process alone 5. */
enum { OWN_BYTES = 9 << 20, DRIVER_BYTES = (26 << 20) + BUDGET_COMPILER_BYTES };

uint64_t budget_pages_bytes(const struct channelise_plan *work)
{
    const uint64_t left = BUDGET_BASE_BYTES - DRIVER_BYTES - OWN_BYTES;
    uint64_t buffers = 1;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        buffers += work->products[i].spec.flag.has_kurtosis ? 2 : 1;
    }
    const uint64_t bytes = backend_abilities(work->backend)->slots * buffers * PINNED_PAGE;
    return backend_abilities(work->backend)->has_device && bytes > left ? bytes - left : 0;
}

/* The most of all files, in bytes; 0 if they have none. */
struct budget_files {
    uint64_t ways;       /* to samples */
    uint64_t chunk, row; /* a chunk, and those that one time step touches */
    uint64_t work;       /* of a thread that decompresses a chunk */
};

static struct budget_files budget_files_of(const struct channelise_plan *work)
{
    struct budget_files most = {0};
    for (uint32_t i = 0; i < work->archive->nparts; i++) {
        const struct archive_part *part = &work->archive->parts[i];
        most.ways = max_u64(most.ways, part->reach == REACH_HDF5 ? part->index_bytes : 0);
        most.chunk = max_u64(most.chunk, part->chunk_bytes);
        most.row = max_u64(most.row, part->row_bytes);
        most.work = max_u64(most.work, part->work_bytes);
    }
    return most;
}

/* Memory to read chunked datasets, once that is settled: the chunks that are kept, and those that
 * threads work on. */
uint64_t budget_hdf5_bytes(const struct channelise_plan *work)
{
    const struct budget_files files = budget_files_of(work);
    return files.ways > 0 ? files.ways + work->cache_bytes + work->unpackers * files.work : 0;
}

/* Blocks of a chunk's length of time would need each chunk of a dataset once; shorter ones meet a
 * whole row of chunks again and again. So keep the row, if it leaves half of the budget; and as
 * many threads decompress chunks as an eighth of it allows: sets work->cache_bytes and unpackers.
 */
void budget_settle_cache(struct channelise_plan *work, uint64_t memory)
{
    const struct budget_files files = budget_files_of(work);
    work->cache_bytes = max_u64(files.chunk, 1 << 20);
    work->unpackers =
        (uint32_t)max_u64(min_u64(memory / 8 / max_u64(files.work, 1), work->threads), 1);
    uint64_t busy = work->unpackers * files.work;
    if (files.row / 2 < memory && files.row + busy + BUDGET_BASE_BYTES <= memory / 2) {
        work->cache_bytes = max_u64(files.row, work->cache_bytes);
    }
}

/* Rows on their way into files of other formats. */
uint64_t budget_formats_bytes(const struct channelise_plan *work)
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
    return (uint32_t)max_u64(work->threads / (is_shared ? 2 : 1), 1);
}

/* Bytes that a run keeps from beginning to end: the values that the numbers of archives in few bits
 * stand for; the sums of all spans, and the CRCs that they become; masks; coefficients of filters
 * in double, and of filter banks as they are and folded, and their energies. */
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
        bytes += flag_mask_bytes(work->products[i].mask);
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
uint64_t budget_fixed_bytes(const struct channelise_plan *work)
{
    return BUDGET_BASE_BYTES + budget_tables_bytes(work) + budget_formats_bytes(work) +
           budget_hdf5_bytes(work) + budget_pages_bytes(work) +
           (uint64_t)work->archive->nstreams * 32;
}

uint64_t budget_end_bytes(const struct channelise_plan *work)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct job_product *product = &work->job->products[i];
        most = max_u64(most,
                       product->has_bandpass ? medians_bytes(MEDIANS_COLUMNS) + MEDIANS_PIECE : 0);
        most = max_u64(
            most, product->compression != COMPRESSION_NONE ? packed_work_bytes(work->threads) : 0);
    }
    return BUDGET_BASE_BYTES + budget_tables_bytes(work) + most;
}

/* Whether a pass of the job looks for a device, for which the drivers of all are loaded. */
static int budget_looks_for_device(const struct job *job)
{
    int looks = job_reads_voltages(job) && job->backend == BACKEND_AUTO;
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        looks |= job->dedisperse[i].backend == BACKEND_AUTO;
    }
    return looks;
}

uint64_t budget_stated(const struct job *job, enum backend_kind backend, uint32_t threads,
                       uint64_t bytes)
{
    /* The libraries of OpenCL take 12 MiB (PoCL), stacks of threads 30 KiB. Heaps have gaps: a
     * 128th of all. */
    enum { LIBRARIES = 14 << 20, THREAD = 64 << 10, GAPS = 128 };
    const uint64_t counted = bytes - BUDGET_BASE_BYTES;
    uint64_t own = OWN_BYTES + (uint64_t)threads * THREAD + counted / GAPS;
    own += backend_abilities(backend)->has_device ? DRIVER_BYTES
           : budget_looks_for_device(job)         ? LIBRARIES
                                                  : 0;
    return counted + min_u64(own, BUDGET_BASE_BYTES);
}

/* Returns the units of the smallest block. */
uint64_t budget_least(const struct channelise_plan *work)
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

/* Returns whether the smallest block fits the device memory that the job gives a rank. */
int budget_fits_device(const struct channelise_plan *work, const struct budget_group *group)
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
