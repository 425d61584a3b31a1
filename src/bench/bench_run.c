#include "bench/bench_run.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/file.h"
#include "plan/channelise_plan.h"
#include "ranks/agree.h"
#include "ranks/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 4 << 20, /* of plain reads and writes */
    STAGE_SLOTS = 3
};

/* How long the backend is kept busy, at least: long against what threads need to start. */
static const double backend_seconds = 1;

/* What one rank measures before a run. */
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

static status_t bench_write_part(const struct bounds *bounds, const char *path, uint64_t bytes,
                                 const void *piece)
{
    status_t st = STATUS_OK;
    int fd = -1;
    uint64_t from;
    uint64_t to;
    bench_my_part(bounds, bytes, &from, &to);
    TRY(file_open_write(path, &fd));
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

/* Rank 0 makes the file and reserves its room, as for a product. */
static status_t bench_make_scratch(const char *path, uint64_t bytes)
{
    status_t st = STATUS_OK;
    FILE *file = fopen(path, "wxe");
    REQUIRE(file, STATUS_USAGE, "%s cannot be made, or is there already", path);
    st = file_reserve(fileno(file), path, bytes);
    if (st != STATUS_OK) {
        unlink(path);
    }
out:
    if (file) {
        fclose(file);
    }
    return st;
}

/* One product's bytes, into a file beside it. */
static status_t bench_time_writing_all(struct bounds *bounds, uint32_t product, const void *piece)
{
    status_t st = STATUS_OK;
    const struct channelise_plan_product *of = &bounds->work->products[product];
    uint64_t bytes = of->spec.rows * of->row_bytes;
    struct text path = {0};
    st = text_add(&path, "%s.bench", bounds->work->job->products[product].file);
    if (st == STATUS_OK && bounds->rank == 0) {
        st = bench_make_scratch(path.data, bytes);
    }
    TRY(agree_all(bounds->comm, st));
    double started = clock_now();
    st = bench_write_part(bounds, path.data, bytes, piece);
    bounds->writing += bench_since_all(bounds, started);
    st = agree_all(bounds->comm, st);
    if (bounds->rank == 0) {
        unlink(path.data);
    }
out:
    text_free(&path);
    return st;
}

/* The stage on blocks of the run's size, again and again. */
struct stage {
    channelise_t *channelise;
    buffer_t *in[STAGE_SLOTS]; /* so many blocks are under way, as in a run */
    buffer_t *out[STAGE_SLOTS][MOST_OUTPUTS];
    struct slab *slab;
    size_t *re, *im;
    uint64_t spectra;
};

static void bench_stage_end(struct stage *stage)
{
    for (uint32_t slot = 0; slot < STAGE_SLOTS; slot++) {
        buffer_destroy(stage->in[slot]);
        for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
            buffer_destroy(stage->out[slot][i]);
        }
    }
    channelise_destroy(stage->channelise);
    slab_destroy(stage->slab);
    free(stage->re);
    free(stage->im);
}

static status_t bench_create_slot(const struct channelise_plan *work, backend_t *backend,
                                  struct stage *stage, uint32_t slot, uint64_t in_bytes)
{
    status_t st = STATUS_OK;
    void *in = NULL;
    TRY(buffer_create(backend, BUFFER_IN, in_bytes, &stage->in[slot]));
    TRY(buffer_get(stage->in[slot], &in));
    memset(in, 1, (size_t)in_bytes);
    for (uint32_t i = 0; i < work->channelise.noutputs; i++) {
        TRY(buffer_create(backend, BUFFER_OUT,
                          overlap_ends(&work->nodes[NODE_DUMPS + i].stage, stage->spectra) *
                              work->products[i].row_bytes,
                          &stage->out[slot][i]));
    }
out:
    return st;
}

static status_t bench_stage_begin(const struct channelise_plan *work, backend_t *backend,
                                  struct stage *stage)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &work->channelise;
    stage->spectra = work->chunking.block_spectra;
    uint64_t samples = channelise_inputs(spec, stage->spectra) * work->samples_per_spectrum;
    TRY(slab_create(work->archive, 0, spec->nstreams, &stage->slab));
    TRY(memory_zeroed(spec->nstreams, sizeof *stage->re, "offsets", &stage->re));
    TRY(memory_zeroed(spec->nstreams, sizeof *stage->im, "offsets", &stage->im));
    slab_offsets(stage->slab, samples, stage->re, stage->im);
    TRY(channelise_create(backend, spec, &stage->channelise));
    for (uint32_t slot = 0; slot < STAGE_SLOTS; slot++) {
        TRY(bench_create_slot(work, backend, stage, slot, slab_bytes(stage->slab, samples)));
    }
out:
    return st;
}

/* Waits for the slot's last block, and with `again` sets the backend to work on it once more. */
static status_t bench_stage_run(struct stage *stage, uint32_t noutputs, uint32_t slot, int again)
{
    status_t st = STATUS_OK;
    struct channelise_input input = {stage->re, stage->im, (size_t)stage->slab->width};
    uint64_t rows[MOST_OUTPUTS];
    void *data = NULL;
    for (uint32_t i = 0; i < noutputs; i++) {
        TRY(buffer_get(stage->out[slot][i], &data));
    }
    if (again) {
        channelise_begin(stage->channelise, 0);
        TRY(channelise_run(stage->channelise, stage->in[slot], &input, stage->slab->nstreams,
                           stage->spectra, 0, stage->out[slot], rows));
    }
out:
    return st;
}

/* Blocks in a row until `least` seconds have gone, a few at least. */
static status_t bench_stage_run_blocks(struct stage *stage, uint32_t noutputs, double least,
                                       uint64_t *blocks, double *seconds)
{
    status_t st = STATUS_OK;
    double started = clock_now();
    *blocks = 0;
    do {
        TRY(bench_stage_run(stage, noutputs, (uint32_t)((*blocks)++ % STAGE_SLOTS), 1));
    } while (*blocks < STAGE_SLOTS || clock_now() - started < least);
    for (uint32_t slot = 0; slot < STAGE_SLOTS; slot++) {
        TRY(bench_stage_run(stage, noutputs, slot, 0));
    }
    *seconds = clock_now() - started;
out:
    return st;
}

/* Makes the stage and warms it up. */
static status_t bench_stage_warm_up(const struct channelise_plan *work, backend_t *backend,
                                    struct stage *stage)
{
    status_t st = STATUS_OK;
    uint64_t blocks = 0;
    double seconds = 0;
    TRY(bench_stage_begin(work, backend, stage));
    TRY(bench_stage_run_blocks(stage, work->channelise.noutputs, 0, &blocks, &seconds));
out:
    return st;
}

/* Seconds that all ranks together would take for the job's spectra. */
static status_t bench_time_backend_all(struct bounds *bounds, backend_t *backend)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = bounds->work;
    struct stage stage = {0};
    uint64_t blocks = 0;
    double seconds = 0;
    /* All begin at once. */
    TRY(agree_all(bounds->comm, bench_stage_warm_up(work, backend, &stage)));
    st = bench_stage_run_blocks(&stage, work->channelise.noutputs, backend_seconds, &blocks,
                                &seconds);
    TRY(agree_all(bounds->comm, st));
    double rate = (double)blocks * (double)stage.spectra * work->channelise.nstreams / seconds;
    MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, bounds->comm);
    bounds->backend = (double)work->chunking.spectra * work->chunking.streams / rate;
out:
    bench_stage_end(&stage);
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
