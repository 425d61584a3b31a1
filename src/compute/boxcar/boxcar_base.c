/* What every machine of the kind has. */
#define BOXCARS boxcar_kernels_base
#include "compute/boxcar/boxcar_body.h"
