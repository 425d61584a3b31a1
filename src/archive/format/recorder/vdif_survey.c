/* VDIF files, looked at here and there. */
#include "archive/format/recorder/vdif_survey.h"

#include "archive/format/recorder/packet_files.h"
#include "archive/format/recorder/recorder.h"
#include "base/memory.h"
#include "io/apart/apart.h"
#include "io/file.h"
#include "io/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FRAME = 1 << 27, /* bytes: all that 24 bits of 8 bytes can say */
    MOST_CHANNELS_LOG2 = 16,
    ALIKE = 4 /* headers in a row that make it VDIF: there is no magic number */
};

static uint64_t vdif_survey_header_bytes(const struct vdif_header *header)
{
    return header->is_legacy ? VDIF_LEGACY_BYTES : VDIF_BYTES;
}

/* What no frame can be, of whatever station. */
static int vdif_survey_is_possible(const struct vdif_header *header)
{
    uint64_t head = vdif_survey_header_bytes(header);
    uint64_t numbers = (uint64_t)(header->is_complex ? 2 : 1) * header->bits;
    return !header->is_fill && header->bytes > head && header->bytes < MOST_FRAME &&
           header->channels_log2 <= MOST_CHANNELS_LOG2 && header->bits <= 32 &&
           8 * (header->bytes - head) >= numbers << header->channels_log2;
}

static int vdif_survey_is_alike(const struct vdif_header *a, const struct vdif_header *b)
{
    return a->bytes == b->bytes && a->channels_log2 == b->channels_log2 && a->bits == b->bits &&
           a->is_complex == b->is_complex && a->is_legacy == b->is_legacy && a->epoch == b->epoch;
}

/* A header at the offset; of a file that ends before it nothing is read, and *found is 0. */
static status_t vdif_survey_read(int fd, const char *path, uint64_t bytes, uint64_t offset,
                                 struct vdif_header *out, int *found)
{
    status_t st = STATUS_OK;
    unsigned char header[VDIF_BYTES] = {0};
    *found = offset + VDIF_LEGACY_BYTES < bytes;
    if (*found) {
        TRY(file_read(fd, path, offset, header, min_u64(sizeof header, bytes - offset)));
        vdif_header_read(header, out);
    }
out:
    return st;
}

/* Of a file that begins with fill the first header that is none: whole frames lie before it, and
 * another like it behind. *offset is where it is found; 0 is also where nothing is. */
static status_t vdif_survey_pass_fill(int fd, const char *path, uint64_t bytes,
                                      struct vdif_header *first, uint64_t *offset)
{
    enum { MOST_FILL = 16 << 20, WORD = 8, PIECE = 64 << 10 };
    status_t st = STATUS_OK;
    unsigned char *data = NULL;
    uint64_t read = 0;
    uint64_t end = min_u64(bytes, MOST_FILL);
    *offset = 0;
    TRY(memory_zeroed(PIECE + VDIF_BYTES, 1, "fill", &data));
    for (uint64_t at = 0; first->is_fill && at + VDIF_BYTES < end; at += WORD) {
        struct vdif_header header;
        struct vdif_header next = {0};
        int found = 0;
        if (at % PIECE == 0) {
            read = min_u64(PIECE + VDIF_BYTES, bytes - at);
            TRY(file_read(fd, path, at, data, read));
        }
        vdif_header_read(data + at % PIECE, &header);
        if (!vdif_survey_is_possible(&header) || at % header.bytes != 0) {
            continue;
        }
        TRY(vdif_survey_read(fd, path, bytes, at + header.bytes, &next, &found));
        if (found && vdif_survey_is_possible(&next) && vdif_survey_is_alike(&header, &next)) {
            *first = header;
            *offset = at;
        }
    }
out:
    free(data);
    return st;
}

/* A file of a single frame must be no longer, and say by its extended data what it is. */
status_t vdif_survey_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct identity identity;
    struct vdif_header first = {0};
    struct vdif_header next = {0};
    int fd = -1;
    int found = 0;
    uint32_t alike = 0;
    *is_it = 0;
    TRY(recorder_open_begin(path, &fd, &identity));
    if (fd < 0) {
        goto out;
    }
    uint64_t begin = 0;
    TRY(vdif_survey_read(fd, path, identity.bytes, 0, &first, &found));
    TRY(vdif_survey_pass_fill(fd, path, identity.bytes, &first, &begin));
    if (!found || !vdif_survey_is_possible(&first) || first.bytes > identity.bytes) {
        goto out;
    }
    for (uint64_t i = 1; i < ALIKE; i++) {
        TRY(vdif_survey_read(fd, path, identity.bytes, begin + i * first.bytes, &next, &found));
        if (found && !next.is_fill && !vdif_survey_is_alike(&first, &next)) {
            goto out;
        }
        alike += found && !next.is_fill;
    }
    *is_it = alike > 0 || (identity.bytes == first.bytes && first.edv <= 4);
out:
    file_close(fd);
    return st;
}

/* One file being looked at. */
struct vdif_look {
    struct vdif_survey *survey;
    uint64_t bytes, frames; /* of the file */
    uint64_t next;          /* the frame behind the one before */
};

/* A header's time by the first thread's clock. */
static int64_t vdif_survey_second(const struct vdif_survey *survey,
                                  const struct vdif_header *header)
{
    return (int64_t)vdif_second(header->epoch, header->seconds) - survey->ahead[header->thread];
}

uint64_t vdif_survey_behind(const struct vdif_survey *survey, uint32_t thread)
{
    int64_t most = survey->ahead[thread];
    for (uint32_t i = 0; i < PACKETS_THREADS; i++) {
        most = survey->has_thread[i] && survey->ahead[i] > most ? survey->ahead[i] : most;
    }
    return (uint64_t)(most - survey->ahead[thread]);
}

/* A thread's first frame shows by the one before it whether its clock is another one. */
static void vdif_survey_add_time(struct vdif_survey *survey, const struct vdif_header *header)
{
    enum { OTHER_CLOCK = 60 /* s: no frames that stand beside each other are that far apart */ };
    int64_t second = vdif_survey_second(survey, header);
    int is_new = !survey->has_thread[header->thread];
    int64_t ahead = second - survey->now;
    if (is_new && survey->has_now && (ahead > OTHER_CLOCK || ahead < -OTHER_CLOCK)) {
        survey->ahead[header->thread] = ahead;
        second = survey->now;
    }
    survey->has_thread[header->thread] = 1;
    survey->has_now |= !is_new || !survey->has_first;
    survey->now = second;
}

static status_t vdif_survey_check_station(struct vdif_survey *survey, const char *path,
                                          uint64_t offset, const struct vdif_header *header,
                                          int *is_wanted)
{
    status_t st = STATUS_OK;
    char name[UNITS_TEXT];
    char number[UNITS_TEXT];
    snprintf(number, sizeof number, "%u", header->station);
    *is_wanted = !survey->wanted || strcmp(survey->wanted, number) == 0 ||
                 strcmp(survey->wanted, vdif_station_name(header->station, name)) == 0;
    survey->has_others |= !*is_wanted;
    REQUIRE(!*is_wanted || !survey->has_first || header->station == survey->first.station,
            STATUS_USAGE,
            "%s: the VDIF frame at byte %" PRIu64 " is of station %s, those before it of %s: "
            "input.layout.station says which to read",
            path, offset, vdif_station_name(header->station, name),
            vdif_station_name(survey->first.station, number));
out:
    return st;
}

/* A frame of another length is the end of the file, or an error. */
static status_t vdif_survey_frame(void *context, const char *path, uint64_t frame, uint64_t offset,
                                  const unsigned char *bytes)
{
    status_t st = STATUS_OK;
    struct vdif_look *look = context;
    struct vdif_survey *survey = look->survey;
    struct vdif_header header;
    int is_wanted = 0;
    vdif_header_read(bytes, &header);
    survey->has_now &= frame == look->next;
    look->next = frame + 1;
    if (header.is_fill || frame >= look->frames) {
        goto out;
    }
    if (survey->has_first && header.bytes != survey->first.bytes &&
        offset + header.bytes == look->bytes) {
        look->frames = frame;
        goto out;
    }
    REQUIRE(!survey->has_first || header.bytes == survey->first.bytes, STATUS_DATA,
            "%s: the VDIF frame at byte %" PRIu64 " says that it has %" PRIu64
            " bytes, those before it have %" PRIu64,
            path, offset, header.bytes, survey->first.bytes);
    TRY(vdif_survey_check_station(survey, path, offset, &header, &is_wanted));
    if (!is_wanted) {
        goto out;
    }
    REQUIRE(vdif_survey_is_possible(&header), STATUS_DATA,
            "%s: the VDIF frame at byte %" PRIu64 " says that it has %" PRIu64
            " bytes and 2^%u channels of %u bits: that cannot be",
            path, offset, header.bytes, header.channels_log2, header.bits);
    vdif_survey_add_time(survey, &header);
    survey->first = survey->has_first ? survey->first : header;
    survey->has_first = 1;
out:
    return st;
}

/* The frame near which `second` ends, by halving: its header is of a later second, or it is the
 * last. */
static status_t vdif_survey_find_second(const struct vdif_survey *survey, int fd, const char *path,
                                        uint64_t frames, int64_t second, uint64_t *out)
{
    status_t st = STATUS_OK;
    uint64_t low = 0;
    uint64_t high = frames - 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        struct vdif_header header = {0};
        int found = 0;
        TRY(vdif_survey_read(fd, path, frames * survey->first.bytes, middle * survey->first.bytes,
                             &header, &found));
        if (!header.is_fill && vdif_survey_second(survey, &header) > second) {
            high = middle;
        } else {
            low = middle;
        }
    }
    *out = high;
out:
    return st;
}

/* Counts the frames of the seconds that begin with that of frame `begin`, where they end. */
static status_t vdif_survey_count(struct vdif_survey *survey, int fd, const char *path,
                                  uint64_t frames, uint64_t begin)
{
    enum { AROUND = 512 };
    status_t st = STATUS_OK;
    struct vdif_header header = {0};
    uint64_t at = 0;
    uint32_t most = 0;
    int found = 0;
    int has_end = 0;
    TRY(vdif_survey_read(fd, path, frames * survey->first.bytes, begin * survey->first.bytes,
                         &header, &found));
    if (header.is_fill) {
        goto out;
    }
    int64_t second = vdif_survey_second(survey, &header);
    TRY(vdif_survey_find_second(survey, fd, path, frames, second, &at));
    uint64_t from = at > AROUND ? at - AROUND : 0;
    for (uint64_t i = from; i < min_u64(at + AROUND, frames); i++) {
        TRY(vdif_survey_read(fd, path, frames * survey->first.bytes, i * survey->first.bytes,
                             &header, &found));
        if (header.is_fill || header.station != survey->first.station) {
            continue;
        }
        int64_t now = vdif_survey_second(survey, &header);
        most = now == second && header.frame >= most ? header.frame + 1 : most;
        has_end |= now == second + 1;
    }
    survey->most_frames = has_end && most > survey->most_frames ? most : survey->most_frames;
out:
    return st;
}

status_t vdif_survey_file(struct vdif_survey *survey, const char *path, uint64_t *frames)
{
    enum { COUNTS = 4 };
    status_t st = STATUS_OK;
    struct identity identity;
    struct vdif_header header = {0};
    uint64_t begin = 0;
    int fd = -1;
    int found = 0;
    apart_at("%s: VDIF frames", path);
    TRY(file_open_read(path, &fd));
    TRY(identity_of_open(fd, path, &identity));
    TRY(vdif_survey_read(fd, path, identity.bytes, 0, &header, &found));
    TRY(vdif_survey_pass_fill(fd, path, identity.bytes, &header, &begin));
    header = survey->has_first ? survey->first : header;
    REQUIRE(found && vdif_survey_is_possible(&header) && header.bytes <= identity.bytes,
            STATUS_DATA,
            "%s: no VDIF frame begins there: its first bytes as a header say %" PRIu64
            " bytes, 2^%u channels of %u bits, and the file has %" PRIu64 " bytes",
            path, header.bytes, header.channels_log2, header.bits, identity.bytes);
    struct vdif_look look = {survey, identity.bytes, identity.bytes / header.bytes, 0};
    survey->has_now = 0;
    TRY(packet_files_look(fd, path, header.bytes, vdif_survey_header_bytes(&header), look.frames,
                          vdif_survey_frame, &look));
    REQUIRE(survey->has_first, STATUS_DATA, "%s: none of its first and last frames is of %s%s",
            path, survey->wanted ? "station " : "any station",
            survey->wanted ? survey->wanted : "");
    for (uint64_t i = 0; i < COUNTS && look.frames > 1; i++) {
        TRY(vdif_survey_count(survey, fd, path, look.frames, i * (look.frames / COUNTS)));
    }
    if (look.frames * header.bytes < identity.bytes) {
        report_note("%s: its last %" PRIu64 " bytes are no frame of %" PRIu64
                    " bytes, as those before: left out",
                    path, identity.bytes - look.frames * header.bytes, header.bytes);
    }
    *frames = look.frames;
out:
    file_close(fd);
    return st;
}
