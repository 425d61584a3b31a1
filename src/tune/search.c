/* The course of a search: which configurations it times, what was known before, the turns of the
 * best, and statistics of what was timed; and configurations in words. */
#include "tune/search.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "base/units.h"
#include "io/reason.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines of the log: read once when it is opened, added whole. */

/* One line. Words and problem have neither commas, quotes nor line ends. */
struct tune_entry {
    const char *problem, *words;
    uint32_t round;              /* 0: of the search; 1, 2, ...: of the turns of the best */
    double seconds, spent, cost; /* median; all that it took; by the model */
    enum tune_state state;
};

enum { MOST_LOG = 1 << 28 };

static const char *const state_names[] = {"untried", "ok", "wrong", "failed"};
static const char head[] = "problem,round,how,ms,spent_s,model_ms,result\n";

struct tune_log {
    char *path;
    int fd;
    struct text text; /* what was in it: the entries' texts point there */
    struct tune_entry *entries;
    uint32_t count;
};

static int log_compare_entries(const void *left, const void *right)
{
    const struct tune_entry *a = left;
    const struct tune_entry *b = right;
    int order = strcmp(a->problem, b->problem);
    order = order ? order : strcmp(a->words, b->words);
    return order ? order : (a->round > b->round) - (a->round < b->round);
}

/* Cuts a line into its fields; 0 when it is none. The last field is a whole word, so a line
 * that was cut short cannot pass. */
static int log_read_line(char *line, struct tune_entry *out)
{
    enum { FIELDS = 7 };
    char *fields[FIELDS];
    char *rest = line;
    uint64_t round = 0;
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = strsep(&rest, ",");
        if (!fields[i]) {
            return 0;
        }
    }
    out->problem = fields[0];
    out->words = fields[2];
    const int state = text_place("ok|wrong|failed", fields[6], strlen(fields[6]));
    int good = !rest && units_parse_u64(fields[1], &round) && round < 1000 &&
               units_parse_f64(fields[3], &out->seconds) &&
               units_parse_f64(fields[4], &out->spent) && units_parse_f64(fields[5], &out->cost) &&
               out->seconds >= 0 && out->spent >= 0 && out->cost >= 0 && state >= 0;
    out->state = good ? (enum tune_state)(TUNE_OK + state) : TUNE_UNTRIED;
    out->round = good ? (uint32_t)round : 0;
    out->seconds *= 1e-3;
    out->cost *= 1e-3;
    return good;
}

static status_t log_read_entries(tune_log_t *log)
{
    uint32_t lines = 0;
    uint32_t bad = 0;
    char *rest = log->text.data;
    for (size_t i = 0; i < log->text.length; i++) {
        lines += log->text.data[i] == '\n';
    }
    TRY(memory_zeroed((size_t)lines + 1, sizeof *log->entries, "a log", &log->entries));
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        int is_head = strncmp(line, head, sizeof head - 2) == 0;
        if (*line == '\0' || is_head) {
            continue;
        }
        if (log_read_line(line, &log->entries[log->count])) {
            log->count++;
        } else {
            bad++;
        }
    }
    if (bad > 0) {
        report_warn("%s: %u %s or not of such a log: skipped", log->path, bad,
                    units_plural(bad, "line is cut short", "lines are cut short"));
    }
    qsort(log->entries, log->count, sizeof *log->entries, log_compare_entries);
    return STATUS_OK;
}

static status_t log_append(const tune_log_t *log, const char *bytes, size_t size)
{
    ssize_t done = write(log->fd, bytes, size);
    int reason = done < 0 ? errno : ENOSPC;
    return REQUIRED(done == (ssize_t)size, reason_write_status(reason), "%s: cannot be written: %s",
                    log->path, strerror(reason));
}

/* A last line without an end gets one, so that nothing sticks to it. */
static status_t log_begin(const tune_log_t *log)
{
    const struct text *text = &log->text;
    return text->length == 0                      ? log_append(log, head, sizeof head - 1)
           : text->data[text->length - 1] != '\n' ? log_append(log, "\n", 1)
                                                  : STATUS_OK;
}

status_t tune_log_open(const char *path, tune_log_t **out)
{
    SCOPED(tune_log_close_at) tune_log_t *log = NULL;
    struct stat info;
    TRY(memory_zeroed(1, sizeof *log, "a log", &log));
    log->fd = -1;
    if (path) {
        TRY(memory_text(path, &log->path));
        log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
        REQUIRE(log->fd >= 0, reason_write_status(errno), "%s: cannot be written: %s", path,
                strerror(errno));
        REQUIRE(fstat(log->fd, &info) == 0 && S_ISREG(info.st_mode), STATUS_DATA,
                "%s: is no ordinary file", path);
        TRY(text_read_file(&log->text, path, MOST_LOG, "a log of tuning"));
        REQUIRE(log->text.length == 0 ||
                    strncmp(log->text.data, head, min_u64(log->text.length, sizeof head - 1)) == 0,
                STATUS_USAGE, "%s is there, and no log of tuning", path);
        size_t nul = text_line_of_nul(log->text.data, log->text.length);
        REQUIRE(nul == 0, STATUS_USAGE, "%s:%zu: contains a NUL byte, expected a log of tuning",
                path, nul);
        TRY(log_begin(log));
        TRY(log_read_entries(log));
    }
    *out = memory_move(&log);
    return STATUS_OK;
}

void tune_log_close(tune_log_t *log)
{
    if (!log) {
        return;
    }
    if (log->fd >= 0) {
        close(log->fd);
    }
    text_free(&log->text);
    MEMORY_FREE(log->entries, log->path, log);
}

/* Returns the entry of an earlier tuner with these words and this round, which belongs to the log,
 * or NULL (the log is not NULL). Lines of this log's tune_log_add() are not found. */
static const struct tune_entry *tune_log_find(const tune_log_t *log, const char *problem,
                                              const char *words, uint32_t round)
{
    struct tune_entry wanted = {.problem = problem, .words = words, .round = round};
    return log->count > 0
               ? bsearch(&wanted, log->entries, log->count, sizeof wanted, log_compare_entries)
               : NULL;
}

/* Writes a line at the end, in one piece; a full disk may cut it short. Nothing without a path.
 * Fails with NO_SPACE, DATA, DEVICE (memory). */
static status_t tune_log_add(tune_log_t *log, const struct tune_entry *entry)
{
    SCOPED(text_free) struct text line = {0};
    if (log->fd >= 0) {
        TRY(text_add(&line, "%s,%u,%s,%.6f,%.4f,%.6f,%s\n", entry->problem, entry->round,
                     entry->words, 1e3 * entry->seconds, entry->spent,
                     isfinite(entry->cost) ? 1e3 * entry->cost : 0, /* 0: unknown */
                     state_names[entry->state]));
        TRY(log_append(log, line.data, line.length));
    }
    return STATUS_OK;
}

status_t tune_problem_words(const struct tune_problem *problem, const uint32_t *values,
                            struct text *out)
{
    const char *gap = "";
    if (problem->words) {
        return problem->words(values, out);
    }
    for (uint32_t i = 0; i < problem->nparameters; i++) {
        const struct tune_parameter *p = &problem->parameters[i];
        if (values[i] == 0) {
            continue;
        }
        TRY(p->value ? text_add(out, "%s%s=%s", gap, p->name, p->value(values[i]))
                     : text_add(out, "%s%s=%" PRIu32, gap, p->name, values[i]));
        gap = " ";
    }
    return STATUS_OK;
}

struct search {
    const struct tune_space *space;
    const struct tune_options *options;
    tune_log_t *log;
    const char *problem;
    struct tune_outcome *outcome;
    uint32_t tried, failures;
};

/* ---- spaces ---- */

const uint32_t *tune_space_values(const struct tune_space *space, uint32_t i)
{
    return space->values + (size_t)i * space->problem->nparameters;
}

int tune_space_find(const struct tune_space *space, const uint32_t *values, uint32_t *out)
{
    for (uint32_t i = 0; i < space->count; i++) {
        if (memcmp(tune_space_values(space, i), values,
                   space->problem->nparameters * sizeof *values) == 0) {
            *out = i;
            return 1;
        }
    }
    return 0;
}

/* How far configurations are from each other: steps[i * nparameters + p] numbers the different
 * values of parameter p in ascending order, and distances add up over parameters. */
struct map {
    const struct tune_space *space;
    uint32_t *steps;
};

static int map_compare_values(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Sorts and drops what is there twice; returns how many are left. */
static uint32_t map_distinct(uint32_t *values, uint32_t count)
{
    uint32_t kept = 0;
    qsort(values, count, sizeof *values, map_compare_values);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || values[kept - 1] != values[i]) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

static void map_free(struct map *map)
{
    free(memory_move(&map->steps));
}

static status_t map_create(const struct tune_space *space, struct map *out)
{
    uint32_t n = space->problem->nparameters;
    SCOPED(free_at) uint32_t *sorted = NULL;
    SCOPED(map_free) struct map map = {.space = space};
    TRY(memory_zeroed((size_t)space->count * n, sizeof *map.steps, "a search space", &map.steps));
    TRY(memory_zeroed(space->count, sizeof *sorted, "a search space", &sorted));
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t i = 0; i < space->count; i++) {
            sorted[i] = space->values[(size_t)i * n + p];
        }
        uint32_t kept = map_distinct(sorted, space->count);
        for (size_t i = p; i < (size_t)space->count * n; i += n) {
            const uint32_t *at =
                bsearch(&space->values[i], sorted, kept, sizeof *sorted, map_compare_values);
            map.steps[i] = (uint32_t)(at - sorted);
        }
    }
    *out = map;
    map.steps = NULL;
    return STATUS_OK;
}

static uint32_t map_distance(const struct map *map, uint32_t a, uint32_t b)
{
    uint32_t n = map->space->problem->nparameters;
    const uint32_t *from = map->steps + (size_t)a * n;
    const uint32_t *to = map->steps + (size_t)b * n;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < n; p++) {
        sum += from[p] > to[p] ? from[p] - to[p] : to[p] - from[p];
    }
    return sum;
}

/* ---- timing ---- */

/* Timing configurations of a search: what the log knows is not timed again, what needs compiling is
 * compiled ahead, and all of it counts. The best few are timed once more in turns, so that machine
 * noise is the same for all. */

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

static int search_is_stopped(const struct search *s)
{
    return s->options->time.is_stopped && s->options->time.is_stopped();
}

/* Whether it has timed as many as it may. */
static int search_is_limited(const struct search *s)
{
    return s->options->limit > 0 && s->tried >= s->options->limit;
}

/* Returns whether the search continues; repeated rounds of the best get a fifth of the time. */
static int search_goes_on(struct search *s)
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
    SCOPED(text_free) struct text words = {0};
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
    return STATUS_OK;
}

/* Finds the log's entry of a configuration: sets *found, and *out. */
static status_t search_recall(struct search *s, uint32_t i, uint32_t round, struct tune_result *out,
                              int *found)
{
    SCOPED(text_free) struct text words = {0};
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
    return STATUS_OK;
}

/* Times one within `time`; what fails is a result, too, without a time. `ahead`: seconds that
 * compiling it ahead took. */
static status_t search_measure(struct search *s, uint32_t i, const struct tune_time *time,
                               double ahead, struct tune_result *out)
{
    status_t st = STATUS_OK;
    struct trial_times found = {0};
    double started = clock_now();
    status_t tried = s->space->time(s->space->context, i, s->options->repeats, time, &found);
    out->spent = found.spent > 0 ? found.spent : ahead + clock_now() - started;
    /* In whole nanoseconds, as in the log, so that a resumed search meets the same ties. */
    out->seconds = tried == STATUS_OK ? rint(found.median * 1e9) / 1e9 : 0;
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
    struct tune_result *result = &s->outcome->results[i];
    TRY(search_measure(s, i, time, ahead, result));
    TRY(search_note(s, i, 0, result));
    search_count(s, i);
    return STATUS_OK;
}

/* Configurations without a time go to the front of `left`; the others are counted. */
static status_t search_recall_some(struct search *s, const uint32_t *list, uint32_t n,
                                   uint32_t *left, uint32_t *nleft)
{
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
    return STATUS_OK;
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
        TRY(search_is_next(s, &time, compiled[k]) ? search_time(s, left[k], &time, ahead)
                                                  : STATUS_OK);
    }
    return STATUS_OK;
}

/* Times the untried entries of a list while the search continues; at least one, if any time is
 * left. */
static status_t search_try_list(struct search *s, const uint32_t *list, uint32_t n)
{
    uint32_t batch = s->space->prepare ? (uint32_t)min_u64(s->space->ahead, BATCH) : BATCH;
    for (uint32_t k = 0; k < n && search_goes_on(s); k += batch) {
        TRY(search_try_batch(s, list + k, n - k < batch ? n - k : batch));
    }
    return STATUS_OK;
}

static status_t search_try_one(struct search *s, uint32_t i)
{
    uint32_t left = 0;
    uint32_t nleft = 0;
    TRY(search_recall_some(s, &i, 1, &left, &nleft));
    return nleft > 0 && !tune_time_is_over(&s->options->time, 1)
               ? search_time(s, i, &s->options->time, 0)
               : STATUS_OK;
}

struct finalist {
    uint32_t index, count;
    double seconds[MOST_ROUNDS];
};

/* Picks the fastest few configurations with right results; returns their number. */
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
    return STATUS_OK;
}

/* Settles the winner among the finalists by the medians of the turns. */
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

/* Times the finalists again in turns; the medians decide. */
static status_t search_take_turns(struct search *s)
{
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
    return STATUS_OK;
}

/* The guided search: what ranks first, then what is near the best. */

enum {
    SEEDS = 16,  /* it begins with */
    NEAR = 16,   /* tried around each good one */
    PATIENCE = 4 /* good ones around which nothing better was found, and it ends */
};

/* Whether number i, the first in rank of its value of parameter 0 or far enough from all chosen
 * before, is to be a seed. */
static int guided_is_seed(const struct map *map, const uint32_t *list, uint32_t n, uint32_t i)
{
    uint32_t width = map->space->problem->nparameters;
    int is_first = 1;
    int is_far = 1;
    for (uint32_t k = 0; k < n; k++) {
        is_first &= map->steps[(size_t)i * width] != map->steps[(size_t)list[k] * width];
        is_far &= map_distance(map, i, list[k]) > 1;
    }
    return is_first || (is_far && n < SEEDS);
}

static status_t guided_try_seeds(struct search *s, const struct map *map)
{
    enum { MOST_SEEDS = 2 * SEEDS };
    uint32_t list[MOST_SEEDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->space->count && n < MOST_SEEDS; i++) {
        if (guided_is_seed(map, list, n, i)) {
            list[n++] = i;
        }
    }
    return search_try_list(s, list, n);
}

struct neighbour {
    double score;
    uint32_t index;
};

static int guided_compare_neighbours(const void *left, const void *right)
{
    const struct neighbour *a = left;
    const struct neighbour *b = right;
    int order = (a->score > b->score) - (a->score < b->score);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Tries untried neighbours of `centre`: one step away, or more if the model prefers them. `room`
 * has space for all. */
static status_t guided_try_near(struct search *s, const struct map *map, uint32_t centre,
                                struct neighbour *room)
{
    uint32_t list[NEAR];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->space->count; i++) {
        if (s->outcome->results[i].state == TUNE_UNTRIED) {
            double far = 0.5 + 0.5 * map_distance(map, centre, i);
            room[n++] = (struct neighbour){far * (s->space->costs ? s->space->costs[i] : 1), i};
        }
    }
    qsort(room, n, sizeof *room, guided_compare_neighbours);
    n = n < NEAR ? n : NEAR;
    for (uint32_t k = 0; k < n; k++) {
        list[k] = room[k].index;
    }
    return search_try_list(s, list, n);
}

/* Tries the next configurations in rank, because none was right so far. *is_over is set when all
 * were tried. */
static status_t guided_try_next(struct search *s, int *is_over)
{
    uint32_t list[SEEDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->space->count && n < SEEDS; i++) {
        if (s->outcome->results[i].state == TUNE_UNTRIED) {
            list[n++] = i;
        }
    }
    *is_over = n == 0;
    return search_try_list(s, list, n);
}

/* The best one around which nothing was tried yet; count when there is none. */
static uint32_t guided_best_open(const struct search *s, const unsigned char *done)
{
    uint32_t best = s->space->count;
    for (uint32_t i = 0; i < s->space->count; i++) {
        const struct tune_result *r = &s->outcome->results[i];
        if (r->state == TUNE_OK && !done[i] &&
            (best == s->space->count || r->seconds < s->outcome->results[best].seconds)) {
            best = i;
        }
    }
    return best;
}

/* Searches from seeds. Tries the neighbours of the best configuration until PATIENCE times in turn
 * nothing becomes faster. */
static status_t search_guided(struct search *s)
{
    SCOPED(map_free) struct map map = {0};
    SCOPED(free_at) unsigned char *done = NULL;
    SCOPED(free_at) struct neighbour *room = NULL;
    TRY(map_create(s->space, &map));
    TRY(memory_zeroed(s->space->count, 1, "configurations", &done));
    TRY(memory_zeroed(s->space->count, sizeof *room, "configurations", &room));
    TRY(guided_try_seeds(s, &map));
    for (int is_over = 0; s->outcome->ok == 0 && !is_over && search_goes_on(s);) {
        TRY(guided_try_next(s, &is_over));
    }
    for (int vain = 0; vain < PATIENCE && search_goes_on(s);) {
        uint32_t centre = guided_best_open(s, done);
        if (centre == s->space->count) {
            break;
        }
        double before = s->outcome->results[s->outcome->best].seconds;
        done[centre] = 1;
        TRY(guided_try_near(s, &map, centre, room));
        vain = s->outcome->results[s->outcome->best].seconds < 0.995 * before ? 0 : vain + 1;
    }
    return STATUS_OK;
}

void tune_outcome_free(struct tune_outcome *outcome)
{
    free(memory_move(&outcome->results));
}

static status_t search_in_order(struct search *s)
{
    uint32_t n = s->space->count;
    SCOPED(free_at) uint32_t *list = NULL;
    TRY(memory_zeroed(n, sizeof *list, "configurations", &list));
    for (uint32_t i = 0; i < n; i++) {
        list[i] = i;
    }
    if (s->options->shuffle) {
        s->options->shuffle(list, n, s->options->seed);
    }
    return search_try_list(s, list, n);
}

/* Returns the time after which the search ended; INFINITY: it was complete; 0: it was limited by a
 * count. */
static double search_extent(const struct search *s)
{
    const struct tune_time *time = &s->options->time;
    if (!s->outcome->is_cut) {
        return search_is_limited(s) && s->tried < s->space->count ? 0 : INFINITY;
    }
    double gone = clock_now() - time->from;
    return search_is_stopped(s) ? fmin(gone, tune_time_seconds(time)) : tune_time_seconds(time);
}

status_t tune_search(const struct tune_space *space, const struct tune_options *options,
                     tune_log_t *log, const char *problem, struct tune_outcome *out)
{
    struct search search = {
        .space = space, .options = options, .log = log, .problem = problem, .outcome = out};
    *out = (struct tune_outcome){0};
    TRY(memory_zeroed(space->count, sizeof *out->results, "results", &out->results));
    TRY(options->is_guided ? search_guided(&search) : search_in_order(&search));
    double had = search_extent(&search);
    /* The configuration known before is timed again, to meet the same machine noise as the best of
     * the search. It comes last, so that searches take the same course with and without it. */
    TRY(options->known ? search_try_one(&search, *options->known) : STATUS_OK);
    TRY(options->rounds > 0 ? search_take_turns(&search) : STATUS_OK);
    out->searched = had;
    return STATUS_OK;
}

/* ---- statistics ---- */

status_t tune_statistics(const struct tune_space *space, const struct tune_outcome *outcome,
                         struct tune_statistics *out)
{
    SCOPED(free_at) double *rates = NULL; /* of right configurations */
    uint32_t n = 0;
    *out = (struct tune_statistics){0};
    TRY(memory_zeroed(space->count, sizeof *rates, "rates", &rates));
    for (uint32_t i = 0; i < space->count; i++) {
        if (outcome->results[i].state == TUNE_OK && outcome->results[i].seconds > 0) {
            rates[n++] = 1 / outcome->results[i].seconds;
        }
    }
    out->count = n;
    out->median = n > 0 ? tune_median(rates, n) : 0; /* sorts them */
    out->best = n > 0 ? rates[n - 1] : 0;
    for (uint32_t i = 0; i < n; i++) {
        out->mean += rates[i] / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        out->deviation += (rates[i] - out->mean) * (rates[i] - out->mean) / n;
    }
    out->deviation = sqrt(out->deviation);
    out->signal_to_noise = out->deviation > 0 ? (out->best - out->mean) / out->deviation : 0;
    return STATUS_OK;
}
