/* Parts that all kinds of products write into a new file. Private to product/. */
#ifndef VOLTMILL_PRODUCT_KIND_PARTS_H
#define VOLTMILL_PRODUCT_KIND_PARTS_H

#include "io/hdf5/h5.h"
#include "product/product.h"

/* Writes a contiguous dataset (h5_create_dataset()) with these values; NULL: they come later. Fails
 * with DATA, NO_SPACE. */
status_t parts_dataset(hid_t at, const char *name, hid_t stored, hid_t type, int rank,
                       const hsize_t *dims, const void *values, hid_t *out);

/* Write dimension scales; without values the dataset is only reserved. Fail with DATA, NO_SPACE. */
status_t parts_scale_f64(hid_t file, const char *name, const double *values, hsize_t count,
                         const char *units, const char *long_name);
status_t parts_scale_texts(hid_t file, const char *name, char *const *texts, hsize_t count,
                           const char *long_name);
/* Writes /frequency, Hz. Fails with DATA, NO_SPACE. */
status_t parts_scale_frequency(hid_t file, const double *values, hsize_t count);
/* parts_scale_time(): creates /time, whose values come with the rows: seconds since `start` (NULL:
 * unknown). parts_attach(): attaches a scale to a dimension of `data`. Fail with DATA, NO_SPACE. */
status_t parts_scale_time(hid_t file, uint64_t count, const struct utc *start,
                          const char *long_name);
status_t parts_attach(hid_t file, hid_t data, const char *scale, unsigned dim, const char *label);

/* Makes the names (or else numbers) of the selected indices of an axis; text_free_list() returns
 * them. Fails with DEVICE (memory). */
status_t parts_name_axis(const struct archive *archive, enum axis axis, char ***out);

/* Writes the attributes of the root that every product has. Fails with DATA, NO_SPACE. */
status_t parts_put_root(hid_t file, enum product_kind kind, const char *title,
                        const struct sky *sky);

/* Writes the root's attributes of voltages that were dedispersed coherently, and /delay_hz [count],
 * Hz. Fails with DATA, NO_SPACE. */
status_t parts_put_coherent(hid_t file, const struct archive *archive, const double *delay_hz,
                            uint64_t count);

/* Creates the group /provenance with the parts that all products have. Reserves space for counts of
 * the run, and for the marks of rows. Fail with DATA, NO_SPACE. */
status_t parts_begin_provenance(hid_t file, const struct product_spec *spec, hid_t *out);
status_t parts_reserve_counts(hid_t group, const struct product_place *place);
status_t parts_reserve_count(hid_t group, const char *name, const char *long_name);
status_t parts_reserve_holes(hid_t group, const struct product_place *place);

/* Attributes that a product must have. Fail with DATA. */
status_t parts_need_f64(hid_t object, const char *where, const char *name, double *value);
status_t parts_need_u64(hid_t object, const char *where, const char *name, uint64_t *value);

#endif
