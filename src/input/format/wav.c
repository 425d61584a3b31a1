/* WAV, RF64 and BW64: chunks of a name and a size; "fmt " says what the numbers of "data" are,
 * "ds64" how many there are beyond 4 GiB (EBU Tech 3306), "auxi" of radio receivers when and where.
 */
#include "base/byte_order.h"
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/plain.h"
#include "input/format/recorder.h"
#include "input/format/said.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAV_HEAD = 12,  /* RIFF, size, WAVE */
    WAV_CHUNK = 8,  /* name and size of a chunk */
    WAV_BODY = 40,  /* bytes of a chunk that count */
    WAV_FIXED = 16, /* bytes that fmt and ds64 have at least */
    WAV_AUXI = 36,  /* two times and the centre frequency */
    WAV_XML = 1 << 16,
    WAV_CHUNKS = 4096,
    WAV_PCM = 1,
    WAV_FLOAT = 3,
    WAV_EXTENSIBLE = 0xfffe
};

struct wav {
    struct plain *out;
    char **assumed;
    uint64_t long_bytes;      /* of data, by ds64 */
    uint32_t channels, frame; /* bytes of a time step; 0: no fmt yet */
    double centre_hz;         /* 0: not stated */
};

static int wav_begins(const struct text *begin)
{
    return begin->length == WAV_HEAD && memcmp(begin->data + 8, "WAVE", 4) == 0 &&
           (memcmp(begin->data, "RIFF", 4) == 0 || memcmp(begin->data, "RF64", 4) == 0 ||
            memcmp(begin->data, "BW64", 4) == 0);
}

static status_t wav_read_format(struct wav *wav, const unsigned char *chunk, uint64_t bytes)
{
    const char *path = wav->out->path;
    REQUIRE(bytes >= WAV_FIXED, STATUS_DATA,
            "%s: its fmt chunk has %" PRIu64 " bytes, expected at least %d", path, bytes,
            WAV_FIXED);
    const uint32_t rate = load_u32(chunk + 4, 0);
    const uint32_t byte_rate = load_u32(chunk + 8, 0);
    const uint32_t bits = load_u16(chunk + 14, 0);
    uint32_t code = load_u16(chunk, 0);
    code = code == WAV_EXTENSIBLE ? load_u16(chunk + 24, 0) : code; /* its identifier begins so */
    int is_known = (code == WAV_FLOAT && (bits == 32 || bits == 64)) ||
                   (code == WAV_PCM && bits % 8 == 0 && bits <= 32);
    REQUIRE(is_known, STATUS_DATA,
            "%s: its WAV format code is %u, of %u bits, expected 1 (integers) of 8, 16, 24 or 32, "
            "or 3 (floating point) of 32 or 64",
            path, code, bits);
    wav->channels = load_u16(chunk + 2, 0);
    wav->frame = load_u16(chunk + 12, 0);
    REQUIRE(wav->frame > 0 && wav->frame == wav->channels * bits / 8, STATUS_DATA,
            "%s: a frame has %u bytes, but %u channels of %u bits", path, wav->frame, wav->channels,
            bits);
    REQUIRE(rate > 0, STATUS_DATA, "%s: its sample rate is 0 Hz", path);
    wav->out->own.time.has_sample_rate = 1;
    wav->out->own.time.sample_rate_hz = rate;
    wav->out->type.kind = code == WAV_FLOAT ? 'f' : bits == 8 ? 'u' : 'i';
    wav->out->type.bits = bits;
    wav->out->offset = bits == 8 ? 128 : 0;
    return assume_unless(
        byte_rate == rate * wav->frame, wav->assumed,
        "byte rate %u and sample rate %u Hz of %u bytes differ: the sample rate is "
        "used",
        byte_rate, rate, wav->frame);
}

/* Returns the number of an attribute in XML; 0: there is none. */
static double wav_find_number(const char *xml, const char *attribute)
{
    char number[UNITS_TEXT];
    double value = 0;
    const char *at = strstr(xml, attribute);
    at = at ? at + strlen(attribute) : "";
    snprintf(number, sizeof number, "%.*s", (int)strcspn(at, "\""), at);
    return units_parse_f64(number, &value) ? value : 0;
}

/* SDR Console's XML, in UTF-16 or in bytes: attributes of one element. Hz, and the second of the
 * start. */
static status_t wav_read_xml(struct wav *wav, uint64_t at, uint64_t bytes)
{
    struct job_layout_time *time = &wav->out->own.time;
    SCOPED(free_at) char *xml = NULL;
    size_t length = 0;
    bytes = min_u64(bytes, WAV_XML);
    TRY(memory_zeroed((size_t)bytes + 1, 1, "a chunk auxi", &xml));
    TRY(file_read(wav->out->fd, wav->out->path, at, xml, bytes));
    const size_t step = bytes > 3 && xml[3] == '\0' ? 2 : 1;
    for (size_t i = 0; i < bytes; i += step) {
        xml[length++] = (char)(step == 2 && i + 1 < bytes && xml[i + 1] != '\0' ? '?' : xml[i]);
    }
    xml[length] = '\0';
    const double seconds = wav_find_number(xml, "UTCSeconds=\"");
    wav->centre_hz = wav_find_number(xml, "RadioCenterFreq=\"");
    time->has_start = seconds > 0;
    time->start = utc_of_unix(seconds);
    return assume_if(time->has_start && !override_has(wav->out->layout, SAID_START), wav->assumed,
                     "auxi states the second of the start, UTCSeconds, without its fraction");
}

/* Start and centre frequency as SpectraVue and its successors write them: SYSTEMTIME of start and
 * stop, then Hz; or as XML, which may begin with the mark of its encoding. */
static status_t wav_read_auxi(struct wav *wav, const unsigned char *chunk, uint64_t bytes,
                              uint64_t at, uint64_t size)
{
    char text[UNITS_TEXT];
    struct job_layout_time *time = &wav->out->own.time;
    if (memmem(chunk, min_u64(bytes, 4), "<", 1)) {
        return wav_read_xml(wav, at, min_u64(size, wav->out->file_bytes - at));
    }
    if (bytes >= WAV_AUXI) {
        snprintf(text, sizeof text, "%04u-%02u-%02uT%02u:%02u:%02u.%03u", load_u16(chunk, 0),
                 load_u16(chunk + 2, 0), load_u16(chunk + 6, 0), load_u16(chunk + 8, 0),
                 load_u16(chunk + 10, 0), load_u16(chunk + 12, 0), load_u16(chunk + 14, 0));
        time->has_start = units_parse_utc(text, &time->start);
        wav->centre_hz = load_u32(chunk + 32, 0);
    }
    return STATUS_OK;
}

/* The size of data. Recorders that were killed leave 0, 2^32 - 1, or that of a file of 4 GiB less;
 * some never write ds64. */
static status_t wav_settle_data(struct wav *wav, uint64_t size, int is_64)
{
    const uint64_t wrap = UINT64_C(1) << 32;
    const uint64_t rest = wav->out->file_bytes - wav->out->at;
    size = size == UINT32_MAX && is_64 ? wav->long_bytes : size;
    int is_all =
        size == 0 || size == UINT32_MAX || (!is_64 && rest > size && (rest - size) % wrap == 0);
    wav->out->bytes = is_all ? rest : min_u64(size, rest);
    return assume_unless(
        !is_all && size <= rest, wav->assumed,
        "the size of its data chunk is %" PRIu64 " and %" PRIu64 " bytes follow: %s", size, rest,
        is_all ? "all are samples" : "the recording was cut off, what exists is read");
}

/* Samples may be in what follows the data chunk: further ones, and bytes that are no chunk. */
static status_t wav_note_after(struct wav *wav, const unsigned char *name, uint64_t at,
                               uint64_t *size)
{
    const uint64_t rest = wav->out->file_bytes - at;
    int is_name = 1;
    for (int i = 0; i < 4; i++) {
        is_name = is_name && name[i] >= ' ' && name[i] <= '~';
    }
    *size = is_name ? *size : rest;
    TRY(assume_unless(is_name, wav->assumed,
                      "the last %" PRIu64 " bytes of the file, after its data chunk, are no chunk: "
                      "they are not read",
                      rest + WAV_CHUNK));
    return assume_if(memcmp(name, "data", 4) == 0, wav->assumed,
                     "a further data chunk, of %" PRIu64 " bytes from byte %" PRIu64
                     " on, is not read",
                     min_u64(*size, rest), at);
}

/* Reads one chunk, whose name is at `at`; *next is the offset of the next chunk's name. */
static status_t wav_read_chunk(struct wav *wav, int is_64, uint64_t at, uint64_t *next)
{
    struct plain *out = wav->out;
    unsigned char head[WAV_CHUNK];
    unsigned char body[WAV_BODY] = {0};
    TRY(file_read(out->fd, out->path, at, head, sizeof head));
    uint64_t size = load_u32(head + 4, 0);
    at += WAV_CHUNK;
    const uint64_t count = min_u64(min_u64(size, sizeof body), out->file_bytes - at);
    TRY(count > 0 ? file_read(out->fd, out->path, at, body, count) : STATUS_OK);
    if (memcmp(head, "fmt ", 4) == 0 && wav->frame == 0) {
        TRY(wav_read_format(wav, body, count));
    } else if (memcmp(head, "ds64", 4) == 0 && is_64 && count >= WAV_FIXED) {
        wav->long_bytes = load_u32(body + 8, 0) | (uint64_t)load_u32(body + 12, 0) << 32;
    } else if (memcmp(head, "auxi", 4) == 0) {
        TRY(wav_read_auxi(wav, body, count, at, size));
    } else if (memcmp(head, "data", 4) == 0 && out->at == 0) {
        out->at = at;
        TRY(wav_settle_data(wav, size, is_64));
        size = out->bytes;
    } else if (out->at > 0) {
        TRY(wav_note_after(wav, head, at, &size));
    }
    *next = at + size + size % 2;
    return STATUS_OK;
}

/* Two channels are I and Q, unless the job says that samples are real. */
static status_t wav_read(struct plain *out)
{
    struct wav wav = {.out = out, .assumed = &out->archive->assumed};
    const struct job_layout *layout = out->layout;
    SCOPED(text_free) struct text begin = {0};
    uint64_t at = WAV_HEAD;
    TRY(recorder_head(out->path, WAV_HEAD, &begin));
    REQUIRE(begin.length > 0 && wav_begins(&begin), STATUS_DATA,
            "%s is not WAV: expected RIFF, RF64 or BW64, then WAVE at byte 8", out->path);
    for (int i = 0; i < WAV_CHUNKS && at + WAV_CHUNK <= out->file_bytes; i++) {
        TRY(wav_read_chunk(&wav, begin.data[1] != 'I', at, &at));
    }
    REQUIRE(wav.frame > 0 && out->at > 0, STATUS_DATA,
            "%s: its WAV header has no %s chunk before byte %" PRIu64, out->path,
            wav.frame > 0 ? "data" : "fmt", min_u64(at, out->file_bytes));
    out->known = "WAV";
    out->is_by_clock = 1;
    int is_two = wav.channels == 2 && layout->has_domain;
    int is_iq = wav.channels == 2 && !layout->axes && !(is_two && !layout->is_complex);
    out->type.is_complex = is_iq;
    TRY(plain_assume_streams(out, is_iq ? 1 : wav.channels, is_two));
    TRY(assume_if(is_iq && !is_two, wav.assumed,
                  "complex samples: the two channels are I and Q; "
                  "input.layout.domain: real makes them two streams"));
    TRY(is_iq && wav.centre_hz > 0 ? plain_set_centre(out, wav.centre_hz) : STATUS_OK);
    return assume_if(!is_iq && wav.centre_hz > 0 && !override_has_frequencies(layout), wav.assumed,
                     "auxi states a centre of %.12g Hz, which is used for I and Q in two channels "
                     "alone: input.layout.freq_hz states that of other streams",
                     wav.centre_hz);
}

const struct format wav_format = {.name = "wav",
                                  .takes_axes = 1,
                                  .is_no_product = 1,
                                  .begins = wav_begins,
                                  .begin_bytes = WAV_HEAD,
                                  .plain = wav_read};
