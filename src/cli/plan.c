/* voltmill plan JOB */
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/words.h"
#include "dsp/filter_report.h"
#include "run/dedispersion.h"
#include "run/outputs.h"
#include "run/run_dedisperse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: voltmill plan [OPTION]... JOB\n"
    "\n"
    "Says what `voltmill run JOB` would do, and checks that it can: files, streams, samples, "
    "chunks,\n"
    "bytes in and out, memory a rank, free space, and what the filter does to a tone.\n"
    "\n"
    "  --set KEY=VALUE   sets a key of the job, e.g. --set channelise.taps=16\n"
    "  --force           as if products that exist were to be replaced\n"
    "  --help            prints this\n";

static void print_work(const struct work *work)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    const struct chunking *chunking = &work->chunking;
    const struct channelise_spec *spec = &work->channelise;
    double spacing = archive_chan_width_hz(work->archive) / spec->channels;
    printf("filter bank\n");
    printf("  channels      %u of %s", spec->channels, units_hertz(spacing, a));
    if (spec->nchannels != spec->channels) {
        printf(", the central %u of each coarse channel kept", spec->nchannels);
    }
    printf("\n  taps          %u, window %s", spec->taps, window_name(work->job->window));
    if (work->job->window == WINDOW_KAISER) {
        printf(":%g", work->job->kaiser_beta);
    }
    printf(", cutoff %g, normalise %s, order %s\n", work->job->cutoff,
           normalise_name(work->job->normalise), order_name(work->job->order));
    printf("  raw spectra   %s of %s samples, giving %s spectra of each stream\n",
           units_count(work->raw_spectra, a), units_count(work->samples_per_spectrum, b),
           units_count(chunking->spectra, (char[UNITS_TEXT]){0}));
}

/* A level that may be beyond what numbers can tell. */
static void print_decibels(const char *name, double value, const char *what)
{
    char level[32] = "total";
    if (isfinite(value)) {
        snprintf(level, sizeof level, "%.2f dB", value);
    }
    printf("  %-13s %s %s\n", name, level, what);
}

static status_t print_filter(const struct work *work)
{
    status_t st = STATUS_OK;
    struct filter_report report;
    TRY(filter_report_make(work->coeff, work->channelise.taps, (uint32_t)work->samples_per_spectrum,
                           &report));
    printf("filter (frequencies in channels)\n");
    print_decibels("ripple", report.ripple_db, "within +-0.25");
    printf("  %-13s %.4f at -3 dB, %.4f at -6 dB\n", "width", report.width_3db, report.width_6db);
    print_decibels("scalloping", report.scalloping_db,
                   "loss of a tone half-way between two channels");
    print_decibels("rejection", report.adjacent_db, "at the centre of the next channel");
    print_decibels("", report.beyond_db, "or more from 1.5 on");
    printf("  %-13s %.4f\n", "noise width", report.noise_width);
out:
    return st;
}

static void print_run(const struct work *work)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    const struct chunking *chunking = &work->chunking;
    uint64_t chunks = chunk_count(chunking);
    printf("run\n");
    printf("  backend       %s, %u threads on this machine\n", backend_name(work->backend),
           work->channelise.threads);
    printf("  chunks        %s of %s spectra", units_count(chunks, a),
           units_count(chunking->chunk_spectra, b));
    if (chunk_groups(chunking) > 1) {
        printf(" of %u streams", chunking->group_streams);
    }
    if (chunking->block_spectra < chunking->chunk_spectra) {
        printf(", in blocks of %s", units_count(chunking->block_spectra, a));
    }
    printf("\n  ranks' share  at most");
    for (uint64_t ranks = 2; ranks <= 16; ranks *= 2) {
        printf("%s %s on %llu ranks", ranks > 2 ? "," : "",
               units_count(ceil_div_u64(chunks, ranks), a), (unsigned long long)ranks);
    }
    printf(" (chunks, given out on request)\n");
    printf("  bytes in      %s", units_bytes(work->input_bytes, a));
    printf(" (%s read, with the chunks' overlap of %u raw spectra)\n",
           units_bytes(work->read_bytes, a), work->channelise.taps - 1);
    printf("  memory        %s a rank", units_bytes(work->memory_bytes, a));
    printf(" (run.memory: %s)\n", units_bytes(work->job->memory, a));
}

/* Products, and whether there is room for them. */
static status_t print_products(const struct work *work)
{
    status_t st = STATUS_OK;
    uint64_t total = 0;
    uint64_t left = 0;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    printf("products\n");
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct work_product *product = &work->products[i];
        struct time_axis time = product_time(&product->spec);
        uint64_t bytes = product->spec.rows * (product->row_bytes + 8);
        total += bytes;
        printf("  %s: %s, %s rows of %u streams x %u channels", work->job->products[i].file,
               product_name(product->spec.kind), units_count(product->spec.rows, a),
               work->archive->nstreams, product->spec.nchannels);
        printf(", one every %s, %s\n", units_seconds(time.step, a), units_bytes(bytes, b));
    }
    TRY(file_free_bytes(work->job->products[0].file, &left));
    printf("  space         %s needed, %s free\n", units_bytes(total, a), units_bytes(left, b));
    if (left < total) {
        report_warn("there is no room for the products: %s needed, %s free", units_bytes(total, a),
                    units_bytes(left, b));
    }
out:
    return st;
}

static void print_dedispersion(const struct dedispersion *d)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    char c[UNITS_TEXT];
    double step = d->product.time.step;
    const struct chunking *chunking = &d->chunking;
    printf("dedispersion of %s\n", d->fbh5->path);
    printf("  channels      %u", d->fbh5->nchannels);
    printf(", %s to %s", units_hertz(d->fbh5->freq_hz[0], a),
           units_hertz(d->fbh5->freq_hz[d->fbh5->nchannels - 1], b));
    printf(", ifs %s added up\n", d->ifs_words.data);
    printf("  samples       %s of %s\n", units_count(d->input.samples, a), units_seconds(step, b));
    printf("  DMs           %u from %g to %g (%s), %s\n", d->delays.ndms, d->dms[0],
           d->dms[d->delays.ndms - 1], d->plan_words.data, d->product.mode);
    if (d->what->is_two_step) {
        printf("  two steps     groups of %u channels, samples at most %u beside their delays, "
               "%.1f %% of the additions\n",
               d->steps.group, d->steps.error,
               100 * (double)d->steps.adds / ((double)d->delays.ndms * d->delays.nchannels));
    }
    printf("  delays        up to %u samples, %s, behind %s\n", d->delays.largest,
           units_seconds(d->delays.largest * step, a), units_hertz(d->reference_hz, b));
    printf("  backend       %s, %u threads on this machine\n", backend_name(d->backend),
           d->threads);
    printf("  chunks        %s of %s DMs x %s times", units_count(chunk_count(chunking), a),
           units_count(chunking->chunk_spectra, b), units_count(chunking->group_streams, c));
    if (d->block_outputs < chunking->group_streams) {
        printf(", in blocks of %s", units_count(d->block_outputs, a));
    }
    printf("\n  bytes in      %s", units_bytes(d->fbh5->rows * fbh5_row_bytes(d->fbh5), a));
    printf(" (%s read, with the chunks' overlap of up to %s samples)\n",
           units_bytes(d->read_bytes, a), units_count(d->delays.largest, b));
    printf("  memory        %s a rank", units_bytes(d->memory_bytes, a));
    printf(" (run.memory: %s)\n", units_bytes(d->job->memory, a));
    printf("  %s: dedispersed, %u DMs x %s times, %s\n", d->what->file, d->delays.ndms,
           units_count(d->outputs, a),
           units_bytes(d->outputs * (d->delays.ndms * sizeof(float) + 8), b));
}

/* Plans one dedispersion: of what `work` makes, or (NULL) of the job's file. */
static status_t plan_dedispersion(const struct job *job, uint32_t number, const struct work *work,
                                  int force)
{
    status_t st = STATUS_OK;
    const struct job_dedisperse *what = &job->dedisperse[number];
    struct fbh5 *fbh5 = NULL;
    struct dedispersion *plan = NULL;
    struct making making = {0};
    if (work) {
        TRY(dedispersion_foresee(work, what->input, &fbh5));
    } else {
        TRY(fbh5_open(job->files[0], &fbh5));
        TRY(fbh5_load_band(fbh5));
    }
    TRY(dedispersion_create(job, number, fbh5, backend_settle(what->backend), work_threads(job, 1),
                            NULL, &plan));
    TRY(dedispersion_making(job, number, fbh5->path, &making));
    TRY(outputs_check(&making, force));
    print_dedispersion(plan);
out:
    making_free(&making);
    dedispersion_destroy(plan);
    fbh5_destroy(fbh5);
    return st;
}

static status_t print_notes(const struct work *work)
{
    status_t st = STATUS_OK;
    struct text notes = {0};
    TRY(work_notes(work, &notes));
    if (notes.length > 0) {
        printf("notes\n");
    }
    for (const char *line = notes.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        printf("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
out:
    text_free(&notes);
    return st;
}

/* Plans the filter bank; *out is its work, for the dedispersions of what it makes. */
static status_t plan_channelise(const struct job *job, const struct archive *archive, int force,
                                struct work **out)
{
    status_t st = STATUS_OK;
    struct work *work = NULL;
    struct making making = {0};
    TRY(work_create(job, archive, backend_settle(job->backend), work_threads(job, 1), NULL, &work));
    TRY(making_of_products(job, archive, &making));
    TRY(outputs_check(&making, force));
    TRY(run_check_dedispersions(work));
    words_archive(archive);
    print_work(work);
    TRY(print_filter(work));
    print_run(work);
    TRY(print_products(work));
    TRY(print_notes(work));
    *out = work;
    work = NULL;
out:
    making_free(&making);
    work_destroy(work);
    return st;
}

status_t cli_plan_job(const char *path, const char *const *sets, uint32_t nsets, int force)
{
    status_t st = STATUS_OK;
    struct job *job = NULL;
    struct archive *archive = NULL;
    struct work *work = NULL;
    TRY(job_load(path, sets, nsets, &job));
    if (job->channels > 0) {
        TRY(archive_open(job, &archive));
        TRY(plan_channelise(job, archive, force, &work));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(plan_dedispersion(job, i, work, force));
    }
out:
    work_destroy(work);
    archive_destroy(archive);
    job_destroy(job);
    return st;
}

status_t cli_plan(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct options options;
    TRY(options_read(argc, argv, OPTION_SET | OPTION_FORCE, "job file", &options));
    if (options.help) {
        fputs(help, stdout);
        goto out;
    }
    TRY(cli_plan_job(options.operand, options.sets, options.nsets, options.force));
out:
    options_free(&options);
    return st;
}
