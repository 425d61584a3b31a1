/* Follows the links of a file, and from file to file. */
#include "input/hdf5/links.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/hdf5/h5_versions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINKS = 64, LINK_BYTES = 1 << 16 };

/* Replaces *out by the path of `name` in the folder of `file`. */
static status_t links_beside(const char *file, const char *name, struct text *out)
{
    const char *base = text_basename(file);
    text_free(out);
    return text_add(out, "%.*s%s", (int)(base - file), file, name);
}

/* Whether HDF5 would find it here. */
static status_t links_is_here(const char *path, int *out)
{
    *out = access(path, F_OK) == 0;
    return REQUIRED(*out || reason_is_absent(errno) || errno == EACCES, STATUS_DATA,
                    "%s cannot be looked up: %s", path, strerror(errno));
}

status_t links_resolve(const char *home, const char *name, struct text *out)
{
    SCOPED(free_at) char *real = NULL;
    int is_here = 0;
    if (name[0] != '/') {
        TRY(links_beside(home, name, out));
        TRY(links_is_here(out->data, &is_here));
        if (is_here) {
            return STATUS_OK;
        }
        real = realpath(home, NULL);
        if (real) {
            TRY(links_beside(real, name, out));
            TRY(links_is_here(out->data, &is_here));
        }
        if (is_here) {
            return STATUS_OK;
        }
    }
    text_free(out);
    return text_add(out, "%s", name);
}

/* On the way: what is left to follow from an object of a file. */
struct links_way {
    const struct links_request *request;
    hid_t file, at;
    struct text path; /* of the file */
    struct text left;
    int links;
};

static void links_stand_at(struct links_way *way, hid_t object)
{
    h5_close(way->at);
    way->at = object;
}

/* left = target, then what comes after the first `length` bytes of left. */
static status_t links_replace(struct links_way *way, size_t length, const char *target)
{
    SCOPED(text_free) struct text next = {0};
    REQUIRE(++way->links <= MOST_LINKS, STATUS_DATA,
            "%s: %s leads from link to link without an end", way->request->path,
            way->request->name);
    TRY(text_add(&next, "%s/%s", target, way->left.data + length));
    text_free(&way->left);
    way->left = next;
    next = (struct text){0};
    return STATUS_OK;
}

/* Continues in the file that an external link names. */
static status_t links_enter(struct links_way *way, const char *file)
{
    SCOPED(text_free) struct text path = {0};
    struct identity identity;
    SCOPED(h5_close_at) hid_t next = -1;
    TRY(links_resolve(way->path.data, file, &path));
    TRY(identity_of_path(path.data, &identity));
    if (way->request->note) {
        TRY(way->request->note(way->request->context, path.data, way->path.data));
    }
    TRY(h5_open_file(path.data, &next));
    hid_t root = H5Gopen2(next, "/", H5P_DEFAULT);
    H5_TRY(root, "%s cannot be opened", path.data);
    links_stand_at(way, root);
    h5_close(way->file);
    way->file = h5_move(&next);
    text_free(&way->path);
    way->path = path;
    path = (struct text){0};
    return STATUS_OK;
}

/* Follows a link that has a value; `length` bytes of what is left are its name. */
static status_t links_follow(struct links_way *way, const char *name, const struct h5_link *link,
                             size_t length)
{
    SCOPED(free_at) char *value = NULL;
    const char *file = NULL;
    const char *target = NULL;
    unsigned flags = 0;
    const char *path = way->path.data;
    REQUIRE(link->bytes <= LINK_BYTES, STATUS_DATA, "%s: link %s has %zu bytes", path, name,
            link->bytes);
    TRY(memory_zeroed(link->bytes + 1, 1, "a link", &value));
    H5_TRY(H5Lget_val(way->at, name, value, link->bytes, H5P_DEFAULT), "%s: link %s cannot be read",
           path, name);
    if (link->type == H5L_TYPE_SOFT) {
        target = value;
        if (*value == '/') {
            hid_t root = H5Gopen2(way->file, "/", H5P_DEFAULT);
            H5_TRY(root, "%s cannot be read", path);
            links_stand_at(way, root);
        }
    } else {
        REQUIRE(link->type == H5L_TYPE_EXTERNAL, STATUS_DATA, "%s: %s is a link of an unknown kind",
                path, name);
        H5_TRY(H5Lunpack_elink_val(value, link->bytes, &flags, &file, &target),
               "%s: link %s cannot be read", path, name);
        TRY(links_enter(way, file));
    }
    return links_replace(way, length, target);
}

/* Follows the next name of the path that is left. */
static status_t links_step(struct links_way *way, int *is_there)
{
    SCOPED(free_at) char *name = NULL;
    struct h5_link link;
    struct h5_object object;
    size_t from = strspn(way->left.data, "/");
    size_t length = strcspn(way->left.data + from, "/");
    TRY(memory_zeroed(length + 1, 1, "a name", &name));
    memcpy(name, way->left.data + from, length);
    if (strcmp(name, ".") != 0) {
        TRY(h5_has(way->at, way->path.data, name, is_there));
        if (!*is_there) {
            return STATUS_OK;
        }
        H5_TRY(h5_link_read(way->at, name, &link), "%s: link %s cannot be read", way->path.data,
               name);
        if (link.type != H5L_TYPE_HARD) {
            TRY(links_follow(way, name, &link, from + length));
            return STATUS_OK;
        }
        H5_TRY(h5_object_read(way->at, name, &object), "%s: %s cannot be looked up", way->path.data,
               name);
        hid_t next = object.type == H5O_TYPE_DATASET ? H5Dopen2(way->at, name, way->request->access)
                                                     : H5Oopen(way->at, name, H5P_DEFAULT);
        H5_TRY(next, "%s: %s cannot be opened", way->path.data, way->request->name);
        links_stand_at(way, next);
    }
    memmove(way->left.data, way->left.data + from + length,
            strlen(way->left.data + from + length) + 1);
    return STATUS_OK;
}

SCOPED_CALLS(links_way_close, struct links_way, h5_close(at->at), h5_close(at->file),
             text_free(&at->path), text_free(&at->left))

status_t links_open(const struct links_request *request, hid_t *object, int *is_there)
{
    SCOPED(links_way_close) struct links_way way = {.request = request, .file = -1, .at = -1};
    *is_there = 1;
    TRY(text_add(&way.path, "%s", request->path));
    TRY(text_add(&way.left, "%s/", request->name));
    way.at = H5Gopen2(request->file, "/", H5P_DEFAULT);
    H5_TRY(way.at, "%s cannot be read", request->path);
    way.file = H5Iget_file_id(way.at);
    while (*is_there && way.left.data[strspn(way.left.data, "/")]) {
        TRY(links_step(&way, is_there));
    }
    if (*is_there) {
        *object = h5_move(&way.at);
    }
    return STATUS_OK;
}
