/* voltmill: the table of subcommands. Each is a file of cli/ with a `cli_NAME` in it. */
#include "cli/options/command.h"
#include "cli/serve.h"
#include "io/apart/apart.h"
#include "io/apart/launch.h"

#include <stddef.h>
#include <string.h>

#define COMMANDS(ROW)                                                                              \
    ROW(run)                                                                                       \
    ROW(plan)                                                                                      \
    ROW(info)                                                                                      \
    ROW(status)                                                                                    \
    ROW(verify)                                                                                    \
    ROW(export)                                                                                    \
    ROW(synth)                                                                                     \
    ROW(tune)                                                                                      \
    ROW(bench_ppf)                                                                                 \
    ROW(bench_dedisperse)                                                                          \
    ROW(bench_run)

#define DECLARE(name) extern const struct command cli_##name;
#define ADDRESS(name) &cli_##name,

COMMANDS(DECLARE)

static const struct command *const commands[] = {COMMANDS(ADDRESS) NULL};

int main(int argc, char **argv)
{
    launch_begin();
    if (argc > 1 && strcmp(argv[1], apart_word) == 0) {
        serve_parent(argc, argv);
    }
    apart_begin();
    return command_main(commands, argc, argv);
}
