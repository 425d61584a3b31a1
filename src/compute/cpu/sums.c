#include "compute/cpu/sums.h"

#include "base/memory.h"
#include "compute/grains.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 /* channels that one thread adds up at a time */ };

struct sums {
    uint64_t integrate;
    size_t nchannels;
    double *carry; /* [streams][nchannels]: the dump that is not complete yet */
};

status_t sums_create(const struct channelise_spec *spec, uint64_t integrate, sums_t **out)
{
    status_t st = STATUS_OK;
    sums_t *sums = NULL;
    TRY(memory_zeroed(1, sizeof *sums, "sums of power", &sums));
    sums->integrate = integrate;
    sums->nchannels = spec->nchannels;
    TRY(memory_zeroed((size_t)spec->nstreams * spec->nchannels, sizeof(double), "sums of power",
                      &sums->carry));
    *out = sums;
    sums = NULL;
out:
    sums_destroy(sums);
    return st;
}

void sums_destroy(sums_t *sums)
{
    if (sums) {
        free(sums->carry);
        free(sums);
    }
}

size_t sums_grain_floats(const struct channelise_spec *spec, uint64_t integrate)
{
    return (size_t)grain_most(spec->max_spectra, integrate) * spec->nstreams * spec->nchannels;
}

size_t sums_grain(const sums_t *sums, uint64_t first, uint64_t number, int *add)
{
    *add = number != first && number % GRAIN != 0 && number % sums->integrate != 0;
    return (size_t)grain_index(first, number, sums->integrate);
}

/* What a task works on. */
struct block {
    sums_t *sums;
    const float *grains;
    uint64_t first, end;
    uint32_t nstreams;
    int begins;
    float *out;
};

/* `count` channels of one stream from `low` on, of one dump. */
static void sum_dump(const struct block *block, uint64_t dump, uint32_t stream, size_t low,
                     size_t count)
{
    const sums_t *sums = block->sums;
    uint64_t integrate = sums->integrate;
    uint64_t from = max_u64(dump * integrate, block->first);
    uint64_t to = min_u64((dump + 1) * integrate, block->end);
    uint64_t first_grain = grain_index(block->first, from, integrate);
    uint64_t last_grain = grain_index(block->first, to - 1, integrate);
    int is_complete = (dump + 1) * integrate <= block->end;
    double *carry = sums->carry + (size_t)stream * sums->nchannels + low;
    double total[PIECE] = {0};
    if (dump * integrate < block->first && !block->begins) {
        memcpy(total, carry, count * sizeof *total);
    }
    for (uint64_t grain = first_grain; grain <= last_grain; grain++) {
        const float *power =
            block->grains + ((size_t)grain * block->nstreams + stream) * sums->nchannels + low;
        for (size_t k = 0; k < count; k++) {
            total[k] += (double)power[k];
        }
    }
    if (is_complete) {
        uint64_t row = dump - block->first / integrate;
        float *out = block->out + ((size_t)row * block->nstreams + stream) * sums->nchannels + low;
        for (size_t k = 0; k < count; k++) {
            out[k] = (float)total[k];
        }
    } else {
        memcpy(carry, total, count * sizeof *carry);
    }
}

static uint64_t pieces(uint64_t nchannels)
{
    return (nchannels + PIECE - 1) / PIECE;
}

uint64_t sums_tasks(uint32_t nchannels, uint32_t nstreams)
{
    return pieces(nchannels) * nstreams;
}

void sums_finish(sums_t *sums, const float *grains, uint64_t first, uint64_t spectra,
                 uint32_t nstreams, int begins, uint64_t task, float *out)
{
    const struct block block = {sums, grains, first, first + spectra, nstreams, begins, out};
    uint32_t stream = (uint32_t)(task / pieces(sums->nchannels));
    size_t low = (size_t)(task % pieces(sums->nchannels)) * PIECE;
    size_t count = sums->nchannels - low < PIECE ? sums->nchannels - low : PIECE;
    uint64_t last = (first + spectra - 1) / sums->integrate;
    /* In order: the first dump takes what was carried, the last one leaves it. */
    for (uint64_t dump = first / sums->integrate; dump <= last; dump++) {
        sum_dump(&block, dump, stream, low, count);
    }
}
