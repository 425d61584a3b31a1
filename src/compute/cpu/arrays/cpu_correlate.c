/* The CPU's correlation. A task takes some neighbouring columns through all spectra of a run: grain
 * by grain, inputs become planes that stay in the second-level cache, and blocks of them meet in
 * registers. */
#include "base/clock.h"
#include "base/memory.h"
#include "compute/cpu/arrays/correlate_kernels.h"
#include "compute/cpu/cpu.h"
#include "compute/shared/correlate_table.h"
#include "compute/shared/grains.h"

#include <stdlib.h>
#include <string.h>

/* How columns and pairs are divided: from the spec, the kernels and the number of blocks. Columns
 * are cut into ranges of whole output channels, these into vectors. */
struct correlate_layout {
    uint32_t range, ranges; /* columns of a range; ranges */
    uint32_t vectors;       /* of a range */
    uint32_t parts;         /* into which the blocks of inputs are divided for more tasks */
    uint64_t most_blocks;   /* of a part */
    size_t block, station;  /* numbers of a block's and of a station's sums */
    size_t inputs;          /* whose planes are kept: whole blocks */
    int has_tiles;
};

/* A thread's. */
struct correlate_scratch {
    float *planes;  /* [inputs][GRAIN][2][lanes] */
    float *sums;    /* [blocks of a part][rows][columns][2][lanes] of a tile */
    double *totals; /* of the tiles before; NULL: a dump has one tile */
    double *autos;  /* [stations][products][lanes] */
    double *cells;  /* [npairs][range / average][products][2]; NULL: no channels are averaged */
};

/* A call of run(), in the pool until it is done. */
struct correlate_work {
    struct cpu_correlate *stage;
    uint64_t number; /* in the pool */
    const float *in;
    float *turns; /* a copy, if there are any */
    int is_turned;
    uint64_t first, spectra;
    float *out;
};

struct cpu_correlate {
    struct correlate base;
    const struct correlate_kernels *kernels;
    pool_t *pool;
    struct correlate_layout layout;
    struct correlate_blocks blocks;
    int32_t *lookup;
    uint8_t *needed;   /* [parts][stations] */
    uint32_t *part_of; /* [npairs] */
    struct correlate_scratch *scratch;
    /* The dump that is not complete yet, of each vector of columns: as in the scratch. */
    float *carry_sums;
    double *carry_totals, *carry_autos;
    struct correlate_work work[POOL_BLOCKS];
    uint64_t nworks;
};

/* The vector of columns that a task is at. */
struct correlate_place {
    const struct correlate_work *work;
    struct correlate_scratch *scratch;
    uint32_t part, vector; /* of all vectors */
    uint64_t column;
    uint32_t count;             /* columns */
    uint64_t first_cell, cells; /* of the range */
    size_t first_block, nblocks;
    uint64_t dump;
};

static int correlate_is_auto(const struct cpu_correlate *stage, uint32_t station)
{
    return stage->lookup[(size_t)station * stage->base.spec.stations + station] >= 0;
}

/* Spectra at .. end - 1, of one grain, as planes; and their powers. */
static void correlate_prepare(const struct correlate_place *place, uint64_t at, uint64_t end)
{
    const struct correlate_work *work = place->work;
    const struct cpu_correlate *stage = work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const size_t columns = correlate_columns(spec);
    const size_t lanes = stage->kernels->lanes;
    const size_t turn = (size_t)spec->stations * spec->coarse * 2;
    const uint8_t *needed = stage->needed + (size_t)place->part * spec->stations;
    float autos[4 * MOST_LANES] = {0};
    struct correlate_station one = {.spectrum = correlate_inputs(spec) * columns * 2,
                                    .input = columns * 2,
                                    .pols = spec->pols,
                                    .spectra = (uint32_t)(end - at),
                                    .count = place->count,
                                    .turn = turn,
                                    .channel = (uint32_t)(place->column % spec->nchannels),
                                    .nchannels = spec->nchannels,
                                    .plane = 2 * GRAIN * lanes};
    for (uint32_t i = 0; i < spec->stations; i++) {
        if (!needed[i]) {
            continue;
        }
        one.from = work->in + (at - work->first) * one.spectrum + i * one.input * spec->pols +
                   2 * place->column;
        one.turns = work->is_turned
                        ? work->turns + (at - work->first) * turn +
                              2 * (i * (size_t)spec->coarse + place->column / spec->nchannels)
                        : NULL;
        one.planes = place->scratch->planes + i * spec->pols * one.plane;
        one.autos = place->part == 0 && correlate_is_auto(stage, i) ? autos : NULL;
        stage->kernels->prepare(&one);
        double *total = place->scratch->autos + i * stage->layout.station;
        for (size_t k = 0; one.autos && k < stage->layout.station; k++) {
            total[k] += (double)autos[k];
        }
    }
}

static void correlate_add_tile(const struct correlate_place *place)
{
    const struct correlate_scratch *scratch = place->scratch;
    const size_t count = place->nblocks * place->work->stage->layout.block;
    for (size_t i = 0; i < count; i++) {
        scratch->totals[i] += (double)scratch->sums[i];
    }
    memset(scratch->sums, 0, count * sizeof *scratch->sums);
}

/* Spectra at .. end - 1 of a dump. */
static void correlate_spectra(const struct correlate_place *place, uint64_t at, uint64_t end)
{
    const struct cpu_correlate *stage = place->work->stage;
    const struct correlate_blocks *blocks = &stage->blocks;
    const uint64_t integrate = stage->base.spec.integrate;
    const size_t plane = 2 * GRAIN * stage->kernels->lanes;
    const float *planes = place->scratch->planes;
    while (at < end) {
        const uint64_t next = min_u64((at / GRAIN + 1) * GRAIN, end);
        correlate_prepare(place, at, next);
        for (size_t i = 0; i < place->nblocks; i++) {
            const struct correlate_block *block = &blocks->list[place->first_block + i];
            stage->kernels->cross(planes + block->a * blocks->rows * plane,
                                  planes + block->b * blocks->columns * plane,
                                  (uint32_t)(next - at),
                                  place->scratch->sums + i * stage->layout.block);
        }
        if (next == correlate_tile_end(at, integrate) && next % integrate != 0) {
            correlate_add_tile(place);
        }
        at = next;
    }
}

/* Writes a product of a pair, re and im of each column, or adds it to the output channels. */
static void correlate_put(const struct correlate_place *place, uint32_t a, uint32_t b,
                          const double *re, const double *im)
{
    const struct cpu_correlate *stage = place->work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const uint64_t columns = correlate_columns(spec);
    const uint32_t products = correlate_products(spec);
    const uint32_t product = correlate_product(a % spec->pols, b % spec->pols);
    const int32_t pair = stage->lookup[a / spec->pols * (size_t)spec->stations + b / spec->pols];
    const uint64_t row = place->dump - place->work->first / spec->integrate;
    float *out = place->work->out + row * correlate_row_floats(spec) +
                 ((uint64_t)pair * columns / spec->average * products + product) * 2;
    double *cells = place->scratch->cells;
    for (uint32_t k = 0; k < place->count; k++) {
        const uint64_t column = place->column + k;
        double x = re[k];
        double y = im[k];
        if (spec->gains) {
            const float *g = spec->gains + 2 * (a * columns + column);
            const float *h = spec->gains + 2 * (b * columns + column);
            const double u = (double)g[0] * (double)h[0] + (double)g[1] * (double)h[1];
            const double v = (double)g[1] * (double)h[0] - (double)g[0] * (double)h[1];
            x = re[k] * u - im[k] * v;
            y = re[k] * v + im[k] * u;
        }
        if (cells) {
            double *cell =
                cells +
                (((uint64_t)pair * place->cells + column / spec->average - place->first_cell) *
                     products +
                 product) *
                    2;
            cell[0] += x;
            cell[1] += y;
        } else {
            out[column * products * 2] = (float)x;
            out[column * products * 2 + 1] = (float)y;
        }
    }
}

/* The sums of inputs a and b of a block, in double. */
static void correlate_put_block(const struct correlate_place *place, size_t i)
{
    const struct cpu_correlate *stage = place->work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const struct correlate_blocks *blocks = &stage->blocks;
    const struct correlate_block *block = &blocks->list[place->first_block + i];
    const size_t lanes = stage->kernels->lanes;
    for (uint32_t n = 0; n < blocks->rows * blocks->columns; n++) {
        const uint32_t a = block->a * blocks->rows + n / blocks->columns;
        const uint32_t b = block->b * blocks->columns + n % blocks->columns;
        const uint32_t first = a / spec->pols;
        const uint32_t second = b / spec->pols;
        const size_t at = i * stage->layout.block + n * 2 * lanes;
        double sums[2][MOST_LANES];
        if (first >= second || second >= spec->stations ||
            stage->lookup[first * (size_t)spec->stations + second] < 0) {
            continue;
        }
        for (size_t k = 0; k < 2 * lanes; k++) {
            sums[k / lanes][k % lanes] =
                (double)place->scratch->sums[at + k] +
                (stage->layout.has_tiles ? place->scratch->totals[at + k] : 0);
        }
        correlate_put(place, a, b, sums[0], sums[1]);
    }
}

static void correlate_put_auto(const struct correlate_place *place, uint32_t station)
{
    static const double zeros[MOST_LANES] = {0};
    const struct cpu_correlate *stage = place->work->stage;
    const uint32_t pols = stage->base.spec.pols;
    const size_t lanes = stage->kernels->lanes;
    const double *sums = place->scratch->autos + station * stage->layout.station;
    double minus[MOST_LANES];
    for (uint32_t p = 0; p < pols; p++) {
        correlate_put(place, station * pols + p, station * pols + p, sums + p * lanes, zeros);
    }
    if (pols == 2) {
        for (size_t k = 0; k < lanes; k++) {
            minus[k] = -sums[3 * lanes + k];
        }
        correlate_put(place, station * 2, station * 2 + 1, sums + 2 * lanes, sums + 3 * lanes);
        correlate_put(place, station * 2 + 1, station * 2, sums + 2 * lanes, minus);
    }
}

/* Copies sums between a thread's memory and the carried ones; NULL as `from` stands for zeros. */
static void correlate_copy(void *to, const void *from, size_t bytes)
{
    if (from) {
        memcpy(to, from, bytes);
    } else {
        memset(to, 0, bytes);
    }
}

/* Begins with what was carried, or with zeros; or carries. */
static void correlate_carry(const struct correlate_place *place, int is_begin, int is_carried)
{
    const struct cpu_correlate *stage = place->work->stage;
    const struct correlate_layout *layout = &stage->layout;
    const struct correlate_scratch *scratch = place->scratch;
    const size_t stations = stage->base.spec.stations * layout->station;
    const size_t count = place->nblocks * layout->block;
    const size_t at =
        ((size_t)place->vector * stage->blocks.count + place->first_block) * layout->block;
    float *sums = stage->carry_sums + at;
    double *totals = layout->has_tiles ? stage->carry_totals + at : NULL;
    double *autos = stage->carry_autos + place->vector * stations;
    if (is_begin) {
        correlate_copy(scratch->sums, is_carried ? sums : NULL, count * sizeof *sums);
        correlate_copy(scratch->autos, is_carried ? autos : NULL, stations * sizeof *autos);
        if (totals) {
            correlate_copy(scratch->totals, is_carried ? totals : NULL, count * sizeof *totals);
        }
    } else {
        memcpy(sums, scratch->sums, count * sizeof *sums);
        if (place->part == 0) {
            memcpy(autos, scratch->autos, stations * sizeof *autos);
        }
        if (totals) {
            memcpy(totals, scratch->totals, count * sizeof *totals);
        }
    }
}

static uint64_t correlate_dump_end(const struct correlate_place *place)
{
    const struct correlate_work *work = place->work;
    const uint64_t integrate = work->stage->base.spec.integrate;
    const uint64_t begin = place->dump * integrate;
    const uint64_t end = work->first + work->spectra;
    return end - begin < integrate ? end : begin + integrate;
}

/* A dump's spectra of the run, in some columns. */
static void correlate_dump(const struct correlate_place *place)
{
    const struct correlate_work *work = place->work;
    const struct cpu_correlate *stage = work->stage;
    const uint64_t integrate = stage->base.spec.integrate;
    const uint64_t begin = place->dump * integrate;
    const uint64_t end = correlate_dump_end(place);
    correlate_carry(place, 1, begin < work->first);
    correlate_spectra(place, max_u64(begin, work->first), end);
    if (end - begin < integrate) {
        correlate_carry(place, 0, 1);
        return;
    }
    for (size_t i = 0; i < place->nblocks; i++) {
        correlate_put_block(place, i);
    }
    for (uint32_t i = 0; i < stage->base.spec.stations && place->part == 0; i++) {
        if (correlate_is_auto(stage, i)) {
            correlate_put_auto(place, i);
        }
    }
}

/* Rounds the range's output channels of the pairs of a part. */
static void correlate_put_cells(const struct correlate_place *place)
{
    const struct cpu_correlate *stage = place->work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const uint64_t floats = 2 * correlate_products(spec);
    const uint64_t all = correlate_columns(spec) / spec->average;
    const uint64_t row = place->dump - place->work->first / spec->integrate;
    float *out = place->work->out + row * correlate_row_floats(spec) + place->first_cell * floats;
    const double *cells = place->scratch->cells;
    for (uint32_t pair = 0; pair < spec->npairs; pair++) {
        if (stage->part_of[pair] == place->part) {
            for (uint64_t i = 0; i < place->cells * floats; i++) {
                out[pair * all * floats + i] = (float)cells[pair * place->cells * floats + i];
            }
        }
    }
}

static void correlate_task(void *context, uint32_t thread, uint64_t task)
{
    const struct correlate_work *work = context;
    struct cpu_correlate *stage = work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const struct correlate_layout *layout = &stage->layout;
    const uint32_t lanes = (uint32_t)stage->kernels->lanes;
    const uint32_t range = (uint32_t)(task / layout->parts);
    const uint64_t first = (uint64_t)range * layout->range;
    const uint64_t end = min_u64(first + layout->range, correlate_columns(spec));
    const uint64_t last_dump = (work->first + work->spectra - 1) / spec->integrate;
    struct correlate_place place = {.work = work,
                                    .scratch = &stage->scratch[thread],
                                    .part = (uint32_t)(task % layout->parts),
                                    .first_cell = first / spec->average,
                                    .cells = (end - first) / spec->average};
    const uint64_t blocks = stage->blocks.count;
    place.first_block = blocks * place.part / layout->parts;
    place.nblocks = blocks * (place.part + 1) / layout->parts - place.first_block;
    for (place.dump = work->first / spec->integrate; place.dump <= last_dump; place.dump++) {
        if (place.scratch->cells) {
            memset(place.scratch->cells, 0,
                   spec->npairs * place.cells * 2 * correlate_products(spec) * sizeof(double));
        }
        for (uint32_t v = 0; v < layout->vectors; v++) {
            place.column = first + (uint64_t)v * lanes;
            place.count = (uint32_t)min_u64(lanes, end - min_u64(place.column, end));
            place.vector = range * layout->vectors + v;
            correlate_dump(&place);
        }
        if (place.scratch->cells &&
            correlate_dump_end(&place) == (place.dump + 1) * spec->integrate) {
            correlate_put_cells(&place);
        }
    }
}

static status_t cpu_correlate_run(correlate_t *base, buffer_t *in, uint64_t spectra,
                                  const float *turns, buffer_t *out)
{
    status_t st = STATUS_OK;
    struct cpu_correlate *stage = (struct cpu_correlate *)base;
    struct correlate_work *work = &stage->work[stage->nworks % POOL_BLOCKS];
    const struct correlate_spec *spec = &stage->base.spec;
    void *from = NULL;
    void *to = NULL;
    pool_wait(stage->pool, work->number);
    TRY(buffer_get(in, &from));
    TRY(buffer_get(out, &to));
    work->stage = stage;
    work->in = from;
    work->out = to;
    work->first = base->next;
    work->spectra = spectra;
    work->is_turned = turns != NULL;
    if (turns) {
        memcpy(work->turns, turns, spectra * spec->stations * spec->coarse * 2 * sizeof *turns);
    }
    /* In the second phase the block before, whose sums are carried, is done. */
    struct pool_block block = {.context = work, .run = {correlate_task, correlate_task}};
    block.tasks[1] = (uint64_t)stage->layout.ranges * stage->layout.parts;
    work->number = pool_submit(stage->pool, &block);
    cpu_buffer_mark(in, stage->pool, work->number);
    cpu_buffer_mark(out, stage->pool, work->number);
    stage->nworks++;
out:
    return st;
}

static void cpu_correlate_begin(correlate_t *correlate)
{
    (void)correlate; /* a dump that begins in a run takes nothing that was carried */
}

/* With blocks of this many at most, `blocks` of which there are. */
static struct correlate_layout correlate_lay_out(const struct correlate_spec *spec,
                                                 const struct correlate_kernels *kernels,
                                                 uint64_t blocks)
{
    enum { TASKS_A_THREAD = 2 };
    const uint32_t lanes = (uint32_t)kernels->lanes;
    const uint32_t inputs = correlate_inputs(spec);
    struct correlate_layout layout = {
        .range = spec->average < lanes ? lanes / spec->average * spec->average : spec->average,
        .block = kernels->rows * kernels->columns * 2 * kernels->lanes,
        .station = correlate_products(spec) * kernels->lanes,
        .inputs = ceil_div_u64(inputs, kernels->rows) * kernels->rows,
        .has_tiles = correlate_has_tiles(spec->integrate)};
    layout.ranges = (uint32_t)ceil_div_u64(correlate_columns(spec), layout.range);
    layout.vectors = (uint32_t)ceil_div_u64(layout.range, lanes);
    const uint64_t tasks = (uint64_t)TASKS_A_THREAD * spec->threads;
    layout.parts = (uint32_t)max_u64(min_u64(ceil_div_u64(tasks, layout.ranges), blocks), 1);
    layout.most_blocks = ceil_div_u64(blocks, layout.parts);
    return layout;
}

static uint64_t correlate_cells(const struct correlate_spec *spec,
                                const struct correlate_layout *layout)
{
    return spec->average > 1 ? (uint64_t)spec->npairs * (layout->range / spec->average) *
                                   correlate_products(spec) * 2
                             : 0;
}

static uint64_t correlate_turns(const struct correlate_spec *spec)
{
    return spec->is_turned ? spec->max_spectra * spec->stations * spec->coarse * 2 : 0;
}

static const struct correlate_kernels *correlate_take_kernels(const struct correlate_spec *spec)
{
    return correlate_kernels(spec->simd > 0 ? (enum simd_level)(spec->simd - 1) : simd_best());
}

static uint64_t cpu_correlate_bytes(const struct correlate_spec *spec)
{
    const struct correlate_kernels *kernels = correlate_take_kernels(spec);
    if (!kernels) {
        return 0;
    }
    const uint64_t inputs = correlate_inputs(spec);
    const uint64_t all =
        ceil_div_u64(inputs, kernels->rows) * ceil_div_u64(inputs, kernels->columns);
    const uint64_t blocks = min_u64(all, spec->npairs);
    const struct correlate_layout layout = correlate_lay_out(spec, kernels, blocks);
    const uint64_t each = sizeof(float) + (layout.has_tiles ? sizeof(double) : 0);
    const uint64_t vectors = (uint64_t)layout.ranges * layout.vectors;
    const uint64_t stations = spec->stations * layout.station * sizeof(double);
    const uint64_t planes = layout.inputs * 2 * GRAIN * kernels->lanes * sizeof(float);
    return vectors * (blocks * layout.block * each + stations) +
           spec->threads * (planes + layout.most_blocks * layout.block * each + stations +
                            correlate_cells(spec, &layout) * sizeof(double)) +
           POOL_BLOCKS * correlate_turns(spec) * sizeof(float) +
           (uint64_t)spec->stations * (spec->stations * sizeof(int32_t) + layout.parts) +
           2 * blocks * sizeof(struct correlate_block) + spec->npairs * sizeof(uint32_t);
}

static void correlate_free(struct cpu_correlate *stage)
{
    for (uint32_t i = 0; stage->scratch && i < stage->base.spec.threads; i++) {
        free(stage->scratch[i].planes);
        free(stage->scratch[i].sums);
        free(stage->scratch[i].totals);
        free(stage->scratch[i].autos);
        free(stage->scratch[i].cells);
    }
    for (int i = 0; i < POOL_BLOCKS; i++) {
        free(stage->work[i].turns);
    }
    free(stage->scratch);
    free(stage->carry_sums);
    free(stage->carry_totals);
    free(stage->carry_autos);
    free(stage->blocks.list);
    free(stage->lookup);
    free(stage->needed);
    free(stage->part_of);
    free(stage);
}

static void cpu_correlate_destroy(correlate_t *base)
{
    struct cpu_correlate *stage = (struct cpu_correlate *)base;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        if (stage->work[i].number > 0) {
            pool_wait(stage->pool, stage->work[i].number);
        }
    }
    correlate_free(stage);
}

static status_t correlate_allocate_scratch(struct cpu_correlate *stage)
{
    status_t st = STATUS_OK;
    const struct correlate_spec *spec = &stage->base.spec;
    const struct correlate_layout *layout = &stage->layout;
    const size_t planes = layout->inputs * 2 * GRAIN * stage->kernels->lanes;
    const size_t sums = layout->most_blocks * layout->block;
    const size_t stations = spec->stations * layout->station;
    const uint64_t cells = correlate_cells(spec, layout);
    TRY(memory_zeroed(spec->threads, sizeof *stage->scratch, "threads", &stage->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct correlate_scratch *scratch = &stage->scratch[i];
        TRY(memory_aligned(planes, sizeof(float), "spectra", &scratch->planes));
        memset(scratch->planes, 0, planes * sizeof(float));
        TRY(memory_aligned(sums, sizeof(float), "visibilities", &scratch->sums));
        TRY(layout->has_tiles
                ? memory_aligned(sums, sizeof(double), "visibilities", &scratch->totals)
                : STATUS_OK);
        TRY(memory_aligned(stations, sizeof(double), "powers", &scratch->autos));
        TRY(cells > 0 ? memory_aligned(cells, sizeof(double), "visibilities", &scratch->cells)
                      : STATUS_OK);
    }
    for (int i = 0; i < POOL_BLOCKS && spec->is_turned; i++) {
        TRY(memory_aligned(correlate_turns(spec), sizeof(float), "turns", &stage->work[i].turns));
    }
out:
    return st;
}

static status_t correlate_allocate_carry(struct cpu_correlate *stage)
{
    status_t st = STATUS_OK;
    const struct correlate_layout *layout = &stage->layout;
    const size_t vectors = (size_t)layout->ranges * layout->vectors;
    const size_t sums = vectors * stage->blocks.count * layout->block;
    const size_t stations = vectors * stage->base.spec.stations * layout->station;
    TRY(memory_aligned(sums, sizeof(float), "visibilities", &stage->carry_sums));
    TRY(layout->has_tiles
            ? memory_aligned(sums, sizeof(double), "visibilities", &stage->carry_totals)
            : STATUS_OK);
    TRY(memory_aligned(stations, sizeof(double), "powers", &stage->carry_autos));
out:
    return st;
}

/* Notes the stations whose planes each part of the blocks needs, and the pairs that it makes. */
static status_t correlate_divide(struct cpu_correlate *stage)
{
    status_t st = STATUS_OK;
    const struct correlate_spec *spec = &stage->base.spec;
    const struct correlate_blocks *blocks = &stage->blocks;
    const uint32_t parts = stage->layout.parts;
    TRY(memory_zeroed((size_t)parts * spec->stations, 1, "stations", &stage->needed));
    TRY(memory_zeroed(spec->npairs, sizeof *stage->part_of, "pairs", &stage->part_of));
    for (uint32_t i = 0; i < spec->stations; i++) {
        stage->needed[i] = correlate_is_auto(stage, i) != 0;
    }
    for (uint32_t part = 0; part < parts; part++) {
        uint8_t *needed = stage->needed + (size_t)part * spec->stations;
        const uint64_t end = (uint64_t)blocks->count * (part + 1) / parts;
        for (uint64_t i = (uint64_t)blocks->count * part / parts; i < end; i++) {
            const uint32_t a = blocks->list[i].a * blocks->rows / spec->pols;
            const uint32_t b = blocks->list[i].b * blocks->columns / spec->pols;
            for (uint32_t j = 0; j < blocks->rows / spec->pols * blocks->columns / spec->pols;
                 j++) {
                const uint32_t first = a + j / (blocks->columns / spec->pols);
                const uint32_t second = b + j % (blocks->columns / spec->pols);
                if (first < second && second < spec->stations) {
                    const int32_t pair = stage->lookup[(size_t)first * spec->stations + second];
                    if (pair >= 0) {
                        stage->part_of[pair] = part;
                        needed[first] = needed[second] = 1;
                    }
                }
            }
        }
    }
out:
    return st;
}

static status_t cpu_correlate_create(backend_t *backend, const struct correlate_spec *spec,
                                     correlate_t **out)
{
    status_t st = STATUS_OK;
    enum { GROUP_ROWS = 2 /* blocks whose rows stay in the first-level cache */ };
    struct cpu_correlate *stage = NULL;
    const struct correlate_kernels *kernels = correlate_take_kernels(spec);
    REQUIRE(kernels, STATUS_DEVICE, "this machine's processor lacks the vectors that are used");
    TRY(memory_zeroed(1, sizeof *stage, "the correlation", &stage));
    stage->base.spec = *spec;
    stage->kernels = kernels;
    stage->blocks = (struct correlate_blocks){.rows = kernels->rows,
                                              .columns = kernels->columns,
                                              .group_rows = GROUP_ROWS,
                                              .group_columns = 1};
    TRY(correlate_lookup(spec, &stage->lookup));
    TRY(correlate_blocks(spec, stage->lookup, &stage->blocks));
    stage->layout = correlate_lay_out(spec, kernels, stage->blocks.count);
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &stage->pool));
    TRY(correlate_divide(stage));
    TRY(correlate_allocate_scratch(stage));
    TRY(correlate_allocate_carry(stage));
    *out = &stage->base;
    stage = NULL;
out:
    if (stage) {
        correlate_free(stage);
    }
    return st;
}

const struct correlate_ops cpu_correlate = {.create = cpu_correlate_create,
                                            .destroy = cpu_correlate_destroy,
                                            .bytes = cpu_correlate_bytes,
                                            .begin = cpu_correlate_begin,
                                            .run = cpu_correlate_run};
