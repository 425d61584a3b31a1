/* What products in formats other than HDF5 say of where they come from: a word in their header, by
 * which a run that is repeated knows its own. */
#ifndef VOLTMILL_PRODUCT_STAMP_H
#define VOLTMILL_PRODUCT_STAMP_H

#include "base/status.h"
#include "input/fbh5/fbh5.h"

#include <stddef.h>
#include <stdint.h>

/* Letters of the word, with the '\0'. */
enum { STAMP_WORD = 64 };

struct stamp {
    uint64_t job, inputs; /* digests of the two texts that a product in HDF5 has */
    uint64_t rows;
};

struct stamp stamp_of(const char *job, const char *inputs, uint64_t rows);

/* "voltmill:0123456789ab:cdef01234567:1250" */
void stamp_write(const struct stamp *stamp, char out[STAMP_WORD]);

/* Finds the word near the begin of a file. *found: it is there. Fails with DATA. */
status_t stamp_read(const char *path, struct stamp *out, int *found);

/* Whether a file that can be read has one. */
int stamp_is_in(const char *path);

/* Letters of `text` before such a word at its end, and the blank before that; all when it has
 * none. */
size_t stamp_letters_before(const char *text);

/* Filterbanks that are no HDF5: what they say of themselves, and of the job that made them. */

struct stamped {
    struct fbh5 *fbh5; /* NULL: the file is something else */
    const char *what;  /* "a SIGPROC filterbank" */
    int has_stamp;     /* a job of voltmill made it: */
    struct stamp stamp;
};

/* stamped_end() in any case. Fails with DATA: what says that it is such a file is none that can be
 * read. */
status_t stamped_open(const char *path, struct stamped *out);
void stamped_end(struct stamped *stamped);

/* Whether all spectra are there that its job has made; without a stamp this is unknown. */
int stamped_is_whole(const struct stamped *stamped);

/* For who wants a product in HDF5: fails with USAGE where the file is such a filterbank, DATA where
 * it lacks spectra, and says what it is and what can be known of it. */
status_t stamped_refuse(const char *path);

#endif
