/* What the program says of its commands, from their tables. */
#ifndef VOLTMILL_CLI_OPTIONS_HELP_H
#define VOLTMILL_CLI_OPTIONS_HELP_H

#include "cli/options/options.h"

/* Print on stdout: `voltmill COMMAND --help`; the list of commands, or of those whose names begin
 * with `group` (may be ""), such as "bench". */
void help_print(const struct command *command);
void help_print_list(const struct command *const *commands, const char *group);

/* `voltmill --options`, for the makers of the man page and for shells: a line for each command and
 * each of its options, with tabs between. What is not there is "-".
 *
 *   command  NAME  OPERAND  -       ENDS   -             SUMMARY
 *   option   NAME  OPTION   LETTER  VALUE  ALTERNATIVES  TEXT
 *   heading  NAME  -        -       -      -             TEXT */
void help_print_table(const struct command *const *commands);

#endif
