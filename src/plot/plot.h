/* `voltmill plot`: pictures of products, of a job's filter bank, of tables of benchmarks and of the
 * tuner. docs/plot.md shows them. */
#ifndef VOLTMILL_PLOT_PLOT_H
#define VOLTMILL_PLOT_PLOT_H

#include "io/file_rights.h"
#include "io/mark.h"
#include "plot/drawing.h"

struct plot_options {
    enum plot_of of;
    char *const *files; /* [nfiles] */
    uint32_t nfiles;
    const char *output;      /* .png or .svg; NULL: the first file's name, ending in .png, or for
                                PLOT_LOOK in -look.png */
    int is_text, is_served;  /* of PLOT_LOOK: no picture; only numbers, to another process */
    const char *data;        /* a table of the numbers drawn; NULL: none */
    const char *const *sets; /* of PLOT_FILTER, keys of the job */
    uint32_t nsets;
    struct plot_choice choice;
    int force;
};

/* Draws, and appends a summary to `said`. Removes its partial files on failure. Fails with USAGE,
 * DATA, NO_SPACE, DEVICE (memory, Python). */
status_t plot_make(const struct plot_options *options, struct text *said);

/* Fails with USAGE if `path` exists, unless forced, or a file of the same command. Also fails with
 * DATA. */
status_t plot_check_new(const char *path, enum mark mark, int force);

/* Writes a picture, table or page: as FILE.part, then renamed. An older file of the same command is
 * replaced. Fails with NO_SPACE, DATA; with USAGE where `path` is one of the files that `reads`
 * knows, or another file, unless forced. `is_before`: nothing was written, the same was there. */
status_t plot_publish(const char *path, const struct text *text, enum mark mark, int force,
                      const struct guard *reads, int *is_before);

#endif
