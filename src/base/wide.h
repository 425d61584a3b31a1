/* Functions that are compiled for wide vectors, too, with all that they call: which of them is
 * taken shows when the program starts. Their results are the same, since no operations are
 * contracted. */
#ifndef VOLTMILL_BASE_WIDE_H
#define VOLTMILL_BASE_WIDE_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default"), flatten))
#else
#define WIDE
#endif

#endif
