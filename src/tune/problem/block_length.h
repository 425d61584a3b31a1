/* Lengths of a filter bank's blocks as the tuner sees them: how many spectra, of all streams
 * together, are set to work at once. Chunks follow from that where the job leaves them open. No
 * byte of a product depends on it. */
#ifndef VOLTMILL_TUNE_PROBLEM_BLOCK_LENGTH_H
#define VOLTMILL_TUNE_PROBLEM_BLOCK_LENGTH_H

#include "compute/backend.h"
#include "tune/problem/dedispersion.h"

/* Whether a database (NULL: the user's own) has lengths for such a filter bank at all, of whatever
 * device: without one it is not worth opening a backend to look. Fails with DEVICE (memory). */
status_t tune_block_length_are_known(enum backend_kind kind, const struct channelise_spec *spec,
                                     const char *database, int *out);

/* The length that the database has for this filter bank, or the nearest one; 0: nothing is known.
 * Fails with DEVICE (memory). */
status_t tune_block_length_find(backend_t *backend, const struct channelise_spec *spec,
                                const char *database, uint64_t *spectra, enum tune_found *found);

/* Searches, and keeps the best in the database; *best is set if there is one. The spec's choice is
 * how the blocks are done, `suits` the length that a run would take. What the database has takes
 * part. Nothing is timed, and the summary is_cut, when the options' time is over before. `log` may
 * be NULL. Fails as tune_search() and block_trial_create(). */
status_t tune_block_length_search(backend_t *backend, const struct channelise_spec *spec,
                                  uint64_t suits, const struct tune_options *options,
                                  tune_log_t *log, const char *database, uint64_t *best,
                                  struct tune_summary *out);

/* tune_block_length_find(), and if the very problem is not known, or from a search only that had
 * less time than there is, a guided search which is kept. Says what it does in a note; a trial that
 * does not fit is a warning. Fails with DEVICE. */
status_t tune_block_length_now(backend_t *backend, const struct channelise_spec *spec,
                               uint64_t suits, const struct tune_wish *wish, uint64_t *spectra,
                               enum tune_found *found);

#endif
