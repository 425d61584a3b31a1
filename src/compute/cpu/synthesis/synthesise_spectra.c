/* Samples become spectra in the transform's order, and these stretches of C samples.
 *
 * Where the channels of a spectrum lie closer than its next spectrum's, they are read as if they
 * were samples of one stream, spectrum by spectrum; else some samples of each channel. */
#include "base/memory.h"
#include "compute/cpu/synthesis/synthesise_parts.h"

#include <string.h>

/* Where a channel stands in a row of `points`. */
static size_t spectra_point(const struct synthesise_spec *spec, uint32_t channel)
{
    const int64_t point = spec->first_point + (int64_t)channel;
    return (size_t)(point < 0 ? point + spec->points : point);
}

/* One spectrum that the buffer has, at a place of it. Channels below 0 stand behind the others. */
static uint64_t spectra_read_whole(const struct synthesise_block *block, uint32_t stream,
                                   int64_t place, float *points)
{
    const struct synthesise_spec *spec = &block->stage->base.spec;
    const struct filter_reader *reader = &block->stage->reader;
    const size_t first = (size_t)stream * spec->channels;
    const uint32_t below =
        spec->first_point < 0
            ? (uint32_t)min_u64((uint64_t) - (int64_t)spec->first_point, spec->channels)
            : 0;
    const struct filter_stream from = {
        .re = block->in + block->re[first] + (size_t)place * block->step,
        .im = block->in + block->im[first] + (size_t)place * block->step,
        .step = (size_t)block->channel,
        .samples = spec->channels};
    uint64_t missing = 0;
    if (below > 0) {
        float *out = points + 2 * spectra_point(spec, 0);
        missing += filter_read_pairs(reader, &from, 0, below, (float(*)[2])out);
    }
    if (below < spec->channels) {
        float *out = points + 2 * spectra_point(spec, below);
        missing +=
            filter_read_pairs(reader, &from, below, spec->channels - below, (float(*)[2])out);
    }
    return missing;
}

/* Some samples of every channel; those outside of the buffer come as zeros. */
static uint64_t spectra_read_channels(const struct synthesise_block *block, uint32_t stream,
                                      int64_t place, size_t count, size_t row, float *points)
{
    enum { SIDE_BY_SIDE = 8 /* channels, whose samples are written together */ };
    const struct synthesise_spec *spec = &block->stage->base.spec;
    _Alignas(64) float re[SIDE_BY_SIDE][2 * MOST_LANES];
    _Alignas(64) float im[SIDE_BY_SIDE][2 * MOST_LANES];
    uint64_t missing = 0;
    for (uint32_t c = 0; c < spec->channels; c += SIDE_BY_SIDE) {
        const uint32_t here = (uint32_t)min_u64(spec->channels - c, SIDE_BY_SIDE);
        size_t at[SIDE_BY_SIDE];
        for (uint32_t i = 0; i < here; i++) {
            const size_t series = (size_t)stream * spec->channels + c + i;
            const struct filter_stream from = {.re = block->in + block->re[series],
                                               .im = block->in + block->im[series],
                                               .step = block->step,
                                               .samples = block->run.samples};
            missing += filter_read(&block->stage->reader, &from, place, count, re[i], im[i]);
            at[i] = 2 * spectra_point(spec, c + i);
        }
        for (size_t s = 0; s < count; s++) {
            for (uint32_t i = 0; i < here; i++) {
                points[s * row + at[i]] = re[i][s];
                points[s * row + at[i] + 1] = im[i][s];
            }
        }
    }
    return missing;
}

uint64_t synthesise_read(const struct synthesise_block *block, struct synthesise_scratch *scratch,
                         uint32_t stream, int64_t begin, int64_t end)
{
    const struct cpu_synthesise *stage = block->stage;
    const struct synthesise_spec *spec = &stage->base.spec;
    const size_t row = stage->layout.fft.in_row;
    float *points = scratch->points + synthesise_modulo(begin, stage->layout.step) * row;
    const int64_t place = begin - block->run.first_sample;
    const size_t count = (size_t)(end - begin);
    uint64_t missing = 0;
    /* Transforms have destroyed what was there, and points without channels are zero. */
    const int has_zeros = spec->is_real_out || spec->channels < spec->points;
    for (size_t s = 0; s < count; s++) {
        const int64_t at = place + (int64_t)s;
        const int is_there = at >= 0 && (uint64_t)at < block->run.samples;
        if (has_zeros || !is_there) {
            memset(points + s * row, 0, row * sizeof *points);
        }
        if (block->channel != 0 && is_there) {
            missing += spectra_read_whole(block, stream, at, points + s * row);
        }
    }
    if (block->channel == 0) {
        missing = spectra_read_channels(block, stream, place, count, row, points);
    }
    for (size_t s = 0; s < count && spec->is_real_out; s++) {
        points[s * row + 1] = 0; /* of 0 Hz */
    }
    return missing;
}

uint64_t synthesise_transform(const struct synthesise_block *block,
                              struct synthesise_scratch *scratch, uint32_t stream, int64_t begin,
                              int64_t end)
{
    const struct cpu_synthesise *stage = block->stage;
    const struct synthesise_layout *layout = &stage->layout;
    const size_t first = synthesise_modulo(begin, layout->step);
    const size_t count = (size_t)(end - begin);
    const uint64_t missing = synthesise_read(block, scratch, stream, begin, end);
    const size_t batch = layout->fft.batch;
    const size_t at = synthesise_modulo(begin - (int64_t)first, layout->ring);
    /* Whole batches: what nobody asked for is made of what is there. */
    for (size_t s = first / batch * batch; s < first + count; s += batch) {
        cpu_fft_run(stage->transform, scratch->points + s * layout->fft.in_row,
                    scratch->ring + (at + s) * layout->fft.out_row);
    }
    return missing;
}
