/* voltmill status PRODUCT */
#include "base/display.h"
#include "base/units.h"
#include "cli/options/options.h"
#include "io/claim.h"
#include "output/journal/journal.h"
#include "output/journal/product_files.h"
#include "product/spans.h"

static status_t status_print_finished(const char *path)
{
    status_t st = STATUS_OK;
    struct product_place place;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    TRY(product_find_place(path, &place));
    display_print("  %-13s complete\n", "state");
    display_print("  %-13s %s, %s\n", "rows", units_count(place.rows, a),
                  units_bytes(place.file_bytes, b));
    if (place.crc_offset > 0) {
        display_print("  %-13s %s, each of %s %s: voltmill verify --crc checks them\n", "CRCs",
                      units_count(spans_count(&place), a), units_count(place.span_rows, b),
                      units_plural(place.span_rows, "row", "rows"));
    } else {
        display_print("  %-13s none\n", "CRCs");
    }
out:
    return st;
}

static void status_print_state(const struct product_files *find, const journal_t *journal)
{
    int held = claim_is_held(find->part);
    const char *then = !find->has_part ? "its .part is lost: the same command begins anew"
                       : !journal ? "its journal is lost or damaged: the same command begins anew"
                                  : "no run is at work: the same command goes on";
    display_print("  %-13s unfinished, %s\n", "state",
                  held > 0   ? "a run is at work"
                  : held < 0 ? "whether a run is at work cannot be told here"
                             : then);
}

static void status_print_journal(const journal_t *journal)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    char c[UNITS_TEXT];
    uint64_t all = journal->chunks;
    uint64_t done = journal->done;
    display_print("  %-13s %s of %s done, %s left (%.1f %%)\n", "chunks", units_count(done, a),
                  units_count(all, b), units_count(all - done, c),
                  100 * (double)done / (double)all);
    display_print("  %-13s %s bytes of records that are corrupt, and dropped\n", "bad",
                  units_count(journal->dropped, a));
    if (journal->clipped > 0) {
        display_print("  %-13s %s %s so far\n", "clipped", units_count(journal->clipped, a),
                      units_plural(journal->clipped, "number", "numbers"));
    }
    if (journal->missing > 0) {
        display_print("  %-13s %s %s so far, taken as zero volts\n", "missing",
                      units_count(journal->missing, a),
                      units_plural(journal->missing, "sample", "samples"));
    }
    display_print("  %-13s %s\n", "begun by", journal->head.program);
    display_print("  %-13s %s\n", "computes", journal->head.arithmetic);
}

static status_t status_print_unfinished(const struct product_files *find)
{
    status_t st = STATUS_OK;
    enum journal_state state;
    journal_t *journal = NULL;
    TRY(journal_open(find->journal, &state, &journal));
    REQUIRE(state != JOURNAL_FOREIGN, STATUS_DATA, "%s is no journal of voltmill", find->journal);
    REQUIRE(state != JOURNAL_OTHER, STATUS_DATA, "%s was begun by another version of voltmill",
            find->journal);
    status_print_state(find, journal);
    if (journal) {
        status_print_journal(journal);
    }
out:
    journal_destroy(journal);
    return st;
}

static status_t status_run(void *settings)
{
    status_t st = STATUS_OK;
    const struct shared *shared = settings;
    struct product_files find = {0};
    TRY(product_files_find(shared->operand, &find));
    display_print("%s\n", find.path);
    TRY(find.is_finished ? status_print_finished(find.path) : status_print_unfinished(&find));
out:
    product_files_free(&find);
    return st;
}

static const struct option_row rows[] = {{.name = NULL}};

const struct command cli_status = {
    .name = "status",
    .summary = "say how far a product is, and whether a run is at work",
    .usage = "PRODUCT",
    .about = "Says how far a product is: which part of it is done, and whether a run is at work. "
             "PRODUCT is FILE, FILE.part or FILE.journal. `voltmill verify --crc` looks for "
             "damage.",
    .ending = "Exit status: 0, 4 there is no such product, or its files cannot be read.",
    .operand = "product",
    .ends = "h5|part|journal",
    .rows = rows,
    .bytes = sizeof(struct shared),
    .run = status_run};
