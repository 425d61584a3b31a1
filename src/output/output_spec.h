/* What outputs (output/outputs.h) and journals must know of products that are written, whatever
 * stage makes their rows; the disk space that they need; and that no input is among them.
 *
 * A product has rows of some columns ("streams" of its chunking, which a row holds side by side); a
 * chunk makes some columns of some rows. Of spectra and power, rows are times and columns streams;
 * of dedispersed series, rows are DMs and columns are times. */
#ifndef VOLTMILL_OUTPUT_OUTPUT_SPEC_H
#define VOLTMILL_OUTPUT_OUTPUT_SPEC_H

#include "dsp/axes.h"
#include "input/archive.h"
#include "input/inputs.h"
#include "job/job.h"
#include "plan/channelise_plan.h"
#include "plan/dedisperse_plan.h"

struct output_spec_item {
    const char *file, *text;      /* as struct job_product's */
    uint32_t bank;                /* of the job, that makes it */
    uint64_t integrate;           /* how many make a row, */
    uint64_t ratio;               /* of which each of the chunking's first axis has so many, */
    uint64_t spectra;             /* and which these are, all told: once it is planned */
    int has_bandpass;             /* it has the medians of its rows */
    enum compression compression; /* of the file that gets the name; */
    enum file_format format;      /* what that is */
    /* Of the plan. */
    struct product_spec spec; /* but its inputs */
    uint64_t row_bytes;
    struct channelise_choice choice; /* of the filter bank that makes it */
    uint32_t crc;                    /* of the coefficients, or delays */
    int has_times_across;            /* time stamps are those of the columns, */
    uint64_t column;                 /* of which each is made of so many of the chunking's */
};

struct output_spec {
    const struct job *job;
    struct inputs inputs; /* every file that is read */
    struct output_spec_item *items;
    uint32_t count;
    /* Of the plan: once is_planned. */
    int is_planned;
    struct chunking chunking;
    enum backend_kind backend;
    uint32_t writers; /* threads of a rank that write its rows */
    struct filter_choice filters[JOB_FILTERS]; /* backend AUTO: there is none, also of the next */
    struct synthesise_choice synthesis;
};

/* The products of a filter bank: as far as job and archive tell; the rest of it. *out is for
 * output_spec_free() in any case. */
status_t output_spec_of_products(const struct job *job, const struct archive *archive,
                                 struct output_spec *out);
void output_spec_plan_products(struct output_spec *spec, const struct channelise_plan *work);

/* The same for the series of dedispersion `number`, of the filterbank of this name (`fbh5`: its
 * other files, too; may be NULL). */
status_t output_spec_of_series(const struct job *job, uint32_t number, const char *filterbank,
                               const struct fbh5 *fbh5, struct output_spec *out);
/* The series of a semi-coherent search, of the archive. */
status_t output_spec_of_search(const struct job *job, const struct archive *archive,
                               struct output_spec *out);
void output_spec_plan_series(struct output_spec *spec, const struct dedisperse_plan *plan);
void output_spec_free(struct output_spec *spec);

/* Makes the file of item i, as product_create() does. `made_of`: inputs_contents(). The plan is
 * known. */
status_t output_spec_create(const struct output_spec *spec, uint32_t i, int fd, const char *path,
                            const char *made_of, struct product_place *place);

/* Room that the products of a job need, by file systems: what `plan` tells, and what `run` asks for
 * before the work. */
enum { ROOM_MOST_FILES = 64 };
struct room {
    struct room_need {
        const char *path;
        uint64_t bytes; /* of the whole file, less what is there of it */
        uint64_t device;
    } needs[ROOM_MOST_FILES];
    uint32_t count;
};

/* How long the file of item i will be: all of it, rows, axes, filter, CRCs and words. The spec is
 * planned. Fails with DATA. */
status_t room_measure(const struct output_spec *spec, uint32_t i, uint64_t *bytes);

/* A file of `bytes` bytes will be written at `path`, which must outlive the room; space that an
 * earlier run has taken for it is there already. Fails with USAGE. */
status_t room_add(struct room *room, const char *path, uint64_t bytes);
/* The same of one whose rows will be compressed: for a while both files are there. */
status_t room_add_packed(struct room *room, const char *path, uint64_t bytes);

/* Sums up all that goes to the file system of need i: *is_first if no need before it does. Fails
 * with USAGE. */
status_t room_sum(const struct room *room, uint32_t i, uint64_t *bytes, uint64_t *left,
                  int *is_first);

/* Fails with NO_SPACE where there is too little: bytes needed and free. */
status_t room_check(const struct room *room);

/* A file that is read is never written: all that a command reads is known by device and inode
 * before it makes, removes or truncates anything, and whatever it writes is compared with that. */

/* A file that is written beside the products. */
struct protect_other {
    const char *what; /* "--log" */
    const char *path; /* NULL: none */
};

/* Rank 0, or alone: that no product of any pass, under none of the names that it has on its way,
 * and none of the others is the job or leads to a sample of it, and that no two of them are one
 * file. `archive` is NULL when the job's files are dedispersed as they are. --force does not help.
 * Fails with USAGE, naming both files; with DATA. */
status_t protect_job(const struct job *job, const struct archive *archive,
                     const struct protect_other *others, uint32_t nothers);

/* The same of `others` alone. */
status_t protect_others(const struct protect_other *others, uint32_t nothers);

#endif
