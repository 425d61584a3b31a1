/* Kernels of the instruction set that every machine of the kind has. */
#define BOXCARS boxcar_kernels_base
#define VECTOR 16
#include "compute/boxcar/boxcar_body.h"
