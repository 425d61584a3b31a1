/* voltmill import -o FILE INPUT... */
#include "run/import.h"

#include "cli/values.h"
#include "ranks/stop.h"

#include <mpi.h>

struct import_settings {
    struct shared shared;
    const char *output, *job;
};

#define AT(field) offsetof(struct import_settings, field)

static const struct option_row rows[] = {
    {"o,output", "FILE", value_text, AT(output), NULL, NULL, "the file to be made"},
    {.name = "layout"},
    {"job", "JOB", value_text, AT(job), NULL, NULL,
     "takes the input of this job: layout, select; files, if any are given here, instead of its "
     "own"},
    {"set", "KEY=VALUE", value_texts, SHARED(sets), NULL, NULL,
     "sets a key of the input, e.g. --set input.select.pols=0"},
    {.name = "force adopt progress"},
    {.name = NULL}};

static status_t import_check(void *settings)
{
    const struct import_settings *s = settings;
    REQUIRE(s->output, STATUS_USAGE,
            "import: expected -o FILE, the file to be made; see voltmill import --help");
    stop_hold(1);
    return STATUS_OK;
}

static status_t import_run_all(void *settings)
{
    const struct import_settings *s = settings;
    const struct import_options options = {.file = s->output,
                                           .inputs = s->shared.operands,
                                           .ninputs = s->shared.noperands,
                                           .job = s->job,
                                           .layout = s->shared.layout,
                                           .sets = s->shared.sets.items,
                                           .nsets = s->shared.sets.count,
                                           .force = s->shared.force,
                                           .progress = s->shared.progress};
    return import_all(MPI_COMM_WORLD, &options);
}

const struct command cli_import = {
    .name = "import",
    .summary = "write an archive into the native layout",
    .usage = "-o FILE [OPTION]... INPUT...\n-o FILE --job JOB [OPTION]... [INPUT]...",
    .about = "Writes the voltages of any archive that voltmill reads, of one file or many, into "
             "one file in the native layout (docs/archives.md), in one pass and without changing a "
             "number: integers stay integers, 4+4 bits stay packed, other bits become the numbers "
             "that voltmill reads them as. Frequencies, times, names, scale and missing_value are "
             "kept, and all that is missing stands in /gaps.\n"
             "The file is written as FILE.part and renamed when it is complete; a command that is "
             "stopped leaves nothing.",
    .operand = "input file",
    .takes_many = 1,
    .instead = "job",
    .ends = "h5|hdf5|raw|vdif|dada|dat|npy|sigmf-meta|sigmf|wav",
    .is_parallel = 1,
    .rows = rows,
    .bytes = sizeof(struct import_settings),
    .check = import_check,
    .run = import_run_all};
