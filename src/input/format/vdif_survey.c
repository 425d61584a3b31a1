/* VDIF files, of which some headers are read. */
#include "input/format/vdif_survey.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/format/packet_files.h"
#include "input/format/vdif_first.h"
#include "io/apart.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames of a second, by the highest numbers of those that were seen. */

/* A frame that was seen. */
struct vdif_seen {
    int64_t second;
    uint32_t thread, number; /* of the second */
};

static int vdif_count_by_time(const void *left, const void *right)
{
    const struct vdif_seen *a = left;
    const struct vdif_seen *b = right;
    int by_second = (a->second > b->second) - (a->second < b->second);
    return by_second ? by_second : (a->number > b->number) - (a->number < b->number);
}

static int vdif_count_by_thread(const void *left, const void *right)
{
    const struct vdif_seen *a = left;
    const struct vdif_seen *b = right;
    int by_thread = (a->thread > b->thread) - (a->thread < b->thread);
    return by_thread ? by_thread : vdif_count_by_time(left, right);
}

/* A second of one thread, of which frames `first` .. `top` were seen, in order. */
static int vdif_count_is_dense(const struct vdif_seen *first, const struct vdif_seen *top)
{
    enum { LEAST = 4, OF = 16 /* up to one of these may be missing */ };
    uint32_t there = 1;
    for (const struct vdif_seen *at = first + 1; at <= top; at++) {
        there += at->number != at[-1].number;
    }
    return there >= LEAST && OF * there >= (OF - 1) * (top->number - first->number + 1);
}

/* It ends where the next second follows from frame 0 on, which is at `top` + 1 (NULL: none is
 * seen), or where those of another thread go on, up to `last`. It proves how many frames the thread
 * has where the ended second that was counted before has as many. */
static void vdif_count_second(struct vdif_survey *survey, const struct vdif_seen *top,
                              const struct vdif_seen *next, const struct vdif_seen *last)
{
    int is_ended = next && next->second == top->second + 1 && next->number == 0;
    int is_passed = !next && last->second == top->second && last->number > top->number;
    struct vdif_counted now = {top->number + 1, top->thread, top->second};
    struct vdif_counted *before = &survey->before[top->thread];
    if ((is_ended || is_passed) && before->frames == now.frames && before->second != now.second &&
        (survey->fewest.frames == 0 || now.frames < survey->fewest.frames)) {
        survey->fewest = now;
    }
    *before = is_ended ? now : *before;
}

/* Counts frames by thread. `last`: the latest frame. */
static void vdif_count_threads(struct vdif_survey *survey, struct vdif_seen *seen, size_t count,
                               const struct vdif_seen *last)
{
    size_t begin = 0;
    qsort(seen, count, sizeof *seen, vdif_count_by_thread);
    for (size_t end = 1; end <= count; end++) {
        const struct vdif_seen *top = seen + end - 1;
        int is_thread = end < count && seen[end].thread == top->thread;
        if (is_thread && seen[end].second == top->second) {
            continue;
        }
        if (vdif_count_is_dense(seen + begin, top)) {
            vdif_count_second(survey, top, is_thread ? seen + end : NULL, last);
        }
        begin = end;
    }
}

/* Counts the frames of each second whose end was seen: of all threads up to the highest number near
 * which there is another one, since a lone high number is a header's fault; and those of each
 * thread. Sorts what was seen. */
static void vdif_count_seen(struct vdif_survey *survey, struct vdif_seen *seen, size_t count)
{
    enum { NEAR = 16 };
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        seen[i].second -= survey->ahead[seen[i].thread];
        survey->has_zero |= seen[i].number == 0;
    }
    qsort(seen, count, sizeof *seen, vdif_count_by_time);
    for (size_t end = 1; end < count; end++) {
        if (seen[end].second == seen[begin].second) {
            continue;
        }
        size_t top = end - 1;
        while (top > begin && seen[top].number - seen[top - 1].number > NEAR) {
            top--;
        }
        if (seen[end].second == seen[begin].second + 1 && (top > begin || seen[top].number == 0) &&
            seen[top].number >= survey->most.frames) {
            survey->most =
                (struct vdif_counted){seen[top].number + 1, seen[top].thread, seen[top].second};
        }
        if (seen[end].second == seen[begin].second + 1 && seen[end].number == 1 &&
            seen[end].second != survey->one_second) {
            survey->one_second = seen[end].second;
            survey->ones++;
        }
        begin = end;
    }
    if (count > 0) {
        struct vdif_seen last = seen[count - 1];
        vdif_count_threads(survey, seen, count, &last);
    }
}

/* One file being read. */
struct vdif_look {
    struct vdif_survey *survey;
    struct packets_seek seek;
    struct packets_file *file;
    struct vdif_seen *seen; /* [2 PACKETS_ENDS] */
    size_t nseen;
    size_t nhead; /* of the file's first frames */
};

static struct vdif_seen vdif_survey_seen(const struct vdif_header *header)
{
    return (struct vdif_seen){(int64_t)vdif_second(header->epoch, header->seconds), header->thread,
                              header->frame};
}

/* Returns a header's second, by the first thread's clock. */
static int64_t vdif_survey_second(const struct vdif_survey *survey,
                                  const struct vdif_header *header)
{
    return vdif_survey_seen(header).second - survey->ahead[header->thread];
}

static int vdif_survey_is_wanted(const struct vdif_survey *survey, uint32_t station)
{
    char name[UNITS_TEXT];
    char number[UNITS_TEXT];
    if (!survey->wanted) {
        return 1;
    }
    snprintf(number, sizeof number, "%u", station);
    return strcmp(survey->wanted, number) == 0 ||
           strcmp(survey->wanted, vdif_station_name(station, name)) == 0;
}

/* Whether a frame counts, once the first one is known. */
static int vdif_survey_counts(const struct vdif_survey *survey, const struct vdif_header *header)
{
    return vdif_is_possible(header) && header->bytes == survey->first.bytes &&
           header->station == survey->first.station;
}

static status_t vdif_survey_read(const struct vdif_look *look, uint64_t frame,
                                 struct vdif_header *out)
{
    unsigned char header[VDIF_BYTES] = {0};
    TRY(file_read(look->seek.fd, look->seek.path,
                  frames_offset(look->seek.frame_bytes, look->file, frame), header,
                  look->seek.header_bytes));
    vdif_header_read(header, out);
    return STATUS_OK;
}

static status_t vdif_survey_frame(void *context, const char *path, uint64_t frame, uint64_t offset,
                                  const unsigned char *bytes)
{
    struct vdif_look *look = context;
    struct vdif_survey *survey = look->survey;
    struct vdif_header header;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    vdif_header_read(bytes, &header);
    if (!frames_is_header(&survey->mark, bytes, survey->mark.loose) || header.is_invalid ||
        !vdif_survey_is_wanted(survey, header.station)) {
        int is_like =
            header.station == survey->first.station && vdif_is_alike(&survey->first, &header);
        survey->invalid[header.thread] += header.is_invalid && is_like;
        survey->has_zero |= header.is_invalid && is_like && header.frame == 0;
        return STATUS_OK;
    }
    REQUIRE(header.station == survey->first.station, STATUS_USAGE,
            "%s: the VDIF frame at byte %" PRIu64 " is of station %s, those before it of %s: "
            "input.layout.station says which to read",
            path, offset, vdif_station_name(header.station, a),
            vdif_station_name(survey->first.station, b));
    REQUIRE(vdif_is_possible(&header), STATUS_DATA,
            "%s: the VDIF frame at byte %" PRIu64 " says that it has %" PRIu64
            " bytes and 2^%u channels of %u bits: that cannot be",
            path, offset, header.bytes, header.channels_log2, header.bits);
    look->seen[look->nseen++] = vdif_survey_seen(&header);
    look->file->threads[header.thread / 64] |= UINT64_C(1) << header.thread % 64;
    look->nhead = frame < PACKETS_ENDS ? look->nseen : look->nhead;
    return STATUS_OK;
}

/* The frame beside `at` whose thread's clock is known, the one before it first; count: none. */
static size_t vdif_survey_beside(const struct vdif_survey *survey, const struct vdif_seen *seen,
                                 size_t count, size_t at)
{
    for (size_t i = at; i > 0; i--) {
        if (survey->has_thread[seen[i - 1].thread]) {
            return i - 1;
        }
    }
    while (at < count && !survey->has_thread[seen[at].thread]) {
        at++;
    }
    return at;
}

/* A thread is new: the median of its times less those of frames beside shows whether its clock is
 * another one. */
static status_t vdif_survey_add_thread(struct vdif_survey *survey, const struct vdif_seen *seen,
                                       size_t count, uint32_t thread)
{
    enum { OTHER_CLOCK = 60 /* s: no frames that stand beside each other are that far apart */ };
    SCOPED(free_at) double *ahead = NULL;
    size_t n = 0;
    TRY(memory_zeroed(count, sizeof *ahead, "times", &ahead));
    for (size_t i = 0; i < count; i++) {
        size_t beside =
            seen[i].thread == thread ? vdif_survey_beside(survey, seen, count, i) : count;
        if (beside < count) {
            ahead[n++] =
                (double)(seen[i].second - seen[beside].second + survey->ahead[seen[beside].thread]);
        }
    }
    qsort(ahead, n, sizeof *ahead, compare_f64);
    int64_t median = n > 0 ? (int64_t)ahead[n / 2] : 0;
    survey->ahead[thread] = median > OTHER_CLOCK || median < -OTHER_CLOCK ? median : 0;
    survey->has_thread[thread] = 1;
    return STATUS_OK;
}

/* A frame of another thread that is alone among many frames of few threads is damaged. */
static int vdif_survey_is_stray(const struct vdif_seen *seen, size_t count, uint32_t thread)
{
    enum { MANY = 16 /* frames of each thread */ };
    unsigned char is_there[PACKETS_THREADS] = {0};
    size_t frames = 0;
    size_t threads = 0;
    for (size_t i = 0; i < count; i++) {
        frames += seen[i].thread == thread;
        threads += !is_there[seen[i].thread];
        is_there[seen[i].thread] = 1;
    }
    return frames == 1 && threads * MANY < count;
}

static status_t vdif_survey_add_threads(struct vdif_survey *survey, const struct vdif_seen *seen,
                                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = seen[i].thread;
        TRY(survey->has_thread[thread] || vdif_survey_is_stray(seen, count, thread)
                ? STATUS_OK
                : vdif_survey_add_thread(survey, seen, count, thread));
    }
    return STATUS_OK;
}

/* The frame near which `second` ends, by halving: its header is of a later second, or it is the
 * last. */
static status_t vdif_survey_find_second(const struct vdif_look *look, int64_t second, uint64_t *out)
{
    enum { NEXT = 16 /* frames that may stand for one that does not count */ };
    uint64_t low = 0;
    uint64_t high = look->file->frames - 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        struct vdif_header header = {0};
        for (uint64_t i = middle; i < min_u64(high, middle + NEXT); i++) {
            TRY(vdif_survey_read(look, i, &header));
            if (vdif_survey_counts(look->survey, &header)) {
                break;
            }
        }
        if (vdif_survey_counts(look->survey, &header) &&
            vdif_survey_second(look->survey, &header) > second) {
            high = middle;
        } else {
            low = middle;
        }
    }
    *out = high;
    return STATUS_OK;
}

/* Counts the frames of a second, where it ends. */
static status_t vdif_survey_count_second(struct vdif_look *look, int64_t second)
{
    enum { AROUND = 320 /* frames: more than they come out of order by */ };
    struct vdif_header header = {0};
    uint64_t at = 0;
    size_t count = 0;
    TRY(vdif_survey_find_second(look, second, &at));
    uint64_t from = at > AROUND ? at - AROUND : 0;
    for (uint64_t i = from; i < min_u64(at + AROUND, look->file->frames); i++) {
        TRY(vdif_survey_read(look, i, &header));
        if (vdif_survey_counts(look->survey, &header)) {
            look->seen[count++] = vdif_survey_seen(&header);
        }
    }
    vdif_count_seen(look->survey, look->seen, count);
    return STATUS_OK;
}

/* Counts the frames of two seconds: the one that is `back` before that of frame `begin`, and the
 * next. */
static status_t vdif_survey_count(struct vdif_look *look, uint64_t begin, int64_t back)
{
    struct vdif_header header = {0};
    TRY(vdif_survey_read(look, begin, &header));
    for (int64_t i = 0; i < 2 && vdif_survey_counts(look->survey, &header); i++) {
        int64_t second = vdif_survey_second(look->survey, &header) - back + i;
        TRY(vdif_survey_count_second(look, second));
    }
    return STATUS_OK;
}

/* All of a short file was seen; of a long one some seconds are counted, the last ones included. */
static status_t vdif_survey_count_all(struct vdif_look *look)
{
    enum { COUNTS = 4 };
    uint64_t frames = look->file->frames;
    if (frames <= 2 * PACKETS_ENDS) {
        vdif_count_seen(look->survey, look->seen, look->nseen);
        return STATUS_OK;
    }
    for (uint64_t i = 0; i < COUNTS; i++) {
        TRY(vdif_survey_count(look, i * (frames / COUNTS), 0));
    }
    return vdif_survey_count(look, frames - 1, 2);
}

/* Whether one of `count` frames is like another one, and which. */
static int vdif_survey_find_alike(const struct vdif_header *frames, uint32_t count,
                                  const struct vdif_header *like, uint32_t *out)
{
    uint32_t i = 0;
    while (i < count && !(vdif_is_alike(&frames[i], like) && frames[i].station == like->station)) {
        i++;
    }
    *out = i;
    return i < count;
}

/* The first frame of the station that is wanted, beside another one like it. */
static status_t vdif_survey_first(struct vdif_survey *survey, const struct packets_seek *seek,
                                  uint64_t begin)
{
    enum { BESIDE = PACKETS_AROUND };
    unsigned char bytes[BESIDE + 1][VDIF_BYTES] = {0};
    struct vdif_header last[BESIDE + 1];
    uint32_t count = 0;
    uint32_t taken = 0;
    int is_found = 0;
    for (uint64_t at = begin; at + seek->frame_bytes <= seek->bytes && !is_found;
         at += seek->frame_bytes) {
        if (count > BESIDE) {
            count = BESIDE;
            memmove(last, last + 1, BESIDE * sizeof *last);
            memmove(bytes, bytes + 1, BESIDE * sizeof *bytes);
        }
        TRY(file_read(seek->fd, seek->path, at, bytes[count], seek->header_bytes));
        vdif_header_read(bytes[count], &last[count]);
        if (vdif_is_possible(&last[count]) && last[count].bytes == seek->frame_bytes &&
            vdif_survey_is_wanted(survey, last[count].station)) {
            is_found = vdif_survey_find_alike(last, count, &last[count], &taken);
            count++;
        }
    }
    REQUIRE(count > 0, STATUS_DATA, "%s: none of its frames is of %s%s", seek->path,
            survey->wanted ? "station " : "any station", survey->wanted ? survey->wanted : "");
    taken = is_found ? taken : 0;
    survey->has_first = 1;
    survey->first = last[taken];
    survey->mark = packets_mark_of(PACKETS_VDIF, bytes[taken]);
    return STATUS_OK;
}

/* Frames may be flagged legacy, but have headers of 32 bytes: samples alone are whole times, or
 * word 5 (the sync word of extended data, or 0) never changes, but the words after the header do.
 */
static status_t vdif_survey_header(struct vdif_survey *survey, const struct packets_seek *seek,
                                   uint64_t begin)
{
    enum { FRAMES = 16, LEAST = 4, WORD_5 = 20, WORDS = 16 /* bytes that are compared */ };
    char bytes[FRAMES][VDIF_BYTES + WORDS] = {{0}};
    const struct vdif_header *first = &survey->first;
    uint64_t step = (uint64_t)(first->is_complex ? 2 : 1) * first->bits << first->channels_log2;
    uint64_t least = max_u64(seek->frame_bytes, sizeof bytes[0]);
    uint32_t n = 0;
    int is_same = 1;
    int is_changing = 0;
    for (uint64_t at = begin; first->is_legacy && at + least <= seek->bytes && n < FRAMES;
         at += seek->frame_bytes) {
        struct vdif_header header;
        TRY(file_read(seek->fd, seek->path, at, bytes[n], sizeof bytes[n]));
        vdif_header_read((const unsigned char *)bytes[n], &header);
        if (vdif_survey_counts(survey, &header)) {
            is_same &= memcmp(bytes[n] + WORD_5, bytes[0] + WORD_5, 4) == 0;
            is_changing |= memcmp(bytes[n++] + VDIF_BYTES, bytes[0] + VDIF_BYTES, WORDS) != 0;
        }
    }
    int is_long = n >= LEAST && ((is_same && is_changing) ||
                                 (8 * (first->bytes - VDIF_LEGACY_BYTES) % step != 0 &&
                                  8 * (first->bytes - VDIF_BYTES) % step == 0));
    survey->header_bytes = first->is_legacy && !is_long ? VDIF_LEGACY_BYTES : VDIF_BYTES;
    survey->is_unsure = n > 1 && !is_long && is_same;
    return STATUS_OK;
}

/* Frames of another length that follow those of the file are another recording. */
static status_t vdif_survey_check_rest(const struct vdif_look *look, uint64_t at)
{
    struct vdif_header other;
    int found = 0;
    const struct packets_seek *seek = &look->seek;
    unsigned char bytes[VDIF_BYTES] = {0};
    if (at + VDIF_BYTES > seek->bytes) {
        return STATUS_OK;
    }
    TRY(file_read(seek->fd, seek->path, at, bytes, VDIF_BYTES));
    vdif_header_read(bytes, &other);
    TRY(vdif_is_possible(&other) ? vdif_is_followed(seek, at, &other, &found) : STATUS_OK);
    return REQUIRED(!found, STATUS_DATA,
                    "%s: the VDIF frame at byte %" PRIu64 " says that it has %" PRIu64
                    " bytes, those before it have %" PRIu64,
                    seek->path, at, other.bytes, seek->frame_bytes);
}

/* Fails where most frames hold headers like their own, of any station, at a part of the length that
 * they say. */
static status_t vdif_survey_check_length(const struct vdif_look *look, uint64_t begin)
{
    enum { FRAMES = 16, MOST = 1 << 20 /* bytes of each */, STATION = 12 };
    unsigned char bytes[VDIF_BYTES] = {0};
    struct packets_mark mark = look->survey->mark;
    struct packets_seek seek = look->seek;
    uint64_t apart = 0;
    uint32_t frames = 0;
    uint32_t divided = 0;
    seek.mark = &mark;
    mark.strict[STATION] = mark.strict[STATION + 1] = 0;
    for (uint64_t i = 0; i < FRAMES; i++) {
        uint64_t at = begin + i * seek.frame_bytes;
        uint64_t end = at + min_u64(seek.frame_bytes, MOST);
        uint64_t next = end;
        if (at + seek.frame_bytes > seek.bytes) {
            break;
        }
        TRY(file_read(seek.fd, seek.path, at, bytes, seek.header_bytes));
        if (frames_is_header(&mark, bytes, mark.strict)) {
            TRY(packets_seek_header(&seek, at + 1, end, &next));
            int is_divided = next < end && seek.frame_bytes % (next - at) == 0;
            apart = is_divided ? next - at : apart;
            divided += (uint32_t)is_divided;
            frames++;
        }
    }
    return REQUIRED(2 * divided <= frames, STATUS_DATA,
                    "%s: its VDIF headers say a length of %" PRIu64
                    " bytes, but headers like them follow each other every %" PRIu64 " bytes",
                    seek.path, seek.frame_bytes, apart);
}

static status_t vdif_survey_describe(const struct vdif_header *header, struct text *out)
{
    return text_add(out, "%" PRIu64 " bytes, %u %s of %u bit %s", header->bytes,
                    1u << header->channels_log2,
                    units_plural(1u << header->channels_log2, "channel", "channels"), header->bits,
                    header->is_complex ? "complex" : "real");
}

/* Fails where frames are not alike: `header` is the first one, at `begin`. */
static status_t vdif_survey_check_unlike(const struct packets_seek *seek, uint64_t begin,
                                         const struct vdif_header *header)
{
    struct vdif_header other;
    SCOPED(text_free) struct text a = {0};
    SCOPED(text_free) struct text b = {0};
    int found = 0;
    TRY(vdif_is_possible(header) ? vdif_find_unlike(seek, begin, header, &other, &found)
                                 : STATUS_OK);
    if (found) {
        TRY(vdif_survey_describe(header, &a));
        TRY(vdif_survey_describe(&other, &b));
        return report_fail(
            STATUS_DATA,
            "%s: frames of thread %u have %s, those of thread %u %s: expected frames that are "
            "alike; threads that differ are read from files of their own",
            seek->path, header->thread, a.data, other.thread, b.data);
    }
    return STATUS_OK;
}

/* Fails where frames have sequence numbers of packets between them. */
static status_t vdif_survey_check_numbered(const struct packets_seek *seek)
{
    struct vdif_header header;
    int found = 0;
    TRY(vdif_find_numbered(seek, &header, &found));
    return REQUIRED(
        !found, STATUS_DATA,
        "%s: its VDIF frames have a length of %" PRIu64 " bytes, but follow each other every "
        "%" PRIu64 ": 8 bytes more, as of a packet's sequence number (PSN) with each, are not "
        "read; expected frames one after the other",
        seek->path, header.bytes, header.bytes + 8);
}

/* The first frame of the open file, by which the others are found. */
static status_t vdif_survey_begin(struct vdif_look *look, uint64_t *begin)
{
    struct vdif_header header = {0};
    struct packets_seek *seek = &look->seek;
    struct vdif_survey *survey = look->survey;
    uint64_t invalid = 0;
    int found = 0;
    TRY(vdif_survey_check_numbered(seek));
    TRY(vdif_find_first(seek, VDIF_LONG_SEEK, NULL, &header, begin, &found));
    TRY(vdif_survey_check_unlike(seek, *begin, &header));
    TRY(found ? STATUS_OK : vdif_count_invalid(seek, &invalid));
    REQUIRE(invalid == 0, STATUS_DATA,
            "%s: its first %s VDIF frames are flagged invalid, and no valid one was found",
            seek->path, units_count(invalid));
    REQUIRE((found || vdif_is_possible(&header)) && header.bytes <= seek->bytes, STATUS_DATA,
            "%s: no VDIF frame begins there: its first bytes as a header say %" PRIu64
            " bytes, 2^%u channels of %u bits, and the file has %" PRIu64 " bytes",
            seek->path, header.bytes, header.channels_log2, header.bits, seek->bytes);
    REQUIRE(!survey->has_first || header.bytes == survey->first.bytes, STATUS_DATA,
            "%s: the VDIF frame at byte %" PRIu64 " says that it has %" PRIu64
            " bytes, those before it have %" PRIu64,
            seek->path, *begin, header.bytes, survey->first.bytes);
    seek->frame_bytes = header.bytes;
    seek->header_bytes = header.is_legacy ? VDIF_LEGACY_BYTES : VDIF_BYTES;
    if (!survey->has_first) {
        TRY(vdif_survey_first(survey, seek, *begin));
        TRY(vdif_survey_header(survey, seek, *begin));
    }
    return vdif_survey_check_length(look, *begin);
}

SCOPED_CALLS(vdif_look_free, struct vdif_look, free(at->seen))

status_t vdif_survey_file(struct vdif_survey *survey, struct packets_file *file)
{
    struct identity identity;
    SCOPED(free_at) struct packets_ends *ends = NULL;
    uint64_t begin = 0;
    SCOPED(vdif_look_free) struct vdif_look look = {.survey = survey, .file = file};
    struct packets_seek *seek = &look.seek;
    SCOPED(file_close_at) int fd = -1;
    apart_at("%s: VDIF frames", file->path);
    TRY(file_open_read(file->path, &fd));
    TRY(identity_of_open(fd, file->path, &identity));
    *seek = (struct packets_seek){.fd = fd,
                                  .path = file->path,
                                  .noun = "VDIF frame",
                                  .bytes = identity.bytes,
                                  .mark = &survey->mark};
    TRY(vdif_survey_begin(&look, &begin));
    TRY(memory_zeroed(1, sizeof *ends, "headers", &ends));
    TRY(memory_zeroed(2 * PACKETS_ENDS, sizeof *look.seen, "frames", &look.seen));
    TRY(packets_seek_frames(seek, begin, file, ends));
    TRY(vdif_survey_check_rest(&look, frames_offset(seek->frame_bytes, file, file->frames)));
    TRY(packet_files_look(file, seek->frame_bytes, ends, vdif_survey_frame, &look));
    TRY(vdif_survey_add_threads(survey, look.seen, look.nhead));
    TRY(vdif_survey_add_threads(survey, look.seen + look.nhead, look.nseen - look.nhead));
    return vdif_survey_count_all(&look);
}
