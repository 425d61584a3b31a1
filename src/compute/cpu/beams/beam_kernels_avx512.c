/* AVX-512: 32 registers of 16 floats. */
#ifdef __x86_64__
#define KERNELS beam_kernels_avx512
#define LANES 16
#include "compute/cpu/beams/beam_kernels_body.h"
#else
typedef int no_avx512_here;
#endif
