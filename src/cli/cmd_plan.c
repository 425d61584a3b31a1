/* voltmill plan JOB: its options, and the plan as JSON (plan_job.c prints it in words). */
#include "cli/describe.h"
#include "cli/elsewhere.h"
#include "cli/plan_job.h"
#include "cli/values.h"
#include "dsp/fir/filter_report.h"
#include "io/folder.h"
#include "plan/budget.h"
#include "run/batch.h"

#include <math.h>

struct plan_settings {
    struct shared shared;
    struct option_texts each; /* at most one */
    const char *list;         /* NULL: not given */
    int json;
};

/* Finds the observations of --each or --list, and checks their outputs as a run does; the first of
 * them is planned. */
static status_t plan_find_first(const struct plan_settings *s, struct observations *all,
                                struct run_options *run)
{
    const char *each = s->each.count > 0 ? s->each.items[0] : NULL;
    REQUIRE(s->each.count < 2, STATUS_USAGE, "plan: --each is given twice, %s and %s", each,
            s->each.items[1]);
    REQUIRE(!each || !s->list, STATUS_USAGE, "plan: either --each or --list, not both");
    if (each || s->list) {
        TRY(observations_find(each, s->list, 0, &all->texts));
        TRY(observations_index(all));
        TRY(batch_check(run, &(struct batch_choice){.parts = 1}, all));
        run->each = &all->items[0];
        report_note("of %s, %s is planned", units_number(all->count, "observation", "observations"),
                    run->each->files);
    }
    return STATUS_OK;
}

static void json_plan_pass(struct json *json, const struct pass *pass,
                           const struct chunking *chunking)
{
    struct rate rate = pass_expect(pass);
    json_u64(json, "chunks", chunk_count(chunking));
    json_u64(json, "chunks_done", pass->before);
    json_bool(json, "is_begun", pass->begun.is_begun);
    json_f64(json, "expected_s", rate.seconds > 0 ? rate.seconds : NAN);
    json_u64(json, "expected_ranks", rate.ranks);
    json_u64(json, "expected_threads_of_a_rank", rate.threads);
}

static void json_plan_synthesis(struct json *json, const struct channelise_plan *work)
{
    const struct synthesis_plan *plan = work->filters ? work->filters->synthesis : NULL;
    if (!plan) {
        return;
    }
    json_begin(json, "synthesis");
    json_u64(json, "channels", plan->bank.channels);
    json_u64(json, "points", plan->bank.points);
    json_u64(json, "samples_a_spectrum", plan->bank.hop);
    json_u64(json, "taps", plan->spec.taps);
    json_u64(json, "prototype_taps", plan->bank_taps);
    json_f64(json, "error_db", plan->error_db);
    json_f64(json, "noise", plan->noise);
    json_u64(json, "reach_spectra", (uint64_t)plan->base.reach.length);
    json_u64(json, "samples", plan->base.seen.samples);
    json_bool(json, "is_complex", plan->base.seen.is_complex);
    json_f64(json, "sample_rate_hz", plan->base.seen.sample_rate_hz);
    json_end(json);
}

static void json_plan_filters(struct json *json, const struct channelise_plan *work)
{
    json_plan_synthesis(json, work);
    json_list(json, "filters");
    for (uint32_t i = 0; i < work->job->nfilters; i++) {
        const struct filter_plan_stage *stage = &work->filters->stages[i];
        const struct filter_shape *shape = &stage->spec.choice.shape;
        json_begin(json, NULL);
        json_u64(json, "taps", stage->spec.taps);
        json_text(json, "method", filter_method_name((enum filter_method)shape->method));
        json_u64(json, "transform_samples",
                 shape->method == FILTER_OVERLAP_SAVE ? shape->length : 0);
        json_u64(json, "decimate", stage->spec.decimate);
        json_u64(json, "samples", stage->base.seen.samples);
        json_bool(json, "is_complex", stage->base.seen.is_complex);
        json_f64(json, "sample_rate_hz", stage->base.seen.sample_rate_hz);
        json_f64(json, "delay_samples", stage->delay);
        json_end(json);
    }
    json_list_end(json);
}

static status_t json_plan_oversampled(struct json *json, const struct channelise_plan_bank *bank,
                                      double channel_hz)
{
    struct filter_report_oversampled report;
    double rate = (double)bank->samples_per_spectrum / (double)bank->hop;
    json_u64(json, "samples_between_spectra", bank->hop);
    if (bank->hop == bank->samples_per_spectrum) {
        return STATUS_OK;
    }
    TRY(filter_report_oversampled(bank->coeff, bank->channelise.taps,
                                  (uint32_t)bank->samples_per_spectrum, rate, &report));
    json_u64(json, "oversampling_num", bank->job->oversample.num);
    json_u64(json, "oversampling_den", bank->job->oversample.den);
    json_f64(json, "channel_width_hz", rate * channel_hz);
    json_f64(json, "kept_ripple_db", report.ripple_db);
    json_f64(json, "aliasing_db", report.alias_db);
    return STATUS_OK;
}

static status_t json_plan_bank(struct json *json, const struct channelise_plan *work, uint32_t i)
{
    const struct channelise_plan_bank *bank = &work->banks[i];
    struct filter_report report;
    char window[UNITS_TEXT];
    TRY(filter_report_make(bank->coeff, bank->channelise.taps, (uint32_t)bank->samples_per_spectrum,
                           &report));
    json_begin(json, NULL);
    json_text(json, "name", bank->job->name);
    json_u64(json, "channels", bank->channelise.channels);
    json_u64(json, "channels_kept", bank->channelise.nchannels);
    json_f64(json, "channel_hz", plan_channel_hz(work, i));
    json_u64(json, "taps", bank->channelise.taps);
    json_text(json, "window",
              bank->job->has_window || !bank->job->is_oversampled
                  ? bank->job->window.text
                  : bank_prototype_window(&bank->prototype, window));
    json_f64(json, "cutoff", bank->prototype.window == WINDOW_FILE ? NAN : bank->prototype.cutoff);
    json_text(json, "normalise", normalise_name(bank->job->normalise));
    json_text(json, "order", order_name(bank->job->order));
    json_u64(json, "raw_spectra", bank->raw_spectra);
    json_u64(json, "spectra", bank->spectra);
    json_u64(json, "samples_per_spectrum", bank->samples_per_spectrum);
    json_f64(json, "ripple_db", report.ripple_db);
    json_f64(json, "width_3db_channels", report.width_3db);
    json_f64(json, "width_6db_channels", report.width_6db);
    json_f64(json, "scalloping_db", report.scalloping_db);
    json_f64(json, "rejection_db", report.adjacent_db);
    json_f64(json, "rejection_beyond_db", report.beyond_db);
    json_f64(json, "noise_width_channels", report.noise_width);
    TRY(json_plan_oversampled(json, bank, plan_channel_hz(work, i)));
    json_end(json);
    return STATUS_OK;
}

static void json_plan_product(struct json *json, const struct channelise_pass *bank, uint32_t i)
{
    const struct channelise_plan *work = bank->work;
    const struct product_spec *spec = &work->products[i].spec;
    json_begin(json, NULL);
    json_text(json, "file", work->job->products[i].file);
    json_text(json, "kind", product_name(spec->kind));
    json_text(json, "format", file_format_name(work->job->products[i].format));
    json_bool(json, "is_complete", bank->pass.is_complete);
    json_u64(json, "rows", spec->rows);
    json_u64(json, "streams", work->archive->nstreams);
    if (work->is_bank) {
        json_u64(json, "bank", work->job->products[i].bank);
        json_u64(json, "channels", spec->bank.nchannels);
        json_u64(json, "pols", spec->nifs);
        json_u64(json, "ifs", spec->nifs); /* its older name */
        json_u64(json, "first_frequency", spec->first_frequency);
        json_u64(json, "frequencies", spec->frequencies);
        json_u64(json, "average", spec->average);
        json_u64(json, "integrate", spec->integrate);
        json_f64(json, "time_step_s", product_time(spec).step);
    } else {
        json_u64(json, "bits", spec->steps.bits);
        json_f64(json, "scale", spec->scale);
    }
    json_u64(json, "bytes", bank->pass.bytes[i]);
    json_end(json);
}

static void json_plan_memory(struct json *json, enum backend_kind backend, uint64_t bytes)
{
    const uint64_t less = backend_abilities(backend)->has_device ? BUDGET_COMPILER_BYTES : 0;
    json_u64(json, "memory_bytes", bytes);
    json_u64(json, "memory_compiled_bytes", bytes - less);
}

/* Describes a filter bank's pass. The notes are the lines that users see. */
static status_t json_plan_channelise(struct json *json, const struct channelise_pass *bank)
{
    const struct channelise_plan *work = bank->work;
    SCOPED(text_free) struct text notes = {0};
    json_begin(json, "archive");
    json_archive(json, bank->archive);
    TRY(elsewhere_of_archive(bank->archive, json));
    json_end(json);
    json_plan_filters(json, work);
    json_list(json, "filter_banks");
    for (uint32_t i = 0; i < work->nbanks && work->is_bank; i++) {
        TRY(json_plan_bank(json, work, i));
    }
    json_list_end(json);
    json_begin(json, "run");
    json_text(json, "backend", backend_name(work->backend));
    json_u64(json, "threads_of_a_rank", work->threads);
    json_plan_pass(json, &bank->pass, &work->chunking);
    json_u64(json, "unit_samples", channelise_plan_unit(work));
    json_u64(json, "spectra", work->chunking.spectra);
    json_u64(json, "chunk_spectra", work->chunking.chunk_spectra);
    json_u64(json, "chunk_streams", work->chunking.group_streams);
    json_u64(json, "block_spectra", work->chunking.block_spectra);
    json_u64(json, "input_bytes", work->input_bytes);
    json_u64(json, "read_bytes", work->read_bytes);
    json_plan_memory(json, work->backend, work->memory_bytes);
    json_u64(json, "memory_limit_bytes", work->job->memory);
    json_bool(json, "memory_is_auto", work->job->is_memory_auto);
    json_end(json);
    json_list(json, "products");
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        json_plan_product(json, bank, i);
    }
    json_list_end(json);
    TRY(channelise_plan_notes(work, &notes));
    json_lines(json, "notes", notes.data);
    return STATUS_OK;
}

static void json_plan_series(struct json *json, const struct dedisperse_pass *series)
{
    const struct dedisperse_plan *d = series->plan;
    json_begin(json, NULL);
    json_text(json, "file", d->what->file);
    json_text(json, "candidates", d->what->search.file);
    json_text(json, "candidates_csv", d->what->search.csv);
    json_text(json, "filterbank", d->fbh5->path);
    json_bool(json, "is_complete", series->pass.is_complete);
    json_u64(json, "dms", d->delays.ndms);
    json_f64(json, "first_dm_pc_cm3", d->each.dms[0]);
    json_f64(json, "last_dm_pc_cm3", d->each.dms[d->delays.ndms - 1]);
    json_u64(json, "times", d->outputs);
    json_f64(json, "time_step_s", d->product.time.step);
    json_text(json, "mode", job_modes[d->what->mode]);
    if (d->tree.gain > 0) {
        json_f64(json, "tree_gain", d->tree.gain);
        json_u64(json, "tree_group_channels", d->tree.group);
    }
    json_u64(json, "largest_delay_samples", d->delays.largest);
    json_f64(json, "reference_hz", d->reference_hz);
    json_text(json, "backend", backend_name(d->backend));
    json_u64(json, "threads_of_a_rank", d->threads);
    json_plan_pass(json, &series->pass, &d->chunking);
    json_u64(json, "read_bytes", d->read_bytes);
    json_plan_memory(json, d->backend, d->memory_bytes);
    json_u64(json, "bytes", d->what->file ? series->pass.bytes[0] : 0);
    json_u64(json, "candidates_bytes",
             d->what->search.file ? series->pass.bytes[series->pass.making.count - 1] : 0);
    json_end(json);
}

/* Files that are complete, and stay. */
static void json_plan_complete(struct json *json, const struct job *job, const struct resume *left)
{
    json_list(json, "complete");
    for (uint32_t i = 0; i < job->nproducts && left->channelise; i++) {
        json_text(json, NULL, job->products[i].file);
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (left->dedisperse[i]) {
            json_text(json, NULL, job_series_name(&job->dedisperse[i]));
        }
    }
    json_list_end(json);
}

static void json_plan_grid(struct json *json, const struct grid *grid)
{
    json_list(json, "coherent_parts");
    for (uint32_t i = 0; grid && i < grid->count; i++) {
        const struct grid_part *part = &grid->parts[i];
        json_begin(json, NULL);
        json_f64(json, "coherent_dm_pc_cm3", part->coherent_dm);
        json_text(json, "power", part->job->products[0].file);
        json_text(json, "series", part->job->dedisperse[0].file);
        json_u64(json, "dms", part->count);
        json_bool(json, "is_complete", part->left.dedisperse[0]);
        json_end(json);
    }
    json_list_end(json);
}

static status_t json_plan_room(struct json *json, const struct room *room)
{
    json_list(json, "files_to_write");
    for (uint32_t i = 0; i < room->count; i++) {
        uint64_t bytes = 0;
        uint64_t left = 0;
        int is_first = 0;
        int is_there = 0;
        TRY(room_sum(room, i, &bytes, &left, &is_first));
        TRY(folder_check(room->needs[i].path, &is_there));
        json_begin(json, NULL);
        json_text(json, "path", room->needs[i].path);
        json_u64(json, "bytes", room->needs[i].bytes);
        json_bool(json, "folder_will_be_made", !is_there);
        json_u64(json, "bytes_on_its_file_system", bytes);
        json_u64(json, "free_bytes", left);
        json_end(json);
    }
    json_list_end(json);
    return STATUS_OK;
}

static status_t json_plan_job(struct json *json, const struct run_plan *plan)
{
    const struct job *job = plan->part ? plan->part->job : plan->begun.job;
    const struct resume *left = plan->part ? &plan->part->left : &plan->begun.left;
    json_begin(json, NULL);
    json_plan_complete(json, job, left);
    json_plan_grid(json, plan->grid);
    TRY(plan->bank.work ? json_plan_channelise(json, &plan->bank) : STATUS_OK);
    json_list(json, "dedispersions");
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (plan->series[i].plan) {
            json_plan_series(json, &plan->series[i]);
        }
    }
    if (plan->grid) {
        json_plan_series(json, &plan->merge);
    }
    json_list_end(json);
    TRY(json_plan_room(json, &plan->room));
    json_end(json);
    return STATUS_OK;
}

/* Prints the plan as a JSON object: keys in docs/json.md. */
static status_t plan_job_write(const struct run_plan *plan)
{
    SCOPED(json_free) struct json json = {.depth = 0};
    TRY(json_plan_job(&json, plan));
    return json_print(&json);
}

static status_t plan_run(void *settings)
{
    const struct plan_settings *s = settings;
    SCOPED(text_free) struct text given = {0};
    struct run_options run;
    SCOPED(observations_free) struct observations all = {0};
    TRY(plan_job_take(&s->shared, s->list, &given, &run));
    TRY(plan_find_first(s, &all, &run));
    return plan_job_show(&run, s->json ? plan_job_write : plan_job_print);
}

static const struct option_row rows[] = {
    {.name = "set stall-timeout"},
    {"force", FLAG(SHARED(force)), "as if products that exist were to be replaced"},
    {"restart", FLAG(SHARED(restart)),
     "as if it began anew and discarded what an earlier run has left"},
    {"adopt", FLAG(SHARED(adopt)),
     "as if unfinished files that another user has left were taken over"},
    {"each", "PATTERN", value_texts, offsetof(struct plan_settings, each), NULL, NULL,
     "plans the first of the observations that match, as `voltmill run --each` would process it"},
    {"list", "FILE", value_text, offsetof(struct plan_settings, list), NULL, NULL,
     "the same for the first line of FILE (-: of standard input)"},
    {"json", FLAG(offsetof(struct plan_settings, json)), "prints it as a JSON object"},
    {.name = NULL}};

const struct command cli_plan = {
    .only_prints = 1,
    .name = "plan",
    .summary = "print what `run` would do: sizes, memory, the filter's response",
    .usage = "[OPTION]... JOB\n--set KEY=VALUE... [OPTION]...\n--each PATTERN [OPTION]... JOB",
    .about = "Prints what `voltmill run JOB` would do, and checks that it can: files, streams, "
             "samples, chunks, bytes in and out, memory of a rank, free space, the filter's "
             "response to a tone, what is complete, where a run would resume, and files in other "
             "folders to which the archive refers. Writes nothing.",
    .operand = "job file",
    .ends = "yaml",
    .without = "set",
    .rows = rows,
    .bytes = sizeof(struct plan_settings),
    .run = plan_run};
