/* Archives, filterbanks and products in words and units, as `info` and `plan` print them on stdout.
 */
#ifndef VOLTMILL_CLI_DESCRIBE_H
#define VOLTMILL_CLI_DESCRIBE_H

#include "input/about.h"
#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "product/kind/dedispersed_kind.h"

/* Prints the lines of a text (NULL: none), each after `indent`. */
void describe_lines(const char *indent, const char *text);

/* Print the description on stdout. */
void describe_archive(const struct archive *archive);
void describe_filterbank(const struct fbh5 *fbh5);
void describe_product(const struct product *product, const struct product_weights *weights);

#endif
