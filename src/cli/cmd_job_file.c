/* voltmill job --schema: the table of keys as a JSON Schema, draft 2020-12.
 * Wright, Andrews, Hutton, Dennis 2022, JSON Schema: a media type for describing JSON documents. */
#include "base/units.h"
#include "cli/values.h"
#include "job/job_schema.h"

#include <math.h>

/* Numbers, true and false without quotes, as a reader of YAML gives them. */
static void schema_json_word(struct json *json, const char *key, const char *text)
{
    double number = 0;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ||
        tree_parse_number(text, &number)) {
        json_word(json, key, text);
    } else {
        json_text(json, key, text);
    }
}

static void schema_json_bound(struct json *json, const char *key, const struct schema *row,
                              double bound)
{
    char digits[UNITS_TEXT];
    if (row->type == SCHEMA_NUMBER) {
        units_exact_in(bound, digits);
    } else {
        snprintf(digits, sizeof digits, "%.0f", bound);
    }
    json_word(json, key, digits);
}

static void schema_json_range(struct json *json, const struct schema *row)
{
    if (row->min != row->max) {
        schema_json_bound(json, row->is_above ? "exclusiveMinimum" : "minimum", row, row->min);
    } else if (row->type == SCHEMA_WHOLE) {
        json_u64(json, "minimum", 0);
    }
    if (row->min != row->max && row->max < INFINITY) {
        schema_json_bound(json, "maximum", row, row->max);
    }
    if (row->is_even) {
        json_u64(json, "multipleOf", 2);
    }
}

/* A form of a value: writes what a JSON Schema says of it. */
typedef void (*form)(struct json *json, const struct schema *row);

/* Any of several forms, or the only one; the array ends with NULL. */
static void schema_json_any(struct json *json, const struct schema *row, const form *forms)
{
    if (!forms[1]) {
        forms[0](json, row);
        return;
    }
    json_list(json, "anyOf");
    for (; *forms; forms++) {
        json_begin(json, NULL);
        (*forms)(json, row);
        json_end(json);
    }
    json_list_end(json);
}

static void schema_json_auto(struct json *json, const struct schema *row)
{
    (void)row;
    json_text(json, "const", "auto");
}

static void schema_json(const struct schema *rows, struct json *json);

/* Allows null: a key whose members are all commented out. */
static void schema_json_bare(struct json *json, const struct schema *row)
{
    (void)row;
    json_text(json, "type", "null");
}

static void schema_json_mapping(struct json *json, const struct schema *row)
{
    json_text(json, "type", "object");
    schema_json(row->members, json);
}

static void schema_json_instead(struct json *json, const struct schema *row)
{
    schema_json_mapping(json, row->instead);
}

/* Writes the pattern of a number with a unit. */
static void schema_json_quantity(struct json *json, const struct schema *row)
{
    char pattern[256] = "^[-+0-9.eE]+ *(";
    for (size_t i = 0; units_name(row->unit, i); i++) {
        size_t used = strlen(pattern);
        snprintf(pattern + used, sizeof pattern - used, "%s%s", i ? "|" : "",
                 units_name(row->unit, i));
    }
    strcat(pattern, ")$");
    json_text(json, "type", "string");
    json_text(json, "pattern", pattern);
}

static void schema_json_value(struct json *json, const struct schema *row)
{
    static const char *const types[][2] = {[SCHEMA_TEXT] = {"string", "number"},
                                           [SCHEMA_WHOLE] = {"integer"},
                                           [SCHEMA_NUMBER] = {"number"},
                                           [SCHEMA_BYTES] = {"string", "number"},
                                           [SCHEMA_UTC] = {"string"},
                                           [SCHEMA_CHOICE] = {NULL},
                                           [SCHEMA_PARSED] = {"string", "number"}};
    const char *const *type = types[row->type];
    if (row->type == SCHEMA_CHOICE) {
        json_list(json, "enum");
        for (size_t i = 0; row->choices[i]; i++) {
            if (row->choices[i][0] != '+') { /* the same number as without */
                schema_json_word(json, NULL, row->choices[i]);
            }
        }
        json_list_end(json);
    } else if (type[1]) {
        json_list(json, "type");
        json_text(json, NULL, type[0]);
        json_text(json, NULL, type[1]);
        json_list_end(json);
    } else {
        json_text(json, "type", type[0]);
    }
    schema_json_range(json, row);
}

static void schema_json_forms(struct json *json, const struct schema *row);

/* Describes the member that may stand for a mapping with it alone. */
static void schema_json_list_key(struct json *json, const struct schema *row)
{
    const struct schema *member = row->members;
    while (strcmp(member->key, row->list_key) != 0) {
        member++;
    }
    schema_json_forms(json, member);
}

/* A single value or mapping, as it is or as an entry of a list. */
static void schema_json_entry(struct json *json, const struct schema *row)
{
    const form forms[] = {row->type == SCHEMA_MAPPING ? schema_json_mapping : schema_json_value,
                          row->list_key                             ? schema_json_list_key
                          : row->unit && row->type != SCHEMA_PARSED ? schema_json_quantity
                                                                    : NULL,
                          NULL};
    schema_json_any(json, row, forms);
}

static void schema_json_list(struct json *json, const struct schema *row)
{
    json_text(json, "type", "array");
    json_u64(json, "minItems", row->least);
    if (row->most < UINT32_MAX) {
        json_u64(json, "maxItems", row->most);
    }
    json_begin(json, "items");
    schema_json_entry(json, row);
    json_end(json);
}

static void schema_json_forms(struct json *json, const struct schema *row)
{
    const int may_be_bare =
        row->type == SCHEMA_MAPPING && !row->most && !row->is_required && !row->unless;
    const struct {
        int is_there;
        form write;
    } known[] = {{row->may_be_auto, schema_json_auto},
                 {row->least < 2, schema_json_entry}, /* else no entry stands for the list */
                 {row->most > 0, schema_json_list},
                 {row->instead != NULL, schema_json_instead},
                 {may_be_bare, schema_json_bare}};
    form forms[6] = {NULL};
    for (size_t i = 0, n = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].is_there) {
            forms[n++] = known[i].write;
        }
    }
    schema_json_any(json, row, forms);
}

static void schema_json_default(struct json *json, const struct schema *row)
{
    const int is_first = row->type == SCHEMA_CHOICE && !row->most && !row->given.as && !row->values;
    const char *word = row->may_be_auto                ? "auto"
                       : row->otherwise                ? row->otherwise
                       : is_first && !row->is_required ? row->choices[0]
                                                       : NULL;
    if (word) {
        schema_json_word(json, "default", word);
    }
    if (row->absent) {
        json_text(json, "x-default", row->absent);
    }
}

static void schema_json_row(struct json *json, const char *key, const struct schema *row)
{
    json_begin(json, key);
    if (row->help) {
        json_text(json, "description", row->help);
    }
    if (key != row->key) {
        json_bool(json, "deprecated", 1);
    }
    schema_json_default(json, row);
    if (row->expected) {
        json_text(json, "x-values", row->expected);
    }
    if (row->unit) {
        json_list(json, "x-units");
        for (size_t i = 0; units_name(row->unit, i); i++) {
            json_text(json, NULL, units_name(row->unit, i));
        }
        json_list_end(json);
    }
    if ((row->without_effect_on & JOB_ALL) == JOB_ALL) {
        json_bool(json, "x-identity", 0);
    } else if (row->only) {
        json_text(json, "x-identity", row->only);
    }
    schema_json_forms(json, row);
    json_end(json);
}

/* Required keys: all of them, and of two that stand for each other one. */
static void schema_json_required(struct json *json, const struct schema *rows)
{
    json_list(json, "required");
    for (const struct schema *row = rows; row->key; row++) {
        if (row->is_required) {
            json_text(json, NULL, row->key);
        }
    }
    json_list_end(json);
    for (const struct schema *row = rows; row->key; row++) {
        const char *const keys[] = {row->key, row->unless};
        if (row->unless) {
            json_list(json, "anyOf");
            for (int i = 0; i < 2; i++) {
                json_begin(json, NULL);
                json_list(json, "required");
                json_text(json, NULL, keys[i]);
                json_list_end(json);
                json_end(json);
            }
            json_list_end(json);
        }
    }
}

/* Adds members to a JSON object that is open: what a document may contain, as a JSON Schema (draft
 * 2020-12). Members of keys beyond that standard: x-values and x-default, values and default in
 * words; x-units: units that a number may have, the first that of a bare number; x-identity: false
 * where no product depends on the key, or the only value that they depend on. */
static void schema_json(const struct schema *rows, struct json *json)
{
    json_begin(json, "properties");
    for (const struct schema *row = rows; row->key; row++) {
        schema_json_row(json, row->key, row);
        if (row->was) {
            schema_json_row(json, row->was, row);
        }
    }
    json_end(json);
    schema_json_required(json, rows);
    json_bool(json, "additionalProperties", 0);
}

struct job_settings {
    struct shared shared;
    int schema;
};

static const struct option_row rows[] = {{"schema", FLAG(offsetof(struct job_settings, schema)),
                                          "prints a JSON Schema (draft 2020-12) of job files"},
                                         {.name = NULL}};

static status_t job_file_check(void *settings)
{
    return REQUIRED(options_first(settings, "schema"), STATUS_USAGE, "job: expected --schema");
}

static status_t job_file_run(void *settings)
{
    struct json json = {0};
    (void)settings;
    json_begin(&json, NULL);
    json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_text(&json, "title", "voltmill job file");
    json_text(&json, "type", "object");
    schema_json(job_schema, &json);
    json_end(&json);
    return json_print(&json);
}

const struct command cli_job = {
    .only_prints = 1,
    .name = "job",
    .summary = "describe the keys of a job file",
    .usage = "--schema",
    .about = "Prints every key of a job file (docs/job-file.md) with its meaning, range and "
             "default, for editors that check and complete YAML and for other programs.",
    .rows = rows,
    .bytes = sizeof(struct job_settings),
    .check = job_file_check,
    .run = job_file_run};
