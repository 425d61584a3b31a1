/* Arrays of an HDF5 file in the words of zarr (format 2): what they are, and where in the file
 * their chunks lie, as kerchunk's references have them. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_EXPORT_KERCHUNK_H
#define VOLTMILL_PRODUCT_EXPORT_KERCHUNK_H

#include "base/json/json.h"
#include "io/hdf5/h5_dataset.h"

enum { KERCHUNK_TYPE = 24 };

struct kerchunk_array {
    const char *path, *name; /* of the file, of the dataset in its root */
    struct h5_dataset data;
    hsize_t chunk[H5S_MAX_RANK]; /* of the array as zarr sees it */
    int is_chunked;              /* the file has the same chunks */
    uint64_t element_bytes;
    char type[KERCHUNK_TYPE]; /* as zarr has it: "<f4" */
    int has_pairs; /* of whole numbers, real and imaginary part: one more axis, of 2, for zarr */
};

/* Chunks of a dataset in one piece. */
enum { KERCHUNK_BYTES = 4 << 20, KERCHUNK_MOST = 1 << 16 };

/* Opens dataset `name`; kerchunk_close() in any case. Fails with DATA; with USAGE where no codec of
 * zarr undoes its compression. */
status_t kerchunk_open(hid_t file, const char *path, const char *name, struct kerchunk_array *out);
void kerchunk_close(struct kerchunk_array *array);

/* Finds zarr's words for its type. Fails with USAGE: there are none. */
status_t kerchunk_find_type(struct kerchunk_array *array);

/* .zarray, .zattrs of the array; of a file's root (`dims` is told by the scales). Fail with DATA.
 */
status_t kerchunk_put_shape(const struct kerchunk_array *array, struct json *json);
status_t kerchunk_put_words(const struct kerchunk_array *array, struct json *json);
status_t kerchunk_put_attributes(hid_t object, const char *path, struct json *json);

/* Adds a reference for each chunk: "NAME/0.0": ["{{u}}", offset, bytes]. What a last chunk has less
 * than zarr expects is put in itself, filled up with zeros. *count: of references. Fails with DATA.
 */
status_t kerchunk_put_chunks(const struct kerchunk_array *array, struct json *json,
                             uint64_t *count);

#endif
