/* Medians of a few times. */
#ifndef VOLTMILL_TUNE_MEDIAN_H
#define VOLTMILL_TUNE_MEDIAN_H

#include <stdint.h>

/* The middle one of count >= 1 numbers, or the mean of the middle two; leaves them in ascending
 * order. */
double tune_median(double *numbers, uint32_t count);

#endif
