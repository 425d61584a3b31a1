/* The stage on an OpenCL device: up, transpose, (sub-bands,) sums, down. In two steps
 * the sub-bands of one step after the other fill the same memory. */
#include "base/memory.h"
#include "compute/opencl/dedisperse/dedisperse_kernel.h"
#include "compute/opencl/dedisperse/dedisperse_space.h"
#include "compute/opencl/opencl.h"
#include "compute/opencl/program.h"
#include "compute/shared/dedisperse_table.h"
#include "io/cache.h"

#include <stdlib.h>
#include <string.h>

/* Transposes samples on the device, so that each channel's lie in a row; sub-bands of two-step
 * dedispersion.
 *
 * Two kernels of one program, and their tables on the device; then the stage. */

enum { SIDE = 32, GROUP = 256 /* as in kernels/transpose.cl */ };

struct stage {
    struct dedisperse base;
    struct opencl *opencl;
    struct dedisperse_table table;
    dedisperse_kernel_t *kernel;
    cl_kernel transpose, sub_bands;
    cl_mem channels, ends, inner; /* of the table */
    cl_mem rows, sub;
    uint64_t front, row_stride, sub_stride; /* samples */
    struct stopwatch watch;
};

static status_t transpose_build(struct stage *stage)
{
    struct text options = {0};
    static const enum program_source source = SOURCE_TRANSPOSE;
    const struct dedisperse_spec *spec = &stage->base.spec;
    const struct launch_made kernels[] = {{"transpose", &stage->transpose},
                                          {"sub_bands", &stage->sub_bands}};
    text_add(&options, "-DSAMPLE=%zu -DFLOATS=%d", series_bytes(spec->format),
             spec->format == SERIES_F32);
    return launch_build_all(stage->opencl->device, &source, 1, &options, kernels,
                            spec->steps ? 2 : 1);
}

static status_t transpose_put_tables(struct stage *stage)
{
    static const char tables[] = "tables of dedispersion";
    device_t *device = stage->opencl->device;
    const struct dedisperse_table *table = &stage->table;
    TRY(device_put(device, table->channels, table->nused * sizeof *table->channels, tables,
                   &stage->channels));
    if (stage->base.spec.steps) {
        TRY(device_put(device, table->ends, table->ngroups * sizeof *table->ends, tables,
                       &stage->ends));
        TRY(device_put(device, table->delays,
                       (size_t)table->nrows * table->nused * sizeof *table->delays, tables,
                       &stage->inner));
    }
    return STATUS_OK;
}

/* Enqueues it for samples 0 .. times - 1 of every channel of the table.
 *
 *   in     as `input` says
 *   rows   [nused][row_stride] samples   `front` samples, then time 0   */
static status_t transpose_run(struct stage *stage, cl_mem in, const struct dedisperse_input *input,
                              uint64_t times)
{
    const size_t bytes = series_bytes(stage->base.spec.format);
    const uint64_t squares = ceil_div_u64(stage->table.nused, SIDE);
    const struct launch_size size = {(size_t)(squares * ceil_div_u64(times, SIDE)), GROUP};
    return LAUNCH(stage->opencl->device, stage->transpose, size, &stage->watch, STEP_DEINTERLEAVE,
                  ARGUMENT(in), ARGUMENT_ULONG(input->offset / bytes),
                  ARGUMENT_ULONG(input->time_step / bytes),
                  ARGUMENT_ULONG(input->channel_step / bytes), ARGUMENT(stage->channels),
                  ARGUMENT_UINT(stage->table.nused), ARGUMENT_ULONG(times), ARGUMENT(stage->rows),
                  ARGUMENT_ULONG(stage->row_stride), ARGUMENT_ULONG(stage->front),
                  ARGUMENT_UINT((cl_uint)squares),
                  ARGUMENT_UINT(input->channel_step / bytes < input->time_step / bytes));
}

/* Enqueues the sub-bands of step k, as far as outputs of `samples` read them.
 *
 *   rows   [nused][row_stride]       time 0 first
 *   sub    [ngroups][sub_stride]     `sub_front` samples, then time 0: uint16 of uint8, uint32 of
 *          uint16, float of float   */
static status_t transpose_sub_bands(struct stage *stage, uint32_t k, uint64_t samples)
{
    const struct subbands *steps = stage->base.spec.steps;
    const size_t ngroups = steps->ngroups;
    uint64_t reach = 0;
    for (size_t i = steps->first[k] * ngroups; i < steps->first[k + 1] * ngroups; i++) {
        reach = max_u64(reach, steps->outer[i]);
    }
    const uint64_t times = samples + reach;
    const uint64_t pieces = ceil_div_u64(times, GROUP);
    const struct launch_size size = {(size_t)pieces * ngroups, GROUP};
    return LAUNCH(stage->opencl->device, stage->sub_bands, size, &stage->watch, STEP_FILTER,
                  ARGUMENT(stage->rows), ARGUMENT_ULONG(stage->row_stride), ARGUMENT_ULONG(0),
                  ARGUMENT(stage->ends), ARGUMENT(stage->inner),
                  ARGUMENT_ULONG((uint64_t)k * stage->table.nused), ARGUMENT_UINT(steps->ngroups),
                  ARGUMENT_ULONG(times), ARGUMENT(stage->sub), ARGUMENT_ULONG(stage->sub_stride),
                  ARGUMENT_ULONG(stage->kernel->spans.front), ARGUMENT_UINT((cl_uint)pieces));
}

/* Frees all that a stage is made of. */
static void stage_empty(struct stage *stage)
{
    device_t *device = stage->opencl->device;
    clFinish(device->compute);
    dedisperse_kernel_destroy(stage->kernel);
    LAUNCH_RELEASE(stage->transpose, stage->sub_bands);
    DEVICE_RELEASE(device, stage->channels, stage->ends, stage->inner, stage->rows, stage->sub);
    dedisperse_table_free(&stage->table);
    stopwatch_free(&stage->watch);
    *stage = (struct stage){.base = stage->base, .opencl = stage->opencl};
}

static void opencl_dedisperse_destroy(dedisperse_t *dedisperse)
{
    stage_empty((struct stage *)dedisperse);
    free(dedisperse);
}

/* Returns the rows that the kernel sums: channels, or the sub-bands of the second step. */
static struct dedisperse_shape_problem dedisperse_problem_of(const struct dedisperse_spec *spec,
                                                             const struct dedisperse_table *table)
{
    const struct subbands *steps = spec->steps;
    uint32_t bytes = (uint32_t)series_bytes(spec->format);
    return (struct dedisperse_shape_problem){.sample_bytes = !steps       ? bytes
                                                             : bytes == 1 ? 2
                                                                          : 4,
                                             .is_float = spec->format == SERIES_F32,
                                             .nrows = steps ? steps->ngroups : table->nused,
                                             .ndms = spec->delays->ndms,
                                             .nranges = steps ? steps->nsteps : 1,
                                             .delays = steps ? steps->outer : table->delays,
                                             .firsts = steps ? steps->first : table->all,
                                             .samples = spec->max_samples,
                                             .mode = spec->mode};
}

static uint64_t dedisperse_whole_words(uint64_t samples)
{
    return ceil_div_u64(samples, 64) * 64;
}

/* Allocates rows on the device, and a row of zeros after them. Other memory that is not written
 * only affects outputs that are dropped. */
static status_t dedisperse_allocate_rows(device_t *device, uint64_t count, uint64_t bytes,
                                         cl_mem *out)
{
    status_t st = STATUS_OK;
    void *zeros = NULL;
    TRY_OUT(memory_zeroed(bytes, 1, "a row of zeros", &zeros));
    TRY_OUT(device_allocate(device, (count + 1) * bytes, "transposed samples", out));
    TRY_OUT(device_write(device, *out, count * bytes, zeros, bytes, "zeros"));
out:
    free(zeros);
    return st;
}

/* Rows for channels, and in two steps for sub-bands. */
static status_t dedisperse_allocate(struct stage *stage)
{
    device_t *device = stage->opencl->device;
    const struct dedisperse_spec *spec = &stage->base.spec;
    const struct subbands *steps = spec->steps;
    uint64_t inputs = dedisperse_inputs(spec, spec->max_samples);
    uint64_t bytes = series_bytes(spec->format);
    uint64_t nused = stage->table.nused;
    stage->front = steps ? 0 : stage->kernel->spans.front;
    stage->row_stride = dedisperse_whole_words(
        inputs + stage->front + (steps ? 0 : dedisperse_kernel_slack(stage->kernel)));
    TRY(dedisperse_allocate_rows(device, nused, stage->row_stride * bytes, &stage->rows));
    if (steps) {
        stage->sub_stride = dedisperse_whole_words(inputs + stage->kernel->spans.front +
                                                   dedisperse_kernel_slack(stage->kernel));
        TRY(dedisperse_allocate_rows(device, steps->ngroups,
                                     stage->sub_stride * (bytes == 1 ? 2 : 4), &stage->sub));
    }
    return STATUS_OK;
}

static status_t stage_fill(struct stage *stage)
{
    const struct dedisperse_spec *spec = &stage->base.spec;
    stage->watch.is_on = spec->is_timed;
    TRY(dedisperse_table_create(spec, &stage->table));
    struct dedisperse_shape_problem problem = dedisperse_problem_of(spec, &stage->table);
    TRY(dedisperse_kernel_create(stage->opencl->device, &problem, &spec->shape, &stage->kernel));
    TRY(transpose_build(stage));
    TRY(transpose_put_tables(stage));
    return dedisperse_allocate(stage);
}

/* Words that a tree folds rows into are as much memory as the rows, where delays are long four
 * times that, however short blocks become: without room for them channels are added by brute force.
 */
static status_t opencl_dedisperse_create(backend_t *backend, dedisperse_t *dedisperse)
{
    struct stage *stage = (struct stage *)dedisperse;
    struct dedisperse_spec *spec = &dedisperse->spec;
    stage->opencl = (struct opencl *)backend;
    device_t *device = stage->opencl->device;
    status_t st = stage_fill(stage);
    if (st != STATUS_OK && device->is_full && spec->mode == DEDISPERSE_AUTO &&
        spec->shape.pack == 0) {
        report_clear();
        device->is_full = 0;
        stage_empty(stage);
        spec->mode = DEDISPERSE_BRUTE;
        st = stage_fill(stage);
    }
    return st;
}

static uint64_t opencl_dedisperse_bytes(const struct dedisperse_spec *spec)
{
    enum { MOST_CHUNK = 32 };
    const struct subbands *steps = spec->steps;
    uint64_t rows = steps ? steps->nsteps : spec->delays->ndms;
    uint64_t table = rows * (spec->delays->nchannels + MOST_CHUNK);
    uint64_t outer = steps ? (uint64_t)spec->delays->ndms * (steps->ngroups + MOST_CHUNK) : 0;
    return DRIVER_BYTES + 3 * 4 * (table + outer);
}

static status_t dedisperse_run_sums(struct stage *stage, uint64_t samples, cl_mem out,
                                    uint64_t out_stride)
{
    const struct subbands *steps = stage->base.spec.steps;
    if (!steps) {
        TRY(dedisperse_kernel_run(stage->kernel, &stage->watch, stage->rows, stage->row_stride,
                                  samples, 0, out, out_stride));
    }
    for (uint32_t k = 0; steps && k < steps->nsteps; k++) {
        TRY(transpose_sub_bands(stage, k, samples));
        TRY(dedisperse_kernel_run(stage->kernel, &stage->watch, stage->sub, stage->sub_stride,
                                  samples, k, out, out_stride));
    }
    return STATUS_OK;
}

/* Bytes of the input that come to the device: none of what an earlier stage has left there. */
static uint64_t dedisperse_upload_bytes(const struct stage *stage,
                                        const struct dedisperse_input *input, uint64_t samples)
{
    const struct dispersion *delays = stage->base.spec.delays;
    if (input->is_there) {
        return 0;
    }
    return input->offset + (dedisperse_inputs(&stage->base.spec, samples) - 1) * input->time_step +
           (uint64_t)(delays->nchannels - 1) * input->channel_step +
           series_bytes(stage->base.spec.format);
}

static status_t opencl_dedisperse_run(dedisperse_t *dedisperse, buffer_t *in_buffer,
                                      const struct dedisperse_input *input, uint64_t samples,
                                      buffer_t *out_buffer, uint64_t out_stride)
{
    struct stage *stage = (struct stage *)dedisperse;
    const struct dispersion *delays = stage->base.spec.delays;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    const struct opencl_buffer *out = (struct opencl_buffer *)out_buffer;
    uint64_t bytes = ((delays->ndms - 1) * out_stride + samples) * sizeof(float);
    TRY(opencl_block_begin(in, dedisperse_upload_bytes(stage, input, samples), &out_buffer, 1,
                           &stage->watch));
    TRY(transpose_run(stage, in->memory, input, dedisperse_inputs(&stage->base.spec, samples)));
    TRY(dedisperse_run_sums(stage, samples, out->memory, out_stride));
    return opencl_block_end(in, &out_buffer, &bytes, 1, &stage->watch);
}

static status_t opencl_dedisperse_again(dedisperse_t *dedisperse, buffer_t *out_buffer,
                                        uint64_t samples, uint64_t out_stride)
{
    struct stage *stage = (struct stage *)dedisperse;
    const device_t *device = stage->opencl->device;
    const struct opencl_buffer *out = (struct opencl_buffer *)out_buffer;
    /* Waits for the download of earlier results before they are overwritten. */
    TRY(device_wait(device, out->moved));
    TRY(dedisperse_run_sums(stage, samples, out->memory, out_stride));
    CL_TRY(device, clFinish(device->compute), "dedisperse");
    return STATUS_OK;
}

static status_t opencl_dedisperse_identity(const backend_t *backend, struct text *out)
{
    const struct device_info *info = &((const struct opencl *)backend)->device->info;
    const char *brute = program_source(SOURCE_DEDISPERSE);
    const char *tree = program_source(SOURCE_DEDISPERSE_TREE);
    const uint64_t hashes[2] = {cache_hash(brute, strlen(brute)), cache_hash(tree, strlen(tree))};
    return text_add(out, "%s, %s, driver %s, kernel %016llx", info->platform_name, info->name,
                    info->driver, (unsigned long long)cache_hash(hashes, sizeof hashes));
}

static status_t opencl_dedisperse_build(backend_t *backend, const struct dedisperse_spec *spec,
                                        const struct dedisperse_shape *shape)
{
    status_t st = STATUS_OK;
    device_t *device = ((struct opencl *)backend)->device;
    struct dedisperse_table table = {0};
    TRY_OUT(dedisperse_table_create(spec, &table));
    struct dedisperse_shape_problem problem = dedisperse_problem_of(spec, &table);
    TRY_OUT(dedisperse_kernel_create(device, &problem, shape, NULL));
out:
    dedisperse_table_free(&table);
    return st;
}

static status_t opencl_dedisperse_times(dedisperse_t *dedisperse, double seconds[DEVICE_STEPS])
{
    struct stage *stage = (struct stage *)dedisperse;
    return stopwatch_collect(&stage->watch, stage->opencl->device, seconds);
}

static status_t opencl_dedisperse_words(const dedisperse_t *dedisperse, struct text *out)
{
    return dedisperse_shape_words(&((const struct stage *)dedisperse)->kernel->shape, out);
}

static int opencl_dedisperse_fits(backend_t *backend, const struct dedisperse_spec *spec,
                                  const struct dedisperse_shape *shape, double *cost,
                                  const char **why)
{
    const struct device_info *device = &((struct opencl *)backend)->device->info;
    struct dedisperse_table table = {0};
    struct dedisperse_shape_spans spans = {0};
    *why = "out of memory";
    if (dedisperse_table_create(spec, &table) != STATUS_OK) {
        return 0;
    }
    struct dedisperse_shape_problem problem = dedisperse_problem_of(spec, &table);
    int fits = dedisperse_space_fits(&problem, device, shape, &spans, cost, why);
    dedisperse_table_free(&table);
    return fits;
}

static status_t opencl_dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                                             struct dedisperse_candidate **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    const struct device_info *device = &((struct opencl *)backend)->device->info;
    struct dedisperse_table table = {0};
    TRY_OUT(dedisperse_table_create(spec, &table));
    struct dedisperse_shape_problem problem = dedisperse_problem_of(spec, &table);
    TRY_OUT(dedisperse_space_candidates(&problem, device, out, count));
out:
    dedisperse_table_free(&table);
    return st;
}

const struct dedisperse_ops opencl_dedisperse = {.size = sizeof(struct stage),
                                                 .create = opencl_dedisperse_create,
                                                 .destroy = opencl_dedisperse_destroy,
                                                 .bytes = opencl_dedisperse_bytes,
                                                 .run = opencl_dedisperse_run,
                                                 .again = opencl_dedisperse_again,
                                                 .times = opencl_dedisperse_times,
                                                 .words = opencl_dedisperse_words,
                                                 .identity = opencl_dedisperse_identity,
                                                 .build = opencl_dedisperse_build,
                                                 .fits = opencl_dedisperse_fits,
                                                 .candidates = opencl_dedisperse_candidates};
