/* Gaussian white noise, and plain random words, by number: the n-th value of a stream can be had
 * without those before it. */
#ifndef VOLTMILL_DSP_NOISE_H
#define VOLTMILL_DSP_NOISE_H

#include "base/status.h"

#include <stdint.h>

/* Origin of a stream's noise. */
enum noise_source { NOISE_RECEIVER, NOISE_PULSAR, NOISE_WORDS, NOISE_BURST, NOISE_SOURCE };

/* Names a stream; streams of different keys are independent. */
struct noise_key {
    uint64_t before, between; /* added to the number at two points of its mixing */
};

typedef struct noise noise_t;

/* Creates the table of noise, which all streams share. noise_destroy() frees it, and takes NULL.
 * Fails with DEVICE (memory), and leaves *out unchanged. */
status_t noise_create(noise_t **out);
void noise_destroy(noise_t *noise);

/* Returns the key of the stream that these four numbers name, for noise_fill(); any numbers will
 * do. */
struct noise_key noise_key(uint64_t seed, enum noise_source source, uint32_t antenna,
                           uint32_t chan);

/* Makes values number first .. first + count - 1 (modulo 2^64) of the stream `key`, of mean 0 and
 * standard deviation sigma.
 *
 *   out   float [count]   multiples of sigma / 2^20, at most 8.5 sigma from 0
 *
 * The same bits on every machine with IEEE floats. May be called by several threads at once. */
void noise_fill(const noise_t *noise, struct noise_key key, float sigma, uint64_t first,
                uint64_t count, float *restrict out);

/* Makes 64-bit words number first .. first + count - 1 (modulo 2^64) of the stream `seed`, all
 * values equally likely, in out [count]. For samples of trials and benchmarks, whose law does not
 * matter, and for draws. Needs no noise_create(). */
void noise_words(uint64_t seed, uint64_t first, uint64_t count, uint64_t *restrict out);

#endif
