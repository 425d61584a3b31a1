/* AVX-512: 32 registers of 16 floats. */
#ifdef __x86_64__
#define KERNELS correlate_kernels_avx512
#define LANES 16
#define ROWS 4
#define COLUMNS 2
#include "compute/cpu/correlate/correlate_kernels_body.h"
#else
typedef int no_avx512_here;
#endif
