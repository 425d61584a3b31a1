/* AVX-512: 32 registers of 64 bytes. */
#ifdef __x86_64__
#define STRIPS strip_kernels_avx512
#define VECTOR 64
#define PASS 8
#include "compute/cpu/dedisperse/strips_body.h"
#else
typedef int no_avx512_strips_here;
#endif
