/* Words by which files name rate, frequency, start and sizes, and their units. Private to
 * input/propose/. */
#ifndef VOLTMILL_ARCHIVE_PROPOSE_PROPOSE_WORDS_H
#define VOLTMILL_ARCHIVE_PROPOSE_PROPOSE_WORDS_H

#include "job/job.h"

#include <stddef.h>

enum propose_meaning {
    MEANS_RATE,     /* samples per second of a stream */
    MEANS_PERIOD,   /* from one sample to the next */
    MEANS_BAND,     /* of all coarse channels */
    MEANS_WIDTH,    /* of a coarse channel */
    MEANS_STEP,     /* from one coarse channel to the next, with its sign */
    MEANS_CENTRE,   /* frequency at the centre of the band, or centres of all coarse channels */
    MEANS_FIRST,    /* frequency of the first coarse channel */
    MEANS_START,    /* time of the first sample */
    MEANS_DAY,      /* its Modified Julian Day, */
    MEANS_SECOND,   /* second of that day, */
    MEANS_FRACTION, /* and the rest of it */
    MEANS_CHANS,    /* sizes */
    MEANS_POLS,
    MEANS_STATIONS,
    MEANS_BEAMS,
    MEANS_TIMES,
    MEANS_SIDEBAND,
    MEANS_TELESCOPE, /* names */
    MEANS_SOURCE,
    MEANS_DIMS,  /* names of dimensions */
    MEANS_ASIDE, /* a dataset that holds no samples, whatever its size */
    MEANINGS
};

struct propose_word {
    const char *word; /* lower case, letters and digits only */
    enum propose_meaning means;
    enum job_unit unit; /* that the word implies; NONE: none */
    int is_weak;        /* counts only where no other word of this meaning was found */
};

/* The word that a name is, also with a unit behind it ("FS_MHz"), which goes to *unit; NULL: none.
 * Of two facts, that with the earlier word in the table comes first. */
const struct propose_word *propose_word_of(const char *name, enum job_unit *unit);

/* The unit in a text such as "MHz" or "seconds"; *is_known = 0 where it is another. Empty: NONE. */
enum job_unit propose_unit_of(const char *text, int *is_known);

/* Whether values of a meaning can have a unit. */
int propose_may_have(enum propose_meaning means, enum job_unit unit);

/* Copies letters and digits of a name in lower case. */
enum { PROPOSE_NAME = 64 };
void propose_plain(const char *name, char out[PROPOSE_NAME]);

/* The word in the name of a dataset or dimension by which real numbers are powers; NULL: none. */
const char *propose_power_word(const char *name);

#endif
