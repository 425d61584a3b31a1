#include "plan/job_text.h"

#include "base/memory.h"
#include "plan/tree_yaml.h"

#include <stdlib.h>
#include <string.h>

/* Makes `view` a copy of the mapping `node` without the member `key`. The view shares the members:
 * only its list of them is for free(). */
static status_t view_without(const struct tree *node, const char *key, struct tree *view)
{
    status_t st = STATUS_OK;
    *view = *node;
    view->nchildren = 0;
    view->child = NULL;
    TRY(memory_zeroed(node->nchildren, sizeof(struct tree *), "a view of a job", &view->child));
    for (size_t i = 0; i < node->nchildren; i++) {
        if (strcmp(node->child[i]->key, key) != 0) {
            view->child[view->nchildren++] = node->child[i];
        }
    }
out:
    return st;
}

status_t job_text(const struct tree *root, size_t index, char **out)
{
    status_t st = STATUS_OK;
    struct tree view = {0};
    struct tree product = {0};
    struct tree *entry = &product;
    struct tree products;
    struct text text = {0};
    TRY(view_without(root, "run", &view));
    for (size_t i = 0; i < view.nchildren; i++) {
        if (strcmp(view.child[i]->key, "products") == 0) {
            products = *view.child[i];
            TRY(view_without(products.child[index], "file", &product));
            products.child = &entry;
            products.nchildren = 1;
            view.child[i] = &products;
        }
    }
    TRY(tree_write(&view, &text));
    *out = text.data;
    text.data = NULL;
out:
    text_free(&text);
    free(product.child);
    free(view.child);
    return st;
}
