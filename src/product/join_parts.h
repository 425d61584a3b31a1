/* Private declarations of the files of a join, private to product/. */
#ifndef VOLTMILL_PRODUCT_JOIN_PARTS_H
#define VOLTMILL_PRODUCT_JOIN_PARTS_H

#include "product/product.h"

enum join_along { JOIN_TIME, JOIN_FREQUENCY };

struct join_part {
    /* First: for compare_f64(). */
    double first; /* seconds after the first part's first row; Hz of its first channel */
    const char *path;
    struct product *product;
    hid_t file;
    uint64_t first_row; /* in the result */
};

/* A dataset that is put together; all others are alike in all parts. */
struct join_dataset {
    char *name;
    int rank, at;               /* at: the axis along which */
    hsize_t dims[H5S_MAX_RANK]; /* of the result */
    uint64_t element_bytes;
    uint64_t offset;         /* in the result's file */
    uint64_t *first, *count; /* [parts] along that axis, of the result; how many */
    uint64_t *from;     /* [parts] where it begins in the part's file; HADDR_UNDEF: rows that are
                           compressed, or weights that it does not have, which are 1 */
    int is_rows;        /* the rows themselves */
    uint32_t missing;   /* value of missing numbers, repeated */
    uint64_t each;      /* channels of a coarse one, and how far, in Hz, its frequency is above */
    double centre;      /* that of the first: of parts without weights; each 0: all have them */
    double start, step; /* of a scale of times, whose values follow from them; step 0: */
};                      /* it is none */

struct join {
    const char *path; /* of the result */
    int force;
    struct join_part *parts; /* in their order */
    uint32_t count;
    enum join_along along;
    uint64_t rows, channels;
    struct join_dataset *sets;
    size_t nsets;
    struct product_place place;
    /* Provenance of the parts as the joined product records it. */
    struct {
        struct text job, inputs, assumed, arithmetic;
    } origin;
};

/* Makes the open file, whose name is `path`, except for the values of the joined datasets
 * (join_shape.c); `fd` below 0: only finds the places in such a file at `path`. Sets join->sets,
 * also after a failure, and join->place. Fails with USAGE if parts differ that must be alike; with
 * DATA, NO_SPACE, DEVICE (memory, descriptors, no child), STOPPED. */
status_t join_make(struct join *join, int fd, const char *path);

#endif
