/* The part of a job that determines a product's bytes, as text. */
#ifndef VOLTMILL_PLAN_JOB_TEXT_H
#define VOLTMILL_PLAN_JOB_TEXT_H

#include "plan/tree.h"

/* Gives YAML of a checked job's input, channelise and the one product `index` without its file, in
 * the job's own order; *out is for free(). */
status_t job_text(const struct tree *root, size_t index, char **out);

#endif
