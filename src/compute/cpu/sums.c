#include "compute/cpu/sums.h"

#include "base/memory.h"
#include "compute/grains.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 /* channels that one thread adds up at a time */ };

struct sums {
    uint64_t integrate;
    size_t nchannels;
    size_t all_channels; /* of all streams */
    float *grains;       /* [grains][streams][nchannels] */
    double *carry;       /* [streams][nchannels]: the dump that is not complete yet */
};

static size_t all_channels(const struct channelise_spec *spec)
{
    return (size_t)spec->nstreams * spec->nchannels;
}

status_t sums_create(const struct channelise_spec *spec, uint64_t integrate, sums_t **out)
{
    status_t st = STATUS_OK;
    sums_t *sums = NULL;
    uint64_t most = grain_most(spec->max_spectra, integrate);
    TRY(memory_zeroed(1, sizeof *sums, "sums of power", &sums));
    sums->integrate = integrate;
    sums->nchannels = spec->nchannels;
    sums->all_channels = all_channels(spec);
    TRY(memory_aligned((size_t)most * sums->all_channels, sizeof(float), "sums of power",
                       &sums->grains));
    TRY(memory_zeroed(sums->all_channels, sizeof(double), "sums of power", &sums->carry));
    *out = sums;
    sums = NULL;
out:
    sums_destroy(sums);
    return st;
}

void sums_destroy(sums_t *sums)
{
    if (sums) {
        free(sums->grains);
        free(sums->carry);
        free(sums);
    }
}

uint64_t sums_bytes(const struct channelise_spec *spec, uint64_t integrate)
{
    uint64_t most = grain_most(spec->max_spectra, integrate);
    return (most * sizeof(float) + sizeof(double)) * spec->nstreams * spec->nchannels;
}

void sums_begin(sums_t *sums)
{
    memset(sums->carry, 0, sums->all_channels * sizeof *sums->carry);
}

float *sums_grain(const sums_t *sums, uint64_t first, uint64_t number, uint32_t nstreams,
                  uint32_t stream, int *add)
{
    uint64_t grain = grain_index(first, number, sums->integrate);
    *add = number != first && number % GRAIN != 0 && number % sums->integrate != 0;
    return sums->grains + ((size_t)grain * nstreams + stream) * sums->nchannels;
}

/* What one call of sums_finish() works on. */
struct block {
    sums_t *sums;
    uint64_t first, end;
    uint32_t nstreams;
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
    if (dump * integrate < block->first) {
        memcpy(total, carry, count * sizeof *total);
        memset(carry, 0, count * sizeof *carry);
    }
    for (uint64_t grain = first_grain; grain <= last_grain; grain++) {
        const float *power =
            sums->grains + ((size_t)grain * block->nstreams + stream) * sums->nchannels + low;
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

void sums_finish(sums_t *sums, uint64_t first, uint64_t spectra, uint32_t nstreams,
                 uint32_t threads, float *out)
{
    const struct block block = {sums, first, first + spectra, nstreams, out};
    uint64_t first_dump = first / sums->integrate;
    uint64_t last_dump = (first + spectra - 1) / sums->integrate;
    size_t pieces = (sums->nchannels + PIECE - 1) / PIECE;
#pragma omp parallel for collapse(2) schedule(static) num_threads((int)threads)
    for (uint32_t stream = 0; stream < nstreams; stream++) {
        for (size_t piece = 0; piece < pieces; piece++) {
            size_t low = piece * PIECE;
            size_t count = sums->nchannels - low < PIECE ? sums->nchannels - low : PIECE;
            /* In order: the first dump takes what was carried, the last one leaves it. */
            for (uint64_t dump = first_dump; dump <= last_dump; dump++) {
                sum_dump(&block, dump, stream, low, count);
            }
        }
    }
}
