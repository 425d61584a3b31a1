/* Right to write a file:
 *
 *   identity   the file, and whether it is still the same
 *   claim      a lock, held while any rank of a run may write the file
 *   guard      files that are read, so that none of them is written */
#ifndef VOLTMILL_IO_FILE_RIGHTS_H
#define VOLTMILL_IO_FILE_RIGHTS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* ---- identity ---- */

struct identity {
    uint64_t device, inode; /* one file, whatever path or link leads to it */
    uint64_t bytes;
    int64_t changed_s; /* when its contents were last changed, seconds since 1970 */
    uint32_t changed_ns;
};

/* identity_of_path(): identifies the file that `path` leads to, through links. identity_of_open():
 * the file that is open as `fd`; `path` is for messages. Fail with DATA if it is missing, cannot be
 * looked up, or is no ordinary file (a device, a pipe or a folder is never opened for this); *out
 * is unchanged then. */
status_t identity_of_path(const char *path, struct identity *out);
status_t identity_of_open(int fd, const char *path, struct identity *out);

/* Returns 1 if both are one file (device and inode), looked up on one machine; else 0. */
int identity_is_same_file(const struct identity *a, const struct identity *b);

/* identity_check(): fails with DATA unless the file is unchanged: inode, size and time of the last
 * change. identity_check_same(): fails with DATA unless it is the same file of the same size,
 * whenever it was changed last. The messages name the file, `path`, and the difference. The device
 * number is ignored: machines that mount one file system may give it different ones. */
status_t identity_check(const char *path, const struct identity *before,
                        const struct identity *now);
status_t identity_check_same(const char *path, const struct identity *before,
                             const struct identity *now);

/* ---- claims ---- */

enum { CLAIM_HOST = 256 };

/* Sets whether files of other users are accepted like one's own (--adopt): 1, or 0, the default.
 * Their contents and later changes are the responsibility of the user who sets this. Main thread
 * only. */
void claim_adopt(int does);
/* claim_check_owner(): checks the owner of the file named `part`, of a link itself; a missing file
 * passes. claim_check_owner_open(): checks that of the file open as `fd`; `part` is for messages.
 * Fail with USAGE, naming the owner, if the file is another user's and is not adopted
 * (claim_adopt()); with DATA if its owner cannot be read. */
status_t claim_check_owner(const char *part);
status_t claim_check_owner_open(int fd, const char *part);

/* Opens the file at `part`, created if it is missing (its folder exists; mode 0666 without the
 * umask), and locks it against every other run. *fd, for reading and writing, has the lock until
 * file_close(). *bytes is its size; its bytes stay. A file system without locks locks nothing.
 * Fails with USAGE if another run has the lock for three seconds. Fails with USAGE also if the file
 * is another user's (claim_check_owner()), a link, no ordinary file or one with further names (hard
 * links), or may not be opened. Fails with NO_SPACE, DATA, DEVICE (memory, descriptors). *fd and
 * *bytes are unchanged after a failure; a file that was made may stay. */
status_t claim_take(const char *part, int *fd, uint64_t *bytes);
/* Makes a lock a shared one (`fd`: of claim_take() or claim_open(), `part` its name, for messages).
 * Others may have one of the same kind, but claim_take() is refused as long as one is left. So a
 * file is safe until the last rank that writes it is gone. file_close() ends the lock. Fails with
 * USAGE if another run has the lock for three seconds. A file system without locks locks nothing.
 */
status_t claim_share(int fd, const char *part);

/* Identity of a claimed file, for other ranks: plain bytes, which may be sent as they are. */
struct claim_mark {
    struct identity identity;
    char host[CLAIM_HOST]; /* of the process that took it */
};
/* Makes the mark of a claimed file, which is open as `fd` (`part` is its name, for messages). Fails
 * with DATA if it cannot be looked up, or is no ordinary file; *out is undefined then. */
status_t claim_mark_of(int fd, const char *part, struct claim_mark *out);
/* Opens a claimed file for reading and writing by its name, `part`, without a lock; *fd is for
 * file_close(). `mark`: of claim_mark_of(), perhaps of another machine. Fails with DATA if the name
 * is missing, cannot be opened, or leads to another file than the mark's: links are not followed,
 * and inode numbers are compared (on the machine of the mark also the device, which others may
 * number differently). Fails with DEVICE (descriptors, memory). *fd is unchanged after a failure.
 */
status_t claim_open(const char *part, const struct claim_mark *mark, int *fd);
/* Returns 1 if any process has a lock of either kind on the file at `part`, 0 if none has, or the
 * file is missing; -1: unknown. Takes the lock for an instant. */
int claim_is_held(const char *part);

/* Takes the file at `part` for this run: creates it and its folder, or takes over what is left of
 * it, with a warning. Locks it as claim_take() does: *fd, for file_close(), has the lock; its bytes
 * stay. *made is the folder's name, for folder_unmake(); NULL: the folder existed. A file is left
 * by a run that died if it is empty, has a mark (io/mark.h), or is_ours() returns 1; anything else
 * is refused unless `force`. Fails with USAGE (as claim_take(), or left by others), NO_SPACE, DATA,
 * DEVICE (memory, descriptors): removes the folder again then, and leaves *fd and *made unchanged.
 */
status_t claim_part(const char *part, int force, int (*is_ours)(const char *path), int *fd,
                    char **made);

/* Warns that the file at `part` is written anew: `is_ours` 1: an earlier run left it; 0: another
 * program did. */
void claim_warn(const char *part, int is_ours);

/* Removes the file that is open as `fd` (below 0: none), unless its name, `part`, is by now
 * another's; `fd` stays open. A file that cannot be looked up or removed stays, with a warning. */
void claim_remove(int fd, const char *part);

/* ---- guards: whatever path or link leads to a file ---- */

struct guard_file {
    char *path;
    const char *what; /* "the input file" */
    struct identity identity;
};

/* Starts from {0}. */
struct guard {
    struct guard_file *files;
    size_t count;
};

/* Adds a file to a guard; `path` is copied. `what` ("the input file") must outlive the guard. A
 * missing file, or one that is not ordinary, is skipped: its reader reports that. Fails with DATA
 * if it cannot be looked up; with DEVICE (memory), and adds none. */
status_t guard_add(struct guard *guard, const char *what, const char *path);

/* Checks that writing `path` would not write one of the guard's files, through links. Fails with
 * USAGE if it would, naming both. Passes also if nothing has the name, or it cannot be looked up.
 * `what` describes `path` in messages: "product". */
status_t guard_check(const struct guard *guard, const char *what, const char *path);

/* Checks `path`, and the names under which it and its compressed rows are written
 * (file_part_name(), file_packed_name()), as guard_check() does. Fails with USAGE if writing one of
 * them would write a file of the guard; `what` describes `path` in messages: "product". Fails with
 * DEVICE (memory). */
status_t guard_check_part(const struct guard *guard, const char *what, const char *path);

/* Frees the list of a guard, and leaves {0}. */
void guard_free(struct guard *guard);

#endif
