/* Prints a planned job, one pass after the other, and the room that its files need. */
#include "cli/print/plan_job.h"

#include "base/display.h"
#include "base/text.h"
#include "base/units.h"
#include "io/folder/folder.h"

#include <inttypes.h>
#include <string.h>

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
