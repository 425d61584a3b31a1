/* Checksums of a product: CRC-32 of its objects, and of spans of its rows.
 *
 * Every dataset and every attribute beside the rows has a CRC-32 of its own in /provenance/objects
 * {name, crc32}, so that a changed frequency, header or count is found, and by name.
 * docs/products.md lists them. Links between objects count by their targets. Uses HDF5: main thread
 * only.
 *
 * A span is a range of rows, by whose CRC-32 damage is located to within about a megabyte. Its rows
 * follow from the product's size alone, never from chunks, which differ between runs. So the CRCs
 * are as reproducible as the rows. A writer of some rows of some streams adds them to the spans'
 * sums with spans_add(). Sums are linear (io/crc.h), so those of several writers are combined by
 * exclusive or, in any order. Functions of spans are pure. */
#ifndef VOLTMILL_PRODUCT_CONTENTS_H
#define VOLTMILL_PRODUCT_CONTENTS_H

#include "base/memory.h"
#include "product/product.h"

/* Reserves file space in an open new product for the CRCs of all objects that it has
 * (/provenance/objects, whose values are not written yet): the last step of creating a product.
 * Main thread only. Fails with NO_SPACE, DATA, DEVICE (memory). */
status_t contents_reserve(hid_t file);

/* Writes the CRCs of all objects through `fd`, after everything else. `path` must open the same
 * file, which may have a mark; `place` has the places of its datasets. Nothing is synced.
 * Idempotent. A product without the table (of an older version) is unchanged. Main thread only.
 * Fails with DATA if the file cannot be read or written, or has other objects than when it was
 * created; with NO_SPACE, DEVICE (memory, descriptors). */
status_t contents_put(int fd, const char *path, const struct product_place *place);

/* Result of contents_compare(). */
struct contents_found {
    uint64_t known;    /* objects that have a CRC; 0: the product holds none */
    uint64_t bad;      /* changed, gone, unreadable, or come since */
    struct text words; /* a line for each */
};
SCOPED_CALLS(contents_found_free, struct contents_found, text_free(&at->words))

/* Compares the objects of a complete file with their CRCs, in a child process (io/apart.h). A
 * damaged object is no failure. The caller calls text_free(&out->words) in any case. Fails with
 * DATA if the file or its table of CRCs cannot be read; with DEVICE (memory, descriptors, no
 * child), STOPPED. *out is zero then. */
status_t contents_compare(const char *path, const struct product_place *place,
                          struct contents_found *out);
extern const struct description contents_description;

/* Returns the number of rows of a span of a product of `rows` rows of `row_bytes` >= 1 bytes: as
 * many as fit 1 MiB, at least 1; more where a product had more than some 2^21 spans. */
uint64_t spans_rows(uint64_t rows, uint64_t row_bytes);

/* Returns how many spans `rows` rows from row first_row on, from 0, touch; 0 for no rows. Only for
 * products with CRCs: others (crc_offset 0) have no span_rows. */
uint64_t spans_touched(const struct product_place *place, uint64_t first_row, uint64_t rows);
/* Returns the number of spans of all rows of a product. Only for products with CRCs: others
 * (crc_offset 0) have no span_rows. */
static inline uint64_t spans_count(const struct product_place *place)
{
    return place->rows > 0 ? ceil_div_u64(place->rows, place->span_rows) : 0;
}

/* Adds bytes from .. from + piece - 1 of each of `rows` rows from row first_row on to the sums of
 * their spans. Several threads may add to the same sums. Every byte is added once. Cannot fail.
 *
 *   data   char [rows][piece]
 *   sums   uint32 [spans_touched()], 0 at first: of the span that contains first_row and those
 *          after it */
void spans_add(const struct product_place *place, uint64_t first_row, uint64_t rows, uint64_t from,
               uint64_t piece, const void *data, uint32_t *sums);

/* Returns the CRC-32 (that of zlib) of all bytes of span number `span`, from 0. `sum` is its sum
 * (spans_add()), to which every byte was added. */
uint32_t spans_crc(const struct product_place *place, uint64_t span, uint32_t sum);

#endif
