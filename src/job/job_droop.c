/* `products.N.droop` in a job file. */
#include "job/job_schema.h"

#include <string.h>

int job_droop_parse(const char *text, void *out, char *message)
{
    static const char file[] = "file:";
    struct job_droop *droop = out;
    (void)message;
    if (strncmp(text, file, strlen(file)) == 0) {
        droop->path = text + strlen(file);
        return *droop->path != '\0';
    }
    return strcmp(text, "correct") == 0;
}

status_t job_droop_check(struct tree *root, struct tree *product, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    struct tree *droop = tree_list(product, "droop");
    int is_own = 0;
    int is_file = 0;
    for (size_t i = 0; droop && i < droop->nchildren; i++) {
        const char *text = tree_value(droop->child[i], "");
        int is_correct = text && strcmp(text, "correct") == 0;
        if (is_correct ? is_own : text && is_file) {
            TRY(mistakes_at(mistakes, droop, NULL, "has two %s, expected one of each",
                            is_correct ? "of correct" : "files"));
        }
        is_own |= is_correct;
        is_file |= text && !is_correct;
    }
    if (is_own && !tree_at(root, "filter")) {
        TRY(mistakes_at(mistakes, product, "droop",
                        "is correct, which is for what the job's own filters do, but it has no "
                        "filter: expected file:PATH, a table of gains"));
    }
out:
    return st;
}
