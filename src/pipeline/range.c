/* Looks at the largest value of each spectrum, and closer only where that is out of range. */
#include "pipeline/range.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 2^24 times the smallest float with all of its digits: values that matter beside a spectrum's
 * largest keep theirs where that is more. */
static const float range_small = FLT_MIN * 0x1p24F;

struct range {
    const struct channelise_plan *work;
    char *is_there; /* [block's raw spectra]: a sample of the stream is not zero */
    uint64_t large[MOST_OUTPUTS], small[MOST_OUTPUTS];
};

/* Whether sums can leave the range of floats at all. */
static int range_matters(const struct channelise_plan *work)
{
    const struct sample_type *type = &sample_types[work->archive->format];
    double sum = 0;
    double most = 0;
    uint64_t integrate = 1;
    if (type->is_float) {
        return 1;
    }
    for (uint64_t i = 0; i < work->samples_per_spectrum * work->channelise.taps; i++) {
        sum += fabs(work->folded[i]);
        most = fmax(most, fabs(work->folded[i]));
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        integrate = max_u64(integrate, work->job->products[i].integrate);
    }
    double volts = 2 * ldexp(1, (int)type->bits - 1) * sum;
    return volts * volts * (double)integrate > FLT_MAX / 4 || most * most < 0x1p-80;
}

status_t range_create(const struct channelise_plan *work, uint64_t block_spectra, range_t **out)
{
    status_t st = STATUS_OK;
    range_t *range = NULL;
    if (!range_matters(work)) {
        *out = NULL;
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *range, "the range of power", &range));
    range->work = work;
    TRY(memory_zeroed((size_t)(block_spectra + work->channelise.taps), 1, "the range of power",
                      &range->is_there));
    *out = range;
    range = NULL;
out:
    range_destroy(range);
    return st;
}

void range_destroy(range_t *range)
{
    if (range) {
        free(range->is_there);
        free(range);
    }
}

/* The largest of `count` values that are not negative; 0 where there are no numbers at all. Written
 * so that compilers take many at a time: all power passes here. */
static float range_largest(const float *values, size_t count)
{
    enum { WIDE = 32 };
    float most[WIDE] = {0};
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) {
        for (size_t j = 0; j < WIDE; j++) {
            most[j] = values[i + j] > most[j] ? values[i + j] : most[j];
        }
    }
    for (; i < count; i++) {
        most[0] = values[i] > most[0] ? values[i] : most[0];
    }
    for (size_t j = 1; j < WIDE; j++) {
        most[0] = most[j] > most[0] ? most[j] : most[0];
    }
    return most[0];
}

/* Counts values that are infinite or no numbers, and those below the smallest normal float. */
static void range_count(const float *values, size_t count, uint64_t *large, uint64_t *small)
{
    *large = 0;
    *small = 0;
    for (size_t i = 0; i < count; i++) {
        *large += isfinite(values[i]) ? 0 : 1;
        *small += values[i] < FLT_MIN ? 1 : 0;
    }
}

/* Whether any of some samples is neither missing nor zero. */
static int range_has_samples(const range_t *range, const struct range_block *block, uint32_t stream,
                             uint64_t first, uint64_t count)
{
    struct sample_coding coding = channelise_coding(&range->work->channelise);
    double volts[2] = {0, 0};
    if (!block->samples) {
        return 1;
    }
    for (uint64_t n = first; n < first + count && volts[0] == 0 && volts[1] == 0; n++) {
        (void)sample_volts(&coding, block->samples, &block->input, stream, (size_t)n, volts);
    }
    return volts[0] != 0 || volts[1] != 0;
}

/* Fills is_there for a stream. */
static void range_find_samples(range_t *range, const struct range_block *block, uint32_t stream)
{
    uint64_t period = range->work->samples_per_spectrum;
    for (uint64_t i = 0; i < channelise_inputs(&range->work->channelise, block->count); i++) {
        range->is_there[i] = (char)range_has_samples(range, block, stream, i * period, period);
    }
}

/* Whether samples of the block went into row `row` of it. */
static int range_was_made_of_some(const range_t *range, const struct range_block *block,
                                  uint64_t row)
{
    uint64_t integrate = range->work->job->products[block->product].integrate;
    uint64_t dump = block->from / integrate + row;
    uint64_t first = max_u64(dump * integrate, block->from) - block->from;
    uint64_t end =
        channelise_inputs(&range->work->channelise, (dump + 1) * integrate - block->from);
    return memchr(range->is_there + first, 1, (size_t)(end - first)) != NULL;
}

static void range_look_at(range_t *range, const struct range_block *block, uint32_t stream)
{
    size_t channels = range->work->channelise.nchannels;
    int is_known = 0; /* which samples there are */
    for (uint64_t row = 0; row < block->rows; row++) {
        const float *power = block->power + (row * block->streams + stream) * channels;
        float largest = range_largest(power, channels);
        if (largest >= range_small && largest <= FLT_MAX) {
            continue;
        }
        /* Sums of infinite volts are no numbers, and then all of them are. */
        uint64_t large;
        uint64_t small;
        range_count(power, channels, &large, &small);
        range->large[block->product] += large;
        if (large == 0 && largest == 0 && !is_known) {
            range_find_samples(range, block, stream);
            is_known = 1;
        }
        if (large == 0 && (largest > 0 || range_was_made_of_some(range, block, row))) {
            range->small[block->product] += small;
        }
    }
}

void range_look(range_t *range, const struct range_block *block)
{
    for (uint32_t stream = 0; stream < block->streams && block->rows > 0; stream++) {
        range_look_at(range, block, stream);
    }
}

void range_counts(const range_t *range, uint32_t product, uint64_t *large, uint64_t *small)
{
    *large = range ? range->large[product] : 0;
    *small = range ? range->small[product] : 0;
}
