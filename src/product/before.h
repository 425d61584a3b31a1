/* A file that a command of the same words and inputs has made before. It is complete, or lacks only
 * its name: the command was killed between its last two steps. Either is compared with what would
 * be written now. Of archives every rank compares the samples as it makes them, rank 0 all else;
 * other files are exported (product/export/export_file.h). */
#ifndef VOLTMILL_PRODUCT_BEFORE_H
#define VOLTMILL_PRODUCT_BEFORE_H

#include "product/voltages.h"

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

/* On rank 0: finds the state of the file. Unless it is complete, FILE.part is claimed, made with
 * its folder if need be (io/file_rights.h). Without a mark it must be the whole archive, unless
 * forced. Fails with USAGE, NO_SPACE. Also fails with DATA. */
status_t before_claim(struct before *before, int force);

/* Claims FILE.part alone: new, or what a command that ended early has left, by its mark or
 * is_ours() (NULL: none is). Without either it must be the whole file, unless forced. Fails with
 * USAGE, NO_SPACE. Also fails with DATA. */
status_t before_take(struct before *before, int force, int (*is_ours)(const char *path));

/* Compares bytes with those of the open file. Fails with USAGE, as before_differ() does: they are
 * not what is there; with DATA. */
status_t before_compare(const struct before *before, int fd, uint64_t offset, const char *data,
                        uint64_t bytes);
status_t before_differ(const struct before *before);

/* Returns the file that is written or read. */
const char *before_path(const struct before *before);
/* On rank 0: returns the descriptor through which to make the file: the claimed one, or one in
 * memory. Fails with DEVICE. */
status_t before_make(struct before *before, int *fd);
/* On rank 0: checks that the existing file is as long as the one that was made, or longer by the
 * datasets that come last. Fails with USAGE. Also fails with DATA. */
status_t before_check_size(const struct before *before, const struct voltages_place *place);

/* Writes some samples to a file opened for writing, or compares them. Fails with USAGE: they are
 * not what is there; with NO_SPACE, DATA. */
status_t before_put(const struct before *before, int fd, uint64_t offset, const void *data,
                    uint64_t bytes);

/* On rank 0: compares everything but the samples. Fails with USAGE, DATA. */
status_t before_check_rest(const struct before *before, int fd, const struct voltages_place *place);

/* On rank 0: removes the claimed file if it is incomplete, and folders that were made for it. */
void before_abandon(struct before *before);
/* Abandons it, and closes its descriptors. */
void before_end(struct before *before);

#endif
