/* What the compiler and the launches of these kernels are told. */
#include "compute/opencl/ppf/steps.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/shared/grains.h"

/* Work-items of a group that go along the channels. */
enum { CHANNEL_WIDTH = 64 };

/* Groups along the channels that are kept. */
static uint32_t steps_across(const struct channelise_spec *spec)
{
    return (spec->nchannels + CHANNEL_WIDTH - 1) / CHANNEL_WIDTH;
}

status_t samples_options(const struct channelise_spec *spec, struct text *out)
{
    status_t st = STATUS_OK;
    const struct sample_coding coding = channelise_coding(spec);
    TRY(text_add(out, " -DCHANNELS=%u -DTAPS=%u", spec->channels, spec->taps));
    TRY(deinterleave_options(&coding, out));
out:
    return st;
}

enum detect_kind detect_kind(const struct channelise_output *output)
{
    return output->quantity == QUANTITY_SPECTRA ? DETECT_SPECTRA
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

status_t detect_options(const struct channelise_spec *spec, uint32_t i, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(samples_options(spec, out));
    TRY(text_add(out, " -DKIND=%d -DDETECTED=%d -DKEPT_FIRST=%u -DKEPT=%u -DWIDTH=%d -DACROSS=%u",
                 (int)detect_kind(&spec->outputs[i]), steps_detected(&spec->outputs[i]),
                 spec->first_channel, spec->nchannels, (int)CHANNEL_WIDTH, steps_across(spec)));
out:
    return st;
}

/* Channels x pieces of time x streams, or pairs of them, or sums. */
static struct launch_size steps_spread(const struct channelise_spec *spec, uint64_t pieces,
                                       uint32_t streams)
{
    return (struct launch_size){steps_across(spec) * (size_t)pieces * streams, CHANNEL_WIDTH};
}

struct launch_size detect_size(const struct channelise_spec *spec, uint32_t i, uint64_t first,
                               uint64_t spectra, uint32_t streams)
{
    const struct channelise_output *output = &spec->outputs[i];
    uint64_t runs = ceil_div_u64(first % GRAIN + spectra, GRAIN);
    uint32_t places = output->quantity == QUANTITY_COHERENCY ? streams / 2 : streams;
    return steps_spread(spec, detect_kind(output) == DETECT_GRAINS ? runs : spectra, places);
}

status_t sum_options(const struct channelise_spec *spec, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(samples_options(spec, out));
    TRY(text_add(out, " -DKEPT=%u -DWIDTH=%d -DACROSS=%u", spec->nchannels, (int)CHANNEL_WIDTH,
                 steps_across(spec)));
out:
    return st;
}

struct launch_size sum_size(const struct channelise_spec *spec, uint32_t i, uint64_t next,
                            uint64_t spectra, uint32_t streams)
{
    const struct channelise_output *output = &spec->outputs[i];
    uint64_t dumps = (next + spectra - 1) / output->integrate - next / output->integrate + 1;
    return steps_spread(spec, dumps, channelise_sums(output, streams));
}
