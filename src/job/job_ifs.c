/* What the keys of polarisations and sums of a product need of each other. */
#include "job/job_schema.h"

#include <string.h>

status_t job_ifs_check(struct tree *product, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    static const char *const keys[] = {"polarisation", "stokes_v", "feed", "sum", "sum_weights"};
    int is_iquv = tree_says(product, "polarisation", "IQUV");
    struct tree *sums = tree_list(product, "sum");
    for (size_t i = 0; i < 5 && !tree_says(product, "kind", "power"); i++) {
        if (tree_member(product, keys[i])) {
            TRY(mistakes_at(mistakes, product, keys[i], "is for products of kind power"));
            goto out;
        }
    }
    for (size_t i = 1; i < 3 && !is_iquv; i++) {
        if (tree_member(product, keys[i])) {
            TRY(mistakes_at(mistakes, product, keys[i], "is for polarisation: IQUV"));
        }
    }
    if (tree_member(product, "sum_weights") && !tree_member(product, "sum")) {
        TRY(mistakes_at(mistakes, product, "sum_weights",
                        "is for sums, expected sum: stations, beams or both, too"));
    }
    if (sums && sums->nchildren == 2 && tree_value(product, "sum.0") &&
        tree_value(product, "sum.1") &&
        strcmp(tree_value(product, "sum.0"), tree_value(product, "sum.1")) == 0) {
        TRY(mistakes_at(mistakes, sums, NULL, "is twice the same"));
    }
out:
    return st;
}
