/* AVX2: 16 registers of 32 bytes. */
#ifdef __x86_64__
#define STRIPS strip_kernels_avx2
#define VECTOR 32
#define PASS 4
#include "compute/cpu/dedisperse/strips_body.h"
#else
typedef int no_avx2_strips_here;
#endif
