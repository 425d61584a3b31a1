/* A picture drawn by the Python module (python/voltmill), a child process. This program reads the
 * files, whatever their format, and hands out their numbers in pieces. */
#ifndef VOLTMILL_PLOT_DRAWING_H
#define VOLTMILL_PLOT_DRAWING_H

#include "input/hdf5/sources.h"
#include "job/job.h"

enum plot_of { PLOT_PRODUCT, PLOT_FILTER, PLOT_BENCH, PLOT_TUNER, PLOT_LOOK };

/* The part of a product that is drawn. */
struct plot_choice {
    const char *kinds; /* names of panels, with commas between; NULL: all that there are */
    const char *pols;  /* numbers or names, with commas between; NULL: the first four */
    int sum;           /* of the pols */
    int flatten;       /* levels count from each channel's median */
    int turn;          /* waterfalls have frequency across */
    int has_time, has_freq, has_dm, has_candidate;
    uint64_t candidate;             /* a row of /candidates */
    double time[2], freq[2], dm[2]; /* seconds after the first row, MHz, pc cm^-3 */
    uint32_t width, height;         /* of the picture, pixels; 0: as suits */
    struct external_list external;  /* where external storage of a filterbank may be */
    const char *layout;             /* of PLOT_LOOK: YAML of input.layout; NULL: none */
};

struct drawing {
    enum plot_of of;
    char *const *files; /* [nfiles] */
    uint32_t nfiles;
    const struct job *job; /* of PLOT_FILTER */
    const char *format;    /* "png", "svg", or "html": an element with a picture of each panel;
                              NULL: only what is said */
    int is_served;   /* of PLOT_LOOK: answers requests on standard input, a socket, until its end */
    int is_wanted;   /* of PLOT_LOOK: fails when no picture can be drawn */
    int has_numbers; /* the table of the numbers drawn is wanted, too */
    struct plot_choice choice;
};

/* Starts from {0}. */
struct drawn {
    struct text picture, numbers;
    struct text said; /* about the picture, for the user */
};

enum { SILENT_SECONDS = 600 };

/* Draws, in a child process, and appends picture, table and words to *out. drawn_free() in any
 * case. Prints the child's notes and warnings. Main thread only (plot/source.h). Fails with USAGE
 * if the choice fits nothing in the files, a job or layout has mistakes, a job has no filter bank,
 * or standard input is no socket (is_served); with DATA if a file is unreadable or cannot be drawn;
 * with DEVICE (memory; no Python with matplotlib, or one that ended badly or was silent for
 * SILENT_SECONDS and is killed), STOPPED (while a child process opens files). */
status_t drawing_make(const struct drawing *drawing, struct drawn *out);
/* Frees the three texts, which are empty then. Takes {0}; may be repeated. */
void drawn_free(struct drawn *drawn);

#endif
