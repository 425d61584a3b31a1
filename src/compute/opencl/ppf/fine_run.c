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
    uint64_t piece;                /* spectra that the workspace holds */
    cl_kernel kernels[FINE_STEPS]; /* relayed: none for the last step */
    cl_mem factors[FINE_STEPS], turns[FINE_STEPS];
    cl_mem work; /* between steps that are launches of their own */
    cl_mem ring, counters;
};

/* Counters of a relay before those of slices, as in kernels/fine/fine_relay.cl. */
enum { RELAY_OTHERS = 32 };

void fine_destroy(fine_t *fine)
{
    if (fine) {
        for (int i = 0; i < FINE_STEPS; i++) {
            launch_release(fine->kernels[i]);
            device_release(fine->device, fine->factors[i]);
            device_release(fine->device, fine->turns[i]);
        }
        device_release(fine->device, fine->work);
        device_release(fine->device, fine->ring);
        device_release(fine->device, fine->counters);
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

/* Relayed: the last two steps are one kernel, that of the first of them. */
static int fine_is_relay(const fine_t *fine, uint32_t i)
{
    return fine->shape.streaming && i + 2 == fine_steps(&fine->shape);
}

static status_t fine_build(fine_t *fine, uint32_t i)
{
    status_t st = STATUS_OK;
    const int is_relay = fine_is_relay(fine, i);
    const int is_last = i + 1 == fine_steps(&fine->shape);
    enum program_source sources[] = {SOURCE_SAMPLES,      SOURCE_STEPS,     SOURCE_BUTTERFLIES,
                                     SOURCE_FINE_COLUMNS, SOURCE_FINE_ROWS, SOURCE_FINE_RELAY};
    struct text options = {0};
    if (is_last) {
        sources[3] = SOURCE_FINE_ROWS;
    }
    TRY(fine_options(&fine->spec, fine->mode, &fine->shape, i, &options));
    TRY(text_add(&options, " -DRELAY_PTX=%d", fine->device->info.is_nvidia));
    TRY(launch_build(fine->device, sources, is_relay ? 6 : 4, options.data,
                     is_relay  ? "fine_relay"
                     : is_last ? "fine_rows"
                               : "fine_columns",
                     &fine->kernels[i]));
out:
    text_free(&options);
    return st;
}

static status_t fine_create_relay(fine_t *fine)
{
    status_t st = STATUS_OK;
    const struct fine_relay relay =
        fine_relay(&fine->spec, &fine->shape, fine->piece, fine->spec.nstreams);
    TRY(device_allocate(fine->device, relay.slots * relay.points * 2 * sizeof(float),
                        "transformed columns", &fine->ring));
    TRY(device_allocate(fine->device, (RELAY_OTHERS + 2 * relay.count) * sizeof(cl_uint),
                        "counters", &fine->counters));
out:
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
    if (shape->streaming && fine_steps(shape) == 2) { /* all in one launch: there is no workspace */
        fine->piece = max_u64(piece, ceil_div_u64(spec->max_spectra, GRAIN) * GRAIN);
    }
    const uint32_t relayed = shape->streaming ? 1 : 0;
    for (uint32_t i = 0; i < fine_steps(shape); i++) {
        TRY(fine_put_tables(fine, i));
        TRY(i + relayed < fine_steps(shape) ? fine_build(fine, i) : STATUS_OK);
    }
    if (relayed) {
        TRY(fine_create_relay(fine));
    }
    if (fine_steps(shape) > 1 + relayed) {
        TRY(device_allocate(device, piece * spec->nstreams * spec->channels * 2 * sizeof(float),
                            "transformed columns", &fine->work));
    }
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

enum { ROWS_ALWAYS = 8, RELAY_ALWAYS = 18, STEPS_MORE = 2 }; /* arguments */

/* Spectra in few bits have two arguments more. */
static void fine_add_steps(const fine_t *fine, const struct fine_block *block,
                           struct launch_argument *behind)
{
    if (fine->mode == FUSED_STEPS) {
        behind[0] = (struct launch_argument)ARGUMENT(block->scales);
        behind[1] = (struct launch_argument)ARGUMENT(block->counts_at);
    }
}

static status_t fine_run_rows(fine_t *fine, struct stopwatch *watch, const struct fine_block *block,
                              uint64_t from, uint64_t count)
{
    const uint32_t last = fine_steps(&fine->shape) - 1;
    struct launch_size size = fine_size(&fine->spec, fine->mode, &fine->shape, last, count,
                                        block->nstreams, block->first + from);
    struct launch_argument arguments[ROWS_ALWAYS + STEPS_MORE + 1] = {
        ARGUMENT(fine->work),          ARGUMENT(fine->factors[last]),
        ARGUMENT(block->to),           ARGUMENT_ULONG(from),
        ARGUMENT_UINT((cl_uint)count), ARGUMENT_UINT(block->nstreams),
        ARGUMENT_ULONG(block->first),  ARGUMENT_ULONG(block->integrate)};
    fine_add_steps(fine, block, arguments + ROWS_ALWAYS);
    return launch_kernel(fine->device, fine->kernels[last], size, watch, STEP_TRANSFORM, arguments);
}

/* The last two steps in one launch. */
static status_t fine_run_relay(fine_t *fine, struct stopwatch *watch,
                               const struct fine_block *block, uint64_t from, uint64_t count)
{
    status_t st = STATUS_OK;
    const uint32_t last = fine_steps(&fine->shape) - 1;
    const uint32_t i = last - 1;
    const struct fine_relay relay = fine_relay(&fine->spec, &fine->shape, count, block->nstreams);
    struct launch_size size =
        fine_size(&fine->spec, fine->mode, &fine->shape, i, count, block->nstreams, 0);
    const cl_ulong skipped = block->from + from;
    struct launch_argument arguments[RELAY_ALWAYS + STEPS_MORE + 1] = {{NULL, 0}};
    size_t n = 0;
    if (i == 0) {
        arguments[n++] = (struct launch_argument)ARGUMENT(block->in);
        arguments[n++] = (struct launch_argument)ARGUMENT(block->in_stride);
        arguments[n++] = (struct launch_argument)ARGUMENT(block->coeff);
        arguments[n++] = (struct launch_argument)ARGUMENT(skipped);
    } else {
        arguments[n++] = (struct launch_argument)ARGUMENT(fine->work);
    }
    const struct launch_argument others[] = {ARGUMENT(fine->factors[i]),
                                             ARGUMENT(fine->turns[i]),
                                             ARGUMENT(fine->factors[last]),
                                             ARGUMENT(fine->ring),
                                             ARGUMENT(fine->counters),
                                             ARGUMENT(block->to),
                                             ARGUMENT_ULONG(from),
                                             ARGUMENT_UINT((cl_uint)count),
                                             ARGUMENT_UINT(block->nstreams),
                                             ARGUMENT_ULONG(block->first),
                                             ARGUMENT_ULONG(block->integrate),
                                             ARGUMENT_UINT(relay.lag),
                                             ARGUMENT_UINT(relay.slots)};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        arguments[n++] = others[k];
    }
    fine_add_steps(fine, block, arguments + n);
    TRY(stopwatch_begin(watch, fine->device, fine->device->compute, STEP_TRANSFORM));
    TRY(device_clear(fine->device, fine->counters, 0,
                     (RELAY_OTHERS + 2 * relay.count) * sizeof(cl_uint)));
    TRY(stopwatch_end(watch, fine->device, fine->device->compute));
    TRY(launch_kernel(fine->device, fine->kernels[i], size, watch,
                      i == 0 ? STEP_FILTER : STEP_TRANSFORM, arguments));
out:
    return st;
}

status_t fine_run(fine_t *fine, struct stopwatch *watch, const struct fine_block *block)
{
    status_t st = STATUS_OK;
    const uint32_t steps = fine_steps(&fine->shape);
    for (uint64_t from = 0; from < block->count;) {
        /* Pieces end at multiples of GRAIN spectra, so that no grain is cut. */
        uint64_t end = (block->first + from + fine->piece) / GRAIN * GRAIN - block->first;
        uint64_t to = block->count - from <= fine->piece ? block->count : end;
        if (steps > 2 || !fine->shape.streaming) {
            TRY(fine_run_columns(fine, watch, block, block->from + from, to - from));
        }
        if (fine->shape.streaming) {
            TRY(fine_run_relay(fine, watch, block, from, to - from));
        } else {
            TRY(steps > 2 ? fine_run_middle(fine, watch, block, to - from) : STATUS_OK);
            TRY(fine_run_rows(fine, watch, block, from, to - from));
        }
        from = to;
    }
out:
    return st;
}
