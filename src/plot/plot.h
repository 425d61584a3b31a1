/* `voltmill plot`: pictures of products, of a job's filter bank, of tables of benchmarks and of the
 * tuner, drawn by gnuplot. docs/plot.md shows them. */
#ifndef VOLTMILL_PLOT_PLOT_H
#define VOLTMILL_PLOT_PLOT_H

#include "archive/storage/external.h"
#include "base/text.h"
#include "plot/draw/figure.h"

enum plot_of { PLOT_PRODUCT, PLOT_FILTER, PLOT_BENCH, PLOT_TUNER };

/* What of a product is drawn. */
struct plot_choice {
    const char *kinds; /* names of panels, with commas between; NULL: all that there are */
    const char *pols;  /* numbers or names, with commas between; NULL: the first four */
    int sum;           /* of the pols */
    int flatten;       /* levels count from each channel's median */
    int has_time, has_freq, has_dm, has_candidate;
    uint64_t candidate;             /* a row of /candidates */
    double time[2], freq[2], dm[2]; /* seconds after the first row, MHz, pc cm^-3 */
    uint32_t width, height;         /* of the picture, pixels; 0: as suits */
    uint32_t column;                /* of each of its columns; 0: as suits */
    struct external_list external;  /* where external storage of a filterbank may be */
};

struct plot_options {
    enum plot_of of;
    char *const *files; /* [nfiles] */
    uint32_t nfiles;
    const char *output;      /* .png or .svg; NULL: the first file's name, ending in .png */
    const char *data;        /* a table of the numbers drawn; NULL: none */
    const char *const *sets; /* of PLOT_FILTER, keys of the job */
    uint32_t nsets;
    struct plot_choice choice;
    int force;
};

/* Draws, and says what in `said`. Nothing is left where it fails. Fails with USAGE, DATA, NO_SPACE,
 * DEVICE (memory, gnuplot). */
status_t plot_make(const struct plot_options *options, struct text *said);

/* The figure of a product alone. Fails with USAGE, DATA, DEVICE. */
status_t plot_product(const char *path, const struct plot_choice *choice, struct figure *out);

#endif
