/* voltmill: the table of subcommands, each a file of cli/ with a `cli_NAME` in it; and the table
 * of what child processes can open (io/apart.h). */
#include "cli/options.h"
#include "compute/backend.h"
#include "input/array_job.h"
#include "input/array_table.h"
#include "input/coefficients.h"
#include "input/open.h"
#include "io/launch.h"
#include "product/candidates.h"
#include "product/contents.h"
#include "product/kind/series_kind.h"
#include "product/product.h"
#include "product/sheet.h"
#include "run/ahead.h"

#include <stddef.h>
#include <string.h>

#define COMMANDS(ROW)                                                                              \
    ROW(run), ROW(plan), ROW(ddplan), ROW(spec), ROW(new), ROW(job), ROW(info), ROW(look),         \
        ROW(status), ROW(verify), ROW(plot), ROW(export), ROW(join), ROW(import), ROW(synth),      \
        ROW(tune), ROW(bench_ppf), ROW(bench_dedisperse), ROW(bench_fir), ROW(bench_beams),        \
        ROW(bench_correlate), ROW(bench_run), ROW(bench_driver)
#define NAME(name) cli_##name
#define ADDRESS(name) &cli_##name

extern const struct command COMMANDS(NAME);
extern const struct description info_description; /* of cli/cmd_info.c */

static const struct command *const commands[] = {COMMANDS(ADDRESS), NULL};

static const struct description *const kinds[] = {
    &info_description,        &archive_description,   &fbh5_description,
    &product_description,     &contents_description,  &series_description,
    &candidates_description,  &sheet_description,     &coefficients_description,
    &array_table_description, &beam_file_description, &ahead_description,
};

int main(int argc, char **argv)
{
    status_t st = launch_begin();
    if (st != STATUS_OK) {
        report_print();
        return (int)st;
    }
    backend_begin();
    if (argc > 1 && strcmp(argv[1], apart_word) == 0) {
        apart_serve(argc, argv, kinds, sizeof kinds / sizeof *kinds);
    }
    apart_begin(argv, kinds, sizeof kinds / sizeof *kinds);
    return command_main(commands, argc, argv);
}
