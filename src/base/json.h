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

/* Begins an object, the value of `key`, which is copied. `key` NULL: an object in a list, or the
 * outermost. Without memory, json_print() fails. */
void json_begin(struct json *json, const char *key);
/* Ends the object that was begun last. Without memory, json_print() fails. */
void json_end(struct json *json);
/* Begins a list, the value of `key`, which is copied. `key` NULL: a list in a list. Without memory,
 * json_print() fails. */
void json_list(struct json *json, const char *key);
/* Ends the list that was begun last. Without memory, json_print() fails. */
void json_list_end(struct json *json);

/* Write one value of `key` (NULL: in a list); both are copied. json_text(): a text, escaped; NULL
 * becomes null. json_bytes(): `length` bytes, escaped, of a `value` that is not NULL. json_u64(),
 * json_i64(): an integer. json_f64(): a double, null if it is not finite. json_bool(): false if
 * `value` is 0, else true. json_null(): null. Without memory, json_print() fails. */
void json_text(struct json *json, const char *key, const char *value);
void json_bytes(struct json *json, const char *key, const char *value, size_t length);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_f64(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, int value);
void json_null(struct json *json, const char *key);
/* Writes `word` (not NULL), a number that is text already or another word of JSON, as it is; `key`
 * NULL: in a list. Both are copied. Without memory, json_print() fails. */
void json_word(struct json *json, const char *key, const char *word);
/* json_lines(): writes a list of the lines of `text`, one text each (NULL: an empty list).
 * json_doubles(): writes a list of `values` [count], null for those that are not finite. `key`
 * NULL: within a list. Without memory, json_print() fails. */
void json_lines(struct json *json, const char *key, const char *text);
void json_doubles(struct json *json, const char *key, const double *values, uint64_t count);

/* Prints the object, which is complete, and a newline on stdout. Frees it and leaves {0}, in any
 * case. Fails with DEVICE if memory ran out while it was written: nothing is printed. A failure of
 * stdout shows in report_flush(). */
status_t json_print(struct json *json);
/* Frees the text of an object, complete or not, and leaves {0}. */
void json_free(struct json *json);

#endif
