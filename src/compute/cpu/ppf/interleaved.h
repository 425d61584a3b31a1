/* Streams that lie interleaved are deinterleaved a few at a time, by the thread that filters them.
 */
#ifndef VOLTMILL_COMPUTE_CPU_PPF_INTERLEAVED_H
#define VOLTMILL_COMPUTE_CPU_PPF_INTERLEAVED_H

#include "compute/channelise.h"

/* How the streams of a block are worked off. */
struct interleaved {
    int is_copied; /* 0: every stream lies without gaps, real parts before imaginary ones */
    uint32_t group, groups; /* streams worked off together, and how many such groups */
    size_t sample_bytes;
};

struct interleaved interleaved_layout(const struct channelise_spec *spec,
                                      const struct sample_input *input, uint32_t nstreams);

/* Bytes that interleaved_take() writes at most, for a grain of spectra. */
uint64_t interleaved_bytes(const struct channelise_spec *spec);

/* Copies `count` samples from sample `first` on of `streams` streams from `stream` on.
 *
 *   out   [streams][count] samples, each with its real part before the imaginary one   */
void interleaved_take(const struct interleaved *layout, const char *in,
                      const struct sample_input *input, uint32_t stream, uint32_t streams,
                      size_t first, size_t count, char *out);

#endif
