/* What parent and child say to each other: heads, each followed by so many bytes. */
#ifndef VOLTMILL_IO_APART_APART_PARTS_H
#define VOLTMILL_IO_APART_APART_PARTS_H

#include <stdint.h>

/* To the child: what it shall do. */
struct apart_question {
    uint64_t bytes;
    char task[32];
};

/* To the parent. Kinds beside these are the statuses of failures: then the bytes are the cause. */
enum {
    APART_ANSWER = 'a',
    APART_PLACE = 'p',
    APART_WARNING = 'w',
    APART_LOUD = 'l',
    APART_NOTE = 'n',
    APART_OUTPUT = 'o'
};

struct apart_head {
    uint64_t bytes;
    char kind;
};

#endif
