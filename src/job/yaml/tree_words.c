#include "job/yaml/tree_words.h"

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

const char *tree_is(const struct tree *node, char out[TREE_IS_BYTES])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789+-._/*";
    enum { SHOWN = 60 };
    if (node->kind != TREE_VALUE) {
        snprintf(out, TREE_IS_BYTES, "is a %s", node->kind == TREE_LIST ? "list" : "mapping");
        return out;
    }
    size_t length = strlen(node->text);
    size_t shown = length < SHOWN ? length : SHOWN;
    while (shown < length && shown > 0 && ((unsigned char)node->text[shown] & 0xC0) == 0x80) {
        shown--; /* not in the middle of a character */
    }
    const char *quote = strspn(node->text, plain) == length ? "" : "\"";
    if (length == 0) {
        snprintf(out, TREE_IS_BYTES, "is empty");
    } else {
        snprintf(out, TREE_IS_BYTES, "is %s%.*s%s%s", quote, (int)shown, node->text,
                 shown < length ? "..." : "", quote);
    }
    for (char *c = out; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7F) {
            *c = '?';
        }
    }
    return out;
}

int tree_has_range(const struct tree_rule *rule)
{
    return rule && rule->min != rule->max;
}

uint64_t tree_largest(const cyaml_schema_value_t *schema, const struct tree_rule *rule)
{
    uint64_t largest = schema->data_size >= sizeof(uint64_t)
                           ? UINT64_MAX
                           : ((uint64_t)1 << (8 * schema->data_size)) - 1;
    if (tree_has_range(rule) && rule->max < (double)largest) {
        largest = (uint64_t)rule->max;
    }
    return largest;
}

static void words_append_range(char *out, const struct tree_rule *rule, int is_whole)
{
    if (!tree_has_range(rule)) {
        return;
    }
    if (rule->max == INFINITY) {
        words_append(out, rule->is_above ? " above %.15g" : " of at least %.15g", rule->min);
    } else if (rule->is_above) {
        words_append(out, " above %.15g, at most %.15g", rule->min, rule->max);
    } else {
        words_append(out, is_whole ? " from %.0f to %.0f" : " from %.15g to %.15g", rule->min,
                     rule->max);
    }
}

static void words_append_choices(char *out, const cyaml_schema_value_t *schema)
{
    words_append(out, "one of ");
    for (uint32_t i = 0; i < schema->enumeration.count; i++) {
        words_append(out, "%s%s", i ? ", " : "", schema->enumeration.strings[i].str);
    }
}

static void words_append_keys(char *out, const cyaml_schema_field_t *fields)
{
    for (size_t i = 0; fields[i].key; i++) {
        words_append(out, "%s%s", i ? ", " : "", fields[i].key);
    }
}

const char *tree_expected(const cyaml_schema_value_t *schema, const struct tree_rule *rule,
                          char out[MISTAKE_BYTES])
{
    out[0] = '\0';
    words_append(out, "%s", rule && rule->may_be_auto ? "auto or " : "");
    if (rule && rule->expected) {
        words_append(out, "%s", rule->expected);
        return out;
    }
    switch (schema->type) {
    case CYAML_UINT:
        words_append(out, "a whole number");
        words_append_range(out, rule, 1);
        break;
    case CYAML_FLOAT:
        words_append(out, "a number");
        words_append_range(out, rule, 0);
        break;
    case CYAML_ENUM:
        words_append_choices(out, schema);
        break;
    case CYAML_MAPPING:
        words_append(out, "a mapping with the keys ");
        words_append_keys(out, schema->mapping.fields);
        break;
    case CYAML_SEQUENCE:
    case CYAML_SEQUENCE_FIXED:
        words_append(out, "a list");
        break;
    default:
        words_append(out, "a text");
        break;
    }
    return out;
}

/* How many characters must be changed, added, dropped or swapped with their neighbour to make `b`
 * of `a`; large for long texts, which no key is. */
static size_t words_distance(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    size_t na = strlen(a);
    size_t nb = strlen(b);
    size_t d[LONGEST + 1][LONGEST + 1];
    if (na > LONGEST || nb > LONGEST) {
        return LONGEST;
    }
    for (size_t i = 0; i <= na; i++) {
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            least = d[i - 1][j] + 1 < least ? d[i - 1][j] + 1 : least;
            least = d[i][j - 1] + 1 < least ? d[i][j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                least = d[i - 2][j - 2] + 1 < least ? d[i - 2][j - 2] + 1 : least;
            }
            d[i][j] = least;
        }
    }
    return d[na][nb];
}

const cyaml_schema_field_t *tree_nearest_key(const char *key, const cyaml_schema_field_t *fields)
{
    size_t nearest = 3;
    const cyaml_schema_field_t *meant = NULL;
    for (size_t i = 0; fields[i].key; i++) {
        size_t far = words_distance(key, fields[i].key);
        /* At least half of a short key must be right for it to be meant. */
        if (far < nearest && 2 * far <= strlen(fields[i].key)) {
            nearest = far;
            meant = &fields[i];
        }
    }
    return meant;
}

const char *tree_unknown_key(const char *key, const cyaml_schema_field_t *fields,
                             char out[MISTAKE_BYTES])
{
    const cyaml_schema_field_t *meant = tree_nearest_key(key, fields);
    out[0] = '\0';
    if (meant) {
        words_append(out, "unknown key, did you mean %s?", meant->key);
    } else {
        words_append(out, "unknown key, expected one of ");
        words_append_keys(out, fields);
    }
    return out;
}
