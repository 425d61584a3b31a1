/* VDIF: frames of a VLBI recorder. Their headers say times, threads and how numbers are stored, and
 * perhaps the sample rate; what the streams are, only the job can say. */
#include "base/byte_order.h"
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/formats.h"
#include "input/format/packet_files.h"
#include "input/format/recorder.h"
#include "input/format/said.h"
#include "input/format/vdif_first.h"
#include "input/format/vdif_survey.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/hdf5/h5.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Streams of VDIF: by the job's table, or as threads and channels are numbered. */

/* Notes one assumption for all threads with another clock. */
static status_t vdif_streams_note_clocks(const struct packets *packets, char **assumed)
{
    SCOPED(text_free) struct text late = {0};
    uint32_t nlate = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < packets->nthreads; i++) {
        if (packets->threads[i].behind > 0) {
            TRY(text_add(&late, "%s%u", nlate++ > 0 ? ", " : "", packets->threads[i].id));
            most = max_u64(most, packets->threads[i].behind);
        }
    }
    return assume_if(nlate > 0, assumed,
                     "the clock of %s %s is up to %" PRIu64
                     " s behind that of frames beside them: taken to be the same",
                     units_plural(nlate, "thread", "threads"), late.data, most);
}

/* Seconds that a thread's clock is behind that of the thread whose clock is farthest ahead. Some
 * recorders lose high bits of some threads' seconds. */
static uint64_t vdif_survey_behind(const struct vdif_survey *survey, uint32_t thread)
{
    int64_t most = survey->ahead[thread];
    for (uint32_t i = 0; i < PACKETS_THREADS; i++) {
        most = survey->has_thread[i] && survey->ahead[i] > most ? survey->ahead[i] : most;
    }
    return (uint64_t)(most - survey->ahead[thread]);
}

/* All threads, selected or not: the frames of others are found by their times. */
static status_t vdif_streams_add_threads(const struct vdif_survey *survey, char **assumed,
                                         struct packets *packets)
{
    TRY(memory_zeroed(PACKETS_THREADS, sizeof *packets->threads, "threads", &packets->threads));
    for (uint32_t id = 0; id < PACKETS_THREADS; id++) {
        if (survey->has_thread[id]) {
            packets->place[id] = (int16_t)packets->nthreads;
            packets->threads[packets->nthreads++] =
                (struct packets_thread){.id = id, .behind = vdif_survey_behind(survey, id)};
        }
    }
    return vdif_streams_note_clocks(packets, assumed);
}

/* Numbers the streams by threads and channels, without a table. */
static status_t vdif_streams_number(const struct job_layout *layout, struct archive *archive)
{
    struct packets *packets = archive->parts[0].packets;
    uint32_t nthreads = packets->nthreads;
    uint64_t count = (uint64_t)nthreads * packets->channels;
    TRY(memory_zeroed((size_t)count, sizeof *packets->streams, "streams", &packets->streams));
    TRY(memory_zeroed(nthreads, sizeof(char *), "names", &archive->names[AXIS_POL]));
    archive->count[AXIS_POL] = nthreads;
    packets->nstreams = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        packets->streams[i].thread = i / packets->channels;
        packets->streams[i].channel = i % packets->channels;
        packets->streams[i].is_alternating = layout->has_dc && layout->is_dc_at_edge;
    }
    for (uint32_t i = 0; i < nthreads; i++) {
        TRY(memory_format(&archive->names[AXIS_POL][i], "thread%u", packets->threads[i].id));
    }
    return assume(
        &archive->assumed,
        "VDIF says neither frequencies nor polarisations: its %u %s taken for %s, and the "
        "%u %s of a frame for %s; input.layout.streams says which is which",
        nthreads, units_plural(nthreads, "thread is", "threads are"),
        units_plural(nthreads, "a polarisation", "polarisations"), packets->channels,
        units_plural(packets->channels, "channel", "channels"),
        units_plural(packets->channels, "a coarse channel", "coarse channels"));
}

/* Place of a polarisation among the `count` first names; count: it is none of them. */
static uint64_t vdif_streams_pol(const struct archive *archive, uint64_t count, const char *pol)
{
    uint64_t at = 0;
    while (at < count && strcmp(archive->names[AXIS_POL][at], pol) != 0) {
        at++;
    }
    return at;
}

/* Lists the frequencies of the table, each once, ascending. */
static status_t vdif_streams_find_frequencies(const struct job_layout *layout,
                                              struct archive *archive)
{
    uint64_t kept = 0;
    TRY(memory_zeroed(layout->nstreams, sizeof(double), "frequencies", &archive->freq_hz));
    double *freq = archive->freq_hz;
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        freq[i] = layout->streams[i].freq_hz;
    }
    qsort(freq, layout->nstreams, sizeof *freq, compare_f64);
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        if (kept == 0 || freq[kept - 1] < freq[i]) {
            freq[kept++] = freq[i];
        }
    }
    archive->count[AXIS_CHAN] = kept;
    return STATUS_OK;
}

/* Lists the polarisations of the table, in its order. */
static status_t vdif_streams_find_pols(const struct job_layout *layout, struct archive *archive)
{
    uint64_t *count = &archive->count[AXIS_POL];
    TRY(memory_zeroed(layout->nstreams, sizeof(char *), "names", &archive->names[AXIS_POL]));
    *count = 0;
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        const char *pol = layout->streams[i].pol;
        if (vdif_streams_pol(archive, *count, pol) == *count) {
            TRY(memory_text(pol, &archive->names[AXIS_POL][*count]));
            (*count)++;
        }
    }
    return STATUS_OK;
}

/* Checks a row of the table by itself. */
static status_t vdif_streams_check(const struct job_stream *row, uint32_t number,
                                   const struct vdif_survey *survey, const struct archive *archive)
{
    const struct packets *packets = archive->parts[0].packets;
    REQUIRE(survey->has_thread[row->thread], STATUS_USAGE,
            "input.layout.streams.%u.thread is %u, of which %s has no frames among the first and "
            "last: %s",
            number, row->thread, archive->parts[0].path, archive->layout);
    REQUIRE(row->channel < packets->channels, STATUS_USAGE,
            "input.layout.streams.%u.channel is %u, but a frame of %s has channels 0 .. %u", number,
            row->channel, archive->parts[0].path, packets->channels - 1);
    return REQUIRED(
        packets->is_complex || row->dc == STREAM_DC_CENTRE, STATUS_USAGE,
        "input.layout.streams.%u.dc says where frequency 0 of complex samples is, but those of "
        "%s are real",
        number, archive->parts[0].path);
}

/* Its place among [pol][chan]. */
static uint64_t vdif_streams_place(const struct job_stream *row, const struct archive *archive)
{
    const size_t nchans = archive->count[AXIS_CHAN];
    const uint64_t pol = vdif_streams_pol(archive, archive->count[AXIS_POL], row->pol);
    const double *freq =
        bsearch(&row->freq_hz, archive->freq_hz, nchans, sizeof *freq, compare_f64);
    return pol * nchans + (uint64_t)(freq - archive->freq_hz);
}

/* In complex samples whose frequency falls, conjugates rise; and the lower edge of a band is the
 * upper edge of the one below: every other sign moves either to the centre. In real ones every
 * other sign turns the band round. */
static struct packets_stream vdif_streams_make(const struct job_stream *row,
                                               const struct packets *packets)
{
    const uint32_t falls = row->sideband < 0;
    return (struct packets_stream){
        .thread = (uint32_t)packets->place[row->thread],
        .channel = row->channel,
        .is_conjugated = packets->is_complex && falls,
        .is_alternating = packets->is_complex ? row->dc != STREAM_DC_CENTRE : falls,
    };
}

static status_t vdif_streams_check_table(const struct job_layout *layout,
                                         const struct archive *archive, const uint32_t *rows)
{
    const uint64_t nchans = archive->count[AXIS_CHAN];
    for (uint64_t i = 0; i < archive->count[AXIS_POL] * nchans; i++) {
        REQUIRE(
            rows[i] > 0, STATUS_USAGE,
            "input.layout.streams has no stream of pol %s at %.9g Hz: expected each of its %" PRIu64
            " polarisations at each of its %" PRIu64 " frequencies",
            archive->names[AXIS_POL][i / nchans], archive->freq_hz[i % nchans],
            archive->count[AXIS_POL], nchans);
    }
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        for (uint32_t j = 0; j < i; j++) {
            REQUIRE(layout->streams[i].thread != layout->streams[j].thread ||
                        layout->streams[i].channel != layout->streams[j].channel,
                    STATUS_USAGE,
                    "input.layout.streams.%u and .%u are the same channel %u of thread %u", j, i,
                    layout->streams[i].channel, layout->streams[i].thread);
        }
    }
    return STATUS_OK;
}

/* Lists the streams of the layout's table. */
static status_t vdif_streams_list(const struct job_layout *layout, const struct vdif_survey *survey,
                                  struct archive *archive)
{
    struct packets *packets = archive->parts[0].packets;
    SCOPED(free_at) uint32_t *rows = NULL; /* [pol][chan], from 1 on */
    TRY(vdif_streams_find_pols(layout, archive));
    TRY(vdif_streams_find_frequencies(layout, archive));
    uint64_t count = archive->count[AXIS_POL] * archive->count[AXIS_CHAN];
    TRY(memory_zeroed((size_t)count, sizeof *rows, "streams", &rows));
    TRY(memory_zeroed((size_t)count, sizeof *packets->streams, "streams", &packets->streams));
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        const struct job_stream *row = &layout->streams[i];
        TRY(vdif_streams_check(row, i, survey, archive));
        uint64_t place = vdif_streams_place(row, archive);
        REQUIRE(rows[place] == 0, STATUS_USAGE,
                "input.layout.streams.%u and .%u are both pol %s at %.9g Hz", rows[place] - 1, i,
                row->pol, row->freq_hz);
        rows[place] = i + 1;
        packets->streams[place] = vdif_streams_make(row, packets);
    }
    packets->nstreams = (uint32_t)count;
    packets->has_list = 1;
    archive->states.freq = 1;
    return vdif_streams_check_table(layout, archive, rows);
}

/* Sets threads and streams of the archive's packets, names of polarisations and frequencies: by
 * input.layout.streams, else threads are polarisations and a frame's channels coarse channels.
 * Fails with USAGE: streams that the files do not hold, or that are no table of pol by freq_hz. */
static status_t vdif_streams_settle(const struct job_layout *layout,
                                    const struct vdif_survey *survey, struct archive *archive)
{
    const char *word = override_has_frequencies(layout) ? "freq_hz"
                       : layout->has_sideband           ? "sideband"
                       : layout->has_dc                 ? "dc"
                                                        : NULL;
    REQUIRE(layout->nstreams == 0 || !word, STATUS_USAGE,
            "input.layout.%s stands beside streams, which say it of each", word);
    REQUIRE(
        !layout->has_dc || !layout->is_dc_at_edge || survey->first.is_complex, STATUS_USAGE,
        "input.layout.dc says where frequency 0 of complex samples is, but those of %s are real",
        archive->parts[0].path);
    struct packets *packets = archive->parts[0].packets;
    archive->count[AXIS_CHAN] = packets->channels;
    TRY(vdif_streams_add_threads(survey, &archive->assumed, packets));
    return layout->nstreams > 0 ? vdif_streams_list(layout, survey, archive)
                                : vdif_streams_number(layout, archive);
}

/* "2 bit complex, 64 channels in a frame, threads 0 1 2, of station Gs" */
static status_t vdif_describe(const struct vdif_survey *survey, struct text *out)
{
    enum { MOST_NAMED = 16 };
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
        TRY(survey->has_thread[i] && ++named <= MOST_NAMED ? text_add(out, " %u", i) : STATUS_OK);
    }
    return text_add(out, "%s, station %s", threads > MOST_NAMED ? " ..." : "",
                    vdif_station_name(first->station, name));
}

static status_t vdif_read_headers(const struct format_input *input, struct vdif_survey *survey,
                                  struct packets *packets)
{
    const struct vdif_header *first = &survey->first;
    const char *path = input->paths[0];
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY(vdif_survey_file(survey, &packets->files[i]));
    }
    uint32_t bits = first->bits;
    REQUIRE(bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32,
            STATUS_DATA,
            "%s: its VDIF frames contain numbers of %u bits, this program reads those of 1, 2, 4, "
            "8, 16 and 32",
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
    return STATUS_OK;
}

static int vdif_lists_thread(const struct job_layout *layout, uint32_t thread)
{
    int is_listed = 0;
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        is_listed = is_listed || layout->streams[i].thread == thread;
    }
    return is_listed;
}

/* Threads of which all frames are flagged invalid are streams of missing samples if the job lists
 * them. Others are not read: their numbers may mean nothing. */
static status_t vdif_settle_invalid(const struct job_layout *layout, struct vdif_survey *survey,
                                    char **assumed)
{
    enum { LEAST = 4 /* frames */ };
    SCOPED(text_free) struct text names = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < PACKETS_THREADS; i++) {
        if (!survey->has_thread[i] && survey->invalid[i] >= LEAST) {
            survey->has_thread[i] = (unsigned char)vdif_lists_thread(layout, i);
            TRY(survey->has_thread[i] ? STATUS_OK
                                      : text_add(&names, "%s%u", count++ > 0 ? ", " : "", i));
        }
    }
    return assume_if(count > 0, assumed,
                     "all frames of %s %s among the first and last are flagged invalid: not read; "
                     "input.layout.streams reads %s as missing samples",
                     units_plural(count, "thread", "threads"), names.data,
                     units_plural(count, "it", "them"));
}

/* Words of headers that are not as VDIF has them. */
static status_t vdif_note_headers(const struct vdif_survey *survey, char **assumed)
{
    int is_long = survey->first.is_legacy && survey->header_bytes == VDIF_BYTES;
    TRY(assume_unless(
        survey->first.unassigned == 0, assumed,
        "bits 30 and 31 of word 1, which VDIF does not assign, are %u: they are not used",
        survey->first.unassigned));
    return assume_unless(
        !is_long && !survey->is_unsure, assumed, "headers are flagged legacy (16 bytes), %s",
        is_long ? "but bytes 16 to 31 of frames are no samples: headers are taken to have 32 bytes"
                : "and bytes 20 to 23 are the same in all frames: they are taken for samples");
}

/* Settles the validity mask of channels (EDV 4). */
static status_t vdif_settle_mask(const struct vdif_survey *survey, struct archive *archive)
{
    const struct vdif_header *first = &survey->first;
    struct packets *packets = archive->parts[0].packets;
    if (first->edv != 4) {
        return STATUS_OK;
    }
    packets->mask_bits = first->has_mask ? first->mask_bits : 0;
    REQUIRE(packets->mask_bits == 0 || (packets->mask_bits <= PACKETS_GROUPS &&
                                        packets->channels % packets->mask_bits == 0),
            STATUS_DATA,
            "%s: its VDIF headers (EDV 4) have a validity mask of %u bits for %u channels: "
            "expected 1 to 64 bits, a number that divides that of channels",
            archive->parts[0].path, packets->mask_bits, packets->channels);
    return assume_unless(packets->mask_bits > 0, &archive->assumed,
                         "headers of EDV 4 %s: all channels are taken to be valid",
                         first->has_mask ? "have a validity mask of 0 bits"
                                         : "lack the sync word of a validity mask");
}

/* Whether a number of frames a second agrees with a count: the last ones of seconds may be lost. */
static int vdif_is_counted(double frames, uint32_t counted)
{
    enum { LEAST_LOST = 8 };
    uint32_t lost = counted / 16 > LEAST_LOST ? counted / 16 : LEAST_LOST;
    return counted == 0 || (frames >= counted && frames <= counted + lost);
}

/* "thread 1 has 80 frames in the second from 2014-01-01T00:16:42.000000 on" */
static status_t vdif_count_describe(const struct vdif_counted *counted, struct text *out)
{
    return text_add(out, "thread %u has %u frames in the second from %s on", counted->thread,
                    counted->frames,
                    units_utc(utc_add(vdif_epoch_utc(0), (double)counted->second)));
}

/* Fails with DATA where seconds of a thread are proven to have fewer frames than others: path,
 * threads, times, counts. The last frames of seconds may be lost, but hardly all but one of two or
 * more equal parts. */
static status_t vdif_count_check(const struct vdif_survey *survey, const char *path)
{
    SCOPED(text_free) struct text few = {0};
    SCOPED(text_free) struct text most = {0};
    const struct vdif_counted *fewest = &survey->fewest;
    if (fewest->frames == 0 || fewest->frames >= survey->most.frames ||
        (vdif_is_counted(survey->most.frames, fewest->frames) &&
         survey->most.frames % fewest->frames != 0)) {
        return STATUS_OK;
    }
    TRY(vdif_count_describe(fewest, &few));
    TRY(vdif_count_describe(&survey->most, &most));
    return report_fail(
        STATUS_DATA,
        "%s: %s, as in another one, but %s: its frames are of two sample rates; "
        "input.layout.sample_rate_hz says the rate of all, at which the others are lost",
        path, few.data, most.data);
}

/* Real samples of a rate that headers state. EDV 3 states half of it; frames may tell about EDV 1.
 */
static status_t vdif_find_real_rate(const struct vdif_survey *survey, uint32_t samples,
                                    char **assumed, double *out)
{
    const struct vdif_header *first = &survey->first;
    uint32_t counted = survey->most.frames;
    int is_half =
        first->edv == 3 || counted == 0 || !vdif_is_counted(first->rate_hz / samples, counted);
    *out = is_half ? 2 * first->rate_hz : first->rate_hz;
    return assume_unless(first->edv == 3 || counted > 0, assumed,
                         "no second ends in the files, so the %.9g Hz of their headers (EDV %u) "
                         "are taken for half the rate of real samples",
                         first->rate_hz, first->edv);
}

/* Samples a second: as the job says, as headers do, as frames are counted. */
static status_t vdif_find_rate(const struct format_input *input, const struct vdif_survey *survey,
                               struct archive *archive, double *out)
{
    const double said = archive->sample_rate_hz; /* by the job */
    const uint32_t samples = archive->parts[0].packets->samples;
    char **assumed = &archive->assumed;
    const struct vdif_header *first = &survey->first;
    uint32_t counted = survey->most.frames;
    double rate = said;
    if (said == 0 && first->rate_hz > 0) {
        rate = first->rate_hz;
        TRY(first->is_complex ? STATUS_OK : vdif_find_real_rate(survey, samples, assumed, &rate));
    } else if (said == 0 && counted > 0) {
        rate = (double)counted * samples;
        TRY(vdif_count_check(survey, input->paths[0]));
        TRY(assume(assumed,
                   "no header states the sample rate: it is counted, %u frames a second, since the "
                   "highest frame number of seconds that end in the files is %u",
                   counted, counted - 1));
        TRY(assume_unless(survey->has_zero || survey->ones < 2, assumed,
                          "seconds begin with frame 1: frames 0 are lost (if frames are numbered "
                          "from 1, there are %u a second: input.layout.sample_rate_hz)",
                          counted - 1));
    }
    REQUIRE(rate > 0, STATUS_USAGE,
            "%s (%s, %u samples each): input.layout.sample_rate_hz is missing, headers do not say "
            "it, and no second ends in the file%s",
            input->paths[0], archive->layout, samples,
            first->channels_log2 > 0 && !input->layout->streams
                ? "; freq_hz of its channels, or streams, must be there, too"
                : "");
    REQUIRE(vdif_is_counted(rate / samples, counted), STATUS_DATA,
            "%s: its frames are counted up to %u in a second, but %.9g samples a second%s, %u in a "
            "frame, make %.9g",
            input->paths[0], counted, rate,
            said > 0 ? " (input.layout.sample_rate_hz)" : ", as headers say", samples,
            rate / samples);
    *out = rate;
    return STATUS_OK;
}

static status_t vdif_settle_rate(const struct format_input *input, const struct vdif_survey *survey,
                                 struct archive *archive, double *rate)
{
    struct packets *packets = archive->parts[0].packets;
    TRY(vdif_find_rate(input, survey, archive, rate));
    double frames = *rate / packets->samples;
    REQUIRE(frames >= 0.5 && frames < 0x1p24 && fabs(frames - round(frames)) < 1e-6 * frames,
            archive->sample_rate_hz > 0 ? STATUS_USAGE : STATUS_DATA,
            "%s: %.9g samples a second, %u in a frame, are %.9g frames: expected a whole number of "
            "VDIF frames in a second",
            input->paths[0], *rate, packets->samples, frames);
    packets->rate = (uint64_t)round(frames);
    return STATUS_OK;
}

static status_t vdif_open(const struct format_input *input, struct archive **out)
{
    SCOPED(free_at) struct vdif_survey *survey = NULL;
    SCOPED(text_free) struct text seen = {0};
    double rate = 0;
    TRY(packet_files_create(input, "VDIF", 0, out));
    struct archive *archive = *out;
    TRY(memory_zeroed(1, sizeof *survey, "what frames say", &survey));
    survey->wanted = input->layout->station;
    struct packets *packets = archive->parts[0].packets;
    TRY(vdif_read_headers(input, survey, packets));
    TRY(vdif_settle_invalid(input->layout, survey, &archive->assumed));
    TRY(vdif_describe(survey, &seen));
    TRY(memory_format(&archive->layout, "VDIF: %s", seen.data));
    TRY(vdif_note_headers(survey, &archive->assumed));
    TRY(vdif_settle_mask(survey, archive));
    TRY(vdif_settle_rate(input, survey, archive, &rate));
    TRY(vdif_streams_settle(input->layout, survey, archive));
    TRY(packet_files_settle_times(packets, 1));
    /* UTC of period 0: whole seconds of the reference epoch's count, then frames. */
    struct utc start = utc_add(vdif_epoch_utc(0), (double)(packets->origin / packets->rate));
    start.second += (double)(packets->origin % packets->rate) / (double)packets->rate;
    TRY(packet_files_describe(input->layout, rate, start, archive));
    /* Real channels are those of baseband converters, tuned one by one; complex ones may be those
     * of a filter bank. */
    archive->has_receivers = !archive->is_complex;
    return STATUS_OK;
}

/* A Mark 6 scatters blocks of frames over its disks: one of its files is no recording. */
static const uint32_t MARK6_SCATTERED = 0xfeed6666;

/* Frames may begin behind the first byte, which must be a frame like them, flagged, or fill: other
 * files hold bytes like headers, too. A file of a single frame must be no longer, and say by its
 * extended data what it is. */
static status_t vdif_recognise(const char *path, int *is_it)
{
    struct identity identity;
    struct vdif_header first = {0};
    struct vdif_header found;
    unsigned char bytes[VDIF_BYTES] = {0};
    uint64_t begin = 0;
    SCOPED(file_close_at) int fd = -1;
    *is_it = 0;
    TRY(recorder_open_begin(path, &fd, &identity));
    /* Others' files are searched for frames for long. */
    if (fd < 0 || identity.bytes < VDIF_LEGACY_BYTES || h5_is_hdf5(path) > 0) {
        return STATUS_OK;
    }
    const struct packets_seek seek = {.fd = fd, .path = path, .bytes = identity.bytes};
    TRY(file_read(fd, path, 0, bytes, min_u64(sizeof bytes, identity.bytes)));
    if (load_u32(bytes, 0) == MARK6_SCATTERED) {
        return STATUS_OK;
    }
    vdif_header_read(bytes, &first);
    int is_late = first.is_fill || first.is_invalid;
    if (is_late || vdif_is_possible(&first)) {
        TRY(vdif_find_first(&seek, is_late ? VDIF_FILL_SEEK : VDIF_SHORT_SEEK,
                            is_late ? NULL : &first, &found, &begin, is_it));
        *is_it = *is_it || (!is_late && identity.bytes == first.bytes && first.edv <= 4);
    }
    /* Such files are refused when they are opened. */
    TRY(*is_it ? STATUS_OK : vdif_find_numbered(&seek, &found, is_it));
    return *is_it || !vdif_is_possible(&first) ? STATUS_OK
                                               : vdif_find_unlike(&seek, 0, &first, &found, is_it);
}

const struct format vdif_format = {
    .name = "vdif", .is_no_product = 1, .recognise = vdif_recognise, .open = vdif_open};
