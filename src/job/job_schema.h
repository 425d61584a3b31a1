/* The tables of a job file, and the checks of what several keys must have in common: for job.c. */
#ifndef VOLTMILL_JOB_JOB_SCHEMA_H
#define VOLTMILL_JOB_JOB_SCHEMA_H

#include "job/job.h"
#include "job/yaml/schema.h"

/* Bits of struct schema's without_effect_on. */
enum {
    JOB_PRODUCT = 1, /* of `products` */
    JOB_SERIES = 2,  /* dedispersed */
    JOB_SEARCH = 4,  /* of a search */
    JOB_ALL = 7
};
#define JOB_WITHOUT_EFFECT .without_effect_on = JOB_ALL

extern const struct schema job_schema[];            /* fills struct job */
extern const struct schema job_input_schema[];      /* fills struct job */
extern const struct schema job_run_schema[];        /* fills struct job */
extern const struct schema job_layout_schema[];     /* fills struct job_layout */
extern const struct schema job_bank_schema[];       /* fills struct job_bank */
extern const struct schema job_filter_schema[];     /* fills struct job_filter */
extern const struct schema job_synthesise_schema[]; /* fills struct job_synthesise */
extern const struct schema job_dedisperse_schema[]; /* fills struct job_dedisperse */
extern const struct schema job_array_schema[];      /* fills struct job_array */
extern const struct schema job_direction_schema[];  /* fills struct job_direction */
extern const struct schema job_beam_schema[];       /* likewise */
extern const struct schema job_product_schema[];    /* fills struct job_product */

/* Adds the mistakes that several keys make together; values that are wrong by themselves have been
 * reported already and are skipped. `job` was filled from `root`. */
void job_check(const struct job *job, struct tree *root, struct mistakes *mistakes);

/* The same of `channelise`. */
void job_bank_check(const struct job *job, struct tree *root, struct mistakes *mistakes);
/* Returns the entry of `channelise` that makes a product; NULL: there is none. */
struct tree *job_bank_of(struct tree *root, struct tree *product);
/* The same of a product. */
void job_product_check(struct tree *root, struct tree *product, const struct job_product *p,
                       struct mistakes *mistakes);
/* Sets the spectra of a cell, where that is left to us. */
void job_flag_settle(struct job_product *product);

/* The same of input.layout. */
void job_layout_check(struct tree *root, struct mistakes *mistakes);

/* The same of one entry of `filter`, of `dedisperse`, by itself. */
void job_filter_check(struct tree *entry, struct mistakes *mistakes);
void job_dedisperse_check(struct tree *entry, struct mistakes *mistakes);
/* The same of `array` and `beams`. */
void job_array_check(struct tree *root, struct mistakes *mistakes);

/* Before the tables see it: puts an entry for each range in the place of those that are divided, in
 * the tree of a job without mistakes. Fails with DEVICE (memory). */
status_t job_divide(struct tree *root, const struct job_division *division);

#endif
