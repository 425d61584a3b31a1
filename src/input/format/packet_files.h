/* Opening, as formats of packets share it. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_PACKET_FILES_H
#define VOLTMILL_INPUT_FORMAT_PACKET_FILES_H

#include "input/format/formats.h"
#include "input/packets/sync.h"

/* Creates an archive of one part with packets, from the names of the files and the job's
 * description. `format`: its name in messages. `states_rate` is not 0 if its headers state the rate
 * and the streams. Opens no file. The caller calls archive_destroy(*out), NULL before, in any case.
 * Fails with USAGE if the description states what headers of the format state, or refers to
 * attributes; with DATA if a file is missing or no ordinary one; with DEVICE (memory). */
status_t packet_files_create(const struct format_input *input, const char *format, int states_rate,
                             struct archive **out);

/* Looks at the header of a frame, number `frame` at byte `offset`: fails if it contradicts what is
 * known. */
typedef status_t packet_files_look_t(void *context, const char *path, uint64_t frame,
                                     uint64_t offset, const unsigned char *header);
/* Calls `look` with the headers of the first and last frames (PACKETS_ENDS of each), as
 * packets_seek_frames() found them in `ends`; a frame has `frame_bytes` bytes. One frame that
 * contradicts others (look() fails) is damage, and its cause is forgotten. Fails as `look` does at
 * the second one within PACKETS_AROUND frames; at once with DEVICE. */
status_t packet_files_look(const struct packets_file *file, uint64_t frame_bytes,
                           const struct packets_ends *ends, packet_files_look_t *look,
                           void *context);

/* Computes packets->window and periods, and the periods and frames of each file, when frames, their
 * rate and an origin are known; reads headers of the files. Moves the origin to the first period,
 * and sorts files by time. `per_period`: units of packets->origin in a period. May warn of contrary
 * frames. Fails with DATA: unreadable, frames of a file not in order of time, files far apart, or
 * of the same threads and times; with DEVICE (memory, descriptors). `packets` is undefined then. */
status_t packet_files_settle_times(struct packets *packets, uint64_t per_period);

/* Fills in the archive from its packets, streams of which are [pols][chans] as it counts: the
 * meaning of their samples, how they are stored, and their rate. `start` is the time of period 0,
 * which the archive gets unless the job says another. Fails with DATA: too many samples,
 * frequencies that are not one for each channel; with DEVICE (memory). */
status_t packet_files_describe(const struct job_layout *layout, double sample_rate_hz,
                               struct utc start, struct archive *archive);

#endif
