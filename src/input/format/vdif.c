/* VDIF: frames of a VLBI recorder. Their headers say times, threads and how numbers are stored, and
 * perhaps the sample rate; what the streams are, only the job can say. */
#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/formats.h"
#include "input/format/packet_files.h"
#include "input/format/vdif_count.h"
#include "input/format/vdif_streams.h"
#include "input/format/vdif_survey.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* "2 bit complex, 64 channels in a frame, threads 0 1 2, of station Gs" */
static status_t vdif_describe(const struct vdif_survey *survey, struct text *out)
{
    enum { MOST_NAMED = 16 };
    status_t st = STATUS_OK;
    char name[UNITS_TEXT];
    uint32_t threads = 0;
    uint32_t named = 0;
    const struct vdif_header *first = &survey->first;
    TRY(text_add(out, "%u bit %s, %u %s in a frame of %" PRIu64 " bytes, ", first->bits,
                 first->is_complex ? "complex" : "real", 1u << first->channels_log2,
                 units_plural(1u << first->channels_log2, "channel", "channels"), first->bytes));
    for (uint32_t i = 0; i < PACKETS_THREADS; i++) {
        threads += survey->has_thread[i] ? 1 : 0;
    }
    TRY(text_add(out, "%s", units_plural(threads, "thread", "threads")));
    for (uint32_t i = 0; i < PACKETS_THREADS; i++) {
        if (survey->has_thread[i] && ++named <= MOST_NAMED) {
            TRY(text_add(out, " %u", i));
        }
    }
    TRY(text_add(out, "%s, station %s", threads > MOST_NAMED ? " ..." : "",
                 vdif_station_name(first->station, name)));
out:
    return st;
}

static status_t vdif_read_headers(const struct format_input *input, struct vdif_survey *survey,
                                  struct packets *packets)
{
    status_t st = STATUS_OK;
    const struct vdif_header *first = &survey->first;
    const char *path = input->paths[0];
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY(vdif_survey_file(survey, &packets->files[i]));
    }
    uint32_t bits = first->bits;
    REQUIRE(bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32,
            STATUS_DATA,
            "%s: its VDIF frames hold numbers of %u bits, this program reads those of 1, 2, 4, 8, "
            "16 and 32",
            path, bits);
    packets->kind = PACKETS_VDIF;
    packets->header_bytes = survey->header_bytes;
    packets->frame_bytes = first->bytes;
    packets->channels = 1u << first->channels_log2;
    packets->bits = bits;
    packets->is_complex = first->is_complex;
    packets->is_legacy = first->is_legacy;
    packets->station = first->station;
    packets->has_others = survey->wanted != NULL;
    packets->mark = survey->mark;
    packets->stated_rate_hz = first->rate_hz;
    uint64_t step = (uint64_t)packets->channels * bits * (packets->is_complex ? 2 : 1);
    uint64_t payload = 8 * (first->bytes - packets->header_bytes);
    REQUIRE(payload % step == 0 && payload / step < UINT32_MAX, STATUS_DATA,
            "%s: the %" PRIu64 " bits of a VDIF frame are no whole number of times of %" PRIu64
            " bits",
            path, payload, step);
    packets->samples = (uint32_t)(payload / step);
out:
    return st;
}

/* Words of headers that are not as VDIF has them. */
static status_t vdif_note_headers(const struct vdif_survey *survey, char **assumed)
{
    status_t st = STATUS_OK;
    int is_long = survey->first.is_legacy && survey->header_bytes == VDIF_BYTES;
    TRY(survey->first.unassigned == 0
            ? STATUS_OK
            : assume(assumed,
                     "bits 30 and 31 of word 1, which VDIF does not assign, are %u: they "
                     "are not used",
                     survey->first.unassigned));
    TRY(!is_long && !survey->is_unsure
            ? STATUS_OK
            : assume(assumed, "headers are flagged legacy (16 bytes), %s",
                     is_long ? "but bytes 16 to 31 of frames are no samples: headers are taken to "
                               "have 32 bytes"
                             : "and bytes 20 to 23 are the same in all frames: they are taken for "
                               "samples"));
out:
    return st;
}

/* EDV 4: the validity mask of channels. */
static status_t vdif_settle_mask(const struct vdif_survey *survey, struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct vdif_header *first = &survey->first;
    struct packets *packets = archive->parts[0].packets;
    if (first->edv != 4) {
        goto out;
    }
    packets->mask_bits = first->has_mask ? first->mask_bits : 0;
    REQUIRE(packets->mask_bits == 0 || (packets->mask_bits <= PACKETS_GROUPS &&
                                        packets->channels % packets->mask_bits == 0),
            STATUS_DATA,
            "%s: its VDIF headers (EDV 4) have a validity mask of %u bits for %u channels: "
            "expected 1 to 64 bits, a number that divides that of channels",
            archive->parts[0].path, packets->mask_bits, packets->channels);
    TRY(packets->mask_bits > 0
            ? STATUS_OK
            : assume(&archive->assumed, "headers of EDV 4 %s: all channels are taken to be valid",
                     first->has_mask ? "have a validity mask of 0 bits"
                                     : "lack the sync word of a validity mask"));
out:
    return st;
}

/* Real samples of a rate that headers state. EDV 3 states half of it; frames may tell about EDV 1.
 */
static status_t vdif_find_real_rate(const struct vdif_survey *survey, uint32_t samples,
                                    char **assumed, double *out)
{
    status_t st = STATUS_OK;
    const struct vdif_header *first = &survey->first;
    uint32_t counted = survey->most.frames;
    int is_half =
        first->edv == 3 || counted == 0 || !vdif_is_counted(first->rate_hz / samples, counted);
    *out = is_half ? 2 * first->rate_hz : first->rate_hz;
    TRY(first->edv == 3 || counted > 0
            ? STATUS_OK
            : assume(assumed,
                     "no second ends in the files, so the %.9g Hz of their headers (EDV %u) are "
                     "taken for half the rate of real samples",
                     first->rate_hz, first->edv));
out:
    return st;
}

/* Samples a second: as the job says, as headers do, as frames are counted. */
static status_t vdif_find_rate(const struct format_input *input, const struct vdif_survey *survey,
                               double said, uint32_t samples, char **assumed, double *out)
{
    status_t st = STATUS_OK;
    const struct vdif_header *first = &survey->first;
    uint32_t counted = survey->most.frames;
    struct text seen = {0};
    double rate = said;
    TRY(vdif_describe(survey, &seen));
    if (said == 0 && first->rate_hz > 0) {
        rate = first->rate_hz;
        TRY(first->is_complex ? STATUS_OK : vdif_find_real_rate(survey, samples, assumed, &rate));
    } else if (said == 0 && counted > 0) {
        rate = (double)counted * samples;
        TRY(vdif_count_check(survey, input->paths[0]));
        TRY(assume(assumed,
                   "no header states the sample rate: it is counted, %u frames a second, since "
                   "the highest frame number of seconds that end in the files is %u",
                   counted, counted - 1));
    }
    REQUIRE(rate > 0, STATUS_USAGE,
            "%s (VDIF: %s, %u samples each): input.layout.sample_rate_hz is missing, headers do "
            "not say it, and no second ends in the file%s",
            input->paths[0], seen.data, samples,
            first->channels_log2 > 0 && !input->layout->streams
                ? "; freq_hz of its channels, or streams, must be there, too"
                : "");
    REQUIRE(vdif_is_counted(rate / samples, counted), STATUS_DATA,
            "%s: its frames are counted up to %u in a second, but %.9g samples a second%s, %u in "
            "a frame, make %.9g",
            input->paths[0], counted, rate,
            said > 0 ? " (input.layout.sample_rate_hz)" : ", as headers say", samples,
            rate / samples);
    *out = rate;
out:
    text_free(&seen);
    return st;
}

static status_t vdif_settle_rate(const struct format_input *input, const struct vdif_survey *survey,
                                 struct archive *archive, double *rate)
{
    status_t st = STATUS_OK;
    double said = archive->sample_rate_hz; /* by the job */
    struct packets *packets = archive->parts[0].packets;
    TRY(vdif_find_rate(input, survey, said, packets->samples, &archive->assumed, rate));
    double frames = *rate / packets->samples;
    REQUIRE(frames >= 0.5 && frames < 0x1p24 && fabs(frames - round(frames)) < 1e-6 * frames,
            said > 0 ? STATUS_USAGE : STATUS_DATA,
            "%s: %.9g samples a second, %u in a frame, are %.9g frames: expected a whole number "
            "of VDIF frames in a second",
            input->paths[0], *rate, packets->samples, frames);
    packets->rate = (uint64_t)round(frames);
out:
    return st;
}

/* UTC of period 0: whole seconds of the reference epoch's count, then frames. */
static struct utc vdif_start(const struct packets *packets)
{
    struct utc utc = utc_add(vdif_epoch_utc(0), (double)(packets->origin / packets->rate));
    utc.second += (double)(packets->origin % packets->rate) / (double)packets->rate;
    return utc;
}

static status_t vdif_say_layout(const struct vdif_survey *survey, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY(text_add(&text, "VDIF: "));
    TRY(vdif_describe(survey, &text));
    TRY(memory_text(text.data, &archive->layout));
out:
    text_free(&text);
    return st;
}

static status_t vdif_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    struct vdif_survey *survey = NULL;
    double rate = 0;
    uint64_t npols = 0;
    uint64_t nchans = 0;
    TRY(packet_files_create(input, "VDIF", &archive));
    TRY(memory_zeroed(1, sizeof *survey, "what frames say", &survey));
    survey->wanted = input->layout->station;
    struct packets *packets = archive->parts[0].packets;
    TRY(vdif_read_headers(input, survey, packets));
    TRY(vdif_say_layout(survey, archive));
    TRY(vdif_note_headers(survey, &archive->assumed));
    TRY(vdif_settle_mask(survey, archive));
    TRY(vdif_settle_rate(input, survey, archive, &rate));
    TRY(vdif_streams_settle(input->layout, survey, archive, &npols, &nchans));
    TRY(packet_files_settle_times(packets, 1));
    TRY(packet_files_describe(input->layout, rate, vdif_start(packets), npols, nchans, archive));
    /* Real channels are those of baseband converters, tuned one by one; complex ones may be those
     * of a filter bank. */
    archive->has_receivers = !archive->is_complex;
    *out = archive;
    archive = NULL;
out:
    free(survey);
    archive_destroy(archive);
    return st;
}

const struct format vdif_format = {.name = "vdif",
                                   .title = "a VDIF recording",
                                   .is_no_product = 1,
                                   .recognise = vdif_survey_recognise,
                                   .open = vdif_open};
