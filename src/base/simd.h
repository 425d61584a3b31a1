/* Instruction sets of kernels that are compiled once for each (base/lanes.h), and which of them
 * this machine runs. */
#ifndef VOLTMILL_BASE_SIMD_H
#define VOLTMILL_BASE_SIMD_H

#include "base/status.h"

#include <stddef.h>

/* Instruction sets, the narrowest first. */
enum simd_level { SIMD_BASE, SIMD_AVX2, SIMD_AVX512, SIMD_LEVELS };

/* Returns whether this machine and this build have an instruction set. SIMD_BASE is always there.
 */
int simd_has(enum simd_level level);
/* Returns the widest instruction set that this machine and this build have. The variable
 * VOLTMILL_SIMD limits it: to the one that it names, to BASE if it names none; unset or empty: no
 * limit. */
enum simd_level simd_best(void);
/* Checks the variable VOLTMILL_SIMD: unset, empty, base, avx2 or avx512. Fails with DEVICE if it is
 * anything else. */
status_t simd_check(void);

/* Defines the function that returns the table of an instruction set; NULL if this machine or this
 * build lacks it. `table` is the tag of its struct; tables are called table_base, ..._avx2,
 * ..._avx512. */
#ifdef __x86_64__
#define SIMD_DEFINE_FIND(function, table)                                                          \
    extern const struct table table##_base, table##_avx2, table##_avx512;                          \
    const struct table *function(enum simd_level level)                                            \
    {                                                                                              \
        static const struct table *const tables[] = {&table##_base, &table##_avx2,                 \
                                                     &table##_avx512};                             \
        return simd_has(level) ? tables[level] : NULL;                                             \
    }
#else
#define SIMD_DEFINE_FIND(function, table)                                                          \
    extern const struct table table##_base;                                                        \
    const struct table *function(enum simd_level level)                                            \
    {                                                                                              \
        return simd_has(level) ? &table##_base : NULL;                                             \
    }
#endif

#endif
