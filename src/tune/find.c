/* What the database knows of dedispersion, and what goes into it. */
#include "base/cache.h"
#include "base/memory.h"
#include "tune/shapes.h"
#include "tune/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(STORE_FEATURES == sizeof(((struct tune_problem *)0)->features) / sizeof(double),
               "a problem has the store's features");

static uint32_t count_used(const struct dedisperse_spec *spec)
{
    uint32_t used = 0;
    for (uint32_t c = 0; c < spec->delays->nchannels; c++) {
        used += !spec->mask || !spec->mask[c];
    }
    return used;
}

static uint64_t hash_delays(const struct dedisperse_spec *spec)
{
    const struct delays *delays = spec->delays;
    uint64_t parts[3] = {0};
    parts[0] = cache_hash(delays->table, sizeof *delays->table * delays->ndms * delays->nchannels);
    parts[1] = spec->mask ? cache_hash(spec->mask, delays->nchannels) : 0;
    parts[2] = spec->steps ? spec->steps->group : 0;
    return cache_hash(parts, sizeof parts);
}

void tune_problem_free(struct tune_problem *problem)
{
    text_free(&problem->kernel);
    text_free(&problem->identity);
    text_free(&problem->words);
}

status_t tune_problem_of(backend_t *backend, const struct dedisperse_spec *spec,
                         struct tune_problem *out)
{
    status_t st = STATUS_OK;
    static const char *const formats[] = {"uint8", "uint16", "float32"};
    const struct delays *delays = spec->delays;
    uint32_t used = count_used(spec);
    struct text all = {0};
    *out = (struct tune_problem){.features = {used, delays->ndms, (double)spec->max_samples,
                                              1 + (double)delays->largest / delays->ndms}};
    TRY(text_add(&out->kernel, "dedisperse %s", formats[spec->format]));
    if (spec->steps) {
        TRY(text_add(&out->kernel, " in two steps"));
    }
    if (backend_which(backend) == BACKEND_CPU) {
        TRY(text_add(&out->kernel, " on %u threads", spec->threads));
    }
    TRY(dedisperse_identity(backend, &out->identity));
    TRY(text_add(&out->words,
                 "%u channels, %u DMs, %" PRIu64 " samples, delays up to %u (%016" PRIx64 ")", used,
                 delays->ndms, spec->max_samples, delays->largest, hash_delays(spec)));
    TRY(text_add(&all, "%s\n%s\n%s", out->kernel.data, out->identity.data, out->words.data));
    snprintf(out->hash, sizeof out->hash, "%016" PRIx64, cache_hash(all.data, all.length));
out:
    text_free(&all);
    return st;
}

static struct store_key key_of(const struct tune_problem *problem)
{
    struct store_key key = {.kernel = problem->kernel.data,
                            .identity = problem->identity.data,
                            .problem = problem->words.data};
    for (int i = 0; i < STORE_FEATURES; i++) {
        key.features[i] = problem->features[i];
    }
    return key;
}

status_t tune_find(backend_t *backend, const struct dedisperse_spec *spec, const char *database,
                   struct dedisperse_shape *shape, enum tune_found *found, struct text *from)
{
    status_t st = STATUS_OK;
    enum { MOST_NEAR = 32, FAR = 4 /* octaves of features: the model knows better then */ };
    struct store_record near[MOST_NEAR];
    struct tune_problem problem = {0};
    store_t *store = NULL;
    uint32_t count = 0;
    *found = TUNE_NOTHING;
    TRY(tune_problem_of(backend, spec, &problem));
    TRY(store_open(database, &store));
    struct store_key key = key_of(&problem);
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
out:
    store_close(store);
    tune_problem_free(&problem);
    return st;
}

status_t tune_keep(backend_t *backend, const struct dedisperse_spec *spec, const char *database,
                   const struct dedisperse_shape *shape, double seconds)
{
    status_t st = STATUS_OK;
    struct tune_problem problem = {0};
    struct text words = {0};
    TRY(tune_problem_of(backend, spec, &problem));
    TRY(dedisperse_shape_words(shape, &words));
    struct store_record record = {.key = key_of(&problem), .words = words.data, .seconds = seconds};
    TRY(store_put(database, &record));
out:
    text_free(&words);
    tune_problem_free(&problem);
    return st;
}

status_t tune_shapes_search(backend_t *backend, const struct dedisperse_spec *spec,
                            const struct tune_thinning *thinning,
                            const struct tune_options *options, tune_log_t *log,
                            const char *database, struct dedisperse_shape *best,
                            struct tune_summary *out)
{
    status_t st = STATUS_OK;
    static const struct tune_thinning all;
    struct tune_problem problem = {0};
    struct tune_outcome outcome = {0};
    trial_t *trial = NULL;
    tune_shapes_t *shapes = NULL;
    *out = (struct tune_summary){0};
    TRY(tune_problem_of(backend, spec, &problem));
    TRY(trial_create(backend, spec, &trial));
    TRY(tune_shapes_create(trial, thinning ? thinning : &all, &shapes));
    const struct tune_space *space = tune_shapes_space(shapes);
    if (space->count == 0) {
        goto out; /* nothing to choose from */
    }
    TRY(tune_search(space, options, log, problem.hash, &outcome));
    TRY(tune_summarise(space, &outcome, tune_shapes_all(shapes), out));
    if (out->seconds > 0) {
        *best = *tune_shapes_shape(shapes, outcome.best);
        TRY(tune_keep(backend, spec, database, best, out->seconds));
    }
out:
    tune_outcome_free(&outcome);
    tune_problem_free(&problem);
    tune_shapes_destroy(shapes);
    trial_destroy(trial);
    return st;
}

struct tune_options tune_wished(const struct tune_wish *wish)
{
    return (struct tune_options){.method = TUNE_GUIDED,
                                 .budget = wish->budget,
                                 .repeats = 3,
                                 .rounds = 2,
                                 .is_stopped = wish->is_stopped};
}

void tune_note(const char *what, const struct tune_summary *summary)
{
    report_note("tuned %s: %u of %u ways timed in %.1f s, %u wrong, %u failed", what,
                summary->timed, summary->fit, summary->spent, summary->wrong, summary->failed);
}

status_t tune_now(backend_t *backend, const struct dedisperse_spec *spec,
                  const struct tune_wish *wish, struct dedisperse_shape *shape,
                  enum tune_found *found)
{
    status_t st = STATUS_OK;
    struct tune_options options = tune_wished(wish);
    struct tune_summary summary;
    TRY(tune_find(backend, spec, wish->database, shape, found, NULL));
    if (*found == TUNE_EXACT) {
        goto out;
    }
    const struct tune_thinning also = {.also = shape, .nalso = *found != TUNE_NOTHING};
    TRY(tune_shapes_search(backend, spec, &also, &options, NULL, wish->database, shape, &summary));
    if (summary.timed > 0) {
        tune_note("dedispersion", &summary);
    }
    *found = summary.seconds > 0 ? TUNE_EXACT : *found;
out:
    return st;
}
