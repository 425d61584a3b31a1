/* What a filter bank is called in keys, for all problems about one: ppf.c. For nobody else. */
#ifndef VOLTMILL_TUNE_PROBLEM_PPF_PARTS_H
#define VOLTMILL_TUNE_PROBLEM_PPF_PARTS_H

#include "tune/problem.h"

/* struct tune_problem, of a struct channelise_spec. */
status_t ppf_kernel(enum backend_kind kind, const void *spec, struct text *out);
status_t ppf_describe(backend_t *backend, const void *spec, struct tune_key *out);

#endif
