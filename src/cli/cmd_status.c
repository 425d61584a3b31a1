/* voltmill status PRODUCT */
#include "base/display.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/values.h"
#include "input/format/formats.h"
#include "io/file_rights.h"
#include "io/mark.h"
#include "output/journal.h"
#include "product/contents.h"
#include "product/stamp.h"

#include <sys/stat.h>

struct status_settings {
    struct shared shared;
    int json;
};

static void status_print_finished(const struct product_place *place)
{
    display_row("state", "complete");
    display_row("rows", "%s, %s", units_count(place->rows), units_bytes(place->file_bytes));
    if (place->crc_offset > 0) {
        display_row("CRCs", "%s, each of %s: voltmill verify --crc checks them",
                    units_count(spans_count(place)), units_amount(place->span_rows, "row", "rows"));
    } else {
        display_row("CRCs", "none");
    }
}

static void status_write_finished(const struct product_place *place, struct json *json)
{
    json_text(json, "state", "complete");
    json_u64(json, "rows", place->rows);
    json_u64(json, "bytes", place->file_bytes);
    json_u64(json, "crcs", place->crc_offset > 0 ? spans_count(place) : 0);
    json_u64(json, "rows_of_a_crc", place->crc_offset > 0 ? place->span_rows : 0);
}

/* State of a product that is not finished. */
struct status_unfinished {
    int held; /* a run is at work; below 0: unknown */
    int has_part;
    int is_empty;             /* the .part, as a run that is killed at its begin leaves it */
    enum mark mark;           /* of the file that is there */
    const journal_t *journal; /* NULL: lost or damaged */
    const char *changed;      /* an input since then, for which a run would be refused; or NULL */
};

static void status_print_journal(const journal_t *journal)
{
    uint64_t all = journal->chunks;
    uint64_t done = journal->done;
    display_row("chunks", "%s of %s done, %s left (%.1f %%)", units_count(done), units_count(all),
                units_count(all - done), 100 * (double)done / (double)all);
    if (journal->dropped > 0) {
        display_row("bad", "%s of records that are corrupt, and dropped",
                    units_amount(journal->dropped, "byte", "bytes"));
    }
    if (journal->clipped > 0) {
        display_row("clipped", "%s so far", units_amount(journal->clipped, "number", "numbers"));
    }
    if (journal->missing > 0) {
        display_row("missing", "%s so far, taken as zero volts",
                    units_amount(journal->missing, "sample", "samples"));
    }
    display_row("begun by", "%s", journal->head.program);
    display_row("computes", "%s", journal->head.arithmetic);
}

static void status_print_state(const struct status_unfinished *found)
{
    int is_of_run = found->mark == MARK_NONE || found->mark == MARK_RUN;
    const char *then =
        !is_of_run         ? "no command is at work: run the same command to begin anew"
        : !found->has_part ? "its .part is lost: run the same command to begin anew"
        : !found->journal && found->is_empty
            ? "nothing is written yet: run the same command to begin anew"
        : !found->journal && found->mark == MARK_NONE
            ? "it has neither a mark nor a journal: --force replaces it"
        : !found->journal ? "its journal is lost or damaged: run the same command to begin anew"
        : found->changed  ? "no run is at work, its input has changed: --restart begins anew, or "
                            "restore the files with their times and run the same command to resume"
                          : "no run is at work: run the same command to resume";
    display_row("state", "unfinished, %s",
                found->held > 0   ? "a run is at work"
                : found->held < 0 ? "whether a run is at work is unknown here"
                                  : then);
    if (found->changed) {
        display_row("changed", "%s", found->changed);
    }
    if (!is_of_run) {
        display_row("made by", "%s", mark_command(found->mark));
    }
    if (found->journal) {
        status_print_journal(found->journal);
    }
}

static void status_write_unfinished(const struct status_unfinished *found, struct json *json)
{
    const journal_t *journal = found->journal;
    json_text(json, "state", "unfinished");
    if (found->held < 0) {
        json_null(json, "is_at_work");
    } else {
        json_bool(json, "is_at_work", found->held);
    }
    json_bool(json, "has_part", found->has_part);
    if (found->mark != MARK_NONE) {
        json_text(json, "made_by", mark_command(found->mark));
    }
    json_bool(json, "has_journal", journal != NULL);
    if (journal) {
        json_u64(json, "chunks", journal->chunks);
        json_u64(json, "chunks_done", journal->done);
        json_u64(json, "dropped_bytes", journal->dropped);
        json_u64(json, "clipped", journal->clipped);
        json_u64(json, "missing_samples", journal->missing);
        json_text(json, "begun_by", journal->head.program);
        json_text(json, "arithmetic", journal->head.arithmetic);
    }
    if (found->changed) {
        json_text(json, "changed_input", found->changed);
    }
}

/* A filterbank in another format: what it lacks shows by its length alone. */
static void status_print_stamped(const struct stamped *found)
{
    const char *rows = units_count(found->fbh5->rows);
    if (!found->has_stamp) {
        display_row("state",
                    "unknown: no run of voltmill left it like this (changed since, or exported)");
    } else if (stamped_is_whole(found)) {
        display_row("state", "complete");
    } else {
        display_row("state", "cut short, of %s spectra", units_count(found->stamp.rows));
    }
    display_row("spectra", "%s, in %s", rows, found->what);
    display_row("CRCs", "none: only its length can be checked%s",
                found->has_stamp ? "; voltmill run JOB checks whether JOB made it" : "");
}

static void status_write_stamped(const struct stamped *found, struct json *json)
{
    json_text(json, "state",
              !found->has_stamp         ? "unknown"
              : stamped_is_whole(found) ? "complete"
                                        : "cut");
    json_text(json, "format", found->fbh5->format);
    json_u64(json, "rows", found->fbh5->rows);
    if (found->has_stamp) {
        json_u64(json, "rows_of_its_job", found->stamp.rows);
    }
    json_u64(json, "bytes", found->fbh5->file_bytes);
    json_u64(json, "crcs", 0);
}

/* It has the name of a complete file, but was copied or renamed before it was one. */
static void status_of_copy(const char *path, enum mark mark, struct json *json)
{
    const struct status_unfinished found = {.held = claim_is_held(path), .mark = mark};
    if (json) {
        status_write_unfinished(&found, json);
        return;
    }
    display_print("%s\n", path);
    display_row("state", "unfinished, a copy of a .part%s",
                found.held > 0 ? ", and a run is at work" : "");
    display_row("made by", "%s", mark_command(mark));
}

static status_t status_of_finished(const char *path, struct json *json)
{
    struct product_place place;
    SCOPED(stamped_end) struct stamped stamped = {.fbh5 = NULL};
    if (mark_of(path) != MARK_NONE) {
        status_of_copy(path, mark_of(path), json);
        return STATUS_OK;
    }
    TRY(stamped_open(path, &stamped));
    TRY(stamped.fbh5 ? STATUS_OK : formats_expect(path, PRODUCT_EXPECTED));
    TRY(stamped.fbh5 ? STATUS_OK : product_find_place(path, &place));
    if (!json) {
        display_print("%s\n", path);
    }
    if (stamped.fbh5 && json) {
        status_write_stamped(&stamped, json);
    } else if (stamped.fbh5) {
        status_print_stamped(&stamped);
    } else if (json) {
        status_write_finished(&place, json);
    } else {
        status_print_finished(&place);
    }
    return STATUS_OK;
}

static status_t status_of_unfinished(const struct product_files *find, struct json *json)
{
    enum journal_state state;
    SCOPED(journal_destroy_at) journal_t *journal = NULL;
    SCOPED(free_at) char *changed = NULL;
    TRY(journal_open(find->journal, &state, &journal));
    REQUIRE(state != JOURNAL_FOREIGN, STATUS_DATA, "%s is not a journal of voltmill",
            find->journal);
    REQUIRE(state != JOURNAL_OTHER, STATUS_DATA, "%s was begun by another version of voltmill",
            find->journal);
    TRY(journal ? journal_head_find_changed(&journal->head, &changed) : STATUS_OK);
    struct stat info;
    const struct status_unfinished found = {.held = claim_is_held(find->part),
                                            .has_part = find->has_part,
                                            .is_empty =
                                                stat(find->part, &info) == 0 && info.st_size == 0,
                                            .mark = mark_of(find->part),
                                            .journal = journal,
                                            .changed = changed};
    if (json) {
        status_write_unfinished(&found, json);
    } else {
        display_print("%s\n", find->path);
        status_print_state(&found);
    }
    return STATUS_OK;
}

static status_t status_run(void *settings)
{
    const struct status_settings *s = settings;
    SCOPED(product_files_free) struct product_files find = {0};
    SCOPED(json_free) struct json written = {.depth = 0};
    struct json *json = s->json ? &written : NULL;
    TRY(product_files_find(s->shared.operand, &find));
    if (json) {
        json_begin(json, NULL);
        json_text(json, "file", find.path);
    }
    TRY(find.is_finished ? status_of_finished(find.path, json) : status_of_unfinished(&find, json));
    if (json) {
        json_end(json);
        TRY(json_print(json));
    }
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"json", FLAG(offsetof(struct status_settings, json)), "prints it as a JSON object"},
    {.name = "stall-timeout"},
    {.name = NULL}};

const struct command cli_status = {
    .only_prints = 1,
    .name = "status",
    .summary = "report a product's progress, and whether a run is at work",
    .usage = "[OPTION]... PRODUCT",
    .about =
        "Reports a product's progress: which part of it is done, and whether a run is at work. "
        "PRODUCT is FILE, FILE.part or FILE.journal. `voltmill verify --crc` finds damage.",
    .ending = "Exit status: 0, 4 no such product, or its files are unreadable.",
    .operand = "product",
    .ends = "h5|part|journal",
    .rows = rows,
    .bytes = sizeof(struct status_settings),
    .run = status_run};
