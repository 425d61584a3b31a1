/* A file being made, in the native layout (struct before) or exported: FILE.part, locked, marked as
 * not complete until it is; gone if it never becomes so. A command of the same words and inputs may
 * have made it before: it is complete, or lacks only its name, since the command was killed between
 * its last two steps. Then nothing is written: what is there is compared with what would be. Of
 * archives every rank compares the samples as it makes them, rank 0 all else. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_FILE_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_FILE_H

#include "io/file.h"
#include "io/file_rights.h"
#include "io/mark.h"
#include "product/export/export.h"
#include "product/voltages.h"

#include <stdatomic.h>

enum before_kind {
    BEFORE_NOTHING, /* it is to be written */
    BEFORE_COMPLETE,
    BEFORE_UNNAMED
};

struct before {
    enum before_kind kind;
    const char *file, *part; /* its name, and FILE.part */
    /* Rank 0; -1: none. */
    int expected_fd; /* of a file in memory that has all but the samples */
    int claim_fd;    /* of FILE.part, once it is claimed */
    int is_ours;     /* it is to be removed unless it becomes complete */
    char *made;      /* the first folder that was made for it */
};

/* On rank 0: finds the state of the file, in *before. `file` and `part` are set before, the
 * descriptors -1, all else 0. A file that exists counts as complete, unless forced. Else FILE.part
 * is claimed as by before_take(). The caller calls before_end() in any case. Fails with USAGE if it
 * cannot be made, is no ordinary file, is another user's, or is locked by another command; with
 * NO_SPACE, DATA, DEVICE (memory, descriptors). */
status_t before_claim(struct before *before, int force);

/* Locks FILE.part alone, in before->claim_fd: new, made with its folder if need be, or what a
 * command that ended early has left, by its mark or is_ours() (NULL: none is), which a warning
 * says. Without either it must be the whole file, unless forced: `kind` becomes BEFORE_UNNAMED, and
 * the caller compares. The command that had the lock may just have given the file its name: look
 * again. The caller calls before_end() in any case. Fails with USAGE if it cannot be made, is no
 * ordinary file, is another user's, or is locked by another command; with NO_SPACE, DATA, DEVICE
 * (memory, descriptors). */
status_t before_take(struct before *before, int force, int (*is_ours)(const char *path));
/* Gives up what was claimed, as before_end(), and sets `kind` to BEFORE_COMPLETE. On rank 0. */
void before_yield(struct before *before);

/* Fails with USAGE always: the message says that the existing file differs from what would be
 * written, and that --force replaces it. */
status_t before_differ(const struct before *before);

/* Returns the name of the file that is written or read: before->file if `kind` is BEFORE_COMPLETE,
 * else before->part. The name belongs to the caller of before_claim(). */
const char *before_path(const struct before *before);
/* On rank 0: sets *fd to the descriptor through which to make the file: the claimed one, or, if
 * there is a file to compare, that of a new file in memory. before_end() closes both. Fails with
 * DEVICE if there can be no file in memory; *fd is set to the claimed one then. */
status_t before_make(struct before *before, int *fd);
/* On rank 0: checks that the existing file, if there is one to compare, is an ordinary file that is
 * as long as the one that was made (place->file_bytes), or longer by the datasets that come last.
 * Fails with USAGE if it is not; with DATA if it cannot be looked up. */
status_t before_check_size(const struct before *before, const struct voltages_place *place);

/* Writes `bytes` bytes at an offset (bytes) of FILE.part, open as `fd`, unsynced, if `kind` is
 * BEFORE_NOTHING. Else compares them with those of the existing file, open as `fd`. Any rank and
 * thread. Fails with USAGE if they differ; with DATA if the file cannot be written or read, or ends
 * before; with NO_SPACE, DEVICE (memory). */
status_t before_put(const struct before *before, int fd, uint64_t offset, const void *data,
                    uint64_t bytes);

/* On rank 0: compares the existing file `fd`, but for the samples, with the file in memory, whose
 * mark becomes HDF5's signature; for kinds other than BEFORE_NOTHING. Fails with USAGE if they
 * differ; with DATA if one cannot be read, with NO_SPACE, DEVICE (memory). */
status_t before_check_rest(const struct before *before, int fd, const struct voltages_place *place);

/* On rank 0: removes FILE.part if this command began it and it is incomplete (is_ours), and folders
 * that were made for it and are empty. Repeated calls have no effect. Failures are ignored. */
void before_abandon(struct before *before);
/* On any rank: does before_abandon(), and closes the descriptors, which unlocks FILE.part; they
 * become -1. May be repeated. */
void before_end(struct before *before);

/* Description of the file to write. */
struct export_plan {
    const char *path;
    enum mark mark;          /* of the command that makes it */
    int force;               /* replaces what is there */
    uint64_t bytes;          /* of the whole file */
    const struct text *head; /* its first bytes, or all */
    /* Returns whether a file, or its FILE.part, may be replaced without force; NULL: none may. */
    int (*is_ours)(const char *path);
};

struct export_file {
    char *path, *part;
    struct before before; /* whether it is written, or compared; its claim_fd is open, of either */
    int force;
    int is_lent; /* another owner's: export_file_put() alone, which keeps no first block; */
    struct file_part memory; /* bytes of it are put there */
    enum mark mark;
    char first[MARK_BLOCK]; /* of what is written: comes last */
    _Atomic uint64_t bytes; /* that the file has so far: threads write pieces of their own */
};
#define EXPORT_FILE_NONE                                                                           \
    {                                                                                              \
        .before = {.expected_fd = -1, .claim_fd = -1 }                                             \
    }

/* Checks that the file may be made: neither it nor FILE.part is one of the files that `reads`
 * contains, and what has its name has the plan's length and head, or may be replaced (plan->force,
 * is_ours()). Makes nothing. Fails with USAGE if not, or if it cannot be made there; with DATA if
 * that is unknown; with DEVICE (memory). */
status_t export_file_check(const struct export_plan *plan, const struct guard *reads);
/* Begins FILE.part, made with its folder if need be, which gets a mark and the plan's head alone;
 * or opens the file that has the plan's length and head, to be compared. After export_file_check().
 * *out is for export_file_end(). Fails with USAGE (exists, locked, another user's, differs from the
 * plan's head, cannot be made), NO_SPACE, DATA, DEVICE (memory, descriptors); nothing is left then.
 */
status_t export_file_begin(const struct export_plan *plan, struct export_file *out);
/* Reserves disk space for the first `bytes` >= 1 bytes of FILE.part; does nothing for a file that
 * is compared. Fails with NO_SPACE, USAGE, DATA, DEVICE (memory), as file_reserve() (io/file.h). */
status_t export_file_reserve(const struct export_file *file, uint64_t bytes);
/* Writes `bytes` bytes at an offset (bytes), unsynced, or compares them with an existing file.
 * Several threads may write different bytes. The first MARK_BLOCK bytes are kept until
 * export_file_publish(). Fails with USAGE if they differ; with DATA if the file cannot be written
 * or read, or ends before; with NO_SPACE, DEVICE (memory). */
status_t export_file_put(struct export_file *file, uint64_t offset, const void *data,
                         uint64_t bytes);
/* Syncs the file, replaces its mark by its first bytes, and gives it its name; does nothing if it
 * was complete before. Fails with USAGE if a file came to have the name and may not be replaced;
 * with DATA, NO_SPACE, DEVICE (memory). A complete file that cannot be renamed stays as FILE.part.
 */
status_t export_file_publish(struct export_file *file);
/* Sets *is_before to whether the file was complete before, and appends a line to `said` if it was.
 * Fails with DEVICE (memory). */
status_t export_file_say_before(const struct export_file *file, struct text *said, int *is_before);
/* Checks, begins and publishes a file whose whole content is plan->head (plan->bytes long).
 * *is_before is set to whether it was complete before, so that nothing was written. Fails with
 * USAGE if it is one of those that `reads` contains, exists and differs (unless forced), is locked,
 * or cannot be made; with NO_SPACE, DATA, DEVICE (memory, descriptors). FILE.part is removed then,
 * unless it is complete. */
status_t export_file_write(const struct export_plan *plan, const struct guard *reads,
                           int *is_before);
/* Frees the file's memory and closes it. Removes FILE.part, and folders made for it, if this
 * command began it and it is not complete: what was only compared, or could not be renamed, stays.
 * Takes one of zeros, and leaves EXPORT_FILE_NONE. */
void export_file_end(struct export_file *file);

/* Makes the name of a file: a copy of `chosen`, or (NULL) the path of the product with `ending`
 * (such as ".fil") in the place of its own; for free(). Fails with DEVICE (memory); *out is
 * unchanged then. */
status_t export_name(const char *chosen, const char *product, const char *ending, char **out);

/* Returns the number of NaN among `count` values. */
uint64_t export_count_nans(const float *values, uint64_t count);

#endif
