/* Private declarations of the files of a join, for product/join/ only. */
#ifndef VOLTMILL_PRODUCT_JOIN_JOIN_PARTS_H
#define VOLTMILL_PRODUCT_JOIN_JOIN_PARTS_H

#include "io/hdf5/h5_dataset.h"
#include "product/join/join.h"
#include "product/product.h"

enum join_along { JOIN_TIME, JOIN_FREQUENCY };

struct join_part {
    const char *path;
    struct product *product;
    hid_t file;
    double first;       /* seconds after the first part's first row; Hz of its first channel */
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
    uint64_t *from;     /* [parts] where it begins in the part's file; HADDR_UNDEF of weights: it
                           has none, and all are 1 */
    int is_rows;        /* the rows themselves */
    uint32_t missing;   /* value of missing numbers, repeated */
    double start, step; /* of a scale of times, whose values follow from them; step 0: */
};                      /* it is none */

struct join {
    const struct join_options *options;
    struct join_part *parts; /* in their order */
    uint32_t count;
    enum join_along along;
    uint64_t rows, channels;
    struct join_dataset *sets;
    size_t nsets;
    struct product_place place;
};

/* Makes the open file, except for the joined datasets (join_shape.c); `fd` below 0: only finds the
 * places in such a file at `path`. Fails with USAGE if parts differ that must be alike; with DATA,
 * NO_SPACE. */
status_t join_make(struct join *join, int fd, const char *path);

/* Attributes and small values of a join: compared, copied, put in anew (join_words.c). */

/* Lists the names of the objects that all parts have. Some parts in time may have no weights, which
 * are 1 then. Fails with USAGE if other objects are missing in a part, with DATA or DEVICE if names
 * are unreadable. */
status_t join_list_names(const struct join *join, struct h5_names *out);
/* Set *out to whether a part has such an object; which is the first that has. Fail with DATA,
 * DEVICE (memory). */
status_t join_has(const struct join *join, uint32_t i, const char *name, int *out);
status_t join_find(const struct join *join, const char *name, uint32_t *out);

/* Sets *is_alike to whether a dataset holds the same in two files; *difference says in words what
 * differs. Fails with DATA. */
status_t join_compare_values(hid_t a, hid_t b, const char *name, int *is_alike,
                             char difference[256]);
/* Checks that a dataset is the same in all parts. Fails with USAGE. Also fails with DATA. */
status_t join_check_values(const struct join *join, const char *name);
status_t join_copy_values(const struct h5_dataset *data, const char *path, const char *name,
                          hid_t out);

/* Copies the attributes of an object of the first part that has it, except those of scales' links,
 * after checking that the other parts have the same. Attributes of each part's own times, channels
 * and provenance may differ. Fails with USAGE. Also fails with DATA. */
status_t join_copy_attributes(const struct join *join, const char *name, hid_t from, hid_t to);

/* Provenance of the parts as the joined product records it. Start from {0}. Fails with DEVICE
 * (memory). */
struct join_origin {
    struct text job, inputs, assumed, arithmetic;
};
status_t join_list_parts(const struct join *join, struct join_origin *out);
void join_origin_free(struct join_origin *origin);

/* Writes the attributes of the whole: the list of its parts, and the number of channels. Fails with
 * USAGE, DATA, NO_SPACE, DEVICE (memory). */
status_t join_put_words(const struct join *join, hid_t out);

#endif
