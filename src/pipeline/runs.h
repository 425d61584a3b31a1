/* Runs of missing samples of one stream; and the losses of rows after filters. */
#ifndef VOLTMILL_PIPELINE_RUNS_H
#define VOLTMILL_PIPELINE_RUNS_H

#include "input/read/reader.h"
#include "plan/filter_plan.h"

/* Samples first .. end - 1. */
struct run {
    int64_t first, end;
};

/* Starts from {0}; grows, and is kept: count = 0 empties it. */
struct runs {
    struct run *items;
    size_t count;
};
/* Frees a list of runs; takes {0}, and leaves it. */
void runs_free(struct runs *runs);

/* runs_add(): appends a run. runs_add_all(): appends all runs of `more`, which is another list.
 * Fail with DEVICE (memory), after which some of `more` may have been appended. */
status_t runs_add(struct runs *runs, struct run run);
status_t runs_add_all(struct runs *runs, const struct runs *more);
/* Puts runs in ascending order, in place; what meets becomes one, so that a sample is in one at
 * most. Cannot fail. */
void runs_join(struct runs *runs);
/* Computes the samples of `from` that are not in `less`, both joined (runs_join()), in place of
 * what *out had, which begins as {0}; `out` is neither of them. Fails with DEVICE (memory); *out is
 * then incomplete. */
status_t runs_subtract(const struct runs *from, const struct runs *less, struct runs *out);
/* Returns how many samples of joined runs are among first .. end - 1. */
uint64_t runs_count(const struct runs *runs, int64_t first, int64_t end);

/* Samples of each of which the same share is lost, in 1 / LOST_WHOLE. */
struct share {
    struct run run;
    uint32_t lost;
};

/* Starts from {0}, as struct runs does. */
struct shares {
    struct share *items;
    size_t count;
};
/* Frees a list of shares; takes {0}, and leaves it. */
void shares_free(struct shares *shares);

/* Appends a share: each sample of `run` has lost `lost` / LOST_WHOLE. Fails with DEVICE (memory);
 * the list is unchanged then. */
status_t shares_add(struct shares *shares, struct run run, uint32_t lost);
/* Unites all samples of joined `whole`, which have lost LOST_WHOLE, and those of `partly` that are
 * not among them, in place of what *out had. `work`: memory for it, begins as {0}. Fails with
 * DEVICE (memory); *out is then incomplete. */
status_t shares_unite(const struct runs *whole, const struct shares *partly, struct runs *work,
                      struct shares *out);

/* Samples that only their numbers show to be missing. */
struct runs_scan {
    struct sample_coding coding;
    const char *samples; /* from sample `first` on */
    int64_t first;
    uint64_t count;
    struct sample_input input;
};

enum { RUNS_TILE = 8 /* streams: a cache line of most archives */ };

/* Appends to found[s] the missing samples of stream first_stream + s of the scan's input, s <
 * `streams` <= RUNS_TILE, counted from 0. They are joined if found[s] was empty. Fails with DEVICE
 * (memory); found[] is then incomplete. */
status_t runs_find(const struct runs_scan *scan, uint32_t first_stream, uint32_t streams,
                   struct runs found[RUNS_TILE]);

/* Missing samples after filters: the share of the energy of each row that is lost.
 *
 * A row of a filter loses the share of the filter's energy |c|^2 (of a chirp: of its taps, all
 * alike) that multiplies missing samples, or the losses of rows of the filter before it. Samples
 * outside of the selection count as valid.
 *
 * The file converts runs of missing samples to rows of the first filter, then from filter to
 * filter. */
typedef struct filtered filtered_t;

/* Frees the losses of filters; takes NULL. */
void filtered_destroy(filtered_t *filtered);
SCOPED_END(filtered_destroy, filtered_t *)

/* Creates the losses of the filters, for up to `samples` input samples of a stream at a time. The
 * plan, which must outlive it, has filters and no synthesis. filtered_destroy() frees *out, which a
 * failure leaves unchanged. Fails with DEVICE (memory). */
status_t filtered_create(const struct filter_plan *plan, uint64_t samples, filtered_t **out);

/* Computes the losses of rows rows[count].first .. end - 1 of the last filter, in 1 / LOST_WHOLE,
 * of a stream (as the archive counts selected ones) whose samples have lost these shares, disjoint;
 * `count` is the plan's number of filters.
 *
 *   rows   [count + 1]: channelise_plan_samples_of()
 *
 * Returns uint32 [rows of the last filter], which stay the object's, and valid until it is called
 * again. Cannot fail. One thread at a time. */
const uint32_t *filtered_lost(filtered_t *filtered, uint32_t stream,
                              const struct overlap_rows *rows, const struct shares *shares);

#endif
