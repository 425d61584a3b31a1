/* Files that `array` of a job names: the table of stations, delay polynomials, weights of beams,
 * and how the Earth is turned. Rank 0 reads them (apart, io/apart.h: main thread only) and packs
 * their contents; the others unpack these. */
#ifndef VOLTMILL_INPUT_ARRAY_JOB_H
#define VOLTMILL_INPUT_ARRAY_JOB_H

#include "dsp/delay_model.h"
#include "input/archive.h"
#include "input/array_table.h"
#include "io/apart.h"
#include "io/pack.h"
#include "job/job.h"

/* One scan of a file of delay polynomials as CALC writes them. Delays are the time by which the
 * wave reaches a station later than the centre of the Earth: the negative of DELAY (us), which
 * includes the atmosphere. Direction 0 is the pointing source, the others are the phase centres. */
struct calc_table {
    struct delay_table table;
    char **stations;   /* [table.nstations] names */
    char **directions; /* [table.ndirections] names of sources */
    uint64_t ndelays;  /* numbers in table.delay_s */
};

/* Reads the scan that contains the moment `utc` from a file of delay polynomials, of at most 2^28
 * bytes. The caller calls calc_table_destroy(*out), NULL before, in any case. Fails with DATA: no
 * such file, unreadable or larger; no such scan; polynomials that are missing, not finite, have an
 * order above 15 or do not follow each other. Fails with USAGE: HDF5; with DEVICE (memory,
 * descriptors). */
status_t calc_table_read(const char *path, struct utc utc, struct calc_table **out);
/* Frees the table and all that it points to; takes NULL, and half-made ones. */
void calc_table_destroy(struct calc_table *calc);
SCOPED_END(calc_table_destroy, struct calc_table *)

/* A file of weights of beams, or a recipe of a beamformer (bfr5). */
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

/* For the table of tasks (main.c). */
extern const struct description beam_file_description;

/* Reads the files that job->array names, or what the archive states of its stations, into
 * job->array.packed, and the beams of a file of weights into job->beams. Reads UT1 - UTC and polar
 * motion of the observation's first sample from an IERS file; else they are assumed
 * (archive->assumed). Does nothing for a job without `array`, or for which it was done. Not
 * collective: rank 0 calls it in its main thread. Fails with USAGE: stations whose positions are
 * not known (without beam_weights), mistakes in the table's YAML, HDF5 in place of delays, an IERS
 * file without a start time, beams or a centre that contradict the file of weights. Fails with
 * DATA: a file is missing, unreadable or wrong; with DEVICE (memory, descriptors, no child),
 * STOPPED. job->array.packed is not set then. */
status_t array_job_read(struct job *job, struct archive *archive);

/* Appends to `out` what array_job_read() has read, for array_job_unpack(). Fails with DEVICE
 * (memory): some may be appended, and the status stays in out->status. */
status_t array_job_pack(const struct job *job, struct text *out);
/* Reads what array_job_pack() appended into the same job on another rank, with the beams of a file
 * of weights. Fails with DATA (bytes are missing, or wrong); with USAGE: beams that contradict the
 * file of weights; with DEVICE (memory). */
status_t array_job_unpack(struct unpack *in, struct job *job);

/* Contents of these files; pointers may be NULL. */
struct array_tables {
    struct array_table *table;
    struct calc_table *calc; /* of array.delays */
    struct beam_file *beams; /* of beam_weights */
};

/* Makes the tables of a job with `array`, after array_job_read() or array_job_unpack(), in *out,
 * which was {NULL}. The caller calls array_job_drop() in any case. Fails with DATA (what was packed
 * is wrong), DEVICE (memory). */
status_t array_job_tables(const struct job *job, struct array_tables *out);
/* Destroys the tables of array_job_tables(), and leaves {NULL}. */
void array_job_drop(struct array_tables *tables);

#endif
