/* Which compilation of the kernels runs on this machine. */
#include "compute/cpu/dedisperse/strips.h"
#include "compute/cpu/ppf/kernels.h"

#include <stdlib.h>
#include <string.h>

extern const struct cpu_kernels cpu_kernels_base;
extern const struct strip_kernels strip_kernels_base;
#ifdef __x86_64__
extern const struct cpu_kernels cpu_kernels_avx2, cpu_kernels_avx512;
extern const struct strip_kernels strip_kernels_avx2, strip_kernels_avx512;
#endif

static const struct {
    const char *name; /* in VOLTMILL_SIMD */
    const struct cpu_kernels *kernels;
    const struct strip_kernels *strips;
} levels[SIMD_LEVELS] = {
    [SIMD_BASE] = {"base", &cpu_kernels_base, &strip_kernels_base},
#ifdef __x86_64__
    [SIMD_AVX2] = {"avx2", &cpu_kernels_avx2, &strip_kernels_avx2},
    [SIMD_AVX512] = {"avx512", &cpu_kernels_avx512, &strip_kernels_avx512},
#else
    [SIMD_AVX2] = {"avx2", NULL, NULL},
    [SIMD_AVX512] = {"avx512", NULL, NULL},
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
    status_t st = STATUS_OK;
    REQUIRE(simd_named_level() >= 0, STATUS_DEVICE,
            "VOLTMILL_SIMD is \"%s\", expected base, avx2 or avx512", getenv("VOLTMILL_SIMD"));
out:
    return st;
}

enum simd_level simd_best(void)
{
    int level = simd_named_level();
    while (level > SIMD_BASE && !simd_kernels((enum simd_level)level)) {
        level--;
    }
    return level > SIMD_BASE ? (enum simd_level)level : SIMD_BASE;
}
