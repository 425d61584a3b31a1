/* The command line from the command's name to the exit status. */
#ifndef VOLTMILL_CLI_OPTIONS_COMMAND_H
#define VOLTMILL_CLI_OPTIONS_COMMAND_H

#include "cli/options/options.h"

/* Does what the command line asks for, of a list of commands that ends with NULL: prints help, or
 * reads a command's options, begins MPI if it is parallel, runs it, and says what went wrong. Gives
 * the exit status. */
int command_main(const struct command *const *commands, int argc, char **argv);

#endif
