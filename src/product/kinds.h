/* Parts that the kinds of products are made of. Private to product/. */
#ifndef VOLTMILL_PRODUCT_KINDS_H
#define VOLTMILL_PRODUCT_KINDS_H

#include "base/h5.h"
#include "product/product.h"

/* "/spectra" or "/data". */
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

/* The dataset of rows, with its attributes and scales. */
status_t spectra_create(hid_t file, const struct product_spec *spec, hid_t *out);
status_t filterbank_create(hid_t file, const struct product_spec *spec, hid_t *out);

#endif
