/* Options that several commands have: each stands once. */
#ifndef VOLTMILL_CLI_OPTIONS_SHARED_H
#define VOLTMILL_CLI_OPTIONS_SHARED_H

#include "cli/options/options.h"

/* The row of that name; NULL: there is none. */
const struct option_row *shared_row(const char *name);

#endif
