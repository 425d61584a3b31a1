/* The gaps of a synthetic observation as the native layout lists them. */
#ifndef VOLTMILL_SYNTH_SYNTH_GAPS_H
#define VOLTMILL_SYNTH_SYNTH_GAPS_H

#include "synth/synth_spec.h"

#include <stddef.h>

/* Ascending and disjoint: of all streams [n][2] (first, count), or where the specification names
 * streams, by stream, [n][3] (first, count, stream), those of all once for each. One of the lists
 * is NULL; free() both. Fails with DEVICE (memory). */
struct synth_gaps {
    uint64_t (*all)[2];
    uint64_t (*streams)[3];
    size_t count;
};
status_t synth_gaps_list(const struct synth_spec *spec, struct synth_gaps *out);

/* How many entries that makes at most: UINT64_MAX when it is absurd. */
uint64_t synth_gaps_most(const struct synth_spec *spec);

#endif
