/* The files that a product is made of: every one that leads to a sample or a coefficient of it. */
#ifndef VOLTMILL_INPUT_INPUTS_H
#define VOLTMILL_INPUT_INPUTS_H

#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "io/file_rights.h"
#include "job/job.h"

struct input {
    char *path;
    const char *small; /* "the file of the window", of coefficients: all of it counts; else NULL */
    uint32_t products; /* bit i: product i of the job is made of it */
};

/* Starts from {0}; inputs_free() in any case, which leaves {0}. Each path once, where it was first
 * listed. */
struct inputs {
    struct input *files;
    size_t count;
};

/* Lists the inputs of all products of the job's filter banks, as rank 0 knows the archive: its
 * files, all that they lead to, and every file that the job names (windows, coefficients, sums'
 * weights, gains, masks, tables of the array). Opens none. *out is {0} before; inputs_free() in any
 * case. Fails with DEVICE (memory). */
status_t inputs_of_bank(const struct job *job, const struct archive *archive, struct inputs *out);
/* Selects the inputs of product i, from 0, of the job, in their order, as copies. *out is {0}
 * before; inputs_free() in any case. Fails with DEVICE (memory). */
status_t inputs_of_product(const struct inputs *inputs, uint32_t i, struct inputs *out);
/* Lists the inputs of a dedispersion: the filterbank at `path`, and with `fbh5` (may be NULL) all
 * that it leads to. *out is {0} before; inputs_free() in any case. Fails with DEVICE (memory). */
status_t inputs_of_filterbank(const char *path, const struct fbh5 *fbh5, struct inputs *out);
/* Appends a text as long as inputs_contents() makes, without reading the files; for a missing file,
 * one of its maximum length. Fails with DEVICE (memory): some may be appended then. */
status_t inputs_contents_room(const struct inputs *inputs, struct text *out);
/* Frees the list and its paths, and leaves {0}. */
void inputs_free(struct inputs *inputs);

/* Appends the inputs by their contents, the same for every copy: "a.h5 (1048576 bytes), sampled
 * CRC-32 1f2e3d4c", a line each, for products; no line end after the last. Files are sampled: 3 MiB
 * of each, or, if there are many, their share of 64 MiB, but at least 12 KiB. Shorter files, and
 * all that have a `small`, are read whole. Fails with DATA: one is missing, unreadable or no
 * ordinary file; with DEVICE (memory, descriptors); some lines may be appended then. */
status_t inputs_contents(const struct inputs *inputs, struct text *out);

/* Finds the first file that was changed after the file `made` was, by their times, and that
 * inputs_contents() only samples. *out is its path, inside `inputs`; NULL: none. Fails with DATA:
 * one is missing, cannot be looked up, or is no ordinary file; *out is unchanged then. */
status_t inputs_later(const struct inputs *inputs, const struct identity *made, const char **out);

#endif
