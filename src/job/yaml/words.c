/* How values are quoted, what a row expects in words, and which key a misspelt one was meant to be.
 */
#include "job/yaml/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends to a text of MISTAKE_BYTES; what does not fit is left out. */
static void words_append(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void words_append(char *out, const char *format, ...)
{
    size_t length = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + length, MISTAKE_BYTES - length, format, args);
    va_end(args);
}

const char *words_is(const struct tree *node, char out[WORDS_IS_BYTES])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789+-._/*";
    enum { SHOWN = 60 };
    if (node->kind != TREE_VALUE) {
        snprintf(out, WORDS_IS_BYTES, "is a %s", node->kind == TREE_LIST ? "list" : "mapping");
        return out;
    }
    size_t length = strlen(node->text);
    size_t shown = length < SHOWN ? length : SHOWN;
    while (shown < length && shown > 0 && ((unsigned char)node->text[shown] & 0xC0) == 0x80) {
        shown--; /* not in the middle of a character */
    }
    const char *quote = strspn(node->text, plain) == length ? "" : "\"";
    if (length == 0) {
        snprintf(out, WORDS_IS_BYTES, "is empty");
    } else {
        snprintf(out, WORDS_IS_BYTES, "is %s%.*s%s%s", quote, (int)shown, node->text,
                 shown < length ? "..." : "", quote);
    }
    for (char *c = out; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7F) {
            *c = '?';
        }
    }
    return out;
}

static void words_append_range(char *out, const struct schema *row)
{
    if (row->min == row->max) {
        return;
    }
    if (row->max == INFINITY) {
        words_append(out, row->is_above ? " above %.15g" : " of at least %.15g", row->min);
    } else if (row->is_above) {
        words_append(out, " above %.15g, at most %.15g", row->min, row->max);
    } else {
        words_append(out, row->type == SCHEMA_WHOLE ? " from %.0f to %.0f" : " from %.15g to %.15g",
                     row->min, row->max);
    }
}

static void words_append_keys(char *out, const struct schema *rows)
{
    for (const struct schema *row = rows; row->key; row++) {
        words_append(out, "%s%s", row > rows ? ", " : "", row->key);
    }
}

const char *words_expected(const struct schema *row, char out[MISTAKE_BYTES])
{
    snprintf(out, MISTAKE_BYTES, "%s", row->may_be_auto ? "auto or " : "");
    if (row->expected || row->most) {
        words_append(out, "%s", row->expected ? row->expected : "a list");
    } else if (row->type == SCHEMA_WHOLE || row->type == SCHEMA_NUMBER) {
        words_append(out, "%s",
                     row->type == SCHEMA_NUMBER ? "a number"
                     : row->is_even             ? "an even whole number"
                                                : "a whole number");
        words_append_range(out, row);
    } else if (row->type == SCHEMA_CHOICE) {
        for (size_t i = 0; row->choices[i]; i++) {
            words_append(out, "%s%s", i ? ", " : "one of ", row->choices[i]);
        }
    } else if (row->type == SCHEMA_MAPPING) {
        words_append(out, "a mapping with the keys ");
        words_append_keys(out, row->members);
    } else {
        words_append(out, "a text");
    }
    return out;
}

const struct schema *words_nearest(const char *key, const struct schema *rows)
{
    struct text_guess guess = {.typed = key};
    const struct schema *meant = NULL;
    for (const struct schema *row = rows; row->key; row++) {
        meant = text_guess(&guess, row->key) ? row : meant;
    }
    return meant;
}

const char *words_unknown_key(const char *key, const struct schema *rows, char out[MISTAKE_BYTES])
{
    const struct schema *meant = words_nearest(key, rows);
    if (meant) {
        snprintf(out, MISTAKE_BYTES, "unknown key, did you mean %s?", meant->key);
    } else {
        snprintf(out, MISTAKE_BYTES, "unknown key, expected one of ");
        words_append_keys(out, rows);
    }
    return out;
}
