/* One mixed 64-bit word gives one value: the sum of five normal quantiles, each chosen by 12 of
 * its bits.
 *
 * A sum of independent normal deviates is normal, so the only errors are those of the table: 4096
 * equally likely quantiles that end at 3.8 sigma. The sum of five ends at 8.4 sigma, its fourth
 * cumulant is made zero (see fill_table), and the sixth, -0.035 in the table, is divided by 5^2.
 * Remaining errors, from the table convolved with itself: the probability beyond 3 sigma is that of
 * a normal law within 1e-4, beyond 4, 5 and 6 sigma 0.4, 3.5 and 16 percent less. Beside Box and
 * Muller's method this needs no logarithm or cosine, and integers make it the same on every
 * machine. The table takes 16 KiB and stays in the first cache.
 *
 * Wallace 1996, Fast pseudorandom generators for normal and exponential variates, on sums of
 * deviates; Thomas, Luk, Leong, Villasenor 2007, Gaussian random number generators, section 2.3. */
#include "dsp/noise.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
    INDEX_BITS = 12,
    ENTRIES = 1 << INDEX_BITS,
    HALF = ENTRIES / 2,
    TERMS = 5,     /* 5 * 12 of 64 bits */
    UNIT_BITS = 20 /* 1 sigma is 2^20: 8.5 sigma stays below 2^24, which a float holds exactly */
};

struct noise {
    int32_t quantile[ENTRIES]; /* of a normal deviate of variance 1 / TERMS, in 2^-UNIT_BITS */
};

/* The golden section of 2^64, odd: successive numbers land far apart. */
static const uint64_t GOLDEN = 0x9e3779b97f4a7c15u;

/* SplitMix64 with Stafford's variant 13 of the mixing (Steele, Lea, Flood 2014, Fast splittable
 * pseudorandom number generators, figure 16). The original has one key, the start of the counter:
 * then all streams are pieces of one cycle, and ten thousand streams of 10^13 samples would
 * overlap. The second key, between the two multiplications, makes each stream a cycle of its own.
 */
static inline uint64_t noise_mix(struct noise_key key, uint64_t number)
{
    uint64_t z = number * GOLDEN + key.before;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z += key.between;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct noise_key noise_key(uint64_t seed, enum noise_source source, uint32_t antenna, uint32_t chan)
{
    struct noise_key key = {seed, 0};
    key.before = noise_mix(key, (uint64_t)source + 1);
    key.before = noise_mix(key, ((uint64_t)antenna << 32 | chan) + 1);
    key.between = noise_mix(key, 0);
    return key;
}

/* Returns the x >= start that a normal deviate exceeds with probability p. Newton's steps from
 * below approach it, since the upper tail is convex there. */
static double noise_normal_quantile(double p, double start)
{
    enum { STEPS = 8 }; /* six reach the last bit from the neighbouring entry */
    const double density_at_0 = 0.39894228040143267794;
    double x = start;
    for (int i = 0; i < STEPS; i++) {
        double tail = 0.5 * erfc(x * 0.70710678118654752440);
        x += (tail - p) / (density_at_0 * exp(-0.5 * x * x));
    }
    return x;
}

/* Each entry is the quantile at the middle of its share of probability. The outermost one
 * represents the whole tail and is placed where the kurtosis becomes 3: with weight w = 2 /
 * ENTRIES, and s2, s4 the moments that the others make, s4 + w y^2 = 3 (s2 + w y)^2 gives its
 * square y. All are then scaled to the variance. */
static void noise_fill_table(int32_t table[ENTRIES])
{
    double x[HALF];
    double s2 = 0;
    double s4 = 0;
    const double w = 1.0 / HALF;
    double below = 0;
    for (int j = HALF - 1; j > 0; j--) {
        x[j] = below = noise_normal_quantile((j + 0.5) / ENTRIES, below);
        s2 += w * x[j] * x[j];
        s4 += w * x[j] * x[j] * x[j] * x[j];
    }
    double a = w - 3 * w * w;
    double b = 3 * s2 * w;
    double y = (b + sqrt(b * b + a * (3 * s2 * s2 - s4))) / a;
    x[0] = sqrt(y);
    double scale = (1 << UNIT_BITS) / sqrt(TERMS * (s2 + w * y));
    for (int j = 0; j < HALF; j++) {
        table[j] = (int32_t)lrint(x[j] * scale);
        table[ENTRIES - 1 - j] = -table[j];
    }
}

status_t noise_create(noise_t **out)
{
    noise_t *noise = NULL;
    TRY(memory_zeroed(1, sizeof *noise, "the table of noise", &noise));
    noise_fill_table(noise->quantile);
    *out = noise;
    return STATUS_OK;
}

void noise_destroy(noise_t *noise)
{
    free(noise);
}

void noise_fill(const noise_t *noise, struct noise_key key, float sigma, uint64_t first,
                uint64_t count, float *restrict out)
{
    const int32_t *table = noise->quantile;
    const float unit = sigma / (1 << UNIT_BITS);
    const uint64_t mask = ENTRIES - 1;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = noise_mix(key, first + i);
        int32_t sum = table[bits & mask] + table[bits >> INDEX_BITS & mask] +
                      table[bits >> 2 * INDEX_BITS & mask] + table[bits >> 3 * INDEX_BITS & mask] +
                      table[bits >> 4 * INDEX_BITS & mask];
        out[i] = (float)sum * unit;
    }
}

void noise_words(uint64_t seed, uint64_t first, uint64_t count, uint64_t *restrict out)
{
    const struct noise_key key = noise_key(seed, NOISE_WORDS, 0, 0);
    for (uint64_t i = 0; i < count; i++) {
        out[i] = noise_mix(key, first + i);
    }
}
