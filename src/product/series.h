/* Reading a dedispersed product: /dedispersed float [dm][time], /dm in pc cm^-3. What else it may
 * say is optional; `missing` names what it does not. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_SERIES_H
#define VOLTMILL_PRODUCT_SERIES_H

#include "base/h5.h"
#include "product/sigproc.h"

#include <stdint.h>

struct series {
    char *path;
    hid_t file, data;
    uint64_t ndms, samples;
    double *dm;            /* [ndms] */
    struct sigproc header; /* fch1, foff, nchans: of what was dedispersed, 0 if unknown */
    char *telescope;       /* NULL: unknown */
    struct text missing;   /* "tstart, fch1", or empty */
};

/* Fails with DATA: no dedispersed product, sizes that cannot be, neither tsamp nor times. */
status_t series_open(const char *path, struct series **out);
void series_destroy(struct series *series);

/* Reads samples first .. first + count - 1 of one DM. Fails with DATA. */
status_t series_read(const struct series *series, uint64_t dm, uint64_t first, uint64_t count,
                     float *out);

#endif
