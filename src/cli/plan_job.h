/* Plan of a run, in words and units, as `voltmill plan` prints it on stdout. */
#ifndef VOLTMILL_CLI_PLAN_JOB_H
#define VOLTMILL_CLI_PLAN_JOB_H

#include "cli/options.h"
#include "run/passes.h"

/* Sets *run to the job of `run` and `plan`: a file; with "-" the text on stdin, or that of a
 * shell's <(...); without an operand options --set alone. A text that is not in a file goes into
 * *given, {0} before, which the caller frees by text_free(), also after a failure; only rank 0
 * reads it. *run points to `shared` and `given`; a file is not read yet. `list` is the file of
 * --list; NULL: not given. Fails with USAGE if job and list are both stdin, the text is HDF5, or
 * mpirun has not passed a <(...) on; with DATA if it cannot be read or has more than
 * YAML_FILE_BYTES bytes; with DEVICE (memory). */
status_t plan_job_take(const struct shared *shared, const char *list, struct text *given,
                       struct run_options *run);

/* Plans the job of the options as a run would, changes no file, and prints the plan by `print`. In
 * one process. Fails as the run would before its first chunk, with USAGE, DATA, DEVICE, STOPPED
 * (while a child process opens files), or as `print` does; with NO_SPACE only when all is printed.
 */
status_t plan_job_show(const struct run_options *options,
                       status_t (*print)(const struct run_plan *plan));
/* Prints a plan in words on stdout, for plan_job_show(). Fails with USAGE if a product cannot be
 * made in its folder, with DATA if that or a journal cannot be read, with DEVICE (memory,
 * descriptors). */
status_t plan_job_print(const struct run_plan *plan);

/* Returns the spacing of the channels of filter bank i, from 0, of a plan, in Hz. */
double plan_channel_hz(const struct channelise_plan *work, uint32_t i);

#endif
