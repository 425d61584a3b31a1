/* The table of what is done apart, in child processes. */
#include "cli/serve.h"

#include "archive/open.h"
#include "product/check/contents.h"
#include "product/kind/series.h"
#include "product/product.h"
#include "product/voltages.h"

static const struct apart_task *const tasks[] = {
    &info_task,           &archive_open_task,    &fbh5_open_task,
    &fbh5_load_band_task, &fbh5_check_even_task, &voltages_is_ours_task,
    &product_open_task,   &product_is_ours_task, &contents_compare_task,
    &series_open_task,
};

_Noreturn void serve_parent(int argc, char **argv)
{
    apart_serve(argc, argv, tasks, sizeof tasks / sizeof *tasks);
}
