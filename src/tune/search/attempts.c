/* Timing configurations of a search: what the log knows is not timed again, what needs compiling is
 * compiled ahead, and all of it counts. The best few are timed once more in turns, so that machine
 * noise is the same for all. */
#include "base/clock.h"
#include "base/memory.h"
#include "tune/search/search_parts.h"
#include "tune/statistics.h"

#include <math.h>
#include <string.h>

enum {
    BATCH = 64,     /* most configurations compiled ahead */
    HOPELESS = 8,   /* failures of the device in a row */
    FINALISTS = 10, /* timed again in turns */
    MOST_ROUNDS = 16
};

static double search_cost_of(const struct search *s, uint32_t i)
{
    return s->space->costs ? s->space->costs[i] : 0;
}

int search_is_stopped(const struct search *s)
{
    return s->options->time.is_stopped && s->options->time.is_stopped();
}

int search_is_limited(const struct search *s)
{
    return s->options->limit > 0 && s->tried >= s->options->limit;
}

int search_goes_on(struct search *s)
{
    if (s->tried == s->space->count) {
        return 1; /* and finds nothing left */
    }
    if (search_is_limited(s)) {
        return 0;
    }
    if (tune_time_is_over(&s->options->time, s->options->rounds > 0 ? 0.8 : 1)) {
        s->outcome->is_cut = 1;
    }
    return !s->outcome->is_cut;
}

static void search_count(struct search *s, uint32_t i)
{
    struct tune_outcome *o = s->outcome;
    const struct tune_result *r = &o->results[i];
    s->tried++;
    o->spent += r->spent;
    o->wrong += r->state == TUNE_WRONG;
    o->failed += r->state == TUNE_FAILED;
    if (r->state == TUNE_OK && (o->ok++ == 0 || r->seconds < o->results[o->best].seconds)) {
        o->best = i;
    }
}

/* Writes an entry of the log. */
static status_t search_note(struct search *s, uint32_t i, uint32_t round,
                            const struct tune_result *r)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    if (s->log) {
        TRY(tune_problem_words(s->space->problem, tune_space_values(s->space, i), &words));
        struct tune_entry entry = {.problem = s->problem,
                                   .words = words.data,
                                   .round = round,
                                   .seconds = r->seconds,
                                   .spent = r->spent,
                                   .cost = search_cost_of(s, i),
                                   .state = r->state};
        TRY(tune_log_add(s->log, &entry));
    }
out:
    text_free(&words);
    return st;
}

/* What the log knows of a configuration: *found, and *out. */
static status_t search_recall(struct search *s, uint32_t i, uint32_t round, struct tune_result *out,
                              int *found)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    const struct tune_entry *entry = NULL;
    if (s->log) {
        TRY(tune_problem_words(s->space->problem, tune_space_values(s->space, i), &words));
        entry = tune_log_find(s->log, s->problem, words.data, round);
    }
    *found = entry != NULL;
    if (entry) {
        *out = (struct tune_result){
            .state = entry->state, .seconds = entry->seconds, .spent = entry->spent};
    }
out:
    text_free(&words);
    return st;
}

/* Times one within `time`; what fails is a result, too, without a time. `ahead`: seconds that
 * compiling it ahead took. */
static status_t search_measure(struct search *s, uint32_t i, const struct tune_time *time,
                               double ahead, struct tune_result *out)
{
    status_t st = STATUS_OK;
    struct tune_measure found = {0};
    double started = clock_now();
    status_t tried = s->space->time(s->space->context, i, s->options->repeats, time, &found);
    out->spent = s->is_replay ? found.spent : ahead + clock_now() - started;
    /* In whole nanoseconds, as the log has it: who goes on by the log meets the same ties. */
    out->seconds = tried == STATUS_OK ? rint(found.seconds * 1e9) / 1e9 : 0;
    out->state = tried != STATUS_OK ? TUNE_FAILED : found.wrong > 0 ? TUNE_WRONG : TUNE_OK;
    s->failures = tried == STATUS_DEVICE ? s->failures + 1 : 0;
    if (tried != STATUS_OK && s->failures >= HOPELESS && s->outcome->ok == 0) {
        st = tried; /* and its cause stays */
    } else if (tried != STATUS_OK) {
        report_clear();
    }
    return st;
}

/* Times one that is untried, for the log and the count. */
static status_t search_time(struct search *s, uint32_t i, const struct tune_time *time,
                            double ahead)
{
    status_t st = STATUS_OK;
    struct tune_result *result = &s->outcome->results[i];
    TRY(search_measure(s, i, time, ahead, result));
    TRY(search_note(s, i, 0, result));
    search_count(s, i);
out:
    return st;
}

/* Those of a list that nobody has timed yet go to the front of `left`; the others are counted. */
static status_t search_recall_some(struct search *s, const uint32_t *list, uint32_t n,
                                   uint32_t *left, uint32_t *nleft)
{
    status_t st = STATUS_OK;
    *nleft = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct tune_result *r = &s->outcome->results[list[k]];
        int found = 0;
        if (r->state != TUNE_UNTRIED) {
            continue;
        }
        TRY(search_recall(s, list[k], 0, r, &found));
        if (found) {
            s->outcome->recalled++;
            search_count(s, list[k]);
        } else {
            left[(*nleft)++] = list[k];
        }
    }
out:
    return st;
}

/* Compiles what is to be timed next. Compiling takes the most of the time: what is compiled is
 * timed after the end, too, for a tenth of the search's time, and in any case until one is right.
 */
static void search_compile(struct search *s, const uint32_t *list, uint32_t n,
                           struct tune_time *time, unsigned char *done)
{
    double started = clock_now();
    s->space->prepare(s->space->context, list, n, time, done);
    s->outcome->compiling += clock_now() - started;
    if (time->until > 0) {
        time->until = fmax(time->until, clock_now() + 0.1 * (time->until - time->from));
    }
}

static int search_is_next(struct search *s, const struct tune_time *time, int is_compiled)
{
    if (!is_compiled) {
        return search_goes_on(s);
    }
    if (search_is_stopped(s) || (s->outcome->ok > 0 && tune_time_is_over(time, 1))) {
        s->outcome->is_cut = 1;
        return 0;
    }
    return 1;
}

/* Times the untried ones of at most BATCH configurations. */
static status_t search_try_batch(struct search *s, const uint32_t *list, uint32_t n)
{
    status_t st = STATUS_OK;
    struct tune_time time = s->options->time;
    unsigned char compiled[BATCH] = {0};
    uint32_t left[BATCH];
    uint32_t nleft = 0;
    TRY(search_recall_some(s, list, n, left, &nleft));
    if (s->options->limit > 0 && s->tried < s->options->limit) {
        nleft = (uint32_t)min_u64(nleft, s->options->limit - s->tried);
    }
    double started = clock_now();
    if (s->space->prepare && nleft > 0 && search_goes_on(s)) {
        search_compile(s, left, nleft, &time, compiled);
    }
    double ahead = nleft > 0 ? (clock_now() - started) / nleft : 0;
    for (uint32_t k = 0; k < nleft; k++) {
        if (search_is_next(s, &time, compiled[k])) {
            TRY(search_time(s, left[k], &time, ahead));
        }
    }
out:
    return st;
}

status_t search_try_list(struct search *s, const uint32_t *list, uint32_t n)
{
    status_t st = STATUS_OK;
    uint32_t batch = s->space->prepare ? (uint32_t)min_u64(s->space->ahead, BATCH) : BATCH;
    for (uint32_t k = 0; k < n && search_goes_on(s); k += batch) {
        TRY(search_try_batch(s, list + k, n - k < batch ? n - k : batch));
    }
out:
    return st;
}

status_t search_try_one(struct search *s, uint32_t i)
{
    status_t st = STATUS_OK;
    uint32_t left = 0;
    uint32_t nleft = 0;
    TRY(search_recall_some(s, &i, 1, &left, &nleft));
    if (nleft > 0 && !tune_time_is_over(&s->options->time, 1)) {
        TRY(search_time(s, i, &s->options->time, 0));
    }
out:
    return st;
}

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
