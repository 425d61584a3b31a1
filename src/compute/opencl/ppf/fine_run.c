/* Fine channels: kernels, tables and workspace, and what is enqueued. */
#include "base/memory.h"
#include "compute/opencl/ppf/fine.h"
#include "compute/shared/grains.h"

#include <stdlib.h>

struct fine {
    device_t *device;
    struct channelise_spec spec;
    struct channelise_shape shape;
    int mode;
    uint64_t piece; /* spectra that the workspace holds */
    cl_kernel kernels[FINE_KERNELS];
    cl_mem factors[FINE_KERNELS], turns[FINE_KERNELS];
    cl_mem work;
};

void fine_destroy(fine_t *fine)
{
    if (fine) {
        for (int i = 0; i < FINE_KERNELS; i++) {
            launch_release(fine->kernels[i]);
            device_release(fine->device, fine->factors[i]);
            device_release(fine->device, fine->turns[i]);
        }
        device_release(fine->device, fine->work);
        free(fine);
    }
}

static status_t fine_put_tables(fine_t *fine, uint32_t i)
{
    status_t st = STATUS_OK;
    enum { PAIR = 2 };
    size_t nfactors = fine_factor_count(&fine->shape, i);
    size_t nturns = fine_turn_count(&fine->spec, &fine->shape, i);
    float *factors = NULL;
    float *turns = NULL;
    TRY(memory_zeroed(PAIR * nfactors, sizeof *factors, "factors", &factors));
    fine_factors(&fine->shape, i, factors);
    TRY(device_put(fine->device, factors, PAIR * nfactors * sizeof *factors, "factors",
                   &fine->factors[i]));
    if (nturns > 0) {
        TRY(memory_aligned(PAIR * nturns, sizeof *turns, "twiddles", &turns));
        fine_turns(&fine->spec, &fine->shape, i, turns);
        TRY(device_put(fine->device, turns, PAIR * nturns * sizeof *turns, "twiddles",
                       &fine->turns[i]));
    }
out:
    free(factors);
    free(turns);
    return st;
}

static status_t fine_build(fine_t *fine, uint32_t i)
{
    status_t st = STATUS_OK;
    const int is_last = i + 1 == fine_kernels(&fine->shape);
    const enum program_source sources[] = {SOURCE_SAMPLES, SOURCE_BUTTERFLIES,
                                           is_last ? SOURCE_FINE_ROWS : SOURCE_FINE_COLUMNS};
    struct text options = {0};
    TRY(fine_options(&fine->spec, fine->mode, &fine->shape, i, &options));
    TRY(launch_build(fine->device, sources, 3, options.data, is_last ? "fine_rows" : "fine_columns",
                     &fine->kernels[i]));
out:
    text_free(&options);
    return st;
}

status_t fine_create(device_t *device, const struct channelise_spec *spec, int mode,
                     const struct channelise_shape *shape, uint64_t piece, fine_t **out)
{
    status_t st = STATUS_OK;
    fine_t *fine = NULL;
    TRY(memory_zeroed(1, sizeof *fine, "fine channels", &fine));
    fine->device = device;
    fine->spec = *spec;
    fine->spec.coeff = NULL;
    fine->shape = *shape;
    fine->mode = mode;
    fine->piece = piece;
    for (uint32_t i = 0; i < fine_kernels(shape); i++) {
        TRY(fine_put_tables(fine, i));
        TRY(fine_build(fine, i));
    }
    TRY(device_allocate(device, piece * spec->nstreams * spec->channels * 2 * sizeof(float),
                        "transformed columns", &fine->work));
    *out = fine;
    fine = NULL;
out:
    fine_destroy(fine);
    return st;
}

static status_t fine_run_columns(fine_t *fine, struct stopwatch *watch,
                                 const struct fine_block *block, uint64_t from, uint64_t count)
{
    struct launch_size size =
        fine_size(&fine->spec, fine->mode, &fine->shape, 0, count, block->nstreams, 0);
    return LAUNCH(fine->device, fine->kernels[0], size, watch, STEP_FILTER, ARGUMENT(block->in),
                  ARGUMENT_ULONG(block->in_stride), ARGUMENT(block->coeff), ARGUMENT_ULONG(from),
                  ARGUMENT(fine->factors[0]), ARGUMENT(fine->turns[0]), ARGUMENT(fine->work),
                  ARGUMENT_UINT((cl_uint)count));
}

/* The columns of rows: of all spectra and streams, one behind the other. */
static status_t fine_run_middle(fine_t *fine, struct stopwatch *watch,
                                const struct fine_block *block, uint64_t count)
{
    struct launch_size size =
        fine_size(&fine->spec, fine->mode, &fine->shape, 1, count, block->nstreams, 0);
    uint64_t rows = count * block->nstreams * fine->shape.radix[0];
    return LAUNCH(fine->device, fine->kernels[1], size, watch, STEP_TRANSFORM,
                  ARGUMENT(fine->factors[1]), ARGUMENT(fine->turns[1]), ARGUMENT(fine->work),
                  ARGUMENT_UINT((cl_uint)rows));
}

static status_t fine_run_rows(fine_t *fine, struct stopwatch *watch, const struct fine_block *block,
                              uint64_t from, uint64_t count)
{
    const uint32_t last = fine_kernels(&fine->shape) - 1;
    struct launch_size size = fine_size(&fine->spec, fine->mode, &fine->shape, last, count,
                                        block->nstreams, block->first + from);
    return LAUNCH(fine->device, fine->kernels[last], size, watch, STEP_TRANSFORM,
                  ARGUMENT(fine->work), ARGUMENT(fine->factors[last]), ARGUMENT(block->to),
                  ARGUMENT_ULONG(from), ARGUMENT_UINT((cl_uint)count),
                  ARGUMENT_UINT(block->nstreams), ARGUMENT_ULONG(block->first),
                  ARGUMENT_ULONG(block->integrate));
}

status_t fine_run(fine_t *fine, struct stopwatch *watch, const struct fine_block *block)
{
    status_t st = STATUS_OK;
    for (uint64_t from = 0; from < block->count;) {
        /* Pieces end at multiples of GRAIN spectra, so that no grain is cut. */
        uint64_t end = (block->first + from + fine->piece) / GRAIN * GRAIN - block->first;
        uint64_t to = block->count - from <= fine->piece ? block->count : end;
        TRY(fine_run_columns(fine, watch, block, block->from + from, to - from));
        if (fine_kernels(&fine->shape) > 2) {
            TRY(fine_run_middle(fine, watch, block, to - from));
        }
        TRY(fine_run_rows(fine, watch, block, from, to - from));
        from = to;
    }
out:
    return st;
}
