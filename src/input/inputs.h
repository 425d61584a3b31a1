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

/* Starts from {0}; each path once, in a stated order. */
struct inputs {
    struct input *files;
    size_t count;
};

/* Of the job's filter banks, as rank 0 knows the archive: its files, all that they lead to,
 * windows, the coefficients of filters. */
status_t inputs_of_bank(const struct job *job, const struct archive *archive, struct inputs *out);
/* Those of them that product i is made of; inputs_free() returns them. */
status_t inputs_of_product(const struct inputs *inputs, uint32_t i, struct inputs *out);
/* Of a dedispersion: the filterbank, and with `fbh5` (may be NULL) all that it leads to. */
status_t inputs_of_filterbank(const char *path, const struct fbh5 *fbh5, struct inputs *out);
/* A text as long as inputs_contents() gives, without a look into the files: of one that is not
 * there yet as long as it may become. Fails with DEVICE (memory). */
status_t inputs_contents_room(const struct inputs *inputs, struct text *out);
void inputs_free(struct inputs *inputs);

/* What they are, a line each, for origin_compare(). By when they were changed, which is exact, but
 * of this machine: "/obs/a.h5: 1048576 bytes, changed 2014-06-29T01:39:20.123456789\n", for
 * journals. Fails with DATA. */
status_t inputs_times(const struct inputs *inputs, struct text *out);

/* By what is in them, the same for every copy: "a.h5 (1048576 bytes), sampled CRC-32 1f2e3d4c", for
 * products; no end of a line behind the last. Of large files some places are looked at
 * (io/crc.h): 3 MiB, or, when there are many, their part of 64 MiB, but at least 12 KiB; of
 * small ones all. Fails with DATA. */
status_t inputs_contents(const struct inputs *inputs, struct text *out);

/* The first file that inputs_contents() knows by some places alone and that was written to after
 * `made` was, by the times of both; NULL: none. Fails with DATA. */
status_t inputs_later(const struct inputs *inputs, const struct identity *made, const char **out);

#endif
