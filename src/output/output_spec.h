/* Description of the products that are written, for outputs (output/outputs.h) and journals,
 * whatever stage makes their rows. Also the disk space that they need, and the check that no input
 * is among them.
 *
 * A product has rows of some columns ("streams" of its chunking, which a row holds side by side); a
 * chunk makes some columns of some rows. For spectra and power, rows are times and columns streams.
 * For dedispersed series, rows are DMs and columns are times. */
#ifndef VOLTMILL_OUTPUT_OUTPUT_SPEC_H
#define VOLTMILL_OUTPUT_OUTPUT_SPEC_H

#include "input/inputs.h"
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

/* Returns how the chunking's streams make the rows of an item. */
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

/* Lists the products of a filter bank, as far as job and archive determine them, with all files
 * that are read. Overwrites *out. `job` must outlive the spec; the caller calls output_spec_free()
 * in any case. Fails with DEVICE (memory). */
status_t output_spec_of_products(const struct job *job, const struct archive *archive,
                                 struct output_spec *out);
/* Adds what the plan determines to a spec of output_spec_of_products(). The plan must outlive the
 * spec, and has its coefficients still. Cannot fail. */
void output_spec_plan_products(struct output_spec *spec, const struct channelise_plan *work);

/* Lists the series of dedispersion `number`, from 0, of the job, and the files that are read: the
 * filterbank of this name (`fbh5`: its other files, too; may be NULL). `job` must outlive the spec;
 * the caller calls output_spec_free() in any case. Fails with DEVICE (memory). */
status_t output_spec_of_series(const struct job *job, uint32_t number, const char *filterbank,
                               const struct fbh5 *fbh5, struct output_spec *out);
/* Lists the series of a semi-coherent search of the archive, dedispersion 0 of the job, and the
 * files that are read. Overwrites *out. `job` must outlive the spec; the caller calls
 * output_spec_free() in any case. Fails with DEVICE (memory). */
status_t output_spec_of_search(const struct job *job, const struct archive *archive,
                               struct output_spec *out);
/* Adds what the plan determines to a spec of output_spec_of_series() or output_spec_of_search().
 * The plan must outlive the spec. Cannot fail. */
void output_spec_plan_series(struct output_spec *spec, const struct dedisperse_plan *plan);
/* Frees the items and the inputs, and sets *spec to {0}, which it takes. */
void output_spec_free(struct output_spec *spec);

/* Makes the file of item i, from 0, in HDF5, as product_create() does (fd below 0: only computes
 * the places); for other formats without frequencies. `path` is for messages. `made_of`: text of
 * inputs_contents(). The spec is planned. *place gets the places of its datasets, *frequency_at the
 * offset (bytes) of /frequency, whose values are missing (0: none); NULL: they are written. The
 * file has MARK_RUN; nothing is reserved or synced. Main thread only. Fails with USAGE (rows that
 * the kind cannot store, dates), DATA, NO_SPACE, DEVICE (memory). */
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

/* Adds a file of `bytes` bytes that will be written at `path`, which must outlive the room. Space
 * that an earlier run has allocated for it is subtracted. Fails with USAGE if there are
 * ROOM_MOST_FILES already, or its folder is none; with DATA if the file system cannot be looked up;
 * with DEVICE (memory). The room is unchanged then. */
status_t room_add(struct room *room, const char *path, uint64_t bytes);

/* Sums up, in *bytes, the bytes that all needs put on the file system of need i, from 0. Sets *left
 * to its free bytes, and *is_first to whether no need before it has the same file system. Fails
 * with USAGE (its folder is none any more), DATA (it cannot be looked up), DEVICE (memory). */
status_t room_sum(const struct room *room, uint32_t i, uint64_t *bytes, uint64_t *left,
                  int *is_first);

/* Checks that every file system has the bytes that are needed on it. Fails with NO_SPACE if not,
 * giving the bytes needed and free; with USAGE, DATA, DEVICE (memory) as room_sum(). */
status_t room_check(const struct room *room);

/* A file that is read is never written: all that a command reads is known by device and inode
 * before it makes, removes or truncates anything, and whatever it writes is compared with that. */

/* A file that is written beside the products. */
struct protect_other {
    const char *what; /* "--log" */
    const char *path; /* NULL: none */
};

/* Rank 0, or alone: checks that no product of any pass, under any of its names (.part, .journal,
 * .packed.part, too), no table and none of the others [nothers] is the job or one of its inputs,
 * and that no two of them are one file. `archive` is NULL if the job's files are filterbanks, which
 * are opened then. --force does not help. Fails with USAGE, naming both files, if a product's name
 * is too long for its endings, or if input.files is a pattern without `archive`; with DATA if a
 * name cannot be looked up or an input is unreadable; with DEVICE (memory, descriptors, no child),
 * STOPPED. */
status_t protect_job(const struct job *job, const struct archive *archive,
                     const struct protect_other *others, uint32_t nothers);

/* Checks only that no two of `others` [nothers] are one file; those without a path are ignored.
 * Fails with USAGE, naming both files; with DATA if a name cannot be looked up; with DEVICE
 * (memory). */
status_t protect_others(const struct protect_other *others, uint32_t nothers);

#endif
