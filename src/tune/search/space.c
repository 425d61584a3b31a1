#include "tune/search/space.h"

#include "base/memory.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

/* The parameter of a name of `length` letters; `n` when there is none. */
static uint32_t space_find_parameter(const char *name, size_t length, const char *const *names,
                                     uint32_t n)
{
    uint32_t p = 0;
    while (p < n && (strlen(names[p]) != length || strncmp(names[p], name, length) != 0)) {
        p++;
    }
    return p;
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

status_t tune_filter_read(const char *text, const char *const *names, uint32_t nparameters,
                          struct tune_filter *out)
{
    status_t st = STATUS_OK;
    struct tune_filter filter = {0};
    char *copy = NULL;
    TRY(memory_text(text, &copy));
    char *rest = copy;
    for (char *part = strsep(&rest, ","); part; part = strsep(&rest, ",")) {
        size_t length = strcspn(part, "=");
        uint32_t p = space_find_parameter(part, length, names, nparameters);
        REQUIRE(p < nparameters, STATUS_USAGE, "\"%s\": there is no parameter \"%.*s\"", text,
                (int)length, part);
        REQUIRE(part[length] == '=' && space_read_values(part + length + 1, &filter, p),
                STATUS_USAGE, "\"%s\": expected values such as %s=1/2/4", text, names[p]);
    }
    *out = filter;
out:
    free(copy);
    return st;
}

int tune_filter_takes(const struct tune_filter *filter, const uint32_t *values,
                      uint32_t nparameters)
{
    for (uint32_t p = 0; p < nparameters; p++) {
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
    uint32_t n = space->nparameters;
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
    uint32_t n = map->space->nparameters;
    const uint32_t *from = map->steps + (size_t)a * n;
    const uint32_t *to = map->steps + (size_t)b * n;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < n; p++) {
        sum += from[p] > to[p] ? from[p] - to[p] : to[p] - from[p];
    }
    return sum;
}
