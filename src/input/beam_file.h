/* Files of weights of beams: HDF5 with /weights, and beamformer recipes (bfr5) of Breakthrough
 * Listen, COSMIC and hpguppi, which have calibrations and delays of beams instead. */
#ifndef VOLTMILL_INPUT_BEAM_FILE_H
#define VOLTMILL_INPUT_BEAM_FILE_H

#include "input/archive.h"
#include "input/calc_table.h"
#include "io/apart.h"
#include "io/pack.h"
#include "job/job.h"

struct beam_file {
    char *path;
    uint32_t nbeams, nstations, npols, nfreqs;
    uint32_t sets;     /* of weights: nbeams, or 1 that all beams have in common */
    uint64_t nweights; /* numbers in `weights` */
    double *weights;   /* [sets][stations][pols][freqs][2], finite */
    double *freq_hz; /* [nfreq_hz] ascending, of the weights; if there are any, else in the order of
                        channels */
    uint64_t nfreq_hz;  /* nfreqs or 0 */
    double *directions; /* [2][nbeams] right ascensions, then declinations, deg, if any */
    uint64_t ndirections;
    char **names; /* [nnames] of the beams; nnames 0: none has one */
    char **stations;
    uint32_t nnames, nnamed; /* nbeams or 0; nstations or 0: stations are as in the archive */
    struct calc_table *calc; /* [ncalc] delays of the beams by time, of direction i: beam i */
    uint32_t ncalc;          /* 0 or 1 */
};

/* Reads the file that job->beam_weights names. Fails with DATA: file, dataset and what is wrong
 * there (shapes that contradict each other, NaN, times at unequal distances). */
status_t beam_file_read(const char *path, struct beam_file **out);
void beam_file_destroy(struct beam_file *file); /* takes NULL */

/* Gives the job the beams of the file: their names and directions; of a job with `beams` none.
 * Fails with USAGE: as many as the file has are expected, and of a recipe none. */
status_t beam_file_fill(const struct beam_file *file, struct job *job);

/* Finds the file's station for each station that the archive's selection has, by name, or by number
 * if one of them has no names: uint32_t [nselected]. Fails with DATA: a station that the file does
 * not have, another number of stations or polarisations. */
status_t beam_file_match(const struct beam_file *file, const struct archive *archive,
                         uint32_t *out);

/* Returns the weight of a place in `weights`, at a frequency where they have frequencies
 * (interpolated linearly, real and imaginary part; beyond the outermost that of the nearest one),
 * else of channel k of `channels`, of which the file has one for each, or for equal parts. */
void beam_file_weight(const struct beam_file *file, uint32_t set, uint32_t station, uint32_t pol,
                      double freq_hz, uint64_t k, uint64_t channels, double out[2]);

extern const struct pack_type beam_file_type;
/* For the table of tasks (main.c). */
extern const struct description beam_file_description;

#endif
