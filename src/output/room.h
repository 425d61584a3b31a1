/* Room that the products of a job need, by file systems: what `plan` tells, and what `run` asks for
 * before the work. */
#ifndef VOLTMILL_OUTPUT_ROOM_H
#define VOLTMILL_OUTPUT_ROOM_H

#include "output/output_spec.h"

enum { ROOM_MOST_FILES = 64 };
struct room {
    struct room_need {
        const char *path;
        uint64_t bytes; /* of the whole file, less what is there of it */
        uint64_t device;
    } needs[ROOM_MOST_FILES];
    uint32_t count;
};

/* How long the file of item i will be: all of it, rows, axes, filter, CRCs and words. The spec is
 * planned. Fails with DATA. */
status_t room_measure(const struct output_spec *spec, uint32_t i, uint64_t *bytes);

/* A file of so many bytes will be written at `path`, which must outlive the room; what an earlier
 * run has taken for it is there already. Fails with USAGE. */
status_t room_add(struct room *room, const char *path, uint64_t bytes);
/* The same of one whose rows will be compressed: for a while both files are there. */
status_t room_add_packed(struct room *room, const char *path, uint64_t bytes);

/* Sums up all that goes to the file system of need i: *is_first if no need before it does. Fails
 * with USAGE. */
status_t room_sum(const struct room *room, uint32_t i, uint64_t *bytes, uint64_t *left,
                  int *is_first);

/* Fails with NO_SPACE where there is too little: bytes needed and free. */
status_t room_check(const struct room *room);

#endif
