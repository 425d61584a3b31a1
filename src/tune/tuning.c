/* Looks up, searches and keeps, for any problem; configurations from words, and the keys of cases.
 */
#include "tune/tuning.h"

#include "base/units.h"
#include "io/cache.h"

#include <inttypes.h>
#include <math.h>

static int problem_read_value(const struct tune_parameter *p, const char *text, uint32_t *out)
{
    uint64_t number = p->least;
    if (p->value) {
        while (number <= p->most && strcmp(text, p->value((uint32_t)number)) != 0) {
            number++;
        }
    } else if (!units_parse_u64(text, &number)) {
        return 0;
    }
    *out = (uint32_t)number;
    return number <= p->most;
}

/* "name=value", which must come after parameter `next`. */
static int problem_read_pair(const struct tune_problem *problem, char *pair, uint32_t *next,
                             uint32_t *values)
{
    const char *name = strsep(&pair, "=");
    for (uint32_t i = *next; pair && i < problem->nparameters; i++) {
        if (strcmp(name, problem->parameters[i].name) == 0) {
            *next = i + 1;
            return problem_read_value(&problem->parameters[i], pair, &values[i]) && values[i] > 0;
        }
    }
    return 0;
}

static int problem_read_pairs(const struct tune_problem *problem, const char *words,
                              uint32_t *values)
{
    uint32_t next = 0;
    SCOPED(free_at) char *copy = strdup(words);
    char *rest = copy;
    int good = copy != NULL;
    for (char *pair = strsep(&rest, " "); good && pair; pair = strsep(&rest, " ")) {
        good = problem_read_pair(problem, pair, &next, values);
    }
    return good;
}

int tune_problem_parse(const struct tune_problem *problem, const char *words, uint32_t *values)
{
    uint32_t found[TUNE_PARAMETERS] = {0};
    int good =
        problem->parse ? problem->parse(words, found) : problem_read_pairs(problem, words, found);
    for (uint32_t i = 0; i < problem->nparameters; i++) {
        good = good && found[i] >= problem->parameters[i].least &&
               found[i] <= problem->parameters[i].most;
    }
    if (good) {
        memcpy(values, found, problem->nparameters * sizeof *values);
    }
    return good;
}

status_t tune_problem_fits(const struct tune_problem *problem, backend_t *backend, const void *spec,
                           const uint32_t *values, int *out)
{
    const size_t width = problem->nparameters;
    SCOPED(free_at) uint32_t *list = NULL;
    uint32_t count = 0;
    if (problem->fits) {
        return problem->fits(backend, spec, values, out);
    }
    TRY(problem->candidates(backend, spec, &list, &count));
    *out = 0;
    for (uint32_t i = 0; i < count && !*out; i++) {
        *out = memcmp(list + i * width, values, width * sizeof *values) == 0;
    }
    return STATUS_OK;
}

static status_t tune_problem_kernel(const struct tune_problem *problem, enum backend_kind kind,
                                    const void *spec, struct text *out)
{
    TRY(text_add(out, "%s", problem->name));
    TRY(problem->version > 1 ? text_add(out, " v%u", problem->version) : STATUS_OK);
    return problem->kernel(kind, spec, out);
}

status_t tune_key_of(const struct tune_problem *problem, backend_t *backend, const void *spec,
                     struct tune_key *out)
{
    SCOPED(text_free) struct text all = {0};
    *out = (struct tune_key){.features = {0}};
    TRY(tune_problem_kernel(problem, backend_which(backend), spec, &out->kernel));
    TRY(problem->describe(backend, spec, out));
    TRY(text_add(&all, "%s\n%s\n%s", out->kernel.data, out->identity.data, out->words.data));
    snprintf(out->hash, sizeof out->hash, "%016" PRIx64, cache_hash(all.data, all.length));
    return STATUS_OK;
}

void tune_key_free(struct tune_key *key)
{
    text_free(&key->kernel);
    text_free(&key->identity);
    text_free(&key->words);
}

struct store_key tune_key_stored(const struct tune_key *key)
{
    struct store_key out = {
        .kernel = key->kernel.data, .identity = key->identity.data, .problem = key->words.data};
    memcpy(out.features, key->features, sizeof out.features);
    return out;
}

/* Finds the nearest record that is a configuration for this case. */
static status_t tuning_look_up(struct tuning *t, const char *database)
{
    enum { MOST_NEAR = 32 };
    struct store_record near[MOST_NEAR];
    SCOPED(store_close_at) store_t *store = NULL;
    uint32_t count = 0;
    TRY(store_open(database, &store));
    struct store_key key = tune_key_stored(&t->key);
    store_find(store, &key, near, MOST_NEAR, &count);
    if (count > 0 && near[0].distance <= 0) {
        t->searched = near[0].searched;
        TRY(text_add(&t->record, "%s", near[0].words));
    }
    for (uint32_t i = 0; i < count && t->found == TUNE_NOTHING; i++) {
        int fits = 0;
        if (t->problem->far > 0 && near[i].distance > t->problem->far) {
            break;
        }
        if (tune_problem_parse(t->problem, near[i].words, t->values)) {
            TRY(tune_problem_fits(t->problem, t->backend, t->spec, t->values, &fits));
        }
        if (fits) {
            t->found = near[i].distance > 0 ? TUNE_NEAREST : TUNE_EXACT;
            TRY(text_add(&t->from, "%s", near[i].key.problem));
        }
    }
    return STATUS_OK;
}

status_t tuning_begin(const struct tune_problem *problem, backend_t *backend, const void *spec,
                      const char *database, struct tuning *out)
{
    *out = (struct tuning){.problem = problem, .backend = backend, .spec = spec};
    TRY(tune_key_of(problem, backend, spec, &out->key));
    return tuning_look_up(out, database);
}

/* Trials take much memory, which is freed as soon as possible. */
static void tuning_end_space(struct tuning *t)
{
    if (t->space.context) {
        t->problem->end(&t->space);
        t->space = (struct tune_space){.context = NULL};
    }
}

void tuning_end(struct tuning *t)
{
    tuning_end_space(t);
    tune_outcome_free(&t->outcome);
    tune_key_free(&t->key);
    text_free(&t->from);
    text_free(&t->record);
}

/* Fails with DEVICE (memory). */
static status_t tune_summarise(const struct tune_space *space, const struct tune_outcome *outcome,
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

status_t tuning_search_picked(struct tuning *t, const struct tune_pick *pick,
                              const struct tune_options *options, tune_log_t *log)
{
    struct tune_options with_known = *options;
    uint32_t known = 0;
    t->summary = (struct tune_summary){.is_cut = tune_time_is_over(&options->time, 1)};
    if (t->summary.is_cut) {
        return STATUS_OK;
    }
    TRY(t->problem->begin(t->backend, t->spec, pick, options->memory, &t->space));
    if (t->space.count == 0) {
        return STATUS_OK; /* nothing to choose from */
    }
    if (t->found == TUNE_EXACT && tune_space_find(&t->space, t->values, &known)) {
        with_known.known = &known;
    }
    TRY(tune_search(&t->space, &with_known, log, t->key.hash, &t->outcome));
    t->known_state = with_known.known ? t->outcome.results[known].state : TUNE_WRONG;
    TRY(tune_summarise(&t->space, &t->outcome, &t->summary));
    if (t->outcome.ok > 0) {
        double had = t->space.is_thinned ? 0 : t->outcome.searched;
        /* The best of a whole search took part: this one is whole, too. */
        t->searched = t->record.data && t->known_state == TUNE_OK ? fmax(had, t->searched) : had;
        memcpy(t->values, tune_space_values(&t->space, t->outcome.best),
               t->problem->nparameters * sizeof *t->values);
        t->found = TUNE_EXACT;
    }
    return STATUS_OK;
}

/* Searches within `time`, which counts for the whole search. */
static status_t tuning_search_within(struct tuning *t, const struct tune_request *request,
                                     const struct tune_time *time, const uint32_t *also)
{
    uint32_t known[TUNE_PARAMETERS];
    struct tune_options options = request->search;
    struct tune_pick pick = {.only = request->only,
                             .every = request->every,
                             .most = request->most,
                             .also = also,
                             .nalso = also != NULL,
                             .known = t->found == TUNE_EXACT ? known : NULL};
    memcpy(known, t->values, sizeof known);
    options.time = *time;
    status_t st = tuning_search_picked(t, &pick, &options, request->log);
    tuning_end_space(t);
    return st;
}

status_t tuning_search(struct tuning *t, const struct tune_request *request, const uint32_t *also)
{
    struct tune_time time = tune_budget_begin(request->budget);
    status_t st = tuning_search_within(t, request, &time, also);
    tune_budget_end(request->budget, &time);
    return st == STATUS_OK ? tuning_keep(t, request->database) : st;
}

status_t tuning_put(const struct tuning *t, const char *database, const uint32_t *values,
                    double seconds, double searched, const char *settled)
{
    SCOPED(text_free) struct text words = {0};
    TRY(tune_problem_words(t->problem, values, &words));
    struct store_record record = {.key = tune_key_stored(&t->key),
                                  .words = words.data,
                                  .seconds = seconds,
                                  .searched = searched};
    return store_put(database, &record, settled);
}

status_t tuning_keep(struct tuning *t, const char *database)
{
    if (t->outcome.ok == 0) {
        return STATUS_OK;
    }
    return tuning_put(t, database, t->values, t->outcome.results[t->outcome.best].seconds,
                      t->searched, t->known_state != TUNE_UNTRIED ? t->record.data : NULL);
}

/* Whether it is worth searching. Says so when there is no time for it. */
static int tuning_is_wanted(const struct tuning *t, const struct tune_time *time)
{
    int is_stopped = time->is_stopped && time->is_stopped();
    if (is_stopped || (t->found == TUNE_EXACT && tune_time_seconds(time) <= t->searched)) {
        return 0;
    }
    if (tune_time_is_over(time, 1)) {
        report_note("%s is not tuned: the budget is spent", t->problem->title);
        return 0;
    }
    return 1;
}

status_t tuning_forgive(const struct tune_problem *problem, backend_t *backend, status_t st)
{
    if (st == STATUS_USAGE || (st == STATUS_DEVICE && backend_was_full(backend))) {
        report_warn("%s is not tuned: %s", problem->title, report_cause());
        report_clear();
        return STATUS_OK;
    }
    return st;
}

status_t tuning_now(struct tuning *t, const struct tune_request *request, const uint32_t *also)
{
    status_t st = STATUS_OK;
    struct tune_time time = tune_budget_begin(request->budget);
    uint32_t near[TUNE_PARAMETERS];
    if (!tuning_is_wanted(t, &time)) {
        goto out;
    }
    memcpy(near, t->values, sizeof near);
    also = also ? also : t->found != TUNE_NOTHING ? near : NULL;
    st = tuning_search_within(t, request, &time, also);
    TRY_OUT(tuning_forgive(t->problem, t->backend, st));
    const struct tune_summary *s = &t->summary;
    if (s->timed > 0) {
        report_note("tuned %s: %u of %u configurations timed in %.1f s, %u wrong, %u failed%s",
                    t->problem->title, s->timed, s->fit, s->spent, s->wrong, s->failed,
                    s->is_cut ? ", cut by the budget" : "");
    }
out:
    tune_budget_end(request->budget, &time);
    return st;
}

status_t tuning_is_known(const struct tune_problem *problem, enum backend_kind kind,
                         const void *spec, const char *database, int *out)
{
    SCOPED(text_free) struct text kernel = {0};
    SCOPED(store_close_at) store_t *store = NULL;
    *out = 0;
    TRY(tune_problem_kernel(problem, kind, spec, &kernel));
    TRY(store_open(database, &store));
    *out = store_has(store, kernel.data);
    return STATUS_OK;
}

struct few {
    const char *kind; /* of entries */
    const uint32_t *list;
    uint32_t count;
    size_t bytes; /* of a configuration */
    struct tuning tuning;
    struct text key;
};

/* The one that was the fastest then, if it is among them today. */
static status_t few_recall(const struct few *few, uint32_t *values, int *found)
{
    SCOPED(free_at) void *data = NULL;
    size_t size = 0;
    *found = 0;
    TRY(cache_get(few->kind, few->key.data, &data, &size));
    for (uint32_t i = 0; data && size == few->bytes && i < few->count; i++) {
        *found |= memcmp(data, few->list + i * few->tuning.problem->nparameters, size) == 0;
    }
    if (*found) {
        memcpy(values, data, size);
    }
    return STATUS_OK;
}

static status_t few_measure(struct few *few, uint64_t memory, uint32_t *values)
{
    struct tuning *t = &few->tuning;
    const struct tune_pick pick = {.is_few = 1};
    const struct tune_options options = {.memory = memory, .repeats = 3};
    status_t st = tuning_search_picked(t, &pick, &options, NULL);
    if (st != STATUS_OK && few->count == 1) { /* the stage itself will report what it lacks */
        (void)backend_was_full(t->backend);   /* that failure is over */
        report_clear();
        return STATUS_OK;
    }
    TRY(tuning_forgive(t->problem, t->backend, st));
    REQUIRE(t->outcome.ok > 0 || t->summary.wrong == 0, STATUS_DEVICE,
            "%s: none of %u configurations computes what the reference does", t->problem->title,
            t->summary.timed);
    /* If none can be built, the stage that is created next reports why. */
    if (t->outcome.ok > 0) {
        memcpy(values, t->values, few->bytes);
        cache_put(few->kind, few->key.data, values, few->bytes);
    }
    return STATUS_OK;
}

SCOPED_CALLS(few_end, struct few, tuning_end(&at->tuning), text_free(&at->key))

status_t tune_few(const struct tune_problem *problem, backend_t *backend, const void *spec,
                  const char *kind, const uint32_t *list, uint32_t count, uint64_t memory,
                  uint32_t *values)
{
    SCOPED(few_end)
    struct few few = {.kind = kind,
                      .list = list,
                      .count = count,
                      .bytes = problem->nparameters * sizeof *values,
                      .tuning = {.problem = problem, .backend = backend, .spec = spec}};
    const struct tune_key *key = &few.tuning.key;
    int found = 0;
    if (count == 0) {
        return STATUS_OK;
    }
    TRY(tune_key_of(problem, backend, spec, &few.tuning.key));
    TRY(text_add(&few.key, "voltmill %s\n%s\n%s\n%s\n", VOLTMILL_VERSION, key->kernel.data,
                 key->identity.data, key->words.data));
    TRY(few_recall(&few, values, &found));
    return found ? STATUS_OK : few_measure(&few, memory, values);
}
