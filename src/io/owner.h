/* Whose files are, and who else may write them. */
#ifndef VOLTMILL_IO_OWNER_H
#define VOLTMILL_IO_OWNER_H

#include <sys/stat.h>

/* Room for the words that say why not: "can be written by others (mode 0777): chmod go-w mends it".
 */
enum { OWNER_WORDS = 128 };

/* Whether an ordinary file (or a link, device: never) is the effective user's, and nobody else may
 * write it; and the same of an open file or folder. */
int owner_is_entry_mine(const struct stat *info, char why[OWNER_WORDS]);
int owner_is_mine(int fd, char why[OWNER_WORDS]);

/* Whether the way to a file is safe: no folder above it in which anybody may put another one in its
 * place, and its name no link of somebody else. */
int owner_is_path_mine(const char *path, char why[OWNER_WORDS]);

/* Whether a file that the user names, there or not, may be read and replaced: not through a link of
 * somebody else, not if anybody may write it, and not if it is somebody else's in a folder in which
 * anybody may make files. Groups may share files. */
int owner_may_be_used(const char *path, char why[OWNER_WORDS]);

#endif
