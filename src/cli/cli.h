/* The subcommands. Each parses its own options and gives the exit status. */
#ifndef VOLTMILL_CLI_CLI_H
#define VOLTMILL_CLI_CLI_H

#include "base/status.h"

#include <stdint.h>

status_t cli_run(int argc, char **argv);
status_t cli_plan(int argc, char **argv);
status_t cli_info(int argc, char **argv);
status_t cli_status(int argc, char **argv);
status_t cli_verify(int argc, char **argv);
status_t cli_export(int argc, char **argv);
status_t cli_synth(int argc, char **argv);
status_t cli_bench(int argc, char **argv);
status_t cli_tune(int argc, char **argv);
/* `bench run`: argv[0] is "run". */
status_t cli_bench_run(int argc, char **argv);
/* `bench dedisperse`: argv[0] is "dedisperse". */
status_t cli_bench_dedisperse(int argc, char **argv);

/* Task "info" (io/apart/apart.h): describes the file of that path. */
struct unpack;
struct text;
status_t cli_answer_info(struct unpack *question, struct text *answer);

/* A process that works for another one of this program: what it can do. Never returns. */
_Noreturn void cli_serve(int argc, char **argv);

/* What `plan` and `run --dry-run` do. */
struct options;
status_t cli_plan_job(const struct options *options);

#endif
