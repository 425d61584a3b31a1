/* What `voltmill verify` reads of all rows: their time stamps, and the marks of those that could
 * not be made. */
#ifndef VOLTMILL_VERIFY_VERIFY_MARKS_H
#define VOLTMILL_VERIFY_VERIFY_MARKS_H

#include "dsp/axes.h"
#include "product/product.h"

/* Compares all `count` time stamps. Fails with DATA. */
status_t verify_times(int fd, const struct product *product, uint64_t count, struct time_axis axis);

/* A row that is marked in /provenance/holes, and the first number of it that was found NaN. */
struct verify_mark {
    uint64_t row, at;
};

/* Looks at every row that is marked: one that holds no NaN is none. Gives some of them, `most` at
 * most, spread over all; free() returns *out. Fails with DATA. */
status_t verify_marks(int fd, const struct product *product, uint64_t most,
                      struct verify_mark **out, uint64_t *count);

#endif
