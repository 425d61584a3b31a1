/* Makes the files of products, opens them on every rank, publishes them or gives them up. */
#include "output/outputs_parts.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/mark.h"
#include "product/contents.h"
#include "product/stamp.h"
#include "ranks/agree.h"

#include <errno.h>
#include <unistd.h>

/* Allocates all products, and their names. The caller destroys them, also after a failure. */
static status_t outputs_create(MPI_Comm comm, const struct output_spec *spec,
                               const struct outputs_options *options, outputs_t **out)
{
    outputs_t *outputs = NULL;
    TRY(memory_zeroed(1, sizeof *outputs, "products", &outputs));
    *out = outputs;
    outputs->comm = comm;
    outputs->rank = agree_rank(comm);
    outputs->size = agree_size(comm);
    outputs->spec = spec;
    outputs->options = *options;
    TRY(memory_zeroed(spec->count, sizeof *outputs->outputs, "products", &outputs->outputs));
    outputs->count = spec->count;
    for (uint32_t i = 0; i < outputs->count; i++) {
        outputs->outputs[i].fd = outputs->outputs[i].claim_fd = outputs->outputs[i].packed_fd = -1;
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(file_part_name(spec->items[i].file, &outputs->outputs[i].part));
        TRY(file_journal_name(spec->items[i].file, &outputs->outputs[i].journal_path));
        TRY(file_packed_name(spec->items[i].file, &outputs->outputs[i].packed_path));
    }
    return STATUS_OK;
}

status_t outputs_claim_all(MPI_Comm comm, const struct output_spec *spec,
                           const struct outputs_options *options, struct outputs_begun *begun,
                           outputs_t **out)
{
    SCOPED(outputs_destroy_at) outputs_t *outputs = NULL;
    *begun = (struct outputs_begun){0};
    TRY(agree_all(comm, outputs_create(comm, spec, options, &outputs)));
    TRY(agree_all(comm, outputs->rank == 0 ? outputs_claim(outputs, begun) : STATUS_OK));
    share_bytes_all(comm, begun, sizeof *begun);
    outputs->is_begun = begun->is_begun;
    *out = memory_move(&outputs);
    return STATUS_OK;
}

status_t outputs_foresee_plan(const outputs_t *outputs)
{
    for (uint32_t i = 0; i < outputs->count && outputs->is_begun; i++) {
        TRY(outputs_check_plan(outputs, i));
    }
    return STATUS_OK;
}

int outputs_are_outdated(const outputs_t *outputs)
{
    int are_outdated = 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        are_outdated |= outputs_check_plan(outputs, i) == STATUS_USAGE;
    }
    return are_outdated;
}

/* Resumes one file that earlier runs have begun, on rank 0. */
static status_t outputs_resume_one(outputs_t *outputs, uint32_t i)
{
    struct output *output = &outputs->outputs[i];
    TRY(outputs_check_plan(outputs, i));
    if (!output->is_published) {
        TRY(journal_resume(output->journal));
        /* It is complete without one if a run was killed in its last steps, and no more if this
         * run writes rows. */
        TRY(output->is_packed ? STATUS_OK : mark_hdf5(output->claim_fd, output->part, MARK_RUN));
        TRY(file_reserve(output->claim_fd, output->part, output->place.file_bytes));
        output->is_ours = 1;
    }
    return STATUS_OK;
}

/* Sets *found if some of these rows are marked as holes; with `clears` removes the marks. */
static status_t outputs_look_at_marks(const struct output *output, struct journal_rows rows,
                                      int clears, int *found)
{
    enum { PIECE = 4096 };
    static const char none[PIECE];
    char marks[PIECE];
    const uint64_t at = output->place.holes_offset + rows.first;
    for (uint64_t i = 0; i < rows.count && output->place.holes_offset > 0; i += PIECE) {
        const uint64_t count = min_u64(rows.count - i, PIECE);
        TRY(file_read(output->claim_fd, output->part, at + i, marks, count));
        const int are_here = memchr(marks, 1, (size_t)count) != NULL;
        *found |= are_here;
        TRY(are_here && clears ? file_write(output->claim_fd, output->part, at + i, none, count)
                               : STATUS_OK);
    }
    return STATUS_OK;
}

/* Looks at the marks of the rows that chunk `first` and those of the other groups of streams make,
 * unless all are done. Adds the chunks to `again` if some rows are marked, which sets *any. */
static status_t outputs_look_at_rows(outputs_t *outputs, uint64_t first, int clears, int *any,
                                     unsigned char *again)
{
    const uint64_t end = first + chunk_groups(&outputs->spec->chunking);
    const struct chunk chunk = chunk_at(&outputs->spec->chunking, first);
    int are_done = 1;
    int found = 0;
    for (uint64_t k = first; k < end; k++) {
        are_done &= outputs_is_done(outputs, k);
    }
    for (uint32_t i = 0; i < outputs->count && !are_done; i++) {
        TRY(outputs_look_at_marks(&outputs->outputs[i], outputs_rows_of(outputs, i, &chunk), clears,
                                  &found));
    }
    for (uint64_t k = first; k < end && found; k++) {
        again[k / 8] |= (unsigned char)(1U << k % 8);
    }
    *any |= found;
    return STATUS_OK;
}

/* Rank 0: rows are marked as holes by any group of streams, also by one that an earlier run did not
 * come to record. Where such rows are not done for all groups, they are made anew for all. Not of
 * series, whose rows have too many groups. */
static status_t outputs_clear_marks(outputs_t *outputs)
{
    const struct chunking *chunking = &outputs->spec->chunking;
    const uint64_t chunks = chunk_count(chunking);
    const uint64_t groups = chunk_groups(chunking);
    SCOPED(free_at) unsigned char *again = NULL;
    int any = 0;
    if (groups == 1 || outputs->spec->items[0].has_times_across) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)chunks / 8 + 1, 1, "a journal", &again));
    for (uint64_t first = 0; first < chunks; first += groups) {
        TRY(outputs_look_at_rows(outputs, first, 0, &any, again));
    }
    /* First the records go: marks of chunks that are recorded must not. */
    for (uint32_t i = 0; i < outputs->count && any; i++) {
        TRY(journal_revoke(outputs->outputs[i].journal, again));
        TRY(journal_sync(outputs->outputs[i].journal));
    }
    for (uint64_t first = 0; first < chunks && any; first += groups) {
        TRY(outputs_look_at_rows(outputs, first, 1, &any, again));
    }
    return STATUS_OK;
}

/* Rank 0: removes the file with compressed rows, unless it is the product by now. */
static void outputs_pack_abandon(struct output *output)
{
    claim_remove(output->packed_fd, output->packed_path);
    file_close(output->packed_fd);
    output->packed_fd = -1;
}

SCOPED_END(outputs_pack_abandon, struct output *)

/* Rank 0: one file of another format anew. Its head is made of a product in HDF5 without rows,
 * which goes again. */
static status_t outputs_create_other(outputs_t *outputs, uint32_t i, const char *made_of)
{
    SCOPED(outputs_pack_abandon_at) struct output *output = &outputs->outputs[i];
    const struct output_spec_item *item = &outputs->spec->items[i];
    const struct stamp stamp = stamp_of(item->spec.job_text, made_of, item->spec.rows);
    SCOPED(free_at) char *made = NULL; /* no folder: that of the .part */
    SCOPED(text_free) struct text head = {0};
    TRY(claim_part(output->packed_path, outputs->options.force, product_is_ours, &output->packed_fd,
                   &made));
    TRY(output_spec_create(outputs->spec, i, output->packed_fd, output->packed_path, made_of,
                           &output->place, NULL));
    TRY(mark_hdf5(output->packed_fd, output->packed_path, MARK_NONE));
    const struct export_bank_options options = {
        .format = item->format,
        .bits = item->spec.steps.bits < 32 ? item->spec.steps.bits : 0,
        .product = output->packed_path,
        .is_own = 1,
        .out = item->file,
        .stamp = &stamp};
    TRY(export_rows_of(&options, &head, &output->rows));
    export_rows_place(&output->rows, &item->spec, &output->place);
    return export_rows_begin(&head, output->place.file_bytes, output->claim_fd, output->part);
}

/* Rank 0: one file anew. Its journal comes when all files are whole but for their rows. */
static status_t outputs_create_one(outputs_t *outputs, uint32_t i, const char *made_of)
{
    struct output *output = &outputs->outputs[i];
    output->is_ours = 1;
    /* A journal of something else must not stand beside it for a moment. */
    file_remove(output->journal_path);
    TRY(outputs->spec->items[i].format == FILE_HDF5
            ? output_spec_create(outputs->spec, i, output->claim_fd, output->part, made_of,
                                 &output->place, &output->frequency_at)
            : outputs_create_other(outputs, i, made_of));
    return file_reserve(output->claim_fd, output->part, output->place.file_bytes);
}

/* Writes the axes of frequency of all products, in a thread of its own. */
static void outputs_put_axes(void *context)
{
    outputs_t *outputs = context;
    for (uint32_t i = 0; i < outputs->count && outputs->axes_status == STATUS_OK; i++) {
        const struct output *output = &outputs->outputs[i];
        outputs->axes_status = product_put_frequencies(
            output->claim_fd, output->part, &outputs->spec->items[i].spec, output->frequency_at);
    }
}

static status_t outputs_create_journal(outputs_t *outputs, uint32_t i)
{
    struct output *output = &outputs->outputs[i];
    SCOPED(journal_head_free) struct journal_head head = {0};
    TRY(journal_head_of(outputs->spec, i, &output->place, &head));
    head.rows = output->rows;
    return journal_create(output->journal_path, &head, &output->journal);
}

/* Reads the inputs of product i; *made_of is reused if they are those of the product before. */
static status_t outputs_look_at_inputs(const outputs_t *outputs, uint32_t i, struct text *made_of)
{
    const struct output_spec *spec = outputs->spec;
    SCOPED(inputs_free) struct inputs inputs = {0};
    int is_known = i > 0;
    for (size_t at = 0; at < spec->inputs.count && is_known; at++) {
        uint32_t products = spec->inputs.files[at].products;
        is_known = (products >> i & 1) == (products >> (i - 1) & 1);
    }
    if (is_known) {
        return STATUS_OK;
    }
    made_of->length = 0;
    TRY(inputs_of_product(&spec->inputs, i, &inputs));
    return inputs_contents(&inputs, made_of);
}

static status_t outputs_make_files(outputs_t *outputs)
{
    SCOPED(text_free) struct text made_of = {0};
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(outputs->is_begun ? STATUS_OK : outputs_look_at_inputs(outputs, i, &made_of));
        TRY(outputs->is_begun ? outputs_resume_one(outputs, i)
                              : outputs_create_one(outputs, i, made_of.data));
    }
    TRY(outputs->is_begun ? outputs_clear_marks(outputs) : STATUS_OK);
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct output *output = &outputs->outputs[i];
        if (output->claim_fd >= 0) {
            TRY(claim_mark_of(output->claim_fd, output->part, &output->mark));
            TRY(claim_share(output->claim_fd, output->part));
        }
    }
    TRY(pool_worker_create("axes", &outputs->axes));
    pool_worker_begin(outputs->axes, outputs_put_axes, outputs);
    return STATUS_OK;
}

/* Every rank has a lock of its own: a rank that outlives the others can still write. */
static status_t outputs_open_one(const outputs_t *outputs, uint32_t i, struct output *output)
{
    const struct export_sum sum = {output, outputs->worker, outputs_sum};
    const struct output_spec *spec = outputs->spec;
    if (output->is_published) {
        return STATUS_OK;
    }
    TRY(claim_open(output->part, &output->mark, &output->fd));
    TRY(claim_share(output->fd, output->part));
    uint64_t rows = spec->chunking.chunk_spectra * spec->items[i].ratio / spec->items[i].integrate;
    uint64_t spans = min_u64(spans_count(&output->place), rows / output->place.span_rows + 2);
    TRY(memory_zeroed((size_t)spans, sizeof *output->sums, "CRCs", &output->sums));
    if (output->rows.format != FILE_HDF5) {
        TRY(export_writer_create(&output->rows, output->fd, output->part, spec->writers, &sum,
                                 &output->writer));
    } else {
        output->rows = (struct export_rows){.rows = output->place.rows,
                                            .row_bytes = output->place.row_bytes,
                                            .begin = output->place.data_offset};
    }
    return STATUS_OK;
}

static status_t outputs_open_files(outputs_t *outputs)
{
    TRY(pool_worker_create("crc", &outputs->worker));
    TRY(file_part_threads(UINT64_MAX) > 1 ? pool_worker_create("pages", &outputs->pages)
                                          : STATUS_OK);
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(outputs_open_one(outputs, i, &outputs->outputs[i]));
    }
    return sync_thread_begin(outputs);
}

status_t outputs_open_all(outputs_t *outputs)
{
    outputs->is_open = 1;
    TRY(agree_all(outputs->comm, outputs->rank == 0 ? outputs_make_files(outputs) : STATUS_OK));
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct output *output = &outputs->outputs[i];
        share_bytes_all(outputs->comm, &output->place, sizeof output->place);
        share_bytes_all(outputs->comm, &output->rows, sizeof output->rows);
        share_bytes_all(outputs->comm, &output->mark, sizeof output->mark);
        share_bytes_all(outputs->comm, &output->is_published, sizeof output->is_published);
    }
    TRY(agree_all(outputs->comm, outputs_open_files(outputs)));
    return resumed_begin_all(outputs);
}

/* Rank 0: a run that is killed before the journals are there begins anew. */
static status_t outputs_begin(outputs_t *outputs)
{
    pool_worker_wait(outputs->axes);
    pool_worker_destroy(memory_move(&outputs->axes)); /* with up to 15 helpers */
    TRY(outputs->axes_status);
    for (uint32_t i = 0; i < outputs->count && !outputs->is_begun; i++) {
        TRY(file_sync(outputs->outputs[i].claim_fd, outputs->outputs[i].part));
    }
    for (uint32_t i = 0; i < outputs->count && !outputs->is_begun; i++) {
        TRY(outputs_create_journal(outputs, i));
    }
    return STATUS_OK;
}

status_t outputs_begin_all(outputs_t *outputs)
{
    return agree_all(outputs->comm, outputs->rank == 0 ? outputs_begin(outputs) : STATUS_OK);
}

/* Rank 0: completes the file. One with compressed rows replaces the .part. The journal is complete
 * by then, which lets the next run distinguish the two, and complete one of another format. */
static status_t outputs_complete(const outputs_t *outputs, uint32_t i)
{
    struct output *output = &outputs->outputs[i];
    int is_squeezed = output->packed_fd >= 0;
    REQUIRE(file_is_on(output->claim_fd, output->part), STATUS_DATA,
            "%s was removed or replaced while this run wrote it", output->part);
    if (!is_squeezed && !output->is_packed && output->writer) {
        /* Counted before it goes: all after the rows of a product in another format. */
        TRY(product_count_holes(output->fd, output->part, &output->place, &output->holes));
        TRY(outputs_count_flags(outputs, i, output->part, &output->flags));
        TRY(product_count_clips(output->fd, output->part, &output->place,
                                output->rows.nifs * output->rows.nchans, &output->clips));
    } else if (!is_squeezed && !output->is_packed) {
        TRY(outputs_put_counts(output));
    }
    TRY(is_squeezed || output->writer
            ? STATUS_OK
            : file_cut_appended(output->claim_fd, output->part, output->place.file_bytes));
    TRY(journal_complete(output->journal,
                         output->is_packed ? output->journal->holes : output->holes));
    if (output->writer) {
        TRY(export_rows_complete(output->writer, 0, UINT64_MAX, 1));
        TRY(export_rows_finish(&output->rows, output->fd, output->part));
    }
    if (is_squeezed) {
        REQUIRE(file_is_on(output->packed_fd, output->packed_path), STATUS_DATA,
                "%s was removed or replaced while this run wrote it", output->packed_path);
        REQUIRE(rename(output->packed_path, output->part) == 0, reason_write_status(errno),
                "%s cannot become %s: %s", output->packed_path, output->part, strerror(errno));
        file_close(output->claim_fd);
        output->claim_fd = output->packed_fd;
        output->packed_fd = -1;
        output->place = output->packed_place;
    }
    return STATUS_OK;
}

/* Gives one its name, and takes down which file has it now. */
static status_t outputs_publish_one(const outputs_t *outputs, uint32_t i)
{
    struct output *output = &outputs->outputs[i];
    const char *file = outputs->spec->items[i].file;
    output->is_ours = 0;
    if (output->is_published) {
        TRY(identity_of_path(file, &output->identity));
    } else {
        TRY(file_publish(output->claim_fd, output->part, file, outputs->options.force));
        TRY(identity_of_open(output->claim_fd, file, &output->identity));
    }
    return STATUS_OK;
}

/* Rank 0: all files complete before the first gets its name, all have their names before the first
 * journal goes. So the next run knows what is left to be done, whenever this one is killed. */
static status_t outputs_publish(outputs_t *outputs)
{
    REQUIRE(outputs_done(outputs) == outputs->outputs[0].journal->chunks, STATUS_DATA,
            "%s: chunks are missing at the end", outputs->outputs[0].part);
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(outputs->outputs[i].is_published ? STATUS_OK : outputs_complete(outputs, i));
    }
    status_t st = STATUS_OK;
    /* From here on none is to be removed, and each gets its name if it can. */
    for (uint32_t i = 0; i < outputs->count; i++) {
        status_t published = outputs_publish_one(outputs, i);
        st = st == STATUS_OK ? published : st;
    }
    TRY(st);
    for (uint32_t i = 0; i < outputs->count; i++) {
        file_remove(outputs->outputs[i].journal_path);
    }
    return folder_sync(outputs->spec->items[0].file);
}

status_t outputs_end_sync_all(outputs_t *outputs)
{
    return agree_all(outputs->comm, sync_thread_end(outputs->sync));
}

status_t outputs_finish_all(outputs_t *outputs)
{
    return agree_all(outputs->comm, outputs->rank == 0 ? outputs_publish(outputs) : STATUS_OK);
}

const struct identity *outputs_identity(const outputs_t *outputs, uint32_t i)
{
    return &outputs->outputs[i].identity;
}

void outputs_abandon(outputs_t *outputs)
{
    int is_kept = outputs->is_open && outputs_done(outputs) > 0;
    const int is_failing = report_cause_status() != STATUS_OK; /* of this cause: it stays */
    /* Only the next run's comparison finds them, if it fails. */
    (void)(is_kept ? resumed_revoke(outputs, 1) : STATUS_OK);
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct output *output = &outputs->outputs[i];
        outputs_pack_abandon(output);
        if (is_kept && output->is_ours) {
            /* Nothing is lost when it fails: the next run only has more to do. */
            (void)journal_sync(output->journal);
        } else if (output->is_ours) {
            /* Another run may have its own there since ours was removed. */
            int is_there = file_is_on(output->claim_fd, output->part);
            claim_remove(output->claim_fd, output->part);
            if (is_there && outputs->is_open && output->journal) {
                file_remove(output->journal_path);
            }
            output->is_ours = 0;
        }
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct output *output = &outputs->outputs[i];
        folder_unmake(output->part, output->made);
        output->made = NULL;
    }
    if (!is_failing) {
        report_clear();
    }
}

void outputs_destroy(outputs_t *outputs)
{
    if (!outputs) {
        return;
    }
    pool_worker_destroy(outputs->axes);
    resumed_destroy(outputs->resumed);
    sync_thread_destroy(outputs->sync);
    pool_worker_destroy(outputs->worker);
    pool_worker_destroy(outputs->pages);
    outputs_abandon(outputs);
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct output *output = &outputs->outputs[i];
        export_writer_destroy(output->writer);
        file_part_unmap(&output->ahead);
        file_close(output->fd);
        file_close(output->claim_fd);
        journal_destroy(output->journal);
        MEMORY_FREE(output->part, output->journal_path, output->packed_path, output->sums);
    }
    text_free(&outputs->entry);
    MEMORY_FREE(outputs->differ, outputs->outputs, outputs);
}

uint64_t outputs_bytes(const outputs_t *outputs)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        bytes += outputs->outputs[i].place.file_bytes;
    }
    return bytes;
}
