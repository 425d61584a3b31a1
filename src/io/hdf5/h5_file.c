/* A file driver for HDF5 that remembers the first write that failed. */
#include "io/hdf5/h5_file.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_versions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that end before they say so. HDF5 reads zeros after the end, and takes these in old object
 * headers, which have no checksums, for messages that say nothing: attributes and filters would
 * just not be there. */

enum {
    FIRST_MESSAGES = 16, /* bytes of a header of version 1 before its messages */
    MESSAGE = 8,         /* bytes before what a message says */
    CONTINUATION = 0x10, /* more messages: where, how many bytes */
    MOST_PIECES = 64,
    MOST_BYTES = 1 << 20
};

/* A file, and the pieces of a header in it that are still to be looked at. */
struct cut_header {
    const char *path, *name;
    int fd;
    uint64_t bytes, base; /* of the file; where its addresses begin */
    uint32_t pieces;
};

/* Messages in `count` bytes from `at`, and all pieces that they lead to. */
static status_t cut_look(struct cut_header *header, uint64_t at, uint64_t count)
{
    SCOPED(free_at) unsigned char *piece = NULL;
    REQUIRE(at <= header->bytes && count <= header->bytes - at, STATUS_DATA,
            "%s is truncated: it ends after %llu bytes, and what it says of %s is after that",
            header->path, (unsigned long long)header->bytes, header->name);
    REQUIRE(count <= MOST_BYTES && header->pieces++ < MOST_PIECES, STATUS_DATA,
            "%s: the header of %s is absurd", header->path, header->name);
    TRY(memory_zeroed((size_t)count, 1, "an object's header", &piece));
    TRY(file_read(header->fd, header->path, at, piece, (size_t)count));
    for (uint64_t i = 0; count >= MESSAGE && i <= count - MESSAGE;) {
        uint64_t type = load_u16(piece + i, 0);
        uint64_t size = load_u16(piece + i + 2, 0);
        if (type == CONTINUATION && size >= 16 && size <= count - i - MESSAGE) {
            TRY(cut_look(header, header->base + load_u64(piece + i + MESSAGE, 0),
                         load_u64(piece + i + MESSAGE + 8, 0)));
        }
        i += MESSAGE + size;
    }
    return STATUS_OK;
}

/* Checks the header of this object, if it is of version 1. */
static status_t cut_look_at_object(struct cut_header *header, hid_t file, hid_t object)
{
    haddr_t address = 0;
    unsigned char prefix[FIRST_MESSAGES];
    size_t address_bytes = 0;
    size_t size_bytes = 0;
    hsize_t base = 0;
    SCOPED(h5_close_at) hid_t plist = H5Fget_create_plist(file);
    H5_TRY(h5_address(object, &address), "%s: %s cannot be looked at", header->path, header->name);
    H5_TRY(H5Pget_sizes(plist, &address_bytes, &size_bytes), "%s cannot be looked at",
           header->path);
    H5_TRY(H5Pget_userblock(plist, &base), "%s cannot be looked at", header->path);
    header->base = base;
    uint64_t at = base + address;
    if (address_bytes != 8 || size_bytes != 8 || at > header->bytes ||
        header->bytes - at < sizeof prefix) {
        return STATUS_OK; /* HDF5 itself knows better */
    }
    TRY(file_read(header->fd, header->path, at, prefix, sizeof prefix));
    return prefix[0] == 1 ? cut_look(header, at + sizeof prefix, load_u32(prefix + 8, 0))
                          : STATUS_OK;
}

SCOPED_CALLS(cut_header_close, struct cut_header, file_close(at->fd))

status_t h5_require_header(hid_t object, const char *name)
{
    SCOPED(free_at) char *path = NULL;
    struct stat info;
    SCOPED(cut_header_close) struct cut_header header = {.name = name, .fd = -1};
    SCOPED(h5_close_at) hid_t file = H5Iget_file_id(object);
    ssize_t length = H5Fget_name(object, NULL, 0);
    H5_TRY(file, "%s belongs to no file", name);
    H5_TRY(length, "%s belongs to no file", name);
    TRY(memory_zeroed((size_t)length + 1, 1, "the name of a file", &path));
    H5Fget_name(object, path, (size_t)length + 1);
    if (stat(path, &info) != 0 || !h5_is_cut(file, (uint64_t)info.st_size)) {
        return STATUS_OK;
    }
    header.path = path;
    header.bytes = (uint64_t)info.st_size;
    TRY(file_open_read(path, &header.fd));
    return cut_look_at_object(&header, file, object);
}

enum {
    ALIGNMENT = 1 << 20,
    MOST_KEPT = 1 << 20 /* bytes in a piece that a file without a place keeps: all but numbers */
};

struct outcome {
    status_t st;
    uint64_t bytes;
    int is_closed;
};

/* HDF5 knows the first member, and hands the whole to the functions below. */
struct writing {
    H5FD_t driver;
    char *path;
    int fd;
    int has_place;        /* else it is not to be kept */
    enum mark mark;       /* that is in the file instead of HDF5's signature */
    haddr_t eoa;          /* end of the addresses that HDF5 has allocated */
    haddr_t eof;          /* as far as the file goes */
    status_t st;          /* of all writes so far */
    uint64_t *at;         /* raw data are not written, but would be here; or NULL */
    struct h5_seen *seen; /* notes reads of raw data; or NULL */
    struct outcome *outcome;
};

/* Handed on by H5Fcreate() and H5Fopen(). */
struct writing_options {
    int fd;      /* below 0: the file is not to be kept */
    int is_made; /* anew: what the file holds goes */
    enum mark mark;
    struct h5_seen *seen;
};

/* Cuts a new file to its mark, which it has before HDF5 knows of it. */
static status_t h5_file_begin(int fd, const char *path, enum mark mark)
{
    char bytes[MARK_BYTES];
    TRY(file_cut(fd, path, 0));
    if (mark != MARK_NONE) {
        mark_bytes(mark, bytes);
        TRY(file_write(fd, path, 0, bytes, sizeof bytes));
    }
    return STATUS_OK;
}

/* Works through a duplicate of the descriptor: by now the name may lead to another file. */
static status_t h5_file_writing_open(const char *path, const struct writing_options *options,
                                     struct writing **out)
{
    status_t st = STATUS_OK;
    struct writing *writing = NULL;
    struct stat info = {.st_size = 0};
    TRY_OUT(memory_zeroed(1, sizeof *writing, "a file", &writing));
    writing->mark = options->mark;
    writing->seen = options->seen;
    writing->has_place = options->fd >= 0;
    writing->fd = writing->has_place ? fcntl(options->fd, F_DUPFD_CLOEXEC, 0)
                                     : memfd_create("measured", MFD_CLOEXEC);
    REQUIRE_OUT(writing->fd >= 0, reason_make_status(errno), "%s cannot be made: %s", path,
                strerror(errno));
    if (options->is_made) {
        TRY_OUT(h5_file_begin(writing->fd, path, options->mark));
    } else {
        REQUIRE_OUT(fstat(writing->fd, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
        writing->eof = (haddr_t)info.st_size;
    }
    TRY_OUT(memory_text(path, &writing->path));
    *out = memory_move(&writing);
out:
    if (writing && writing->fd >= 0) {
        close(writing->fd);
    }
    free(writing);
    return st;
}

static H5FD_t *h5_file_driver_open(const char *path, unsigned flags, hid_t access, haddr_t most)
{
    (void)flags;
    (void)most;
    const struct writing_options *options = H5Pget_driver_info(access);
    struct writing *writing = NULL;
    if (!options || h5_file_writing_open(path, options, &writing) != STATUS_OK) {
        return NULL;
    }
    return &writing->driver;
}

static herr_t h5_file_driver_close(H5FD_t *driver)
{
    struct writing *writing = (struct writing *)driver;
    if (close(writing->fd) != 0 && errno != EINTR && writing->st == STATUS_OK) {
        writing->st = report_fail(reason_write_status(errno), "%s cannot be closed: %s",
                                  writing->path, strerror(errno));
    }
    if (writing->outcome) {
        *writing->outcome = (struct outcome){writing->st, writing->eof, 1};
    }
    free(writing->path);
    free(writing);
    return 0;
}

static herr_t h5_file_driver_query(const H5FD_t *driver, unsigned long *flags)
{
    (void)driver;
    /* As HDF5's own for plain files, but for its buffer of raw data. */
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t h5_file_driver_get_eoa(const H5FD_t *driver, H5FD_mem_t type)
{
    (void)type;
    return ((const struct writing *)driver)->eoa;
}

static herr_t h5_file_driver_set_eoa(H5FD_t *driver, H5FD_mem_t type, haddr_t eoa)
{
    (void)type;
    ((struct writing *)driver)->eoa = eoa;
    return 0;
}

static haddr_t h5_file_driver_get_eof(const H5FD_t *driver, H5FD_mem_t type)
{
    (void)type;
    return ((const struct writing *)driver)->eof;
}

static herr_t h5_file_driver_get_handle(H5FD_t *driver, hid_t access, void **handle)
{
    (void)access;
    *handle = driver;
    return 0;
}

static herr_t h5_file_driver_read(H5FD_t *driver, H5FD_mem_t type, hid_t transfer, haddr_t at,
                                  size_t bytes, void *out)
{
    (void)transfer;
    const struct writing *writing = (const struct writing *)driver;
    struct h5_seen *seen = writing->seen;
    if (seen && seen->is_asked && type == H5FD_MEM_DRAW) {
        *seen = (struct h5_seen){1, seen->reads + 1, at, bytes};
        return 0;
    }
    struct stat info = {.st_size = 0};
    /* Numbers may have been written past HDF5. */
    uint64_t eof = at + bytes > writing->eof && fstat(writing->fd, &info) == 0
                       ? max_u64(writing->eof, (uint64_t)info.st_size)
                       : writing->eof;
    uint64_t there = at < eof ? min_u64(bytes, eof - at) : 0;
    memset(out, 0, bytes);
    if (file_read(writing->fd, writing->path, at, out, there) != STATUS_OK) {
        return -1;
    }
    if (writing->mark != MARK_NONE && at < MARK_BYTES) {
        memcpy(out, mark_hdf5_signature + at, (size_t)min_u64(bytes, MARK_BYTES - at));
    }
    return 0;
}

/* Once a write has failed, all others seem to succeed: so HDF5 closes what it has open, and does
 * not try again what would then look well. */
static herr_t h5_file_driver_write(H5FD_t *driver, H5FD_mem_t type, hid_t transfer, haddr_t at,
                                   size_t bytes, const void *data)
{
    (void)transfer;
    struct writing *writing = (struct writing *)driver;
    /* The mark stays. */
    uint64_t first = writing->mark != MARK_NONE && at < MARK_BYTES ? MARK_BYTES - at : 0;
    if (writing->at && type == H5FD_MEM_DRAW) {
        *writing->at = at;
    } else if (writing->st == STATUS_OK && (writing->has_place || bytes <= MOST_KEPT) &&
               first < bytes) {
        writing->st = file_write(writing->fd, writing->path, at + first, (const char *)data + first,
                                 bytes - first);
    }
    writing->eof = max_u64(writing->eof, at + bytes);
    return 0;
}

/* Sets the file's length to the addresses that HDF5 has allocated. */
static herr_t h5_file_driver_truncate(H5FD_t *driver, hid_t transfer, hbool_t closing)
{
    (void)transfer;
    (void)closing;
    struct writing *writing = (struct writing *)driver;
    if (writing->st == STATUS_OK) {
        writing->st = file_cut(writing->fd, writing->path, writing->eoa);
    }
    writing->eof = writing->eoa;
    return 0;
}

/* Locks nothing: callers that make files have locks of their own. */
static herr_t h5_file_driver_lock(H5FD_t *driver, hbool_t is_written)
{
    (void)driver;
    (void)is_written;
    return 0;
}

static herr_t h5_file_driver_unlock(H5FD_t *driver)
{
    (void)driver;
    return 0;
}

static const H5FD_class_t writing_class = {
    .name = "voltmill",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct writing_options),
    .open = h5_file_driver_open,
    .close = h5_file_driver_close,
    .query = h5_file_driver_query,
    .get_eoa = h5_file_driver_get_eoa,
    .set_eoa = h5_file_driver_set_eoa,
    .get_eof = h5_file_driver_get_eof,
    .get_handle = h5_file_driver_get_handle,
    .read = h5_file_driver_read,
    .write = h5_file_driver_write,
    .truncate = h5_file_driver_truncate,
    .lock = h5_file_driver_lock,
    .unlock = h5_file_driver_unlock,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

SCOPED_CALLS(driver_close, hid_t, (void)(*at >= 0 && H5FDunregister(*at)))

/* Makes a property list for file access through our driver; h5_close() it. */
static status_t h5_file_access(const char *name, const struct writing_options *options, hid_t *out)
{
    SCOPED(h5_close_at) hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    SCOPED(driver_close) hid_t driver = h5_register_driver(&writing_class);
    H5_TRY(driver, "%s cannot be planned", name);
    H5_TRY(H5Pset_driver(access, driver, options), "%s cannot be planned", name);
    *out = h5_move(&access);
    return STATUS_OK;
}

status_t h5_file_create_aligned(int fd, const char *path, enum mark mark, hsize_t alignment,
                                hid_t *out)
{
    const char *name = path ? path : "a file to be measured";
    const struct writing_options options = {.fd = fd, .is_made = 1, .mark = mark};
    SCOPED(h5_close_at) hid_t access = -1;
    SCOPED(h5_close_at) hid_t create = H5Pcreate(H5P_FILE_CREATE);
    TRY(h5_file_access(name, &options, &access));
    H5_TRY(H5Pset_alignment(access, alignment, alignment), "%s cannot be planned", name);
    H5_TRY(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110), "%s cannot be planned",
           name);
    /* The root group would contain the time at which it was made. */
    H5_TRY(H5Pset_obj_track_times(create, 0), "%s cannot be planned", name);
    *out = H5Fcreate(name, H5F_ACC_TRUNC, create, access);
    return H5_TRIED(*out, "%s cannot be created", name);
}

status_t h5_file_create(int fd, const char *path, enum mark mark, hid_t *out)
{
    return h5_file_create_aligned(fd, path, mark, ALIGNMENT, out);
}

static status_t h5_file_open_as(int fd, const char *path, unsigned flags, struct h5_seen *seen,
                                hid_t *out)
{
    struct writing_options options = {.fd = fd, .seen = seen};
    SCOPED(h5_close_at) hid_t access = -1;
    TRY(mark_read(fd, path, &options.mark));
    TRY(h5_file_access(path, &options, &access));
    if (seen) {
        h5_allow_cut(access);
    }
    *out = H5Fopen(path, flags, access);
    return H5_TRIED(*out, "%s cannot be opened", path);
}

status_t h5_file_change(int fd, const char *path, hid_t *out)
{
    return h5_file_open_as(fd, path, H5F_ACC_RDWR, NULL, out);
}

status_t h5_file_read(const char *path, struct h5_seen *seen, hid_t *out)
{
    SCOPED(file_close_at) int fd = -1;
    TRY(file_open_read(path, &fd));
    return h5_file_open_as(fd, path, H5F_ACC_RDONLY, seen, out);
}

status_t h5_file_place_only(hid_t file, uint64_t *at)
{
    void *handle = NULL;
    H5_TRY(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle), "a new file cannot be looked at");
    ((struct writing *)handle)->at = at;
    return STATUS_OK;
}

status_t h5_file_finish(hid_t *whole, uint64_t *bytes)
{
    status_t st = STATUS_OK;
    void *handle = NULL;
    hid_t file = *whole;
    struct outcome outcome = {STATUS_DATA, 0, 0};
    *whole = -1;
    H5_TRY_OUT(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle), "a new file cannot be looked at");
    ((struct writing *)handle)->outcome = &outcome;
    H5_TRY_OUT(H5Fflush(file, H5F_SCOPE_GLOBAL), "%s cannot be written",
               ((struct writing *)handle)->path);
    H5_TRY_OUT(h5_close_file(h5_move(&file)), "a new file cannot be closed");
    TRY_OUT(outcome.st);
    *bytes = outcome.bytes;
out:
    h5_close(file);
    if (handle && !outcome.is_closed) {
        ((struct writing *)handle)->outcome = NULL; /* HDF5 still has it */
    }
    return st;
}
