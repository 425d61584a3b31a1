/* Memory with checked sizes. */
#ifndef VOLTMILL_BASE_MEMORY_H
#define VOLTMILL_BASE_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Allocates `count` zeroed elements of `size` bytes in *out (never NULL, also for count 0), for
 * free(). `what` names them in the message. Fails with DEVICE if the memory is not available or the
 * size overflows, and leaves *out unchanged. */
status_t memory_zeroed(size_t count, size_t size, const char *what, void *out);

/* Resizes the block at *items, a pointer that may be NULL, to the smallest power of two of elements
 * of `size` bytes that is at least `count` (and 1). So a list may grow one by one, and a smaller
 * count than before may shrink it. free() frees the block. New elements are not zeroed. `what`
 * names them in the message. Fails with DEVICE (memory), and leaves the block unchanged. */
status_t memory_grown(size_t count, size_t size, const char *what, void *items);

/* Makes room for one more element in a list of `count` elements of `size` bytes. `items` points to
 * the pointer to the list (NULL: no elements yet), which may move; free() frees the list. The new
 * element is not zeroed, and the caller counts it. Only this function or memory_grown() may have
 * grown the list before. Costs nothing while the capacity suffices. `what` names the elements in
 * the message. Fails with DEVICE (memory): the list is unchanged. */
status_t memory_grow(uint64_t count, size_t size, const char *what, void *items);

/* Allocates `count` elements of `size` bytes in *out, for free(). They are aligned to 64 bytes,
 * from a page on to pages, and not zeroed. The size is rounded up, by 1 byte at least, to lines of
 * 64 bytes or, from a page on, to pages. `what` names the elements in the message. Fails with
 * DEVICE (memory, or the size overflows), and leaves *out unchanged.
 *
 * Pages of large blocks are first touched by the thread that first uses them. Large blocks share no
 * page: a processor prefetches beyond a thread's block, and two threads whose blocks meet in one
 * page slow each other down (measured: twice the time of a filter bank's grain). */
status_t memory_aligned(size_t count, size_t size, const char *what, void *out);

/* Makes sure that a block has room for `count` elements of `size` bytes, aligned as by
 * memory_aligned(). `block` points to the pointer to the block, which is NULL if *room is 0; free()
 * frees the block. If *room (elements) is smaller than `count`, frees the block, allocates another
 * and sets *room: the contents are lost. Else changes nothing. `what` names the elements in the
 * message. Fails with DEVICE (memory): then the pointer is NULL and *room 0. */
status_t memory_room(size_t *room, size_t count, size_t size, const char *what, void *block);

/* memory_free_all() of blocks: MEMORY_FREE(all, of, them). */
#define MEMORY_FREE(...)                                                                           \
    memory_free_all((void *const[]){__VA_ARGS__},                                                  \
                    sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
/* Frees `count` blocks, one after the other, as free() does, which takes NULL. The callers'
 * pointers keep their values. */
void memory_free_all(void *const *blocks, size_t count);

/* Copies `count` runs of `run` bytes each. The first begins at `from` and `to`, each next one
 * `from_step` and `to_step` bytes further. Source and target do not overlap, and need no alignment.
 */
void copy_runs(const void *from, uint64_t from_step, void *to, uint64_t to_step, uint64_t count,
               uint64_t run);

/* Returns the pointer that `pointer` points to, and sets that pointer to NULL: moves the block. */
void *memory_move(void *pointer);

/* Copies `text` (NULL stays NULL); free() returns the copy. Fails with DEVICE (memory), and leaves
 * *out unchanged. */
status_t memory_text(const char *text, char **out);
/* Makes a new text, formatted as by printf(), without escapes; free() returns it. Fails with DEVICE
 * (memory), and leaves *out unchanged. */
status_t memory_format(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* multiply_u64(), add_u64(): compute *out = a * b, a + b. Return 1; 0 on overflow, with *out modulo
 * 2^64. For sizes that an archive or a user states. */
int multiply_u64(uint64_t a, uint64_t b, uint64_t *out) __attribute__((warn_unused_result));
int add_u64(uint64_t a, uint64_t b, uint64_t *out) __attribute__((warn_unused_result));

/* Returns the largest number that divides a and b; if one of them is 0, the other. */
uint64_t gcd_u64(uint64_t a, uint64_t b);
/* Returns the least common multiple of a, b >= 1; 0 if it does not fit 64 bits. */
uint64_t lcm_u64(uint64_t a, uint64_t b);
/* Returns the largest power of two that is at most `value` >= 1. */
uint64_t power_below(uint64_t value);
/* Returns the lowest digit of *number in a mixed base, *number % base, and divides *number by the
 * base (at least 1), rounding down. */
uint32_t take_digit(uint64_t *number, uint32_t base);
/* Compares two doubles that are not NaN, for qsort(): `left` and `right` point to them. */
int compare_f64(const void *left, const void *right);
/* Returns a / b, rounded up; b >= 1. */
uint64_t ceil_div_u64(uint64_t a, uint64_t b);
/* Compares two uint64_t, for qsort() and bsearch(): `left` and `right` point to them. */
int compare_u64(const void *left, const void *right);
/* min_u64(), max_u64(): return the smaller and the larger of both. */
uint64_t min_u64(uint64_t a, uint64_t b);
uint64_t max_u64(uint64_t a, uint64_t b);

/* Sets i, a size_t, to the first of the indices 0 .. count - 1 for which
 * `holds`, an expression of i, is true, as it is for all after it; to count if there is none. */
#define FIND_FIRST(i, count, holds)                                                                \
    do {                                                                                           \
        size_t low_ = 0;                                                                           \
        for (size_t high_ = (count); low_ < high_;) {                                              \
            (i) = low_ + (high_ - low_) / 2;                                                       \
            if (holds) {                                                                           \
                high_ = (i);                                                                       \
            } else {                                                                               \
                low_ = (i) + 1;                                                                    \
            }                                                                                      \
        }                                                                                          \
        (i) = low_;                                                                                \
    } while (0)

#endif
