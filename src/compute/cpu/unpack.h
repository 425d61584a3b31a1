/* Stored samples to floats. */
#ifndef VOLTMILL_COMPUTE_CPU_UNPACK_H
#define VOLTMILL_COMPUTE_CPU_UNPACK_H

#include "compute/backend.h"

/* How the samples of one job are unpacked; made once. */
struct unpacker {
    enum sample_format format;
    int is_complex, conjugate;
    int has_missing_value;
    double missing_value;
    float nibbles[256][2]; /* (re, im) of every byte of SAMPLE_I4, conjugation done */
};

void unpacker_init(struct unpacker *unpacker, const struct channelise_spec *spec);

/* Unpacks `count` samples, `step` bytes apart, whose real (or only) and imaginary parts begin at re
 * and im. Returns how many of them were missing (and came out as zero).
 *
 *   out   float [count][2] if complex, float [count] if real   */
uint64_t unpack_samples(const struct unpacker *unpacker, const char *re, const char *im,
                        size_t step, size_t count, float *out);

#endif
