/* Tuning a case of a problem: looking up what the database knows of it, or searching now. The same
 * for all problems of tune/problem/. Nothing here is collective; a backend is one thread's at a
 * time. */
#ifndef VOLTMILL_TUNE_TUNING_H
#define VOLTMILL_TUNE_TUNING_H

#include "tune/search.h"

/* Result of a look-up in the database: the same case, or the nearest one whose configuration fits
 * this one. */
enum tune_found { TUNE_NOTHING, TUNE_EXACT, TUNE_NEAREST };

/* Options of searches. */
struct tune_request {
    struct tune_options search; /* without its time, which is a share of the budget */
    struct tune_budget *budget; /* shared by all that is tuned */
    const char *database;       /* NULL: the user's own */
    tune_log_t *log;            /* may be NULL */
    const char *only;           /* struct tune_pick */
    uint32_t every, most;
};

struct tuning {
    const struct tune_problem *problem;
    backend_t *backend;
    const void *spec;
    struct tune_key key;
    enum tune_found found;
    uint32_t values[TUNE_PARAMETERS]; /* the configuration, unless NOTHING is found */
    struct text from;                 /* the case that the nearest record is of, for people */
    struct text record;          /* of the very case, whether it fits or not; data NULL: none */
    double searched;             /* of `record`, then of the result: struct store_record */
    enum tune_state known_state; /* of the configuration of `record`, after a search; WRONG: it is
                                    not in the space */
    /* After a search: */
    struct tune_space space; /* tuning_search_picked() leaves it until tuning_end() */
    struct tune_outcome outcome;
    struct tune_summary summary;
};

/* Looks a case, `spec` of the type that problems.h states, up in the database (NULL: the user's
 * own). Overwrites *out. Failures of the database are warnings. On many ranks, one calls this and
 * sends the result to the others. `backend` and `spec` must outlive the tuning. The caller calls
 * tuning_end() in any case. Fails with USAGE if the requested method of a filter cannot do the
 * case; with DEVICE (memory). */
status_t tuning_begin(const struct tune_problem *problem, backend_t *backend, const void *spec,
                      const char *database, struct tuning *out);
/* Frees the space, results and texts of a tuning. Takes {0}; may be repeated. */
void tuning_end(struct tuning *tuning);

/* Searches within the problem's share of the budget, to which the time is added in any case, sets
 * tuning->values to the fastest correct configuration, if there is one, and stores it in
 * request->database (which fails only for memory, else warns). The configuration of the database
 * takes part. `also` (may be NULL), [nparameters], is a configuration to begin with. If the budget
 * is spent, nothing is timed, and the summary is_cut. Fails as tune_search(), with NO_SPACE, DATA
 * (the log), DEVICE; as the problem's begin(), with USAGE, DEVICE; with DEVICE (memory). One
 * search, of either kind, for a tuning. */
status_t tuning_search(struct tuning *tuning, const struct tune_request *request,
                       const uint32_t *also);
/* Searches the picked configurations within options->time, without regard to the budget. Sets
 * tuning->values to the fastest correct one, if there is any, `found` to TUNE_EXACT then, and
 * outcome and summary. Stores nothing: tuning_keep() does. The configuration of the database, if it
 * is in the space, replaces options->known. `log` may be NULL. If the time is over (the summary
 * is_cut), or none fits, nothing is timed, and the values stay. Fails as tuning_search(): USAGE,
 * NO_SPACE, DATA, DEVICE; the values are unchanged then. */
status_t tuning_search_picked(struct tuning *tuning, const struct tune_pick *pick,
                              const struct tune_options *options, tune_log_t *log);
/* Stores the result of the search in `database` (NULL: the user's own) by store_put(), if it found
 * a correct configuration; tuning->record is `settled` there, unless its configuration was left
 * untried. A database that cannot be written is a warning. Fails with DEVICE (memory). */
status_t tuning_keep(struct tuning *tuning, const char *database);
/* Stores any configuration of the tuning's case, values [nparameters], in `database` (NULL: the
 * user's own) by store_put(). `seconds` is its median, `searched` as in struct store_record;
 * `settled` as for store_put(). A database that cannot be written is a warning. Fails with DEVICE
 * (memory). */
status_t tuning_put(const struct tuning *tuning, const char *database, const uint32_t *values,
                    double seconds, double searched, const char *settled);

/* For runs that tune before they begin, after tuning_begin(): if the case is unknown, or from a
 * search that had less time than is left now, searches as tuning_search(), but stores nothing.
 * Reports this in a note, or that the budget is spent. A search that does not fit is a warning
 * (tuning_forgive()). `also` may be NULL: the nearest case's. Nothing once a stop is requested.
 * Adds to budget->spent. tuning->summary.timed > 0: tuning_keep() is to follow. Fails with DEVICE
 * (memory, the device), and NO_SPACE or DATA (the log). */
status_t tuning_now(struct tuning *tuning, const struct tune_request *request,
                    const uint32_t *also);

/* Replaces the status `st` of a failure by STATUS_OK and a warning with the recorded cause, which
 * is cleared, if it is USAGE, or DEVICE because the device's memory was full (backend_was_full(),
 * which is cleared). Returns other statuses unchanged. For searches that are optional. */
status_t tuning_forgive(const struct tune_problem *problem, backend_t *backend, status_t st);

/* Sets *out to whether a database (NULL: the user's own) has a record for a case, `spec` of the
 * type that problems.h states, on any device of a kind of backend. Without one, no backend need be
 * opened for a look-up. A database that cannot be read is a warning. Fails with DEVICE (memory);
 * *out is 0 then. */
status_t tuning_is_known(const struct tune_problem *problem, enum backend_kind kind,
                         const void *spec, const char *database, int *out);

/* The automatic choice: the few configurations that are known to be good, timed once for a case and
 * device, and remembered in the user's cache folder.
 *
 * Sets `values` to the fastest configuration of `list` (those that the problem's begin() gives for
 * `is_few`), measured in `memory` bytes of this machine (0: no limit). A list of one is only
 * verified.
 *
 *   list     uint32 [count][nparameters]; 0 of them: nothing is done
 *   values   [nparameters] in: the one by rule, which stays where nothing is to be measured, none
 *            can be, too little memory is there (with several in the list a warning), or
 *            after a failure
 *   kind     of entries in the cache folder
 *
 * Fails with DEVICE: those that could be built are all wrong; memory; with several in the list also
 * failures of the device. */
status_t tune_few(const struct tune_problem *problem, backend_t *backend, const void *spec,
                  const char *kind, const uint32_t *list, uint32_t count, uint64_t memory,
                  uint32_t *values);

#endif
