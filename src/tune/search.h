/* Searching a space for its fastest configuration. */
#ifndef VOLTMILL_TUNE_SEARCH_SEARCH_H
#define VOLTMILL_TUNE_SEARCH_SEARCH_H

#include "tune/log.h"

/* EXHAUSTIVE: all, in the model's order. RANDOM: all, in an order that the seed says. GUIDED: those
 * that the model likes best, the best one of each value of the first parameter among them, then
 * what is near the best that were found, until that finds nothing better any more. */
enum tune_method { TUNE_EXHAUSTIVE, TUNE_GUIDED, TUNE_RANDOM, TUNE_METHODS };
/* "exhaustive", "guided", "random". */
const char *tune_method_name(enum tune_method method);

struct tune_options {
    enum tune_method method;
    struct tune_time time; /* for the search, its setup and its turns */
    uint64_t memory;       /* bytes of this machine's that trials may take; 0: any number */
    uint64_t seed;
    const uint32_t *known; /* a configuration that takes part in any case; NULL: there is none */
    uint32_t limit;        /* most configurations to time beside that; 0: all */
    uint32_t repeats;      /* runs whose median counts */
    uint32_t rounds;       /* so many times the best ten are timed again in turns */
};

struct tune_result {
    enum tune_state state;
    double seconds; /* the median, of the turns where there were any */
    double spent;   /* seconds that timing it took, compiling included */
    uint32_t rounds;
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

/* Times configurations and finds the best of those that are right; a wrong one never wins. What
 * fails is passed over; none that is right at all is no failure. `problem` names it in the log.
 * Fails with NO_SPACE or DATA (the log), DEVICE (memory; eight configurations failed on the device
 * one after the other before any was right). tune_outcome_free() in any case. */
status_t tune_search(const struct tune_space *space, const struct tune_options *options,
                     tune_log_t *log, const char *problem, struct tune_outcome *out);
void tune_outcome_free(struct tune_outcome *outcome);

/* The search, played again over what another one has measured: nothing is timed. The outcome counts
 * the seconds that were spent then, and numbers what was tried then from 0 on: there is nothing
 * else in that space. Fails with DEVICE (memory). */
status_t tune_replay(const struct tune_space *space, const struct tune_options *options,
                     const struct tune_outcome *measured, struct tune_outcome *out);

#endif
