/* The CPU's synthesis: made, and what it takes. */
#include "base/memory.h"
#include "compute/cpu/synthesis/synthesise_parts.h"

#include <stdlib.h>
#include <string.h>

static struct synthesise_layout cpu_synthesise_layout(const struct synthesise_spec *spec)
{
    enum {
        NEAR_BYTES = 28 << 10, /* of the first-level cache */
        MOST_POINTS = 1 << 14, /* of spectra that are made FEW, not MANY at a time */
        MANY = 16,             /* as many as are ever transformed in a batch */
        FEW = 4,
        MOST_TILE = 256
    };
    struct synthesise_layout layout = {.fft = cpu_fft_inverse(spec->points, !spec->is_real_out)};
    const size_t parts = spec->is_real_out ? 1 : 2;
    const size_t length = (size_t)spec->taps * spec->points;
    layout.step = spec->points > MOST_POINTS ? FEW : MANY;
    const size_t spectra = (length - 1) / spec->hop + layout.step;
    layout.ring = (spectra + layout.step - 1) / layout.step * layout.step;
    const size_t room = NEAR_BYTES / sizeof(float) / parts / spectra / MOST_LANES * MOST_LANES;
    layout.tile = (size_t)min_u64(max_u64(room, 2 * MOST_LANES), MOST_TILE);
    return layout;
}

static size_t cpu_synthesise_coefficients(const struct synthesise_spec *spec)
{
    return (size_t)spec->taps * spec->points + 2 * MOST_LANES;
}

static uint64_t cpu_synthesise_bytes(const struct synthesise_spec *spec)
{
    const struct synthesise_layout layout = cpu_synthesise_layout(spec);
    const uint64_t floats = layout.step * layout.fft.in_row + layout.ring * layout.fft.out_row;
    const uint64_t offsets = (uint64_t)spec->nstreams * spec->channels * 2 * sizeof(size_t);
    return spec->threads * (floats * sizeof(float) + 2 * layout.ring * sizeof(float *)) +
           cpu_synthesise_coefficients(spec) * sizeof(float) + POOL_BLOCKS * offsets;
}

static status_t cpu_synthesise_choose(backend_t *backend, const struct synthesise_spec *spec,
                                      struct synthesise_choice *out)
{
    status_t st = STATUS_OK;
    struct synthesise_choice choice = {.backend = BACKEND_CPU};
    const struct cpu_fft_shape shape = cpu_fft_inverse(spec->points, !spec->is_real_out);
    (void)backend;
    choice.shape.simd = spec->simd ? spec->simd : (uint32_t)simd_best() + 1;
    TRY(cpu_fft_wisdom(&shape, 1, cpu_fft_effort(spec->planning, spec->expected), choice.wisdom,
                       sizeof choice.wisdom));
    *out = choice;
out:
    return st;
}

static status_t cpu_synthesise_words(const struct synthesise_choice *choice, struct text *out)
{
    status_t st = STATUS_OK;
    const uint32_t simd = choice->shape.simd;
    const struct cpu_kernels *kernels = simd > 0 ? simd_kernels((enum simd_level)(simd - 1)) : NULL;
    TRY(text_add(out, "%s, ", kernels ? kernels->name : "?"));
    TRY(cpu_fft_words(choice->wisdom, out));
out:
    return st;
}

static void synthesise_free(struct cpu_synthesise *stage)
{
    for (uint32_t i = 0; stage->scratch && i < stage->base.spec.threads; i++) {
        free(stage->scratch[i].points);
        free(stage->scratch[i].ring);
        free(stage->scratch[i].row);
    }
    for (int i = 0; i < POOL_BLOCKS; i++) {
        free(stage->blocks[i].re);
        free(stage->blocks[i].im);
    }
    cpu_fft_destroy(stage->transform);
    free(stage->scratch);
    free(stage->coeff);
    free(stage);
}

static void cpu_synthesise_destroy(synthesise_t *base)
{
    struct cpu_synthesise *stage = (struct cpu_synthesise *)base;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        if (stage->blocks[i].number > 0) {
            pool_wait(stage->pool, stage->blocks[i].number);
        }
    }
    synthesise_free(stage);
}

static status_t synthesise_allocate(struct cpu_synthesise *stage)
{
    status_t st = STATUS_OK;
    const struct synthesise_spec *spec = &stage->base.spec;
    const struct synthesise_layout *layout = &stage->layout;
    const size_t series = (size_t)spec->nstreams * spec->channels;
    TRY(memory_zeroed(cpu_synthesise_coefficients(spec), sizeof(float), "coefficients",
                      &stage->coeff));
    for (size_t i = 0; i < (size_t)stage->length; i++) {
        stage->coeff[MOST_LANES + i] = (float)spec->coeff[i];
    }
    TRY(memory_zeroed(spec->threads, sizeof *stage->scratch, "threads", &stage->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct synthesise_scratch *scratch = &stage->scratch[i];
        TRY(memory_aligned(layout->step * layout->fft.in_row, sizeof(float), "spectra",
                           &scratch->points));
        TRY(memory_aligned(layout->ring * layout->fft.out_row, sizeof(float), "spectra",
                           &scratch->ring));
        TRY(memory_zeroed(2 * layout->ring, sizeof *scratch->row, "spectra", &scratch->row));
    }
    for (int i = 0; i < POOL_BLOCKS; i++) {
        TRY(memory_zeroed(series, sizeof(size_t), "offsets", &stage->blocks[i].re));
        TRY(memory_zeroed(series, sizeof(size_t), "offsets", &stage->blocks[i].im));
    }
out:
    return st;
}

static status_t cpu_synthesise_create(backend_t *backend, const struct synthesise_spec *spec,
                                      synthesise_t **out)
{
    status_t st = STATUS_OK;
    struct cpu_synthesise *stage = NULL;
    const uint32_t simd = spec->choice.shape.simd;
    REQUIRE(simd > 0 && simd <= SIMD_LEVELS && simd_kernels((enum simd_level)(simd - 1)),
            STATUS_DEVICE, "this machine's processor lacks the vectors that are used");
    TRY(memory_zeroed(1, sizeof *stage, "the synthesis", &stage));
    stage->base.spec = *spec;
    stage->length = (int64_t)spec->taps * spec->points;
    stage->layout = cpu_synthesise_layout(spec);
    stage->reader = filter_reader(&spec->coding, (enum simd_level)(simd - 1));
    stage->kernels = synthesis_kernels((enum simd_level)(simd - 1));
    TRY(cpu_fft_create(&stage->layout.fft, spec->choice.wisdom, &stage->transform));
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &stage->pool));
    TRY(synthesise_allocate(stage));
    stage->base.spec.coeff = NULL;
    *out = &stage->base;
    stage = NULL;
out:
    if (stage) {
        synthesise_free(stage);
    }
    return st;
}

const struct synthesise_ops cpu_synthesise = {.bytes = cpu_synthesise_bytes,
                                              .create = cpu_synthesise_create,
                                              .destroy = cpu_synthesise_destroy,
                                              .run = cpu_synthesise_run,
                                              .choose = cpu_synthesise_choose,
                                              .words = cpu_synthesise_words};
