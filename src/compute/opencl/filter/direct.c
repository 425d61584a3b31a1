/* Direct sums: few taps with a window in registers, more with samples and coefficients in local
 * memory, in several passes beyond. */
#include "base/memory.h"
#include "compute/opencl/filter/filter_parts.h"

#include <stdlib.h>

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

/* Coefficient of sample i of a row's, 0 the oldest. */
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

/* The fastest on an H200: a vector of complex samples is two loads already. */
static void registers_settle(const struct filter_spec *spec, struct filter_shape *shape)
{
    if (!shape->width) {
        shape->width = spec->coding.is_complex ? 256 : 128;
    }
    if (!shape->values) {
        shape->values = spec->coding.is_complex ? VECTOR : 2 * VECTOR;
    }
}

static uint64_t registers_bytes(const struct filter_spec *spec)
{
    (void)spec;
    return 0;
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
                                            registers_run, registers_bytes};

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
    status_t st = STATUS_OK;
    const struct filter_spec *spec = &direct->spec;
    struct local_cut cut = local_cut(spec);
    uint64_t phase = (uint64_t)cut.pieces * cut.piece;
    float *table = NULL;
    TRY_OUT(memory_zeroed(local_floats(spec), sizeof *table, "coefficients", &table));
    for (uint32_t part = 0; part < direct_parts(spec); part++) {
        for (uint64_t i = 0; i < spec->taps; i++) {
            table[(part * (uint64_t)cut.phases + i % spec->decimate) * phase + i / spec->decimate] =
                (float)direct_coefficient(spec, i, part);
        }
    }
    TRY_OUT(device_put(direct->device, table, local_floats(spec) * sizeof *table, "coefficients",
                       &direct->table));
out:
    free(table);
    return st;
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

static uint64_t local_bytes(const struct filter_spec *spec)
{
    return local_floats(spec) * sizeof(float);
}

const struct filter_way filter_local = {local_can, local_settle, local_create, local_run,
                                        local_bytes};
