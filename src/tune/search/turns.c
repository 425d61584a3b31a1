/* The best few of a search are timed once more in turns, so that machine noise is the same for
 * all. */
#include "tune/search/search_parts.h"
#include "tune/statistics.h"

#include <string.h>

enum {
    FINALISTS = 10, /* timed again in turns */
    MOST_ROUNDS = 16
};

struct finalist {
    uint32_t index, count;
    double seconds[MOST_ROUNDS];
};

/* The best few that are right. */
static uint32_t turns_pick_finalists(const struct search *s, struct finalist list[FINALISTS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->space->count; i++) {
        const struct tune_result *r = &s->outcome->results[i];
        uint32_t at = n;
        if (r->state != TUNE_OK) {
            continue;
        }
        while (at > 0 && r->seconds < s->outcome->results[list[at - 1].index].seconds) {
            at--;
        }
        if (at < FINALISTS) {
            n = n < FINALISTS ? n + 1 : n;
            memmove(&list[at + 1], &list[at], (n - 1 - at) * sizeof *list);
            list[at] = (struct finalist){.index = i};
        }
    }
    return n;
}

/* One more turn of one. What was right and is wrong now is wrong; a failure leaves things as they
 * are. */
static status_t turns_take_one(struct search *s, struct finalist *f, uint32_t round)
{
    status_t st = STATUS_OK;
    struct tune_result turn = {0};
    int found = 0;
    TRY(search_recall(s, f->index, round, &turn, &found));
    if (!found) {
        TRY(search_measure(s, f->index, &s->options->time, 0, &turn));
        TRY(search_note(s, f->index, round, &turn));
    }
    s->outcome->spent += turn.spent;
    if (turn.state == TUNE_OK) {
        f->seconds[f->count++] = turn.seconds;
    } else if (turn.state == TUNE_WRONG) {
        s->outcome->results[f->index].state = TUNE_WRONG;
        s->outcome->ok--;
        s->outcome->wrong++;
    }
out:
    return st;
}

/* The medians of the turns say who wins among the finalists. */
static void turns_settle(struct search *s, struct finalist *list, uint32_t n)
{
    struct tune_outcome *o = s->outcome;
    int has_best = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct finalist *f = &list[k];
        struct tune_result *r = &o->results[f->index];
        if (r->state != TUNE_OK) {
            continue;
        }
        if (f->count > 0) {
            r->seconds = tune_median(f->seconds, f->count);
            r->rounds = f->count;
        }
        if (!has_best || r->seconds < o->results[o->best].seconds) {
            o->best = f->index;
            has_best = 1;
        }
    }
    /* If all finalists have turned out wrong, the best of the others. */
    for (uint32_t i = 0; !has_best && i < s->space->count; i++) {
        int better =
            o->results[i].state == TUNE_OK && (o->results[o->best].state != TUNE_OK ||
                                               o->results[i].seconds < o->results[o->best].seconds);
        o->best = better ? i : o->best;
    }
}

status_t search_take_turns(struct search *s)
{
    status_t st = STATUS_OK;
    struct finalist list[FINALISTS + 1];
    uint32_t n = turns_pick_finalists(s, list);
    uint32_t rounds = s->options->rounds < MOST_ROUNDS ? s->options->rounds : MOST_ROUNDS;
    for (uint32_t round = 1; round <= rounds; round++) {
        for (uint32_t k = 0; k < n && !tune_time_is_over(&s->options->time, 1); k++) {
            if (s->outcome->results[list[k].index].state == TUNE_OK) {
                TRY(turns_take_one(s, &list[k], round));
            }
        }
    }
    turns_settle(s, list, n);
out:
    return st;
}
