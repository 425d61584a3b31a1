/* voltmill export PRODUCT */
#include "product/export/export.h"

#include "base/display.h"
#include "base/units.h"
#include "cli/values.h"
#include "input/format/formats.h"
#include "io/python.h"
#include "product/candidates.h"
#include "product/export/export_file.h"
#include "product/product.h"

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
    {.name = "force adopt external stall-timeout"},
    {.help = "With --format fil or psrfits:"},
    {"bits", "8|16|32", value_u32, AT(bits), "8|16|32", NULL,
     "of a sample; 32 are floats (default: as it is stored)"},
    {"scale", "HOW", export_read_scale, AT(scale), "channels|range|LOW..HIGH such as 0..4e6", NULL,
     "how floats are scaled to 8 or 16 bits (psrfits stores scales and offsets, by default with "
     "channels): channels: each channel's mean becomes a quarter of the numbers, its rms a "
     "sixteenth; range: the smallest value becomes 0, the largest value the largest number; "
     "LOW..HIGH: these instead"},
    {"pol", "X", value_text, AT(only_pol), NULL, NULL,
     "only this polarisation, by name such as X or CS001/X, or by number from 0 on (default: all)"},
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

/* Formats that are text. A run writes comma-separated values itself. */
static const struct {
    const char *ending, *source, *what;
} texts[] = {[TO_CSV] = {".csv", "the file which it is made of,", "comma-separated values"},
             [TO_HEIMDALL] = {".cand", "the file which it is made of,", "columns of heimdall"},
             [TO_FETCH] = {".fetch.csv", "the file which it is made of,", "columns of FETCH"},
             [TO_KERCHUNK] = {".json", "the product which it refers to,", "kerchunk"}};

/* Exports candidates as text; *what is their number and format, for messages. */
static status_t text_make_candidates(const struct export_settings *s, struct text *out,
                                     struct text *what)
{
    SCOPED(candidates_close_at) struct candidates_file *in = NULL;
    const char *const arguments[] = {s->shared.operand, NULL};
    TRY(candidates_open(s->shared.operand, &in));
    TRY(s->format == TO_CSV
            ? candidates_csv(&in->found, out)
            : python_run(s->format == TO_FETCH ? "fetch" : "heimdall", arguments, out));
    return text_add(what, "%llu candidates, %s", (unsigned long long)in->found.count,
                    texts[s->format].what);
}

/* Exports references by the Python module, whose first line is their number. */
static status_t text_make_kerchunk(const struct export_settings *s, struct text *out,
                                   struct text *what)
{
    SCOPED(product_destroy_at) struct product *product = NULL;
    SCOPED(text_free) struct text made = {0};
    char *rest = NULL;
    TRY(product_open(s->shared.operand, &product));
    REQUIRE(product, STATUS_DATA,
            "%s is not a product of voltmill: kerchunk itself makes references to other HDF5 files",
            s->shared.operand);
    REQUIRE(product->kind != PRODUCT_VISIBILITIES, STATUS_USAGE,
            "%s contains visibilities (UVH5), which pyuvdata reads and converts; kerchunk "
            "refers to other products",
            s->shared.operand);
    SCOPED(free_at) char *path = realpath(s->shared.operand, NULL);
    REQUIRE(path, STATUS_DATA, "%s has no path", s->shared.operand);
    const char *url = s->url ? s->url : path;
    const char *const arguments[] = {s->shared.operand, url, NULL};
    TRY(python_run("kerchunk", arguments, &made));
    uint64_t count = strtoull(made.data ? made.data : "", &rest, 10);
    REQUIRE(rest && *rest == '\n', STATUS_DEVICE, "kerchunk: the Python module wrote nothing");
    TRY(text_add_bytes(out, rest + 1, strlen(rest + 1)));
    return text_add(what, "kerchunk, %s to %s", units_amount(count, "reference", "references"),
                    url);
}

/* Writes a format that is text, small enough for memory; all but CSV by the Python module. Fails as
 * export_bank(), and as python_run(). */
static status_t export_text(const struct export_settings *s, struct text *said)
{
    SCOPED(text_free) struct text words = {0};
    SCOPED(text_free) struct text what = {0};
    SCOPED(guard_free) struct guard reads = {0};
    SCOPED(free_at) char *path = NULL;
    int is_before = 0;
    TRY(export_name(s->output, s->shared.operand, texts[s->format].ending, &path));
    TRY(s->format == TO_KERCHUNK ? text_make_kerchunk(s, &words, &what)
                                 : text_make_candidates(s, &words, &what));
    const struct export_plan plan = {.path = path,
                                     .mark = MARK_EXPORT,
                                     .force = s->shared.force,
                                     .bytes = words.length,
                                     .head = &words};
    TRY(guard_add(&reads, texts[s->format].source, s->shared.operand));
    TRY(export_file_write(&plan, &reads, &is_before));
    return is_before ? text_add_shown(said, "complete before: %s\n", path)
                     : text_add_shown(said, "%s: %s\n", path, what.data);
}

static status_t export_run(void *settings)
{
    status_t st = STATUS_OK;
    struct export_settings *s = settings;
    SCOPED(text_free) struct text said = {0};
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
        st = export_text(s, &said);
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
