/* Kernels of the baseline instruction set: SSE2 on x86-64, NEON on 64-bit ARM. */
#define KERNELS synthesis_kernels_base
#define LANES 4
#include "compute/cpu/synthesis/synthesis_kernels_body.h"
