/* Prints a planned dedispersion. */
#include "cli/print/plan_job.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/print/elsewhere.h"
#include "output/journal/journal.h"
#include "output/journal/product_files.h"

#include <stdlib.h>

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

/* What is begun goes by what its filterbank was then, and another one will be made. */
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

status_t plan_series_print(const struct dedisperse_pass *series)
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
