/* Parts that all kinds of products write into a new file. Private to product/. `title`, `units` and
 * `long_name` become attributes; NULL: none. `where` names the file or object in messages. DATA
 * means an error of HDF5. */
#ifndef VOLTMILL_PRODUCT_KIND_PARTS_H
#define VOLTMILL_PRODUCT_KIND_PARTS_H

#include "io/hdf5/h5_dataset.h"
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

/* Write a dataset into `at`, a file or group, attach its scales, which exist, and write its
 * attributes. parts_make() leaves it open: the caller closes *out, -1 before, in any case;
 * parts_put() closes it. Fail with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_make(hid_t at, const struct parts_set *set, hid_t *out);
status_t parts_put(hid_t at, const struct parts_set *set);
/* Writes a part of an open dataset: size [rank] elements from start [rank] on; `values` of `type`
 * in memory, the last dimension fastest. `name` is for messages. Fails with DATA, also if the part
 * is outside the dataset; with NO_SPACE, DEVICE (memory). */
status_t parts_write(hid_t dataset, const char *name, hid_t type, int rank, const hsize_t *start,
                     const hsize_t *size, const void *values);
/* Write a list as dataset `name` of `type` as it is stored; values are of the native type.
 * parts_put_list(): [count], or [count][3] if rank is 2, without attributes; none if `values` is
 * NULL. parts_put_named(): [count], with a long_name; `values` NULL: they come later. Fail with
 * DATA, NO_SPACE, DEVICE (memory). */
status_t parts_put_list(hid_t at, const char *name, hid_t type, int rank, hsize_t count,
                        const void *values);
status_t parts_put_named(hid_t at, const char *name, hid_t type, hsize_t count, const void *values,
                         const char *long_name);

/* parts_compound(): makes the type of a struct of `bytes` bytes with `fields` [count].
 * parts_pair_type(): that of complex numbers, {r, i} of two `number`, as h5py has it. `what` it is
 * of, for messages. The caller closes *out, -1 before, in any case. Fail with DATA, DEVICE
 * (memory). */
struct parts_field {
    const char *name;
    size_t at;
    hid_t type;
};
status_t parts_compound(size_t bytes, const struct parts_field *fields, size_t count,
                        const char *what, hid_t *out);
status_t parts_pair_type(hid_t number, const char *what, hid_t *out);

/* Write dimension scales, datasets `name` [count]. parts_scale_f64(): of `values`; NULL: they come
 * later. parts_scale_steps(): of the evenly spaced values of `axis`. parts_scale_texts(): of UTF-8
 * texts, not NULL. Fail with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_scale_f64(hid_t file, const char *name, const double *values, hsize_t count,
                         const char *units, const char *long_name);
status_t parts_scale_steps(hid_t file, const char *name, struct time_axis axis, hsize_t count,
                           const char *units, const char *long_name);
status_t parts_scale_texts(hid_t file, const char *name, char *const *texts, hsize_t count,
                           const char *long_name);
/* Makes an array of `count` texts of one length, that of the longest with its NUL, at least `least`
 * bytes, filled up with NULs. *type is -1 and *packed NULL before; the caller closes the type of a
 * text and frees the bytes, in any case. `name` is for messages. Fails with DATA, DEVICE (memory).
 */
status_t parts_pack_texts(const char *name, char *const *texts, hsize_t count, size_t least,
                          hid_t *type, char **packed);
/* Creates /frequency [count], Hz, whose values come later (product_put_frequencies()). Fails with
 * DATA, NO_SPACE, DEVICE (memory). */
status_t parts_scale_frequency(hid_t file, hsize_t count);
/* parts_scale_time(): creates /time [count], whose values come with the rows; its units are seconds
 * since the start, if that is known, else "s". parts_attach(): attaches the scale of that name in
 * `file` to dimension `dim`, from 0, of `data`, with a label unless that is "". Fail with DATA,
 * NO_SPACE, DEVICE (memory). */
status_t parts_scale_time(hid_t file, uint64_t count, const struct sky *sky, const char *long_name);
status_t parts_attach(hid_t file, hid_t data, const char *scale, unsigned dim, const char *label);

/* Makes the names (or else numbers) of the selected indices of an axis in *out, {0} before;
 * h5_names_free() it, also after a failure. Fails with DEVICE (memory). */
status_t parts_name_axis(const struct archive *archive, enum axis axis, struct h5_names *out);

/* parts_put_root(): writes the attributes of the root that every product has. parts_put_sky(): of
 * these, what archives in the native layout have, too: start, telescope, source, position, as far
 * as they are known. Fail with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_put_root(hid_t file, enum product_kind kind, const char *title,
                        const struct sky *sky);
status_t parts_put_sky(hid_t file, const struct sky *sky);

/* Writes the root's attributes of voltages that were dedispersed coherently, and /delay_hz [count],
 * Hz. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_put_coherent(hid_t file, const struct archive *archive, const double *delay_hz,
                            uint64_t count);

/* Creates a group, whose header has room for `links` links; with 0, whose attributes are in a heap
 * from the first on: a long job does not fit an object header's 64 KiB. The caller closes *out, -1
 * before, in any case. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_make_group(hid_t file, const char *name, unsigned links, hid_t *out);
/* Creates the group /provenance with the attributes that all products have. The caller closes *out,
 * -1 before, in any case. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_begin_provenance(hid_t file, const struct product_spec *spec, hid_t *out);
/* Create datasets of that group whose values come later. parts_reserve_counts(): missing_samples
 * and crc32 [spans]; parts_reserve_count(): one count, a uint64; parts_reserve_holes(): holes
 * [rows], the marks of NaN rows. Fail with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_reserve_counts(hid_t group, const struct product_place *place);
status_t parts_reserve_count(hid_t group, const char *name, const char *long_name);
status_t parts_reserve_holes(hid_t group, const struct product_place *place);

/* Read scalar attributes that a product must have. Fail with DATA if one is missing or of another
 * kind, or (u64) negative; with DEVICE (memory). */
status_t parts_need_f64(hid_t object, const char *where, const char *name, double *value);
status_t parts_need_u64(hid_t object, const char *where, const char *name, uint64_t *value);
/* Reads a dataset `name` of one number below `at`. Fails with DATA if it is missing, unreadable or
 * of another size; with DEVICE (memory). */
status_t parts_need_count(hid_t at, const char *where, const char *name, uint64_t *value);

#endif
