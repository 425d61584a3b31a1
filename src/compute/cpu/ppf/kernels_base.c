/* Kernels of the baseline instruction set: SSE2 on x86-64, NEON on 64-bit ARM. */
#define KERNELS cpu_kernels_base
#ifdef __x86_64__
#define KERNELS_NAME "sse2"
#elif defined __ARM_NEON
#define KERNELS_NAME "neon"
#else
#define KERNELS_NAME "base"
#endif
#define LANES 4
#include "compute/cpu/ppf/kernels_body.h"
