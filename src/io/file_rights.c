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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- identity ---- */

/* Makes the identity from a stat() that returned `failed`. */
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
}

status_t claim_check_owner(const char *part)
{
    struct stat info;
    if (lstat(part, &info) == 0) {
        TRY(claim_judge_owner(&info, part));
    } else {
        REQUIRE(reason_is_absent(errno), STATUS_DATA, "%s cannot be looked up: %s", part,
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
    char host[CLAIM_HOST];
    struct identity identity = {.bytes = 0};
    SCOPED(file_close_at) int fd = open(part, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    REQUIRE(fd >= 0, reason_is_out_of(errno) ? STATUS_DEVICE : STATUS_DATA,
            "%s cannot be opened: %s", part,
            errno == ELOOP ? "a link has its name" : strerror(errno));
    TRY(identity_of_open(fd, part, &identity));
    claim_host(host);
    int is_same = memcmp(host, mark->host, sizeof host) == 0
                      ? identity_is_same_file(&identity, &mark->identity)
                      : identity.inode == mark->identity.inode;
    REQUIRE(is_same, STATUS_DATA, "%s was replaced by another file while it was written", part);
    *out = file_move(&fd);
    return STATUS_OK;
}

/* Opens a file of our own for reading and writing, and creates it if it is missing. Links are not
 * followed, since they lead to another file, and a file with other names (hard links) is refused
 * for the same reason. *is_made: it was created. Fails with USAGE; as reason_make_status() says. */
static status_t claim_open_own(const char *path, int *out, int *is_made)
{
    enum { TIMES = 100 }; /* it may come and go meanwhile */
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct stat info;
    SCOPED(file_close_at) int fd = -1;
    int is_between = 1;
    *is_made = 0;
    for (int i = 0; i < TIMES && is_between; i++) {
        fd = open(path, flags | O_CREAT | O_EXCL, 0666);
        *is_made = fd >= 0;
        fd = fd < 0 && errno == EEXIST ? open(path, flags) : fd;
        is_between = fd < 0 && errno == ENOENT && !*is_made;
    }
    REQUIRE(fd >= 0, reason_make_status(errno), "%s cannot be made: %s", path,
            errno == ELOOP ? "a link has its name" : strerror(errno));
    REQUIRE(fstat(fd, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    REQUIRE(S_ISREG(info.st_mode), STATUS_USAGE, "%s is no ordinary file", path);
    REQUIRE(info.st_nlink <= 1, STATUS_USAGE,
            "%s is one of %llu names of a file (hard links): writing it would change the others; "
            "remove it",
            path, (unsigned long long)info.st_nlink);
    *out = file_move(&fd);
    return STATUS_OK;
}

/* Opens and locks the file; *fd < 0 when it was renamed between the two, so that the lock would be
 * on something else. */
static status_t claim_open_locked(const char *part, int *fd)
{
    int is_made = 0;
    /* By its name first: what cannot be opened for writing is another user's most often. */
    TRY(claim_check_owner(part));
    TRY(claim_open_own(part, fd, &is_made));
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
    struct stat info;
    SCOPED(file_close_at) int fd = -1;
    for (int i = 0; i < 100 && fd < 0; i++) {
        TRY(claim_open_locked(part, &fd));
    }
    REQUIRE(fd >= 0, STATUS_USAGE, "%s is being written by other runs", part);
    REQUIRE(fstat(fd, &info) == 0, STATUS_DATA, "%s: %s", part, strerror(errno));
    *bytes = (uint64_t)info.st_size;
    *out = file_move(&fd);
    return STATUS_OK;
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
                    "%s exists, but was not left by voltmill: --force replaces it", part);
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
    /* Twice: what fails once, as network file systems do, must leave nothing behind. */
    if (file_is_on(fd, part) || file_is_on(fd, part)) {
        file_remove(part);
    } else if (lstat(part, &named) != 0 && !reason_is_absent(errno)) {
        report_warn("%s cannot be looked up and is left: %s", part, strerror(errno));
    }
}

/* ---- guards ---- */

status_t guard_add(struct guard *guard, const char *what, const char *path)
{
    struct guard_file file = {.what = what};
    struct stat info;
    int exists = stat(path, &info) == 0;
    REQUIRE(exists || reason_is_absent(errno), STATUS_DATA, "%s cannot be looked up: %s", path,
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
    SCOPED(free_at) char *part = NULL;
    SCOPED(free_at) char *packed = NULL;
    TRY(file_part_name(path, &part));
    TRY(file_packed_name(path, &packed));
    TRY(guard_check(guard, what, path));
    TRY(guard_check(guard, what, part));
    return guard_check(guard, what, packed);
}

void guard_free(struct guard *guard)
{
    for (size_t i = 0; i < guard->count; i++) {
        free(guard->files[i].path);
    }
    free(guard->files);
    *guard = (struct guard){0};
}
