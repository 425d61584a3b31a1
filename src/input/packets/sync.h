/* Where frames are in a file: one after the other, unless bytes between them are none of a frame's
 * or some are missing. Private to input/.
 *
 * A scan walks from header to header by the frames' length. Where no header (loose mark) is found,
 * it searches for the next one that is beyond doubt (strict mark), at any byte. If that is a
 * whole number of lengths on, there are only frames with damaged headers in between. Otherwise the
 * frame before is torn, or bytes were inserted into it, or after it: nothing tells which, so it is
 * left out. It stays where the bytes up to the next header repeat one word of 4 bytes, at least
 * twice, and its own end does not: a filling. It stays also where no header follows at all: such
 * bytes are the file's end. */
#ifndef VOLTMILL_INPUT_PACKETS_SYNC_H
#define VOLTMILL_INPUT_PACKETS_SYNC_H

#include "input/packets/packets.h"

/* Frames of each end of a file whose headers are read when it is opened. */
enum { PACKETS_ENDS = 2048 };

/* A file whose frames are sought. */
struct packets_seek {
    int fd;
    const char *path;
    const char *noun; /* "VDIF frame" */
    uint64_t bytes;   /* of the file */
    uint64_t frame_bytes, header_bytes;
    const struct packets_mark *mark;
};

/* Headers of the first and last frames, where they were read: frames 0 .. PACKETS_ENDS - 1 and the
 * last ones, as far as there are any. */
struct packets_ends {
    unsigned char first[PACKETS_ENDS][PACKETS_MOST_HEADER];
    unsigned char last[PACKETS_ENDS][PACKETS_MOST_HEADER];
};

/* Finds the first byte from `from` on, before `end`, at which a header begins, by the strict mark.
 * Sets *out to it; to `end` if there is none, and after a failure. Fails with DATA (unreadable),
 * DEVICE (memory). */
status_t packets_seek_header(const struct packets_seek *seek, uint64_t from, uint64_t end,
                             uint64_t *out);

/* Finds the file's frames, of which the first is at byte `begin`: sets frames, runs (for free(),
 * also after a failure) and scanned of *out, where they were 0, and the headers at both ends. Warns
 * of bytes that are no frames, and prints a note of those after the last one. Reads some headers,
 * and all of the file from the first place on where no frame is as expected. Fails with DATA
 * (unreadable), DEVICE (memory); frames, scanned and `ends` are undefined then. */
status_t packets_seek_frames(const struct packets_seek *seek, uint64_t begin,
                             struct packets_file *out, struct packets_ends *ends);

#endif
