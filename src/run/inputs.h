/* The files that a product is made of: every one that leads to a sample or a coefficient of it. */
#ifndef VOLTMILL_RUN_INPUTS_H
#define VOLTMILL_RUN_INPUTS_H

#include "archive/archive.h"
#include "archive/fbh5.h"
#include "plan/job.h"

struct input {
    char *path;
    int is_small; /* a window: all of it counts */
};

/* Starts from {0}; each path once, in a stated order. */
struct inputs {
    struct input *files;
    size_t count, room;
};

/* Of a filter bank, as rank 0 knows the archive: its files, all that they lead to, the window. */
status_t inputs_of_bank(const struct job *job, const struct archive *archive, struct inputs *out);
/* Of a dedispersion: the filterbank, and with `fbh5` (may be NULL) all that it leads to. */
status_t inputs_of_filterbank(const char *path, const struct fbh5 *fbh5, struct inputs *out);
void inputs_free(struct inputs *inputs);

#endif
