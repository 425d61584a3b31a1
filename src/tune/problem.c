/* Configurations in words, and the keys of cases. */
#include "tune/problem.h"

#include "base/units.h"
#include "io/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* "name=value", which must come behind parameter `next`. */
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
    char *copy = strdup(words);
    char *rest = copy;
    int good = copy != NULL;
    for (char *pair = strsep(&rest, " "); good && pair; pair = strsep(&rest, " ")) {
        good = problem_read_pair(problem, pair, &next, values);
    }
    free(copy);
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
    status_t st = STATUS_OK;
    const size_t width = problem->nparameters;
    uint32_t *list = NULL;
    uint32_t count = 0;
    if (problem->fits) {
        return problem->fits(backend, spec, values, out);
    }
    TRY_OUT(problem->candidates(backend, spec, &list, &count));
    *out = 0;
    for (uint32_t i = 0; i < count && !*out; i++) {
        *out = memcmp(list + i * width, values, width * sizeof *values) == 0;
    }
out:
    free(list);
    return st;
}

status_t tune_problem_kernel(const struct tune_problem *problem, enum backend_kind kind,
                             const void *spec, struct text *out)
{
    TRY(text_add(out, "%s", problem->name));
    if (problem->version > 1) {
        TRY(text_add(out, " v%u", problem->version));
    }
    return problem->kernel(kind, spec, out);
}

status_t tune_key_of(const struct tune_problem *problem, backend_t *backend, const void *spec,
                     struct tune_key *out)
{
    status_t st = STATUS_OK;
    struct text all = {0};
    *out = (struct tune_key){.features = {0}};
    TRY_OUT(tune_problem_kernel(problem, backend_which(backend), spec, &out->kernel));
    TRY_OUT(problem->describe(backend, spec, out));
    TRY_OUT(text_add(&all, "%s\n%s\n%s", out->kernel.data, out->identity.data, out->words.data));
    snprintf(out->hash, sizeof out->hash, "%016" PRIx64, cache_hash(all.data, all.length));
out:
    text_free(&all);
    return st;
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
