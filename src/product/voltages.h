/* Writing an observation in the native layout: one contiguous dataset whose samples are filled in
 * by plain writes. Uses HDF5. */
#ifndef VOLTMILL_PRODUCT_VOLTAGES_H
#define VOLTMILL_PRODUCT_VOLTAGES_H

#include "base/status.h"
#include "base/terms.h"
#include "base/units.h"
#include "io/apart/apart.h"

#include <stdint.h>

struct voltages_spec {
    uint64_t samples;
    uint32_t stations, beams, pols, chans; /* an axis of length 1 is left out, pol and chan aside */
    enum sample_format format;             /* SAMPLE_I4: "4+4 two's complement hi=re" */
    int is_complex;
    int sideband; /* +1, or -1: frequency falls with phase rotation */
    double sample_rate_hz;
    const double *freq_hz; /* [chans] */
    struct utc start;
    const char *telescope, *source; /* source may be NULL */
};

/* The file's samples lie at data_offset, [time][station][beam][pol][chan][re, im]. */
struct voltages_place {
    uint64_t data_offset;
    uint64_t step_bytes; /* of all streams at one time */
    uint64_t file_bytes;
};

/* Whether the file is in the native layout, finished or not: what a run that died leaves. */
int voltages_is_ours(const char *path);
extern const struct apart_task voltages_is_ours_task;

/* Writes `path` anew; NULL: only finds where things would lie. Fails with NO_SPACE or DATA. */
status_t voltages_create(const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place);

#endif
