/* Looks a choice up in the cache folder, or measures. */
#include "tune/problem/few.h"

#include "io/cache.h"
#include "tune/tuning.h"

#include <stdlib.h>
#include <string.h>

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
    status_t st = STATUS_OK;
    void *data = NULL;
    size_t size = 0;
    *found = 0;
    TRY(cache_get(few->kind, few->key.data, &data, &size));
    for (uint32_t i = 0; data && size == few->bytes && i < few->count; i++) {
        *found |= memcmp(data, few->list + i * few->tuning.problem->nparameters, size) == 0;
    }
    if (*found) {
        memcpy(values, data, size);
    }
out:
    free(data);
    return st;
}

static status_t few_measure(struct few *few, uint64_t memory, uint32_t *values)
{
    status_t st = STATUS_OK;
    struct tuning *t = &few->tuning;
    const struct tune_pick pick = {.is_few = 1};
    const struct tune_options options = {.method = TUNE_EXHAUSTIVE, .memory = memory, .repeats = 3};
    st = tuning_search_picked(t, &pick, &options, NULL);
    TRY(tuning_forgive(t->problem, t->backend, st));
    REQUIRE(t->outcome.ok > 0 || t->summary.wrong == 0, STATUS_DEVICE,
            "%s: none of %u configurations computes what the reference does", t->problem->title,
            t->summary.timed);
    /* When none can be built, whoever makes the stage says why. */
    if (t->outcome.ok > 0) {
        memcpy(values, t->values, few->bytes);
        cache_put(few->kind, few->key.data, values, few->bytes);
    }
out:
    return st;
}

status_t tune_few(const struct tune_problem *problem, backend_t *backend, const void *spec,
                  const char *kind, const uint32_t *list, uint32_t count, uint64_t memory,
                  uint32_t *values)
{
    status_t st = STATUS_OK;
    struct few few = {.kind = kind,
                      .list = list,
                      .count = count,
                      .bytes = problem->nparameters * sizeof *values,
                      .tuning = {.problem = problem, .backend = backend, .spec = spec}};
    const struct tune_key *key = &few.tuning.key;
    int found = 0;
    if (count <= 1) {
        goto out;
    }
    TRY(tune_key_of(problem, backend, spec, &few.tuning.key));
    TRY(text_add(&few.key, "voltmill %s\n%s\n%s\n%s\n", VOLTMILL_VERSION, key->kernel.data,
                 key->identity.data, key->words.data));
    TRY(few_recall(&few, values, &found));
    if (!found) {
        TRY(few_measure(&few, memory, values));
    }
out:
    tuning_end(&few.tuning);
    text_free(&few.key);
    return st;
}
