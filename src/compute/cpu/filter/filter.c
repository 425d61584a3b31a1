/* Long filters on the CPU: made, and what they take. */
#include "base/memory.h"
#include "compute/cpu/filter/filter_parts.h"

#include <stdlib.h>

static uint64_t cpu_filter_bytes(const struct filter_spec *spec)
{
    return spec->choice.shape.method == FILTER_DIRECT ? direct_bytes(spec)
                                                      : overlap_save_bytes(spec);
}

static status_t cpu_filter_words(const struct filter_choice *choice, struct text *out)
{
    const struct filter_shape *shape = &choice->shape;
    const struct cpu_kernels *kernels =
        shape->simd > 0 ? simd_kernels((enum simd_level)(shape->simd - 1)) : NULL;
    const char *name = kernels ? kernels->name : "?";
    return shape->method == FILTER_DIRECT
               ? text_add(out, "direct %s", name)
               : text_add(out, "overlap-save (%u, fftw), %s", shape->length, name);
}

static void filter_free(struct cpu_filter *filter)
{
    direct_destroy(filter->direct);
    overlap_save_destroy(filter->overlap_save);
    for (int i = 0; i < POOL_BLOCKS; i++) {
        free(filter->blocks[i].re);
        free(filter->blocks[i].im);
    }
    free(filter);
}

static void cpu_filter_destroy(filter_t *base)
{
    struct cpu_filter *filter = (struct cpu_filter *)base;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        if (filter->blocks[i].number > 0) {
            pool_wait(filter->pool, filter->blocks[i].number);
        }
    }
    filter_free(filter);
}

static status_t cpu_filter_create(backend_t *backend, const struct filter_spec *spec,
                                  filter_t **out)
{
    status_t st = STATUS_OK;
    struct cpu_filter *filter = NULL;
    uint32_t simd = spec->choice.shape.simd;
    REQUIRE(simd > 0 && simd <= SIMD_LEVELS && simd_kernels((enum simd_level)(simd - 1)),
            STATUS_DEVICE, "this machine's processor lacks the vectors that are used");
    TRY(memory_zeroed(1, sizeof *filter, "the filter", &filter));
    filter->base.spec = *spec;
    filter->reader = filter_reader(&spec->coding, (enum simd_level)(simd - 1));
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &filter->pool));
    if (spec->choice.shape.method == FILTER_DIRECT) {
        TRY(direct_create(&filter->base.spec, &filter->reader, &filter->direct));
        filter->piece_rows = direct_rows(spec);
    } else {
        TRY(overlap_save_create(&filter->base.spec, &filter->reader, &filter->overlap_save));
        filter->piece_rows = filter_grain(spec);
    }
    filter->base.spec.coeff = NULL;
    for (int i = 0; i < POOL_BLOCKS; i++) {
        struct filter_block *block = &filter->blocks[i];
        TRY(memory_zeroed(spec->nstreams, sizeof *block->re, "offsets", &block->re));
        TRY(memory_zeroed(spec->nstreams, sizeof *block->im, "offsets", &block->im));
    }
    *out = &filter->base;
    filter = NULL;
out:
    if (filter) {
        filter_free(filter);
    }
    return st;
}

const struct filter_ops cpu_filter = {.choose = cpu_filter_choose,
                                      .bytes = cpu_filter_bytes,
                                      .create = cpu_filter_create,
                                      .destroy = cpu_filter_destroy,
                                      .run = cpu_filter_run,
                                      .candidates = cpu_filter_candidates,
                                      .words = cpu_filter_words,
                                      .identity = cpu_identity};
