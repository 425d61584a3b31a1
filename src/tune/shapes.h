/* The dedispersion kernel as the tuner sees it: its space, what it is tuned for, and what is known
 * already. */
#ifndef VOLTMILL_TUNE_SHAPES_H
#define VOLTMILL_TUNE_SHAPES_H

#include "tune/statistics.h"
#include "tune/trial.h"

/* A problem in words, for the database and the log. */
struct tune_problem {
    struct text kernel, identity, words;
    double features[4];
    char hash[17]; /* of all of them, for the log */
};
/* tune_problem_free() in any case. Fails with DEVICE (memory). */
status_t tune_problem_of(backend_t *backend, const struct dedisperse_spec *spec,
                         struct tune_problem *out);
void tune_problem_free(struct tune_problem *problem);

/* All shapes that fit, or those with the wanted values (`only`, may be NULL: tune_filter_read()),
 * every `every`-th of them by the model's rank, or at most `most` (0: all) evenly over the ranks;
 * those of the array `also` that fit are among them. The trial must outlive it. No shapes at all is
 * no failure. Fails with USAGE (`only`), DEVICE (memory). */
typedef struct tune_shapes tune_shapes_t;
struct tune_thinning {
    const char *only;
    uint32_t every, most;
    const struct dedisperse_shape *also;
    uint32_t nalso;
    int is_only; /* none but these */
};
status_t tune_shapes_create(trial_t *trial, const struct tune_thinning *thinning,
                            tune_shapes_t **out);
void tune_shapes_destroy(tune_shapes_t *shapes);
const struct tune_space *tune_shapes_space(const tune_shapes_t *shapes);
const struct dedisperse_shape *tune_shapes_shape(const tune_shapes_t *shapes, uint32_t i);
/* Shapes that fit and have the wanted values. */
uint32_t tune_shapes_all(const tune_shapes_t *shapes);

/* What the database knows of a problem: the very one, or the nearest one with a shape that fits
 * this one, too. */
enum tune_found { TUNE_NOTHING, TUNE_EXACT, TUNE_NEAREST };

/* Looks a problem up in the database (NULL: the user's own). *shape is set unless it finds NOTHING,
 * and then `spec->shape = shape` runs it; `from` (may be NULL) gets the nearest problem's words,
 * for people. Whatever is wrong with the database is a warning. Not collective: on many ranks, one
 * looks and tells the others. Fails with DEVICE (memory). */
status_t tune_find(backend_t *backend, const struct dedisperse_spec *spec, const char *database,
                   struct dedisperse_shape *shape, enum tune_found *found, struct text *from);

/* Keeps what was found. A database that cannot be written is a warning. */
status_t tune_keep(backend_t *backend, const struct dedisperse_spec *spec, const char *database,
                   const struct dedisperse_shape *shape, double seconds);

/* Searches, and keeps the best in the database; *best is set if one is right. `log` may be NULL,
 * `thinning`, too. Fails as tune_search(). */
status_t tune_shapes_search(backend_t *backend, const struct dedisperse_spec *spec,
                            const struct tune_thinning *thinning,
                            const struct tune_options *options, tune_log_t *log,
                            const char *database, struct dedisperse_shape *best,
                            struct tune_summary *out);

/* What runs ask for that tune before they begin. */
struct tune_wish {
    const char *database;
    double budget;           /* seconds of the search */
    int (*is_stopped)(void); /* may be NULL */
};
/* The search that it means; a note that says what one did. */
struct tune_options tune_wished(const struct tune_wish *wish);
void tune_note(const char *what, const struct tune_summary *summary);

/* tune_find(), and if the very problem is not known, a guided search which is kept. *found is EXACT
 * then, or as tune_find() says where nothing could be timed. Says what it does in a note. Fails
 * with DEVICE. */
status_t tune_now(backend_t *backend, const struct dedisperse_spec *spec,
                  const struct tune_wish *wish, struct dedisperse_shape *shape,
                  enum tune_found *found);

#endif
