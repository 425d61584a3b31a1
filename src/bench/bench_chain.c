/* Filters and filter bank on random samples, block after block. */
#include "bench/bench_chain.h"

#include "base/clock.h"
#include "base/memory.h"
#include "pipeline/filter_chain.h"
#include "plan/channelise_needs.h"
#include "tune/problem/bank.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 3 };

struct bench_chain {
    const struct channelise_plan *work;
    uint64_t first, spectra; /* of a block: not the first, which shares nothing to its left */
    uint32_t streams;
    struct overlap_rows needs[JOB_FILTERS + 1]; /* of the block */
    size_t *re, *im;
    size_t step;
    filter_chain_t *filters;
    channelise_t *bank; /* NULL: voltages */
    struct chain_slot {
        buffer_t *in, *out[MOST_OUTPUTS];
        struct filter_block filtered;
    } slots[SLOTS];
};

void bench_chain_destroy(bench_chain_t *chain)
{
    for (uint32_t s = 0; chain && s < SLOTS; s++) {
        struct chain_slot *slot = &chain->slots[s];
        buffer_destroy(slot->in);
        for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
            buffer_destroy(slot->out[i]);
        }
        filter_block_free(&slot->filtered);
    }
    if (chain) {
        filter_chain_destroy(chain->filters);
        channelise_destroy(chain->bank);
        free(chain->re);
        free(chain->im);
    }
    free(chain);
}

static buffer_t *chain_last_rows(const struct bench_chain *chain, const struct chain_slot *slot)
{
    return filter_block_last(chain->filters, &slot->filtered);
}

static status_t chain_create_slot(struct bench_chain *chain, backend_t *backend, uint64_t words,
                                  uint64_t seed, struct chain_slot *slot)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = chain->work;
    const struct channelise_spec *spec = &work->banks[0].channelise;
    void *samples = NULL;
    TRY(buffer_create(backend, BUFFER_IN, words * sizeof(uint64_t), &slot->in));
    TRY(buffer_get(slot->in, &samples));
    bank_noise(work->archive->format, seed, words, samples);
    TRY(filter_block_create(backend, chain->filters, work->is_bank ? BUFFER_BETWEEN : BUFFER_OUT,
                            &slot->filtered));
    memcpy(slot->filtered.needs, chain->needs, sizeof chain->needs);
    for (uint32_t i = 0; i < spec->noutputs && work->is_bank; i++) {
        uint64_t rows = overlap_ends(&work->nodes[NODE_DUMPS + i].stage, chain->spectra);
        TRY(buffer_create(backend, BUFFER_OUT,
                          channelise_output_bytes(spec, i, chain->streams, rows), &slot->out[i]));
    }
out:
    return st;
}

/* Where samples lie, and words of a buffer of them. */
static status_t chain_lay_out(struct bench_chain *chain, uint64_t *words)
{
    status_t st = STATUS_OK;
    struct slab *slab = NULL;
    uint64_t samples;
    TRY(channelise_plan_samples(chain->work, chain->first, chain->spectra, 1, chain->needs));
    samples = (uint64_t)(chain->needs[0].end - chain->needs[0].first);
    TRY(slab_create(chain->work->archive, 0, chain->streams, &slab));
    TRY(memory_zeroed(chain->streams, sizeof *chain->re, "offsets", &chain->re));
    TRY(memory_zeroed(chain->streams, sizeof *chain->im, "offsets", &chain->im));
    slab_offsets(slab, samples, chain->re, chain->im);
    chain->step = (size_t)slab->width;
    *words = slab_bytes(slab, samples) / sizeof(uint64_t) + 1;
out:
    slab_destroy(slab);
    return st;
}

static status_t chain_await(const struct bench_chain *chain, const struct chain_slot *slot)
{
    status_t st = STATUS_OK;
    void *rows = NULL;
    if (!chain->work->is_bank) {
        TRY(buffer_get(chain_last_rows(chain, slot), &rows));
    }
    for (uint32_t i = 0; i < MOST_OUTPUTS && slot->out[i]; i++) {
        TRY(buffer_get(slot->out[i], &rows));
    }
out:
    return st;
}

static status_t chain_enqueue(struct bench_chain *chain, struct chain_slot *slot)
{
    status_t st = STATUS_OK;
    struct sample_input input = {chain->re, chain->im, chain->step};
    uint64_t rows[MOST_OUTPUTS];
    TRY(filter_chain_run(chain->filters, &slot->filtered, slot->in, &input, 0, chain->streams,
                         chain->needs[0], &input));
    if (chain->bank) {
        channelise_begin(chain->bank, chain->first);
        TRY(channelise_run(chain->bank, chain_last_rows(chain, slot), &input, chain->streams,
                           chain->spectra, 0, slot->out, rows));
    }
out:
    return st;
}

status_t bench_chain_run(bench_chain_t *chain, double least, double *rate)
{
    status_t st = STATUS_OK;
    double started = clock_now();
    uint64_t n = 0;
    for (; n < SLOTS || clock_now() - started < least; n++) {
        TRY(chain_await(chain, &chain->slots[n % SLOTS]));
        TRY(chain_enqueue(chain, &chain->slots[n % SLOTS]));
    }
    for (uint32_t s = 0; s < SLOTS; s++) {
        TRY(chain_await(chain, &chain->slots[s]));
    }
    *rate = (double)n * (double)chain->spectra * chain->streams / (clock_now() - started);
out:
    return st;
}

status_t bench_chain_create(const struct channelise_plan *work, backend_t *backend,
                            bench_chain_t **out)
{
    status_t st = STATUS_OK;
    struct bench_chain *chain = NULL;
    uint64_t words = 0;
    double rate = 0;
    TRY(memory_zeroed(1, sizeof *chain, "filters", &chain));
    chain->work = work;
    chain->streams = work->banks[0].channelise.nstreams;
    chain->spectra = min_u64(work->chunking.block_spectra, work->chunking.spectra);
    chain->first = min_u64(chain->spectra, work->chunking.spectra - chain->spectra);
    TRY(chain_lay_out(chain, &words));
    TRY(filter_chain_create(backend, work->filters, chain->streams,
                            channelise_plan_inputs(work, chain->spectra), &chain->filters));
    if (work->is_bank) {
        TRY(channelise_create(backend, &work->banks[0].channelise, &chain->bank));
        TRY(bank_scale(chain->bank, &work->banks[0].channelise));
    }
    for (uint32_t s = 0; s < SLOTS; s++) {
        TRY(chain_create_slot(chain, backend, words, s, &chain->slots[s]));
    }
    TRY(bench_chain_run(chain, 0, &rate));
    *out = chain;
    chain = NULL;
out:
    bench_chain_destroy(chain);
    return st;
}
