/* Numbers side by side in a file, of one type, as files without a container have them: a
 * description in the words of input.layout made into an archive. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_PLAIN_H
#define VOLTMILL_INPUT_FORMAT_PLAIN_H

#include "input/format/formats.h"
#include "job/job_layout.h"
#include "job/yaml/tree.h"

/* A file that is open, and what is known of its samples: numbers, or complex pairs of them, in the
 * order of `axes`, outermost first. */
struct plain {
    const struct job_layout *layout; /* the job's words, which override the file's */
    struct archive *archive;
    const char *path;
    int fd;
    uint64_t file_bytes;
    void *context; /* of the format */

    struct job_layout own;          /* the file's words */
    const char *known;              /* how messages name the format */
    struct number_type type;        /* bits 0: input.layout.packing says it */
    double offset;                  /* value = stored - offset, unless the job says it */
    const char *axes;               /* unless the job says them */
    uint64_t shape[AXES_TEXT_DIMS]; /* elements of each dimension */
    uint32_t ndims;  /* 0: axes state all sizes but that of time, which follows from `bytes` */
    int is_reversed; /* Fortran order: the first dimension varies fastest */
    int is_by_clock; /* the start is a computer's: files follow each other, and theirs are compared
                      */
    int is_framed;   /* time must be outermost, and once */
    uint64_t at;     /* offset of the first number in the file */
    uint64_t bytes;  /* of the numbers, as many as exist */
};
typedef status_t plain_step_t(struct plain *plain);

/* Opens a file as an archive of one part; archive_destroy(*out), NULL before, in any case.
 * read(plain) fills in the file's facts, from `known` on. add(plain) adds the samples when all is
 * described; `add` NULL: they are in one piece. `context` becomes plain->context. Assumptions go to
 * (*out)->assumed. An end that is missing is left out, with a warning, if time is the outermost
 * dimension. Fails with DATA: missing, unreadable, more numbers than the file has, numbers that
 * cannot be; with USAGE: words of the job that do not fit; with DEVICE (memory, descriptors); and
 * as `read` and `add` do. */
status_t plain_open(const char *path, const struct job_layout *layout, plain_step_t *read,
                    plain_step_t *add, void *context, struct archive **out);

/* Sets the axes of frames of `streams` >= 1 elements: time, and polarisations if they are two,
 * stations if more; shape[0], the number of frames, is the caller's. Notes that in the archive's
 * `assumed` unless the job states axes or `is_said` is not 0. Fails with DEVICE (memory). */
status_t plain_assume_streams(struct plain *plain, uint64_t streams, int is_said);

/* Sets the centre, in Hz, that the file states of its only coarse channel; axes of the job that
 * make more are refused later. Call it once. Fails with DEVICE (memory). */
status_t plain_set_centre(struct plain *plain, double hz);

/* Reports mistakes in a document that is part of a file; `what` names it. Passes if there are none.
 * Fails with DATA if there are any, instead of USAGE; with DEVICE (memory). */
status_t plain_check_mistakes(const struct mistakes *mistakes, const char *what);

#endif
