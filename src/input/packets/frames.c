/* Frames in runs, by halving; headers by their marks. */
#include "input/packets/frames.h"

#include "base/memory.h"

/* The run of a frame: files of few runs are the rule. */
static uint32_t frames_run(const struct packets_file *file, uint64_t frame)
{
    uint32_t low = 0;
    uint32_t high = file->nruns;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        low = file->runs[middle].frame <= frame ? middle : low;
        high = low == middle ? high : middle;
    }
    return low;
}

uint64_t frames_offset(uint64_t frame_bytes, const struct packets_file *file, uint64_t frame)
{
    const struct packets_run *run = &file->runs[frames_run(file, frame)];
    return run->offset + (frame - run->frame) * frame_bytes;
}

uint64_t frames_run_end(const struct packets_file *file, uint64_t frame)
{
    uint32_t run = frames_run(file, frame);
    return run + 1 < file->nruns ? file->runs[run + 1].frame : file->frames;
}

int frames_is_header(const struct packets_mark *mark, const unsigned char *bytes,
                     const unsigned char mask[PACKETS_MARK])
{
    unsigned char differ = 0;
    for (int i = 0; i < PACKETS_MARK; i++) {
        differ |= (unsigned char)((bytes[i] ^ mark->value[i]) & mask[i]);
    }
    return differ == 0;
}

uint64_t frames_group(const struct packets *packets, uint32_t channel)
{
    uint64_t each = ceil_div_u64(packets->channels, PACKETS_GROUPS);
    return UINT64_C(1) << channel / each;
}
