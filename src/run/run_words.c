#include "base/memory.h"
#include "run/run_parts.h"

#include <stdio.h>
#include <string.h>

/* "12 of 40 chunks" */
void run_count_done(const struct run *run, char out[2 * UNITS_TEXT + 16])
{
    char done[UNITS_TEXT];
    char all[UNITS_TEXT];
    snprintf(out, 2 * UNITS_TEXT + 16, "%s of %s chunks",
             units_count(outputs_done(run->outputs), done),
             units_count(chunk_count(&run->work->chunking), all));
}

/* Rank 0: after a failure. */
void run_say_what_is_kept(const struct run *run)
{
    char count[2 * UNITS_TEXT + 16];
    if (run->outputs && outputs_done(run->outputs) > 0) {
        run_count_done(run, count);
        report_note("%s are done: the same command goes on from there", count);
    }
}

static status_t print_notes(const struct run *run, uint64_t missing)
{
    status_t st = STATUS_OK;
    struct text notes = {0};
    char count[UNITS_TEXT];
    TRY(work_notes(run->work, &notes));
    if (missing > 0) {
        TRY(text_add(&notes,
                     "%s samples were missing (not a number, or the missing value): taken as zero "
                     "volts\n",
                     units_count(missing, count)));
    }
    for (const char *line = notes.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        printf("note: %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
out:
    text_free(&notes);
    return st;
}

status_t run_summarise(const struct run *run, double seconds)
{
    status_t st = STATUS_OK;
    double chunks = (double)chunk_count(&run->work->chunking);
    double part = 1 - (double)run->before / chunks;
    const struct work *work = run->work;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    TRY(print_notes(run, outputs_missing(run->outputs)));
    for (uint32_t i = 0; i < run->job->nproducts; i++) {
        const struct work_product *product = &work->products[i];
        printf("%s: %s, %s %s x %u streams x %u channels, %s\n", run->job->products[i].file,
               product_name(product->spec.kind), units_count(product->spec.rows, a),
               product->spec.integrate > 1 ? "dumps" : "spectra", run->archive->nstreams,
               product->spec.nchannels, units_bytes(product->spec.rows * product->row_bytes, b));
    }
    struct pipeline_seconds spent = pipeline_seconds(run->pipeline);
    printf("%s samples of %u streams in %.2f s on %d rank%s: in %.1f MB/s, out %.1f MB/s (rank 0: "
           "read %.2f s, compute %.2f s, write %.2f s)\n",
           units_count(run->archive->samples, a), run->archive->nstreams, seconds, run->size,
           run->size == 1 ? "" : "s", part * (double)work->input_bytes / seconds / 1e6,
           part * (double)outputs_bytes(run->outputs) / seconds / 1e6, spent.read, spent.compute,
           spent.write);
out:
    return st;
}

void run_say_where_it_goes_on(const struct run *run)
{
    char count[2 * UNITS_TEXT + 16];
    run_count_done(run, count);
    report_note("%s are done: goes on from there", count);
}

/* Rank 0: whether the products have holes. */
status_t run_judge_holes(const struct run *run)
{
    status_t st = STATUS_OK;
    char count[UNITS_TEXT];
    uint64_t worst = 0;
    const char *file = NULL;
    for (uint32_t i = 0; i < run->job->nproducts; i++) {
        uint64_t holes = 0;
        TRY(outputs_holes(run->outputs, i, &holes));
        file = holes > worst ? run->job->products[i].file : file;
        worst = max_u64(worst, holes);
    }
    REQUIRE(worst == 0, STATUS_HOLES,
            "%s is complete, but %s of its rows are NaN: their input could not be read", file,
            units_count(worst, count));
out:
    return st;
}
