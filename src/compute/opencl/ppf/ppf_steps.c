/* Options of the compiler and sizes of the launches of these kernels. */
#include "compute/opencl/ppf/ppf_steps.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/shared/grains.h"

#include <string.h>

/* Work-items of a group that go along the channels. */
enum { CHANNEL_WIDTH = 64 };

/* Groups along the channels that are kept, `each` of them a work-item. */
static uint32_t steps_across(const struct channelise_spec *spec, uint32_t each)
{
    return (spec->nchannels / each + CHANNEL_WIDTH - 1) / CHANNEL_WIDTH;
}

/* Channels that an item of the sums takes: groups cost more than what they add. */
static uint32_t steps_values(const struct channelise_spec *spec)
{
    return spec->nchannels % 4 == 0 ? 4 : 1;
}

int shapes_have(const struct channelise_shape *list, uint32_t count,
                const struct channelise_shape *shape)
{
    for (uint32_t i = 0; i < count; i++) {
        if (memcmp(&list[i], shape, sizeof *shape) == 0) {
            return 1;
        }
    }
    return 0;
}

int is_power_of_two(uint32_t number)
{
    return (number & (number - 1)) == 0;
}

void samples_options(const struct channelise_spec *spec, struct text *out)
{
    const struct sample_coding coding = channelise_coding(spec);
    text_add(out, " -DCHANNELS=%u -DTAPS=%u", spec->channels, spec->taps);
    deinterleave_options(&coding, out);
}

void hop_options(const struct channelise_spec *spec, struct text *out)
{
    if (channelise_is_oversampled(spec)) {
        /* A column of real samples is a pair, and pairs have no sign. */
        text_add(out, " -DHOP=%zu -DIS_SHIFTED=%d",
                 channelise_hop(spec) / (spec->is_complex ? 1 : 2),
                 spec->is_shifted && spec->is_complex);
    }
}

enum detect_kind detect_kind(const struct channelise_output *output)
{
    return output->quantity == QUANTITY_SPECTRA ? output->bits ? DETECT_STEPS : DETECT_SPECTRA
           : output->integrate == 1             ? DETECT_POWER
                                                : DETECT_GRAINS;
}

/* As kernels/detect.cl counts what it detects. */
static int steps_detected(const struct channelise_output *output)
{
    return output->quantity == QUANTITY_COHERENCY ? 1
           : output->quantity == QUANTITY_SQUARES ? 2
                                                  : 0;
}

void detect_options(const struct channelise_spec *spec, uint32_t i, struct text *out)
{
    samples_options(spec, out);
    text_add(out, " -DKIND=%d -DDETECTED=%d -DKEPT_FIRST=%u -DKEPT=%u -DWIDTH=%d -DACROSS=%u",
             (int)detect_kind(&spec->outputs[i]), steps_detected(&spec->outputs[i]),
             spec->first_channel, spec->nchannels, (int)CHANNEL_WIDTH, steps_across(spec, 1));
    text_add(out, " -DSTEP_BITS=%u", spec->outputs[i].bits);
}

/* Groups along the channels x pieces of time x streams, or pairs of them, or sums. */
static struct launch_size steps_spread(uint32_t across, uint64_t pieces, uint32_t streams)
{
    return (struct launch_size){across * (size_t)pieces * streams, CHANNEL_WIDTH};
}

struct launch_size detect_size(const struct channelise_spec *spec, uint32_t i, uint64_t first,
                               uint64_t spectra, uint32_t streams)
{
    const struct channelise_output *output = &spec->outputs[i];
    uint64_t runs = ceil_div_u64(first % GRAIN + spectra, GRAIN);
    uint32_t places = output->quantity == QUANTITY_COHERENCY ? streams / 2 : streams;
    return steps_spread(steps_across(spec, 1),
                        detect_kind(output) == DETECT_GRAINS ? runs : spectra, places);
}

int sum_is_short(const struct channelise_spec *spec, uint32_t i)
{
    const uint64_t most = UINT32_MAX / 4;
    const uint64_t both = lcm_u64(GRAIN, spec->outputs[i].integrate); /* 0: beyond all numbers */
    return both > 0 && both <= most && spec->max_spectra <= most;
}

void sum_options(const struct channelise_spec *spec, uint32_t i, struct text *out)
{
    samples_options(spec, out);
    text_add(out, " -DKEPT=%u -DWIDTH=%d -DACROSS=%u -DSUM_VALUES=%u -DSUM_INDEX=%s",
             spec->nchannels, (int)CHANNEL_WIDTH, steps_across(spec, steps_values(spec)),
             steps_values(spec), sum_is_short(spec, i) ? "uint" : "ulong");
}

struct launch_size sum_size(const struct channelise_spec *spec, uint32_t i, uint64_t next,
                            uint64_t spectra, uint32_t streams)
{
    const struct channelise_output *output = &spec->outputs[i];
    uint64_t dumps = (next + spectra - 1) / output->integrate - next / output->integrate + 1;
    return steps_spread(steps_across(spec, steps_values(spec)), dumps,
                        channelise_sums(output, streams));
}
