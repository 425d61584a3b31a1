/* AVX-512 (F, BW, DQ, VL): 32 registers of 16 floats. */
#ifdef __x86_64__
#define KERNELS cpu_kernels_avx512
#define KERNELS_NAME "avx512"
#define LANES 16
#include "compute/cpu/ppf/kernels_body.h"
#else
typedef int no_avx512_here;
#endif
