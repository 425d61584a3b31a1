/* Parts that all kinds of products write into a new file. Private to product/. Functions whose
 * comment names DATA also fail with DEVICE (memory, open files). `title`, `units` and `long_name`
 * become attributes; NULL: none. `where` names the file or object in messages. */
#ifndef VOLTMILL_PRODUCT_KIND_PARTS_H
#define VOLTMILL_PRODUCT_KIND_PARTS_H

#include "io/hdf5/h5.h"
#include "product/product.h"

enum { PARTS_DIMS = 3 };

/* A contiguous dataset (h5_create_dataset()) of a new file, and what it says. */
struct parts_set {
    const char *name;
    hid_t type; /* as it is stored; values are of the native type */
    int rank;
    hsize_t dims[PARTS_DIMS];
    const void *values; /* NULL: they come later */
    int is_scale;
    const char *units, *long_name;                       /* NULL: none */
    const char *scales[PARTS_DIMS], *labels[PARTS_DIMS]; /* of its first dimensions; NULL: none.
                                                            A scale needs a label: "" for none */
};

/* Write a dataset. parts_make() leaves it open: the caller closes *out, -1 before, in any case;
 * parts_put() closes it. Fail with DATA, NO_SPACE. */
status_t parts_make(hid_t at, const struct parts_set *set, hid_t *out);
status_t parts_put(hid_t at, const struct parts_set *set);
/* Writes a part of a dataset: size [rank] elements from start [rank] on; `values` of `type` in
 * memory, the last dimension fastest. Fails with DATA, NO_SPACE. */
status_t parts_write(hid_t dataset, const char *name, hid_t type, int rank, const hsize_t *start,
                     const hsize_t *size, const void *values);
/* Write a list. parts_put_list(): [count], or [count][3] if rank is 2, without attributes; none if
 * `values` is NULL. parts_put_named(): [count], with a long_name; `values` NULL: they come later.
 * Fail with DATA, NO_SPACE. */
status_t parts_put_list(hid_t at, const char *name, hid_t type, int rank, hsize_t count,
                        const void *values);
status_t parts_put_named(hid_t at, const char *name, hid_t type, hsize_t count, const void *values,
                         const char *long_name);

/* Make the type of a struct of `bytes` bytes, and that of complex numbers, {r, i}, as h5py has it;
 * `what` it is of, for messages. The caller closes *out, -1 before, in any case. Fail with DATA. */
struct parts_field {
    const char *name;
    size_t at;
    hid_t type;
};
status_t parts_compound(size_t bytes, const struct parts_field *fields, size_t count,
                        const char *what, hid_t *out);
status_t parts_pair_type(hid_t number, const char *what, hid_t *out);

/* Write dimension scales of values, or texts, [count]; without values the dataset is only reserved.
 * parts_scale_steps(): of evenly spaced values. Fail with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_scale_f64(hid_t file, const char *name, const double *values, hsize_t count,
                         const char *units, const char *long_name);
status_t parts_scale_steps(hid_t file, const char *name, struct time_axis axis, hsize_t count,
                           const char *units, const char *long_name);
status_t parts_scale_texts(hid_t file, const char *name, char *const *texts, hsize_t count,
                           const char *long_name);
/* Makes an array of texts of one length, at least `least` bytes each. The caller closes *type and
 * frees *packed, its bytes, in any case. Fails with DATA, DEVICE (memory). */
status_t parts_pack_texts(const char *name, char *const *texts, hsize_t count, size_t least,
                          hid_t *type, char **packed);
/* Reserves /frequency, Hz. Fails with DATA, NO_SPACE. */
status_t parts_scale_frequency(hid_t file, hsize_t count);
/* parts_scale_time(): creates /time, whose values come with the rows: seconds since the start, if
 * it is known. parts_attach(): attaches a scale to a dimension of `data`, with a label unless that
 * is "". Fail with DATA, NO_SPACE. */
status_t parts_scale_time(hid_t file, uint64_t count, const struct sky *sky, const char *long_name);
status_t parts_attach(hid_t file, hid_t data, const char *scale, unsigned dim, const char *label);

/* Makes the names (or else numbers) of the selected indices of an axis, [archive->nselected[axis]];
 * text_free_list() returns them. Fails with DEVICE (memory). */
status_t parts_name_axis(const struct archive *archive, enum axis axis, char ***out);

/* Write the attributes of the root that every product has; of these, what archives in the native
 * layout have, too. Fail with DATA, NO_SPACE. */
status_t parts_put_root(hid_t file, enum product_kind kind, const char *title,
                        const struct sky *sky);
status_t parts_put_sky(hid_t file, const struct sky *sky);

/* Writes the root's attributes of voltages that were dedispersed coherently, and /delay_hz [count],
 * Hz. Fails with DATA, NO_SPACE. */
status_t parts_put_coherent(hid_t file, const struct archive *archive, const double *delay_hz,
                            uint64_t count);

/* Creates a group, whose header has room for `links` links; with 0, whose attributes are in a heap
 * from the first on: a long job does not fit an object header's 64 KiB. Fails with DATA. */
status_t parts_make_group(hid_t file, const char *name, unsigned links, hid_t *out);
/* Creates the group /provenance with the parts that all products have. Reserves space for counts of
 * the run, and for the marks of rows. Fail with DATA, NO_SPACE. */
status_t parts_begin_provenance(hid_t file, const struct product_spec *spec, hid_t *out);
status_t parts_reserve_counts(hid_t group, const struct product_place *place);
status_t parts_reserve_count(hid_t group, const char *name, const char *long_name);
status_t parts_reserve_holes(hid_t group, const struct product_place *place);

/* Read attributes that a product must have. Fail with DATA, DEVICE (memory). */
status_t parts_need_f64(hid_t object, const char *where, const char *name, double *value);
status_t parts_need_u64(hid_t object, const char *where, const char *name, uint64_t *value);
/* Reads a dataset of one number likewise. Fails with DATA. */
status_t parts_need_count(hid_t at, const char *where, const char *name, uint64_t *value);

#endif
