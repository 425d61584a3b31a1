/* Looks at the largest value of each spectrum, and closer only where that is out of range. */
#include "pipeline/range.h"

#include "base/memory.h"
#include "plan/channelise_needs.h"
#include "plan/plan_ifs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 2^24 times the smallest float with all of its digits: values that matter beside a spectrum's
 * largest keep theirs where that is more. */
static const float range_small = FLT_MIN * 0x1p24F;

struct range {
    const struct channelise_plan *work;
    struct sample_coding coding; /* of the archive's samples */
    uint64_t large[MOST_OUTPUTS], small[MOST_OUTPUTS];
};

/* Whether sums of a bank can leave the range of floats at all. */
static int range_matters_of(const struct channelise_plan *work, uint32_t number)
{
    const struct channelise_plan_bank *bank = &work->banks[number];
    const struct sample_type *type = &sample_types[work->seen->format];
    double sum = 0;
    double most = 0;
    uint64_t integrate = 1;
    for (uint64_t i = 0; i < bank->samples_per_spectrum * bank->channelise.taps; i++) {
        sum += fabs(bank->folded[i]);
        most = fmax(most, fabs(bank->folded[i]));
    }
    for (uint32_t i = 0; i < bank->channelise.noutputs; i++) {
        integrate = max_u64(integrate, bank->channelise.outputs[i].integrate);
    }
    double volts = 2 * ldexp(1, (int)type->bits - 1) * sum;
    return volts * volts * (double)integrate > FLT_MAX / 4 || most * most < 0x1p-80;
}

static int range_matters(const struct channelise_plan *work)
{
    int matters = sample_types[work->seen->format].is_float;
    for (uint32_t i = 0; i < work->nbanks && !matters; i++) {
        matters = range_matters_of(work, i);
    }
    return matters;
}

status_t range_create(const struct channelise_plan *work, range_t **out)
{
    status_t st = STATUS_OK;
    range_t *range = NULL;
    if (!range_matters(work)) {
        *out = NULL;
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *range, "the range of power", &range));
    range->work = work;
    range->coding = work->filters ? *filter_plan_coding(work->filters)
                                  : channelise_coding(&work->banks[0].channelise);
    *out = range;
out:
    return st;
}

void range_destroy(range_t *range)
{
    free(range);
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

/* Whether any of samples first .. end - 1 is neither missing nor zero. Asked in ascending order:
 * those from the last `first` to *zero are known to be. */
static int range_has_samples(const struct range *range, const struct range_block *block,
                             uint32_t stream, const struct overlap_rows *samples, int64_t *zero)
{
    int64_t n = samples->first > *zero ? samples->first : *zero;
    double volts[2] = {0, 0};
    for (; n < samples->end && volts[0] == 0 && volts[1] == 0; n++) {
        (void)sample_volts(&range->coding, block->samples, &block->input, stream,
                           (size_t)(n - block->first_sample), volts);
    }
    int is_there = volts[0] != 0 || volts[1] != 0;
    *zero = is_there ? n - 1 : n;
    return is_there;
}

/* Whether samples of the block went into row `row` of it. */
static status_t range_was_made_of_some(const range_t *range, const struct range_block *block,
                                       uint32_t stream, uint64_t row, int64_t *zero, int *out)
{
    status_t st = STATUS_OK;
    struct overlap_rows needs[FILTER_PLAN_ROWS];
    uint64_t integrate = plan_ifs_output(&range->work->job->products[block->product]).integrate;
    uint64_t dump = block->from / integrate + row;
    uint64_t first = max_u64(dump * integrate, block->from);
    TRY(channelise_plan_samples_of(range->work, range->work->job->products[block->product].bank,
                                   first, (dump + 1) * integrate - first, 0, needs));
    *out = range_has_samples(range, block, stream, &needs[0], zero);
out:
    return st;
}

static status_t range_look_at(range_t *range, const struct range_block *block, uint32_t stream)
{
    status_t st = STATUS_OK;
    size_t channels = range->work->products[block->product].spec.bank.nchannels;
    uint32_t inner = range->work->banks[0].channelise.pol_inner;
    /* Of a coherency, whose powers come before what both have in common. */
    uint32_t line =
        block->sums > block->streams ? stream + stream / (2 * inner) * 2 * inner : stream;
    int64_t zero = INT64_MIN;
    for (uint64_t row = 0; row < block->rows; row++) {
        const float *power = block->power + (row * block->sums + line) * channels;
        float largest = range_largest(power, channels);
        if (largest >= range_small && largest <= FLT_MAX) {
            continue;
        }
        /* Sums of infinite volts are no numbers, and then all of them are. */
        uint64_t large;
        uint64_t small;
        range_count(power, channels, &large, &small);
        range->large[block->product] += large;
        int is_small = large == 0;
        if (is_small && largest == 0) {
            TRY(range_was_made_of_some(range, block, stream, row, &zero, &is_small));
        }
        range->small[block->product] += is_small ? small : 0;
    }
out:
    return st;
}

status_t range_look(range_t *range, const struct range_block *block)
{
    status_t st = STATUS_OK;
    for (uint32_t stream = 0; stream < block->streams && block->rows > 0; stream++) {
        TRY(range_look_at(range, block, stream));
    }
out:
    return st;
}

void range_counts(const range_t *range, uint32_t product, uint64_t *large, uint64_t *small)
{
    *large = range ? range->large[product] : 0;
    *small = range ? range->small[product] : 0;
}
