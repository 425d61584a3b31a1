/* The backend alone on blocks of a job with filters: these and the filter bank behind them, from
 * memory to memory. */
#ifndef VOLTMILL_BENCH_BENCH_CHAIN_H
#define VOLTMILL_BENCH_BENCH_CHAIN_H

#include "plan/channelise_plan.h"

typedef struct bench_chain bench_chain_t;

/* Stages and some sets of buffers for a block of `work`, which has filters, with random
 * samples that lie as the run reads them, and a row of a few blocks to warm up. Fails with DEVICE.
 */
status_t bench_chain_create(const struct channelise_plan *work, backend_t *backend,
                            bench_chain_t **out);
void bench_chain_destroy(bench_chain_t *chain);

/* Blocks in a row, each waiting only for its own buffers, for `least` seconds at least: *rate is
 * spectra x streams a second (without a filter bank, rows of the last filter). Fails with DEVICE.
 */
status_t bench_chain_run(bench_chain_t *chain, double least, double *rate);

#endif
