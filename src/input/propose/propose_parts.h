/* Facts that a file states, and what is made of them. Uses HDF5: main thread only. Private to
 * input/propose/ but for propose_add_path(). */
#ifndef VOLTMILL_INPUT_PROPOSE_PROPOSE_PARTS_H
#define VOLTMILL_INPUT_PROPOSE_PROPOSE_PARTS_H

#include "base/text.h"
#include "base/units.h"
#include "io/hdf5/h5.h"
#include "job/job.h"

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
    enum propose_meaning means; /* MEANINGS: it is no known word */
    enum job_unit unit;         /* that it implies, or that is after it; NONE: none */
    int is_weak;                /* counts only where no other word of this meaning was found */
    uint32_t order;             /* of two facts of one meaning, that with the lower comes first */
};

/* Returns the word of `words`, which have blanks between them, that equals the first `length` bytes
 * of `text`, inside `words`; NULL: none does. */
const char *propose_word_among(const char *words, const char *text, size_t length);

/* Returns the known word that a name is, also with a unit after it ("FS_MHz"); its `means` is
 * MEANINGS if it is none. */
struct propose_word propose_word_of(const char *name);

/* Bytes of a name as propose_plain() writes it. */
enum { PROPOSE_NAME = 64 };
/* Copies letters and digits of a name in lower case to `out`, at most PROPOSE_NAME - 1 of them, and
 * a NUL. */
void propose_plain(const char *name, char out[PROPOSE_NAME]);

/* Returns the word (static) in the name of a dataset or dimension by which real numbers are powers,
 * or numbers are visibilities, which may be complex (`is_real` 0); NULL: none. */
const char *propose_power_word(const char *name, int is_real);

/* A value whose name is a known word. */
struct propose_fact {
    struct propose_word word;
    char *where;        /* "/group@name", "/dataset" */
    struct text quoted; /* the same as YAML has it */
    struct text shown;  /* "/@fs = 1.28e6 Hz" */
    char *text;         /* NULL: it is a number */
    char *member;       /* of a compound; NULL: it is none */
    int is_attribute;
    int is_of_data;     /* of a dataset of several values: counts for it alone */
    uint64_t count;     /* of values */
    double first, last; /* NAN: the text is no number */
    enum job_unit unit; /* by name, text, or an attribute beside it */
    int is_unknown;     /* a unit is stated, but none that is known, or two */
};

/* A dataset of numbers. */
struct propose_data {
    char *path;
    uint64_t numbers; /* a compound of two counts as two */
    int is_compound, is_unsigned;
    H5T_class_t class;
    size_t bytes; /* of a number */
    int rank;
    hsize_t dims[H5S_MAX_RANK];
};

struct propose_axes {
    int rank;
    enum axis axis[H5S_MAX_RANK]; /* AXIS_KINDS: open */
    int is_open;                  /* one of them is, or there are too many */
    int is_guess;                 /* some follow from sizes alone */
    uint64_t chans, times;        /* 1: there is no such axis */
    int is_real;
    enum propose_meaning contrary; /* states another size of an open axis; MEANINGS: none does */
    const char *power; /* a dimension's word by which real numbers are powers; or NULL */
};

struct proposal {
    const char *path;
    hid_t file;
    struct text *attributes; /* a line each */
    int lines;
    struct propose_fact *facts;
    size_t nfacts;
    struct propose_data *data;
    size_t ndata;
    const struct propose_data *re, *im; /* the samples; `im`: those are the real parts only */
    struct propose_axes axes;
    uint64_t multiple; /* channels of a filter bank are one of it; 0: of none */
    struct text *out;
};

/* Adds the value of an attribute of an open object to p->facts if its name is a known word and
 * fewer than 4096 are noted. It is a text, or up to 2^20 numbers, which are equal unless they are
 * frequencies; others change nothing. `name`: of the object, without the first slash. `is_of_data`
 * is 1 if the object is a dataset of several values. Fails with DATA if the file is unreadable;
 * with DEVICE (memory). Main thread only (HDF5). */
status_t propose_note_attribute(struct proposal *p, hid_t object, const char *name,
                                const char *attribute, int is_of_data);
/* Adds the value of an open dataset to p->facts if its name is a known word and fewer than 4096 are
 * noted. It is a text, a number, or a list of up to 2^20 frequencies, stored in the file itself;
 * others change nothing. `name`: of the dataset, without the first slash. Fails with DATA if the
 * file is unreadable; with DEVICE (memory). Main thread only (HDF5). */
status_t propose_note_dataset(struct proposal *p, hid_t dataset, const char *name);

/* Facts of one meaning or of two. */
enum { PROPOSE_FACTS = 16 /* of a meaning, at most */ };
struct propose_facts {
    size_t count;
    const struct propose_fact *all[2 * PROPOSE_FACTS];
};
/* Returns the facts of a meaning about the samples, the most important first, at most
 * PROPOSE_FACTS. Weak ones, or those of other datasets, are among them only if there are no others.
 * The facts belong to `p`. */
struct propose_facts propose_facts_of(const struct proposal *p, enum propose_meaning means);
/* Adds the facts of one other meaning to `facts`, of propose_facts_of(), after those that it has,
 * the most important first, at most PROPOSE_FACTS. Only once: there is no space for a third
 * meaning. The facts belong to `p`. */
void propose_facts_add(const struct proposal *p, enum propose_meaning means,
                       struct propose_facts *facts);
/* Returns the integer, from 1 to 2^53, that facts of this meaning state; 0: none does, or they
 * contradict each other. */
uint64_t propose_count_of(const struct proposal *p, enum propose_meaning means);

/* Frees all that p->facts points to, and the list. Call it once: the pointer stays. */
void propose_facts_free(struct proposal *p);

/* Appends facts as they are shown: `before`, then the facts, separated by commas; nothing without
 * facts. A failure, DEVICE (memory), is kept in out->status. */
void propose_add_facts(struct text *out, const char *before, const struct propose_facts *facts);
/* propose_add_quoted(): appends a text in quotes, for YAML; "???" for one that YAML cannot have.
 * propose_add_path(): appends a path or name, without quotes if it needs none. A failure, DEVICE
 * (memory), is kept in out->status. */
void propose_add_quoted(struct text *out, const char *text);
void propose_add_path(struct text *out, const char *path);
/* Writes a number to `text` in a form that YAML reads as one. Returns `text`; propose_number(): a
 * text of its own, which lasts to the end of the block. */
const char *propose_number_in(double value, char text[UNITS_TEXT]);
#define propose_number(value) propose_number_in(value, UNITS_OWN)

/* Append lines of a layout to p->out, with "???" for facts that are missing or contradictory.
 * propose_add_rate(): the sample rate and oversampling; sets p->multiple, too.
 * propose_add_frequencies(): the centres of coarse channels. propose_add_start(): the start. A
 * failure, DEVICE (memory), is kept in p->out->status. */
void propose_add_rate(struct proposal *p);
void propose_add_frequencies(const struct proposal *p);
void propose_add_start(const struct proposal *p);

#endif
