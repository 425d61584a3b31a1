/* AVX2. */
#ifdef __x86_64__
#define BOXCARS boxcar_kernels_avx2
#define VECTOR 32
#include "compute/boxcar/boxcar_body.h"
#else
typedef int no_avx2_boxcars_here;
#endif
