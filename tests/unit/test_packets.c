/* VDIF frames in random order, lost, repeated, flagged, read in random cuts: against plain lists of
 * what was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/report.h"
#include "input/open.h"
#include "input/packets/packets.h"
#include "input/read/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIALS = 120, CUTS = 12, MOST_PERIODS = 400, MOST_FRAMES = 4000, MOST_SAMPLES = 64 };
enum { LATE = 30 /* periods: within the window of up to 8 threads */, EPOCH = 30 };

static char folder[] = "/tmp/voltmill-test-packets-XXXXXX";
static uint64_t state = 11;

/* 0 .. below - 1 */
static uint64_t dice(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* A recording of threads that all have the same channels. */
struct recording {
    uint32_t threads, channels_log2, bits, samples, header, rate, periods, frames;
    uint32_t first_second, first_frame; /* of period 0 */
    int is_complex;
    struct job_stream streams[32];
    uint32_t nstreams;
    /* Content of its frames: stored numbers, [period][thread] of a frame's payload. */
    unsigned char *payloads;
    char *is_there;
    uint64_t payload_bytes;
};

struct frame {
    uint64_t place;
    uint32_t period, thread;
    enum { GOOD, INVALID, REPEATED, FILL } kind;
};

static int by_place(const void *left, const void *right)
{
    const struct frame *a = left;
    const struct frame *b = right;
    return (a->place > b->place) - (a->place < b->place);
}

static void put_word(unsigned char *at, uint32_t word)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(word >> 8 * i);
    }
}

static void write_header(const struct recording *r, uint32_t period, uint32_t thread,
                         int is_invalid, unsigned char *out)
{
    uint32_t number = r->first_frame + period;
    uint64_t bytes = r->header + r->payload_bytes;
    memset(out, 0, r->header);
    put_word(out, (uint32_t)is_invalid << 31 | (uint32_t)(r->header == 16) << 30 |
                      (r->first_second + number / r->rate));
    put_word(out + 4, EPOCH << 24 | number % r->rate);
    put_word(out + 8, 1u << 29 | r->channels_log2 << 24 | (uint32_t)(bytes / 8));
    put_word(out + 12, (uint32_t)r->is_complex << 31 | (r->bits - 1) << 26 | thread << 16 |
                           (uint32_t)('T' << 8 | 'x'));
}

static void write_frame(const struct recording *r, const struct frame *frame, unsigned char *out)
{
    uint64_t at = ((uint64_t)frame->period * r->threads + frame->thread) * r->payload_bytes;
    if (frame->kind == FILL) {
        memset(out, 0, r->header + r->payload_bytes);
        uint32_t word = dice(2) ? 0x11223344 : 0;
        for (uint32_t i = 0; i < r->header / 4; i++) {
            put_word(out + 4 * i, word);
        }
        return;
    }
    write_header(r, frame->period, frame->thread, frame->kind == INVALID, out);
    memcpy(out + r->header, r->payloads + at, r->payload_bytes);
    if (frame->kind != GOOD) {
        out[r->header] ^= 0xff;
    }
}

static void random_streams(struct recording *r)
{
    static char pols[][2] = {"a", "b", "c"};
    for (uint32_t i = 0; i < r->threads << r->channels_log2; i++) {
        struct job_stream *stream = &r->streams[r->nstreams++];
        *stream = (struct job_stream){.thread = i >> r->channels_log2,
                                      .channel = i & ((1u << r->channels_log2) - 1),
                                      .pol = pols[i >> r->channels_log2],
                                      .sideband = dice(2) ? 1 : -1,
                                      .dc = r->is_complex ? (enum stream_dc)dice(3) : 0};
        stream->freq_hz = 1e6 * stream->channel;
        if (r->bits == 4 && r->samples % 3 == 0) {
            stream->sideband = 1;
            stream->dc = STREAM_DC_CENTRE;
        }
    }
}

static void random_recording(struct recording *r)
{
    static const uint32_t all_bits[] = {1, 2, 4, 8, 16, 32};
    *r = (struct recording){.threads = 1 + (uint32_t)dice(3),
                            .channels_log2 = (uint32_t)dice(4),
                            .bits = all_bits[dice(6)],
                            .header = dice(2) ? 32 : 16,
                            .is_complex = (int)dice(2),
                            .rate = 3 + (uint32_t)dice(60),
                            .first_second = 1000000 + (uint32_t)dice(1000),
                            .periods = 1 + (uint32_t)dice(MOST_PERIODS)};
    r->first_frame = (uint32_t)dice(r->rate);
    uint32_t step = (r->bits << r->channels_log2) * (r->is_complex ? 2 : 1);
    uint32_t least = step >= 64 ? 1 : 64 / step;
    r->samples = least * (1 + (uint32_t)dice(max_u64(1, MOST_SAMPLES / least)));
    r->payload_bytes = (uint64_t)step * r->samples / 8;
    r->payloads = calloc((size_t)r->periods * r->threads, (size_t)r->payload_bytes);
    r->is_there = calloc((size_t)r->periods * r->threads, 1);
    assert_non_null(r->payloads);
    assert_non_null(r->is_there);
    for (uint64_t i = 0; i < (uint64_t)r->periods * r->threads * r->payload_bytes; i++) {
        r->payloads[i] = (unsigned char)dice(256);
    }
    random_streams(r);
}

/* The frames of a recording in the order of a file; those of the first and last period are there,
 * so that the observation is known. */
static uint32_t random_frames(const struct recording *r, struct frame *frames)
{
    uint32_t count = 0;
    uint64_t losing = dice(3) * 15;
    for (uint32_t i = 0; i < r->periods * r->threads; i++) {
        uint32_t period = i / r->threads;
        int is_end = period == 0 || period + 1 == r->periods;
        uint64_t place = 1000 * (uint64_t)period + dice(1000 * LATE);
        if (dice(20) == 0) {
            frames[count++] = (struct frame){place + dice(9), period, i % r->threads, FILL};
        }
        if (!is_end && dice(100) < losing) {
            continue;
        }
        int is_invalid = !is_end && dice(20) == 0;
        r->is_there[i] = !is_invalid;
        frames[count++] =
            (struct frame){place, period, i % r->threads, is_invalid ? INVALID : GOOD};
        if (!is_invalid && dice(20) == 0) {
            frames[count++] =
                (struct frame){place + 1 + dice(99), period, i % r->threads, REPEATED};
        }
    }
    qsort(frames, count, sizeof *frames, by_place);
    for (uint32_t i = 0; frames[0].kind == FILL; i++) {
        frames[0] = frames[i]; /* what comes first says how long frames are */
    }
    return count;
}

static void write_file(const struct recording *r, const struct frame *frames, uint32_t count,
                       const char *path)
{
    unsigned char *bytes = malloc(r->header + r->payload_bytes);
    FILE *file = fopen(path, "wb");
    assert_non_null(bytes);
    assert_non_null(file);
    for (uint32_t i = 0; i < count; i++) {
        write_frame(r, &frames[i], bytes);
        assert_int_equal(fwrite(bytes, r->header + r->payload_bytes, 1, file), 1);
    }
    assert_int_equal(fwrite(bytes, dice(7), 1, file) <= 1, 1); /* torn */
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

/* Part of a sample as it should come out, in volts. */
static double expected_part(const struct recording *r, const struct job_stream *stream,
                            uint64_t sample, uint32_t part)
{
    static const double levels[] = {-3.3359f, -1, 1, 3.3359f};
    uint64_t frame = sample / r->samples * r->threads + stream->thread;
    uint64_t number =
        (((sample % r->samples) << r->channels_log2) + stream->channel) * (r->is_complex ? 2 : 1) +
        part;
    uint32_t stored = 0;
    for (uint32_t i = 0; i < r->bits; i++) {
        uint64_t bit = number * r->bits + i;
        stored |= (uint32_t)(r->payloads[frame * r->payload_bytes + bit / 8] >> bit % 8 & 1) << i;
    }
    double value = r->bits == 1   ? 2.0 * stored - 1
                   : r->bits == 2 ? levels[stored]
                   : r->bits == 8 ? stored - 127.5
                                  : (float)(stored - (double)(1u << (r->bits - 1)));
    int turns = r->is_complex ? stream->dc != STREAM_DC_CENTRE : stream->sideband < 0;
    value = turns && sample % 2 ? -value : value;
    return part == 1 && stream->sideband < 0 ? -value : value;
}

static double got_part(const struct archive *archive, const char *at, uint32_t part)
{
    double value = 0;
    if (archive->format == SAMPLE_I4) {
        value = (part ? (unsigned char)*at >> 4 : *at & 15) - 8;
    } else if (archive->format == SAMPLE_I8) {
        value = ((const signed char *)at)[part];
    } else if (archive->format == SAMPLE_I16) {
        int16_t number;
        memcpy(&number, at + 2 * part, sizeof number);
        value = number;
    } else {
        float number;
        memcpy(&number, at + 4 * part, sizeof number);
        value = (double)number;
    }
    return value * archive->scale;
}

/* The stream of the table that stream `number` of the archive is: by pol, then frequency. */
static const struct job_stream *stream_of(const struct recording *r, uint32_t number)
{
    return &r->streams[number];
}

static void check_cut(const struct recording *r, const struct archive *archive, reader_t *reader)
{
    uint32_t first_stream = (uint32_t)dice(archive->nstreams);
    uint32_t nstreams = 1 + (uint32_t)dice(archive->nstreams - first_stream);
    uint64_t first = dice(archive->samples);
    uint64_t count = 1 + dice(archive->samples - first);
    struct slab *slab = NULL;
    struct losses losses = {0};
    size_t re[32];
    size_t im[32];
    assert_int_equal(slab_create(archive, stream_range(first_stream, nstreams), &slab), STATUS_OK);
    char *out = malloc((size_t)slab_bytes(slab, count));
    char *is_lost = calloc((size_t)nstreams, (size_t)count);
    assert_non_null(out);
    assert_non_null(is_lost);
    memset(out, 0x5a, (size_t)slab_bytes(slab, count));
    assert_int_equal(reader_read(reader, slab, first, count, out, &losses), STATUS_OK);
    slab_offsets(slab, count, re, im);
    for (size_t i = 0; i < losses.count; i++) {
        const struct loss *loss = &losses.items[i];
        assert_true(loss->stream >= first_stream && loss->stream < first_stream + nstreams);
        assert_true(loss->first >= first && loss->first + loss->count <= first + count);
        memset(is_lost + (loss->stream - first_stream) * count + loss->first - first, 1,
               (size_t)loss->count);
    }
    for (uint32_t i = 0; i < nstreams; i++) {
        const struct job_stream *stream = stream_of(r, first_stream + i);
        for (uint64_t t = 0; t < count; t++) {
            uint64_t frame = (first + t) / r->samples * r->threads + stream->thread;
            assert_int_equal(is_lost[i * count + t], !r->is_there[frame]);
            for (uint32_t part = 0; part < (r->is_complex ? 2u : 1u); part++) {
                double value = r->is_there[frame] ? expected_part(r, stream, first + t, part) : 0;
                assert_true(got_part(archive, out + re[i] + t * slab->width, part) == value);
            }
        }
    }
    losses_free(&losses);
    free(is_lost);
    free(out);
    slab_destroy(slab);
}

static struct job job_of(struct recording *r, char **paths, uint32_t npaths)
{
    return (struct job){.path = folder,
                        .files = paths,
                        .nfiles = npaths,
                        .layout = {.automatic = 1,
                                   .files_along = AXIS_TIME,
                                   .time.has_sample_rate = 1,
                                   .time.sample_rate_hz = (double)r->rate * r->samples,
                                   .streams = r->streams,
                                   .nstreams = r->nstreams},
                        .select = {.kind = SELECT_ALL}};
}

static void free_recording(struct recording *r)
{
    free(r->payloads);
    free(r->is_there);
}

static void frames_in_any_order(void **context)
{
    static struct frame frames[MOST_FRAMES];
    char first[64];
    char second[64];
    char *paths[] = {second, first};
    char format[] = "vdif";
    (void)context;
    snprintf(first, sizeof first, "%s/1.vdif", folder);
    snprintf(second, sizeof second, "%s/2.vdif", folder);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct recording r;
        struct archive *archive = NULL;
        reader_t *reader = NULL;
        random_recording(&r);
        uint32_t count = random_frames(&r, frames);
        int is_cut = count > 100 && dice(2);
        uint32_t cut = is_cut ? 40 + (uint32_t)dice(count - 80) : count;
        while (is_cut && frames[cut].kind == FILL) {
            cut--;
        }
        write_file(&r, frames, cut, first);
        write_file(&r, frames + cut, count - cut, second);
        struct job job = job_of(&r, is_cut ? paths : paths + 1, is_cut ? 2 : 1);
        job.layout.format = format;
        job.layout.automatic = 0;
        status_t st = archive_open(&job, &archive);
        if (st != STATUS_OK) {
            print_message("trial %d: %s\n", trial, report_cause());
        }
        assert_int_equal(st, STATUS_OK);
        assert_int_equal(archive->samples, (uint64_t)r.periods * r.samples);
        assert_int_equal(archive->nstreams, r.nstreams);
        assert_int_equal(reader_create(archive, 0, 1 + (uint32_t)dice(3), &reader), STATUS_OK);
        for (int i = 0; i < CUTS; i++) {
            check_cut(&r, archive, reader);
        }
        reader_destroy(reader);
        archive_destroy(archive);
        free_recording(&r);
    }
    unlink(first);
    unlink(second);
}

/* One thread of 8 bits, a frame of 8 samples, all there. */
static void plain_recording(struct recording *r, uint32_t periods, struct frame *frames)
{
    static char pol[] = "a";
    *r = (struct recording){.threads = 1,
                            .bits = 8,
                            .samples = 8,
                            .payload_bytes = 8,
                            .header = 32,
                            .rate = 50,
                            .first_second = 1000000,
                            .periods = periods};
    r->payloads = calloc(periods, 8);
    r->is_there = malloc(periods);
    assert_non_null(r->payloads);
    assert_non_null(r->is_there);
    memset(r->is_there, 1, periods);
    r->streams[r->nstreams++] = (struct job_stream){.pol = pol, .sideband = 1};
    for (uint32_t i = 0; i < periods; i++) {
        r->payloads[8 * i] = (unsigned char)i;
        frames[i] = (struct frame){i, i, 0, GOOD};
    }
}

/* Adds to a word of the header of a frame in the file. */
static void change_word(const struct recording *r, const char *path, uint32_t frame, int word,
                        uint32_t change)
{
    unsigned char bytes[4];
    FILE *file = fopen(path, "r+b");
    long at = (long)(frame * (r->header + r->payload_bytes)) + 4 * word;
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fread(bytes, 4, 1, file), 1);
    put_word(bytes, ((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                     (uint32_t)bytes[3] << 24) +
                        change);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 4, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* Frames whose time is nonsense are missing, however much is read at a time; a gap is only a gap.
 */
static void times_out_of_place(void **context)
{
    enum { PERIODS = 3900, GAP = 700, GAP_END = 1900 };
    static struct frame frames[MOST_FRAMES];
    char path[64];
    char *paths[] = {path};
    struct recording r;
    struct archive *archive = NULL;
    reader_t *reader = NULL;
    (void)context;
    snprintf(path, sizeof path, "%s/1.vdif", folder);
    plain_recording(&r, PERIODS, frames);
    memmove(frames + GAP, frames + GAP_END, (PERIODS - GAP_END) * sizeof *frames);
    memset(r.is_there + GAP, 0, GAP_END - GAP);
    uint32_t count = PERIODS - (GAP_END - GAP);
    write_file(&r, frames, count, path);
    for (uint32_t i = 30; i + PACKETS_AROUND < count; i += 7 + (uint32_t)dice(40)) {
        change_word(&r, path, i, 0,
                    dice(2) ? (uint32_t)dice(1000) + 10 : 0 - (uint32_t)dice(900) - 10);
        r.is_there[frames[i].period] = 0;
    }
    struct job job = job_of(&r, paths, 1);
    assert_int_equal(archive_open(&job, &archive), STATUS_OK);
    assert_int_equal(archive->samples, (uint64_t)r.periods * r.samples);
    assert_int_equal(reader_create(archive, 0, 2, &reader), STATUS_OK);
    for (int i = 0; i < 60; i++) {
        check_cut(&r, archive, reader);
    }
    reader_destroy(reader);
    archive_destroy(archive);
    free_recording(&r);
    unlink(path);
}

/* Samples that a read of some lacks. */
static uint64_t count_lost(const struct losses *losses)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < losses->count; i++) {
        lost += losses->items[i].count;
    }
    return lost;
}

/* Reads where two headers of a file of PERIODS are wrong, and before. */
static void check_wrong(const char *path, const char *says, uint64_t lost)
{
    char *paths[] = {(char *)path};
    struct frame frames[1];
    struct recording r;
    struct archive *archive = NULL;
    struct slab *slab = NULL;
    struct losses losses = {0};
    reader_t *reader = NULL;
    int16_t out[8 * 100];
    plain_recording(&r, 1, frames);
    struct job job = job_of(&r, paths, 1);
    assert_int_equal(archive_open(&job, &archive), STATUS_OK);
    assert_int_equal(reader_create(archive, 0, 1, &reader), STATUS_OK);
    assert_int_equal(slab_create(archive, stream_range(0, 1), &slab), STATUS_OK);
    assert_int_equal(reader_read(reader, slab, 8000, 800, out, NULL), STATUS_OK);
    assert_int_equal(reader_read(reader, slab, 8 * 2400, 800, out, &losses),
                     says ? STATUS_DATA : STATUS_OK);
    if (says) {
        assert_non_null(strstr(report_cause(), says));
        assert_true(reader_is_unreadable(reader));
    } else {
        assert_int_equal(count_lost(&losses), lost);
    }
    report_clear();
    losses_free(&losses);
    slab_destroy(slab);
    reader_destroy(reader);
    archive_destroy(archive);
    free_recording(&r);
}

/* Headers in the middle that contradict the others show when their samples are read: one alone is a
 * loss, two are an error, and a number that no second has is one at once. Where no frame begins, it
 * is a loss. */
static void headers_that_contradict(void **context)
{
    enum { PERIODS = 6600, WRONG = 2460 };
    static struct frame frames[PERIODS];
    static const struct {
        int word;
        uint32_t change;
        const char *says, *says_of_one;
    } wrong[] = {{3, 1u << 26, "byte 98400 holds 1 channels of 9 bit real", NULL},
                 {2, 1u << 24, "byte 98400 holds 2 channels of 8 bit real", NULL},
                 {3, 1, "byte 98400 is of station Ty, those before it of Tx", NULL},
                 {3, 1u << 16, NULL, NULL},
                 {1, 50, "byte 98400 is number 60 of its second, but at 400 samples",
                  "byte 98400 is number 60 of its second, but at 400 samples"},
                 {2, 1, NULL, NULL},
                 {0, 1u << 30, NULL, NULL},
                 {0, 1u << 31, NULL, NULL}};
    char path[64];
    struct recording r;
    (void)context;
    snprintf(path, sizeof path, "%s/1.vdif", folder);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        plain_recording(&r, PERIODS, frames);
        write_file(&r, frames, PERIODS, path);
        change_word(&r, path, WRONG, wrong[i].word, wrong[i].change);
        check_wrong(path, wrong[i].says_of_one, 8);
        change_word(&r, path, WRONG + PACKETS_AROUND, wrong[i].word, wrong[i].change);
        check_wrong(path, wrong[i].says, 16);
        free_recording(&r);
    }
    unlink(path);
}

/* Bytes that are inserted where no header is read when a file is opened, and taken away again
 * later: an error once these frames are read, and no other numbers. */
static void shifts_that_cancel(void **context)
{
    enum { PERIODS = 6600, WRONG = 2460, SHIFT = 24, FRAME = 40 };
    static struct frame frames[PERIODS];
    static char bytes[PERIODS * FRAME];
    char path[64];
    struct recording r;
    (void)context;
    snprintf(path, sizeof path, "%s/1.vdif", folder);
    plain_recording(&r, PERIODS, frames);
    write_file(&r, frames, PERIODS, path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fread(bytes, sizeof bytes, 1, file), 1);
    memmove(bytes + WRONG * FRAME + SHIFT, bytes + WRONG * FRAME, 4 * FRAME);
    memset(bytes + WRONG * FRAME, 0x5a, SHIFT);
    assert_int_equal(fseek(file, 0, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, sizeof bytes, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    check_wrong(path, "no frame begins at byte 98400, but one at byte 98424", 0);
    free_recording(&r);
    unlink(path);
}

static int make_folder(void **context)
{
    (void)context;
    report_quiet(1);
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **context)
{
    (void)context;
    return rmdir(folder);
}

/* Bytes to take frames apart are those of threads, and of each frame. */
static void small_frames_need_more_memory(void **unused)
{
    (void)unused;
    enum { SAMPLES = 1 << 20, THREAD = 64 << 10 };
    struct packets packets = {.frame_bytes = 8032, .samples = 8000, .nthreads = 2};
    const uint64_t two = reader_packets_bytes(&packets, SAMPLES, 2);
    assert_in_range(two, 2 * THREAD, 1 << 19);
    assert_true(reader_packets_bytes(&packets, SAMPLES, 18) >= two + (uint64_t)16 * THREAD);
    packets.samples = 8;
    assert_true(reader_packets_bytes(&packets, SAMPLES, 2) >=
                (uint64_t)SAMPLES / 8 * 2 * sizeof(struct packet));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_frames_need_more_memory), cmocka_unit_test(frames_in_any_order),
        cmocka_unit_test(times_out_of_place), cmocka_unit_test(headers_that_contradict),
        cmocka_unit_test(shifts_that_cancel)};
    return cmocka_run_group_tests_name("packets", tests, make_folder, drop_folder);
}
