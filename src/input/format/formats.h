/* The formats that archives come in: one table, from which `layout: auto` and `voltmill info` tell
 * what a path is, and by which it is opened. Private to input/ but for the first three
 * functions below.
 *
 * A format is a file of this folder with its row, named below in FORMATS. A path may be a file, a
 * folder or one of a group of files, in HDF5 or not; what is opened is voltages or a filterbank. */
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

struct format {
    const char *name;  /* as input.layout.format has it */
    const char *title; /* "a SIGPROC filterbank", where messages show it */

    int is_no_product; /* not one HDF5 file: no product of voltmill looks like it */
    int takes_axes;    /* input.layout.axes says how its samples lie */
    int is_product; /* products of voltmill alone: what is wrong with one is said of the product */

    /* Whether what is at `path` is of this format: by its contents, never by its name alone. Fails
     * with DATA when that cannot be told: formats of HDF5 files fail on all others, and so stand
     * behind formats of other files. NULL: only a description leads to it. */
    status_t (*recognise)(const char *path, int *is_it);

    /* In place of recognise(): whether the first bytes of a file, `begin_bytes` or fewer, are those
     * of one; all names that such an HDF5 file has, as fields_have() takes them. */
    int (*begins)(const struct text *begin);
    size_t begin_bytes;
    const char *shows[6];

    /* One of these; of an observation's files, or of one of them, which are then gathered
     * (gather_files()). Voltages: an archive whose parts say where their bytes lie (archive_part),
     * of what type the samples are and along which axes, their times, frequencies, gaps and what is
     * lost; nothing is selected yet. Fail with DATA, or USAGE for what a description leaves out:
     * open() may have set *out then, which is for archive_destroy() in any case. */
    status_t (*open)(const struct format_input *input, struct archive **out);
    status_t (*open_file)(const char *path, const struct job_layout *layout, struct archive **out);
    status_t (*open_filterbank)(const char *path, struct fbh5 **out);
};

/* Every format, in the order in which they are asked: first those that a few bytes show. */
/* clang-format off */
#define FORMATS(row) \
    row(npy_format) \
    row(wav_format) \
    row(sigmf_format) \
    row(guppi_format) \
    row(dada_format) \
    row(digital_rf_format) \
    row(drx_format) \
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

#define FORMAT_DECLARED(name) extern const struct format name;
FORMATS(FORMAT_DECLARED)
FORMAT_DECLARED(described_format) /* what a job's input.layout describes */

/* The rest of "FILE is not" where a file shows no sign of the native layout. */
#define NATIVE_EXPECTED "in the native layout (no attribute format = \"voltage\")"

/* The format of what is at `path`; NULL: none. Fails with DATA. */
status_t formats_recognise(const char *path, const struct format **out);

/* The format of a file that is no HDF5; NULL: none, or it is one. Fails with DATA. */
status_t formats_find_other(const char *path, const struct format **out);

/* Fails with USAGE if such a file is there in place of `expected`; with DATA. */
status_t formats_expect(const char *path, const char *expected);

/* Opens voltages by the job's description, by the format that it names, or by that of the first
 * path. Fails as open(); with USAGE: no format has that name. */
status_t formats_open(const struct format_input *input, struct archive **out);

/* Opens a filterbank by its format. Fails with DATA: what is missing. */
status_t formats_open_filterbank(const char *path, struct fbh5 **out);

/* Appends the list of formats: "an archive in the native layout nor a filterbank, nor of another
 * ...". Fails with DEVICE (memory). */
status_t formats_add_titles(struct text *out);

#endif
