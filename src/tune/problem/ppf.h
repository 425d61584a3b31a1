/* Filter banks as the tuner sees them: their space, what they are tuned for, and what is known
 * already. */
#ifndef VOLTMILL_TUNE_PROBLEM_PPF_H
#define VOLTMILL_TUNE_PROBLEM_PPF_H

#include "compute/backend.h"
#include "tune/problem/dedispersion.h"

/* What kernel it is that a filter bank is tuned by; problems of others are not near. Fails with
 * DEVICE (memory). */
status_t tune_ppf_kernel(enum backend_kind kind, const struct channelise_spec *spec,
                         struct text *out);

/* A filter bank's problem in words; tune_problem_free() in any case. Fails with DEVICE (memory). */
status_t tune_ppf_problem(backend_t *backend, const struct channelise_spec *spec,
                          struct tune_problem *out);

/* Looks a filter bank up in the database (NULL: the user's own). *choice is set unless it finds
 * NOTHING; it has no plan of FFTW: channelise_choose() makes it complete. Other ways may round
 * otherwise, so what a run has begun with must be kept with it. Fails with DEVICE (memory). */
status_t tune_ppf_find(backend_t *backend, const struct channelise_spec *spec, const char *database,
                       struct channelise_choice *choice, enum tune_found *found);

/* Searches, and keeps the best in the database; *best is set if one is right. What the database has
 * takes part. Nothing is timed, and the summary is_cut, when the options' time is over before.
 * `log` may be NULL. Fails as tune_search() and ppf_trial_create(). */
status_t tune_ppf_search(backend_t *backend, const struct channelise_spec *spec,
                         const struct tune_options *options, tune_log_t *log, const char *database,
                         struct channelise_choice *best, struct tune_summary *out);

/* tune_ppf_find(), and if the very problem is not known, or from a search only that had less time
 * than there is, a guided search which is kept. Says what it does in a note; a trial that does not
 * fit is a warning. Fails with DEVICE. */
status_t tune_ppf_now(backend_t *backend, const struct channelise_spec *spec,
                      const struct tune_wish *wish, struct channelise_choice *choice,
                      enum tune_found *found);

#endif
