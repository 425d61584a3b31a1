/* voltmill plot FILE */
#include "plot/plot.h"

#include "base/display.h"
#include "base/units.h"
#include "cli/values.h"

enum { LEAST_PIXELS = 200, MOST_PIXELS = 8192 };

struct plot_settings {
    struct shared shared;
    const char *output, *data;
    int filter, bench, tuner;
    struct plot_choice choice;
    uint32_t size[2];
};

#define AT(field) offsetof(struct plot_settings, field)

/* "1600x900" */
static int plot_read_size(const struct option_row *row, const char *text, void *field)
{
    uint32_t *out = field;
    char *end = NULL;
    (void)row;
    for (int i = 0; i < 2; i++) {
        unsigned long value = strtoul(text, &end, 10);
        if (end == text || *end != (i == 0 ? 'x' : '\0') || value < LEAST_PIXELS ||
            value > MOST_PIXELS) {
            return 0;
        }
        out[i] = (uint32_t)value;
        text = end + 1;
    }
    return 1;
}

/* Reads a list of names, each one of a row's alternatives. */
static int plot_read_kinds(const struct option_row *row, const char *text, void *field)
{
    *(const char **)field = text;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ",");
        if (text_place(row->takes, word, length) < 0) {
            return 0;
        }
        word += length + (word[length] == ',');
    }
    return *text != '\0';
}

/* "470..480", or "475" alone. */
static int plot_read_dm(const struct option_row *row, const char *text, void *field)
{
    double *out = field;
    if (strstr(text, "..")) {
        return value_range(row, text, field);
    }
    int is_number = units_parse_f64(text, &out[0]);
    out[1] = out[0];
    return is_number;
}

static const char *const older[][2] = {{"if", "pol"}, {NULL, NULL}};

static const struct option_row rows[] = {
    {"o,output", "FILE", value_text, AT(output), NULL, NULL,
     "the picture, PNG or SVG by its ending (default: the file's name, ending in .png)"},
    {.name = "force adopt external stall-timeout"},
    {"size", "WxH", plot_read_size, AT(size), "pixels such as 1600x900, 200 to 8192 each", NULL,
     "of the picture (default: as its panels ask for)"},
    {"data", "FILE", value_text, AT(data), NULL, NULL,
     "writes the numbers that are drawn, too, as comma-separated values"},
    {"filter", FLAG(AT(filter)), "FILE is a job: draws its filter bank, without any samples"},
    {"bench", FLAG(AT(bench)), "FILEs are tables of `voltmill bench ... --csv`, all of one kind"},
    {"tuner", FLAG(AT(tuner)), "FILE is a log of `voltmill tune --log`"},
    {"set", "KEY=VALUE", value_texts, AT(shared.sets), NULL, NULL,
     "with --filter: sets a key of the job, e.g. --set channelise.taps=16"},
    {.help = "Of a product:"},
    {"kind", "LIST", plot_read_kinds, AT(choice.kinds),
     "waterfall|bandpass|time|weights|kurtosis|flags|dm-time|snr|series|pulse|histogram", NULL,
     "only these panels, such as waterfall,bandpass. Of power and spectra: waterfall, bandpass, "
     "time, weights, kurtosis, flags; of dedispersed series: dm-time, snr, series, pulse; of "
     "candidates, and with --dm of filterbanks: pulse, waterfall, dm-time, snr; of all candidates: "
     "histogram, too (default: all that the file has)"},
    {"time", "A..B", value_range, AT(choice.time), "seconds such as 0.5..2", NULL,
     "seconds after the first row (of series: the first sample)"},
    {"freq", "A..B", value_range, AT(choice.freq), "MHz such as 1420..1421", NULL,
     "channels from A to B MHz"},
    {"dm", "A..B", plot_read_dm, AT(choice.dm), "a DM such as 475, or DMs such as 470..480", NULL,
     "of series and candidates: DMs; of a filterbank: dedisperses it, and draws its strongest "
     "pulse"},
    {"candidate", "N", value_u64, AT(choice.candidate), "0..4294967295", NULL,
     "of the candidates of a search, the one in row N of the table, from 0 on, and what is around "
     "it (default: all, and the strongest)"},
    {"pol", "LIST", value_text, AT(choice.pols), NULL, NULL,
     "polarisations (of each station and beam), by name such as X,Y or by number from 0 on "
     "(default: the first four)"},
    {"sum", FLAG(AT(choice.sum)), "the sum of the polarisations"},
    {"flatten", FLAG(AT(choice.flatten)),
     "the waterfall above each channel's median in time: what changes"},
    {"turn", FLAG(AT(choice.turn)), "waterfalls with frequency across and time upwards"},
    {.name = NULL}};

static status_t plot_check(void *settings)
{
    struct plot_settings *s = settings;
    struct plot_choice *choice = &s->choice;
    const char *mine = options_first(s, "kind time freq dm candidate pol sum flatten turn");
    REQUIRE(s->filter + s->bench + s->tuner <= 1, STATUS_USAGE,
            "plot: one of --filter, --bench, --tuner at a time");
    REQUIRE(!mine || s->filter + s->bench + s->tuner == 0, STATUS_USAGE,
            "plot: --%s is for products", mine);
    REQUIRE(s->filter || !options_first(s, "set"), STATUS_USAGE, "plot: --set is for --filter");
    REQUIRE(s->bench || s->shared.noperands <= 1, STATUS_USAGE,
            "plot: one file at a time, but for tables of --bench");
    REQUIRE(!choice->pols || !choice->sum, STATUS_USAGE, "plot: either --pol or --sum, not both");
    choice->external = (struct external_list){s->shared.externals.items, s->shared.externals.count};
    choice->has_time = options_first(s, "time") != NULL;
    choice->has_freq = options_first(s, "freq") != NULL;
    choice->has_dm = options_first(s, "dm") != NULL;
    choice->has_candidate = options_first(s, "candidate") != NULL;
    return STATUS_OK;
}

static status_t plot_run(void *settings)
{
    struct plot_settings *s = settings;
    SCOPED(text_free) struct text said = {0};
    s->choice.width = s->size[0];
    s->choice.height = s->size[1];
    struct plot_options options = {.of = s->filter  ? PLOT_FILTER
                                         : s->bench ? PLOT_BENCH
                                         : s->tuner ? PLOT_TUNER
                                                    : PLOT_PRODUCT,
                                   .files = s->shared.operands,
                                   .nfiles = s->shared.noperands,
                                   .output = s->output,
                                   .data = s->data,
                                   .sets = s->shared.sets.items,
                                   .nsets = s->shared.sets.count,
                                   .choice = s->choice,
                                   .force = s->shared.force};
    TRY(plot_make(&options, &said));
    display_print("%s", said.data ? said.data : "");
    return STATUS_OK;
}

const struct command cli_plot = {
    .name = "plot",
    .summary = "draw a product, a filter bank or a table as PNG or SVG",
    .usage = "[OPTION]... PRODUCT\n--filter [OPTION]... JOB\n--bench [OPTION]... TABLE...\n"
             "--tuner [OPTION]... LOG",
    .about = "Draws a product (or any filterbank) with Python and matplotlib: waterfall, bandpass, "
             "and other datasets that it contains; of dedispersed series the DMs over time; of "
             "bursts pulse, waterfall, DM over time and S/N. --filter draws the response of a "
             "job's filter bank to tones; --bench and --tuner draw tables (docs/plot.md).",
    .ending = "Exit status: 0 drawn, 2 usage, 3 no space, 4 data, 5 no Python with matplotlib, or "
              "memory.",
    .operand = "file",
    .ends = "h5|yaml|csv|txt|fil",
    .takes_many = 1,
    .rows = rows,
    .older = older,
    .bytes = sizeof(struct plot_settings),
    .check = plot_check,
    .run = plot_run};
