/* Counting the borders between grains. */
#include "compute/shared/grains.h"

#include "base/memory.h"

/* Grain borders at or before spectrum `at`: multiples of GRAIN and of the dump's length, those that
 * are both counted once. */
static uint64_t grains_borders(uint64_t at, uint64_t integrate)
{
    uint64_t both = lcm_u64(GRAIN, integrate);
    return at / GRAIN + at / integrate - (both ? at / both : 0);
}

uint64_t grain_index(uint64_t first, uint64_t at, uint64_t integrate)
{
    return grains_borders(at, integrate) - grains_borders(first, integrate);
}

uint64_t grain_most(uint64_t count, uint64_t integrate)
{
    return count / GRAIN + count / integrate + 3;
}
