/* Files that `array` of a job names: the table of stations, and how the Earth is turned. Rank 0
 * reads them and packs their contents; the others unpack these. */
#ifndef VOLTMILL_INPUT_ARRAY_JOB_H
#define VOLTMILL_INPUT_ARRAY_JOB_H

#include "input/archive.h"
#include "input/array_table.h"
#include "input/beam_file.h"
#include "input/calc_table.h"
#include "io/pack.h"
#include "job/job.h"

/* Reads the files that job->array names, or what the archive says of its stations, into
 * job->array.packed, and the beams of a file of weights into job->beams; of an IERS file the
 * numbers of the observation's day, without which they are assumed. Nothing for a job without
 * `array`. Fails with USAGE: an archive that does not say where its stations are; with DATA. */
status_t array_job_read(struct job *job, struct archive *archive);

/* Pack this, and unpack it into the same job on another rank. Fail with DATA, DEVICE (memory). */
status_t array_job_pack(const struct job *job, struct text *out);
status_t array_job_unpack(struct unpack *in, struct job *job);

/* Contents of these files; pointers may be NULL. */
struct array_tables {
    struct array_table *table;
    struct calc_table *calc; /* of array.delays */
    struct beam_file *beams; /* of beam_weights */
};

/* Makes the tables of a job with `array`, in *out, which was {NULL}; array_job_drop() destroys
 * them, also after a failure. Fails with DATA, DEVICE (memory). */
status_t array_job_tables(const struct job *job, struct array_tables *out);
void array_job_drop(struct array_tables *tables);

#endif
