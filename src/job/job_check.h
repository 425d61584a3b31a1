/* What the keys of a job must have in common. */
#ifndef VOLTMILL_JOB_JOB_CHECK_H
#define VOLTMILL_JOB_JOB_CHECK_H

#include "job/yaml/yaml_file.h"

/* Adds the mistakes that several keys make together; values that are wrong by themselves have been
 * told already and are passed over. Fails with DEVICE (memory). */
status_t job_check(struct yaml_file *yaml);

#endif
