/* How values of options are read: functions for `read` of a row (cli/options.h), which
 * return 0 when a value is wrong. */
#ifndef VOLTMILL_CLI_VALUES_H
#define VOLTMILL_CLI_VALUES_H

#include "cli/options.h"

/* int: becomes 1. FLAG() is what stands between such an option's name and its help. */
int value_flag(const struct option_row *row, const char *text, void *field);
#define FLAG(at) NULL, value_flag, at, NULL, NULL
/* const char *: any text; one of the alternatives. */
int value_text(const struct option_row *row, const char *text, void *field);
int value_word(const struct option_row *row, const char *text, void *field);
/* struct option_texts: any texts, as often as the option is given. */
int value_texts(const struct option_row *row, const char *text, void *field);
/* An enum: the place of one of the alternatives, from 0 on. One that is empty cannot be given. */
int value_choice(const struct option_row *row, const char *text, void *field);
/* Whole numbers, also such as 2^28: of the range or the alternatives. */
int value_u32(const struct option_row *row, const char *text, void *field);
int value_u64(const struct option_row *row, const char *text, void *field);
/* struct option_list: such numbers above 0, or places of alternatives that are words: "8",
 * "256,1024", "256..4096" (doubling). */
int value_list(const struct option_row *row, const char *text, void *field);
/* double: above 0, at most the end of the row's range. */
int value_positive(const struct option_row *row, const char *text, void *field);
/* double [2]: "A..B". */
int value_range(const struct option_row *row, const char *text, void *field);

#endif
