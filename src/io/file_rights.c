/* Rights to files: identities by what the file system says, owners, locks, and lists of files that
 * are read. */
#include "io/file_rights.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* ---- identity ---- */

/* The identity from the result of a stat() that returned `failed`. */
static status_t identity_from(int failed, const struct stat *info, const char *path,
                              struct identity *out)
{
    REQUIRE(!failed, STATUS_DATA, "%s: %s", path, strerror(errno));
    REQUIRE(S_ISREG(info->st_mode), STATUS_DATA, "%s is not an ordinary file", path);
    *out = (struct identity){.device = (uint64_t)info->st_dev,
                             .inode = (uint64_t)info->st_ino,
                             .bytes = (uint64_t)info->st_size,
                             .changed_s = (int64_t)info->st_mtim.tv_sec,
                             .changed_ns = (uint32_t)info->st_mtim.tv_nsec};
    return STATUS_OK;
}

status_t identity_of_path(const char *path, struct identity *out)
{
    struct stat info;
    int failed = stat(path, &info);
    return identity_from(failed, &info, path, out);
}

status_t identity_of_open(int fd, const char *path, struct identity *out)
{
    struct stat info;
    int failed = fstat(fd, &info);
    return identity_from(failed, &info, path, out);
}

int identity_is_same_file(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->inode == b->inode;
}

status_t identity_check_same(const char *path, const struct identity *before,
                             const struct identity *now)
{
    REQUIRE(before->inode == now->inode, STATUS_DATA,
            "%s was replaced by another file while this job ran", path);
    return REQUIRED(before->bytes == now->bytes, STATUS_DATA,
                    "%s changed while this job ran: it held %" PRIu64 " bytes, now %" PRIu64, path,
                    before->bytes, now->bytes);
}

status_t identity_check(const char *path, const struct identity *before, const struct identity *now)
{
    TRY(identity_check_same(path, before, now));
    return REQUIRED(before->changed_s == now->changed_s && before->changed_ns == now->changed_ns,
                    STATUS_DATA, "%s was written to while this job ran", path);
}

/* ---- owners ---- */

enum { OTHERS = S_IWGRP | S_IWOTH };

static int owner_is_alone_mine(const struct stat *info, char why[OWNER_WORDS])
{
    if (info->st_uid != geteuid()) {
        snprintf(why, OWNER_WORDS, "belongs to another user (%lu)", (unsigned long)info->st_uid);
        return 0;
    }
    if (info->st_mode & OTHERS) {
        snprintf(why, OWNER_WORDS, "can be written by others (mode %04o): chmod go-w mends it",
                 (unsigned)info->st_mode & 07777);
        return 0;
    }
    return 1;
}

int owner_is_entry_mine(const struct stat *info, char why[OWNER_WORDS])
{
    if (!S_ISREG(info->st_mode)) {
        snprintf(why, OWNER_WORDS, "is %s, no ordinary file",
                 S_ISLNK(info->st_mode) ? "a link" : "something else");
        return 0;
    }
    return owner_is_alone_mine(info, why);
}

int owner_is_mine(int fd, char why[OWNER_WORDS])
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        snprintf(why, OWNER_WORDS, "cannot be looked at: %s", strerror(errno));
        return 0;
    }
    return owner_is_alone_mine(&info, why);
}

static int owner_is_somebody_elses(const struct stat *info)
{
    return info->st_uid != geteuid() && info->st_uid != 0;
}

/* The folder of a file; for free(), or NULL. */
static char *owner_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

int owner_is_path_mine(const char *path, char why[OWNER_WORDS])
{
    struct stat info;
    int is_safe = 1;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && owner_is_somebody_elses(&info)) {
        snprintf(why, OWNER_WORDS, "is a link of another user (%lu)", (unsigned long)info.st_uid);
        return 0;
    }
    char *way = realpath(path, NULL);
    char *end = way ? strrchr(way, '/') : NULL;
    while (is_safe && end) {
        end[end == way] = '\0'; /* "/" stays */
        /* Unless anybody may replace what is in the folder. */
        is_safe = stat(way, &info) == 0 && (!(info.st_mode & S_IWOTH) || info.st_mode & S_ISVTX);
        end = end == way ? NULL : strrchr(way, '/');
    }
    if (!is_safe) {
        snprintf(why, OWNER_WORDS, "lies in a folder in which anybody may replace it (%.64s)", way);
    }
    free(way);
    return is_safe;
}

/* One name of those that lead to a file, link by link. */
int owner_may_be_used(const char *path, char why[OWNER_WORDS])
{
    struct stat info;
    struct stat above;
    char *folder = owner_folder_of(path);
    int is_public = folder && stat(folder, &above) == 0 && above.st_mode & S_IWOTH;
    free(folder);
    if (lstat(path, &info) != 0) {
        int reason = errno;
        snprintf(why, OWNER_WORDS, "cannot be looked up: %s", strerror(reason));
        return file_is_absent(reason);
    }
    if (S_ISLNK(info.st_mode)) {
        snprintf(why, OWNER_WORDS, "is a link of another user (%lu)", (unsigned long)info.st_uid);
        return !owner_is_somebody_elses(&info);
    }
    if (S_ISREG(info.st_mode) && info.st_mode & S_IWOTH) {
        snprintf(why, OWNER_WORDS, "can be written by anybody (mode %04o): chmod o-w mends it",
                 (unsigned)info.st_mode & 07777);
        return 0;
    }
    snprintf(why, OWNER_WORDS, "belongs to another user (%lu), in a folder for all",
             (unsigned long)info.st_uid);
    return !is_public || !owner_is_somebody_elses(&info);
}

/* ---- claims ---- */

static int claim_adopts;

void claim_adopt(int does)
{
    claim_adopts = does;
}

static status_t claim_judge_owner(const struct stat *info, const char *part)
{
    const struct passwd *owner = NULL;
    if (claim_adopts || info->st_uid == geteuid()) {
        return STATUS_OK;
    }
    owner = getpwuid(info->st_uid);
    return report_fail(
        STATUS_USAGE,
        "%s belongs to another user, %s (uid %lu): --adopt takes it over, with whatever is in it",
        part, owner ? owner->pw_name : "without a name", (unsigned long)info->st_uid);
    return STATUS_OK;
}

status_t claim_check_owner(const char *part)
{
    struct stat info;
    if (lstat(part, &info) == 0) {
        TRY(claim_judge_owner(&info, part));
    } else {
        REQUIRE(file_is_absent(errno), STATUS_DATA, "%s cannot be looked up: %s", part,
                strerror(errno));
    }
    return STATUS_OK;
}

status_t claim_check_owner_open(int fd, const char *part)
{
    struct stat info;
    REQUIRE(fstat(fd, &info) == 0, STATUS_DATA, "%s: %s", part, strerror(errno));
    return claim_judge_owner(&info, part);
}

/* Takes a lock if no other process has it. A run that was just killed needs a moment to end, and
 * claim_is_held() takes the lock for an instant, so this tries for three seconds. Returns 0 if
 * another process has the lock; file systems without locks have no other holder. */
static int claim_lock_patiently(int fd, int kind)
{
    enum { TIMES = 150, PAUSE_NS = 20000000 };
    for (int i = 0; i < TIMES; i++) {
        if (flock(fd, kind | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
            return 1;
        }
        struct timespec pause = {0, PAUSE_NS};
        nanosleep(&pause, NULL);
    }
    return 0;
}

static void claim_host(char host[CLAIM_HOST])
{
    memset(host, 0, CLAIM_HOST);
    (void)gethostname(host, CLAIM_HOST - 1);
}

status_t claim_mark_of(int fd, const char *part, struct claim_mark *out)
{
    memset(out, 0, sizeof *out);
    claim_host(out->host);
    return identity_of_open(fd, part, &out->identity);
}

status_t claim_open(const char *part, const struct claim_mark *mark, int *out)
{
    status_t st = STATUS_OK;
    char host[CLAIM_HOST];
    struct identity identity = {.bytes = 0};
    int fd = open(part, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    REQUIRE_OUT(fd >= 0, STATUS_DATA, "%s cannot be opened: %s", part,
                errno == ELOOP ? "a link has its name" : strerror(errno));
    TRY_OUT(identity_of_open(fd, part, &identity));
    claim_host(host);
    int is_same = memcmp(host, mark->host, sizeof host) == 0
                      ? identity_is_same_file(&identity, &mark->identity)
                      : identity.inode == mark->identity.inode;
    REQUIRE_OUT(is_same, STATUS_DATA, "%s was replaced by another file while it was written", part);
    *out = file_move(&fd);
out:
    file_close(fd);
    return st;
}

/* Opens and locks the file; *fd < 0 when it was renamed between the two, so that the lock would be
 * on something else. */
static status_t claim_open_locked(const char *part, int *fd)
{
    int is_made = 0;
    /* By its name first: what cannot be opened for writing is another user's most often. */
    TRY(claim_check_owner(part));
    TRY(file_open_own(part, fd, &is_made));
    /* Some file systems give all files to one user; a file that was just made is still ours. */
    TRY(is_made ? STATUS_OK : claim_check_owner_open(*fd, part));
    REQUIRE(claim_lock_patiently(*fd, LOCK_EX), STATUS_USAGE, "%s is being written by another run",
            part);
    if (!file_is_on(*fd, part)) {
        close(*fd);
        *fd = -1;
    }
    return STATUS_OK;
}

status_t claim_take(const char *part, int *out, uint64_t *bytes)
{
    status_t st = STATUS_OK;
    struct stat info;
    int fd = -1;
    for (int i = 0; i < 100 && fd < 0; i++) {
        TRY_OUT(claim_open_locked(part, &fd));
    }
    REQUIRE_OUT(fd >= 0, STATUS_USAGE, "%s is being written by other runs", part);
    REQUIRE_OUT(fstat(fd, &info) == 0, STATUS_USAGE, "%s: %s", part, strerror(errno));
    *bytes = (uint64_t)info.st_size;
    *out = file_move(&fd);
out:
    file_close(fd);
    return st;
}

status_t claim_share(int fd, const char *part)
{
    return REQUIRED(claim_lock_patiently(fd, LOCK_SH), STATUS_USAGE,
                    "%s is being written by another run", part);
}

int claim_is_held(const char *part)
{
    int fd = open(part, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    fd = fd >= 0 ? fd : open(part, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    int is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? 1 : -1;
    close(fd);
    return is_locked;
}

void claim_warn(const char *part, int is_ours)
{
    if (is_ours) {
        report_warn("%s was left by a run that did not end: it is written anew", part);
    } else {
        report_warn("%s was not left by a run of this program: --force replaces it", part);
    }
}

status_t claim_part(const char *part, int force, int (*is_ours)(const char *path), int *out,
                    char **made)
{
    status_t st = STATUS_OK;
    int fd = -1;
    uint64_t bytes = 0;
    char *folders = NULL;
    TRY_OUT(folder_make(part, &folders));
    TRY_OUT(claim_take(part, &fd, &bytes));
    if (bytes > 0) {
        int has_mark = mark_of(part) != MARK_NONE || is_ours(part);
        REQUIRE_OUT(force || has_mark, STATUS_USAGE,
                    "%s exists and is not what a run leaves: --force replaces it", part);
        claim_warn(part, has_mark);
    }
    *out = file_move(&fd);
    *made = memory_move(&folders);
out:
    file_close(fd);
    folder_unmake(part, folders);
    return st;
}

void claim_remove(int fd, const char *part)
{
    struct stat named;
    if (fd < 0) {
        return;
    }
    if (file_is_on(fd, part)) {
        file_remove(part);
    } else if (lstat(part, &named) != 0 && !file_is_absent(errno)) {
        report_warn("%s cannot be looked up and is left: %s", part, strerror(errno));
    }
}

/* ---- guards ---- */

status_t guard_add(struct guard *guard, const char *what, const char *path)
{
    struct guard_file file = {.what = what};
    struct stat info;
    int exists = stat(path, &info) == 0;
    REQUIRE(exists || file_is_absent(errno), STATUS_DATA, "%s cannot be looked up: %s", path,
            strerror(errno));
    if (!exists || !S_ISREG(info.st_mode)) {
        return STATUS_OK;
    }
    TRY(identity_of_path(path, &file.identity));
    TRY(memory_grow(guard->count, sizeof file, "files that are read", &guard->files));
    TRY(memory_text(path, &file.path));
    guard->files[guard->count++] = file;
    return STATUS_OK;
}

status_t guard_check(const struct guard *guard, const char *what, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return STATUS_OK; /* leads to no file */
    }
    for (size_t i = 0; i < guard->count; i++) {
        const struct guard_file *file = &guard->files[i];
        REQUIRE(file->identity.device != (uint64_t)info.st_dev ||
                    file->identity.inode != (uint64_t)info.st_ino,
                STATUS_USAGE, "%s %s is %s %s, which would be lost", what, path, file->what,
                file->path);
    }
    return STATUS_OK;
}

status_t guard_check_part(const struct guard *guard, const char *what, const char *path)
{
    status_t st = STATUS_OK;
    char *part = NULL;
    char *packed = NULL;
    TRY_OUT(file_part_name(path, &part));
    TRY_OUT(file_packed_name(path, &packed));
    TRY_OUT(guard_check(guard, what, path));
    TRY_OUT(guard_check(guard, what, part));
    TRY_OUT(guard_check(guard, what, packed));
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
