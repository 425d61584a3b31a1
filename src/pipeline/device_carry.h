/* Data that one pass of a run leaves for the next: power that stays on the device between the
 * filter bank and dedispersion, and which file it belongs to. Rows that were dropped are read from
 * the product's file. */
#ifndef VOLTMILL_PIPELINE_DEVICE_CARRY_H
#define VOLTMILL_PIPELINE_DEVICE_CARRY_H

#include "compute/device_side.h"
#include "input/fbh5/fbh5.h"
#include "plan/channelise_plan.h"

struct device_carry {
    const int *are_done; /* [job->ndedisperse]: nothing is left to do of this dedispersion */
    enum backend_kind automatic; /* kind that AUTO means after a filter bank on a device */
    backend_t *backend;          /* left open for passes to come; NULL: they open their own */
    resident_rows_t *resident[MOST_OUTPUTS]; /* rows of products; NULL: not needed, or impossible */
    /* On rank 0: the files of the products, or of the job's filterbank (0), as they were made or
     * found. No bytes: not yet known. */
    struct identity files[MOST_OUTPUTS];
};

/* Creates stores on the device, between->resident, for rows of products that will be dedispersed
 * there, where the backend keeps rows and no later step changes them; between->are_done and
 * `automatic` are set before. They take memory when rows come. device_carry_end() frees them, also
 * after a failure. Fails with DEVICE (memory). */
status_t device_carry_begin(struct device_carry *between, backend_t *backend,
                            const struct channelise_plan *work);

/* On rank 0: notes which files later passes will read that no pass of this run has made. Fails with
 * DATA if one is missing, or is no ordinary file. */
status_t device_carry_note_found(struct device_carry *between, const struct job *job);

/* On rank 0: checks that the filterbank that dedispersion `number`, from 0, has opened is the file
 * that was made or found (between->files). Fails with DATA if it is another file, or its device and
 * inode are unknown. */
status_t device_carry_check(const struct device_carry *between, const struct job *job,
                            uint32_t number, const struct fbh5 *fbh5);

/* Leaves the backend open for a later pass that needs it, in between->backend, and returns 1. Else
 * returns 0, and the caller closes the backend. All ranks decide alike. */
int device_carry_leave(struct device_carry *between, backend_t *backend,
                       const struct channelise_plan *work);

/* Frees the stores of rows, and returns the backend that was left open, which the caller closes;
 * NULL: none was. Sets these members to NULL: may be repeated. */
backend_t *device_carry_end(struct device_carry *between);

#endif
