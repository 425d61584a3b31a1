/* Allocation that says what it was for, and arithmetic that notices overflows. */
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sets *out to the block. Fails with DEVICE if it is NULL, naming its use. */
static status_t memory_give(void *block, size_t count, size_t size, const char *what, void *out)
{
    if (!block) {
        return report_fail(STATUS_DEVICE, "out of memory: %zu times %zu bytes for %s", count, size,
                           what);
    }
    memcpy(out, &block, sizeof block);
    return STATUS_OK;
}

status_t memory_zeroed(size_t count, size_t size, const char *what, void *out)
{
    return memory_give(calloc(count ? count : 1, size), count, size, what, out);
}

status_t memory_grown(size_t count, size_t size, const char *what, void *items)
{
    void *block = NULL;
    size_t room = 1;
    size_t bytes = 0;
    memcpy(&block, items, sizeof block);
    while (room < count && room <= SIZE_MAX / 2) {
        room *= 2;
    }
    int fits = room >= count && !__builtin_mul_overflow(room, size, &bytes);
    void *grown = fits ? realloc(block, bytes > 0 ? bytes : 1) : NULL;
    return memory_give(grown, count, size, what, items);
}

status_t memory_grow(uint64_t count, size_t size, const char *what, void *items)
{
    /* Rooms are powers of two: others are not full. */
    return count & (count - 1) ? STATUS_OK : memory_grown((size_t)count + 1, size, what, items);
}

void memory_free_all(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(blocks[i]);
    }
}

status_t memory_aligned(size_t count, size_t size, const char *what, void *out)
{
    enum { LINE = 64, HUGE_PAGE = 2 << 20 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE); /* 4 to 64 KiB */
    size_t bytes = 0;
    void *block = NULL;
    if (!__builtin_mul_overflow(count, size, &bytes) && bytes <= SIZE_MAX - page) {
        const int is_large = bytes >= 4 * HUGE_PAGE;
        size_t alignment = bytes < page ? LINE : page;
        bytes = (bytes / alignment + 1) * alignment;
        if (posix_memalign(&block, is_large ? HUGE_PAGE : alignment, bytes) != 0) {
            block = NULL;
        }
        /* Rows of a block are pages apart: with small ones processors wait for addresses. */
        (void)(block && is_large && madvise(block, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE));
    }
    return memory_give(block, count, size, what, out);
}

status_t memory_room(size_t *room, size_t count, size_t size, const char *what, void *block)
{
    void *smaller = NULL;
    if (*room < count) {
        memcpy(&smaller, block, sizeof smaller);
        free(smaller);
        memset(block, 0, sizeof smaller);
        *room = 0;
        TRY(memory_aligned(count, size, what, block));
        *room = count;
    }
    return STATUS_OK;
}

/* The compiler knows the usual lengths. */
void copy_runs(const void *from, uint64_t from_step, void *to, uint64_t to_step, uint64_t count,
               uint64_t run)
{
#define COPY_RUNS(label, bytes)                                                                    \
    label:                                                                                         \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        memcpy((char *)to + i * to_step, (const char *)from + i * from_step, (size_t)(bytes));     \
    }                                                                                              \
    break
    switch (run) {
        COPY_RUNS(case 1, 1);
        COPY_RUNS(case 2, 2);
        COPY_RUNS(case 4, 4);
        COPY_RUNS(case 8, 8);
        COPY_RUNS(case 16, 16);
        COPY_RUNS(default, run);
    }
#undef COPY_RUNS
}

void *memory_move(void *pointer)
{
    void *block = NULL;
    memcpy(&block, pointer, sizeof block);
    memset(pointer, 0, sizeof block);
    return block;
}

status_t memory_text(const char *text, char **out)
{
    char *copy = text ? strdup(text) : NULL;
    REQUIRE(!text || copy, STATUS_DEVICE, "out of memory: a text of %zu bytes", strlen(text) + 1);
    *out = copy;
    return STATUS_OK;
}

status_t memory_format(char **out, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    REQUIRE(length >= 0, STATUS_DEVICE, "out of memory: a text");
    *out = text;
    return STATUS_OK;
}

int multiply_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

int add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

uint64_t gcd_u64(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t lcm_u64(uint64_t a, uint64_t b)
{
    uint64_t out = 0;
    return multiply_u64(a / gcd_u64(a, b), b, &out) ? out : 0;
}

uint64_t power_below(uint64_t value)
{
    uint64_t power = 1;
    while (power <= value / 2) {
        power *= 2;
    }
    return power;
}

uint32_t take_digit(uint64_t *number, uint32_t base)
{
    uint32_t digit = (uint32_t)(*number % base);
    *number /= base;
    return digit;
}

int compare_f64(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

uint64_t ceil_div_u64(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}
