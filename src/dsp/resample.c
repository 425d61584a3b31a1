/* Through frequencies, of which the fewer are kept. */
#include "dsp/resample.h"

#include "base/memory.h"
#include "dsp/dft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* exp(2 pi i k / (2 count)): by half a coefficient. */
static double complex resample_half(size_t k, size_t count)
{
    return cexp(I * M_PI * (double)k / (double)count);
}

/* Frequency 0 and those above, as far as both have them; those below are their conjugates. */
static void resample_frequencies(size_t from, size_t to, enum resample_keeps keeps,
                                 const double complex *in, double complex *out)
{
    size_t both = from < to ? from : to;
    for (size_t k = 0; 2 * k < both; k++) {
        double complex value = in[k];
        if (keeps == RESAMPLE_KEEPS_CENTRE) {
            value = value * conj(resample_half(k, from)) * resample_half(k, to);
        }
        out[k] = value;
        out[k > 0 ? to - k : 0] = k > 0 ? conj(value) : value;
    }
}

status_t prototype_resample(const double *in, uint32_t taps, uint32_t points_in,
                            uint32_t points_out, enum resample_keeps keeps, double **out)
{
    status_t st = STATUS_OK;
    const size_t from = (size_t)taps * points_in;
    const size_t to = (size_t)taps * points_out;
    const double divisor = keeps == RESAMPLE_KEEPS_CENTRE ? (double)from : (double)to;
    double complex *a = NULL;
    double complex *b = NULL;
    double *made = NULL;
    TRY(memory_zeroed(to, sizeof *made, "filter coefficients", &made));
    if (from == to) {
        memcpy(made, in, to * sizeof *made);
        goto done;
    }
    TRY(memory_zeroed(from > to ? from : to, sizeof *a, "filter coefficients", &a));
    TRY(memory_zeroed(from > to ? from : to, sizeof *b, "filter coefficients", &b));
    for (size_t j = 0; j < from; j++) {
        a[j] = in[j];
    }
    TRY(dft_forward(from, a, b));
    memset(a, 0, to * sizeof *a);
    resample_frequencies(from, to, keeps, b, a);
    /* Backwards: the transform of conjugates, which the output, being real, is its own. */
    for (size_t k = 0; k < to; k++) {
        a[k] = conj(a[k]);
    }
    TRY(dft_forward(to, a, b));
    for (size_t j = 0; j < to; j++) {
        made[j] = creal(b[j]) / divisor;
    }
done:
    *out = made;
    made = NULL;
out:
    free(a);
    free(b);
    free(made);
    return st;
}
