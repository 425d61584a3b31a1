/* Any length by its prime factors, from roots of unity that are good to the last bit. */
#include "dsp/dft.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

struct dft {
    size_t length;
    double complex *roots;  /* [length], roots[k] = exp(-2 pi i k / length) */
    double complex *column; /* [largest prime factor of length] */
};

static size_t dft_smallest_prime_factor(size_t n)
{
    for (size_t p = 2; p <= n / p; p++) {
        if (n % p == 0) {
            return p;
        }
    }
    return n;
}

static size_t dft_largest_prime_factor(size_t n)
{
    size_t p = dft_smallest_prime_factor(n);
    while (p < n) {
        n /= p;
        p = dft_smallest_prime_factor(n);
    }
    return p;
}

/* exp(-2 pi i k / length), 0 <= k < length. Whole numbers bring the angle down to 0 .. 45 degrees,
 * where sin and cos err by less than the last digit, and the eighth turns come out alike. */
static double complex dft_root_of_unity(size_t k, size_t length)
{
    size_t quadrant = 4 * k / length;
    size_t rest = 4 * k - quadrant * length; /* angle = pi/2 * (quadrant + rest / length) */
    double unit = M_PI_2 / (double)length;
    int is_upper = rest > length - rest;
    double angle = unit * (double)(is_upper ? length - rest : rest);
    double c = is_upper ? sin(angle) : cos(angle);
    double s = is_upper ? cos(angle) : sin(angle);
    switch (quadrant) {
    case 0:
        return c - s * I;
    case 1:
        return -s - c * I;
    case 2:
        return -c + s * I;
    default:
        return s + c * I;
    }
}

/* Combines the transforms of p interleaved parts, which are one after another in `out`, into the
 * transform of the whole, n = p * m points:
 *
 *   out[q m + k] = sum_r exp(-2 pi i r q / p) exp(-2 pi i r k / n) part_r[k] */
static void dft_combine(const struct dft *dft, size_t n, size_t p, double complex *out)
{
    size_t m = n / p;
    size_t step_n = dft->length / n;
    size_t step_p = dft->length / p;
    double complex *column = dft->column;
    for (size_t k = 0; k < m; k++) {
        for (size_t r = 0; r < p; r++) {
            column[r] = out[r * m + k] * dft->roots[r * k * step_n];
        }
        for (size_t q = 0; q < p; q++) {
            double complex sum = column[0];
            size_t rq = 0; /* r q modulo p */
            for (size_t r = 1; r < p; r++) {
                rq += q;
                if (rq >= p) {
                    rq -= p;
                }
                sum += column[r] * dft->roots[rq * step_p];
            }
            out[q * m + k] = sum;
        }
    }
}

/* The same for p = 2, where exp(-2 pi i / p) = -1: most lengths are powers of two. */
static void dft_combine_two(const struct dft *dft, size_t n, double complex *out)
{
    size_t m = n / 2;
    size_t step = dft->length / n;
    for (size_t k = 0; k < m; k++) {
        double complex even = out[k];
        double complex odd = out[m + k] * dft->roots[k * step];
        out[k] = even + odd;
        out[m + k] = even - odd;
    }
}

/* Transforms in[0], in[stride], ... (n points) into out[0 .. n - 1]. */
static void dft_transform(const struct dft *dft, size_t n, size_t stride, const double complex *in,
                          double complex *out)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    size_t p = dft_smallest_prime_factor(n);
    for (size_t r = 0; r < p; r++) {
        dft_transform(dft, n / p, stride * p, in + r * stride, out + r * (n / p));
    }
    if (p == 2) {
        dft_combine_two(dft, n, out);
    } else {
        dft_combine(dft, n, p, out);
    }
}

status_t dft_forward(size_t length, const double complex *in, double complex *out)
{
    SCOPED(free_at) double complex *scratch = NULL;
    /* The column is no longer than the roots, whose number is bounded by the address space. */
    size_t count = length + dft_largest_prime_factor(length);
    TRY(memory_zeroed(count, sizeof *scratch, "a discrete Fourier transform", &scratch));
    for (size_t k = 0; k < length; k++) {
        scratch[k] = dft_root_of_unity(k, length);
    }
    struct dft dft = {.length = length, .roots = scratch, .column = scratch + length};
    dft_transform(&dft, length, 1, in, out);
    return STATUS_OK;
}

void dft_factor(size_t k, size_t length, float out[2])
{
    double angle = -2 * M_PI * (double)k / (double)length;
    out[0] = (float)cos(angle);
    out[1] = (float)sin(angle);
}
