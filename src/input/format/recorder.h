/* What the formats of recorders' files share. Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_RECORDER_RECORDER_H
#define VOLTMILL_ARCHIVE_FORMAT_RECORDER_RECORDER_H

#include "base/text.h"
#include "input/format/formats.h"
#include "io/file_rights.h"

/* Opens a file whose format is sought: *fd stays what it is when there is no ordinary file of the
 * name, which others say. Fails with DATA: it cannot be read, so nobody knows what it is. */
status_t recorder_open_begin(const char *path, int *fd, struct identity *identity);

/* Up to `most` bytes from the begin of a file; none of what is no ordinary file. Fails as
 * recorder_open_begin() does. */
status_t recorder_head(const char *path, size_t most, struct text *out);

/* Opens the file of an archive of one part, and notes it there. Fails with DATA. */
status_t recorder_open(struct archive_part *part, int *fd, uint64_t *bytes);

/* Samples a second, one every `seconds`: whole numbers where the step is meant to say one. */
double recorder_rate(double seconds);

/* The centres of coarse channels that divide a band evenly; a width below 0: frequency falls from
 * channel to channel and within each. Fails with DEVICE. */
status_t recorder_set_band(double centre_hz, double width_hz, uint32_t channels,
                           struct job_layout *own);

/* Fails with DATA where a band cannot be in MHz, as headers have it: it begins below 0 Hz, or its
 * centre is above 1e12 Hz. Notes a centre below 10 MHz, where telescopes do not observe.
 * `frequency` and `width`: the keys that state them. */
status_t recorder_check_band(const char *path, const char *frequency, double centre_hz,
                             const char *width, double width_hz, char **assumed);

/* Appends a dimension of the samples, each an axis, the slowest first. */
void recorder_add_dim(struct archive *archive, enum axis axis, uint64_t size);

/* How numbers are stored. */
struct recorder_number {
    uint32_t bits; /* 1, 2, 4, 8, 16, or 32: floating point */
    int is_complex;
    struct nibbles nibbles; /* of complex samples of 4 + 4 bits */
    int is_offset;          /* offset binary instead of two's complement */
    int big_endian;         /* numbers of several bytes */
    const double *levels;   /* of 1 and 2 bits, by what is stored, where these are their own; those
                               of less bits begin in a byte's low ones */
};

/* Takes the job's words over the file's, then both into the archive, whose dimensions are complete
 * but for that of real and imaginary part, which comes last. Fails with USAGE: words that do not
 * fit the samples; with DEVICE. */
status_t recorder_describe(const struct job_layout *layout, const struct recorder_number *number,
                           struct job_layout *own, struct archive *archive);

/* Appends an empty run in the part's own file. Fails with DEVICE, as the next two. */
status_t recorder_add_run(struct archive_part *part, struct archive_run **out);

/* Samples that are missing of all streams. */
status_t recorder_add_gap(struct archive *archive, uint64_t first, uint64_t count);

/* Elements that the part should have, but has not. */
status_t recorder_add_lost(struct archive_part *part, const struct lost_box *box, const char *why);

#endif
