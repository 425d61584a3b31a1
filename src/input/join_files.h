/* Files of one observation, joined. Private to input/. */
#ifndef VOLTMILL_INPUT_JOIN_FILES_H
#define VOLTMILL_INPUT_JOIN_FILES_H

#include "dsp/axes.h"
#include "input/archive.h"

/* Joins files[1..] to files[0], each an archive of one part, along files[0]->shape.stacked. If they
 * continue in time and all state a start, sorts `files` [count] by it first. Their contents move to
 * the one that is files[0] then: the caller still destroys all of them, also after a failure. May
 * warn (join_say_shift()), and adds to files[0]->assumed. Fails with DATA: two files that are not
 * of one observation, overlap, are further apart than all are long, do not start together or
 * continue out of phase, and what differs; more than 2^26 gaps; with DEVICE (memory). files[0] is
 * half joined then. */
status_t join_archives(struct archive **files, size_t count);

/* Warns if `next` starts a fraction of a sample, start.over, off the samples of the files before
 * it. The fraction is ignored in the data. Warns if it is more than 1/100 of a sample and the
 * rounding of the times (start.doubt, in samples). */
void join_say_shift(const struct archive *next, struct sample_time start);

/* Checks that two archives can be files of one observation: alike in all but time and the axis
 * along which they are stacked. They must have as many samples, unless `times_differ` is not 0.
 * Fails with DATA, naming what differs; with DEVICE (memory). */
status_t join_check_alike(const struct archive *a, const struct archive *b, int times_differ);

/* Notes in next->assumed where `next` and `base` state different sources, or positions more than
 * 0.1 degrees apart; those of `base` are kept. Files of several beams may differ. Then adds the
 * assumptions of `next` to those of `base`. Fails with DEVICE (memory): some may be added then. */
status_t join_take_assumed(struct archive *base, struct archive *next);

/* Appends the stacked axis of `next` to that of `base`: its count, names, and, where both have
 * them, frequencies and positions of stations. Names move out of `next`; if only one of both has
 * names, the axis has none. Fails with DEVICE (memory): `base` is half joined then. */
status_t join_append_stack(struct archive *base, const struct archive *next);

/* Returns the number in the observation of stream `number` of one file, which has one[axis] indices
 * of each axis. Along `stacked`, the file's indices are from `from` on of `total`. Both numbers are
 * as in struct archive_gap. */
uint64_t join_stream_number(const uint64_t one[AXIS_KINDS], enum axis stacked, uint64_t number,
                            uint64_t from, uint64_t total);

#endif
