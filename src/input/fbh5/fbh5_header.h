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

/* Finds the start in root and header. `tstart`: the header's, MJD of the first row's leading edge
 * (of its centre in products before PRODUCT_VERSION_OF_EDGES), unknown unless above 0 and below
 * 4e5; `tsamp`: seconds of a row. *out is not known if neither says it. Where both say different
 * times, the root's is used, and that is noted in *assumed. `path` is for messages. Fails with
 * DATA: values of the root that are no times, unreadable, or of a format_version above
 * PRODUCT_VERSION; with DEVICE (memory); *out is unchanged then. */
status_t start_read(hid_t file, const char *path, double tstart, double tsamp, struct start *out,
                    char **assumed);

/* Converts a header's `tstart` (MJD). The seconds of a day are counted up to 86400, so a leap
 * second has the numbers of the second after it, which is used: noted in *assumed. Fails with
 * DEVICE (memory). */
status_t start_of_header(double tstart, struct utc *out, char **assumed);

/* Notes in *assumed those words of a header that are not 0 (0: missing; refdm in pc cm^-3; the
 * others are flags) and change what channels and times mean, which nothing here undoes. Fails with
 * DEVICE (memory). */
status_t fbh5_note_moved(double refdm, double barycentric, double pulsarcentric, char **assumed);

/* Read from the roots of our own products: their kind, if they are ours at all, *is_ours (voltages
 * are not: they are archives), else *kind has no meaning; format_version, and whether there is one,
 * *found; the start (is_known if day and second are there), and whether *has_first_time. *version
 * and *out must be set before: a version, first_time or second that is missing is unchanged. `path`
 * is for messages. Fail with DATA: unreadable, no times, a version above PRODUCT_VERSION; with
 * DEVICE (memory). */
status_t start_read_kind(hid_t file, const char *path, enum product_kind *kind, int *is_ours);
status_t start_read_version(hid_t file, const char *path, int64_t *version, int *found);
status_t start_read_root(hid_t file, const char *path, struct start *out, int *has_first_time);

/* Reads the attributes of /data and of the root of a file that is open into fbh5: axes, start,
 * position, head, words, of our own also names of ifs and coherent; contradictions go to
 * fbh5->assumed. Shape and type must be known. Fails with DATA: fch1, foff or tsamp missing or
 * without meaning, an attribute that is no number, unreadable ones, and as start_read(); with
 * DEVICE (memory). */
status_t fbh5_read_header(hid_t file, hid_t data, struct fbh5 *fbh5);

/* fbh5_memory_type(): makes the type of its stored samples in memory, for h5_close(); 64-bit floats
 * are read as 32-bit ones. fbh5_stored_bytes(): returns the bytes of a number of that type, before
 * it becomes a float. The first fails with DATA, DEVICE (memory): there is no type then. */
status_t fbh5_memory_type(const struct fbh5 *fbh5, hid_t *out);
uint32_t fbh5_stored_bytes(const struct fbh5 *fbh5);

/* Compares the header with the shape and labels of /data, attributes of the root, /frequency and
 * /time, when all else is known; what contradicts, and is not used, goes to fbh5->assumed. Fails
 * with DATA: a contradiction of axes (labels or lengths in another order, root and /data,
 * /frequency or /time of our own), an attribute that is no number, unreadable ones, an axis in
 * external files; with DEVICE (memory). */
status_t fbh5_compare_stated(hid_t file, hid_t data, struct fbh5 *fbh5);

#endif
