/* Values of options: functions for `read` of a row (cli/options.h). They read `text` into *field,
 * and return 1; 0 if it is wrong: *field may have changed then. The type of *field is given first.
 * Fields that are texts point into argv. */
#ifndef VOLTMILL_CLI_VALUES_H
#define VOLTMILL_CLI_VALUES_H

#include "cli/options.h"

/* int: sets it to 1; returns 1. Row and text are ignored. FLAG() gives the members between such an
 * option's name and its help. */
int value_flag(const struct option_row *row, const char *text, void *field);
#define FLAG(at) NULL, value_flag, at, NULL, NULL
/* const char *: set to `text` itself. value_text(): any; returns 1. value_word(): returns whether
 * it is one of row->takes, "a|b|c". */
int value_text(const struct option_row *row, const char *text, void *field);
int value_word(const struct option_row *row, const char *text, void *field);
/* struct option_texts: appends `text` itself, any, as often as the option is given; returns 1. The
 * list has space for it (options_read()). */
int value_texts(const struct option_row *row, const char *text, void *field);
/* An enum: sets it to the number of the alternative in row->takes, from 0 on; returns 0 if it is
 * none of them. An empty alternative cannot be given. */
int value_choice(const struct option_row *row, const char *text, void *field);
/* uint32_t, uint64_t: reads a whole number, also as 2^28 (at most 2^61), in the range or among the
 * alternatives of row->takes; returns 0 if it is neither, or does not fit the type. */
int value_u32(const struct option_row *row, const char *text, void *field);
int value_u64(const struct option_row *row, const char *text, void *field);
/* struct option_list: reads 1 to 24 whole numbers (also as 2^8) within row->takes and 1 .. 2^32 -
 * 1, as "8", "256,1024", "256..4096" (doubling); or places of words among its alternatives, from 0
 * on. Replaces the list before. Returns 0 if any of them is wrong, or there are none or more. */
int value_list(const struct option_row *row, const char *text, void *field);
/* double: reads a number above 0, at most the end of row->takes if that is a range; returns 0 if it
 * is none. */
int value_positive(const struct option_row *row, const char *text, void *field);
/* double [2]: reads "A..B", A <= B; returns 0 if it is none. */
int value_range(const struct option_row *row, const char *text, void *field);

#endif
