/* voltmill export PRODUCT */
#include "product/export/export.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: voltmill export --format fil [OPTION]... PRODUCT\n"
    "       voltmill export --format dat|tim --dm LIST|--dms A..B [OPTION]... PRODUCT\n"
    "\n"
    "Writes a product in a format that other programs read (docs/export.md).\n"
    "\n"
    "fil: a filterbank in HDF5 (FBH5, voltmill's or anybody's) as SIGPROC filterbank, the highest\n"
    "frequency first.\n"
    "\n"
    "  -o, --output FILE    default: the product's name, ending in .fil\n"
    "  --bits 8|16|32       of a sample; 32 are floats (default: as it is stored)\n"
    "  --scale HOW          how floats fit into 8 or 16 bits:\n"
    "                       channels: each channel's mean becomes a quarter of the numbers, its\n"
    "                       rms a sixteenth; range: the least value becomes 0, the greatest the\n"
    "                       largest; LOW..HIGH: these do\n"
    "  --if N               only this if (polarisation), counted from 0 (default: all)\n"
    "  --sum                the sum of the ifs\n"
    "\n"
    "dat: series of a dedispersed product as PRESTO's BASE_DM475.00.dat and .inf; tim: as "
    "SIGPROC's\n"
    ".tim.\n"
    "\n"
    "  --dm LIST            DMs such as 475 or 474.5,475; the nearest that are stored\n"
    "  --dms A..B           all that are stored from A to B\n"
    "  -o, --output BASE    default: the product's name, without its ending\n"
    "\n"
    "  --force              replaces files that exist\n"
    "  --help               prints this\n";

enum {
    TAKE_FORMAT = 256,
    TAKE_BITS,
    TAKE_SCALE,
    TAKE_IF,
    TAKE_SUM,
    TAKE_DM,
    TAKE_DMS,
    TAKE_FORCE,
    MOST_DMS = 65536
};

static const struct option known[] = {{"format", required_argument, NULL, TAKE_FORMAT},
                                      {"output", required_argument, NULL, 'o'},
                                      {"bits", required_argument, NULL, TAKE_BITS},
                                      {"scale", required_argument, NULL, TAKE_SCALE},
                                      {"if", required_argument, NULL, TAKE_IF},
                                      {"sum", no_argument, NULL, TAKE_SUM},
                                      {"dm", required_argument, NULL, TAKE_DM},
                                      {"dms", required_argument, NULL, TAKE_DMS},
                                      {"force", no_argument, NULL, TAKE_FORCE},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

struct settings {
    const char *format, *operand, *output, *scale, *dm;
    int has_range;
    double first_dm, last_dm;
    struct export_fil_options fil;
    double *dms;
    uint32_t ndms;
    int force, help;
};

/* Reads "A..B". */
static int export_parse_range(const char *text, double *first, double *last)
{
    char before[64];
    const char *dots = strstr(text, "..");
    size_t length = dots ? (size_t)(dots - text) : sizeof before;
    if (length >= sizeof before) {
        return 0;
    }
    memcpy(before, text, length);
    before[length] = '\0';
    return units_parse_f64(before, first) && units_parse_f64(dots + 2, last);
}

static status_t export_parse_scale(const char *text, struct scale_options *out)
{
    status_t st = STATUS_OK;
    if (strcmp(text, "channels") == 0) {
        out->kind = SCALE_CHANNELS;
    } else if (strcmp(text, "range") == 0) {
        out->kind = SCALE_RANGE;
    } else {
        REQUIRE(export_parse_range(text, &out->low, &out->high) && out->low < out->high,
                STATUS_USAGE,
                "export: --scale %s: expected channels, range, or LOW..HIGH such as 0..4e6", text);
        out->kind = SCALE_GIVEN;
    }
out:
    return st;
}

/* Reads "475,480.5". */
static status_t export_parse_dms(const char *text, struct settings *out)
{
    status_t st = STATUS_OK;
    char *copy = NULL;
    char *rest = NULL;
    TRY(memory_text(text, &copy));
    TRY(memory_zeroed(MOST_DMS, sizeof *out->dms, "DMs", &out->dms));
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        REQUIRE(
            out->ndms < MOST_DMS && units_parse_f64(word, &out->dms[out->ndms]), STATUS_USAGE,
            "export: --dm %s: expected DMs such as 475 or 474.5,475 (--dms 470..480 is a range)",
            text);
        out->ndms++;
    }
    REQUIRE(out->ndms > 0, STATUS_USAGE, "export: --dm: expected a DM such as 475");
out:
    free(copy);
    return st;
}

static status_t export_take_number(int option, const char *value, struct settings *out)
{
    status_t st = STATUS_OK;
    uint64_t number = 0;
    int is_number = units_parse_u64(value, &number);
    if (option == TAKE_BITS) {
        REQUIRE(is_number && (number == 8 || number == 16 || number == 32), STATUS_USAGE,
                "export: --bits %s: expected 8, 16 or 32", value);
        out->fil.bits = (uint32_t)number;
    } else {
        REQUIRE(is_number && number <= INT32_MAX, STATUS_USAGE,
                "export: --if %s: expected a number, from 0 on", value);
        out->fil.only_if = (int64_t)number;
    }
out:
    return st;
}

static status_t export_take(int option, const char *value, struct settings *out)
{
    status_t st = STATUS_OK;
    switch (option) {
    case 'h':
        out->help = 1;
        break;
    case 'o':
        out->output = value;
        break;
    case TAKE_FORMAT:
        out->format = value;
        break;
    case TAKE_SCALE:
        out->scale = value;
        st = export_parse_scale(value, &out->fil.scale);
        break;
    case TAKE_SUM:
        out->fil.sum = 1;
        break;
    case TAKE_DM:
        out->dm = value;
        break;
    case TAKE_DMS:
        out->has_range = 1;
        REQUIRE(export_parse_range(value, &out->first_dm, &out->last_dm) &&
                    out->first_dm <= out->last_dm,
                STATUS_USAGE, "export: --dms %s: expected a range such as 470..480", value);
        break;
    case TAKE_FORCE:
        out->force = 1;
        break;
    default:
        st = export_take_number(option, value, out);
        break;
    }
out:
    return st;
}

/* Options that belong to the other format. */
static status_t export_check(const struct settings *settings)
{
    status_t st = STATUS_OK;
    const struct export_fil_options *fil = &settings->fil;
    const char *format = settings->format;
    REQUIRE(format, STATUS_USAGE, "export: --format is missing: fil, dat or tim");
    int is_fil = strcmp(format, "fil") == 0;
    REQUIRE(is_fil || strcmp(format, "dat") == 0 || strcmp(format, "tim") == 0, STATUS_USAGE,
            "export: --format %s: expected fil, dat or tim", format);
    int has_dms = settings->dm || settings->has_range;
    REQUIRE(!is_fil || !has_dms, STATUS_USAGE,
            "export: --dm and --dms are for --format dat and tim");
    REQUIRE(is_fil || !(fil->bits || settings->scale || fil->only_if >= 0 || fil->sum),
            STATUS_USAGE, "export: --bits, --scale, --if and --sum are for --format fil");
    REQUIRE(is_fil || has_dms, STATUS_USAGE, "export: which DMs? --dm 475 or --dms 470..480");
    REQUIRE(!(settings->dm && settings->has_range), STATUS_USAGE,
            "export: either --dm or --dms, not both");
    REQUIRE(!(fil->sum && fil->only_if >= 0), STATUS_USAGE,
            "export: either --if or --sum, not both");
out:
    return st;
}

static status_t export_read_options(int argc, char **argv, struct settings *out)
{
    status_t st = STATUS_OK;
    *out = (struct settings){.fil = {.only_if = -1}};
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":ho:", known, NULL)) != -1;) {
        REQUIRE(option != ':', STATUS_USAGE, "export: %s needs a value (see --help)",
                argv[optind - 1]);
        REQUIRE(option != '?', STATUS_USAGE, "export: there is no option %s (see --help)",
                argv[optind - 1]);
        TRY(export_take(option, optarg, out));
        if (out->help) {
            goto out;
        }
    }
    REQUIRE(optind == argc - 1, STATUS_USAGE,
            "export: expected one product, got %d; see voltmill export --help", argc - optind);
    out->operand = argv[optind];
    TRY(export_check(out));
    if (out->dm) {
        TRY(export_parse_dms(out->dm, out));
    }
out:
    return st;
}

static status_t export_product(struct settings *settings, struct text *said)
{
    if (strcmp(settings->format, "fil") == 0) {
        settings->fil.product = settings->operand;
        settings->fil.out = settings->output;
        settings->fil.force = settings->force;
        return export_fil(&settings->fil, said);
    }
    struct export_series_options series = {.product = settings->operand,
                                           .base = settings->output,
                                           .is_tim = strcmp(settings->format, "tim") == 0,
                                           .dms = settings->dms,
                                           .ndms = settings->ndms,
                                           .first_dm = settings->first_dm,
                                           .last_dm = settings->last_dm,
                                           .force = settings->force};
    return export_series(&series, said);
}

status_t cli_export(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct settings settings;
    struct text said = {0};
    TRY(export_read_options(argc, argv, &settings));
    if (settings.help) {
        fputs(help, stdout);
        goto out;
    }
    st = export_product(&settings, &said);
    /* Also what was written before a failure. */
    display_print("%s", said.data ? said.data : "");
out:
    text_free(&said);
    free(settings.dms);
    return st;
}
