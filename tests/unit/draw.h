/* Random numbers, the same in every run. */
#ifndef VOLTMILL_TESTS_DRAW_H
#define VOLTMILL_TESTS_DRAW_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

/* Marsaglia's xorshift64. */
static inline uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* -1 .. 1 */
static inline double draw_number(void)
{
    return (double)(int32_t)(draw() >> 32) / 2147483648.0;
}

#endif
