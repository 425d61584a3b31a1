/* Files by path, with what they were when the work was planned. */
#include "input/hdf5/sources.h"

#include "base/memory.h"
#include "io/hdf5/h5.h"

#include <stdlib.h>
#include <string.h>

/* The place of the path, or where it belongs. */
static uint32_t sources_place(const struct sources *sources, const char *path, int *found)
{
    uint32_t low = 0;
    uint32_t high = sources->count;
    *found = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(sources->items[middle].path, path);
        if (order == 0) {
            *found = 1;
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return low;
}

status_t sources_add(struct sources *sources, const char *path, enum source_kind kind,
                     const char *from)
{
    status_t st = STATUS_OK;
    int found;
    uint32_t at = sources_place(sources, path, &found);
    struct archive_source new = {.kind = kind};
    if (found) {
        goto out;
    }
    TRY(identity_of_path(path, &new.identity));
    struct archive_source *grown =
        realloc(sources->items, ((size_t)sources->count + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: the files of an archive");
    sources->items = grown;
    TRY(memory_text(from, &new.from));
    TRY(memory_text(path, &new.path));
    memmove(grown + at + 1, grown + at, (sources->count - at) * sizeof *grown);
    grown[at] = new;
    new.from = NULL;
    sources->count++;
out:
    free(new.from);
    return st;
}

const struct archive_source *sources_find(const struct sources *sources, const char *path)
{
    int found;
    uint32_t at = sources_place(sources, path, &found);
    return found ? &sources->items[at] : NULL;
}

status_t sources_check_path(const struct sources *sources, const char *path)
{
    return sources_check_open(sources, path, -1);
}

status_t sources_check_open(const struct sources *sources, const char *path, int fd)
{
    status_t st = STATUS_OK;
    struct identity now;
    const struct archive_source *source = sources_find(sources, path);
    REQUIRE(source, STATUS_DATA, "%s was not there when this job began", path);
    TRY(fd < 0 ? identity_of_path(path, &now) : identity_of_open(fd, path, &now));
    TRY(identity_check(path, &source->identity, &now));
out:
    return st;
}

status_t sources_check(const struct sources *sources)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < sources->count; i++) {
        TRY(sources_check_path(sources, sources->items[i].path));
    }
out:
    return st;
}

status_t sources_judge(const struct sources *sources, const char *path, int fd, int *is_unreadable)
{
    status_t st = STATUS_OK;
    char *cause = NULL;
    TRY(memory_text(report_cause(), &cause));
    report_clear();
    TRY(sources_check_open(sources, path, fd));
    *is_unreadable = 1;
    FAIL(STATUS_DATA, "%s", cause);
out:
    free(cause);
    return st;
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

static const struct pack_field lost_range_pointers[] = {PACK_FIELD(struct lost_range, why)};
const struct pack_type lost_range_type = PACK_WHOLE(struct lost_range, lost_range_pointers);

void extents_free(struct archive_extent *extents, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(extents[i].path);
    }
    free(extents);
}

void storage_free(struct storage *storage)
{
    for (uint32_t i = 0; i < storage->sources.count; i++) {
        free(storage->sources.items[i].path);
        free(storage->sources.items[i].from);
    }
    free(storage->sources.items);
    h5_free_texts(storage->absent, storage->nabsent);
    *storage = (struct storage){.absent = NULL};
}

const struct lost_range *lost_find(const struct lost_range *ranges, uint32_t nranges,
                                   uint64_t first, uint64_t count)
{
    uint32_t low = 0; /* the first that ends behind `first` */
    uint32_t high = nranges;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranges[middle].first + ranges[middle].count > first) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low < nranges && ranges[low].first < first + count ? &ranges[low] : NULL;
}
