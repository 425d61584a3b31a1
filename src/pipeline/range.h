/* Whether power stays within what 32-bit floats hold: sums beyond 3.4e38 are infinite, and those of
 * very small volts vanish. Looked at where it can happen: samples that are floats, as they are
 * behind filters, or coefficients beyond reason. */
#ifndef VOLTMILL_PIPELINE_RANGE_H
#define VOLTMILL_PIPELINE_RANGE_H

#include "plan/channelise_plan.h"

typedef struct range range_t;

/* A block as it leaves the filter bank. */
struct range_block {
    uint32_t product;
    uint64_t from; /* the first spectrum of its bank */
    uint64_t rows; /* dumps that it completes */
    uint32_t streams;
    uint32_t sums;             /* lines of a row: as many as streams, or twice, of a coherency */
    const float *power;        /* [rows][sums][nchannels] */
    const char *samples;       /* the archive's that it is made of, from */
    int64_t first_sample;      /* this one on */
    struct sample_input input; /* where they lie in `samples` */
};

/* *out = NULL where nothing of the kind can happen, which is the same on all ranks. `work` must
 * outlive it. Fails with DEVICE (memory). */
status_t range_create(const struct channelise_plan *work, range_t **out);
void range_destroy(range_t *range);

/* Counts what is out of range in the rows of a power product. Power that is zero because its
 * samples are (or are missing) is not. Fails with USAGE as channelise_plan_samples(). */
status_t range_look(range_t *range, const struct range_block *block);

/* Values of a product, so far: infinite or no numbers; zero, or smaller than normal floats, where
 * the largest of their spectrum is hardly more. */
void range_counts(const range_t *range, uint32_t product, uint64_t *large, uint64_t *small);

#endif
