/* Checksums of a product's objects beside its rows: every dataset and every attribute has a CRC-32
 * of its own in /provenance/objects {name, crc32}, so that a changed frequency, header or count is
 * found, and by name. docs/products.md lists them. Links between objects count by their targets.
 * Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_CONTENTS_H
#define VOLTMILL_PRODUCT_CONTENTS_H

#include "base/text.h"
#include "io/hdf5/h5.h"
#include "product/product.h"

/* Reserves file space for the CRCs of all present objects: the last step of creating a product.
 * Fails with NO_SPACE or DATA. */
status_t contents_reserve(hid_t file);

/* Writes the CRCs, after everything else. Idempotent. A product without the table (of an older
 * version) is unchanged. Fails with NO_SPACE or DATA. */
status_t contents_put(int fd, const char *path, const struct product_place *place);

/* Result of contents_compare(). */
struct contents_found {
    uint64_t known;    /* objects that have a CRC; 0: the product holds none */
    uint64_t bad;      /* changed, gone, unreadable, or come since */
    struct text words; /* a line for each */
};

/* Compares what the file holds with its CRCs. text_free(&out->words) in any case. Fails with DATA
 * when there is no telling. */
status_t contents_compare(const char *path, const struct product_place *place,
                          struct contents_found *out);
extern const struct description contents_description;

#endif
