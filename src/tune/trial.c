/* Shares of a budget, by one clock; and the one loop of runs that count. */
#include "tune/trial.h"

#include "base/clock.h"
#include "base/memory.h"

#include <math.h>

int tune_time_is_over(const struct tune_time *time, double share)
{
    if (time->is_stopped && time->is_stopped()) {
        return 1;
    }
    return time->until > 0 && clock_now() >= time->from + share * (time->until - time->from);
}

double tune_time_seconds(const struct tune_time *time)
{
    return time->until > 0 ? time->until - time->from : INFINITY;
}

struct tune_time tune_budget_begin(const struct tune_budget *budget)
{
    struct tune_time time = {.from = clock_now(), .is_stopped = budget->is_stopped};
    if (budget->seconds > 0) {
        double left = fmax(budget->seconds - budget->spent, 0);
        time.until = time.from + left / fmax(budget->problems, 1);
    }
    return time;
}

void tune_budget_end(struct tune_budget *budget, const struct tune_time *time)
{
    budget->spent += clock_now() - time->from;
}

double tune_median(double *numbers, uint32_t count)
{
    qsort(numbers, count, sizeof *numbers, compare_f64);
    return (numbers[count / 2] + numbers[(count - 1) / 2]) / 2;
}

void trial_run_settle(struct trial_run *run, enum device_step first)
{
    double on_device = 0;
    for (int step = (int)first; step < STEP_DOWNLOAD; step++) {
        on_device += run->steps[step];
    }
    run->seconds = on_device > 0 ? on_device : run->seconds;
}

status_t trial_time(const struct trial *trial, void *context, uint32_t repeats,
                    const struct tune_time *time, struct trial_times *out)
{
    struct trial_times times = {.wrong = 0};
    struct trial_run run;
    SCOPED(free_at) double *seconds = NULL;
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
    return STATUS_OK;
}
