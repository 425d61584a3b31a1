/* AVX2 and FMA: 16 registers of 8 floats. */
#ifdef __x86_64__
#define KERNELS correlate_kernels_avx2
#define LANES 8
#define ROWS 2
#define COLUMNS 2
#include "compute/cpu/correlate/correlate_kernels_body.h"
#else
typedef int no_avx2_here;
#endif
