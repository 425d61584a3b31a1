/* What the passes of a job need of each other: archive, filters, filter bank, dedispersions. */
#include "job/job_schema.h"

#include <string.h>

/* Whether the job asks for a product of kind voltages. */
static int job_passes_has_voltages(struct tree *root)
{
    const struct tree *products = tree_list(root, "products");
    for (size_t i = 0; products && i < products->nchildren; i++) {
        if (tree_says(products->child[i], "kind", "voltages")) {
            return 1;
        }
    }
    return 0;
}

/* Without `channelise`, a job dedisperses a filterbank as it is. */
static status_t job_passes_filterbank(struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    static const char *const keys[] = {"input.layout", "input.select", "filter"};
    if (tree_member(root, "products")) {
        TRY(mistakes_at(mistakes, root, "products",
                        "expected none without channelise: dedisperse has a file of its own"));
    }
    for (size_t i = 0; i < 3; i++) {
        if (tree_count(root, keys[i]) > 0) {
            TRY(mistakes_at(mistakes, root, keys[i],
                            "is for voltages, but without channelise the input is a filterbank "
                            "(FBH5)"));
        }
    }
    if (tree_count(root, "input.files") > 1) {
        TRY(mistakes_at(mistakes, root, "input.files", "expected one filterbank to dedisperse"));
    }
out:
    return st;
}

/* A product of kind voltages is what comes out of the filters, or of the archive: it stands alone,
 * where no filter bank is. */
static status_t job_passes_voltages(struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct tree *products = tree_list(root, "products");
    int has_bank = tree_member(root, "channelise") != NULL;
    for (size_t i = 0; products && i < products->nchildren; i++) {
        struct tree *product = products->child[i];
        const char *kind = tree_value(product, "kind");
        int is_voltages = kind && strcmp(kind, "voltages") == 0;
        if (is_voltages && has_bank) {
            TRY(mistakes_at(mistakes, product, "kind",
                            "is voltages, which a job without channelise writes, alone"));
        } else if (kind && !is_voltages && !has_bank) {
            TRY(mistakes_at(mistakes, product, "kind",
                            "is %s, which needs channelise: beside voltages there is no other "
                            "product",
                            kind));
        } else if (is_voltages && i > 0) {
            TRY(mistakes_at(mistakes, product, "kind",
                            "is voltages, expected one such product, alone"));
        }
    }
out:
    return st;
}

/* A job channelises and may dedisperse what comes of it; or writes voltages again, filtered or cut;
 * or dedisperses a filterbank as it is. */
static status_t job_passes_order(struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    int dedisperses = tree_member(root, "dedisperse") != NULL;
    int has_bank = tree_member(root, "channelise") != NULL;
    if (dedisperses && has_bank && !tree_member(root, "products")) {
        TRY(mistakes_at(mistakes, root, "products",
                        "is missing, expected a list of products, each with kind and file"));
    }
    if (dedisperses && !has_bank) {
        TRY(job_passes_filterbank(root, mistakes));
    } else if (job_passes_has_voltages(root)) {
        TRY(job_passes_voltages(root, mistakes));
    } else {
        TRY(schema_require(mistakes, root, job_schema, "channelise"));
    }
out:
    return st;
}

/* All that computes does so by one backend: those that are named must be alike. */
static status_t job_passes_backends(struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    static const char *const lists[] = {"channelise", "filter"};
    struct text path = {0};
    const char *first = NULL;
    for (size_t list = 0; list < 2; list++) {
        const struct tree *entries = tree_list(root, lists[list]);
        for (size_t i = 0; entries && i < entries->nchildren; i++) {
            const char *backend = tree_value(entries->child[i], "backend");
            if (backend && !first) {
                first = backend;
                TRY(tree_path(entries->child[i], &path));
            } else if (backend && strcmp(backend, first) != 0) {
                TRY(mistakes_at(mistakes, entries->child[i], "backend",
                                "is %s, but %s.backend is %s: filters and filter banks have one "
                                "backend",
                                backend, path.data, first));
            }
        }
    }
out:
    text_free(&path);
    return st;
}

/* What `dedisperse.N.input` names must be a power product. */
static status_t job_passes_dedisperse_input(struct tree *root, struct tree *entry,
                                            struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const char *text = tree_value(entry, "input"); /* at most JOB_PRODUCTS, in digits */
    size_t input = text ? (size_t)tree_number(entry, "input", 0) : 0;
    const struct tree *products = tree_list(root, "products");
    size_t count = products ? products->nchildren : 0;
    if (!text) {
        goto out;
    }
    if (!tree_member(root, "channelise")) {
        TRY(mistakes_at(mistakes, entry, "input", "names a product, but the job makes none"));
    } else if (input >= count) {
        TRY(mistakes_at(mistakes, entry, "input",
                        "is %s, but there are %zu products (counted from 0)", text, count));
    } else if (!tree_says(products->child[input], "kind", "power")) {
        TRY(mistakes_at(mistakes, entry, "input",
                        "is %s, but products.%s is not of kind power: only power can be "
                        "dedispersed here",
                        text, text));
    }
out:
    return st;
}

/* A semi-coherent search makes one power product after the other, each of a filter of its own. */
static status_t job_passes_coherent(struct tree *root, struct tree *entry,
                                    struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct tree *filters = tree_list(root, "filter");
    int is_filtered = 0;
    for (size_t i = 0; filters && i < filters->nchildren; i++) {
        is_filtered |= tree_member(filters->child[i], "dispersion") != NULL;
    }
    if (!tree_list(entry, "coherent") || !tree_member(root, "channelise") || is_filtered) {
        goto out; /* the share of what is dedispersed already */
    }
    if (tree_count(root, "dedisperse") > 1) {
        TRY(mistakes_at(mistakes, entry, "coherent",
                        "expected one dedispersion: a semi-coherent search has no other"));
    }
    if (tree_count(root, "products") > 1) {
        TRY(mistakes_at(mistakes, root, "products",
                        "expected the power product alone: a semi-coherent search makes it for "
                        "each coherent DM, and removes it"));
    }
    if (filters && filters->nchildren >= JOB_FILTERS) {
        TRY(mistakes_at(mistakes, root, "filter",
                        "has %zu entries, expected at most %d: a semi-coherent search adds one",
                        filters->nchildren, JOB_FILTERS - 1));
    }
out:
    return st;
}

status_t job_passes_check(struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    TRY(job_passes_order(root, mistakes));
    TRY(job_passes_backends(root, mistakes));
    const struct tree *entries = tree_list(root, "dedisperse");
    for (size_t i = 0; entries && i < entries->nchildren && i < JOB_DEDISPERSE; i++) {
        TRY(job_passes_dedisperse_input(root, entries->child[i], mistakes));
        TRY(job_passes_coherent(root, entries->child[i], mistakes));
    }
out:
    return st;
}
