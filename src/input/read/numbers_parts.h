/* What the files of numbers.h share. For nobody else. */
#ifndef VOLTMILL_ARCHIVE_READ_NUMBERS_NUMBERS_PARTS_H
#define VOLTMILL_ARCHIVE_READ_NUMBERS_NUMBERS_PARTS_H

#include "input/read/numbers.h"

enum { NUMBERS_BYTES = 256, NUMBERS_IN_BYTE = 8 };

struct numbers {
    struct archive_number stored;
    enum sample_format format;
    uint32_t bytes; /* as handed out */
    int is_plain, is_swapped, is_turned;
    uint32_t per_byte; /* numbers of a byte; 0: they are larger */
    /* [256][per_byte] as handed out: what a byte holds. */
    char table[NUMBERS_BYTES * NUMBERS_IN_BYTE * sizeof(float)];
};

/* numbers_make() of numbers of 8 bits or more, the first of which is at `from`. */
void numbers_make_wide(const numbers_t *numbers, const char *from, uint64_t count, char *to);

#endif
