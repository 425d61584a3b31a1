/* The automatic choice of a filter bank: the few shapes that are known to be good, timed once for a
 * problem and device, and remembered in the cache folder. */
#include "io/cache.h"
#include "tune/problem/problems.h"
#include "tune/tuning.h"

#include <stdlib.h>
#include <string.h>

static const char cache_kind[] = "choice";

/* The shape that was the fastest then, if it is one of the few today. */
static status_t choose_recall(const struct text *key, const struct channelise_shape *list,
                              uint32_t count, struct channelise_shape *out, int *found)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    size_t size = 0;
    *found = 0;
    TRY(cache_get(cache_kind, key->data, &data, &size));
    for (uint32_t i = 0; data && size == sizeof *out && i < count; i++) {
        if (memcmp(data, &list[i], size) == 0) {
            *out = list[i];
            *found = 1;
        }
    }
out:
    free(data);
    return st;
}

static status_t choose_measure(struct tuning *t, uint64_t memory, struct channelise_shape *out)
{
    status_t st = STATUS_OK;
    const struct tune_pick few = {.is_few = 1};
    const struct tune_options options = {.method = TUNE_EXHAUSTIVE, .memory = memory, .repeats = 3};
    st = tuning_search_picked(t, &few, &options, NULL);
    TRY(tuning_forgive(t->problem, t->backend, st));
    REQUIRE(t->outcome.ok > 0 || t->summary.wrong == 0, STATUS_DEVICE,
            "the filter bank: none of %u configurations computes what the reference does",
            t->summary.timed);
    /* When none can be built, whoever makes the stage says why. */
    if (t->outcome.ok > 0) {
        memcpy(out, t->values, sizeof *out);
    }
out:
    return st;
}

status_t tune_ppf_choose(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                         struct channelise_choice *out)
{
    status_t st = STATUS_OK;
    struct channelise_choice choice;
    struct channelise_shape *list = NULL;
    struct tuning tuning = {.problem = &tune_ppf, .backend = backend, .spec = spec};
    struct text key = {0};
    uint32_t count = 0;
    int found = 0;
    TRY(channelise_choose(backend, spec, &choice));
    if (spec->choice.backend == BACKEND_AUTO) {
        TRY(channelise_candidates(backend, spec, SPACE_FEW, &list, &count));
    }
    if (count > 1) {
        TRY(tune_key_of(&tune_ppf, backend, spec, &tuning.key));
        TRY(text_add(&key, "voltmill %s\n%s\n%s\n%s\n", VOLTMILL_VERSION, tuning.key.kernel.data,
                     tuning.key.identity.data, tuning.key.words.data));
        TRY(choose_recall(&key, list, count, &choice.shape, &found));
        if (!found) {
            TRY(choose_measure(&tuning, memory, &choice.shape));
            if (tuning.outcome.ok > 0) {
                cache_put(cache_kind, key.data, &choice.shape, sizeof choice.shape);
            }
        }
    }
    *out = choice;
out:
    tuning_end(&tuning);
    text_free(&key);
    free(list);
    return st;
}
