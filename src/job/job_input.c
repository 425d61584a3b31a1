/* A job of which only the input is used, as `voltmill import --job` does. */
#include "job/job_schema.h"

#include <string.h>

static status_t input_add(struct tree *product, const char *key, const char *text)
{
    status_t st = STATUS_OK;
    struct tree *value = NULL;
    TRY(tree_new(TREE_VALUE, text, &value));
    TRY(tree_add(product, key, &value));
out:
    tree_destroy(value);
    return st;
}

/* Keys that are unknown stay: they are mistakes, such as a misspelt `input`. */
static void input_remove(struct tree *node, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (struct tree *member = tree_member(node, keys[i]); member;
             member = tree_member(node, keys[i])) {
            tree_remove(node, member->index);
        }
    }
}

status_t job_input_alone(struct tree *root)
{
    static const char *const passes[] = {"synthesise", "filter", "channelise", "products",
                                         "dedisperse"};
    /* Voltages have no rows to mark: import itself refuses samples that are lost. */
    static const char *const rows[] = {"on_bad"};
    status_t st = STATUS_OK;
    struct tree *product = NULL;
    struct tree *run = tree_member(root, "run");
    if (root->kind != TREE_MAPPING) {
        goto out;
    }
    input_remove(root, passes, sizeof passes / sizeof *passes);
    if (run && run->kind == TREE_MAPPING) {
        input_remove(run, rows, sizeof rows / sizeof *rows);
    }
    TRY(tree_new(TREE_MAPPING, NULL, &product));
    TRY(input_add(product, "kind", "voltages"));
    TRY(input_add(product, "file", "/dev/null")); /* no input has this name */
    TRY(tree_add(root, "products", &product));
out:
    tree_destroy(product);
    return st;
}
