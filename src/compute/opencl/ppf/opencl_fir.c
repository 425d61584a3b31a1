/* Which shapes the FIR kernels can take, and what each means. */
#include "compute/opencl/ppf/ppf_steps.h"

#include "base/memory.h"

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
                        enum kernel_kind kernel, uint32_t width, uint32_t run, uint32_t vector)
{
    if (count < most) {
        out[count++] = (struct channelise_shape){
            .kernel = kernel, .width = width, .run = run, .vector = vector};
    }
    return count;
}

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
                count = fir_add(out, count, most, KERNEL_SLIDE,
                                fir_group_width(spec, device, vectors[v]), run, vectors[v]);
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

/* Half of local memory for a group leaves room for two of them on a compute unit. */
static uint32_t fir_local_shapes(const struct channelise_spec *spec,
                                 const struct device_info *device, struct channelise_shape *out,
                                 uint32_t most)
{
    static const uint32_t widths[] = {64, 128, 32, 8, 1};
    uint32_t count = 0;
    for (int i = 0; i < 5 && count < 2; i++) {
        uint32_t run = fir_local_run(spec, device->local_bytes / 2, widths[i]);
        if (widths[i] <= device->group_size && run >= spec->taps / 2 && run > 0) {
            count = fir_add(out, count, most, KERNEL_LOCAL, widths[i], run, 1);
        }
    }
    for (int i = 0; i < 5 && count == 0; i++) {
        uint32_t run = fir_local_run(spec, device->local_bytes, widths[i]);
        if (widths[i] <= device->group_size && run > 0) {
            count = fir_add(out, count, most, KERNEL_LOCAL, widths[i], run, 1);
        }
    }
    return count;
}

static uint32_t fir_put_blocks(struct channelise_shape *out, uint32_t count, uint32_t most,
                               uint32_t width, uint32_t teams, uint32_t run)
{
    if (count < most) {
        out[count++] = (struct channelise_shape){
            .kernel = KERNEL_BLOCKS, .width = width, .teams = teams, .run = run, .vector = 1};
    }
    return count;
}

/* The more spectra an item has, the fewer loads there are, until registers are short of items. */
static uint32_t fir_blocks_shapes(const struct channelise_spec *spec,
                                  const struct device_info *device, struct channelise_shape *out,
                                  uint32_t most)
{
    static const uint32_t runs[] = {16, 32, 8};
    const uint32_t width = fir_group_width(spec, device, 1);
    uint32_t count = 0;
    for (int i = 0; i < 3; i++) {
        count = fir_put_blocks(out, count, most, width, 1, runs[i]);
    }
    return count;
}

/* Every run that divides a piece, columns and times of a group that it may have. */
static uint32_t fir_blocks_space(const struct device_info *device, struct channelise_shape *out,
                                 uint32_t count, uint32_t most)
{
    enum { LEAST_RUN = 4, MOST_RUN = 32, LEAST = 32, WIDEST = 256, MOST_ITEMS = 512 };
    for (uint32_t run = LEAST_RUN; run <= MOST_RUN; run *= 2) {
        for (uint32_t width = LEAST; width <= WIDEST && width <= device->group_size; width *= 2) {
            for (uint32_t teams = 1;
                 width * teams <= MOST_ITEMS && width * teams <= device->group_size; teams *= 2) {
                count = fir_put_blocks(out, count, most, width, teams, run);
            }
        }
    }
    return count;
}

uint32_t fir_shapes(const struct channelise_spec *spec, enum kernel_kind kernel,
                    const struct device_info *device, struct channelise_shape *out, uint32_t most)
{
    uint32_t count = 0;
    const int has_all = !channelise_is_oversampled(spec);
    if (has_all &&
        (kernel == KERNEL_BLOCKS || (kernel == KERNEL_AUTO && spec->taps > BLOCKS_PIECE))) {
        count += fir_blocks_shapes(spec, device, out, most);
    }
    if (has_all && (kernel == KERNEL_AUTO || kernel == KERNEL_SLIDE)) {
        count += fir_slide_shapes(spec, device, out + count, most - count);
    }
    if (kernel == KERNEL_AUTO || kernel == KERNEL_CACHE) {
        static const uint32_t runs[] = {8, 4};
        for (int i = 0; i < 2; i++) {
            count = fir_add(out, count, most, KERNEL_CACHE, fir_group_width(spec, device, 1),
                            runs[i], 1);
        }
    }
    if (has_all && (kernel == KERNEL_AUTO || kernel == KERNEL_LOCAL)) {
        count += fir_local_shapes(spec, device, out + count, most - count);
    }
    return count;
}

/* Runs of a kernel for columns of a group; 0 behind the last one. */
static uint32_t fir_run_of(const struct channelise_spec *spec, enum kernel_kind kernel,
                           const struct device_info *device, uint32_t width, uint32_t i)
{
    enum { RUNS = 5 };
    if (i >= RUNS) {
        return 0;
    }
    if (kernel == KERNEL_SLIDE) {
        return (uint32_t)ceil_div_u64(32U << i, spec->taps) * spec->taps;
    }
    if (kernel == KERNEL_CACHE) {
        return 1U << i;
    }
    /* Local memory for one group, or so that 2, 4, ... are resident. */
    return fir_local_run(spec, device->local_bytes >> i, width);
}

uint32_t fir_space(const struct channelise_spec *spec, enum kernel_kind kernel,
                   const struct device_info *device, struct channelise_shape *out, uint32_t most)
{
    enum { LEAST = 8, WIDEST = 512, MOST_VECTOR = 4 };
    uint32_t count = 0;
    for (uint32_t k = KERNEL_SLIDE; k <= KERNEL_LOCAL; k++) {
        int is_slide = k == KERNEL_SLIDE;
        if (channelise_is_oversampled(spec) && k != KERNEL_CACHE) {
            continue;
        }
        for (uint32_t width = LEAST; width <= WIDEST && width <= device->group_size; width *= 2) {
            for (uint32_t vector = 1; vector <= (is_slide ? MOST_VECTOR : 1); vector *= 2) {
                uint32_t run = 0;
                for (uint32_t i = 0;
                     (kernel == KERNEL_AUTO || kernel == (enum kernel_kind)k) &&
                     (!is_slide || fir_can_slide(spec, vector)) &&
                     (run = fir_run_of(spec, (enum kernel_kind)k, device, width, i)) > 0;
                     i++) {
                    count = fir_add(out, count, most, (enum kernel_kind)k, width, run, vector);
                }
            }
        }
    }
    if (!channelise_is_oversampled(spec) && (kernel == KERNEL_AUTO || kernel == KERNEL_BLOCKS)) {
        count = fir_blocks_space(device, out, count, most);
    }
    return count;
}

/* Groups along the columns. */
static uint32_t fir_across(const struct channelise_spec *spec, const struct channelise_shape *shape)
{
    uint32_t columns = shape->vector * shape->width;
    return (spec->channels + columns - 1) / columns;
}

/* Runs of spectra beside each other in a group. */
static uint32_t fir_teams(const struct channelise_shape *shape)
{
    return shape->kernel == KERNEL_BLOCKS ? shape->teams : 1;
}

status_t fir_options(const struct channelise_spec *spec, const struct channelise_shape *shape,
                     struct text *out)
{
    status_t st = STATUS_OK;
    TRY(samples_options(spec, out));
    TRY(text_add(out, " -DWIDTH=%u -DACROSS=%u -DRUN=%u -DVECTOR=%u -DTEAMS=%u", shape->width,
                 fir_across(spec, shape), shape->run, shape->vector, fir_teams(shape)));
    TRY(hop_options(spec, out));
out:
    return st;
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
