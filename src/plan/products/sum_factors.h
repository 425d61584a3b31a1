/* Numbers by which stations or beams are multiplied before they are added up, from a text file:
 * blanks or line ends between them, # begins a comment. */
#ifndef VOLTMILL_PLAN_PRODUCTS_SUM_FACTORS_H
#define VOLTMILL_PLAN_PRODUCTS_SUM_FACTORS_H

#include "base/status.h"

#include <stdint.h>

/* Reads `count` of them, which `whose` of a message: "stations". None is negative, some are more
 * than 0. free() returns them. Fails with DATA: file, line, what was expected. */
status_t sum_factors_read(const char *path, uint32_t count, const char *whose, double **out);

#endif
