/* Command lines read by getopt_long() as a command's table says. */
#include "cli/options.h"

#include "base/memory.h"
#include "base/text.h"
#include "cli/values.h"
#include "job/job_schema.h"
#include "plan/channelise_plan.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The options that several commands have: each stands here once. */

static const struct option_row rows[] = {
    {"set", "KEY=VALUE", value_texts, SHARED(sets), NULL, NULL,
     "sets a key of the job (or specification), e.g. --set channelise.taps=16"},
    {"layout", "YAML", value_layout, SHARED(layout), "a mapping in braces", NULL,
     "what input.layout of a job says of files that do not say it: --layout \"{sample_rate_hz: "
     "1e6, "
     "freq_hz: 1.42e9}\" of an .npy, \"{format: raw, type: ci16_le, sample_rate_hz: 1e6}\" of raw "
     "numbers; `voltmill info --layout \"{format: raw}\"` measures them as each type"},
    {"force", FLAG(SHARED(force)), "replaces files that exist, never one that the command reads"},
    {"restart", FLAG(SHARED(restart)), "begins anew, whatever an earlier run has left"},
    {"external", "PATH", value_texts, SHARED(externals), NULL, NULL,
     "lets data of the input lie in external files elsewhere than in its folder: in this file or "
     "folder, or, with allow, anywhere"},
    {"adopt", FLAG(SHARED(adopt)),
     "takes over unfinished files (.part, .journal) that another user has left"},
    {"progress", "SECONDS", value_positive, SHARED(progress), "seconds, more than 0", NULL,
     "prints a line on stderr so often (default: one that is redrawn, if stderr is a terminal; "
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

/* The shared row of this name. */
static const struct option_row *options_shared(const char *name, size_t length)
{
    const struct option_row *row = rows;
    while (strncmp(row->name, name, length) != 0 || row->name[length] != '\0') {
        row++;
    }
    return row;
}

const struct option_row *options_row(const struct command *command, size_t i)
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

const char *options_name(const struct option_row *row)
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
    status_t st = STATUS_OK;
    struct text whole = {0};
    int ok = 1;
    TRY_OUT(text_add_path(&whole, *path, &ok));
    REQUIRE_OUT(ok, STATUS_USAGE, "%s %s: ~ is HOME, which is not set", shared->command->name,
                *path);
    if (strcmp(whole.data, *path) != 0) {
        TRY_OUT(
            memory_grow(shared->nexpanded, sizeof *shared->expanded, "paths", &shared->expanded));
        *path = shared->expanded[shared->nexpanded++] = whole.data;
        whole.data = NULL;
    }
out:
    text_free(&whole);
    return st;
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

/* Room for texts, and what holds when nothing is given. */
static status_t options_begin(const struct command *command, int argc, void *settings)
{
    for (size_t i = 0; options_row(command, i); i++) {
        const struct option_row *row = options_row(command, i);
        if (row->read == value_texts) {
            struct option_texts *texts = (void *)((char *)settings + row->at);
            TRY(memory_zeroed((size_t)argc, sizeof *texts->items, "options", &texts->items));
        }
        if (row->standard) {
            TRY(options_take(command, row, row->standard, settings));
        }
    }
    return STATUS_OK;
}

static status_t options_take_operand(const struct command *command, int count, char **words,
                                     struct shared *out)
{
    const char *name = command->name;
    int has_instead = command->instead && options_first(out, command->instead);
    REQUIRE(command->operand || count == 0, STATUS_USAGE,
            "%s: there is no use for %s; see voltmill %s --help", name, words[0], name);
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
