/* Files that are read are never written. */
#include "io/guard.h"

#include "base/memory.h"
#include "io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static status_t guard_make_room(struct guard *guard)
{
    status_t st = STATUS_OK;
    size_t room = guard->room > 0 ? 2 * guard->room : 16;
    struct guard_file *grown = NULL;
    if (guard->count < guard->room) {
        goto out;
    }
    grown = realloc(guard->files, room * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: files that are read");
    guard->files = grown;
    guard->room = room;
out:
    return st;
}

status_t guard_add(struct guard *guard, const char *what, const char *path)
{
    status_t st = STATUS_OK;
    struct guard_file file = {.what = what};
    struct stat info;
    int exists = stat(path, &info) == 0;
    REQUIRE(exists || file_is_absent(errno), STATUS_DATA, "%s cannot be looked up: %s", path,
            strerror(errno));
    if (!exists || !S_ISREG(info.st_mode)) {
        goto out;
    }
    TRY(identity_of_path(path, &file.identity));
    TRY(guard_make_room(guard));
    TRY(memory_text(path, &file.path));
    guard->files[guard->count++] = file;
out:
    return st;
}

status_t guard_check(const struct guard *guard, const char *what, const char *path)
{
    status_t st = STATUS_OK;
    struct stat info;
    if (stat(path, &info) != 0) {
        goto out; /* leads to no file */
    }
    for (size_t i = 0; i < guard->count; i++) {
        const struct guard_file *file = &guard->files[i];
        REQUIRE(file->identity.device != (uint64_t)info.st_dev ||
                    file->identity.inode != (uint64_t)info.st_ino,
                STATUS_USAGE, "%s %s is %s %s, which would be lost", what, path, file->what,
                file->path);
    }
out:
    return st;
}

status_t guard_check_part(const struct guard *guard, const char *what, const char *path)
{
    status_t st = STATUS_OK;
    char *part = NULL;
    char *packed = NULL;
    TRY(file_part_name(path, &part));
    TRY(file_packed_name(path, &packed));
    TRY(guard_check(guard, what, path));
    TRY(guard_check(guard, what, part));
    TRY(guard_check(guard, what, packed));
out:
    free(packed);
    free(part);
    return st;
}

void guard_free(struct guard *guard)
{
    for (size_t i = 0; i < guard->count; i++) {
        free(guard->files[i].path);
    }
    free(guard->files);
    *guard = (struct guard){0};
}
