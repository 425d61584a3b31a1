/* The one walk of a document over its tables: checks, mistakes, filling. */
#include "job/yaml/schema.h"

#include "base/memory.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How values are quoted, what a row expects in words, and which key a misspelt one was meant to be.
 */

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

enum { WORDS_IS_BYTES = 96 };

/* Writes "is 0", "is \"two words\"", "is empty", "is a list", "is a mapping". Returns `out`. */
static const char *words_is(const struct tree *node, char out[WORDS_IS_BYTES])
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

/* "Hz, kHz, MHz or GHz". Returns `out`. */
static const char *words_units(enum units_dimension unit, char out[MISTAKE_BYTES])
{
    out[0] = '\0';
    for (size_t i = 0; units_name(unit, i); i++) {
        words_append(out, "%s%s",
                     i == 0                    ? ""
                     : units_name(unit, i + 1) ? ", "
                                               : " or ",
                     units_name(unit, i));
    }
    return out;
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
        words_append(out, "%s%s", row->unit ? " " : "", row->unit ? units_name(row->unit, 0) : "");
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

/* The row whose key is near enough to `key` to be meant; NULL when there is none. */
static const struct schema *words_nearest(const char *key, const struct schema *rows)
{
    struct text_guess guess = {.typed = key};
    const struct schema *meant = NULL;
    for (const struct schema *row = rows; row->key; row++) {
        meant = text_guess(&guess, row->key) ? row : meant;
    }
    return meant;
}

/* Finds the word that was meant among those that the value may be, which go into `words`; NULL:
 * none is near. */
static const char *words_meant(const struct tree *node, const struct schema *row,
                               char words[MISTAKE_BYTES])
{
    struct text_guess guess = {.typed = node->text};
    words_expected(row, words);
    char *rest = strstr(words, "one of ");
    rest = rest && node->kind == TREE_VALUE && isalpha((unsigned char)*node->text)
               ? rest + strlen("one of ")
               : NULL;
    while (rest) {
        char *word = strsep(&rest, ",");
        text_guess(&guess, word + strspn(word, " "));
    }
    return guess.meant;
}

/* "unknown key, did you mean taps?" or, when no key is near, all that there are. Returns `out`. */
static const char *words_unknown_key(const char *key, const struct schema *rows,
                                     char out[MISTAKE_BYTES])
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

/* Each type of value: what its text may be, and how it is in a struct. */

static int schema_store_is_in_range(const struct schema *row, double value)
{
    return row->min == row->max ||
           (value <= row->max && (row->is_above ? value > row->min : value >= row->min));
}

static int schema_store_whole(const struct schema *row, const char *text, void *at)
{
    uint64_t value = 0;
    int ok = row->type == SCHEMA_BYTES ? units_parse_bytes(text, &value)
                                       : tree_parse_whole(text, &value);
    uint32_t small = (uint32_t)value;
    int is_small = row->size == sizeof small;
    /* A double cannot tell the largest numbers apart: those of at most `max` are compared whole. */
    ok = ok && schema_store_is_in_range(row, (double)value) && !(is_small && small != value) &&
         !(row->max > row->min && row->max < 0x1p64 && value > (uint64_t)row->max) &&
         !(row->is_even && value % 2);
    if (ok) {
        memcpy(at, is_small ? (void *)&small : (void *)&value, row->size);
    }
    return ok;
}

static int schema_store_number(const struct schema *row, const char *text, void *at)
{
    double value = 0;
    int ok = tree_parse_number(text, &value) && schema_store_is_in_range(row, value);
    if (ok) {
        memcpy(at, &value, sizeof value);
    }
    return ok;
}

static int schema_store_choice(const struct schema *row, const char *text, void *at)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            memcpy(at, row->values ? &row->values[i] : &i, sizeof i);
            return 1;
        }
    }
    return 0;
}

status_t schema_store(const struct schema *row, const char *text, void *at, char *message, int *ok)
{
    SCOPED(free_at) char *copy = NULL;
    *ok = 0;
    if (row->type == SCHEMA_TEXT) {
        TRY(memory_text(text, &copy));
        *ok =
            (!row->parse || row->parse(copy, at)) && (!row->explain || row->explain(copy, message));
        if (*ok) {
            memcpy(at, &copy, sizeof copy);
            copy = NULL;
        }
    } else if (row->type == SCHEMA_PARSED) {
        *ok = row->parse(text, at);
    } else if (row->type == SCHEMA_NUMBER) {
        *ok = schema_store_number(row, text, at);
    } else if (row->type == SCHEMA_UTC) {
        *ok = units_parse_utc(text, at);
    } else if (row->type == SCHEMA_CHOICE) {
        *ok = schema_store_choice(row, text, at);
    } else {
        *ok = schema_store_whole(row, text, at);
    }
    return STATUS_OK;
}

enum { KEYS = 32 };

/* Fills in what the document does not say. */
static status_t schema_fill_default(const struct schema *row, char *base)
{
    char message[MISTAKE_BYTES] = "";
    if (row->type == SCHEMA_MAPPING && row->most == 0) {
        for (const struct schema *member = row->members; member->key; member++) {
            TRY(schema_fill_default(member, base + row->at));
        }
    } else if (row->otherwise) {
        int ok = 0;
        TRY(schema_store(row, row->otherwise, base + row->at, message, &ok));
        REQUIRE(ok, STATUS_USAGE, "%s is no default of %s", row->otherwise, row->key);
    }
    return STATUS_OK;
}

/* Proposed jobs (`info`) have it for what is not known. */
static const char schema_placeholder[] = "???";

/* Whether a value has another unit than its row. */
static int schema_expects_unit(const struct tree *node, const struct schema *row)
{
    double value = 0;
    return row->unit && node->kind == TREE_VALUE && units_of(node->text) &&
           !units_parse_quantity(node->text, row->unit, &value);
}

/* Tells that `node` is wrong, for the reason in `message` if there is one. */
static status_t schema_wrong(struct mistakes *mistakes, struct tree *node, const struct schema *row,
                             const char *message, char *base)
{
    char is[WORDS_IS_BYTES];
    char expected[MISTAKE_BYTES];
    char meant_word[MISTAKE_BYTES];
    TRY(schema_fill_default(row, base));
    if (node->kind == TREE_VALUE && strstr(node->text, schema_placeholder)) {
        mistakes_at(mistakes, node, NULL, "%s: replace %s by %s", words_is(node, is),
                    schema_placeholder, words_expected(row, expected));
    } else if (schema_expects_unit(node, row)) {
        mistakes_at(mistakes, node, NULL, "%s, expected the unit %s", words_is(node, is),
                    words_units(row->unit, expected));
    } else if (*message) {
        mistakes_at(mistakes, node, NULL, "%s: %s", words_is(node, is), message);
    } else {
        const char *meant = words_meant(node, row, meant_word);
        mistakes_at(mistakes, node, NULL, "%s, expected %s%s%s%s", words_is(node, is),
                    words_expected(row, expected), meant ? "; did you mean " : "",
                    meant ? meant : "", meant ? "?" : "");
    }
    return STATUS_OK;
}

/* Writes a number in the one form that it has in the text of a job. */
static status_t schema_rewrite_number(struct tree *node, const struct schema *row)
{
    char digits[UNITS_TEXT];
    uint64_t whole = 0;
    double number = 0;
    if (row->type == SCHEMA_WHOLE && tree_parse_whole(node->text, &whole)) {
        snprintf(digits, sizeof digits, "%" PRIu64, whole);
    } else if (row->type == SCHEMA_NUMBER && tree_parse_number(node->text, &number)) {
        units_exact_in(number, digits);
    } else {
        return STATUS_OK;
    }
    return tree_set_text(node, digits);
}

/* Takes a value with a unit. *is_amount: it is one in place of a whole number. */
static status_t schema_take_unit(struct tree *node, const struct schema *row, char *base,
                                 int *is_amount)
{
    double number = 0;
    int has_unit = row->unit && units_parse_quantity(node->text, row->unit, &number);
    *is_amount = has_unit && row->amount_at && number > 0;
    if (*is_amount) {
        memcpy(base + row->amount_at, &number, sizeof number);
        TRY(schema_fill_default(row, base));
    } else if (has_unit && !row->amount_at) {
        TRY(tree_set_text(node, units_exact(number)));
    }
    return STATUS_OK;
}

/* Puts the home directory in the place of ~. *ok = 0, with a reason, where the shell was meant to
 * expand more. */
static status_t schema_expand_path(struct tree *node, char *message, int *ok)
{
    static const char prefix[] = "file:";
    SCOPED(text_free) struct text whole = {0};
    size_t before = strncmp(node->text, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    const char *path = node->text + before;
    if (strchr(path, '$') && !node->is_taken && access(path, F_OK) != 0) {
        *ok = 0;
        snprintf(message, MISTAKE_BYTES, "$ is not expanded, expected a path without it (~ is)");
    } else if (*path == '~' && (path[1] == '/' || path[1] == '\0')) {
        snprintf(message, MISTAKE_BYTES, "~ is HOME, which is not set");
        text_add_bytes(&whole, node->text, before);
        TRY(text_add_path(&whole, path, ok));
        TRY(tree_set_text(node, whole.data));
    }
    return STATUS_OK;
}

static status_t schema_fill_value(struct mistakes *mistakes, struct tree *node,
                                  const struct schema *row, char *base)
{
    char message[MISTAKE_BYTES] = "";
    int is_amount = 0;
    int ok = node->kind == TREE_VALUE && !tree_is_empty(node) && *node->text &&
             strcmp(node->text, schema_placeholder) != 0;
    TRY(ok ? schema_take_unit(node, row, base, &is_amount) : STATUS_OK);
    TRY(ok && row->is_path ? schema_expand_path(node, message, &ok) : STATUS_OK);
    TRY(ok && !is_amount ? schema_store(row, node->text, base + row->at, message, &ok) : STATUS_OK);
    return ok ? schema_rewrite_number(node, row) : schema_wrong(mistakes, node, row, message, base);
}

static status_t schema_fill_node(struct mistakes *mistakes, struct tree *node,
                                 const struct schema *row, char *base);

/* Returns the row's schema of each entry of its list. */
static struct schema schema_entry(const struct schema *row)
{
    struct schema entry = *row;
    entry.at = 0;
    entry.most = 0;
    if (row->type == SCHEMA_MAPPING) {
        entry.expected = NULL; /* that was about the list */
    }
    return entry;
}

/* Fills the entries of a list, whatever their number. */
static status_t schema_fill_entries(struct mistakes *mistakes, struct tree *node,
                                    const struct schema *row, char *base)
{
    const struct schema entry = schema_entry(row);
    uint32_t count = (uint32_t)node->nchildren;
    char *entries = NULL;
    SCOPED(free_at) char *owned = NULL;
    TRY(memory_zeroed(count, row->size, row->key, &entries));
    if (row->is_pair) {
        owned = entries;
    } else {
        memcpy(base + row->at, &entries, sizeof entries);
        memcpy(base + row->count_at, &count, sizeof count);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(schema_fill_node(mistakes, node->child[i], &entry, entries + i * row->size));
    }
    if (row->is_pair && count == 2) {
        memcpy(base + row->at, entries, 2 * row->size);
    }
    return STATUS_OK;
}

static status_t schema_fill_list(struct mistakes *mistakes, struct tree *node,
                                 const struct schema *row, char *base)
{
    int is_entry = row->type == SCHEMA_MAPPING ? node->kind == TREE_MAPPING
                                               : node->kind == TREE_VALUE && !tree_is_empty(node);
    TRY(is_entry && !row->is_pair ? tree_wrap(node) : STATUS_OK);
    if (node->kind != TREE_LIST) {
        return schema_wrong(mistakes, node, row, "", base);
    }
    size_t count = node->nchildren;
    if (count < row->least || count > row->most) {
        const char *bound = row->is_pair ? "" : count < row->least ? "at least " : "at most ";
        mistakes_at(mistakes, node, NULL, "has %s, expected %s%u",
                    units_number(count, "entry", "entries"), bound,
                    count < row->least ? row->least : row->most);
    }
    return schema_fill_entries(mistakes, node, row, base);
}

static const struct schema *schema_find(const struct schema *rows, const char *key)
{
    while (rows->key && strcmp(rows->key, key) != 0 &&
           (!rows->was || strcmp(rows->was, key) != 0)) {
        rows++;
    }
    return rows->key ? rows : NULL;
}

static int schema_is_open(const struct schema *rows)
{
    while (rows->key) {
        rows++;
    }
    return rows->is_open;
}

/* Whether the key of a row is there, but misspelt: that has been reported, it is not missing as
 * well. */
static int schema_is_misspelt(const struct tree *node, const struct schema *rows,
                              const struct schema *row)
{
    for (size_t i = 0; i < node->nchildren; i++) {
        const char *key = node->child[i]->key;
        if (!schema_is_open(rows) && !schema_find(rows, key) && words_nearest(key, rows) == row) {
            return 1;
        }
    }
    return 0;
}

void schema_require(struct mistakes *mistakes, struct tree *node, const struct schema *rows,
                    const char *key)
{
    char expected[MISTAKE_BYTES];
    const struct schema *row = schema_find(rows, key);
    if (node->kind == TREE_MAPPING && !tree_member(node, key) &&
        !schema_is_misspelt(node, rows, row)) {
        mistakes_at(mistakes, node, key, "is missing, expected %s", words_expected(row, expected));
    }
}

/* Whether a member says no more than leaving it out would. */
static int schema_says_nothing(const struct tree *node, const struct schema *row)
{
    int is_auto = node->kind == TREE_VALUE && strcmp(node->text, "auto") == 0;
    int is_blank = node->kind == TREE_VALUE && (tree_is_empty(node) || !*node->text);
    int is_bare = tree_is_empty(node) ||
                  (node->kind == TREE_MAPPING && node->nchildren == 0 && !row->may_be_empty);
    return (is_auto && row->may_be_auto) ||
           (is_blank && row->may_be_empty && row->type != SCHEMA_MAPPING) ||
           (is_bare && row->type == SCHEMA_MAPPING && !row->most && !row->is_required &&
            !row->unless);
}

/* Fills from the member `*at` of `node`, and advances `*at` to the next one. `first[i]` is one more
 * than the line in which the key of row i was given before, or 0. */
static status_t schema_fill_member(struct mistakes *mistakes, struct tree *node, size_t *at,
                                   const struct schema *rows, uint32_t first[KEYS], char *base)
{
    char message[MISTAKE_BYTES];
    struct tree *child = node->child[(*at)++];
    const struct schema *row = schema_find(rows, child->key);
    uint32_t *seen = row ? &first[row - rows] : NULL;
    if (!row && schema_is_open(rows)) {
        return STATUS_OK;
    }
    if (!row) {
        mistakes_at(mistakes, child, NULL, "%s", words_unknown_key(child->key, rows, message));
    } else if (*seen && child->set) {
        mistakes_at(mistakes, child, NULL, "given twice");
    } else if (*seen) {
        mistakes_at(mistakes, child, NULL, "given twice, first in line %u", *seen - 1);
    } else if (schema_says_nothing(child, row)) {
        *seen = child->line + 1;
        tree_remove(node, --*at);
        TRY(schema_fill_default(row, base));
    } else {
        *seen = child->line + 1;
        child->row = row;
        row = row->instead && child->kind == TREE_MAPPING ? row->instead : row;
        if (row->given.as) {
            memcpy(base + row->given.at, &row->given.as, sizeof row->given.as);
        }
        TRY(schema_fill_node(mistakes, child, row, base));
    }
    return STATUS_OK;
}

static int schema_has_need(struct tree *node, const struct schema_need *need)
{
    const char *value = tree_value(node, need->key);
    return need->values ? value && text_place(need->values, value, strlen(value)) >= 0
                        : tree_member(node, need->key) != NULL;
}

/* Keys that have no meaning beside the others of their mapping. */
static void schema_check_needs(struct mistakes *mistakes, struct tree *node)
{
    for (size_t i = 0; i < node->nchildren; i++) {
        const struct schema *row = node->child[i]->row;
        const struct schema_need *need = row ? row->needs : NULL;
        while (need && need->key && schema_has_need(node, need)) {
            need++;
        }
        if (need && need->key) {
            mistakes_at(mistakes, node->child[i], NULL, "%s", need->words);
        }
    }
}

/* Makes a list, or a value, the only member of a mapping. */
static status_t schema_make_member(struct tree *node, const char *key)
{
    TRY(tree_wrap(node));
    TRY(memory_text(key, &node->child[0]->key));
    node->kind = TREE_MAPPING;
    node->is_wrapped = 0;
    return STATUS_OK;
}

static status_t schema_fill_mapping(struct mistakes *mistakes, struct tree *node,
                                    const struct schema *row, char *base)
{
    const struct schema *rows = row->members;
    uint32_t first[KEYS] = {0};
    char *inner = base + row->at;
    if (row->list_key && node->kind != TREE_MAPPING && !tree_is_empty(node)) {
        TRY(schema_make_member(node, row->list_key));
    }
    if (tree_is_empty(node)) {
        /* A key with all its members commented out: missing keys are reported one by one. */
        free(memory_move(&node->text));
        node->kind = TREE_MAPPING;
    }
    if (node->kind != TREE_MAPPING) {
        return schema_wrong(mistakes, node, row, "", base);
    }
    for (size_t i = 0; i < node->nchildren;) {
        TRY(schema_fill_member(mistakes, node, &i, rows, first, inner));
    }
    for (size_t i = 0; i < KEYS && rows[i].key; i++) {
        const char *unless = rows[i].unless;
        if (first[i]) {
            continue;
        }
        if (rows[i].is_required || (unless && !tree_member(node, unless))) {
            schema_require(mistakes, node, rows, rows[i].key);
        }
        TRY(schema_fill_default(&rows[i], inner));
    }
    schema_check_needs(mistakes, node);
    return STATUS_OK;
}

/* Fills the member of the struct at `base` that `row` describes. */
static status_t schema_fill_node(struct mistakes *mistakes, struct tree *node,
                                 const struct schema *row, char *base)
{
    return row->most                     ? schema_fill_list(mistakes, node, row, base)
           : row->type == SCHEMA_MAPPING ? schema_fill_mapping(mistakes, node, row, base)
                                         : schema_fill_value(mistakes, node, row, base);
}

status_t schema_fill(struct tree *root, const struct schema *rows, struct mistakes *mistakes,
                     void *out)
{
    const struct schema whole = {.type = SCHEMA_MAPPING, .members = rows};
    return schema_fill_node(mistakes, root, &whole, out);
}

static void schema_free_value(const struct schema *row, char *at)
{
    char *text = NULL;
    if (row->type == SCHEMA_MAPPING) {
        schema_free(row->members, at);
    } else if (row->type == SCHEMA_TEXT) {
        memcpy(&text, at, sizeof text);
        free(text);
    }
}

void schema_free(const struct schema *rows, void *out)
{
    for (const struct schema *row = rows; row->key; row++) {
        char *at = (char *)out + row->at;
        uint32_t count = 0;
        if (row->instead) {
            schema_free_value(row->instead, (char *)out + row->instead->at);
        }
        if (!row->most) {
            schema_free_value(row, at);
        } else if (!row->is_pair) {
            char *entries = NULL;
            memcpy(&entries, at, sizeof entries);
            memcpy(&count, (char *)out + row->count_at, sizeof count);
            for (size_t i = 0; entries && i < count; i++) {
                schema_free_value(row, entries + i * row->size);
            }
            free(entries);
        }
    }
}
