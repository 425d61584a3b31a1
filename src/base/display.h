/* Texts on their way to a terminal. Names come from archives, jobs and file systems, and may hold
 * anything: what would steer the terminal, break a line, or is no UTF-8, is written as C writes it
 * ("\n", "\x1b"). */
#ifndef VOLTMILL_BASE_DISPLAY_H
#define VOLTMILL_BASE_DISPLAY_H

#include <stdarg.h>
#include <stddef.h>

/* Format as snprintf(), with every text that is put in (%s, %c) escaped: what would steer the
 * terminal, break a line, or is no UTF-8, is written as C writes it. The format's own characters
 * are unchanged, and so are the lines of a message that was formatted before (the format "%s"
 * alone). For integers, doubles, texts (not NULL) and characters, with flags, width and precision
 * (of a text: of its own bytes; %c ignores them). The result, with its '\0', is truncated to
 * `bytes` >= 1 bytes, perhaps within a character. */
void display_format(char *out, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void display_format_list(char *out, size_t bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Returns the bytes of the UTF-8 character that begins at `at`, of `left` >= 1 bytes; 0: none does,
 * or it is a control character, such as a line end, a tab or '\0'. */
size_t display_character(const char *at, size_t left);

/* Prints on stdout, formatted as by display_format(), less than 16 KiB at once: the rest is
 * dropped. display_copy()'s function gets the text, too. A failure of stdout shows in
 * report_flush(). */
void display_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a row of a description on stdout, less than 16 KiB: two blanks, its name, as it is, filled
 * up to 13 characters; a blank; the formatted text (display_format()), in which newlines are
 * escaped also for the format "%s"; and a newline. display_copy()'s function gets it, too. */
void display_row(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Hands the text of each call of display_print() and display_row() to `copy`, too. NULL ends that.
 */
void display_copy(void (*copy)(const char *line));

#endif
