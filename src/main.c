/* voltmill: the table of subcommands. */
#include "base/h5.h"
#include "cli/cli.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    status_t (*run)(int argc, char **argv);
    int is_parallel; /* begins MPI */
    const char *summary;
} commands[] = {
    {"run", cli_run, 1, "grind an archive into products, as a job file says"},
    {"plan", cli_plan, 0, "say what `run` would do: sizes, memory, the filter's report"},
    {"info", cli_info, 0, "describe an archive or a product, or list compute devices"},
    {"status", cli_status, 0, "say how far a product is, and whether a run is at work"},
    {"verify", cli_verify, 1, "recompute a product with the reference and compare"},
    {"export", cli_export, 0, "write a product as SIGPROC or PRESTO read it: .fil, .dat, .tim"},
    {"synth", cli_synth, 1, "write a synthetic observation"},
    {"tune", cli_tune, 0, "find the fastest kernels for this device, and keep them"},
    {"bench", cli_bench, 0, "time the filter bank on this machine, and check it"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    puts("Usage: voltmill COMMAND [OPTION]... FILE\n"
         "\n"
         "Grinds archived telescope voltages into spectra.\n");
    for (int i = 0; i < COMMANDS; i++) {
        printf("  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    puts("\nvoltmill COMMAND --help tells more; --version prints the version.");
}

/* Says what went wrong: on rank 0 alone, even if the others know it too, and before MPI ends, since
 * a launcher kills all ranks as soon as one of them has ended badly. */
static void end(status_t st, int is_parallel)
{
    int has_begun = 0;
    int rank = 0;
    MPI_Initialized(&has_begun);
    if (st != STATUS_OK && is_parallel && !has_begun) {
        MPI_Init(NULL, NULL);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        report_quiet(rank != 0);
        has_begun = 1;
    }
    if (st != STATUS_OK) {
        report_print();
    }
    if (has_begun) {
        MPI_Finalize();
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help();
        return STATUS_OK;
    }
    if (strcmp(name, "--version") == 0) {
        puts("voltmill " VOLTMILL_VERSION);
        return STATUS_OK;
    }
    h5_begin();
    /* A limit on the size of files then shows as an error of the write that meets it. */
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            status_t st = commands[i].run(argc - 1, argv + 1);
            end(st, commands[i].is_parallel);
            return (int)st;
        }
    }
    report_fail(STATUS_USAGE,
                argc > 1 ? "unknown command %s; see voltmill --help"
                         : "expected a command%s; see voltmill --help",
                name);
    report_print();
    return STATUS_USAGE;
}
