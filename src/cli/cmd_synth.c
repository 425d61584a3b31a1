/* voltmill synth SPEC */
#include "synth/synthesis.h"

#include "cli/values.h"

#include <mpi.h>

static const struct option_row rows[] = {
    {"set", "KEY=VALUE", value_texts, SHARED(sets), NULL, NULL,
     "sets a key of the specification, e.g. --set samples=1e9"},
    {.name = "force adopt progress"},
    {.name = NULL}};

static status_t synth_run_all(void *settings)
{
    const struct shared *s = settings;
    struct synthesis_options options = {s->operand, s->sets.items, s->sets.count, s->force,
                                        s->progress};
    return synthesis_all(MPI_COMM_WORLD, &options);
}

const struct command cli_synth = {
    .name = "synth",
    .summary = "write a synthetic observation",
    .usage = "[OPTION]... SPEC",
    .about = "Writes a synthetic observation in the native layout, as the YAML file SPEC says "
             "(docs/synth.md): noise, tones, a dispersed pulsar, bursts. The bytes do not depend "
             "on the ranks.",
    .operand = "specification",
    .ends = "yaml",
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct shared),
    .run = synth_run_all};
