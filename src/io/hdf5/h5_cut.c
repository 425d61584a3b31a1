/* Files that end before they say so. HDF5 reads zeros behind the end, and takes these in old object
 * headers, which have no checksums, for messages that say nothing: attributes and filters would
 * just not be there. */
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_versions.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static uint64_t cut_number(const unsigned char *at, int bytes)
{
    uint64_t number = 0;
    for (int i = bytes; i-- > 0;) {
        number = number << 8 | at[i];
    }
    return number;
}

/* Messages in `count` bytes from `at`, and all pieces that they lead to. */
static status_t cut_look(struct cut_header *header, uint64_t at, uint64_t count)
{
    status_t st = STATUS_OK;
    unsigned char *piece = NULL;
    REQUIRE(at <= header->bytes && count <= header->bytes - at, STATUS_DATA,
            "%s is truncated: it ends after %llu bytes, and what it says of %s lies behind that",
            header->path, (unsigned long long)header->bytes, header->name);
    REQUIRE(count <= MOST_BYTES && header->pieces++ < MOST_PIECES, STATUS_DATA,
            "%s: the header of %s is absurd", header->path, header->name);
    piece = malloc((size_t)count + 1);
    REQUIRE(piece, STATUS_DEVICE, "out of memory: an object's header");
    TRY(file_read(header->fd, header->path, at, piece, (size_t)count));
    for (uint64_t i = 0; count >= MESSAGE && i <= count - MESSAGE;) {
        uint64_t type = cut_number(piece + i, 2);
        uint64_t size = cut_number(piece + i + 2, 2);
        if (type == CONTINUATION && size >= 16 && size <= count - i - MESSAGE) {
            TRY(cut_look(header, header->base + cut_number(piece + i + MESSAGE, 8),
                         cut_number(piece + i + MESSAGE + 8, 8)));
        }
        i += MESSAGE + size;
    }
out:
    free(piece);
    return st;
}

/* A header of version 1 of this object. */
static status_t cut_look_at_object(struct cut_header *header, hid_t file, hid_t object)
{
    status_t st = STATUS_OK;
    haddr_t address = 0;
    unsigned char prefix[FIRST_MESSAGES];
    size_t address_bytes = 0;
    size_t size_bytes = 0;
    hsize_t base = 0;
    hid_t plist = H5Fget_create_plist(file);
    H5_TRY(h5_address(object, &address), "%s: %s cannot be looked at", header->path, header->name);
    H5_TRY(H5Pget_sizes(plist, &address_bytes, &size_bytes), "%s cannot be looked at",
           header->path);
    H5_TRY(H5Pget_userblock(plist, &base), "%s cannot be looked at", header->path);
    header->base = base;
    uint64_t at = base + address;
    if (address_bytes != 8 || size_bytes != 8 || at > header->bytes ||
        header->bytes - at < sizeof prefix) {
        goto out; /* HDF5 itself knows better */
    }
    TRY(file_read(header->fd, header->path, at, prefix, sizeof prefix));
    if (prefix[0] == 1) {
        TRY(cut_look(header, at + sizeof prefix, cut_number(prefix + 8, 4)));
    }
out:
    h5_close(plist);
    return st;
}

status_t h5_require_header(hid_t object, const char *name)
{
    status_t st = STATUS_OK;
    char *path = NULL;
    struct stat info;
    struct cut_header header = {.name = name, .fd = -1};
    hid_t file = H5Iget_file_id(object);
    ssize_t length = H5Fget_name(object, NULL, 0);
    H5_TRY(file, "%s belongs to no file", name);
    H5_TRY(length, "%s belongs to no file", name);
    path = malloc((size_t)length + 1);
    REQUIRE(path, STATUS_DEVICE, "out of memory: the name of a file");
    H5Fget_name(object, path, (size_t)length + 1);
    if (stat(path, &info) != 0 || !h5_is_cut(file, (uint64_t)info.st_size)) {
        goto out;
    }
    header.path = path;
    header.bytes = (uint64_t)info.st_size;
    TRY(file_open_read(path, &header.fd));
    TRY(cut_look_at_object(&header, file, object));
out:
    file_close(header.fd);
    free(path);
    h5_close(file);
    return st;
}
