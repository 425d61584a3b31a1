/* What compare.c and compare_values.c share. Private to product/. */
#ifndef VOLTMILL_PRODUCT_CHECK_COMPARE_PARTS_H
#define VOLTMILL_PRODUCT_CHECK_COMPARE_PARTS_H

#include "base/text.h"
#include "io/hdf5/h5.h"
#include "product/check/compare.h"

struct comparison {
    const char *path; /* of the product, for messages */
    const char *rows; /* its dataset of rows */
    int is_old, is_moved;
    enum compression compression; /* of the rows */
    double tstart_later; /* days by which its tstart is later than what is expected: it is the
                          * centre's in products before PRODUCT_VERSION_OF_EDGES */
    struct text first;   /* the first difference, in words */
    uint64_t count;      /* of differences */
};

/* The same object in both files. */
struct pair {
    hid_t found, expected;
    const char *name; /* "/data" */
};

#endif
