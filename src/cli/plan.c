/* voltmill plan JOB */
#include "cli/plan.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/options/values.h"
#include "cli/print/describe.h"
#include "cli/print/elsewhere.h"
#include "cli/print/plan_parts.h"
#include "dsp/filter_report.h"
#include "output/outputs.h"
#include "output/protect.h"
#include "run/dedisperse_pass.h"
#include "run/resume.h"
#include "run/tuned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void plan_print_work(const struct channelise_plan *work)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    const struct chunking *chunking = &work->chunking;
    const struct channelise_spec *spec = &work->channelise;
    double spacing = archive_chan_width_hz(work->archive) / spec->channels;
    display_print("filter bank\n");
    display_print("  channels      %u of %s", spec->channels, units_hertz(spacing, a));
    if (spec->nchannels != spec->channels) {
        display_print(", the central %u of each coarse channel kept", spec->nchannels);
    }
    display_print("\n  taps          %u, window %s", spec->taps,
                  window_name(work->job->window.kind));
    if (work->job->window.kind == WINDOW_KAISER) {
        display_print(":%g", work->job->window.kaiser_beta);
    }
    display_print(", cutoff %g, normalise %s, order %s\n", work->job->cutoff,
                  normalise_name(work->job->normalise), order_name(work->job->order));
    display_print("  raw spectra   %s of %s samples, giving %s %s of each stream\n",
                  units_count(work->raw_spectra, a), units_count(work->samples_per_spectrum, b),
                  units_count(chunking->spectra, (char[UNITS_TEXT]){0}),
                  units_plural(chunking->spectra, "spectrum", "spectra"));
}

/* A level that may be beyond what numbers can tell. */
static void plan_print_decibels(const char *name, double value, const char *what)
{
    char level[32] = "total";
    if (isfinite(value)) {
        snprintf(level, sizeof level, "%.2f dB", value);
    }
    display_print("  %-13s %s %s\n", name, level, what);
}

static status_t plan_print_filter(const struct channelise_plan *work)
{
    status_t st = STATUS_OK;
    struct filter_report report;
    TRY(filter_report_make(work->coeff, work->channelise.taps, (uint32_t)work->samples_per_spectrum,
                           &report));
    display_print("filter (frequencies in channels)\n");
    plan_print_decibels("ripple", report.ripple_db, "within +-0.25");
    display_print("  %-13s %.4f at -3 dB, %.4f at -6 dB\n", "width", report.width_3db,
                  report.width_6db);
    plan_print_decibels("scalloping", report.scalloping_db,
                        "loss of a tone half-way between two channels");
    plan_print_decibels("rejection", report.adjacent_db, "at the centre of the next channel");
    plan_print_decibels("", report.beyond_db, "or more from 1.5 on");
    display_print("  %-13s %.4f\n", "noise width", report.noise_width);
out:
    return st;
}

static void plan_print_run(const struct channelise_plan *work)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    const struct chunking *chunking = &work->chunking;
    uint64_t chunks = chunk_count(chunking);
    display_print("run\n");
    display_print("  backend       %s, %u %s on this machine\n", backend_name(work->backend),
                  work->channelise.threads,
                  units_plural(work->channelise.threads, "thread", "threads"));
    display_print("  chunks        %s of %s %s", units_count(chunks, a),
                  units_count(chunking->chunk_spectra, b),
                  units_plural(chunking->chunk_spectra, "spectrum", "spectra"));
    if (chunk_groups(chunking) > 1) {
        display_print(" of %u %s", chunking->group_streams,
                      units_plural(chunking->group_streams, "stream", "streams"));
    }
    if (chunking->block_spectra < chunking->chunk_spectra) {
        display_print(", in blocks of %s", units_count(chunking->block_spectra, a));
    }
    display_print("\n  ranks' share  at most");
    for (uint64_t ranks = 2; ranks <= 16; ranks *= 2) {
        display_print("%s %s on %llu ranks", ranks > 2 ? "," : "",
                      units_count(ceil_div_u64(chunks, ranks), a), (unsigned long long)ranks);
    }
    display_print(" (chunks, given out on request)\n");
    display_print("  bytes in      %s", units_bytes(work->input_bytes, a));
    uint64_t shared = overlap_shared(&work->nodes[NODE_SPECTRA].stage);
    display_print(" (%s read, with the chunks' overlap of %llu raw %s)\n",
                  units_bytes(work->read_bytes, a), (unsigned long long)shared,
                  units_plural(shared, "spectrum", "spectra"));
    display_print("  memory        %s a rank", units_bytes(work->memory_bytes, a));
    display_print(" (run.memory: %s)\n", units_bytes(work->job->memory, a));
}

void plan_print_complete(const char *file)
{
    display_print("%s is complete: it stays\n", file);
}

void plan_print_begun(const outputs_t *outputs, const struct outputs_begun *begun)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    if (begun->is_begun) {
        display_print("  goes on       %s of %s chunks are done\n",
                      units_count(outputs_done(outputs), a),
                      units_count(chunk_count(&begun->chunking), b));
    }
}

static status_t plan_print_products(const struct channelise_plan *work,
                                    const struct output_spec *making, int is_complete,
                                    struct room *room)
{
    status_t st = STATUS_OK;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    display_print("products\n");
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct channelise_plan_product *product = &work->products[i];
        struct time_axis time = product_time(&product->spec);
        uint64_t bytes = 0;
        TRY(room_measure(making, i, &bytes));
        display_print("  %s: %s, %s %s of %u %s x %u %s", work->job->products[i].file,
                      product_name(product->spec.kind), units_count(product->spec.rows, a),
                      units_plural(product->spec.rows, "row", "rows"), work->archive->nstreams,
                      units_plural(work->archive->nstreams, "stream", "streams"),
                      product->spec.nchannels,
                      units_plural(product->spec.nchannels, "channel", "channels"));
        display_print(", one every %s, %s\n", units_seconds(time.step, a), units_bytes(bytes, b));
        TRY(is_complete ? STATUS_OK : room_add(room, work->job->products[i].file, bytes));
    }
out:
    return st;
}

static status_t plan_print_notes(const struct channelise_plan *work)
{
    status_t st = STATUS_OK;
    struct text notes = {0};
    TRY(channelise_plan_notes(work, &notes));
    if (notes.length > 0) {
        display_print("notes\n");
    }
    for (const char *line = notes.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        display_print("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
out:
    text_free(&notes);
    return st;
}

/* As suits, or as it was begun. */
static status_t plan_create_work(const struct job *job, const struct archive *archive,
                                 const struct outputs_begun *begun, struct channelise_plan **work)
{
    status_t st = STATUS_OK;
    enum backend_kind backend = job->backend;
    if (begun->is_begun && backend == BACKEND_AUTO) {
        backend = begun->backend;
    }
    struct channelise_plan_cut cut = {.begun = begun->is_begun ? &begun->chunking : NULL};
    backend = backend_settle(backend);
    channelise_plan_destroy(*work);
    *work = NULL;
    TRY(channelise_plan_create(job, archive, backend, channelise_plan_threads(job, 1), &cut, work));
    TRY(tuned_blocks_foresee(*work, &cut.block));
    if (cut.block > 0) {
        channelise_plan_destroy(*work);
        *work = NULL;
        TRY(channelise_plan_create(job, archive, backend, channelise_plan_threads(job, 1), &cut,
                                   work));
    }
out:
    return st;
}

/* A run finds out what rounds; files have room for the words. */
static void plan_count_arithmetic(struct channelise_plan *work)
{
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        work->products[i].spec.arithmetic = "cpu, avx512, fftw-3.3.10-sse2-avx plan 1f2e3d4c";
    }
}

/* Plans the filter bank; *out is its work, for the dedispersions of what it makes. With NULL as
 * options its products are complete. */
static status_t plan_channelise(const struct job *job, const struct archive *archive,
                                const struct outputs_options *options, struct room *room,
                                struct channelise_plan **out)
{
    status_t st = STATUS_OK;
    struct channelise_plan *work = NULL;
    struct output_spec making = {0};
    outputs_t *outputs = NULL;
    struct outputs_begun begun = {0};
    TRY(plan_create_work(job, archive, &begun, &work));
    TRY(output_spec_of_products(job, archive, &making));
    TRY(dedisperse_pass_check(work));
    TRY(options ? outputs_foresee(&making, options, &begun, &outputs) : STATUS_OK);
    if (begun.is_begun) {
        TRY(plan_create_work(job, archive, &begun, &work));
        output_spec_plan_products(&making, work);
        TRY(outputs_foresee_plan(outputs));
    }
    describe_archive(archive);
    TRY(elsewhere_of_archive(archive));
    plan_print_work(work);
    TRY(plan_print_filter(work));
    plan_print_run(work);
    plan_print_begun(outputs, &begun);
    plan_count_arithmetic(work);
    output_spec_plan_products(&making, work);
    TRY(plan_print_products(work, &making, !options, room));
    TRY(plan_print_notes(work));
    *out = work;
    work = NULL;
out:
    outputs_destroy(outputs);
    output_spec_free(&making);
    channelise_plan_destroy(work);
    return st;
}

/* What `run` would do of a job, one pass after the other. */
static status_t plan_passes(const struct job *job, const struct archive *archive,
                            const struct outputs_options *options, const struct resume *skip)
{
    status_t st = STATUS_OK;
    struct channelise_plan *work = NULL;
    struct room room = {.count = 0};
    if (!skip->channelise || (skip->all && archive)) {
        TRY(plan_channelise(job, archive, skip->all ? NULL : options, &room, &work));
    }
    for (uint32_t i = 0; i < job->nproducts && skip->channelise; i++) {
        plan_print_complete(job->products[i].file);
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (!skip->dedisperse[i] || skip->all) {
            TRY(plan_dedispersion(job, i, skip->all ? NULL : work, skip->all ? NULL : options,
                                  &room));
        }
        if (skip->dedisperse[i]) {
            plan_print_complete(job->dedisperse[i].file);
        }
    }
    TRY(plan_room_print(&room));
out:
    channelise_plan_destroy(work);
    return st;
}

status_t plan_job(const struct shared *options)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    struct archive *archive = NULL;
    struct resume skip = {.channelise = 0};
    struct resume_options looks = {.force = options->force, .only_looks = 1};
    struct outputs_options outputs = {.force = options->force, .restart = options->restart};
    TRY(job_load(options->operand, options->sets.items, options->sets.count, &job));
    if (job->channels > 0) {
        TRY(archive_open(job, &archive));
    }
    TRY(protect_job(job, archive, NULL, 0));
    TRY(resume_find(job, archive, &looks, &skip));
    TRY(plan_passes(job, archive, &outputs, &skip));
out:
    archive_destroy(archive);
    job_destroy(job);
    return st;
}

static status_t plan_run(void *settings)
{
    return plan_job(settings);
}

static const struct option_row rows[] = {
    {.name = "set"},
    {"force", NULL, value_flag, SHARED(force), NULL, NULL,
     "as if products that exist were to be replaced"},
    {"restart", NULL, value_flag, SHARED(restart), NULL, NULL,
     "as if what an earlier run has left were to be begun anew"},
    {.name = NULL}};

const struct command cli_plan = {
    .name = "plan",
    .summary = "say what `run` would do: sizes, memory, the filter's report",
    .usage = "[OPTION]... JOB",
    .about = "Says what `voltmill run JOB` would do, and checks that it can: files, streams, "
             "samples, chunks, bytes in and out, memory a rank, free space, what the filter does "
             "to a tone, what is complete and where a run would go on, and which files the archive "
             "leads to in other folders. Writes nothing.",
    .operand = "job file",
    .ends = "yaml",
    .rows = rows,
    .bytes = sizeof(struct shared),
    .run = plan_run};
