/* Whether a file that is there was made by this very job, of these very inputs. */
#ifndef VOLTMILL_OUTPUT_MADE_BY_H
#define VOLTMILL_OUTPUT_MADE_BY_H

#include "output/output_spec.h"

/* `inputs`: as inputs_contents() says; NULL: not known, of products in HDF5 alone. Fails with
 * USAGE: it was made by another job, of other files, or is no whole product; with DATA. */
status_t made_by_check(const struct output_spec_item *item, const char *inputs);

#endif
