/* One JSON object, written key by key: for programs that read what `info`, `plan`, `status` and
 * `verify` say. Keys name their unit (_hz, _s). Integers have all their digits, doubles as many as
 * it takes to give them back (%.17g); what is not a number, or infinite, is null, and so is a text
 * that is not there. Bytes that are no UTF-8 become U+FFFD. */
#ifndef VOLTMILL_BASE_JSON_H
#define VOLTMILL_BASE_JSON_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* Start from {0}. Out of memory is remembered, and json_print() fails with it. */
struct json {
    struct text text;
    int depth;
    int is_first; /* nothing stands behind the last brace or bracket */
    status_t st;
};

/* An object or a list, as the value of `key`; key NULL: within a list, or the outermost. */
void json_begin(struct json *json, const char *key);
void json_end(struct json *json);
void json_list(struct json *json, const char *key);
void json_list_end(struct json *json);

/* Values, in a list with key NULL. */
void json_text(struct json *json, const char *key, const char *value);
void json_bytes(struct json *json, const char *key, const char *value, size_t length);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_f64(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, int value);
void json_null(struct json *json, const char *key);
/* A number that is text already, or another word of the language. */
void json_word(struct json *json, const char *key, const char *word);
/* A list of the lines of a text, or of doubles. */
void json_lines(struct json *json, const char *key, const char *text);
void json_doubles(struct json *json, const char *key, const double *values, uint64_t count);

/* Prints the object, which is complete, on stdout, and frees it. Fails with DEVICE (memory). */
status_t json_print(struct json *json);
void json_free(struct json *json);

#endif
