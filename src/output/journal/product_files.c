/* Takes the ending off a name, and looks which of the three files are there. */
#include "output/journal/product_files.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

void product_files_free(struct product_files *find)
{
    free(find->path);
    free(find->part);
    free(find->journal);
    free(find->packed);
    *find = (struct product_files){0};
}

/* Cuts the ending off; returns whether it was there. */
static int files_cut_ending(char *name, const char *ending)
{
    int has = text_ends(name, ending);
    if (has) {
        name[strlen(name) - strlen(ending)] = '\0';
    }
    return has;
}

status_t product_files_of(const char *path, struct product_files *out)
{
    *out = (struct product_files){0};
    TRY(memory_text(path, &out->path));
    TRY(file_part_name(path, &out->part));
    TRY(file_journal_name(path, &out->journal));
    TRY(file_packed_name(path, &out->packed));
    TRY(file_exists(path, &out->has_path));
    TRY(file_exists(out->part, &out->has_part));
    TRY(file_exists(out->journal, &out->has_journal));
    out->is_finished = out->has_path && !out->has_part && !out->has_journal;
    return STATUS_OK;
}

status_t product_files_find(const char *name, struct product_files *out)
{
    status_t st = STATUS_OK;
    char *path = NULL;
    *out = (struct product_files){0};
    TRY_OUT(memory_text(name, &path));
    int is_other = files_cut_ending(path, ".part") || files_cut_ending(path, ".journal");
    TRY_OUT(product_files_of(path, out));
    REQUIRE_OUT(out->has_path || out->has_part || out->has_journal, STATUS_DATA,
                "%s: there is neither a product of that name nor the beginning of one", name);
    out->is_finished = out->has_path && (!is_other || out->is_finished);
out:
    free(path);
    return st;
}
