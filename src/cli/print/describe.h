/* Archives, filterbanks and products in words and units, as `info` and `plan` print them on stdout.
 */
#ifndef VOLTMILL_CLI_PRINT_DESCRIBE_H
#define VOLTMILL_CLI_PRINT_DESCRIBE_H

#include "archive/about/about.h"
#include "archive/archive.h"
#include "archive/fbh5/fbh5.h"
#include "product/kind/dedispersed.h"

void describe_archive(const struct archive *archive);
void describe_filterbank(const struct fbh5 *fbh5);
void describe_product(const struct product *product, const struct product_weights *weights);

#endif
