/* Facts about an observation that files of voltages, of power and products share. */
#ifndef VOLTMILL_INPUT_SKY_H
#define VOLTMILL_INPUT_SKY_H

#include "base/units.h"
#include "io/pack.h"

/* When, where and by what an observation was made. */
struct sky {
    char *telescope; /* NULL when unknown, like the next */
    char *source;
    int has_position;
    double ra_deg, dec_deg;
    int has_start;
    struct utc start; /* UTC of the observation's sample 0 */
};

/* Its pointers, for the table of a struct that has it as member `sky`. */
#define PACK_SKY(type) PACK_FIELD(type, sky.telescope), PACK_FIELD(type, sky.source)

#endif
