/* Prototype filters of telescopes whose formula is published: by name.
 *
 *   chime      4 taps of 2048 samples (1024 channels of real samples): a sinc whose centre is
 *              sample 4096, times 0.08 + 0.92 hanning(8192) as numpy computes it; within rounding
 *              the prototype of CHIME's F-engine (CHIME/FRB's tools: the table
 *              pfb_coefficients_used)
 *   katgpucbf  16 taps, here of 2048 samples: a Hann window that is 0 at both ends times a sinc
 *              with its centre between both halves; the default of the wide bands of the GPU
 *              correlator of MeerKAT's extension (SARAO, katgpucbf: generate_pfb_weights)
 *
 * Others' numbers belong to those who made them, and are read from files. */
#ifndef VOLTMILL_DSP_TELESCOPE_H
#define VOLTMILL_DSP_TELESCOPE_H

#include "base/status.h"
#include "base/text.h"

#include <stdint.h>

struct telescope {
    const char *name;
    uint32_t taps, points; /* coefficients: taps * points */
    double window_low;     /* of the window at its ends */
    double centre;         /* of the sinc, in coefficients from the first */
};

/* Returns the telescope of that name; NULL if there is none. */
const struct telescope *telescope_find(const char *name);

/* Appends all names, separated by ", ". Fails with DEVICE (memory). */
status_t telescope_add_names(struct text *out);

/* Gives its coefficients [taps][points], the oldest sample's first, for free(). Fails with DEVICE
 * (memory). */
status_t telescope_prototype(const struct telescope *telescope, double **out);

#endif
