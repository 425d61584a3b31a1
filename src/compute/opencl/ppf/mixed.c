/* Channels that are products of 2, 3 and 5, and long powers of two: how they are divided into
 * stages, where values are between these, and how long spectra are filtered. */
#include "compute/opencl/ppf/mixed.h"

#include "base/memory.h"
#include "compute/shared/grains.h"

#include <string.h>

enum {
    MOST_VALUES = 50, /* of an item, of all spectra of its batch */
    MORE_TEAMS = 3,   /* of a group than are needed, that a search tries */
    MOST_ROUNDS = 16, /* of the middle stage: the kernel unrolls them */
    LEAST_CHANNELS = 64,
    LOCAL = 48 << 10,       /* bytes of local memory of a group that most devices have, */
    MOST_LOCAL = 100 << 10, /* and that are asked for, */
    WIDE_LOCAL = 192 << 10, /* by powers of two */
    WIDE_VALUES = 16,       /* of an item, of these, */
    WIDE_GRAIN_BATCH = 2,   /* spectra of its batch where sums are made of them */
    FEW_SHAPES = 6,         /* to try, */
    MORE_SHAPES = 9         /* with those of more local memory than a device says it has */
};

/* Radices that the first stage can have, those of the middle one, 1: there is none, and of the
 * last. kernels/mixed/butterflies_mixed.cl makes them. */
static const uint32_t firsts[] = {5, 6, 8, 9, 10, 12, 15, 16, 20};
static const uint32_t middles[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 30};
static const uint32_t lasts[] = {2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16};
static const uint32_t batches[] = {5, 4, 3, 2, 6, 8, 1};
enum {
    FIRSTS = sizeof firsts / sizeof *firsts,
    MIDDLES = sizeof middles / sizeof *middles,
    LASTS = sizeof lasts / sizeof *lasts,
    BATCHES = sizeof batches / sizeof *batches
};

/* Where values are: see the kernel. */
struct mixed_layout {
    uint32_t step, span; /* cells from one value of an item to the next, and of a spectrum */
    int is_xored;
};

static uint32_t mixed_last(const struct channelise_shape *shape)
{
    return shape->radix[2] > 1 ? shape->radix[2] : shape->radix[1];
}

static uint32_t mixed_bank_count(const struct channelise_shape *shape)
{
    return shape->paired ? WIDE_BANKS : CELL_BANKS;
}

/* Returns the spectra of a team that have cells of their own. */
static uint32_t mixed_layers(const struct channelise_shape *shape)
{
    return shape->paired ? shape->batch / 2 : shape->batch;
}

/* Sets the radices of C = first middle last. Returns 0 if there are none. */
static int mixed_radices(uint32_t channels, uint32_t first, uint32_t last, uint32_t *radix)
{
    if (first % last != 0 || channels % (first * last) != 0) {
        return 0;
    }
    const uint32_t middle = channels / (first * last);
    int is_known = 0;
    for (uint32_t i = 0; i < MIDDLES; i++) {
        is_known |= middles[i] == middle;
    }
    radix[0] = first;
    radix[1] = middle > 1 ? middle : last;
    radix[2] = middle > 1 ? last : 1;
    radix[3] = 1;
    return is_known;
}

int mixed_is(uint32_t channels)
{
    uint32_t radix[CHANNELISE_STAGES];
    int is_made = 0;
    for (uint32_t i = 0; i < FIRSTS * LASTS; i++) {
        is_made |= mixed_radices(channels, firsts[i / LASTS], lasts[i % LASTS], radix);
    }
    return is_made && channels >= LEAST_CHANNELS && !is_power_of_two(channels);
}

/* Butterfly f of value q of the first stage, in a layer of the middle stage: its first cell. */
static uint32_t mixed_cell(const struct mixed_layout *layout, uint32_t layer, uint32_t q,
                           uint32_t f)
{
    return layer * layout->span + q * layout->step + (layout->is_xored ? f ^ q : f);
}

/* Butterflies of the middle stage. */
static uint32_t mixed_jobs(const struct channelise_spec *spec, const struct channelise_shape *shape)
{
    return shape->radix[2] > 1 ? mixed_layers(shape) * (spec->channels / shape->radix[1]) : 0;
}

/* Whether these need an order: not where as many neighbours as there are banks have one q, and an
 * item the same one in all rounds. */
static int mixed_is_ordered(const struct channelise_spec *spec,
                            const struct channelise_shape *shape)
{
    return !is_power_of_two(spec->channels) && shape->radix[2] > 1;
}

uint32_t mixed_order_count(const struct channelise_spec *spec, const struct channelise_shape *shape)
{
    return mixed_is_ordered(spec, shape) ? mixed_jobs(spec, shape) : 0;
}

/* Returns the accesses to local memory in the last two stages, if the middle one shares banks as
 * well as possible. The first stage has no conflict. */
static uint32_t mixed_accesses(const struct channelise_spec *spec,
                               const struct channelise_shape *shape,
                               const struct mixed_layout *layout)
{
    const uint32_t banks = mixed_bank_count(shape), last = mixed_last(shape);
    const uint32_t items = spec->channels / shape->radix[0];
    const uint32_t jobs = mixed_jobs(spec, shape);
    uint32_t used[CELL_BANKS] = {0}, worst = 0;
    for (uint32_t job = 0; job < jobs; job++) {
        const uint32_t q = job / last % shape->radix[0];
        const uint32_t layer = job / (last * shape->radix[0]);
        uint32_t *bank = &used[mixed_cell(layout, layer, q, job % last) % banks];
        worst = ++*bank > worst ? *bank : worst;
    }
    uint32_t sum = jobs ? 2 * shape->radix[1] * worst : 0;
    for (uint32_t first = 0; first < items; first += banks) {
        memset(used, 0, sizeof used);
        worst = 0;
        for (uint32_t j = first; j < first + banks && j < items; j++) {
            const uint32_t at = j / shape->radix[0] * last;
            uint32_t *bank = &used[(at + mixed_cell(layout, 0, j % shape->radix[0], 0)) % banks];
            worst = ++*bank > worst ? *bank : worst;
        }
        sum += worst * shape->values * mixed_layers(shape);
    }
    return sum;
}

/* The layout with the fewest accesses that fits the local memory of most devices, if without any
 * padding it does, else the largest; span 0: none. */
static struct mixed_layout mixed_layout(const struct channelise_spec *spec,
                                        const struct channelise_shape *shape)
{
    const uint32_t first = shape->radix[0], rows = spec->channels / first;
    const uint32_t span_bytes = shape->batch * shape->teams * PAIR_BYTES;
    const uint32_t beyond = is_power_of_two(spec->channels) ? WIDE_LOCAL : MOST_LOCAL;
    const uint32_t most = spec->channels * span_bytes <= LOCAL ? LOCAL : beyond;
    const int can_xor = is_power_of_two(first) && mixed_last(shape) == first && rows % first == 0;
    struct mixed_layout best = {0};
    uint32_t least = UINT32_MAX;
    for (uint32_t pad = 0; pad < (can_xor ? 1 : CELL_BANKS); pad++) {
        const uint32_t step = rows + pad;
        const struct mixed_layout layout = {step, (first - 1) * step + rows, can_xor};
        const uint32_t accesses = mixed_accesses(spec, shape, &layout);
        if (accesses < least && layout.span * span_bytes <= most) {
            least = accesses;
            best = layout;
        }
    }
    return best;
}

/* Banks of the neighbours that have their butterflies, and of the butterflies that are left. */
struct mixed_banks {
    uint32_t asked[CELL_BANKS], left[CELL_BANKS];
};

/* Returns the free butterfly whose bank the fewest neighbours use. Of equal ones, it takes the bank
 * with most butterflies left. */
static uint32_t mixed_pick(const uint32_t *entries, const unsigned char *is_taken, uint32_t jobs,
                           uint32_t count, const struct mixed_banks *banks)
{
    uint32_t best = jobs;
    for (uint32_t job = 0; job < jobs; job++) {
        const uint32_t bank = (entries[job] & 0xffff) % count;
        const uint32_t other = best < jobs ? (entries[best] & 0xffff) % count : bank;
        if (!is_taken[job] && (best == jobs || banks->asked[bank] < banks->asked[other] ||
                               (banks->asked[bank] == banks->asked[other] &&
                                banks->left[bank] > banks->left[other]))) {
            best = job;
        }
    }
    return best;
}

void mixed_order(const struct channelise_spec *spec, const struct channelise_shape *shape,
                 uint32_t *out)
{
    enum { MOST_JOBS = MOST_LOCAL / PAIR_BYTES / 2 }; /* the middle radix is at least 2 */
    const struct mixed_layout layout = mixed_layout(spec, shape);
    const uint32_t count = mixed_bank_count(shape), jobs = mixed_order_count(spec, shape);
    const uint32_t last = shape->radix[2], items = spec->channels / shape->radix[0];
    unsigned char is_taken[MOST_JOBS] = {0};
    uint32_t entries[MOST_JOBS];
    struct mixed_banks banks = {0};
    for (uint32_t job = 0; job < jobs; job++) {
        const uint32_t q = job / last % shape->radix[0];
        const uint32_t layer = job / (last * shape->radix[0]);
        const uint32_t cell = mixed_cell(&layout, layer, q, job % last);
        entries[job] = cell | q << 16;
        banks.left[cell % count]++;
    }
    for (uint32_t i = 0; i < jobs; i++) {
        if (i % items % count == 0) {
            memset(banks.asked, 0, sizeof banks.asked);
        }
        const uint32_t job = mixed_pick(entries, is_taken, jobs, count, &banks);
        const uint32_t bank = (entries[job] & 0xffff) % count;
        out[i] = entries[job];
        is_taken[job] = 1;
        banks.asked[bank]++;
        banks.left[bank]--;
    }
}

int mixed_filters_neighbours(const struct channelise_spec *spec, int mode,
                             const struct channelise_shape *shape)
{
    enum { MOST_TAPS = 16 /* that an item holds the coefficients of, and rows */ };
    return shape->kernel == KERNEL_FUSED && mixed_makes(shape) && is_power_of_two(spec->channels) &&
           mode != FUSED_STEPS && spec->is_complex && spec->format != SAMPLE_F32 &&
           !channelise_is_oversampled(spec) && !shape->paired && spec->taps <= MOST_TAPS;
}

/* 1: coefficients are the same from both ends, -1: but for their sign, 0: neither. */
static int mixed_mirrored(const struct channelise_spec *spec)
{
    const size_t count = channelise_samples(spec) * spec->taps;
    int is_same = spec->coeff != NULL, is_opposite = is_same;
    for (size_t j = 0; (is_same || is_opposite) && j < count / 2; j++) {
        const float one = (float)spec->coeff[j], other = (float)spec->coeff[count - 1 - j];
        is_same = is_same && one == other;
        is_opposite = is_opposite && one == -other;
    }
    return is_same ? 1 : is_opposite ? -1 : 0;
}

/* Appends the options of long spectra: on NVIDIA's devices two groups of 256 items share a unit's
 * registers. */
static void mixed_wide_options(const struct channelise_spec *spec, int mode,
                               const struct channelise_shape *shape,
                               const struct device_info *device, struct text *out)
{
    enum { REGISTERS = 128 };
    if (mixed_filters_neighbours(spec, mode, shape)) {
        text_add(out, " -DNEIGHBOURS=1 -DMIRRORED=%d", mixed_mirrored(spec));
    }
    if (device->is_nvidia) {
        text_add(out, " -cl-nv-maxrregcount=%d", (int)REGISTERS);
    }
}

void mixed_options(const struct channelise_spec *spec, int mode,
                   const struct channelise_shape *shape, const struct device_info *device,
                   size_t factors, struct text *out)
{
    const struct mixed_layout layout = mixed_layout(spec, shape);
    text_add(out, " -DIN_PLACE=1 -DSTEP=%u -DSPAN=%u -DXORED=%d -DORDERED=%d -DMIXED_ORDER=%zu",
             layout.step, layout.span, layout.is_xored, mixed_is_ordered(spec, shape), factors);
    if (is_power_of_two(spec->channels)) {
        mixed_wide_options(spec, mode, shape, device, out);
    }
}

/* Teams of a group: one, unless it is small. More wait for each other. */
static uint32_t mixed_teams(uint32_t items)
{
    enum { LEAST_GROUP = 64 };
    return (LEAST_GROUP + items - 1) / items;
}

/* NVIDIA's OpenCL reports 48 KiB for a group, but allows all of the unit's memory (driver 580,
 * H200). A trial that cannot be built is skipped. */
static uint64_t mixed_most_bytes(const struct device_info *device)
{
    return device->is_nvidia ? max_u64(device->local_bytes, MOST_LOCAL) : device->local_bytes;
}

/* Returns the bytes of local memory of a group; 0: it does not fit. */
static uint64_t mixed_bytes(const struct channelise_spec *spec,
                            const struct channelise_shape *shape)
{
    return (uint64_t)mixed_layout(spec, shape).span * shape->batch * shape->teams * PAIR_BYTES;
}

/* `teams` of the shape is how many more than needed. 0: it does not fit. */
static int mixed_fit(const struct channelise_spec *spec, int mode, const struct device_info *device,
                     struct channelise_shape *shape)
{
    const uint32_t items = spec->channels / shape->values;
    const int is_grained = mode == FUSED_GRAINS || mode == FUSED_STEPS;
    const uint32_t middle = shape->radix[2] > 1 ? shape->radix[1] : shape->radix[0];
    shape->buffers = shape->batch;
    shape->teams = mixed_teams(items) + shape->teams;
    shape->streaming = shape->streaming && device->is_nvidia && mode == FUSED_SPECTRA;
    if (shape->batch * shape->radix[0] > MOST_ROUNDS * middle ||
        (is_grained && GRAIN % shape->batch != 0) || (shape->paired && shape->batch % 2 != 0) ||
        shape->values * shape->batch > MOST_VALUES || items * shape->teams > device->group_size) {
        return 0;
    }
    return mixed_bytes(spec, shape) > 0 && mixed_bytes(spec, shape) <= mixed_most_bytes(device);
}

int mixed_makes(const struct channelise_shape *shape)
{
    uint32_t channels = 1;
    for (int i = 0; i < CHANNELISE_STAGES; i++) {
        channels *= shape->radix[i];
    }
    const int is_whole = shape->buffers == 0 || shape->buffers >= shape->batch;
    return !is_power_of_two(channels) ||
           (shape->values == WIDE_VALUES && shape->radix[0] == WIDE_VALUES &&
            shape->radix[1] >= WIDE_VALUES && shape->radix[2] == WIDE_VALUES &&
            shape->radix[3] == 1 && is_whole && !shape->split && !shape->padded);
}

int mixed_fit_wide(const struct channelise_spec *spec, int mode, const struct device_info *device,
                   struct channelise_shape *shape)
{
    const uint64_t most =
        device->is_nvidia ? max_u64(device->local_bytes, WIDE_LOCAL) : device->local_bytes;
    if ((mode == FUSED_GRAINS || mode == FUSED_STEPS) && GRAIN % shape->batch != 0) {
        shape->batch = WIDE_GRAIN_BATCH;
    }
    shape->buffers = shape->batch;
    shape->teams = 1;
    shape->streaming = shape->streaming && device->is_nvidia && mode == FUSED_SPECTRA;
    shape->paired = shape->paired && shape->batch % 2 == 0;
    return !channelise_is_oversampled(spec) &&
           spec->channels / shape->values <= device->group_size && mixed_bytes(spec, shape) > 0 &&
           mixed_bytes(spec, shape) <= most;
}

/* Returns a distance of the radices from the fastest ones where several were timed (H200). */
static uint32_t mixed_distance(const uint32_t *radix)
{
    static const uint32_t of_first[FIRSTS] = {5, 3, 0, 1, 0, 1, 4, 4, 3};
    const uint32_t middle = radix[2] > 1 ? radix[1] : 1;
    const uint32_t sets = radix[0] / (radix[2] > 1 ? radix[2] : radix[1]);
    uint32_t distance = sets - 1 + (middle > 12 ? (middle - 10) / 4 : 0);
    for (uint32_t i = 0; i < FIRSTS; i++) {
        distance += firsts[i] == radix[0] ? of_first[i] : 0;
    }
    return distance;
}

/* Adds batches of these radices, the most promising first: those that fit the local memory that the
 * device says it has, or such beyond it as let few rows be read again. */
static uint32_t mixed_batches(const struct channelise_spec *spec, int mode,
                              const struct device_info *device, int is_beyond,
                              const struct channelise_shape *shape, struct channelise_shape *out,
                              uint32_t most)
{
    static const struct {
        uint32_t batch, paired;
    } spectra[] = {{4, 0}, {3, 0}, {2, 0}, {1, 0}}, power[] = {{4, 1}, {4, 0}, {2, 0}, {1, 0}};
    enum { KINDS = 4, EACH = 2, WIDE_FROM = 2000 /* channels: below it batches of four fit */ };
    const int is_grained = mode == FUSED_GRAINS || mode == FUSED_STEPS;
    uint32_t count = 0;
    for (uint32_t i = 0; i < KINDS && count < most && count < EACH; i++) {
        struct channelise_shape *tried = &out[count];
        *tried = *shape;
        tried->batch = is_grained ? power[i].batch : spectra[i].batch;
        tried->paired = is_grained ? power[i].paired : spectra[i].paired;
        tried->streaming = 1;
        if (mixed_fit(spec, mode, device, tried) &&
            is_beyond == (mixed_bytes(spec, tried) > device->local_bytes)) {
            count += !is_beyond || spec->channels > WIDE_FROM;
        }
    }
    return count;
}

uint32_t mixed_shapes(const struct channelise_spec *spec, int mode,
                      const struct device_info *device, struct channelise_shape *out, uint32_t most)
{
    enum { FAR = 32 };
    uint32_t count = 0;
    for (int is_beyond = 0; is_beyond < 2; is_beyond++) {
        const uint32_t wanted = is_beyond ? MORE_SHAPES : FEW_SHAPES;
        for (uint32_t i = 0; i < FAR * FIRSTS * LASTS && count < wanted && count < most; i++) {
            const uint32_t first = firsts[i / LASTS % FIRSTS], last = lasts[i % LASTS];
            struct channelise_shape shape = {.kernel = KERNEL_FUSED, .values = first};
            if (mixed_radices(spec->channels, first, last, shape.radix) &&
                mixed_distance(shape.radix) == i / (FIRSTS * LASTS)) {
                count += mixed_batches(spec, mode, device, is_beyond, &shape, out + count,
                                       (wanted < most ? wanted : most) - count);
            }
        }
    }
    return count;
}

int mixed_number(const struct channelise_spec *spec, int mode, const struct device_info *device,
                 uint64_t i, struct channelise_shape *out, int *fits)
{
    const uint32_t first = firsts[take_digit(&i, FIRSTS)], last = lasts[take_digit(&i, LASTS)];
    struct channelise_shape shape = {.kernel = KERNEL_FUSED, .values = first};
    shape.batch = batches[take_digit(&i, BATCHES)];
    shape.teams = take_digit(&i, MORE_TEAMS + 1);
    shape.paired = take_digit(&i, 2);
    const uint32_t streaming = shape.streaming = take_digit(&i, 2);
    *fits = mixed_radices(spec->channels, first, last, shape.radix) &&
            mixed_fit(spec, mode, device, &shape) && shape.streaming == streaming;
    *out = shape;
    return i == 0;
}
