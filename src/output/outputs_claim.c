/* Finds what earlier runs have left of products, and decides whether to go on with it. */
#include "base/memory.h"
#include "io/apart.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/folder.h"
#include "io/mark.h"
#include "output/journal.h"
#include "output/outputs_parts.h"
#include "plan/plan_products.h"
#include "product/flagged.h"
#include "product/ifs.h"
#include "product/kind/visibilities_kind.h"
#include "product/stamp.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

/* How much of the products the journals have. */

int outputs_is_done(void *context, uint64_t chunk)
{
    const outputs_t *outputs = context;
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (!journal_is_done(outputs->outputs[i].journal, chunk)) {
            return 0;
        }
    }
    return 1;
}

uint64_t outputs_kept(const outputs_t *outputs)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct output *output = &outputs->outputs[i];
        if (output->claim_fd >= 0 && file_is_nameless(output->claim_fd)) {
            return 0;
        }
    }
    return outputs_done(outputs);
}

uint64_t outputs_done(const outputs_t *outputs)
{
    uint64_t done = outputs->outputs[0].journal ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        const journal_t *journal = outputs->outputs[i].journal;
        done = min_u64(done, journal ? journal->done : 0);
    }
    return done;
}

struct chunk_counts outputs_counts(const outputs_t *outputs, uint32_t i)
{
    const journal_t *journal = outputs->outputs[i].journal;
    return (struct chunk_counts){journal->missing, journal->clipped};
}

/* Writes data beside rows. */

static status_t beside_put(const outputs_t *outputs, struct output *output,
                           const struct chunk *chunk, const struct beside *beside, const void *data)
{
    const struct beside_runs runs = beside_runs_of(&outputs->spec->chunking, chunk, beside);
    for (uint64_t i = 0; i < runs.count; i++) {
        const char *run = (const char *)data + i * runs.bytes;
        const uint64_t at = beside_run_at(&runs, i);
        beside_add(&output->place, at, run, runs.bytes, &output->beside);
        TRY(file_write(output->fd, output->part, at, run, runs.bytes));
    }
    return STATUS_OK;
}

/* Writes the flags of visibilities, which follow from their weights. */
static status_t beside_put_flags(const outputs_t *outputs, struct output *output,
                                 const struct chunk *chunk, const struct product_spec *spec,
                                 uint64_t first_row, uint64_t rows, const float *weights)
{
    unsigned char flags[1 << 16];
    const struct beside beside = {output->place.flags_offset, ifs_weights(spec), first_row, rows,
                                  plan_products_weights_row(spec)};
    const struct beside_runs runs = beside_runs_of(&outputs->spec->chunking, chunk, &beside);
    for (uint64_t i = 0; i < runs.count; i++) {
        for (uint64_t done = 0; done < runs.bytes; done += sizeof flags) {
            uint64_t at = beside_run_at(&runs, i) + done;
            uint64_t count = min_u64(runs.bytes - done, sizeof flags);
            visibilities_flag(weights + i * runs.bytes + done, count, spec->weights.least, flags);
            beside_add(&output->place, at, flags, count, &output->beside);
            TRY(file_write(output->fd, output->part, at, flags, count));
        }
    }
    return STATUS_OK;
}

struct journal_rows outputs_rows_of(const outputs_t *outputs, uint32_t product,
                                    const struct chunk *chunk)
{
    const struct output_spec_item *item = &outputs->spec->items[product];
    const struct journal_head head = {.integrate = item->integrate,
                                      .ratio = item->ratio,
                                      .place = outputs->outputs[product].place};
    return journal_head_rows(&head, chunk);
}

static struct beside_shape beside_shape_of(const struct product_place *place,
                                           const struct product_spec *spec)
{
    return (struct beside_shape){.lines = (uint64_t)spec->nifs * spec->frequencies,
                                 .row = plan_products_row(spec),
                                 .weights_row = plan_products_weights_row(spec),
                                 .cells_row = spec->flag.is_on ? plan_products_cells_row(spec)
                                                               : (struct chunk_row){.ifs = 1},
                                 .weights = place->weights_offset > 0 ? ifs_weights(spec) : 0,
                                 .cells = spec->flag.is_on     ? flagged_cells(spec)
                                          : spec->visibilities ? 1
                                                               : 0,
                                 .cell = spec->flag.is_on     ? flagged_row(spec)
                                         : spec->visibilities ? ifs_weights(spec)
                                                              : 0};
}

struct beside_file outputs_beside_file(const outputs_t *outputs, uint32_t product)
{
    const struct output *output = &outputs->outputs[product];
    const struct output_spec_item *item = &outputs->spec->items[product];
    return (struct beside_file){.fd = output->fd,
                                .path = output->part,
                                .place = &output->place,
                                .shape = beside_shape_of(&output->place, &item->spec),
                                .chunking = &outputs->spec->chunking};
}

status_t outputs_weigh(void *context, uint32_t product, const struct chunk *chunk,
                       uint64_t first_row, uint64_t rows, const float *weights)
{
    const outputs_t *outputs = context;
    struct output *output = &outputs->outputs[product];
    const struct product_spec *spec = &outputs->spec->items[product].spec;
    const struct beside beside = {output->place.weights_offset, ifs_weights(spec) * sizeof *weights,
                                  first_row, rows, plan_products_weights_row(spec)};
    TRY(beside_put(outputs, output, chunk, &beside, weights));
    return spec->visibilities
               ? beside_put_flags(outputs, output, chunk, spec, first_row, rows, weights)
               : STATUS_OK;
}

status_t outputs_flag(void *context, uint32_t product, const struct chunk *chunk,
                      uint64_t first_cell, uint64_t cells, const struct flag_block *flags)
{
    const outputs_t *outputs = context;
    struct output *output = &outputs->outputs[product];
    const struct product_spec *spec = &outputs->spec->items[product].spec;
    uint64_t all = spec->rows * flagged_cells(spec);
    uint64_t count = first_cell < all ? min_u64(cells, all - first_cell) : 0;
    struct beside beside = {output->place.flags_offset, flagged_row(spec), first_cell, count,
                            plan_products_cells_row(spec)};
    TRY(beside_put(outputs, output, chunk, &beside, flags->flags));
    if (flags->kurtosis) {
        beside.offset = output->place.kurtosis_offset;
        beside.row_bytes *= sizeof *flags->kurtosis;
        TRY(beside_put(outputs, output, chunk, &beside, flags->kurtosis));
    }
    return STATUS_OK;
}

status_t outputs_step(void *context, uint32_t product, const struct chunk *chunk,
                      const struct product_steps *steps)
{
    const outputs_t *outputs = context;
    struct output *output = &outputs->outputs[product];
    const struct product_spec *spec = &outputs->spec->items[product].spec;
    const struct product_place *place = &output->place;
    uint64_t lines = spec->nifs * spec->frequencies;
    /* Where there is one scale for all, it is written with the block that it is of. */
    uint64_t scales = min_u64(steps->count, place->scales - min_u64(steps->first, place->scales));
    const uint64_t floats = lines * sizeof(float);
    const uint64_t counts = lines * sizeof(uint16_t);
    const struct chunk_row row = plan_products_row(spec);
    const struct beside besides[] = {{place->scale_offset, floats, steps->first, scales, row},
                                     {place->offset_offset, floats, steps->first, scales, row},
                                     {place->low_offset, counts, steps->first, steps->count, row},
                                     {place->high_offset, counts, steps->first, steps->count, row}};
    const void *const data[] = {steps->scale, steps->offset, steps->low, steps->high};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        TRY(beside_put(outputs, output, chunk, &besides[i], data[i]));
    }
    return STATUS_OK;
}

status_t outputs_put_scales(const outputs_t *outputs, uint32_t i, const float *scales)
{
    const struct output *output = &outputs->outputs[i];
    const struct product_spec *spec = &outputs->spec->items[i].spec;
    uint64_t lines = spec->nifs * spec->frequencies;
    uint64_t bytes = lines * sizeof *scales;
    if (output->is_published) {
        return STATUS_OK;
    }
    TRY(file_write(output->fd, output->part, output->place.scale_offset, scales, bytes));
    TRY(file_write(output->fd, output->part, output->place.offset_offset, scales + lines, bytes));
    return file_sync_data(output->fd, output->part);
}

/* Context of the comparison of a product's first rows with its journal. */
struct beside_first {
    const outputs_t *outputs;
    uint32_t product;
    uint32_t same; /* chunks with the first rows whose sums agree with the journal */
};

static status_t beside_compare_first(void *context, const struct journal_record *record)
{
    struct beside_first *first = context;
    const struct chunking *chunking = &first->outputs->spec->chunking;
    uint32_t sum = 0;
    if (record->chunk < chunk_groups(chunking)) {
        const struct chunk chunk = chunk_at(chunking, record->chunk);
        const struct beside_file file = outputs_beside_file(first->outputs, first->product);
        TRY(beside_sum(&file, &chunk, outputs_rows_of(first->outputs, first->product, &chunk),
                       &sum));
        first->same += sum == record->beside;
    }
    return STATUS_OK;
}

status_t outputs_get_scales(const outputs_t *outputs, uint32_t i, float *scales, int *found)
{
    const struct output *output = &outputs->outputs[i];
    const struct product_spec *spec = &outputs->spec->items[i].spec;
    uint64_t lines = spec->nifs * spec->frequencies;
    uint64_t bytes = lines * sizeof *scales;
    SCOPED(file_close_at) int fd = -1;
    *found = !output->is_published && !output->is_packed;
    if (!*found) {
        return STATUS_OK;
    }
    TRY(file_open_read(output->part, &fd));
    TRY(file_read(fd, output->part, output->place.scale_offset, scales, bytes));
    TRY(file_read(fd, output->part, output->place.offset_offset, scales + lines, bytes));
    for (uint64_t k = 0; k < lines; k++) {
        *found = *found && scales[k] > 0;
    }
    if (outputs->resumed) {
        struct beside_first first = {.outputs = outputs, .product = i};
        TRY(journal_read(output->journal, &first, beside_compare_first));
        *found = *found && first.same >= chunk_groups(&outputs->spec->chunking);
    }
    return STATUS_OK;
}

status_t outputs_clips(const outputs_t *outputs, uint32_t i, struct product_clips *out)
{
    const struct output_spec_item *item = &outputs->spec->items[i];
    SCOPED(file_close_at) int fd = -1;
    if (item->format != FILE_HDF5) {
        *out = outputs->outputs[i].clips;
        return STATUS_OK;
    }
    TRY(file_open_read(item->file, &fd));
    return product_count_clips(fd, item->file, &outputs->outputs[i].place,
                               (uint64_t)item->spec.nifs * item->spec.frequencies, out);
}

status_t outputs_count_flags(const outputs_t *outputs, uint32_t i, const char *path,
                             struct product_flags *out)
{
    const struct product_spec *spec = &outputs->spec->items[i].spec;
    *out = (struct product_flags){0, 0, 0, 0};
    if (spec->flag.is_on) {
        uint64_t cells = spec->rows * flagged_cells(spec) * flagged_row(spec);
        TRY(product_count_flags(path, &outputs->outputs[i].place, cells, out));
    }
    return STATUS_OK;
}

status_t outputs_flags(const outputs_t *outputs, uint32_t i, struct product_flags *out)
{
    const struct output_spec_item *item = &outputs->spec->items[i];
    *out = outputs->outputs[i].flags;
    return item->format == FILE_HDF5 ? outputs_count_flags(outputs, i, item->file, out) : STATUS_OK;
}

status_t outputs_is_published(const struct product_files *files, int *out)
{
    enum journal_state state;
    SCOPED(journal_destroy_at) journal_t *journal = NULL;
    *out = files->has_path && !files->has_part;
    if (*out && files->has_journal) {
        TRY(journal_open(files->journal, &state, &journal));
        *out = journal && journal->is_complete;
    }
    return STATUS_OK;
}

status_t outputs_check(const struct output_spec *spec, int force)
{
    for (uint32_t i = 0; i < spec->count; i++) {
        SCOPED(product_files_free) struct product_files files = {.path = NULL};
        int is_published = 0;
        TRY(product_files_of(spec->items[i].file, &files));
        TRY(outputs_is_published(&files, &is_published));
        /* The journal of a run that was killed at its very end: the next run removes it. */
        TRY(is_published && files.has_journal ? STATUS_OK
                                              : file_check_new(spec->items[i].file, force));
    }
    return STATUS_OK;
}

/* Reports what claim_take() would find. */
static status_t claim_look_at_part(struct output *output)
{
    struct stat info;
    int exists = 0;
    TRY(file_exists(output->part, &exists));
    if (exists) {
        REQUIRE(lstat(output->part, &info) == 0, STATUS_DATA, "%s: %s", output->part,
                strerror(errno));
        REQUIRE(S_ISREG(info.st_mode), STATUS_USAGE, "%s is no ordinary file", output->part);
        TRY(claim_check_owner(output->part));
        REQUIRE(claim_is_held(output->part) != 1, STATUS_USAGE,
                "%s is being written by another run", output->part);
        output->part_bytes = (uint64_t)info.st_size;
    }
    return STATUS_OK;
}

/* Takes the lock of a product that has still to be written, or written anew. */
static status_t claim_lock_one(outputs_t *outputs, uint32_t i)
{
    struct output *output = &outputs->outputs[i];
    const char *path = outputs->spec->items[i].file;
    TRY(file_check_new(path, outputs->options.force));
    if (outputs->comm == MPI_COMM_NULL) {
        return claim_look_at_part(output);
    }
    TRY(output->made ? STATUS_OK : folder_make(output->part, &output->made));
    TRY(claim_take(output->part, &output->claim_fd, &output->part_bytes));
    output->is_ours = output->part_bytes == 0;
    /* Once more: the run that had the lock may just have published it. */
    return file_check_new(path, outputs->options.force);
}

/* Sets *out to whether the open file begins with the head, whatever stands in its first MARK_BYTES.
 * Fails with DATA, DEVICE (memory). */
static status_t export_rows_is_head(const struct export_rows *rows, int fd, const char *path,
                                    int *out)
{
    SCOPED(free_at) char *head = NULL;
    *out = 0;
    TRY(memory_aligned((size_t)rows->begin, 1, "a head", &head));
    TRY(file_read(fd, path, 0, head, rows->begin));
    *out = crc_of(head + MARK_BYTES, (size_t)rows->begin - MARK_BYTES) == rows->head_crc;
    return STATUS_OK;
}

/* Checks a file that is no HDF5, as claim_find_told_of() does. */
static status_t claim_find_other(const char *path, const journal_t *journal,
                                 struct product_place *place, int *is_same)
{
    const struct export_rows *rows = &journal->head.rows;
    struct identity identity;
    SCOPED(file_close_at) int fd = -1;
    *is_same = 0;
    *place = journal->head.place;
    TRY(file_open_read(path, &fd));
    TRY(identity_of_open(fd, path, &identity));
    if (rows->format != FILE_HDF5 &&
        identity.bytes >= (journal->is_complete ? rows->bytes : place->file_bytes)) {
        TRY(export_rows_is_head(rows, fd, path, is_same));
    }
    if (journal->is_complete) {
        place->data_offset = 0;
        place->file_bytes = rows->bytes;
    }
    return STATUS_OK;
}

/* Checks whether the file is laid out as its journal says, or has its rows in compressed chunks, or
 * another format (then *place has no offset), because it was complete. Bytes that others have
 * appended to the .part are cut off in the end; with the final name it is not the same then. A
 * damaged file is not the same. A file that is unreadable now, or not in time, may be, and its
 * content is not discarded for that: only the system's error distinguishes the two. */
static status_t claim_find_told_of(const outputs_t *outputs, uint32_t i, const char *path,
                                   const journal_t *journal, struct product_place *place,
                                   int *is_same)
{
    const struct product_place *told = &journal->head.place;
    int is_other = outputs->spec->items[i].format != FILE_HDF5;
    status_t st =
        is_other ? claim_find_other(path, journal, place, is_same) : product_find_part(path, place);
    int is_packed = st == STATUS_OK && place->data_offset == 0;
    *is_same = is_other ? st == STATUS_OK && *is_same
               : is_packed
                   ? journal->is_complete && place->rows == told->rows &&
                         place->row_bytes == told->row_bytes && place->span_rows == told->span_rows
                   : st == STATUS_OK && memcmp(place, told, sizeof *place) == 0;
    if (*is_same && path != outputs->outputs[i].part) {
        struct identity identity;
        st = identity_of_path(path, &identity);
        *is_same = st == STATUS_OK && identity.bytes == place->file_bytes;
    }
    if (st == STATUS_DATA && !outputs->options.restart &&
        (strstr(report_cause(), strerror(EIO)) || apart_was_late())) {
        return st;
    }
    return report_forgive(st);
}

/* Opens the journal of a product, unless it is another user's. */
static status_t claim_open_journal(struct output *output)
{
    TRY(claim_check_owner(output->journal_path));
    TRY(journal_open(output->journal_path, &output->state, &output->journal));
    return output->journal ? claim_check_owner_open(output->journal->fd, output->journal_path)
                           : STATUS_OK;
}

/* Finds out what earlier runs have left of a product. */
static status_t claim_look(outputs_t *outputs, uint32_t i)
{
    struct output *output = &outputs->outputs[i];
    const char *path = outputs->spec->items[i].file;
    struct product_place place = {0};
    int is_there = 0;
    int is_begun = 0;
    TRY(file_exists(path, &is_there));
    TRY(file_exists(output->part, &is_begun));
    if (is_there && !is_begun) {
        TRY(claim_open_journal(output));
        /* Somebody may have put another file there since. */
        if (output->journal && output->journal->is_complete) {
            TRY(claim_find_told_of(outputs, i, path, output->journal, &place,
                                   &output->is_published));
        }
        if (output->is_published) {
            output->place = place;
            return STATUS_OK;
        }
        journal_destroy(memory_move(&output->journal));
    }
    TRY(claim_lock_one(outputs, i));
    TRY(claim_open_journal(output));
    REQUIRE(
        output->state != JOURNAL_OTHER || outputs->options.restart, STATUS_USAGE,
        "%s was begun by another version of voltmill, which can resume it; --restart begins anew",
        output->journal_path);
    if (output->journal && output->part_bytes > 0) {
        TRY(claim_find_told_of(outputs, i, output->part, output->journal, &place,
                               &output->is_whole));
        if (output->is_whole) {
            output->place = place;
            output->rows = output->journal->head.rows;
        }
        output->is_packed = output->is_whole && place.data_offset == 0;
    }
    return STATUS_OK;
}

static int claim_goes_on(const struct output *output)
{
    return output->is_published || output->is_whole;
}

/* Returns whether the journal binds the run: one without chunks does not. */
static int claim_binds(const struct output *output)
{
    return claim_goes_on(output) && output->journal->done > 0;
}

/* Whether two journals were begun by one run; `is_one`: products of one filter bank. */
static int claim_are_together(const journal_t *a, const journal_t *b, int is_one)
{
    const struct journal_head *left = &a->head;
    const struct journal_head *right = &b->head;
    return chunk_is_same_cut(&left->chunking, &right->chunking) &&
           left->backend == right->backend &&
           memcmp(left->filters, right->filters, sizeof left->filters) == 0 &&
           memcmp(&left->synthesis, &right->synthesis, sizeof left->synthesis) == 0 &&
           (!is_one || strcmp(left->arithmetic, right->arithmetic) == 0);
}

static void claim_warn_of(const struct output *output)
{
    int is_foreign = output->state == JOURNAL_NONE && output->part_bytes > 0 &&
                     mark_of(output->part) == MARK_NONE;
    if (is_foreign) {
        claim_warn(output->part, 0);
    } else if (output->state == JOURNAL_NONE && output->part_bytes > 0) {
        /* Killed before the first chunk, or somebody has removed it. */
        report_warn("%s was left by a run that did not end, and has no journal: it is written anew",
                    output->part);
    } else if (output->state == JOURNAL_OURS) {
        report_warn("%s is damaged: %s is written anew", output->journal_path, output->part);
    } else if (output->journal && output->part_bytes == 0 && !output->is_published) {
        report_warn("%s is lost, only its journal is there: it is written anew", output->part);
    } else if (output->journal && !claim_goes_on(output)) {
        report_warn("%s is not the file that %s describes: it is written anew", output->part,
                    output->journal_path);
    } else if (claim_binds(output)) {
        report_warn("%s contains %" PRIu64 " chunks: it is written anew with the others",
                    output->part, output->journal->done);
    }
}

/* Returns whether a file that can be read has one. */
static int stamp_is_in(const char *path)
{
    struct stamp ignored;
    int found = 0;
    return !report_failed(stamp_read(path, &ignored, &found)) && found;
}

/* Checks that voltmill has made the file, which else is replaced only with --force. */
static status_t claim_check_ours(const outputs_t *outputs, const struct output *output)
{
    static const char message[] = "%s exists, but was not left by voltmill: --force replaces it";
    int force = outputs->options.force;
    /* A file without a mark is complete: then a journal says whose it is. */
    int has_journal = output->state != JOURNAL_NONE && output->state != JOURNAL_FOREIGN;
    int is_ours = mark_of(output->part) != MARK_NONE ||
                  (has_journal && (product_is_ours(output->part) || stamp_is_in(output->part)));
    REQUIRE(force || output->part_bytes == 0 || is_ours, STATUS_USAGE, message, output->part);
    return REQUIRED(force || output->state != JOURNAL_FOREIGN, STATUS_USAGE, message,
                    output->journal_path);
}

/* Removes earlier files that are useless, or that the user does not want to resume. */
static status_t claim_begin_anew(outputs_t *outputs)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct output *output = &outputs->outputs[i];
        if (output->is_published) {
            output->is_published = 0;
            TRY(claim_lock_one(outputs, i));
        }
        TRY(claim_check_ours(outputs, output));
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct output *output = &outputs->outputs[i];
        output->is_packed = 0;
        output->rows = (struct export_rows){.format = FILE_HDF5};
        if (!outputs->options.restart) {
            claim_warn_of(output);
        }
        journal_destroy(memory_move(&output->journal));
    }
    return STATUS_OK;
}

/* A product with chunks beside one that was never begun: the job has changed, and what was done
 * would be lost. */
static status_t claim_check_company(const outputs_t *outputs)
{
    const struct output *begun = NULL;
    const struct output *missing = NULL;
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct output *output = &outputs->outputs[i];
        begun = claim_binds(output) ? output : begun;
        int has_traces =
            output->is_published || output->part_bytes > 0 || output->state != JOURNAL_NONE;
        missing = has_traces ? missing : output;
    }
    return REQUIRED(!begun || !missing, STATUS_USAGE,
                    "%s contains %" PRIu64 " of %" PRIu64
                    " chunks, but %s was never begun: were products added to the job? --restart "
                    "begins all anew",
                    begun->part, begun->journal->done, begun->journal->chunks, missing->part);
}

static status_t claim_go_on(outputs_t *outputs, struct outputs_begun *begun)
{
    const struct output *first = &outputs->outputs[0];
    for (uint32_t i = 1; i < outputs->count; i++) {
        const struct output *output = &outputs->outputs[i];
        for (uint32_t j = 0; j < i; j++) {
            const struct output *other = &outputs->outputs[j];
            int is_one = outputs->spec->items[i].bank == outputs->spec->items[j].bank;
            REQUIRE(claim_are_together(other->journal, output->journal, is_one), STATUS_USAGE,
                    "%s and %s were not begun by one run: --restart begins both anew",
                    other->journal_path, output->journal_path);
        }
    }
    const struct journal_head *head = &first->journal->head;
    begun->is_begun = outputs->is_begun = 1;
    begun->chunking = head->chunking;
    begun->backend = head->backend;
    memcpy(begun->filters, head->filters, sizeof begun->filters);
    begun->synthesis = head->synthesis;
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct journal_head *mine = &outputs->outputs[i].journal->head;
        uint32_t bank = outputs->spec->items[i].bank;
        begun->banks[bank].choice = mine->choice;
        begun->banks[bank].has_weights = mine->place.weights_offset > 0;
    }
    return STATUS_OK;
}

status_t outputs_check_plan(const outputs_t *outputs, uint32_t i)
{
    const struct output *output = &outputs->outputs[i];
    const struct output_spec_item *item = &outputs->spec->items[i];
    const struct product_place place = {.rows = item->spec.rows, .row_bytes = item->row_bytes};
    SCOPED(journal_head_free) struct journal_head now = {0};
    TRY(journal_head_of(outputs->spec, i, outputs->spec->is_planned ? &place : NULL, &now));
    return journal_head_compare(output->journal_path, &output->journal->head, &now);
}

status_t outputs_claim(outputs_t *outputs, struct outputs_begun *begun)
{
    int all_go_on = 1;
    int some_bind = 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(claim_look(outputs, i));
        all_go_on &= claim_goes_on(&outputs->outputs[i]);
        some_bind |= claim_binds(&outputs->outputs[i]);
    }
    if (outputs->options.restart) {
        return claim_begin_anew(outputs);
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(claim_binds(&outputs->outputs[i]) ? outputs_check_plan(outputs, i) : STATUS_OK);
    }
    if (all_go_on && some_bind) {
        TRY(claim_go_on(outputs, begun));
    } else {
        TRY(claim_check_company(outputs));
        TRY(claim_begin_anew(outputs));
    }
    return STATUS_OK;
}
