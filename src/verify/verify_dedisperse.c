#include "verify/verify_dedisperse.h"

#include "base/display.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "pipeline/dedisperse_pipeline.h"
#include "product/check/compare.h"
#include "product/kind/dedispersed.h"
#include "ranks/agree.h"
#include "verify/verify_marks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_TIMES = 64, CHUNK_ADDS = 1 << 24 };

struct verify {
    MPI_Comm comm;
    int rank;
    const struct product *product;
    const struct dedispersed *series;
    struct job *job;
    struct fbh5 *fbh5;
    struct dedisperse_plan *plan;
    backend_t *backend;
    pipeline_t *pipe;
    int fd;
    uint64_t *picked;
    uint64_t npicked, nchunks;
    uint64_t holes; /* DMs that are marked */
    float stored[CHUNK_TIMES], expected[CHUNK_TIMES];
    struct agreement agreement;
    uint64_t outputs, passed; /* that were recomputed; NaN that the run has marked */
};

static void verify_end(struct verify *verify)
{
    pipeline_destroy(verify->pipe);
    backend_close(verify->backend);
    dedisperse_plan_destroy(verify->plan);
    fbh5_destroy(verify->fbh5);
    job_destroy(verify->job);
    free(verify->picked);
    if (verify->fd >= 0) {
        close(verify->fd);
    }
}

/* The product's own job; its filterbank lies where it did, or where the user says. */
static status_t verify_parse_job(struct verify *verify, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    const char *text = verify->product->job_text;
    const char **sets = NULL;
    uint32_t nsets = 0;
    struct text input = {0};
    int is_made = strstr(text, "\nchannelise:") || strncmp(text, "channelise:", 11) == 0;
    TRY(memory_zeroed(options->nsets + 3, sizeof *sets, "overrides", &sets));
    TRY(verify_count_holes(verify->product, &verify->holes));
    TRY(text_add(&input, "products.0.file=\"%s\"", verify->series->filterbank));
    sets[nsets++] = "dedisperse.0.file=verify.h5"; /* nothing is written: any name will do */
    if (is_made) {
        sets[nsets++] = input.data;
    }
    if (verify->holes > 0) {
        sets[nsets++] = "run.on_bad=nan"; /* what made them may be as it was */
    }
    for (uint32_t i = 0; i < options->nsets; i++) {
        sets[nsets++] = options->sets[i];
    }
    TRY(job_parse(options->path, text, strlen(text), sets, nsets, &verify->job));
    REQUIRE(verify->job->ndedisperse == 1, STATUS_DATA, "%s: its job dedisperses nothing",
            options->path);
out:
    text_free(&input);
    free(sets);
    return st;
}

/* Small chunks, as if another run had begun with them; of fewer DMs where these need too much. */
static status_t verify_make_plan(struct verify *verify, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    uint64_t adds = verify->series->nchannels * CHUNK_TIMES;
    struct chunking small = {.spectra = product->rows,
                             .chunk_spectra = min_u64(product->rows, max_u64(CHUNK_ADDS / adds, 1)),
                             .streams = (uint32_t)product->frequencies,
                             .group_streams = (uint32_t)min_u64(product->frequencies, CHUNK_TIMES)};
    TRY(fbh5_open(job_filterbank(verify->job, 0), &verify->fbh5));
    TRY(fbh5_load_band(verify->fbh5));
    do {
        st = dedisperse_plan_create(verify->job, 0, verify->fbh5, BACKEND_REFERENCE, 1, &small,
                                    &verify->plan);
        small.chunk_spectra = ceil_div_u64(small.chunk_spectra, 8);
    } while (verify_may_take_more(st, options, verify->job));
out:
    if (st == STATUS_USAGE) {
        st = STATUS_DATA; /* the job was right when the product was made */
    }
    return st;
}

/* What can be compared without computing. Rank 0 looks into what need not be known to go on. */
static status_t verify_compare_description(const struct verify *verify, int is_moved)
{
    status_t st = STATUS_OK;
    const struct dedispersed *series = verify->series;
    const struct dedisperse_plan *plan = verify->plan;
    const struct product *product = verify->product;
    REQUIRE(series->ndms == plan->delays.ndms && series->nchannels == plan->fbh5->nchannels &&
                product->rows == plan->delays.ndms && product->frequencies == plan->outputs,
            STATUS_DATA,
            "%s holds %zu DMs of %zu channels at %llu times, but its job makes %u of %u at %llu",
            product->path, series->ndms, series->nchannels,
            (unsigned long long)product->frequencies, plan->delays.ndms, plan->fbh5->nchannels,
            (unsigned long long)plan->outputs);
    REQUIRE(product->missing == 0, STATUS_DATA,
            "%s is not what its job and input make of it: /provenance/missing_samples is %llu, "
            "expected 0",
            product->path, (unsigned long long)product->missing);
    if (verify->rank == 0) {
        TRY(compare_product(product, is_moved, &plan->spec));
        TRY(verify_times(verify->fd, product, plan->outputs, plan->product.time));
    }
out:
    return st;
}

/* Some marked DMs are among the sample, where they are NaN. */
static status_t verify_pick_chunks(struct verify *verify, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    const struct chunking *chunking = &verify->plan->chunking;
    struct verify_mark *marks = NULL;
    uint64_t *also = NULL;
    uint64_t nmarks = 0;
    verify->nchunks = chunk_count(chunking);
    TRY(verify_marks(verify->fd, verify->product, options->chunks, &marks, &nmarks));
    TRY(memory_zeroed((size_t)nmarks + 1, sizeof *also, "chunks", &also));
    for (uint64_t i = 0; i < nmarks; i++) {
        also[i] = marks[i].row / chunking->chunk_spectra * chunk_groups(chunking) +
                  marks[i].at / chunking->group_streams;
    }
    TRY(verify_pick(options, verify->nchunks, also, nmarks, &verify->picked, &verify->npicked));
out:
    free(also);
    free(marks);
    return st;
}

/* What is NaN by a hole is passed over when its input cannot be read now, either. */
static status_t verify_pass_holes(struct verify *verify, uint64_t row, const struct chunk *chunk,
                                  float *expected)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    char hole = 1;
    if (product->place.holes_offset > 0) {
        TRY(file_read(verify->fd, product->path, product->place.holes_offset + row, &hole, 1));
    }
    for (uint32_t j = 0; j < chunk->streams; j++) {
        if (!isnan(verify->stored[j])) {
            continue;
        }
        REQUIRE(hole || !isnan(expected[j]), STATUS_DATA,
                "%s: DM %.12g holds NaN, but /provenance/holes does not say so", product->path,
                verify->series->dms[row]);
        REQUIRE(!hole || isnan(expected[j]), STATUS_DATA,
                "%s: DM %.12g is NaN at time %llu, as if its input could not be read, but it can "
                "be: make it anew (--force)",
                product->path, verify->series->dms[row],
                (unsigned long long)chunk->first_stream + j);
        verify->passed += hole != 0;
        verify->stored[j] = hole ? 0 : verify->stored[j];
        expected[j] = hole ? 0 : expected[j];
    }
out:
    return st;
}

/* The sink: outputs as the reference makes them. */
static status_t verify_compare_rows(void *context, uint32_t index, const struct chunk *chunk,
                                    uint64_t first_row, uint64_t rows, const void *data,
                                    const char *holes)
{
    status_t st = STATUS_OK;
    struct verify *verify = context;
    const struct product_place *place = &verify->product->place;
    (void)index;
    (void)holes;
    for (uint64_t i = 0; i < rows; i++) {
        size_t bytes = chunk->streams * sizeof(float);
        uint64_t at = place->data_offset + (first_row + i) * place->row_bytes +
                      chunk->first_stream * sizeof(float);
        TRY(file_read(verify->fd, verify->product->path, at, verify->stored, bytes));
        memcpy(verify->expected, (const float *)data + i * chunk->streams, bytes);
        TRY(verify_pass_holes(verify, first_row + i, chunk, verify->expected));
        agreement_sums(&verify->agreement, verify->stored, verify->expected, chunk->streams);
    }
    verify->outputs += rows * chunk->streams;
out:
    return st;
}

static status_t verify_prepare(struct verify *verify, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    struct backend_options none = {0};
    struct pipeline_sink sink = {verify, verify_compare_rows, NULL};
    verify->series = verify->product->series;
    TRY(verify_parse_job(verify, options));
    TRY(verify_make_plan(verify, options));
    TRY(file_open_read(options->path, &verify->fd));
    TRY(verify_compare_description(verify, options->nsets > 0));
    TRY(verify_pick_chunks(verify, options));
    TRY(backend_open(BACKEND_REFERENCE, &none, &verify->backend));
    TRY(dedisperse_pipeline_create(verify->plan, verify->backend, NULL, &sink, &verify->pipe));
out:
    return st;
}

static status_t verify_process(void *context, driver_t *driver, uint64_t index)
{
    struct verify *verify = context;
    uint64_t picked = verify->picked ? verify->picked[index] : index;
    struct chunk chunk = chunk_at(&verify->plan->chunking, picked);
    return pipeline_chunk(verify->pipe, driver, &chunk);
}

static status_t verify_finish(void *context, driver_t *driver)
{
    return pipeline_finish(((struct verify *)context)->pipe, driver);
}

static status_t judge(const struct verify *verify, const struct agreement *agreement,
                      uint64_t outputs, uint64_t passed)
{
    const char *path = verify->product->path;
    display_print("%s: %llu of %llu outputs recomputed (%llu of %llu chunks)\n", path,
                  (unsigned long long)outputs,
                  (unsigned long long)(verify->product->rows * verify->product->frequencies),
                  (unsigned long long)verify->npicked, (unsigned long long)verify->nchunks);
    if (passed > 0) {
        display_print("%llu of them are NaN by holes in the input: passed over\n",
                      (unsigned long long)passed);
    }
    return verify_judge(path, verify->fbh5->path, agreement, "a stretch's rms");
}

status_t verify_dedispersed_all(MPI_Comm comm, const struct verify_options *options,
                                const struct product *product)
{
    status_t st = STATUS_OK;
    struct verify verify = {.comm = comm, .product = product, .fd = -1};
    MPI_Comm_rank(comm, &verify.rank);
    TRY(agree_all(comm, verify_prepare(&verify, options)));
    struct driver_work work = {.chunks = verify.npicked,
                               .context = &verify,
                               .process = verify_process,
                               .finish = verify_finish};
    struct progress progress = {.every = options->progress, .what = "chunks", .total = work.chunks};
    TRY(driver_run_all(comm, &work, &progress));
    struct agreement agreement = verify_agreement_all(comm, &verify.agreement);
    uint64_t outputs = sum_u64_all(comm, verify.outputs);
    uint64_t passed = sum_u64_all(comm, verify.passed);
    if (verify.rank == 0) {
        st = judge(&verify, &agreement, outputs, passed);
    }
    TRY(agree_all(comm, st));
out:
    verify_end(&verify);
    return st;
}
