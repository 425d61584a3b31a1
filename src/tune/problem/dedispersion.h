/* The dedispersion kernel as the tuner sees it: its space, what it is tuned for, and what is known
 * already. */
#ifndef VOLTMILL_TUNE_PROBLEM_DEDISPERSION_H
#define VOLTMILL_TUNE_PROBLEM_DEDISPERSION_H

#include "tune/known.h"
#include "tune/problem/dedispersion_trial.h"
#include "tune/statistics.h"

/* tune_problem_free() in any case. Fails with DEVICE (memory). */
status_t tune_problem_of(backend_t *backend, const struct dedisperse_spec *spec,
                         struct tune_problem *out);

/* All shapes that fit, or those with the wanted values (`only`, may be NULL: tune_filter_read()),
 * every `every`-th of them by the model's rank, or at most `most` (0: all) evenly over the ranks;
 * those of the array `also` that fit are among them. The trial must outlive it. No shapes at all is
 * no failure. Fails with USAGE (`only`), DEVICE (memory). */
typedef struct tune_dedispersion tune_dedispersion_t;
struct tune_thinning {
    const char *only;
    uint32_t every, most;
    const struct dedisperse_shape *also;
    uint32_t nalso;
    int is_only;                          /* none but these */
    const struct dedisperse_shape *known; /* is there, too, however thin; may be NULL */
};
status_t tune_dedispersion_create(dedispersion_trial_t *trial, const struct tune_thinning *thinning,
                                  tune_dedispersion_t **out);
void tune_dedispersion_destroy(tune_dedispersion_t *shapes);
const struct tune_space *tune_dedispersion_space(const tune_dedispersion_t *shapes);
const struct dedisperse_shape *tune_dedispersion_shape(const tune_dedispersion_t *shapes,
                                                       uint32_t i);
/* Shapes that fit and have the wanted values. */
uint32_t tune_dedispersion_all(const tune_dedispersion_t *shapes);
/* The number of a shape; 0 when it is not there. */
int tune_dedispersion_find(const tune_dedispersion_t *shapes, const struct dedisperse_shape *shape,
                           uint32_t *out);
/* Whether there are others that fit. */
int tune_dedispersion_is_thinned(const tune_dedispersion_t *shapes);

/* What the database knows of a problem: the very one, or the nearest one with a shape that fits
 * this one, too. */
enum tune_found { TUNE_NOTHING, TUNE_EXACT, TUNE_NEAREST };

/* Looks a problem up in the database (NULL: the user's own). *shape is set unless it finds NOTHING,
 * and then `spec->shape = shape` runs it; `from` (may be NULL) gets the nearest problem's words,
 * for people. Whatever is wrong with the database is a warning. Not collective: on many ranks, one
 * looks and tells the others. Fails with DEVICE (memory). */
status_t tune_find(backend_t *backend, const struct dedisperse_spec *spec, const char *database,
                   struct dedisperse_shape *shape, enum tune_found *found, struct text *from);

/* What a search begins with: the problem, what is known of it, and the shape of that if
 * known.can_be. tune_dedispersion_start_free() in any case. */
struct tune_dedispersion_start {
    struct tune_problem problem;
    struct tune_known known;
    struct dedisperse_shape shape;
};
status_t tune_dedispersion_begin(backend_t *backend, const struct dedisperse_spec *spec,
                                 const char *database, struct tune_dedispersion_start *out);
void tune_dedispersion_start_free(struct tune_dedispersion_start *start);
/* Looks what is known up among shapes, for tune_search() and tune_known_keep(): gives its number,
 * or NULL. */
const uint32_t *tune_dedispersion_place(struct tune_dedispersion_start *start,
                                        const tune_dedispersion_t *shapes);

/* Searches, and keeps the best in the database; *best is set if one is right. Nothing is timed, and
 * the summary is_cut, when the options' time is over before. `log` may be NULL, `thinning`, too:
 * what the database has takes part in any case. Fails as tune_search(). */
status_t tune_dedispersion_search(backend_t *backend, const struct dedisperse_spec *spec,
                                  const struct tune_thinning *thinning,
                                  const struct tune_options *options, tune_log_t *log,
                                  const char *database, struct dedisperse_shape *best,
                                  struct tune_summary *out);

/* What runs ask for that tune before they begin. */
struct tune_wish {
    const char *database;
    struct tune_budget *budget; /* shared by all that is tuned */
    uint64_t memory;            /* struct tune_options: of filter banks */
};
/* The search that it means, from now on. */
struct tune_options tune_wished(const struct tune_wish *wish);
/* Whether it is to be: nothing is known of the very problem, or what a search has found that had
 * less time. Says so when there is no time for it. */
int tune_is_wanted(const char *what, enum tune_found found, const struct tune_known *known,
                   const struct tune_time *time);
/* How a search has ended for a run, which goes on without one that does not fit, with a warning:
 * its blocks can be smaller than a trial's, and it has no reference beside it. */
status_t tune_forgive(const char *what, backend_t *backend, status_t st);
/* A note that says what one did. */
void tune_note(const char *what, const struct tune_summary *summary);

/* tune_find(), and if the very problem is not known, or from a search only that had less time than
 * there is, a guided search which is kept. *found is EXACT then, or as tune_find() says where
 * nothing could be timed. Says what it does in a note. Fails with DEVICE. */
status_t tune_now(backend_t *backend, const struct dedisperse_spec *spec,
                  const struct tune_wish *wish, struct dedisperse_shape *shape,
                  enum tune_found *found);

#endif
