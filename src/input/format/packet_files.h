/* Opening, as formats of packets share it. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_PACKET_FILES_H
#define VOLTMILL_INPUT_FORMAT_PACKET_FILES_H

#include "input/format/formats.h"
#include "input/packets/sync.h"

/* Creates an archive of one part with packets, from the names of the files and the job's
 * description. `format`: its name in messages; `states_rate`: its headers state the rate and the
 * streams. The caller destroys *out (before: NULL) in any case. Fails with USAGE if the description
 * states what headers of the format state, or refers to attributes; with DATA, DEVICE. */
status_t packet_files_create(const struct format_input *input, const char *format, int states_rate,
                             struct archive **out);

/* Calls `look` with the headers of the first and last frames, as packets_seek_frames() found them.
 * It fails if the frame contradicts what is known. One such frame is damage, and is ignored. Fails
 * as `look` does at the second one within PACKETS_AROUND frames; at once with DEVICE. */
typedef status_t packet_files_look_t(void *context, const char *path, uint64_t frame,
                                     uint64_t offset, const unsigned char *header);
status_t packet_files_look(const struct packets_file *file, uint64_t frame_bytes,
                           const struct packets_ends *ends, packet_files_look_t *look,
                           void *context);

/* Computes packets->window and periods, and the periods of each file, when frames, their rate and
 * an origin are known. Moves the origin to the first period, and sorts files by time. `per_period`:
 * units of packets->origin in a period. Fails with DATA if frames of a file are not in order of
 * time, or files are far apart; with DEVICE. */
status_t packet_files_settle_times(struct packets *packets, uint64_t per_period);

/* Fills in the archive from its packets, streams of which are [pols][chans] as it counts: what
 * their samples are and how they are stored, their rate; its start is that of period 0 unless the
 * job says another. Fails with DATA, DEVICE (memory). */
status_t packet_files_describe(const struct job_layout *layout, double sample_rate_hz,
                               struct utc start, struct archive *archive);

#endif
