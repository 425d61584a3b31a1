/* The course of a join: parts, the file, its values, its name. */
#include "product/join/join.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/claim.h"
#include "io/file.h"
#include "io/folder/folder.h"
#include "io/guard.h"
#include "io/mark.h"
#include "product/join/join_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is read is not written. */
static status_t join_check_output(const struct join_options *options)
{
    status_t st = STATUS_OK;
    struct guard reads = {0};
    for (uint32_t i = 0; i < options->nparts; i++) {
        TRY(guard_add(&reads, "the part", options->parts[i]));
        for (uint32_t k = 0; k < i; k++) {
            int is_same = 0;
            TRY(file_is_same(options->parts[k], options->parts[i], &is_same));
            REQUIRE(!is_same, STATUS_USAGE, "join: %s and %s are one file", options->parts[k],
                    options->parts[i]);
        }
    }
    TRY(guard_check_part(&reads, "the output", options->out));
    TRY(file_check_new(options->out, 1)); /* what is there may be the same: join_find_before() */
out:
    guard_free(&reads);
    return st;
}

/* Whether two texts are the same but for how they end. */
static int join_is_text(const char *stored, const struct text *text)
{
    size_t length = stored ? strlen(stored) : 0;
    size_t wanted = text->length;
    while (length > 0 && isspace((unsigned char)stored[length - 1])) {
        length--;
    }
    while (wanted > 0 && isspace((unsigned char)text->data[wanted - 1])) {
        wanted--;
    }
    return length == wanted && (length == 0 || memcmp(stored, text->data, length) == 0);
}

static void join_free_sets(struct join *join)
{
    for (size_t i = 0; i < join->nsets; i++) {
        free(join->sets[i].name);
        free(join->sets[i].first);
    }
    free(join->sets);
    join->sets = NULL;
    join->nsets = 0;
}

/* Whether a file is what the same parts have been joined to: by its provenance, then by all that
 * was put together. */
static status_t join_is_whole(struct join *join, const char *path, int *out)
{
    status_t st = STATUS_OK;
    int fd = -1;
    struct product *product = NULL;
    struct join_origin origin = {.job = {0}};
    *out = 0;
    TRY(report_forgive(product_open(path, &product)));
    if (product) {
        TRY(join_list_parts(join, &origin));
        *out = product->rows == join->rows && join_is_text(product->origin.job_text, &origin.job) &&
               join_is_text(product->origin.inputs, &origin.inputs) &&
               join_is_text(product->origin.assumed, &origin.assumed) &&
               join_is_text(product->origin.arithmetic, &origin.arithmetic);
    }
    if (*out) {
        TRY(join_make(join, -1, path));
        TRY(file_open_read(path, &fd));
        TRY(join_matches(join, fd, path, out));
    }
out:
    join_free_sets(join);
    file_close(fd);
    product_destroy(product);
    join_origin_free(&origin);
    return st;
}

/* Whether the result has its name already; another file of that name stays, unless forced. */
static status_t join_find_before(struct join *join, int *is_before)
{
    status_t st = STATUS_OK;
    const struct join_options *options = join->options;
    int exists = 0;
    *is_before = 0;
    TRY(file_exists(options->out, &exists));
    TRY(exists && !options->force ? join_is_whole(join, options->out, is_before) : STATUS_OK);
    TRY(*is_before ? STATUS_OK : file_check_new(options->out, options->force));
out:
    return st;
}

static status_t join_say(const struct join *join, struct text *said)
{
    status_t st = STATUS_OK;
    char rows[UNITS_TEXT];
    char bytes[UNITS_TEXT];
    char missing[UNITS_TEXT];
    uint64_t there = 0;
    uint64_t channels = 0;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct product *product = join->parts[i].product;
        there += product->rows;
        channels += product->frequencies;
    }
    int is_time = join->along == JOIN_TIME;
    channels = is_time ? join->parts[0].product->frequencies : channels;
    TRY(text_add_shown(said, "%s: %u parts in %s, %s %s of %llu %s", join->options->out,
                       join->count, is_time ? "time" : "frequency", units_count(join->rows, rows),
                       units_plural(join->rows, "row", "rows"), (unsigned long long)channels,
                       units_plural(channels, "channel", "channels")));
    if (is_time && there < join->rows) {
        TRY(text_add(said, ", %s between the parts missing",
                     units_count(join->rows - there, missing)));
    }
    TRY(text_add(said, ", %s\n", units_bytes(join->place.file_bytes, bytes)));
out:
    return st;
}

static void join_free(struct join *join)
{
    for (uint32_t i = 0; join->parts && i < join->count; i++) {
        product_destroy(join->parts[i].product);
        h5_close(join->parts[i].file);
    }
    join_free_sets(join);
    free(join->parts);
}

/* Takes FILE.part: new, or what a join that ended early has left. One without a mark that is made
 * of these parts lacks only its name (*is_whole). */
static status_t join_claim(struct join *join, const char *part, int *fd, int *is_whole)
{
    status_t st = STATUS_OK;
    uint64_t bytes = 0;
    int mine = -1;
    *is_whole = 0;
    TRY(claim_take(part, &mine, &bytes));
    int has_mark = bytes > 0 && mark_of(part) != MARK_NONE;
    if (bytes > 0 && !has_mark) {
        TRY(join_is_whole(join, part, is_whole));
        REQUIRE(*is_whole || join->options->force, STATUS_USAGE,
                "%s exists and is not what a run leaves: --force replaces it", part);
    }
    if (bytes > 0 && !*is_whole) {
        claim_warn(part, has_mark);
    }
    *fd = mine;
    mine = -1;
out:
    file_close(mine);
    return st;
}

/* Under the name that it has until it is whole. */
static status_t join_write(struct join *join, const char *part, int fd, int *is_whole)
{
    status_t st = STATUS_OK;
    if (*is_whole) {
        TRY(product_find_place(part, &join->place));
    } else {
        TRY(join_make(join, fd, part));
        TRY(file_reserve(fd, part, join->place.file_bytes));
        TRY(join_fill(join, fd, part));
    }
    TRY(file_sync(fd, part));
    TRY(mark_hdf5(fd, part, MARK_NONE));
    *is_whole = 1; /* what cannot be renamed stays, as the message says */
    TRY(file_publish(fd, part, join->options->out, join->options->force));
out:
    return st;
}

status_t join_parts(const struct join_options *options, struct text *said)
{
    status_t st = STATUS_OK;
    struct join join = {.options = options, .count = options->nparts};
    char *part = NULL;
    char *made = NULL;
    int fd = -1;
    int is_written = 0;
    int is_whole = 0;
    TRY(join_check_output(options));
    TRY(memory_zeroed(join.count, sizeof *join.parts, "parts", &join.parts));
    for (uint32_t i = 0; i < join.count; i++) {
        join.parts[i] = (struct join_part){.path = options->parts[i], .file = -1};
    }
    TRY(join_open(&join));
    TRY(join_find_before(&join, &is_whole));
    if (is_whole) {
        TRY(text_add_shown(said, "complete before: %s\n", options->out));
        goto out;
    }
    TRY(file_part_name(options->out, &part));
    TRY(folder_make(part, &made));
    TRY(join_claim(&join, part, &fd, &is_whole));
    TRY(join_write(&join, part, fd, &is_whole));
    is_written = 1;
    TRY(join_say(&join, said));
out:
    if (!is_written && !is_whole) {
        claim_remove(fd, part);
    }
    file_close(fd);
    if (!is_written) {
        folder_unmake(options->out, made);
    } else {
        free(made);
    }
    free(part);
    join_free(&join);
    return st;
}
