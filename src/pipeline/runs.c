/* Lists of runs, and those that are found by looking at every number. */
#include "pipeline/runs.h"

#include "base/memory.h"

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
    status_t st = STATUS_OK;
    TRY(memory_grow(&runs->items, runs->count, sizeof *runs->items, "a list of missing samples"));
    runs->items[runs->count++] = run;
out:
    return st;
}

status_t runs_add_all(struct runs *runs, const struct runs *more)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < more->count; i++) {
        TRY(runs_add(runs, more->items[i]));
    }
out:
    return st;
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
    status_t st = STATUS_OK;
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
out:
    return st;
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
    status_t st = STATUS_OK;
    TRY(memory_grow(&shares->items, shares->count, sizeof *shares->items,
                    "a list of missing samples"));
    shares->items[shares->count++] = (struct share){run, lost};
out:
    return st;
}

status_t shares_unite(const struct runs *whole, const struct shares *partly, struct runs *work,
                      struct shares *out)
{
    status_t st = STATUS_OK;
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
out:
    return st;
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
    status_t st = STATUS_OK;
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
out:
    return st;
}
