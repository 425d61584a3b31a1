/* Shapes of the kernels for fine channels: tables of those that are known to be good, all that can
 * be, and what each means. */
#include "compute/opencl/ppf/fine.h"

#include "base/memory.h"
#include "compute/shared/grains.h"

#include <math.h>
#include <stdlib.h>

/* ---- fine ---- */

enum {
    ROW_BANKS = 16,         /* as in kernels/fine/fine_rows.cl */
    LEAST_COLUMNS = 16,     /* points of a column, of a row */
    LEAST_LOG = 8,          /* of the channels, */
    MOST_LOG = 26,          /* and the most */
    MOST_BATCH_POINTS = 40, /* of an item: its registers */
    MIDDLE_WIDTH = 16,     /* columns of a group inside of rows (relayed: at least half of them), */
    MIDDLE_BATCH = 4,      /* rows of its batch: divides those of a spectrum */
    FASTER_FROM = 1 << 12, /* channels, than a library; below it one kernel does it all */
    LEADS_FROM = 1 << 13,  /* channels, if relayed, than most shapes of that one */
    LONG_TAPS = 64,        /* beyond which neither was measured */
    RELAY_BYTES = 16 << 20 /* between two steps: with what flows past less than an H200's cache */
};

/* Transform of `points` points by a group: values of an item, radices of the stages. */
struct fine_pass {
    uint32_t points, values;
    uint32_t radix[CHANNELISE_STAGES];
};
/* Passes over the filtered columns, whose batch takes most registers; over columns inside of rows;
 * over rows. */
static const struct fine_pass column_passes[] = {{16, 8, {4, 4, 1, 1}},
                                                 {32, 8, {4, 8, 1, 1}},
                                                 {64, 8, {8, 8, 1, 1}},
                                                 {128, 8, {4, 4, 8, 1}},
                                                 {256, 8, {8, 8, 4, 1}}};
static const struct fine_pass middle_passes[] = {{16, 8, {4, 4, 1, 1}},
                                                 {32, 8, {4, 8, 1, 1}},
                                                 {64, 8, {8, 8, 1, 1}},
                                                 {128, 16, {8, 16, 1, 1}},
                                                 {256, 16, {16, 16, 1, 1}}};
static const struct fine_pass row_passes[] = {{16, 4, {4, 4, 1, 1}},     {32, 8, {4, 8, 1, 1}},
                                              {64, 8, {8, 8, 1, 1}},     {128, 16, {8, 16, 1, 1}},
                                              {256, 16, {16, 16, 1, 1}}, {512, 8, {8, 8, 8, 1}},
                                              {1024, 16, {4, 16, 16, 1}}};
enum {
    COLUMN_PASSES = sizeof column_passes / sizeof *column_passes,
    ROW_PASSES = sizeof row_passes / sizeof *row_passes
};

static const struct fine_pass *fine_pass_of(const struct fine_pass *passes, int count,
                                            uint32_t points)
{
    for (int i = 0; i < count; i++) {
        if (passes[i].points == points) {
            return &passes[i];
        }
    }
    return NULL;
}

static uint32_t fine_steps(const struct channelise_shape *shape)
{
    return shape->radix[2] > 1 ? 3 : 2;
}

static const struct fine_pass *fine_pass(const struct channelise_shape *shape, uint32_t i)
{
    const uint32_t points = shape->radix[i];
    if (i + 1 == fine_steps(shape)) {
        return fine_pass_of(row_passes, ROW_PASSES, points);
    }
    return i > 0 ? fine_pass_of(middle_passes, COLUMN_PASSES, points)
                 : fine_pass_of(column_passes, COLUMN_PASSES, points);
}

/* In the order of their time on an H200, 8-bit samples, 8 taps, relayed and not: log2 of the
 * channels, points of columns and rows, ... */
static const struct candidate {
    uint32_t log;
    uint32_t points[3];
    uint32_t width, batch, buffers, run, lanes, lag;
} candidates[] = {
    {12, {16, 256, 1}, 64, 5, 5, 1, 8, 100},   {13, {32, 256, 1}, 32, 5, 5, 1, 8, 50},
    {14, {64, 256, 1}, 16, 5, 1, 1, 8, 25},    {15, {128, 256, 1}, 16, 4, 2, 1, 16, 16},
    {16, {64, 1024, 1}, 32, 5, 1, 1, 4, 6},    {17, {128, 1024, 1}, 16, 4, 2, 1, 4, 3},
    {18, {16, 64, 256}, 64, 5, 5, 64, 16, 6},  {19, {16, 128, 256}, 64, 5, 5, 64, 8, 6},
    {20, {32, 128, 256}, 32, 5, 5, 64, 8, 6},  {21, {64, 128, 256}, 16, 5, 1, 64, 8, 6},
    {22, {128, 128, 256}, 16, 4, 2, 64, 8, 6}, {12, {16, 256, 1}, 64, 5, 5, 4, 16, 0},
    {13, {32, 256, 1}, 32, 5, 5, 8, 16, 0},    {14, {32, 512, 1}, 32, 5, 5, 16, 8, 0},
    {14, {64, 256, 1}, 16, 5, 1, 16, 16, 0},   {15, {64, 512, 1}, 16, 5, 1, 32, 8, 0},
    {15, {32, 1024, 1}, 32, 5, 5, 32, 4, 0},   {15, {128, 256, 1}, 16, 4, 2, 16, 16, 0},
    {16, {64, 1024, 1}, 16, 5, 1, 64, 4, 0},   {16, {128, 512, 1}, 16, 4, 2, 32, 8, 0},
    {17, {128, 1024, 1}, 16, 4, 2, 64, 4, 0},  {18, {256, 1024, 1}, 8, 5, 1, 16, 4, 0},
    {19, {16, 128, 256}, 64, 5, 5, 64, 16, 0}, {20, {16, 256, 256}, 64, 5, 5, 64, 16, 0},
    {21, {32, 256, 256}, 32, 5, 5, 64, 16, 0}, {22, {32, 256, 512}, 32, 4, 4, 64, 8, 0},
    {22, {64, 256, 256}, 16, 4, 1, 16, 16, 0}, {23, {64, 256, 512}, 16, 4, 1, 16, 8, 0},
    {24, {64, 256, 1024}, 16, 4, 1, 16, 4, 0}};

static uint32_t fine_columns_of(const struct channelise_spec *spec,
                                const struct channelise_shape *shape)
{
    return spec->channels / shape->radix[0];
}

static uint64_t fine_row_cells(uint32_t points, uint32_t lanes)
{
    uint64_t padded = points + points / ROW_BANKS;
    return (padded / ROW_BANKS * ROW_BANKS + ROW_BANKS + ROW_BANKS / lanes) * lanes;
}

/* The columns' kernel of pass i: neighbouring columns of a group, spectra of its batch, of these in
 * local memory at a time. */
struct fine_group {
    uint32_t width, batch, buffers;
};
static struct fine_group fine_group_of(const struct channelise_shape *shape, uint32_t i)
{
    struct fine_group first = {shape->width, shape->batch, shape->buffers};
    struct fine_group middle = {MIDDLE_WIDTH, MIDDLE_BATCH, 1};
    if (i > 0 && fine_pass(shape, i)->values > MOST_BATCH_POINTS / MIDDLE_BATCH) {
        middle.batch = 2;
    }
    /* Groups of one launch are of one size. */
    if (i > 0 && shape->streaming) {
        const struct fine_pass *own = fine_pass(shape, i), *last = fine_pass(shape, i + 1);
        middle.width = last->points / last->values * shape->vector * own->values / own->points;
    }
    return i > 0 ? middle : first;
}

static uint32_t fine_items(const struct channelise_shape *shape, uint32_t i)
{
    const struct fine_pass *pass = fine_pass(shape, i);
    const int is_last = i + 1 == fine_steps(shape);
    return pass->points / pass->values * (is_last ? shape->vector : fine_group_of(shape, i).width);
}

/* Whether pass i has room in a group and its local memory. */
static int fine_fits_pass(const struct channelise_shape *shape, const struct device_info *device,
                          uint32_t i)
{
    const struct fine_pass *pass = fine_pass(shape, i);
    const int is_last = i + 1 == fine_steps(shape);
    const uint32_t rows = shape->vector; /* of a group of the last step */
    uint64_t cells = is_last ? fine_row_cells(pass->points, rows)
                             : (uint64_t)fine_group_of(shape, i).buffers * pass->points *
                                   fine_group_of(shape, i).width;
    return fine_items(shape, i) <= device->group_size && cells * PAIR_BYTES <= device->local_bytes;
}

/* Points of a slice of a relay, see kernels/fine/fine_relay.cl; how many of them are after. */
static uint64_t fine_slice(const struct channelise_spec *spec, const struct channelise_shape *shape)
{
    return fine_steps(shape) > 2 ? (uint64_t)shape->vector * fine_columns_of(spec, shape)
                                 : (uint64_t)shape->batch * spec->channels;
}

static uint32_t fine_lag(const struct channelise_spec *spec, const struct channelise_shape *shape)
{
    return (uint32_t)max_u64(RELAY_BYTES / PAIR_BYTES / fine_slice(spec, shape), 2);
}

static int fine_fits(const struct channelise_spec *spec, const struct channelise_shape *shape,
                     const struct device_info *device)
{
    const uint32_t kernels = fine_steps(shape);
    const struct fine_pass *first = fine_pass(shape, 0);
    if (!first || !fine_pass(shape, 1) || !fine_pass(shape, kernels - 1)) {
        return 0;
    }
    uint32_t blocks = fine_columns_of(spec, shape) / shape->width;
    int is_whole = fine_columns_of(spec, shape) % shape->width == 0 && blocks % shape->run == 0 &&
                   shape->width * shape->radix[0] % first->values == 0 &&
                   shape->radix[0] % shape->vector == 0 && shape->batch % shape->buffers == 0 &&
                   shape->width % (first->values / first->radix[0]) == 0;
    int fits = is_whole && first->values * shape->batch <= MOST_BATCH_POINTS;
    for (uint32_t i = 0; i < kernels && fits; i++) {
        fits = fine_fits_pass(shape, device, i);
    }
    if (fits && kernels > 2) {
        const struct fine_group middle = fine_group_of(shape, 1);
        fits = middle.width >= MIDDLE_WIDTH / 2 && shape->radix[2] % middle.width == 0 &&
               (!shape->streaming || shape->vector % middle.batch == 0);
    }
    return fits &&
           (!shape->streaming || fine_items(shape, kernels - 2) == fine_items(shape, kernels - 1));
}

static int fine_can(const struct channelise_spec *spec)
{
    uint32_t channels = spec->channels;
    return channels >= 1U << LEAST_LOG && channels <= 1U << MOST_LOG &&
           (channels & (channels - 1)) == 0;
}

/* Whether the last two steps may be one launch: NVIDIA's devices tell what they have stored for as
 * little as it must cost. Sums over grains take spectra of several slices. */
static int fine_can_relay(int mode, const struct device_info *device)
{
    return device->is_nvidia && mode != FUSED_GRAINS;
}

int fine_number(const struct channelise_spec *spec, int mode, const struct device_info *device,
                uint64_t i, struct channelise_shape *out, int *fits)
{
    static const uint32_t batches[] = {4, 5, 2, 3, 1}, widths[] = {16, 32, 64, 8},
                          lanes[] = {16, 8, 4};
    static const uint32_t nears[] = {1, 4, 16, 64};
    enum { COLUMN_LOGS = COLUMN_PASSES };
    struct channelise_shape shape = {.kernel = KERNEL_FINE, .radix = {1, 1, 1, 1}};
    shape.radix[0] = (uint32_t)LEAST_COLUMNS << take_digit(&i, COLUMN_LOGS);
    uint32_t middle = take_digit(&i, COLUMN_LOGS + 1);
    uint32_t second = middle ? (uint32_t)LEAST_COLUMNS << (middle - 1) : 1;
    shape.width = widths[take_digit(&i, 4)];
    shape.batch = batches[take_digit(&i, 5)];
    shape.buffers = take_digit(&i, 2) ? 1 : shape.batch;
    shape.vector = lanes[take_digit(&i, 3)];
    shape.run = nears[take_digit(&i, 4)];
    shape.streaming = take_digit(&i, fine_can_relay(mode, device) ? 2 : 1);
    *fits = 0;
    if (fine_can(spec) && spec->channels % (shape.radix[0] * second) == 0) {
        uint32_t third = spec->channels / (shape.radix[0] * second);
        shape.radix[1] = second > 1 ? second : third;
        shape.radix[2] = second > 1 ? third : 1;
        *fits = third > 1 && fine_fits(spec, &shape, device);
        shape.teams = *fits && shape.streaming ? fine_lag(spec, &shape) : 0;
    }
    *out = shape;
    return i == 0;
}

uint32_t fine_shapes(const struct channelise_spec *spec, int mode, const struct device_info *device,
                     struct channelise_shape *out, uint32_t most)
{
    uint32_t count = 0;
    int fits = 0;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates && count < most; i++) {
        const struct candidate *c = &candidates[i];
        struct channelise_shape shape = {.kernel = KERNEL_FINE,
                                         .width = c->width,
                                         .run = c->run,
                                         .vector = c->lanes,
                                         .batch = c->batch,
                                         .radix = {c->points[0], c->points[1], c->points[2], 1},
                                         .buffers = c->buffers,
                                         .teams = c->lag,
                                         .streaming = c->lag > 0};
        if (1U << c->log == spec->channels && fine_fits(spec, &shape, device) &&
            (c->lag == 0 || fine_can_relay(mode, device))) {
            out[count++] = shape;
        }
    }
    for (uint64_t i = 0; count == 0 && most > 0 && fine_can(spec) &&
                         fine_number(spec, mode, device, i, &out[0], &fits);
         i++) {
        count = (uint32_t)fits;
    }
    return count;
}

int fine_leads(const struct channelise_spec *spec, int mode, const struct device_info *device)
{
    return fine_can_relay(mode, device) && spec->channels >= LEADS_FROM;
}

static int fine_is_faster(const struct channelise_spec *spec)
{
    return fine_can(spec) && spec->channels >= FASTER_FROM && spec->taps <= LONG_TAPS &&
           spec->is_complex;
}

int fine_may_be(const struct channelise_spec *spec)
{
    return fine_can(spec) &&
           (spec->kernel == KERNEL_FINE || (spec->kernel == KERNEL_AUTO && fine_is_faster(spec)));
}

/* Points that the columns of pass i are transforms of. */
static uint32_t fine_length(const struct channelise_spec *spec,
                            const struct channelise_shape *shape, uint32_t i)
{
    return i == 0 ? spec->channels : fine_columns_of(spec, shape);
}

static void fine_column_options(const struct channelise_spec *spec,
                                const struct channelise_shape *shape, uint32_t i, struct text *out)
{
    const struct fine_pass *pass = fine_pass(shape, i);
    const struct fine_group group = fine_group_of(shape, i);
    const uint32_t length = fine_length(spec, shape, i);
    text_add(out, " -DCOLUMN_POINTS=%u -DCOLUMN_LENGTH=%u -DCOLUMN_WIDTH=%u", pass->points, length,
             group.width);
    text_add(out, " -DCOLUMN_VALUES=%u -DCOLUMN_BATCH=%u -DCOLUMN_BUFFERS=%u", pass->values,
             group.batch, group.buffers);
    text_add(out, " -DCOLUMN_NEAR=%u -DCOLUMN_FILTERS=%d",
             i == 0 ? shape->run : length / pass->points / group.width, i == 0);
    text_add(out, " -DCOLUMN_STAGES=%d", pass->radix[2] > 1 ? 3 : 2);
    for (uint32_t k = 0; k + 1 < CHANNELISE_STAGES; k++) {
        text_add(out, " -DCOLUMN_RADIX%u=%u", k, pass->radix[k]);
    }
}

static void fine_row_options(const struct channelise_spec *spec, int mode,
                             const struct channelise_shape *shape, struct text *out)
{
    const uint32_t last = fine_steps(shape) - 1;
    const struct fine_pass *pass = fine_pass(shape, last);
    int stages = 2;
    text_add(out, " -DKEPT_FIRST=%u -DKEPT=%u -DMODE=%d", spec->first_channel, spec->nchannels,
             mode);
    text_add(out, " -DN1=%u -DN2=%u -DROW_POINTS=%u -DROW_LANES=%u -DROW_VALUES=%u",
             shape->radix[0], last > 1 ? shape->radix[1] : 1, pass->points, shape->vector,
             pass->values);
    for (uint32_t k = 0; k < CHANNELISE_STAGES; k++) {
        text_add(out, " -DROW_RADIX%u=%u", k, pass->radix[k]);
        stages = k > 1 && pass->radix[k] > 1 ? (int)k + 1 : stages;
    }
    text_add(out, " -DROW_STAGES=%d", stages);
    if (mode == FUSED_STEPS) {
        text_add(out, " -DSTEP_BITS=%u", spec->outputs[0].bits);
    }
}

/* Build options of step i, whose mode is that of the product; relayed: of it and the next. */
static void fine_options(const struct channelise_spec *spec, int mode,
                         const struct channelise_shape *shape, uint32_t i, struct text *out)
{
    const int is_last = i + 1 == fine_steps(shape);
    const int is_relay = shape->streaming && i + 2 == fine_steps(shape);
    samples_options(spec, out);
    if (!is_last) {
        fine_column_options(spec, shape, i, out);
    }
    if (is_last || is_relay) {
        fine_row_options(spec, mode, shape, out);
    }
    text_add(out, " -DRELAYED=%d", is_relay);
}

struct fine_relay fine_relay(const struct channelise_spec *spec,
                             const struct channelise_shape *shape, uint64_t spectra,
                             uint32_t streams)
{
    const int has_middle = fine_steps(shape) > 2;
    struct fine_relay relay = {.lag = shape->teams};
    relay.points = fine_slice(spec, shape);
    relay.count = (has_middle ? spectra * (shape->radix[0] / shape->vector)
                              : ceil_div_u64(spectra, shape->batch)) *
                  streams;
    relay.slots = relay.lag + (uint32_t)max_u64(relay.lag / 4, 2);
    return relay;
}

/* Pairs of the table `turns`: of all steps but the rows'. */
static size_t fine_turn_count(const struct channelise_spec *spec,
                              const struct channelise_shape *shape, uint32_t i)
{
    return i + 1 == fine_steps(shape) ? 0 : fine_length(spec, shape, i);
}

/* exp(-2 pi i k m / length) of column m, point k. */
static void fine_turns(const struct channelise_spec *spec, const struct channelise_shape *shape,
                       uint32_t i, float *out)
{
    const uint32_t length = fine_length(spec, shape, i);
    const uint32_t points = shape->radix[i], columns = length / points;
    for (uint32_t k = 0; k < points; k++) {
        for (uint32_t m = 0; m < columns; m++) {
            double angle = -2 * acos(-1.0) * ((double)k * m / length);
            *out++ = (float)cos(angle);
            *out++ = (float)sin(angle);
        }
    }
}

/* Its launch for `spectra` spectra and `streams` streams, the first of which has the number
 * `first`; relayed: of the last two steps, i the one before the last. */
static struct launch_size fine_size(const struct channelise_spec *spec, int mode,
                                    const struct channelise_shape *shape, uint32_t i,
                                    uint64_t spectra, uint32_t streams, uint64_t first)
{
    const struct fine_pass *pass = fine_pass(shape, i);
    const uint32_t rows = spec->channels / pass->points;
    if (i + 1 == fine_steps(shape)) {
        uint64_t runs =
            mode == FUSED_GRAINS ? ceil_div_u64(first % GRAIN + spectra, GRAIN) : spectra;
        return (struct launch_size){rows / shape->vector * (size_t)runs * streams,
                                    fine_items(shape, i)};
    }
    const struct fine_group group = fine_group_of(shape, i);
    size_t across = fine_length(spec, shape, i) / pass->points / group.width;
    if (shape->streaming && i + 2 == fine_steps(shape)) {
        const struct fine_relay relay = fine_relay(spec, shape, spectra, streams);
        uint64_t fillers = i == 0 ? across : shape->vector / group.batch * across;
        uint64_t emptiers =
            i == 0 ? shape->batch * (shape->radix[0] / shape->vector) : shape->radix[1];
        return (struct launch_size){(size_t)((relay.count + relay.lag) * (fillers + emptiers)),
                                    fine_items(shape, i)};
    }
    uint64_t runs = i == 0 ? ceil_div_u64(spectra, group.batch) * streams
                           : ceil_div_u64(spectra * streams * shape->radix[0], group.batch);
    return (struct launch_size){across * (size_t)runs, fine_items(shape, i)};
}

/* ---- fine run ---- */

struct fine {
    device_t *device;
    struct channelise_spec spec;
    struct channelise_shape shape;
    int mode;
    uint64_t piece;                /* spectra that the workspace holds */
    cl_kernel kernels[FINE_STEPS]; /* relayed: none for the last step */
    cl_mem factors[FINE_STEPS], turns[FINE_STEPS];
    cl_mem work; /* between steps that are launches of their own */
    cl_mem ring, counters;
};

/* Counters of a relay before those of slices, as in kernels/fine/fine_relay.cl. */
enum { RELAY_OTHERS = 32 };

void fine_destroy(fine_t *fine)
{
    if (fine) {
        launch_release_all(fine->kernels, FINE_STEPS);
        device_release_all(fine->device, fine->factors, FINE_STEPS);
        device_release_all(fine->device, fine->turns, FINE_STEPS);
        DEVICE_RELEASE(fine->device, fine->work, fine->ring, fine->counters);
        free(fine);
    }
}

static status_t fine_put_tables(fine_t *fine, uint32_t i)
{
    enum { PAIR = 2 };
    size_t nfactors = stages_factor_count(fine_pass(&fine->shape, i)->radix);
    size_t nturns = fine_turn_count(&fine->spec, &fine->shape, i);
    float *factors = NULL;
    float *turns = NULL;
    TRY(memory_zeroed(PAIR * nfactors, sizeof *factors, "factors", &factors));
    stages_factors(fine_pass(&fine->shape, i)->radix, factors);
    TRY(device_put_table(fine->device, factors, PAIR * nfactors * sizeof *factors, "factors",
                         &fine->factors[i]));
    if (nturns == 0) {
        return STATUS_OK;
    }
    TRY(memory_aligned(PAIR * nturns, sizeof *turns, "twiddles", &turns));
    fine_turns(&fine->spec, &fine->shape, i, turns);
    return device_put_table(fine->device, turns, PAIR * nturns * sizeof *turns, "twiddles",
                            &fine->turns[i]);
}

/* Relayed: the last two steps are one kernel, that of the first of them. */
static int fine_is_relay(const fine_t *fine, uint32_t i)
{
    return fine->shape.streaming && i + 2 == fine_steps(&fine->shape);
}

static status_t fine_build(fine_t *fine, uint32_t i)
{
    const int is_relay = fine_is_relay(fine, i);
    const int is_last = i + 1 == fine_steps(&fine->shape);
    enum program_source sources[] = {SOURCE_SAMPLES,      SOURCE_STEPS,     SOURCE_BUTTERFLIES,
                                     SOURCE_FINE_COLUMNS, SOURCE_FINE_ROWS, SOURCE_FINE_RELAY};
    struct text options = {0};
    if (is_last) {
        sources[3] = SOURCE_FINE_ROWS;
    }
    fine_options(&fine->spec, fine->mode, &fine->shape, i, &options);
    text_add(&options, " -DRELAY_PTX=%d", fine->device->info.is_nvidia);
    return launch_build(fine->device, sources, is_relay ? 6 : 4, &options,
                        is_relay  ? "fine_relay"
                        : is_last ? "fine_rows"
                                  : "fine_columns",
                        &fine->kernels[i]);
}

static status_t fine_create_relay(fine_t *fine)
{
    const struct fine_relay relay =
        fine_relay(&fine->spec, &fine->shape, fine->piece, fine->spec.nstreams);
    TRY(device_allocate(fine->device, relay.slots * relay.points * 2 * sizeof(float),
                        "transformed columns", &fine->ring));
    return device_allocate(fine->device, (RELAY_OTHERS + 2 * relay.count) * sizeof(cl_uint),
                           "counters", &fine->counters);
}

status_t fine_create(device_t *device, const struct channelise_spec *spec, int mode,
                     const struct channelise_shape *shape, uint64_t piece, fine_t **out)
{
    SCOPED(fine_destroy_at) fine_t *fine = NULL;
    TRY(memory_zeroed(1, sizeof *fine, "fine channels", &fine));
    fine->device = device;
    fine->spec = *spec;
    fine->spec.coeff = NULL;
    fine->shape = *shape;
    fine->mode = mode;
    fine->piece = piece;
    if (shape->streaming && fine_steps(shape) == 2) { /* all in one launch: there is no workspace */
        fine->piece = max_u64(piece, ceil_div_u64(spec->max_spectra, GRAIN) * GRAIN);
    }
    const uint32_t relayed = shape->streaming ? 1 : 0;
    for (uint32_t i = 0; i < fine_steps(shape); i++) {
        TRY(fine_put_tables(fine, i));
        TRY(i + relayed < fine_steps(shape) ? fine_build(fine, i) : STATUS_OK);
    }
    TRY(relayed ? fine_create_relay(fine) : STATUS_OK);
    if (fine_steps(shape) > 1 + relayed) {
        TRY(device_allocate(device, piece * spec->nstreams * spec->channels * 2 * sizeof(float),
                            "transformed columns", &fine->work));
    }
    *out = memory_move(&fine);
    return STATUS_OK;
}

static status_t fine_run_columns(fine_t *fine, struct stopwatch *watch,
                                 const struct fine_block *block, uint64_t from, uint64_t count)
{
    struct launch_size size =
        fine_size(&fine->spec, fine->mode, &fine->shape, 0, count, block->nstreams, 0);
    return LAUNCH(fine->device, fine->kernels[0], size, watch, STEP_FILTER, ARGUMENT(block->in),
                  ARGUMENT_ULONG(block->in_stride), ARGUMENT(block->coeff), ARGUMENT_ULONG(from),
                  ARGUMENT(fine->factors[0]), ARGUMENT(fine->turns[0]), ARGUMENT(fine->work),
                  ARGUMENT_UINT((cl_uint)count));
}

/* The columns of rows: of all spectra and streams, one after the other. */
static status_t fine_run_middle(fine_t *fine, struct stopwatch *watch,
                                const struct fine_block *block, uint64_t count)
{
    struct launch_size size =
        fine_size(&fine->spec, fine->mode, &fine->shape, 1, count, block->nstreams, 0);
    uint64_t rows = count * block->nstreams * fine->shape.radix[0];
    return LAUNCH(fine->device, fine->kernels[1], size, watch, STEP_TRANSFORM,
                  ARGUMENT(fine->factors[1]), ARGUMENT(fine->turns[1]), ARGUMENT(fine->work),
                  ARGUMENT_UINT((cl_uint)rows));
}

static status_t fine_run_rows(fine_t *fine, struct stopwatch *watch, const struct fine_block *block,
                              uint64_t from, uint64_t count)
{
    const uint32_t last = fine_steps(&fine->shape) - 1;
    struct launch_size size = fine_size(&fine->spec, fine->mode, &fine->shape, last, count,
                                        block->nstreams, block->first + from);
    const int has_steps = fine->mode == FUSED_STEPS;
    return LAUNCH(fine->device, fine->kernels[last], size, watch, STEP_TRANSFORM,
                  ARGUMENT(fine->work), ARGUMENT(fine->factors[last]), ARGUMENT(block->to),
                  ARGUMENT_ULONG(from), ARGUMENT_UINT((cl_uint)count),
                  ARGUMENT_UINT(block->nstreams), ARGUMENT_ULONG(block->first),
                  ARGUMENT_ULONG(block->integrate), ARGUMENT_IF(has_steps, block->scales),
                  ARGUMENT_IF(has_steps, block->counts_at));
}

/* Runs the last two steps in one launch. */
static status_t fine_run_relay(fine_t *fine, struct stopwatch *watch,
                               const struct fine_block *block, uint64_t from, uint64_t count)
{
    const uint32_t last = fine_steps(&fine->shape) - 1;
    const uint32_t i = last - 1;
    const struct fine_relay relay = fine_relay(&fine->spec, &fine->shape, count, block->nstreams);
    struct launch_size size =
        fine_size(&fine->spec, fine->mode, &fine->shape, i, count, block->nstreams, 0);
    const cl_ulong skipped = block->from + from;
    const int is_first = i == 0, has_steps = fine->mode == FUSED_STEPS;
    TRY(stopwatch_begin(watch, fine->device, fine->device->compute, STEP_TRANSFORM));
    TRY(device_clear(fine->device, fine->counters, 0,
                     (RELAY_OTHERS + 2 * relay.count) * sizeof(cl_uint)));
    TRY(stopwatch_end(watch, fine->device, fine->device->compute));
    return LAUNCH(
        fine->device, fine->kernels[i], size, watch, is_first ? STEP_FILTER : STEP_TRANSFORM,
        ARGUMENT_IF(is_first, block->in), ARGUMENT_IF(is_first, block->in_stride),
        ARGUMENT_IF(is_first, block->coeff), ARGUMENT_IF(is_first, skipped),
        ARGUMENT_IF(!is_first, fine->work), ARGUMENT(fine->factors[i]), ARGUMENT(fine->turns[i]),
        ARGUMENT(fine->factors[last]), ARGUMENT(fine->ring), ARGUMENT(fine->counters),
        ARGUMENT(block->to), ARGUMENT_ULONG(from), ARGUMENT_UINT((cl_uint)count),
        ARGUMENT_UINT(block->nstreams), ARGUMENT_ULONG(block->first),
        ARGUMENT_ULONG(block->integrate), ARGUMENT_UINT(relay.lag), ARGUMENT_UINT(relay.slots),
        ARGUMENT_IF(has_steps, block->scales), ARGUMENT_IF(has_steps, block->counts_at));
}

status_t fine_run(fine_t *fine, struct stopwatch *watch, const struct fine_block *block)
{
    const uint32_t steps = fine_steps(&fine->shape);
    for (uint64_t from = 0; from < block->count;) {
        /* Pieces end at multiples of GRAIN spectra, so that no grain is cut. */
        uint64_t end = (block->first + from + fine->piece) / GRAIN * GRAIN - block->first;
        uint64_t to = block->count - from <= fine->piece ? block->count : end;
        if (steps > 2 || !fine->shape.streaming) {
            TRY(fine_run_columns(fine, watch, block, block->from + from, to - from));
        }
        if (fine->shape.streaming) {
            TRY(fine_run_relay(fine, watch, block, from, to - from));
        } else {
            TRY(steps > 2 ? fine_run_middle(fine, watch, block, to - from) : STATUS_OK);
            TRY(fine_run_rows(fine, watch, block, from, to - from));
        }
        from = to;
    }
    return STATUS_OK;
}
