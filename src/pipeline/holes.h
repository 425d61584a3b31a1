/* Holes in products: rows that are NaN because a part of their input could not be read (run.on_bad:
 * nan). Which rows that is depends on the input alone, not on how the work is cut, unless streams
 * come in groups. */
#ifndef VOLTMILL_PIPELINE_HOLES_H
#define VOLTMILL_PIPELINE_HOLES_H

#include "plan/channelise_plan.h"

typedef struct holes holes_t;

/* For blocks of up to so many spectra; `work` must outlive it. Fails with DEVICE (memory). */
status_t holes_create(const struct channelise_plan *work, uint64_t block_spectra, holes_t **out);
void holes_destroy(holes_t *holes);

/* A block of spectra first .. first + count - 1, after that of those before, or the first of a
 * chunk.
 *
 *   bad    char [raw spectra of `count` spectra], 1: the raw spectrum could not be read; NULL: all
 * could */
void holes_begin(holes_t *holes, int is_first, uint64_t first, uint64_t count, const char *bad);

/* Makes rows of product i that the block completes NaN, where they need it. Gives char [rows], 1
 * for those; NULL when there is none.
 *
 *   data   float [rows][streams][nchannels] (x 2 if spectra) */
const char *holes_punch(holes_t *holes, uint32_t i, uint64_t rows, uint32_t streams, void *data);

#endif
