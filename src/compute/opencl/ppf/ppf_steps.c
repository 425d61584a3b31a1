/* Options of the compiler and sizes of the launches of these kernels; and the FIR kernels before a
 * library's FFT: a row of `fir_kernels` is one of them. */
#include "compute/opencl/ppf/ppf_steps.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/shared/grains.h"

#include <string.h>

/* Work-items of a group that go along the channels. */
enum { CHANNEL_WIDTH = 64 };

/* Groups along the channels that are kept, `each` of them a work-item. */
static uint32_t steps_across(const struct channelise_spec *spec, uint32_t each)
{
    return (spec->nchannels / each + CHANNEL_WIDTH - 1) / CHANNEL_WIDTH;
}

/* Channels that an item of the sums takes: groups cost more than what they add. */
static uint32_t steps_values(const struct channelise_spec *spec)
{
    return spec->nchannels % 4 == 0 ? 4 : 1;
}

int shapes_have(const struct channelise_shape *list, uint32_t count,
                const struct channelise_shape *shape)
{
    for (uint32_t i = 0; i < count; i++) {
        if (memcmp(&list[i], shape, sizeof *shape) == 0) {
            return 1;
        }
    }
    return 0;
}

int is_power_of_two(uint32_t number)
{
    return (number & (number - 1)) == 0;
}

void samples_options(const struct channelise_spec *spec, struct text *out)
{
    const struct sample_coding coding = channelise_coding(spec);
    text_add(out, " -DCHANNELS=%u -DTAPS=%u", spec->channels, spec->taps);
    deinterleave_options(&coding, out);
}

void hop_options(const struct channelise_spec *spec, struct text *out)
{
    if (channelise_is_oversampled(spec)) {
        /* A column of real samples is a pair, and pairs have no sign. */
        text_add(out, " -DHOP=%zu -DIS_SHIFTED=%d",
                 channelise_hop(spec) / (spec->is_complex ? 1 : 2),
                 spec->is_shifted && spec->is_complex);
    }
}

enum detect_kind detect_kind(const struct channelise_output *output)
{
    return output->quantity == QUANTITY_SPECTRA ? output->bits ? DETECT_STEPS : DETECT_SPECTRA
           : output->integrate == 1             ? DETECT_POWER
                                                : DETECT_GRAINS;
}

/* As kernels/detect.cl counts what it detects. */
static int steps_detected(const struct channelise_output *output)
{
    return output->quantity == QUANTITY_COHERENCY ? 1
           : output->quantity == QUANTITY_SQUARES ? 2
                                                  : 0;
}

void detect_options(const struct channelise_spec *spec, uint32_t i, struct text *out)
{
    samples_options(spec, out);
    text_add(out, " -DKIND=%d -DDETECTED=%d -DKEPT_FIRST=%u -DKEPT=%u -DWIDTH=%d -DACROSS=%u",
             (int)detect_kind(&spec->outputs[i]), steps_detected(&spec->outputs[i]),
             spec->first_channel, spec->nchannels, (int)CHANNEL_WIDTH, steps_across(spec, 1));
    text_add(out, " -DSTEP_BITS=%u", spec->outputs[i].bits);
}

/* Groups along the channels x pieces of time x streams, or pairs of them, or sums. */
static struct launch_size steps_spread(uint32_t across, uint64_t pieces, uint32_t streams)
{
    return (struct launch_size){across * (size_t)pieces * streams, CHANNEL_WIDTH};
}

struct launch_size detect_size(const struct channelise_spec *spec, uint32_t i, uint64_t first,
                               uint64_t spectra, uint32_t streams)
{
    const struct channelise_output *output = &spec->outputs[i];
    uint64_t runs = ceil_div_u64(first % GRAIN + spectra, GRAIN);
    uint32_t places = output->quantity == QUANTITY_COHERENCY ? streams / 2 : streams;
    return steps_spread(steps_across(spec, 1),
                        detect_kind(output) == DETECT_GRAINS ? runs : spectra, places);
}

/* Whether spectra of output `i`, counted from a common multiple of its `integrate` and of a grain
 * before the block, fit numbers of 32 bits. */
static int sum_is_short(const struct channelise_spec *spec, uint32_t i)
{
    const uint64_t most = UINT32_MAX / 4;
    const uint64_t both = lcm_u64(GRAIN, spec->outputs[i].integrate); /* 0: beyond all numbers */
    return both > 0 && both <= most && spec->max_spectra <= most;
}

void sum_options(const struct channelise_spec *spec, uint32_t i, struct text *out)
{
    samples_options(spec, out);
    text_add(out, " -DKEPT=%u -DWIDTH=%d -DACROSS=%u -DSUM_VALUES=%u -DSUM_INDEX=%s",
             spec->nchannels, (int)CHANNEL_WIDTH, steps_across(spec, steps_values(spec)),
             steps_values(spec), sum_is_short(spec, i) ? "uint" : "ulong");
}

struct launch_size sum_size(const struct channelise_spec *spec, uint32_t i, uint64_t next,
                            uint64_t spectra, uint32_t streams)
{
    const struct channelise_output *output = &spec->outputs[i];
    uint64_t dumps = (next + spectra - 1) / output->integrate - next / output->integrate + 1;
    return steps_spread(steps_across(spec, steps_values(spec)), dumps,
                        channelise_sums(output, streams));
}

enum {
    SLIDE_REGISTERS =
        176,          /* of an item, for window and coefficients: the rest is left to work with */
    LOCAL_SHARE = 4,  /* as in kernels/fir_local.cl */
    BLOCKS_PIECE = 64 /* as in kernels/fir_blocks.cl */
};

static size_t fir_column_bytes(const struct channelise_spec *spec)
{
    static const size_t bytes[] = {1, 2, 4, 8};
    return bytes[spec->format];
}

/* Work-items of a group along the columns: no more than there are, in powers of two. */
static uint32_t fir_group_width(const struct channelise_spec *spec,
                                const struct device_info *device, uint32_t vector)
{
    enum { LEAST = 32, MOST = 128 };
    uint32_t width = LEAST;
    while (width < MOST && width * vector < spec->channels) {
        width *= 2;
    }
    return device->group_size < width ? device->group_size : width;
}

/* Several columns an item, if they make one load of at most 16 bytes, and registers hold them. */
static int fir_can_slide(const struct channelise_spec *spec, uint32_t vector)
{
    uint64_t window = (uint64_t)spec->taps * vector * 2;
    uint64_t coefficients = (uint64_t)spec->taps * vector * (spec->is_complex ? 1 : 2);
    return spec->channels % vector == 0 && vector * fir_column_bytes(spec) <= 16 &&
           window + coefficients <= SLIDE_REGISTERS;
}

static uint32_t fir_add(struct channelise_shape *out, uint32_t count, uint32_t most,
                        const struct channelise_shape *shape)
{
    if (count < most) {
        out[count++] = *shape;
    }
    return count;
}

/* ---- what is known to be good ---- */

/* Runs of hundreds of spectra load each sample once, some percent more; shorter ones fill the
 * device where there is little to do. */
static uint32_t fir_slide_shapes(const struct channelise_spec *spec,
                                 const struct device_info *device, struct channelise_shape *out,
                                 uint32_t most)
{
    static const uint32_t runs[] = {128, 256, 64};
    static const uint32_t vectors[] = {2, 4, 1};
    uint32_t count = 0;
    for (int v = 0; v < 3; v++) {
        for (int r = 0; r < 3 && fir_can_slide(spec, vectors[v]); r++) {
            uint32_t run = (uint32_t)ceil_div_u64(runs[r], spec->taps) * spec->taps;
            /* The longer runs with the widest loads alone. */
            if (r < 2 || v == 0) {
                const struct channelise_shape shape = {
                    .kernel = KERNEL_SLIDE,
                    .width = fir_group_width(spec, device, vectors[v]),
                    .run = run,
                    .vector = vectors[v]};
                count = fir_add(out, count, most, &shape);
            }
        }
    }
    return count;
}

/* Spectra of a group whose rows fit local memory, a multiple of the share; 0: none. */
static uint32_t fir_local_run(const struct channelise_spec *spec, uint64_t local_bytes,
                              uint32_t width)
{
    enum { MOST = 64 };
    uint64_t rows = local_bytes / (width * fir_column_bytes(spec));
    uint64_t shared = (uint64_t)spec->taps - 1; /* of two groups beside each other */
    if (rows < shared + LOCAL_SHARE) {
        return 0;
    }
    uint64_t run = (rows - shared) / LOCAL_SHARE * LOCAL_SHARE;
    return run < MOST ? (uint32_t)run : MOST;
}

/* Half of local memory for a group leaves room for two of them on a compute unit; all of it only
 * where that does for none. */
static uint32_t fir_local_shapes(const struct channelise_spec *spec,
                                 const struct device_info *device, struct channelise_shape *out,
                                 uint32_t most)
{
    static const uint32_t widths[] = {64, 128, 32, 8, 1};
    uint32_t count = 0;
    for (int i = 0; i < 10 && count < (i < 5 ? 2 : 1); i++) {
        const uint32_t width = widths[i % 5], groups = i < 5 ? 2 : 1;
        const uint32_t run = fir_local_run(spec, device->local_bytes / groups, width);
        if (width <= device->group_size && run > 0 && (groups == 1 || run >= spec->taps / 2)) {
            const struct channelise_shape shape = {
                .kernel = KERNEL_LOCAL, .width = width, .run = run, .vector = 1};
            count = fir_add(out, count, most, &shape);
        }
    }
    return count;
}

/* The more spectra an item has, the fewer loads there are, until registers are short of items. */
static uint32_t fir_run_shapes(const struct channelise_spec *spec, const struct device_info *device,
                               enum kernel_kind kernel, struct channelise_shape *out, uint32_t most)
{
    static const uint32_t blocks[] = {16, 32, 8}, cache[] = {8, 4};
    const int is_blocks = kernel == KERNEL_BLOCKS;
    uint32_t count = 0;
    for (int i = 0; i < (is_blocks ? 3 : 2); i++) {
        const struct channelise_shape shape = {.kernel = kernel,
                                               .width = fir_group_width(spec, device, 1),
                                               .teams = (uint32_t)is_blocks,
                                               .run = is_blocks ? blocks[i] : cache[i],
                                               .vector = 1};
        count = fir_add(out, count, most, &shape);
    }
    return count;
}

/* Shapes that are known to be good, the most promising first. */
static uint32_t fir_good_shapes(const struct channelise_spec *spec,
                                const struct device_info *device, enum kernel_kind kernel,
                                struct channelise_shape *out, uint32_t most)
{
    return kernel == KERNEL_SLIDE   ? fir_slide_shapes(spec, device, out, most)
           : kernel == KERNEL_LOCAL ? fir_local_shapes(spec, device, out, most)
                                    : fir_run_shapes(spec, device, kernel, out, most);
}

/* Run number i of a shape's other numbers; 0: it is none. All that divide a piece (BLOCKS); local
 * memory for one group, or so that 2, 4, ... are resident. */
static uint32_t fir_run(const struct channelise_spec *spec, const struct device_info *device,
                        const struct channelise_shape *shape, uint32_t i)
{
    switch (shape->kernel) {
    case KERNEL_BLOCKS:
        return i < 4 ? 4U << i : 0;
    case KERNEL_LOCAL:
        return fir_local_run(spec, device->local_bytes >> i, shape->width);
    case KERNEL_SLIDE:
        return fir_can_slide(spec, shape->vector)
                   ? (uint32_t)ceil_div_u64(32U << i, spec->taps) * spec->taps
                   : 0;
    default:
        return 1U << i;
    }
}

/* ---- the table ---- */

enum { MOST_RUNS = 5 };

static const struct fir_kernel {
    enum kernel_kind kernel;
    enum program_source source;
    const char *name;       /* of the function */
    int is_for_oversampled; /* it moves on by less than a spectrum, too */
    uint32_t from_taps;     /* fewer are for the others, unless it is asked for */
    /* The whole space: columns of a group, runs beside each other in it, columns of an item. */
    uint32_t least_width, most_width, most_teams, most_items, most_vector;
} fir_kernels[] = {
    {KERNEL_BLOCKS, SOURCE_FIR_BLOCKS, "fir_blocks", 0, BLOCKS_PIECE + 1, 32, 256, 16, 512, 1},
    {KERNEL_SLIDE, SOURCE_FIR_SLIDE, "fir_slide", 0, 0, 8, 512, 1, 512, 4},
    {KERNEL_CACHE, SOURCE_FIR_CACHE, "fir_cache", 1, 0, 8, 512, 1, 512, 1},
    {KERNEL_LOCAL, SOURCE_FIR_LOCAL, "fir_local", 0, 0, 8, 512, 1, 512, 1}};

enum { FIR_KERNELS = sizeof fir_kernels / sizeof *fir_kernels };

static int fir_is_asked(const struct fir_kernel *row, const struct channelise_spec *spec,
                        enum kernel_kind kernel)
{
    return (kernel == KERNEL_AUTO || kernel == row->kernel) &&
           (row->is_for_oversampled || !channelise_is_oversampled(spec));
}

uint32_t fir_shapes(const struct channelise_spec *spec, enum kernel_kind kernel,
                    const struct device_info *device, struct channelise_shape *out, uint32_t most)
{
    uint32_t count = 0;
    for (int k = 0; k < FIR_KERNELS; k++) {
        const struct fir_kernel *row = &fir_kernels[k];
        if (fir_is_asked(row, spec, kernel) &&
            (kernel == row->kernel || spec->taps >= row->from_taps)) {
            count += fir_good_shapes(spec, device, row->kernel, out + count, most - count);
        }
    }
    return count;
}

/* Adds a shape with every possible `run`; returns the new count. */
static uint32_t fir_add_runs(const struct channelise_spec *spec, const struct device_info *device,
                             struct channelise_shape shape, struct channelise_shape *out,
                             uint32_t count, uint32_t most)
{
    for (uint32_t i = 0; i < MOST_RUNS; i++) {
        shape.run = fir_run(spec, device, &shape, i);
        if (shape.run == 0) {
            break;
        }
        count = fir_add(out, count, most, &shape);
    }
    return count;
}

uint32_t fir_space(const struct channelise_spec *spec, enum kernel_kind kernel,
                   const struct device_info *device, struct channelise_shape *out, uint32_t most)
{
    uint32_t count = 0;
    for (int k = 0; k < FIR_KERNELS; k++) {
        const struct fir_kernel *row = &fir_kernels[k];
        struct channelise_shape shape = {.kernel = row->kernel, .width = row->least_width};
        uint32_t items =
            device->group_size < row->most_items ? device->group_size : row->most_items;
        for (; fir_is_asked(row, spec, kernel) && shape.width <= row->most_width &&
               shape.width <= items;
             shape.width *= 2) {
            uint32_t teams = 1;
            for (; teams <= row->most_teams && shape.width * teams <= items; teams *= 2) {
                shape.teams = row->most_teams > 1 ? teams : 0;
                for (shape.vector = 1; shape.vector <= row->most_vector; shape.vector *= 2) {
                    count = fir_add_runs(spec, device, shape, out, count, most);
                }
            }
        }
    }
    return count;
}

/* ---- builds and launches ---- */

/* Groups along the columns. */
static uint32_t fir_across(const struct channelise_spec *spec, const struct channelise_shape *shape)
{
    uint32_t columns = shape->vector * shape->width;
    return (spec->channels + columns - 1) / columns;
}

/* Runs of spectra beside each other in a group. */
static uint32_t fir_teams(const struct channelise_shape *shape)
{
    return shape->teams > 0 ? shape->teams : 1;
}

status_t fir_build(device_t *device, const struct channelise_spec *spec,
                   const struct channelise_shape *shape, cl_kernel *out)
{
    const struct fir_kernel *row = fir_kernels;
    struct text options = {0};
    while (row->kernel != shape->kernel) {
        row++;
    }
    const enum program_source sources[] = {SOURCE_SAMPLES, row->source};
    samples_options(spec, &options);
    text_add(&options, " -DWIDTH=%u -DACROSS=%u -DRUN=%u -DVECTOR=%u -DTEAMS=%u", shape->width,
             fir_across(spec, shape), shape->run, shape->vector, fir_teams(shape));
    hop_options(spec, &options);
    return launch_build(device, sources, 2, &options, row->name, out);
}

struct launch_size fir_size(const struct channelise_spec *spec,
                            const struct channelise_shape *shape, uint64_t spectra,
                            uint32_t streams)
{
    const uint32_t teams = fir_teams(shape);
    return (struct launch_size){fir_across(spec, shape) *
                                    (size_t)ceil_div_u64(spectra, (uint64_t)shape->run * teams) *
                                    streams,
                                (size_t)shape->width * teams};
}
