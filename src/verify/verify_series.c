/* Verifies dedispersed series: they are computed from power, with the DMs of their job. */
#include "verify/verify_parts.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/open.h"
#include "pipeline/pipeline_kinds.h"
#include "pipeline/power_reader.h"
#include "product/compare.h"
#include "ranks/agree.h"

#include <math.h>

enum { CHUNK_TIMES = 64, CHUNK_ADDS = 1 << 24 };

struct series {
    struct fbh5 *fbh5;
    struct dedisperse_plan *plan;
    double terms; /* agreement_sums(): of samples from which the host took what channels share */
};

static void series_end(void *kind)
{
    struct series *series = kind;
    if (series) {
        dedisperse_plan_destroy(series->plan);
        fbh5_destroy(series->fbh5);
        free(series);
    }
}

/* Parses the product's own job. Its filterbank is at the stored path, or where the user's option
 * says. */
static status_t series_parse_job(struct verify *verify)
{
    const char *text = verify->product->origin.job_text;
    const char *path = verify->options->path;
    SCOPED(free_at) const char **sets = NULL;
    uint32_t nsets = 0;
    SCOPED(text_free) struct text input = {0};
    int is_made = strstr(text, "\nchannelise:") || strncmp(text, "channelise:", 11) == 0;
    TRY(text_add(&input, "products.0.file=\"%s\"", verify->product->series->filterbank));
    const char *const before[] = {
        VERIFY_EXTERNAL, "dedisperse.0.file=verify.h5", /* nothing is written: any name will do */
        is_made ? input.data : NULL, NULL};
    const char *const after[] = {NULL};
    TRY(verify_overrides(verify, before, after, &sets, &nsets));
    TRY(job_parse(path, text, strlen(text), sets, nsets, &verify->job));
    REQUIRE(verify->job->ndedisperse == 1, STATUS_DATA, "%s: its job has no dedisperse", path);
    return REQUIRED(
        !job_is_semi_coherent(verify->job), STATUS_USAGE,
        "%s is of a semi-coherent search, whose power is not kept: it is not recomputed, but "
        "--crc checks every byte",
        path);
}

/* Small chunks, as if another run had begun with them; of fewer DMs where these need too much. */
static status_t series_make_plan(struct verify *verify, struct series *series)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    uint64_t adds = product->series->nchannels * CHUNK_TIMES;
    struct chunking small = {.spectra = product->rows,
                             .chunk_spectra = min_u64(product->rows, max_u64(CHUNK_ADDS / adds, 1)),
                             .streams = (uint32_t)product->frequencies,
                             .group_streams = (uint32_t)min_u64(product->frequencies, CHUNK_TIMES)};
    TRY_OUT(verify_say_moved(fbh5_open(job_filterbank(verify->job, 0), FBH5_BAND, &series->fbh5),
                             verify->job->nproducts > 0 ? "products.0.file" : "input.files"));
    do {
        st = dedisperse_plan_create(verify->job, 0, series->fbh5, BACKEND_REFERENCE, 1, &small,
                                    &series->plan);
        small.chunk_spectra = ceil_div_u64(small.chunk_spectra, 8);
    } while (verify_may_take_more(st, verify));
out:
    if (st == STATUS_USAGE) {
        st = STATUS_DATA; /* the job was right when the product was made */
    }
    return st;
}

/* Compares the attributes that need no computing. Only rank 0 checks those that the others do not
 * need. */
static status_t series_compare_description(const struct verify *verify,
                                           const struct dedisperse_plan *plan)
{
    const struct product *product = verify->product;
    const struct dedispersed *series = product->series;
    REQUIRE(series->ndms == plan->delays.ndms && series->nchannels == plan->fbh5->nchannels &&
                product->rows == plan->delays.ndms && product->frequencies == plan->outputs,
            STATUS_DATA,
            "%s contains %zu DMs of %zu channels at %llu times, but its job makes %u of %u at %llu",
            product->path, series->ndms, series->nchannels,
            (unsigned long long)product->frequencies, plan->delays.ndms, plan->fbh5->nchannels,
            (unsigned long long)plan->outputs);
    REQUIRE(product->missing == 0, STATUS_DATA,
            "%s is not what its job and input make of it: /provenance/missing_samples is %llu, "
            "expected 0",
            product->path, (unsigned long long)product->missing);
    if (verify->rank == 0) {
        TRY(compare_product(product, verify->options->nsets > 0, &plan->spec));
        TRY(verify_times(verify->fd, product, plan->outputs, plan->product.time));
    }
    return STATUS_OK;
}

static uint64_t series_chunk_of(const struct verify *verify, const struct verify_mark *mark)
{
    const struct chunking *chunking = verify->chunking;
    return mark->row / chunking->chunk_spectra * chunk_groups(chunking) +
           mark->at / chunking->group_streams;
}

/* Skips values that are NaN if too much of their input is missing now, too. */
static status_t series_pass_holes(struct verify *verify, uint64_t row, const struct chunk *chunk,
                                  int is_marked, float *stored, float *expected)
{
    const struct product *product = verify->product;
    for (uint32_t j = 0; j < chunk->streams; j++) {
        if (!isnan(stored[j])) {
            continue;
        }
        REQUIRE(
            isnan(expected[j]), STATUS_DATA, "%s: DM %.12g is NaN at time %llu%s", product->path,
            product->series->dms[row], (unsigned long long)chunk->first_stream + j,
            is_marked ? ", as if its input could not be read, but it can be: make it anew (--force)"
                      : ", but /provenance/holes does not say so");
        verify->found.passed++;
        stored[j] = expected[j] = 0;
    }
    return STATUS_OK;
}

/* Compares rows with those of the reference (a sink's put()). */
static status_t series_compare_rows(void *context, uint32_t index, const struct chunk *chunk,
                                    uint64_t first_row, uint64_t rows, const void *data,
                                    const char *holes)
{
    struct verify *verify = context;
    const struct series *kind = verify->kind;
    float expected[CHUNK_TIMES];
    (void)index;
    for (uint64_t i = 0; i < rows; i++) {
        char is_marked = 1;
        TRY(verify_read_row(verify, chunk, first_row + i, &is_marked));
        REQUIRE(is_marked || !holes || !holes[i], STATUS_DATA,
                "%s: DM %.12g contains NaN, but /provenance/holes does not say so",
                verify->product->path, verify->product->series->dms[first_row + i]);
        verify_marks_note(&verify->marked, first_row + i, holes && holes[i]);
        float *stored = (float *)(void *)verify->stored;
        memcpy(expected, (const float *)data + i * chunk->streams,
               chunk->streams * sizeof *expected);
        TRY(series_pass_holes(verify, first_row + i, chunk, is_marked, stored, expected));
        agreement_sums(&verify->found.agreement, stored, expected, chunk->streams, kind->terms);
    }
    verify->found.recomputed += rows * chunk->streams;
    return verify_spans(verify, chunk, first_row, rows);
}

/* Sets series->terms, from some samples that are spread over the observation. */
static status_t series_measure_terms(struct series *series)
{
    enum { MOST = 64 };
    const struct dedisperse_plan *plan = series->plan;
    const uint64_t count = min_u64(plan->input.samples, MOST);
    SCOPED(power_reader_destroy_at) power_reader_t *reader = NULL;
    SCOPED(free_at) float *sample = NULL;
    double squares = 0;
    if (!plan->input.has_steps) {
        return STATUS_OK;
    }
    TRY(power_reader_create(plan, &reader));
    TRY(memory_zeroed(plan->fbh5->nchannels, sizeof *sample, "a sample", &sample));
    for (uint64_t i = 0; i < count; i++) {
        char bad = 0;
        TRY(power_reader_read(reader, (int64_t)(plan->input.samples / count * i), 1, sample, &bad));
        for (uint32_t c = 0; c < plan->fbh5->nchannels; c++) {
            const double one = plan->mask[c] ? 0 : (double)sample[c];
            squares += isfinite(one) ? one * one : 0;
        }
    }
    series->terms = sqrt(squares / (double)count);
    return STATUS_OK;
}

static status_t series_prepare(struct verify *verify)
{
    struct pipeline_sink sink = {
        .context = verify, .put = series_compare_rows, .end = verify_chunk_end};
    struct series *series = NULL;
    TRY(memory_zeroed(1, sizeof *series, "series", &series));
    verify->kind = series;
    TRY(series_parse_job(verify));
    TRY(series_make_plan(verify, series));
    verify->chunking = &series->plan->chunking;
    verify->input = series->fbh5->path;
    TRY(series_compare_description(verify, series->plan));
    TRY(series_measure_terms(series));
    TRY(verify_pick(verify, chunk_count(verify->chunking), 1, series_chunk_of));
    return dedisperse_pipeline_create(series->plan, verify->backend, NULL, &sink,
                                      &verify->pipeline);
}

static status_t series_prepare_all(struct verify *verify)
{
    return agree_all(verify->comm, series_prepare(verify));
}

const struct verify_kind verify_series = {.what = "outputs",
                                          .unit = "a stretch's rms",
                                          .prepare_all = series_prepare_all,
                                          .end = series_end};
