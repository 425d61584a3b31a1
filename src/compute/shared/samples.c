/* A stored sample as volts, in double. */
#include "compute/shared/samples.h"

#include <math.h>
#include <string.h>

/* One stored number as a double; *is_missing is set when it is none. */
static double sample_number(const struct sample_coding *coding, const char *at, int *is_missing)
{
    double value = 0;
    double missing_value = coding->missing_value;
    if (coding->format == SAMPLE_I8) {
        value = *(const int8_t *)at;
    } else if (coding->format == SAMPLE_I16) {
        int16_t stored;
        memcpy(&stored, at, sizeof stored);
        value = stored;
    } else {
        float stored;
        memcpy(&stored, at, sizeof stored);
        value = (double)stored;
        missing_value = (double)(float)missing_value; /* as a float can hold it */
    }
    *is_missing |= (!coding->is_made && !isfinite(value)) ||
                   (coding->has_missing_value && value == missing_value);
    return value;
}

/* The high and the low four bits of a byte, as two numbers. */
static void sample_nibbles(const struct sample_coding *coding, unsigned byte, double volts[2])
{
    int half[2] = {(int)(byte & 15), (int)(byte >> 4)};
    for (int i = 0; i < 2; i++) {
        int value = coding->nibbles.offset_binary ? half[i] - 8
                    : half[i] < 8                 ? half[i]
                                                  : half[i] - 16;
        volts[i == coding->nibbles.high_is_real ? 0 : 1] = value;
    }
}

int sample_volts(const struct sample_coding *coding, const char *in,
                 const struct sample_input *input, uint32_t stream, size_t n, double volts[2])
{
    const char *re = in + input->re[stream] + n * input->step;
    int is_missing = 0;
    volts[1] = 0;
    if (coding->format == SAMPLE_I4) {
        unsigned byte = *(const unsigned char *)re;
        sample_nibbles(coding, byte, volts);
        is_missing = coding->has_missing_value && byte == coding->missing_value;
    } else {
        volts[0] = sample_number(coding, re, &is_missing);
        if (coding->is_complex) {
            const char *im = in + input->im[stream] + n * input->step;
            volts[1] = sample_number(coding, im, &is_missing);
        }
    }
    if (is_missing) {
        volts[0] = volts[1] = 0;
    } else if (coding->conjugate) {
        volts[1] = -volts[1];
    }
    return !is_missing;
}

uint64_t samples_missing(const struct sample_coding *coding, const char *in,
                         const struct sample_input *input, uint32_t nstreams, uint64_t first,
                         uint64_t count)
{
    uint64_t found = 0;
    for (uint32_t stream = 0; stream < nstreams; stream++) {
        for (uint64_t n = first; n < first + count; n++) {
            double volts[2];
            found += !sample_volts(coding, in, input, stream, (size_t)n, volts);
        }
    }
    return found;
}
