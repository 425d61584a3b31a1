/* Searching a space for its fastest configuration: configurations of a problem that fit a device
 * and a case, found by constraints before anything is compiled, and how to time one. Statistics are
 * those of Sclocco et al. 2014. */
#ifndef VOLTMILL_TUNE_SEARCH_H
#define VOLTMILL_TUNE_SEARCH_H

#include "tune/problem.h"
#include "tune/trial.h"

enum tune_state { TUNE_UNTRIED, TUNE_OK, TUNE_WRONG, TUNE_FAILED };

/* The log of a tuner: one line of CSV for every configuration that was timed. A tuner that is
 * killed and begun again finds in it what it need not time twice. */
typedef struct tune_log tune_log_t;

/* Opens or makes the log at `path` and reads its entries, for tune_log_close(); a new or empty one
 * gets its first line. A line that is cut short or malformed is skipped with a warning. With NULL
 * as path, nothing is stored. Fails with USAGE if the file is no log (another text, HDF5, a NUL
 * byte); with DATA (no ordinary file, unreadable, not writable, above 256 MiB), NO_SPACE, DEVICE
 * (memory); *out is unchanged then. */
status_t tune_log_open(const char *path, tune_log_t **out);
/* Closes the file of a log and frees the log. Takes NULL. */
void tune_log_close(tune_log_t *log);
SCOPED_END(tune_log_close, tune_log_t *)

/* Configuration i is values[i].
 *
 *   values    uint32 [count][nparameters]   by rank, the most promising first: the model's where
 *                                           there is one, else as those who made the kernel think
 *   costs     double [count]                seconds that the model expects; NULL: there is none
 */
struct tune_space {
    const struct tune_problem *problem;
    void *context;
    uint32_t count;
    const uint32_t *values;
    const double *costs;
    uint32_t fit;   /* configurations before thinning */
    int is_thinned; /* there are others that fit */
    /* Compiles `count` configurations of the list, at most `ahead`, in parallel, before they are
     * timed; NULL: nothing to compile. Begins none after the end of the time. Sets done[k] for
     * those that it has compiled. time() reports failures. */
    void (*prepare)(void *context, const uint32_t *list, uint32_t count,
                    const struct tune_time *time, unsigned char *done);
    uint32_t ahead;
    /* Times and verifies configuration i, with fewer repeats after the end of the time: the median
     * counts. Fails with USAGE (impossible configuration), DEVICE. */
    status_t (*time)(void *context, uint32_t i, uint32_t repeats, const struct tune_time *time,
                     struct trial_times *out);
};

/* Returns the parameters [nparameters] of configuration i, from 0, below space->count; they are the
 * space's. */
const uint32_t *tune_space_values(const struct tune_space *space, uint32_t i);
/* Sets *out to the number, from 0, of a configuration, values [nparameters], in the space, and
 * returns 1. Returns 0 if it is missing; *out is unchanged then. */
int tune_space_find(const struct tune_space *space, const uint32_t *values, uint32_t *out);

struct tune_options {
    /* 1: times the configurations that the model ranks first, with the best one for each value of
     * the first parameter; then neighbours of the fastest, until none is faster. 0: times all, in
     * the order of their ranks. */
    int is_guided;
    void (*shuffle)(uint32_t *list, uint32_t count, uint64_t seed); /* another order; may be NULL */
    struct tune_time time; /* for the search, its setup and its turns */
    uint64_t memory;       /* bytes of this machine's that trials may take; 0: any number */
    uint64_t seed;
    const uint32_t *known; /* number of a configuration that takes part, unless the time is over
                              before its turn, the last; NULL: none */
    uint32_t limit;        /* most configurations to time beside that; 0: all */
    uint32_t repeats;      /* runs whose median counts, at least 1 */
    uint32_t rounds;       /* times that the best ten are timed again in turns, at most 16 */
};

struct tune_result {
    enum tune_state state;
    double seconds;  /* the median, of the turns where there were any */
    double spent;    /* seconds that timing it took, compiling included */
    uint32_t rounds; /* turns that were right */
};

struct tune_outcome {
    struct tune_result *results; /* [space->count] */
    uint32_t best;               /* only when ok > 0 */
    uint32_t ok, wrong, failed;
    uint32_t recalled; /* of them from the log */
    double spent;      /* seconds of all of them, in earlier runs, too */
    double compiling;  /* seconds of this run that compiling ahead took */
    int is_cut;        /* its time was over, or it was stopped, before it came to its end */
    double searched;   /* as struct store_record has it */
};

/* Times configurations (at least one is in the space) and finds the fastest correct one. Skips
 * those that fail, whose causes are cleared; finding no correct one is no failure. Results in `log`
 * (may be NULL: none), where `problem` names the problem, are not timed again, and new ones are
 * added. Fails with NO_SPACE or DATA (the log), DEVICE (memory; eight configurations failed on the
 * device one after the other before any was right). tune_outcome_free() in any case. */
status_t tune_search(const struct tune_space *space, const struct tune_options *options,
                     tune_log_t *log, const char *problem, struct tune_outcome *out);
/* Frees outcome->results, which is NULL then. Takes {0}; may be repeated. */
void tune_outcome_free(struct tune_outcome *outcome);

/* Statistics of the rates, 1 / seconds, of the configurations that are right. */
struct tune_statistics {
    uint32_t count;
    double best, mean, median, deviation; /* 1 / s; the deviation of the space itself: / count */
    double signal_to_noise;               /* (best - mean) / deviation; 0 for fewer than two */
};
/* Computes the statistics of the outcome of a search in this space; zeros if no configuration is
 * right. Fails with DEVICE (memory). */
status_t tune_statistics(const struct tune_space *space, const struct tune_outcome *outcome,
                         struct tune_statistics *out);

/* A search in numbers. */
struct tune_summary {
    uint32_t fit, timed, wrong, failed, recalled;
    int is_cut;
    double spent, compiling; /* seconds, as struct tune_outcome has them */
    double seconds;          /* of the best; 0: none is right */
    struct tune_statistics statistics;
};

#endif
