/* Which stream each channel of each VDIF thread is. Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_VDIF_STREAMS_H
#define VOLTMILL_ARCHIVE_FORMAT_VDIF_STREAMS_H

#include "input/archive.h"
#include "input/format/vdif_survey.h"

/* Sets threads and streams of the archive's packets, names of polarisations and frequencies: by
 * input.layout.streams, else threads are polarisations and a frame's channels coarse channels.
 * Fails with USAGE: streams that the files do not hold, or that are no table of pol by freq_hz. */
status_t vdif_streams_settle(const struct job_layout *layout, const struct vdif_survey *survey,
                             struct archive *archive, uint64_t *npols, uint64_t *nchans);

#endif
