/* The part of a job that determines a product's bytes, as text. */
#ifndef VOLTMILL_JOB_JOB_TEXT_H
#define VOLTMILL_JOB_JOB_TEXT_H

#include "job/yaml/tree.h"

/* Which part: -1 for none. */
struct job_part {
    int product;    /* a place among the products */
    int dedisperse; /* among the dedispersions: of that product, or of the input */
};

/* Gives YAML of a checked job's input, channelise and the one product and dedispersion, without
 * their files and without what does not change the bytes, in the job's own order; *out is for
 * free(). */
status_t job_text(const struct tree *root, struct job_part part, char **out);

#endif
