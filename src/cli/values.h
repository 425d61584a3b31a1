/* Values of options: functions for `read` of a row (cli/options.h). They return 0 if `text` is
 * wrong. The type of *field is given first. Fields that are texts point into argv. */
#ifndef VOLTMILL_CLI_VALUES_H
#define VOLTMILL_CLI_VALUES_H

#include "cli/options.h"

/* int: set to 1. FLAG() gives the members between such an option's name and its help. */
int value_flag(const struct option_row *row, const char *text, void *field);
#define FLAG(at) NULL, value_flag, at, NULL, NULL
/* const char *: value_text(): any text; value_word(): one of row->takes, "a|b|c". */
int value_text(const struct option_row *row, const char *text, void *field);
int value_word(const struct option_row *row, const char *text, void *field);
/* struct option_texts: any texts, as often as the option is given. */
int value_texts(const struct option_row *row, const char *text, void *field);
/* An enum: the number of the alternative in row->takes, from 0 on. An empty alternative cannot be
 * given. */
int value_choice(const struct option_row *row, const char *text, void *field);
/* uint32_t, uint64_t: a whole number, also as 2^28 (at most 2^61), in the range or among the
 * alternatives of row->takes. */
int value_u32(const struct option_row *row, const char *text, void *field);
int value_u64(const struct option_row *row, const char *text, void *field);
/* struct option_list: 1 to 24 such numbers, 1 .. 2^32 - 1, as "8", "256,1024", "256..4096"
 * (doubling); or places of words among the alternatives, from 0 on. Replaces the list before. */
int value_list(const struct option_row *row, const char *text, void *field);
/* double: above 0, at most the end of the row's range. */
int value_positive(const struct option_row *row, const char *text, void *field);
/* double [2]: "A..B", A <= B. */
int value_range(const struct option_row *row, const char *text, void *field);

#endif
