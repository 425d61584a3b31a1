/* The files of a product, by any of their names: x.h5, x.h5.part, x.h5.journal. */
#ifndef VOLTMILL_VERIFY_PRODUCT_FILES_H
#define VOLTMILL_VERIFY_PRODUCT_FILES_H

#include "base/status.h"

struct find {
    char *path, *part, *journal; /* their names */
    int has_path, has_part, has_journal;
    int is_finished; /* what is meant is x.h5, else what is on its way to become it */
};

/* Fails with DATA when there is no such file. find_free() in any case. */
status_t find_product(const char *name, struct find *out);
void find_free(struct find *find);

#endif
