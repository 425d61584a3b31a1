/* Which command is meant, the frame in which each runs, and help: in lines of at most 100
 * characters, and as a table for other programs. */
#include "cli/options.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/apart.h"
#include "io/file_rights.h"
#include "io/launch.h"
#include "ranks/agree.h"
#include "ranks/stop.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, COLUMN = 23 };

/* Prints words, of which `at` characters of the line are taken; lines begin at `indent`. */
static void command_help_fill(const char *text, int at, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (at > indent && at + 1 + length > WIDTH) {
            putchar('\n');
            at = 0;
        }
        at += printf("%*s%.*s", at < indent ? indent - at : at > indent, "", length, text);
        text += length;
        if (*text == '\n') {
            putchar('\n');
            at = 0;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

static void command_help_row(const struct option_row *row)
{
    char text[1024];
    if (!row->name) {
        printf("\n%s\n", row->help);
        return;
    }
    const char *name = options_name(row);
    int at = name != row->name ? printf("  -%c, --%s", row->name[0], name) : printf("  --%s", name);
    at += row->value ? printf(" %s", row->value) : 0;
    if (at >= COLUMN) {
        putchar('\n');
        at = 0;
    }
    snprintf(text, sizeof text, row->standard ? "%s (default: %s)" : "%s", row->help,
             row->standard);
    command_help_fill(text, at, COLUMN);
}

/* `voltmill COMMAND --help` */
static void command_help(const struct command *command)
{
    static const struct option_row help = {.name = "help", .help = "prints this"};
    const char *before = "Usage:";
    const char *rest = command->usage;
    size_t length;
    for (const char *line; (line = text_next_line(&rest, &length)); before = "") {
        printf("%-6s voltmill %s %.*s\n", before, command->name, (int)length, line);
    }
    if (command->is_parallel) {
        printf("%-6s mpirun -n N voltmill %s [OPTION]...%s\n", before, command->name,
               strrchr(command->usage, ' '));
    }
    putchar('\n');
    command_help_fill(command->about, 0, 0);
    putchar('\n');
    size_t i = 0;
    for (; options_row(command, i) && options_row(command, i)->name; i++) {
        command_help_row(options_row(command, i));
    }
    command_help_row(&help);
    for (; options_row(command, i); i++) {
        command_help_row(options_row(command, i));
    }
    if (command->ending) {
        putchar('\n');
        command_help_fill(command->ending, 0, 0);
    }
}

/* The list of commands, or of those whose names begin with `group` (may be ""), such as "bench". */
static void command_help_list(const struct command *const *commands, const char *group)
{
    puts("Usage: voltmill COMMAND [OPTION]... FILE\n\n"
         "Grinds archived telescope voltages into spectra.\n");
    for (size_t i = 0; commands[i]; i++) {
        if (strncmp(commands[i]->name, group, strlen(group)) == 0) {
            printf("  %-17s %s\n", commands[i]->name, commands[i]->summary);
        }
    }
    puts("\nvoltmill COMMAND --help tells more; --version prints the version.");
}

static const char *command_help_or_none(const char *text)
{
    return text && *text ? text : "-";
}

/* A row of the table for each line of a text. */
static void command_help_lines(const char *kind, const char *name, const char *lines)
{
    size_t length;
    for (const char *line; (line = text_next_line(&lines, &length));) {
        printf("%s\t%s\t-\t-\t-\t-\t%.*s\n", kind, name, (int)length, line);
    }
}

/* `voltmill --options`, for the makers of the man page and for shells: a line for each command and
 * each of its options, with tabs between. What is not there is "-".
 *
 *   command  NAME  OPERAND  -       ENDS   -             SUMMARY
 *   usage    NAME  -        -       -      -             a line of the synopsis
 *   about    NAME  -        -       -      -             a paragraph
 *   option   NAME  OPTION   LETTER  VALUE  ALTERNATIVES  TEXT
 *   heading  NAME  -        -       -      -             TEXT */
static void command_help_table(const struct command *const *commands)
{
    for (; *commands; commands++) {
        const struct command *c = *commands;
        printf("command\t%s\t%s\t-\t%s\t-\t%s\n", c->name, command_help_or_none(c->operand),
               command_help_or_none(c->ends), c->summary);
        command_help_lines("usage", c->name, c->usage);
        command_help_lines("about", c->name, c->about);
        for (size_t i = 0; options_row(c, i); i++) {
            const struct option_row *row = options_row(c, i);
            if (!row->name) {
                printf("heading\t%s\t-\t-\t-\t-\t%s\n", c->name, row->help);
                continue;
            }
            int has_letter = row->name[1] == ',';
            int has_choices = row->takes && strchr(row->takes, '|');
            printf("option\t%s\t--%s\t%c\t%s\t%s\t%s%s%s%s\n", c->name, options_name(row),
                   has_letter ? row->name[0] : '-', command_help_or_none(row->value),
                   has_choices ? row->takes : "-", row->help, row->standard ? " (default: " : "",
                   row->standard ? row->standard : "", row->standard ? ")" : "");
        }
    }
}

/* Devices that hwloc need not look at, unless the user's environment says otherwise: MPI and OpenCL
 * of processors have it look for processors, and it would wake up displays and devices, too.
 * Without MPI it need not look at each device of the machine either, which takes 0.1 s on a GPU's
 * host, nor load plugins for them and for XML. */
static void command_begin_light(int is_alone)
{
#define NO_DEVICES "-gl,-opencl,-cuda,-nvml,-levelzero,-rsmi"
    if (is_alone) {
        (void)setenv("HWLOC_COMPONENTS", NO_DEVICES ",-pci,-linuxio", 0);
        (void)setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);
    }
    (void)setenv("HWLOC_COMPONENTS", NO_DEVICES, 0);
#undef NO_DEVICES
}

/* Begins MPI where a launcher has started this process (else: ranks/agree.c), whatever has become
 * of this rank so far (st), since all others wait for it; from here on rank 0 speaks for all. Gives
 * STATUS_OK when all ranks are well, else what agree_all() gives. Collective over all ranks that
 * the launcher has started. */
static status_t command_start_all(status_t st, int *rank, int *ranks)
{
    int level = 0;
    const int is_alone = !launch_is_used();
    command_begin_light(is_alone);
    status_t begun = watch_begin();
    st = st == STATUS_OK ? begun : st;
    if (!is_alone) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
    report_quiet(*rank != 0);
    TRY_OUT(agree_all(MPI_COMM_WORLD, st));
    TRY_OUT(is_alone ? STATUS_OK : watch_know_all(MPI_COMM_WORLD));
out:
    return st;
}

static status_t command_run(const struct command *command, int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct shared *settings = NULL;
    TRY_OUT(memory_zeroed(1, command->bytes, "settings", &settings));
    st = options_read(command, argc, argv, settings);
    int is_help = st == STATUS_OK && settings->help;
    int has_work = st == STATUS_OK && !is_help;
    if (has_work && (settings->operand || settings->sets.count > 0) && launch_rank() == 0) {
        apart_fork(); /* it will look into a file */
    }
    if (command->is_parallel && (has_work || launch_is_used())) {
        st = command_start_all(st, &settings->rank, &settings->ranks);
    }
    if (is_help && (command->is_parallel ? settings->rank : launch_rank()) == 0) {
        command_help(command);
    }
    /* Under a launcher, a command that only prints acts once. Others may write a file for each
     * process, by its own arguments. */
    int acts = command->is_parallel || !command->only_prints || launch_rank() == 0;
    if (st == STATUS_OK && !is_help && acts) {
        claim_adopt(settings->adopt);
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

/* Prints the version, what the program was built with, and what it runs with. MPI's library
 * describes itself in many lines; the first says its name and version. */
static void command_version(void)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(mpi, &length);
    puts("voltmill " VOLTMILL_VERSION);
    puts("built: compiler " __VERSION__ ", OpenMP, "
#ifdef VOLTMILL_OPENCL
         "OpenCL with VkFFT and clFFT");
#else
         "without OpenCL");
#endif
    printf("MPI: %.*s\n", (int)strcspn(mpi, "\n,"), mpi);
    libraries_print();
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
    char typed[256];
    struct text_guess guess = {.typed = typed};
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
    snprintf(typed, sizeof typed, "%s%s%s", group, blank, word);
    for (size_t i = 0; commands[i]; i++) {
        text_guess(&guess, commands[i]->name);
    }
    text_guess(&guess, "--version");
    text_guess(&guess, "--help");
    if (word[0] == '-' && launch_rank() != 0) {
        st = STATUS_OK;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
               strcmp(word, "help") == 0) {
        command_help_list(commands, group);
    } else if (strcmp(word, "--version") == 0) {
        command_version();
    } else if (strcmp(word, "--options") == 0) {
        command_help_table(commands);
    } else {
        st = *word ? report_fail(STATUS_USAGE, "unknown command %s%s%s%s; see voltmill %s%s--help",
                                 typed, guess.meant ? " (did you mean " : "",
                                 guess.meant ? guess.meant : "", guess.meant ? "?)" : "", group,
                                 blank)
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
    st = st == STATUS_OK ? report_flush() : st;
    /* Before MPI ends: a launcher kills all ranks as soon as one of them has ended badly. */
    if (st != STATUS_OK) {
        report_print();
    }
    stop_conclude(st);
    MPI_Initialized(&has_begun);
    if (has_begun) {
        MPI_Finalize();
    }
    return (int)st;
}
