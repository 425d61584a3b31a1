/* Tables of shapes that are known to be good, all that can be, and what each means. */

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/ppf/mixed.h"
#include "compute/shared/grains.h"

#include <math.h>

enum {
    PAD_EVERY = 16,     /* pairs of local memory between two of padding */
    LEAST_GROUP = 64,   /* work-items that a group should have */
    MOST_SWIZZLE = 10,  /* bits of an address that are tried */
    HALVED_BATCH = 4,   /* two pairs, a half each */
    MOST_HOP_TAPS = 64, /* of an oversampled bank: their sums are one piece */
    GRAIN_BATCH = 4     /* of candidates whose batch does not divide a grain, or are not pairs */
};

/* Shapes to try: `bytes` is the size of a number of the samples (0: any), `is_long` whether there
 * are more than LONG_TAPS taps (-1: either). C = 1024: in the order of their time on an H200; the
 * others were made after the pattern of those, and timed for 8-bit samples and 8 taps. */
enum { LONG_TAPS = 16 };
static const struct candidate {
    uint32_t channels;
    int bytes, is_long;
    /* Teams 0: as the group size wants them. Buffers 0: the whole batch. */
    struct channelise_shape shape;
} candidates[] = {
    {32, 0, -1, {.values = 8, .batch = 5, .radix = {4, 8, 1, 1}}},
    {32, 0, -1, {.values = 8, .batch = 4, .radix = {8, 4, 1, 1}}},
    {32, 0, -1, {.values = 8, .batch = 2, .radix = {8, 4, 1, 1}}},
    {64, 0, -1, {.values = 8, .batch = 5, .radix = {8, 8, 1, 1}}},
    {64, 0, -1, {.values = 8, .batch = 4, .radix = {8, 8, 1, 1}}},
    {64, 0, -1, {.values = 8, .batch = 2, .radix = {8, 8, 1, 1}}},
    {128, 0, -1, {.values = 8, .batch = 5, .radix = {4, 4, 8, 1}}},
    {128, 0, -1, {.values = 8, .batch = 4, .radix = {4, 4, 8, 1}}},
    {128, 0, -1, {.values = 16, .batch = 2, .radix = {16, 8, 1, 1}}},
    {256, 0, 0, {.values = 8, .batch = 5, .radix = {4, 8, 8, 1}, .streaming = 1}},
    {256, 0, -1, {.values = 8, .batch = 5, .radix = {4, 8, 8, 1}}},
    {256, 0, -1, {.values = 8, .batch = 4, .radix = {4, 8, 8, 1}}},
    {256, 0, -1, {.values = 8, .batch = 5, .radix = {8, 8, 4, 1}}},
    {512, 0, 0, {.values = 8, .batch = 5, .radix = {4, 8, 4, 4}, .streaming = 1}},
    {512, 0, -1, {.values = 8, .batch = 5, .radix = {4, 8, 4, 4}}},
    {512, 0, -1, {.values = 8, .batch = 4, .radix = {8, 8, 8, 1}}},
    {512, 0, -1, {.values = 8, .batch = 5, .radix = {8, 8, 8, 1}}},
    {512, 0, 1, {.values = 8, .batch = 8, .radix = {8, 8, 8, 1}, .buffers = 2}},
    {1024, 1, 0, {.values = 8, .batch = 4, .radix = {8, 16, 8, 1}}},
    {1024, 1, 0, {.values = 8, .batch = 5, .radix = {4, 8, 8, 4}}},
    {1024, 1, 0, {.values = 8, .batch = 4, .radix = {4, 8, 8, 4}}},
    {1024, 1, 0, {.values = 8, .batch = 5, .radix = {4, 8, 8, 4}, .padded = 1}},
    {1024, 1, 0, {.values = 8, .batch = 5, .radix = {2, 8, 8, 8}, .padded = 1}},
    {1024, 1, 1, {.values = 8, .batch = 5, .radix = {4, 8, 8, 4}, .padded = 1}},
    {1024, 1, 1, {.values = 8, .batch = 5, .radix = {4, 8, 8, 4}}},
    {1024, 1, 1, {.values = 8, .batch = 6, .radix = {8, 4, 8, 4}}},
    {1024, 1, 1, {.values = 8, .batch = 8, .radix = {4, 8, 8, 4}, .buffers = 2, .streaming = 1}},
    {1024, 2, 0, {.values = 8, .batch = 4, .radix = {8, 16, 8, 1}}},
    {1024, 2, 0, {.values = 8, .batch = 5, .radix = {8, 4, 8, 4}}},
    {1024, 2, 0, {.values = 8, .batch = 4, .radix = {4, 8, 8, 4}}},
    {1024, 2, 0, {.values = 8, .batch = 5, .radix = {4, 8, 8, 4}}},
    {1024, 2, 0, {.values = 8, .batch = 5, .radix = {2, 8, 8, 8}, .padded = 1}},
    {1024, 2, 1, {.values = 8, .batch = 8, .radix = {4, 8, 8, 4}, .buffers = 2, .streaming = 1}},
    {1024, 2, 1, {.values = 8, .batch = 6, .radix = {4, 8, 8, 4}}},
    {1024, 2, 1, {.values = 8, .batch = 5, .radix = {8, 4, 8, 4}}},
    {1024, 4, 0, {.values = 8, .batch = 5, .radix = {8, 4, 8, 4}}},
    {1024, 4, 0, {.values = 8, .batch = 5, .radix = {8, 4, 8, 4}, .padded = 1}},
    {1024, 4, 0, {.values = 8, .batch = 5, .radix = {4, 8, 8, 4}, .padded = 1}},
    {1024, 4, 0, {.values = 8, .batch = 4, .radix = {8, 4, 8, 4}}},
    {1024, 4, 1, {.values = 8, .batch = 8, .radix = {4, 8, 8, 4}, .buffers = 2, .streaming = 1}},
    {1024, 4, 1, {.values = 8, .batch = 5, .radix = {8, 4, 8, 4}}},
    {1024, 4, 1, {.values = 8, .batch = 6, .radix = {4, 8, 8, 4}}},
    {2048, 0, -1, {.values = 8, .batch = 4, .radix = {4, 8, 8, 8}, .buffers = 2}},
    {2048, 0, -1, {.values = 8, .batch = 3, .radix = {4, 8, 8, 8}}},
    {2048, 0, -1, {.values = 8, .batch = 4, .radix = {8, 8, 8, 4}, .buffers = 2}},
    {2048, 0, -1, {.values = 16, .batch = 2, .radix = {8, 16, 16, 1}}},
    {4096, 0, 0, {.values = 16, .batch = 3, .radix = {16, 16, 16, 1}, .streaming = 1}},
    {4096, 0, -1, {.values = 16, .batch = 2, .radix = {16, 16, 16, 1}, .buffers = 1}},
    {4096, 0, -1, {.values = 8, .batch = 4, .radix = {8, 8, 8, 8}, .buffers = 1}},
    {1024, 1, 0, {.values = 8, .batch = 5, .radix = {4, 8, 8, 4}, .streaming = 1}},
    {1024, 1, 0, {.values = 8, .batch = 4, .radix = {4, 8, 8, 4}, .streaming = 1}},
    {1024, 2, 0, {.values = 8, .batch = 5, .radix = {8, 4, 8, 4}, .streaming = 1}},
    {1024, 4, 0, {.values = 8, .batch = 5, .radix = {8, 4, 8, 4}, .streaming = 1}},
    {2048, 0, 0, {.values = 8, .batch = 3, .radix = {4, 8, 8, 8}, .streaming = 1}},
    {2048, 0, 0, {.values = 8, .batch = 4, .radix = {4, 8, 8, 8}, .buffers = 2, .streaming = 1}},
    {4096,
     0,
     0,
     {.values = 16, .batch = 2, .radix = {16, 16, 16, 1}, .buffers = 1, .streaming = 1}},
    {8192, 0, 0, {.values = 16, .batch = 3, .radix = {16, 32, 16, 1}, .streaming = 1}},
    {8192, 0, -1, {.values = 16, .batch = 2, .radix = {8, 8, 8, 16}, .buffers = 1}},
    {8192, 0, -1, {.values = 16, .batch = 1, .radix = {8, 8, 8, 16}, .buffers = 1}},
};

int fused_looks(const struct channelise_spec *spec)
{
    return spec->format == SAMPLE_F32 && !spec->missing.is_none && !spec->missing.has_value &&
           !channelise_is_oversampled(spec);
}

static uint32_t fused_items_of(const struct channelise_spec *spec,
                               const struct channelise_shape *shape)
{
    return spec->channels / shape->values;
}

static uint32_t fused_stages_of(const struct channelise_shape *shape)
{
    uint32_t stages = 0;
    while (stages < CHANNELISE_STAGES && shape->radix[stages] > 1) {
        stages++;
    }
    return stages;
}

/* Whether the middle stage is made in halves of a batch, see the kernel. */
static int fused_is_halved(const struct channelise_shape *shape)
{
    return !mixed_makes(shape) && is_power_of_two(shape->values) &&
           shape->radix[0] == shape->values && shape->radix[1] == 2 * shape->values &&
           shape->radix[2] == shape->values && shape->radix[3] == 1;
}

/* Whether it gains by near points and rows asked for ahead: power of floats takes a tenth to a
 * quarter longer with them (H200). */
static int fused_is_light(const struct channelise_spec *spec, int mode)
{
    return mode != FUSED_GRAINS || sample_types[spec->format].bytes <= sizeof(int16_t);
}

/* Whether an item has one point of a row at a time, and one address for all. */
static int fused_is_near(const struct channelise_spec *spec, int mode,
                         const struct channelise_shape *shape)
{
    return shape->radix[0] == shape->values && fused_is_light(spec, mode) &&
           !channelise_is_oversampled(spec);
}

int fused_takes_fours(const struct channelise_spec *spec, int mode,
                      const struct channelise_shape *shape)
{
    return shape->kernel == KERNEL_FUSED && fused_is_near(spec, mode, shape) && spec->is_complex &&
           spec->taps % 4 == 0 && spec->taps <= LONG_TAPS &&
           !mixed_filters_neighbours(spec, mode, shape);
}

/* Bytes of local memory of a team. */
static uint64_t fused_team_bytes(const struct channelise_spec *spec,
                                 const struct channelise_shape *shape)
{
    uint64_t cells = spec->channels;
    if (shape->padded) {
        cells += cells / PAD_EVERY + 1;
    }
    return cells * shape->buffers * (shape->split ? PAIR_BYTES / 2 : PAIR_BYTES);
}

/* Whether two spectra may share cells of local memory: all of a batch are there at once. */
static int fused_can_pair(const struct channelise_shape *shape)
{
    return shape->batch % 2 == 0 && shape->buffers == shape->batch && !shape->split &&
           !shape->padded;
}

/* Samples, or pairs of real ones, from one spectrum to the next. */
static size_t fused_hop(const struct channelise_spec *spec)
{
    return channelise_hop(spec) / (spec->is_complex ? 1 : 2);
}

/* Fills in what depends on the device: buffers that fit, teams that make a group large enough.
 * Returns 0 when the shape does not fit. */
static int fused_fit(const struct channelise_spec *spec, int mode, const struct device_info *device,
                     struct channelise_shape *shape)
{
    uint32_t items = fused_items_of(spec, shape);
    if (channelise_is_oversampled(spec) &&
        (fused_hop(spec) % (shape->values / shape->radix[0]) != 0 || spec->taps > MOST_HOP_TAPS)) {
        return 0;
    }
    if (mixed_makes(shape)) {
        return mixed_fit_wide(spec, mode, device, shape);
    }
    if ((mode == FUSED_GRAINS || mode == FUSED_STEPS) && GRAIN % shape->batch != 0) {
        shape->batch = GRAIN_BATCH;
    }
    if (!shape->buffers || shape->buffers > shape->batch) {
        shape->buffers = shape->batch;
    }
    while (fused_team_bytes(spec, shape) > device->local_bytes && shape->buffers > 1) {
        shape->buffers = shape->buffers > 2 ? 2 : 1;
    }
    if (fused_team_bytes(spec, shape) > device->local_bytes) {
        shape->split = 1;
    }
    if (fused_team_bytes(spec, shape) > device->local_bytes || items > device->group_size) {
        return 0;
    }
    shape->teams = 1;
    while (items * shape->teams < LEAST_GROUP && items * shape->teams * 2 <= device->group_size &&
           fused_team_bytes(spec, shape) * shape->teams * 2 <= device->local_bytes) {
        shape->teams *= 2;
    }
    shape->streaming = shape->streaming && device->is_nvidia && mode == FUSED_SPECTRA;
    shape->paired = shape->paired && fused_can_pair(shape);
    return !fused_is_halved(shape) || (shape->paired && spec->is_complex);
}

/* Whether two spectra should share cells: between floats that are written it costs more than it
 * saves, unless batches are filtered in halves that share coefficients; long butterflies in place
 * leave no registers for it. */
static int fused_pairs(const struct channelise_spec *spec, int mode,
                       const struct channelise_shape *shape)
{
    return ((mode == FUSED_GRAINS || mode == FUSED_STEPS) && !mixed_makes(shape)) ||
           (fused_is_halved(shape) && channelise_is_oversampled(spec));
}

/* Returns whether the stages of a long spectrum run in place. For sums, only the longest (H200,
 * power over 64 spectra: 1.22 ms instead of 1.74). */
static int fused_suits_wide(const struct channelise_shape *candidate,
                            const struct channelise_spec *spec, int mode,
                            const struct device_info *device)
{
    enum { SUMS_FROM = 1 << 13 /* channels */ };
    struct channelise_shape shape = *candidate;
    shape.kernel = KERNEL_FUSED;
    return device->is_nvidia && spec->is_complex &&
           (mode == FUSED_SPECTRA || mode == FUSED_POWER ||
            (spec->channels >= SUMS_FROM && mixed_filters_neighbours(spec, mode, &shape)));
}

static int fused_suits(const struct candidate *candidate, const struct channelise_spec *spec,
                       int mode, const struct device_info *device)
{
    return candidate->channels == spec->channels &&
           (!fused_is_halved(&candidate->shape) ||
            (fused_pairs(spec, mode, &candidate->shape) && device->is_gpu)) &&
           (!mixed_makes(&candidate->shape) ||
            fused_suits_wide(&candidate->shape, spec, mode, device)) &&
           (!candidate->bytes || candidate->bytes == (int)sample_types[spec->format].bytes) &&
           (candidate->is_long < 0 || candidate->is_long == (spec->taps > LONG_TAPS));
}

uint32_t fused_shapes(const struct channelise_spec *spec, int mode,
                      const struct device_info *device, struct channelise_shape *out, uint32_t most)
{
    uint32_t count = 0;
    if (mixed_is(spec->channels)) {
        return mixed_shapes(spec, mode, device, out, most);
    }
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates && count < most; i++) {
        struct channelise_shape shape = candidates[i].shape;
        shape.kernel = KERNEL_FUSED;
        shape.paired = (uint32_t)fused_pairs(spec, mode, &shape);
        if (fused_suits(&candidates[i], spec, mode, device) &&
            fused_fit(spec, mode, device, &shape) && !shapes_have(out, count, &shape)) {
            out[count++] = shape;
        }
    }
    return count;
}

/* Whether the kernel can be built so: stages that make all channels, butterflies that an item's
 * values fill, loads of at most four neighbours, registers that hold the values. */
static int fused_can_be(const struct channelise_spec *spec, const struct channelise_shape *shape)
{
    enum { MOST_VALUES = 64, MOST_WIDE = 4 };
    uint32_t product = 1;
    int has_ended = 0;
    int is_halved = fused_is_halved(shape);
    if (is_halved && shape->batch != HALVED_BATCH) {
        return 0;
    }
    for (uint32_t i = 0; i < CHANNELISE_STAGES; i++) {
        product *= shape->radix[i];
        if ((!is_halved && shape->values % shape->radix[i] != 0) ||
            (has_ended && shape->radix[i] > 1)) {
            return 0;
        }
        has_ended |= shape->radix[i] == 1;
    }
    return product == spec->channels && shape->radix[1] > 1 && spec->channels > shape->values &&
           shape->values / shape->radix[0] <= MOST_WIDE &&
           shape->values * shape->batch <= MOST_VALUES;
}

int fused_number(const struct channelise_spec *spec, int mode, const struct device_info *device,
                 uint64_t i, struct channelise_shape *out, int *fits)
{
    static const uint32_t batches[] = {5, 4, 3, 2, 6, 8, 1};
    if (mixed_is(spec->channels)) {
        return mixed_number(spec, mode, device, i, out, fits);
    }
    struct channelise_shape shape = {.kernel = KERNEL_FUSED, .values = 4U << take_digit(&i, 3)};
    shape.batch = batches[take_digit(&i, 7)];
    for (uint32_t k = 0; k < CHANNELISE_STAGES; k++) {
        shape.radix[k] = 1U << take_digit(&i, 5);
    }
    uint32_t buffers = take_digit(&i, 3);
    shape.buffers = buffers < shape.batch ? buffers : 0;
    shape.split = take_digit(&i, 2);
    shape.padded = take_digit(&i, 2);
    shape.paired = take_digit(&i, 2);
    shape.streaming = take_digit(&i, device->is_nvidia && mode == FUSED_SPECTRA ? 2 : 1);
    struct channelise_shape wished = shape;
    *fits = fused_can_be(spec, &shape) && fused_fit(spec, mode, device, &shape) &&
            shape.split == wished.split && shape.paired == wished.paired &&
            (buffers == 0 || shape.buffers == buffers);
    *out = shape;
    return i == 0;
}

/* Place in local memory of value q of butterfly p of an item before exchange `stage`: what the
 * kernel's FUSED_EXCHANGE() writes to. */
static uint32_t fused_place(const struct channelise_spec *spec,
                            const struct channelise_shape *shape, uint32_t stage, uint32_t item,
                            uint32_t p, uint32_t q)
{
    uint32_t radix = shape->radix[stage], done = 1;
    for (uint32_t i = 0; i < stage; i++) {
        done *= shape->radix[i];
    }
    uint32_t f = stage ? item + p * fused_items_of(spec, shape) : shape->values / radix * item + p;
    return f / done * done * radix + f % done + done * q;
}

static uint32_t fused_swizzled(uint32_t at, uint32_t swizzle)
{
    return swizzle ? at ^ (at >> swizzle & (CELL_BANKS - 1)) : at;
}

/* The most work-items of the first ones, as many as there are banks, whose first value falls into
 * one bank. Reading is free of conflicts: neighbours read neighbouring places of an aligned block.
 */
static uint32_t fused_conflicts(const struct channelise_spec *spec,
                                const struct channelise_shape *shape, uint32_t stage,
                                uint32_t swizzle)
{
    uint32_t used[CELL_BANKS] = {0}, worst = 0;
    const uint32_t banks = shape->paired ? WIDE_BANKS : CELL_BANKS;
    for (uint32_t item = 0; item < banks; item++) {
        uint32_t in_team = item % fused_items_of(spec, shape);
        uint32_t bank =
            fused_swizzled(fused_place(spec, shape, stage, in_team, 0, 0), swizzle) % banks;
        worst = ++used[bank] > worst ? used[bank] : worst;
    }
    return worst;
}

static uint32_t fused_best_swizzle(const struct channelise_spec *spec,
                                   const struct channelise_shape *shape, uint32_t stage)
{
    uint32_t best = 0, least = UINT32_MAX;
    for (uint32_t swizzle = 0; swizzle <= MOST_SWIZZLE && !shape->padded; swizzle++) {
        uint32_t found = fused_conflicts(spec, shape, stage, swizzle);
        if (found < least) {
            best = swizzle;
            least = found;
        }
    }
    return best;
}

/* Pairs of all factors. */
static size_t fused_factor_count(const struct channelise_spec *spec,
                                 const struct channelise_shape *shape)
{
    return (spec->is_complex ? 0 : spec->channels) + stages_factor_count(shape->radix);
}

/* Returns the rows to prefetch at most, as measured; with more, rows leave the cache before they
 * are used (H200, 8 bit: C = 1024 0.85 ms with 4 MB, 1.03 with 8; 4096 1.12 with 2.5 to 4.4, 1.31
 * with 7; 8192 1.45 with 5, 1.52 with 10). */
static uint32_t fused_most_ahead(const struct channelise_spec *spec,
                                 const struct channelise_shape *shape)
{
    enum { MOST_BYTES = 4 << 20 };
    const size_t number = sample_types[spec->format].bytes;
    const int is_known =
        is_power_of_two(spec->channels) && (spec->format == SAMPLE_I8 || mixed_makes(shape));
    return is_known ? (uint32_t)(MOST_BYTES / (2 * number * spec->channels * shape->batch))
                    : UINT32_MAX;
}

/* Spectra from the first half of a batch to the second, where those of both halves share
 * coefficients (see the kernel's hop_fir()); 0: batches of neighbours. */
static uint32_t fused_apart(const struct channelise_spec *spec, int mode,
                            const struct channelise_shape *shape)
{
    enum { HALVES = 2 };
    const size_t hop = fused_hop(spec), step = spec->channels / shape->radix[0];
    /* Further apart they would hardly share samples. Sums of spectra want them in order. */
    return channelise_is_oversampled(spec) && mode != FUSED_GRAINS && mode != FUSED_STEPS &&
                   shape->batch % (2 * HALVES) == 0 && hop % step != 0 &&
                   shape->batch * hop % step == 0
               ? shape->batch
               : 0;
}

/* Batches ahead of which rows are asked for: while sums are made the next but one; before spectra
 * that go past the caches as many as are under way; some where halves of a batch are apart (4 to
 * 300 are within 1 %). Not for more taps: never measured. */
static uint32_t fused_ahead(const struct channelise_spec *spec, int mode,
                            const struct channelise_shape *shape, const struct device_info *device)
{
    enum { NEXT = 2, SOME = 64, ITEMS_UNDER_WAY = 800 /* of a unit, and some more */ };
    if (!device->is_nvidia) {
        return 0;
    }
    if (mode == FUSED_GRAINS) {
        return fused_is_light(spec, mode) && !channelise_is_oversampled(spec) ? NEXT : 0;
    }
    if (mode != FUSED_SPECTRA || spec->taps > LONG_TAPS) {
        return 0;
    }
    const uint32_t under_way = device->units * ITEMS_UNDER_WAY / fused_items_of(spec, shape);
    if (shape->streaming) {
        return (uint32_t)min_u64(under_way, fused_most_ahead(spec, shape));
    }
    return !channelise_is_oversampled(spec) ? 0 : fused_apart(spec, mode, shape) ? SOME : NEXT;
}

void fused_options(const struct channelise_spec *spec, int mode,
                   const struct channelise_shape *shape, const struct device_info *device,
                   struct text *out)
{
    uint32_t stages = fused_stages_of(shape);
    samples_options(spec, out);
    text_add(out, " -DKEPT_FIRST=%u -DKEPT=%u -DMODE=%d", spec->first_channel, spec->nchannels,
             mode);
    text_add(out, " -DVALUES=%u -DBATCH=%u -DTEAMS=%u -DBUFFERS=%u -DSPLIT=%u -DPADDED=%u",
             shape->values, shape->batch, shape->teams, shape->buffers, shape->split,
             shape->padded);
    text_add(out, " -DPAIRED=%u -DCHECKED=%d -DFOUND=%d", shape->paired, fused_looks(spec),
             (int)DEINTERLEAVE_GROUPS);
    text_add(out, " -DSTEP_BITS=%u", mode == FUSED_STEPS ? spec->outputs[0].bits : 0);
    text_add(out, " -DNEAR=%d -DFOURS=%d", fused_is_near(spec, mode, shape),
             fused_takes_fours(spec, mode, shape));
    text_add(out, " -DAHEAD=%u", fused_ahead(spec, mode, shape, device));
    hop_options(spec, out);
    text_add(out, " -DAPART=%u", fused_apart(spec, mode, shape));
    text_add(out, " -DSTREAMING=%d -DSTAGES=%u", shape->streaming && device->is_nvidia, stages);
    if (mixed_makes(shape)) {
        mixed_options(spec, mode, shape, device, fused_factor_count(spec, shape), out);
    }
    for (uint32_t i = 0; i < CHANNELISE_STAGES; i++) {
        text_add(out, " -DRADIX%u=%u", i, shape->radix[i]);
        if (i + 1 < CHANNELISE_STAGES) {
            text_add(out, " -DSWIZZLE%u=%u", i,
                     i + 1 < stages && !mixed_makes(shape) ? fused_best_swizzle(spec, shape, i)
                                                           : 0);
        }
    }
}

const enum program_source *fused_sources(const struct channelise_shape *shape, uint32_t *count)
{
    static const enum program_source powers[] = {SOURCE_SAMPLES, SOURCE_STEPS, SOURCE_BUTTERFLIES,
                                                 SOURCE_PPF_FUSED};
    static const enum program_source mixed[] = {
        SOURCE_SAMPLES,      SOURCE_STEPS,        SOURCE_BUTTERFLIES, SOURCE_BUTTERFLIES_MIXED,
        SOURCE_MIXED_STAGES, SOURCE_MIXED_FILTER, SOURCE_PPF_FUSED};
    const int is_mixed = mixed_makes(shape);
    *count = (uint32_t)((is_mixed ? sizeof mixed : sizeof powers) / sizeof *mixed);
    return is_mixed ? mixed : powers;
}

/* exp(-2 pi i part) */
static float *fused_put_twiddle(double part, float *out)
{
    const double angle = -2 * acos(-1.0) * part;
    out[0] = (float)cos(angle);
    out[1] = (float)sin(angle);
    return out + 2;
}

/* Writes factors by layers of a radix's butterflies, from the longest pairs on. Returns the end. */
static float *fused_layers(uint32_t radix, uint32_t done, float *out)
{
    /* e, h and so on: by the parts of a turn that quarter turns leave, bits reversed */
    static const uint32_t parts[] = {0, 4, 2, 6, 1, 5, 3, 7}; /* of 32 */
    for (uint32_t power = radix / 2; power >= 1; power /= 2) {
        uint32_t turns = radix / power > 4 ? radix / power / 4 : 1;
        for (uint32_t turn = 0; turn < turns; turn++) {
            for (uint32_t f = 0; f < done; f++) {
                out = fused_put_twiddle(
                    (double)power * f / ((double)done * radix) + parts[turn] / 32.0, out);
            }
        }
    }
    return out;
}

/* Writes the factors of a stage of `radix` after `done` points: [radix / 2][done] pairs, as
 * kernels/butterflies.cl names them, or [radix - 1][done] of a radix that is no power of two. */
static float *stage_factors(uint32_t radix, uint32_t done, float *out)
{
    if (is_power_of_two(radix)) {
        return fused_layers(radix, done, out);
    }
    for (uint32_t power = 1; power < radix; power++) {
        for (uint32_t f = 0; f < done; f++) {
            out = fused_put_twiddle((double)power * f / ((double)done * radix), out);
        }
    }
    return out;
}

size_t stages_factor_count(const uint32_t *radix)
{
    size_t count = 0, done = radix[0];
    for (uint32_t k = 1; k < CHANNELISE_STAGES && radix[k] > 1; k++) {
        count += done * (is_power_of_two(radix[k]) ? radix[k] / 2 : radix[k] - 1);
        done *= radix[k];
    }
    return count;
}

float *stages_factors(const uint32_t *radix, float *out)
{
    uint32_t done = radix[0];
    for (uint32_t k = 1; k < CHANNELISE_STAGES && radix[k] > 1; k++) {
        out = stage_factors(radix[k], done, out);
        done *= radix[k];
    }
    return out;
}

size_t fused_twiddle_count(const struct channelise_spec *spec, const struct channelise_shape *shape)
{
    const size_t numbers = mixed_makes(shape) ? mixed_order_count(spec, shape) : 0;
    return fused_factor_count(spec, shape) + (numbers + 1) / 2;
}

void fused_twiddles(const struct channelise_spec *spec, const struct channelise_shape *shape,
                    float *out)
{
    out = stages_factors(shape->radix, out);
    /* -i exp(-pi i k / C) */
    for (uint32_t k = 0; k < spec->channels && !spec->is_complex; k++) {
        out = fused_put_twiddle((double)k / (2.0 * spec->channels) + 0.25, out);
    }
    if (mixed_makes(shape)) {
        mixed_order(spec, shape, (uint32_t *)(void *)out);
    }
}

struct launch_size fused_size(const struct channelise_spec *spec, int mode,
                              const struct channelise_shape *shape, uint64_t spectra,
                              uint32_t streams, uint64_t first)
{
    uint64_t run = mode == FUSED_GRAINS ? GRAIN : shape->batch;
    uint64_t before = mode == FUSED_GRAINS ? first % GRAIN : 0;
    const uint64_t round = 2 * (uint64_t)fused_apart(spec, mode, shape);
    uint64_t runs = round ? ceil_div_u64(spectra, round) * (round / shape->batch)
                          : ceil_div_u64(before + spectra, run);
    runs *= streams;
    return (struct launch_size){(size_t)ceil_div_u64(runs, shape->teams),
                                (size_t)fused_items_of(spec, shape) * shape->teams};
}
