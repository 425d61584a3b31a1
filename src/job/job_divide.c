/* `dm: {..., downsample: auto}`: an entry of `dedisperse` becomes one for each range of DMs. */
#include "job/job_schema.h"

#include "job/yaml/yaml_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static status_t divide_add(struct tree *to, const char *key, const char *text)
{
    status_t st = STATUS_OK;
    struct tree *value = NULL;
    TRY(tree_new(TREE_VALUE, text, &value));
    value->is_plain = 1;
    value->line = to->line;
    value->set = to->set;
    TRY(tree_add(to, key, &value));
out:
    tree_destroy(value);
    return st;
}

/* A mapping as `from` was written. */
static status_t divide_like(const struct tree *from, struct tree **out)
{
    status_t st = STATUS_OK;
    TRY(tree_new(TREE_MAPPING, NULL, out));
    (*out)->line = from->line;
    (*out)->set = from->set;
out:
    return st;
}

static status_t divide_copy(struct tree *to, const struct tree *member)
{
    status_t st = STATUS_OK;
    size_t budget = SIZE_MAX;
    struct tree *copy = NULL;
    TRY(tree_copy(member, &budget, &copy));
    TRY(tree_add(to, member->key, &copy));
out:
    tree_destroy(copy);
    return st;
}

/* Adds `dm` of a range to its entry. */
static status_t divide_add_dm(struct tree *to, const struct tree *dm,
                              const struct job_dm_range *range)
{
    status_t st = STATUS_OK;
    static const char *const own[] = {"start", "end", "downsample"};
    char text[UNITS_TEXT];
    struct tree *made = NULL;
    TRY(divide_like(dm, &made));
    TRY(divide_add(made, "start", units_exact(range->start, text)));
    TRY(divide_add(made, "end", units_exact(range->end, text)));
    for (size_t i = 0; i < dm->nchildren; i++) {
        int is_own = 0;
        for (size_t j = 0; j < sizeof own / sizeof *own; j++) {
            is_own |= strcmp(dm->child[i]->key, own[j]) == 0;
        }
        TRY(is_own ? STATUS_OK : divide_copy(made, dm->child[i]));
    }
    TRY(tree_add(to, dm->key, &made));
out:
    tree_destroy(made);
    return st;
}

static status_t divide_add_range(struct tree *list, const struct tree *entry,
                                 const struct job_dm_range *range, uint32_t number)
{
    status_t st = STATUS_OK;
    char text[UNITS_TEXT];
    struct tree *made = NULL;
    TRY(divide_like(entry, &made));
    for (size_t i = 0; i < entry->nchildren; i++) {
        const struct tree *member = entry->child[i];
        int is_dm = strcmp(member->key, "dm") == 0;
        if (range->is_unsearched && strcmp(member->key, "search") == 0) {
            continue;
        }
        TRY(is_dm ? divide_add_dm(made, member, range) : divide_copy(made, member));
        if (is_dm) {
            snprintf(text, sizeof text, "%" PRIu64, range->downsample);
            TRY(divide_add(made, "downsample", text));
        }
    }
    snprintf(text, sizeof text, "%" PRIu32, number);
    TRY(yaml_file_put_word(made, JOB_RANGE_PLACE, text));
    TRY(tree_add(list, NULL, &made));
out:
    tree_destroy(made);
    return st;
}

status_t job_divide(struct tree *root, const struct job_division *division)
{
    status_t st = STATUS_OK;
    struct tree *list = NULL;
    struct tree *entries = tree_member(root, "dedisperse");
    TRY(entries->kind == TREE_LIST ? STATUS_OK : tree_wrap(entries));
    TRY(tree_new(TREE_LIST, NULL, &list));
    list->line = entries->line;
    list->set = entries->set;
    for (size_t i = 0; i < entries->nchildren; i++) {
        for (uint32_t r = 0; r < division->count[i]; r++) {
            TRY(divide_add_range(list, entries->child[i], &division->ranges[i][r], r));
        }
        if (division->count[i] == 0) {
            size_t budget = SIZE_MAX;
            struct tree *copy = NULL;
            TRY(tree_copy(entries->child[i], &budget, &copy));
            st = tree_add(list, NULL, &copy);
            tree_destroy(copy);
            TRY(st);
        }
    }
    tree_replace(root, entries->index, &list);
out:
    tree_destroy(list);
    return st;
}

/* One file for all ranges, or a name of ranges where there are none. */
static status_t divide_check_file(struct tree *entry, const char *key, int is_divided,
                                  struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const char *file = tree_value(entry, key);
    int has_place = file && strstr(file, JOB_RANGE_PLACE);
    if (file && is_divided && !has_place) {
        TRY(mistakes_at(mistakes, entry, key,
                        "is %s, expected " JOB_RANGE_PLACE " in it: dm.downsample is auto, which "
                        "writes a file for each range of DMs, such as series-" JOB_RANGE_PLACE
                        ".h5",
                        file));
    } else if (has_place && !is_divided) {
        TRY(mistakes_at(mistakes, entry, key,
                        "holds " JOB_RANGE_PLACE ", which stands for the ranges of DMs that "
                        "dm.downsample: auto makes: there is but one file"));
    }
out:
    return st;
}

status_t job_divide_check(struct tree *entry, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    int is_divided = tree_says(entry, "dm.downsample", "auto");
    if (is_divided && !tree_value(entry, "dm.tolerance")) {
        TRY(mistakes_at(mistakes, entry, "dm.downsample",
                        "is auto, which divides the DMs of start, end and tolerance"));
    }
    if (is_divided && tree_value(entry, "downsample")) {
        TRY(mistakes_at(mistakes, entry, "downsample",
                        "is %s, but dm.downsample is auto, which says it for each range",
                        tree_value(entry, "downsample")));
    }
    TRY(divide_check_file(entry, "file", is_divided, mistakes));
    TRY(divide_check_file(entry, "search.file", is_divided, mistakes));
    TRY(divide_check_file(entry, "search.csv", is_divided, mistakes));
out:
    return st;
}
