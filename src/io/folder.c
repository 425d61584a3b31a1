/* Folders on the way to a file: found, made, removed again. */
#include "io/folder.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/reason.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the folder of a path: "dir" of "dir/x", "." of "x"; for free(). Fails with DEVICE
 * (memory). */
static status_t folder_of(const char *path, char **out)
{
    const char *base = text_basename(path);
    int length = base - path > 1 ? (int)(base - path - 1) : 1;
    return memory_format(out, "%.*s", length, base == path ? "." : path);
}

/* Takes the last name from a path, and the slashes before it. Returns 0 when none is left. */
static int folder_go_up(char *path)
{
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    path[length] = '\0';
    return length > 0;
}

/* Whether `path` is there; a link that leads nowhere is in the way of what would be made. */
static status_t folder_look_up(const char *path, struct stat *info, int *is_there)
{
    struct stat link;
    *is_there = stat(path, info) == 0;
    REQUIRE(*is_there || errno == ENOENT || errno == ENOTDIR, reason_make_status(errno),
            "folder %s: %s", path, strerror(errno));
    REQUIRE(*is_there || lstat(path, &link) != 0, STATUS_USAGE,
            "folder %s: a link that leads nowhere", path);
    return REQUIRED(!*is_there || S_ISDIR(info->st_mode), STATUS_USAGE, "%s is not a folder", path);
}

status_t folder_nearest(const char *path, char **out)
{
    SCOPED(free_at) char *folder = NULL;
    struct stat info;
    int is_there = 0;
    TRY(folder_of(path, &folder));
    for (;;) {
        TRY(folder_look_up(folder, &info, &is_there));
        if (is_there) {
            break;
        }
        if (!folder_go_up(folder)) {
            free(memory_move(&folder));
            TRY(memory_text(".", &folder));
        }
    }
    *out = memory_move(&folder);
    return STATUS_OK;
}

/* Fails where more than the last folder on the way to `path` is missing below `nearest`. */
static status_t folder_check_depth(const char *path, const char *folder, const char *nearest)
{
    SCOPED(free_at) char *missing = NULL;
    uint32_t count = 0;
    TRY(memory_text(folder, &missing));
    while (strcmp(missing, nearest) != 0 && *missing) {
        const char *name = text_basename(missing);
        count += *name != '\0' && strcmp(name, ".") != 0;
        REQUIRE(count < 2, STATUS_USAGE,
                "%s cannot be made: folder %s is missing, expected it to exist: only the last "
                "folder of a path is made",
                path, missing);
        folder_go_up(missing);
    }
    return STATUS_OK;
}

status_t folder_check(const char *path, int *is_there)
{
    SCOPED(free_at) char *folder = NULL;
    SCOPED(free_at) char *nearest = NULL;
    TRY(folder_of(path, &folder));
    const status_t st = folder_nearest(path, &nearest);
    TRY(st == STATUS_USAGE ? report_again(st, "%s cannot be made: %s", path, report_cause()) : st);
    REQUIRE(access(nearest, W_OK | X_OK) == 0, reason_make_status(errno),
            "%s cannot be made: folder %s: %s", path, nearest, strerror(errno));
    TRY(folder_check_depth(path, folder, nearest));
    *is_there = strcmp(folder, nearest) == 0;
    return STATUS_OK;
}

status_t folder_sync(const char *path)
{
    SCOPED(free_at) char *folder = NULL;
    TRY(folder_of(path, &folder));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A folder that cannot be synced (some network file systems) is no reason to fail. */
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    return STATUS_OK;
}

/* Makes one, unless somebody else has made it by now. */
static status_t folder_make_one(const char *folder, int *is_ours)
{
    struct stat info;
    *is_ours = mkdir(folder, 0777) == 0;
    if (*is_ours) {
        TRY(folder_sync(folder));
    } else if (errno != EEXIST || stat(folder, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return report_fail(reason_make_status(errno), "folder %s cannot be made: %s", folder,
                           strerror(errno));
    }
    return STATUS_OK;
}

status_t folder_make(const char *path, char **made)
{
    status_t st = STATUS_OK;
    char *whole = NULL;
    char *first = NULL;
    struct stat info;
    int is_known = 0;
    *made = NULL;
    TRY_OUT(folder_check(path, &is_known));
    TRY_OUT(memory_text(path, &whole));
    /* From the left: each prefix in front of a slash. */
    for (char *slash = strchr(whole, '/'); slash; slash = strchr(slash + 1, '/')) {
        int is_ours = 0;
        int is_there = 1;
        *slash = '\0';
        TRY_OUT(slash > whole ? folder_look_up(whole, &info, &is_there) : STATUS_OK);
        TRY_OUT(is_there ? STATUS_OK : folder_make_one(whole, &is_ours));
        TRY_OUT(is_ours && !first ? memory_text(whole, &first) : STATUS_OK);
        *slash = '/';
    }
    if (first) {
        report_note("made the folder %s", first);
    }
    *made = memory_move(&first);
out:
    if (first) {
        folder_unmake(whole, first);
    }
    free(whole);
    return st;
}

void folder_unmake(const char *path, char *made)
{
    char *folder = NULL;
    if (made && folder_of(path, &folder) == STATUS_OK) {
        /* The first that is not empty, or not there any more, ends it; "x/." is not its name. */
        while (strlen(folder) >= strlen(made) && (rmdir(folder) == 0 || errno == EINVAL) &&
               folder_go_up(folder)) {
        }
    }
    free(folder);
    free(made);
}

/* Appends "/name", or takes the last name away for "..". */
static status_t folder_place_add(struct text *rest, const char *name, size_t length)
{
    if (length == 2 && memcmp(name, "..", 2) == 0) {
        char *slash = strrchr(rest->data, '/');
        rest->length = slash ? (size_t)(slash - rest->data) : 0;
        rest->data[rest->length] = '\0';
        return STATUS_OK;
    }
    return text_add(rest, "%s%.*s", rest->length ? "/" : "", (int)length, name);
}

status_t folder_place_of(const char *path, struct folder_place *out)
{
    SCOPED(text_free) struct text there = {0};
    SCOPED(text_free) struct text rest = {0};
    struct stat info;
    struct stat found;
    TRY(text_add(&there, "%s", *path == '/' ? "/" : "."));
    REQUIRE(stat(there.data, &info) == 0, STATUS_DATA, "%s cannot be looked up: %s", path,
            strerror(errno));
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        const char *name = at;
        at += length + (at[length] == '/');
        if (length == 0 || (length == 1 && *name == '.')) {
            continue;
        }
        if (rest.length > 0) {
            TRY(folder_place_add(&rest, name, length));
            continue;
        }
        size_t before = there.length;
        TRY(text_add(&there, "/%.*s", (int)length, name));
        if (stat(there.data, &found) == 0) {
            info = found;
            continue;
        }
        REQUIRE(errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG,
                STATUS_DATA, "%s cannot be looked up: %s", path, strerror(errno));
        there.data[there.length = before] = '\0';
        TRY(folder_place_add(&rest, name, length));
    }
    out->device = (uint64_t)info.st_dev;
    out->inode = (uint64_t)info.st_ino;
    return memory_text(rest.data ? rest.data : "", &out->rest);
}

int folder_place_is_same(const struct folder_place *a, const struct folder_place *b)
{
    return a->device == b->device && a->inode == b->inode && strcmp(a->rest, b->rest) == 0;
}

void folder_place_free(struct folder_place *place)
{
    free(place->rest);
    *place = (struct folder_place){0};
}
