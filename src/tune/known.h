/* What a problem is called, what the database has for it when a search begins, and what it gets
 * when that has ended. */
#ifndef VOLTMILL_TUNE_KNOWN_H
#define VOLTMILL_TUNE_KNOWN_H

#include "tune/search/search.h"
#include "tune/store.h"

/* A problem in words, for the database and the log. */
struct tune_problem {
    struct text kernel, identity, words;
    double features[STORE_FEATURES];
    char hash[17]; /* of all of them, for the log */
};
/* Settles the hash of what is there otherwise. Fails with DEVICE (memory). */
status_t tune_problem_end(struct tune_problem *problem);
void tune_problem_free(struct tune_problem *problem);
/* As the database has it; its texts are the problem's. */
struct store_key tune_problem_key(const struct tune_problem *problem);

/* The record of the very problem. Its way takes part in a search, so that the two are compared in
 * the same weather. */
struct tune_known {
    struct text words; /* data NULL: there is none */
    double searched;   /* as struct store_record has it */
    int can_be;        /* it is in the space that is searched */
    uint32_t index;    /* there */
};
/* Takes it from what store_find() has found; tune_known_free() in any case. Fails with DEVICE
 * (memory). */
status_t tune_known_of(const struct store_record *found, uint32_t count, struct tune_known *out);
void tune_known_free(struct tune_known *known);

/* Keeps the best of a search, if there is one. `is_thinned`: there were ways that the space left
 * out. *searched (may be NULL) gets what the record says of it. A database that cannot be written
 * is a warning. Fails with DEVICE (memory). */
status_t tune_known_keep(const struct tune_known *known, const struct tune_problem *problem,
                         const char *database, const struct tune_space *space,
                         const struct tune_outcome *outcome, int is_thinned, double *searched);

#endif
