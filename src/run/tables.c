/* Compares a table with what is there, and writes it. */
#include "run/tables.h"

#include "base/display.h"
#include "base/units.h"
#include "io/file.h"
#include "product/candidates.h"
#include "product/export/export_file.h"

#include <string.h>

enum { MOST_BYTES = 1 << 30 };

/* What is in the table's place: *same when it is this text. */
static status_t tables_compare(const char *path, const struct text *words, int *is_there, int *same)
{
    status_t st = STATUS_OK;
    struct text there = {0};
    *same = 0;
    TRY(file_exists(path, is_there));
    st = *is_there ? text_read_file(&there, path, MOST_BYTES, "a table") : STATUS_OK;
    if (st == STATUS_USAGE || st == STATUS_DATA) {
        report_clear(); /* something else */
        st = STATUS_OK;
    } else if (st == STATUS_OK && *is_there) {
        *same =
            there.length == words->length && memcmp(there.data, words->data, words->length) == 0;
    }
out:
    text_free(&there);
    return st;
}

static status_t tables_read(const struct job_search *search, uint64_t *count, struct text *words)
{
    status_t st = STATUS_OK;
    struct candidates_file *in = NULL;
    TRY(candidates_open(search->file, &in));
    TRY(candidates_csv(&in->found, words));
    *count = in->found.count;
out:
    candidates_close(in);
    return st;
}

status_t tables_check(const struct job_search *search, int is_complete)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    uint64_t count = 0;
    int is_there = 0;
    int same = 0;
    if (!search->csv) {
        goto out;
    }
    TRY(is_complete ? tables_read(search, &count, &words) : STATUS_OK);
    TRY(tables_compare(search->csv, &words, &is_there, &same));
    REQUIRE(!is_there || same || !is_complete, STATUS_USAGE,
            "%s exists already, and is not the table of %s: remove it, and the run writes it again "
            "(--force makes all of the job anew)",
            search->csv, search->file);
    REQUIRE(!is_there || same, STATUS_USAGE, "%s exists already: --force replaces it", search->csv);
out:
    text_free(&words);
    return st;
}

status_t tables_write(const struct job_search *search, int force)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    struct text said = {0};
    char text[UNITS_TEXT];
    uint64_t count = 0;
    int is_there = 0;
    int same = 0;
    if (!search->csv) {
        goto out;
    }
    TRY(tables_read(search, &count, &words));
    TRY(tables_compare(search->csv, &words, &is_there, &same));
    if (same) {
        goto out;
    }
    const struct export_plan plan = {.path = search->csv,
                                     .mark = MARK_RUN,
                                     .force = force,
                                     .bytes = words.length,
                                     .head = &words};
    TRY(export_file_write(&plan, "the file which it is made of,", search->file, &said, &same));
    display_print("%s: %s %s as comma-separated values\n", search->csv, units_count(count, text),
                  units_plural(count, "candidate", "candidates"));
out:
    text_free(&words);
    text_free(&said);
    return st;
}
