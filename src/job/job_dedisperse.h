/* What a job says under `dedisperse`: one dedispersion of a filterbank. */
#ifndef VOLTMILL_JOB_JOB_DEDISPERSE_H
#define VOLTMILL_JOB_JOB_DEDISPERSE_H

#include "base/status.h"
#include "base/terms.h"
#include "job/yaml/tree_check.h"
#include "job/yaml/yaml_file.h"

#include <stdint.h>

enum dm_kind { DM_LINEAR, DM_LIST, DM_TOLERANT };

struct job_dms {
    enum dm_kind kind;
    double start, step; /* LINEAR: start + i * step, i < count */
    uint32_t count;
    double end, tolerance, width; /* TOLERANT: see dispersion_tolerant(); start, too */
    double *list;                 /* LIST: [count] */
};

struct job_channels {
    uint32_t first, last;
};

struct job_dedisperse {
    int has_input;
    uint32_t input; /* place among the products; has_input 0: the first power product */
    struct job_dms dm;
    int is_padded;             /* edges: outputs for all times, else only for whole sums */
    double reference_hz;       /* 0: the highest frequency */
    char *constant;            /* a name or number for dispersion_constant(); NULL: the default */
    uint64_t downsample;       /* samples in time that are added up first; >= 1 */
    int is_two_step;           /* mode */
    uint32_t group;            /* channels of a group in two steps; 0: the default */
    struct job_channels *mask; /* channels that are left out */
    uint32_t nmask;
    uint32_t *ifs; /* that are added up; none: all */
    uint32_t nifs;
    enum backend_kind backend;
    char *file;
    char *text; /* as struct job_product's */
};

enum { JOB_DEDISPERSE = 16, JOB_DMS = 1 << 20, JOB_CHANNELS = 1 << 24, JOB_MOST_DM = 1000000 };

/* What stands in the file: NULL or 0 for what is not there. */
struct job_file_dm {
    double *start, *step, *end, *tolerance, *width;
    uint32_t count;
    double *list;
    uint32_t nlist;
};

struct job_file_dedisperse {
    uint32_t *input;
    struct job_file_dm dm;
    int is_padded;
    double reference_hz;
    char *constant;
    uint64_t downsample;
    int is_two_step;
    uint32_t group;
    char **mask;
    uint32_t nmask;
    uint32_t *ifs;
    uint32_t nifs;
    enum backend_kind *backend;
    char *file;
};

extern const cyaml_schema_value_t job_dedisperse_entry;

/* For the rules of the job: a channel or a range of them. */
int job_check_channels(const char *text, char *message);

/* Adds the mistakes that several keys of entry `index` make together. */
status_t job_dedisperse_check(struct yaml_file *yaml, size_t index);

/* Takes what the file says; `backend` where it names none. */
status_t job_dedisperse_convert(struct job_file_dedisperse *file, enum backend_kind backend,
                                struct job_dedisperse *out);
void job_dedisperse_free(struct job_dedisperse *dedisperse);

#endif
