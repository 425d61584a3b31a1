/* Shared by the formats of recorder files. Private to input/. */
#ifndef VOLTMILL_INPUT_FORMAT_RECORDER_H
#define VOLTMILL_INPUT_FORMAT_RECORDER_H

#include "base/text.h"
#include "input/archive.h"
#include "input/format/formats.h"
#include "io/file_rights.h"

/* Opens a file whose format is sought, for reading, and identifies it; file_close(*fd), -1 before,
 * in any case. If there is no ordinary file of the name, both outputs are unchanged, which is no
 * failure: callers report it. Fails with DATA if the file is unreadable, so that its format is
 * unknown; with DEVICE (memory, descriptors). */
status_t recorder_open_begin(const char *path, int *fd, struct identity *identity);

/* Appends the first bytes of a file, up to `most`, to `out`; none if it is no ordinary file, or
 * missing. Fails with DATA if it is unreadable; with DEVICE (memory, descriptors); none are
 * appended then. */
status_t recorder_head(const char *path, size_t most, struct text *out);

/* Opens the file of an archive of one part for reading, and notes it there with its size; *bytes is
 * that size, too. file_close(*fd), -1 before, in any case. Fails with DATA (missing, no ordinary
 * file, unreadable), DEVICE (memory, descriptors). */
status_t recorder_open(struct archive_part *part, int *fd, uint64_t *bytes);

/* Returns the samples per second, one every `seconds` s, rounded to a whole number if `seconds` is
 * a rounded inverse of one. */
double recorder_rate(double seconds);

/* Sets sideband and frequencies (Hz) of `own`, which has none: the centres of `channels` coarse
 * channels that divide a band, of this centre and width in Hz, evenly. width_hz < 0: frequency
 * falls from channel to channel and within each. override_free() frees `own`. Fails with DEVICE
 * (memory). */
status_t recorder_set_band(double centre_hz, double width_hz, uint32_t channels,
                           struct job_layout *own);

/* Notes in *assumed that the time between samples was rounded: its rate is `off` times that by the
 * width of the band. Does nothing if `off` is within 1e-7 of 1, or off from 1 by 0.01 or more.
 * `period` and `width` are the keys that state them. Fails with DEVICE (memory). */
status_t recorder_note_rate(const char *period, const char *width, double off, char **assumed);

/* Checks a band that headers state in MHz, its centre and width in Hz. Fails with DATA if it begins
 * below 0 Hz, or its centre is above 1e12 Hz. Notes a centre below 10 MHz, where telescopes do not
 * observe, in *assumed. `frequency` and `width` are the keys that state them, `path` the file, for
 * messages. Fails with DEVICE (memory), too. */
status_t recorder_check_band(const char *path, const char *frequency, double centre_hz,
                             const char *width, double width_hz, char **assumed);

/* Appends a dimension of `size` indices to those of the samples (each an axis, the slowest first).
 * Sets the archive's count and `present` of that axis, and of time shape.time_dim. There are fewer
 * than ARCHIVE_DIMS before. */
void recorder_add_dim(struct archive *archive, enum axis axis, uint64_t size);

/* How numbers are stored. */
struct recorder_number {
    uint32_t bits; /* 1, 2, 4, 8, 16, or 32: floating point */
    int is_half;   /* 16 bits are floating point, too */
    int is_complex;
    struct nibbles nibbles; /* of complex samples of 4 + 4 bits */
    int is_offset;          /* offset binary instead of two's complement */
    int big_endian;         /* numbers of several bytes */
    const double *levels;   /* of 1 and 2 bits, by what is stored, where these are their own; those
                               of less bits begin in a byte's low ones */
};

/* Takes the job's words over the file's (`own`, changed), then both into the archive. Fails with
 * USAGE: words that do not fit the file, or complex or real samples, or that refer to attributes;
 * with DEVICE (memory). `own` and the archive are half filled in then. */
status_t recorder_take_words(const struct job_layout *layout, int is_complex,
                             struct job_layout *own, struct archive *archive);

/* Does as recorder_take_words(), then sets frequencies and numbers of an archive whose dimensions
 * are complete but for that of real and imaginary part, which comes last, and is added here. Fails
 * with USAGE: words that do not fit the samples, frequencies that are not one for each channel;
 * with DATA: numbers that cannot be; with DEVICE (memory). `own` and the archive are half filled in
 * then. */
status_t recorder_describe(const struct job_layout *layout, const struct recorder_number *number,
                           struct job_layout *own, struct archive *archive);

/* Appends a file's block or frame (*piece: a run of one piece, whose path is ignored) to an archive
 * of one part: to the last run if it continues that evenly, else as a new run. `end`: the sample of
 * the part at which the samples before it end; from there to the first of the piece is a gap. Fails
 * with DEVICE (memory). */
status_t recorder_add_piece(struct archive *archive, uint64_t end, const struct archive_run *piece);

/* Finds the ratio of the smallest den, at most 64, that differs from `value` by less than value x
 * tolerance. Returns 1; 0, and leaves *out unchanged, if there is none with a num from 1 to 2^20 -
 * 1. */
int spacing_ratio(double value, double tolerance, struct ratio *out);

enum { SPACING_WORDS = 160 };
/* Writes to `words` how a job accepts channels that overlap: `ratio` is their rate by their
 * distance. If they are not complex, or the ratio is not above 1 and at most 4, writes which keys
 * correct the file. */
void spacing_remedy(int is_complex, double ratio, char words[SPACING_WORDS]);

#endif
