/* Which command is meant, and the frame in which each runs. */
#include "cli/options/command.h"

#include "base/memory.h"
#include "cli/options/help.h"
#include "io/apart/launch.h"
#include "ranks/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Begins MPI, whatever has become of this rank so far (st), since all others wait for it; from here
 * on rank 0 speaks for all. Gives STATUS_OK when all ranks are well, else what agree_all() gives.
 * Collective over all ranks that the launcher has started. */
static status_t command_start_all(status_t st, int *rank, int *ranks)
{
    int level = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
    report_quiet(*rank != 0);
    return agree_all(MPI_COMM_WORLD, st);
}

static status_t command_run(const struct command *command, int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct shared *settings = NULL;
    TRY(memory_zeroed(1, command->bytes, "settings", &settings));
    st = options_read(command, argc, argv, settings);
    int is_help = st == STATUS_OK && settings->help;
    if (command->is_parallel && (!is_help || launch_is_used())) {
        st = command_start_all(st, &settings->rank, &settings->ranks);
    }
    if (is_help && settings->rank == 0) {
        help_print(command);
    }
    if (st == STATUS_OK && !is_help) {
        st = command->run(settings);
    }
    options_free(settings);
out:
    free(settings);
    return st;
}

/* The command whose name, of one word or two, the line begins with; NULL: there is none. */
static const struct command *command_find(const struct command *const *commands, int argc,
                                          char **argv, int *words)
{
    char two[64];
    snprintf(two, sizeof two, "%s %s", argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
    for (size_t i = 0; commands[i]; i++) {
        for (*words = 1; *words <= 2; ++*words) {
            if (argc > *words && strcmp(commands[i]->name, *words == 1 ? argv[1] : two) == 0) {
                return commands[i];
            }
        }
    }
    return NULL;
}

/* No command is named: help, or a mistake, which is the same on all ranks. */
static status_t command_none(const struct command *const *commands, int argc, char **argv)
{
    status_t st = STATUS_OK;
    int rank = 0;
    int ranks = 1;
    const char *word = argc > 1 ? argv[1] : "";
    const char *group = ""; /* the first word of several commands: "bench" */
    char seconds[256] = ""; /* and their others */
    for (size_t i = 0; commands[i]; i++) {
        const char *space = strchr(commands[i]->name, ' ');
        if (space && strlen(word) == (size_t)(space - commands[i]->name) &&
            strncmp(commands[i]->name, word, strlen(word)) == 0) {
            group = word;
            size_t used = strlen(seconds);
            snprintf(seconds + used, sizeof seconds - used, "%s%s", used ? ", " : ": ", space + 1);
        }
    }
    word = *group ? (argc > 2 ? argv[2] : "") : word;
    const char *blank = *group ? " " : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        help_print_list(commands, group);
    } else if (strcmp(word, "--version") == 0) {
        puts("voltmill " VOLTMILL_VERSION);
    } else if (strcmp(word, "--options") == 0) {
        help_print_table(commands);
    } else {
        st = *word ? report_fail(STATUS_USAGE, "unknown command %s%s%s; see voltmill %s%s--help",
                                 group, blank, word, group, blank)
                   : report_fail(STATUS_USAGE, "expected a command%s%s%s; see voltmill %s%s--help",
                                 *group ? " behind " : "", group, seconds, group, blank);
        st = launch_is_used() ? command_start_all(st, &rank, &ranks) : st;
    }
    return st;
}

int command_main(const struct command *const *commands, int argc, char **argv)
{
    int words = 0;
    int has_begun = 0;
    const struct command *command = command_find(commands, argc, argv, &words);
    status_t st = command ? command_run(command, argc - words, argv + words)
                          : command_none(commands, argc, argv);
    /* Before MPI ends: a launcher kills all ranks as soon as one of them has ended badly. */
    if (st != STATUS_OK) {
        report_print();
    }
    MPI_Initialized(&has_begun);
    if (has_begun) {
        MPI_Finalize();
    }
    return (int)st;
}
