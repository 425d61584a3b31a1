/* The options of `voltmill tune`. */
#ifndef VOLTMILL_CLI_TUNE_OPTIONS_H
#define VOLTMILL_CLI_TUNE_OPTIONS_H

#include "bench/experiment.h"
#include "cli/options/options.h"
#include "job/job.h"

struct tune_settings {
    struct shared shared;
    const struct bench_telescope *telescope; /* NULL: a job is tuned */
    const char *log_path;
    double budget;
    uint32_t bits;
    int compares, has_histogram;
    struct tune_request tuning; /* without database and budget */
};

extern const struct option_row tune_rows[];

/* Options that do not go together; what shows later: those that a job without dedispersion cannot
 * follow, or the backend that was settled for a setup. Fail with USAGE. */
status_t tune_options_check(void *settings);
status_t tune_options_suit_job(const struct tune_settings *settings, const struct job *job);
status_t tune_options_suit_backend(const struct tune_settings *settings, enum backend_kind backend);

#endif
