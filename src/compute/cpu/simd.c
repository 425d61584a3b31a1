/* Which compilation of the kernels runs on this machine. */
#include "compute/cpu/dedisperse/strips.h"
#include "compute/cpu/ppf/kernels.h"

#include <stdlib.h>
#include <string.h>

extern const struct cpu_kernels cpu_kernels_base;
extern const struct strip_kernels strip_kernels_base;
#ifdef __x86_64__
extern const struct strip_kernels strip_kernels_avx2;
extern const struct strip_kernels strip_kernels_avx512;
extern const struct cpu_kernels cpu_kernels_avx2;
extern const struct cpu_kernels cpu_kernels_avx512;
#endif

const struct cpu_kernels *simd_kernels(enum simd_level level)
{
#ifdef __x86_64__
    if (level == SIMD_AVX512) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
                   ? &cpu_kernels_avx512
                   : NULL;
    }
    if (level == SIMD_AVX2) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &cpu_kernels_avx2
                                                                               : NULL;
    }
#endif
    return level == SIMD_BASE ? &cpu_kernels_base : NULL;
}

const struct strip_kernels *strip_kernels(enum simd_level level)
{
    if (!simd_kernels(level)) {
        return NULL;
    }
#ifdef __x86_64__
    return level == SIMD_AVX512 ? &strip_kernels_avx512
           : level == SIMD_AVX2 ? &strip_kernels_avx2
                                : &strip_kernels_base;
#else
    return &strip_kernels_base;
#endif
}

/* The level that VOLTMILL_SIMD names: the highest when it is not set, -1 when it is none. */
static int simd_named_level(void)
{
    static const char *const names[SIMD_LEVELS] = {"base", "avx2", "avx512"};
    const char *name = getenv("VOLTMILL_SIMD");
    if (!name || *name == '\0') {
        return SIMD_LEVELS - 1;
    }
    for (int level = 0; level < SIMD_LEVELS; level++) {
        if (strcmp(name, names[level]) == 0) {
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
