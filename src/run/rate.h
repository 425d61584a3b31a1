/* How fast passes went on this machine: runs leave it in the cache folder, plans look it up. */
#ifndef VOLTMILL_RUN_RATE_H
#define VOLTMILL_RUN_RATE_H

#include "base/status.h"

#include <stdint.h>

struct rate {
    double seconds;          /* for so much work; 0: nothing is known */
    uint32_t ranks, threads; /* of each rank, that it took */
};

/* Keeps how long `work` (samples, say) of a problem has taken; `problem` is all that its speed
 * depends on beside the machine, in words. Never fails: at worst nothing is known. */
void rate_keep(const char *problem, double work, const struct rate *took);

/* What so much work would take, to two digits, as the last such run went. */
struct rate rate_expect(const char *problem, double work);

#endif
