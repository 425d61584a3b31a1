/* Compares real names: where links lead to is what counts. */
#include "input/hdf5/external.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 5 }; /* in a message */

/* Files and folders by their real names, those of folders with a slash at the end. */
struct external_places {
    char **items;
    uint32_t count;
};

static void external_free(struct external_places *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        free(places->items[i]);
    }
    free(places->items);
}

/* Adds what is there of this name; there is room. */
static status_t external_add(struct external_places *places, const char *name)
{
    status_t st = STATUS_OK;
    struct text folder = {0};
    char *real = realpath(name, NULL);
    char *inside = NULL;
    if (!real) {
        goto out;
    }
    /* Only a folder has "." in it. */
    TRY(text_add(&folder, "%s/.", real));
    inside = realpath(folder.data, NULL);
    TRY(memory_format(&places->items[places->count++], "%s%s", real,
                      inside && strcmp(real, "/") != 0 ? "/" : ""));
out:
    text_free(&folder);
    free(inside);
    free(real);
    return st;
}

static status_t external_add_folder_of(struct external_places *places, const char *path)
{
    status_t st = STATUS_OK;
    struct text folder = {0};
    TRY(text_add(&folder, "%.*s.", (int)(text_basename(path) - path), path));
    TRY(external_add(places, folder.data));
out:
    text_free(&folder);
    return st;
}

static status_t external_list_places(const char *path, struct external_list list,
                                     struct external_places *out)
{
    status_t st = STATUS_OK;
    char *real = realpath(path, NULL);
    TRY(memory_zeroed((size_t)list.count + 2, sizeof *out->items, "folders", &out->items));
    TRY(external_add_folder_of(out, path));
    TRY(real ? external_add_folder_of(out, real) : STATUS_OK);
    for (uint32_t i = 0; i < list.count; i++) {
        TRY(external_add(out, list.items[i]));
    }
out:
    free(real);
    return st;
}

static int external_is_in(const struct external_places *places, const char *real)
{
    for (uint32_t i = 0; i < places->count; i++) {
        const char *place = places->items[i];
        size_t length = strlen(place);
        int is_folder = place[length - 1] == '/';
        if (is_folder ? strncmp(real, place, length) == 0 : strcmp(real, place) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Names the file if it lies elsewhere. A link may have been changed since the file was looked at:
 * then the name would be another file's. */
static status_t external_judge(const struct external_places *places,
                               const struct archive_source *source, struct text *names,
                               uint32_t *count)
{
    status_t st = STATUS_OK;
    struct identity identity;
    char *real = realpath(source->path, NULL);
    REQUIRE(real, STATUS_DATA, "%s: external file %s: it is not there any more", source->from,
            source->path);
    TRY(identity_of_path(real, &identity));
    REQUIRE(identity_is_same_file(&identity, &source->identity), STATUS_DATA,
            "%s: external file %s was replaced by another file while it was looked at",
            source->from, source->path);
    if (!external_is_in(places, real)) {
        TRY(*count < MOST_NAMED ? text_add(names, "%s%s", *count > 0 ? ", " : "", real)
                                : STATUS_OK);
        (*count)++;
    }
out:
    free(real);
    return st;
}

status_t external_check(const struct sources *sources, const char *path, struct external_list list,
                        const char *option)
{
    status_t st = STATUS_OK;
    struct external_places places = {.count = 0};
    struct text names = {0};
    uint32_t count = 0;
    int is_there = 0;
    for (uint32_t i = 0; i < sources->count && !is_there; i++) {
        is_there = sources->items[i].kind == SOURCE_EXTERNAL;
    }
    for (uint32_t i = 0; i < list.count && is_there; i++) {
        is_there = strcmp(list.items[i], EXTERNAL_ALLOW) != 0;
    }
    if (!is_there) {
        goto out;
    }
    TRY(external_list_places(path, list, &places));
    for (uint32_t i = 0; i < sources->count; i++) {
        TRY(sources->items[i].kind == SOURCE_EXTERNAL
                ? external_judge(&places, &sources->items[i], &names, &count)
                : STATUS_OK);
    }
    if (count > MOST_NAMED) {
        TRY(text_add(&names, " and %u more", count - MOST_NAMED));
    }
    REQUIRE(count == 0, STATUS_USAGE,
            "%s takes its data from %s outside its folder: %s; if that is meant: %s", path,
            count == 1 ? "a file" : "files", names.data, option);
out:
    external_free(&places);
    text_free(&names);
    return st;
}
