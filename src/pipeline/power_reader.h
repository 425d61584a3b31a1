/* The input of a dedispersion: rows of a filterbank, ifs and times added up. */
#ifndef VOLTMILL_PIPELINE_POWER_READER_H
#define VOLTMILL_PIPELINE_POWER_READER_H

#include "plan/dedisperse_plan.h"

typedef struct power_reader power_reader_t;

/* Creates the reader of a dedispersion's filterbank. The plan must outlive it. May use HDF5. Fails
 * with DATA (a file that is missing or has changed), DEVICE (memory, descriptors), and leaves *out
 * unchanged. */
status_t power_reader_create(const struct dedisperse_plan *dedispersion, power_reader_t **out);
/* Frees a reader; takes NULL. */
void power_reader_destroy(power_reader_t *reader);
SCOPED_END(power_reader_destroy, power_reader_t *)

/* Part of a range of samples: after `lead` others, `count` samples from number `first` on. */
struct power_reader_part {
    uint64_t lead, first, count;
};
/* Returns the part of samples first .. first + count - 1 that the observation has. `first` may be
 * below 0. If it has none of them, `lead` is count, and the rest 0. */
struct power_reader_part power_reader_clip(const struct dedisperse_plan *dedispersion,
                                           int64_t first, uint64_t count);

/* Reads samples first .. first + count - 1 in time of all channels, numbered from the observation's
 * first after times were added up. Those outside of the observation are read as zeros.
 *
 *   out   [count][nchannels] of the plan's format
 *   bad   char [count] 1: a row of the sample was unreadable, and counts as zeros; may be NULL
 *         unless run.on_bad is nan
 *
 * May use HDF5: one thread at a time. Fails with DATA (also of rows that are unreadable, unless
 * run.on_bad is nan: then warns of the first ones), DEVICE (memory, descriptors, threads); `out`
 * and `bad` are then undefined. */
status_t power_reader_read(power_reader_t *reader, int64_t first, uint64_t count, void *out,
                           char *bad);

/* Samples of a filterbank that sums of a dedispersion omit: NaN, because too much of their input
 * was missing, and unreadable samples. A sum over some of its channels is scaled to all of them:
 * times channels that should enter / channels that do; NaN where less than a tenth does. The
 * omission depends only on the sum's own samples, so it is independent of how the work is cut. */
#define LEFT_OUT_OF_ALL UINT32_MAX
struct left_out_run {
    uint32_t channel; /* LEFT_OUT_OF_ALL: of each */
    int is_unread;    /* could not be read, now or when the power was made */
    uint64_t first, end;
};

/* Starts from {0}; grows, and is kept: count = 0 empties it. */
struct left_out {
    struct left_out_run *runs;
    size_t count, room;
};

/* Frees a list, and leaves {0}. */
void left_out_free(struct left_out *list);

/* Begins a block's list with what `before`, the list of the block before (or this very list), has
 * about inputs from .. from + count - 1 of that block: they are the first `count` inputs of this
 * one. Fails with DEVICE (memory); *list then lacks some. */
status_t left_out_keep(const struct left_out *before, uint64_t from, uint64_t count,
                       struct left_out *list);

/* Appends NaN and bad samples among inputs from .. from + count - 1, which were just read, to the
 * list, and sets them to 0.
 *
 *   samples   [from + count][nchannels] of the plan's format
 *   bad       char [from + count] 1: unreadable; NULL: none is
 *   first     input sample of the plan that is the block's first
 *
 * Fails with DATA if marks of the file cannot be read, DEVICE (memory); some of them may then have
 * been appended. */
status_t left_out_find(const struct dedisperse_plan *plan, power_reader_t *reader, int64_t first,
                       uint64_t from, uint64_t count, char *samples, const char *bad,
                       struct left_out *list);

/* Scales the first `count` sums of each DM of the group in which samples of the list are omitted,
 * or makes them NaN.
 *
 *   out     float [ndms][stride]
 *   holes   char [ndms] 1: some became NaN because samples of theirs were unreadable
 *   share   [ndms][stride] share of the channels that entered, BOXCAR_ALL being all; 0: NaN; not
 *           set if the list is empty, as all entered; NULL: not needed
 *
 * ndms and the delays are those of `group`. Sets *has_holes to whether there is any hole. Fails
 * with DEVICE (memory); sums are unchanged then. */
status_t left_out_scale(const struct dedisperse_plan *plan, const struct dm_group *group,
                        const struct left_out *list, uint64_t count, uint64_t stride, float *out,
                        char *holes, int *has_holes, uint8_t *share);

#endif
