/* Lists of runs, those that are found by looking at every number, and their way through filters. */
#include "pipeline/runs.h"

#include "base/memory.h"
#include "dsp/fir/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void runs_free(struct runs *runs)
{
    free(runs->items);
    *runs = (struct runs){0};
}

status_t runs_add(struct runs *runs, struct run run)
{
    TRY(memory_grow(runs->count, sizeof *runs->items, "a list of missing samples", &runs->items));
    runs->items[runs->count++] = run;
    return STATUS_OK;
}

status_t runs_add_all(struct runs *runs, const struct runs *more)
{
    for (size_t i = 0; i < more->count; i++) {
        TRY(runs_add(runs, more->items[i]));
    }
    return STATUS_OK;
}

static int runs_by_first(const void *left, const void *right)
{
    const struct run *a = left;
    const struct run *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

void runs_join(struct runs *runs)
{
    size_t kept = 0;
    if (runs->count > 1) {
        qsort(runs->items, runs->count, sizeof *runs->items, runs_by_first);
    }
    for (size_t i = 0; i < runs->count; i++) {
        struct run run = runs->items[i];
        struct run *last = kept > 0 ? &runs->items[kept - 1] : NULL;
        if (last && run.first <= last->end) {
            last->end = run.end > last->end ? run.end : last->end;
        } else {
            runs->items[kept++] = run;
        }
    }
    runs->count = kept;
}

status_t runs_subtract(const struct runs *from, const struct runs *less, struct runs *out)
{
    size_t at = 0;
    out->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct run left = from->items[i];
        while (at < less->count && less->items[at].end <= left.first) {
            at++;
        }
        for (size_t j = at; j < less->count && less->items[j].first < left.end; j++) {
            if (less->items[j].first > left.first) {
                TRY(runs_add(out, (struct run){left.first, less->items[j].first}));
            }
            left.first = less->items[j].end;
        }
        TRY(left.first < left.end ? runs_add(out, left) : STATUS_OK);
    }
    return STATUS_OK;
}

uint64_t runs_count(const struct runs *runs, int64_t first, int64_t end)
{
    uint64_t count = 0;
    for (size_t i = 0; i < runs->count; i++) {
        int64_t low = runs->items[i].first > first ? runs->items[i].first : first;
        int64_t high = runs->items[i].end < end ? runs->items[i].end : end;
        count += high > low ? (uint64_t)(high - low) : 0;
    }
    return count;
}

void shares_free(struct shares *shares)
{
    free(shares->items);
    *shares = (struct shares){0};
}

status_t shares_add(struct shares *shares, struct run run, uint32_t lost)
{
    TRY(memory_grow(shares->count, sizeof *shares->items, "a list of missing samples",
                    &shares->items));
    shares->items[shares->count++] = (struct share){run, lost};
    return STATUS_OK;
}

status_t shares_unite(const struct runs *whole, const struct shares *partly, struct runs *work,
                      struct shares *out)
{
    out->count = 0;
    for (size_t i = 0; i < whole->count; i++) {
        TRY(shares_add(out, whole->items[i], LOST_WHOLE));
    }
    for (size_t i = 0; i < partly->count; i++) {
        const struct runs one = {&partly->items[i].run, 1};
        TRY(runs_subtract(&one, whole, work));
        for (size_t k = 0; k < work->count; k++) {
            TRY(shares_add(out, work->items[k], partly->items[i].lost));
        }
    }
    return STATUS_OK;
}

/* Whether a stored number means that there is none: as sample_volts() has it. */
static int runs_is_no_number(const struct sample_coding *coding, const char *at)
{
    int16_t whole = 0;
    float real = 0;
    switch (coding->format) {
    case SAMPLE_I4:
        return coding->has_missing_value && *(const unsigned char *)at == coding->missing_value;
    case SAMPLE_I8:
        return coding->has_missing_value && *(const signed char *)at == coding->missing_value;
    case SAMPLE_I16:
        memcpy(&whole, at, sizeof whole);
        return coding->has_missing_value && whole == coding->missing_value;
    default:
        memcpy(&real, at, sizeof real);
        return !isfinite(real) ||
               (coding->has_missing_value && real == (float)coding->missing_value);
    }
}

status_t runs_find(const struct runs_scan *scan, uint32_t first_stream, uint32_t streams,
                   struct runs found[RUNS_TILE])
{
    const struct sample_coding *coding = &scan->coding;
    const size_t *re = scan->input.re + first_stream;
    const size_t *im = scan->input.im + first_stream;
    int has_two = coding->is_complex && coding->format != SAMPLE_I4;
    int is_open[RUNS_TILE] = {0};
    const char *at = scan->samples;
    for (uint64_t n = 0; n < scan->count; n++, at += scan->input.step) {
        int64_t sample = scan->first + (int64_t)n;
        for (uint32_t s = 0; s < streams; s++) {
            int is_missing = runs_is_no_number(coding, at + re[s]) ||
                             (has_two && runs_is_no_number(coding, at + im[s]));
            if (is_missing && !is_open[s]) {
                TRY(runs_add(&found[s], (struct run){sample, sample + 1}));
            } else if (is_missing) {
                found[s].items[found[s].count - 1].end = sample + 1;
            }
            is_open[s] = is_missing;
        }
    }
    return STATUS_OK;
}

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
        MEMORY_FREE(filtered->sums, filtered->lost[0], filtered->lost[1]);
    }
    free(filtered);
}

status_t filtered_create(const struct filter_plan *plan, uint64_t samples, filtered_t **out)
{
    SCOPED(filtered_destroy_at) filtered_t *filtered = NULL;
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
    *out = memory_move(&filtered);
    return STATUS_OK;
}

/* Returns the sample with which row 0 of the stream begins. */
static int64_t filtered_origin(const struct filter_plan_stage *stage, uint32_t stream)
{
    return stage->spec.first + (stage->spec.shift ? stage->spec.shift[stream] : 0);
}

/* Adds a run to the rows of the first filter that it enters. */
static void filtered_add_run(filtered_t *filtered, int64_t origin, struct overlap_rows rows,
                             struct share share)
{
    const struct run run = share.run;
    const struct energy *energy = &filtered->energy[0];
    int64_t decimate = filtered->plan->stages[0].spec.decimate;
    int64_t first = -overlap_floor(-(run.first - origin - (int64_t)energy->count + 1), decimate);
    int64_t last = overlap_floor(run.end - 1 - origin, decimate);
    first = first > rows.first ? first : rows.first;
    last = last < rows.end - 1 ? last : rows.end - 1;
    for (int64_t row = first; row <= last; row++) {
        int64_t begin = row * decimate + origin;
        filtered->sums[row - rows.first] +=
            share.lost * energy_between(energy, run.first - begin, run.end - begin);
    }
}

/* The loss of a row by the rows low .. high - 1 of those before, of which the first one enters
 * its first tap at `begin`. */
static uint32_t filtered_row(const filtered_t *filtered, uint32_t i, int64_t begin, int64_t low,
                             int64_t high)
{
    enum { SHIFT = ENERGY_BITS - LOST_BITS };
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
    /* The share that so much energy in 1 / ENERGY_WHOLE is, rounded. */
    lost = (lost + LOST_WHOLE / 2) >> LOST_BITS;
    return (uint32_t)((lost + (UINT64_C(1) << (SHIFT - 1))) >> SHIFT);
}

/* Computes the losses of filter i's rows from those of the rows before it. */
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
