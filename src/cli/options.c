/* Command lines: which command is meant, its options read by getopt_long() as its table says, the
 * frame in which each command runs, and help: in lines of at most 100 characters, and as a table
 * for other programs. */
#include "cli/options.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/values.h"
#include "io/apart.h"
#include "io/file_rights.h"
#include "io/launch.h"
#include "job/job_schema.h"
#include "plan/channelise_plan.h"
#include "ranks/agree.h"
#include "ranks/stop.h"

#include <getopt.h>

/* The options that several commands have: each stands here once. */

/* Reads a mapping of YAML in braces, as const char *. */
static int value_layout(const struct option_row *row, const char *text, void *field)
{
    return text[strspn(text, " \t\n")] == '{' && value_text(row, text, field);
}

/* Reads seconds, or 0 for no limit, as double. */
static int value_limit(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    return units_parse_f64(text, field) && *(double *)field >= 0;
}

/* Writes what a right value is, for messages: "cpu or opencl", "a whole number from 1 to 16". */
static void value_expected(const struct option_row *row, char *out, size_t bytes)
{
    const char *dots = strstr(row->takes, "..");
    const char *what = row->read == value_list       ? "a list such as 256,1024 or 256..4096, from"
                       : row->read == value_positive ? "a number above"
                                                     : "a whole number from";
    if (strchr(row->takes, '|')) {
        size_t used = 0;
        for (const char *at = row->takes; *at && used < bytes;) {
            size_t length = strcspn(at, "|");
            const char *before = used == 0 ? "" : at[length] ? ", " : " or ";
            used += (size_t)snprintf(out + used, bytes - used, "%s%.*s", length > 0 ? before : "",
                                     (int)length, at);
            at += length + (at[length] == '|');
        }
    } else if (!dots || strchr(row->takes, ' ')) {
        snprintf(out, bytes, "%s", row->takes);
    } else {
        const char *end = !dots[2] ? " on" : row->read == value_positive ? ", at most " : " to ";
        snprintf(out, bytes, "%s %.*s%s%s", what, (int)(dots - row->takes), row->takes, end,
                 dots + 2);
    }
}

static const struct option_row rows[] = {
    {"set", "KEY=VALUE", value_texts, SHARED(sets), NULL, NULL,
     "sets a key of the job (or specification), e.g. --set channelise.taps=16"},
    {"layout", "YAML", value_layout, SHARED(layout), "a mapping in braces", NULL,
     "describes files that do not describe themselves, as input.layout of a job: --layout "
     "\"{sample_rate_hz: 1e6, freq_hz: 1.42e9}\" of an .npy, \"{format: raw, type: ci16_le, "
     "sample_rate_hz: 1e6}\" of raw numbers; `voltmill info --layout \"{format: raw}\"` measures "
     "them as each type"},
    {"force", FLAG(SHARED(force)), "replaces files that exist, never one that the command reads"},
    {"restart", FLAG(SHARED(restart)), "begins anew and discards what an earlier run has left"},
    {"external", "PATH", value_texts, SHARED(externals), NULL, NULL,
     "allows the input's data to be in external files outside its folder: in this file or folder, "
     "or, with allow, anywhere"},
    {"adopt", FLAG(SHARED(adopt)),
     "takes over unfinished files (.part, .journal) that another user has left"},
    {"stall-timeout", "SECONDS", value_limit, SHARED(stall), "seconds, or 0", "300",
     "fails when a rank, its files or its device make no progress for this time; 0: never"},
    {"progress", "SECONDS", value_positive, SHARED(progress), "seconds, more than 0", NULL,
     "interval of lines on stderr (default: one line that is redrawn, if stderr is a terminal; "
     "under mpirun or srun a line every 30 s)"},
    {"database", "FILE", value_text, SHARED(database), NULL, NULL,
     "of tuned kernels (default: tuned.txt in the cache folder)"},
    /* Options of `tune` and `bench`. */
    {"backend", "NAME", value_choice, SHARED(backend), "|cpu|opencl", NULL,
     "opencl or cpu (default: opencl where there is a GPU)"},
    {"device", "TEXT", value_text, SHARED(device), NULL, NULL,
     "OpenCL device: a number or a part of its name (voltmill info --devices)"},
    {"threads", "N", value_u32, SHARED(threads), "1..4096", NULL,
     "of the cpu backend (default: all)"},
    {"repeat", "N", value_u32, SHARED(repeats), "1..1000", "5",
     "timed runs, the best of which counts"},
    {"csv", "FILE", value_text, SHARED(csv), NULL, NULL, "writes the table to FILE, too"},
    /* Options of dedispersion without a job. */
    {"setup", "NAME", value_word, SHARED(setup), "apertif|askap|chime|lofar|meerkat", NULL,
     "apertif (1,024 channels of 0.29 MHz from 1,420 MHz up, 20,000 samples/s), askap (336 of 1 "
     "MHz from 1,130 MHz, 790/s), chime (1,024 of 0.39 MHz from 400 MHz, 1,017/s), lofar (32 of "
     "0.19 MHz from 138 MHz, 200,000/s), meerkat (1,024 of 0.84 MHz from 856 MHz, 13,055/s)"},
    {"dms", "LIST", value_list, SHARED(dms), "1..1048576", "2..4096",
     "numbers of DMs, such as 512,4096 or, doubling, 2..4096"},
    {"dm-step", "X", value_positive, SHARED(dm_step), "0..1000000", "0.25", "between DMs"},
    {"zero", FLAG(SHARED(is_zero)), "all DMs are 0: perfect reuse"},
    {"seconds", "X", value_positive, SHARED(seconds), "0..1000000", "1", "of data"},
    {"group", "N", value_u32, SHARED(group), "1..256", NULL,
     "two-step dedispersion with groups of N channels"},
};

/* Returns the shared row of this name, which exists. */
static const struct option_row *options_shared(const char *name, size_t length)
{
    const struct option_row *row = rows;
    while (strncmp(row->name, name, length) != 0 || row->name[length] != '\0') {
        row++;
    }
    return row;
}

/* A row of a command; in place of one that has names alone, "set force", the rows of these names
 * that several commands share (cli/options.c). NULL after the last one. */
static const struct option_row *options_row(const struct command *command, size_t i)
{
    for (const struct option_row *row = command->rows; row->name || row->help; row++) {
        const char *shared = row->name && !row->read ? row->name : "";
        if (!*shared && i-- == 0) {
            return row;
        }
        for (size_t length; *shared; shared += length + (shared[length] == ' ')) {
            length = strcspn(shared, " ");
            if (i-- == 0) {
                return options_shared(shared, length);
            }
        }
    }
    return NULL;
}

enum { MOST = 64, FIRST = 256 }; /* rows; getopt's number for row 0, unless that has a letter */

/* "output" of "o,output". */
static const char *options_name(const struct option_row *row)
{
    return row->name + (row->name[1] == ',' ? 2 : 0);
}

/* Tables for getopt_long(), and the rows of its numbers. */
struct options_known {
    struct option names[2 * MOST + 2];
    char letters[2 * MOST + 3];
    size_t rows[FIRST + MOST];
};

static void options_know(const struct command *command, struct options_known *out)
{
    size_t count = 0;
    strcpy(out->letters, ":h");
    for (size_t i = 0; options_row(command, i); i++) {
        const struct option_row *row = options_row(command, i);
        if (row->name) {
            int has_letter = options_name(row) != row->name;
            int number = has_letter ? row->name[0] : FIRST + (int)i;
            const char letter[] = {row->name[0], row->value ? ':' : '\0', '\0'};
            strcat(out->letters, has_letter ? letter : "");
            out->rows[number] = i;
            out->names[count++] =
                (struct option){options_name(row), row->value != NULL, NULL, number};
            for (size_t j = 0; command->older && command->older[j][0]; j++) {
                if (strcmp(command->older[j][1], options_name(row)) == 0) {
                    out->names[count++] =
                        (struct option){command->older[j][0], row->value != NULL, NULL, number};
                }
            }
        }
    }
    out->names[count] = (struct option){"help", no_argument, NULL, 'h'};
}

/* Puts HOME in the place of ~ of a path, which a shell leaves in quotes and after --NAME=. */
static status_t options_expand(struct shared *shared, const char **path)
{
    SCOPED(text_free) struct text whole = {0};
    int ok = 1;
    TRY(text_add_path(&whole, *path, &ok));
    REQUIRE(ok, STATUS_USAGE, "%s %s: ~ is HOME, which is not set", shared->command->name, *path);
    if (strcmp(whole.data, *path) != 0) {
        TRY(memory_grow(shared->nexpanded, sizeof *shared->expanded, "paths", &shared->expanded));
        *path = shared->expanded[shared->nexpanded++] = whole.data;
        whole.data = NULL;
    }
    return STATUS_OK;
}

static status_t options_take(const struct command *command, const struct option_row *row,
                             const char *value, void *settings)
{
    static const struct option_row paths = {.takes = "FILE|PATH|PATTERN|JOB"};
    char expected[256];
    const char *name = NULL;
    TRY(row->value && value_word(&paths, row->value, &name) ? options_expand(settings, &value)
                                                            : STATUS_OK);
    if (!row->read(row, value, (char *)settings + row->at)) {
        value_expected(row, expected, sizeof expected);
        return report_fail(STATUS_USAGE, "%s --%s %s: expected %s", command->name,
                           options_name(row), value, expected);
    }
    return STATUS_OK;
}

/* Allocates the lists of texts, and sets the defaults. */
static status_t options_begin(const struct command *command, int argc, void *settings)
{
    for (size_t i = 0; options_row(command, i); i++) {
        const struct option_row *row = options_row(command, i);
        if (row->read == value_texts) {
            struct option_texts *texts = (void *)((char *)settings + row->at);
            TRY(memory_zeroed((size_t)argc, sizeof *texts->items, "options", &texts->items));
        }
        TRY(row->standard ? options_take(command, row, row->standard, settings) : STATUS_OK);
    }
    return STATUS_OK;
}

static status_t options_take_operand(const struct command *command, int count, char **words,
                                     struct shared *out)
{
    const char *name = command->name;
    int has_instead = command->instead && options_first(out, command->instead);
    REQUIRE(command->operand || count == 0, STATUS_USAGE,
            "%s: unexpected argument %s; see voltmill %s --help", name, words[0], name);
    REQUIRE(!has_instead || count == 0 || command->takes_many, STATUS_USAGE,
            "%s: expected one %s or --%s, not both; see voltmill %s --help", name, command->operand,
            command->instead, name);
    REQUIRE(count < 2 || command->takes_many || !options_first(out, "each"), STATUS_USAGE,
            "%s: expected one %s, got %d: quote the pattern of --each, such as --each 'obs/*.h5', "
            "so that the shell does not expand it",
            name, command->operand, count);
    int is_missing = count == 0 && command->without && options_first(out, command->without);
    int is_right = is_missing || (command->takes_many ? count >= 1 : count == 1);
    const char *other = command->instead ? command->instead : command->without;
    REQUIRE(!command->operand || has_instead || is_right, STATUS_USAGE,
            "%s: expected one %s%s%s%s, got %d; see voltmill %s --help", name, command->operand,
            command->takes_many ? " or more" : "", other ? " or --" : "", other ? other : "", count,
            name);
    for (int i = 0; i < count; i++) {
        TRY(options_expand(out, (void *)&words[i]));
    }
    out->operand = words[0];
    out->operands = words;
    out->noperands = (uint32_t)count;
    return STATUS_OK;
}

/* Writes a hint into `out` if an unknown option is a key of the job that the command takes. */
static void options_hint_key(const struct command *command, const char *typed, size_t bytes,
                             char *out)
{
    static const struct {
        const char *group;
        const struct schema *rows;
    } groups[] = {{"run", job_run_schema}, {"channelise", job_bank_schema}};
    const struct option_row *set = options_shared("set", strlen("set"));
    int takes_job = 0;
    const struct option_row *option;
    for (size_t i = 0; (option = options_row(command, i)); i++) {
        takes_job |= option == set; /* others have a --set of their own, of other keys */
    }
    for (size_t i = 0; i < sizeof groups / sizeof *groups && takes_job; i++) {
        for (const struct schema *row = groups[i].rows; row->key; row++) {
            if (strcmp(row->key, typed) == 0) {
                snprintf(out, bytes, " (it is a key of the job: --set %s.%s=VALUE)",
                         groups[i].group, row->key);
                return;
            }
        }
    }
}

static status_t options_refuse(const struct command *command, const char *word)
{
    char hint[128] = "";
    char typed[64];
    struct text_guess guess = {.typed = typed};
    const char *name = word + strspn(word, "-");
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(name, "="), name);
    for (size_t i = 0; options_row(command, i); i++) {
        const struct option_row *row = options_row(command, i);
        (void)(row->name && text_guess(&guess, options_name(row)));
    }
    text_guess(&guess, "help");
    if (guess.meant) {
        snprintf(hint, sizeof hint, " (did you mean --%s?)", guess.meant);
    }
    for (char *c = typed; *c; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    options_hint_key(command, typed, sizeof hint, hint);
    return report_fail(STATUS_USAGE, "%s: unknown option %s%s; see voltmill %s --help",
                       command->name, word, hint, command->name);
}

status_t options_read(const struct command *command, int argc, char **argv, void *settings)
{
    const char *name = command->name;
    struct shared *shared = settings;
    struct options_known known = {.letters = ""};
    shared->command = command;
    shared->ranks = 1;
    options_know(command, &known);
    TRY(options_begin(command, argc, settings));
    opterr = 0;
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, known.letters, known.names, NULL)) != -1;) {
        if (option == 'h') {
            shared->help = 1;
            return STATUS_OK;
        }
        REQUIRE(option != ':', STATUS_USAGE, "%s: option %s needs a value; see voltmill %s --help",
                name, argv[optind - 1], name);
        REQUIRE(option != '?' || optopt <= ' ' || optopt >= FIRST, STATUS_USAGE,
                "%s: unknown option -%c; see voltmill %s --help", name, optopt, name);
        TRY(option == '?' ? options_refuse(command, argv[optind - 1]) : STATUS_OK);
        TRY(options_take(command, options_row(command, known.rows[option]), optarg, settings));
        shared->given |= UINT64_C(1) << known.rows[option];
    }
    TRY(options_take_operand(command, argc - optind, argv + optind, shared));
    return command->check ? command->check(settings) : STATUS_OK;
}

void options_free(void *settings)
{
    const struct shared *shared = settings;
    for (size_t i = 0; options_row(shared->command, i); i++) {
        const struct option_row *row = options_row(shared->command, i);
        if (row->read == value_texts) {
            free(((struct option_texts *)(void *)((char *)settings + row->at))->items);
        }
    }
    text_free_list(shared->expanded, shared->nexpanded);
}

uint32_t options_threads(const void *settings)
{
    const struct job job = {.threads = ((const struct shared *)settings)->threads};
    return channelise_plan_threads(&job, 1);
}

const char *options_first(const void *settings, const char *names)
{
    const struct shared *shared = settings;
    for (size_t i = 0; options_row(shared->command, i); i++) {
        const struct option_row *row = options_row(shared->command, i);
        if (!row->name || !(shared->given & (UINT64_C(1) << i))) {
            continue;
        }
        const char *name = options_name(row);
        size_t length = strlen(name);
        for (const char *at = names; *at; at += strcspn(at, " "), at += *at == ' ') {
            if (strncmp(at, name, length) == 0 && (at[length] == ' ' || at[length] == '\0')) {
                return name;
            }
        }
    }
    return NULL;
}

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

/* Prints the help of `voltmill COMMAND --help`. */
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
    puts("\nvoltmill COMMAND --help explains a command; --version prints the version.");
}

static const char *command_help_or_none(const char *text)
{
    return text && *text ? text : "-";
}

/* Prints a row of the table for each line of a text. */
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
    TRY(agree_all(MPI_COMM_WORLD, st));
    return is_alone ? STATUS_OK : watch_know_all(MPI_COMM_WORLD);
}

static status_t command_run(const struct command *command, int argc, char **argv)
{
    SCOPED(free_at) struct shared *settings = NULL;
    TRY(memory_zeroed(1, command->bytes, "settings", &settings));
    status_t st = options_read(command, argc, argv, settings);
    int is_help = st == STATUS_OK && settings->help;
    int has_work = st == STATUS_OK && !is_help;
    if (has_work && options_first(settings, "stall-timeout")) {
        apart_limit(settings->stall);
        watch_limit(settings->stall);
    }
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
        SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
        claim_adopt(settings->adopt);
        st = watchdog_begin_whole(settings->stall, command->name, &watchdog);
        st = st == STATUS_OK ? command->run(settings) : st;
    }
    options_free(settings);
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

/* Looks for a key of that name among those of a job, then among their members, and adds its
 * path to `out`; returns whether there is one. */
static int command_find_key(const struct schema *keys, const char *word, struct text *out)
{
    const size_t before = out->length;
    for (const struct schema *row = keys; row && row->key; row++) {
        if (strcmp(row->key, word) == 0) {
            return text_add(out, "%s", word) == STATUS_OK;
        }
    }
    for (const struct schema *row = keys; row && row->key; row++) {
        if (row->members && text_add(out, "%s.", row->key) == STATUS_OK &&
            command_find_key(row->members, word, out)) {
            return 1;
        }
        out->length = before;
    }
    return 0;
}

static status_t command_unknown(const char *typed, const char *guess, const char *group)
{
    SCOPED(text_free) struct text key = {0};
    const char *blank = *group ? " " : "";
    REQUIRE(!guess, STATUS_USAGE, "unknown command %s (did you mean %s?); see voltmill %s%s--help",
            typed, guess, group, blank);
    REQUIRE(!command_find_key(job_schema, typed, &key), STATUS_USAGE,
            "unknown command %s: %s is a key of a job, which `voltmill new` prints", typed,
            key.data);
    return report_fail(STATUS_USAGE, "unknown command %s; see voltmill %s%s--help", typed, group,
                       blank);
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
        st = *word ? command_unknown(typed, guess.meant, group)
                   : report_fail(STATUS_USAGE, "expected a command%s%s%s; see voltmill %s%s--help",
                                 *group ? " after " : "", group, seconds, group, blank);
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
