/* FIR filters by Kaiser's window: one band that is passed or stopped, and what becomes of it.
 *
 * Frequencies are in turns a sample (1: the sample rate) and of period 1. With the band between the
 * middles a, b of its transitions, the ideal filter's
 *
 *   d[n] = exp(2 pi i n (a + b) / 2) sin(pi (b - a) n) / (pi n),   n = i - (T - 1) / 2
 *
 * is cut by the window w: c[i] = w[i] d[n], or, where the band is stopped, [n = 0] - c[i]. T is
 * odd: the delay, (T - 1) / 2, is whole. C(f) = sum_i c[i] exp(-2 pi i f i). The gain is not
 * scaled: it is 1, or 0, but for what the window leaves. */
#ifndef VOLTMILL_DSP_FIR_FIR_DESIGN_H
#define VOLTMILL_DSP_FIR_FIR_DESIGN_H

#include "base/status.h"

#include <stdint.h>

/* The most coefficients of a filter. */
enum { FIR_MOST_TAPS = 1 << 24 };

struct fir_design {
    double edges[4];  /* ascending, from -1/2 to 1/2: the transition bands are edges[0] .. edges[1]
                         and edges[2] .. edges[3], the passband is between them */
    int is_stop;      /* the band is stopped, the rest passed; else the other way round */
    int is_mirrored;  /* the same at negative frequencies, by real coefficients; edges are >= 0 */
    double ripple_db; /* of the passband, from the minimum to the maximum gain; > 0 */
    double attenuation_db; /* of what is stopped; > 0 */
    double margin_db;      /* added to both specifications, dB; default 0 */
};

/* The size of a filter. */
struct fir_size {
    double decibels; /* largest deviation of the gain, dB below 1: the stricter of ripple and
                        attenuation, and the margin */
    double width;    /* of the narrower transition band, turns a sample */
    double beta;     /* of Kaiser's window */
    double taps;     /* odd; may exceed FIR_MOST_TAPS */
};
/* Returns the size of a design, by Kaiser's formulas. */
struct fir_size fir_design_size(const struct fir_design *design);

/* Returns whether coefficients are complex: the band is neither mirrored nor symmetric about 0. */
int fir_design_is_complex(const struct fir_design *design);

/* Ripple and attenuation in the bands of a design, at their worst frequencies, near the edges. */
struct fir_reach {
    double ripple_db;      /* of the passband, from the minimum to the maximum gain */
    double attenuation_db; /* the least of what is stopped */
};

struct fir_made {
    double *coeff; /* [taps], or [taps][2] (re, im) if complex; free() returns them */
    uint32_t taps;
    int is_complex;
    double beta;
    struct fir_reach reach;
};

/* Designs the filter; free() returns out->coeff. The caller has checked that fir_design_size()
 * gives at most FIR_MOST_TAPS. Kaiser's formulas may miss the specification by tenths of a decibel,
 * and by up to 6 dB if a band is narrow against its transitions. The margin is then increased, and
 * with it the number of taps, at most five times and up to FIR_MOST_TAPS. out->reach says whether
 * the specification is met. Fails with DEVICE (memory), and leaves *out unchanged. */
status_t fir_design_make(const struct fir_design *design, struct fir_made *out);

/* Returns |C(f)|, a gain of voltage, by the plain sum, f in cycles per sample. coeff: [taps], or
 * [taps][2] (re, im) if complex. */
double fir_gain(const double *coeff, uint32_t taps, int is_complex, double f);

/* Returns sum_i i |c[i]|^2 / sum_i |c[i]|^2, in samples: the delay of a filter of linear phase, and
 * the best approximation of it for any other. NaN without energy. coeff: [taps], or [taps][2] (re,
 * im) if complex. */
double fir_delay(const double *coeff, uint32_t taps, int is_complex);

/* Finds the maximum gain at |f| > from (f in cycles per sample), in dB below the maximum of all, on
 * a grid of at most 2^20 frequencies; INFINITY if it is 0. coeff: double [taps], or [taps][2] (re,
 * im) if complex. Fails with DEVICE (memory), and leaves *out unchanged. */
status_t fir_rejection(const double *coeff, uint32_t taps, int is_complex, double from,
                       double *out);

#endif
