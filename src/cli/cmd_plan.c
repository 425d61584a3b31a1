/* voltmill plan JOB */
#include "cli/plan_job.h"
#include "cli/values.h"
#include "run/observations.h"

struct plan_settings {
    struct shared shared;
    struct option_texts each; /* at most one */
    const char *list;         /* NULL: not given */
    int json;
};

/* Finds the observations of --each or --list; the first of them is planned. */
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
        run->each = &all->items[0];
        report_note("of %s, %s is planned", units_number(all->count, "observation", "observations"),
                    run->each->files);
    }
    return STATUS_OK;
}

static status_t plan_run(void *settings)
{
    status_t st = STATUS_OK;
    const struct plan_settings *s = settings;
    struct text given = {0};
    struct run_options run;
    struct observations all = {0};
    TRY_OUT(plan_job_take(&s->shared, &given, &run));
    TRY_OUT(plan_find_first(s, &all, &run));
    TRY_OUT(s->json ? plan_job_write(&run) : plan_job_print(&run));
out:
    observations_free(&all);
    text_free(&given);
    return st;
}

static const struct option_row rows[] = {
    {.name = "set"},
    {"force", FLAG(SHARED(force)), "as if products that exist were to be replaced"},
    {"restart", FLAG(SHARED(restart)), "as if what an earlier run has left were to be begun anew"},
    {"adopt", FLAG(SHARED(adopt)),
     "as if unfinished files that another user has left were taken over"},
    {"each", "PATTERN", value_texts, offsetof(struct plan_settings, each), NULL, NULL,
     "plans the first of the observations that match, as `voltmill run --each` would process it"},
    {"list", "FILE", value_text, offsetof(struct plan_settings, list), NULL, NULL,
     "the same for the first line of FILE (-: of standard input)"},
    {"json", FLAG(offsetof(struct plan_settings, json)), "says it as a JSON object"},
    {.name = NULL}};

const struct command cli_plan = {
    .only_prints = 1,
    .name = "plan",
    .summary = "say what `run` would do: sizes, memory, the filter's report",
    .usage = "[OPTION]... JOB\n--set KEY=VALUE... [OPTION]...\n--each PATTERN [OPTION]... JOB",
    .about = "Says what `voltmill run JOB` would do, and checks that it can: files, streams, "
             "samples, chunks, bytes in and out, memory a rank, free space, what the filter does "
             "to a tone, what is complete and where a run would go on, and which files the archive "
             "leads to in other folders. Writes nothing.",
    .operand = "job file",
    .ends = "yaml",
    .without = "set",
    .rows = rows,
    .bytes = sizeof(struct plan_settings),
    .run = plan_run};
