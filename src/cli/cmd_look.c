/* voltmill look FILE... */
#include "base/display.h"
#include "base/text.h"
#include "cli/values.h"
#include "plot/plot.h"

struct look_settings {
    struct shared shared;
    const char *output;
    int text, serve;
};

#define AT(field) offsetof(struct look_settings, field)

static const struct option_row rows[] = {
    {"o,output", "FILE", value_text, AT(output), NULL, NULL,
     "the picture, PNG or SVG by its ending (default: the file's name, ending in -look.png)"},
    {.name = "force external layout stall-timeout"},
    {"text", FLAG(AT(text)), "only the text, no picture"},
    {"serve", FLAG(AT(serve)),
     "neither text nor picture: sends numbers to the Python module over standard input, a socket"},
    {.name = NULL}};

static status_t look_run(void *settings)
{
    const struct look_settings *s = settings;
    SCOPED(text_free) struct text said = {0};
    const struct plot_options options = {
        .of = PLOT_LOOK,
        .files = s->shared.operands,
        .nfiles = s->shared.noperands,
        .output = s->output,
        .is_text = s->text || s->serve,
        .is_served = s->serve,
        .choice.external = {s->shared.externals.items, s->shared.externals.count},
        .choice.layout = s->shared.layout,
        .force = s->shared.force};
    REQUIRE(!s->output || !options.is_text, STATUS_USAGE,
            "look: -o is for a picture: neither --text nor --serve draws one");
    for (uint32_t i = 0; s->shared.layout && i < s->shared.noperands; i++) {
        REQUIRE(!text_ends(s->shared.operands[i], ".yaml"), STATUS_USAGE,
                "look: --layout describes files, %s is a job with an input.layout of its own",
                s->shared.operands[i]);
    }
    TRY(plot_make(&options, &said));
    display_print("%s", said.data ? said.data : "");
    return STATUS_OK;
}

const struct command cli_look = {
    .name = "look",
    .summary = "show bandpass, levels, clipping and gaps of an observation",
    .usage = "[OPTION]... FILE...",
    .about = "Reads samples at places spread over an observation (voltages or power of any format; "
             "of FILE.yaml the job's input), and prints levels, clipping and missing samples of "
             "each polarisation. Draws bandpass, level in time, gaps and histogram with Python "
             "and matplotlib; without these it only prints (docs/plot.md).",
    .ending = "Exit status: 0 looked, 2 usage, 3 no space, 4 data, 5 memory, or -o without Python.",
    .operand = "input file",
    .ends = "h5|hdf5|raw|vdif|dada|dat|npy|sigmf-meta|sigmf|wav|fil|fits|yaml",
    .takes_many = 1,
    .rows = rows,
    .bytes = sizeof(struct look_settings),
    .run = look_run};
