/* Streams of VDIF: by the job's table, or as threads and channels are numbered. */
#include "input/format/vdif_streams.h"

#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/override.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One assumption of all threads whose clock is another one. */
static status_t vdif_streams_note_clocks(const struct packets *packets, char **assumed)
{
    status_t st = STATUS_OK;
    struct text late = {0};
    uint32_t nlate = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < packets->nthreads; i++) {
        if (packets->threads[i].behind > 0) {
            TRY(text_add(&late, "%s%u", nlate++ > 0 ? ", " : "", packets->threads[i].id));
            most = max_u64(most, packets->threads[i].behind);
        }
    }
    if (nlate > 0) {
        TRY(assume(assumed,
                   "the clock of %s %s is up to %" PRIu64
                   " s behind that of frames beside them: taken to be the same",
                   units_plural(nlate, "thread", "threads"), late.data, most));
    }
out:
    text_free(&late);
    return st;
}

/* All threads, wanted or not: their times tell where others are. */
static status_t vdif_streams_add_threads(const struct vdif_survey *survey, char **assumed,
                                         struct packets *packets)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(PACKETS_THREADS, sizeof *packets->threads, "threads", &packets->threads));
    for (uint32_t id = 0; id < PACKETS_THREADS; id++) {
        if (survey->has_thread[id]) {
            packets->place[id] = (int16_t)packets->nthreads;
            packets->threads[packets->nthreads++] =
                (struct packets_thread){.id = id, .behind = vdif_survey_behind(survey, id)};
        }
    }
    TRY(vdif_streams_note_clocks(packets, assumed));
out:
    return st;
}

/* Without a table. */
static status_t vdif_streams_number(const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
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
    TRY(assume(&archive->assumed,
               "VDIF says neither frequencies nor polarisations: its %u %s taken for %s, and the "
               "%u %s of a frame for %s; input.layout.streams says which is which",
               nthreads, units_plural(nthreads, "thread is", "threads are"),
               units_plural(nthreads, "a polarisation", "polarisations"), packets->channels,
               units_plural(packets->channels, "channel", "channels"),
               units_plural(packets->channels, "a coarse channel", "coarse channels")));
out:
    return st;
}

static int vdif_streams_compare(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

/* All frequencies of the table, each once, ascending. */
static status_t vdif_streams_find_frequencies(const struct job_layout *layout,
                                              struct archive *archive, uint64_t *count)
{
    status_t st = STATUS_OK;
    uint64_t kept = 0;
    TRY(memory_zeroed(layout->nstreams, sizeof(double), "frequencies", &archive->freq_hz));
    double *freq = archive->freq_hz;
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        freq[i] = layout->streams[i].freq_hz;
    }
    qsort(freq, layout->nstreams, sizeof *freq, vdif_streams_compare);
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        if (kept == 0 || freq[kept - 1] < freq[i]) {
            freq[kept++] = freq[i];
        }
    }
    *count = kept;
out:
    return st;
}

/* All polarisations of the table, in its order. */
static status_t vdif_streams_find_pols(const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t *count = &archive->count[AXIS_POL];
    TRY(memory_zeroed(layout->nstreams, sizeof(char *), "names", &archive->names[AXIS_POL]));
    *count = 0;
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        uint64_t at = 0;
        while (at < *count && strcmp(archive->names[AXIS_POL][at], layout->streams[i].pol) != 0) {
            at++;
        }
        if (at == *count) {
            TRY(memory_text(layout->streams[i].pol, &archive->names[AXIS_POL][at]));
            (*count)++;
        }
    }
out:
    return st;
}

/* A row of the table by itself. */
static status_t vdif_streams_check(const struct job_stream *row, uint32_t number,
                                   const struct vdif_survey *survey, const struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct packets *packets = archive->parts[0].packets;
    REQUIRE(survey->has_thread[row->thread], STATUS_USAGE,
            "input.layout.streams.%u.thread is %u, of which %s has no frames among the first and "
            "last: %s",
            number, row->thread, archive->parts[0].path, archive->layout);
    REQUIRE(row->channel < packets->channels, STATUS_USAGE,
            "input.layout.streams.%u.channel is %u, but a frame of %s has channels 0 .. %u", number,
            row->channel, archive->parts[0].path, packets->channels - 1);
    REQUIRE(packets->is_complex || row->dc == STREAM_DC_CENTRE, STATUS_USAGE,
            "input.layout.streams.%u.dc says where frequency 0 of complex samples is, but those "
            "of %s are real",
            number, archive->parts[0].path);
out:
    return st;
}

/* Its place among [pol][chan]. */
static uint64_t vdif_streams_place(const struct job_stream *row, const struct archive *archive,
                                   uint64_t nchans)
{
    uint64_t pol = 0;
    while (strcmp(archive->names[AXIS_POL][pol], row->pol) != 0) {
        pol++;
    }
    const double *freq = bsearch(&row->freq_hz, archive->freq_hz, (size_t)nchans, sizeof *freq,
                                 vdif_streams_compare);
    return pol * nchans + (uint64_t)(freq - archive->freq_hz);
}

/* Of complex samples whose frequency falls, conjugates rise; and the lower edge of a band is the
 * upper edge of the one below: every other sign moves either to the centre. Of real ones every
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
                                         const struct archive *archive, const uint32_t *rows,
                                         uint64_t nchans)
{
    status_t st = STATUS_OK;
    for (uint64_t i = 0; i < archive->count[AXIS_POL] * nchans; i++) {
        REQUIRE(rows[i] > 0, STATUS_USAGE,
                "input.layout.streams has no stream of pol %s at %.9g Hz: expected each of its "
                "%" PRIu64 " polarisations at each of its %" PRIu64 " frequencies",
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
out:
    return st;
}

/* By the table. */
static status_t vdif_streams_list(const struct job_layout *layout, const struct vdif_survey *survey,
                                  struct archive *archive, uint64_t *nchans)
{
    status_t st = STATUS_OK;
    struct packets *packets = archive->parts[0].packets;
    uint32_t *rows = NULL; /* [pol][chan], from 1 on */
    TRY(vdif_streams_find_pols(layout, archive));
    TRY(vdif_streams_find_frequencies(layout, archive, nchans));
    uint64_t count = archive->count[AXIS_POL] * *nchans;
    TRY(memory_zeroed((size_t)count, sizeof *rows, "streams", &rows));
    TRY(memory_zeroed((size_t)count, sizeof *packets->streams, "streams", &packets->streams));
    for (uint32_t i = 0; i < layout->nstreams; i++) {
        const struct job_stream *row = &layout->streams[i];
        TRY(vdif_streams_check(row, i, survey, archive));
        uint64_t place = vdif_streams_place(row, archive, *nchans);
        REQUIRE(rows[place] == 0, STATUS_USAGE,
                "input.layout.streams.%u and .%u are both pol %s at %.9g Hz", rows[place] - 1, i,
                row->pol, row->freq_hz);
        rows[place] = i + 1;
        packets->streams[place] = vdif_streams_make(row, packets);
    }
    packets->nstreams = (uint32_t)count;
    packets->has_list = 1;
    archive->states.freq = 1;
    TRY(vdif_streams_check_table(layout, archive, rows, *nchans));
out:
    free(rows);
    return st;
}

status_t vdif_streams_settle(const struct job_layout *layout, const struct vdif_survey *survey,
                             struct archive *archive, uint64_t *npols, uint64_t *nchans)
{
    status_t st = STATUS_OK;
    const char *word = override_has_frequencies(layout) ? "freq_hz"
                       : layout->has_sideband           ? "sideband"
                       : layout->has_dc                 ? "dc"
                                                        : NULL;
    REQUIRE(layout->nstreams == 0 || !word, STATUS_USAGE,
            "input.layout.%s stands beside streams, which say it of each", word);
    REQUIRE(!layout->has_dc || !layout->is_dc_at_edge || survey->first.is_complex, STATUS_USAGE,
            "input.layout.dc says where frequency 0 of complex samples is, but those of %s are "
            "real",
            archive->parts[0].path);
    struct packets *packets = archive->parts[0].packets;
    *nchans = packets->channels;
    TRY(vdif_streams_add_threads(survey, &archive->assumed, packets));
    TRY(layout->nstreams > 0 ? vdif_streams_list(layout, survey, archive, nchans)
                             : vdif_streams_number(layout, archive));
    *npols = archive->count[AXIS_POL];
out:
    return st;
}
