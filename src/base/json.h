/* One JSON object, written key by key: for programs that read the output of `info`, `plan`,
 * `status` and `verify`. Keys name their unit (_hz, _s). Integers have all their digits, doubles as
 * many as restore them (%.17g). NaN, infinities and missing texts are null. Bytes that are no UTF-8
 * become U+FFFD. */
#ifndef VOLTMILL_BASE_JSON_H
#define VOLTMILL_BASE_JSON_H

#include "base/text.h"

#include <stdint.h>

/* Start from {0}. Out of memory is remembered, and json_print() fails with it. */
struct json {
    struct text text;
    int depth;
    int is_first; /* nothing follows the last brace or bracket */
};

/* json_begin(), json_end(): begin and end an object; json_list(), json_list_end(): a list; as the
 * value of `key`, which is copied; key NULL: within a list, or the outermost. Without memory,
 * json_print() fails, here and below. */
void json_begin(struct json *json, const char *key);
void json_end(struct json *json);
void json_list(struct json *json, const char *key);
void json_list_end(struct json *json);

/* Write a value, of which text is copied and escaped; key NULL: in a list. Doubles
 * that are not finite are null, and so is a NULL text of json_text(). json_bytes() takes `length`
 * bytes of a value that is not NULL; json_bool(): 0 is false.
 * Without memory, json_print() fails. */
void json_text(struct json *json, const char *key, const char *value);
void json_bytes(struct json *json, const char *key, const char *value, size_t length);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_f64(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, int value);
void json_null(struct json *json, const char *key);
/* Writes a number that is text already, or another word of JSON, as it is; key NULL: in a list. */
void json_word(struct json *json, const char *key, const char *word);
/* Write a list, of `key` (NULL: within a list): the lines of a text (NULL: none), or `count`
 * doubles, of which those that are not finite are null. */
void json_lines(struct json *json, const char *key, const char *text);
void json_doubles(struct json *json, const char *key, const double *values, uint64_t count);

/* Prints the object, which is complete, and a newline on stdout, and frees it in any case. Fails
 * with DEVICE (memory ran out while it was written): nothing is printed. A failure of stdout shows
 * in report_flush(). */
status_t json_print(struct json *json);
/* Frees the text, and leaves {0}. */
void json_free(struct json *json);

#endif
