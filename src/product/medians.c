/* Radix selection: numbers in the order of unsigned whole ones, eleven bits at a time. */
#include "product/medians.h"

#include "base/memory.h"
#include "base/pool.h"

#include <math.h>

enum { BITS = 11, BINS = 1 << BITS };

struct medians {
    uint64_t columns;
    uint32_t threads;
    int pass;
    uint32_t *prefix; /* [columns] of the median's bits that are known */
    uint64_t *rank;   /* [columns] its place among the numbers that begin so; UINT64_MAX: none */
    uint64_t *counts; /* [columns][BINS] */
};

status_t medians_create(uint64_t columns, uint32_t threads, medians_t **out)
{
    SCOPED(medians_destroy_at) medians_t *medians = NULL;
    TRY(memory_zeroed(1, sizeof *medians, "medians", &medians));
    medians->threads = threads;
    TRY(memory_zeroed((size_t)columns, sizeof *medians->prefix, "medians", &medians->prefix));
    TRY(memory_zeroed((size_t)columns, sizeof *medians->rank, "medians", &medians->rank));
    TRY(memory_zeroed((size_t)columns * BINS, sizeof *medians->counts, "medians",
                      &medians->counts));
    *out = memory_move(&medians);
    return STATUS_OK;
}

uint64_t medians_bytes(uint64_t columns)
{
    return columns * (sizeof(uint32_t) + sizeof(uint64_t) * (1 + BINS));
}

void medians_destroy(medians_t *medians)
{
    if (medians) {
        MEMORY_FREE(medians->prefix, medians->rank, medians->counts, medians);
    }
}

/* Returns the lowest bit that a pass counts. */
static int medians_shift(int pass)
{
    static const int shifts[MEDIANS_PASSES] = {32 - BITS, 32 - 2 * BITS, 0};
    return shifts[pass];
}

/* Returns a whole number that ascends as the floats do. */
static uint32_t medians_key(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

/* Takes what the pass has counted: which bin the median is in. */
static void medians_settle(medians_t *medians)
{
    for (uint64_t c = 0; c < medians->columns; c++) {
        const uint64_t *counts = medians->counts + c * BINS;
        uint64_t all = 0;
        uint32_t bin = 0;
        for (int i = 0; i < BINS && medians->pass == 0; i++) {
            all += counts[i];
        }
        if (medians->pass == 0) {
            medians->rank[c] = all > 0 ? (all - 1) / 2 : UINT64_MAX;
        }
        if (medians->rank[c] == UINT64_MAX) {
            continue;
        }
        for (; medians->rank[c] >= counts[bin]; bin++) {
            medians->rank[c] -= counts[bin];
        }
        medians->prefix[c] |= bin << medians_shift(medians->pass);
    }
}

void medians_begin(medians_t *medians, int pass, uint64_t columns)
{
    if (pass == 0) {
        medians->columns = columns;
        memset(medians->prefix, 0, (size_t)columns * sizeof *medians->prefix);
    } else {
        medians_settle(medians);
    }
    medians->pass = pass;
    memset(medians->counts, 0, (size_t)columns * BINS * sizeof *medians->counts);
}

struct counting {
    medians_t *medians;
    const float *rows;
    uint64_t count, stride;
};

/* Counts one of medians->threads parts of the columns. */
static void medians_count(void *context, uint32_t thread, uint64_t part)
{
    const struct counting *counting = context;
    medians_t *medians = counting->medians;
    uint64_t each = ceil_div_u64(medians->columns, max_u64(medians->threads, 1));
    uint64_t first = min_u64(part * each, medians->columns);
    uint64_t end = min_u64(first + each, medians->columns);
    (void)thread;
    int shift = medians_shift(medians->pass);
    uint32_t mask = medians->pass + 1 < MEDIANS_PASSES ? BINS - 1 : (1U << (32 - 2 * BITS)) - 1;
    /* The bits above those that are counted are known already. */
    uint32_t known = medians->pass == 0 ? 0 : ~((mask << shift) | ((1U << shift) - 1));
    for (uint64_t row = 0; row < counting->count; row++) {
        for (uint64_t c = first; c < end; c++) {
            float value = counting->rows[row * counting->stride + c];
            uint32_t key = medians_key(value);
            if (!isnan(value) && (key & known) == medians->prefix[c]) {
                medians->counts[c * BINS + (key >> shift & mask)]++;
            }
        }
    }
}

void medians_add(medians_t *medians, const float *rows, uint64_t count, uint64_t stride)
{
    struct counting counting = {medians, rows, count, stride};
    pool_each(medians->threads, medians->threads, medians_count, &counting);
}

void medians_get(medians_t *medians, float *out)
{
    medians_settle(medians);
    for (uint64_t c = 0; c < medians->columns; c++) {
        uint32_t key = medians->prefix[c];
        uint32_t bits = key & 0x80000000U ? key & 0x7fffffffU : ~key;
        memcpy(&out[c], &bits, sizeof bits);
        out[c] = medians->rank[c] == UINT64_MAX ? NAN : out[c];
    }
}
