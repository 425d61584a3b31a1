/* Grouping of peaks of neighbouring DMs and times that belong to one burst.
 *
 * Two peaks are linked when their boxes overlap, or are no farther apart than the wider of the two
 * is long, and their DMs are neighbours: at most two steps apart, or as far as their delays across
 * the band differ by no more than the wider box, 32 steps at most. A group is a connected set of
 * linked peaks. */
#ifndef VOLTMILL_DSP_GROUPS_H
#define VOLTMILL_DSP_GROUPS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct burst {
    float snr;
    uint32_t dm;           /* which */
    uint32_t first, width; /* times */
};

struct burst_group {
    struct burst best; /* of equal ones the least DM's, then the earliest */
    uint64_t members;
    uint32_t least_dm, most_dm;
    uint64_t first, end; /* times of all boxes */
};

/* Finds the groups of bursts [count], which are sorted by DM, then time. spans [ndms]: delay across
 * the band in samples, ascending. *out is sorted by the time of the middle of a group's best box,
 * then DM; free() returns it. Fails with DEVICE (memory). */
status_t burst_groups_find(const struct burst *bursts, size_t count, const uint32_t *spans,
                           uint32_t ndms, struct burst_group **out, size_t *ngroups);

#endif
