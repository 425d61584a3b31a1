/* The options that several commands have: each stands here once. */
#include "cli/values.h"

#include <string.h>

static const struct option_row rows[] = {
    {"set", "KEY=VALUE", value_texts, SHARED(sets), NULL, NULL,
     "sets a key of the job (or specification), e.g. --set channelise.taps=16"},
    {"force", NULL, value_flag, SHARED(force), NULL, NULL,
     "replaces files that exist, never one that the command reads"},
    {"restart", NULL, value_flag, SHARED(restart), NULL, NULL,
     "begins anew, whatever an earlier run has left"},
    {"external", "PATH", value_texts, SHARED(externals), NULL, NULL,
     "lets data of the input lie in external files elsewhere than in its folder: in this file or "
     "folder, or, with allow, anywhere"},
    {"adopt", NULL, value_flag, SHARED(adopt), NULL, NULL,
     "takes over unfinished files (.part, .journal) that another user has left"},
    {"progress", "SECONDS", value_positive, SHARED(progress), "seconds, more than 0", NULL,
     "prints a line on stderr so often (default: one that is redrawn, if stderr is a terminal; "
     "under mpirun or srun a line every 30 s)"},
    {"database", "FILE", value_text, SHARED(database), NULL, NULL,
     "of tuned kernels (default: tuned.txt in the cache folder)"},
    /* Of `tune` and `bench`. */
    {"backend", "NAME", value_choice, SHARED(backend), "|cpu|opencl", NULL,
     "opencl or cpu (default: opencl where there is a GPU)"},
    {"device", "TEXT", value_text, SHARED(device), NULL, NULL,
     "OpenCL device: a number or a part of its name (voltmill info --devices)"},
    {"threads", "N", value_u32, SHARED(threads), "1..4096", NULL,
     "of the cpu backend (default: all)"},
    {"repeat", "N", value_u32, SHARED(repeats), "1..1000", "5",
     "timed runs, the best of which counts"},
    {"csv", "FILE", value_text, SHARED(csv), NULL, NULL, "writes the table to FILE, too"},
    /* Of dedispersion without a job. */
    {"setup", "NAME", value_word, SHARED(setup), "apertif|askap|chime|lofar|meerkat", NULL,
     "apertif (1,024 channels of 0.29 MHz from 1,420 MHz up, 20,000 samples/s), askap (336 of 1 "
     "MHz "
     "from 1,130 MHz, 790/s), chime (1,024 of 0.39 MHz from 400 MHz, 1,017/s), lofar (32 of "
     "0.19 MHz from 138 MHz, 200,000/s), meerkat (1,024 of 0.84 MHz from 856 MHz, 13,055/s)"},
    {"dms", "LIST", value_list, SHARED(dms), "1..1048576", "2..4096",
     "numbers of DMs, such as 512,4096 or, doubling, 2..4096"},
    {"dm-step", "X", value_positive, SHARED(dm_step), "0..1000000", "0.25", "between DMs"},
    {"zero", NULL, value_flag, SHARED(is_zero), NULL, NULL, "all DMs are 0: perfect reuse"},
    {"seconds", "X", value_positive, SHARED(seconds), "0..1000000", "1", "of data"},
    {"group", "N", value_u32, SHARED(group), "1..256", NULL,
     "two-step dedispersion with groups of N channels"},
};

const struct option_row *options_row(const struct command *command, size_t i)
{
    const struct option_row *row = &command->rows[i];
    for (size_t j = 0; row->name && !row->read && j < sizeof rows / sizeof *rows; j++) {
        if (strcmp(rows[j].name, row->name) == 0) {
            return &rows[j];
        }
    }
    return row->help ? row : NULL;
}
