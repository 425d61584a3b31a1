/* The one loop of runs that count. */
#include "tune/trial.h"

#include "base/memory.h"
#include "tune/statistics.h"

#include <stdlib.h>

status_t trial_time(const struct trial *trial, void *context, uint32_t repeats,
                    const struct tune_time *time, struct trial_times *out)
{
    status_t st = STATUS_OK;
    struct trial_times times = {.wrong = 0};
    struct trial_run run;
    double *seconds = NULL;
    uint32_t n = 0;
    TRY(memory_zeroed(repeats, sizeof *seconds, "times", &seconds));
    TRY(trial->run(context, &run));
    for (; n < repeats && (n == 0 || !time || !tune_time_is_over(time, 1)); n++) {
        TRY(trial->run(context, &run));
        seconds[n] = run.seconds;
        times.best = n == 0 || run.seconds < times.best.seconds ? run : times.best;
    }
    times.median = tune_median(seconds, n);
    TRY(trial->check(context, &times.wrong));
    *out = times;
out:
    free(seconds);
    return st;
}
