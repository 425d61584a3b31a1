/* Memory with checked sizes. */
#ifndef VOLTMILL_BASE_MEMORY_H
#define VOLTMILL_BASE_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Gives `count` zeroed elements of `size` bytes in *out (never NULL, also for count 0). `what`
 * names them in the message. Fails with DEVICE when the memory is not there or the size overflows.
 */
status_t memory_zeroed(size_t count, size_t size, const char *what, void *out);

/* Makes room for `count` elements in the block at *items, a pointer that may be NULL; new ones are
 * not zeroed. Rooms are powers of two: a list may grow one by one. Fails with DEVICE, and leaves
 * the block as it is. */
status_t memory_grown(size_t count, size_t size, const char *what, void *items);

/* Makes room for one more element in a list of `count` that is grown by this alone, or by
 * memory_grown(): costs nothing while there is room. Fails with DEVICE. */
status_t memory_grow(uint64_t count, size_t size, const char *what, void *items);

/* As memory_zeroed(), aligned to 64 bytes and not zeroed; free() returns it. Large blocks are
 * touched first by whoever uses them first, and have whole pages to themselves: a processor fetches
 * ahead of what a thread works on, and where that is another thread's block, both wait for each
 * other (measured: twice the time of a filter bank's grain). */
status_t memory_aligned(size_t count, size_t size, const char *what, void *out);

/* A copy of `text` (NULL stays NULL). */
status_t memory_text(const char *text, char **out);
/* A new text, as printf() writes it. */
status_t memory_format(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* *out = a * b, a + b. Return 0 when it does not fit: for sizes that an archive or a user states.
 */
int multiply_u64(uint64_t a, uint64_t b, uint64_t *out) __attribute__((warn_unused_result));
int add_u64(uint64_t a, uint64_t b, uint64_t *out) __attribute__((warn_unused_result));

uint64_t gcd_u64(uint64_t a, uint64_t b);
/* Least common multiple; returns 0 when it does not fit. a, b >= 1. */
uint64_t lcm_u64(uint64_t a, uint64_t b);
/* a / b, rounded up; b >= 1. */
uint64_t ceil_div_u64(uint64_t a, uint64_t b);
/* For qsort() and bsearch() over uint64_t. */
int compare_u64(const void *left, const void *right);
uint64_t min_u64(uint64_t a, uint64_t b);
uint64_t max_u64(uint64_t a, uint64_t b);

#endif
