/* Prints a planned job, one pass after the other, and the room that its files need. */
#include "cli/print/plan_job.h"

#include "base/display.h"
#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>

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

static status_t plan_job_print_passes(const struct run_plan *plan)
{
    status_t st = STATUS_OK;
    const struct job *job = plan->begun.job;
    TRY(plan->bank.work ? plan_bank_print(&plan->bank) : STATUS_OK);
    for (uint32_t i = 0; i < job->nproducts && plan->begun.left.channelise; i++) {
        plan_job_print_complete(job->products[i].file);
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(plan->series[i].plan ? plan_series_print(&plan->series[i]) : STATUS_OK);
        if (plan->begun.left.dedisperse[i]) {
            plan_job_print_complete(job->dedisperse[i].file);
        }
    }
    TRY(plan_job_print_room(&plan->room));
out:
    return st;
}

status_t plan_job_print(const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct run_plan *plan = NULL;
    TRY(run_plan_create(options, &plan));
    TRY(plan_job_print_passes(plan));
    TRY(room_check(&plan->room));
out:
    run_plan_destroy(plan);
    return st;
}
