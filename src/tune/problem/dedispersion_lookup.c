/* What the database knows of dedispersion, and what goes into it. */
#include "io/cache.h"
#include "tune/problem/dedispersion.h"

#include <inttypes.h>

static uint32_t lookup_count_used(const struct dedisperse_spec *spec)
{
    uint32_t used = 0;
    for (uint32_t c = 0; c < spec->delays->nchannels; c++) {
        used += !spec->mask || !spec->mask[c];
    }
    return used;
}

static uint64_t lookup_hash_delays(const struct dedisperse_spec *spec)
{
    const struct dispersion *delays = spec->delays;
    uint64_t parts[3] = {0};
    parts[0] = cache_hash(delays->table, sizeof *delays->table * delays->ndms * delays->nchannels);
    parts[1] = spec->mask ? cache_hash(spec->mask, delays->nchannels) : 0;
    parts[2] = spec->steps ? spec->steps->group : 0;
    return cache_hash(parts, sizeof parts);
}

status_t tune_problem_of(backend_t *backend, const struct dedisperse_spec *spec,
                         struct tune_problem *out)
{
    status_t st = STATUS_OK;
    static const char *const formats[] = {"uint8", "uint16", "float32"};
    const struct dispersion *delays = spec->delays;
    uint32_t used = lookup_count_used(spec);
    *out = (struct tune_problem){.features = {used, delays->ndms, (double)spec->max_samples,
                                              1 + (double)delays->largest / delays->ndms}};
    TRY(text_add(&out->kernel, "dedisperse %s", formats[spec->format]));
    if (spec->steps) {
        TRY(text_add(&out->kernel, " in two steps"));
    }
    if (backend_abilities(backend_which(backend))->uses_threads) {
        TRY(text_add(&out->kernel, " on %u threads", spec->threads));
    }
    TRY(dedisperse_identity(backend, &out->identity));
    TRY(text_add(&out->words,
                 "%u channels, %u DMs, %" PRIu64 " samples, delays up to %u (%016" PRIx64 ")", used,
                 delays->ndms, spec->max_samples, delays->largest, lookup_hash_delays(spec)));
    TRY(tune_problem_end(out));
out:
    return st;
}

/* The nearest known problem with a shape that fits this one. */
static status_t lookup_look_up(backend_t *backend, const struct dedisperse_spec *spec,
                               const struct tune_problem *problem, const char *database,
                               struct dedisperse_shape *shape, enum tune_found *found,
                               struct text *from, struct tune_known *very)
{
    status_t st = STATUS_OK;
    enum { MOST_NEAR = 32, FAR = 4 /* octaves of features: the model knows better then */ };
    struct store_record near[MOST_NEAR];
    store_t *store = NULL;
    uint32_t count = 0;
    *found = TUNE_NOTHING;
    TRY(store_open(database, &store));
    struct store_key key = tune_problem_key(problem);
    store_find(store, &key, near, MOST_NEAR, &count);
    for (uint32_t i = 0; i < count && near[i].distance <= FAR && *found == TUNE_NOTHING; i++) {
        struct dedisperse_shape known;
        const char *why = NULL;
        double cost = 0;
        if (dedisperse_shape_parse(near[i].words, &known) &&
            dedisperse_shape_fits(backend, spec, &known, &cost, &why)) {
            *shape = known;
            *found = near[i].distance > 0 ? TUNE_NEAREST : TUNE_EXACT;
            TRY(from ? text_add(from, "%s", near[i].key.problem) : STATUS_OK);
        }
    }
    if (very) {
        TRY(tune_known_of(near, count, very));
        very->can_be = *found == TUNE_EXACT;
    }
out:
    store_close(store);
    return st;
}

status_t tune_find(backend_t *backend, const struct dedisperse_spec *spec, const char *database,
                   struct dedisperse_shape *shape, enum tune_found *found, struct text *from)
{
    status_t st = STATUS_OK;
    struct tune_problem problem = {0};
    TRY(tune_problem_of(backend, spec, &problem));
    TRY(lookup_look_up(backend, spec, &problem, database, shape, found, from, NULL));
out:
    tune_problem_free(&problem);
    return st;
}

status_t tune_dedispersion_begin(backend_t *backend, const struct dedisperse_spec *spec,
                                 const char *database, struct tune_dedispersion_start *out)
{
    status_t st = STATUS_OK;
    enum tune_found found;
    *out = (struct tune_dedispersion_start){.shape = {0}};
    TRY(tune_problem_of(backend, spec, &out->problem));
    TRY(lookup_look_up(backend, spec, &out->problem, database, &out->shape, &found, NULL,
                       &out->known));
out:
    return st;
}

void tune_dedispersion_start_free(struct tune_dedispersion_start *start)
{
    tune_problem_free(&start->problem);
    tune_known_free(&start->known);
}

const uint32_t *tune_dedispersion_place(struct tune_dedispersion_start *start,
                                        const tune_dedispersion_t *shapes)
{
    struct tune_known *known = &start->known;
    known->can_be = known->can_be && tune_dedispersion_find(shapes, &start->shape, &known->index);
    return known->can_be ? &known->index : NULL;
}

static status_t lookup_search(backend_t *backend, const struct dedisperse_spec *spec,
                              struct tune_dedispersion_start *start,
                              const struct tune_thinning *thinning,
                              const struct tune_options *options, tune_log_t *log,
                              const char *database, struct dedisperse_shape *best,
                              struct tune_summary *out)
{
    status_t st = STATUS_OK;
    struct tune_options with_known = *options;
    struct tune_outcome outcome = {0};
    dedispersion_trial_t *trial = NULL;
    tune_dedispersion_t *shapes = NULL;
    *out = (struct tune_summary){.is_cut = tune_time_is_over(&options->time, 1)};
    if (out->is_cut) {
        goto out;
    }
    TRY(dedispersion_trial_create(backend, spec, &trial));
    TRY(tune_dedispersion_create(trial, thinning, &shapes));
    const struct tune_space *space = tune_dedispersion_space(shapes);
    if (space->count == 0) {
        goto out; /* nothing to choose from */
    }
    with_known.known = tune_dedispersion_place(start, shapes);
    TRY(tune_search(space, &with_known, log, start->problem.hash, &outcome));
    TRY(tune_summarise(space, &outcome, tune_dedispersion_all(shapes), out));
    if (out->seconds > 0) {
        *best = *tune_dedispersion_shape(shapes, outcome.best);
    }
    TRY(tune_known_keep(&start->known, &start->problem, database, space, &outcome,
                        tune_dedispersion_is_thinned(shapes), NULL));
out:
    tune_outcome_free(&outcome);
    tune_dedispersion_destroy(shapes);
    dedispersion_trial_destroy(trial);
    return st;
}

status_t tune_dedispersion_search(backend_t *backend, const struct dedisperse_spec *spec,
                                  const struct tune_thinning *thinning,
                                  const struct tune_options *options, tune_log_t *log,
                                  const char *database, struct dedisperse_shape *best,
                                  struct tune_summary *out)
{
    status_t st = STATUS_OK;
    struct tune_thinning with_known = thinning ? *thinning : (struct tune_thinning){.every = 0};
    struct tune_dedispersion_start start;
    *out = (struct tune_summary){0};
    TRY(tune_dedispersion_begin(backend, spec, database, &start));
    with_known.known = start.known.can_be ? &start.shape : NULL;
    TRY(lookup_search(backend, spec, &start, &with_known, options, log, database, best, out));
out:
    tune_dedispersion_start_free(&start);
    return st;
}

struct tune_options tune_wished(const struct tune_wish *wish)
{
    return (struct tune_options){.method = TUNE_GUIDED,
                                 .time = tune_budget_begin(wish->budget),
                                 .memory = wish->memory,
                                 .repeats = 3,
                                 .rounds = 2};
}

int tune_is_wanted(const char *what, enum tune_found found, const struct tune_known *known,
                   const struct tune_time *time)
{
    int is_stopped = time->is_stopped && time->is_stopped();
    if (is_stopped || (found == TUNE_EXACT && tune_time_seconds(time) <= known->searched)) {
        return 0;
    }
    if (tune_time_is_over(time, 1)) {
        report_note("%s is not tuned: the budget is spent", what);
        return 0;
    }
    return 1;
}

status_t tune_forgive(const char *what, backend_t *backend, status_t st)
{
    if (st == STATUS_USAGE || (st == STATUS_DEVICE && backend_was_full(backend))) {
        report_warn("%s is not tuned: %s", what, report_cause());
        report_clear();
        return STATUS_OK;
    }
    return st;
}

void tune_note(const char *what, const struct tune_summary *summary)
{
    report_note("tuned %s: %u of %u ways timed in %.1f s, %u wrong, %u failed%s", what,
                summary->timed, summary->fit, summary->spent, summary->wrong, summary->failed,
                summary->is_cut ? ", cut by the budget" : "");
}

status_t tune_now(backend_t *backend, const struct dedisperse_spec *spec,
                  const struct tune_wish *wish, struct dedisperse_shape *shape,
                  enum tune_found *found)
{
    status_t st = STATUS_OK;
    static const char what[] = "dedispersion";
    struct tune_options options = tune_wished(wish);
    struct tune_dedispersion_start start = {.shape = {0}};
    struct tune_summary summary;
    TRY(tune_problem_of(backend, spec, &start.problem));
    TRY(lookup_look_up(backend, spec, &start.problem, wish->database, shape, found, NULL,
                       &start.known));
    if (!tune_is_wanted(what, *found, &start.known, &options.time)) {
        goto out;
    }
    start.shape = *shape;
    const struct tune_thinning also = {.also = shape, .nalso = *found != TUNE_NOTHING};
    st = lookup_search(backend, spec, &start, &also, &options, NULL, wish->database, shape,
                       &summary);
    TRY(tune_forgive(what, backend, st));
    if (summary.timed > 0) {
        tune_note(what, &summary);
    }
    *found = summary.seconds > 0 ? TUNE_EXACT : *found;
out:
    tune_budget_end(wish->budget, &options.time);
    tune_dedispersion_start_free(&start);
    return st;
}
