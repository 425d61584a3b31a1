/* Where a dataset's bytes lie: at its offset in the file, or in external files. */
#include "archive/storage/places.h"

#include "archive/storage/links.h"
#include "archive/storage/stored_parts.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static status_t places_add(struct places *places, const char *path, uint64_t offset, uint64_t bytes)
{
    status_t st = STATUS_OK;
    struct archive_extent *grown =
        realloc(places->extents, ((size_t)places->nextents + 1) * sizeof *places->extents);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: extents of %s", path);
    places->extents = grown;
    grown[places->nextents] = (struct archive_extent){NULL, offset, bytes};
    TRY(memory_text(path, &grown[places->nextents].path));
    places->nextents++;
out:
    return st;
}

status_t external_read(hid_t plist, uint32_t index, const char *home, uint64_t *left,
                       struct text *path, struct external *out)
{
    status_t st = STATUS_OK;
    off_t offset = 0;
    hsize_t declared = 0;
    struct stat info;
    *out = (struct external){.offset = 0};
    H5_TRY(H5Pget_external(plist, index, sizeof out->name - 1, out->name, &offset, &declared),
           "%s: its external file %u cannot be looked up", home, index);
    TRY(links_resolve(home, out->name, path));
    uint64_t bytes = min_u64(declared, *left); /* H5F_UNLIMITED is the largest number */
    REQUIRE(stat(path->data, &info) == 0, STATUS_DATA, "%s: external file %s: %s", home, path->data,
            strerror(errno));
    REQUIRE(S_ISREG(info.st_mode), STATUS_DATA, "%s: external file %s is not an ordinary file",
            home, path->data);
    REQUIRE(offset >= 0 && (uint64_t)info.st_size >= (uint64_t)offset &&
                (uint64_t)info.st_size - (uint64_t)offset >= bytes,
            STATUS_DATA,
            "%s is truncated: %s declares %llu bytes from offset %lld in it, but it ends at %lld",
            path->data, home, (unsigned long long)bytes, (long long)offset,
            (long long)info.st_size);
    out->offset = (uint64_t)offset;
    out->bytes = bytes;
    *left -= bytes;
out:
    return st;
}

static status_t places_find_external(const struct stored *stored, uint64_t bytes,
                                     struct places *out)
{
    status_t st = STATUS_OK;
    struct text path = {0};
    uint64_t left = bytes;
    hid_t plist = H5Dget_create_plist(stored->dataset);
    H5_TRY(plist, "%s: %s does not say how it is stored", stored->path, stored->name);
    for (uint32_t i = 0; i < stored->nexternals && left > 0; i++) {
        struct external external;
        TRY(external_read(plist, i, stored->home, &left, &path, &external));
        TRY(places_add(out, path.data, external.offset, external.bytes));
        text_free(&path);
    }
out:
    text_free(&path);
    h5_close(plist);
    return st;
}

status_t places_find(const depot_t *depot, struct places *out)
{
    status_t st = STATUS_OK;
    const struct stored *stored = depot->open[0];
    hid_t type = H5Dget_type(stored->dataset);
    uint64_t bytes = 0;
    H5_TRY(type, "%s: %s has no type", stored->path, stored->name);
    REQUIRE(multiply_u64((uint64_t)H5Sget_simple_extent_npoints(stored->space), H5Tget_size(type),
                         &bytes),
            STATUS_DATA, "%s: the size of %s is absurd", stored->path, stored->name);
    if (stored->nexternals > 0) {
        TRY(places_find_external(stored, bytes, out));
    } else if (stored->layout == H5D_CONTIGUOUS && h5_offset(stored->dataset) != HADDR_UNDEF) {
        TRY(places_add(out, stored->home, h5_offset(stored->dataset), bytes));
    }
out:
    h5_close(type);
    return st;
}

void places_free(struct places *places)
{
    for (uint32_t i = 0; i < places->nextents; i++) {
        free(places->extents[i].path);
    }
    free(places->extents);
    *places = (struct places){NULL, 0};
}
