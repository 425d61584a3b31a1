/* What `plan` says of one dedispersion. */
#include "cli/print/plan_parts.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/print/elsewhere.h"
#include "io/file.h"
#include "output/journal/journal.h"
#include "plan/dedisperse_plan.h"
#include "run/dedisperse_pass.h"

#include <stdio.h>
#include <stdlib.h>

static void plan_print_dedispersion(const struct dedisperse_plan *d, uint64_t bytes)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    char c[UNITS_TEXT];
    double step = d->product.time.step;
    const struct chunking *chunking = &d->chunking;
    display_print("dedispersion of %s\n", d->fbh5->path);
    display_print("  channels      %u", d->fbh5->nchannels);
    display_print(", %s to %s", units_hertz(d->fbh5->freq_hz[0], a),
                  units_hertz(d->fbh5->freq_hz[d->fbh5->nchannels - 1], b));
    display_print(", ifs %s added up\n", d->ifs_words.data);
    display_print("  samples       %s of %s\n", units_count(d->input.samples, a),
                  units_seconds(step, b));
    display_print("  DMs           %u from %g to %g (%s), %s\n", d->delays.ndms, d->dms[0],
                  d->dms[d->delays.ndms - 1], d->plan_words.data, d->product.mode);
    if (d->what->is_two_step) {
        display_print(
            "  two steps     groups of %u channels, samples at most %u beside their delays, "
            "%.1f %% of the additions\n",
            d->steps.group, d->steps.error,
            100 * (double)d->steps.adds / ((double)d->delays.ndms * d->delays.nchannels));
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
    display_print(" (run.memory: %s)\n", units_bytes(d->job->memory, a));
    display_print("  %s: dedispersed, %u %s x %s %s, %s\n", d->what->file, d->delays.ndms,
                  units_plural(d->delays.ndms, "DM", "DMs"), units_count(d->outputs, a),
                  units_plural(d->outputs, "time", "times"), units_bytes(bytes, b));
}

/* What is begun goes by what its filterbank was then, and another one will be made. */
static status_t plan_warn_of_begun(const char *file, const char *filterbank)
{
    status_t st = STATUS_OK;
    enum journal_state state;
    journal_t *journal = NULL;
    char *path = NULL;
    TRY(file_journal_name(file, &path));
    TRY(journal_open(path, &state, &journal));
    if (journal && journal_done(journal) > 0) {
        report_warn("%s was begun of another %s than will be made: a run will refuse to go on with "
                    "it; --restart begins anew",
                    file, filterbank);
    }
out:
    journal_destroy(journal);
    free(path);
    return st;
}

/* One that goes on with what was begun is planned as that was. */
static status_t plan_as_begun(const struct job *job, uint32_t number, const struct fbh5 *fbh5,
                              const struct outputs_begun *begun, struct dedisperse_plan **plan)
{
    status_t st = STATUS_OK;
    enum backend_kind backend = job->dedisperse[number].backend;
    if (begun->is_begun && backend == BACKEND_AUTO) {
        backend = begun->backend;
    }
    dedisperse_plan_destroy(*plan);
    *plan = NULL;
    TRY(dedisperse_plan_create(job, number, fbh5, backend_settle(backend),
                               channelise_plan_threads(job, 1),
                               begun->is_begun ? &begun->chunking : NULL, plan));
out:
    return st;
}

status_t plan_dedispersion(const struct job *job, uint32_t number,
                           const struct channelise_plan *work,
                           const struct outputs_options *options, struct room *room)
{
    status_t st = STATUS_OK;
    const struct job_dedisperse *what = &job->dedisperse[number];
    struct fbh5 *fbh5 = NULL;
    struct dedisperse_plan *plan = NULL;
    struct output_spec making = {0};
    outputs_t *outputs = NULL;
    struct outputs_begun begun = {0};
    uint64_t bytes = 0;
    if (work) {
        TRY(dedisperse_plan_foresee(work, what->input, &fbh5));
    } else {
        TRY(fbh5_open(job_filterbank(job, number), &fbh5));
        TRY(fbh5_load_band(fbh5));
    }
    TRY(plan_as_begun(job, number, fbh5, &begun, &plan));
    TRY(output_spec_of_series(job, number, fbh5->path, fbh5, &making));
    if (options && work) {
        TRY(outputs_check(&making, options->force));
        TRY(options->restart ? STATUS_OK : plan_warn_of_begun(what->file, fbh5->path));
    } else if (options) {
        TRY(outputs_foresee(&making, options, &begun, &outputs));
    }
    if (begun.is_begun) {
        TRY(plan_as_begun(job, number, fbh5, &begun, &plan));
        output_spec_plan_series(&making, plan);
        TRY(outputs_foresee_plan(outputs));
    }
    output_spec_plan_series(&making, plan);
    TRY(room_measure(&making, 0, &bytes));
    plan_print_dedispersion(plan, bytes);
    TRY(work ? STATUS_OK : elsewhere_of_filterbank(fbh5));
    plan_print_begun(outputs, &begun);
    TRY(options ? room_add(room, what->file, bytes) : STATUS_OK);
out:
    outputs_destroy(outputs);
    output_spec_free(&making);
    dedisperse_plan_destroy(plan);
    fbh5_destroy(fbh5);
    return st;
}
