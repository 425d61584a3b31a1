/* voltmill export PRODUCT */
#include "product/export/export.h"

#include "base/display.h"
#include "base/units.h"
#include "cli/values.h"
#include "input/format/formats.h"
#include "product/stamp.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DMS = 65536 };

/* The formats, in the order of --format's words. */
enum export_to { TO_FIL, TO_PSRFITS, TO_DAT, TO_TIM, TO_KERCHUNK, TO_CSV, TO_HEIMDALL, TO_FETCH };

struct export_settings {
    struct shared shared;
    enum export_to format;
    const char *output, *url;
    uint32_t bits; /* 0: as stored */
    const char *only_pol;
    struct scale_options scale;
    int sum;
    double dms[2]; /* from, to */
    struct export_dms {
        double values[MOST_DMS];
        uint32_t count;
    } dm;
};

#define AT(field) offsetof(struct export_settings, field)

static int export_read_scale(const struct option_row *row, const char *text, void *field)
{
    double limits[2] = {0};
    int is_channels = strcmp(text, "channels") == 0;
    int is_named = is_channels || strcmp(text, "range") == 0;
    int is_right = is_named || (value_range(row, text, limits) && limits[0] < limits[1]);
    enum scale_kind kind = is_channels ? SCALE_CHANNELS : is_named ? SCALE_RANGE : SCALE_GIVEN;
    *(struct scale_options *)field = (struct scale_options){kind, limits[0], limits[1]};
    return is_right;
}

/* "475,480.5" */
static int export_read_dms(const struct option_row *row, const char *text, void *field)
{
    struct export_dms *out = field;
    (void)row;
    for (out->count = 0; *text; text += *text == ',') {
        char word[64];
        size_t length = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (out->count == MOST_DMS || length >= sizeof word ||
            !units_parse_f64(word, &out->values[out->count++])) {
            return 0;
        }
        text += length;
    }
    return out->count > 0;
}

static const char *const older[][2] = {{"if", "pol"}, {NULL, NULL}};

static const struct option_row rows[] = {
    {"format", "NAME", value_choice, AT(format), "fil|psrfits|dat|tim|kerchunk|csv|heimdall|fetch",
     NULL,
     "fil: a filterbank in HDF5 (FBH5, of any program) as SIGPROC filterbank, the highest "
     "frequency first; psrfits: as search-mode PSRFITS; dat: series of a dedispersed product as "
     "PRESTO's BASE_DM475.00.dat and .inf; tim: as SIGPROC's .tim; kerchunk: a JSON of references "
     "by which xarray, dask and others read any product as zarr, without a copy; csv, heimdall, "
     "fetch: the candidates of a search, all columns, or those of heimdall's .cand or FETCH's "
     "table"},
    {"o,output", "FILE", value_text, AT(output), NULL, NULL,
     "the file, or what the names of series begin with (default: the product's name, ending in "
     ".fil, .fits, .json, .csv, .cand, .fetch.csv; without its ending)"},
    {.name = "force adopt external"},
    {.help = "With --format fil or psrfits:"},
    {"bits", "8|16|32", value_u32, AT(bits), "8|16|32", NULL,
     "of a sample; 32 are floats (default: as it is stored)"},
    {"scale", "HOW", export_read_scale, AT(scale), "channels|range|LOW..HIGH such as 0..4e6", NULL,
     "how floats are scaled to 8 or 16 bits (psrfits stores scales and offsets, by default with "
     "channels): channels: each channel's mean becomes a quarter of the numbers, its rms a "
     "sixteenth; range: the smallest value becomes 0, the largest value the largest number; "
     "LOW..HIGH: these instead"},
    {"pol", "X", value_text, AT(only_pol), NULL, NULL,
     "only this polarisation, by name such as X or by number from 0 on (default: all)"},
    {"sum", FLAG(AT(sum)), "the sum of the polarisations"},
    {.help = "With --format dat or tim:"},
    {"dm", "LIST", export_read_dms, AT(dm),
     "DMs such as 475 or 474.5,475 (--dms 470..480 is a range)", NULL,
     "DMs such as 475 or 474.5,475; the nearest that are stored"},
    {"dms", "A..B", value_range, AT(dms), "a range such as 470..480", NULL,
     "all that are stored from A to B"},
    {.help = "With --format kerchunk:"},
    {"url", "URL", value_text, AT(url), NULL, NULL,
     "the product's address for readers, such as s3://bucket/power.h5 (default: its path)"},
    {.name = NULL}};

#define CANDIDATES "candidates: `voltmill run JOB` finds them, where JOB has dedisperse.search"
#define SERIES "dedispersed series: `voltmill run JOB` makes them, where JOB has dedisperse"

/* The formats that take none but products; filterbanks say themselves what they expect. */
static const char *const export_takes[] = {
    [TO_DAT] = SERIES,     [TO_TIM] = SERIES,          [TO_KERCHUNK] = PRODUCT_EXPECTED,
    [TO_CSV] = CANDIDATES, [TO_HEIMDALL] = CANDIDATES, [TO_FETCH] = CANDIDATES};

/* Options that belong to the other format. */
static status_t export_check(void *settings)
{
    struct export_settings *s = settings;
    REQUIRE(
        options_first(s, "format"), STATUS_USAGE,
        "export: --format is missing: fil, psrfits, dat, tim, kerchunk, csv, heimdall or fetch");
    REQUIRE(s->format == TO_DAT || s->format == TO_TIM || !options_first(s, "dm dms"), STATUS_USAGE,
            "export: --dm and --dms are for --format dat and tim");
    REQUIRE(s->format <= TO_PSRFITS || !options_first(s, "bits scale pol sum"), STATUS_USAGE,
            "export: --bits, --scale, --pol and --sum are for --format fil and psrfits");
    REQUIRE(s->format == TO_KERCHUNK || !options_first(s, "url"), STATUS_USAGE,
            "export: --url is for --format kerchunk");
    REQUIRE(!options_first(s, "dm") || !options_first(s, "dms"), STATUS_USAGE,
            "export: either --dm or --dms, not both");
    return REQUIRED(!s->sum || !options_first(s, "pol"), STATUS_USAGE,
                    "export: either --pol or --sum, not both");
}

static status_t export_run(void *settings)
{
    status_t st = STATUS_OK;
    struct export_settings *s = settings;
    struct text said = {0};
    TRY(export_takes[s->format] ? formats_expect(s->shared.operand, export_takes[s->format])
                                : STATUS_OK);
    if (s->format <= TO_PSRFITS) {
        struct export_bank_options bank = {
            .format = s->format == TO_PSRFITS ? FILE_PSRFITS : FILE_FIL,
            .product = s->shared.operand,
            .out = s->output,
            .bits = s->bits,
            .only_pol = s->only_pol,
            .sum = s->sum,
            .scale = s->scale,
            .external = {s->shared.externals.items, s->shared.externals.count},
            .force = s->shared.force,
            .threads = options_threads(s)};
        st = export_bank(&bank, &said);
    } else if (s->format >= TO_KERCHUNK) {
        static const enum export_text_format formats[] = {[TO_KERCHUNK] = EXPORT_KERCHUNK,
                                                          [TO_CSV] = EXPORT_CSV,
                                                          [TO_HEIMDALL] = EXPORT_HEIMDALL,
                                                          [TO_FETCH] = EXPORT_FETCH};
        struct export_text_options text = {formats[s->format], s->shared.operand, s->output, s->url,
                                           s->shared.force};
        st = export_text(&text, &said);
    } else {
        struct export_series_options series = {.product = s->shared.operand,
                                               .base = s->output,
                                               .is_tim = s->format == TO_TIM,
                                               .dms = s->dm.values,
                                               .ndms = s->dm.count,
                                               .has_range = options_first(s, "dms") != NULL,
                                               .first_dm = s->dms[0],
                                               .last_dm = s->dms[1],
                                               .force = s->shared.force};
        st = export_series(&series, &said);
    }
    /* Also what was written before a failure. */
    display_print("%s", said.data ? said.data : "");
    text_free(&said);
    return st;
}

const struct command cli_export = {
    .name = "export",
    .summary = "write a product for other programs: .fil, PSRFITS, .dat, .tim, kerchunk, CSV",
    .usage = "--format fil|psrfits [OPTION]... PRODUCT\n"
             "--format kerchunk [OPTION]... PRODUCT\n"
             "--format csv|heimdall|fetch [OPTION]... CANDIDATES\n"
             "--format dat|tim --dm LIST|--dms A..B [OPTION]... PRODUCT",
    .about = "Writes a product in a format that other programs read (docs/export.md).",
    .operand = "product",
    .ends = "h5",
    .rows = rows,
    .older = older,
    .bytes = sizeof(struct export_settings),
    .check = export_check,
    .run = export_run};
