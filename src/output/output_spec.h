/* Description of the products that are written, for outputs (output/outputs.h) and journals,
 * whatever stage makes their rows. Also the disk space that they need, and the check that no input
 * is among them.
 *
 * A product has rows of some columns ("streams" of its chunking, which a row holds side by side); a
 * chunk makes some columns of some rows. For spectra and power, rows are times and columns streams.
 * For dedispersed series, rows are DMs and columns are times. */
#ifndef VOLTMILL_OUTPUT_OUTPUT_SPEC_H
#define VOLTMILL_OUTPUT_OUTPUT_SPEC_H

#include "input/archive.h"
#include "input/inputs.h"
#include "job/job.h"
#include "plan/channelise_plan.h"
#include "plan/dedisperse_plan.h"

struct output_spec_item {
    const char *file, *text;      /* as struct job_product's */
    uint32_t bank;                /* of the job, that makes it */
    uint64_t integrate;           /* how many make a row, */
    uint64_t ratio;               /* of these, each index of the chunking's first axis has this
                                     many, */
    uint64_t spectra;             /* number of them in all: once it is planned */
    int has_bandpass;             /* it has the medians of its rows */
    enum compression compression; /* of the file that gets the name; */
    enum file_format format;      /* what that is */
    /* Parts of the item's plan. */
    struct product_spec spec; /* but its inputs */
    uint64_t row_bytes;
    struct channelise_choice choice; /* of the filter bank that makes it */
    uint32_t crc;                    /* of the coefficients, or delays */
    int has_times_across;            /* time stamps are those of the columns, */
    uint64_t column;                 /* each of these is made of this many of the chunking's */
};

/* Returns how the chunking's streams make its rows. */
struct chunk_row output_spec_row(const struct output_spec_item *item);

struct output_spec {
    const struct job *job;
    struct inputs inputs; /* every file that is read */
    struct output_spec_item *items;
    uint32_t count;
    /* Parts of the plan: valid once is_planned. */
    int is_planned;
    struct chunking chunking;
    enum backend_kind backend;
    uint32_t writers; /* threads of this rank that write rows of other formats; of series 0 */
    struct filter_choice filters[JOB_FILTERS]; /* backend AUTO: there is none, also of the next */
    struct synthesise_choice synthesis;
};

/* Lists the products of a filter bank, as far as job and archive determine them;
 * output_spec_plan_products() adds the rest. `job`, and later the plan, must outlive the spec. The
 * caller calls output_spec_free() in any case. Fails with DEVICE (memory). */
status_t output_spec_of_products(const struct job *job, const struct archive *archive,
                                 struct output_spec *out);
void output_spec_plan_products(struct output_spec *spec, const struct channelise_plan *work);

/* Lists the series of dedispersion `number` likewise, of the filterbank of this name (`fbh5`: its
 * other files, too; may be NULL). Fails with DEVICE (memory). */
status_t output_spec_of_series(const struct job *job, uint32_t number, const char *filterbank,
                               const struct fbh5 *fbh5, struct output_spec *out);
/* Lists the series of a semi-coherent search of the archive. Fails with DEVICE (memory).
 * output_spec_plan_series() adds what the plan, which must outlive the spec, determines. */
status_t output_spec_of_search(const struct job *job, const struct archive *archive,
                               struct output_spec *out);
void output_spec_plan_series(struct output_spec *spec, const struct dedisperse_plan *plan);
void output_spec_free(struct output_spec *spec); /* leaves {0} */

/* Makes the file of item i in HDF5, as product_create() does (fd below 0: only computes the
 * places); of other formats without frequencies. `path` is for messages. `made_of`:
 * inputs_contents(). The spec is planned. place gets the places of its datasets, *frequency_at the
 * offset of /frequency, whose values are missing (0: none); NULL: they are written. Fails with
 * USAGE (rows that the kind cannot store), DATA, NO_SPACE, DEVICE (memory). */
status_t output_spec_create(const struct output_spec *spec, uint32_t i, int fd, const char *path,
                            const char *made_of, struct product_place *place,
                            uint64_t *frequency_at);

/* Disk space that the products of a job need, by file systems: `plan` reports it, and `run` checks
 * it before the work. */
enum { ROOM_MOST_FILES = 64 };
struct room {
    struct room_need {
        const char *path;
        uint64_t bytes; /* of the whole file, rounded up to 4 KiB, less what is allocated of it */
        uint64_t device;
    } needs[ROOM_MOST_FILES];
    uint32_t count;
};

/* Computes the bytes of the file of item i: all of it, rows, axes, filter, CRCs and words. The spec
 * is planned. Fails with USAGE as output_spec_create(); with DATA, DEVICE. */
status_t room_measure(const struct output_spec *spec, uint32_t i, uint64_t *bytes);

/* Adds a file of `bytes` bytes that will be written at `path`, which must outlive the room. Space
 * that an earlier run has allocated for it is subtracted. Fails with USAGE, also if there are
 * ROOM_MOST_FILES; with DATA, DEVICE (memory). */
status_t room_add(struct room *room, const char *path, uint64_t bytes);

/* Sums up the bytes that all needs put on the file system of need i, and sets *left to its free
 * bytes. *is_first: no need before it has the same file system. Fails with USAGE, DATA, DEVICE
 * (memory). */
status_t room_sum(const struct room *room, uint32_t i, uint64_t *bytes, uint64_t *left,
                  int *is_first);

/* Checks that every file system has the bytes that are needed on it. Fails with NO_SPACE, giving
 * the bytes needed and free; as room_sum(). */
status_t room_check(const struct room *room);

/* A file that is read is never written: all that a command reads is known by device and inode
 * before it makes, removes or truncates anything, and whatever it writes is compared with that. */

/* A file that is written beside the products. */
struct protect_other {
    const char *what; /* "--log" */
    const char *path; /* NULL: none */
};

/* Rank 0, or alone: checks that no product of any pass, under any of its names, no table and none
 * of the others is the job or one of its inputs, and that no two of them are one file. `archive` is
 * NULL if the job's files are filterbanks. --force does not help. Fails with USAGE, naming both
 * files; with DATA, DEVICE, STOPPED. */
status_t protect_job(const struct job *job, const struct archive *archive,
                     const struct protect_other *others, uint32_t nothers);

/* Checks likewise only that no two of `others` are one file. Fails with USAGE, DATA, DEVICE
 * (memory). */
status_t protect_others(const struct protect_other *others, uint32_t nothers);

#endif
