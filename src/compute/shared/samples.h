/* Samples as archives store them, and their places in a buffer: input of every stage that reads
 * voltages. */
#ifndef VOLTMILL_COMPUTE_SHARED_SAMPLES_H
#define VOLTMILL_COMPUTE_SHARED_SAMPLES_H

#include "base/stream_set.h"
#include "base/terms.h"

#include <stddef.h>

/* How a sample is stored, and how its number is read. */
struct sample_coding {
    enum sample_format format;
    int is_complex;
    struct nibbles nibbles; /* of SAMPLE_I4 */
    int conjugate;          /* take the complex conjugate of every sample (sideband -1) */
    int has_missing_value;  /* a stored number (either part, or the byte) that means "no sample" */
    double missing_value;
    int is_made; /* made by a stage: none is missing, and NaN stays NaN */
};

/* Places of samples of some streams in a buffer: byte offsets of sample 0 of each stream's real (or
 * only) and imaginary part, and the bytes from a sample to the next one of its stream. Real samples
 * and SAMPLE_I4 have equal offsets in both lists; `im` is never NULL. */
struct sample_input {
    const size_t *re, *im;
    size_t step;
};

/* Sets `volts` to the real and imaginary part (0 of real samples) of sample n of a stream, in units
 * of what is stored: coefficients and responses contain the archive's scale. `in`: the buffer's
 * first byte; sample 0 is at the stream's offsets of `input`. Returns 1; 0 for a missing sample
 * (NaN, infinite, the missing value), which gives 0. */
int sample_volts(const struct sample_coding *coding, const char *in,
                 const struct sample_input *input, uint32_t stream, size_t n, double volts[2]);

/* Returns the number of missing ones (sample_volts()) among samples first .. first + count - 1 of
 * streams 0 .. nstreams - 1 together. `in`: the buffer's first byte; sample 0 is at the offsets of
 * `input`. */
uint64_t samples_missing(const struct sample_coding *coding, const char *in,
                         const struct sample_input *input, uint32_t nstreams, uint64_t first,
                         uint64_t count);

/* One run of a stage that makes rows of samples. Samples and rows count from the observation's
 * first. */
struct stage_run {
    struct stream_set streams; /* that come out, among the observation's */
    int64_t first_sample;      /* the one at place 0 of the buffer */
    uint64_t samples;          /* in the buffer; those before and after count as 0 V */
    int64_t first_row;
    uint64_t rows; /* to be made */
    /* Missing ones are counted among samples counted_first .. counted_first + counted - 1 of the
     * buffer (place 0 is 0): neighbouring runs share samples. */
    uint64_t counted_first, counted;
    uint64_t out_stride; /* rows from one stream to the next in `out`, >= rows */
};

#endif
