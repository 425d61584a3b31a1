/* By way of FILE.part, as everything that voltmill writes. */
#include "plot/draw/publish.h"

#include "product/export/export_file.h"

status_t publish(const struct publish *what, const struct guard *reads, int *is_before)
{
    status_t st = STATUS_OK;
    struct export_file file = {.fd = -1};
    const struct export_plan plan = {.path = what->path,
                                     .mark = what->mark,
                                     .force = what->force,
                                     .bytes = what->text->length,
                                     .head = what->text,
                                     .ours = what->ours};
    TRY(export_file_check(&plan, reads));
    TRY(export_file_begin(&plan, &file));
    TRY(export_file_publish(&file));
    *is_before = file.state == EXPORT_COMPARES;
out:
    export_file_end(&file);
    return st;
}
