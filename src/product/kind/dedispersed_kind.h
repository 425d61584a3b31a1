/* Dedispersed series: /dedispersed float [dm][time] in one piece, with scales /dm and /time, and
 * the delays that made it. docs/products.md describes the layout. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_KIND_DEDISPERSED_KIND_H
#define VOLTMILL_PRODUCT_KIND_DEDISPERSED_KIND_H

#include "dsp/dispersion/dispersion.h"
#include "input/fbh5/fbh5.h"
#include "product/product.h"

struct boxes;
struct candidates;

/* A search of the series: `times` are cells then (dsp/boxes.h), and `time` is theirs. */
struct dedispersed_search {
    const struct boxes *boxes;
    struct time_axis time;          /* of the series */
    uint64_t most;                  /* peaks that are grouped */
    const struct candidates *found; /* NULL: not searched yet */
};

/* Description of the series of a new product (struct product_spec). */
struct dedispersed_spec {
    const struct fbh5 *input;
    const double *dms;
    const double *coherent_dms; /* [DMs] that each was made after; NULL: all of the input's */
    int is_merged; /* of several filterbanks, of which `input` is one; none of them is kept */
    uint64_t times;
    struct time_axis time; /* of the outputs, seconds after the input's start */
    const struct dispersion *delays;
    double constant, reference_hz;
    int is_zero_dm;                  /* the mean of its channels was taken off each sample before */
    const char *mode, *edges, *plan; /* plan: which DMs, in words */
    uint32_t error_samples;
    uint64_t downsample;
    const uint8_t *mask;              /* [input->nchannels] 1: ignored */
    const char *ifs;                  /* those added up, in words */
    struct dedispersed_search search; /* boxes NULL: none, the series themselves */
};

/* Content of a product of the kind beside struct product. */
struct dedispersed {
    double *dms; /* [ndms] */
    size_t ndms;
    uint32_t *delays; /* [ndms][nchannels] */
    size_t ndelays;
    double *freq_hz; /* [nchannels] */
    size_t nchannels;
    char *filterbank; /* the input's path */
    char *mode, *edges;
    double constant, reference_hz;
};

/* For product_open(), which opens files in a child process (io/apart.h). */
extern const struct pack_type dedispersed_type;

#endif
