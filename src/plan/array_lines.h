/* Lines of `voltmill plan` about an array: baselines, delays, and losses. */
#ifndef VOLTMILL_PLAN_ARRAY_LINES_H
#define VOLTMILL_PLAN_ARRAY_LINES_H

#include "base/text.h"
#include "input/array_table.h"

struct array_lines {
    const struct array_table *table;
    const uint32_t *stations; /* [nstations] numbers in the table */
    uint32_t nstations;
    const delay_model_t *delays; /* of these stations; NULL: no directions */
    uint32_t ndirections;
    uint32_t first;      /* direction that is told: 1 where there is no centre */
    double from_s, to_s; /* of the observation */
    double left_s;       /* largest delay left within a channel: half a sample that is shifted */
    double channel_hz;   /* width of a channel, sky frequency of the highest one, Hz */
    double top_hz;
    double spectrum_s; /* time of the samples of one spectrum */
};

/* Appends lines "  NAME  TEXT": baselines, for each direction the delays of the stations at both
 * ends of the observation and the largest drift, and the losses of amplitude, 1 - sinc(x): by the
 * delay that is left across a channel, and by the drift of the phase within a spectrum. Fails with
 * DEVICE (memory). */
status_t array_lines_add(const struct array_lines *lines, struct text *out);

#endif
