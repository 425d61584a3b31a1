/* Which compilation of the kernels runs on this machine. */
#include "base/simd.h"

#include <stdlib.h>
#include <string.h>

static const char *const level_names[SIMD_LEVELS] = {"base", "avx2", "avx512"}; /* VOLTMILL_SIMD */

int simd_has(enum simd_level level)
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
    while (level > SIMD_BASE && !simd_has((enum simd_level)level)) {
        level--;
    }
    return level > SIMD_BASE ? (enum simd_level)level : SIMD_BASE;
}
