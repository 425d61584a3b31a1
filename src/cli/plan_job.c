/* Prints a planned job, one pass after the other, and the room that its files need. */
#include "cli/plan_job.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/elsewhere.h"
#include "io/folder.h"
#include "output/journal/journal.h"
#include "output/journal/product_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Prints a planned dedispersion. */

static void series_print_files(const struct dedisperse_pass *series)
{
    const struct dedisperse_plan *d = series->plan;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    for (uint32_t i = 0; i < series->pass.making.count; i++) {
        const struct output_spec_item *item = &series->pass.making.items[i];
        const char *bytes = units_bytes(series->pass.bytes[i], b);
        if (item->spec.kind == PRODUCT_CANDIDATES) {
            display_print(
                "  %s: candidates of S/N %g or more in boxes of 1 to %u samples, noise by "
                "%s; %s of peaks before they are compressed\n",
                item->file, d->bursts.boxes.threshold, d->bursts.boxes.widths,
                units_seconds((double)d->bursts.boxes.block * d->product.time.step, a), bytes);
            if (d->what->search.csv) {
                display_print("  %s: the same candidates as comma-separated values\n",
                              d->what->search.csv);
            }
        } else {
            display_print("  %s: dedispersed, %u %s x %s %s, %s\n", item->file, d->delays.ndms,
                          units_plural(d->delays.ndms, "DM", "DMs"), units_count(d->outputs, a),
                          units_plural(d->outputs, "time", "times"), bytes);
        }
    }
}

static void series_print(const struct dedisperse_pass *series)
{
    const struct dedisperse_plan *d = series->plan;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    char c[UNITS_TEXT];
    char memory[JOB_MEMORY_TEXT];
    double step = d->product.time.step;
    const struct chunking *chunking = &d->chunking;
    display_print("dedispersion of %s\n", d->fbh5->path);
    display_print("  channels      %u", d->fbh5->nchannels);
    display_print(", %s to %s", units_hertz(d->fbh5->freq_hz[0], a),
                  units_hertz(d->fbh5->freq_hz[d->fbh5->nchannels - 1], b));
    display_print(", pols %s added up\n", d->words.ifs.data);
    display_print("  samples       %s of %s\n", units_count(d->input.samples, a),
                  units_seconds(step, b));
    display_print("  DMs           %u from %g to %g (%s), %s\n", d->delays.ndms, d->each.dms[0],
                  d->each.dms[d->delays.ndms - 1], d->words.plan.data, d->product.mode);
    if (d->what->is_two_step) {
        display_print(
            "  two steps     groups of %u channels, samples at most %u beside their delays, "
            "%.1f %% of the additions\n",
            d->steps.group, d->steps.error,
            100 * (double)d->steps.adds / ((double)d->delays.ndms * d->delays.nchannels));
    }
    if (d->tree.gain > 0) {
        display_print("  additions     ");
        if (d->tree.gain >= 1.05) {
            display_print("%.1f times fewer in a tree, of groups of up to %u channels (mode %s)\n",
                          d->tree.gain, d->tree.group, job_modes[d->what->mode]);
        } else {
            display_print("as many in a tree: hardly a pattern of delays repeats (mode %s)\n",
                          job_modes[d->what->mode]);
        }
    }
    display_print("  delays        up to %u %s, %s, behind %s\n", d->delays.largest,
                  units_plural(d->delays.largest, "sample", "samples"),
                  units_seconds(d->delays.largest * step, a), units_hertz(d->reference_hz, b));
    display_print("  backend       %s, %u %s on this machine\n", backend_name(d->backend),
                  d->threads, units_plural(d->threads, "thread", "threads"));
    display_print("  chunks        %s of %s %s x %s %s", units_count(chunk_count(chunking), a),
                  units_count(chunking->chunk_spectra, b),
                  units_plural(chunking->chunk_spectra, "DM", "DMs"),
                  units_count(chunking->group_streams, c),
                  units_plural(chunking->group_streams, "time", "times"));
    if (d->block_outputs < chunking->group_streams) {
        display_print(", in blocks of %s", units_count(d->block_outputs, a));
    }
    display_print("\n  bytes in      %s", units_bytes(d->fbh5->rows * fbh5_row_bytes(d->fbh5), a));
    display_print(" (%s read, with the chunks' overlap of up to %s %s)\n",
                  units_bytes(d->read_bytes, a), units_count(d->delays.largest, b),
                  units_plural(d->delays.largest, "sample", "samples"));
    display_print("  memory        %s a rank", units_bytes(d->memory_bytes, a));
    display_print(" (run.memory: %s)\n", job_memory_words(d->job, memory));
    plan_pass_print(&series->pass);
    series_print_files(series);
}

/* A begun run follows its filterbank of that time; another one will be made. */
static status_t series_warn_of_begun(const char *file, const char *filterbank)
{
    status_t st = STATUS_OK;
    enum journal_state state;
    journal_t *journal = NULL;
    struct product_files files;
    TRY(product_files_of(file, &files));
    TRY(journal_open(files.journal, &state, &journal));
    if (journal && journal->done > 0) {
        report_warn("%s was begun of another %s than will be made: a run will refuse to go on with "
                    "it; --restart begins anew",
                    file, filterbank);
    }
out:
    journal_destroy(journal);
    product_files_free(&files);
    return st;
}

static status_t plan_series_print(const struct dedisperse_pass *series)
{
    status_t st = STATUS_OK;
    const char *file = job_series_name(series->plan->what);
    if (series->is_foreseen && !series->pass.options->restart) {
        TRY(series_warn_of_begun(file, series->fbh5->path));
    }
    series_print(series);
    TRY(series->is_foreseen ? STATUS_OK : elsewhere_of_filterbank(series->fbh5, NULL));
out:
    return st;
}

static void plan_job_print_complete(const char *file)
{
    display_print("%s is complete: it stays\n", file);
}

/* "out/" of "out/x.h5" */
static void plan_job_print_folder(const char *path)
{
    int length = (int)(text_basename(path) - path);
    display_print("  %-13.*s ", length > 0 ? length : 2, length > 0 ? path : "./");
}

static status_t plan_job_print_room(const struct room *room)
{
    status_t st = STATUS_OK;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    for (uint32_t i = 0; i < room->count; i++) {
        int is_first = 0;
        uint64_t bytes = 0;
        uint64_t left = 0;
        TRY(room_sum(room, i, &bytes, &left, &is_first));
        if (is_first) {
            display_print("%s", i == 0 ? "space\n" : "");
            plan_job_print_folder(room->needs[i].path);
            display_print("%s (%" PRIu64 " bytes) needed, %s free\n", units_bytes(bytes, a), bytes,
                          units_bytes(left, b));
        }
    }
out:
    return st;
}

/* Folders of products that are not there. */
static status_t plan_job_print_folders(const struct room *room)
{
    status_t st = STATUS_OK;
    struct text said = {0};
    for (uint32_t i = 0; i < room->count; i++) {
        const char *path = room->needs[i].path;
        int length = (int)(text_basename(path) - path);
        int is_there = 0;
        TRY(folder_check(path, &is_there));
        if (!is_there && (!said.data || strncmp(said.data, path, (size_t)length) != 0 ||
                          said.data[length] != '\0')) {
            display_print("%s", said.data ? "" : "folders\n");
            display_print("  %.*s will be made\n", length, path);
            said.length = 0;
            TRY(text_add(&said, "%.*s", length, path));
        }
    }
out:
    text_free(&said);
    return st;
}

/* Of a semi-coherent search: what its passes are. */
static void plan_job_print_parts(const struct run_plan *plan)
{
    const struct grid *grid = plan->grid;
    display_print("semi-coherent search, %u coherent %s one after the other\n", grid->count,
                  units_plural(grid->count, "DM,", "DMs,"));
    for (uint32_t i = 0; i < grid->count; i++) {
        const struct grid_part *part = &grid->parts[i];
        const char *state = part->left.dedisperse[0] ? ": complete" : part == plan->part ? ":" : "";
        display_print("  DM %-10.10g filter, filter bank (%s), %u %s (%s)%s\n", part->coherent_dm,
                      part->job->products[0].file, part->count,
                      units_plural(part->count, "DM", "DMs"), part->job->dedisperse[0].file, state);
    }
    display_print(
        "  these files are removed in the end, power as soon as its series are complete\n");
}

/* The last pass of one; or that it is complete. */
static void plan_job_print_merge(const struct run_plan *plan)
{
    const struct job *job = plan->begun.job;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    if (plan->grid) {
        const struct dedisperse_plan *d = plan->merge.plan;
        display_print("series of all coherent DMs, in one file\n");
        plan_pass_print(&plan->merge.pass);
        display_print("  %s: dedispersed, %u %s x %s %s, %s\n", d->what->file, d->delays.ndms,
                      units_plural(d->delays.ndms, "DM", "DMs"), units_count(d->outputs, a),
                      units_plural(d->outputs, "time", "times"),
                      units_bytes(plan->merge.pass.bytes[0], b));
    } else if (job_is_semi_coherent(job)) {
        plan_job_print_complete(job->dedisperse[0].file);
    }
}

static status_t plan_job_print_passes(const struct run_plan *plan)
{
    status_t st = STATUS_OK;
    const struct job *job = plan->part ? plan->part->job : plan->begun.job;
    const struct resume *left = plan->part ? &plan->part->left : &plan->begun.left;
    if (plan->grid) {
        plan_job_print_parts(plan);
    }
    if (job_is_semi_coherent(job)) {
        goto out; /* all parts are complete */
    }
    TRY(plan->bank.work ? plan_bank_print(&plan->bank) : STATUS_OK);
    for (uint32_t i = 0; i < job->nproducts && left->channelise; i++) {
        plan_job_print_complete(job->products[i].file);
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(plan->series[i].plan ? plan_series_print(&plan->series[i]) : STATUS_OK);
        if (left->dedisperse[i]) {
            plan_job_print_complete(job_series_name(&job->dedisperse[i]));
        }
    }
out:
    return st;
}

status_t plan_job_print(const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct run_plan *plan = NULL;
    TRY(run_plan_create(options, &plan));
    TRY(plan_job_print_passes(plan));
    plan_job_print_merge(plan);
    TRY(plan_job_print_folders(&plan->room));
    TRY(plan_job_print_room(&plan->room));
    TRY(room_check(&plan->room));
out:
    run_plan_destroy(plan);
    return st;
}
