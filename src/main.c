/* voltmill: the table of subcommands. */
#include "base/h5.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    status_t (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"run", cli_run, "grind an archive into products, as a job file says"},
    {"plan", cli_plan, "say what `run` would do: sizes, memory, the filter's report"},
    {"info", cli_info, "describe an archive or a product"},
    {"verify", cli_verify, "recompute a product with the reference and compare"},
    {"synth", cli_synth, "write a synthetic observation"},
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
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            status_t st = commands[i].run(argc - 1, argv + 1);
            if (st != STATUS_OK) {
                report_print();
            }
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
