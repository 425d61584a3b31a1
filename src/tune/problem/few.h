/* The automatic choice: the few configurations that are known to be good, timed once for a case and
 * device, and remembered in the cache folder. */
#ifndef VOLTMILL_TUNE_PROBLEM_FEW_H
#define VOLTMILL_TUNE_PROBLEM_FEW_H

#include "tune/problem.h"

/* The fastest of `list`, which are those that begin() of the problem gives for `is_few`,
 * measured in `memory` bytes of this machine's (0: any number).
 *
 *   list     uint32 [count][nparameters]
 *   values   [nparameters] in: the one by rule, which stays where nothing is to be measured, none
 *            can be, or too little memory is there (a warning)
 *   kind     of entries in the cache folder
 *
 * Fails with DEVICE: none of them is right. */
status_t tune_few(const struct tune_problem *problem, backend_t *backend, const void *spec,
                  const char *kind, const uint32_t *list, uint32_t count, uint64_t memory,
                  uint32_t *values);

#endif
