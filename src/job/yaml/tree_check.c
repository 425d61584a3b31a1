#include "job/yaml/tree_check.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"
#include "job/yaml/tree_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 32 };

struct check {
    const struct tree_rule *rules;
    struct mistakes *mistakes;
};

int tree_parse_number(const char *text, double *value)
{
    /* strtod() would take hexadecimal, nan and inf as well. */
    return text[strspn(text, "0123456789+-.eE")] == '\0' && units_parse_f64(text, value);
}

int tree_parse_whole(const char *text, uint64_t *value)
{
    if (text[strspn(text, "0123456789")] == '\0') {
        return units_parse_u64(text, value);
    }
    const double exact =
        9007199254740992.0; /* 2^53: up to here a double holds every whole number */
    double number = 0;
    if (!tree_parse_number(text, &number) || !(number >= 0 && number <= exact) ||
        number != (double)(uint64_t)number) {
        return 0;
    }
    *value = (uint64_t)number;
    return 1;
}

status_t tree_mistake(struct mistakes *mistakes, struct tree *node, const char *key,
                      const char *format, ...)
{
    status_t st = STATUS_OK;
    struct text path = {0};
    char message[MISTAKE_BYTES];
    va_list args;
    va_start(args, format);
    display_format_list(message, sizeof message, format, args);
    va_end(args);
    node->is_bad = 1;
    TRY(tree_path(node, 0, &path));
    if (key) {
        TRY(text_add(&path, "%s%.100s", path.length ? "." : "", key));
    }
    TRY(mistakes_add(mistakes, node->set, node->line, path.data, "%s", message));
out:
    text_free(&path);
    return st;
}

static status_t check_wrong_value(const struct check *check, struct tree *node,
                                  const cyaml_schema_value_t *schema, const struct tree_rule *rule)
{
    char is[TREE_IS_BYTES];
    char expected[MISTAKE_BYTES];
    return tree_mistake(check->mistakes, node, NULL, "%s, expected %s", tree_is(node, is),
                        tree_expected(schema, rule, expected));
}

/* Finds the rule of `node`, or of its member `key` if that is not NULL; NULL when there is none. */
static status_t check_find_rule(const struct check *check, const struct tree *node, const char *key,
                                const struct tree_rule **out)
{
    status_t st = STATUS_OK;
    struct text path = {0};
    TRY(tree_path(node, 1, &path));
    TRY(text_add(&path, "%s%s", key && path.length ? "." : "", key ? key : ""));
    const struct tree_rule *rule = check->rules;
    while (rule->path && strcmp(rule->path, path.data) != 0) {
        rule++;
    }
    *out = rule->path ? rule : NULL;
out:
    text_free(&path);
    return st;
}

static int check_is_in_range(double value, const struct tree_rule *rule)
{
    return !tree_has_range(rule) ||
           (value <= rule->max && (rule->is_above ? value > rule->min : value >= rule->min));
}

/* Whether a whole number is right; if so, it is rewritten in digits. *ok tells. */
static status_t check_whole(struct tree *node, const cyaml_schema_value_t *schema,
                            const struct tree_rule *rule, int *ok)
{
    status_t st = STATUS_OK;
    uint64_t value = 0;
    *ok = tree_parse_whole(node->text, &value) && value <= tree_largest(schema, rule) &&
          check_is_in_range((double)value, rule);
    if (*ok) {
        struct text digits = {0};
        TRY(text_add(&digits, "%" PRIu64, value));
        free(node->text);
        node->text = digits.data;
    }
out:
    return st;
}

static int check_is_choice(const char *text, const cyaml_schema_value_t *schema)
{
    for (uint32_t i = 0; i < schema->enumeration.count; i++) {
        if (strcmp(schema->enumeration.strings[i].str, text) == 0) {
            return 1;
        }
    }
    return 0;
}

static status_t check_value(const struct check *check, struct tree *node,
                            const cyaml_schema_value_t *schema, const struct tree_rule *rule)
{
    status_t st = STATUS_OK;
    double number = 0;
    int ok = node->kind == TREE_VALUE && !tree_is_empty(node) && *node->text;
    if (ok && schema->type == CYAML_UINT) {
        TRY(check_whole(node, schema, rule, &ok));
    } else if (ok && schema->type == CYAML_FLOAT) {
        ok = tree_parse_number(node->text, &number) && check_is_in_range(number, rule);
    } else if (ok && schema->type == CYAML_ENUM) {
        ok = check_is_choice(node->text, schema);
    }
    char message[MISTAKE_BYTES] = "";
    if (ok && rule && rule->check) {
        ok = rule->check(node->text, message);
    }
    if (!ok && *message) {
        char is[TREE_IS_BYTES];
        TRY(tree_mistake(check->mistakes, node, NULL, "%s: %s", tree_is(node, is), message));
    } else if (!ok) {
        TRY(check_wrong_value(check, node, schema, rule));
    }
out:
    return st;
}

static status_t check_node(const struct check *check, struct tree *node,
                           const cyaml_schema_value_t *schema, const struct tree_rule *rule);

static int check_is_single(enum cyaml_type type)
{
    return type != CYAML_MAPPING && type != CYAML_SEQUENCE && type != CYAML_SEQUENCE_FIXED;
}

static status_t check_list(const struct check *check, struct tree *node,
                           const cyaml_schema_value_t *schema, const struct tree_rule *rule)
{
    status_t st = STATUS_OK;
    const cyaml_schema_value_t *entry = schema->sequence.entry;
    int is_entry = check_is_single(entry->type) ? node->kind == TREE_VALUE && !tree_is_empty(node)
                                                : node->kind == TREE_MAPPING;
    if (is_entry && schema->type == CYAML_SEQUENCE) {
        TRY(tree_wrap(node));
    }
    if (node->kind != TREE_LIST) {
        TRY(check_wrong_value(check, node, schema, rule));
        goto out;
    }
    uint32_t least = schema->sequence.min;
    uint32_t most = schema->sequence.max;
    const char *entries = node->nchildren == 1 ? "entry" : "entries";
    if (node->nchildren < least || node->nchildren > most) {
        const char *bound = least == most ? "" : node->nchildren < least ? "at least " : "at most ";
        TRY(tree_mistake(check->mistakes, node, NULL, "has %zu %s, expected %s%u", node->nchildren,
                         entries, bound, node->nchildren < least ? least : most));
    }
    for (size_t i = 0; i < node->nchildren; i++) {
        /* The rule of a list of mappings is about the list, its members have their own. */
        TRY(check_node(check, node->child[i], entry, check_is_single(entry->type) ? rule : NULL));
    }
out:
    return st;
}

static const cyaml_schema_field_t *check_find_field(const cyaml_schema_field_t *fields,
                                                    const char *key, size_t *index)
{
    for (*index = 0; *index < KEYS && fields[*index].key; ++*index) {
        if (strcmp(fields[*index].key, key) == 0) {
            return &fields[*index];
        }
    }
    return NULL;
}

/* Whether a key of `node` is `field` misspelt: that has been told, it is not missing as well. */
static int check_is_misspelt(const struct tree *node, const cyaml_schema_field_t *fields,
                             const cyaml_schema_field_t *field)
{
    for (size_t i = 0; i < node->nchildren; i++) {
        size_t index;
        const char *key = node->child[i]->key;
        if (!check_find_field(fields, key, &index) && tree_nearest_key(key, fields) == field) {
            return 1;
        }
    }
    return 0;
}

static status_t check_missing(const struct check *check, struct tree *node,
                              const cyaml_schema_field_t *field)
{
    status_t st = STATUS_OK;
    const struct tree_rule *rule = NULL;
    char expected[MISTAKE_BYTES];
    TRY(check_find_rule(check, node, field->key, &rule));
    TRY(tree_mistake(check->mistakes, node, field->key, "is missing, expected %s",
                     tree_expected(&field->value, rule, expected)));
out:
    return st;
}

/* Whether the member `node` says no more than leaving it out would. */
static int check_says_nothing(const struct tree *node, const cyaml_schema_field_t *field,
                              const struct tree_rule *rule)
{
    int is_auto = node->kind == TREE_VALUE && strcmp(node->text, "auto") == 0;
    int is_bare = tree_is_empty(node) || (node->kind == TREE_MAPPING && node->nchildren == 0);
    return (is_auto && rule && rule->may_be_auto) ||
           (is_bare && field->value.type == CYAML_MAPPING &&
            (field->value.flags & CYAML_FLAG_OPTIONAL) && !(rule && rule->unless));
}

static status_t check_given_twice(const struct check *check, struct tree *child, uint32_t first)
{
    if (child->set) {
        return tree_mistake(check->mistakes, child, NULL, "given twice");
    }
    return tree_mistake(check->mistakes, child, NULL, "given twice, first in line %u", first);
}

/* Checks the member `*at` of `node` and goes on to the next one. `first[i]` is one more than the
 * line in which the field i was given before, or 0. */
static status_t check_member(const struct check *check, struct tree *node, size_t *at,
                             const cyaml_schema_field_t *fields, uint32_t first[KEYS])
{
    status_t st = STATUS_OK;
    struct tree *child = node->child[*at];
    size_t index = 0;
    const struct tree_rule *rule = NULL;
    const cyaml_schema_field_t *field = check_find_field(fields, child->key, &index);
    ++*at;
    if (!field) {
        char message[MISTAKE_BYTES];
        TRY(tree_mistake(check->mistakes, child, NULL, "%s",
                         tree_unknown_key(child->key, fields, message)));
        goto out;
    }
    if (first[index]) {
        TRY(check_given_twice(check, child, first[index] - 1));
        goto out;
    }
    first[index] = child->line + 1;
    TRY(check_find_rule(check, child, NULL, &rule));
    if (check_says_nothing(child, field, rule)) {
        tree_remove(node, --*at);
    } else {
        TRY(check_node(check, child, &field->value, rule));
    }
out:
    return st;
}

/* Whether a member that is not there may be missing. */
static status_t check_may_be_missing(const struct check *check, const struct tree *node,
                                     const cyaml_schema_field_t *field, int *out)
{
    status_t st = STATUS_OK;
    const struct tree_rule *rule = NULL;
    TRY(check_find_rule(check, node, field->key, &rule));
    *out = (field->value.flags & CYAML_FLAG_OPTIONAL) != 0 &&
           (!rule || !rule->unless || tree_member(node, rule->unless));
out:
    return st;
}

/* Makes a list, or a value, the only member of a mapping. */
static status_t check_make_member(struct tree *node, const char *key)
{
    status_t st = STATUS_OK;
    TRY(tree_wrap(node));
    TRY(memory_text(key, &node->child[0]->key));
    node->kind = TREE_MAPPING;
    node->is_wrapped = 0;
out:
    return st;
}

static status_t check_mapping(const struct check *check, struct tree *node,
                              const cyaml_schema_value_t *schema, const struct tree_rule *rule)
{
    status_t st = STATUS_OK;
    const cyaml_schema_field_t *fields = schema->mapping.fields;
    uint32_t first[KEYS] = {0};
    if (rule && rule->list_key && node->kind != TREE_MAPPING && !tree_is_empty(node)) {
        TRY(check_make_member(node, rule->list_key));
    }
    if (tree_is_empty(node)) {
        /* A key with all its members commented out: what is missing is told one by one. */
        free(node->text);
        node->text = NULL;
        node->kind = TREE_MAPPING;
    }
    if (node->kind != TREE_MAPPING) {
        TRY(check_wrong_value(check, node, schema, rule));
        goto out;
    }
    for (size_t i = 0; i < node->nchildren;) {
        TRY(check_member(check, node, &i, fields, first));
    }
    for (size_t i = 0; i < KEYS && fields[i].key; i++) {
        int is_optional = 0;
        if (!first[i]) {
            TRY(check_may_be_missing(check, node, &fields[i], &is_optional));
        }
        if (!first[i] && !is_optional && !check_is_misspelt(node, fields, &fields[i])) {
            TRY(check_missing(check, node, &fields[i]));
        }
    }
out:
    return st;
}

static status_t check_node(const struct check *check, struct tree *node,
                           const cyaml_schema_value_t *schema, const struct tree_rule *rule)
{
    if (schema->type == CYAML_MAPPING) {
        return check_mapping(check, node, schema, rule);
    }
    return check_is_single(schema->type) ? check_value(check, node, schema, rule)
                                         : check_list(check, node, schema, rule);
}

status_t tree_check(struct tree *root, const cyaml_schema_value_t *schema,
                    const struct tree_rule *rules, struct mistakes *mistakes)
{
    const struct check check = {rules, mistakes};
    return check_node(&check, root, schema, NULL);
}
