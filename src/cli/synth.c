/* voltmill synth SPEC */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/start.h"
#include "synth/synthesis.h"

#include <mpi.h>

static const char help[] =
    "Usage: voltmill synth [OPTION]... SPEC\n"
    "       mpirun -n N voltmill synth [OPTION]... SPEC\n"
    "\n"
    "Writes a synthetic observation in the native layout, as the YAML file SPEC says\n"
    "(docs/synth.md): noise, tones, a dispersed pulsar. The bytes do not depend on the ranks.\n"
    "\n"
    "  --set KEY=VALUE      sets a key of the specification, e.g. --set samples=1e9\n"
    "  --force              replaces the observation if it exists\n"
    "  --progress SECONDS   prints a line on stderr so often (default: one that is redrawn, if\n"
    "                       stderr is a terminal; under mpirun or srun a line every 30 s)\n"
    "  --help               prints this\n";

status_t cli_synth(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct options options;
    int rank = 0;
    st = options_read(argc, argv, OPTION_SET | OPTION_FORCE | OPTION_PROGRESS, "specification",
                      &options);
    if (st == STATUS_OK && options.help) {
        start_print_all(help);
        goto out;
    }
    TRY(start_all(st, &rank));
    struct synthesis_options synthesis = {options.operand, options.sets, options.nsets,
                                          options.force, options.progress};
    st = synthesis_all(MPI_COMM_WORLD, &synthesis);
out:
    options_free(&options);
    return st;
}
