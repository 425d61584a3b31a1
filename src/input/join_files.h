/* Files of one observation, joined. Private to input/. */
#ifndef VOLTMILL_INPUT_JOIN_FILES_H
#define VOLTMILL_INPUT_JOIN_FILES_H

#include "dsp/axes.h"
#include "input/archive.h"

/* Joins files[1..] to files[0], each an archive of one part, along files[0]->shape.stacked. Sorts
 * `files` by their start times first if they continue in time and all state one. Their contents
 * move: the caller still destroys all of them. May warn (join_say_shift()), and adds to
 * files[0]->assumed. Fails with DATA: two files that are not of one observation, overlap, are
 * further apart than all are long, do not start together or continue out of phase, and what
 * differs; more than 2^26 gaps; with DEVICE (memory). */
status_t join_archives(struct archive **files, size_t count);

/* Warns if `next` starts a fraction of a sample off the samples of the files before it, start.over,
 * which is ignored: more than 1/100 of a sample and the rounding of the times (start.doubt). */
void join_say_shift(const struct archive *next, struct sample_time start);

/* Checks that two archives can be files of one observation: alike in all but time and the axis
 * along which they are stacked, and, unless `times_differ`, of as many samples. Fails with DATA,
 * naming what differs; with DEVICE (memory). */
status_t join_check_alike(const struct archive *a, const struct archive *b, int times_differ);

/* Notes in next->assumed where two files state different sources or positions (0.1 degrees), of
 * which the first file's are kept; not of beams. Then adds the assumptions of `next` to those of
 * `base`. Fails with DEVICE (memory). */
status_t join_take_assumed(struct archive *base, struct archive *next);

/* Appends the stacked axis of `next`: its count, names, and, where both have them, frequencies and
 * positions of stations. Names move out of `next`; if only one of both has names, the axis has
 * none. Fails with DEVICE (memory). */
status_t join_append_stack(struct archive *base, const struct archive *next);

/* Returns the number in the observation of stream `number` of one file, which has `one` indices of
 * each axis; those of the stacked axis are from `from` on of `total`. Numbers are those of struct
 * archive_gap. */
uint64_t join_stream_number(const uint64_t one[AXIS_KINDS], enum axis stacked, uint64_t number,
                            uint64_t from, uint64_t total);

#endif
