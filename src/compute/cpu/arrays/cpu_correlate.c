/* The CPU's correlation. A task takes some neighbouring columns through all spectra of a run: grain
 * by grain, inputs become planes that stay in the second-level cache, and blocks of them meet in
 * registers.
 *
 * The next grain is prepared station by station between the blocks of a grain, which prefetch its
 * numbers: these are pages apart, and processors wait for their addresses, too. */
#include "base/memory.h"
#include "compute/cpu/arrays/correlate_kernels.h"
#include "compute/cpu/cpu.h"
#include "compute/shared/correlate_table.h"

#include <stdlib.h>
#include <string.h>

/* How columns and pairs are divided: from the spec, the kernels and the number of blocks. Columns
 * are cut into ranges of whole output channels, these into vectors. */
struct correlate_layout {
    uint32_t range, ranges; /* columns of a range; ranges */
    uint32_t vectors;       /* of a range */
    uint32_t parts;         /* into which the blocks of inputs are divided for more tasks */
    size_t block, station;  /* numbers of a block's and of a station's sums */
    size_t sums, autos;     /* numbers of all blocks' and stations' sums of a vector */
    size_t planes;          /* numbers of a grain's planes: of whole blocks */
    size_t grains;          /* whose planes are kept; 2: the next one is prepared meanwhile */
    size_t input, spectrum; /* numbers from one to the next of the spectra */
    int has_tiles;
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

/* Sums stay between runs, so that a dump may go on in the next one. */
struct cpu_correlate {
    struct correlate base;
    const struct correlate_kernels *kernels;
    pool_t *pool;
    struct correlate_layout layout;
    struct correlate_blocks blocks;
    int32_t *lookup;
    float *planes;    /* [threads][grains][inputs][GRAIN][2][lanes] */
    uint32_t *needed; /* [threads][stations] of the task: they have pairs or powers */
    float *sums;      /* [vectors][blocks][rows][columns][2][lanes] of a tile */
    double *totals;   /* of the tiles before, likewise; NULL: a dump has one tile */
    double *autos;    /* [vectors][stations][products][lanes] */
    struct correlate_work work[POOL_BLOCKS];
    uint64_t nworks;
};

/* A task: blocks of a part, and columns. */
struct correlate_place {
    const struct correlate_work *work;
    uint32_t part;
    size_t first_block, nblocks;
    uint64_t first, end; /* columns of the range */
    float *planes;
    uint32_t *needed, nneeded;
    /* The vector that is at hand: */
    size_t vector; /* of all */
    uint64_t column;
    uint32_t count; /* columns */
};

static int correlate_is_auto(const struct cpu_correlate *stage, uint32_t station)
{
    return stage->lookup[(size_t)station * stage->base.spec.stations + station] >= 0;
}

/* Planes of the grain with spectrum `at`. */
static float *correlate_planes(const struct correlate_place *place, uint64_t at)
{
    const struct correlate_layout *layout = &place->work->stage->layout;
    return place->planes + at / GRAIN % layout->grains * layout->planes;
}

/* Numbers of an input, from spectrum `at` on. */
static const float *correlate_from(const struct correlate_place *place, uint64_t at, uint32_t input)
{
    const struct correlate_layout *layout = &place->work->stage->layout;
    return place->work->in + (at - place->work->first) * layout->spectrum + input * layout->input +
           2 * place->column;
}

/* A station's spectra at .. end - 1, of one grain, as planes; and their powers. */
static void correlate_prepare(const struct correlate_place *place, uint64_t at, uint64_t end,
                              uint32_t station)
{
    const struct correlate_work *work = place->work;
    const struct cpu_correlate *stage = work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const size_t plane = 2 * GRAIN * stage->kernels->lanes;
    const size_t turn = (size_t)spec->stations * spec->coarse * 2;
    float autos[4 * MOST_LANES] = {0};
    const int is_auto = place->part == 0 && correlate_is_auto(stage, station);
    const struct correlate_station one = {
        .from = correlate_from(place, at, station * spec->pols),
        .spectrum = stage->layout.spectrum,
        .input = stage->layout.input,
        .pols = spec->pols,
        .spectra = (uint32_t)(end - at),
        .count = place->count,
        .turns = work->is_turned
                     ? work->turns + (at - work->first) * turn +
                           2 * (station * (size_t)spec->coarse + place->column / spec->nchannels)
                     : NULL,
        .turn = turn,
        .channel = (uint32_t)(place->column % spec->nchannels),
        .nchannels = spec->nchannels,
        .planes = correlate_planes(place, at) + station * spec->pols * plane,
        .plane = plane,
        .autos = is_auto ? autos : NULL};
    stage->kernels->prepare(&one);
    double *total =
        stage->autos + place->vector * stage->layout.autos + station * stage->layout.station;
    for (size_t k = 0; is_auto && k < stage->layout.station; k++) {
        total[k] += (double)autos[k];
    }
}

/* Returns the index in stage->sums, and in the totals, of block i of the part. */
static size_t correlate_at(const struct correlate_place *place, size_t i)
{
    const struct correlate_layout *layout = &place->work->stage->layout;
    return place->vector * layout->sums + (place->first_block + i) * layout->block;
}

static void correlate_add_tile(const struct correlate_place *place)
{
    const struct cpu_correlate *stage = place->work->stage;
    const size_t end = correlate_at(place, place->nblocks);
    for (size_t i = correlate_at(place, 0); i < end; i++) {
        stage->totals[i] += (double)stage->sums[i];
        stage->sums[i] = 0;
    }
}

/* Row i of spectra at .. end - 1 of the needed stations: all spectra of the first input come first.
 */
static const float *correlate_row(const struct correlate_place *place, uint64_t at, uint64_t end,
                                  uint32_t i)
{
    const uint32_t spectra = (uint32_t)(end - at);
    const uint32_t pols = place->work->stage->base.spec.pols;
    const uint32_t input = i / spectra;
    return correlate_from(place, at + i % spectra,
                          place->needed[input / pols] * pols + input % pols);
}

/* Adds spectra at .. next - 1, of one grain, and prepares the next one, next .. end - 1, whose rows
 * are prefetched one station before. */
static void correlate_grain(const struct correlate_place *place, uint64_t at, uint64_t next,
                            uint64_t end)
{
    const struct cpu_correlate *stage = place->work->stage;
    const struct correlate_blocks *blocks = &stage->blocks;
    const size_t plane = 2 * GRAIN * stage->kernels->lanes;
    const float *planes = correlate_planes(place, at);
    const uint64_t stations = next < end ? place->nneeded : 0;
    const uint64_t rows = stage->base.spec.pols * (end - next); /* of a station */
    const float *ahead[CORRELATE_AHEAD];
    uint64_t fetched = 0;
    uint64_t prepared = 0;
    for (size_t i = 0; i < place->nblocks; i++) {
        const struct correlate_block *block = &blocks->list[place->first_block + i];
        const uint64_t due = (i + 1) * stations * rows / place->nblocks;
        const uint64_t last = min_u64(due + rows, stations * rows);
        for (uint32_t k = 0; k < CORRELATE_AHEAD; k++) {
            ahead[k] = fetched + k < last ? correlate_row(place, next, end, (uint32_t)(fetched + k))
                                          : planes;
        }
        fetched = min_u64(max_u64(fetched + CORRELATE_AHEAD, due), last);
        stage->kernels->cross(planes + block->a * blocks->rows * plane,
                              planes + block->b * blocks->columns * plane, (uint32_t)(next - at),
                              ahead, stage->sums + correlate_at(place, i));
        while ((prepared + 1) * rows <= due && prepared < stations) {
            correlate_prepare(place, next, end, place->needed[prepared++]);
        }
    }
    while (prepared < stations) {
        correlate_prepare(place, next, end, place->needed[prepared++]);
    }
}

/* Returns the end of the tile of a dump that spectrum `at` is in: tiles are CORRELATE_TILE grains,
 * counted from the grain in which the dump begins, and end with the dump. */
static uint64_t correlate_tile_end(uint64_t at, uint64_t integrate)
{
    const uint64_t begin = at / integrate * integrate;
    const uint64_t tiles = (at / GRAIN - begin / GRAIN) / CORRELATE_TILE;
    const uint64_t end = (begin / GRAIN + (tiles + 1) * CORRELATE_TILE) * GRAIN;
    return integrate < end - begin ? begin + integrate : end;
}

/* Adds spectra at .. end - 1 of a dump, in a vector of columns. */
static void correlate_spectra(const struct correlate_place *place, uint64_t at, uint64_t end)
{
    const struct cpu_correlate *stage = place->work->stage;
    const uint64_t integrate = stage->base.spec.integrate;
    int is_prepared = 0;
    while (at < end) {
        const uint64_t next = min_u64((at / GRAIN + 1) * GRAIN, end);
        for (uint32_t i = 0; i < place->nneeded && !is_prepared; i++) {
            correlate_prepare(place, at, next, place->needed[i]);
        }
        is_prepared = stage->layout.grains > 1;
        correlate_grain(place, at, next, is_prepared ? min_u64(next + GRAIN, end) : next);
        if (next == correlate_tile_end(at, integrate) && next % integrate != 0) {
            correlate_add_tile(place);
        }
        at = next;
    }
}

/* Sums of a product, or the real or imaginary parts of them: numbers of the range's first vector,
 * `vector` numbers from one to the next; NULL: zeros. */
struct correlate_part {
    const float *sums;
    const double *totals;
    size_t vector;
    double sign;
};

static void correlate_sum(const struct correlate_part *part, size_t at, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = part->sums ? (double)part->sums[at + i] : 0;
    }
    for (size_t i = 0; i < count && part->totals; i++) {
        out[i] += part->totals[at + i];
    }
    for (size_t i = 0; i < count; i++) {
        out[i] *= part->sign;
    }
}

/* Multiplies sums of neighbouring columns by the gain of input a, and the conjugate of that of b.
 */
static void correlate_gain(const struct correlate_spec *spec, uint32_t a, uint32_t b,
                           uint64_t column, size_t count, double *re, double *im)
{
    const uint64_t columns = correlate_columns(spec);
    const float *g = spec->gains + 2 * (a * columns + column);
    const float *h = spec->gains + 2 * (b * columns + column);
    for (size_t i = 0; i < count; i++, g += 2, h += 2) {
        const double u = (double)g[0] * (double)h[0] + (double)g[1] * (double)h[1];
        const double v = (double)g[1] * (double)h[0] - (double)g[0] * (double)h[1];
        const double x = re[i] * u - im[i] * v;
        im[i] = re[i] * v + im[i] * u;
        re[i] = x;
    }
}

/* Writes the sums of inputs a and b over the range's output channels to a dump. */
static void correlate_put(const struct correlate_place *place, float *dump, uint32_t a, uint32_t b,
                          const struct correlate_part parts[2])
{
    const struct cpu_correlate *stage = place->work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const uint64_t channels = correlate_columns(spec) / spec->average;
    const size_t lanes = stage->kernels->lanes;
    const uint32_t products = correlate_products(spec);
    const uint32_t product = correlate_product(a % spec->pols, b % spec->pols);
    const int32_t pair = stage->lookup[a / spec->pols * (size_t)spec->stations + b / spec->pols];
    float *to =
        dump +
        (((uint64_t)pair * channels + place->first / spec->average) * products + product) * 2;
    double sum[2] = {0, 0};
    uint32_t left = spec->average;
    size_t at[2] = {0, 0};
    for (uint64_t column = place->first; column < place->end; column += lanes) {
        const size_t count = (size_t)min_u64(lanes, place->end - column);
        double re[MOST_LANES];
        double im[MOST_LANES];
        correlate_sum(&parts[0], at[0], count, re);
        correlate_sum(&parts[1], at[1], count, im);
        if (spec->gains) {
            correlate_gain(spec, a, b, column, count, re, im);
        }
        for (size_t i = 0; i < count; i++) {
            sum[0] += re[i];
            sum[1] += im[i];
            if (--left == 0) {
                to[0] = (float)sum[0];
                to[1] = (float)sum[1];
                to += products * 2;
                sum[0] = sum[1] = 0;
                left = spec->average;
            }
        }
        at[0] += parts[0].vector;
        at[1] += parts[1].vector;
    }
}

/* Writes the pairs of a block. */
static void correlate_put_block(const struct correlate_place *place, float *dump, size_t i)
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
        const size_t at = correlate_at(place, i) + n * 2 * lanes;
        const double *totals = stage->totals ? stage->totals + at : NULL;
        const struct correlate_part parts[2] = {
            {stage->sums + at, totals, stage->layout.sums, 1},
            {stage->sums + at + lanes, totals ? totals + lanes : NULL, stage->layout.sums, 1}};
        if (first < second && second < spec->stations &&
            stage->lookup[first * (size_t)spec->stations + second] >= 0) {
            correlate_put(place, dump, a, b, parts);
        }
    }
}

/* Writes the powers of a station; its polarisations together are conjugates of each other. */
static void correlate_put_auto(const struct correlate_place *place, float *dump, uint32_t station)
{
    const struct cpu_correlate *stage = place->work->stage;
    const uint32_t pols = stage->base.spec.pols;
    const size_t lanes = stage->kernels->lanes;
    const size_t vector = stage->layout.autos;
    const double *sums = stage->autos + place->vector * vector + station * stage->layout.station;
    for (uint32_t i = 0; i < pols * pols; i++) {
        const uint32_t p = i / pols;
        const uint32_t q = i % pols;
        const double *re = sums + (p == q ? p : 2) * lanes;
        const struct correlate_part parts[2] = {
            {NULL, re, vector, 1}, {NULL, p == q ? NULL : re + lanes, vector, p <= q ? 1 : -1}};
        correlate_put(place, dump, station * pols + p, station * pols + q, parts);
    }
}

/* Goes to a vector of the range. */
static void correlate_go(struct correlate_place *place, uint32_t vector)
{
    const struct cpu_correlate *stage = place->work->stage;
    const uint64_t lanes = stage->kernels->lanes;
    place->vector = place->first / stage->layout.range * stage->layout.vectors + vector;
    place->column = place->first + vector * lanes;
    place->count = (uint32_t)min_u64(lanes, place->end - place->column);
}

/* Begins a dump's sums in a vector of columns. */
static void correlate_clear(const struct correlate_place *place)
{
    const struct cpu_correlate *stage = place->work->stage;
    const size_t at = correlate_at(place, 0);
    const size_t count = correlate_at(place, place->nblocks) - at;
    memset(stage->sums + at, 0, count * sizeof *stage->sums);
    if (stage->totals) {
        memset(stage->totals + at, 0, count * sizeof *stage->totals);
    }
    if (place->part == 0) {
        memset(stage->autos + place->vector * stage->layout.autos, 0,
               stage->layout.autos * sizeof *stage->autos);
    }
}

/* Correlates the run's spectra that belong to a dump. */
static void correlate_dump(struct correlate_place *place, uint64_t dump)
{
    const struct correlate_work *work = place->work;
    const struct cpu_correlate *stage = work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const uint64_t begin = dump * spec->integrate;
    const uint64_t run_end = work->first + work->spectra;
    const int is_whole = run_end - begin >= spec->integrate;
    float *out = work->out + (dump - work->first / spec->integrate) * correlate_row_floats(spec);
    for (uint32_t v = 0; place->first + v * stage->kernels->lanes < place->end; v++) {
        correlate_go(place, v);
        if (begin >= work->first) {
            correlate_clear(place);
        }
        correlate_spectra(place, max_u64(begin, work->first),
                          is_whole ? begin + spec->integrate : run_end);
    }
    correlate_go(place, 0);
    for (size_t i = 0; i < place->nblocks && is_whole; i++) {
        correlate_put_block(place, out, i);
    }
    for (uint32_t i = 0; i < spec->stations && is_whole && place->part == 0; i++) {
        if (correlate_is_auto(stage, i)) {
            correlate_put_auto(place, out, i);
        }
    }
}

/* Lists the stations of the part's blocks, and with the first part those with powers. */
static void correlate_list(struct correlate_place *place)
{
    const struct cpu_correlate *stage = place->work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const struct correlate_blocks *blocks = &stage->blocks;
    for (uint32_t i = 0; i < spec->stations; i++) {
        place->needed[i] = place->part == 0 && correlate_is_auto(stage, i);
    }
    for (size_t i = 0; i < place->nblocks; i++) {
        const struct correlate_block *block = &blocks->list[place->first_block + i];
        for (uint32_t n = 0; n < blocks->rows + blocks->columns; n++) {
            const uint32_t input = n < blocks->rows ? block->a * blocks->rows + n
                                                    : block->b * blocks->columns + n - blocks->rows;
            if (input < correlate_inputs(spec)) {
                place->needed[input / spec->pols] = 1;
            }
        }
    }
    for (uint32_t i = 0; i < spec->stations; i++) {
        if (place->needed[i]) {
            place->needed[place->nneeded++] = i;
        }
    }
}

static void correlate_task(void *context, uint32_t thread, uint64_t task)
{
    const struct correlate_work *work = context;
    struct cpu_correlate *stage = work->stage;
    const struct correlate_spec *spec = &stage->base.spec;
    const struct correlate_layout *layout = &stage->layout;
    const uint64_t last_dump = (work->first + work->spectra - 1) / spec->integrate;
    const uint64_t blocks = stage->blocks.count;
    struct correlate_place place = {.work = work,
                                    .part = (uint32_t)(task % layout->parts),
                                    .first = task / layout->parts * layout->range,
                                    .planes =
                                        stage->planes + thread * layout->grains * layout->planes,
                                    .needed = stage->needed + (size_t)thread * spec->stations};
    place.end = min_u64(place.first + layout->range, correlate_columns(spec));
    place.first_block = blocks * place.part / layout->parts;
    place.nblocks = blocks * (place.part + 1) / layout->parts - place.first_block;
    correlate_list(&place);
    for (uint64_t dump = work->first / spec->integrate; dump <= last_dump; dump++) {
        correlate_dump(&place, dump);
    }
}

static status_t cpu_correlate_run(correlate_t *base, buffer_t *in, uint64_t spectra,
                                  const float *turns, buffer_t *out)
{
    struct cpu_correlate *stage = (struct cpu_correlate *)base;
    struct correlate_work *work = &stage->work[stage->nworks % POOL_BLOCKS];
    const struct correlate_spec *spec = &stage->base.spec;
    TRY(cpu_begin(stage->pool, work->number, in, &work->in, out, &work->out));
    work->stage = stage;
    work->first = base->next;
    work->spectra = spectra;
    work->is_turned = turns != NULL;
    if (turns) {
        memcpy(work->turns, turns, spectra * spec->stations * spec->coarse * 2 * sizeof *turns);
    }
    /* In the second phase the block before, whose sums are carried, is done. */
    struct pool_block block = {.context = work, .run = {correlate_task, correlate_task}};
    block.tasks[1] = (uint64_t)stage->layout.ranges * stage->layout.parts;
    work->number = cpu_submit(stage->pool, &block, in, out);
    stage->nworks++;
    return STATUS_OK;
}

/* Returns the layout for `blocks` blocks. */
static struct correlate_layout correlate_lay_out(const struct correlate_spec *spec,
                                                 const struct correlate_kernels *kernels,
                                                 uint64_t blocks)
{
    enum { TASKS_A_THREAD = 2, CACHED = 768 << 10 /* bytes of planes, beside sums */ };
    const uint32_t lanes = (uint32_t)kernels->lanes;
    struct correlate_layout layout = {
        .range = spec->average < lanes ? lanes / spec->average * spec->average : spec->average,
        .block = kernels->rows * kernels->columns * 2 * kernels->lanes,
        .station = correlate_products(spec) * kernels->lanes,
        .planes = ceil_div_u64(correlate_inputs(spec), kernels->rows) * kernels->rows * 2 * GRAIN *
                  kernels->lanes,
        .input = 2 * correlate_columns(spec),
        .spectrum = 2 * correlate_inputs(spec) * correlate_columns(spec),
        .has_tiles = correlate_has_tiles(spec->integrate)};
    layout.grains = 2 * layout.planes * sizeof(float) <= CACHED ? 2 : 1;
    layout.sums = blocks * layout.block;
    layout.autos = spec->stations * layout.station;
    layout.ranges = (uint32_t)ceil_div_u64(correlate_columns(spec), layout.range);
    layout.vectors = (uint32_t)ceil_div_u64(layout.range, lanes);
    const uint64_t tasks = (uint64_t)TASKS_A_THREAD * spec->threads;
    layout.parts = (uint32_t)max_u64(min_u64(ceil_div_u64(tasks, layout.ranges), blocks), 1);
    return layout;
}

static uint64_t correlate_turns(const struct correlate_spec *spec)
{
    return spec->is_turned ? spec->max_spectra * spec->stations * spec->coarse * 2 : 0;
}

static const struct correlate_kernels *correlate_take_kernels(const struct correlate_spec *spec)
{
    return correlate_kernels((enum simd_level)(cpu_simd(spec->simd) - 1));
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
    return (uint64_t)layout.ranges * layout.vectors *
               (layout.sums * each + layout.autos * sizeof(double)) +
           spec->threads *
               (layout.grains * layout.planes * sizeof(float) + spec->stations * sizeof(uint32_t)) +
           POOL_BLOCKS * correlate_turns(spec) * sizeof(float) +
           (uint64_t)spec->stations * spec->stations * sizeof(int32_t) +
           2 * blocks * sizeof(struct correlate_block);
}

static void cpu_correlate_destroy(void *base)
{
    struct cpu_correlate *stage = base;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        cpu_settle(stage->pool, stage->work[i].number);
        free(stage->work[i].turns);
    }
    MEMORY_FREE(stage->planes, stage->needed, stage->sums, stage->totals, stage->autos,
                stage->blocks.list, stage->lookup);
}

static status_t correlate_allocate(struct cpu_correlate *stage)
{
    const struct correlate_spec *spec = &stage->base.spec;
    const struct correlate_layout *layout = &stage->layout;
    const size_t planes = spec->threads * layout->grains * layout->planes;
    const size_t vectors = (size_t)layout->ranges * layout->vectors;
    const size_t sums = vectors * layout->sums;
    TRY(memory_zeroed((size_t)spec->threads * spec->stations, sizeof *stage->needed, "stations",
                      &stage->needed));
    TRY(memory_aligned(planes, sizeof(float), "spectra", &stage->planes));
    memset(stage->planes, 0, planes * sizeof(float));
    TRY(memory_aligned(sums, sizeof(float), "visibilities", &stage->sums));
    TRY(layout->has_tiles ? memory_aligned(sums, sizeof(double), "visibilities", &stage->totals)
                          : STATUS_OK);
    TRY(memory_aligned(vectors * layout->autos, sizeof(double), "powers", &stage->autos));
    for (int i = 0; i < POOL_BLOCKS && spec->is_turned; i++) {
        TRY(memory_aligned(correlate_turns(spec), sizeof(float), "turns", &stage->work[i].turns));
    }
    return STATUS_OK;
}

static status_t cpu_correlate_create(backend_t *backend, void *made)
{
    struct cpu_correlate *stage = made;
    const struct correlate_spec given = stage->base.spec, *spec = &given;
    enum { GROUP_ROWS = 2 /* blocks whose rows stay in the first-level cache */ };
    const struct correlate_kernels *kernels = correlate_take_kernels(spec);
    REQUIRE(kernels, STATUS_DEVICE, "this processor lacks the vector instructions that are used");
    stage->kernels = kernels;
    stage->blocks = (struct correlate_blocks){.rows = kernels->rows,
                                              .columns = kernels->columns,
                                              .group_rows = GROUP_ROWS,
                                              .group_columns = 1};
    TRY(correlate_lookup(spec, &stage->lookup));
    TRY(correlate_blocks(spec, stage->lookup, &stage->blocks));
    stage->layout = correlate_lay_out(spec, kernels, stage->blocks.count);
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &stage->pool));
    return correlate_allocate(stage);
}

const struct correlate_ops cpu_correlate = {.stage = {sizeof(struct cpu_correlate),
                                                      cpu_correlate_create, cpu_correlate_destroy,
                                                      NULL, NULL},
                                            .bytes = {cpu_correlate_bytes},
                                            .run = cpu_correlate_run};
