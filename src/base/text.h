/* Text that grows, and lists of texts. */
#ifndef VOLTMILL_BASE_TEXT_H
#define VOLTMILL_BASE_TEXT_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

/* Growing text; start from {0}. `data` is NULL before the first append, even of "", and ends in
 * '\0' after it. */
struct text {
    char *data;
    size_t length;
    size_t capacity;
    status_t status; /* the first failure to append, after which nothing is appended */
};

/* Append a printf-like text; `count` bytes (NUL among them, too; 0: `bytes` may be NULL). Fail with
 * DEVICE (memory): nothing is appended, the status stays in text->status, and further calls return
 * it. So functions that append line by line may check text->status once, at the end. */
status_t text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
status_t text_add_bytes(struct text *text, const char *bytes, size_t count);
/* Appends a path, with HOME in the place of "~" if that is all of it or "/" follows. *ok = 1; 0:
 * HOME is needed, and unset or empty, and only what follows "~" is appended. Fails with DEVICE
 * (memory), as text_add(). */
status_t text_add_path(struct text *text, const char *path, int *ok);
/* Appends at most 16383 bytes for people, with texts escaped (display_format()). Fails with DEVICE
 * (memory), as text_add(). */
status_t text_add_shown(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Frees the text, and leaves {0}: its status is forgotten, too. */
void text_free(struct text *text);

/* Opens an ordinary file for reading, for text_close(). With `takes_pipe`, also an anonymous pipe
 * such as a shell's <(...). Named pipes may block forever and devices never end, so both are
 * refused. Skips a UTF-8 byte-order mark at the beginning. `what` precedes the path in messages.
 * Fails with DATA: missing, unreadable, of another kind; with DEVICE (memory, descriptors). */
status_t text_open(const char *path, const char *what, int takes_pipe, FILE **out);

/* Closes a file; takes NULL. */
void text_close(FILE *file);
SCOPED_END(text_close, FILE *)

/* Frees a list of texts, and these; takes NULL. */
void text_free_list(char **list, size_t count);

/* Reads the whole file at `path`, or anonymous pipe, into `text`, which is empty before; the caller
 * frees it, also after a failure. Skips a byte-order mark (text_open()). Fails with DATA, naming
 * the file: missing, unreadable, no file, larger than `limit` bytes, no more descriptors; with
 * USAGE: HDF5, where `expected` ("a job file") should be; with DEVICE (memory). */
status_t text_read_file(struct text *text, const char *path, size_t limit, const char *expected);

/* Returns the line, from 1 on, of the first NUL byte of a text, `length` bytes, that must have
 * none: what reads it up to its '\0' would never see the rest. 0: it has none. */
size_t text_line_of_nul(const char *text, size_t length);

/* Orders texts (char *) as people do, for qsort(): runs of digits in them compare as the numbers
 * that they are, "part2" before "part10"; all else by bytes. 0 only for equal texts. */
int text_compare_natural(const void *left, const void *right);

/* Finds the word that is meant by `typed`. Start from {.typed = ...}. */
struct text_guess {
    const char *typed;
    const char *meant; /* NULL: none so far */
    size_t far;
};

/* Takes `word` if it is near enough to be meant (a synonym or the same in other case; or, of at
 * most 32 bytes each, at most two changes and half of the word away), and nearer than those before
 * it; returns whether it did. `word` must outlive the guess. */
int text_guess(struct text_guess *guess, const char *word);

/* Appends a name as a line of its own after those before; newlines within it become '?'. No newline
 * ends the last line. Fails with DEVICE (memory), as text_add(). */
status_t text_add_line(struct text *lines, const char *name);

/* Returns line `at` (from 0) of a text, inside it, and sets its length in bytes, without its
 * newline; NULL, and length 0, if there are fewer lines, or of NULL. After each newline there is
 * one, perhaps empty. */
const char *text_line(const char *lines, size_t at, size_t *length);

/* Returns the line that *rest begins with, sets its length as text_line() does, and moves *rest
 * after it; NULL at the end, or of NULL, and changes nothing. For loops over all lines; if the text
 * ends in a newline, no line follows it. */
const char *text_next_line(const char **rest, size_t *length);

/* Returns the part of `path` after the last '/'. */
const char *text_basename(const char *path);

/* Returns whether `name` is one of `count` names; TEXT_IS_AMONG(): one of an array. */
int text_is_among(const char *const *names, size_t count, const char *name);
#define TEXT_IS_AMONG(names, name) text_is_among(names, sizeof(names) / sizeof *(names), name)

/* Returns the place, from 0 on, of a word of `length` characters among alternatives, "cpu|opencl"
 * (NULL: none); -1: it is none, or empty. */
int text_place(const char *alternatives, const char *word, size_t length);

/* Returns whether a name has this ending, after at least one character. */
int text_ends(const char *name, const char *ending);

#endif
