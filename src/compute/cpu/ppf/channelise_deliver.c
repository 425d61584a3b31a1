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

/* What is kept of piece p: `count` channels (0: none), which lie at `from` in the bins and become
 * channel `to` of what is kept. */
struct kept {
    size_t from, to, count;
};

static struct kept deliver_kept(const struct channelise_spec *spec, const struct bins_cut *cut,
                                size_t p)
{
    const size_t first = cut->first + p * cut->step;
    const size_t end = first + cut->count;
    const size_t low = first > spec->first_channel ? first : spec->first_channel;
    const size_t last = (size_t)spec->first_channel + spec->nchannels;
    const size_t high = end < last ? end : last;
    if (low >= high) {
        return (struct kept){0, 0, 0};
    }
    return (struct kept){p * cut->count + low - first, low - spec->first_channel, high - low};
}

/* One spectrum of a pair's stream, and of the second together with the first's. */
static void deliver_pair(const struct block *block, size_t grain[MOST_OUTPUTS],
                         const struct batch *batch, const float *const bins[2], int half,
                         uint32_t i, uint64_t s, const struct bins_cut *cut)
{
    const struct cpu *cpu = block->cpu;
    size_t nchannels = cpu->base.spec.nchannels;
    uint32_t inner = cpu->base.spec.pol_inner;
    /* Streams are [outer][2][inner], sums [outer][4][inner]. */
    uint32_t first = batch->stream[0] / inner * inner * 2 + batch->stream[0] % inner;
    int add = 0;
    float *power = deliver_sum_row(block, grain, i, first + (half ? inner : 0), s, &add);
    float *re = power + inner * nchannels;
    for (size_t p = 0; p < cut->pieces; p++) {
        const struct kept kept = deliver_kept(&cpu->base.spec, cut, p);
        const size_t from = 2 * kept.from;
        cpu->kernels->power(bins[half] + from, kept.count, add, power + kept.to);
        if (half) {
            cpu->kernels->cross(bins[0] + from, bins[1] + from, kept.count, add, re + kept.to,
                                re + inner * nchannels + kept.to);
        }
    }
}

/* A part of a spectrum in few bits. What is clipped is rare, and added up for all threads. */
static void deliver_steps(const struct block *block, const struct scratch *scratch, uint32_t i,
                          uint32_t stream, uint64_t s, const float *bins, const struct kept *kept)
{
    const struct cpu *cpu = block->cpu;
    const size_t nchannels = cpu->base.spec.nchannels;
    const size_t count = kept->count;
    const struct steps_form form = {.bits = cpu->base.spec.outputs[i].bits, .is_signed = 1};
    const size_t row = (size_t)s * block->nstreams + stream;
    char *out = (char *)block->out[i] + (row * nchannels + kept->to) * 2 * (form.bits / 8);
    uint32_t any = 0;
    memset(scratch->low, 0, count * sizeof *scratch->low);
    memset(scratch->high, 0, count * sizeof *scratch->high);
    steps_store(form, bins + 2 * kept->from, count, scratch->offset,
                cpu->factors[i] + stream * nchannels + kept->to, out, scratch->low, scratch->high);
    for (size_t k = 0; k < count; k++) {
        any |= (uint32_t)(scratch->low[k] | scratch->high[k]);
    }
    uint32_t *counts =
        any ? clipped_line(&block->clipped[i], stream, block->before + s) + 2 * kept->to : NULL;
    for (size_t k = 0; k < count && any; k++) {
        if (scratch->low[k] | scratch->high[k]) {
            __atomic_fetch_add(&counts[2 * k], scratch->low[k], __ATOMIC_RELAXED);
            __atomic_fetch_add(&counts[2 * k + 1], scratch->high[k], __ATOMIC_RELAXED);
        }
    }
}

static void deliver_spectra(const struct block *block, uint32_t i, uint32_t stream, uint64_t s,
                            const float *bins, const struct bins_cut *cut)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    float *row = cpu_channelise_spectrum_row(block, (int)i, stream, s);
    if (cut->count == FINE_COLUMNS && spec->nchannels == spec->channels) {
        cpu->kernels->spread(bins, cut->pieces, row + 2 * cut->first, 2 * cut->step);
        return;
    }
    for (size_t p = 0; p < cut->pieces; p++) {
        const struct kept kept = deliver_kept(spec, cut, p);
        memcpy(row + 2 * kept.to, bins + 2 * kept.from, kept.count * 2 * sizeof(float));
    }
}

void cpu_channelise_deliver(const struct block *block, struct scratch *scratch,
                            const struct batch *batch, const float *const bins[2], int half,
                            uint64_t s, const struct bins_cut *cut)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    uint32_t stream = batch->stream[half];
    int add = 0;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        enum quantity quantity = spec->outputs[i].quantity;
        if ((int)i == block->direct) {
            continue;
        }
        if (spec->outputs[i].bits) {
            for (size_t p = 0; p < cut->pieces; p++) {
                const struct kept kept = deliver_kept(spec, cut, p);
                if (kept.count > 0) {
                    deliver_steps(block, scratch, i, stream, s, bins[half], &kept);
                }
            }
        } else if (quantity == QUANTITY_SPECTRA) {
            deliver_spectra(block, i, stream, s, bins[half], cut);
        } else if (quantity == QUANTITY_COHERENCY) {
            deliver_pair(block, scratch->grain[half], batch, bins, half, i, s, cut);
        } else {
            float *sum = deliver_sum_row(block, scratch->grain[half], i, stream, s, &add);
            for (size_t p = 0; p < cut->pieces; p++) {
                const struct kept kept = deliver_kept(spec, cut, p);
                (quantity == QUANTITY_POWER ? cpu->kernels->power : cpu->kernels->squares)(
                    bins[half] + 2 * kept.from, kept.count, add, sum + kept.to);
            }
        }
    }
}
