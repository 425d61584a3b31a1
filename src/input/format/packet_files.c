/* Files of packets: what opening VDIF, DRX and those of LOFAR has in common. */
#include "input/format/packet_files.h"

#include "base/memory.h"
#include "input/format/dataset.h"
#include "input/format/recorder.h"
#include "input/format/said.h"
#include "input/packets/packet_headers.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static status_t packet_files_check_layout(const struct job_layout *layout, const char *path,
                                          const char *format, int states_rate)
{
    const char *word = layout->has_domain                  ? "domain"
                       : layout->numbers.has_packing       ? "packing"
                       : layout->numbers.has_offset        ? "offset"
                       : layout->numbers.has_missing_value ? "missing_value"
                       : layout->time.nfirst_sample > 0    ? "first_sample"
                       : layout->files_along != AXIS_TIME  ? "files_along"
                       : !states_rate                      ? NULL
                       : layout->time.has_sample_rate      ? "sample_rate_hz"
                       : layout->time.has_sample_period    ? "sample_period_s"
                       : layout->nstreams > 0              ? "streams"
                       : layout->station                   ? "station"
                       : layout->has_dc                    ? "dc"
                                                           : NULL;
    TRY(said_refuse(path, layout));
    return REQUIRED(!word, STATUS_USAGE,
                    "input.layout.%s has no meaning for %s, whose headers say it", word, format);
}

status_t packet_files_create(const struct format_input *input, const char *format, int states_rate,
                             struct archive **out)
{
    struct packets *packets = NULL;
    TRY(packet_files_check_layout(input->layout, input->paths[0], format, states_rate));
    TRY(archive_create(input->paths[0], out));
    struct archive *archive = *out;
    TRY(dataset_take_words(input->layout, archive));
    free(memory_move(&archive->dataset));
    TRY(memory_text("frames", &archive->dataset));
    struct archive_part *part = &archive->parts[0];
    TRY(memory_zeroed(1, sizeof *packets, "packets", &packets));
    part->packets = packets;
    part->npackets = 1;
    for (uint32_t i = 0; i < PACKETS_THREADS; i++) {
        packets->place[i] = -1;
    }
    TRY(memory_zeroed(input->npaths, sizeof *packets->files, "input files", &packets->files));
    for (size_t i = 0; i < input->npaths; i++) {
        TRY(memory_text(input->paths[i], &packets->files[i].path));
        packets->nfiles++;
        TRY(sources_add(&part->storage.sources, input->paths[i], SOURCE_NAMED, NULL));
    }
    part->file_bytes = sources_bytes(&part->storage.sources);
    return STATUS_OK;
}

status_t packet_files_look(const struct packets_file *file, uint64_t frame_bytes,
                           const struct packets_ends *ends, packet_files_look_t *look,
                           void *context)
{
    uint64_t head = min_u64(file->frames, PACKETS_ENDS);
    uint64_t tail = max_u64(head, file->frames - head);
    uint64_t suspect = 0; /* the last frame that contradicts others, from 1 on */
    for (uint64_t i = 0; i < file->frames; i = i + 1 == head ? tail : i + 1) {
        const unsigned char *header =
            i < head ? ends->first[i] : ends->last[i - (file->frames - head)];
        status_t st = look(context, file->path, i, frames_offset(frame_bytes, file, i), header);
        if (st != STATUS_OK && st != STATUS_DEVICE &&
            (suspect == 0 || i + 1 - suspect > PACKETS_AROUND)) {
            report_clear();
            st = STATUS_OK;
            suspect = i + 1;
        }
        TRY(st);
    }
    return STATUS_OK;
}

static int packet_files_by_first(const void *left, const void *right)
{
    const struct packets_file *a = left;
    const struct packets_file *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

static status_t packet_files_find_span(const struct packets *packets, struct packets_file *held)
{
    SCOPED(file_close_at) int fd = -1;
    TRY(file_open_read(held->path, &fd));
    const struct packets_open file = {packets, held, fd, NULL};
    uint64_t end = 0;
    TRY(packets_known_end(&file, &end));
    held->frames = end;
    TRY(packets_span(&file, &held->first, &held->last));
    return packets_check_order(&file);
}

/* A time that is wrong, or files of two observations, would make one of mostly nothing. */
static status_t packet_files_check_span(const struct packets *packets, uint64_t frames)
{
    enum { MOST_MISSING = 16, LEAST = 64 };
    const struct packets_file *last = &packets->files[packets->nfiles - 1];
    uint64_t held = frames / packets->nthreads;
    return REQUIRED(packets->periods / MOST_MISSING <= held + LEAST, STATUS_DATA,
                    "%s: its times, up to those of %s, are %" PRIu64
                    " frames of each thread, but the files contain %" PRIu64
                    ": do all frames belong to one observation?",
                    packets->files[0].path, last->path, packets->periods, held);
}

/* Two files that may have frames of the same threads and times. */
struct packet_files_pair {
    struct packets_open open[2];
    struct packets_kept kept[2];
    char *bytes[2];   /* of a frame */
    uint64_t *frames; /* [LOOK][threads]: those of the first file, from 1 on; 0: none */
    int is_most;      /* most of a file's time is the other one's, too */
};

enum { LOOK = 16 /* periods that are compared at once */ };

static void packet_files_pair_close(struct packet_files_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        packets_kept_free(&pair->kept[i]);
        file_close_at(&pair->open[i].fd);
        free(pair->bytes[i]);
    }
    free(pair->frames);
}

/* Fails with DATA where a good frame is of the same thread and time as one of the first file, but
 * has other samples, or where most of the files' time is the same. */
static status_t packet_files_compare(struct packet_files_pair *pair, uint64_t frame, uint64_t other)
{
    const struct packets *packets = pair->open[0].packets;
    const size_t header = (size_t)packets->header_bytes;
    const size_t bytes = (size_t)packets->frame_bytes;
    const uint64_t numbers[2] = {other, frame};
    for (int i = 0; i < 2; i++) {
        const struct packets_file *file = pair->open[i].file;
        TRY(file_read(pair->open[i].fd, file->path, frames_offset(bytes, file, numbers[i]),
                      pair->bytes[i], bytes));
    }
    return REQUIRED(
        !pair->is_most &&
            memcmp(pair->bytes[0] + header, pair->bytes[1] + header, bytes - header) == 0,
        STATUS_DATA,
        "%s and %s have frames of the same threads (boards) and times, of which only one could be "
        "read; if they are of other bands or polarisations, voltmill import makes an archive of "
        "each, which input.layout.files_along joins",
        pair->open[0].file->path, pair->open[1].file->path);
}

/* Compares the frames of periods first .. first + LOOK - 1. */
static status_t packet_files_look_at(struct packet_files_pair *pair, int64_t first)
{
    const uint32_t nthreads = pair->open[0].packets->nthreads;
    memset(pair->frames, 0, (size_t)nthreads * LOOK * sizeof *pair->frames);
    for (int i = 0; i < 2; i++) {
        const struct packet *headers = NULL;
        const char *places = NULL;
        uint64_t low = 0;
        uint64_t high = 0;
        TRY(packets_find(&pair->open[i], first, first + LOOK - 1, &low, &high));
        TRY(low < high ? packets_keep(&pair->open[i], low, high, &headers, &places) : STATUS_OK);
        for (uint64_t at = low; at < high; at++) {
            const struct packet *packet = &headers[at - low];
            const uint64_t period = (uint64_t)(packet->period - first);
            if (places[at - low] == PACKETS_IN && packet->is_good && period < LOOK) {
                uint64_t *frame = &pair->frames[period * nthreads + packet->thread];
                TRY(i == 1 && *frame > 0 ? packet_files_compare(pair, at, *frame - 1) : STATUS_OK);
                *frame = i == 0 ? at + 1 : *frame;
            }
        }
    }
    return STATUS_OK;
}

/* Looks at places of the time that two files share. */
static status_t packet_files_check_pair(const struct packets *packets,
                                        const struct packets_file *early,
                                        const struct packets_file *late)
{
    enum { PLACES = 4 };
    const int64_t end = late->last < early->last ? late->last : early->last;
    const int64_t both = end - late->first + 1;
    SCOPED(packet_files_pair_close)
    struct packet_files_pair pair = {
        .open = {{packets, early, -1, &pair.kept[0]}, {packets, late, -1, &pair.kept[1]}},
        .is_most =
            2 * both > late->last - late->first + 1 || 2 * both > early->last - early->first + 1};
    TRY(memory_zeroed((size_t)packets->nthreads * LOOK, sizeof *pair.frames, "frames",
                      &pair.frames));
    for (int i = 0; i < 2; i++) {
        TRY(file_open_read(pair.open[i].file->path, &pair.open[i].fd));
        TRY(memory_zeroed((size_t)packets->frame_bytes, 1, "a frame", &pair.bytes[i]));
    }
    for (int64_t i = 0; i < (both > LOOK ? PLACES : 1); i++) {
        TRY(packet_files_look_at(&pair, late->first + i * (both - LOOK) / (PLACES - 1)));
    }
    return STATUS_OK;
}

/* Fails where two files are of other bands or polarisations, but number their threads alike: one of
 * two frames of a thread and time would never be read. Files in sequence may share a few frames,
 * and a recording that was cut while its frames were out of order has each once. Files are in the
 * order of their first frames. */
static status_t packet_files_check_threads(const struct packets *packets)
{
    for (uint32_t i = 1; i < packets->nfiles; i++) {
        const struct packets_file *late = &packets->files[i];
        for (uint32_t j = 0; j < i; j++) {
            const struct packets_file *early = &packets->files[j];
            uint64_t shared = 0;
            for (size_t k = 0; k < sizeof early->threads / sizeof *early->threads; k++) {
                shared |= late->threads[k] & early->threads[k];
            }
            TRY(shared != 0 && early->last >= late->first
                    ? packet_files_check_pair(packets, early, late)
                    : STATUS_OK);
        }
    }
    return STATUS_OK;
}

status_t packet_files_settle_times(struct packets *packets, uint64_t per_period)
{
    enum { FRAMES_AROUND = 256, LEAST_WINDOW = 8 };
    uint64_t frames = 0;
    packets->window = max_u64(LEAST_WINDOW, FRAMES_AROUND / packets->nthreads);
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY(packet_files_find_span(packets, &packets->files[i]));
        frames += packets->files[i].frames;
    }
    qsort(packets->files, packets->nfiles, sizeof *packets->files, packet_files_by_first);
    int64_t first = packets->files[0].first;
    int64_t last = packets->files[0].last;
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        last = packets->files[i].last > last ? packets->files[i].last : last;
        packets->files[i].first -= first;
        packets->files[i].last -= first;
    }
    packets->periods = (uint64_t)(last - first) + 1;
    packets->origin += (uint64_t)first * per_period;
    TRY(packet_files_check_threads(packets));
    return packet_files_check_span(packets, frames);
}

/* Sets is_packed and format by what streams, bits and is_complex are. Returns the scale: volts of 1
 * as it comes out, where a step of what is stored is 1. */
static double packet_settle_format(struct packets *packets)
{
    int is_turned = 0;
    for (uint32_t i = 0; i < packets->nstreams; i++) {
        const struct packets_stream *stream = &packets->streams[i];
        is_turned |= stream->is_conjugated || stream->is_alternating;
    }
    packets->is_packed = packets->bits == 4 && packets->is_complex && !is_turned;
    if (packets->kind != PACKETS_VDIF) {
        packets->format = packets->is_packed    ? SAMPLE_I4
                          : packets->bits == 16 ? SAMPLE_I16
                                                : SAMPLE_I8;
        return 1;
    }
    const uint32_t bits = packets->bits;
    /* The opposite of -32768 is no int16. */
    packets->format = bits == 2 || bits == 32 || (bits == 16 && is_turned) ? SAMPLE_F32
                      : bits == 8 || bits == 16                            ? SAMPLE_I16
                      : packets->is_packed                                 ? SAMPLE_I4
                                                                           : SAMPLE_I8;
    return bits == 8 ? 0.5 : 1;
}

status_t packet_files_describe(const struct job_layout *layout, double sample_rate_hz,
                               struct utc start, struct archive *archive)
{
    struct archive_part *part = &archive->parts[0];
    struct packets *packets = part->packets;
    double unit = packet_settle_format(packets);
    REQUIRE(multiply_u64(packets->periods, packets->samples, &part->samples) &&
                part->samples < UINT64_C(1) << 58,
            STATUS_DATA, "%s: %" PRIu64 " frames of %u samples are absurd", part->path,
            packets->periods, packets->samples);
    archive->is_complex = packets->is_complex;
    archive->format = packets->format;
    archive->stored.nibbles =
        (struct nibbles){packets->kind == PACKETS_VDIF, packets->kind == PACKETS_DRX};
    archive->stored.element_bytes = sample_types[packets->format].bytes;
    recorder_add_dim(archive, AXIS_POL, archive->count[AXIS_POL]);
    recorder_add_dim(archive, AXIS_CHAN, archive->count[AXIS_CHAN]);
    recorder_add_dim(archive, AXIS_TIME, part->samples);
    if (packets->is_complex && !packets->is_packed) {
        recorder_add_dim(archive, AXIS_REIM, 2);
    }
    archive->sample_rate_hz = sample_rate_hz;
    archive->scale *= unit;
    archive->stored.is_dc_at_edge = 0; /* signs are turned when frames are taken apart */
    if (!archive->sky.has_start) {
        archive->sky.has_start = 1;
        archive->states.start = 1;
        archive->sky.start = start;
    }
    archive->are_by_start = 1;
    archive->losses.may_lack = 1;
    return layout->nstreams > 0 ? STATUS_OK
                                : dataset_settle_frequencies(layout, part->path, archive);
}
