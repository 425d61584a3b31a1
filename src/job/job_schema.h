/* The tables of a job file, one for each section, and the checks of keys that depend on each other:
 * for job.c. A table is in the file of its section: job_bank.c (channelise, synthesise, array,
 * beams), job_product.c (products, flag), job_filter.c (filter), job_dedisperse.c, job_layout.c
 * (input.layout); all others in job_schema.c. */
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

/* Adds mistakes of keys that contradict each other, of all sections, to the list. Values that are
 * wrong by themselves have been reported before, and are skipped. `job` was filled from `root` by
 * schema_fill(). If there is no memory for one, mistakes_report() fails. */
void job_check(const struct job *job, struct tree *root, struct mistakes *mistakes);

/* Adds the mistakes of keys of `channelise` that contradict each other, as job_check() does.
 * Without memory for one, mistakes_report() fails. */
void job_bank_check(const struct job *job, struct tree *root, struct mistakes *mistakes);
/* Returns the entry of `channelise`, below `root`, that makes a product, an entry of `products`:
 * the first if it names none. NULL: there is none. The tree owns it. */
struct tree *job_bank_of(struct tree *root, struct tree *product);
/* Adds the mistakes of keys of `product`, an entry of `products` below `root` that filled `p`, that
 * contradict each other, as job_check() does. Without memory for one, mistakes_report() fails. */
void job_product_check(struct tree *root, struct tree *product, const struct job_product *p,
                       struct mistakes *mistakes);
/* Sets product->flag.spectra, the spectra of a cell, if the job does not give it (0): 1024 if that
 * divides `integrate`, else `integrate`. */
void job_flag_settle(struct job_product *product);

/* Adds the mistakes of keys of input.layout that contradict each other, as job_check() does.
 * Without memory for one, mistakes_report() fails. */
void job_layout_check(struct tree *root, struct mistakes *mistakes);

/* Adds the mistakes of keys of one entry of `filter` that contradict each other, as job_check()
 * does. Without memory for one, mistakes_report() fails. */
void job_filter_check(struct tree *entry, struct mistakes *mistakes);
/* Adds the mistakes of keys of one entry of `dedisperse` that contradict each other, as job_check()
 * does. Without memory for one, mistakes_report() fails. */
void job_dedisperse_check(struct tree *entry, struct mistakes *mistakes);
/* Adds the mistakes of keys of `array`, `beams`, beam_weights and the centres of products that
 * contradict each other, as job_check() does. Without memory for one, mistakes_report() fails. */
void job_array_check(struct tree *root, struct mistakes *mistakes);

/* Replaces each divided dedispersion of `root` by an entry for each of its ranges. The same job was
 * read before, without mistakes; this tree is not yet checked against the tables. Fails with DEVICE
 * (memory); the tree is then for tree_destroy() alone. */
status_t job_divide(struct tree *root, const struct job_division *division);

#endif
