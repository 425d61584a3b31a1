/* The transform against its definition and against its properties. */
#include "dsp/dft.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LONG = 4096 };

/* A fixed sequence in -1 .. 1 from a linear congruential generator (Knuth's MMIX constants). */
static double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static double complex *make_random(size_t length, uint64_t seed)
{
    double complex *out = calloc(length, sizeof *out);
    assert_non_null(out);
    for (size_t n = 0; n < length; n++) {
        double re = next_random(&seed);
        double im = next_random(&seed);
        out[n] = re + im * I;
    }
    return out;
}

static double complex *transform(size_t length, const double complex *in)
{
    double complex *out = calloc(length, sizeof *out);
    assert_non_null(out);
    assert_int_equal(dft_forward(length, in, out), STATUS_OK);
    return out;
}

static double largest_difference(size_t length, const double complex *a, const double complex *b)
{
    double largest = 0;
    for (size_t n = 0; n < length; n++) {
        double difference = cabs(a[n] - b[n]);
        if (!(difference <= largest)) {
            largest = difference;
        }
    }
    return largest;
}

/* A sum of `length` terms of modulus at most sqrt(2), each known to a few roundings (phase,
 * product, addition), errs by less than a few times sqrt(2) length epsilon. */
static double tolerance(size_t length)
{
    return 8 * (double)length * DBL_EPSILON;
}

/* The definition, in long double: no part of it is shared with the transform. */
static void check_naive(size_t length)
{
    double complex *in = make_random(length, length);
    double complex *out = transform(length, in);
    double complex *expected = calloc(length, sizeof *expected);
    long double *c = calloc(length, sizeof *c);
    long double *s = calloc(length, sizeof *s);
    assert_true(expected && c && s);
    for (size_t k = 0; k < length; k++) {
        c[k] = cosl(2 * acosl(-1) * (long double)k / (long double)length);
        s[k] = sinl(2 * acosl(-1) * (long double)k / (long double)length);
    }
    for (size_t m = 0; m < length; m++) {
        long double re = 0;
        long double im = 0;
        for (size_t n = 0; n < length; n++) {
            size_t k = n * m % length;
            re += creal(in[n]) * c[k] + cimag(in[n]) * s[k];
            im += cimag(in[n]) * c[k] - creal(in[n]) * s[k];
        }
        expected[m] = (double)re + (double)im * I;
    }
    assert_true(largest_difference(length, out, expected) <= tolerance(length));
    free(s);
    free(c);
    free(expected);
    free(out);
    free(in);
}

static void test_against_definition(void **state)
{
    (void)state;
    for (size_t length = 1; length <= 64; length++) {
        check_naive(length);
    }
    check_naive(97);
    check_naive(360);
    check_naive(1000);
}

/* exp(-2 pi i n m / 8) has values that everyone knows: they come out to the last digit. */
static void test_impulses(void **state)
{
    (void)state;
    const double h = sqrt(0.5);
    const double complex eighth[8] = {1, h - h * I, -I, -h - h * I, -1, -h + h * I, I, h + h * I};
    for (size_t n = 0; n < 8; n++) {
        double complex in[8] = {0};
        in[n] = 1;
        double complex *out = transform(8, in);
        for (size_t m = 0; m < 8; m++) {
            assert_true(cabs(out[m] - eighth[n * m % 8]) <= DBL_EPSILON);
        }
        free(out);
    }
}

/* A tone that fits 1234 times into the length fills bin 1234 with `length` and no other. */
static void test_tone(void **state)
{
    (void)state;
    enum { BIN = 1234 };
    double complex *in = calloc(LONG, sizeof *in);
    assert_non_null(in);
    for (size_t n = 0; n < LONG; n++) {
        double angle = 2 * M_PI * (double)(n * BIN % LONG) / LONG;
        in[n] = cos(angle) + sin(angle) * I;
    }
    double complex *out = transform(LONG, in);
    for (size_t m = 0; m < LONG; m++) {
        assert_true(cabs(out[m] - (m == BIN ? LONG : 0)) <= tolerance(LONG));
    }
    free(out);
    free(in);
}

static void test_linearity(void **state)
{
    (void)state;
    const double complex factor = 0.75 - 0.5 * I;
    double complex *a = make_random(LONG, 1);
    double complex *b = make_random(LONG, 2);
    double complex *both = calloc(LONG, sizeof *both);
    assert_non_null(both);
    for (size_t n = 0; n < LONG; n++) {
        both[n] = a[n] + factor * b[n];
    }
    double complex *out_a = transform(LONG, a);
    double complex *out_b = transform(LONG, b);
    double complex *out_both = transform(LONG, both);
    for (size_t m = 0; m < LONG; m++) {
        out_a[m] += factor * out_b[m];
    }
    assert_true(largest_difference(LONG, out_both, out_a) <= 2 * tolerance(LONG));
    free(out_both);
    free(out_b);
    free(out_a);
    free(both);
    free(b);
    free(a);
}

/* sum |out|^2 = length * sum |in|^2: relative, as errors of single bins are independent. */
static void test_parseval(void **state)
{
    (void)state;
    double complex *in = make_random(LONG, 3);
    double complex *out = transform(LONG, in);
    double before = 0;
    double after = 0;
    for (size_t n = 0; n < LONG; n++) {
        before += creal(in[n]) * creal(in[n]) + cimag(in[n]) * cimag(in[n]);
        after += creal(out[n]) * creal(out[n]) + cimag(out[n]) * cimag(out[n]);
    }
    assert_true(before > LONG / 2.0);
    assert_true(fabs(after / (LONG * before) - 1) <= LONG * DBL_EPSILON);
    free(out);
    free(in);
}

/* Twice forward is the sequence backwards, times its length: also where primes and powers mix. */
static void test_twice(void **state)
{
    (void)state;
    const size_t lengths[] = {2, 3 * 5 * 7 * 11, 2 * 997, LONG, 3 * LONG};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t length = lengths[i];
        double complex *in = make_random(length, 4);
        double complex *once = transform(length, in);
        double complex *twice = transform(length, once);
        double largest = 0;
        for (size_t n = 0; n < length; n++) {
            double complex back = twice[(length - n) % length] / (double)length;
            largest = fmax(largest, cabs(back - in[n]));
        }
        /* Errors of the first pass, of random sign, add up to about one bin's in the second. */
        assert_true(largest <= 2 * tolerance(length));
        free(twice);
        free(once);
        free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_impulses),
        cmocka_unit_test(test_tone),
        cmocka_unit_test(test_linearity),
        cmocka_unit_test(test_parseval),
        cmocka_unit_test(test_twice),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
