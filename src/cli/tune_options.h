/* The options of `voltmill tune`. */
#ifndef VOLTMILL_CLI_TUNE_OPTIONS_H
#define VOLTMILL_CLI_TUNE_OPTIONS_H

#include "bench/experiment.h"
#include "cli/bench/bench_options.h"
#include "job/job.h"

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
    uint32_t given; /* which options were: for what asks whether they go together */
    struct experiment_options tuning;
};

extern const char tune_help[];

/* Reads argv[0] ("tune") and what follows it. Fails with USAGE: options that do not go together are
 * among the mistakes. */
status_t tune_options_read(int argc, char **argv, struct tune_settings *out);

/* What shows later: options that a job without dedispersion cannot follow, or the backend that was
 * settled for a setup. Fail with USAGE. */
status_t tune_options_suit_job(const struct tune_settings *settings, const struct job *job);
status_t tune_options_suit_backend(const struct tune_settings *settings, enum backend_kind backend);

#endif
