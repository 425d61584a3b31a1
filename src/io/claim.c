/* Locks of files that a run writes, and what is done with a file that a dead run left. */
#include "io/claim.h"

#include "io/file.h"
#include "io/folder.h"
#include "io/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int claim_adopts;

void claim_adopt(int does)
{
    claim_adopts = does;
}

static status_t claim_judge_owner(const struct stat *info, const char *part)
{
    status_t st = STATUS_OK;
    const struct passwd *owner = NULL;
    if (claim_adopts || info->st_uid == geteuid()) {
        goto out;
    }
    owner = getpwuid(info->st_uid);
    FAIL(STATUS_USAGE,
         "%s belongs to another user, %s (uid %lu): --adopt takes it over, with whatever is in it",
         part, owner ? owner->pw_name : "without a name", (unsigned long)info->st_uid);
out:
    return st;
}

status_t claim_check_owner(const char *part)
{
    status_t st = STATUS_OK;
    struct stat info;
    if (lstat(part, &info) == 0) {
        TRY(claim_judge_owner(&info, part));
    } else {
        REQUIRE(file_is_absent(errno), STATUS_DATA, "%s cannot be looked up: %s", part,
                strerror(errno));
    }
out:
    return st;
}

status_t claim_check_owner_open(int fd, const char *part)
{
    status_t st = STATUS_OK;
    struct stat info;
    REQUIRE(fstat(fd, &info) == 0, STATUS_DATA, "%s: %s", part, strerror(errno));
    TRY(claim_judge_owner(&info, part));
out:
    return st;
}

/* Takes a lock if nobody else has it. A run that was just killed needs a moment to be gone, and
 * whoever only looks (claim_is_held) has it for an instant: so try for three seconds. Returns 0
 * when the lock is somebody else's; file systems without locks have nobody else. */
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
    status_t st = STATUS_OK;
    memset(out, 0, sizeof *out);
    claim_host(out->host);
    TRY(identity_of_open(fd, part, &out->identity));
out:
    return st;
}

status_t claim_open(const char *part, const struct claim_mark *mark, int *out)
{
    status_t st = STATUS_OK;
    char host[CLAIM_HOST];
    struct identity identity;
    int fd = open(part, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    REQUIRE(fd >= 0, STATUS_DATA, "%s cannot be opened: %s", part,
            errno == ELOOP ? "a link has its name" : strerror(errno));
    TRY(identity_of_open(fd, part, &identity));
    claim_host(host);
    int is_same = memcmp(host, mark->host, sizeof host) == 0
                      ? identity_is_same_file(&identity, &mark->identity)
                      : identity.inode == mark->identity.inode;
    REQUIRE(is_same, STATUS_DATA, "%s was replaced by another file while it was written", part);
    *out = fd;
    fd = -1;
out:
    file_close(fd);
    return st;
}

/* Opens and locks the file; *fd < 0 when it was renamed between the two, so that the lock would be
 * on something else. */
static status_t claim_open_locked(const char *part, int *fd)
{
    status_t st = STATUS_OK;
    int is_made = 0;
    /* By its name first: what cannot be opened for writing is another user's most often. */
    TRY(claim_check_owner(part));
    TRY(file_open_own(part, fd, &is_made));
    /* Where a file system gives files to one user whoever makes them, a new one is still ours. */
    TRY(is_made ? STATUS_OK : claim_check_owner_open(*fd, part));
    REQUIRE(claim_lock_patiently(*fd, LOCK_EX), STATUS_USAGE, "%s is being written by another run",
            part);
    if (!file_is_on(*fd, part)) {
        close(*fd);
        *fd = -1;
    }
out:
    return st;
}

status_t claim_take(const char *part, int *out, uint64_t *bytes)
{
    status_t st = STATUS_OK;
    struct stat info;
    int fd = -1;
    for (int i = 0; i < 100 && fd < 0; i++) {
        TRY(claim_open_locked(part, &fd));
    }
    REQUIRE(fd >= 0, STATUS_USAGE, "%s is being written by other runs", part);
    REQUIRE(fstat(fd, &info) == 0, STATUS_USAGE, "%s: %s", part, strerror(errno));
    *bytes = (uint64_t)info.st_size;
    *out = fd;
    fd = -1;
out:
    file_close(fd);
    return st;
}

status_t claim_share(int fd, const char *part)
{
    status_t st = STATUS_OK;
    REQUIRE(claim_lock_patiently(fd, LOCK_SH), STATUS_USAGE, "%s is being written by another run",
            part);
out:
    return st;
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
    TRY(folder_make(part, &folders));
    TRY(claim_take(part, &fd, &bytes));
    if (bytes > 0) {
        int has_mark = mark_of(part) != MARK_NONE || is_ours(part);
        REQUIRE(force || has_mark, STATUS_USAGE,
                "%s exists and is not what a run leaves: --force replaces it", part);
        claim_warn(part, has_mark);
    }
    *out = fd;
    fd = -1;
    *made = folders;
    folders = NULL;
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
