/* voltmill job --schema */
#include "cli/values.h"
#include "job/job_schema.h"

struct job_settings {
    struct shared shared;
    int schema;
};

static const struct option_row rows[] = {{"schema", FLAG(offsetof(struct job_settings, schema)),
                                          "prints a JSON Schema (draft 2020-12) of job files"},
                                         {.name = NULL}};

static status_t job_file_check(void *settings)
{
    return REQUIRED(options_first(settings, "schema"), STATUS_USAGE, "job: expected --schema");
}

static status_t job_file_run(void *settings)
{
    struct json json = {0};
    (void)settings;
    json_begin(&json, NULL);
    json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_text(&json, "title", "voltmill job file");
    json_text(&json, "type", "object");
    schema_json(job_schema, JOB_ALL, &json);
    json_end(&json);
    return json_print(&json);
}

const struct command cli_job = {
    .only_prints = 1,
    .name = "job",
    .summary = "describe the keys of a job file",
    .usage = "--schema",
    .about = "Prints every key of a job file (docs/job-file.md) with its meaning, range and "
             "default, for editors that check and complete YAML and for other programs.",
    .rows = rows,
    .bytes = sizeof(struct job_settings),
    .check = job_file_check,
    .run = job_file_run};
