/* Which file may be written, by whom, and how that is held:
 *
 *   identity   which file it is, and whether it is still what it was
 *   owner      whose it is, and who else may write it
 *   claim      a lock, held while any rank of a run may write the file
 *   guard      files that are read, so that none of them is written */
#ifndef VOLTMILL_IO_FILE_RIGHTS_H
#define VOLTMILL_IO_FILE_RIGHTS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* ---- identity ---- */

struct identity {
    uint64_t device, inode; /* one file, whatever path or link leads to it */
    uint64_t bytes;
    int64_t changed_s; /* when its contents were last changed, seconds since 1970 */
    uint32_t changed_ns;
};

/* The identity of the file that `path` leads to, through links, or that is open. Fail with DATA: it
 * is not there, or is no ordinary file (a device, a pipe or a folder is never opened to find out).
 */
status_t identity_of_path(const char *path, struct identity *out);
status_t identity_of_open(int fd, const char *path, struct identity *out);

/* Whether both are one file, on one machine. */
int identity_is_same_file(const struct identity *a, const struct identity *b);

/* Fail with DATA, naming the file and what differs: unless it is unchanged; unless it is the same
 * file and as long, whenever it was changed last. The number of its device is not looked at:
 * machines that mount one file system may give it different ones. */
status_t identity_check(const char *path, const struct identity *before,
                        const struct identity *now);
status_t identity_check_same(const char *path, const struct identity *before,
                             const struct identity *now);

/* ---- owners ---- */

/* Room for the words that say why not: "can be written by others (mode 0777): chmod go-w mends it".
 */
enum { OWNER_WORDS = 128 };

/* Whether an ordinary file (or a link, device: never) is the effective user's, and no other user
 * may write it; and the same of an open file or folder. */
int owner_is_entry_mine(const struct stat *info, char why[OWNER_WORDS]);
int owner_is_mine(int fd, char why[OWNER_WORDS]);

/* Whether the way to a file is safe: no folder above it in which anybody may put another one in its
 * place, and its name no link of somebody else. */
int owner_is_path_mine(const char *path, char why[OWNER_WORDS]);

/* Whether a file that the user names, there or not, may be read and replaced: not through a link of
 * somebody else, not if anybody may write it, and not if it is somebody else's in a folder in which
 * anybody may make files. Groups may share files. */
int owner_may_be_used(const char *path, char why[OWNER_WORDS]);

/* ---- claims ---- */

enum { CLAIM_HOST = 256 };

/* Whether files that another user left are taken like one's own (--adopt); 0 unless told. Their
 * contents and what becomes of them later are that user's choice. */
void claim_adopt(int does);
/* Check the owner of a file by its name or by its descriptor. Links are not followed; a missing
 * file passes. Fail with USAGE, naming the owner, if the file is another user's and is not adopted;
 * with DATA if its owner cannot be read. */
status_t claim_check_owner(const char *part);
status_t claim_check_owner_open(int fd, const char *part);

/* Opens the file at `part`, made when it is not there (its folder is), and locks it against every
 * other run until *fd is closed; *bytes is what it holds. Fails with USAGE: another run holds it
 * (still, after three seconds), it is another user's, or it is no ordinary file. */
status_t claim_take(const char *part, int *fd, uint64_t *bytes);
/* Shares a lock: others may have one of the same kind, but claim_take() is refused as long as one
 * is left. So a file is safe until the last rank that writes it is gone. Fails with USAGE. */
status_t claim_share(int fd, const char *part);

/* Which file was taken, for other ranks. Bytes may be sent as they are. Fails with DATA. */
struct claim_mark {
    struct identity identity;
    char host[CLAIM_HOST]; /* of the process that took it */
};
status_t claim_mark_of(int fd, const char *part, struct claim_mark *out);
/* Opens it for reading and writing by its name. Fails with DATA if the name leads to another file:
 * links are not followed, and inode numbers are compared (on the machine of the mark also the
 * device: others may number it differently). */
status_t claim_open(const char *part, const struct claim_mark *mark, int *fd);
/* Whether somebody holds a lock of either kind; -1: cannot be told. */
int claim_is_held(const char *part);

/* Takes the file at `part` for this run: creates it and its folder (*made, for folder_unmake()), or
 * takes over what a run that died left, with a warning. Left by a run is what has a mark
 * (io/mark.h), what is_ours() recognises, or an empty file; anything else stays unless `force`.
 * Locks it. Fails with USAGE, NO_SPACE. */
status_t claim_part(const char *part, int force, int (*is_ours)(const char *path), int *fd,
                    char **made);

/* Warns that the file at `part` is written anew, which a run left or (is_ours 0) another program.
 */
void claim_warn(const char *part, int is_ours);

/* Removes the file that is open as `fd` (below 0: none), unless its name is by now another's. What
 * cannot be looked up or removed stays, with a warning. */
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

/* Adds a file; `what` it is must outlive the guard. One that is not there, or no ordinary file, is
 * skipped: whoever reads it says so. Fails with DEVICE (memory). */
status_t guard_add(struct guard *guard, const char *what, const char *path);

/* Fails with USAGE, naming both, when writing `path` would write one of the files. `what` it is:
 * "product". */
status_t guard_check(const struct guard *guard, const char *what, const char *path);

/* The same of `path` and the name under which it is written until it is whole (io/file.h). */
status_t guard_check_part(const struct guard *guard, const char *what, const char *path);

void guard_free(struct guard *guard);

#endif
