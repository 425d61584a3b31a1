/* The table itself. */
#include "tune/problem/problems.h"

const struct tune_problem *const tune_problems[] = {&tune_ppf, &tune_block_length,
                                                    &tune_dedispersion};
const uint32_t tune_problem_count = sizeof tune_problems / sizeof *tune_problems;
