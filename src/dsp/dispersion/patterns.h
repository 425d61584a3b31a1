/* The exact tree of dedispersion: patterns of delays that many DMs have in common.
 *
 * Rows (channels that are not masked) make groups of 2, 4, 8 ... neighbours. The pattern of a group
 * at a DM are its rows' delays less that of its first row. Rounded delays repeat few patterns over
 * many DMs; each is summed once, from those of its two halves, and a DM takes the sums at its own
 * delay of the group's first row. Sums are of the very samples that brute force adds. */
#ifndef VOLTMILL_DSP_DISPERSION_PATTERNS_H
#define VOLTMILL_DSP_DISPERSION_PATTERNS_H

#include "base/status.h"

#include <stdint.h>

enum { PATTERN_LEVELS = 8 };
#define PATTERN_NONE UINT32_MAX

/* A pattern of a group of level l (2^(l + 1) rows): of its halves, patterns of level l - 1 (of
 * level 0 rows).
 *
 *   right         PATTERN_NONE: the rows end before it; then the pattern is that of `left`
 *   shift         the delay of the right half's first row less that of the left half's
 *   least, most   delays of the group's first row at the DMs that have the pattern */
struct pattern {
    uint32_t left, right;
    int32_t shift;
    uint32_t least, most;
};

/*   first      uint32 [ngroups + 1]   patterns first[g] .. first[g + 1] - 1 are those of group g
 *   patterns   [first[ngroups]]       in the order in which DMs meet them */
struct pattern_level {
    uint32_t ngroups;
    uint32_t *first;
    struct pattern *patterns;
};

/*   of   uint32 [groups of the last level][ndms]   which pattern a DM has */
struct patterns {
    uint32_t ndms, nrows, nlevels;
    struct pattern_level levels[PATTERN_LEVELS];
    uint32_t *of;
};

/* Finds the patterns of `ndms` DMs, in time proportional to ndms * nrows.
 *
 *   delays    uint32 [ndms][nrows]   in samples, below 2^31
 *   reach     a DM gets a pattern of its own if the delay of the group's first row differs by more
 *             than this from that of all DMs with its pattern: rows of patterns have no gaps then;
 *             UINT32_MAX: patterns alone count
 *   nlevels   1 .. PATTERN_LEVELS: up to groups of 2^nlevels rows
 *
 * patterns_free() frees *out; it takes {0}, and leaves it. Fails with DEVICE (memory), and leaves
 * *out unchanged. */
status_t patterns_create(const uint32_t *delays, uint32_t ndms, uint32_t nrows, uint32_t nlevels,
                         uint32_t reach, struct patterns *out);
void patterns_free(struct patterns *patterns);

/* Returns the number, from 0, of the level whose groups need the fewest additions, and sets *adds
 * to the number of additions for one sample of all DMs. */
uint32_t patterns_best(const struct patterns *patterns, uint64_t *adds);

/* Sets *gain to the ratio of brute force's additions to those of the best level, and *group to the
 * rows of that level's groups. delays: uint32 [ndms][nrows], as for patterns_create(). Fails with
 * DEVICE (memory); both are unchanged then. */
status_t patterns_gain(const uint32_t *delays, uint32_t ndms, uint32_t nrows, uint32_t *group,
                       double *gain);

#endif
