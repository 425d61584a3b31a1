/* A YAML file of the user: read, overridden, checked against a libcyaml schema, and turned into the
 * C struct of that schema. Every mistake is collected first and then told at once, each with file,
 * line (or override), key and what was expected.
 *
 * yaml_file_open() reads and checks every value by itself; yaml_file_value() and its like tell what
 * the file says, for checks of several keys together that end in yaml_file_mistake();
 * yaml_file_fill() tells the mistakes or gives the struct.
 */
#ifndef VOLTMILL_JOB_YAML_YAML_FILE_H
#define VOLTMILL_JOB_YAML_YAML_FILE_H

#include "base/status.h"
#include "job/yaml/tree.h"
#include "job/yaml/tree_check.h"

struct yaml_file;

/* Larger files are refused. */
enum { YAML_FILE_BYTES = 1 << 20 };

/* What a file that stands for many is told about the one that is its turn. */
struct yaml_each {
    const char *name; /* takes the place of {name} in all values, those of overrides included */
    const char *set;  /* the last override, "key.path=text": the text as it is, no YAML */
};

/* `schema` describes a pointer to a mapping; `path` names the file in messages; `sets` are the
 * overrides "key.path=value"; `each` may be NULL. All of these must outlive *out. Fails with USAGE
 * when the text is no YAML document at all; any other mistake waits for yaml_file_fill(). */
status_t yaml_file_open(const char *path, const char *text, size_t length, const char *const *sets,
                        uint32_t nsets, const struct yaml_each *each,
                        const cyaml_schema_value_t *schema, const struct tree_rule *rules,
                        struct yaml_file **out);

/* The text of the value at a dotted path; NULL when there is none or when it is wrong. */
const char *yaml_file_value(const struct yaml_file *yaml, const char *path);

/* The number at a dotted path, or `otherwise` where yaml_file_value() is NULL. */
double yaml_file_number(const struct yaml_file *yaml, const char *path, double otherwise);

/* The number of members or entries at a dotted path; 0 when there is nothing. */
size_t yaml_file_count(const struct yaml_file *yaml, const char *path);

/* Where a key is written: its line, 0 when an override made it; for a key that is not there, that
 * of the nearest mapping around it. */
uint32_t yaml_file_line(const struct yaml_file *yaml, const char *path);

/* Adds a mistake at a dotted path. */
status_t yaml_file_mistake(struct yaml_file *yaml, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The document, in the form that tree_check() describes. */
const struct tree *yaml_file_root(const struct yaml_file *yaml);

/* Gives the struct in *out, for yaml_file_free(). Fails with USAGE and every mistake there is. */
status_t yaml_file_fill(struct yaml_file *yaml, void *out);
void yaml_file_free(const cyaml_schema_value_t *schema, void *filled);

void yaml_file_close(struct yaml_file *yaml);

#endif
