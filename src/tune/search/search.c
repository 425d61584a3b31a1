#include "base/clock.h"
#include "base/memory.h"
#include "tune/search/search_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 64,  /* most configurations compiled ahead */
    HOPELESS = 8 /* failures of the device in a row */
};

const char *tune_method_name(enum tune_method method)
{
    static const char *const names[TUNE_METHODS] = {"exhaustive", "guided", "random"};
    return names[method];
}

void tune_outcome_free(struct tune_outcome *outcome)
{
    free(outcome->results);
    outcome->results = NULL;
}

static double search_cost_of(const struct search *s, uint32_t i)
{
    return s->space->costs ? s->space->costs[i] : 0;
}

static int search_is_stopped(const struct search *s)
{
    return s->options->time.is_stopped && s->options->time.is_stopped();
}

/* Whether it has timed as many as it may. */
static int search_is_limited(const struct search *s)
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

status_t search_note(struct search *s, uint32_t i, uint32_t round, const struct tune_result *r)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    if (s->log) {
        TRY(s->space->words(s->space->context, i, &words));
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

status_t search_recall(struct search *s, uint32_t i, uint32_t round, struct tune_result *out,
                       int *found)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    const struct tune_entry *entry = NULL;
    if (s->log) {
        TRY(s->space->words(s->space->context, i, &words));
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

status_t search_measure(struct search *s, uint32_t i, const struct tune_time *time, double ahead,
                        struct tune_result *out)
{
    status_t st = STATUS_OK;
    struct tune_measure found = {0};
    double started = clock_now();
    status_t tried = s->space->time(s->space->context, i, s->options->repeats, time, &found);
    out->spent = s->is_replay ? found.spent : ahead + clock_now() - started;
    out->seconds = tried == STATUS_OK ? found.seconds : 0;
    out->state = tried != STATUS_OK ? TUNE_FAILED : found.wrong > 0 ? TUNE_WRONG : TUNE_OK;
    s->failures = tried == STATUS_DEVICE ? s->failures + 1 : 0;
    if (tried != STATUS_OK && s->failures >= HOPELESS && s->outcome->ok == 0) {
        st = tried; /* and its cause stays */
    } else if (tried != STATUS_OK) {
        report_clear();
    }
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
            TRY(search_measure(s, left[k], &time, ahead, &s->outcome->results[left[k]]));
            TRY(search_note(s, left[k], 0, &s->outcome->results[left[k]]));
            search_count(s, left[k]);
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

/* Vigna's splitmix64. */
static uint64_t search_next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static status_t search_in_order(struct search *s)
{
    status_t st = STATUS_OK;
    uint32_t n = s->space->count;
    uint32_t *list = NULL;
    uint64_t state = s->options->seed;
    TRY(memory_zeroed(n, sizeof *list, "configurations", &list));
    for (uint32_t i = 0; i < n; i++) {
        list[i] = i;
    }
    for (uint32_t i = n; s->options->method == TUNE_RANDOM && i > 1; i--) {
        uint32_t j = (uint32_t)(search_next_random(&state) % i);
        uint32_t moved = list[i - 1];
        list[i - 1] = list[j];
        list[j] = moved;
    }
    TRY(search_try_list(s, list, n));
out:
    free(list);
    return st;
}

/* What was known before meets the same weather as the best of the search. It waits until that is
 * over, so that searches take the same way whether something was known or not. */
static status_t search_try_known(struct search *s)
{
    status_t st = STATUS_OK;
    const uint32_t *known = s->options->known;
    uint32_t left = 0;
    uint32_t nleft = 0;
    if (!known || s->outcome->results[*known].state != TUNE_UNTRIED) {
        goto out;
    }
    TRY(search_recall_some(s, known, 1, &left, &nleft));
    if (nleft > 0 && !tune_time_is_over(&s->options->time, 1)) {
        TRY(search_measure(s, *known, &s->options->time, 0, &s->outcome->results[*known]));
        TRY(search_note(s, *known, 0, &s->outcome->results[*known]));
        search_count(s, *known);
    }
out:
    return st;
}

/* How far it came. */
static double searched(const struct search *s)
{
    const struct tune_time *time = &s->options->time;
    if (!s->outcome->is_cut) {
        return search_is_limited(s) && s->tried < s->space->count ? 0 : INFINITY;
    }
    double gone = clock_now() - time->from;
    return search_is_stopped(s) ? fmin(gone, tune_time_seconds(time)) : tune_time_seconds(time);
}

status_t search_space(struct search *s)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(s->space->count, sizeof *s->outcome->results, "results",
                      &s->outcome->results));
    TRY(s->options->method == TUNE_GUIDED ? search_guided(s) : search_in_order(s));
    double had = searched(s);
    TRY(search_try_known(s));
    TRY(s->options->rounds > 0 ? search_take_turns(s) : STATUS_OK);
    s->outcome->searched = had;
out:
    return st;
}

status_t tune_search(const struct tune_space *space, const struct tune_options *options,
                     tune_log_t *log, const char *problem, struct tune_outcome *out)
{
    struct search search = {
        .space = space, .options = options, .log = log, .problem = problem, .outcome = out};
    *out = (struct tune_outcome){0};
    return search_space(&search);
}
