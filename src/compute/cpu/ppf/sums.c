/* Grains become dumps, in double; what a block leaves unfinished is carried. */
#include "compute/cpu/ppf/sums.h"

#include "base/memory.h"
#include "compute/shared/grains.h"

#include <string.h>

enum {
    PIECE = 64,        /* channels that are added up at a time */
    DUMPS_A_THREAD = 4 /* enough for threads to end together */
};

struct sums {
    uint64_t integrate;
    size_t nchannels;
    uint64_t many_dumps; /* of all sums: threads share them, instead of channels */
    /* [sums][nchannels]: the dump that is not complete yet. One is read while the other is
     * written, in turns from block to block. */
    double *carry[2];
};

status_t sums_create(const struct channelise_spec *spec, uint32_t output, sums_t **out)
{
    uint64_t floats = channelise_row_floats(spec, output, spec->nstreams);
    SCOPED(sums_destroy_at) sums_t *sums = NULL;
    TRY(memory_zeroed(1, sizeof *sums, "sums of power", &sums));
    sums->integrate = spec->outputs[output].integrate;
    sums->nchannels = spec->nchannels;
    sums->many_dumps = (uint64_t)DUMPS_A_THREAD * spec->threads;
    for (int i = 0; i < 2; i++) {
        TRY(memory_zeroed(floats, sizeof(double), "sums of power", &sums->carry[i]));
    }
    *out = memory_move(&sums);
    return STATUS_OK;
}

void sums_destroy(sums_t *sums)
{
    if (sums) {
        MEMORY_FREE(sums->carry[0], sums->carry[1], sums);
    }
}

/* Grain borders at or before spectrum `at`: multiples of GRAIN and of the dump's length, those that
 * are both counted once. */
static uint64_t grains_borders(uint64_t at, uint64_t integrate)
{
    /* The least common multiple: GRAIN is a power of two. */
    const uint64_t both = integrate * (GRAIN / min_u64(GRAIN, integrate & -integrate));
    return at / GRAIN + at / integrate - at / both;
}

uint64_t sums_grains(uint64_t spectra, uint64_t integrate)
{
    return GRAIN % integrate == 0 ? 2 : grain_most(spectra, integrate);
}

uint64_t grain_index(uint64_t first, uint64_t at, uint64_t integrate)
{
    if (GRAIN % integrate == 0) {
        return at / integrate > first / integrate;
    }
    return grains_borders(at, integrate) - grains_borders(first, integrate);
}

int sums_begins(const sums_t *sums, uint64_t first, uint64_t number, size_t *grain)
{
    if (number != first && number % GRAIN != 0 && number % sums->integrate != 0) {
        return 0;
    }
    *grain = (size_t)grain_index(first, number, sums->integrate);
    return 1;
}

/* At most PIECE channels of one sum from `low` on, of one dump. */
static void sum_piece(const sums_t *sums, const struct sums_block *block, uint64_t dump,
                      uint32_t sum, size_t low)
{
    size_t nchannels = sums->nchannels;
    size_t count = nchannels - low < PIECE ? nchannels - low : PIECE;
    uint64_t integrate = sums->integrate;
    uint64_t end = block->first + block->spectra;
    uint64_t from = max_u64(dump * integrate, block->first);
    uint64_t to = min_u64((dump + 1) * integrate, end);
    uint64_t first_grain = grain_index(block->first, from, integrate);
    uint64_t last_grain = grain_index(block->first, to - 1, integrate);
    size_t at = (size_t)sum * nchannels + low;
    double total[PIECE] = {0};
    if (dump * integrate < block->first && !block->begins) {
        memcpy(total, sums->carry[block->parity ^ 1] + at, count * sizeof *total);
    }
    for (uint64_t grain = first_grain; grain <= last_grain; grain++) {
        const float *power = block->grains + (size_t)grain * block->nsums * nchannels + at;
        for (size_t k = 0; k < count; k++) {
            total[k] += (double)power[k];
        }
    }
    if ((dump + 1) * integrate <= end) {
        uint64_t row = dump - block->first / integrate;
        float *out = block->out + (size_t)row * block->nsums * nchannels + at;
        for (size_t k = 0; k < count; k++) {
            out[k] = (float)total[k];
        }
    } else {
        memcpy(sums->carry[block->parity] + at, total, count * sizeof *total);
    }
}

int sums_is_row(const sums_t *sums, uint64_t first, uint64_t spectra, uint64_t dump)
{
    return GRAIN % sums->integrate == 0 && dump * sums->integrate >= first &&
           (dump + 1) * sums->integrate <= first + spectra;
}

/* The dumps that are made of grains: number *first, all that follow up to number *last, or where
 * some are rows, only these two. Returns how many. */
static uint64_t sums_dumps(const sums_t *sums, const struct sums_block *block, uint64_t *first,
                           uint64_t *last)
{
    const uint64_t begin = block->first / sums->integrate;
    *last = (block->first + block->spectra - 1) / sums->integrate;
    *first = sums_is_row(sums, block->first, block->spectra, begin) ? *last : begin;
    if (GRAIN % sums->integrate != 0) {
        return *last - *first + 1;
    }
    return (uint64_t)(*first < *last) + !sums_is_row(sums, block->first, block->spectra, *last);
}

/* Tasks: `dumps` times the block's sums times pieces of `channels` channels, which are all where
 * there are dumps enough. */
struct sums_cut {
    uint64_t dumps, first, last, pieces;
    size_t channels;
};

static struct sums_cut sums_cut_of(const sums_t *sums, const struct sums_block *block)
{
    struct sums_cut cut;
    cut.dumps = sums_dumps(sums, block, &cut.first, &cut.last);
    cut.channels = cut.dumps * block->nsums >= sums->many_dumps ? sums->nchannels : PIECE;
    cut.pieces = ceil_div_u64(sums->nchannels, cut.channels);
    return cut;
}

uint64_t sums_tasks(const sums_t *sums, const struct sums_block *block)
{
    const struct sums_cut cut = sums_cut_of(sums, block);
    return cut.dumps * block->nsums * cut.pieces;
}

void sums_finish(const sums_t *sums, const struct sums_block *block, uint64_t task)
{
    const struct sums_cut cut = sums_cut_of(sums, block);
    const uint64_t number = task / cut.pieces / block->nsums;
    const uint64_t dump = number == 1 && cut.dumps == 2 ? cut.last : cut.first + number;
    const uint32_t sum = (uint32_t)(task / cut.pieces % block->nsums);
    size_t low = (size_t)(task % cut.pieces) * cut.channels;
    const size_t end = low + cut.channels < sums->nchannels ? low + cut.channels : sums->nchannels;
    for (; low < end; low += PIECE) {
        sum_piece(sums, block, dump, sum, low);
    }
}
