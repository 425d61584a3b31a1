/* Opening archives and filterbanks: in this process, and what child processes do for
 * archive_open(), fbh5_open(), fbh5_load_band() and fbh5_check_even() (io/apart.h). */
#ifndef VOLTMILL_ARCHIVE_OPEN_H
#define VOLTMILL_ARCHIVE_OPEN_H

#include "input/archive.h"
#include "io/apart.h"

/* As archive_open(), always in this process. */
status_t archive_open_here(const struct job *job, struct archive **out);

/* One file or more (names or patterns, as input.files) of a known format of voltages, with
 * everything selected, whatever is lost of it. Fails with DATA; with USAGE, what a job must say.
 * Uses HDF5, in this process. */
status_t archive_open_files(char **files, uint32_t count, struct archive **out);

/* Fills first_sample, samples, selected and nstreams of an archive that is whole but for that.
 * Fails with USAGE: what it does not hold. */
status_t open_select(const struct job_select *select, struct archive *archive);

/* For the table of tasks (cli/serve.c). */
extern const struct apart_task archive_open_task, fbh5_open_task, fbh5_load_band_task,
    fbh5_check_even_task;

#endif
