/* Energies lost of spectra, summed to dumps; what these weigh, and what becomes of them. */
#include "pipeline/dumps.h"

#include "base/memory.h"
#include "plan/plan_ifs.h"
#include "plan/plan_products.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Energy lost of a spectrum is counted in 1 / (ENERGY_WHOLE LOST_WHOLE) = 2^-60, that of a dump of
 * up to 2^40 spectra needs more than 64 bits. */
__extension__ typedef unsigned __int128 wide;

/* Of a stream's dump. */
struct lost {
    wide all;
    wide unread; /* that it would not have lost if all had been read */
};

struct dumps {
    const struct product_spec *spec;
    uint64_t integrate;    /* spectra of a row as the backend makes it, */
    size_t stream_floats;  /* and its numbers of a stream */
    uint64_t first, count; /* spectra of the block */
    uint32_t streams;      /* of the block */
    struct lost *open;     /* [streams] of dumps that no block has completed yet */
    int is_open;           /* some of them have lost something */
    float *weights;        /* [rows][streams] */
    char *is_unread; /* [rows][streams] 1: below the least weight, but not if all had been read */
    char *holes;     /* [rows] */
    int has_less;    /* some weight is below 1 */
    uint64_t blanked;
};

status_t dumps_create(const struct channelise_plan *work, uint32_t product, uint32_t streams,
                      uint64_t block_units, dumps_t **out)
{
    status_t st = STATUS_OK;
    size_t rows = (size_t)channelise_plan_rows(work, product, block_units);
    dumps_t *dumps = NULL;
    TRY(memory_zeroed(1, sizeof *dumps, "weights", &dumps));
    dumps->spec = &work->products[product].spec;
    dumps->integrate = plan_ifs_output(&work->job->products[product]).integrate;
    dumps->stream_floats = (size_t)(plan_products_made_bytes(work, product, 1) / sizeof(float));
    TRY(memory_zeroed(streams, sizeof *dumps->open, "weights", &dumps->open));
    TRY(memory_zeroed(rows * streams, sizeof *dumps->weights, "weights", &dumps->weights));
    TRY(memory_zeroed(rows * streams, 1, "weights", &dumps->is_unread));
    TRY(memory_zeroed(rows, 1, "holes", &dumps->holes));
    *out = dumps;
    dumps = NULL;
out:
    dumps_destroy(dumps);
    return st;
}

void dumps_destroy(dumps_t *dumps)
{
    if (!dumps) {
        return;
    }
    free(dumps->open);
    free(dumps->weights);
    free(dumps->is_unread);
    free(dumps->holes);
    free(dumps);
}

int dumps_begin(dumps_t *dumps, int is_first, uint64_t first, uint64_t count, uint32_t streams)
{
    uint64_t integrate = dumps->integrate;
    uint64_t rows = (first + count) / integrate - first / integrate;
    int is_open = !is_first && dumps->is_open;
    if (is_first) {
        memset(dumps->open, 0, streams * sizeof *dumps->open);
    }
    dumps->first = first;
    dumps->count = count;
    dumps->streams = streams;
    dumps->is_open = 0;
    dumps->has_less = 0;
    memset(dumps->is_unread, 0, (size_t)(rows * streams));
    for (uint64_t i = 0; i < rows * streams; i++) {
        dumps->weights[i] = 1;
    }
    return is_open;
}

/* 1 only of what has lost nothing. */
static float dumps_weight(wide lost, uint64_t integrate)
{
    static const float almost = 1 - FLT_EPSILON / 2;
    float weight = (float)(1 - (double)lost / (0x1p60 * (double)integrate));
    return lost > 0 && weight > almost ? almost : weight;
}

/* Whether a dump of this weight is NaN. */
static int dumps_is_blank(const dumps_t *dumps, float weight)
{
    return (double)weight < dumps->spec->weights.least ||
           (weight == 0 && (dumps->spec->weights.divide || dumps->spec->flag.is_on));
}

static void dumps_weigh(dumps_t *dumps, size_t at, struct lost lost)
{
    uint64_t integrate = dumps->integrate;
    float weight = dumps_weight(lost.all, integrate);
    dumps->weights[at] = weight;
    dumps->has_less |= weight < 1 || lost.unread > 0;
    dumps->is_unread[at] =
        dumps->spec->weights.are_kept
            ? dumps_is_blank(dumps, weight) &&
                  !dumps_is_blank(dumps, dumps_weight(lost.all - lost.unread, integrate))
            : lost.unread > 0;
}

void dumps_add(dumps_t *dumps, uint32_t stream, const uint64_t *lost, const uint64_t *unread)
{
    uint64_t integrate = dumps->integrate;
    struct lost sum = dumps->open[stream];
    uint64_t row = 0;
    for (uint64_t at = 0; at < dumps->count;) {
        uint64_t left = integrate - (dumps->first + at) % integrate;
        uint64_t end = at + min_u64(left, dumps->count - at);
        int is_whole = end - at == left;
        for (; at < end; at++) {
            sum.all += lost[at];
            sum.unread += unread ? unread[at] : 0;
        }
        if (is_whole) {
            dumps_weigh(dumps, (size_t)(row++ * dumps->streams + stream), sum);
            sum = (struct lost){0, 0};
        }
    }
    dumps->open[stream] = sum;
    dumps->is_open |= sum.all > 0;
}

/* A stream's part of a row: NaN, or as if it had lost nothing. Returns whether it is NaN. */
static int dumps_mend(const dumps_t *dumps, size_t at, float *data)
{
    float weight = dumps->weights[at];
    int is_blank =
        dumps->is_unread[at] || (dumps->spec->weights.are_kept && dumps_is_blank(dumps, weight));
    if (is_blank) {
        for (size_t k = 0; k < dumps->stream_floats; k++) {
            data[k] = NAN;
        }
    } else if (weight < 1 && dumps->spec->weights.divide) {
        for (size_t k = 0; k < dumps->stream_floats; k++) {
            data[k] = data[k] / weight;
        }
    }
    return is_blank;
}

const float *dumps_apply(dumps_t *dumps, uint64_t rows, void *data, const char **holes)
{
    int has_holes = 0;
    for (uint64_t row = 0; row < rows && dumps->has_less; row++) {
        dumps->holes[row] = 0;
        for (uint32_t s = 0; s < dumps->streams; s++) {
            size_t at = (size_t)row * dumps->streams + s;
            int is_blank = dumps_mend(dumps, at, (float *)data + at * dumps->stream_floats);
            dumps->holes[row] |= dumps->is_unread[at];
            dumps->blanked += is_blank && !dumps->is_unread[at];
        }
        has_holes |= dumps->holes[row];
    }
    *holes = has_holes ? dumps->holes : NULL;
    return dumps->weights;
}

int dumps_lost(const dumps_t *dumps, const float **weights, const char **unread)
{
    *weights = dumps->weights;
    *unread = dumps->is_unread;
    return dumps->has_less;
}

void dumps_note_blank(dumps_t *dumps, uint64_t count)
{
    dumps->blanked += count;
}

uint64_t dumps_blanked(const dumps_t *dumps)
{
    return dumps->blanked;
}
