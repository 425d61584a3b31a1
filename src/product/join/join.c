/* The course of a join: parts, the file, its values, its name. */
#include "product/join/join.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/claim.h"
#include "io/file.h"
#include "io/folder/folder.h"
#include "io/guard.h"
#include "product/join/join_parts.h"

#include <stdlib.h>
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
    TRY(file_check_new(options->out, options->force));
out:
    guard_free(&reads);
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
    for (size_t i = 0; i < join->nsets; i++) {
        free(join->sets[i].name);
        free(join->sets[i].first);
    }
    free(join->sets);
    free(join->parts);
}

/* Under the name that it has until it is whole. */
static status_t join_write(struct join *join, const char *part, int fd)
{
    status_t st = STATUS_OK;
    TRY(join_make(join, part));
    TRY(file_reserve(fd, part, join->place.file_bytes));
    TRY(join_fill(join, fd, part));
    TRY(file_sync(fd, part));
    TRY(file_publish(part, join->options->out, join->options->force));
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
    TRY(join_check_output(options));
    TRY(memory_zeroed(join.count, sizeof *join.parts, "parts", &join.parts));
    for (uint32_t i = 0; i < join.count; i++) {
        join.parts[i] = (struct join_part){.path = options->parts[i], .file = -1};
    }
    TRY(join_open(&join));
    TRY(file_part_name(options->out, &part));
    TRY(claim_part(part, options->force, product_is_ours, &fd, &made));
    TRY(join_write(&join, part, fd));
    is_written = 1;
    TRY(join_say(&join, said));
out:
    if (fd >= 0 && !is_written && claim_is_on(fd, part)) {
        unlink(part);
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
