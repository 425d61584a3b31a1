/* From spectra to what leaves the filter bank: those that are kept go where they belong, power and
 * what else is detected is added up, grain by grain. */
#include "compute/cpu/ppf/channelise_parts.h"

#include "dsp/steps/steps.h"

#include <string.h>

float *cpu_channelise_spectrum_row(const struct block *block, int output, uint32_t stream,
                                   uint64_t s)
{
    size_t row = (size_t)s * block->nstreams + stream;
    return block->out[output] + 2 * row * block->cpu->base.spec.nchannels;
}

/* Where a sum of output i over spectrum s of the block is kept; *add: it goes on. Spectra of one of
 * a batch's streams come in order. */
static float *deliver_sum_row(const struct block *block, size_t grain[MOST_OUTPUTS], uint32_t i,
                              uint32_t sum, uint64_t s, int *add)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t nsums = channelise_sums(&spec->outputs[i], block->nstreams);
    if (!cpu->sums[i]) {
        *add = 0;
        return block->out[i] + ((size_t)s * nsums + sum) * spec->nchannels;
    }
    *add = !sums_begins(cpu->sums[i], block->first, block->first + s, &grain[i]);
    return block->grains[i] + (grain[i] * nsums + sum) * spec->nchannels;
}

/* One spectrum of a pair's stream, and of the second together with the first's. */
static void deliver_pair(const struct block *block, size_t grain[MOST_OUTPUTS],
                         const struct batch *batch, const float *const kept[2], uint32_t i,
                         uint64_t s)
{
    const struct cpu *cpu = block->cpu;
    size_t nchannels = cpu->base.spec.nchannels;
    uint32_t inner = cpu->base.spec.pol_inner;
    int half = kept[1] != NULL;
    /* Streams are [outer][2][inner], sums [outer][4][inner]. */
    uint32_t first = batch->stream[0] / inner * inner * 2 + batch->stream[0] % inner;
    int add = 0;
    float *power = deliver_sum_row(block, grain, i, first + (half ? inner : 0), s, &add);
    cpu->kernels->power(kept[half], nchannels, add, power);
    if (half) {
        float *re = power + inner * nchannels;
        cpu->kernels->cross(kept[0], kept[1], nchannels, add, re, re + inner * nchannels);
    }
}

/* A spectrum in few bits. What is clipped is rare, and added up for all threads. */
static void deliver_steps(const struct block *block, const struct scratch *scratch, uint32_t i,
                          uint32_t stream, uint64_t s, const float *kept)
{
    const struct cpu *cpu = block->cpu;
    const size_t nchannels = cpu->base.spec.nchannels;
    const struct steps_form form = {.bits = cpu->base.spec.outputs[i].bits, .is_signed = 1};
    const size_t row = (size_t)s * block->nstreams + stream;
    char *out = (char *)block->out[i] + row * nchannels * 2 * (form.bits / 8);
    uint32_t any = 0;
    memset(scratch->low, 0, nchannels * sizeof *scratch->low);
    memset(scratch->high, 0, nchannels * sizeof *scratch->high);
    steps_store(form, kept, nchannels, scratch->offset, cpu->factors[i] + stream * nchannels, out,
                scratch->low, scratch->high);
    for (size_t k = 0; k < nchannels; k++) {
        any |= (uint32_t)(scratch->low[k] | scratch->high[k]);
    }
    uint32_t *counts = any ? clipped_line(&block->clipped[i], stream, s) : NULL;
    for (size_t k = 0; k < nchannels && any; k++) {
        if (scratch->low[k] | scratch->high[k]) {
            __atomic_fetch_add(&counts[2 * k], scratch->low[k], __ATOMIC_RELAXED);
            __atomic_fetch_add(&counts[2 * k + 1], scratch->high[k], __ATOMIC_RELAXED);
        }
    }
}

void cpu_channelise_deliver(const struct block *block, struct scratch *scratch,
                            const struct batch *batch, const float *const bins[2], int half,
                            uint64_t s)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t nchannels = spec->nchannels;
    size_t skip = 2 * (size_t)spec->first_channel;
    const float *const kept[2] = {bins[0] + skip, half ? bins[1] + skip : NULL};
    uint32_t stream = batch->stream[half];
    int add = 0;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        enum quantity quantity = spec->outputs[i].quantity;
        if ((int)i == block->direct) {
            continue;
        }
        if (spec->outputs[i].bits) {
            deliver_steps(block, scratch, i, stream, s, kept[half]);
        } else if (quantity == QUANTITY_SPECTRA) {
            memcpy(cpu_channelise_spectrum_row(block, (int)i, stream, s), kept[half],
                   nchannels * 2 * sizeof(float));
        } else if (quantity == QUANTITY_COHERENCY) {
            deliver_pair(block, scratch->grain[half], batch, kept, i, s);
        } else {
            float *sum = deliver_sum_row(block, scratch->grain[half], i, stream, s, &add);
            (quantity == QUANTITY_POWER ? cpu->kernels->power
                                        : cpu->kernels->squares)(kept[half], nchannels, add, sum);
        }
    }
}
