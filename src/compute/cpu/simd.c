/* Which compilation of the kernels runs on this machine. */
#include "compute/cpu/arrays/beam_kernels.h"
#include "compute/cpu/arrays/correlate_kernels.h"
#include "compute/cpu/dedisperse/strips.h"
#include "compute/cpu/filter/filter_kernels.h"
#include "compute/cpu/ppf/kernels.h"
#include "compute/cpu/ppf/synthesis_kernels.h"

#include <stdlib.h>
#include <string.h>

static const char *const level_names[SIMD_LEVELS] = {"base", "avx2", "avx512"}; /* VOLTMILL_SIMD */

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

/* Defines the function that finds the table of an instruction set (cpu/lanes.h). */
#ifdef __x86_64__
#define DEFINE_FIND(function, table)                                                               \
    extern const struct table table##_base, table##_avx2, table##_avx512;                          \
    const struct table *function(enum simd_level level)                                            \
    {                                                                                              \
        static const struct table *const tables[] = {&table##_base, &table##_avx2,                 \
                                                     &table##_avx512};                             \
        return simd_has(level) ? tables[level] : NULL;                                             \
    }
#else
#define DEFINE_FIND(function, table)                                                               \
    extern const struct table table##_base;                                                        \
    const struct table *function(enum simd_level level)                                            \
    {                                                                                              \
        return simd_has(level) ? &table##_base : NULL;                                             \
    }
#endif

DEFINE_FIND(simd_kernels, cpu_kernels)
DEFINE_FIND(strip_kernels, strip_kernels)
DEFINE_FIND(filter_kernels, filter_kernels)
DEFINE_FIND(synthesis_kernels, synthesis_kernels)
DEFINE_FIND(correlate_kernels, correlate_kernels)
DEFINE_FIND(beam_kernels, beam_kernels)

/* The level that VOLTMILL_SIMD names: the highest when it is not set, -1 when it is none. */
static int simd_named_level(void)
{
    const char *name = getenv("VOLTMILL_SIMD");
    if (!name || *name == '\0') {
        return SIMD_LEVELS - 1;
    }
    for (int level = 0; level < SIMD_LEVELS; level++) {
        if (strcmp(name, level_names[level]) == 0) {
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
