/* Kernels of the baseline instruction set: SSE2 on x86-64, NEON on 64-bit ARM. */
#define KERNELS correlate_kernels_base
#define LANES 4
#ifdef __x86_64__
#define ROWS 2
#else
#define ROWS 4
#endif
#define COLUMNS 2
#include "compute/cpu/correlate/correlate_kernels_body.h"
