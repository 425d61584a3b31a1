/* Kernels of the baseline instruction set: 16 bytes in a register. */
#define STRIPS strip_kernels_base
#define VECTOR 16
#define PASS 4
#include "compute/cpu/dedisperse/strips_body.h"
