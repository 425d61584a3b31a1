/* The user's cache folder: what can be made again, kept between runs and shared by many processes.
 *
 * The folder is $VOLTMILL_CACHE, or $XDG_CACHE_HOME/voltmill, or ~/.cache/voltmill; made when first
 * written. "off" as $VOLTMILL_CACHE means none. An entry is a file named by kind and a hash of its
 * key; it holds the whole key and a checksum, so that another key's or a corrupt entry is as
 * good as none. Entries appear whole or not at all (written beside and renamed).
 *
 * Folder and entries count only if they are the effective user's and nobody else may write them,
 * and an entry only if it is an ordinary file, no link; else there is a warning, once, and no
 * cache. */
#ifndef VOLTMILL_IO_CACHE_H
#define VOLTMILL_IO_CACHE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Gives the entry's bytes in *out (free() returns them), or NULL when there is no good one. Fails
 * with DEVICE only for want of memory. `kind` is a plain word, `key` any text. */
status_t cache_get(const char *kind, const char *key, void **out, size_t *size);

/* A hash of some bytes, as entries are named by: FNV-1a, 64 bit. */
uint64_t cache_hash(const void *data, size_t size);

/* Writes an entry. A folder that cannot be written is no failure: returns 0 then, else 1. */
int cache_put(const char *kind, const char *key, const void *data, size_t size);

/* Waits until no other process makes this entry, half a minute at most, so that only one of several
 * has the work; cache_unlock() lets the next one go on, who had better look again. Whoever dies
 * lets go, too. Gives -1 where there is no folder, or one without locks: then all go on at once. */
int cache_lock(const char *kind, const char *key);
void cache_unlock(int lock);

/* The name of another file in the folder, which is made if need be, for reading, or for replacing
 * by one of mode 0600; free() returns it. NULL when there is no folder, or the file is one that
 * does not count. */
char *cache_path(const char *name);

#endif
