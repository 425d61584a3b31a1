/* The table of what is done apart, in child processes. */
#include "archive/ask.h"
#include "cli/cli.h"
#include "product/ask.h"

static const struct apart_task tasks[] = {
    {"info", cli_answer_info},
    {"archive", ask_answer_archive},
    {"filterbank", ask_answer_filterbank},
    {"band", ask_answer_band},
    {"even", ask_answer_even},
    {"is-archive", ask_answer_is_archive},
    {"product", ask_answer_product},
    {"place", ask_answer_place},
    {"dedispersed", ask_answer_dedispersed},
    {"contents", ask_answer_contents},
    {"series", ask_answer_series},
    {"is-product", ask_answer_is_product},
};

_Noreturn void cli_serve(int argc, char **argv)
{
    apart_serve(argc, argv, tasks, sizeof tasks / sizeof *tasks);
}
