/* Table of the kinds of products. A kind is a row of PRODUCT_KINDS (base/terms.h: its name and
 * quantity) and a file of product/kind/ with its struct kind, called NAME_kind. Code that writes,
 * reads, verifies or shows products uses this table, and names no kind.
 *
 * Exporters go by what a file holds, not by kinds: they take the files of others, too. */
#ifndef VOLTMILL_PRODUCT_KIND_KINDS_H
#define VOLTMILL_PRODUCT_KIND_KINDS_H

#include "product/product.h"

struct kind {
    const char *rows; /* name of the dataset of rows */
    uint32_t bytes;   /* of a channel (of series: a time) of one stream in a row; 0: as
                         its type says */
    int is_archive;   /* the file is an archive in the native layout, whose root it has: a row is a
                         sample; there are neither time stamps nor marks of NaN rows */
    int least_dims, most_dims; /* of that dataset: the first counts rows, the last channels */

    /* Writes the whole content of a product into a new file, except the rows' values: axes, their
     * explanations, the dataset of rows and the datasets beside it. Fails with USAGE if it cannot
     * store such rows; as spec->visibilities->look(); with NO_SPACE, DATA, DEVICE (memory). */
    status_t (*describe)(hid_t file, const struct product_spec *spec,
                         const struct product_place *place);

    /* Reads what the kind states beside what all products do; `product` has the rest by then. Fails
     * with DATA, DEVICE (memory). */
    status_t (*inspect)(hid_t file, struct product *product);
};

#define KIND_DECLARE(id, name, quantity, is_filterbank) extern const struct kind name##_kind;
PRODUCT_KINDS(KIND_DECLARE)

/* Returns the functions of a kind, a static struct. */
const struct kind *kind_of(enum product_kind kind);

/* Returns the bytes of a row of the product as it is stored, uncompressed. */
uint64_t kind_row_bytes(const struct product_spec *spec);

/* Writes everything that a product states into a new HDF5 file, but values that come later. Sets
 * the members of *place that are known before the file is complete: rows, row_bytes, span_rows and
 * scale_rows; all others to 0. Main thread only. Fails as kind->describe(): with USAGE if the kind
 * cannot store such rows; with NO_SPACE, DATA, DEVICE (memory). */
status_t kind_describe(hid_t file, const struct product_spec *spec, struct product_place *place);
/* Finds the offset (bytes) of /frequency in an open file after kind_describe(), which reserves it
 * and does not write its values. *out is 0 if the product has none, or omits its values, and may be
 * 0 after a failure. product_put_frequencies() writes them. `path` is for messages. Main thread
 * only. Fails with DATA if it has no place, or cannot be opened; with DEVICE (memory). */
status_t kind_find_frequencies(hid_t file, const char *path, const struct product_spec *spec,
                               uint64_t *out);

#endif
