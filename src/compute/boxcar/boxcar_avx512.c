/* AVX-512. */
#ifdef __x86_64__
#define BOXCARS boxcar_kernels_avx512
#define VECTOR 64
#include "compute/boxcar/boxcar_body.h"
#else
typedef int no_avx512_boxcars_here;
#endif
