/* Dedispersed series: /dedispersed float [dm][time] in one piece, with scales /dm and /time, and
 * the delays that made it. docs/products.md describes the layout. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_KIND_DEDISPERSED_H
#define VOLTMILL_PRODUCT_KIND_DEDISPERSED_H

#include "archive/fbh5/fbh5.h"
#include "dsp/dispersion.h"
#include "product/product.h"

struct dedispersed_spec {
    const char *job_text, *arithmetic, *inputs; /* as struct product_spec's */
    const struct fbh5 *input;
    const double *dms;
    uint64_t times;
    struct time_axis time; /* of the outputs, seconds after the input's start */
    const struct dispersion *delays;
    double constant, reference_hz;
    const char *mode, *edges, *plan; /* plan: which DMs, in words */
    uint32_t error_samples;
    uint64_t downsample;
    const uint8_t *mask; /* [input->nchannels] 1: left out */
    const char *ifs;     /* those added up, in words */
};

/* As product_create(). */
status_t dedispersed_create(const char *path, const struct dedispersed_spec *spec,
                            struct product_place *place);

/* What a product of the kind says of itself beside struct product. */
struct dedispersed {
    double *dms; /* [ndms] */
    size_t ndms;
    uint32_t *delays; /* [ndms][nchannels] */
    double *freq_hz;  /* [nchannels] */
    size_t nchannels;
    char *filterbank; /* the input's path */
    char *mode, *edges;
    double constant, reference_hz;
};

/* Fails with DATA. */
status_t dedispersed_read(const char *path, struct dedispersed **out);
void dedispersed_destroy(struct dedispersed *dedispersed);
extern const struct apart_task dedispersed_read_task;

#endif
