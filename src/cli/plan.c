/* voltmill plan JOB */
#include "cli/options/values.h"
#include "cli/print/plan_job.h"

static status_t plan_run(void *settings)
{
    const struct shared *options = settings;
    const struct run_options run = {.path = options->operand,
                                    .sets = options->sets.items,
                                    .nsets = options->sets.count,
                                    .force = options->force,
                                    .restart = options->restart};
    return plan_job_print(&run);
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
