/* A file being made, in the native layout (struct before) or exported: FILE.part, locked, marked as
 * not complete until it is; gone if it never becomes so. A command of the same words and inputs may
 * have made it before: it is complete, or lacks only its name, since the command was killed between
 * its last two steps. Then nothing is written: what is there is compared with what would be. Of
 * archives every rank compares the samples as it makes them, rank 0 all else. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_FILE_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_FILE_H

#include "base/text.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/mark.h"
#include "product/export/export.h"
#include "product/voltages.h"

#include <stdatomic.h>
#include <stdint.h>

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

/* On rank 0: finds the state of the file. `file` and `part` are set before, the descriptors -1, all
 * else 0. Unless it is complete, FILE.part is claimed, made with its folder if need be
 * (io/file_rights.h). Without a mark it must be the whole archive, unless forced. Fails with USAGE,
 * NO_SPACE, DATA, DEVICE. */
status_t before_claim(struct before *before, int force);

/* Claims FILE.part alone: new, or what a command that ended early has left, by its mark or
 * is_ours() (NULL: none is). Without either it must be the whole file, unless forced: `kind`
 * becomes BEFORE_UNNAMED, and the caller compares. The command that had the lock may just have
 * given the file its name: look again. Fails with USAGE, NO_SPACE, DATA, DEVICE. */
status_t before_take(struct before *before, int force, int (*is_ours)(const char *path));
/* Gives up what was claimed: the file is complete. */
void before_yield(struct before *before);

/* Fails with USAGE always: the existing file differs from what would be written. */
status_t before_differ(const struct before *before);

/* Returns the file that is written or read. */
const char *before_path(const struct before *before);
/* On rank 0: sets *fd to the descriptor through which to make the file: the claimed one, or, if
 * there is a file to compare, that of a file in memory. before_end() closes both. Fails with
 * DEVICE. */
status_t before_make(struct before *before, int *fd);
/* On rank 0: checks that the existing file is as long as the one that was made, or longer by the
 * datasets that come last. Fails with USAGE, DATA. */
status_t before_check_size(const struct before *before, const struct voltages_place *place);

/* Writes samples, or compares them with an existing file. Fails with USAGE if they differ; with
 * NO_SPACE, DATA, DEVICE (memory). */
status_t before_put(const struct before *before, int fd, uint64_t offset, const void *data,
                    uint64_t bytes);

/* On rank 0: compares everything but the samples with the file in memory; for kinds other than
 * BEFORE_NOTHING. Fails with USAGE, DATA, NO_SPACE, DEVICE (memory). */
status_t before_check_rest(const struct before *before, int fd, const struct voltages_place *place);

/* On rank 0: removes the claimed file if it is incomplete, and folders that were made for it. */
void before_abandon(struct before *before);
/* Does before_abandon(), and closes the descriptors. Call it once. */
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

/* Checks that the file may be made: not over one of the files that `reads` contains, nor over one
 * that is not as the plan says, unless forced. Fails with USAGE, DATA, DEVICE (memory). */
status_t export_file_check(const struct export_plan *plan, const struct guard *reads);
/* Begins path.part, which contains the plan's head alone, after export_file_check(). Fails with
 * USAGE (exists, locked, another user's, differs from the plan's head), NO_SPACE, DATA; with
 * DEVICE. */
status_t export_file_begin(const struct export_plan *plan, struct export_file *out);
/* Reserves disk space for `bytes` bytes. Fails with NO_SPACE, USAGE, DATA, DEVICE (memory). */
status_t export_file_reserve(const struct export_file *file, uint64_t bytes);
/* Writes bytes, or compares them with an existing file. Fails with USAGE if they differ; with
 * NO_SPACE, DATA, DEVICE (memory). */
status_t export_file_put(struct export_file *file, uint64_t offset, const void *data,
                         uint64_t bytes);
/* Syncs the file, removes its mark and gives it its name; does nothing if it was complete before.
 * Fails with USAGE, DATA, NO_SPACE, DEVICE (memory). */
status_t export_file_publish(struct export_file *file);
/* Sets *is_before to whether the file was complete before, and appends a line that says so. Fails
 * with DEVICE (memory). */
status_t export_file_say_before(const struct export_file *file, struct text *said, int *is_before);
/* Checks, begins and publishes a file whose whole content is plan->head (plan->bytes long).
 * *is_before: it was complete before. Fails as export_file_check(), export_file_begin() and
 * export_file_publish() do. */
status_t export_file_write(const struct export_plan *plan, const struct guard *reads,
                           int *is_before);
/* Frees the file's memory and closes it. Removes FILE.part, and folders made for it, if this
 * command began it and it is not complete: what was only compared, or could not be renamed, stays.
 * Takes one of zeros, and leaves EXPORT_FILE_NONE. */
void export_file_end(struct export_file *file);

/* Returns the chosen name, or (NULL) that of the product with another ending; for free(). Fails
 * with DEVICE (memory). */
status_t export_name(const char *chosen, const char *product, const char *ending, char **out);

/* Returns the number of NaN among `count` values. */
uint64_t export_count_nans(const float *values, uint64_t count);

#endif
