/* The database of tuned kernels: a text file in the user's cache folder that many processes read
 * and write at once.
 *
 * Updates are atomic: the file is written beside and renamed, and writers take turns through a lock
 * on FILE.lock. Links are followed, and the mode is kept. Refused with a warning are a link of
 * another user, a file that anybody may write, another user's file in a folder where anybody may
 * create files, and any link in the cache folder. Lines have checksums: corrupt ones are skipped
 * with a warning, and dropped by the next write. The fields of a line, separated by tabs: checksum,
 * kernel, identity, problem, features, configuration, milliseconds; after a search that was cut,
 * also the seconds that it had. */
#ifndef VOLTMILL_TUNE_STORE_H
#define VOLTMILL_TUNE_STORE_H

#include "base/text.h"

#include <stdint.h>

enum { STORE_FEATURES = 4 };

/* Key of a tuned configuration. Texts are lines without tabs. Problems of one kernel and identity
 * with different `problem` texts are near each other when the logarithms of their (positive)
 * features are. */
struct store_key {
    const char *kernel;   /* "dedisperse u8", and whatever must agree for others to be of use */
    const char *identity; /* device, driver, the kernel's source */
    const char *problem;
    double features[STORE_FEATURES];
};

struct store_record {
    struct store_key key;
    const char *words; /* the configuration */
    double seconds;
    double searched; /* INFINITY: the search was complete; else it was cut after this many seconds;
                        0: it timed some configurations only */
    double distance; /* from the requested problem: 0 if it is the same, else the octaves of all
                        features together, and 0.001 */
};

typedef struct store store_t;

/* Returns the path of the user's own database, for free(), and makes its folder. Returns NULL when
 * there can be none: no cache folder, a file that is not safe to use (with a warning), or no
 * memory. */
char *store_own(void);

/* Reads the database at `path` into memory, for store_close(); NULL: the user's own, tuned.txt in
 * the cache folder. A missing file is an empty database; so is an unreadable one (also above 64
 * MiB, or refused), with a warning. Warns of corrupt lines. Fails with DEVICE (memory); *out is
 * unchanged then. */
status_t store_open(const char *path, store_t **out);
/* Frees a database of store_open(). Takes NULL. */
void store_close(store_t *store);
SCOPED_END(store_close, store_t *)

/* Finds the records of the same kernel and identity as `key`, at most `most`, the nearest first, in
 * out [most]. Sets *count to their number. Their texts belong to the store. Cannot fail. */
void store_find(const store_t *store, const struct store_key *key, struct store_record *out,
                uint32_t most, uint32_t *count);

/* Returns whether there is a record of a kernel (struct store_key), whatever its identity. */
int store_has(const store_t *store, const char *kernel);

/* Writes a record into the file (`path` as of store_open()) as it is now; it replaces one with the
 * same key. A record that is at least as fast is not replaced, unless it has the same configuration
 * or `settled` (may be NULL), one that was timed beside the new one or is no longer possible. Waits
 * at most 10 s for other writers. A file that cannot be written, or a named one that is no
 * database, stays as it is, with a warning. A new file has mode 0666 less the umask, the user's own
 * 0600; FILE.lock stays. Fails with DEVICE (memory). */
status_t store_put(const char *path, const struct store_record *record, const char *settled);

#endif
