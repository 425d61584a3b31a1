#include "tune/median.h"

#include <stdlib.h>

static int median_compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double tune_median(double *numbers, uint32_t count)
{
    qsort(numbers, count, sizeof *numbers, median_compare_doubles);
    return (numbers[count / 2] + numbers[(count - 1) / 2]) / 2;
}
