#include "verify/verify.h"

#include "base/display.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "pipeline/channelise_pipeline.h"
#include "product/check/compare.h"
#include "ranks/agree.h"
#include "run/share.h"
#include "verify/verify_dedisperse.h"
#include "verify/verify_marks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A TiB: who made the product had no more. */
static const uint64_t MOST_MEMORY = UINT64_C(1) << 40;

struct verify {
    MPI_Comm comm;
    int rank;
    struct product *product;
    struct text text;
    struct job *job;
    struct archive *archive;
    struct channelise_plan *work;
    backend_t *backend;
    pipeline_t *pipeline;
    int fd;
    uint64_t *picked; /* chunks to look at; NULL: all */
    uint64_t npicked;
    uint64_t nchunks; /* that there are */
    uint64_t holes;   /* rows that are marked */
    uint64_t missing; /* samples, in the chunks that were recomputed */
    char *stored;     /* rows as the product has them */
    uint64_t stored_size;
    struct agreement agreement;
    uint64_t rows;
};

static void verify_end(struct verify *verify)
{
    pipeline_destroy(verify->pipeline);
    backend_close(verify->backend);
    channelise_plan_destroy(verify->work);
    archive_destroy(verify->archive);
    job_destroy(verify->job);
    product_destroy(verify->product);
    text_free(&verify->text);
    free(verify->picked);
    free(verify->stored);
    if (verify->fd >= 0) {
        close(verify->fd);
    }
}

/* A row is marked when, and only when, its input cannot be read; then all of it is NaN. A group of
 * streams alone cannot tell: another one may be what could not be read. */
static status_t verify_check_mark(const struct verify *verify, const struct chunk *chunk,
                                  uint64_t row, int is_marked, int is_unreadable)
{
    status_t st = STATUS_OK;
    const char *path = verify->product->path;
    const float *stored = (const float *)(const void *)verify->stored;
    uint64_t floats = verify->product->place.row_bytes / sizeof *stored;
    int is_whole = chunk->streams == verify->archive->nstreams;
    REQUIRE(is_marked || !is_unreadable, STATUS_DATA,
            "%s: the input of row %llu cannot be read, but the row is not marked", path,
            (unsigned long long)row);
    REQUIRE(!is_marked || is_unreadable || !is_whole, STATUS_DATA,
            "%s: row %llu is marked as one whose input could not be read, but it can be: make it "
            "anew (--force)",
            path, (unsigned long long)row);
    for (uint64_t i = 0; is_marked && is_whole && i < floats; i++) {
        REQUIRE(isnan(stored[i]), STATUS_DATA,
                "%s: row %llu is marked in /provenance/holes, but number %llu of it is %g", path,
                (unsigned long long)row, (unsigned long long)i, (double)stored[i]);
    }
out:
    return st;
}

/* The sink of the pipeline: rows as the reference makes them. */
static status_t verify_compare_rows(void *context, uint32_t index, const struct chunk *chunk,
                                    uint64_t first_row, uint64_t rows, const void *data,
                                    const char *holes)
{
    status_t st = STATUS_OK;
    struct verify *verify = context;
    const struct product *product = verify->product;
    (void)index;
    uint64_t row_bytes = product->place.row_bytes;
    uint64_t stream_bytes = row_bytes / verify->archive->nstreams;
    uint64_t piece = chunk->streams * stream_bytes;
    if (piece > verify->stored_size) {
        free(verify->stored);
        verify->stored = NULL;
        TRY(memory_aligned((size_t)piece, 1, "a row", &verify->stored));
        verify->stored_size = piece;
    }
    for (uint64_t i = 0; i < rows; i++) {
        char hole = 0;
        if (product->place.holes_offset > 0) {
            TRY(file_read(verify->fd, product->path, product->place.holes_offset + first_row + i,
                          &hole, 1));
        }
        uint64_t at = product->place.data_offset + (first_row + i) * row_bytes +
                      chunk->first_stream * stream_bytes;
        TRY(file_read(verify->fd, product->path, at, verify->stored, piece));
        TRY(verify_check_mark(verify, chunk, first_row + i, hole != 0, holes && holes[i]));
        if (hole) {
            continue;
        }
        const float *expected = (const float *)((const char *)data + i * piece);
        const float *stored = (const float *)(void *)verify->stored;
        for (uint32_t j = 0; j < chunk->streams; j++) {
            uint64_t floats = stream_bytes / sizeof(float);
            agreement_row(&verify->agreement, product_quantity(product->kind), stored + j * floats,
                          expected + j * floats, verify->work->products[0].spec.nchannels,
                          product->integrate);
        }
    }
    if (chunk->first_stream == 0) {
        verify->rows += rows;
    }
out:
    return st;
}

static status_t verify_count_missing(void *context, const struct chunk *chunk, uint64_t missing)
{
    struct verify *verify = context;
    (void)chunk;
    verify->missing += missing;
    return STATUS_OK;
}

/* What can be compared without computing. Rank 0 looks into what need not be known to go on. */
static status_t verify_compare_description(const struct verify *verify, int is_moved)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    const struct channelise_plan *work = verify->work;
    const struct product_spec *spec = &work->products[0].spec;
    uint64_t frequencies = (uint64_t)verify->archive->nselected[AXIS_CHAN] * spec->nchannels;
    REQUIRE(product->kind == spec->kind && product->rows == spec->rows &&
                product->streams * product->frequencies ==
                    (uint64_t)verify->archive->nstreams * spec->nchannels &&
                product->frequencies == frequencies,
            STATUS_DATA,
            "%s holds %llu rows of %llu streams x %llu channels, but its job and archive make %llu "
            "rows of %u x %llu",
            product->path, (unsigned long long)product->rows, (unsigned long long)product->streams,
            (unsigned long long)product->frequencies, (unsigned long long)spec->rows,
            verify->archive->nstreams, (unsigned long long)spec->nchannels);
    if (verify->rank == 0) {
        TRY(compare_product(product, is_moved, spec));
        TRY(verify_times(verify->fd, product, product->rows, product_time(spec)));
    }
out:
    return st;
}

status_t verify_pick(const struct verify_options *options, uint64_t total, const uint64_t *also,
                     uint64_t nalso, uint64_t **out, uint64_t *count)
{
    status_t st = STATUS_OK;
    uint64_t *picked = NULL;
    *count = total;
    if (options->all || options->chunks >= total) {
        goto out;
    }
    uint64_t wanted = max_u64(options->chunks, 2);
    TRY(memory_zeroed((size_t)(wanted + nalso), sizeof *picked, "chunks", &picked));
    picked[1] = total - 1;
    uint64_t state = options->seed;
    for (uint64_t i = 2; i < wanted; i++) {
        /* Knuth's 64-bit linear congruence; the upper bits are the random ones. */
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        picked[i] = (state >> 11) % total;
    }
    memcpy(picked + wanted, also, (size_t)nalso * sizeof *also);
    wanted += nalso;
    qsort(picked, (size_t)wanted, sizeof *picked, compare_u64);
    *count = 0;
    for (uint64_t i = 0; i < wanted; i++) {
        if (i == 0 || picked[i] != picked[i - 1]) {
            picked[(*count)++] = picked[i];
        }
    }
    *out = picked;
out:
    return st;
}

status_t verify_count_holes(const struct product *product, uint64_t *out)
{
    status_t st = STATUS_OK;
    int fd = -1;
    *out = 0;
    if (product->place.holes_offset > 0) {
        TRY(file_open_read(product->path, &fd));
        TRY(product_count_holes(fd, product->path, &product->place, out));
    }
out:
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

int verify_may_take_more(status_t st, const struct verify_options *options, struct job *job)
{
    int is_given = 0;
    for (uint32_t i = 0; i < options->nsets; i++) {
        is_given |= strncmp(options->sets[i], "run.memory=", 11) == 0 ||
                    strncmp(options->sets[i], "run=", 4) == 0;
    }
    if (st != STATUS_USAGE || is_given || job->memory > MOST_MEMORY / 2) {
        return 0;
    }
    report_clear();
    job->memory *= 2;
    return 1;
}

/* Chunks that complete a row: the last one may hold only spectra that were dropped, but all samples
 * are counted when all chunks are looked at. Some marked rows are among the sample. */
static status_t verify_pick_chunks(struct verify *verify, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    const struct chunking *chunking = &verify->work->chunking;
    const struct product *product = verify->product;
    struct verify_mark *marks = NULL;
    uint64_t *also = NULL;
    uint64_t nmarks = 0;
    uint64_t used = product->rows * product->integrate;
    verify->nchunks = ceil_div_u64(used, chunking->chunk_spectra) * chunk_groups(chunking);
    TRY(verify_marks(verify->fd, product, options->chunks, &marks, &nmarks));
    if (options->all || options->chunks >= verify->nchunks) {
        verify->nchunks = chunk_count(chunking);
        verify->npicked = verify->nchunks;
        goto out;
    }
    TRY(memory_zeroed((size_t)nmarks + 1, sizeof *also, "chunks", &also));
    for (uint64_t i = 0; i < nmarks; i++) {
        uint64_t range = marks[i].row * product->integrate / chunking->chunk_spectra;
        also[i] = range * chunk_groups(chunking);
    }
    TRY(verify_pick(options, verify->nchunks, also, nmarks, &verify->picked, &verify->npicked));
out:
    free(also);
    free(marks);
    return st;
}

static status_t verify_process(void *context, driver_t *driver, uint64_t index)
{
    struct verify *verify = context;
    uint64_t picked = verify->picked ? verify->picked[index] : index;
    struct chunk chunk = chunk_at(&verify->work->chunking, picked);
    return pipeline_chunk(verify->pipeline, driver, &chunk);
}

static status_t verify_finish(void *context, driver_t *driver)
{
    return pipeline_finish(((struct verify *)context)->pipeline, driver);
}

/* The product's own job, with the reference as backend and small chunks. */
static status_t verify_open_job_all(struct verify *verify, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    char chunk[64];
    const char **sets = NULL;
    uint32_t nsets = 0;
    uint64_t integrate = verify->product->integrate;
    uint64_t dumps = ceil_div_u64(CHUNK_GRAIN, max_u64(integrate, 1));
    snprintf(chunk, sizeof chunk, "run.chunk=%llu", (unsigned long long)(dumps * integrate));
    TRY(agree_all(verify->comm, verify_count_holes(verify->product, &verify->holes)));
    TRY(memory_zeroed(options->nsets + 4, sizeof *sets, "overrides", &sets));
    if (verify->holes > 0) {
        sets[nsets++] = "run.on_bad=nan"; /* what made them may be as it was */
    }
    for (uint32_t i = 0; i < options->nsets; i++) {
        sets[nsets++] = options->sets[i];
    }
    sets[nsets++] = "products.0.file=verify.h5"; /* nothing is written: any name will do */
    sets[nsets++] = chunk;
    sets[nsets++] = "channelise.backend=reference";
    TRY(text_add(&verify->text, "%s", verify->product->job_text));
    TRY(share_job_all(verify->comm, STATUS_OK, options->path, &verify->text, sets, nsets, NULL,
                      &verify->job, &verify->archive));
out:
    free(sets);
    return st;
}

static status_t verify_prepare_all(struct verify *verify, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    TRY(verify_open_job_all(verify, options));
    do {
        st = channelise_plan_create(verify->job, verify->archive, BACKEND_REFERENCE, 1, NULL,
                                    &verify->work);
    } while (verify_may_take_more(st, options, verify->job));
    if (st == STATUS_OK) {
        st = file_open_read(options->path, &verify->fd);
    }
    if (st == STATUS_OK) {
        st = verify_compare_description(verify, options->nsets > 0);
    }
    if (st == STATUS_OK) {
        st = verify_pick_chunks(verify, options);
    }
    if (st == STATUS_OK) {
        struct backend_options none = {0};
        st = backend_open(BACKEND_REFERENCE, &none, &verify->backend);
    }
    if (st == STATUS_OK) {
        struct pipeline_sink sink = {verify, verify_compare_rows, verify_count_missing};
        st = channelise_pipeline_create(verify->work, verify->backend, &sink, NULL,
                                        &verify->pipeline);
    }
    TRY(agree_all(verify->comm, st));
out:
    return st;
}

struct agreement verify_agreement_all(MPI_Comm comm, const struct agreement *mine)
{
    struct agreement all = {0};
    MPI_Reduce(&mine->errors, &all.errors, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    MPI_Reduce(&mine->numbers, &all.numbers, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    MPI_Reduce(&mine->worst, &all.worst, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    return all;
}

status_t verify_judge(const char *path, const char *input, const struct agreement *agreement,
                      const char *unit)
{
    status_t st = STATUS_OK;
    double rms = agreement_rms(agreement);
    display_print("rms error %.3g, worst %.3g of %s (limits %.1g, %.1g)\n", rms, agreement->worst,
                  unit, agreement_rms_limit, agreement_worst_limit);
    REQUIRE(agreement_holds(agreement), STATUS_DATA,
            "%s is not what the reference makes of %s: rms error %.3g, worst %.3g of %s", path,
            input, rms, agreement->worst, unit);
out:
    return st;
}

/* How many samples are missing is known when all was looked at, or when none can be. */
static status_t verify_judge_missing(const struct verify *verify, uint64_t missing)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    const struct archive *archive = verify->archive;
    int is_known =
        !verify->picked || (archive->format != SAMPLE_F32 && !archive->has_missing_value);
    int is_old = product->version_of_format < PRODUCT_VERSION; /* gaps could count, too */
    REQUIRE(is_old || verify->holes > 0 ||
                (is_known ? product->missing == missing : product->missing >= missing),
            STATUS_DATA,
            "%s is not what its job and input make of it: /provenance/missing_samples is %llu, "
            "expected %s%llu",
            product->path, (unsigned long long)product->missing, is_known ? "" : "at least ",
            (unsigned long long)missing);
out:
    return st;
}

static status_t judge(const struct verify *verify, const struct agreement *agreement, uint64_t rows)
{
    const struct product *product = verify->product;
    display_print("%s: %llu of %llu rows recomputed (%llu of %llu chunks)\n", product->path,
                  (unsigned long long)rows, (unsigned long long)product->rows,
                  (unsigned long long)verify->npicked, (unsigned long long)verify->nchunks);
    return verify_judge(product->path, "its archive", agreement, "a spectrum's rms + max|Y| / 10");
}

static status_t verify_open_product_all(struct verify *verify, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    st = product_open(options->path, &verify->product);
    if (st == STATUS_OK && !verify->product) {
        st = report_fail(STATUS_DATA, "%s is no product of voltmill", options->path);
    }
    TRY(agree_all(verify->comm, st));
out:
    return st;
}

status_t verify_product_all(MPI_Comm comm, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    struct verify verify = {.comm = comm, .fd = -1};
    MPI_Comm_rank(comm, &verify.rank);
    TRY(verify_open_product_all(&verify, options));
    if (verify.product->series) {
        TRY(verify_dedispersed_all(comm, options, verify.product));
        goto out;
    }
    TRY(verify_prepare_all(&verify, options));
    struct driver_work work = {.chunks = verify.npicked,
                               .context = &verify,
                               .process = verify_process,
                               .finish = verify_finish};
    struct progress progress = {.every = options->progress, .what = "chunks", .total = work.chunks};
    TRY(driver_run_all(comm, &work, &progress));
    struct agreement agreement = verify_agreement_all(comm, &verify.agreement);
    uint64_t rows = sum_u64_all(comm, verify.rows);
    uint64_t missing = sum_u64_all(comm, verify.missing);
    if (verify.rank == 0) {
        st = judge(&verify, &agreement, rows);
    }
    if (verify.rank == 0 && st == STATUS_OK) {
        st = verify_judge_missing(&verify, missing);
    }
    TRY(agree_all(comm, st));
out:
    verify_end(&verify);
    return st;
}
