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
 * attributes. parts_make() leaves it open: the caller closes *out, -1 before, in any case.
 * parts_put() closes it. Main thread only. Fail with DATA, NO_SPACE, DEVICE (memory); a part may be
 * written then. */
status_t parts_make(hid_t at, const struct parts_set *set, hid_t *out);
status_t parts_put(hid_t at, const struct parts_set *set);
/* Writes a part of an open dataset: size [rank] elements from start [rank] on; `values` of `type`
 * in memory, the last dimension fastest. `name` is for messages. Fails with DATA, also if the part
 * is outside the dataset; with NO_SPACE, DEVICE (memory). */
status_t parts_write(hid_t dataset, const char *name, hid_t type, int rank, const hsize_t *start,
                     const hsize_t *size, const void *values);
/* Write a list as dataset `name` of `type` as it is stored; values are of the native type.
 * parts_put_list(): shape [count], or [count][3] if rank is 2, without attributes; does nothing if
 * `values` is NULL. parts_put_named(): shape [count], with a long_name; `values` NULL: they come
 * later. Main thread only. Fail with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_put_list(hid_t at, const char *name, hid_t type, int rank, hsize_t count,
                        const void *values);
status_t parts_put_named(hid_t at, const char *name, hid_t type, hsize_t count, const void *values,
                         const char *long_name);

/* A member of a compound type. */
struct parts_field {
    const char *name;
    size_t at; /* bytes from the start of the struct */
    hid_t type;
};
/* Makes the HDF5 type of a struct of `bytes` bytes with `fields` [count]. `what` names it in
 * messages. The caller closes *out, -1 before, in any case. Fails with DATA (an error of HDF5). */
status_t parts_compound(size_t bytes, const struct parts_field *fields, size_t count,
                        const char *what, hid_t *out);
/* Makes the HDF5 type of complex numbers, {r, i} of two numbers of type `number`, as h5py has it.
 * `what` names it in messages. The caller closes *out, -1 before, in any case. Fails with DATA (an
 * error of HDF5). */
status_t parts_pair_type(hid_t number, const char *what, hid_t *out);

/* Write dimension scales, datasets `name` [count] of a new file. parts_scale_f64(): doubles,
 * `values`; NULL: they come later. parts_scale_steps(): doubles, the evenly spaced values of
 * `axis`. parts_scale_texts(): UTF-8 texts, none of them NULL. `units` and `long_name` become
 * attributes; NULL: none. Fail with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_scale_f64(hid_t file, const char *name, const double *values, hsize_t count,
                         const char *units, const char *long_name);
status_t parts_scale_steps(hid_t file, const char *name, struct time_axis axis, hsize_t count,
                           const char *units, const char *long_name);
status_t parts_scale_texts(hid_t file, const char *name, char *const *texts, hsize_t count,
                           const char *long_name);
/* Packs `count` texts into an array of texts of one length, in bytes: that of the longest with its
 * NUL, at least `least`, filled up with NULs. *type, -1 before, becomes their HDF5 type, which the
 * caller closes; *packed, NULL before, their bytes, which the caller frees; both in any case.
 * `name` is for messages. Fails with DATA, DEVICE (memory). */
status_t parts_pack_texts(const char *name, char *const *texts, hsize_t count, size_t least,
                          hid_t *type, char **packed);
/* Creates /frequency [count], Hz, whose values come later (product_put_frequencies()). Fails with
 * DATA, NO_SPACE, DEVICE (memory). */
status_t parts_scale_frequency(hid_t file, hsize_t count);
/* Creates /time [count], doubles in seconds, whose values come with the rows. Its attribute `units`
 * says "seconds since" the start, if that is known, else "s". Fails with DATA, NO_SPACE, DEVICE
 * (memory). */
status_t parts_scale_time(hid_t file, uint64_t count, const struct sky *sky, const char *long_name);
/* Attaches the scale of that name in `file` to dimension `dim`, from 0, of the dataset `data`, with
 * a label unless that is "". Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_attach(hid_t file, hid_t data, const char *scale, unsigned dim, const char *label);

/* Makes the names (or else numbers, from 0) of the selected indices of an axis in *out, {0} before,
 * in the order of the selection. The caller calls h5_names_free(), also after a failure. Fails with
 * DEVICE (memory). */
status_t parts_name_axis(const struct archive *archive, enum axis axis, struct h5_names *out);

/* Writes the attributes of the root that every product has, those of parts_put_sky() among them.
 * `title` NULL: no title. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_put_root(hid_t file, enum product_kind kind, const char *title,
                        const struct sky *sky);
/* Writes the attributes of the root that archives in the native layout have, too: start, telescope,
 * source, position, as far as they are known. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_put_sky(hid_t file, const struct sky *sky);

/* Writes the root's attributes of voltages that were dedispersed coherently (archive->coherent),
 * and /delay_hz [count]: the frequency, in Hz, whose delay each channel still has. Fails with DATA,
 * NO_SPACE, DEVICE (memory). */
status_t parts_put_coherent(hid_t file, const struct archive *archive, const double *delay_hz,
                            uint64_t count);

/* Creates a group, whose header has space for `links` links. With 0, its attributes are in a heap
 * from the first on: a long job does not fit an object header's 64 KiB. The caller closes *out, -1
 * before, in any case. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_make_group(hid_t file, const char *name, unsigned links, hid_t *out);
/* Creates the group /provenance with the attributes that all products have. The caller closes *out,
 * -1 before, in any case. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_begin_provenance(hid_t file, const struct product_spec *spec, hid_t *out);
/* Creates the datasets missing_samples, one uint64, and crc32, uint32 [spans], of /provenance,
 * whose values come later. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_reserve_counts(hid_t group, const struct product_place *place);
/* Creates a dataset `name` of one uint64 in a group, whose value comes later. Fails with DATA,
 * NO_SPACE, DEVICE (memory). */
status_t parts_reserve_count(hid_t group, const char *name, const char *long_name);
/* Creates the dataset holes [rows] of /provenance, a byte each, the marks of NaN rows, whose values
 * come later. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t parts_reserve_holes(hid_t group, const struct product_place *place);

/* Read a scalar attribute that a product must have: parts_need_f64() a double, parts_need_u64() a
 * whole number. `where` names the file in messages. Fail with DATA if it is missing or of another
 * kind, parts_need_u64() also if it is negative; with DEVICE (memory). *value is undefined then. */
status_t parts_need_f64(hid_t object, const char *where, const char *name, double *value);
status_t parts_need_u64(hid_t object, const char *where, const char *name, uint64_t *value);
/* Reads a dataset `name` of one whole number in the file or group `at`. `where` names the file in
 * messages. Fails with DATA if it is missing, unreadable or of another size; with DEVICE (memory).
 * *value is undefined then. */
status_t parts_need_count(hid_t at, const char *where, const char *name, uint64_t *value);

#endif
