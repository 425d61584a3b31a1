/* Which compilation of the kernels runs on this machine. */
#include "compute/cpu/beams/beam_kernels.h"
#include "compute/cpu/correlate/correlate_kernels.h"
#include "compute/cpu/dedisperse/strips.h"
#include "compute/cpu/filter/filter_kernels.h"
#include "compute/cpu/ppf/kernels.h"
#include "compute/cpu/synthesis/synthesis_kernels.h"

#include <stdlib.h>
#include <string.h>

extern const struct beam_kernels beam_kernels_base;
extern const struct cpu_kernels cpu_kernels_base;
extern const struct strip_kernels strip_kernels_base;
extern const struct filter_kernels filter_kernels_base;
extern const struct synthesis_kernels synthesis_kernels_base;
extern const struct correlate_kernels correlate_kernels_base;
#ifdef __x86_64__
extern const struct beam_kernels beam_kernels_avx2, beam_kernels_avx512;
extern const struct cpu_kernels cpu_kernels_avx2, cpu_kernels_avx512;
extern const struct strip_kernels strip_kernels_avx2, strip_kernels_avx512;
extern const struct filter_kernels filter_kernels_avx2, filter_kernels_avx512;
extern const struct synthesis_kernels synthesis_kernels_avx2, synthesis_kernels_avx512;
extern const struct correlate_kernels correlate_kernels_avx2, correlate_kernels_avx512;
#endif

static const struct {
    const char *name; /* in VOLTMILL_SIMD */
    const struct cpu_kernels *kernels;
    const struct strip_kernels *strips;
    const struct filter_kernels *filter;
    const struct synthesis_kernels *synthesis;
    const struct correlate_kernels *correlate;
    const struct beam_kernels *beams;
} levels[SIMD_LEVELS] = {
    [SIMD_BASE] = {"base", &cpu_kernels_base, &strip_kernels_base, &filter_kernels_base,
                   &synthesis_kernels_base, &correlate_kernels_base, &beam_kernels_base},
#ifdef __x86_64__
    [SIMD_AVX2] = {"avx2", &cpu_kernels_avx2, &strip_kernels_avx2, &filter_kernels_avx2,
                   &synthesis_kernels_avx2, &correlate_kernels_avx2, &beam_kernels_avx2},
    [SIMD_AVX512] = {"avx512", &cpu_kernels_avx512, &strip_kernels_avx512, &filter_kernels_avx512,
                     &synthesis_kernels_avx512, &correlate_kernels_avx512, &beam_kernels_avx512},
#else
    [SIMD_AVX2] = {"avx2", NULL, NULL, NULL, NULL, NULL, NULL},
    [SIMD_AVX512] = {"avx512", NULL, NULL, NULL, NULL, NULL, NULL},
#endif
};

static int simd_has(enum simd_level level)
{
#ifdef __x86_64__
    if (level == SIMD_AVX512) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    if (level == SIMD_AVX2) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
#endif
    return level == SIMD_BASE;
}

const struct cpu_kernels *simd_kernels(enum simd_level level)
{
    return simd_has(level) ? levels[level].kernels : NULL;
}

const struct strip_kernels *strip_kernels(enum simd_level level)
{
    return simd_has(level) ? levels[level].strips : NULL;
}

const struct filter_kernels *filter_kernels(enum simd_level level)
{
    return simd_has(level) ? levels[level].filter : NULL;
}

const struct synthesis_kernels *synthesis_kernels(enum simd_level level)
{
    return simd_has(level) ? levels[level].synthesis : NULL;
}

const struct correlate_kernels *correlate_kernels(enum simd_level level)
{
    return simd_has(level) ? levels[level].correlate : NULL;
}

const struct beam_kernels *beam_kernels(enum simd_level level)
{
    return simd_has(level) ? levels[level].beams : NULL;
}

/* The level that VOLTMILL_SIMD names: the highest when it is not set, -1 when it is none. */
static int simd_named_level(void)
{
    const char *name = getenv("VOLTMILL_SIMD");
    if (!name || *name == '\0') {
        return SIMD_LEVELS - 1;
    }
    for (int level = 0; level < SIMD_LEVELS; level++) {
        if (strcmp(name, levels[level].name) == 0) {
            return level;
        }
    }
    return -1;
}

status_t simd_check(void)
{
    return REQUIRED(simd_named_level() >= 0, STATUS_DEVICE,
                    "VOLTMILL_SIMD is \"%s\", expected base, avx2 or avx512",
                    getenv("VOLTMILL_SIMD"));
}

enum simd_level simd_best(void)
{
    int level = simd_named_level();
    while (level > SIMD_BASE && !simd_kernels((enum simd_level)level)) {
        level--;
    }
    return level > SIMD_BASE ? (enum simd_level)level : SIMD_BASE;
}

/* Nibbles are missing as a byte: both of them. Of larger samples, one such part makes all of it
 * missing. */
int missing_rule_of(const struct cpu_kernels *kernels, const struct sample_coding *coding,
                    struct missing_rule *out)
{
    int must_be_finite = coding->format == SAMPLE_F32 && !coding->is_made;
    int has_rule = must_be_finite || coding->has_missing_value;
    *out = (struct missing_rule){.finite = must_be_finite,
                                 .value = coding->has_missing_value,
                                 .re = (float)coding->missing_value,
                                 .im = (float)coding->missing_value};
    if (coding->format == SAMPLE_I4 && coding->has_missing_value) {
        unsigned char byte = (unsigned char)coding->missing_value;
        unsigned char bytes[MOST_LANES] = {0};
        float pair[2 * MOST_LANES];
        bytes[0] = byte;
        kernels->unpack[SAMPLE_I4][1](bytes, 1, &coding->nibbles, pair);
        out->both = 1;
        out->re = pair[0];
        out->im = pair[kernels->lanes];
        /* A number that no byte has is never missing. */
        has_rule = out->value = byte == coding->missing_value;
    }
    return has_rule;
}
