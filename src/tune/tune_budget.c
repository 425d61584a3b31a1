/* Shares of a budget, by one clock. */
#include "tune/tune_budget.h"

#include "base/clock.h"

#include <math.h>
#include <stddef.h>

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
