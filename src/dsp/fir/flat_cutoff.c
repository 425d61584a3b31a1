/* The flat cutoff, by bisection: a wider filter passes more at the border. */
#include "dsp/fir/flat_cutoff.h"

#include "base/memory.h"
#include "dsp/fir/kaiser.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_COEFFICIENTS = 1 << 18, MOST_TAPS = 4096, HALVINGS = 40 };

#define WIDEST 2.0       /* channels: the neighbours' centres, so all of the border is passed */
#define STEPS_PER_1 1e10 /* of the cutoff that is told */

/* One half of a symmetric filter: what the sinc is multiplied by. */
struct flat_half {
    uint32_t taps, samples;
    size_t count;   /* of coefficients in it, the innermost first */
    double *centre; /* window */
    double *border; /* the same times the phase of f = 1/2 */
};

/* Where coefficient i lies, in spectra from the middle. */
static double flat_place(const struct flat_half *half, size_t i)
{
    return ((double)i + 0.5) / half->samples;
}

/* |H(1/2) / H(0)|^2 less 1/2. */
static double flat_excess(const struct flat_half *half, double cutoff)
{
    double centre = 0;
    double border = 0;
    for (size_t i = 0; i < half->count; i++) {
        double sinc = prototype_sinc(cutoff * flat_place(half, i));
        centre += half->centre[i] * sinc;
        border += half->border[i] * sinc;
    }
    return border / centre * (border / centre) - 0.5;
}

static status_t flat_fill(const struct prototype_spec *spec, struct flat_half *half)
{
    status_t st = STATUS_OK;
    double i0_beta = spec->window == WINDOW_KAISER ? kaiser_i0(spec->kaiser_beta) : 1;
    half->taps = spec->taps < MOST_TAPS ? spec->taps : MOST_TAPS;
    uint32_t fewer = MOST_COEFFICIENTS / half->taps / 2 * 2;
    half->samples = spec->samples_per_spectrum < fewer ? spec->samples_per_spectrum : fewer;
    half->count = (size_t)half->taps * half->samples / 2;
    TRY(memory_zeroed(half->count, sizeof(double), "filter coefficients", &half->centre));
    TRY(memory_zeroed(half->count, sizeof(double), "filter coefficients", &half->border));
    for (size_t i = 0; i < half->count; i++) {
        double x = flat_place(half, i);
        half->centre[i] = prototype_window(spec, i0_beta, 0.5 + x / half->taps);
        half->border[i] = half->centre[i] * cos(M_PI * fmod(x, 2));
    }
out:
    return st;
}

status_t flat_cutoff_settle(struct prototype_spec *spec)
{
    status_t st = STATUS_OK;
    struct flat_half half = {0};
    if (spec->cutoff != CUTOFF_FLAT) {
        return STATUS_OK;
    }
    REQUIRE(spec->taps > 1 && spec->window != WINDOW_FILE, STATUS_USAGE,
            "cutoff flat: a filter of %u %s from a %s has no cutoff to choose", spec->taps,
            spec->taps == 1 ? "tap" : "taps", spec->window == WINDOW_FILE ? "file" : "window");
    TRY(flat_fill(spec, &half));
    double low = 0;
    double high = WIDEST;
    double alone = flat_excess(&half, low) + 0.5;
    REQUIRE(alone < 0.5, STATUS_USAGE,
            "cutoff flat: the window alone, with cutoff 0, lets %.3f of a tone's power pass at the "
            "border of a channel, 0.5 is wanted: expected more taps than %u, or a window that "
            "falls off less in time",
            alone, spec->taps);
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(flat_excess(&half, middle) < 0 ? &low : &high) = middle;
    }
    /* The more taps, the steeper the border: what is added to 1 goes by widths of the main lobe. */
    double found = half.taps < spec->taps ? 1 + (low - 1) * half.taps / spec->taps : low;
    spec->cutoff = nearbyint(found * STEPS_PER_1) / STEPS_PER_1;
out:
    free(half.centre);
    free(half.border);
    return st;
}
