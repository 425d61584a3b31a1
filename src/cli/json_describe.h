/* The output of `info` as JSON: keys in docs/json.md. The same numbers as in cli/describe.h. */
#ifndef VOLTMILL_CLI_JSON_DESCRIBE_H
#define VOLTMILL_CLI_JSON_DESCRIBE_H

#include "base/json.h"
#include "cli/derived.h"
#include "input/about.h"

/* Append members to the object that is open. */
void json_archive(struct json *json, const struct archive *archive);
void json_filterbank(struct json *json, const struct fbh5 *fbh5);
void json_product(struct json *json, const struct product *product,
                  const struct product_weights *weights);

#endif
