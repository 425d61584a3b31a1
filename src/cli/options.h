/* Options of a subcommand as a table: how each is written, what it means, how its value is read and
 * where that goes. Parsing, --help, the man page's list and completion by a shell come from it. */
#ifndef VOLTMILL_CLI_OPTIONS_H
#define VOLTMILL_CLI_OPTIONS_H

#include "base/status.h"
#include "base/terms.h"

#include <stddef.h>

/* A row. One with a `help` alone is a heading above those that follow. */
struct option_row {
    const char *name;  /* without dashes; "o,output": -o is the same */
    const char *value; /* what --help calls its value, such as "SECONDS"; NULL: it has none */
    /* Reads the value into its field (cli/values.h); returns 0 when it is wrong. */
    int (*read)(const struct option_row *row, const char *text, void *field);
    size_t at; /* where the field is in the command's settings */
    /* Right values: alternatives, "cpu|opencl"; a range, "1..16" or "1.."; else words of messages
     * alone. */
    const char *takes;
    const char *standard; /* read as if it had been given first; NULL: the field begins as zero */
    const char *help;
};

/* A subcommand. */
struct command {
    const char *name;    /* one word, or two: "bench run" */
    const char *summary; /* its line in the list of commands */
    const char *usage;   /* lines without "voltmill NAME " */
    const char *about;   /* paragraphs of --help before the options */
    const char *ending;  /* and after them; NULL: none */
    const char *operand; /* what its one operand is, such as "job file"; NULL: it takes none */
    const char *ends;    /* of the operand's name, for completion: "h5|part" */
    int takes_many;      /* such operands, one or more */
    const char *instead; /* the option that takes the operand's place; NULL: there is none */
    const char *without; /* the option with which the operand may be missing; NULL: none */
    int is_parallel;     /* MPI begins before run() is called, which is collective then */
    int only_prints;     /* it writes no file: only the first rank of an MPI job runs it */
    /* Ends with a row of NULLs; names alone, "set force": rows of options.c. At most 64 in all. */
    const struct option_row *rows;
    /* Older names of options, which still work and which --help omits, and their present ones; ends
     * with NULLs; NULL: there are none. */
    const char *const (*older)[2];
    size_t bytes; /* of its settings, which begin with a struct shared */
    /* Checks, before MPI begins, that the options are compatible. May be NULL. Fails with USAGE. */
    status_t (*check)(void *settings);
    status_t (*run)(void *settings);
};

struct option_texts {
    const char **items;
    uint32_t count;
};

struct option_list {
    uint64_t values[24];
    uint32_t count;
};

/* Settings that several commands share: options, and values that every command finds. */
struct shared {
    const struct command *command;
    uint64_t given;      /* a bit for each row of the command's table */
    int help;            /* --help was given: all else is as it was when it came */
    const char *operand; /* the file that the command works on, the first; NULL: none */
    char **operands;     /* [noperands] all of them */
    uint32_t noperands;
    char **expanded; /* [nexpanded] paths in which HOME took the place of ~ */
    uint32_t nexpanded;
    int rank, ranks; /* of a parallel command */
    struct option_texts sets, externals;
    const char *layout; /* YAML of input.layout; NULL: not given */
    int force, restart, adopt;
    double progress;      /* seconds; 0: not given */
    double stall;         /* seconds; 0: no limit */
    const char *database; /* these four NULL: not given */
    const char *device;
    const char *csv;
    const char *setup;
    enum backend_kind backend; /* AUTO: not given */
    uint32_t threads, repeats; /* threads 0: not given */
    struct option_list dms;    /* numbers of DMs */
    double dm_step, seconds;
    uint32_t group;
    int is_zero;
};

/* Gives the offset of a member of struct shared, for `at` of a row. */
#define SHARED(field) offsetof(struct shared, field)

/* Reads the words after argv[0] into settings of zeros, command->bytes long, and calls
 * command->check(). Permutes argv, which must outlive the settings. With --help returns OK at once
 * (shared.help). Fails with USAGE if an option is unknown or its value wrong, the operand is
 * missing or one too many, HOME is needed and unset, or check() says so; with DEVICE (memory).
 * The caller calls options_free() in any case. Uses getopt's globals: not for several threads. */
status_t options_read(const struct command *command, int argc, char **argv, void *settings);
/* Frees what options_read() has allocated for the settings, but not `settings` itself. */
void options_free(void *settings);

/* Returns the value of --threads in settings that begin with struct shared; without that option
 * (0) that of OMP_NUM_THREADS, 1 .. 4096, else the number of cores that this process may use. */
uint32_t options_threads(const void *settings);

/* Returns the name (static) of an option of a list such as "dms zero group" that was given, the
 * first in the order of the command's rows; NULL: none was. `settings` were read by options_read().
 */
const char *options_first(const void *settings, const char *names);

/* Runs the command line with a list of commands that ends with NULL: prints help, or reads a
 * command's options, begins MPI if it is parallel, runs it, flushes stdout, prints its error on
 * stderr, and ends MPI. Returns the exit status, a status_t: USAGE for an unknown command or wrong
 * options. Call once. */
int command_main(const struct command *const *commands, int argc, char **argv);

#endif
