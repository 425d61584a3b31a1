/* Files by path, with what they were when the work was planned. */
#include "input/hdf5/sources.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Returns the index of the path, or the index at which it belongs. */
static uint32_t sources_place(const struct sources *sources, const char *path, int *found)
{
    size_t i = 0;
    FIND_FIRST(i, sources->count, strcmp(sources->items[i].path, path) >= 0);
    *found = i < sources->count && strcmp(sources->items[i].path, path) == 0;
    return (uint32_t)i;
}

SCOPED_CALLS(archive_source_free, struct archive_source, free(at->from))

status_t sources_add(struct sources *sources, const char *path, enum source_kind kind,
                     const char *from)
{
    int found;
    uint32_t at = sources_place(sources, path, &found);
    SCOPED(archive_source_free) struct archive_source new = {.kind = kind};
    if (found) {
        return STATUS_OK;
    }
    TRY(identity_of_path(path, &new.identity));
    TRY(memory_grown((size_t)sources->count + 1, sizeof *sources->items, "the files of an archive",
                     &sources->items));
    TRY(memory_text(from, &new.from));
    TRY(memory_text(path, &new.path));
    memmove(sources->items + at + 1, sources->items + at,
            (sources->count - at) * sizeof *sources->items);
    sources->items[at] = new;
    new.from = NULL;
    sources->count++;
    return STATUS_OK;
}

const struct archive_source *sources_find(const struct sources *sources, const char *path)
{
    int found;
    uint32_t at = sources_place(sources, path, &found);
    return found ? &sources->items[at] : NULL;
}

status_t sources_check_open(const struct sources *sources, const char *path, int fd)
{
    struct identity now;
    const struct archive_source *source = sources_find(sources, path);
    REQUIRE(source, STATUS_DATA, "%s was not there when this job began", path);
    TRY(fd < 0 ? identity_of_path(path, &now) : identity_of_open(fd, path, &now));
    return identity_check(path, &source->identity, &now);
}

status_t sources_check(const struct sources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        TRY(sources_check_open(sources, sources->items[i].path, -1));
    }
    return STATUS_OK;
}

status_t sources_judge(const struct sources *sources, const char *path, int fd, int *is_unreadable)
{
    SCOPED(free_at) char *cause = NULL;
    TRY(memory_text(report_cause(), &cause));
    report_clear();
    TRY(sources_check_open(sources, path, fd));
    *is_unreadable = 1;
    return report_fail(STATUS_DATA, "%s", cause);
}

uint64_t sources_bytes(const struct sources *sources)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sources->count; i++) {
        bytes += sources->items[i].identity.bytes;
    }
    return bytes;
}

static const struct pack_field source_pointers[] = {PACK_FIELD(struct archive_source, path),
                                                    PACK_FIELD(struct archive_source, from)};
const struct pack_type archive_source_type = PACK_WHOLE(struct archive_source, source_pointers);

static const struct pack_field extent_pointers[] = {PACK_FIELD(struct archive_extent, path)};
const struct pack_type archive_extent_type = PACK_WHOLE(struct archive_extent, extent_pointers);

static const struct pack_field lost_range_pointers[] = {PACK_FIELD(struct lost_range, why)};
const struct pack_type lost_range_type = PACK_WHOLE(struct lost_range, lost_range_pointers);

void storage_free(struct storage *storage)
{
    pack_free_list(storage->sources.items, storage->sources.count, &archive_source_type);
    text_free_list(storage->absent, storage->nabsent);
    *storage = (struct storage){.absent = NULL};
}

size_t ranges_after(const void *ranges, size_t count, size_t size, uint64_t at)
{
    size_t i = 0;
    FIND_FIRST(i, count,
               load_u64((const char *)ranges + i * size, 0) +
                       load_u64((const char *)ranges + i * size + sizeof(uint64_t), 0) >
                   at);
    return i;
}

const struct lost_range *lost_find(const struct lost_list *list, uint64_t first, uint64_t count)
{
    size_t i = ranges_after(list->items, list->count, sizeof *list->items, first);
    return i < list->count && list->items[i].first < first + count ? &list->items[i] : NULL;
}

status_t lost_refuse(const struct lost_list *list, const char *name, const char *what,
                     uint64_t first, uint64_t count)
{
    const struct lost_range *lost = lost_find(list, first, count);
    return REQUIRED(!lost, STATUS_DATA, "%s: %s %" PRIu64 " .. %" PRIu64 " are unreadable: %s",
                    name, what, lost->first, lost->first + lost->count, lost->why);
}

enum { MOST_NAMED = 5 }; /* in a message */

/* Files and folders by their real names (where links lead to is what counts), those of folders with
 * a slash at the end. */
struct external_places {
    char **items;
    uint32_t count;
};

/* Adds the real path of a file or folder, if it exists; `items` has room. A folder gets a slash at
 * its end. */
static status_t external_add(struct external_places *places, const char *name)
{
    SCOPED(text_free) struct text folder = {0};
    SCOPED(free_at) char *real = realpath(name, NULL);
    SCOPED(free_at) char *inside = NULL;
    if (!real) {
        return STATUS_OK;
    }
    /* Only a folder has "." in it. */
    TRY(text_add(&folder, "%s/.", real));
    inside = realpath(folder.data, NULL);
    return memory_format(&places->items[places->count++], "%s%s", real,
                         inside && strcmp(real, "/") != 0 ? "/" : "");
}

static status_t external_add_folder_of(struct external_places *places, const char *path)
{
    SCOPED(text_free) struct text folder = {0};
    TRY(text_add(&folder, "%.*s.", (int)(text_basename(path) - path), path));
    return external_add(places, folder.data);
}

static status_t external_list_places(const char *path, struct external_list list,
                                     struct external_places *out)
{
    SCOPED(free_at) char *real = realpath(path, NULL);
    TRY(memory_zeroed((size_t)list.count + 2, sizeof *out->items, "folders", &out->items));
    TRY(external_add_folder_of(out, path));
    TRY(real ? external_add_folder_of(out, real) : STATUS_OK);
    for (uint32_t i = 0; i < list.count; i++) {
        TRY(external_add(out, list.items[i]));
    }
    return STATUS_OK;
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

/* Names the file if it is elsewhere. A link may have been changed since the file was looked at:
 * then the name would be another file's. */
static status_t external_judge(const struct external_places *places,
                               const struct archive_source *source, struct text *names,
                               uint32_t *count)
{
    struct identity identity;
    SCOPED(free_at) char *real = realpath(source->path, NULL);
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
    return STATUS_OK;
}

SCOPED_CALLS(external_places_free, struct external_places, text_free_list(at->items, at->count))

status_t external_check(const struct sources *sources, const char *path, struct external_list list,
                        const char *option)
{
    SCOPED(external_places_free) struct external_places places = {.count = 0};
    SCOPED(text_free) struct text names = {0};
    uint32_t count = 0;
    int is_there = 0;
    for (uint32_t i = 0; i < sources->count && !is_there; i++) {
        is_there = sources->items[i].kind == SOURCE_EXTERNAL;
    }
    for (uint32_t i = 0; i < list.count && is_there; i++) {
        is_there = strcmp(list.items[i], EXTERNAL_ALLOW) != 0;
    }
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(external_list_places(path, list, &places));
    for (uint32_t i = 0; i < sources->count; i++) {
        TRY(sources->items[i].kind == SOURCE_EXTERNAL
                ? external_judge(&places, &sources->items[i], &names, &count)
                : STATUS_OK);
    }
    TRY(count > MOST_NAMED ? text_add(&names, " and %u more", count - MOST_NAMED) : STATUS_OK);
    return REQUIRED(count == 0, STATUS_USAGE,
                    "%s takes its data from %s outside its folder: %s; if that is meant: %s", path,
                    count == 1 ? "a file" : "files", names.data, option);
}
