/* A stretch of a file seen as memory, so that its bytes need not be copied.
 *
 * Only where that is fast and safe: on file systems of this machine, and when the system can bring
 * all the bytes beforehand, so that a file that is too short or cannot be read shows at once. If it
 * is cut short while somebody reads, the bytes that are gone read as zeros and mapping_is_cut()
 * tells so; the process does not die, because SIGBUS is caught. */
#ifndef VOLTMILL_IO_MAPPING_H
#define VOLTMILL_IO_MAPPING_H

#include <stdint.h>

typedef struct mapping mapping_t;

/* Gives NULL when these bytes cannot be mapped: read them, then. */
mapping_t *mapping_open(int fd, uint64_t offset, uint64_t bytes);
void mapping_close(mapping_t *mapping);

/* Stretches near each other share a piece of the file's address space, which stays for the next
 * ones when they are closed: giving it back makes every thread of the process forget where all
 * memory lies, which took 0.3 ms of 16 threads that worked (measured). Gives back what nobody has.
 */
void mapping_drop_unused(void);

/* The byte at `offset`, at whatever address. */
const void *mapping_data(const mapping_t *mapping);

/* Whether some of what was read since mapping_open() was not there any more. */
int mapping_is_cut(const mapping_t *mapping);

#endif
