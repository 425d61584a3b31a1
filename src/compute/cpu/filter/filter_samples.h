/* Stored samples of a stream, in any layout, as planes of floats for the CPU's long filters. */
#ifndef VOLTMILL_COMPUTE_CPU_FILTER_FILTER_SAMPLES_H
#define VOLTMILL_COMPUTE_CPU_FILTER_FILTER_SAMPLES_H

#include "compute/cpu/filter/filter_kernels.h"
#include "compute/filter.h"

/* How samples are read: from coding and instruction set. */
struct filter_reader {
    const struct cpu_kernels *kernels;
    const struct filter_kernels *filter;
    void (*unpack)(const void *, size_t, const struct nibbles *, float *);
    struct nibbles nibbles;
    struct missing_rule rule;
    int has_rule; /* samples may be missing */
    int is_complex;
    int is_float;
    float sign;        /* of imaginary parts */
    size_t part_bytes; /* of a number; what is stored, of SAMPLE_I4 */
    size_t bytes;      /* of a sample without gaps */
};

/* Returns a reader of samples of this coding; this machine has the instruction set `simd`. Nothing
 * of it is to be freed. */
struct filter_reader filter_reader(const struct sample_coding *coding, enum simd_level simd);

/* Places of the samples of one stream. */
struct filter_stream {
    const char *re, *im; /* of place 0 */
    size_t step;
    uint64_t samples; /* in the buffer */
};

enum { READ_SAMPLES = 512 }; /* at most, at once */

/* Reads `count` <= READ_SAMPLES samples of a stream from place number `place` on, counted from the
 * buffer's first sample. Places outside of the buffer give 0 V, as do missing samples.
 *
 *   re, im   float [count, rounded up to MOST_LANES]; aligned to 64 bytes; im is not
 *            touched for real samples
 *
 * Returns how many of those in the buffer were missing. Cannot fail. */
uint64_t filter_read(const struct filter_reader *reader, const struct filter_stream *stream,
                     int64_t place, size_t count, float *re, float *im);

/* Reads any number of complex samples of a stream, or real ones with 0 V as imaginary parts, as
 * pairs, from place number `place` on, counted from the buffer's first sample. Places outside of
 * the buffer give 0 V, as do missing samples.
 *
 *   out   float [count][2]   re, im
 *
 * Returns how many of those in the buffer were missing. Cannot fail. */
uint64_t filter_read_pairs(const struct filter_reader *reader, const struct filter_stream *stream,
                           int64_t place, size_t count, float (*out)[2]);

#endif
