/* Texts on their way to a terminal. Names come from archives, jobs and file systems, and may hold
 * anything: what would steer the terminal, break a line, or is no UTF-8, is written as C writes it
 * ("\n", "\x1b"). */
#ifndef VOLTMILL_BASE_DISPLAY_H
#define VOLTMILL_BASE_DISPLAY_H

#include <stdarg.h>
#include <stddef.h>

/* Formats as snprintf() into `out` [bytes], with every text that is put in (%s, %c) escaped. Bytes
 * that would steer the terminal, break a line, or are no UTF-8 are written as C writes them ("\n",
 * "\x1b"). The format's own characters are unchanged. The format "%s" alone keeps newlines: it
 * takes a message that was formatted before.
 *
 * Takes integers, doubles, texts (not NULL) and characters, with flags, width and precision. Width
 * and precision of a text count its own bytes; %c ignores them. The result, with its '\0', is
 * truncated to `bytes` >= 1 bytes, perhaps within a character. */
void display_format(char *out, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Does as display_format() with the arguments `args`. va_end() is the caller's. */
void display_format_list(char *out, size_t bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Returns the length, in bytes (1 to 4), of the UTF-8 character at the first of the `left` >= 1
 * bytes at `at`. Returns 0 if no whole character is there, or a control character, such as a line
 * end, a tab or '\0'. */
size_t display_character(const char *at, size_t left);

/* Prints on stdout, formatted as by display_format(). What is beyond 16383 bytes is dropped. The
 * function that display_copy() set gets the text, too. A failure of stdout shows in report_flush().
 */
void display_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a row of a description on stdout: two blanks, `name` as it is, filled up to 13 bytes, a
 * blank, the text, a newline. The text is formatted as by display_format(), but newlines are always
 * escaped. A row has at most 16383 bytes, the rest of the text is dropped. The function that
 * display_copy() set gets it, too. A failure of stdout shows in report_flush(). */
void display_row(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets a function that gets the text of each display_print() and display_row(), too, in the thread
 * that prints. NULL ends that. Call while no other thread prints. */
void display_copy(void (*copy)(const char *line));

#endif
