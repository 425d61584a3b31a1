/* Opens a product, has all ranks recompute the chunks that were picked, and judges what they found.
 */
#include "verify/verify.h"

#include "base/display.h"
#include "base/memory.h"
#include "io/file.h"
#include "output/journal.h"
#include "product/contents.h"
#include "product/stamp.h"
#include "ranks/agree.h"
#include "verify/verify_parts.h"

static status_t verify_process(void *context, driver_t *driver, uint64_t index)
{
    struct verify *verify = context;
    struct chunk chunk = chunk_at(verify->chunking, verify->picked ? verify->picked[index] : index);
    return pipeline_chunk(verify->pipeline, driver, &chunk);
}

static status_t verify_finish(void *context, driver_t *driver)
{
    return pipeline_finish(((struct verify *)context)->pipeline, driver);
}

/* Appends the number of chunks that were compared since the last call. */
static status_t verify_tell(void *context, struct text *out)
{
    struct verify *verify = context;
    uint64_t chunks = atomic_exchange(&verify->found.chunks, 0);
    return chunks > 0 ? text_add_bytes(out, (const char *)&chunks, sizeof chunks) : STATUS_OK;
}

static status_t verify_take(void *context, const char *data, size_t bytes)
{
    struct verify *verify = context;
    uint64_t chunks;
    for (size_t at = 0; at + sizeof chunks <= bytes; at += sizeof chunks) {
        memcpy(&chunks, data + at, sizeof chunks);
        verify->found.done += chunks;
    }
    return STATUS_OK;
}

static uint64_t verify_done(void *context)
{
    return ((const struct verify *)context)->found.done;
}

static status_t verify_spans_judge(const struct verify *verify)
{
    const struct product *product = verify->product;
    const struct product_place *place = &product->place;
    uint64_t first = verify->spans.first_bad * place->span_rows;
    return REQUIRED(verify->spans.bad == 0, STATUS_DATA,
                    "%s: rows %" PRIu64 " to %" PRIu64 " do not have the CRC of /provenance/crc32 "
                    "(%" PRIu64 " %s): rows or CRC were changed since it was made",
                    product->path, first, min_u64(first + place->span_rows, place->rows) - 1,
                    verify->spans.bad, verify->spans.bad == 1 ? "span" : "spans");
}

/* Reads all rows that are marked in /provenance/holes. Fails with DEVICE or DATA. */
static status_t verify_marks_read(struct verify *verify)
{
    const struct product_place *place = &verify->product->place;
    enum { MARKS = 8192 };
    char flags[MARKS];
    struct verify_marked *marked = &verify->marked;
    size_t count = (size_t)verify->holes;
    TRY(memory_zeroed(count + 1, sizeof *marked->rows, "marks", &marked->rows));
    TRY(memory_zeroed(count + 1, 2 * sizeof *marked->groups, "marks", &marked->groups));
    marked->unread = marked->groups + count;
    for (uint64_t row = 0; row < place->rows && marked->count < count; row++) {
        if (row % MARKS == 0) {
            TRY(file_read(verify->fd, verify->product->path, place->holes_offset + row, flags,
                          min_u64(MARKS, place->rows - row)));
        }
        if (flags[row % MARKS]) {
            marked->rows[marked->count++] = row;
        }
    }
    return STATUS_OK;
}

/* On rank 0: checks that no row is marked wrongly, if all of it was recomputed. Fails with DATA. */
static status_t verify_marks_judge(const struct verify *verify)
{
    const struct verify_marked *marked = &verify->marked;
    const uint64_t all = chunk_groups(verify->chunking);
    for (uint64_t i = 0; i < marked->count; i++) {
        REQUIRE(marked->unread[i] > 0 || (uint64_t)marked->groups[i] < all, STATUS_DATA,
                "%s: row %" PRIu64 " is marked in /provenance/holes, but all of its input is "
                "readable: make it anew (--force)",
                verify->product->path, marked->rows[i]);
    }
    return STATUS_OK;
}

/* Adds up on rank 0 what all ranks have found. */
static void verify_add_up_all(struct verify *verify)
{
    struct agreement *found = &verify->found.agreement;
    struct agreement all = *found;
    uint64_t *const counts[] = {&verify->found.recomputed, &verify->found.passed,
                                &verify->found.missing,    &verify->found.clipped,
                                &verify->found.beside,     &verify->spans.bad};
    MPI_Reduce(&found->errors, &all.errors, 1, MPI_DOUBLE, MPI_SUM, 0, verify->comm);
    MPI_Reduce(&found->numbers, &all.numbers, 1, MPI_DOUBLE, MPI_SUM, 0, verify->comm);
    MPI_Reduce(&found->worst, &all.worst, 1, MPI_DOUBLE, MPI_MAX, 0, verify->comm);
    MPI_Reduce(&found->power, &all.power, 1, MPI_DOUBLE, MPI_SUM, 0, verify->comm);
    MPI_Reduce(&found->count, &all.count, 1, MPI_DOUBLE, MPI_SUM, 0, verify->comm);
    MPI_Reduce(&found->stray, &all.stray, 1, MPI_DOUBLE, MPI_MAX, 0, verify->comm);
    *found = all;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        *counts[i] = sum_u64_all(verify->comm, *counts[i]);
    }
    uint64_t first = verify->spans.first_bad;
    MPI_Reduce(&first, &verify->spans.first_bad, 1, MPI_UINT64_T, MPI_MIN, 0, verify->comm);
    const uint64_t count = 2 * verify->marked.count;
    for (uint64_t at = 0; at < count; at += INT_MAX) {
        int some = (int)min_u64(count - at, INT_MAX);
        int *numbers = verify->marked.groups + at;
        MPI_Reduce(verify->rank == 0 ? MPI_IN_PLACE : numbers, numbers, some, MPI_INT, MPI_SUM, 0,
                   verify->comm);
    }
}

/* Prints the result for people. */
static void verify_print(const struct verify *verify, const struct verify_kind *kind,
                         uint64_t total, int agrees)
{
    const struct agreement *agreement = &verify->found.agreement;
    const char *path = verify->product->path;
    display_print("%s: %llu of %llu %s recomputed (%llu of %llu chunks)\n", path,
                  (unsigned long long)verify->found.recomputed, (unsigned long long)total,
                  kind->what, (unsigned long long)verify->npicked,
                  (unsigned long long)verify->nchunks);
    if (verify->found.passed > 0) {
        display_print("%llu of them are NaN because their input is missing: skipped\n",
                      (unsigned long long)verify->found.passed);
    }
    display_print("%srms error %.3g, limit %.1g; largest %.3g of %s%s, limit %.1g%s\n",
                  agrees ? "OK: agrees with the reference (" : "", agreement_rms(agreement),
                  agreement_most_rms(agreement), agreement_worst(agreement), kind->unit,
                  verify->product->place.scale_rows > 0 ? " beyond half a step" : "",
                  agreement_most_worst(agreement), agrees ? ")" : "");
}

/* Writes the result as JSON, for programs. */
static void verify_write(const struct verify *verify, const struct verify_kind *kind,
                         uint64_t total, int agrees)
{
    const struct agreement *agreement = &verify->found.agreement;
    struct json *json = verify->options->json;
    json_begin(json, NULL);
    json_text(json, "file", verify->product->path);
    json_text(json, "recomputed_are", kind->what);
    json_u64(json, "recomputed", verify->found.recomputed);
    json_u64(json, "total", total);
    json_u64(json, "chunks_recomputed", verify->npicked);
    json_u64(json, "chunks", verify->nchunks);
    json_u64(json, "passed_over", verify->found.passed);
    json_f64(json, "rms_error", agreement_rms(agreement));
    json_f64(json, "worst_error", agreement_worst(agreement));
    json_text(json, "worst_error_is_of", kind->unit);
    json_f64(json, "rms_error_limit", agreement_most_rms(agreement));
    json_f64(json, "worst_error_limit", agreement_most_worst(agreement));
    json_bool(json, "agrees", agrees);
}

static status_t verify_judge(const struct verify *verify, const struct verify_kind *kind)
{
    SCOPED(contents_found_free) struct contents_found objects = {0};
    const struct agreement *agreement = &verify->found.agreement;
    const struct product *product = verify->product;
    uint64_t total = product->rows * (product->series ? product->frequencies : 1);
    TRY(contents_compare(product->path, &product->place, &objects));
    int agrees = agreement->numbers > 0 && agreement_holds(agreement) && objects.bad == 0 &&
                 verify->spans.bad == 0;
    (verify->options->json ? verify_write : verify_print)(verify, kind, total, agrees);
    REQUIRE(agreement_holds(agreement), STATUS_DATA,
            "%s is not what the reference makes of %s: rms error %.3g, worst %.3g of %s",
            product->path, verify->input, agreement_rms(agreement), agreement_worst(agreement),
            kind->unit);
    TRY(kind->judge ? kind->judge(verify) : STATUS_OK);
    TRY(verify_marks_judge(verify));
    TRY(verify_spans_judge(verify));
    /* Datasets and attributes other than rows, which recomputing does not check. */
    return REQUIRED(
        objects.bad == 0, STATUS_DATA,
        "%s: of its datasets and attributes, %llu %s as written (/provenance/objects): %.*s",
        product->path, (unsigned long long)objects.bad, objects.bad == 1 ? "is not" : "are not",
        (int)strcspn(objects.words.data, "\n"), objects.words.data);
}

static status_t verify_open(struct verify *verify)
{
    const char *path = verify->options->path;
    struct backend_options none = {0};
    SCOPED(product_files_free) struct product_files find = {0};
    TRY(product_files_of(path, &find));
    REQUIRE(find.has_path || !find.has_part, STATUS_DATA,
            "%s is not complete, there is only %s: see voltmill status %s, or run the job again",
            path, find.part, path);
    TRY(stamped_refuse(path));
    TRY(product_open(path, &verify->product));
    REQUIRE(verify->product, STATUS_DATA, "%s is not a product of voltmill", path);
    REQUIRE(strncmp(verify->product->origin.job_text, "join:", 5) != 0, STATUS_USAGE,
            "%s was joined from parts, each made by its own job: verify the parts; --crc "
            "checks the bytes of the joined file",
            path);
    TRY(file_open_read(path, &verify->fd));
    TRY(rows_open(verify->product, &verify->rows));
    if (verify->product->place.holes_offset > 0) {
        TRY(product_count_holes(verify->fd, path, &verify->product->place, &verify->holes));
    }
    TRY(verify_marks_read(verify));
    return backend_open(BACKEND_REFERENCE, &none, &verify->backend);
}

static void verify_end(struct verify *verify, const struct verify_kind *kind)
{
    pipeline_destroy(verify->pipeline);
    backend_close(verify->backend);
    kind->end(verify->kind);
    job_destroy(verify->job);
    rows_close(verify->rows);
    product_destroy(verify->product);
    MEMORY_FREE(verify->marked.rows, verify->marked.groups, verify->picked, verify->stored,
                verify->spans.bytes);
    file_close(verify->fd);
}

status_t verify_product_all(MPI_Comm comm, const struct verify_options *options)
{
    status_t st = STATUS_OK;
    struct verify verify = {.comm = comm,
                            .options = options,
                            .fd = -1,
                            .spans.first_bad = UINT64_MAX,
                            .spans.last = UINT64_MAX};
    const struct verify_kind *kind = &verify_spectra;
    MPI_Comm_rank(comm, &verify.rank);
    TRY_OUT(agree_all(comm, verify_open(&verify)));
    REQUIRE_OUT(
        verify.product->kind != PRODUCT_CANDIDATES, STATUS_USAGE,
        "%s: candidates are not recomputed: verify --crc compares them with their CRCs, and a "
        "run of the same job makes the same bytes",
        verify.product->path);
    kind = verify.product->series                     ? &verify_series
           : verify.product->kind == PRODUCT_VOLTAGES ? &verify_voltages
                                                      : &verify_spectra;
    TRY_OUT(kind->prepare_all(&verify));
    struct driver_work work = {.chunks = verify.npicked,
                               .context = &verify,
                               .process = verify_process,
                               .finish = verify_finish,
                               .tell = verify_tell,
                               .take = verify_take,
                               .done = verify_done};
    struct progress progress = {.every = options->progress, .what = "chunks", .total = work.chunks};
    TRY_OUT(driver_run_all(comm, &work, &progress));
    verify_add_up_all(&verify);
    TRY_OUT(agree_all(comm, verify.rank == 0 ? verify_judge(&verify, kind) : STATUS_OK));
out:
    verify_end(&verify, kind);
    return st;
}
