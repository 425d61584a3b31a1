/* Fine channels: a spectrum is too long for the caches, so it is made by columns and rows
 * (cpu/fft/fine_fft.h). Of a strip of neighbouring columns some spectra are filtered at a time, and
 * their columns transformed while they are in the cache; FINE_COLUMNS rows at a time are
 * transformed, detected and delivered.
 *
 * Where there are streams enough for all threads, each makes some whole spectra at a time. Else
 * they share the strips of a block's spectra: a first phase makes columns, a second one rows. Both
 * do the same arithmetic. */
#include "base/memory.h"
#include "compute/cpu/ppf/channelise_parts.h"

#include <string.h>

enum {
    AHEAD = 1, /* rows of columns whose samples are called into the cache */
    LINE_BYTES = 64
};

size_t cpu_fine_column_tasks(const struct cpu *cpu)
{
    return cpu->fine.width / FINE_STRIP;
}

size_t cpu_fine_row_tasks(const struct cpu *cpu)
{
    return cpu->fine.height / FINE_COLUMNS;
}

/* Between columns and rows of spectrum s of the block, of one stream of a batch: where threads
 * share matrices, or else of the thread, which has those from spectrum `from` on. */
static float *fine_matrix(const struct block *block, const struct scratch *scratch,
                          const struct batch *batch, int half, uint64_t s, uint64_t from)
{
    size_t floats = fine_fft_matrix(block->cpu->fine);
    if (block->matrices) {
        return block->matrices + ((size_t)s * block->nstreams + batch->stream[half]) * floats;
    }
    return scratch->matrices + ((size_t)half * block->cpu->rows + (size_t)(s - from)) * floats;
}

/* Columns of a strip, of `count` spectra from `from` of the batch on, at most cpu->rows; returns
 * how many samples were missing. */
static uint64_t fine_columns(const struct block *block, struct scratch *scratch,
                             const struct batch *batch, int half, size_t from, size_t count,
                             size_t strip)
{
    const struct cpu *cpu = block->cpu;
    const size_t height = cpu->fine.height;
    const size_t width = cpu->fine.width;
    const size_t points = height * width;
    const size_t floats = 2 * height * FINE_STRIP;
    const char *data = batch->samples[half] + from * points * ppf_fir_sample_bytes(&cpu->base.spec);
    uint64_t s = batch->first + from;
    /* Samples that these spectra answer for when missing ones are counted. */
    uint64_t end = s + count == block->spectra ? block->counted : (s + count) * points;
    uint64_t missing = 0;
    for (size_t j = 0; j < height; j++) {
        const struct ppf_fir_part part = {j * width + strip * FINE_STRIP,
                                          j + AHEAD < height ? AHEAD * width : 0};
        const struct ppf_fir_out out = {
            .count = count, .rows = scratch->filtered + 2 * j * FINE_STRIP, .stride = floats};
        missing += ppf_fir_part(cpu->filter, data, &part, end > s * points ? end - s * points : 0,
                                scratch->window, &out);
    }
    for (size_t i = 0; i < count; i++) {
        float *matrix = fine_matrix(block, scratch, batch, half, s + i, s);
        for (size_t c = 0; c < FINE_STRIP; c += FINE_COLUMNS) {
            fine_fft_columns(cpu->fine_fft, scratch->filtered + i * floats + 2 * c,
                             strip * FINE_STRIP + c, scratch->bins, block->matrices != NULL,
                             matrix);
        }
    }
    return missing;
}

/* The row of a spectrum that its rows' bins go to at once, past the caches; NULL: something else
 * becomes of them, or it is not aligned. */
static float *fine_direct(const struct block *block, const struct batch *batch, int half,
                          uint64_t s)
{
    const struct channelise_spec *spec = &block->cpu->base.spec;
    if (!block->cpu->fine.is_beside || spec->noutputs > 1 || spec->outputs[0].bits ||
        spec->outputs[0].quantity != QUANTITY_SPECTRA || spec->nchannels != spec->channels) {
        return NULL;
    }
    float *row = cpu_channelise_spectrum_row(block, 0, batch->stream[half], s);
    return (uintptr_t)row % LINE_BYTES == 0 ? row : NULL;
}

/* Rows of a strip, of `count` spectra from `from` of the batch on, and what becomes of them. */
static void fine_rows(const struct block *block, struct scratch *scratch, const struct batch *batch,
                      size_t from, size_t count, size_t strip)
{
    const struct cpu *cpu = block->cpu;
    float *first = scratch->bins + fine_fft_scratch(cpu->fine);
    float *const made[2] = {first, first + fine_fft_bins(cpu->fine)};
    const float *const bins[2] = {made[0], made[1]};
    const struct bins_cut cut = {.pieces = cpu->fine.width,
                                 .first = strip * FINE_COLUMNS,
                                 .step = cpu->fine.height,
                                 .count = FINE_COLUMNS};
    for (uint64_t s = batch->first + from; s < batch->first + from + count; s++) {
        for (int half = 0; half < (int)batch->streams; half++) {
            const float *matrix = fine_matrix(block, scratch, batch, half, s, batch->first + from);
            float *direct = fine_direct(block, batch, half, s);
            if (direct) {
                fine_fft_spectrum(cpu->fine_fft, matrix, cut.first, scratch->bins, direct);
                continue;
            }
            fine_fft_rows(cpu->fine_fft, matrix, cut.first, scratch->bins, made[half]);
            cpu_channelise_deliver(block, scratch, batch, bins, half, s, &cut);
        }
    }
}

uint64_t cpu_fine_batch(const struct block *block, struct scratch *scratch,
                        const struct batch *batch)
{
    const struct cpu *cpu = block->cpu;
    uint64_t missing = 0;
    for (size_t from = 0; from < batch->count; from += cpu->rows) {
        size_t count = batch->count - from < cpu->rows ? batch->count - from : cpu->rows;
        size_t grain[2][MOST_OUTPUTS];
        for (int half = 0; half < (int)batch->streams; half++) {
            for (size_t strip = 0; strip < cpu_fine_column_tasks(cpu); strip++) {
                missing += fine_columns(block, scratch, batch, half, from, count, strip);
            }
        }
        /* Every strip goes through the same spectra. */
        memcpy(grain, scratch->grain, sizeof grain);
        for (size_t strip = 0; strip < cpu_fine_row_tasks(cpu); strip++) {
            memcpy(scratch->grain, grain, sizeof grain);
            fine_rows(block, scratch, batch, from, count, strip);
        }
    }
    cpu->kernels->settle();
    return missing;
}

/* The batch of a task, and where it is worked: `tasks` strips of each batch. */
static size_t fine_task(const struct block *block, struct scratch *scratch, uint64_t task,
                        size_t tasks, struct batch *batch)
{
    uint32_t stream = 0;
    uint64_t of = task / tasks;
    uint32_t count = cpu_channelise_batch(block, of / block->groups, (uint32_t)(of % block->groups),
                                          batch, &stream);
    cpu_channelise_batch_at(block, scratch, stream, 0, count, batch);
    return (size_t)(task % tasks);
}

void cpu_fine_run_columns(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    struct cpu *cpu = block->cpu;
    struct scratch *scratch = &cpu->scratch[thread];
    struct batch batch;
    size_t strip = fine_task(block, scratch, task, cpu_fine_column_tasks(cpu), &batch);
    uint64_t missing = 0;
    for (size_t from = 0; from < batch.count; from += cpu->rows) {
        size_t count = batch.count - from < cpu->rows ? batch.count - from : cpu->rows;
        for (int half = 0; half < (int)batch.streams; half++) {
            missing += fine_columns(block, scratch, &batch, half, from, count, strip);
        }
    }
    cpu->kernels->settle();
    if (missing > 0 && !block->follows) {
        __atomic_fetch_add(&block->source->missing, missing, __ATOMIC_RELAXED);
    }
}

void cpu_fine_run_rows(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    struct cpu *cpu = block->cpu;
    struct scratch *scratch = &cpu->scratch[thread];
    struct batch batch;
    size_t strip = fine_task(block, scratch, task, cpu_fine_row_tasks(cpu), &batch);
    fine_rows(block, scratch, &batch, 0, batch.count, strip);
    cpu->kernels->settle();
}
