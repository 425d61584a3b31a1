/* Products: one ordinary HDF5 file each, complete only under its final name.
 *
 * Rank 0 creates `x.h5.part` with everything but the rows (product_create) and reserves its blocks
 * (base/file.h); ranks write rows at the offsets given here with plain writes; rank 0 puts the
 * counts in and renames it (product_finish). Nothing that varies between runs of the same job goes
 * in. docs/products.md describes the layouts. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_PRODUCT_H
#define VOLTMILL_PRODUCT_PRODUCT_H

#include "archive/archive.h"
#include "base/status.h"
#include "base/terms.h"
#include "plan/axes.h"

#include <stdint.h>

/* What a product holds and where it comes from. */
struct product_spec {
    enum product_kind kind;
    const char *job_text;   /* what determines its bytes (struct job_product) */
    const char *arithmetic; /* what rounded its numbers, for people; NULL: does not matter */
    const struct archive *archive;
    enum channel_order order;
    uint32_t channels, taps; /* of the filter bank */
    uint32_t samples_per_spectrum;
    uint32_t first_channel, nchannels; /* the channels that are kept of each coarse channel */
    uint64_t integrate;
    uint64_t rows;       /* dumps */
    const double *coeff; /* [taps][samples_per_spectrum] as they are, without the folded shift */
};

/* Where rows lie in the file: row r at data_offset + r * row_bytes, float [streams][nchannels]
 * (x 2 if complex); its time stamp, a double, at time_offset + 8 r. */
struct product_place {
    uint64_t data_offset;
    uint64_t time_offset;
    uint64_t row_bytes;
    uint64_t file_bytes;
};

uint64_t product_row_bytes(enum product_kind kind, uint64_t streams, uint64_t nchannels);
struct time_axis product_time(const struct product_spec *spec);
/* Sky frequency of one channel of the whole, coarse channels stitched. */
double product_frequency(const struct product_spec *spec, uint64_t at);

/* Writes `path` anew. Fails with NO_SPACE or DATA. */
status_t product_create(const char *path, const struct product_spec *spec,
                        struct product_place *place);

/* Puts in how many samples were missing: found while reading (no numbers, missing value), and
 * declared missing by the archive (gaps). */
status_t product_put_missing(const char *path, uint64_t missing, uint64_t gaps);

/* What a finished product says of itself: for `info` and `verify`. */
struct product {
    enum product_kind kind;
    char *path;
    char *job_text;
    char *version;
    char *inputs;
    char *telescope, *source; /* NULL when unknown */
    int has_start;
    struct utc start; /* of sample 0 of the observation */
    uint64_t rows, streams, frequencies, integrate;
    uint32_t channels, taps;
    double sample_rate_hz;
    double first_time, time_step; /* seconds after sample 0 */
    double *frequency_hz;         /* [frequencies] */
    double *coeff;                /* [taps * samples_per_spectrum] */
    uint64_t ncoeff;
    uint64_t missing, gaps;
    struct product_place place;
};

/* Whether the file is a product of ours, finished or not: what a run that died leaves. */
int product_is_ours(const char *path);

/* Gives *out = NULL when the file is HDF5 but none of our products. Fails with DATA. */
status_t product_open(const char *path, struct product **out);
void product_destroy(struct product *product);

#endif
