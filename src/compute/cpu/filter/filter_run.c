/* Running a filter: what threads do with a block of samples.
 *
 * A task makes a piece of one stream's rows: a grain of overlap-save, or some rows of the direct
 * form; or it counts missing samples. Tasks are independent, so threads may take them in any order.
 */
#include "base/memory.h"
#include "compute/cpu/filter/filter_parts.h"

#include <string.h>

enum { COUNT_SAMPLES = 1 << 16 /* of a task that counts */ };

static struct filter_stream run_stream(const struct filter_block *block, uint32_t stream)
{
    return (struct filter_stream){.re = block->in + block->re[stream],
                                  .im = block->in + block->im[stream],
                                  .step = block->step,
                                  .samples = block->run.samples};
}

/* Rows `piece` x piece_rows ..., as far as the run wants them. */
static void run_rows(const struct filter_block *block, uint32_t thread, uint32_t stream,
                     int64_t piece)
{
    const struct cpu_filter *filter = block->filter;
    const struct filter_spec *spec = &filter->base.spec;
    const struct filter_run *run = &block->run;
    const struct filter_stream from = run_stream(block, stream);
    uint32_t number = run->first_stream + stream;
    int64_t begin = piece * (int64_t)filter->piece_rows;
    int64_t end = begin + (int64_t)filter->piece_rows;
    int64_t last = run->first_row + (int64_t)run->rows;
    int64_t first = begin > run->first_row ? begin : run->first_row;
    uint64_t rows = (uint64_t)((end < last ? end : last) - first);
    int64_t shift = (spec->shift ? spec->shift[number] : 0) + spec->first - run->first_sample;
    uint64_t at = stream * run->out_stride + (uint64_t)(first - run->first_row);
    float *out = block->out + at * (spec->is_complex_out ? 2 : 1);
    if (filter->direct) {
        direct_run(filter->direct, thread, &from, first * spec->decimate + shift, rows, out);
    } else {
        overlap_save_run(filter->overlap_save, thread, number, &from,
                         begin * spec->decimate + shift, (uint64_t)(first - begin), rows, out);
    }
}

static void run_count(const struct filter_block *block, uint32_t stream, uint64_t piece)
{
    _Alignas(64) float re[READ_SAMPLES];
    _Alignas(64) float im[READ_SAMPLES];
    const struct filter_stream from = run_stream(block, stream);
    uint64_t end = min_u64((piece + 1) * COUNT_SAMPLES, block->run.counted);
    uint64_t missing = 0;
    for (uint64_t n = piece * COUNT_SAMPLES; n < end; n += READ_SAMPLES) {
        missing +=
            filter_read(&block->filter->reader, &from, (int64_t)(block->run.counted_first + n),
                        (size_t)min_u64(end - n, READ_SAMPLES), re, im);
    }
    if (missing > 0) {
        __atomic_fetch_add(&block->source->missing, missing, __ATOMIC_RELAXED);
    }
}

static void run_task(void *context, uint32_t thread, uint64_t task)
{
    const struct filter_block *block = context;
    uint64_t makes = block->pieces * block->run.nstreams;
    if (task < makes) {
        run_rows(block, thread, (uint32_t)(task / block->pieces),
                 block->first_piece + (int64_t)(task % block->pieces));
    } else {
        run_count(block, (uint32_t)((task - makes) / block->counts),
                  (task - makes) % block->counts);
    }
}

/* a / b, rounded down; b > 0. */
static int64_t run_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The pieces that hold the run's rows, and those in which missing samples are counted. */
static void run_cut(struct filter_block *block)
{
    const struct filter_run *run = &block->run;
    int64_t rows = (int64_t)block->filter->piece_rows;
    block->pieces = 0;
    block->first_piece = run_floor(run->first_row, rows);
    if (run->rows > 0) {
        int64_t last = run->first_row + (int64_t)run->rows - 1;
        block->pieces = (uint64_t)(run_floor(last, rows) - block->first_piece + 1);
    }
    block->counts = block->filter->reader.has_rule ? ceil_div_u64(run->counted, COUNT_SAMPLES) : 0;
}

status_t cpu_filter_run(filter_t *base, buffer_t *in, const struct sample_input *input,
                        const struct filter_run *run, buffer_t *out)
{
    status_t st = STATUS_OK;
    struct cpu_filter *filter = (struct cpu_filter *)base;
    struct filter_block *block = &filter->blocks[filter->nblocks % POOL_BLOCKS];
    void *from = NULL;
    void *to = NULL;
    pool_wait(filter->pool, block->number);
    TRY(buffer_get(in, &from));
    TRY(buffer_get(out, &to));
    block->filter = filter;
    block->source = (struct host_buffer *)in;
    block->source->missing = 0;
    block->in = from;
    block->out = to;
    memcpy(block->re, input->re, run->nstreams * sizeof *block->re);
    memcpy(block->im, input->im, run->nstreams * sizeof *block->im);
    block->step = input->step;
    block->run = *run;
    run_cut(block);
    struct pool_block work = {.context = block, .run = {run_task, NULL}};
    work.tasks[0] = (block->pieces + block->counts) * run->nstreams;
    block->number = pool_submit(filter->pool, &work);
    cpu_buffer_mark(in, filter->pool, block->number);
    cpu_buffer_mark(out, filter->pool, block->number);
    filter->nblocks++;
out:
    return st;
}
