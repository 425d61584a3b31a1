#include "archive/places.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static status_t add_extent(struct places *places, const char *path, uint64_t offset, uint64_t bytes)
{
    status_t st = STATUS_OK;
    struct archive_extent *grown =
        realloc(places->extents, (places->nextents + 1) * sizeof *places->extents);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: extents of %s", places->path);
    places->extents = grown;
    grown[places->nextents] = (struct archive_extent){NULL, offset, bytes};
    TRY(memory_text(path, &grown[places->nextents].path));
    places->nextents++;
out:
    return st;
}

/* External files are named relative to the HDF5 file by those who move both together, which HDF5
 * itself looks up in the working folder: try beside the file first. */
static status_t resolve_external(const char *hdf5_path, const char *name, struct text *out)
{
    status_t st = STATUS_OK;
    const char *base = text_basename(hdf5_path);
    if (name[0] != '/' && base != hdf5_path) {
        TRY(text_add(out, "%.*s%s", (int)(base - hdf5_path), hdf5_path, name));
        if (access(out->data, F_OK) == 0) {
            goto out;
        }
        if (access(name, F_OK) != 0) {
            goto out;
        }
        text_free(out);
    }
    TRY(text_add(out, "%s", name));
out:
    return st;
}

static status_t add_external(hid_t plist, unsigned index, uint64_t *left, const char *home,
                             struct places *places)
{
    status_t st = STATUS_OK;
    char name[4096] = "";
    off_t offset = 0;
    hsize_t declared = 0;
    struct text path = {0};
    struct stat info;
    H5_TRY(H5Pget_external(plist, index, sizeof name - 1, name, &offset, &declared),
           "%s: its external file %u cannot be looked up", places->path, index);
    TRY(resolve_external(home, name, &path));
    uint64_t bytes = min_u64(declared, *left); /* H5F_UNLIMITED is the largest number */
    REQUIRE(stat(path.data, &info) == 0, STATUS_DATA, "%s: external file %s: %s", places->path,
            path.data, strerror(errno));
    REQUIRE(offset >= 0 && (uint64_t)info.st_size >= (uint64_t)offset &&
                (uint64_t)info.st_size - (uint64_t)offset >= bytes,
            STATUS_DATA,
            "%s is truncated: %s declares %llu bytes from offset %lld in it, but it ends at %lld",
            path.data, places->path, (unsigned long long)bytes, (long long)offset,
            (long long)info.st_size);
    TRY(add_extent(places, path.data, (uint64_t)offset, bytes));
    places->is_beside |= strcmp(path.data, name) != 0;
    places->file_bytes += (uint64_t)info.st_size;
    *left -= bytes;
out:
    text_free(&path);
    return st;
}

static status_t locate_external(hid_t plist, int count, uint64_t bytes, const char *home,
                                struct places *places)
{
    status_t st = STATUS_OK;
    uint64_t left = bytes;
    for (int i = 0; i < count && left > 0; i++) {
        TRY(add_external(plist, (unsigned)i, &left, home, places));
    }
    REQUIRE(left == 0, STATUS_DATA,
            "%s: the external files of its dataset hold %llu bytes less than its %llu",
            places->path, (unsigned long long)left, (unsigned long long)bytes);
out:
    return st;
}

/* The file that really holds the dataset: an external link leads to another one. */
static status_t find_home(hid_t dataset, const char *path, struct text *home)
{
    status_t st = STATUS_OK;
    ssize_t length = H5Fget_name(dataset, NULL, 0);
    char *name = NULL;
    H5_TRY((int)length, "%s: the file of its dataset cannot be found", path);
    TRY(memory_zeroed((size_t)length + 1, 1, "a name", &name));
    H5_TRY((int)H5Fget_name(dataset, name, (size_t)length + 1),
           "%s: the file of its dataset cannot be found", path);
    TRY(text_add(home, "%s", name));
out:
    free(name);
    return st;
}

static status_t add_source(struct places *places, const char *path)
{
    status_t st = STATUS_OK;
    char **grown = realloc(places->sources, (places->nsources + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: the files of %s", places->path);
    places->sources = grown;
    grown[places->nsources] = NULL;
    TRY(memory_text(path, &grown[places->nsources]));
    places->nsources++;
out:
    return st;
}

/* A virtual dataset: HDF5 takes files that are not there for zeros, so look at them. */
static status_t check_virtual(hid_t plist, const char *home, struct places *places)
{
    status_t st = STATUS_OK;
    size_t count = 0;
    struct text path = {0};
    H5_TRY(H5Pget_virtual_count(plist, &count), "%s: its virtual dataset cannot be read", home);
    for (size_t i = 0; i < count; i++) {
        char name[4096] = "";
        struct stat info;
        H5_TRY((int)H5Pget_virtual_filename(plist, i, name, sizeof name),
               "%s: its virtual dataset cannot be read", home);
        if (strcmp(name, ".") == 0) {
            continue;
        }
        TRY(resolve_external(home, name, &path));
        REQUIRE(stat(path.data, &info) == 0, STATUS_DATA,
                "%s: source %s of its virtual dataset: %s", home, path.data, strerror(errno));
        places->file_bytes += (uint64_t)info.st_size;
        TRY(add_source(places, path.data));
        text_free(&path);
    }
out:
    text_free(&path);
    return st;
}

void places_drop_extents(struct places *places)
{
    for (uint32_t i = 0; i < places->nextents; i++) {
        free(places->extents[i].path);
    }
    free(places->extents);
    places->extents = NULL;
    places->nextents = 0;
}

/* Contiguous in the HDF5 file itself. */
static status_t locate_inside(hid_t dataset, uint64_t bytes, const char *home,
                              struct places *places)
{
    status_t st = STATUS_OK;
    haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) {
        goto out; /* never written: HDF5 gives the fill value */
    }
    REQUIRE(offset <= places->file_bytes && places->file_bytes - offset >= bytes, STATUS_DATA,
            "%s is truncated: its dataset declares %llu bytes from offset %llu, but it ends at "
            "%llu",
            home, (unsigned long long)bytes, (unsigned long long)offset,
            (unsigned long long)places->file_bytes);
    TRY(add_extent(places, home, offset, bytes));
out:
    return st;
}

status_t places_find(hid_t dataset, const char *path, uint64_t elements, struct places *out)
{
    status_t st = STATUS_OK;
    struct places places = {.path = path};
    struct text home = {0};
    struct stat info;
    hid_t type = H5Dget_type(dataset);
    hid_t plist = H5Dget_create_plist(dataset);
    H5_TRY(plist, "%s: its dataset's properties cannot be read", path);
    TRY(find_home(dataset, path, &home));
    TRY(add_source(&places, home.data));
    REQUIRE(stat(home.data, &info) == 0, STATUS_DATA, "%s: %s", home.data, strerror(errno));
    places.file_bytes = (uint64_t)info.st_size;
    uint64_t bytes = elements * H5Tget_size(type);
    H5D_layout_t layout = H5Pget_layout(plist);
    int externals = layout == H5D_CONTIGUOUS ? H5Pget_external_count(plist) : 0;
    if (layout == H5D_VIRTUAL) {
        TRY(check_virtual(plist, home.data, &places));
    } else if (externals > 0) {
        TRY(locate_external(plist, externals, bytes, home.data, &places));
        for (uint32_t i = 0; i < places.nextents; i++) {
            TRY(add_source(&places, places.extents[i].path));
        }
    } else if (layout == H5D_CONTIGUOUS) {
        TRY(locate_inside(dataset, bytes, home.data, &places));
    }
    *out = places;
    places = (struct places){.path = NULL};
out:
    places_free(&places);
    text_free(&home);
    h5_close(plist);
    h5_close(type);
    return st;
}

void places_free(struct places *places)
{
    places_drop_extents(places);
    h5_free_texts(places->sources, places->nsources);
    *places = (struct places){.path = NULL};
}
