/* Depth first with a stack of open groups, each object by its name in its group. */
#include "io/hdf5/h5_walk.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_versions.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A group whose links are visited. */
struct level {
    hid_t group;
    struct text links; /* 'h' of a hard one or 's', its name, '\0'; one after the other */
    size_t at;         /* in the list: of the next one */
    size_t path;       /* characters of the group's own path */
};

struct walk {
    const char *where;
    h5_visitor visitor;
    void *context;
    int is_enough;
    struct text path;
    struct level *levels;
    size_t count;
    void *met; /* addresses of objects with several links */
};

/* Notes an object; *is_new: it was not met before. */
static status_t h5_walk_meet(struct walk *walk, const struct h5_object *info, int *is_new)
{
    SCOPED(free_at) haddr_t *address = NULL;
    *is_new = 1;
    if (info->links > 1) {
        TRY(memory_zeroed(1, sizeof *address, "an address", &address));
        *address = info->address;
        void *node = tsearch(address, &walk->met, compare_u64);
        REQUIRE(node, STATUS_DEVICE, "out of memory: addresses of objects");
        *is_new = *(haddr_t **)node == address;
        address = *is_new ? NULL : address;
    }
    return STATUS_OK;
}

static herr_t h5_walk_list(const char *name, H5L_type_t type, void *links)
{
    const char *kind = type == H5L_TYPE_HARD ? "h" : "s";
    status_t st = text_add_bytes(links, kind, 1);
    return st == STATUS_OK && text_add_bytes(links, name, strlen(name) + 1) == STATUS_OK ? 0 : -1;
}

/* Puts a group, which it takes over, on the stack. */
static status_t h5_walk_push(struct walk *walk, hid_t given)
{
    SCOPED(h5_close_at) hid_t group = given;
    TRY(memory_grow(walk->count, sizeof *walk->levels, "groups in groups", &walk->levels));
    struct level *level = &walk->levels[walk->count++];
    *level = (struct level){.group = h5_move(&group), .path = walk->path.length};
    return H5_TRIED(h5_iterate_links(level->group, h5_walk_list, &level->links),
                    "%s: what /%s contains cannot be listed", walk->where,
                    walk->path.data ? walk->path.data : "");
}

static void h5_walk_pop(struct walk *walk)
{
    struct level *level = &walk->levels[--walk->count];
    h5_close(level->group);
    text_free(&level->links);
}

/* Follows the next link of the group on top. */
static status_t h5_walk_step(struct walk *walk)
{
    struct level *level = &walk->levels[walk->count - 1];
    int is_hard = level->links.data[level->at] == 'h';
    struct h5_found found = {
        .at = level->group, .name = level->links.data + level->at + 1, .address = HADDR_UNDEF};
    struct h5_object info = {.type = H5O_TYPE_UNKNOWN};
    level->at += strlen(found.name) + 2;
    walk->path.length = level->path;
    TRY(text_add(&walk->path, "%s%s", level->path > 0 ? "/" : "", found.name));
    found.path = walk->path.data;
    if (is_hard) {
        H5_TRY(h5_object_read(found.at, found.name, &info), "%s: /%s cannot be looked at",
               walk->where, found.path);
        TRY(h5_walk_meet(walk, &info, &found.is_new));
        found.type = info.type;
        found.address = info.address;
    }
    TRY(walk->visitor(&found, walk->context, &walk->is_enough));
    if (found.is_new && found.type == H5O_TYPE_GROUP) {
        hid_t group = H5Gopen2(found.at, found.name, H5P_DEFAULT);
        H5_TRY(group, "%s: /%s cannot be opened", walk->where, found.path);
        TRY(h5_walk_push(walk, group));
    }
    return STATUS_OK;
}

status_t h5_walk(hid_t file, const char *where, h5_visitor visitor, void *context)
{
    status_t st = STATUS_OK;
    struct walk walk = {.where = where, .visitor = visitor, .context = context};
    struct h5_found found = {.name = ".", .path = ".", .is_new = 1, .type = H5O_TYPE_GROUP};
    struct h5_object info;
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    H5_TRY_OUT(root, "%s: its objects cannot be listed", where);
    H5_TRY_OUT(h5_object_read(root, ".", &info), "%s: its objects cannot be listed", where);
    TRY_OUT(h5_walk_meet(&walk, &info, &found.is_new));
    found.at = root;
    found.address = info.address;
    TRY_OUT(visitor(&found, context, &walk.is_enough));
    TRY_OUT(h5_walk_push(&walk, h5_move(&root)));
    while (walk.count > 0 && !walk.is_enough) {
        struct level *level = &walk.levels[walk.count - 1];
        if (level->at == level->links.length) {
            h5_walk_pop(&walk);
        } else {
            TRY_OUT(h5_walk_step(&walk));
        }
    }
out:
    while (walk.count > 0) {
        h5_walk_pop(&walk);
    }
    h5_close(root);
    free(walk.levels);
    text_free(&walk.path);
    tdestroy(walk.met, free);
    return st;
}
