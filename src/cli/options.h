/* Options that the subcommands share, GNU style. */
#ifndef VOLTMILL_CLI_OPTIONS_H
#define VOLTMILL_CLI_OPTIONS_H

#include "base/status.h"

#include <stdint.h>

enum {
    OPTION_SET = 1 << 0,      /* --set KEY=VALUE, any number of times */
    OPTION_FORCE = 1 << 1,    /* --force */
    OPTION_PROGRESS = 1 << 2, /* --progress SECONDS */
    OPTION_DRY_RUN = 1 << 3,  /* --dry-run */
    OPTION_ALL = 1 << 4,      /* --all */
    OPTION_CHUNKS = 1 << 5,   /* --chunks N */
    OPTION_SEED = 1 << 6,     /* --seed N */
    OPTION_DEVICES = 1 << 7,  /* --devices: then there need be no operand */
    OPTION_RESTART = 1 << 8,  /* --restart */
    OPTION_CRC = 1 << 9,      /* --crc */
    OPTION_STALL = 1 << 10,   /* --stall-timeout SECONDS */
    OPTION_EACH = 1 << 11,    /* --each PATTERN */
    OPTION_GOING = 1 << 12,   /* --keep-going */
    OPTION_TUNE = 1 << 13,    /* --tune */
    OPTION_BUDGET = 1 << 14,  /* --tune-budget SECONDS */
    OPTION_DATABASE = 1 << 15 /* --database FILE */
};

struct options {
    const char *operand; /* the one file that the subcommand works on; NULL with --devices */
    const char **sets;
    uint32_t nsets;
    int force, dry_run, all, devices, restart, crc, keep_going;
    const char *each; /* NULL: not given */
    double progress;
    double stall;         /* < 0: not given */
    int tune;             /* --tune or --tune-budget were given */
    double budget;        /* seconds */
    const char *database; /* NULL: not given */
    uint64_t chunks, seed;
    int help; /* --help was asked for: print it and end */
};

/* Reads argv[0] (the subcommand) and what follows it; `allowed` are OPTION_ bits. Fails with USAGE.
 * options_free() in any case. */
status_t options_read(int argc, char **argv, unsigned allowed, const char *operand_name,
                      struct options *out);
void options_free(struct options *options);

#endif
