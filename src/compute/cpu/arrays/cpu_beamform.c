/* The CPU's beams.
 *
 * A task makes all beams of WIDTH neighbouring channels of one coarse channel, for at most SEGMENT
 * spectra of one cell. It takes the spectra of all stations, turned, into its thread's memory, real
 * and imaginary parts apart. Then, for as many channels as a vector has lanes, it makes the weights
 * of a few beams, and sums tile by tile. Spectra of one vector stay in the second-level cache.
 * Tiles are always whole, so that all numbers meet the same arithmetic.
 *
 * Neighbouring numbers of a channel are pages apart, and every visit of a page costs an address.
 * It is used for two vectors: the next one's numbers are prefetched with those that are taken.
 * Prefetches of other rows beside the sums cost what they save. */
#include "base/memory.h"
#include "compute/cpu/arrays/beam_kernels.h"
#include "compute/cpu/cpu.h"
#include "compute/shared/beam_weights.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEGMENT = 16, /* spectra; a multiple of those of all tiles */
    WIDTH = 64    /* channels of a task; a multiple of all vectors' lanes */
};

/* A thread's; numbers as beam_kernels.h says. */
struct beam_scratch {
    float *memory;  /* of all that follows */
    float *x;       /* [WIDTH / lanes][pols][SEGMENT / spectra of a tile][stations][spectra of a
                       tile] */
    float *turned;  /* [stations][beams of a tile]: the turns of beams, times factors */
    float *weights; /* likewise, times gains */
    float *wrong;   /* [lanes]: take()'s */
};

/* A call of run(), in the pool until it is done. */
struct beam_block {
    struct cpu_beamform *stage;
    uint64_t number; /* in the pool */
    const float *in;
    float *out;
    uint64_t first, spectra;
    uint64_t cell, parts; /* spectra, and its segments */
    float *turns[2];      /* of stations and beams; copies */
    int has[2];           /* such turns */
};

struct cpu_beamform {
    struct between base;
    const struct beam_kernels *kernels;
    pool_t *pool;
    uint32_t *copied; /* [beams] beam_copied() */
    struct beam_scratch *scratch;
    struct beam_block blocks[POOL_BLOCKS];
    uint64_t nblocks; /* so far */
};

/* Spectra and channels of a task. */
struct beam_task {
    uint64_t begin, end; /* of the run */
    uint64_t cell;       /* of the run */
    uint32_t coarse;
    uint32_t channel, count; /* of one vector */
    uint32_t vector, vectors;
};

/* Floats of a station's channels in a spectrum. */
static size_t beam_series(const struct between_spec *spec)
{
    return (size_t)2 * spec->pols * spec->coarse * spec->nchannels;
}

/* The first of a task's channels of a row of `series` [pols][coarse][nchannels] pairs. */
static size_t beam_at(const struct between_spec *spec, const struct beam_task *task, size_t series,
                      uint32_t pol)
{
    return 2 * (((series * spec->pols + pol) * spec->coarse + task->coarse) * spec->nchannels +
                task->channel);
}

/* Turns of a station in a spectrum, or of a beam in a cell; NULL: none. */
static const float *beam_turns(const struct beam_block *block, int of_beam, uint64_t row,
                               uint32_t station, uint32_t coarse)
{
    const struct between_spec *spec = &block->stage->base.spec;
    return block->has[of_beam] ? block->turns[of_beam] +
                                     2 * ((row * spec->stations + station) * spec->coarse + coarse)
                               : NULL;
}

static struct beam_task beam_task_of(const struct beam_block *block, uint64_t task)
{
    const struct between_spec *spec = &block->stage->base.spec;
    const uint64_t lanes = block->stage->kernels->lanes;
    const uint64_t across = ceil_div_u64(spec->nchannels, WIDTH);
    const uint64_t segment = task / across / spec->coarse;
    const uint64_t cell = segment / block->parts;
    const uint64_t start = (block->first / block->cell + cell) * block->cell;
    const uint64_t from = start + segment % block->parts * SEGMENT;
    const uint64_t to =
        min_u64(min_u64(from + SEGMENT, start + block->cell), block->first + block->spectra);
    const uint64_t begin = max_u64(from, block->first);
    const uint64_t channel = task % across * WIDTH;
    const uint64_t count = min_u64(WIDTH, spec->nchannels - channel);
    return (struct beam_task){.begin = begin - block->first,
                              .end = max_u64(begin, to) - block->first,
                              .cell = cell,
                              .coarse = (uint32_t)(task / across % spec->coarse),
                              .channel = (uint32_t)channel,
                              .vectors = (uint32_t)ceil_div_u64(count, lanes)};
}

/* Goes to a vector of a task's channels. */
static void beam_vector(const struct beam_block *block, struct beam_task *task, uint32_t vector)
{
    const uint32_t lanes = (uint32_t)block->stage->kernels->lanes;
    task->channel = task->channel / WIDTH * WIDTH + vector * lanes;
    task->count = (uint32_t)min_u64(lanes, block->stage->base.spec.nchannels - task->channel);
    task->vector = vector;
}

/* Numbers of a vector of channels, of a polarisation. */
static float *beam_x(const struct beam_block *block, const struct beam_task *task, uint32_t pol,
                     const struct beam_scratch *scratch)
{
    const struct between_spec *spec = &block->stage->base.spec;
    const size_t panel = SEGMENT * spec->stations * 2 * block->stage->kernels->lanes;
    return scratch->x + (task->vector * spec->pols + pol) * panel;
}

/* Takes a spectrum of a task. */
static void beam_take_spectrum(const struct beam_block *block, const struct beam_task *task,
                               uint64_t s, struct beam_scratch *scratch)
{
    const struct cpu_beamform *stage = block->stage;
    const struct between_spec *spec = &stage->base.spec;
    const struct beam_kernels *kernels = stage->kernels;
    const size_t number = 2 * kernels->lanes;
    const size_t tile = kernels->spectra * number;
    const size_t at = s / kernels->spectra * spec->stations * tile + s % kernels->spectra * number;
    const struct beam_row turn = {spec->stations, 2 * spec->coarse, number};
    const struct beam_row take = {spec->stations, beam_series(spec), tile};
    const uint64_t row = task->begin + s;
    const float *turns = beam_turns(block, 0, row, 0, task->coarse);
    if (turns) {
        kernels->turn(&turn, turns, task->channel, scratch->turned);
    }
    for (uint32_t pol = 0; pol < spec->pols; pol++) {
        kernels->take(&take, block->in + beam_at(spec, task, row * spec->stations, pol),
                      task->count, turns ? scratch->turned : NULL, number, scratch->wrong,
                      beam_x(block, task, pol, scratch) + at);
    }
}

/* Takes the spectra of a task. Returns whether all are finite. */
static int beam_take(const struct beam_block *block, struct beam_task *task,
                     struct beam_scratch *scratch)
{
    const size_t lanes = block->stage->kernels->lanes;
    float sum = 0;
    memset(scratch->wrong, 0, lanes * sizeof *scratch->wrong);
    for (uint64_t s = 0; s < task->end - task->begin; s++) {
        for (uint32_t vector = 0; vector < task->vectors; vector++) {
            beam_vector(block, task, vector);
            beam_take_spectrum(block, task, s, scratch);
        }
    }
    for (size_t i = 0; i < lanes; i++) {
        sum += scratch->wrong[i];
    }
    return sum == 0;
}

/* The turns of a tile's beams times their factors. A tile of fewer beams repeats the last one. */
static void beam_turn(const struct beam_block *block, const struct beam_task *task, uint32_t beam,
                      struct beam_scratch *scratch)
{
    static const float none[2] = {0, 0};
    const struct cpu_beamform *stage = block->stage;
    const struct between_spec *spec = &stage->base.spec;
    const struct beam_kernels *kernels = stage->kernels;
    const size_t number = 2 * kernels->lanes;
    for (uint32_t i = 0; i < kernels->beams; i++) {
        const uint64_t b = min_u64(beam + i, spec->beams - 1);
        const float *turns = beam_turns(block, 1, task->cell * spec->beams + b, 0, task->coarse);
        const struct beam_row turn = {spec->stations, turns ? 2 * spec->coarse : 0,
                                      kernels->beams * number};
        const struct beam_row scale = {spec->stations, 2, turn.to};
        kernels->turn(&turn, turns ? turns : none, task->channel, scratch->turned + i * number);
        if (spec->factors) {
            kernels->scale(&scale, spec->factors + 2 * b * spec->stations,
                           scratch->turned + i * number);
        }
    }
}

/* Returns the weights of a tile's beams, times the gains and phase factors. */
static const float *beam_weigh(const struct beam_block *block, const struct beam_task *task,
                               uint32_t beam, uint32_t pol, struct beam_scratch *scratch)
{
    const struct cpu_beamform *stage = block->stage;
    const struct between_spec *spec = &stage->base.spec;
    const struct beam_kernels *kernels = stage->kernels;
    const size_t number = 2 * kernels->lanes;
    const struct beam_row row = {spec->stations, beam_series(spec), kernels->beams * number};
    const float *const tables[2] = {spec->weights, spec->gains};
    const float *by = scratch->turned;
    for (int t = 0; t < 2; t++) {
        for (uint32_t i = 0; i < kernels->beams && tables[t]; i++) {
            const uint64_t pair = t == 0 ? min_u64(beam + i, spec->beams - 1) * spec->stations : 0;
            kernels->take(&row, tables[t] + beam_at(spec, task, pair, pol), task->count,
                          by + i * number, row.to, scratch->wrong, scratch->weights + i * number);
        }
        by = tables[t] ? scratch->weights : by;
    }
    return by;
}

/* Sums of a tile's beams, tile by tile, to where they belong. */
static void beam_sum(const struct beam_block *block, const struct beam_task *task, uint32_t beam,
                     uint32_t pol, int is_finite, struct beam_scratch *scratch)
{
    const struct cpu_beamform *stage = block->stage;
    const struct between_spec *spec = &stage->base.spec;
    const struct beam_kernels *kernels = stage->kernels;
    const size_t number = 2 * kernels->lanes;
    const float *weights = beam_weigh(block, task, beam, pol, scratch);
    const float *x = beam_x(block, task, pol, scratch);
    struct beam_place to = {.pairs = block->out +
                                     beam_at(spec, task, task->begin * spec->beams + beam, pol),
                            .beam = beam_series(spec),
                            .spectrum = spec->beams * beam_series(spec),
                            .beams = min_u64(kernels->beams, spec->beams - beam),
                            .channels = task->count};
    for (uint64_t s = task->begin; s < task->end; s += kernels->spectra) {
        to.spectra = min_u64(kernels->spectra, task->end - s);
        kernels->sum[!is_finite](weights, x, spec->stations, &to);
        x += kernels->spectra * spec->stations * number;
        to.pairs += kernels->spectra * to.spectrum;
    }
}

static int beam_is_turned(const float *turns)
{
    return turns && (turns[0] != 0 || turns[1] != 0);
}

/* A beam that is a station's spectra: sums have changed the sign of zeros. */
static void beam_copy(const struct beam_block *block, const struct beam_task *task, uint32_t beam)
{
    const struct between_spec *spec = &block->stage->base.spec;
    const uint32_t i = block->stage->copied[beam];
    if (i == spec->stations ||
        beam_is_turned(beam_turns(block, 1, task->cell * spec->beams + beam, i, task->coarse))) {
        return;
    }
    for (uint64_t s = task->begin; s < task->end; s++) {
        for (uint32_t pol = 0;
             pol < spec->pols && !beam_is_turned(beam_turns(block, 0, s, i, task->coarse)); pol++) {
            memcpy(block->out + beam_at(spec, task, s * spec->beams + beam, pol),
                   block->in + beam_at(spec, task, s * spec->stations + i, pol),
                   task->count * 2 * sizeof(float));
        }
    }
}

static void beam_run(void *context, uint32_t thread, uint64_t number)
{
    const struct beam_block *block = context;
    const struct cpu_beamform *stage = block->stage;
    const struct between_spec *spec = &stage->base.spec;
    struct beam_scratch *scratch = &stage->scratch[thread];
    struct beam_task task = beam_task_of(block, number);
    if (task.begin == task.end) {
        return;
    }
    const int is_finite = beam_take(block, &task, scratch);
    for (uint32_t vector = 0; vector < task.vectors; vector++) {
        beam_vector(block, &task, vector);
        for (uint32_t beam = 0; beam < spec->beams; beam += (uint32_t)stage->kernels->beams) {
            beam_turn(block, &task, beam, scratch);
            for (uint32_t pol = 0; pol < spec->pols; pol++) {
                beam_sum(block, &task, beam, pol, is_finite, scratch);
            }
        }
    }
    for (uint32_t i = 0; i < spec->beams * task.vectors; i++) {
        beam_vector(block, &task, i % task.vectors);
        beam_copy(block, &task, i / task.vectors);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* beams are stored past the caches */
}

static status_t cpu_beamform_run(between_t *beamform, buffer_t *in, uint64_t first,
                                 uint64_t spectra, const struct beamform_turns *turns,
                                 buffer_t *out)
{
    struct cpu_beamform *stage = (struct cpu_beamform *)beamform;
    const struct between_spec *spec = &stage->base.spec;
    struct beam_block *block = &stage->blocks[stage->nblocks % POOL_BLOCKS];
    const float *const given[2] = {turns->stations, turns->beams};
    const size_t floats[2] = {spectra * beam_station_turns(spec),
                              beamform_cells(spec, first, spectra) * beam_cell_turns(spec)};
    TRY(cpu_begin(stage->pool, block->number, in, &block->in, out, &block->out));
    block->stage = stage;
    block->first = first;
    block->spectra = spectra;
    block->cell = turns->beams ? spec->cell : SEGMENT;
    block->parts = ceil_div_u64(block->cell, SEGMENT);
    for (int i = 0; i < 2; i++) {
        block->has[i] = given[i] != NULL;
        if (given[i]) {
            memcpy(block->turns[i], given[i], floats[i] * sizeof(float));
        }
    }
    struct pool_block work = {.context = block, .run = {beam_run, NULL}};
    const uint64_t cells =
        spectra > 0 ? (first + spectra - 1) / block->cell - first / block->cell + 1 : 0;
    work.tasks[0] = cells * block->parts * spec->coarse * ceil_div_u64(spec->nchannels, WIDTH);
    block->number = cpu_submit(stage->pool, &work, in, out);
    stage->nblocks++;
    return STATUS_OK;
}

/* Divides a thread's memory, if it is there; returns its floats. */
static size_t beam_lay_out(const struct between_spec *spec, const struct beam_kernels *kernels,
                           struct beam_scratch *scratch)
{
    const size_t number = 2 * kernels->lanes;
    const size_t x = WIDTH / kernels->lanes * spec->pols * SEGMENT * spec->stations * number;
    const size_t weights = spec->stations * kernels->beams * number;
    if (scratch->memory) {
        scratch->x = scratch->memory;
        scratch->turned = scratch->x + x;
        scratch->weights = scratch->turned + weights;
        scratch->wrong = scratch->weights + weights;
    }
    return x + 2 * weights + kernels->lanes;
}

static uint64_t cpu_beamform_bytes(const struct between_spec *spec)
{
    const struct beam_kernels *kernels = beam_kernels((enum simd_level)(cpu_simd(spec->simd) - 1));
    struct beam_scratch scratch = {.memory = NULL};
    const size_t floats = beam_lay_out(spec, kernels ? kernels : beam_kernels(SIMD_BASE), &scratch);
    const uint64_t turns = spec->max_spectra * beam_station_turns(spec) +
                           beam_most_cells(spec) * beam_cell_turns(spec);
    return sizeof(float) * (spec->threads * floats + (uint64_t)POOL_BLOCKS * turns + spec->beams) +
           beam_spec_bytes(spec);
}

static void cpu_beamform_destroy(void *beamform)
{
    struct cpu_beamform *stage = beamform;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        cpu_settle(stage->pool, stage->blocks[i].number);
        MEMORY_FREE(stage->blocks[i].turns[0], stage->blocks[i].turns[1]);
    }
    for (uint32_t i = 0; stage->scratch && i < stage->base.spec.threads; i++) {
        free(stage->scratch[i].memory);
    }
    MEMORY_FREE(stage->scratch, stage->copied);
    beam_spec_free(&stage->base.spec);
}

static status_t cpu_beamform_create(backend_t *backend, void *made)
{
    struct cpu_beamform *stage = made;
    const struct between_spec given = stage->base.spec, *spec = &given;
    TRY(beam_spec_copy(spec, &stage->base.spec));
    stage->kernels = beam_kernels((enum simd_level)(cpu_simd(spec->simd) - 1));
    REQUIRE(stage->kernels, STATUS_DEVICE,
            "this processor lacks the vector instructions that are used");
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &stage->pool));
    TRY(memory_zeroed(spec->beams, sizeof *stage->copied, "beams", &stage->copied));
    for (uint32_t beam = 0; beam < spec->beams; beam++) {
        stage->copied[beam] = beam_copied(spec, beam);
    }
    for (int i = 0; i < POOL_BLOCKS; i++) {
        TRY(memory_aligned(spec->max_spectra * beam_station_turns(spec), sizeof(float), "turns",
                           &stage->blocks[i].turns[0]));
        TRY(memory_aligned(beam_most_cells(spec) * beam_cell_turns(spec), sizeof(float), "turns",
                           &stage->blocks[i].turns[1]));
    }
    TRY(memory_zeroed(spec->threads, sizeof *stage->scratch, "threads", &stage->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct beam_scratch *scratch = &stage->scratch[i];
        const size_t floats = beam_lay_out(spec, stage->kernels, scratch);
        TRY(memory_aligned(floats, sizeof(float), "spectra and weights", &scratch->memory));
        beam_lay_out(spec, stage->kernels, scratch);
    }
    return STATUS_OK;
}

const struct between_ops cpu_beamform = {
    .stage = {sizeof(struct cpu_beamform), cpu_beamform_create, cpu_beamform_destroy, NULL, NULL},
    .bytes = {cpu_beamform_bytes},
    .run = cpu_beamform_run};
