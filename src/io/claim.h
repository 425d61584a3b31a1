/* Files that a run has to itself: locked while any of its ranks may write them. */
#ifndef VOLTMILL_IO_CLAIM_H
#define VOLTMILL_IO_CLAIM_H

#include "base/status.h"
#include "io/identity.h"

#include <stdint.h>

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

#endif
