/* Filterbanks that are no HDF5: what they say of themselves, and of the job that made them. */
#ifndef VOLTMILL_PRODUCT_STAMP_STAMPED_H
#define VOLTMILL_PRODUCT_STAMP_STAMPED_H

#include "input/fbh5/fbh5.h"
#include "product/stamp.h"

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

/* Whether all spectra are there that its job has made; without a stamp nobody knows. */
int stamped_is_whole(const struct stamped *stamped);

/* For who wants a product in HDF5: fails with USAGE where the file is such a filterbank, DATA where
 * it lacks spectra, and says what it is and what can be known of it. */
status_t stamped_refuse(const char *path);

#endif
