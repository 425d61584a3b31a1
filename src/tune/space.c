/* Spaces as tables of numbers: finding a row, filters, distances. */
#include "tune/space.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

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

/* "1/2/4" */
static int space_read_values(char *text, struct tune_filter *out, uint32_t p)
{
    for (char *value = strsep(&text, "/"); value; value = strsep(&text, "/")) {
        uint64_t number = 0;
        if (out->counts[p] == TUNE_VALUES || !units_parse_u64(value, &number) ||
            number > UINT32_MAX) {
            return 0;
        }
        out->lists[p][out->counts[p]++] = (uint32_t)number;
    }
    return 1;
}

/* "time_out=1/2/4" */
static status_t space_read_part(const char *text, char *part, const struct tune_problem *problem,
                                struct tune_filter *out)
{
    status_t st = STATUS_OK;
    uint32_t p = 0;
    const char *name = strsep(&part, "=");
    while (p < problem->nparameters && strcmp(problem->parameters[p].name, name) != 0) {
        p++;
    }
    REQUIRE(p < problem->nparameters, STATUS_USAGE, "\"%s\": there is no parameter \"%s\"", text,
            name);
    REQUIRE(part && space_read_values(part, out, p), STATUS_USAGE,
            "\"%s\": expected values such as %s=1/2/4", text, name);
out:
    return st;
}

status_t tune_filter_read(const char *text, const struct tune_problem *problem,
                          struct tune_filter *out)
{
    status_t st = STATUS_OK;
    char *copy = NULL;
    *out = (struct tune_filter){0};
    TRY(memory_text(text, &copy));
    char *rest = copy;
    for (char *part = strsep(&rest, ","); part; part = strsep(&rest, ",")) {
        TRY(space_read_part(text, part, problem, out));
    }
out:
    free(copy);
    return st;
}

int tune_filter_takes(const struct tune_filter *filter, const struct tune_problem *problem,
                      const uint32_t *values)
{
    for (uint32_t p = 0; p < problem->nparameters; p++) {
        uint32_t k = 0;
        while (k < filter->counts[p] && filter->lists[p][k] != values[p]) {
            k++;
        }
        if (filter->counts[p] > 0 && k == filter->counts[p]) {
            return 0;
        }
    }
    return 1;
}

static int space_compare_values(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Sorts and drops what is there twice; returns how many are left. */
static uint32_t space_distinct(uint32_t *values, uint32_t count)
{
    uint32_t kept = 0;
    qsort(values, count, sizeof *values, space_compare_values);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || values[kept - 1] != values[i]) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

status_t tune_map_create(const struct tune_space *space, struct tune_map *out)
{
    status_t st = STATUS_OK;
    uint32_t n = space->problem->nparameters;
    uint32_t *sorted = NULL;
    struct tune_map map = {.space = space};
    TRY(memory_zeroed((size_t)space->count * n, sizeof *map.steps, "a search space", &map.steps));
    TRY(memory_zeroed(space->count, sizeof *sorted, "a search space", &sorted));
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t i = 0; i < space->count; i++) {
            sorted[i] = space->values[(size_t)i * n + p];
        }
        uint32_t kept = space_distinct(sorted, space->count);
        for (size_t i = p; i < (size_t)space->count * n; i += n) {
            const uint32_t *at =
                bsearch(&space->values[i], sorted, kept, sizeof *sorted, space_compare_values);
            map.steps[i] = (uint32_t)(at - sorted);
        }
    }
    *out = map;
    map.steps = NULL;
out:
    free(sorted);
    tune_map_free(&map);
    return st;
}

void tune_map_free(struct tune_map *map)
{
    free(map->steps);
    map->steps = NULL;
}

uint32_t tune_distance(const struct tune_map *map, uint32_t a, uint32_t b)
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
