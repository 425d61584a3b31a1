#include "job/yaml/yaml_file.h"

#include "base/display.h"
#include "base/memory.h"
#include "job/yaml/tree_set.h"
#include "job/yaml/tree_yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct yaml_file {
    struct tree *root;
    struct mistakes mistakes;
    const cyaml_schema_value_t *schema;
};

/* No log: what libcyaml would say has been said better by tree_check(). */
static const cyaml_config_t config = {
    .mem_fn = cyaml_mem,
    .log_level = CYAML_LOG_ERROR,
    .flags = CYAML_CFG_NO_ALIAS,
};

status_t yaml_file_open(const char *path, const char *text, size_t length, const char *const *sets,
                        uint32_t nsets, const struct yaml_each *each,
                        const cyaml_schema_value_t *schema, const struct tree_rule *rules,
                        struct yaml_file **out)
{
    status_t st = STATUS_OK;
    struct yaml_file *yaml = NULL;
    TRY(memory_zeroed(1, sizeof *yaml, "a YAML file", &yaml));
    yaml->schema = schema;
    yaml->mistakes.file = path;
    REQUIRE(length <= YAML_FILE_BYTES, STATUS_USAGE,
            "%s: holds %zu bytes, expected a file of at most %d", path, length, YAML_FILE_BYTES);
    TRY(tree_read(text, length, NULL, &yaml->mistakes, &yaml->root));
    TRY(mistakes_report(&yaml->mistakes));
    REQUIRE(!tree_is_empty(yaml->root), STATUS_USAGE, "%s: is empty, expected keys and values",
            path);
    for (uint32_t i = 0; i < nsets; i++) {
        TRY(tree_set(yaml->root, sets[i], &yaml->mistakes));
    }
    if (each) {
        TRY(tree_set_name(yaml->root, each->name));
        TRY(tree_set_text(yaml->root, each->set, &yaml->mistakes));
    }
    TRY(tree_check(yaml->root, schema, rules, &yaml->mistakes));
    *out = yaml;
    yaml = NULL;
out:
    yaml_file_close(yaml);
    return st;
}

const char *yaml_file_value(const struct yaml_file *yaml, const char *path)
{
    const char *rest = NULL;
    const struct tree *node = tree_walk(yaml->root, path, &rest);
    /* A list with the wrong number of entries is not to be relied on as a whole. */
    int is_usable = node->kind == TREE_VALUE && !*rest && !node->is_bad &&
                    !(node->up && node->up->kind == TREE_LIST && node->up->is_bad);
    return is_usable ? node->text : NULL;
}

double yaml_file_number(const struct yaml_file *yaml, const char *path, double otherwise)
{
    const char *text = yaml_file_value(yaml, path);
    double value = 0;
    return text && tree_parse_number(text, &value) ? value : otherwise;
}

size_t yaml_file_count(const struct yaml_file *yaml, const char *path)
{
    const char *rest = NULL;
    const struct tree *node = tree_walk(yaml->root, path, &rest);
    return *rest ? 0 : node->nchildren;
}

uint32_t yaml_file_line(const struct yaml_file *yaml, const char *path)
{
    const char *rest = NULL;
    return tree_walk(yaml->root, path, &rest)->line;
}

status_t yaml_file_mistake(struct yaml_file *yaml, const char *path, const char *format, ...)
{
    char message[MISTAKE_BYTES];
    va_list args;
    va_start(args, format);
    display_format_list(message, sizeof message, format, args);
    va_end(args);
    const char *rest = NULL;
    struct tree *node = tree_walk(yaml->root, path, &rest);
    return tree_mistake(&yaml->mistakes, node, *rest ? rest : NULL, "%s", message);
}

const struct tree *yaml_file_root(const struct yaml_file *yaml)
{
    return yaml->root;
}

status_t yaml_file_fill(struct yaml_file *yaml, void *out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    cyaml_data_t *filled = NULL;
    TRY(mistakes_report(&yaml->mistakes));
    TRY(tree_write(yaml->root, &text));
    cyaml_err_t err = cyaml_load_data((const uint8_t *)text.data, text.length, &config,
                                      yaml->schema, &filled, NULL);
    REQUIRE(err != CYAML_ERR_OOM, STATUS_DEVICE, "out of memory: reading %s", yaml->mistakes.file);
    REQUIRE(err == CYAML_OK, STATUS_USAGE, "%s: %s", yaml->mistakes.file, cyaml_strerror(err));
    memcpy(out, &filled, sizeof filled);
out:
    text_free(&text);
    return st;
}

void yaml_file_free(const cyaml_schema_value_t *schema, void *filled)
{
    if (filled) {
        cyaml_free(&config, schema, filled, 0);
    }
}

void yaml_file_close(struct yaml_file *yaml)
{
    if (yaml) {
        mistakes_free(&yaml->mistakes);
        tree_destroy(yaml->root);
        free(yaml);
    }
}
