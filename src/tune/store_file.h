/* The database's file: where it is, who may write it, and how it is replaced. For store.c alone. */
#ifndef VOLTMILL_TUNE_STORE_FILE_H
#define VOLTMILL_TUNE_STORE_FILE_H

#include "base/text.h"
#include "io/owner.h"

/* The file that a name leads to, through links, whether it is there or not; for free(). NULL and
 * why when there is no end of them, or when it is not to be used: owner_may_be_used(). */
char *store_file_behind(const char *path, char why[OWNER_WORDS]);

/* Locks `name`.lock, waiting for others up to ten seconds; close() gives it free. The lock has the
 * database's mode, so that all who may write the one can lock the other. -1 and errno when that
 * fails, or when the database is write-protected. */
int store_file_lock(const char *name);

/* Writes the whole file beside and gives it its name; mode and group of the one that was there
 * stay, a new one gets `fresh`, less what the umask takes. 0 and errno when that fails. */
int store_file_write(const char *name, const struct text *text, mode_t fresh);

#endif
