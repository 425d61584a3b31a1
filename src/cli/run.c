/* voltmill run JOB */
#include "run/batch.h"

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/start.h"
#include "io/apart/apart.h"
#include "ranks/stop.h"
#include "tune/budget.h"

#include <mpi.h>

static const char help[] =
    "Usage: voltmill run [OPTION]... JOB\n"
    "       voltmill run --each PATTERN [OPTION]... JOB\n"
    "       mpirun -n N voltmill run [OPTION]... JOB\n"
    "\n"
    "Grinds the voltages of an archive into spectra, and power into dedispersed series, as the "
    "job\n"
    "file JOB says (docs/job-file.md).\n"
    "A product is written as FILE.part and renamed when it is complete. A run that was killed,\n"
    "stopped or failed leaves what it has done, and FILE.journal beside it: the same command goes "
    "on\n"
    "from there, on any number of ranks. SIGTERM, SIGINT and SIGUSR1, to any rank, stop a run "
    "within\n"
    "12 seconds; a second SIGINT at once. `voltmill status FILE` says how far a product is.\n"
    "\n"
    "  --set KEY=VALUE      sets a key of the job, e.g. --set channelise.taps=16\n"
    "  --force              replaces products that exist\n"
    "  --restart            begins anew, whatever an earlier run has left\n"
    "  --stall-timeout SECONDS\n"
    "                       fails when a rank does not get on for so long, its files or its "
    "device\n"
    "                       hang (default: 300; 0: never)\n"
    "  --each PATTERN       does the job for each file that matches, one after the other: it is "
    "the\n"
    "                       job's input, and its name without folder and ending stands for {name}\n"
    "                       in the job: file: \"out/{name}.h5\". What is complete is passed "
    "over.\n"
    "                       One pattern, which may match many files, in several folders, too\n"
    "  --keep-going         goes on with the next when one fails\n"
    "  --tune               before it begins, searches for the fastest way to do what the database "
    "of\n"
    "                       tuned kernels does not know yet (see `voltmill tune`)\n"
    "  --tune-budget SECONDS\n"
    "                       the same, for so long at most, all searches together (default: 60)\n"
    "  --database FILE      of tuned kernels (default: tuned.txt in the cache folder)\n"
    "  --progress SECONDS   prints a line on stderr so often (default: one that is redrawn, if\n"
    "                       stderr is a terminal; under mpirun or srun a line every 30 s)\n"
    "  --dry-run            only prints what would be done, as `voltmill plan`\n"
    "  --help               prints this\n"
    "\n"
    "Exit status: 0 complete, 2 usage or job, 3 no space, 4 data or I/O, 5 device or memory,\n"
    "6 complete, but rows are NaN because their input could not be read (run.on_bad: nan),\n"
    "75 stopped: the same command goes on.\n";

static status_t run_read_options(int argc, char **argv, struct options *out)
{
    status_t st = STATUS_OK;
    TRY(options_read(argc, argv,
                     OPTION_SET | OPTION_FORCE | OPTION_RESTART | OPTION_STALL | OPTION_PROGRESS |
                         OPTION_DRY_RUN | OPTION_EACH | OPTION_GOING | OPTION_TUNE | OPTION_BUDGET |
                         OPTION_DATABASE,
                     "job file", out));
    REQUIRE(out->help || !out->each || !out->dry_run, STATUS_USAGE,
            "run: --each does not go with --dry-run: plan one of the files");
out:
    return st;
}

status_t cli_run(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct options options;
    int rank = 0;
    st = run_read_options(argc, argv, &options);
    if (st == STATUS_OK && options.help) {
        start_print_all(help);
        goto out;
    }
    stop_begin(0); /* to begin may take long */
    if (st == STATUS_OK && options.stall >= 0) {
        apart_limit(options.stall);
    }
    TRY(start_all(st, &rank));
    if (options.dry_run) {
        st = rank == 0 ? cli_plan_job(&options) : STATUS_OK;
        goto out;
    }
    struct tune_budget budget = {.seconds = options.budget, .is_stopped = stop_wanted};
    struct run_options run = {.path = options.operand,
                              .sets = options.sets,
                              .nsets = options.nsets,
                              .force = options.force,
                              .restart = options.restart,
                              .patience = options.stall,
                              .database = options.database,
                              .tune = options.tune ? &budget : NULL,
                              .progress = options.progress};
    st = options.each ? batch_run_all(MPI_COMM_WORLD, &run, options.each, options.keep_going)
                      : run_job_all(MPI_COMM_WORLD, &run);
out:
    options_free(&options);
    return st;
}
