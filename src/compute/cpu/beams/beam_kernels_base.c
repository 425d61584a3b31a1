/* Kernels of the baseline instruction set: SSE2 on x86-64, NEON on 64-bit ARM. */
#define KERNELS beam_kernels_base
#define LANES 4
#include "compute/cpu/beams/beam_kernels_body.h"
