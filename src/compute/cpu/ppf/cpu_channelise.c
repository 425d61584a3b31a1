/* The CPU backend: unpack, FIR, FFT, detection and integration in cache-sized batches. Here it is
 * chosen how, and made. */
#include "base/memory.h"
#include "compute/cpu/ppf/cpu_channelise_parts.h"

#include <stdlib.h>
#include <unistd.h>

static int channelise_is_summed(const struct channelise_output *output)
{
    return output->quantity != QUANTITY_SPECTRA && output->integrate > 1;
}

/* Returns the columns and rows by which spectra are transformed: of the choice, or by the rule. */
static struct fine_shape channelise_fine(const struct channelise_spec *spec,
                                         const struct channelise_choice *choice)
{
    /* Nothing is transformed, whatever the choice for the bank before. */
    if (spec->is_spectra) {
        return (struct fine_shape){0};
    }
    if (choice->backend == BACKEND_CPU) {
        return (struct fine_shape){choice->shape.radix[0], choice->shape.radix[1],
                                   choice->shape.vector > 0};
    }
    return fine_shape(channelise_samples(spec),
                      spec->is_complex && !channelise_is_oversampled(spec));
}

static void channelise_set_fine(struct fine_shape fine, struct channelise_shape *out)
{
    out->radix[0] = (uint32_t)fine.height;
    out->radix[1] = (uint32_t)fine.width;
    out->vector = fine.is_beside ? FINE_COLUMNS : 0;
}

/* Chooses the kernels, columns and rows, and FFTW's plans. */
static status_t cpu_channelise_choose(backend_t *backend, const struct channelise_spec *spec,
                                      struct channelise_choice *out)
{
    struct cpu_fft_shape shape = cpu_fft_shape(channelise_samples(spec), spec->is_complex);
    struct channelise_choice choice = {.backend = BACKEND_CPU};
    struct fine_shape fine = channelise_fine(spec, &spec->choice);
    (void)backend;
    if (spec->choice.backend == BACKEND_CPU) {
        choice.shape = spec->choice.shape;
    } else {
        choice.shape.simd = cpu_simd(spec->simd);
        channelise_set_fine(fine, &choice.shape);
    }
    TRY(spec->is_spectra ? STATUS_OK
        : fine.height > 0
            ? fine_fft_wisdom(fine, spec->planning, spec->expected, choice.wisdom,
                              sizeof choice.wisdom)
            : cpu_fft_wisdom(&shape, 1, cpu_fft_effort(spec->planning, spec->expected),
                             choice.wisdom, sizeof choice.wisdom));
    *out = choice;
    return STATUS_OK;
}

static const char *cpu_channelise_simd(const struct channelise_choice *choice)
{
    return cpu_simd_name(choice->shape.simd);
}

static status_t cpu_channelise_words(const struct channelise_choice *choice, struct text *out)
{
    TRY(text_add(out, "%s, ", cpu_channelise_simd(choice)));
    if (choice->shape.radix[0] > 0) {
        TRY(text_add(out, "%u x %u", choice->shape.radix[0], choice->shape.radix[1]));
    }
    if (choice->shape.vector > 0) {
        return text_add(out, " side by side");
    }
    TRY(choice->shape.radix[0] > 0 ? text_add(out, ", ") : STATUS_OK);
    /* How many spectra are filtered in one go rounds nothing, and is not said. */
    return cpu_fft_words(choice->wisdom, out);
}

enum {
    STRIPS_A_THREAD = 4, /* of a block that threads share, so that they end together */
    MOST_SHORT = 512     /* points of columns of which half a grain is worth its memory */
};

/* Spectra of a block that threads share, whole grains; 0: each makes spectra of its own, where
 * there are streams enough. */
static uint64_t channelise_piece(const struct cpu *cpu)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    uint64_t streams = spec->nstreams / (cpu->has_pairs ? 2 : 1);
    uint64_t strips = streams * (cpu->fine.height / FINE_COLUMNS);
    if (cpu->fine.height == 0 || streams >= spec->threads) {
        return 0;
    }
    return ceil_div_u64((uint64_t)STRIPS_A_THREAD * spec->threads, strips) * GRAIN;
}

/* A quarter of the second-level cache, the rest being for what is read and written. */
static size_t fir_spectra_bytes(void)
{
    const size_t usual = (size_t)1 << 20;
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (bytes > 0 ? (size_t)bytes : usual) / 4;
}

/* Returns the largest multiple of FIR_ROWS up to `most` spectra whose rows of `row` floats stay in
 * the second-level cache. */
static size_t ppf_fir_rows(size_t most, size_t row)
{
    size_t rows = most;
    size_t room = fir_spectra_bytes();
    while (rows > FIR_ROWS && rows * row * sizeof(float) > room) {
        rows /= 2;
    }
    return rows;
}

/* Spectra that are filtered in one go. By columns and rows their strips stay near; by FFTW what a
 * thread has of its own between the two, too. Side by side a window of few spectra would cost more
 * than the cache, and a strip may fill half of it. */
static size_t channelise_rows(const struct cpu *cpu)
{
    const size_t strip = 2 * FINE_STRIP * cpu->fine.height;
    if (cpu->base.spec.is_spectra) {
        return GRAIN;
    }
    if (cpu->fine.height == 0) {
        return ppf_fir_rows(GRAIN, cpu->shape.in_row);
    }
    if (!cpu->fine.is_beside) {
        return ppf_fir_rows(GRAIN, strip + (cpu->piece > 0 ? 0 : fine_fft_matrix(cpu->fine)));
    }
    const size_t rows = ppf_fir_rows(GRAIN, strip / 2);
    const size_t least = cpu->fine.height <= MOST_SHORT ? GRAIN / 2 : FIR_ROWS;
    return rows > least ? rows : least;
}

/* Sizes that follow from spec and choice; nothing allocated yet. */
static void channelise_set_sizes(struct cpu *cpu, const struct channelise_spec *spec,
                                 const struct channelise_choice *choice)
{
    cpu->base.spec = *spec;
    cpu->base.spec.coeff = NULL;
    cpu->shape.batch = 1;
    if (!spec->is_spectra) {
        cpu->shape = cpu_fft_shape(channelise_samples(spec), spec->is_complex);
    }
    cpu->fine = channelise_fine(spec, choice);
    cpu->has_pairs = channelise_has_pairs(spec);
    cpu->piece = channelise_piece(cpu);
    cpu->turns = spec->is_interleaved && cpu->fine.height > 0 &&
                 (cpu->piece > 0 || interleaved_is_slow(spec));
    cpu->shared = cpu->piece > 0 ? min_u64(cpu->piece, spec->max_spectra) : spec->max_spectra;
    cpu->rows = channelise_rows(cpu);
    if (cpu->rows < cpu->shape.batch) {
        cpu->rows = cpu->shape.batch;
    }
}

/* Vectors not wider than all ranks have; no more spectra in one go than memory was planned for. */
static status_t cpu_channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                                          enum channelise_space space,
                                          struct channelise_shape **out, uint32_t *count)
{
    struct channelise_shape *list = NULL;
    struct cpu usual = {0};
    uint32_t n = 0;
    (void)backend;
    if (space == SPACE_FEW) {
        return STATUS_OK; /* the rule serves */
    }
    channelise_set_sizes(&usual, spec, &spec->choice);
    TRY(memory_zeroed((size_t)SIMD_LEVELS * GRAIN, sizeof *list, "shapes", &list));
    for (uint32_t simd = cpu_simd(spec->simd); simd > 0; simd--) {
        for (size_t rows = usual.rows; rows >= FIR_ROWS && rows >= usual.shape.batch; rows /= 2) {
            list[n] = (struct channelise_shape){.simd = simd, .rows = (uint32_t)rows};
            channelise_set_fine(usual.fine, &list[n++]);
        }
    }
    *out = list;
    *count = n;
    return STATUS_OK;
}

/* Waits for the blocks that it has given to the pool. */
static void channelise_settle(const struct cpu *cpu)
{
    for (int i = 0; i < POOL_BLOCKS; i++) {
        cpu_settle(cpu->pool, cpu->blocks[i].number);
    }
}

static void cpu_channelise_destroy(void *channelise)
{
    struct cpu *cpu = channelise;
    channelise_settle(cpu);
    for (uint32_t i = 0; cpu->scratch && i < cpu->base.spec.threads; i++) {
        MEMORY_FREE(cpu->scratch[i].window, cpu->scratch[i].filtered, cpu->scratch[i].bins,
                    cpu->scratch[i].deinterleaved, cpu->scratch[i].matrices, cpu->scratch[i].low);
    }
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        sums_destroy(cpu->sums[i]);
        free(cpu->factors[i]);
        for (int j = 0; j < POOL_BLOCKS; j++) {
            free(cpu->blocks[j].grains[i]);
        }
    }
    for (int j = 0; j < POOL_BLOCKS; j++) {
        MEMORY_FREE(cpu->blocks[j].re, cpu->blocks[j].im);
    }
    MEMORY_FREE(cpu->matrices[0], cpu->matrices[1], cpu->turned[0], cpu->turned[1]);
    cpu_fft_destroy(cpu->transform);
    fine_fft_destroy(cpu->fine_fft);
    ppf_fir_destroy(cpu->filter);
    free(cpu->scratch);
}

/* Creates the FIR filter and the transforms, by `wisdom` of FFTW. */
static status_t channelise_create_bank(struct cpu *cpu, const struct channelise_spec *spec,
                                       const char *wisdom)
{
    struct ppf_fir_strips strips = {0};
    if (cpu->fine.height > 0) {
        strips = (struct ppf_fir_strips){cpu->fine.width, FINE_STRIP};
    }
    TRY(ppf_fir_create(cpu->kernels, spec, cpu->rows, strips, &cpu->filter));
    return cpu->fine.height > 0 ? fine_fft_create(cpu->kernels, cpu->fine, wisdom, &cpu->fine_fft)
                                : cpu_fft_create(&cpu->shape, wisdom, &cpu->transform);
}

static status_t channelise_create_scratch(struct cpu *cpu)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t floats[SCRATCH_PARTS];
    cpu_channelise_scratch_floats(cpu, floats);
    TRY(memory_zeroed(spec->threads, sizeof *cpu->scratch, "scratch", &cpu->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct scratch *scratch = &cpu->scratch[i];
        TRY(memory_aligned(floats[0], sizeof(float), "a window", &scratch->window));
        TRY(memory_aligned(floats[1], sizeof(float), "spectra", &scratch->filtered));
        TRY(memory_aligned(floats[2], sizeof(float), "spectra", &scratch->bins));
    }
    return STATUS_OK;
}

static status_t channelise_create_steps(struct cpu *cpu)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    const size_t nchannels = spec->nchannels;
    int has_steps = 0;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        has_steps |= spec->outputs[i].bits != 0;
        TRY(spec->outputs[i].bits ? memory_zeroed(spec->nstreams * nchannels, sizeof(float),
                                                  "scales", &cpu->factors[i])
                                  : STATUS_OK);
    }
    for (uint32_t i = 0; i < spec->threads && has_steps; i++) {
        struct scratch *scratch = &cpu->scratch[i];
        TRY(memory_zeroed(2 * nchannels, sizeof *scratch->low, "counts", &scratch->low));
        scratch->high = scratch->low + nchannels;
    }
    return STATUS_OK;
}

/* Floats of the grains of a block: [grains][sums][nchannels], by channelise_sums(). */
static size_t sums_grain_floats(const struct cpu *cpu, uint32_t output)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    return (size_t)(sums_grains(cpu->shared, spec->outputs[output].integrate) *
                    channelise_row_floats(spec, output, spec->nstreams));
}

static status_t channelise_create_blocks(struct cpu *cpu)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(channelise_is_summed(&spec->outputs[i]) ? sums_create(spec, i, &cpu->sums[i])
                                                    : STATUS_OK);
    }
    for (int j = 0; j < POOL_BLOCKS; j++) {
        struct block *block = &cpu->blocks[j];
        TRY(memory_zeroed(spec->nstreams, sizeof *block->re, "offsets", &block->re));
        TRY(memory_zeroed(spec->nstreams, sizeof *block->im, "offsets", &block->im));
        for (uint32_t i = 0; i < spec->noutputs; i++) {
            if (cpu->sums[i]) {
                TRY(memory_aligned(sums_grain_floats(cpu, i), sizeof(float), "sums of power",
                                   &block->grains[i]));
            }
        }
    }
    return STATUS_OK;
}

static status_t cpu_channelise_create(backend_t *backend, void *made)
{
    struct cpu *cpu = made;
    const struct channelise_spec given = cpu->base.spec, *spec = &given;
    struct channelise_choice choice = spec->choice;
    TRY(choice.backend != BACKEND_CPU ? cpu_channelise_choose(backend, spec, &choice) : STATUS_OK);
    channelise_set_sizes(cpu, spec, &choice);
    cpu->kernels = cpu_simd_kernels(choice.shape.simd);
    if (choice.shape.rows > 0) {
        cpu->rows = choice.shape.rows;
    }
    REQUIRE(cpu->kernels, STATUS_DEVICE,
            "this processor lacks the vector instructions that are used");
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &cpu->pool));
    TRY(spec->is_spectra ? STATUS_OK : channelise_create_bank(cpu, spec, choice.wisdom));
    TRY(channelise_create_scratch(cpu));
    TRY(channelise_create_steps(cpu));
    return channelise_create_blocks(cpu);
}

/* Returns the bytes of its factors and plans. */
static uint64_t fine_fft_bytes(struct fine_shape shape)
{
    size_t factors =
        shape.height * 2 * FINE_COLUMNS + 2 * shape.height * shape.width / FINE_COLUMNS;
    /* FFTW's own tables are smaller than some columns and rows. */
    return (factors + 2 * FINE_COLUMNS * (shape.height + shape.width)) * sizeof(float);
}

static uint64_t cpu_channelise_bytes(const struct channelise_spec *spec)
{
    struct cpu cpu = {0};
    size_t floats[SCRATCH_PARTS];
    channelise_set_sizes(&cpu, spec, &spec->choice);
    cpu_channelise_scratch_floats(&cpu, floats);
    const int is_shared = cpu.piece > 0;
    uint64_t thread = (floats[0] + floats[1] + floats[2]) * sizeof(float);
    thread += is_shared ? 0 : floats[3] * sizeof(float);
    thread +=
        spec->is_interleaved && !cpu.turns ? interleaved_bytes(spec) * (cpu.has_pairs ? 2 : 1) : 0;
    uint64_t bytes = spec->is_spectra ? 0 : ppf_fir_bytes(spec);
    if (cpu.fine.height > 0) {
        bytes += fine_fft_bytes(cpu.fine);
        bytes += is_shared
                     ? 2 * cpu.shared * spec->nstreams * fine_fft_matrix(cpu.fine) * sizeof(float)
                     : 0;
        bytes += cpu.turns ? 2 * interleaved_turned_bytes(&cpu) : 0;
    } else if (!spec->is_spectra) {
        /* FFTW's own tables, and buffers of each thread: for lengths with large prime factors,
         * those of a transform of up to four times the length. */
        thread += (uint64_t)4 * 8 * cpu.shape.points;
        bytes += (uint64_t)4 * 8 * cpu.shape.points;
    }
    bytes += spec->threads * thread;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (channelise_is_summed(&spec->outputs[i])) {
            bytes += POOL_BLOCKS * sizeof(float) * (uint64_t)sums_grain_floats(&cpu, i);
            bytes += 2 * sizeof(double) * channelise_row_floats(spec, i, spec->nstreams);
        }
        if (spec->outputs[i].bits) {
            bytes +=
                (uint64_t)(spec->nstreams + 2 * spec->threads) * spec->nchannels * sizeof(float);
        }
    }
    return bytes;
}

static status_t cpu_channelise_scale(channelise_t *channelise, uint32_t i, uint32_t nstreams,
                                     const float *factors)
{
    const struct cpu *cpu = (const struct cpu *)channelise;
    channelise_settle(cpu);
    memcpy(cpu->factors[i], factors, (size_t)nstreams * cpu->base.spec.nchannels * sizeof *factors);
    return STATUS_OK;
}

/* As compute/channelise.h says. */
static void cpu_channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    struct cpu *cpu = (struct cpu *)channelise;
    cpu->next = first_spectrum;
    cpu->begins = 1;
}

const struct channelise_ops cpu_channelise = {
    .stage = {sizeof(struct cpu), cpu_channelise_create, cpu_channelise_destroy, NULL, NULL},
    .bytes = {cpu_channelise_bytes},
    .begin = cpu_channelise_begin,
    .scale = cpu_channelise_scale,
    .run = cpu_channelise_run,
    .choose = cpu_channelise_choose,
    .words = cpu_channelise_words,
    .simd = cpu_channelise_simd,
    .candidates = cpu_channelise_candidates};
