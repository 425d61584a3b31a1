/* Tiles of samples are copied stream by stream, while their cache lines are near. */
#include "compute/cpu/ppf/interleaved.h"

#include "base/memory.h"
#include "compute/cpu/ppf/ppf_fir.h"
#include "compute/shared/grains.h"

enum {
    GROUP_BYTES = 512 << 10, /* of streams in order: half of a second-level cache */
    LINE_BYTES = 64,
    TILE = 64 /* samples of one stream before the next one's: their lines stay near */
};

/* Bytes of one stream's samples for a grain of spectra. */
static uint64_t interleaved_stream_bytes(const struct channelise_spec *spec)
{
    return channelise_inputs(spec, GRAIN) * ppf_fir_sample_bytes(spec);
}

/* As many streams as share a cache line and fit. */
static uint32_t interleaved_group_size(const struct channelise_spec *spec)
{
    uint64_t fit = max_u64(GROUP_BYTES / interleaved_stream_bytes(spec), 1);
    return (uint32_t)min_u64(fit, LINE_BYTES / ppf_fir_sample_bytes(spec));
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
    struct interleaved layout = {.is_copied = input->step != bytes, .sample_bytes = bytes};
    for (uint32_t i = 0; part > 0 && i < nstreams; i++) {
        layout.is_copied |= input->im[i] != input->re[i] + part;
    }
    layout.group = layout.is_copied ? interleaved_group_size(spec) : 1;
    layout.groups = (nstreams + layout.group - 1) / layout.group;
    return layout;
}

/* Numbers (or pairs of them) `step` bytes apart to numbers `out_step` apart; `part` bytes each. */
#define DEFINE_COPY(bytes, type)                                                                   \
    typedef type number_##bytes __attribute__((aligned(1), may_alias));                            \
    static void copy_##bytes(const char *at, size_t step, size_t count, size_t out_step,           \
                             char *out)                                                            \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            *(number_##bytes *)(out + i * out_step) = *(const number_##bytes *)(at + i * step);    \
        }                                                                                          \
    }

DEFINE_COPY(1, uint8_t)
DEFINE_COPY(2, uint16_t)
DEFINE_COPY(4, uint32_t)
DEFINE_COPY(8, uint64_t)

static void interleaved_copy(size_t part, const char *at, size_t step, size_t count,
                             size_t out_step, char *out)
{
    if (part == 1) {
        copy_1(at, step, count, out_step, out);
    } else if (part == 2) {
        copy_2(at, step, count, out_step, out);
    } else if (part == 4) {
        copy_4(at, step, count, out_step, out);
    } else {
        copy_8(at, step, count, out_step, out);
    }
}

void interleaved_take(const struct interleaved *layout, const char *in,
                      const struct sample_input *input, uint32_t stream, uint32_t streams,
                      size_t first, size_t count, char *out)
{
    size_t bytes = layout->sample_bytes;
    size_t step = input->step;
    for (size_t tile = 0; tile < count; tile += TILE) {
        size_t samples = count - tile < TILE ? count - tile : TILE;
        const char *at = in + (first + tile) * step;
        for (uint32_t i = 0; i < streams; i++) {
            const char *re = at + input->re[stream + i];
            const char *im = at + input->im[stream + i];
            char *to = out + (i * count + tile) * bytes;
            if (im == re || im == re + bytes / 2) {
                interleaved_copy(bytes, re, step, samples, bytes, to);
            } else {
                interleaved_copy(bytes / 2, re, step, samples, bytes, to);
                interleaved_copy(bytes / 2, im, step, samples, bytes, to + bytes / 2);
            }
        }
    }
}
