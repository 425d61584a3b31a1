/* Numbers into few bits: value v becomes rint(centre + (v - mean) * gain), clipped. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_SCALE_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_SCALE_H

#include "base/text.h"

#include <stdint.h>

enum scale_kind {
    SCALE_NONE,
    SCALE_RANGE,   /* the minimum becomes 0, the maximum the largest number */
    SCALE_GIVEN,   /* low and high become them */
    SCALE_CHANNELS /* each channel by its mean and rms, as those in few bits (dsp/steps.h) */
};

struct scale_options {
    enum scale_kind kind;
    double low, high;
};

/* Statistics of a channel, or of all. */
struct scale_line {
    double first, sum, squares; /* of the differences from the first value */
    uint64_t count;
};

struct scale {
    struct scale_options options;
    uint32_t bits;
    uint64_t nlines;
    struct scale_line *lines;
    double low, high;         /* of all finite values */
    uint64_t clipped, blanks; /* counted on the way: outside of the range; NaN */
};

/* Begins scaling to `bits` bits (8 or 16; with SCALE_NONE also 32) of `nlines` lines: the channels
 * of all ifs, if after if. The caller frees out->lines by free(). Fails with DEVICE (memory); *out
 * is unchanged then. */
status_t scale_begin(const struct scale_options *options, uint32_t bits, uint64_t nlines,
                     struct scale *out);

/* Returns whether all values must be measured (scale_measure()) before the first is encoded. */
int scale_must_measure(const struct scale *scale);
/* Measures values [count] of neighbouring channels, the first of which is line `line`, from 0
 * (scale_begin()). NaN and infinite values are ignored. One thread. Cannot fail. */
void scale_measure(struct scale *scale, const float *values, uint64_t count, uint64_t line);
/* Ends measuring, or takes options.low and high if nothing had to be measured. Call it before
 * scale_encode(). `path` is for the message. Fails with DATA if values had to be measured and none
 * is finite. */
status_t scale_settle(struct scale *scale, const char *path);

/* Writes `count` numbers, uint8_t or uint16_t by `bits` (8 or 16), to out, for values [count] of
 * neighbouring channels from line `line` on, from 0. NaN becomes the channel's mean with
 * SCALE_CHANNELS, else 0. Counts clipped ones and NaN in *scale: one thread for each *scale. Cannot
 * fail. */
void scale_encode(struct scale *scale, const float *values, uint64_t count, uint64_t line,
                  void *out);

/* Sets *zero and *step so that stored number q of line `line`, from 0, stands for *zero + q *
 * *step, in the unit of the values. Valid after scale_settle(). */
void scale_undo(const struct scale *scale, uint64_t line, double *zero, double *step);

/* Appends "scaling: ...", one line with the numbers clipped so far, of a kind other than NONE.
 * Fails with DEVICE (memory); `out` may have a part of it then. */
status_t scale_say(const struct scale *scale, struct text *out);

#endif
