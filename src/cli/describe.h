/* Archives, filterbanks and products in words and units, as `info` and `plan` print them on stdout,
 * and as JSON.
 */
#ifndef VOLTMILL_CLI_DESCRIBE_H
#define VOLTMILL_CLI_DESCRIBE_H

#include "base/json.h"
#include "product/kind/dedispersed_kind.h"

struct derived_band {
    double low_hz, high_hz;
};

/* Returns the band of an archive, in Hz on the sky: from the lower edge of the first of the
 * selected coarse channels to the upper edge of the last. */
struct derived_band derived_band_of_archive(const struct archive *archive);

/* Prints the lines of a text (NULL: none) on stdout, each after `indent`. */
void describe_lines(const char *indent, const char *text);

/* Prints the description of an open archive on stdout. */
void describe_archive(const struct archive *archive);
/* Prints the description of an open filterbank on stdout. */
void describe_filterbank(const struct fbh5 *fbh5);
/* Prints the description of an open product on stdout. `weights` are those of product_weigh(). */
void describe_product(const struct product *product, const struct product_weights *weights);

/* Appends the description of an open archive as members to the JSON object that is open: keys in
 * docs/json.md. A failure (DEVICE: memory) stays in json->text.status. */
void json_archive(struct json *json, const struct archive *archive);
/* Appends the description of an open filterbank as members to the JSON object that is open: keys in
 * docs/json.md. A failure (DEVICE: memory) stays in json->text.status. */
void json_filterbank(struct json *json, const struct fbh5 *fbh5);
/* Appends the description of an open product as members to the JSON object that is open: keys in
 * docs/json.md. `weights` are those of product_weigh(). A failure (DEVICE: memory) stays in
 * json->text.status. */
void json_product(struct json *json, const struct product *product,
                  const struct product_weights *weights);

#endif
