/* The candidates of a search for bursts: found in the peaks of a product (dsp/), and the
 * table /candidates that holds them. docs/products.md describes it. HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_CANDIDATES_H
#define VOLTMILL_PRODUCT_CANDIDATES_H

#include "product/product.h"

/* A row of the table, as it is in memory. Times are those of the reference frequency. */
struct candidate {
    double snr, dm;
    double time_s;  /* of the middle of the best box, seconds after the observation's start */
    double mjd;     /* the same; 0 when the start is unknown */
    uint64_t width; /* samples */
    int32_t beam;
    uint64_t sample;                                     /* the first of the box */
    uint64_t members;                                    /* peaks of the group */
    double dm_least, dm_most, time_first_s, time_last_s; /* that it reaches over */
};

struct candidates {
    struct candidate *rows;
    uint64_t count;
    uint64_t peaks;    /* at or above the threshold */
    uint64_t above;    /* single samples of all DMs that reach it */
    double kept_above; /* all peaks of this S/N or more were grouped: the threshold, unless there
                          were more than spec->series->search.most; then as many of those less
                          than 1/256 below it as make up that number, by DM, then time */
};
/* Frees the rows, and sets *candidates to {0}, which it takes. */
void candidates_free(struct candidates *candidates);

/* Groups the peaks of a search (spec->series->search). Its rows are complete and contiguous at
 * `place` of the open file `fd`, which `path` names in messages. Reads them twice. Warns if there
 * are more than search.most, and groups the strongest only. Overwrites *out, which
 * candidates_free() frees, also after a failure. Fails with DATA if the rows cannot be read; with
 * DEVICE (memory). */
status_t candidates_find(const struct product_spec *spec, int fd, const char *path,
                         const struct product_place *place, struct candidates *out);

/* Writes the table /candidates into a new file that is open for HDF5, main thread only. With
 * `candidates` NULL the table has no rows. Fails with NO_SPACE, DATA, DEVICE (memory); the file may
 * have a part of it then. */
status_t candidates_put(hid_t file, const struct candidates *candidates);

/* Appends the table as comma-separated values, after a line with the names of the columns (struct
 * candidate's members, in their units). Fails with DEVICE (memory); `out` may have a part of it
 * then. */
status_t candidates_csv(const struct candidates *candidates, struct text *out);

/* Content of a file of candidates, for drawing and export. */
struct candidates_file {
    struct candidates found;
    char *filterbank, *source, *telescope; /* NULL when unknown */
    double threshold, tsamp, first_time;   /* of the series; seconds */
    double reference_hz, constant;
    uint32_t widths;
    int has_start;
    struct utc start;
    double *dms; /* [ndms] */
    size_t ndms;
};

/* Reads a file of candidates, tried in a child process first (io/apart.h), main thread only;
 * candidates_close() frees *out, which a failure leaves unchanged. Fails with DATA if the file is
 * unreadable, incomplete or another kind of file; with DEVICE (memory, descriptors, no child),
 * STOPPED. */
status_t candidates_open(const char *path, struct candidates_file **out);
/* Frees what candidates_open() has read. Takes NULL. */
void candidates_close(struct candidates_file *file);
SCOPED_END(candidates_close, struct candidates_file *)
extern const struct description candidates_description;

/* ---- grouping of peaks of neighbouring DMs and times that belong to one burst ----
 *
 * Two peaks are linked when their boxes overlap, or are no farther apart than the wider of the two
 * is long, and their DMs are neighbours: at most two steps apart, or as far as their delays across
 * the band differ by no more than the wider box, 32 steps at most. A group is a connected set of
 * linked peaks. */

struct burst {
    float snr;
    uint32_t dm;           /* which */
    uint32_t first, width; /* times */
};

struct burst_group {
    struct burst best; /* of equal ones the least DM's, then the earliest */
    uint64_t members;
    uint32_t least_dm, most_dm;
    uint64_t first, end; /* times of all boxes */
};

/* Finds the groups of bursts [count], which are sorted by `dm` (a number from 0, below ndms), then
 * `first`. spans [ndms]: delay across the band in samples of the series, ascending. *out [*ngroups]
 * is sorted by the time of the middle of a group's best box, then DM; free() returns it, also of no
 * groups. A pure function, any thread. Fails with DEVICE (memory); *out is unchanged then. */
status_t burst_groups_find(const struct burst *bursts, size_t count, const uint32_t *spans,
                           uint32_t ndms, struct burst_group **out, size_t *ngroups);

#endif
