/* A YAML file of the user: read, with the overrides of the command line, as a tree. */
#ifndef VOLTMILL_JOB_YAML_YAML_FILE_H
#define VOLTMILL_JOB_YAML_YAML_FILE_H

#include "job/yaml/tree.h"

/* Larger files are refused. */
enum { YAML_FILE_BYTES = 1 << 20 };

/* Values of the current file of many, for a file that is used for each of them. */
struct yaml_each {
    const char *name; /* takes the place of {name} in all values, those of overrides included; they
                         are texts then, as if in quotes: what it holds can never become YAML */
    const char *set;  /* the last override, "key.path=text": the text as it is, no YAML; of several
                         lines a list of texts */
};

/* Reads the one document of `text`, `length` bytes. `set` is the override whose value `text` is, or
 * NULL for the file itself; it must outlive *out, which tree_destroy() frees. Aliases are replaced
 * by copies of what they stand for. A text that is no YAML, or that is absurdly deep or large, is a
 * mistake: then *out = NULL, and no failure. An empty document is an empty value. Fails with DEVICE
 * (memory); *out is NULL then, too. */
status_t tree_read(const char *text, size_t length, const char *set, struct mistakes *mistakes,
                   struct tree **out);

/* Puts `word` in the place of every `place` in the values (not the keys) of `root` and below, as
 * texts in quotes. Fails with DEVICE (memory); some may be replaced then. */
status_t yaml_file_put_word(struct tree *root, const char *place, const char *word);

/* Reads `text`, `length` bytes, then puts each of the `nsets` overrides "key.path=value" (the value
 * is YAML) at its place: entries of lists go by number, the number after the last appends; mappings
 * and lists that are missing on the way are made. `each` may be NULL. mistakes->file names the file
 * in messages; `sets` and each->set must outlive *out, which tree_destroy() frees, and a failure
 * leaves unchanged. Fails with USAGE when tree_read() finds a mistake in the text, or it is empty,
 * or has more than YAML_FILE_BYTES; what is wrong with overrides is a mistake, and no failure; with
 * DEVICE (memory). */
status_t yaml_file_read(const char *text, size_t length, const char *const *sets, uint32_t nsets,
                        const struct yaml_each *each, struct mistakes *mistakes, struct tree **out);

#endif
