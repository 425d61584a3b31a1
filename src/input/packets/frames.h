/* Where frames lie, and what marks their headers. Private to input/. */
#ifndef VOLTMILL_ARCHIVE_PACKETS_FRAMES_H
#define VOLTMILL_ARCHIVE_PACKETS_FRAMES_H

#include "input/packets/packets.h"

/* Where a frame begins in its file. */
uint64_t frames_offset(uint64_t frame_bytes, const struct packets_file *file, uint64_t frame);

/* The frame behind the run of frames that follow each other, of which `frame` is one. */
uint64_t frames_run_end(const struct packets_file *file, uint64_t frame);

/* Whether bytes are a header by the strict or the loose mask of the mark. */
int frames_is_header(const struct packets_mark *mark, const unsigned char *bytes,
                     const unsigned char mask[PACKETS_MARK]);

/* The bit of a channel in packet.groups: each channel has its own, of more than 64 some share one.
 */
uint64_t frames_group(const struct packets *packets, uint32_t channel);

#endif
