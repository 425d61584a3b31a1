/* The user's cache folder: results that can be recomputed, kept between runs and shared by many
 * processes.
 *
 * The folder is $VOLTMILL_CACHE, or $XDG_CACHE_HOME/voltmill, or ~/.cache/voltmill; it is made at
 * the first write. "off" as $VOLTMILL_CACHE means none. An entry is a file named by kind and a hash
 * of its key. It contains the whole key and a checksum, so an entry of another key, or a corrupt
 * one, is ignored. Writing an entry is atomic (written beside and renamed).
 *
 * Folder and entries are used only if the effective user owns them and no one else may write them,
 * and an entry only if it is an ordinary file, no link. Otherwise there is a warning, once, and no
 * cache. */
#ifndef VOLTMILL_IO_CACHE_H
#define VOLTMILL_IO_CACHE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Reads the entry of this kind and key. `kind` is a plain word, part of a file's name, `key` any
 * text. Sets *out to the entry's bytes, for free(), and *size to their number; to NULL and 0 if
 * there is no valid entry, and after a failure. Warns, once in a process, of a folder or entry that
 * is not safe to use. Fails with DEVICE (memory) only. Any thread. */
status_t cache_get(const char *kind, const char *key, void **out, size_t *size);

/* Returns a hash of `size` bytes: FNV-1a, 64 bit, by which entries are named. */
uint64_t cache_hash(const void *data, size_t size);

/* Writes an entry of `size` bytes, in place of that of the same kind and key; makes the folder.
 * Returns 1; 0 if that is not possible (no folder, not safe, full, no memory): the old entry stays.
 * Warns, once in a process, of a folder that is not safe. Any thread. */
int cache_put(const char *kind, const char *key, const void *data, size_t size);

/* Waits until no other process or thread makes this entry, at most `seconds`, so that only one of
 * several has the work; makes the folder. Returns a descriptor, which has the lock. file_close()
 * lets the next one continue, which should read the cache again. A process that ends releases the
 * lock, too. Returns -1 after that time, without a folder, if it has no locks, or without memory or
 * descriptors. Warns, once in a process, of a folder that is not safe. Any thread. */
int cache_lock(const char *kind, const char *key, double seconds);

/* Returns the path of another file in the cache folder, for free(); `name` "": the folder itself,
 * with a slash at its end. Makes the folder if necessary. The file, which may be missing, is to be
 * read, or replaced by one of mode 0600. Returns NULL without a folder or memory. Returns NULL
 * also, with a warning once in a process, if folder or file are not safe to use: another user's,
 * writable by others, or no ordinary file. Any thread. */
char *cache_path(const char *name);

#endif
