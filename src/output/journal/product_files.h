/* The files of a product, under all of their names: x.h5, x.h5.part, x.h5.journal, and
 * x.h5.packed.part while its rows are compressed, or put in another format. */
#ifndef VOLTMILL_OUTPUT_JOURNAL_PRODUCT_FILES_H
#define VOLTMILL_OUTPUT_JOURNAL_PRODUCT_FILES_H

#include "base/status.h"

struct product_files {
    char *path, *part, *journal, *packed; /* their names */
    int has_path, has_part, has_journal;
    int is_finished; /* what is meant is x.h5, else what is on its way to become it */
};

/* Finds the files of the product `path`, and whether they exist: the product, or its incomplete
 * file and journal. The caller calls product_files_free() in any case. Fails with DATA as
 * file_exists(). */
status_t product_files_of(const char *path, struct product_files *out);
/* Finds the product's files by any of their names. Fails with DATA if there is no such file. The
 * caller calls product_files_free() in any case. */
status_t product_files_find(const char *name, struct product_files *out);
void product_files_free(struct product_files *find);

#endif
