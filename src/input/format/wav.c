/* WAV, RF64 and BW64: chunks of a name and a size; "fmt " says what the numbers of "data" are,
 * "ds64" how many there are beyond 4 GiB (EBU Tech 3306), "auxi" of radio receivers when and where.
 */
#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/plain.h"
#include "input/format/recorder.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WAV_HEAD = 12, /* RIFF, size, WAVE */
    WAV_CHUNK = 8, /* name and size of a chunk */
    WAV_FORMAT = 40,
    WAV_LEAST_FORMAT = 16,
    WAV_AUXI = 36, /* two times and the centre frequency */
    WAV_DS64 = 16, /* sizes of the file and of data */
    WAV_CHUNKS = 4096,
    WAV_PCM = 1,
    WAV_FLOAT = 3,
    WAV_EXTENSIBLE = 0xfffe
};

struct wav {
    const char *path;
    int fd;
    uint64_t file_bytes;
    int is_64;           /* RF64 or BW64 */
    uint64_t long_bytes; /* of data, by ds64 */
    uint32_t channels, rate, frame, bits, code;
    uint64_t at, bytes; /* of the samples */
    int has_data, has_format;
    int has_start;
    struct utc start;
    double centre_hz;
};

/* Numbers of a WAV are little-endian. */
static uint32_t wav_u16(const unsigned char *at)
{
    return (uint32_t)(at[0] | at[1] << 8);
}

static uint32_t wav_u32(const unsigned char *at)
{
    return wav_u16(at) | wav_u16(at + 2) << 16;
}

static int wav_is_head(const char *head)
{
    return (memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RF64", 4) == 0 ||
            memcmp(head, "BW64", 4) == 0) &&
           memcmp(head + 8, "WAVE", 4) == 0;
}

static status_t wav_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct text head = {0};
    TRY(recorder_head(path, WAV_HEAD, &head));
    *is_it = head.length == WAV_HEAD && wav_is_head(head.data);
out:
    text_free(&head);
    return st;
}

static status_t wav_read_format(struct wav *wav, const unsigned char *chunk, uint64_t bytes,
                                char **assumed)
{
    status_t st = STATUS_OK;
    REQUIRE(bytes >= WAV_LEAST_FORMAT, STATUS_DATA,
            "%s: its fmt chunk has %" PRIu64 " bytes, expected at least %d", wav->path, bytes,
            WAV_LEAST_FORMAT);
    wav->code = wav_u16(chunk);
    wav->channels = wav_u16(chunk + 2);
    wav->rate = wav_u32(chunk + 4);
    wav->frame = wav_u16(chunk + 12);
    wav->bits = wav_u16(chunk + 14);
    /* Of the extensible format the first bytes of an identifier count. */
    wav->code = wav->code == WAV_EXTENSIBLE ? wav_u16(chunk + 24) : wav->code;
    int is_float = wav->code == WAV_FLOAT && (wav->bits == 32 || wav->bits == 64);
    int is_whole = wav->code == WAV_PCM && wav->bits % 8 == 0 && wav->bits <= 32;
    REQUIRE(is_float || is_whole, STATUS_DATA,
            "%s: its WAV format code is %u, of %u bits, expected 1 (integers) of 8, 16, 24 or 32, "
            "or 3 (floating point) of 32 or 64",
            wav->path, wav->code, wav->bits);
    REQUIRE(wav->frame > 0 && wav->frame == wav->channels * wav->bits / 8, STATUS_DATA,
            "%s: a frame has %u bytes, but %u channels of %u bits", wav->path, wav->frame,
            wav->channels, wav->bits);
    REQUIRE(wav->rate > 0, STATUS_DATA, "%s: its sample rate is 0 Hz", wav->path);
    wav->has_format = 1;
    const uint64_t byte_rate = wav_u32(chunk + 8);
    TRY(byte_rate == (uint64_t)wav->rate * wav->frame
            ? STATUS_OK
            : assume(assumed,
                     "byte rate %" PRIu64 " and sample rate %u Hz of %u bytes differ: the sample "
                     "rate is used",
                     byte_rate, wav->rate, wav->frame));
out:
    return st;
}

/* Start and centre frequency as SpectraVue and its successors write them: SYSTEMTIME of start and
 * stop, then Hz; others write XML, which is not read. */
static void wav_read_auxi(struct wav *wav, const unsigned char *chunk, uint64_t bytes)
{
    char text[UNITS_TEXT];
    if (bytes < WAV_AUXI) {
        return;
    }
    snprintf(text, sizeof text, "%04u-%02u-%02uT%02u:%02u:%02u.%03u", wav_u16(chunk),
             wav_u16(chunk + 2), wav_u16(chunk + 6), wav_u16(chunk + 8), wav_u16(chunk + 10),
             wav_u16(chunk + 12), wav_u16(chunk + 14));
    wav->has_start = units_parse_utc(text, &wav->start);
    wav->centre_hz = wav->has_start ? wav_u32(chunk + 32) : 0;
}

/* The size of data. Recorders that were killed leave 0, 2^32 - 1, or that of a file of 4 GiB less;
 * some never write ds64. */
static status_t wav_settle_data(struct wav *wav, uint64_t size, char **assumed)
{
    status_t st = STATUS_OK;
    const uint64_t wrap = UINT64_C(1) << 32;
    uint64_t rest = wav->file_bytes - wav->at;
    int is_open = size == 0 || size == UINT32_MAX;
    size = size == UINT32_MAX && wav->is_64 ? wav->long_bytes : size;
    is_open = is_open && (size == 0 || size == UINT32_MAX);
    wav->bytes = min_u64(size, rest);
    if (is_open ||
        (!wav->is_64 && rest >= wrap && rest - size >= wrap && (rest - size) % wrap == 0)) {
        wav->bytes = rest;
        TRY(assume(assumed,
                   "the size of its data chunk is %" PRIu64 " and %" PRIu64
                   " bytes follow: all are samples",
                   size, rest));
    } else if (size > rest) {
        TRY(assume(assumed,
                   "the size of its data chunk is %" PRIu64 " and %" PRIu64
                   " bytes follow: the recording was cut off, what exists is read",
                   size, rest));
    }
out:
    return st;
}

/* One chunk, whose name is at `at`; *next: that of the next. */
static status_t wav_read_chunk(struct wav *wav, uint64_t at, uint64_t *next, char **assumed)
{
    status_t st = STATUS_OK;
    unsigned char head[WAV_CHUNK];
    unsigned char chunk[WAV_FORMAT] = {0};
    TRY(file_read(wav->fd, wav->path, at, head, sizeof head));
    uint64_t size = wav_u32(head + 4);
    uint64_t body = at + WAV_CHUNK;
    uint64_t count = min_u64(min_u64(size, sizeof chunk), wav->file_bytes - body);
    TRY(count > 0 ? file_read(wav->fd, wav->path, body, chunk, count) : STATUS_OK);
    if (memcmp(head, "fmt ", 4) == 0 && !wav->has_format) {
        TRY(wav_read_format(wav, chunk, count, assumed));
    } else if (memcmp(head, "ds64", 4) == 0 && wav->is_64 && count >= WAV_DS64) {
        wav->long_bytes = wav_u32(chunk + 8) | (uint64_t)wav_u32(chunk + 12) << 32;
    } else if (memcmp(head, "auxi", 4) == 0) {
        wav_read_auxi(wav, chunk, count);
    } else if (memcmp(head, "data", 4) == 0 && !wav->has_data) {
        wav->has_data = 1;
        wav->at = body;
        TRY(wav_settle_data(wav, size, assumed));
        size = wav->bytes;
    }
    *next = body + size + size % 2;
out:
    return st;
}

static status_t wav_read_chunks(struct wav *wav, char **assumed)
{
    status_t st = STATUS_OK;
    char head[WAV_HEAD];
    uint64_t at = WAV_HEAD;
    REQUIRE(wav->file_bytes >= WAV_HEAD, STATUS_DATA, "%s is not WAV: it has %" PRIu64 " bytes",
            wav->path, wav->file_bytes);
    TRY(file_read(wav->fd, wav->path, 0, head, sizeof head));
    REQUIRE(wav_is_head(head), STATUS_DATA,
            "%s is not WAV: expected RIFF, RF64 or BW64, then WAVE at byte 8", wav->path);
    wav->is_64 = head[1] != 'I';
    for (int i = 0; i < WAV_CHUNKS && at + WAV_CHUNK <= wav->file_bytes; i++) {
        TRY(wav_read_chunk(wav, at, &at, assumed));
    }
    REQUIRE(wav->has_format && wav->has_data, STATUS_DATA,
            "%s: its WAV header has no %s chunk before byte %" PRIu64, wav->path,
            wav->has_format ? "data" : "fmt", min_u64(at, wav->file_bytes));
out:
    return st;
}

/* Two channels are I and Q, unless the job says that samples are real. */
static status_t wav_read(struct plain *out)
{
    status_t st = STATUS_OK;
    struct wav wav = {.path = out->path, .fd = out->fd, .file_bytes = out->file_bytes};
    const struct job_layout *layout = out->layout;
    char **assumed = &out->archive->assumed;
    TRY(wav_read_chunks(&wav, assumed));
    int is_iq = wav.channels == 2 && !layout->axes && !(layout->has_domain && !layout->is_complex);
    TRY(plain_assume_streams(out, is_iq ? 1 : wav.channels, layout->has_domain));
    TRY(is_iq && !layout->has_domain
            ? assume(assumed, "complex samples: the two channels are I and Q; "
                              "input.layout.domain: real makes them two streams")
            : STATUS_OK);
    TRY(is_iq && wav.centre_hz > 0 ? plain_set_centre(out, wav.centre_hz) : STATUS_OK);
    out->known = "WAV";
    out->type.kind = wav.code == WAV_FLOAT ? 'f' : wav.bits == 8 ? 'u' : 'i';
    out->type.bits = wav.bits;
    out->type.is_complex = is_iq;
    out->offset = wav.bits == 8 ? 128 : 0;
    out->at = wav.at;
    out->bytes = wav.bytes;
    out->own.time = (struct job_layout_time){.has_sample_rate = 1,
                                             .sample_rate_hz = wav.rate,
                                             .has_start = wav.has_start,
                                             .start = wav.start};
out:
    return st;
}

static status_t wav_open_file(const char *path, const struct job_layout *layout,
                              struct archive **out)
{
    return plain_open(path, layout, wav_read, NULL, NULL, out);
}

const struct format wav_format = {.name = "wav",
                                  .title = "WAV",
                                  .takes_axes = 1,
                                  .is_no_product = 1,
                                  .recognise = wav_recognise,
                                  .open_file = wav_open_file};
