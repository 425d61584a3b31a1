/* AVX2 and FMA: 16 registers of 8 floats. */
#ifdef __x86_64__
#define KERNELS beam_kernels_avx2
#define LANES 8
#include "compute/cpu/beams/beam_kernels_body.h"
#else
typedef int no_avx2_here;
#endif
