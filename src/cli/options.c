#include "cli/options.h"

#include "base/memory.h"
#include "base/units.h"

#include <getopt.h>
#include <stdlib.h>

static const struct option long_options[] = {
    {"set", required_argument, NULL, OPTION_SET},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"progress", required_argument, NULL, OPTION_PROGRESS},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"all", no_argument, NULL, OPTION_ALL},
    {"chunks", required_argument, NULL, OPTION_CHUNKS},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"devices", no_argument, NULL, OPTION_DEVICES},
    {"restart", no_argument, NULL, OPTION_RESTART},
    {"crc", no_argument, NULL, OPTION_CRC},
    {"each", required_argument, NULL, OPTION_EACH},
    {"keep-going", no_argument, NULL, OPTION_GOING},
    {"stall-timeout", required_argument, NULL, OPTION_STALL},
    {"tune", no_argument, NULL, OPTION_TUNE},
    {"tune-budget", required_argument, NULL, OPTION_BUDGET},
    {"database", required_argument, NULL, OPTION_DATABASE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

static status_t options_take(const char *command, int option, const char *value,
                             struct options *out)
{
    status_t st = STATUS_OK;
    switch (option) {
    case OPTION_SET:
        out->sets[out->nsets++] = value;
        break;
    case OPTION_FORCE:
        out->force = 1;
        break;
    case OPTION_DRY_RUN:
        out->dry_run = 1;
        break;
    case OPTION_ALL:
        out->all = 1;
        break;
    case OPTION_DEVICES:
        out->devices = 1;
        break;
    case OPTION_RESTART:
        out->restart = 1;
        break;
    case OPTION_CRC:
        out->crc = 1;
        break;
    case OPTION_GOING:
        out->keep_going = 1;
        break;
    case OPTION_EACH:
        REQUIRE(!out->each, STATUS_USAGE,
                "%s: --each is given twice, %s and %s: it takes one pattern, which may match many "
                "files",
                command, out->each, value);
        out->each = value;
        break;
    case OPTION_PROGRESS:
        REQUIRE(units_parse_f64(value, &out->progress) && out->progress > 0, STATUS_USAGE,
                "%s --progress %s: expected seconds, more than 0", command, value);
        break;
    case OPTION_STALL:
        REQUIRE(units_parse_f64(value, &out->stall) && out->stall >= 0, STATUS_USAGE,
                "%s --stall-timeout %s: expected seconds, or 0", command, value);
        break;
    case OPTION_TUNE:
        out->tune = 1;
        break;
    case OPTION_BUDGET:
        REQUIRE(units_parse_f64(value, &out->budget) && out->budget > 0, STATUS_USAGE,
                "%s --tune-budget %s: expected seconds, more than 0", command, value);
        out->tune = 1;
        break;
    case OPTION_DATABASE:
        out->database = value;
        break;
    case OPTION_CHUNKS:
        REQUIRE(units_parse_u64(value, &out->chunks) && out->chunks > 0, STATUS_USAGE,
                "%s --chunks %s: expected a whole number from 1 on", command, value);
        break;
    default:
        REQUIRE(units_parse_u64(value, &out->seed), STATUS_USAGE,
                "%s --seed %s: expected a whole number", command, value);
        break;
    }
out:
    return st;
}

status_t options_read(int argc, char **argv, unsigned allowed, const char *operand_name,
                      struct options *out)
{
    status_t st = STATUS_OK;
    *out = (struct options){.chunks = 16, .seed = 1, .stall = -1, .budget = 60};
    TRY(memory_zeroed((size_t)argc, sizeof *out->sets, "options", &out->sets));
    opterr = 0;
    optind = 1;
    for (;;) {
        int index = -1;
        int option = getopt_long(argc, argv, ":h", long_options, &index);
        if (option < 0) {
            break;
        }
        if (option == 'h') {
            out->help = 1;
            goto out;
        }
        REQUIRE(option != ':', STATUS_USAGE, "%s: option %s needs a value; see voltmill %s --help",
                argv[0], argv[optind - 1], argv[0]);
        REQUIRE(option != '?' || optopt <= ' ', STATUS_USAGE,
                "%s: unknown option -%c; see voltmill %s --help", argv[0], optopt, argv[0]);
        REQUIRE(option != '?', STATUS_USAGE, "%s: unknown option %s; see voltmill %s --help",
                argv[0], argv[optind - 1], argv[0]);
        REQUIRE(allowed & (unsigned)option, STATUS_USAGE,
                "%s: unknown option --%s; see voltmill %s --help", argv[0],
                long_options[index].name, argv[0]);
        TRY(options_take(argv[0], option, optarg, out));
    }
    if (out->devices && optind == argc) {
        goto out;
    }
    REQUIRE(optind == argc - 1, STATUS_USAGE, "%s: expected one %s, got %d; see voltmill %s --help",
            argv[0], operand_name, argc - optind, argv[0]);
    out->operand = argv[optind];
out:
    return st;
}

void options_free(struct options *options)
{
    free(options->sets);
    options->sets = NULL;
}
