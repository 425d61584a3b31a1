/* The exact chirp: phases of 10^10 turns at the frequencies of an FFT of any length. */
#ifndef VOLTMILL_DSP_DISPERSION_CHIRP_EXACT_H
#define VOLTMILL_DSP_DISPERSION_CHIRP_EXACT_H

#include "dsp/dispersion/chirp.h"

/* Frequencies number first .. first + count - 1 of `length`, in the order of the FFT (the upper
 * half negative), out [count][2]: the factor that chirp.h defines, with `shift` taken out, right to
 * 1e-11 turns at any DM; the same bits on every machine and for any cut. Of real samples number
 * length - k is the conjugate of number k, and 0 Hz and half the rate are 1 or -1: its modulus is 1
 * everywhere, and the inverse undoes it. */
void chirp_exact(const struct chirp *chirp, uint32_t length, uint32_t first, uint32_t count,
                 double (*restrict out)[2]);

#endif
