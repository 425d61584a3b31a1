/* LWA's DRX: packets of one beam, two tunings and two polarisations, which say all. */
#include "archive/format/formats.h"
#include "archive/format/override.h"
#include "archive/format/recorder/packet_files.h"
#include "archive/format/recorder/recorder.h"
#include "archive/packets/drx_header.h"
#include "base/memory.h"
#include "io/apart/apart.h"
#include "io/file.h"
#include "io/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TUNINGS = 2, POLS = 2, UNIX_DAY = 40587 /* MJD of 1970-01-01 */ };

/* What first and last packets say. */
struct drx_survey {
    int has_first;
    struct drx_header first;
    int has[TUNINGS * POLS];
    uint32_t tuning[TUNINGS * POLS];
};

static status_t drx_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct identity identity;
    struct drx_header header;
    unsigned char bytes[DRX_HEADER_BYTES];
    int fd = -1;
    *is_it = 0;
    TRY(recorder_open_begin(path, &fd, &identity));
    if (fd < 0) {
        goto out;
    }
    if (identity.bytes >= DRX_BYTES) {
        TRY(file_read(fd, path, 0, bytes, sizeof bytes));
        drx_header_read(bytes, &header);
        *is_it = header.is_packet && header.decimation > 0;
    }
out:
    file_close(fd);
    return st;
}

static status_t drx_survey_packet(void *context, const char *path, uint64_t frame, uint64_t offset,
                                  const unsigned char *bytes)
{
    status_t st = STATUS_OK;
    struct drx_survey *survey = context;
    struct drx_header header;
    (void)frame;
    drx_header_read(bytes, &header);
    if (header.is_fill) {
        goto out;
    }
    REQUIRE(header.is_packet && header.decimation > 0, STATUS_DATA,
            "%s: no DRX packet begins at byte %" PRIu64 ", a multiple of their %d bytes", path,
            offset, DRX_BYTES);
    survey->first = survey->has_first ? survey->first : header;
    survey->has_first = 1;
    if (!survey->has[header.id]) {
        survey->has[header.id] = 1;
        survey->tuning[header.id] = header.tuning;
    }
out:
    return st;
}

static status_t drx_survey_file(struct drx_survey *survey, struct packets_file *file)
{
    status_t st = STATUS_OK;
    struct identity identity;
    int fd = -1;
    apart_at("%s: DRX packets", file->path);
    TRY(file_open_read(file->path, &fd));
    TRY(identity_of_open(fd, file->path, &identity));
    file->frames = identity.bytes / DRX_BYTES;
    TRY(packet_files_look(fd, file->path, DRX_BYTES, DRX_HEADER_BYTES, file->frames,
                          drx_survey_packet, survey));
    REQUIRE(survey->has_first, STATUS_DATA, "%s: it holds no DRX packet", file->path);
    if (identity.bytes % DRX_BYTES != 0) {
        report_note("%s: its last %" PRIu64 " bytes are no DRX packet of %d bytes: left out",
                    file->path, identity.bytes % DRX_BYTES, DRX_BYTES);
    }
out:
    file_close(fd);
    return st;
}

/* Those of the tunings that are there, unless the job says others. */
static status_t drx_settle_frequencies(const struct job_layout *layout,
                                       const struct drx_survey *survey, struct archive *archive,
                                       uint64_t *nchans)
{
    status_t st = STATUS_OK;
    double freq[TUNINGS];
    *nchans = 0;
    for (uint32_t tuning = 0; tuning < TUNINGS; tuning++) {
        uint32_t id = survey->has[2 * tuning] ? 2 * tuning : 2 * tuning + 1;
        if (survey->has[id]) {
            freq[(*nchans)++] = DRX_TICKS * 0x1p-32 * survey->tuning[id];
        }
    }
    if (override_has_frequencies(layout)) {
        goto out;
    }
    archive->states_freq = 1;
    TRY(memory_zeroed(TUNINGS, sizeof(double), "frequencies", &archive->freq_hz));
    memcpy(archive->freq_hz, freq, *nchans * sizeof *freq);
    if (freq[0] == 0) {
        report_note(
            "%s: its packets are tuned to 0 Hz: input.layout.freq_hz says to what they were",
            archive->parts[0].path);
    }
out:
    return st;
}

/* Tunings and polarisations that are there, each of the one with each of the other. */
static status_t drx_settle_streams(const struct job_layout *layout, const struct drx_survey *survey,
                                   struct archive *archive, uint64_t *npols, uint64_t *nchans)
{
    static const char *const names[POLS] = {"X", "Y"};
    status_t st = STATUS_OK;
    struct packets *packets = archive->parts[0].packets;
    TRY(memory_zeroed(TUNINGS * POLS, sizeof *packets->threads, "streams", &packets->threads));
    TRY(memory_zeroed(TUNINGS * POLS, sizeof *packets->streams, "streams", &packets->streams));
    TRY(memory_zeroed(POLS, sizeof(char *), "names", &archive->names[AXIS_POL]));
    *npols = 0;
    archive->count[AXIS_POL] = 0;
    TRY(drx_settle_frequencies(layout, survey, archive, nchans));
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
            TRY(memory_text(names[pol], &archive->names[AXIS_POL][(*npols)++]));
            archive->count[AXIS_POL] = *npols;
        }
    }
    packets->nstreams = packets->nthreads;
    REQUIRE(packets->nthreads == *npols * *nchans, STATUS_DATA,
            "%s: its first and last packets are of %u streams, expected each of %" PRIu64
            " polarisations at each of %" PRIu64 " tunings",
            archive->parts[0].path, packets->nthreads, *npols, *nchans);
out:
    return st;
}

static void drx_settle_packets(const struct drx_survey *survey, struct packets *packets)
{
    packets->kind = PACKETS_DRX;
    packets->header_bytes = DRX_HEADER_BYTES;
    packets->frame_bytes = DRX_BYTES;
    packets->samples = DRX_SAMPLES;
    packets->channels = 1;
    packets->bits = 4;
    packets->is_complex = 1;
    packets->rate = survey->first.decimation;
    packets->origin = survey->first.tag - survey->first.offset;
    packets->station = survey->first.beam;
}

/* Days of 86,400 s since 1970, as clocks of machines count. */
static struct utc drx_start(const struct packets *packets)
{
    uint64_t seconds = packets->origin / DRX_TICKS;
    return (struct utc){.mjd_day = UNIX_DAY + (int32_t)(seconds / 86400),
                        .second = (double)(seconds % 86400) +
                                  (double)(packets->origin % DRX_TICKS) / DRX_TICKS};
}

static status_t drx_check_layout(const struct job_layout *layout)
{
    status_t st = STATUS_OK;
    const char *word = layout->has_sample_rate     ? "sample_rate_hz"
                       : layout->has_sample_period ? "sample_period_s"
                       : layout->nstreams > 0      ? "streams"
                       : layout->station           ? "station"
                       : layout->has_dc            ? "dc"
                                                   : NULL;
    REQUIRE(!word, STATUS_USAGE, "input.layout.%s has no meaning for DRX, whose headers say it",
            word);
out:
    return st;
}

static status_t drx_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    const struct job_layout *layout = input->layout;
    struct archive *archive = NULL;
    struct drx_survey survey = {.has_first = 0};
    uint64_t npols = 0;
    uint64_t nchans = 0;
    TRY(drx_check_layout(layout));
    TRY(packet_files_create(input, "DRX", &archive));
    struct packets *packets = archive->parts[0].packets;
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY(drx_survey_file(&survey, &packets->files[i]));
    }
    drx_settle_packets(&survey, packets);
    TRY(drx_settle_streams(layout, &survey, archive, &npols, &nchans));
    TRY(memory_format(&archive->layout, "DRX: beam %u, decimated by %u", survey.first.beam,
                      survey.first.decimation));
    uint64_t ticks = (uint64_t)packets->samples * packets->rate;
    TRY(packet_files_settle_times(packets, ticks));
    TRY(packet_files_describe(layout, (double)DRX_TICKS / survey.first.decimation,
                              drx_start(packets), npols, nchans, archive));
    archive->has_receivers = 1;
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    return st;
}

const struct format drx_format = {.name = "drx",
                                  .title = "an LWA DRX recording",
                                  .is_no_product = 1,
                                  .recognise = drx_recognise,
                                  .open = drx_open};
