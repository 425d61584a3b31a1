#include "run/work.h"

#include "base/memory.h"
#include "dsp/coeff.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGE = 4096,            /* chunk borders in products, so that network clients share no page */
    BASE_BYTES = 88 << 20,  /* program, libraries, MPI: measured */
    HDF5_BYTES = 24 << 20,  /* the same beside it when samples come through HDF5 */
    BOUNCE_BYTES = 4 << 20, /* of a reader that needs parts of time steps */
    CHUNK_BYTES = 64 << 20, /* in and out, where nothing else decides: a fraction of a second */
    LEAST_CHUNKS = 64,      /* so that ranks have something to share */
    OVERLAP_RATIO = 16      /* a chunk is at least so many times its overlap */
};

uint32_t work_threads(const struct job *job, int local_size)
{
    if (job->threads > 0) {
        return job->threads;
    }
    const char *set = getenv("OMP_NUM_THREADS");
    uint64_t wanted = 0;
    if (set && units_parse_u64(set, &wanted) && wanted >= 1 && wanted <= 4096) {
        return (uint32_t)wanted;
    }
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        return 1;
    }
    int mine = CPU_COUNT(&cores);
    /* Unbound ranks all see the same cores. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int bound = mine < online;
    int threads = bound ? mine : mine / (local_size > 0 ? local_size : 1);
    return threads > 1 ? (uint32_t)threads : 1;
}

uint64_t work_block_rows(const struct work *work, uint32_t i, uint64_t spectra)
{
    return spectra / work->job->products[i].integrate + 1;
}

/* What the memory of a block depends on, over all groups of a size. */
struct group {
    uint32_t streams;
    uint64_t step_bytes;   /* of a slab, for one sample of each stream: of the largest */
    uint64_t bounce_bytes; /* that the reader needs to cut time steps */
};

static status_t measure_group(const struct work *work, uint32_t streams, struct group *out)
{
    status_t st = STATUS_OK;
    uint32_t all = work->archive->nstreams;
    *out = (struct group){streams, 0, 0};
    for (uint32_t first = 0; first < all; first += streams) {
        struct slab *slab = NULL;
        TRY(slab_create(work->archive, first, (uint32_t)min_u64(streams, all - first), &slab));
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

/* Bytes of input, output and workspace of a block of `spectra` spectra. */
static uint64_t block_bytes(const struct work *work, backend_t *backend, const struct group *group,
                            uint64_t spectra)
{
    struct channelise_spec spec = work->channelise;
    spec.max_spectra = spectra;
    spec.nstreams = group->streams;
    uint64_t samples = (spectra + spec.taps - 1) * work->samples_per_spectrum;
    uint64_t bytes =
        group->step_bytes * samples + group->bounce_bytes + channelise_bytes(backend, &spec);
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        bytes += work_block_rows(work, i, spectra) *
                 product_row_bytes(work->products[i].spec.kind, group->streams, spec.nchannels);
    }
    return bytes;
}

/* Memory to read datasets through HDF5: one chunk kept, and one as it comes from the file. */
static uint64_t hdf5_bytes(const struct work *work)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < work->archive->nparts; i++) {
        const struct archive_part *part = &work->archive->parts[i];
        if (part->nextents == 0) {
            bytes = max_u64(bytes, HDF5_BYTES + 2 * part->chunk_bytes);
        }
    }
    return bytes;
}

/* Memory that is not a block's: settled costs of the process and the coefficients in double. */
static uint64_t fixed_bytes(const struct work *work)
{
    return BASE_BYTES + hdf5_bytes(work) +
           2 * 8 * work->samples_per_spectrum * work->channelise.taps +
           (uint64_t)work->archive->nstreams * 32;
}

/* How many streams work together: all of them, or as many as let a small block fit. */
static status_t settle_groups(struct work *work, backend_t *backend, uint64_t budget,
                              struct group *group)
{
    status_t st = STATUS_OK;
    uint64_t least = min_u64(CHUNK_GRAIN, work->chunking.spectra);
    uint64_t bytes = 0;
    TRY(measure_group(work, work->archive->nstreams, group));
    while ((bytes = block_bytes(work, backend, group, least)) > budget && group->streams > 1) {
        TRY(measure_group(work, (group->streams + 1) / 2, group));
    }
    char needed[UNITS_TEXT];
    char given[UNITS_TEXT];
    char chunks[UNITS_TEXT];
    REQUIRE(
        bytes <= budget, STATUS_USAGE,
        "%s: run.memory is %s, but %u channels with %u taps need at least %s a rank (%s of it to "
        "read the dataset's chunks)",
        work->job->path, units_bytes(work->job->memory, given), work->channelise.channels,
        work->channelise.taps, units_bytes(bytes + fixed_bytes(work), needed),
        units_bytes(hdf5_bytes(work), chunks));
    work->chunking.group_streams = group->streams;
out:
    return st;
}

/* The largest block (a multiple of the grain) that fits. */
static uint64_t largest_block(const struct work *work, backend_t *backend,
                              const struct group *group, uint64_t budget)
{
    uint64_t low = 1;
    uint64_t high = ceil_div_u64(work->chunking.spectra, CHUNK_GRAIN);
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (block_bytes(work, backend, group, middle * CHUNK_GRAIN) <= budget) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low * CHUNK_GRAIN;
}

/* Chunks must hold whole dumps of every product (quantum), and should begin at page borders of
 * every product (fine). 0 when such a number is absurd. */
static void chunk_quanta(const struct work *work, uint64_t *quantum, uint64_t *fine)
{
    *quantum = 1;
    *fine = 1;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t integrate = work->job->products[i].integrate;
        uint64_t rows = chunk_row_quantum(work->products[i].row_bytes, PAGE);
        uint64_t both = 0;
        *quantum = *quantum ? lcm_u64(*quantum, integrate) : 0;
        if (!multiply_u64(rows, integrate, &both)) {
            both = 0;
        }
        *fine = *fine && both ? lcm_u64(*fine, both) : 0;
    }
}

static uint64_t round_up(uint64_t value, uint64_t quantum)
{
    return ceil_div_u64(value, quantum) * quantum;
}

/* Spectra of a chunk when the job leaves it to us; `cost` bytes of memory for each spectrum. */
static uint64_t automatic_chunk(const struct work *work, uint64_t block, uint64_t quantum,
                                uint64_t fine, uint64_t cost)
{
    uint64_t spectra = max_u64(1, CHUNK_BYTES / max_u64(1, cost));
    spectra = min_u64(spectra, ceil_div_u64(work->chunking.spectra, LEAST_CHUNKS));
    spectra = max_u64(spectra, (uint64_t)OVERLAP_RATIO * (work->channelise.taps - 1));
    spectra = max_u64(min_u64(spectra, block), 1);
    /* The finer border only where it does not make chunks much larger. */
    if (fine && round_up(spectra, fine) <= block && round_up(spectra, fine) <= 2 * spectra + 64) {
        return round_up(spectra, fine);
    }
    return round_up(spectra, quantum);
}

static status_t settle_chunks(struct work *work, backend_t *backend)
{
    status_t st = STATUS_OK;
    uint64_t fixed = fixed_bytes(work);
    uint64_t budget = work->job->memory > fixed ? work->job->memory - fixed : 0;
    struct group group;
    uint64_t quantum;
    uint64_t fine;
    chunk_quanta(work, &quantum, &fine);
    REQUIRE(quantum > 0 && quantum <= UINT64_C(1) << 62, STATUS_USAGE,
            "%s: no chunk holds whole dumps of all products: their integrate have no sensible "
            "common multiple",
            work->job->path);
    TRY(settle_groups(work, backend, budget, &group));
    uint64_t block = largest_block(work, backend, &group, budget);
    uint64_t cost = (block_bytes(work, backend, &group, (uint64_t)CHUNK_GRAIN * 2) -
                     block_bytes(work, backend, &group, CHUNK_GRAIN)) /
                    CHUNK_GRAIN;
    uint64_t chunk = work->job->chunk_spectra ? round_up(work->job->chunk_spectra, quantum)
                                              : automatic_chunk(work, block, quantum, fine, cost);
    chunk = min_u64(chunk, round_up(work->chunking.spectra, quantum));
    work->chunking.chunk_spectra = chunk;
    work->chunking.block_spectra = min_u64(block, round_up(chunk, CHUNK_GRAIN));
    work->channelise.nstreams = group.streams;
    work->channelise.max_spectra = work->chunking.block_spectra;
    work->memory_bytes = fixed + block_bytes(work, backend, &group, work->chunking.block_spectra);
out:
    return st;
}

/* Of each oversampled coarse channel, the central den/num. */
static status_t settle_kept(struct work *work)
{
    status_t st = STATUS_OK;
    const struct archive *archive = work->archive;
    uint64_t kept = (uint64_t)work->job->channels * archive->oversampling_den;
    REQUIRE(kept % archive->oversampling_num == 0, STATUS_USAGE,
            "%s: channelise.channels is %u, of which %u/%u, the part of an oversampled coarse "
            "channel that is kept, is not a whole number",
            work->job->path, work->job->channels, archive->oversampling_den,
            archive->oversampling_num);
    kept /= archive->oversampling_num;
    REQUIRE(kept == work->job->channels || work->job->order == ORDER_ASCENDING, STATUS_USAGE,
            "%s: channelise.order must be ascending for oversampled coarse channels",
            work->job->path);
    work->channelise.nchannels = (uint32_t)kept;
    work->channelise.first_channel = work->job->channels / 2 - (uint32_t)kept / 2;
out:
    return st;
}

static status_t make_coefficients(struct work *work)
{
    status_t st = STATUS_OK;
    const struct job *job = work->job;
    struct coeff_spec spec = {.channels = job->channels,
                              .taps = job->taps,
                              .samples_per_spectrum = (uint32_t)work->samples_per_spectrum,
                              .window = job->window,
                              .kaiser_beta = job->kaiser_beta,
                              .path = job->window_path,
                              .cutoff = job->cutoff,
                              .normalise = job->normalise};
    size_t count = (size_t)work->samples_per_spectrum * job->taps;
    TRY(coeff_create(&spec, &work->coeff));
    TRY(memory_zeroed(count, sizeof(double), "coefficients", &work->folded));
    memcpy(work->folded, work->coeff, count * sizeof(double));
    /* Complex: frequency 0 moves to the middle. Real: a reversed band is turned round. */
    if (job->order == ORDER_ASCENDING &&
        (work->archive->is_complex || work->archive->sideband < 0)) {
        coeff_fold_shift(work->folded, job->taps, (uint32_t)work->samples_per_spectrum);
    }
    work->channelise.coeff = work->folded;
out:
    return st;
}

static void set_channelise(struct work *work, uint32_t threads)
{
    const struct archive *archive = work->archive;
    const struct job *job = work->job;
    struct channelise_spec *spec = &work->channelise;
    spec->channels = job->channels;
    spec->taps = job->taps;
    spec->is_complex = archive->is_complex;
    spec->format = archive->format;
    spec->nibbles = archive->nibbles;
    spec->conjugate = archive->is_complex && archive->sideband < 0;
    spec->has_missing_value = archive->has_missing_value;
    spec->missing_value = archive->missing_value;
    spec->threads = threads;
    spec->noutputs = job->nproducts;
    for (uint32_t i = 0; i < job->nproducts; i++) {
        spec->outputs[i] =
            (struct channelise_output){job->products[i].kind, job->products[i].integrate};
    }
}

static status_t count_spectra(struct work *work)
{
    status_t st = STATUS_OK;
    const struct job *job = work->job;
    uint64_t samples = work->archive->samples;
    uint64_t period = (uint64_t)job->channels * (work->archive->is_complex ? 1 : 2);
    uint64_t filter = 0;
    REQUIRE(period <= INT32_MAX && multiply_u64(period, job->taps, &filter) &&
                filter <= UINT64_C(1) << 40,
            STATUS_USAGE, "%s: %u channels with %u taps are absurd", job->path, job->channels,
            job->taps);
    work->samples_per_spectrum = period;
    work->raw_spectra = samples / period;
    work->dropped_samples = samples % period;
    REQUIRE(work->raw_spectra >= job->taps, STATUS_USAGE,
            "%s: %" PRIu64 " samples hold %" PRIu64 " raw spectra of %" PRIu64
            " samples, but %u taps need at least %u of them",
            job->path, samples, work->raw_spectra, period, job->taps, job->taps);
    work->chunking.spectra = work->raw_spectra - job->taps + 1;
    work->chunking.streams = work->archive->nstreams;
out:
    return st;
}

static status_t settle_products(struct work *work)
{
    status_t st = STATUS_OK;
    const struct job *job = work->job;
    const struct archive *archive = work->archive;
    REQUIRE(job->nproducts <= MOST_OUTPUTS, STATUS_USAGE,
            "%s: %u products, expected at most %d in one job", job->path, job->nproducts,
            MOST_OUTPUTS);
    TRY(memory_zeroed(job->nproducts, sizeof *work->products, "products", &work->products));
    for (uint32_t i = 0; i < job->nproducts; i++) {
        struct work_product *product = &work->products[i];
        uint64_t integrate = job->products[i].integrate;
        product->spec =
            (struct product_spec){.kind = job->products[i].kind,
                                  .job_text = job->products[i].text,
                                  .archive = archive,
                                  .order = job->order,
                                  .channels = job->channels,
                                  .taps = job->taps,
                                  .samples_per_spectrum = (uint32_t)work->samples_per_spectrum,
                                  .first_channel = work->channelise.first_channel,
                                  .nchannels = work->channelise.nchannels,
                                  .integrate = integrate,
                                  .rows = work->chunking.spectra / integrate,
                                  .coeff = work->coeff};
        product->dropped_spectra = work->chunking.spectra % integrate;
        product->row_bytes =
            product_row_bytes(product->spec.kind, archive->nstreams, work->channelise.nchannels);
        uint64_t bytes = 0;
        REQUIRE(product->spec.rows > 0, STATUS_USAGE,
                "%s: products[%u].integrate is %" PRIu64 ", but there are only %" PRIu64 " spectra",
                job->path, i, integrate, work->chunking.spectra);
        REQUIRE(multiply_u64(product->row_bytes, product->spec.rows, &bytes) && bytes < UINT64_C(1)
                                                                                            << 62,
                STATUS_USAGE, "%s: product %s would have an absurd size", job->path,
                job->products[i].file);
    }
out:
    return st;
}

static status_t count_bytes(struct work *work)
{
    status_t st = STATUS_OK;
    const struct archive *archive = work->archive;
    uint64_t taps = work->channelise.taps;
    uint64_t chunks = chunk_count(&work->chunking) / chunk_groups(&work->chunking);
    struct slab *slab = NULL;
    TRY(slab_create(archive, 0, archive->nstreams, &slab));
    uint64_t spectrum = slab_bytes(slab, work->samples_per_spectrum);
    work->input_bytes = spectrum * work->raw_spectra;
    work->read_bytes = spectrum * (work->chunking.spectra + chunks * (taps - 1));
out:
    slab_destroy(slab);
    return st;
}

status_t work_create(const struct job *job, const struct archive *archive, uint32_t threads,
                     struct work **out)
{
    status_t st = STATUS_OK;
    struct work *work = NULL;
    backend_t *backend = NULL;
    TRY(memory_zeroed(1, sizeof *work, "the plan", &work));
    work->job = job;
    work->archive = archive;
    TRY(count_spectra(work));
    set_channelise(work, threads);
    TRY(settle_kept(work));
    TRY(settle_products(work));
    TRY(backend_open(job->backend, &backend));
    TRY(settle_chunks(work, backend));
    TRY(count_bytes(work));
    /* Last, because they may be large: a budget that is too small is found before. */
    TRY(make_coefficients(work));
    for (uint32_t i = 0; i < job->nproducts; i++) {
        work->products[i].spec.coeff = work->coeff;
    }
    *out = work;
    work = NULL;
out:
    backend_close(backend);
    work_destroy(work);
    return st;
}

void work_destroy(struct work *work)
{
    if (work) {
        free(work->coeff);
        free(work->folded);
        free(work->products);
        free(work);
    }
}

/* Coarse channels that do not follow each other evenly cannot be told by fch1 and foff. */
static int is_even(const struct work *work)
{
    const struct archive *archive = work->archive;
    double width =
        archive_chan_width_hz(archive) * archive->oversampling_den / archive->oversampling_num;
    for (uint32_t i = 1; i < archive->nselected[AXIS_CHAN]; i++) {
        double low = archive->freq_hz[archive->selected[AXIS_CHAN][i - 1]];
        double high = archive->freq_hz[archive->selected[AXIS_CHAN][i]];
        if (fabs(high - low - width) > 1e-3 * width / work->job->channels) {
            return 0;
        }
    }
    return 1;
}

status_t work_notes(const struct work *work, struct text *out)
{
    status_t st = STATUS_OK;
    char count[UNITS_TEXT];
    if (work->dropped_samples > 0) {
        TRY(text_add(out,
                     "the last %s samples of each stream do not fill a raw spectrum of %" PRIu64
                     ": dropped\n",
                     units_count(work->dropped_samples, count), work->samples_per_spectrum));
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct job_product *product = &work->job->products[i];
        if (work->products[i].dropped_spectra > 0) {
            TRY(text_add(out,
                         "%s: the last %s spectra do not fill a dump of %" PRIu64 ": dropped\n",
                         product->file, units_count(work->products[i].dropped_spectra, count),
                         product->integrate));
        }
        if (product->kind == PRODUCT_POWER && !is_even(work)) {
            TRY(text_add(out,
                         "%s: the coarse channels do not follow each other evenly, which a "
                         "filterbank header (fch1, foff) cannot say: use /frequency\n",
                         product->file));
        }
        if (product->kind == PRODUCT_POWER &&
            (work->products[i].spec.rows < 3 || work->channelise.nchannels < 3)) {
            TRY(text_add(out, "%s: blimpy opens filterbanks of 3 or more times and channels only\n",
                         product->file));
        }
    }
    if (!work->archive->has_start) {
        TRY(text_add(out, "the archive does not say when it starts: times count from its first "
                          "sample (input.layout.start sets it)\n"));
    }
    uint64_t gaps = archive_gap_samples(work->archive);
    if (gaps > 0) {
        TRY(text_add(out, "%s samples lie in gaps that the archive declares: taken as zero volts\n",
                     units_count(gaps, count)));
    }
out:
    return st;
}
