/* Headers of filterbanks and roots of our own products: when rows begin, by what the header's
 * `tstart` says, and what the root says more exactly (start_mjd_day, start_second, first_time);
 * what the attributes of rows say; whether both agree. Uses HDF5: main thread only. *assumed is a
 * list of assumptions, to which functions add (assume_if(), input/archive.h). */
#ifndef VOLTMILL_INPUT_FBH5_FBH5_HEADER_H
#define VOLTMILL_INPUT_FBH5_FBH5_HEADER_H

#include "base/terms.h"
#include "base/units.h"
#include "input/fbh5/fbh5.h"
#include "io/hdf5/h5.h"

struct start {
    int is_known;
    struct utc utc;    /* to which times count */
    double first_time; /* centre of the first row, seconds after `utc` */
};

/* Finds when the rows of a file begin, by its root and its header. `tstart`: the header's, MJD of
 * the first row's leading edge (of its centre in products before PRODUCT_VERSION_OF_EDGES), unknown
 * unless above 0 and below 4e5; `tsamp`: seconds of a row. out->is_known is 0 if neither says it.
 * Where both say different times, the root's is used, and that is noted in *assumed. `path` is for
 * messages. Fails with DATA: values of the root that are no times, unreadable, or of a
 * format_version above PRODUCT_VERSION; with DEVICE (memory); *out is unchanged then. Main thread
 * only (HDF5). */
status_t start_read(hid_t file, const char *path, double tstart, double tsamp, struct start *out,
                    char **assumed);

/* Converts a header's `tstart` (MJD). The seconds of a day are counted up to 86400, so a leap
 * second has the numbers of the second after it. The latter is used: noted in *assumed. Fails with
 * DEVICE (memory); *out is set in any case. */
status_t start_of_header(double tstart, struct utc *out, char **assumed);

/* Notes in *assumed those words of a header that are not 0 and change the meaning of channels and
 * times, which nothing here undoes. `refdm` is in pc cm^-3, the others are flags; a missing one is
 * 0. Fails with DEVICE (memory). */
status_t fbh5_note_moved(double refdm, double barycentric, double pulsarcentric, char **assumed);

/* Reads the kind of one of our own products from its root. *is_ours is 0 if it is none, or contains
 * voltages, which are archives; *kind is undefined then. `path` is for messages. Fails with DATA
 * (unreadable), DEVICE (memory): both outputs are undefined then. Main thread only (HDF5). */
status_t start_read_kind(hid_t file, const char *path, enum product_kind *kind, int *is_ours);
/* Reads format_version from the root of one of our own products. Sets *found to 1; to 0 if it is
 * missing, and leaves *version as it was: a version that the caller has set. `path` is for
 * messages. Fails with DATA: unreadable, or above PRODUCT_VERSION; with DEVICE (memory); both
 * outputs are undefined then. Main thread only (HDF5). */
status_t start_read_version(hid_t file, const char *path, int64_t *version, int *found);
/* Reads the start from the root of one of our own products. out->is_known is 1 if its day and
 * second are there; *has_first_time is 1 if first_time is. A second or first_time that is missing
 * leaves that of *out as the caller has set it. `path` is for messages. Fails with DATA:
 * unreadable, or no times; with DEVICE (memory); both outputs are undefined then. Main thread only
 * (HDF5). */
status_t start_read_root(hid_t file, const char *path, struct start *out, int *has_first_time);

/* Reads the attributes of /data and of the root of an open file into fbh5: axes, start, position,
 * head, words, of our own also names of ifs and coherent; contradictions go to fbh5->assumed. Shape
 * and type must be known. Fails with DATA: fch1, foff or tsamp missing or without meaning, an
 * attribute that is no number, unreadable ones, and as start_read(); with DEVICE (memory). `fbh5`
 * is half filled in then. Main thread only (HDF5). */
status_t fbh5_read_header(hid_t file, hid_t data, struct fbh5 *fbh5);

/* Makes the type in memory by which the samples of /data are read, for h5_close(); 64-bit floats
 * are read as 32-bit ones. Fails with DATA, DEVICE (memory): there is no type then. One thread at a
 * time (HDF5). */
status_t fbh5_memory_type(const struct fbh5 *fbh5, hid_t *out);
/* Returns the bytes of a number as fbh5_memory_type() has it, before it becomes a float: 1, 2 or 4.
 */
uint32_t fbh5_stored_bytes(const struct fbh5 *fbh5);

/* Compares the header with the shape and labels of /data, attributes of the root, /frequency and
 * /time, when all else is known. Contradictions that are not used go to fbh5->assumed. Fails with
 * DATA: a contradiction of axes (labels or lengths in another order, root and /data, /frequency or
 * /time of our own), an attribute that is no number, unreadable ones, an axis in external files;
 * with DEVICE (memory). Main thread only (HDF5). */
status_t fbh5_compare_stated(hid_t file, hid_t data, struct fbh5 *fbh5);

#endif
