/* voltmill: the table of subcommands. */
#include "cli/cli.h"
#include "cli/start.h"
#include "io/apart/apart.h"
#include "io/apart/launch.h"
#include "io/hdf5/h5.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    status_t (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"run", cli_run, "grind an archive into products, as a job file says"},
    {"plan", cli_plan, "say what `run` would do: sizes, memory, the filter's report"},
    {"info", cli_info, "describe an archive or a product, or list compute devices"},
    {"status", cli_status, "say how far a product is, and whether a run is at work"},
    {"verify", cli_verify, "recompute a product with the reference and compare"},
    {"export", cli_export, "write a product as SIGPROC or PRESTO read it: .fil, .dat, .tim"},
    {"synth", cli_synth, "write a synthetic observation"},
    {"tune", cli_tune, "find the fastest kernels for this device, and keep them"},
    {"bench", cli_bench, "time the filter bank on this machine, and check it"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void main_print_help(void)
{
    puts("Usage: voltmill COMMAND [OPTION]... FILE\n"
         "\n"
         "Grinds archived telescope voltages into spectra.\n");
    for (int i = 0; i < COMMANDS; i++) {
        printf("  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    puts("\nvoltmill COMMAND --help tells more; --version prints the version.");
}

/* Says what went wrong: before MPI ends, since a launcher kills all ranks as soon as one of them
 * has ended badly. */
static int main_end(status_t st)
{
    int has_begun = 0;
    MPI_Initialized(&has_begun);
    if (st != STATUS_OK) {
        report_print();
    }
    if (has_begun) {
        MPI_Finalize();
    }
    return (int)st;
}

/* All ranks have the same words. */
static status_t main_find_no_command(int argc, const char *name)
{
    int rank = 0;
    status_t st = report_fail(STATUS_USAGE,
                              argc > 1 ? "unknown command %s; see voltmill --help"
                                       : "expected a command%s; see voltmill --help",
                              name);
    return launch_is_used() ? start_all(st, &rank) : st;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        main_print_help();
        return STATUS_OK;
    }
    if (strcmp(name, "--version") == 0) {
        puts("voltmill " VOLTMILL_VERSION);
        return STATUS_OK;
    }
    h5_begin();
    if (strcmp(name, apart_word) == 0) {
        cli_serve(argc, argv);
    }
    apart_begin();
    /* A limit on the size of files then shows as an error of the write that meets it. */
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return main_end(commands[i].run(argc - 1, argv + 1));
        }
    }
    return main_end(main_find_no_command(argc, name));
}
