/* Statistics of the rates in a space. */
#include "tune/statistics.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static int statistics_compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double tune_median(double *numbers, uint32_t count)
{
    qsort(numbers, count, sizeof *numbers, statistics_compare);
    return (numbers[count / 2] + numbers[(count - 1) / 2]) / 2;
}

/* The rates in ascending order. */
static status_t statistics_sorted_rates(const struct tune_space *space,
                                        const struct tune_outcome *outcome, double **out,
                                        uint32_t *count, double *median)
{
    status_t st = STATUS_OK;
    double *rates = NULL;
    uint32_t n = 0;
    TRY(memory_zeroed(space->count, sizeof *rates, "rates", &rates));
    for (uint32_t i = 0; i < space->count; i++) {
        if (outcome->results[i].state == TUNE_OK && outcome->results[i].seconds > 0) {
            rates[n++] = 1 / outcome->results[i].seconds;
        }
    }
    *median = n > 0 ? tune_median(rates, n) : 0; /* sorts them */
    *out = rates;
    *count = n;
out:
    return st;
}

status_t tune_statistics(const struct tune_space *space, const struct tune_outcome *outcome,
                         struct tune_statistics *out)
{
    status_t st = STATUS_OK;
    double *rates = NULL;
    uint32_t n = 0;
    *out = (struct tune_statistics){0};
    TRY(statistics_sorted_rates(space, outcome, &rates, &n, &out->median));
    if (n == 0) {
        goto out;
    }
    out->count = n;
    out->best = rates[n - 1];
    for (uint32_t i = 0; i < n; i++) {
        out->mean += rates[i] / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        out->deviation += (rates[i] - out->mean) * (rates[i] - out->mean) / n;
    }
    out->deviation = sqrt(out->deviation);
    out->signal_to_noise = out->deviation > 0 ? (out->best - out->mean) / out->deviation : 0;
out:
    free(rates);
    return st;
}

status_t tune_summarise(const struct tune_space *space, const struct tune_outcome *outcome,
                        struct tune_summary *out)
{
    *out = (struct tune_summary){.fit = space->fit,
                                 .timed = outcome->ok + outcome->wrong + outcome->failed,
                                 .wrong = outcome->wrong,
                                 .failed = outcome->failed,
                                 .recalled = outcome->recalled,
                                 .is_cut = outcome->is_cut,
                                 .spent = outcome->spent,
                                 .compiling = outcome->compiling};
    if (outcome->ok > 0) {
        out->seconds = outcome->results[outcome->best].seconds;
    }
    return tune_statistics(space, outcome, &out->statistics);
}

status_t tune_histogram(const struct tune_space *space, const struct tune_outcome *outcome,
                        double unit, struct text *out)
{
    status_t st = STATUS_OK;
    enum { BINS = 20, WIDTH = 50 };
    static const char bar[] = "##################################################";
    uint32_t bins[BINS] = {0};
    uint32_t most = 1;
    double *rates = NULL;
    uint32_t n = 0;
    double median = 0;
    TRY(statistics_sorted_rates(space, outcome, &rates, &n, &median));
    for (uint32_t i = 0; i < n; i++) {
        double share = rates[i] / rates[n - 1];
        uint32_t bin = (uint32_t)fmin(BINS * share, BINS - 1);
        bins[bin]++;
        most = bins[bin] > most ? bins[bin] : most;
    }
    for (uint32_t i = 0; i < BINS && n > 0; i++) {
        double from = unit * rates[n - 1] * i / BINS;
        double to = unit * rates[n - 1] * (i + 1) / BINS;
        TRY(text_add(out, "  %9.1f .. %9.1f %6u %.*s\n", from, to, bins[i],
                     (int)((uint64_t)WIDTH * bins[i] / most), bar));
    }
out:
    free(rates);
    return st;
}
