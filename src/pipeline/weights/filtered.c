/* From runs of missing samples to rows of the first filter, then from filter to filter. */
#include "pipeline/weights/filtered.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct filtered {
    const struct filter_plan *plan;
    struct energy energy[JOB_FILTERS]; /* number 0 of the oldest sample of a row */
    /* Rows of the first filter, in 1 / (ENERGY_WHOLE LOST_WHOLE); of what comes in, running. */
    uint64_t *sums;
    uint32_t *lost[2]; /* of what comes in, and what is made */
};

void filtered_destroy(filtered_t *filtered)
{
    for (uint32_t i = 0; filtered && i < JOB_FILTERS; i++) {
        energy_free(&filtered->energy[i]);
    }
    if (filtered) {
        free(filtered->sums);
        free(filtered->lost[0]);
        free(filtered->lost[1]);
    }
    free(filtered);
}

status_t filtered_create(const struct filter_plan *plan, uint64_t samples, filtered_t **out)
{
    status_t st = STATUS_OK;
    filtered_t *filtered = NULL;
    TRY(memory_zeroed(1, sizeof *filtered, "weights", &filtered));
    filtered->plan = plan;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct filter_spec *spec = &plan->stages[i].spec;
        filtered->energy[i].count = spec->taps;
        TRY(spec->coeff ? energy_create(spec->coeff, spec->taps, spec->is_complex_coeff ? 2 : 1, 1,
                                        &filtered->energy[i])
                        : STATUS_OK);
    }
    /* No filter makes more rows than it takes samples. */
    TRY(memory_zeroed((size_t)samples + 1, sizeof *filtered->sums, "weights", &filtered->sums));
    for (int i = 0; i < 2; i++) {
        TRY(memory_zeroed((size_t)samples + 1, sizeof *filtered->lost[i], "weights",
                          &filtered->lost[i]));
    }
    *out = filtered;
    filtered = NULL;
out:
    filtered_destroy(filtered);
    return st;
}

/* The sample that row 0 of the stream begins with. */
static int64_t filtered_origin(const struct filter_plan_stage *stage, uint32_t stream)
{
    return stage->spec.first + (stage->spec.shift ? stage->spec.shift[stream] : 0);
}

static int64_t filtered_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Adds a run to the rows of the first filter that it enters. */
static void filtered_add_run(filtered_t *filtered, int64_t origin, struct overlap_rows rows,
                             struct share share)
{
    const struct run run = share.run;
    const struct energy *energy = &filtered->energy[0];
    int64_t decimate = filtered->plan->stages[0].spec.decimate;
    int64_t first = -filtered_floor(-(run.first - origin - (int64_t)energy->count + 1), decimate);
    int64_t last = filtered_floor(run.end - 1 - origin, decimate);
    first = first > rows.first ? first : rows.first;
    last = last < rows.end - 1 ? last : rows.end - 1;
    for (int64_t row = first; row <= last; row++) {
        int64_t begin = row * decimate + origin;
        filtered->sums[row - rows.first] +=
            share.lost * energy_between(energy, run.first - begin, run.end - begin);
    }
}

/* The share that so much energy in 1 / ENERGY_WHOLE is, rounded. */
static uint32_t filtered_round(uint64_t energy)
{
    enum { SHIFT = ENERGY_BITS - LOST_BITS };
    return (uint32_t)((energy + (UINT64_C(1) << (SHIFT - 1))) >> SHIFT);
}

/* What a row has lost by the rows low .. high - 1 of those before, of which the first one enters
 * its first tap at `begin`. */
static uint32_t filtered_row(const filtered_t *filtered, uint32_t i, int64_t begin, int64_t low,
                             int64_t high)
{
    const struct energy *energy = &filtered->energy[i];
    uint64_t all = filtered->sums[high] - filtered->sums[low];
    uint64_t lost = 0;
    if (all == 0 || all == energy->count * LOST_WHOLE) {
        return all == 0 ? 0 : LOST_WHOLE;
    }
    if (!energy->below) {
        return (uint32_t)((all + energy->count / 2) / energy->count);
    }
    for (int64_t at = low; at < high; at++) {
        lost += energy_between(energy, at - begin, at - begin + 1) * filtered->lost[0][at];
    }
    return filtered_round((lost + LOST_WHOLE / 2) >> LOST_BITS);
}

/* From the rows before filter i to its own. */
static void filtered_pass(filtered_t *filtered, uint32_t i, int64_t origin,
                          struct overlap_rows from, struct overlap_rows to)
{
    int64_t decimate = filtered->plan->stages[i].spec.decimate;
    int64_t taps = (int64_t)filtered->energy[i].count;
    int64_t count = from.end - from.first;
    filtered->sums[0] = 0;
    for (int64_t at = 0; at < count; at++) {
        filtered->sums[at + 1] = filtered->sums[at] + filtered->lost[0][at];
    }
    for (int64_t row = to.first; row < to.end; row++) {
        int64_t begin = row * decimate + origin - from.first;
        int64_t low = begin > 0 ? (begin < count ? begin : count) : 0;
        int64_t high = begin + taps < count ? begin + taps : count;
        high = high > low ? high : low;
        filtered->lost[1][row - to.first] = filtered_row(filtered, i, begin, low, high);
    }
}

const uint32_t *filtered_lost(filtered_t *filtered, uint32_t stream,
                              const struct overlap_rows *rows, const struct shares *shares)
{
    const struct filter_plan *plan = filtered->plan;
    size_t count = (size_t)(rows[1].end - rows[1].first);
    memset(filtered->sums, 0, count * sizeof *filtered->sums);
    for (size_t i = 0; i < shares->count; i++) {
        filtered_add_run(filtered, filtered_origin(&plan->stages[0], stream), rows[1],
                         shares->items[i]);
    }
    for (size_t i = 0; i < count; i++) {
        filtered->lost[0][i] = (uint32_t)((filtered->sums[i] + ENERGY_WHOLE / 2) >> ENERGY_BITS);
    }
    for (uint32_t i = 1; i < plan->count; i++) {
        filtered_pass(filtered, i, filtered_origin(&plan->stages[i], stream), rows[i], rows[i + 1]);
        uint32_t *made = filtered->lost[1];
        filtered->lost[1] = filtered->lost[0];
        filtered->lost[0] = made;
    }
    return filtered->lost[0];
}
