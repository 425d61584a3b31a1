/* LWA's DRX: packets of one beam, two tunings and two polarisations, which say all. */
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/packet_files.h"
#include "input/format/recorder.h"
#include "input/format/said.h"
#include "input/packets/packet_headers.h"
#include "io/apart.h"
#include "io/file.h"
#include "io/file_rights.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TUNINGS = 2, POLS = 2 };

/* Facts that first and last packets state. */
struct drx_survey {
    int has_first;
    struct drx_header first;
    struct packets_mark mark;
    uint64_t bytes; /* of a packet */
    int has[TUNINGS * POLS];
    uint32_t tuning[TUNINGS * POLS]; /* that more of the packets state than any other */
    uint32_t votes[TUNINGS * POLS];
    uint64_t time[TUNINGS * POLS]; /* of the last packet of each stream, ticks */
    uint64_t step;  /* greatest common divisor of the steps of their times; 0: none */
    uint32_t steps; /* how many there are */
};

/* Packets that are compared with each other until some agree. */
enum { SEEK_BYTES = 16 * DRX8_BYTES };

/* Lists the offsets of up to `most` packets in the first bytes of a file: a sync word, followed by
 * a possible tuning and decimation. */
static uint32_t drx_list(const unsigned char *bytes, uint64_t count, uint32_t most, uint64_t *out)
{
    static const unsigned char sync[] = {0xde, 0xc0, 0xde, 0x5c};
    uint32_t found = 0;
    const unsigned char *hit = bytes;
    while (found < most &&
           (hit = memmem(hit, count - (uint64_t)(hit - bytes), sync, sizeof sync)) &&
           (uint64_t)(hit - bytes) + DRX_HEADER_BYTES <= count) {
        struct drx_header header;
        drx_header_read(hit, &header);
        if (header.is_packet && header.decimation > 0) {
            out[found++] = (uint64_t)(hit - bytes);
        }
        hit++;
    }
    return found;
}

/* Returns the length of packets: the most frequent distance of neighbours, or the length of a file
 * with one packet. */
static uint64_t drx_length(const uint64_t *at, uint32_t count, uint64_t file_bytes)
{
    uint32_t narrow = 0;
    uint32_t wide = 0;
    for (uint32_t i = 0; i + 1 < count; i++) {
        narrow += at[i + 1] - at[i] == DRX_BYTES;
        wide += at[i + 1] - at[i] == DRX8_BYTES;
    }
    return wide > narrow || (wide + narrow == 0 && file_bytes == DRX8_BYTES) ? DRX8_BYTES
                                                                             : DRX_BYTES;
}

/* Whether two packets can be of one recording. */
static int drx_agrees(const struct drx_header *a, const struct drx_header *b)
{
    int64_t ticks = (int64_t)(b->tag - b->offset - a->tag + a->offset);
    return a->beam == b->beam && a->decimation == b->decimation &&
           ticks % ((int64_t)a->decimation * DRX_SAMPLES) == 0;
}

/* The first packet of a file that another one agrees with, the first one where none does; how long
 * packets are. *found = 0: there is none. */
static status_t drx_find_first(int fd, const char *path, uint64_t file_bytes,
                               struct drx_survey *out, uint64_t *begin, int *found)
{
    enum { MOST = SEEK_BYTES / DRX_BYTES };
    SCOPED(free_at) unsigned char *bytes = NULL;
    uint64_t at[MOST];
    struct drx_header packets[MOST];
    uint64_t count = min_u64(file_bytes, SEEK_BYTES);
    uint32_t first = MOST;
    TRY(memory_zeroed(SEEK_BYTES, 1, "packets", &bytes));
    TRY(file_read(fd, path, 0, bytes, count));
    uint32_t n = drx_list(bytes, count, MOST, at);
    out->bytes = drx_length(at, n, file_bytes);
    for (uint32_t i = 0; i < n; i++) {
        drx_header_read(bytes + at[i], &packets[i]);
        for (uint32_t j = 0; j < i && first == MOST; j++) {
            first = drx_agrees(&packets[j], &packets[i]) ? j : MOST;
        }
    }
    *found = n > 0;
    first = first == MOST ? 0 : first;
    if (n > 0) {
        *begin = at[first];
        out->first = packets[first];
        out->mark = packets_mark_of(PACKETS_DRX, bytes + at[first]);
    }
    return STATUS_OK;
}

static status_t drx_recognise(const char *path, int *is_it)
{
    struct identity identity;
    struct drx_header header;
    struct drx_survey survey;
    unsigned char bytes[DRX_HEADER_BYTES];
    uint64_t begin = 0;
    SCOPED(file_close_at) int fd = -1;
    *is_it = 0;
    TRY(recorder_open_begin(path, &fd, &identity));
    if (fd < 0 || identity.bytes < DRX_BYTES) {
        return STATUS_OK;
    }
    TRY(file_read(fd, path, 0, bytes, sizeof bytes));
    drx_header_read(bytes, &header);
    *is_it = header.is_packet && header.decimation > 0;
    return *is_it ? STATUS_OK : drx_find_first(fd, path, identity.bytes, &survey, &begin, is_it);
}

/* Adds the step from the packet before it of its stream. A time between packets is no step. */
static void drx_add_step(struct drx_survey *survey, const struct drx_header *header)
{
    uint64_t *before = &survey->time[header->id];
    uint64_t now = header->tag - header->offset;
    uint64_t step = now > *before ? now - *before : *before - now;
    uint64_t packet = (uint64_t)survey->first.decimation * DRX_SAMPLES;
    if (survey->has[header->id] && step > 0 && step % packet == 0) {
        survey->steps++;
        survey->step = gcd_u64(survey->step, step);
    }
    *before = now;
}

/* Steps of times are those of packets, some of which may be lost, but never all between others. */
static status_t drx_check_steps(const struct drx_survey *survey, const char *path)
{
    enum { LEAST = 8 };
    uint64_t packet = (uint64_t)survey->first.decimation * DRX_SAMPLES;
    return REQUIRED(survey->steps < LEAST || survey->step <= packet, STATUS_DATA,
                    "%s: time tags of its DRX packets grow by %" PRIu64 " ticks or multiples of "
                    "that, but decimation %u of %d samples makes %" PRIu64 " ticks",
                    path, survey->step, survey->first.decimation, (int)DRX_SAMPLES, packet);
}

static status_t drx_survey_packet(void *context, const char *path, uint64_t frame, uint64_t offset,
                                  const unsigned char *bytes)
{
    struct drx_survey *survey = context;
    struct drx_header header;
    (void)path;
    (void)frame;
    (void)offset;
    drx_header_read(bytes, &header);
    if (frames_is_header(&survey->mark, bytes, survey->mark.strict) && header.is_packet) {
        drx_add_step(survey, &header);
        /* The tuning that is left has most votes. */
        uint32_t id = header.id;
        survey->tuning[id] = survey->votes[id] == 0 ? header.tuning : survey->tuning[id];
        survey->votes[id] += survey->tuning[id] == header.tuning ? 1u : UINT32_MAX;
        survey->has[id] = 1;
    }
    return STATUS_OK;
}

static status_t drx_survey_file(struct drx_survey *survey, struct packets_file *file)
{
    struct identity identity;
    struct drx_survey own = {.has_first = 1};
    SCOPED(free_at) struct packets_ends *ends = NULL;
    uint64_t begin = 0;
    int found = 0;
    SCOPED(file_close_at) int fd = -1;
    apart_at("%s: DRX packets", file->path);
    TRY(file_open_read(file->path, &fd));
    TRY(identity_of_open(fd, file->path, &identity));
    TRY(drx_find_first(fd, file->path, identity.bytes, &own, &begin, &found));
    REQUIRE(found && begin + own.bytes <= identity.bytes, STATUS_DATA,
            "%s: no DRX packet begins in its first %d bytes", file->path, SEEK_BYTES);
    REQUIRE(!survey->has_first || survey->bytes == own.bytes, STATUS_DATA,
            "%s: its packets have %" PRIu64 " bytes, those of the files before it %" PRIu64
            ": DRX and DRX8 are two recordings",
            file->path, own.bytes, survey->bytes);
    *survey = survey->has_first ? *survey : own;
    const struct packets_seek seek = {fd,        file->path,       "DRX packet", identity.bytes,
                                      own.bytes, DRX_HEADER_BYTES, &survey->mark};
    TRY(memory_zeroed(1, sizeof *ends, "headers", &ends));
    TRY(packets_seek_frames(&seek, begin, file, ends));
    return packet_files_look(file, own.bytes, ends, drx_survey_packet, survey);
}

/* Sets the frequencies of the tunings that are present, unless the job gives others. */
static status_t drx_settle_frequencies(const struct job_layout *layout,
                                       const struct drx_survey *survey, struct archive *archive)
{
    uint64_t *nchans = &archive->count[AXIS_CHAN];
    double freq[TUNINGS];
    *nchans = 0;
    for (uint32_t tuning = 0; tuning < TUNINGS; tuning++) {
        uint32_t id = survey->has[2 * tuning] ? 2 * tuning : 2 * tuning + 1;
        const uint32_t *words = &survey->tuning[2 * tuning];
        REQUIRE(!survey->has[2 * tuning] || !survey->has[2 * tuning + 1] || words[0] == words[1] ||
                    override_has_frequencies(layout),
                STATUS_DATA,
                "%s: polarisations of tuning %u are tuned to %.6f and %.6f MHz: freq_hz in "
                "input.layout says which is right",
                archive->parts[0].path, tuning + 1, DRX_TICKS * 0x1p-32 * words[0] / 1e6,
                DRX_TICKS * 0x1p-32 * words[1] / 1e6);
        if (survey->has[id]) {
            freq[(*nchans)++] = DRX_TICKS * 0x1p-32 * survey->tuning[id];
        }
    }
    if (override_has_frequencies(layout)) {
        return STATUS_OK;
    }
    archive->states.freq = 1;
    TRY(memory_zeroed(TUNINGS, sizeof(double), "frequencies", &archive->freq_hz));
    memcpy(archive->freq_hz, freq, *nchans * sizeof *freq);
    return assume_if(freq[0] == 0 || freq[*nchans - 1] == 0, &archive->assumed,
                     "packets are tuned to 0 Hz, which is taken for the band's centre: "
                     "input.layout.freq_hz says what it was");
}

/* Tunings and polarisations that are there, each of the one with each of the other. */
static status_t drx_settle_streams(const struct job_layout *layout, const struct drx_survey *survey,
                                   struct archive *archive)
{
    static const char *const names[POLS] = {"X", "Y"};
    struct packets *packets = archive->parts[0].packets;
    uint64_t *npols = &archive->count[AXIS_POL];
    TRY(memory_zeroed(TUNINGS * POLS, sizeof *packets->threads, "streams", &packets->threads));
    TRY(memory_zeroed(TUNINGS * POLS, sizeof *packets->streams, "streams", &packets->streams));
    TRY(memory_zeroed(POLS, sizeof(char *), "names", &archive->names[AXIS_POL]));
    *npols = 0;
    TRY(drx_settle_frequencies(layout, survey, archive));
    const uint64_t nchans = archive->count[AXIS_CHAN];
    for (uint32_t pol = 0; pol < POLS; pol++) {
        uint32_t before = packets->nthreads;
        for (uint32_t tuning = 0; tuning < TUNINGS; tuning++) {
            uint32_t id = 2 * tuning + pol;
            if (survey->has[id]) {
                packets->place[id] = (int16_t)packets->nthreads;
                packets->streams[packets->nthreads].thread = packets->nthreads;
                packets->threads[packets->nthreads++] =
                    (struct packets_thread){.id = id, .tuning = survey->tuning[id]};
            }
        }
        if (packets->nthreads > before) {
            TRY(memory_text(names[pol], &archive->names[AXIS_POL][*npols]));
            ++*npols;
        }
    }
    packets->nstreams = packets->nthreads;
    return REQUIRED(packets->nthreads == *npols * nchans, STATUS_DATA,
                    "%s: its first and last packets are of %u streams, expected each of %" PRIu64
                    " polarisations at each of %" PRIu64 " tunings",
                    archive->parts[0].path, packets->nthreads, *npols, nchans);
}

static void drx_settle_packets(const struct drx_survey *survey, struct packets *packets)
{
    packets->kind = PACKETS_DRX;
    packets->header_bytes = DRX_HEADER_BYTES;
    packets->mark = survey->mark;
    packets->frame_bytes = survey->bytes;
    packets->samples = DRX_SAMPLES;
    packets->channels = 1;
    packets->bits = survey->bytes == DRX8_BYTES ? 8 : 4;
    packets->is_complex = 1;
    packets->rate = survey->first.decimation;
    packets->origin = survey->first.tag - survey->first.offset;
    packets->station = survey->first.beam;
}

static status_t drx_open(const struct format_input *input, struct archive **out)
{
    const struct job_layout *layout = input->layout;
    struct drx_survey survey = {.has_first = 0};
    TRY(packet_files_create(input, "DRX", 1, out));
    struct archive *archive = *out;
    struct packets *packets = archive->parts[0].packets;
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY(drx_survey_file(&survey, &packets->files[i]));
    }
    TRY(drx_check_steps(&survey, input->paths[0]));
    drx_settle_packets(&survey, packets);
    TRY(drx_settle_streams(layout, &survey, archive));
    TRY(memory_format(&archive->layout, "DRX%s: beam %u, decimated by %u",
                      packets->bits == 8 ? "8" : "", survey.first.beam, survey.first.decimation));
    uint64_t ticks = (uint64_t)packets->samples * packets->rate;
    TRY(packet_files_settle_times(packets, ticks));
    /* Days of 86,400 s since 1970, as clocks of machines count. */
    const struct utc start = fields_unix((int64_t)(packets->origin / DRX_TICKS),
                                         (double)(packets->origin % DRX_TICKS) / DRX_TICKS);
    TRY(packet_files_describe(layout, (double)DRX_TICKS / survey.first.decimation, start, archive));
    archive->has_receivers = 1;
    return STATUS_OK;
}

const struct format drx_format = {
    .name = "drx", .is_no_product = 1, .recognise = drx_recognise, .open = drx_open};
