/* Energies lost of spectra, summed to the dumps of one product; and what these make of its rows.
 * For the writer thread. */
#ifndef VOLTMILL_PIPELINE_WEIGHTS_DUMPS_H
#define VOLTMILL_PIPELINE_WEIGHTS_DUMPS_H

#include "plan/channelise_plan.h"

typedef struct dumps dumps_t;

/* Of a product and at most so many streams, or pairs of them, for blocks of up to so many units;
 * `work` must outlive it. Fails with DEVICE (memory). */
status_t dumps_create(const struct channelise_plan *work, uint32_t product, uint32_t streams,
                      uint64_t block_units, dumps_t **out);
void dumps_destroy(dumps_t *dumps);

/* Begins a block of spectra: as if it lacked nothing. Dumps that an earlier block has begun go on,
 * unless it is the first of a chunk; returns whether they have lost something. */
int dumps_begin(dumps_t *dumps, int is_first, uint64_t first, uint64_t count, uint32_t streams);

/* What the block's spectra of a stream, of its first one on, have lost: [count], in 2^-60 of a
 * spectrum's energy; `unread`, the part that they would not have lost if all had been read. NULL:
 * none. */
void dumps_add(dumps_t *dumps, uint32_t stream, const uint64_t *lost, const uint64_t *unread);

/* As weights_apply(). */
const float *dumps_apply(dumps_t *dumps, uint64_t rows, void *data, const char **holes);

/* Instead: what the block's dumps have lost; 0: nothing.
 *
 *   weights   float [rows][streams]
 *   unread    char [rows][streams] 1: below the least weight, but not if all had been read */
int dumps_lost(const dumps_t *dumps, const float **weights, const char **unread);

/* So many dumps more became NaN by weights. */
void dumps_note_blank(dumps_t *dumps, uint64_t count);

/* Dumps of single streams that became NaN, but not by what could not be read, so far. */
uint64_t dumps_blanked(const dumps_t *dumps);

#endif
