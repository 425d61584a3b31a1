/* What a job file may hold: the libcyaml schema, the struct that libcyaml fills, the rules that the
 * schema cannot say, and how the texts among the values are read. */
#ifndef VOLTMILL_JOB_JOB_SCHEMA_H
#define VOLTMILL_JOB_JOB_SCHEMA_H

#include "job/job.h"
#include "job/yaml/tree_check.h"

enum { JOB_PRODUCTS = 16, JOB_TAPS_DEFAULT = 8, JOB_SYNC_DEFAULT = 10 };

/* The largest channels times taps: 64 GiB of coefficients. */
#define JOB_COEFFICIENTS ((uint64_t)1 << 34)

/* What stands in the file: NULL for what is not there, wherever there is no other sign of it. */
struct job_file_layout {
    char *dataset;
    char *axes;
    enum axis files_along;
    int *is_complex;
    double *sample_rate_hz;
    char *packing;
    double *missing_value;
    int *sideband;
    double *freq_hz;
    uint32_t nfreq;
    char *start;
    char *oversampling;
    char *telescope;
    char *source;
};

struct job_file_select {
    uint64_t *samples; /* [2] */
    double *seconds;   /* [2] */
    char **utc;        /* [2] */
    char **stations, **beams, **pols, **chans;
    uint32_t nstations, nbeams, npols, nchans;
};

struct job_file_input {
    char **files;
    uint32_t nfiles;
    struct job_file_layout *layout;
    struct job_file_select *select;
};

struct job_file_channelise {
    uint32_t channels;
    uint32_t taps; /* 0: not there */
    char *window;
    double *cutoff;
    enum normalise normalise;
    enum channel_order order;
    enum backend_kind backend;
    enum kernel_kind kernel;
    enum fft_kind fft;
};

struct job_file_product {
    enum product_kind kind;
    char *file;
    uint64_t integrate; /* 0: not there */
};

struct job_file_run {
    char *memory;
    uint64_t chunk;
    uint32_t threads;
    char *device;
    char *device_memory;
    enum fft_planning planning;
    enum on_bad on_bad;
    double *sync;
};

struct job_file {
    struct job_file_input input;
    struct job_file_channelise channelise;
    struct job_file_product *products;
    uint32_t nproducts;
    struct job_file_dedisperse *dedisperse;
    uint32_t ndedisperse;
    struct job_file_run run;
};

extern const cyaml_schema_value_t job_schema;
extern const struct tree_rule job_rules[];

/* "hann", "kaiser:8.6", "file:/a/window.txt"; *path points into `text`. Returns 0 if it is none. */
int job_parse_window(const char *text, enum window_kind *kind, double *beta, const char **path);

/* "32/27", not below 1. Returns 0 if it is none. */
int job_parse_oversampling(const char *text, uint32_t *num, uint32_t *den);

#endif
