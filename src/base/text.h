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

/* text_add(): appends a text, formatted as by printf(), without escapes. text_add_bytes(): appends
 * `count` bytes, also NUL; with `count` 0 `bytes` may be NULL. Fail with DEVICE (memory): nothing
 * is appended, the status stays in text->status, and further calls return it. So functions that
 * append line by line may check text->status once, at the end. */
status_t text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
status_t text_add_bytes(struct text *text, const char *bytes, size_t count);
/* Appends a path, with HOME in the place of "~" if that is all of it or "/" follows. Sets *ok to 1;
 * to 0 if HOME is needed, but unset or empty: then only what follows "~" is appended. Fails with
 * DEVICE (memory), as text_add(). */
status_t text_add_path(struct text *text, const char *path, int *ok);
/* Appends a text for people, formatted as by display_format(), which escapes texts; at most 16383
 * bytes. Fails with DEVICE (memory), as text_add(). */
status_t text_add_shown(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Frees the text, and leaves {0}: its status is forgotten, too. */
void text_free(struct text *text);

/* Opens an ordinary file for reading; text_close() closes *out. With `takes_pipe`, also an
 * anonymous pipe such as a shell's <(...). Named pipes may block forever and devices never end, so
 * both are refused. Skips a UTF-8 byte-order mark at the beginning. `what` precedes the path in
 * messages. Fails with DATA: missing, unreadable, of another kind; with DEVICE (memory,
 * descriptors). *out is NULL or unchanged then. */
status_t text_open(const char *path, const char *what, int takes_pipe, FILE **out);

/* Closes a file of text_open() or fopen(); takes NULL. */
void text_close(FILE *file);
SCOPED_END(text_close, FILE *)

/* Frees `list` [count], a list of texts, and the texts, which may be NULL; takes NULL. */
void text_free_list(char **list, size_t count);

/* Appends the whole file at `path`, or anonymous pipe, to `text`, which is empty before; the caller
 * frees it by text_free(), also after a failure. A '\0' follows the bytes. Skips a byte-order mark.
 * `expected` ("a job file") is for messages. Fails with DATA, naming the file: missing, unreadable,
 * no ordinary file, larger than `limit` bytes; with USAGE: it is HDF5; with DEVICE (memory,
 * descriptors). `text` may have some of the bytes then. */
status_t text_read_file(struct text *text, const char *path, size_t limit, const char *expected);

/* Returns the number, from 1 on, of the line with the first NUL byte of a text of `length` bytes; 0
 * if there is none. For texts that must have none: what reads up to a '\0' would never see the
 * rest. */
size_t text_line_of_nul(const char *text, size_t length);

/* Orders texts as people do, for qsort(): `left` and `right` point to pointers to them (char *).
 * Runs of digits compare as the numbers that they are, "part2" before "part10"; all else by bytes.
 * Returns 0 only for equal texts. */
int text_compare_natural(const void *left, const void *right);

/* Finds the word that is meant by `typed`. Start from {.typed = ...}. */
struct text_guess {
    const char *typed;
    const char *meant; /* NULL: none so far */
    size_t far;
};

/* Takes `word` as what guess->typed may mean, if it is near enough, and nearer than those before
 * it. Near are synonyms and the same word in other case. Near are also words of at most 32 bytes
 * that at most two changes make of each other, and no more than half of the length of `word`.
 * Returns 1 if it was taken, else 0. `word` must outlive the guess. */
int text_guess(struct text_guess *guess, const char *word);

/* Appends `name` as a line of its own after those before; newlines within it become '?'. No newline
 * ends the last line. Fails with DEVICE (memory), as text_add(). */
status_t text_add_line(struct text *lines, const char *name);

/* Returns line number `at` (from 0) of a text, inside the text, and sets *length to its bytes,
 * without its newline. Returns NULL, with *length 0, if there are fewer lines, or `lines` is NULL.
 * After each newline there is a line, perhaps empty. */
const char *text_line(const char *lines, size_t at, size_t *length);

/* Returns the line that *rest begins with, sets *length to its bytes, without its newline, and
 * moves *rest after it. Returns NULL and changes nothing at the end of the text, or if *rest is
 * NULL. For loops over all lines: no line follows a newline at the end of the text. */
const char *text_next_line(const char **rest, size_t *length);

/* Returns the part of `path` after the last '/', inside `path`; all of it if it has none. */
const char *text_basename(const char *path);

/* Returns 1 if `name` is one of `names` [count], else 0. TEXT_IS_AMONG(): one of an array. */
int text_is_among(const char *const *names, size_t count, const char *name);
#define TEXT_IS_AMONG(names, name) text_is_among(names, sizeof(names) / sizeof *(names), name)

/* Returns the place, from 0 on, of the first `length` bytes of `word` among alternatives,
 * "cpu|opencl" (NULL: there are none). Returns -1 if they are none of these, or `length` is 0. */
int text_place(const char *alternatives, const char *word, size_t length);

/* Returns 1 if a name ends in `ending`, after at least one more character; else 0. */
int text_ends(const char *name, const char *ending);

#endif
