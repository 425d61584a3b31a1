/* Parts that the kinds of products are made of. Private to product/. */
#ifndef VOLTMILL_PRODUCT_KIND_KINDS_H
#define VOLTMILL_PRODUCT_KIND_KINDS_H

#include "io/hdf5/h5.h"
#include "product/product.h"

/* "spectra", "data" or "dedispersed". */
const char *product_data_name(enum product_kind kind);

uint64_t product_frequencies(const struct product_spec *spec);

/* Dimension scales; without values the dataset is only reserved. */
status_t product_scale_f64(hid_t file, const char *name, const double *values, hsize_t count,
                           const char *units, const char *long_name);
status_t product_scale_texts(hid_t file, const char *name, char *const *texts, hsize_t count,
                             const char *long_name);
status_t product_attach(hid_t file, hid_t data, const char *scale, unsigned dim, const char *label);
/* Names (or else numbers) of the selected indices of an axis; h5_free_texts() returns them. */
status_t product_names(const struct archive *archive, enum axis axis, char ***out);

/* /time, whose values come with the rows: seconds since `start` (NULL: unknown). */
status_t product_scale_time(hid_t file, uint64_t count, const struct utc *start,
                            const char *long_name);

/* What the root of every product says. */
struct product_sky {
    int has_start;
    struct utc start;
    const char *telescope, *source; /* NULL when unknown */
    int has_position;
    double ra_deg, dec_deg;
};
status_t product_put_root(hid_t file, enum product_kind kind, const char *title,
                          const struct product_sky *sky);

/* The group /provenance with what all products have, and room for what is counted on the way. */
status_t product_begin_provenance(hid_t file, const char *job_text, const char *arithmetic,
                                  const char *inputs, hid_t *out);
status_t product_reserve_counts(hid_t group, const struct product_place *place);

/* Puts all that a product of a filter bank holds but its rows into a new file. */
status_t product_describe(hid_t file, const struct product_spec *spec, struct product_place *place);

/* Makes room for CRCs of all there is, finds where things lie and closes the file, also when it
 * fails. `name`: the dataset of rows. */
status_t product_finish(hid_t file, const char *name, struct product_place *place);

/* The same of dedispersed series. */
struct dedispersed_spec;
status_t dedispersed_describe(hid_t file, const struct dedispersed_spec *spec,
                              struct product_place *place);

/* The dataset of rows, with its attributes and scales. */
status_t spectra_create(hid_t file, const struct product_spec *spec, hid_t *out);
status_t power_create(hid_t file, const struct product_spec *spec, hid_t *out);

#endif
