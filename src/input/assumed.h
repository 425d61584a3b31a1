/* Assumptions about an input: facts that its files leave open or state in contradiction, and how
 * they are read. A sentence a line, the first letter small, without the file's name; NULL: none.
 * `info`, `plan` and `run` print them, products keep them (/provenance, attribute assumed). */
#ifndef VOLTMILL_INPUT_ASSUMED_H
#define VOLTMILL_INPUT_ASSUMED_H

#include "base/status.h"

#include <hdf5.h>

/* Adds one if it `is_so`, unless it is there. Fails with DEVICE (memory). */
status_t assume_if(int is_so, char **assumed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define assume(...) assume_if(1, __VA_ARGS__)
#define assume_unless(is_known, ...) assume_if(!(is_known), __VA_ARGS__)

/* Adds those of another file of the observation, with its name before the ones that are new; of
 * more than 16 the number only. Fails with DEVICE (memory). */
status_t assumed_add(char **assumed, const char *path, const char *more);

/* Adds those that a product of ours keeps about its own inputs. Fails with DATA. */
status_t assumed_read(hid_t file, const char *path, char **assumed);

/* Prints "assumed: PATH: ..." for each, once. */
void assumed_say(const char *path, const char *assumed);

#endif
