/* The options of `voltmill tune`. */
#ifndef VOLTMILL_CLI_TUNE_OPTIONS_H
#define VOLTMILL_CLI_TUNE_OPTIONS_H

#include "cli/bench_options.h"
#include "run/tuning.h"

enum { TUNE_SETS = 64 };

struct tune_settings {
    enum backend_kind backend;
    const char *device, *job, *log_path, *csv_path;
    const struct bench_telescope *telescope; /* NULL: a job is tuned */
    struct bench_list dms;
    double dm_step, seconds, budget;
    uint64_t bits, group, threads;
    const char *sets[TUNE_SETS];
    uint32_t nsets;
    int is_zero, compares, has_histogram, help;
    struct tuning_options tuning;
};

extern const char tune_help[];

/* Reads argv[0] ("tune") and what follows it. Fails with USAGE. */
status_t tune_options_read(int argc, char **argv, struct tune_settings *out);

#endif
