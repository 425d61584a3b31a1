/* Values of options: functions for `read` of a row (cli/options.h). They read `text` into *field,
 * and return 1; 0 if it is wrong: *field may have changed then. The type of *field is given first.
 * Fields that are texts point into argv. */
#ifndef VOLTMILL_CLI_VALUES_H
#define VOLTMILL_CLI_VALUES_H

#include "cli/options.h"

/* Sets an int to 1; returns 1. Row and text are ignored. FLAG() gives the members between such an
 * option's name and its help. */
int value_flag(const struct option_row *row, const char *text, void *field);
#define FLAG(at) NULL, value_flag, at, NULL, NULL
/* Set a const char * to `text` itself. value_text(): to any text; returns 1. value_word(): returns
 * whether it is one of row->takes, "a|b|c"; else the field has changed, too. */
int value_text(const struct option_row *row, const char *text, void *field);
int value_word(const struct option_row *row, const char *text, void *field);
/* Appends `text` itself, any, to a struct option_texts, as often as the option is given; returns 1.
 * The list has space for it (options_read()). */
int value_texts(const struct option_row *row, const char *text, void *field);
/* Sets an enum to the number of the alternative in row->takes that `text` is, from 0. An empty
 * alternative cannot be given. Returns 1; 0 if it is none of them: the field has changed then. */
int value_choice(const struct option_row *row, const char *text, void *field);
/* Read a whole number into a uint32_t (value_u32()) or a uint64_t (value_u64()), also as 2^28 (at
 * most 2^61), in the range or among the alternatives of row->takes. Return 1; 0 if it is neither,
 * or does not fit the type: the field may have changed then. */
int value_u32(const struct option_row *row, const char *text, void *field);
int value_u64(const struct option_row *row, const char *text, void *field);
/* Reads 1 to 24 whole numbers into a struct option_list, whose former numbers are dropped: "8",
 * "256,1024", "256..4096" (doubling), also as 2^8, within row->takes and 1 .. 2^32 - 1. Words among
 * the alternatives of row->takes become their places, from 0. Returns 1; 0 if one is wrong, or
 * there are none or more: the list may have changed then. */
int value_list(const struct option_row *row, const char *text, void *field);
/* Reads a number above 0 into a double, at most the end of row->takes if that is a range. Returns
 * 1; 0 if it is none: the field may have changed then. */
int value_positive(const struct option_row *row, const char *text, void *field);
/* Reads "A..B", A <= B, into a double [2]. Returns 1; 0 if it is none: the field may have changed
 * then. */
int value_range(const struct option_row *row, const char *text, void *field);

#endif
