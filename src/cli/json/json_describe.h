/* What `info` says, as JSON: keys in docs/json.md. The same numbers as in cli/print/describe.h. */
#ifndef VOLTMILL_CLI_JSON_DESCRIBE_H
#define VOLTMILL_CLI_JSON_DESCRIBE_H

#include "archive/about/about.h"
#include "base/json/json.h"
#include "cli/print/derived.h"

/* Members of the object that is open. */
void json_archive(struct json *json, const struct archive *archive);
void json_filterbank(struct json *json, const struct fbh5 *fbh5);
void json_product(struct json *json, const struct product *product,
                  const struct product_weights *weights);
void json_about(struct json *json, const struct about *about);

#endif
