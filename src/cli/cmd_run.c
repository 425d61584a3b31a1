/* voltmill run JOB */
#include "run/batch.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/plan_job.h"
#include "cli/values.h"
#include "io/apart.h"
#include "plot/plot.h"
#include "ranks/agree.h"
#include "ranks/stop.h"

#include <inttypes.h>

struct run_settings {
    struct shared shared;
    struct option_texts each;
    const char *list;
    uint32_t part[2]; /* number from 1 on, and count */
    int keep_going, dry_run, tune;
    const char *report;
    double budget; /* seconds */
};

#define AT(field) offsetof(struct run_settings, field)

/* "3/16" */
static int run_read_part(const struct option_row *row, const char *text, void *field)
{
    uint32_t *part = field;
    uint64_t number[2] = {0};
    char end = '\0';
    (void)row;
    int found = sscanf(text, "%" SCNu64 "/%" SCNu64 "%c", &number[0], &number[1], &end);
    part[0] = (uint32_t)number[0];
    part[1] = (uint32_t)number[1];
    return found == 2 && strspn(text, "0123456789/") == strlen(text) && number[0] >= 1 &&
           number[0] <= number[1] && number[1] <= UINT32_MAX;
}

static const struct option_row rows[] = {
    {.name = "set force restart adopt stall-timeout"},
    {"each", "PATTERN", value_texts, AT(each), NULL, NULL,
     "runs the job on each observation that matches, one after the other. {name} in the job is the "
     "observation's name without folder and ending: file: \"out/{name}.h5\". Files of a sequence "
     "are one observation: x.0000.raw and x.0001.raw, the components of LOFAR, a channel of "
     "Digital RF. Two observations that would make the same file are refused. Complete ones are "
     "skipped; a table at the end shows the state of each. One pattern may match many files in "
     "several folders"},
    {"list", "FILE", value_text, AT(list), NULL, NULL,
     "the same for each line of FILE (-: of standard input): a file, a folder or a pattern"},
    {"part", "I/N", run_read_part, AT(part), "a number I from 1 to N, such as 3/16", NULL,
     "with --each or --list: only observations I, I+N, I+2N, ..., as one of N commands that share "
     "them, such as the elements of a job array"},
    {"keep-going", FLAG(AT(keep_going)), "continues with the next when one fails"},
    {"tune", FLAG(AT(tune)),
     "first searches for the fastest configuration of kernels that are not in the database yet "
     "(see `voltmill tune`)"},
    {"tune-budget", "SECONDS", value_positive, AT(budget), "seconds, more than 0", "60",
     "the same, with a limit for the time of all searches together"},
    {.name = "database progress"},
    {"report", "FILE", value_text, AT(report), NULL, NULL,
     "when the products are complete, writes a page (HTML, one file) about them: what ran, how "
     "fast, what is missing, the filter, and pictures of each product, if Python has matplotlib. "
     "An earlier report is replaced"},
    {"dry-run", FLAG(AT(dry_run)), "only prints what would be done, as `voltmill plan`"},
    {.name = NULL}};

static status_t run_check(void *settings)
{
    struct run_settings *s = settings;
    const char *const *each = s->each.items;
    REQUIRE(
        s->each.count < 2, STATUS_USAGE,
        "run: --each is given twice, %s and %s: it takes one pattern, which may match many files",
        each[0], each[1]);
    REQUIRE(s->each.count == 0 || !s->list, STATUS_USAGE, "run: either --each or --list, not both");
    int is_batch = s->each.count > 0 || s->list;
    REQUIRE(is_batch || !s->part[1], STATUS_USAGE, "run: --part is for --each and --list");
    REQUIRE(!is_batch || !s->dry_run, STATUS_USAGE,
            "run: --%s does not go with --dry-run: `voltmill plan --%s` plans the first",
            s->list ? "list" : "each", s->list ? "list" : "each");
    REQUIRE(!s->report || (!is_batch && !s->dry_run), STATUS_USAGE,
            "run: --report is of one run: it goes neither with --each nor with --dry-run");
    stop_hold(1);
    return STATUS_OK;
}

/* The run, and its page. NaN rows stay what the run ended with. */
static status_t run_reported_all(const struct run_settings *s, struct run_options *run)
{
    status_t st = STATUS_OK;
    char *holes = NULL;
    int rank = s->shared.rank;
    struct report_run about = {.path = s->report,
                               .job = run->path,
                               .given = run->given,
                               .sets = run->sets,
                               .nsets = run->nsets,
                               .ranks = s->shared.ranks,
                               .began = time(NULL),
                               .force = run->force,
                               .patience = run->patience < 0 ? CLOCK_STALL : run->patience};
    double begun = clock_now();
    run->report = s->report;
    TRY_OUT(agree_all(MPI_COMM_WORLD, rank == 0 ? report_begin(&about) : STATUS_OK));
    st = run_job_all(MPI_COMM_WORLD, run);
    about.seconds = clock_now() - begun;
    if (st == STATUS_HOLES) {
        st = memory_text(report_cause(), &holes);
        report_clear();
        about.holes = holes;
    }
    TRY_OUT(st);
    TRY_OUT(agree_all(MPI_COMM_WORLD, rank == 0 ? report_write(&about) : STATUS_OK));
    REQUIRE_OUT(!holes, STATUS_HOLES, "%s", holes);
out:
    report_end();
    free(holes);
    return st;
}

static status_t run_run_all(void *settings)
{
    const struct run_settings *s = settings;
    SCOPED(text_free) struct text given = {0};
    struct run_options run;
    TRY(agree_all(MPI_COMM_WORLD, plan_job_take(&s->shared, s->list, &given, &run)));
    if (s->dry_run) {
        return s->shared.rank == 0 ? plan_job_show(&run, plan_job_print) : STATUS_OK;
    }
    struct tune_budget budget = {.seconds = s->budget, .is_stopped = stop_wanted};
    run.patience = options_first(s, "stall-timeout") ? s->shared.stall : -1;
    run.database = s->shared.database;
    run.tune = options_first(s, "tune tune-budget") ? &budget : NULL;
    run.progress = s->shared.progress;
    const struct batch_choice choice = {.pattern = s->each.count ? s->each.items[0] : NULL,
                                        .list = s->list,
                                        .part = s->part[1] ? s->part[0] - 1 : 0,
                                        .parts = s->part[1] ? s->part[1] : 1,
                                        .keep_going = s->keep_going};
    return choice.pattern || choice.list ? batch_run_all(MPI_COMM_WORLD, &run, &choice)
           : s->report                   ? run_reported_all(s, &run)
                                         : run_job_all(MPI_COMM_WORLD, &run);
}

const struct command cli_run = {
    .name = "run",
    .summary = "process an archive into products, as a job file says",
    .usage = "[OPTION]... JOB\n--set KEY=VALUE... [OPTION]...\n--each PATTERN [OPTION]... JOB\n"
             "--list FILE [OPTION]... JOB",
    .about = "Computes spectra from the voltages of an archive, and dedispersed series from power, "
             "as the job file JOB says (docs/job-file.md); - is standard input. Without JOB, "
             "options --set are the job.\nA product is written as FILE.part and renamed when it is "
             "complete. A run that was killed, stopped or failed leaves what it has done, and "
             "FILE.journal beside it: the same command resumes it, on any number of ranks. "
             "SIGTERM, SIGINT (Ctrl-C) and SIGHUP (a lost connection; not under `nohup`), sent to "
             "any rank, discard unfinished chunks and stop a run within 0.8 seconds; SIGUSR1, a "
             "batch system's warning, allows 8 seconds to finish them; a second SIGINT ends it at "
             "once. `mpirun` may forward signals a second late. `voltmill status FILE` reports a "
             "product's progress.",
    .ending = "Exit status: 0 complete, 2 usage or job, 3 no space, 4 data or I/O, 5 device or "
              "memory, 6 complete, but rows are NaN because their input could not be read "
              "(run.on_bad: nan), 75 stopped: the same command resumes it.",
    .operand = "job file",
    .ends = "yaml",
    .without = "set",
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct run_settings),
    .check = run_check,
    .run = run_run_all};
