/* Files of a filter's coefficients: text or HDF5.
 *
 *   text   one coefficient a line: a number, or, of complex ones, two (0.5 -0.25) or what numpy's
 *          savetxt() writes, (0.5-0.25j); blank lines; # starts a comment
 *   HDF5   the dataset /coefficients, or the only one of the file, of rank 1: integers, floating
 *          point, or compounds of two such numbers (re, im); or of shape [taps][2], or a row or a
 *          column (as MATLAB 7.3 has it)
 *
 * FILE:NAME takes the dataset of that name. All of a dataset must be in the file itself.
 *
 * The first one, c[0], weighs the newest sample. Rank 0 reads them (apart, io/apart.h: main thread
 * only) and packs them; the others unpack. */
#ifndef VOLTMILL_INPUT_COEFFICIENTS_H
#define VOLTMILL_INPUT_COEFFICIENTS_H

#include "io/apart.h"
#include "io/pack.h"
#include "job/job.h"

/* Gives all filters and windows of the job that name a file, or a telescope, its coefficients: taps
 * of struct job_filter, values of struct job_window. Windows in text files get none:
 * dsp/fir/prototype.h reads these. Replaces those that the job has, some also when it fails. Fails
 * with DATA: file, line or dataset, and what is wrong there (missing, unless it is a window's, no
 * coefficients, no numbers, not finite, all 0, more than FIR_MOST_TAPS, ...). Fails with DEVICE
 * (memory, no child), STOPPED. Rank 0 calls it in its main thread. */
status_t coefficients_read(struct job *job);

/* Reads real coefficients of any FILE or FILE:NAME, `named`, as they are stored, c[0] first, into
 * *out [*count], for free(). Fails with DATA: file, line or dataset, and what is wrong there, also
 * if they are complex; with DEVICE (memory, no child), STOPPED; both outputs are unchanged then.
 * Main thread only. */
status_t coefficients_read_real(const char *named, double **out, uint64_t *count);

/* Splits the FILE or FILE:NAME of a job at the last colon: *path is the file, for free(), *member
 * the name, inside `named`, or NULL. The name of an existing file is not split. Fails with DEVICE
 * (memory), and leaves both unchanged. */
status_t coefficients_split(const char *named, char **path, const char **member);

/* Appends to `out` the coefficients of all filters and windows of the job that name a file or a
 * telescope, for coefficients_unpack(). Fails with DEVICE (memory): some may be appended, and the
 * status stays in out->status. */
status_t coefficients_pack(const struct job *job, struct text *out);
/* Reads what coefficients_pack() appended into the same job on another rank, in the place of those
 * that it has. Fails with DATA (bytes are missing, or wrong), DEVICE (memory): some may be replaced
 * then. */
status_t coefficients_unpack(struct unpack *in, struct job *job);

/* For the table of tasks (main.c). */
extern const struct description coefficients_description;

struct coefficients {
    double *values; /* [count]: one of each coefficient, or re and im in turns; free() */
    uint64_t count; /* of numbers */
    int is_complex;
};

#endif
