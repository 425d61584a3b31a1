/* The bounds of a job: plain reads, plain writes, and its filters and filter bank from memory to
 * memory. */
#include "bench/bench_run.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "pipeline/pipeline_kinds.h"
#include "plan/channelise_needs.h"
#include "plan/channelise_plan.h"
#include "ranks/agree.h"
#include "tune/problem/problem_bank.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The backend alone on blocks of a job with filters: these and the filter bank behind them, from
 * memory to memory.
 *
 * Filters and filter bank on random samples, block after block. */

typedef struct bench_chain bench_chain_t;

enum { SLOTS = 3 };

struct bench_chain {
    const struct channelise_plan *work;
    uint64_t first, spectra; /* of a block: not the first, which shares nothing to its left */
    uint32_t streams;
    struct overlap_rows needs[JOB_FILTERS + 1]; /* of the block */
    size_t *re, *im;
    size_t step;
    filter_chain_t *filters;
    channelise_t *bank; /* NULL: voltages */
    struct chain_slot {
        buffer_t *in, *out[MOST_OUTPUTS];
        struct filter_block filtered;
    } slots[SLOTS];
};

static void bench_chain_destroy(bench_chain_t *chain)
{
    for (uint32_t s = 0; chain && s < SLOTS; s++) {
        struct chain_slot *slot = &chain->slots[s];
        buffer_destroy(slot->in);
        for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
            buffer_destroy(slot->out[i]);
        }
        filter_block_free(&slot->filtered);
    }
    if (chain) {
        filter_chain_destroy(chain->filters);
        channelise_destroy(chain->bank);
        free(chain->re);
        free(chain->im);
    }
    free(chain);
}

static buffer_t *chain_last_rows(const struct bench_chain *chain, const struct chain_slot *slot)
{
    return filter_block_last(chain->filters, &slot->filtered);
}

static status_t chain_create_slot(struct bench_chain *chain, backend_t *backend, uint64_t words,
                                  uint64_t seed, struct chain_slot *slot)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = chain->work;
    const struct channelise_spec *spec = &work->banks[0].channelise;
    void *samples = NULL;
    TRY(buffer_create(backend, BUFFER_IN, words * sizeof(uint64_t), &slot->in));
    TRY(buffer_get(slot->in, &samples));
    bank_noise(work->archive->format, seed, words, samples);
    TRY(filter_block_create(backend, chain->filters, work->is_bank ? BUFFER_BETWEEN : BUFFER_OUT,
                            &slot->filtered));
    memcpy(slot->filtered.needs, chain->needs, sizeof chain->needs);
    for (uint32_t i = 0; i < spec->noutputs && work->is_bank; i++) {
        uint64_t rows = overlap_ends(&work->nodes[NODE_DUMPS + i].stage, chain->spectra);
        TRY(buffer_create(backend, BUFFER_OUT,
                          channelise_output_bytes(spec, i, chain->streams, rows), &slot->out[i]));
    }
out:
    return st;
}

/* Where samples lie, and words of a buffer of them. */
static status_t chain_lay_out(struct bench_chain *chain, uint64_t *words)
{
    status_t st = STATUS_OK;
    struct slab *slab = NULL;
    uint64_t samples;
    TRY(channelise_plan_samples(chain->work, chain->first, chain->spectra, 1, chain->needs));
    samples = (uint64_t)(chain->needs[0].end - chain->needs[0].first);
    TRY(slab_create(chain->work->archive, 0, chain->streams, &slab));
    TRY(memory_zeroed(chain->streams, sizeof *chain->re, "offsets", &chain->re));
    TRY(memory_zeroed(chain->streams, sizeof *chain->im, "offsets", &chain->im));
    slab_offsets(slab, samples, chain->re, chain->im);
    chain->step = (size_t)slab->width;
    *words = slab_bytes(slab, samples) / sizeof(uint64_t) + 1;
out:
    slab_destroy(slab);
    return st;
}

static status_t chain_await(const struct bench_chain *chain, const struct chain_slot *slot)
{
    status_t st = STATUS_OK;
    void *rows = NULL;
    if (!chain->work->is_bank) {
        TRY(buffer_get(chain_last_rows(chain, slot), &rows));
    }
    for (uint32_t i = 0; i < MOST_OUTPUTS && slot->out[i]; i++) {
        TRY(buffer_get(slot->out[i], &rows));
    }
out:
    return st;
}

static status_t chain_enqueue(struct bench_chain *chain, struct chain_slot *slot)
{
    status_t st = STATUS_OK;
    struct sample_input input = {chain->re, chain->im, chain->step};
    uint64_t rows[MOST_OUTPUTS];
    TRY(filter_chain_run(chain->filters, &slot->filtered, slot->in, &input, 0, chain->streams,
                         chain->needs[0], &input));
    if (chain->bank) {
        channelise_begin(chain->bank, chain->first);
        TRY(channelise_run(chain->bank, chain_last_rows(chain, slot), &input, chain->streams,
                           chain->spectra, 0, slot->out, rows));
    }
out:
    return st;
}

/* Blocks in a row, each waiting only for its own buffers, for `least` seconds at least: *rate is
 * spectra x streams a second (without a filter bank, rows of the last filter). Fails with DEVICE.
 */
static status_t bench_chain_run(bench_chain_t *chain, double least, double *rate)
{
    status_t st = STATUS_OK;
    double started = clock_now();
    uint64_t n = 0;
    for (; n < SLOTS || clock_now() - started < least; n++) {
        TRY(chain_await(chain, &chain->slots[n % SLOTS]));
        TRY(chain_enqueue(chain, &chain->slots[n % SLOTS]));
    }
    for (uint32_t s = 0; s < SLOTS; s++) {
        TRY(chain_await(chain, &chain->slots[s]));
    }
    *rate = (double)n * (double)chain->spectra * chain->streams / (clock_now() - started);
out:
    return st;
}

/* Stages and some sets of buffers for a block of `work`, which has filters, with random
 * samples that lie as the run reads them, and a row of a few blocks to warm up. Fails with DEVICE.
 */
static status_t bench_chain_create(const struct channelise_plan *work, backend_t *backend,
                                   bench_chain_t **out)
{
    status_t st = STATUS_OK;
    struct bench_chain *chain = NULL;
    uint64_t words = 0;
    double rate = 0;
    TRY(memory_zeroed(1, sizeof *chain, "filters", &chain));
    chain->work = work;
    chain->streams = work->banks[0].channelise.nstreams;
    chain->spectra = min_u64(work->chunking.block_spectra, work->chunking.spectra);
    chain->first = min_u64(chain->spectra, work->chunking.spectra - chain->spectra);
    TRY(chain_lay_out(chain, &words));
    TRY(filter_chain_create(backend, work->filters, chain->streams,
                            channelise_plan_inputs(work, chain->spectra), &chain->filters));
    if (work->is_bank) {
        TRY(channelise_create(backend, &work->banks[0].channelise, &chain->bank));
        TRY(bank_scale(chain->bank, &work->banks[0].channelise));
    }
    for (uint32_t s = 0; s < SLOTS; s++) {
        TRY(chain_create_slot(chain, backend, words, s, &chain->slots[s]));
    }
    TRY(bench_chain_run(chain, 0, &rate));
    *out = chain;
    chain = NULL;
out:
    bench_chain_destroy(chain);
    return st;
}

enum {
    PIECE_BYTES = 4 << 20, /* of plain reads and writes */
    STAGE_SLOTS = 3
};

/* How long the backend is kept busy, at least: long against what threads need to start. A job that
 * takes longer than that has the rate of a longer time. */
static const double short_seconds = 0.1;
static const double long_seconds = 1;

/* Measurements of one rank before a run. */
struct bounds {
    MPI_Comm comm;
    int rank, size;
    const struct channelise_plan *work;
    int force;
    double backend, reading, writing;
};

/* This rank's part of `bytes`, in order of the ranks. */
static void bench_my_part(const struct bounds *bounds, uint64_t bytes, uint64_t *from, uint64_t *to)
{
    uint64_t each = bytes / (uint64_t)bounds->size;
    *from = each * (uint64_t)bounds->rank;
    *to = bounds->rank == bounds->size - 1 ? bytes : *from + each;
}

/* Seconds from when all have begun until all are done. */
static double bench_since_all(const struct bounds *bounds, double started)
{
    double mine = clock_now() - started;
    double slowest = mine;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, bounds->comm);
    return slowest;
}

/* Reads bytes from .. to - 1 of what starts at `start` in a list of extents laid end to end. */
static status_t bench_read_extent(const struct archive_extent *extent, uint64_t start,
                                  uint64_t from, uint64_t to, void *piece)
{
    status_t st = STATUS_OK;
    int fd = -1;
    uint64_t at = max_u64(from, start);
    uint64_t end = min_u64(to, start + extent->bytes);
    if (at >= end) {
        goto out;
    }
    TRY(file_open_read(extent->path, &fd));
    for (; at < end; at += PIECE_BYTES) {
        TRY(file_read(fd, extent->path, extent->file_offset + at - start, piece,
                      min_u64(PIECE_BYTES, end - at)));
    }
out:
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

/* As many bytes as the run reads, from where the samples lie; datasets that only HDF5 can read
 * count as nothing. */
static status_t bench_read_part(const struct bounds *bounds, void *piece)
{
    status_t st = STATUS_OK;
    const struct archive *archive = bounds->work->archive;
    uint64_t start = 0;
    uint64_t from;
    uint64_t to;
    bench_my_part(bounds, bounds->work->input_bytes, &from, &to);
    for (uint32_t i = 0; i < archive->nparts; i++) {
        for (uint32_t j = 0; j < archive->parts[i].nextents; j++) {
            const struct archive_extent *extent = &archive->parts[i].extents[j];
            TRY(bench_read_extent(extent, start, from, to, piece));
            start += extent->bytes;
        }
    }
out:
    return st;
}

static status_t bench_write_part(const struct bounds *bounds, const char *path,
                                 const struct claim_mark *mark, uint64_t bytes, const void *piece)
{
    status_t st = STATUS_OK;
    int fd = -1;
    uint64_t from;
    uint64_t to;
    bench_my_part(bounds, bytes, &from, &to);
    TRY(claim_open(path, mark, &fd));
    for (uint64_t at = from; at < to; at += PIECE_BYTES) {
        uint64_t count = min_u64(PIECE_BYTES, to - at);
        TRY(file_write(fd, path, at, piece, count));
        file_flush(fd, at, count);
    }
    TRY(file_sync(fd, path));
out:
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

/* Rank 0 makes the file and reserves its disk space, as for a product. It stays open as *fd, by
 * which claim_remove() knows it again. */
static status_t bench_make_scratch(const char *path, uint64_t bytes, struct claim_mark *mark,
                                   int *fd)
{
    status_t st = STATUS_OK;
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    REQUIRE(*fd >= 0, STATUS_USAGE, "%s cannot be made, or is there already", path);
    TRY(claim_mark_of(*fd, path, mark));
    TRY(file_reserve(*fd, path, bytes));
out:
    return st;
}

/* One product's bytes, into a file beside it. */
static status_t bench_time_writing_all(struct bounds *bounds, uint32_t product, const void *piece)
{
    status_t st = STATUS_OK;
    const struct channelise_plan_product *of = &bounds->work->products[product];
    uint64_t bytes = of->spec.rows * of->row_bytes;
    struct text path = {0};
    struct claim_mark mark = {.identity = {.bytes = 0}};
    int scratch_fd = -1;
    st = text_add(&path, "%s.bench", bounds->work->job->products[product].file);
    if (st == STATUS_OK && bounds->rank == 0) {
        st = bench_make_scratch(path.data, bytes, &mark, &scratch_fd);
    }
    TRY(agree_all(bounds->comm, st));
    share_bytes_all(bounds->comm, &mark, sizeof mark);
    double started = clock_now();
    st = bench_write_part(bounds, path.data, &mark, bytes, piece);
    bounds->writing += bench_since_all(bounds, started);
    st = agree_all(bounds->comm, st);
out:
    claim_remove(scratch_fd, path.data);
    file_close(scratch_fd);
    text_free(&path);
    return st;
}

/* The filter bank on blocks of the run's size, laid out as the run reads them, and a row of a few
 * to warm up. */
static status_t bench_warm_up(const struct channelise_plan *work, struct bank *bank)
{
    status_t st = STATUS_OK;
    uint64_t samples = channelise_inputs(&bank->spec, bank->spectra);
    struct slab *slab = NULL;
    uint64_t blocks = 0;
    double seconds = 0;
    TRY(bank_lay_out(bank));
    TRY(slab_create(work->archive, 0, bank->spec.nstreams, &slab));
    slab_offsets(slab, samples, bank->re, bank->im);
    bank->step = (size_t)slab->width;
    bank->in_bytes = slab_bytes(slab, samples);
    TRY(bank_create(bank));
    TRY(bank_allocate(bank, STAGE_SLOTS));
    TRY(bank_fill(bank));
    TRY(bank_run_row(bank, STAGE_SLOTS, 0, &blocks, &seconds));
out:
    slab_destroy(slab);
    return st;
}

/* The work of a filter bank of the job: spectra x streams. */
static double bench_work(const struct channelise_plan *work, uint32_t bank)
{
    return (double)work->banks[bank].spectra * work->chunking.streams;
}

/* Whether so much work of all ranks, by the rate of this one, would take them longer than was
 * measured. */
static int bench_is_long_all(const struct bounds *bounds, double amount, double rate)
{
    MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, bounds->comm);
    return amount > rate * short_seconds;
}

/* Spectra x streams a second of this rank, when all work: behind filters, */
static status_t bench_time_chain_all(const struct bounds *bounds, backend_t *backend, double *rate)
{
    status_t st = STATUS_OK;
    bench_chain_t *chain = NULL;
    /* All begin at once. */
    TRY(agree_all(bounds->comm, bench_chain_create(bounds->work, backend, &chain)));
    st = bench_chain_run(chain, short_seconds, rate);
    TRY(agree_all(bounds->comm, st));
    if (bench_is_long_all(bounds, bench_work(bounds->work, 0), *rate)) {
        st = bench_chain_run(chain, long_seconds, rate);
        TRY(agree_all(bounds->comm, st));
    }
out:
    bench_chain_destroy(chain);
    return st;
}

static status_t bench_run_row(struct bank *bank, double least, double *rate)
{
    status_t st = STATUS_OK;
    uint64_t blocks = 0;
    double seconds = 0;
    TRY(bank_run_row(bank, STAGE_SLOTS, least, &blocks, &seconds));
    *rate = (double)blocks * (double)bank->spectra * bank->spec.nstreams / seconds;
out:
    return st;
}

/* or of a filter bank alone. */
static status_t bench_time_bank_all(const struct bounds *bounds, uint32_t number,
                                    backend_t *backend, double *rate)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = bounds->work;
    struct bank bank = {.backend = backend,
                        .spec = work->banks[number].channelise,
                        .spectra = work->banks[number].channelise.max_spectra};
    TRY(agree_all(bounds->comm, bench_warm_up(work, &bank)));
    TRY(agree_all(bounds->comm, bench_run_row(&bank, short_seconds, rate)));
    if (bench_is_long_all(bounds, bench_work(work, number), *rate)) {
        TRY(agree_all(bounds->comm, bench_run_row(&bank, long_seconds, rate)));
    }
out:
    bank_end(&bank);
    return st;
}

/* Seconds that all ranks together would take for the job's spectra: those of each bank, and its
 * samples, one after the other. */
static status_t bench_time_backend_all(struct bounds *bounds, backend_t *backend)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = bounds->work;
    REQUIRE(!work->job->is_synthesised, STATUS_USAGE,
            "%s: a synthesis is not timed here: voltmill run says how long it takes",
            work->job->path);
    REQUIRE(work->nbanks == 1 || !work->filters, STATUS_USAGE,
            "%s: filters before several filter banks are not timed: expected one of them",
            work->job->path);
    bounds->backend = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        double rate = 0;
        TRY(work->filters ? bench_time_chain_all(bounds, backend, &rate)
                          : bench_time_bank_all(bounds, i, backend, &rate));
        MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, bounds->comm);
        bounds->backend += bench_work(work, i) / rate;
    }
out:
    return st;
}

/* Products that are to be replaced go before the clock starts: file systems need seconds to take
 * away gigabytes, and that is no part of the work. */
static void bench_remove_products(const struct bounds *bounds)
{
    for (uint32_t i = 0; bounds->rank == 0 && bounds->force && i < bounds->work->job->nproducts;
         i++) {
        (void)unlink(bounds->work->job->products[i].file);
    }
}

static status_t bench_measure_all(void *context, MPI_Comm comm, const struct channelise_plan *work,
                                  backend_t *backend)
{
    status_t st = STATUS_OK;
    struct bounds *bounds = context;
    void *piece = NULL;
    *bounds = (struct bounds){.comm = comm, .work = work, .force = bounds->force};
    MPI_Comm_rank(comm, &bounds->rank);
    MPI_Comm_size(comm, &bounds->size);
    st = memory_aligned(PIECE_BYTES, 1, "a piece", &piece);
    TRY(agree_all(comm, st));
    memset(piece, 1, PIECE_BYTES);
    bench_remove_products(bounds);
    double started = clock_now();
    st = bench_read_part(bounds, piece);
    bounds->reading = bench_since_all(bounds, started);
    TRY(agree_all(comm, st));
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        TRY(bench_time_writing_all(bounds, i, piece));
    }
    TRY(bench_time_backend_all(bounds, backend));
out:
    free(piece);
    return st;
}

static double bench_smaller(double a, double b)
{
    return a > 0 && a < b ? a : b;
}

static double bench_mean_all(MPI_Comm comm, double value)
{
    int size;
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm);
    return value / size;
}

status_t bench_run_all(MPI_Comm comm, const struct bench_run_options *options,
                       struct bench_run_result *out)
{
    status_t st = STATUS_OK;
    struct bench_run_result best = {0};
    for (uint32_t i = 0; i < options->repeats; i++) {
        struct bounds bounds = {.force = options->force || i > 0};
        struct run_times times;
        struct run_options run = {.path = options->path,
                                  .sets = options->sets,
                                  .nsets = options->nsets,
                                  .force = bounds.force,
                                  .csv = options->csv,
                                  .patience = -1,
                                  .before = bench_measure_all,
                                  .context = &bounds,
                                  .times = &times};
        TRY(run_job_all(comm, &run));
        times.read = bench_mean_all(comm, times.read);
        times.compute = bench_mean_all(comm, times.compute);
        times.write = bench_mean_all(comm, times.write);
        times.waited = bench_mean_all(comm, times.waited);
        best.times = i == 0 || times.total < best.times.total ? times : best.times;
        best.backend = bench_smaller(best.backend, bounds.backend);
        best.reading = bench_smaller(best.reading, bounds.reading);
        best.writing = bench_smaller(best.writing, bounds.writing);
    }
    best.bound = best.backend > best.reading ? best.backend : best.reading;
    best.bound = best.bound > best.writing ? best.bound : best.writing;
    *out = best;
out:
    return st;
}
