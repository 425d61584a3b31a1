/* A problem of the tuner: a descriptor, which is a file of tune/problem/ and a row of its table.
 * The engine (tuning.h) looks up and searches; the descriptor says what the parameters are, what a
 * case is called, and how its configurations are listed and timed. */
#ifndef VOLTMILL_TUNE_PROBLEM_H
#define VOLTMILL_TUNE_PROBLEM_H

#include "compute/backend.h"
#include "tune/store.h"

/* A configuration is a row of numbers, one a parameter. */
enum { TUNE_PARAMETERS = 24 };

struct tune_parameter {
    const char *name;
    uint32_t least, most;
    const char *(*value)(uint32_t number); /* its values have names; NULL: they are numbers */
};

/* A case in words, for the database and the log. */
struct tune_key {
    struct text kernel, identity, words;
    double features[STORE_FEATURES];
    char hash[17]; /* of the three texts, for the log */
};

/* Selection of the fitting configurations for a search: all; or those with the given values
 * (`only`, may be NULL: "time_out=1/2/4,chunk=8"), every `every`-th of them by rank, or at most
 * `most` (0: all) evenly over the ranks. Rows of `also` and `known` that fit are among them in any
 * case, the first ones and the last one. A problem that lists few configurations lists them all. */
struct tune_pick {
    const char *only;
    uint32_t every, most; /* every 0: 1 */
    int is_few;           /* those that are known to be good */
    int is_only;          /* none but `also` */
    const uint32_t *also; /* [nalso][nparameters] */
    uint32_t nalso;
    const uint32_t *known; /* [nparameters]; may be NULL */
};

struct tune_space;

/* Descriptor of a problem. The type of `spec` is stated in problems.h. */
struct tune_problem {
    const char *name;  /* in the database */
    uint32_t version;  /* of the meaning of its parameters: records of another version are
                          ignored */
    const char *title; /* in notes and warnings: "the filter bank" */
    double far;        /* octaves of features beyond which a record is of no use; 0: none is */
    uint32_t nparameters;
    const struct tune_parameter *parameters; /* [nparameters] */
    /* Write a configuration as a line without commas and tabs, and read it (0: it is none). Both
     * NULL: the default form, "kernel=fused batch=5", without parameters that are 0. words()
     * appends to `out` and fails with DEVICE (memory). */
    status_t (*words)(const uint32_t *values, struct text *out);
    int (*parse)(const char *words, uint32_t *values);
    /* Sets the identity that a record must share to be of use, beside the device. */
    status_t (*kernel)(enum backend_kind kind, const void *spec, struct text *out);
    /* Sets identity, words and features of a case. */
    status_t (*describe)(backend_t *backend, const void *spec, struct tune_key *out);
    /* Sets *out to whether this case can use a configuration that another case was tuned to. NULL:
     * if it is among its candidates, [count][nparameters], which free() returns. */
    status_t (*fits)(backend_t *backend, const void *spec, const uint32_t *values, int *out);
    status_t (*candidates)(backend_t *backend, const void *spec, void *out, uint32_t *count);
    /* Lists what is picked, and prepares to time it in `memory` bytes of this machine's (0: any
     * number); no configuration at all is no failure. *out is {0} before; end() in any case in
     * which out->context is set. Fails with USAGE (too little memory, a wrong `only`, a requested
     * kernel or method that cannot do the case), DEVICE. */
    status_t (*begin)(backend_t *backend, const void *spec, const struct tune_pick *pick,
                      uint64_t memory, struct tune_space *out);
    void (*end)(struct tune_space *space);
};

/* Appends a configuration, values [nparameters], in words (struct tune_problem). Fails with DEVICE
 * (memory); `out` may have a part of them then. */
status_t tune_problem_words(const struct tune_problem *problem, const uint32_t *values,
                            struct text *out);
/* Reads a configuration in words, as tune_problem_words() writes it, into values [nparameters].
 * Returns 1; 0, and leaves `values` unchanged, if the words are no configuration or one out of
 * range, or without memory. */
int tune_problem_parse(const struct tune_problem *problem, const char *words, uint32_t *values)
    __attribute__((warn_unused_result));

/* Sets *out to whether a case, `spec` of the type that problems.h states, can use a configuration,
 * values [nparameters]. Fails with USAGE if the requested method cannot do the case, as
 * filter_candidates(); with DEVICE (memory). *out is undefined then. */
status_t tune_problem_fits(const struct tune_problem *problem, backend_t *backend, const void *spec,
                           const uint32_t *values, int *out);

/* Makes the key of a case, `spec` of the type that problems.h states. Overwrites *out; the caller
 * calls tune_key_free() in any case. Fails with DEVICE (memory). */
status_t tune_key_of(const struct tune_problem *problem, backend_t *backend, const void *spec,
                     struct tune_key *out);
/* Frees the texts of a key, which are empty then. Takes {0}; may be repeated. */
void tune_key_free(struct tune_key *key);
/* Returns a key as the database has it; its texts belong to `key`. */
struct store_key tune_key_stored(const struct tune_key *key);

#endif
