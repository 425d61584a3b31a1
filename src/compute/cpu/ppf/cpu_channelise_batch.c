/* The batches of a block, and a thread's scratch: a batch is at most GRAIN spectra of one stream,
 * or of a pair, whose samples lie without gaps, or are deinterleaved first. */
#include "base/memory.h"
#include "compute/cpu/ppf/cpu_channelise_parts.h"
#include "compute/cpu/ppf/ppf_fir.h"
#include "compute/shared/grains.h"

#include <string.h>

/* ---- interleaved ---- */

/* Streams that lie interleaved are deinterleaved a few at a time, by the thread that filters them,
 * or where threads share spectra, all at once, before.
 *
 * Tiles of samples are copied stream by stream, while their cache lines are near. */

enum {
    GROUP_BYTES = 512 << 10, /* of streams in order: half of a second-level cache */
    WIDE_BYTES = 8 << 20,    /* the same of streams that share cache lines, in the last cache: else
                                each line would be read once for every few streams of it */
    TASKS_A_THREAD = 4,      /* of a block, at least, where groups are wide */
    LINE_BYTES = 64,
    TURN_BYTES = 16,        /* of neighbouring streams that are transposed together */
    TILE = 64,              /* samples of one stream before the next one's: their lines stay near */
    TURN_SAMPLES = 1 << 14, /* of each stream, of a task that deinterleaves a block */
    TURN_PAD = 2 * TILE /* samples between streams, which begin in different sets of the cache */
};

/* Bytes of one stream's samples for a grain of spectra. */
static uint64_t interleaved_stream_bytes(const struct channelise_spec *spec)
{
    return channelise_inputs(spec, GRAIN) * ppf_fir_sample_bytes(spec);
}

/* As many streams as share a cache line and fit, and leave tasks for all threads. */
static uint32_t interleaved_group_size(const struct channelise_spec *spec)
{
    const uint64_t each = interleaved_stream_bytes(spec);
    const uint64_t streams = spec->nstreams / (channelise_has_pairs(spec) ? 2 : 1);
    const uint64_t shared = streams * ceil_div_u64(spec->max_spectra, GRAIN) /
                            ((uint64_t)TASKS_A_THREAD * spec->threads);
    const uint64_t turned = TURN_BYTES / ppf_fir_sample_bytes(spec);
    const uint64_t wide = min_u64(max_u64(WIDE_BYTES / each, turned), shared);
    const uint64_t fit = max_u64(GROUP_BYTES / each, wide);
    const uint64_t most = LINE_BYTES / ppf_fir_sample_bytes(spec);
    return (uint32_t)(fit >= most ? most : fit > turned ? fit - fit % turned : max_u64(fit, 1));
}

uint64_t interleaved_bytes(const struct channelise_spec *spec)
{
    return interleaved_stream_bytes(spec) * interleaved_group_size(spec);
}

struct interleaved interleaved_layout(const struct channelise_spec *spec,
                                      const struct sample_input *input, uint32_t nstreams)
{
    size_t bytes = ppf_fir_sample_bytes(spec);
    size_t part = sample_part_bytes(spec->format, spec->is_complex);
    if (spec->is_spectra) {
        return (struct interleaved){.group = 1, .groups = nstreams, .sample_bytes = bytes};
    }
    struct interleaved layout = {.is_copied = input->step != bytes, .sample_bytes = bytes};
    for (uint32_t i = 0; part > 0 && i < nstreams; i++) {
        layout.is_copied |= input->im[i] != input->re[i] + part;
    }
    const uint64_t near = GROUP_BYTES / interleaved_stream_bytes(spec);
    const uint64_t most = max_u64(max_u64(input->step / bytes, near), 1); /* share lines, or fit */
    layout.group = layout.is_copied ? (uint32_t)min_u64(interleaved_group_size(spec), most) : 1;
    layout.groups = (nstreams + layout.group - 1) / layout.group;
    return layout;
}

/* How many streams from `stream` on, of `streams`, are transposed together: TURN_BYTES of
 * neighbours, or 0. */
static uint32_t interleaved_neighbours(const struct block *block, uint32_t stream, uint32_t streams,
                                       size_t samples)
{
    const struct sample_input *input = &block->input;
    const size_t bytes = block->layout.sample_bytes;
    const uint32_t count = (uint32_t)(TURN_BYTES / bytes);
    int are_beside = streams >= count && samples % count == 0;
    for (uint32_t i = stream; i < stream + count && are_beside; i++) {
        const size_t im = input->im[i] - input->re[i];
        are_beside = input->re[i] == input->re[stream] + (i - stream) * bytes &&
                     (im == 0 || im == bytes / 2);
    }
    return are_beside ? count : 0;
}

/* Copies `count` samples from sample `first` on of `streams` streams from `stream` on.
 *
 *   out   [streams][pitch] samples, each with its real part before the imaginary one   */
static void interleaved_take(const struct block *block, uint32_t stream, uint32_t streams,
                             size_t first, size_t count, size_t pitch, char *out)
{
    const struct interleaved *layout = &block->layout;
    const struct sample_input *input = &block->input;
    size_t bytes = layout->sample_bytes;
    size_t step = input->step;
    for (size_t tile = 0; tile < count; tile += TILE) {
        size_t samples = count - tile < TILE ? count - tile : TILE;
        const char *at = block->in + (first + tile) * step;
        uint32_t now = 1;
        for (uint32_t i = 0; i < streams; i += now) {
            const char *re = at + input->re[stream + i];
            const char *im = at + input->im[stream + i];
            char *to = out + (i * pitch + tile) * bytes;
            now = interleaved_neighbours(block, stream + i, streams - i, samples);
            if (now > 0) {
                block->cpu->kernels->turn(bytes, re, step, samples, pitch * bytes, to);
                continue;
            }
            now = 1;
            if (im == re || im == re + bytes / 2) {
                block->cpu->kernels->gather(bytes, re, step, samples, bytes, to);
            } else {
                block->cpu->kernels->gather(bytes / 2, re, step, samples, bytes, to);
                block->cpu->kernels->gather(bytes / 2, im, step, samples, bytes, to + bytes / 2);
            }
        }
    }
}

/* Samples of a block of `spectra` spectra, and those from a stream's first to the next one's. */
static uint64_t interleaved_samples(const struct cpu *cpu, uint64_t spectra)
{
    return channelise_inputs(&cpu->base.spec, spectra);
}

static uint64_t interleaved_pitch(const struct cpu *cpu)
{
    return interleaved_samples(cpu, cpu->shared) + TURN_PAD;
}

uint64_t interleaved_turned_bytes(const struct cpu *cpu)
{
    return interleaved_pitch(cpu) * cpu->base.spec.nstreams * ppf_fir_sample_bytes(&cpu->base.spec);
}

uint64_t interleaved_tasks(const struct block *block)
{
    return ceil_div_u64(interleaved_samples(block->cpu, block->spectra), TURN_SAMPLES);
}

void interleaved_turn(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    const uint64_t all = interleaved_samples(block->cpu, block->spectra);
    const uint64_t first = task * TURN_SAMPLES;
    (void)thread;
    interleaved_take(block, 0, block->nstreams, first, min_u64(TURN_SAMPLES, all - first),
                     interleaved_pitch(block->cpu),
                     block->turned + first * block->layout.sample_bytes);
}

/* ---- cpu channelise batch ---- */

/* Spectra that a thread keeps: of pairs those of the first stream until the second's come. */
static size_t channelise_bins_rows(const struct cpu *cpu)
{
    size_t batch = cpu->shape.batch;
    return cpu->has_pairs ? (batch > 1 ? 2 * batch : cpu->rows + 1) : batch;
}

void cpu_channelise_scratch_floats(const struct cpu *cpu, size_t floats[SCRATCH_PARTS])
{
    const size_t streams = cpu->has_pairs ? 2 : 1;
    if (cpu->base.spec.is_spectra) {
        memset(floats, 0, SCRATCH_PARTS * sizeof *floats);
        return;
    }
    if (cpu->fine.height > 0) {
        floats[0] = (cpu->rows + cpu->base.spec.taps - 1) * 2 * FINE_STRIP;
        floats[1] = cpu->rows * cpu->fine.height * 2 * FINE_STRIP;
        floats[2] = fine_fft_scratch(cpu->fine) + streams * fine_fft_bins(cpu->fine);
        floats[3] = streams * cpu->rows * fine_fft_matrix(cpu->fine);
        return;
    }
    floats[0] = ppf_fir_window_floats(&cpu->base.spec, cpu->rows);
    floats[1] = (cpu->rows + FIR_ROWS) * cpu->shape.in_row;
    floats[2] = channelise_bins_rows(cpu) * cpu->shape.out_row;
    floats[3] = 0;
}

/* The thread that owns the scratch touches it first. Rows that were not requested are computed,
 * too: of zeros. */
static void channelise_touch_scratch(const struct cpu *cpu, struct scratch *scratch)
{
    size_t floats[SCRATCH_PARTS];
    if (!scratch->is_touched) {
        cpu_channelise_scratch_floats(cpu, floats);
        memset(scratch->window, 0, floats[0] * sizeof(float));
        memset(scratch->filtered, 0, floats[1] * sizeof(float));
        memset(scratch->bins, 0, floats[2] * sizeof(float));
        scratch->is_touched = 1;
    }
}

/* Where the samples of stream `stream` + i of a group lie, from those of spectrum `from` of the
 * block on; those that lie interleaved are deinterleaved at once, in half `half` of what there is.
 */
static const char *channelise_samples_of(const struct block *block, struct scratch *scratch,
                                         uint32_t stream, uint32_t i, const struct batch *batch,
                                         int half, uint32_t streams)
{
    const struct cpu *cpu = block->cpu;
    const struct interleaved *layout = &block->layout;
    size_t count = (size_t)channelise_inputs(&cpu->base.spec, batch->count);
    size_t first = (size_t)batch->first * channelise_hop(&cpu->base.spec);
    if (cpu->base.spec.is_spectra) {
        const size_t row = (size_t)batch->first * block->nstreams + stream + i;
        return block->in + row * cpu->base.spec.nchannels * layout->sample_bytes;
    }
    if (block->turned) {
        return block->turned +
               ((stream + i) * interleaved_pitch(cpu) + first) * layout->sample_bytes;
    }
    if (!layout->is_copied) {
        return block->in + block->input.re[stream + i] + first * layout->sample_bytes;
    }
    char *copy = scratch->deinterleaved + (size_t)half * interleaved_bytes(&cpu->base.spec);
    if (i == 0) {
        interleaved_take(block, stream, streams, first, count, count, copy);
    }
    return copy + i * count * layout->sample_bytes;
}

/* The streams, or pairs, of a group: *first is the first one's (first) stream; returns how many. */
static uint32_t channelise_group(const struct block *block, uint32_t group, uint32_t *first)
{
    uint32_t inner = block->cpu->base.spec.pol_inner;
    if (!block->cpu->has_pairs) {
        *first = group * block->group;
        return (uint32_t)min_u64(block->group, block->nstreams - *first);
    }
    uint32_t groups = (inner + block->group - 1) / block->group;
    uint32_t in = group % groups * block->group;
    *first = group / groups * inner * 2 + in;
    return (uint32_t)min_u64(block->group, inner - in);
}

uint32_t cpu_channelise_batch(const struct block *block, uint64_t grain, uint32_t group,
                              struct batch *out, uint32_t *stream)
{
    uint64_t lead = block->first % GRAIN;
    uint64_t from = grain * GRAIN < lead ? 0 : grain * GRAIN - lead;
    uint64_t to = min_u64((grain + 1) * GRAIN - lead, block->spectra);
    *out = (struct batch){
        .streams = block->cpu->has_pairs ? 2 : 1, .first = from, .count = (size_t)(to - from)};
    return channelise_group(block, group, stream);
}

void cpu_channelise_batch_at(const struct block *block, struct scratch *scratch, uint32_t stream,
                             uint32_t i, uint32_t count, struct batch *batch)
{
    channelise_touch_scratch(block->cpu, scratch);
    for (int half = 0; half < (int)batch->streams; half++) {
        uint32_t first = stream + (half ? block->cpu->base.spec.pol_inner : 0);
        batch->stream[half] = first + i;
        batch->samples[half] = channelise_samples_of(block, scratch, first, i, batch, half, count);
    }
}
