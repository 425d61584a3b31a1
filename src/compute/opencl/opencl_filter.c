/* The stage on an OpenCL device: up, unpack, filter in one of several ways, down; blocks overlap
 * through three queues. And the direct sums: few taps with a window in registers, more with samples
 * and coefficients in local memory, in several passes beyond. */
#include "compute/opencl/opencl_filter.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/shared/filter_table.h"
#include "dsp/overlap.h"

#include <stdlib.h>
#include <string.h>

enum {
    VECTOR = 4,             /* samples of a load */
    REGISTERS_FLOATS = 136, /* of coefficients, passed by value (any device takes 256) */
    REGISTERS_COMPLEX = 64, /* taps of complex samples: for more, local memory is faster */
    LOCAL_ROWS = 8,         /* of a work-item, as in kernels/filter/filter_local.cl */
    LOCAL_STEP = 8,         /* taps, likewise */
    LOCAL_PIECE = 512,      /* taps of a sum of its own */
    LOCAL_PIECES = 64,      /* such sums of a launch: decides bits, as the piece does */
    LOCAL_TAPS = 1024,      /* beyond, they are passes by name */
    FEW_ROWS = 1 << 19      /* fewer leave a large device idle: small groups */
};

static uint32_t direct_parts(const struct filter_spec *spec)
{
    return spec->is_complex_coeff ? 2 : 1;
}

/* Returns the coefficient of sample i of a row; 0 is the oldest sample. */
static double direct_coefficient(const struct filter_spec *spec, uint64_t i, uint32_t part)
{
    return spec->coeff[(spec->taps - 1 - i) * direct_parts(spec) + part];
}

static struct launch_size direct_size(const struct filter_made *direct,
                                      const struct filter_block *block)
{
    const struct filter_shape *shape = &direct->spec.choice.shape;
    uint64_t across = ceil_div_u64(block->rows, (uint64_t)shape->values * shape->width);
    return (struct launch_size){(size_t)across * block->nstreams, shape->width};
}

/* Place of the first sample of the run's first row, of a stream that is not shifted. */
static int64_t direct_base(const struct filter_spec *spec, const struct filter_block *block)
{
    return block->first_row * spec->decimate + spec->first - block->first_sample;
}

/* With the zeros that move the taps to any place within a vector. */
static uint32_t registers_taps(const struct filter_spec *spec)
{
    return (spec->taps + VECTOR - 1 + VECTOR - 1) / VECTOR * VECTOR;
}

static int registers_can(const struct filter_spec *spec, const struct filter_shape *shape,
                         const struct device_info *device)
{
    uint32_t most = spec->coding.is_complex ? REGISTERS_COMPLEX : REGISTERS_FLOATS;
    return !spec->response && !spec->shift && spec->decimate == 1 && spec->taps <= most &&
           registers_taps(spec) * direct_parts(spec) <= REGISTERS_FLOATS &&
           shape->values % VECTOR == 0 && (!device || shape->width <= device->group_size);
}

/* Sets open parameters to the fastest values on an H200. A vector of complex samples is two loads
 * already, so it is used alone. */
static void registers_settle(const struct filter_spec *spec, struct filter_shape *shape)
{
    if (!shape->width) {
        shape->width = spec->coding.is_complex ? 256 : 128;
    }
    if (!shape->values) {
        shape->values = spec->coding.is_complex ? VECTOR : 2 * VECTOR;
    }
}

static status_t registers_create(struct filter_made *direct)
{
    static const enum program_source sources[] = {SOURCE_FILTER_SAMPLES, SOURCE_FILTER_REGISTERS};
    const struct filter_spec *spec = &direct->spec;
    uint32_t parts = direct_parts(spec);
    struct text options = {0};
    TRY(memory_zeroed(spec->taps * (size_t)parts, sizeof *direct->values, "coefficients",
                      &direct->values));
    for (uint64_t i = 0; i < spec->taps * (uint64_t)parts; i++) {
        direct->values[i] = (float)direct_coefficient(spec, i / parts, (uint32_t)(i % parts));
    }
    filter_options(spec, &options);
    text_add(&options, " -DTAPS=%u -DROWS=%u -DWIDTH=%u", registers_taps(spec),
             spec->choice.shape.values, spec->choice.shape.width);
    return launch_build(direct->device, sources, 2, &options, "filter_registers",
                        &direct->kernels[0]);
}

static status_t registers_run(const struct filter_made *direct, struct stopwatch *watch,
                              const struct filter_block *block)
{
    const struct filter_spec *spec = &direct->spec;
    uint32_t parts = direct_parts(spec);
    int64_t place = direct_base(spec, block);
    uint32_t over = (uint32_t)(((place % VECTOR) + VECTOR) % VECTOR);
    float coeff[REGISTERS_FLOATS] = {0};
    const struct launch_argument by_value = {coeff, registers_taps(spec) * parts * sizeof *coeff};
    const cl_long base = place - over;
    for (uint32_t i = 0; i < spec->taps * parts; i++) {
        coeff[over * parts + i] = direct->values[i];
    }
    return LAUNCH(direct->device, direct->kernels[0], direct_size(direct, block), watch,
                  STEP_FILTER, ARGUMENT(block->in), ARGUMENT_ULONG(block->in_stride),
                  ARGUMENT_ULONG(block->samples), by_value, ARGUMENT(base), ARGUMENT(block->out),
                  ARGUMENT_ULONG(block->out_stride), ARGUMENT_ULONG(block->rows));
}

const struct filter_way filter_registers = {registers_can, registers_settle, registers_create,
                                            registers_run, NULL};

/* How taps are cut: samples of a row that are `decimate` apart make a phase of it. */
struct local_cut {
    uint32_t phases;
    uint32_t taps;   /* of a phase, rounded up */
    uint32_t piece;  /* taps */
    uint32_t pieces; /* of a phase */
};

static struct local_cut local_cut(const struct filter_spec *spec)
{
    struct local_cut cut = {.phases = spec->decimate < spec->taps ? spec->decimate : spec->taps};
    uint64_t taps = ceil_div_u64(spec->taps, spec->decimate);
    cut.taps = (uint32_t)(ceil_div_u64(taps, LOCAL_STEP) * LOCAL_STEP);
    cut.piece = cut.taps < LOCAL_PIECE ? cut.taps : LOCAL_PIECE;
    cut.pieces = (uint32_t)ceil_div_u64(cut.taps, cut.piece);
    return cut;
}

/* Floats of the table. */
static uint64_t local_floats(const struct filter_spec *spec)
{
    struct local_cut cut = local_cut(spec);
    return (uint64_t)cut.phases * cut.pieces * cut.piece * direct_parts(spec);
}

/* Returns the cells of local memory. */
static uint64_t local_cells(const struct filter_spec *spec, uint32_t width)
{
    uint64_t piece = local_cut(spec).piece;
    uint64_t tile = (uint64_t)width * LOCAL_ROWS + piece;
    return (tile + tile / 8 + 8) * (spec->coding.is_complex ? 2 : 1) + piece * direct_parts(spec);
}

static void local_settle(const struct filter_spec *spec, struct filter_shape *shape)
{
    uint64_t rows = spec->max_rows * spec->nstreams;
    if (!shape->width) {
        shape->width = rows < FEW_ROWS ? 64 : spec->taps <= LOCAL_TAPS ? 128 : 256;
    }
    shape->values = LOCAL_ROWS;
}

static uint64_t local_bytes(const struct filter_spec *spec)
{
    return local_floats(spec) * sizeof(float);
}

static int local_can(const struct filter_spec *spec, const struct filter_shape *shape,
                     const struct device_info *device)
{
    enum { LEAST_LOCAL = 32768 }; /* of any device */
    struct filter_shape settled = *shape;
    local_settle(spec, &settled);
    return !spec->response && (shape->kernel == FILTER_KERNEL_PASSES || spec->taps <= LOCAL_TAPS) &&
           local_cells(spec, settled.width) * sizeof(float) <=
               (device ? device->local_bytes : LEAST_LOCAL) &&
           (!device || settled.width <= device->group_size);
}

static status_t local_put(struct filter_made *direct)
{
    const struct filter_spec *spec = &direct->spec;
    struct local_cut cut = local_cut(spec);
    uint64_t phase = (uint64_t)cut.pieces * cut.piece;
    float *table = NULL;
    TRY(memory_zeroed(local_floats(spec), sizeof *table, "coefficients", &table));
    for (uint32_t part = 0; part < direct_parts(spec); part++) {
        for (uint64_t i = 0; i < spec->taps; i++) {
            table[(part * (uint64_t)cut.phases + i % spec->decimate) * phase + i / spec->decimate] =
                (float)direct_coefficient(spec, i, part);
        }
    }
    return device_put_table(direct->device, table, local_floats(spec) * sizeof *table,
                            "coefficients", &direct->table);
}

static status_t local_create(struct filter_made *direct)
{
    static const enum program_source sources[] = {SOURCE_FILTER_SAMPLES, SOURCE_FILTER_LOCAL};
    const struct filter_spec *spec = &direct->spec;
    struct local_cut cut = local_cut(spec);
    struct text options = {0};
    TRY(local_put(direct));
    filter_options(spec, &options);
    text_add(&options, " -DPHASES=%u -DTAPS=%u -DPIECE=%u -DPIECES=%u -DWIDTH=%u", cut.phases,
             cut.taps, cut.piece, cut.pieces, spec->choice.shape.width);
    return launch_build(direct->device, sources, 2, &options, "filter_local", &direct->kernels[0]);
}

static status_t local_run(const struct filter_made *direct, struct stopwatch *watch,
                          const struct filter_block *block)
{
    const struct local_cut cut = local_cut(&direct->spec);
    const uint64_t all = (uint64_t)cut.phases * cut.pieces;
    const cl_long base = direct_base(&direct->spec, block);
    for (uint64_t from = 0; from < all; from += LOCAL_PIECES) {
        uint64_t pieces = min_u64(LOCAL_PIECES, all - from);
        TRY(LAUNCH(direct->device, direct->kernels[0], direct_size(direct, block), watch,
                   STEP_FILTER, ARGUMENT(block->in), ARGUMENT_ULONG(block->in_stride),
                   ARGUMENT_ULONG(block->samples), ARGUMENT(block->streams),
                   ARGUMENT(direct->table), ARGUMENT(base), ARGUMENT_UINT((cl_uint)from),
                   ARGUMENT_UINT((cl_uint)pieces), ARGUMENT(block->out),
                   ARGUMENT_ULONG(block->out_stride), ARGUMENT_ULONG(block->rows)));
    }
    return STATUS_OK;
}

const struct filter_way filter_local = {local_can, local_settle, local_create, local_run,
                                        local_bytes};

/* Which ways of filtering there are, and what a problem can choose from. The rule by which a filter
 * is computed, shapes to measure, and their words. */

enum {
    MOST_BITS = 26, /* of a transform's length */
    LEAST_BITS = 8, /* below, direct sums win anyway */
    FACTOR = 8,     /* a transform's length in taps: seven eighths of it are rows */
    MOST_CANDIDATES = 32
};

static const struct filter_way *const ways[] = {[FILTER_KERNEL_REGISTERS] = &filter_registers,
                                                [FILTER_KERNEL_LOCAL] = &filter_local,
                                                [FILTER_KERNEL_PASSES] = &filter_local,
                                                [FILTER_KERNEL_FUSED] = &filter_fused,
                                                [FILTER_KERNEL_LIBRARY] = &filter_library};
static const char *const kernel_words[] = {
    [FILTER_KERNEL_AUTO] = "automatic", [FILTER_KERNEL_REGISTERS] = "registers",
    [FILTER_KERNEL_LOCAL] = "local",    [FILTER_KERNEL_PASSES] = "passes",
    [FILTER_KERNEL_FUSED] = "fused",    [FILTER_KERNEL_LIBRARY] = "library"};

/* Each method's kernels, the fastest first; the last one does everything. */
static const uint32_t direct_kernels[] = {FILTER_KERNEL_REGISTERS, FILTER_KERNEL_LOCAL,
                                          FILTER_KERNEL_PASSES, 0};
static const uint32_t overlap_kernels[] = {FILTER_KERNEL_FUSED, FILTER_KERNEL_LIBRARY, 0};

static const uint32_t *filter_kernels(uint32_t method)
{
    return method == FILTER_DIRECT ? direct_kernels : overlap_kernels;
}

static int filter_can(const struct filter_spec *spec, const struct device_info *device,
                      const struct filter_shape *shape)
{
    return ways[shape->kernel] && ways[shape->kernel]->can(spec, shape, device);
}

/* The way that does a shape whose method and length are made. Completes the shape; a kernel that
 * cannot do it there (`device`; NULL: on the least of devices) makes room for the one that does
 * everything. */
static const struct filter_way *filter_settle(const struct filter_spec *spec,
                                              const struct device_info *device,
                                              struct filter_shape *shape)
{
    const uint32_t *kernel = filter_kernels(shape->method);
    if (shape->kernel == FILTER_KERNEL_AUTO || !filter_can(spec, device, shape)) {
        do {
            *shape = (struct filter_shape){
                .method = shape->method, .length = shape->length, .kernel = *kernel};
            kernel++;
        } while (*kernel && !filter_can(spec, device, shape));
    }
    ways[shape->kernel]->settle(spec, shape);
    return ways[shape->kernel];
}

/* Multiplications of floats for a row by direct sums. */
static double filter_products(const struct filter_spec *spec)
{
    return (double)spec->taps * (spec->coding.is_complex ? 2 : 1) *
           (spec->is_complex_coeff ? 2 : 1);
}

/* Whether direct sums are faster: up to this number of products a sample that comes in (H200: by
 * then they take as long as a fused transform, for complex rows and, at half of both times, for
 * real ones).
 */
static int filter_is_short(const struct filter_spec *spec)
{
    enum { PRODUCTS = 64 };
    return !spec->response && filter_products(spec) <= (double)PRODUCTS * spec->decimate;
}

/* Bits of a transform's length; 0: none is long enough for one row. */
static uint32_t filter_bits(const struct filter_spec *spec)
{
    const uint32_t fused = filter_fused_length(spec);
    uint64_t least = (uint64_t)spec->taps - 1 + spec->decimate;
    uint64_t wanted = (uint64_t)spec->taps * FACTOR;
    uint32_t bits = LEAST_BITS;
    wanted = fused ? fused : max_u64(wanted, least);
    while (bits < MOST_BITS && (uint64_t)1 << bits < wanted) {
        bits++;
    }
    return (uint64_t)1 << bits >= least ? bits : 0;
}

/* An operation of struct filter_ops. */
static status_t opencl_filter_choose(const struct filter_spec *spec, struct filter_choice *out)
{
    struct filter_shape shape = {.method = FILTER_DIRECT};
    REQUIRE(spec->method != FILTER_DIRECT || !spec->response, STATUS_USAGE,
            "filter.method is direct, but a frequency response has no direct form: leave it auto");
    if (spec->method == FILTER_OVERLAP_SAVE ||
        (spec->method == FILTER_AUTO && !filter_is_short(spec))) {
        uint32_t bits = filter_bits(spec);
        REQUIRE(bits > 0, STATUS_USAGE,
                "a filter of %u taps that keeps one sample of %u needs transforms of more than %u "
                "samples",
                spec->taps, spec->decimate, 1U << MOST_BITS);
        shape = (struct filter_shape){.method = FILTER_OVERLAP_SAVE, .length = 1U << bits};
    }
    (void)filter_settle(spec, NULL, &shape);
    *out = (struct filter_choice){.backend = BACKEND_OPENCL, .shape = shape};
    return STATUS_OK;
}

/* Adds a shape unless it cannot be or is there. */
static void filter_add(const struct filter_spec *spec, const struct device_info *device,
                       struct filter_shape shape, struct filter_shape *list, uint32_t *count)
{
    if (*count == MOST_CANDIDATES || !filter_can(spec, device, &shape)) {
        return;
    }
    ways[shape.kernel]->settle(spec, &shape);
    for (uint32_t i = 0; i < *count; i++) {
        if (memcmp(&list[i], &shape, sizeof shape) == 0) {
            return;
        }
    }
    list[(*count)++] = shape;
}

static void filter_add_direct(const struct filter_spec *spec, const struct device_info *device,
                              struct filter_shape *list, uint32_t *count)
{
    static const uint32_t widths[] = {0, 128, 256, 64};
    for (const uint32_t *kernel = direct_kernels; *kernel; kernel++) {
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            for (uint32_t values = 0; values <= 8; values += 4) {
                filter_add(spec, device,
                           (struct filter_shape){.method = FILTER_DIRECT,
                                                 .kernel = *kernel,
                                                 .width = widths[i],
                                                 .values = values},
                           list, count);
            }
        }
    }
}

static void filter_add_overlap(const struct filter_spec *spec, const struct device_info *device,
                               struct filter_shape *list, uint32_t *count)
{
    uint32_t bits = filter_bits(spec);
    for (int off = 1; bits > 0 && off >= -2; off--) {
        int now = (int)bits + off;
        for (const uint32_t *kernel = overlap_kernels; now <= MOST_BITS && *kernel; kernel++) {
            for (uint32_t values = 0; values <= 64; values = values ? 2 * values : 4) {
                filter_add(spec, device,
                           (struct filter_shape){.method = FILTER_OVERLAP_SAVE,
                                                 .length = 1U << now,
                                                 .kernel = *kernel,
                                                 .values = values},
                           list, count);
            }
        }
    }
}

static status_t opencl_filter_candidates(backend_t *backend, const struct filter_spec *spec,
                                         struct filter_shape **out, uint32_t *count)
{
    const struct device_info *device = &((struct opencl *)backend)->device->info;
    struct filter_choice choice = {0};
    struct filter_shape *list = NULL;
    uint32_t n = 0;
    TRY(opencl_filter_choose(spec, &choice));
    TRY(memory_zeroed(MOST_CANDIDATES, sizeof *list, "shapes", &list));
    (void)filter_settle(spec, device, &choice.shape);
    filter_add(spec, device, choice.shape, list, &n);
    if (spec->method != FILTER_OVERLAP_SAVE && !spec->response) {
        filter_add_direct(spec, device, list, &n);
    }
    if (spec->method != FILTER_DIRECT) {
        filter_add_overlap(spec, device, list, &n);
    }
    *out = list;
    *count = n;
    return STATUS_OK;
}

static status_t opencl_filter_words(const struct filter_choice *choice, struct text *out)
{
    const struct filter_shape *shape = &choice->shape;
    return shape->method == FILTER_OVERLAP_SAVE
               ? text_add(out, "overlap-save (%u, %s)", shape->length, kernel_words[shape->kernel])
               : text_add(out, "direct (%s)", kernel_words[shape->kernel]);
}

struct stage {
    struct filter base;
    struct opencl *opencl;
    deinterleave_t *deinterleave;
    const struct filter_way *way;
    struct filter_made made;
    struct filter_stream *known; /* [nstreams] as they stand on the device */
    uint32_t nknown;
    cl_mem streams;
    struct stopwatch watch;
};

static void opencl_filter_destroy(void *filter)
{
    struct stage *stage = filter;
    struct filter_made *made = &stage->made;
    device_t *device = stage->opencl->device;
    clFinish(device->compute);
    LAUNCH_RELEASE(made->kernels[0], made->kernels[1], made->kernels[2]);
    fft_destroy(made->fft);
    DEVICE_RELEASE(device, made->table, made->factors, made->columns, made->work, stage->streams);
    deinterleave_destroy(stage->deinterleave);
    stopwatch_free(&stage->watch);
    MEMORY_FREE(made->values, stage->known);
}

/* Samples of a stream that the rows of a run need, unless streams are shifted. */
static uint64_t filter_samples(const struct filter_spec *spec)
{
    struct overlap overlap =
        overlap_filter(spec->taps, spec->first, spec->decimate, filter_grain(spec));
    return overlap_inputs(&overlap, max_u64(spec->max_rows, 1));
}

static status_t opencl_filter_create(backend_t *backend, void *made)
{
    struct stage *stage = made;
    const struct filter_spec *spec = &stage->base.spec;
    device_t *device = ((struct opencl *)backend)->device;
    stage->opencl = (struct opencl *)backend;
    stage->watch.is_on = spec->is_timed;
    stage->way = filter_settle(spec, &device->info, &stage->base.spec.choice.shape);
    REQUIRE(filter_can(spec, &device->info, &spec->choice.shape), STATUS_USAGE,
            "a filter of %u taps, decimating by %u, in blocks of %u samples, cannot be on %s",
            spec->taps, spec->decimate, spec->choice.shape.length, device->info.name);
    TRY(memory_zeroed(spec->nstreams, sizeof *stage->known, "streams", &stage->known));
    TRY(device_allocate(device, spec->nstreams * sizeof *stage->known, "streams", &stage->streams));
    TRY(deinterleave_create(device, &spec->coding, spec->nstreams, filter_samples(spec),
                            &stage->deinterleave));
    stage->made = (struct filter_made){.device = device, .spec = stage->base.spec};
    TRY(stage->way->create(&stage->made));
    stage->base.spec.coeff = NULL;
    return STATUS_OK;
}

/* Responses and shifts differ from run to run only where groups of streams do. */
static status_t filter_bring_streams(struct stage *stage, const struct stage_run *run)
{
    const struct filter_spec *spec = &stage->base.spec;
    int differs = run->streams.count != stage->nknown;
    for (uint32_t i = 0; i < run->streams.count; i++) {
        uint32_t stream = stream_set_at(&run->streams, i);
        const struct filter_stream wanted = {.shift = spec->shift ? spec->shift[stream] : 0,
                                             .response = filter_table_of(spec, stream)};
        differs |= wanted.shift != stage->known[i].shift;
        differs |= wanted.response != stage->known[i].response;
        stage->known[i] = wanted;
    }
    stage->nknown = run->streams.count;
    return differs ? device_write(stage->opencl->device, stage->streams, 0, stage->known,
                                  run->streams.count * sizeof *stage->known, "streams")
                   : STATUS_OK;
}

static status_t filter_unpack(struct stage *stage, struct opencl_buffer *in,
                              const struct sample_input *input, const struct stage_run *run,
                              struct filter_block *block)
{
    const struct deinterleave_block raw = {
        in->memory,         input,        run->streams.count,   run->samples,
        run->counted_first, run->counted, in->use != BUFFER_IN, 0};
    TRY(deinterleave_run(stage->deinterleave, &stage->watch, &raw, &block->in, &block->in_stride,
                         NULL));
    return raw.is_clean ? STATUS_OK
                        : deinterleave_fetch(stage->deinterleave, in->counts, &in->counted);
}

static status_t opencl_filter_run(void *filter, buffer_t *in_buffer,
                                  const struct sample_input *input, const struct stage_run *run,
                                  buffer_t *out_buffer)
{
    struct stage *stage = filter;
    const struct filter_spec *spec = &stage->base.spec;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    struct opencl_buffer *out = (struct opencl_buffer *)out_buffer;
    uint64_t extent = run->samples > 0 ? deinterleave_extent(&spec->coding, input,
                                                             run->streams.count, run->samples)
                                       : 0;
    uint64_t row_bytes = spec->is_complex_out ? 2 * sizeof(float) : sizeof(float);
    uint64_t bytes = ((run->streams.count - 1) * run->out_stride + run->rows) * row_bytes;
    struct filter_block block = {.in = in->memory,
                                 .samples = run->samples,
                                 .nstreams = run->streams.count,
                                 .streams = stage->streams,
                                 .first_sample = run->first_sample,
                                 .first_row = run->first_row,
                                 .rows = run->rows,
                                 .out = out->memory,
                                 .out_stride = run->out_stride};
    TRY(opencl_block_begin(in, extent, &out_buffer, 1, &stage->watch));
    TRY(filter_bring_streams(stage, run));
    TRY(run->samples > 0 ? filter_unpack(stage, in, input, run, &block) : STATUS_OK);
    TRY(run->rows > 0 ? stage->way->run(&stage->made, &stage->watch, &block) : STATUS_OK);
    return opencl_block_end(in, &out_buffer, &bytes, 1, &stage->watch);
}

static uint64_t opencl_filter_bytes(const struct filter_spec *spec)
{
    struct filter_shape shape = spec->choice.shape;
    (void)filter_settle(spec, NULL, &shape);
    /* A table on its way to the device. */
    uint64_t table = shape.method == FILTER_OVERLAP_SAVE
                         ? filter_table_bytes(spec, shape.length) +
                               filter_table_extra(spec, shape.length) +
                               shape.length * sizeof(uint32_t)
                         : 4 * sizeof(float) * (uint64_t)(spec->taps + spec->decimate);
    return table + spec->nstreams * sizeof(struct filter_stream);
}

static uint64_t opencl_filter_device_bytes(const struct filter_spec *spec)
{
    struct filter_spec settled = *spec;
    const struct filter_way *way = filter_settle(spec, NULL, &settled.choice.shape);
    return deinterleave_bytes(&spec->coding, spec->nstreams, filter_samples(&settled)) +
           spec->nstreams * sizeof(struct filter_stream) + (way->bytes ? way->bytes(&settled) : 0);
}

OPENCL_TIMES(opencl_filter_times)

const struct filter_ops opencl_filter = {.stage = {sizeof(struct stage), opencl_filter_create,
                                                   opencl_filter_destroy, opencl_filter_times,
                                                   opencl_filter_run},
                                         .choose = opencl_filter_choose,
                                         .bytes = {opencl_filter_bytes, opencl_filter_device_bytes},
                                         .candidates = opencl_filter_candidates,
                                         .words = opencl_filter_words};
