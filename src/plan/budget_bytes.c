/* The arithmetic of memory: sums over buffers, stages, weights, filters, what reads HDF5. */
#include "plan/budget_bytes.h"

#include "base/memory.h"
#include "input/read/reader.h"
#include "plan/budget.h"
#include "plan/channelise_needs.h"
#include "plan/plan_products.h"
#include "product/ifs.h"
#include "product/spans.h"

enum {
    BOUNCE_BYTES = 4 << 20, /* of a reader that needs parts of time steps */
    A_CHUNK = 4             /* times a chunk: what a thread needs to decompress one */
};

status_t budget_measure_group(const struct channelise_plan *work, uint32_t streams,
                              struct budget_group *out)
{
    status_t st = STATUS_OK;
    uint32_t fan = filter_plan_fan(work->filters);
    uint32_t all = work->seen->nstreams;
    /* Nobody looks at samples on the host, unless they are floats (pipeline/range). */
    *out = (struct budget_group){.streams = streams,
                                 .is_ingested = backend_abilities(work->backend)->ingests &&
                                                !sample_types[work->seen->format].is_float};
    for (uint32_t first = 0; first < all; first += streams) {
        struct slab *slab = NULL;
        TRY(slab_create(work->archive, first * fan, (uint32_t)min_u64(streams, all - first) * fan,
                        &slab));
        out->is_ingested = out->is_ingested && reader_lies_whole(work->archive, slab);
        out->step_bytes = max_u64(out->step_bytes, slab_bytes(slab, 1));
        if (slab->width < slab->inner_bytes) {
            out->bounce_bytes =
                max_u64(out->bounce_bytes, max_u64(BOUNCE_BYTES, slab->inner_bytes));
        }
        slab_destroy(slab);
    }
out:
    return st;
}

/* Whose memory is reckoned: buffers that only stages of a device read are not the host's. */
enum memory { HOST, DEVICE };

/* Bytes of the rows of all filters that a block of `spectra` spectra needs. */
static uint64_t budget_filtered_bytes(const struct channelise_plan *work,
                                      const struct budget_group *group, uint64_t spectra,
                                      enum memory memory)
{
    uint64_t rows[FILTER_PLAN_ROWS];
    uint64_t bytes = 0;
    uint32_t count = work->filters ? filter_plan_count(work->filters) : 0;
    int is_between = memory == HOST && backend_abilities(work->backend)->has_device;
    if (work->filters) {
        filter_plan_lengths(work->filters, channelise_plan_inputs(work, spectra), rows);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_between && (work->is_bank || i + 1 < count)) {
            continue;
        }
        bytes += filter_plan_stride(rows[i + 1]) * group->streams *
                 filter_plan_row_bytes(work->filters, i);
    }
    return bytes;
}

/* What a kind of memory is taken by each stage beside the buffers. */
struct budget_of_stages {
    uint64_t (*bank)(enum backend_kind, const struct channelise_spec *);
    uint64_t (*filter)(enum backend_kind, const struct filter_spec *);
    uint64_t (*synthesis)(enum backend_kind, const struct synthesise_spec *);
};
static const struct budget_of_stages on_host = {channelise_bytes, filter_bytes, synthesise_bytes};
static const struct budget_of_stages on_device = {channelise_device_bytes, filter_device_bytes,
                                                  synthesise_device_bytes};

static uint64_t budget_stage_bytes(const struct channelise_plan *work,
                                   const struct budget_group *group, uint64_t spectra,
                                   const struct budget_of_stages *of)
{
    uint64_t rows[FILTER_PLAN_ROWS];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->nbanks && work->is_bank; i++) {
        struct channelise_spec spec = work->banks[i].channelise;
        spec.max_spectra = spectra * work->banks[i].ratio;
        spec.nstreams = group->streams;
        channelise_plan_share_samples(work, i, spectra, &spec);
        bytes += of->bank(work->backend, &spec);
    }
    const uint64_t *made = rows + 1;
    if (work->filters) {
        filter_plan_lengths(work->filters, channelise_plan_inputs(work, spectra), rows);
    }
    if (work->filters && work->filters->synthesis) {
        struct synthesise_spec stage = work->filters->synthesis->spec;
        stage.nstreams = group->streams;
        stage.max_rows = *made++;
        bytes += of->synthesis(work->backend, &stage);
    }
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        struct filter_spec stage = work->filters->stages[i].spec;
        stage.nstreams = group->streams;
        stage.max_rows = made[i];
        bytes += of->filter(work->backend, &stage);
    }
    return bytes;
}

/* Bytes of the samples and rows of a block of `spectra` spectra. */
static uint64_t budget_slot_bytes(const struct channelise_plan *work,
                                  const struct budget_group *group, uint64_t spectra,
                                  enum memory memory)
{
    uint64_t bytes = group->step_bytes * channelise_plan_most_samples(work, spectra) +
                     budget_filtered_bytes(work, group, spectra, memory);
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        bytes += channelise_plan_rows(work, i, spectra) *
                 (plan_products_made_bytes(work, i, group->streams) +
                  plan_products_squares_bytes(work, i, group->streams));
    }
    return bytes;
}

/* What weighs a block of so many spectra: energies, of spectra, dumps, and rows behind filters. */
static uint64_t budget_weights_bytes(const struct channelise_plan *work,
                                     const struct budget_group *group, uint64_t spectra)
{
    const uint64_t of_spectrum = 16; /* and of a row behind filters */
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
        /* What two polarisations have together is weighed, too, and what becomes of both. */
        uint64_t times = ifs_are_combined(&work->products[i].spec) ? 3 : 1;
        times = channelise_plan_bank_of(work, i)->has_weights ? times : 0;
        bytes += times * (of_dump * channelise_plan_rows(work, i, spectra) + open) * group->streams;
    }
    return bytes;
}

/* What flags power: cells of a block, and for each channel of a stream the sums and weights of its
 * dumps. */
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
        bytes += spec->flag.is_on ? one * group->streams * spec->bank.nchannels : 0;
    }
    return bytes;
}

uint64_t budget_buffers_bytes(const struct channelise_plan *work, const struct budget_group *group,
                              uint64_t spectra)
{
    return budget_slot_bytes(work, group, spectra, HOST);
}

uint64_t budget_block_bytes(const struct channelise_plan *work, const struct budget_group *group,
                            uint64_t spectra)
{
    uint64_t held = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t rows = channelise_plan_rows(work, i, spectra);
        held += plan_products_held_bytes(work, i, group->streams, rows);
    }
    return backend_abilities(work->backend)->slots * budget_slot_bytes(work, group, spectra, HOST) +
           group->bounce_bytes + budget_weights_bytes(work, group, spectra) + held +
           budget_flags_bytes(work, group, spectra) +
           budget_stage_bytes(work, group, spectra, &on_host);
}

/* Largest chunk, and largest row of chunks that one time step touches, of all files that are read
 * through HDF5; *chunk = *row = 0 if none is. */
static void budget_measure_files(const struct channelise_plan *work, int *is_hdf5, uint64_t *chunk,
                                 uint64_t *row)
{
    *is_hdf5 = 0;
    *chunk = *row = 0;
    for (uint32_t i = 0; i < work->archive->nparts; i++) {
        const struct archive_part *part = &work->archive->parts[i];
        *is_hdf5 = *is_hdf5 || part->nextents == 0;
        *chunk = max_u64(*chunk, part->nextents ? 0 : part->chunk_bytes);
        *row = max_u64(*row, part->nextents ? 0 : part->row_bytes);
    }
}

uint64_t budget_hdf5_bytes(const struct channelise_plan *work)
{
    int is_hdf5;
    uint64_t chunk;
    uint64_t row;
    budget_measure_files(work, &is_hdf5, &chunk, &row);
    return is_hdf5 ? BUDGET_HDF5_BYTES + work->cache_bytes + work->unpackers * A_CHUNK * chunk : 0;
}

void budget_settle_cache(struct channelise_plan *work, uint64_t memory)
{
    int is_hdf5;
    uint64_t chunk;
    uint64_t row;
    budget_measure_files(work, &is_hdf5, &chunk, &row);
    work->cache_bytes = max_u64(chunk, 1 << 20);
    work->unpackers =
        (uint32_t)max_u64(min_u64(memory / 8 / A_CHUNK / max_u64(chunk, 1), work->threads), 1);
    uint64_t busy = work->unpackers * A_CHUNK * chunk;
    if (row / 2 < memory && row + busy + BUDGET_BASE_BYTES <= memory / 2) {
        work->cache_bytes = max_u64(row, work->cache_bytes);
    }
}

/* What the numbers of archives in few bits stand for. */
static uint64_t budget_steps_bytes(const struct channelise_plan *work)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->archive->nparts; i++) {
        bytes += work->archive->parts[i].nsteps * sizeof *work->archive->parts[i].steps;
    }
    return bytes;
}

/* The sums of all spans, and the CRCs that they become. */
static uint64_t budget_spans_bytes(const struct channelise_plan *work)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t rows = work->products[i].spec.rows;
        bytes += 2 * sizeof(uint32_t) *
                 ceil_div_u64(rows, spans_rows(rows, work->products[i].row_bytes));
    }
    return bytes;
}

/* The coefficients of filters in double. */
static uint64_t budget_taps_bytes(const struct channelise_plan *work)
{
    uint64_t bytes = 0;
    if (work->filters && work->filters->synthesis) { /* the job's, and that of the plan */
        bytes += 2 * work->job->synthesise.ncoeff * sizeof(double);
    }
    for (uint32_t i = 0; work->filters && i < work->filters->count; i++) {
        const struct filter_spec *spec = &work->filters->stages[i].spec;
        bytes += spec->coeff ? (uint64_t)spec->taps * sizeof(double) * 2 : 0;
    }
    return bytes;
}

/* The coefficients of filter banks in double, as they are and folded; and their energies. */
static uint64_t budget_coefficients_bytes(const struct channelise_plan *work)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        const struct channelise_plan_bank *bank = &work->banks[i];
        bytes += (bank->has_weights ? UINT64_C(3) : UINT64_C(2)) * sizeof(double) *
                 bank->samples_per_spectrum * bank->channelise.taps;
    }
    return bytes;
}

uint64_t budget_fixed_bytes(const struct channelise_plan *work)
{
    return BUDGET_BASE_BYTES + budget_spans_bytes(work) + budget_hdf5_bytes(work) +
           budget_coefficients_bytes(work) + budget_taps_bytes(work) + budget_steps_bytes(work) +
           (uint64_t)work->archive->nstreams * 32;
}

/* Bytes of the device's memory for the smallest block, with so many sets of buffers; 0: the backend
 * has none of its own. */
static uint64_t budget_smallest_device_bytes(const struct channelise_plan *work,
                                             const struct budget_group *group, uint32_t slots)
{
    uint64_t spectra = min_u64(CHUNK_GRAIN, work->chunking.spectra);
    uint64_t stages = budget_stage_bytes(work, group, spectra, &on_device);
    return stages > 0 ? stages + slots * budget_slot_bytes(work, group, spectra, DEVICE) : 0;
}

int budget_fits_device(const struct channelise_plan *work, const struct budget_group *group)
{
    enum { LEAST_SLOTS = 2 };
    return work->job->device_memory == 0 ||
           budget_smallest_device_bytes(work, group, LEAST_SLOTS) <= work->job->device_memory;
}

status_t budget_device_bytes(const struct channelise_plan *work, uint64_t *out)
{
    status_t st = STATUS_OK;
    struct budget_group group;
    TRY(budget_measure_group(work, work->chunking.group_streams, &group));
    *out = budget_smallest_device_bytes(work, &group, 1);
out:
    return st;
}
