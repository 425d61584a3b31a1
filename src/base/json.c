/* JSON as text that grows: commas, indentation, and escapes. */
#include "base/json.h"

#include "base/display.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void json_add(struct json *json, const char *bytes, size_t count)
{
    text_add_bytes(&json->text, bytes, count);
}

static void json_new_line(struct json *json)
{
    json_add(json, "\n", 1);
    for (int i = 0; i < json->depth; i++) {
        json_add(json, "  ", 2);
    }
}

static void json_quote(struct json *json, const char *text, size_t length)
{
    json_add(json, "\"", 1);
    for (size_t at = 0; at < length;) {
        unsigned char byte = (unsigned char)text[at];
        size_t count = display_character(text + at, length - at);
        if (byte == '"' || byte == '\\') {
            json_add(json, byte == '"' ? "\\\"" : "\\\\", 2);
        } else if (count > 0) {
            json_add(json, text + at, count);
        } else if (byte == '\n' || byte == '\t') {
            json_add(json, byte == '\n' ? "\\n" : "\\t", 2);
        } else if (byte < 0x80) { /* what steers a terminal does not, escaped */
            text_add(&json->text, "\\u%04x", byte);
        } else if (byte == 0xc2 && at + 1 < length && (text[at + 1] & 0xe0) == 0x80) {
            text_add(&json->text, "\\u%04x", (unsigned char)text[at + 1]);
            count = 2;
        } else {
            json_add(json, "\\ufffd", 6);
        }
        at += count > 0 ? count : 1;
    }
    json_add(json, "\"", 1);
}

/* Writes the separator, the indentation and the key that precede a value. */
static void json_place(struct json *json, const char *key)
{
    if (json->depth > 0) {
        json_add(json, ",", json->is_first ? 0 : 1);
        json_new_line(json);
    }
    json->is_first = 0;
    if (key) {
        json_quote(json, key, strlen(key));
        json_add(json, ": ", 2);
    }
}

static void json_open(struct json *json, const char *key, const char *bracket)
{
    json_place(json, key);
    json_add(json, bracket, 1);
    json->depth++;
    json->is_first = 1;
}

static void json_close(struct json *json, const char *bracket)
{
    json->depth--;
    if (!json->is_first) {
        json_new_line(json);
    }
    json_add(json, bracket, 1);
    json->is_first = 0;
}

void json_begin(struct json *json, const char *key)
{
    json_open(json, key, "{");
}

void json_end(struct json *json)
{
    json_close(json, "}");
}

void json_list(struct json *json, const char *key)
{
    json_open(json, key, "[");
}

void json_list_end(struct json *json)
{
    json_close(json, "]");
}

void json_word(struct json *json, const char *key, const char *word)
{
    json_place(json, key);
    json_add(json, word, strlen(word));
}

void json_null(struct json *json, const char *key)
{
    json_word(json, key, "null");
}

void json_bytes(struct json *json, const char *key, const char *value, size_t length)
{
    json_place(json, key);
    json_quote(json, value, length);
}

void json_text(struct json *json, const char *key, const char *value)
{
    if (value) {
        json_bytes(json, key, value, strlen(value));
    } else {
        json_null(json, key);
    }
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
    json_place(json, key);
    text_add(&json->text, "%" PRIu64, value);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
    json_place(json, key);
    text_add(&json->text, "%" PRId64, value);
}

void json_f64(struct json *json, const char *key, double value)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", value);
    json_word(json, key, isfinite(value) ? digits : "null");
}

void json_bool(struct json *json, const char *key, int value)
{
    json_word(json, key, value ? "true" : "false");
}

void json_lines(struct json *json, const char *key, const char *text)
{
    size_t length;
    json_list(json, key);
    for (const char *line; (line = text_next_line(&text, &length));) {
        json_bytes(json, NULL, line, length);
    }
    json_list_end(json);
}

void json_doubles(struct json *json, const char *key, const double *values, uint64_t count)
{
    json_list(json, key);
    for (uint64_t i = 0; i < count; i++) {
        json_f64(json, NULL, values[i]);
    }
    json_list_end(json);
}

status_t json_print(struct json *json)
{
    status_t st = json->text.status;
    if (st == STATUS_OK) {
        fwrite(json->text.data, 1, json->text.length, stdout);
        putchar('\n');
    }
    json_free(json);
    return st;
}

void json_free(struct json *json)
{
    text_free(&json->text);
    *json = (struct json){0};
}
