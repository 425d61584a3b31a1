/* Table of the formats of archives, by which `layout: auto` and `voltmill info` recognise a path,
 * and by which it is opened. Main thread only (HDF5). Private to input/ but for
 * formats_recognise(), formats_find_other(), formats_expect() and formats_add_titles().
 *
 * A format is a file of this folder with its row, named below in FORMATS; its name is also listed
 * in the help of input.layout.format (job/job_layout.c). A path may be a file, a folder or one of a
 * group of files, in HDF5 or not. It contains voltages or a filterbank. */
#ifndef VOLTMILL_INPUT_FORMAT_FORMATS_H
#define VOLTMILL_INPUT_FORMAT_FORMATS_H

#include "input/archive.h"
#include "input/fbh5/fbh5.h"

/* Files to open: the job's paths (a format may take some of them together), and its description,
 * whose values precede those of the files. */
struct format_input {
    char *const *paths; /* at least one */
    size_t npaths;
    const struct job_layout *layout;
};

struct fields;
struct plain;
struct format {
    const char *name;  /* as input.layout.format has it */
    const char *title; /* "a SIGPROC filterbank", where messages show it */

    int is_no_product; /* not one HDF5 file: no product of voltmill looks like it */
    int takes_axes;    /* input.layout.axes says how its samples lie */
    int is_product; /* products of voltmill alone: what is wrong with one is said of the product */

    /* Sets *is_it to whether `path` is of this format: by its contents, never by its name alone.
     * Fails with DATA if this is unknown: formats of HDF5 files fail on all other files, and so
     * come after formats of other files. NULL: only a description leads to it. */
    status_t (*recognise)(const char *path, int *is_it);

    /* In place of recognise(). begins(): returns whether these first bytes of a file, `begin_bytes`
     * or fewer, are of this format. `shows`: names that every such HDF5 file has, as for
     * fields_have(). */
    int (*begins)(const struct text *begin);
    size_t begin_bytes;
    const char *shows[6];

    /* Each format has one of these, or open() and what it calls gather_files() for. open() opens
     * all files of an observation; open_file() one of them, and gather_files() joins them; `read`
     * and `plain` are what fields_make_file() and plain_open() need to open one. An archive of
     * voltages has parts with the places of their bytes (archive_part), type and axes of the
     * samples, times, frequencies, gaps and lost samples; nothing is selected yet. Fail with DATA,
     * DEVICE; with USAGE if a description is incomplete. They may have set *out after a failure:
     * the caller destroys it in any case. */
    status_t (*open)(const struct format_input *input, struct archive **out);
    status_t (*open_file)(const char *path, const struct job_layout *layout, struct archive **out);
    status_t (*read)(struct fields *f, void *context);
    status_t (*plain)(struct plain *plain);
    status_t (*open_filterbank)(const char *path, struct fbh5 **out);
};

/* Calls the macro `row` with each format, in the order in which they are tried: first those that a
 * few bytes show. */
/* clang-format off */
#define FORMATS(row) \
    row(npy_format) \
    row(wav_format) \
    row(sigmf_format) \
    row(guppi_format) \
    row(mwax_format) \
    row(dada_format) \
    row(digital_rf_format) \
    row(drx_format) \
    row(lofar_udp_format) \
    row(vdif_format) \
    row(sigproc_format) \
    row(psrfits_format) \
    row(native_format) \
    row(spectra_format) \
    row(fbh5_format) \
    row(pydaq_format) \
    row(lofar_bf_format) \
    row(lofar_tbb_format) \
    row(chime_beam_format) \
    row(chime_raw_format) \
    row(meerkat_format) \
    row(grex_format) \
    row(raw_format)
/* clang-format on */

/* Declares a format. */
#define FORMAT_DECLARED(name) extern const struct format name;
FORMATS(FORMAT_DECLARED)
FORMAT_DECLARED(described_format) /* what a job's input.layout describes */

/* End of the message "FILE is not ..." for a file that is not in the native layout. */
#define NATIVE_EXPECTED "in the native layout (no attribute format = \"voltage\")"

/* Finds the format of `path`; *out is static, NULL: an HDF5 file of none. Fails with DATA: missing,
 * unreadable, not complete (io/mark.h), or another file or a folder that is of none: the message
 * says how it may be read; with DEVICE (memory, descriptors). *out is undefined then. Main thread
 * only (HDF5). */
status_t formats_recognise(const char *path, const struct format **out);

/* Finds the format of a file that is not HDF5; *out is static. *out is NULL if it is unknown, or
 * the file is HDF5, missing, cannot be opened, or is an unfinished product. Fails with DATA (a
 * later read fails), DEVICE (memory, descriptors); *out is NULL then. Main thread only (HDF5). */
status_t formats_find_other(const char *path, const struct format **out);

/* Checks that `path` is no file of a format that formats_find_other() finds. Fails with USAGE if it
 * is, naming the format and `expected`, text for the message; with DATA (a later read fails),
 * DEVICE (memory, descriptors). Main thread only (HDF5). */
status_t formats_expect(const char *path, const char *expected);

/* Opens voltages: by the job's description, by the format that it names, or by that of the first
 * path. The caller calls archive_destroy(*out), NULL before, in any case. An impossible position or
 * start becomes unknown, with a warning or an assumption. Fails with USAGE: no format has that
 * name, keys are of other formats, or a description is incomplete. Fails with DATA: not complete
 * (io/mark.h), a filterbank, no known format, or data that the format finds missing or wrong. Fails
 * with DEVICE (memory, descriptors). Main thread only (HDF5). */
status_t formats_open(const struct format_input *input, struct archive **out);

/* Opens a filterbank by its format. The caller calls fbh5_destroy(*out), NULL before, in any case.
 * May warn; doubts go to (*out)->assumed. Fails with DATA: missing, unreadable, wrong, or voltages;
 * with DEVICE (memory, descriptors). Main thread only (HDF5). */
status_t formats_open_filterbank(const char *path, struct fbh5 **out);

/* Appends a list of what was expected: "an archive in the native layout nor a filterbank, nor of
 * another known format (...)". Fails with DEVICE (memory). */
status_t formats_add_titles(struct text *out);

#endif
