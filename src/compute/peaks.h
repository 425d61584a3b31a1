/* The stage `peaks`: searches series for bursts where another stage has left them, in the memory of
 * the device: the bytes of boxcar_run() (compute/boxcar.h), but only peaks come to the host.
 *
 * Series that the host must change first (sums that lack channels, NaN) are searched by its threads
 * instead: it makes no difference to the result. */
#ifndef VOLTMILL_COMPUTE_PEAKS_H
#define VOLTMILL_COMPUTE_PEAKS_H

#include "compute/backend.h"
#include "dsp/boxes.h"

typedef struct peaks peaks_t;

/* Boxes of more times are for the host's threads. */
enum { PEAKS_MOST_WIDTH = 256 };

/* Gives NULL where the host's threads are to search: its memory is where the backend computes, the
 * device has no double precision or too little local memory, boxes are wider than
 * PEAKS_MOST_WIDTH. `is_timed`: peaks_seconds() will be asked for. Fails with DEVICE. */
status_t peaks_create(backend_t *backend, const struct boxes *boxes, int is_timed, peaks_t **out);
void peaks_destroy(peaks_t *peaks);

/* Memory for runs of up to so many times of so many series, which else the first such run takes.
 * Fails with DEVICE: where the device is full, smaller blocks may do (backend_was_full()). */
status_t peaks_reserve(peaks_t *peaks, uint64_t nseries, uint64_t times);

/* Searches the blocks (boxes_block_at()) of times first .. end - 1 of all series; `first` is a
 * multiple of a block, `end` one or the series' end.
 *
 *   rows    float [nseries][stride]: times `from` on, all that the blocks need, written by an
 *           earlier stage of the same backend; fastest where stride and `from` are
 *           multiples of four
 *   out     struct peak [blocks][nseries][cells of the block]
 *
 * May return before the work is done: buffer_get() of `out` waits. Fails with DEVICE. */
struct peaks_rows {
    uint64_t nseries, stride, from;
};
status_t peaks_run(peaks_t *peaks, buffer_t *rows, const struct peaks_rows *of, uint64_t first,
                   uint64_t end, buffer_t *out);

/* Seconds of the kernels by the device's own clock since the last call. Waits. Fails with DEVICE.
 */
status_t peaks_seconds(peaks_t *peaks, double *out);

#endif
