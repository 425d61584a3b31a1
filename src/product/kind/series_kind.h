/* Reading a dedispersed product: /dedispersed float [dm][time], /dm in pc cm^-3. All else is
 * optional; `missing` lists what is absent. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_KIND_SERIES_KIND_H
#define VOLTMILL_PRODUCT_KIND_SERIES_KIND_H

#include "io/apart.h"
#include "io/hdf5/h5_dataset.h"
#include "product/kind/sigproc_head.h"

/* The band that was added up, as headers of PRESTO and SIGPROC can say it: `channels` of one width
 * from the lowest to the highest. Where its channels do not follow each other evenly (is_even 0),
 * gaps count as channels, and `held` is how many there are. */
struct series_band {
    double low_mhz, high_mhz; /* centres of the lowest and the highest channel; 0: unknown */
    double width_mhz;         /* 0: unknown */
    uint64_t held, channels;
    int is_even;
    double reference_mhz; /* whose times the series keep */
    double constant;      /* of dispersion, s MHz^2 pc^-1 cm^3 */
};

struct series {
    char *path;
    hid_t file;
    struct h5_dataset data;
    uint64_t ndms, samples;
    double *dm;            /* [ndms] */
    struct sigproc header; /* fch1, foff, nchans: of what was dedispersed, 0 if unknown */
    int has_start;
    struct utc start; /* leading edge of the first sample */
    struct series_band band;
    char *telescope;     /* NULL: unknown */
    struct text missing; /* "tstart, fch1", or empty */
};

/* Opens a dedispersed product, tried in a child process first (io/apart.h), for series_destroy().
 * Main thread only. Fails with DATA if it is unreadable, incomplete or none, its sizes or numbers
 * are impossible, or it has neither tsamp nor times; with DEVICE (memory, descriptors, no child),
 * STOPPED; *out is unchanged then. */
status_t series_open(const char *path, struct series **out);
/* Closes the file and frees a series of series_open(). Takes NULL. */
void series_destroy(struct series *series);
SCOPED_END(series_destroy, struct series *)
extern const struct description series_description;

/* Reads samples first .. first + count - 1, from 0, of DM number `dm`, from 0, into out, float
 * [count]. Main thread only. Fails with DATA if they are unreadable; with DEVICE (memory). `out` is
 * undefined then. */
status_t series_read(const struct series *series, uint64_t dm, uint64_t first, uint64_t count,
                     float *out);

#endif
