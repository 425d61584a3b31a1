/* Opening observations: voltages and filterbanks, of any format. Main thread only. */
#ifndef VOLTMILL_INPUT_OPEN_H
#define VOLTMILL_INPUT_OPEN_H

#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "io/apart.h"

/* Opens the files of the job's input (globs expanded; by the format that their contents show, or by
 * the job's description), checks them against each other and applies the selection. The caller
 * calls archive_destroy(*out), NULL before, in any case. Uses HDF5, apart if this process does so.
 * Fails with DATA: file, place, value, expected value (missing, unreadable, contradicting files,
 * samples that are lost without run.on_bad: nan). Fails with USAGE: a selection that the archive
 * does not have, a description that states too little or too much, a file that is listed twice,
 * external files that the job does not allow. Fails with DEVICE (memory, descriptors, no child),
 * STOPPED. Not collective: rank 0 calls it in its main thread. */
status_t archive_open(const struct job *job, struct archive **out);

/* Opens `files` [count] (names or patterns, as input.files) of a known format of voltages, with
 * everything selected, even if elements are missing; external files are allowed. May warn; what is
 * assumed is in (*out)->assumed. `layout`: YAML of input.layout, which describes them; NULL: they
 * say all themselves. The caller calls archive_destroy(*out), NULL before, in any case. Uses HDF5,
 * in this process. Fails with DATA: missing, unreadable, of no known format, contradicting; with
 * USAGE if a layout has mistakes or must state more, or a file is listed twice; with DEVICE
 * (memory, descriptors). Main thread only. */
status_t archive_open_files(char **files, uint32_t count, const char *layout, struct archive **out);

/* FBH5_BAND: loads the frequencies of channels (fbh5_load_band()); FBH5_EVEN: checks them
 * (fbh5_check_even()). */
enum fbh5_wants { FBH5_HEADER = 0, FBH5_BAND = 1, FBH5_EVEN = 2 };

/* Opens a filterbank of any format, and does what `wants` (bits of enum fbh5_wants) says.
 * fbh5_destroy() frees *out, which is NULL after a failure. Uses HDF5: apart if this process does
 * so. Fails with DATA: the file, what is wrong and what was expected; with DEVICE (memory,
 * descriptors, no child), STOPPED. Main thread only. */
status_t fbh5_open(const char *path, enum fbh5_wants wants, struct fbh5 **out);

/* Opens a filterbank in HDF5 that this process has written, for its header. The caller calls
 * fbh5_destroy(*out), NULL before, in any case. Uses HDF5, in this process. Fails with DATA
 * (missing, unreadable, no filterbank), DEVICE (memory, descriptors). Main thread only. */
status_t fbh5_open_own(const char *path, struct fbh5 **out);

/* For the table of main.c. */
extern const struct description archive_description, fbh5_description;

#endif
