/* Where the bytes of a dataset lie: in one piece of the HDF5 file, in external files, or only
 * HDF5 knows. */
#include "archive/describe.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static status_t add_extent(struct archive_part *part, const char *path, uint64_t offset,
                           uint64_t bytes)
{
    status_t st = STATUS_OK;
    struct archive_extent *grown =
        realloc(part->extents, (part->nextents + 1) * sizeof *part->extents);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: extents of %s", part->path);
    part->extents = grown;
    grown[part->nextents] = (struct archive_extent){NULL, offset, bytes};
    TRY(memory_text(path, &grown[part->nextents].path));
    part->nextents++;
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
                             struct archive_part *part)
{
    status_t st = STATUS_OK;
    char name[4096] = "";
    off_t offset = 0;
    hsize_t declared = 0;
    struct text path = {0};
    struct stat info;
    H5_TRY(H5Pget_external(plist, index, sizeof name - 1, name, &offset, &declared),
           "%s: its external file %u cannot be looked up", part->path, index);
    TRY(resolve_external(home, name, &path));
    uint64_t bytes = min_u64(declared, *left); /* H5F_UNLIMITED is the largest number */
    REQUIRE(stat(path.data, &info) == 0, STATUS_DATA, "%s: external file %s: %s", part->path,
            path.data, strerror(errno));
    REQUIRE(offset >= 0 && (uint64_t)info.st_size >= (uint64_t)offset &&
                (uint64_t)info.st_size - (uint64_t)offset >= bytes,
            STATUS_DATA,
            "%s is truncated: %s declares %llu bytes from offset %lld in it, but it ends at %lld",
            path.data, part->path, (unsigned long long)bytes, (long long)offset,
            (long long)info.st_size);
    TRY(add_extent(part, path.data, (uint64_t)offset, bytes));
    part->file_bytes += (uint64_t)info.st_size;
    *left -= bytes;
out:
    text_free(&path);
    return st;
}

static status_t locate_external(hid_t plist, int count, uint64_t bytes, const char *home,
                                struct archive_part *part)
{
    status_t st = STATUS_OK;
    uint64_t left = bytes;
    for (int i = 0; i < count && left > 0; i++) {
        TRY(add_external(plist, (unsigned)i, &left, home, part));
    }
    REQUIRE(left == 0, STATUS_DATA,
            "%s: the external files of its dataset hold %llu bytes less than its %llu", part->path,
            (unsigned long long)left, (unsigned long long)bytes);
out:
    return st;
}

/* Whether a number on disk fills its bytes: HDF5 knows integers with fewer bits, or shifted ones,
 * and floats of other makes than IEEE's. */
static int is_plain_number(hid_t type)
{
    if (H5Tget_class(type) == H5T_FLOAT) {
        return H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0;
    }
    return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

/* Whether an element on disk is just what the reader hands out, byte order aside. */
static int is_dense(hid_t dataset, const struct archive *archive)
{
    hid_t type = H5Dget_type(dataset);
    hid_t number = archive->is_compound ? H5Tget_member_type(type, 0) : H5Tcopy(type);
    int dense = H5Tget_size(type) == archive->element_bytes && is_plain_number(number);
    if (dense && archive->is_compound) {
        dense = H5Tget_member_offset(type, 0) == 0;
    }
    h5_close(number);
    h5_close(type);
    return dense;
}

/* The file that really holds the dataset: an external link leads to another one. */
static status_t find_home(hid_t dataset, const struct archive_part *part, struct text *home)
{
    status_t st = STATUS_OK;
    ssize_t length = H5Fget_name(dataset, NULL, 0);
    char *name = NULL;
    H5_TRY((int)length, "%s: the file of its dataset cannot be found", part->path);
    TRY(memory_zeroed((size_t)length + 1, 1, "a name", &name));
    H5_TRY((int)H5Fget_name(dataset, name, (size_t)length + 1),
           "%s: the file of its dataset cannot be found", part->path);
    TRY(text_add(home, "%s", name));
out:
    free(name);
    return st;
}

static status_t add_source(struct archive_part *part, const char *path)
{
    status_t st = STATUS_OK;
    char **grown = realloc(part->sources, (part->nsources + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: the files of %s", part->path);
    part->sources = grown;
    grown[part->nsources] = NULL;
    TRY(memory_text(path, &grown[part->nsources]));
    part->nsources++;
out:
    return st;
}

/* Bytes of a chunk in memory, and of all chunks that one time step touches. */
static void measure_chunks(hid_t dataset, hid_t plist, const struct archive *archive,
                           struct archive_part *part)
{
    hsize_t chunk[H5S_MAX_RANK] = {0};
    hsize_t dims[H5S_MAX_RANK] = {0};
    if (H5Pget_layout(plist) != H5D_CHUNKED) {
        return;
    }
    int rank = H5Pget_chunk(plist, H5S_MAX_RANK, chunk);
    hid_t space = H5Dget_space(dataset);
    H5Sget_simple_extent_dims(space, dims, NULL);
    h5_close(space);
    uint64_t count = 1;
    part->chunk_bytes = archive->element_bytes;
    for (int i = 0; i < rank; i++) {
        part->chunk_bytes *= chunk[i]; /* HDF5 keeps chunks below 4 GiB */
        count *= i == (int)archive->time_dim ? 1 : ceil_div_u64(dims[i], chunk[i]);
    }
    if (!multiply_u64(part->chunk_bytes, count, &part->row_bytes)) {
        part->row_bytes = UINT64_MAX / 4;
    }
}

/* A virtual dataset: HDF5 takes files that are not there for zeros, so look at them. */
static status_t check_virtual(hid_t plist, const char *home, struct archive_part *part)
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
        part->file_bytes += (uint64_t)info.st_size;
        TRY(add_source(part, path.data));
        text_free(&path);
    }
out:
    text_free(&path);
    return st;
}

static void drop_extents(struct archive_part *part)
{
    for (uint32_t i = 0; i < part->nextents; i++) {
        free(part->extents[i].path);
    }
    free(part->extents);
    part->extents = NULL;
    part->nextents = 0;
}

/* Contiguous in the HDF5 file itself. */
static status_t locate_inside(hid_t dataset, uint64_t bytes, const char *home,
                              struct archive_part *part)
{
    status_t st = STATUS_OK;
    haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) {
        goto out; /* never written: HDF5 gives the fill value */
    }
    REQUIRE(offset <= part->file_bytes && part->file_bytes - offset >= bytes, STATUS_DATA,
            "%s is truncated: its dataset declares %llu bytes from offset %llu, but it ends at "
            "%llu",
            home, (unsigned long long)bytes, (unsigned long long)offset,
            (unsigned long long)part->file_bytes);
    TRY(add_extent(part, home, offset, bytes));
out:
    return st;
}

status_t locate_extents(hid_t dataset, const struct archive *archive, uint64_t elements,
                        struct archive_part *part)
{
    status_t st = STATUS_OK;
    struct text home = {0};
    struct stat info;
    hid_t type = H5Dget_type(dataset);
    hid_t plist = H5Dget_create_plist(dataset);
    H5_TRY(plist, "%s: its dataset's properties cannot be read", part->path);
    TRY(find_home(dataset, part, &home));
    TRY(add_source(part, home.data));
    REQUIRE(stat(home.data, &info) == 0, STATUS_DATA, "%s: %s", home.data, strerror(errno));
    part->file_bytes = (uint64_t)info.st_size;
    uint64_t bytes = elements * H5Tget_size(type);
    measure_chunks(dataset, plist, archive, part);
    H5D_layout_t layout = H5Pget_layout(plist);
    int externals = layout == H5D_CONTIGUOUS ? H5Pget_external_count(plist) : 0;
    if (layout == H5D_VIRTUAL) {
        TRY(check_virtual(plist, home.data, part));
    } else if (externals > 0) {
        TRY(locate_external(plist, externals, bytes, home.data, part));
        for (uint32_t i = 0; i < part->nextents; i++) {
            TRY(add_source(part, part->extents[i].path));
        }
    } else if (layout == H5D_CONTIGUOUS) {
        TRY(locate_inside(dataset, bytes, home.data, part));
    }
    if (!is_dense(dataset, archive)) {
        drop_extents(part); /* the files are whole, but only HDF5 can read these numbers */
    }
out:
    text_free(&home);
    h5_close(plist);
    h5_close(type);
    return st;
}
