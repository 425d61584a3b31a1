/* An observation as every rank knows it: its streams, its gaps, what is lost of it. */
#include "input/archive.h"

#include "base/memory.h"
#include "input/packets/packets.h"
#include "io/hdf5/h5.h"

#include <stdlib.h>

const enum axis archive_stream_axes[STREAM_AXES] = {AXIS_STATION, AXIS_BEAM, AXIS_POL, AXIS_CHAN};

double archive_chan_width_hz(const struct archive *archive)
{
    return archive->is_complex ? archive->sample_rate_hz : archive->sample_rate_hz / 2;
}

void archive_stream_index(const struct archive *archive, uint32_t stream,
                          uint64_t index[AXIS_KINDS])
{
    for (int i = 0; i < AXIS_KINDS; i++) {
        index[i] = 0;
    }
    for (int i = STREAM_AXES - 1; i >= 0; i--) {
        enum axis axis = archive_stream_axes[i];
        index[axis] = archive->selected[axis][stream % archive->nselected[axis]];
        stream /= archive->nselected[axis];
    }
}

int archive_zero_byte(const struct archive *archive)
{
    return archive->format == SAMPLE_I4 && archive->stored.nibbles.offset_binary ? 0x88 : 0;
}

uint64_t archive_lost_samples(const struct archive *archive)
{
    uint64_t lost = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < archive->losses.nlost; i++) {
        uint64_t low = max_u64(archive->losses.lost[i].first, end);
        end = max_u64(end, archive->losses.lost[i].first + archive->losses.lost[i].count);
        lost += end > low ? end - low : 0;
    }
    return lost * archive->nstreams;
}

status_t archive_check_unchanged(const struct archive *archive)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(sources_check(&archive->parts[i].storage.sources));
    }
out:
    return st;
}

status_t archive_create(const char *path, struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    TRY(memory_zeroed(1, sizeof *archive, "an archive", &archive));
    TRY(memory_zeroed(1, sizeof *archive->parts, "an archive", &archive->parts));
    archive->nparts = 1;
    archive->scale = 1;
    for (int i = 0; i < AXIS_KINDS; i++) {
        archive->count[i] = 1;
    }
    TRY(memory_text(path, &archive->parts[0].path));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    return st;
}

void archive_free_boxes(struct lost_box *boxes, uint32_t count)
{
    for (uint32_t i = 0; boxes && i < count; i++) {
        free(boxes[i].why);
    }
    free(boxes);
}

uint64_t archive_bank_group(const struct archive *archive, uint64_t index)
{
    const struct archive_bank *bank = &archive->bank;
    return bank->channels > 0 ? (bank->first_channel + index) / bank->channels : 0;
}

uint64_t archive_bank_channel(const struct archive *archive, uint64_t index)
{
    const struct archive_bank *bank = &archive->bank;
    const uint64_t channel = (bank->first_channel + index) % bank->channels;
    const int is_turned = bank->is_fft_order && !bank->is_real;
    return is_turned ? (channel + bank->channels / 2) % bank->channels : channel;
}
