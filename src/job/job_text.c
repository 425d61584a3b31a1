#include "job/job_text.h"

#include "base/memory.h"
#include "job/yaml/tree_yaml.h"

#include <stdlib.h>
#include <string.h>

/* Makes `view` a copy of the mapping `node` without some members. The view shares the members: only
 * its list of them is for free(). */
static status_t job_text_view_without(const struct tree *node, const char *const *keys,
                                      struct tree *view)
{
    status_t st = STATUS_OK;
    *view = *node;
    view->nchildren = 0;
    view->child = NULL;
    TRY(memory_zeroed(node->nchildren, sizeof(struct tree *), "a view of a job", &view->child));
    for (size_t i = 0; i < node->nchildren; i++) {
        int is_left_out = 0;
        for (const char *const *key = keys; *key; key++) {
            is_left_out |= strcmp(node->child[i]->key, *key) == 0;
        }
        if (!is_left_out) {
            view->child[view->nchildren++] = node->child[i];
        }
    }
out:
    return st;
}

/* A list of the job with one entry, and that without some members. */
struct one {
    struct tree list, entry;
    struct tree *only;
};

static status_t job_text_view_one(struct tree *view, const char *name, int index,
                                  const char *const *keys, struct one *one)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < view->nchildren && index >= 0; i++) {
        if (strcmp(view->child[i]->key, name) == 0) {
            one->list = *view->child[i];
            TRY(job_text_view_without(one->list.child[index], keys, &one->entry));
            one->only = &one->entry;
            one->list.child = &one->only;
            one->list.nchildren = 1;
            view->child[i] = &one->list;
        }
    }
out:
    return st;
}

status_t job_text(const struct tree *root, struct job_part part, char **out)
{
    status_t st = STATUS_OK;
    const char *const whole[] = {"run", part.product < 0 ? "products" : "run",
                                 part.dedisperse < 0 ? "dedisperse" : "run", NULL};
    static const char *const product_keys[] = {"file", NULL};
    /* All backends add up alike; the product is the only one then. */
    static const char *const dedisperse_keys[] = {"file", "backend", "input", NULL};
    struct tree view = {0};
    struct one product = {.only = NULL};
    struct one dedisperse = {.only = NULL};
    struct text text = {0};
    TRY(job_text_view_without(root, whole, &view));
    TRY(job_text_view_one(&view, "products", part.product, product_keys, &product));
    TRY(job_text_view_one(&view, "dedisperse", part.dedisperse, dedisperse_keys, &dedisperse));
    TRY(tree_write(&view, &text));
    *out = text.data;
    text.data = NULL;
out:
    text_free(&text);
    free(product.entry.child);
    free(dedisperse.entry.child);
    free(view.child);
    return st;
}
