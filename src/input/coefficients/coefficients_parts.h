/* The kinds of files of coefficients: for coefficients.c. */
#ifndef VOLTMILL_ARCHIVE_COEFFICIENTS_COEFFICIENTS_PARTS_H
#define VOLTMILL_ARCHIVE_COEFFICIENTS_COEFFICIENTS_PARTS_H

#include "base/status.h"

#include <stdint.h>

struct coefficients {
    double *values; /* [count]: one of each coefficient, or re and im in turns; free() */
    uint64_t count; /* of numbers */
    int is_complex;
};

/* Start from {0}; what *out holds is the caller's to free, also when they fail. Nobody has looked
 * at the values yet. Fail with DATA, DEVICE. */
status_t coefficients_read_text(const char *path, struct coefficients *out);
/* `member`: a name in the file, or NULL. */
status_t coefficients_read_hdf5(const char *path, const char *member, struct coefficients *out);

#endif
