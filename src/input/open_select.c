/* What a job selects of an observation: a range of samples, and streams by name, number or
 * frequency. */
#include "input/open.h"

#include "base/memory.h"
#include "base/text.h"
#include "dsp/sample_time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Each stream is listed: a number that a damaged file makes up must not take all memory. */
enum { MOST_STREAMS = 1 << 24 };

/* "X, Y, ..." */
static status_t open_select_list_names(const struct archive *archive, enum axis axis,
                                       struct text *out)
{
    status_t st = STATUS_OK;
    uint64_t count = archive->names[axis] ? archive->count[axis] : 0;
    for (uint64_t i = 0; i < count && out->length < 200; i++) {
        TRY(text_add(out, "%s%s", i ? ", " : "; names ", archive->names[axis][i]));
        TRY(text_add(out, "%s", i + 1 < count && out->length >= 200 ? ", ..." : ""));
    }
out:
    return st;
}

/* Finds what a job calls `text` on an axis: a name, else a number. */
static status_t open_select_find_index(const struct archive *archive, enum axis axis,
                                       const char *text, uint64_t *out)
{
    status_t st = STATUS_OK;
    struct text names = {0};
    for (uint64_t i = 0; archive->names[axis] && i < archive->count[axis]; i++) {
        if (strcmp(archive->names[axis][i], text) == 0) {
            *out = i;
            goto out;
        }
    }
    TRY(open_select_list_names(archive, axis, &names));
    REQUIRE(units_parse_u64(text, out) && *out < archive->count[axis], STATUS_USAGE,
            "input.select: %s is none of the %" PRIu64 " %ss of %s (numbers 0 .. %" PRIu64 "%s)",
            text, archive->count[axis], axis_name(axis), archive->parts[0].path,
            archive->count[axis] - 1, names.data ? names.data : "");
out:
    text_free(&names);
    return st;
}

struct ranked {
    uint64_t group; /* of the channels of a filter bank: the coarse channel that it divided */
    double freq;
    uint64_t index;
};

static int open_select_by_frequency(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    return a->group != b->group ? (a->group > b->group) - (a->group < b->group)
           : a->freq != b->freq ? (a->freq > b->freq) - (a->freq < b->freq)
                                : (a->index > b->index) - (a->index < b->index);
}

static status_t open_select_sort_by_frequency(struct archive *archive)
{
    status_t st = STATUS_OK;
    uint32_t count = archive->nselected[AXIS_CHAN];
    struct ranked *ranked = NULL;
    TRY(memory_zeroed(count, sizeof *ranked, "coarse channels", &ranked));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t index = archive->selected[AXIS_CHAN][i];
        ranked[i] =
            (struct ranked){archive_bank_group(archive, index), archive->freq_hz[index], index};
    }
    qsort(ranked, count, sizeof *ranked, open_select_by_frequency);
    for (uint32_t i = 0; i < count; i++) {
        archive->selected[AXIS_CHAN][i] = ranked[i].index;
    }
out:
    free(ranked);
    return st;
}

/* Of the selected channels, which are sorted, those that stand at places first .. last of their
 * group. */
static status_t open_select_places(const struct job_select *select, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t *selected = archive->selected[AXIS_CHAN];
    uint32_t count = archive->nselected[AXIS_CHAN];
    uint32_t kept = 0;
    uint64_t place = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < count && select->has_places; i++) {
        int is_next = i > 0 && archive_bank_group(archive, selected[i]) !=
                                   archive_bank_group(archive, selected[i - 1]);
        place = i == 0 || is_next ? 0 : place + 1;
        most = max_u64(most, place);
        if (place >= select->first_place && place <= select->last_place) {
            selected[kept++] = selected[i];
        }
    }
    REQUIRE(!select->has_places || (select->last_place <= most && kept > 0), STATUS_USAGE,
            "synthesise.channels: %" PRIu64 " .. %" PRIu64 ", but %s has channels 0 .. %" PRIu64,
            select->first_place, select->last_place, archive->parts[0].path, most);
    archive->nselected[AXIS_CHAN] = select->has_places ? kept : count;
out:
    return st;
}

/* Selects indices first .. last of an axis, `text` in the job; none may be selected before. */
static status_t open_select_add(struct archive *archive, enum axis axis, const char *text,
                                uint64_t first, uint64_t last, char *seen)
{
    status_t st = STATUS_OK;
    uint32_t had = archive->nselected[axis];
    uint64_t *grown = realloc(archive->selected[axis], (had + last - first + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: selected streams");
    archive->selected[axis] = grown;
    for (uint64_t i = first; i <= last; i++) {
        REQUIRE(!seen[i], STATUS_USAGE, "input.select names %s %s twice", axis_name(axis), text);
        seen[i] = 1;
        grown[archive->nselected[axis]++] = i;
    }
out:
    return st;
}

/* A name, a number, or a range of them, both ends included: "3..10". */
static status_t open_select_add_text(struct archive *archive, enum axis axis, const char *text,
                                     char *seen)
{
    status_t st = STATUS_OK;
    const char *dots = strstr(text, "..");
    char *low = NULL;
    uint64_t first = 0;
    uint64_t last = 0;
    if (dots) {
        TRY(memory_format(&low, "%.*s", (int)(dots - text), text));
        TRY(open_select_find_index(archive, axis, low, &first));
        TRY(open_select_find_index(archive, axis, dots + 2, &last));
        REQUIRE(first <= last, STATUS_USAGE, "input.select: %s ends before it begins", text);
    } else {
        TRY(open_select_find_index(archive, axis, text, &first));
        last = first;
    }
    TRY(open_select_add(archive, axis, text, first, last, seen));
out:
    free(low);
    return st;
}

/* Coarse channels of which some lies in the band. */
static status_t open_select_band(const struct job_select *select, struct archive *archive,
                                 char *seen)
{
    status_t st = STATUS_OK;
    double half =
        archive_chan_width_hz(archive) / 2 * archive->oversample.den / archive->oversample.num;
    for (uint64_t i = 0; i < archive->count[AXIS_CHAN]; i++) {
        double freq = archive->freq_hz[i];
        if (freq + half > select->from_hz && freq - half < select->to_hz) {
            TRY(open_select_add(archive, AXIS_CHAN, "", i, i, seen));
        }
    }
    REQUIRE(archive->nselected[AXIS_CHAN] > 0, STATUS_USAGE,
            "input.select.freq_hz: %s has no coarse channel between %.15g and %.15g Hz",
            archive->parts[0].path, select->from_hz, select->to_hz);
out:
    return st;
}

static status_t open_select_axis(const struct job_select *select, enum axis axis,
                                 struct archive *archive)
{
    status_t st = STATUS_OK;
    char *seen = NULL;
    uint64_t count = archive->count[axis];
    REQUIRE(count > 0 && count <= MOST_STREAMS, STATUS_DATA,
            "%s: its number of streams is absurd: more than %d, by the %" PRIu64 " of axis %s",
            archive->parts[0].path, MOST_STREAMS, count, axis_name(axis));
    TRY(memory_zeroed((size_t)count, 1, "selected streams", &seen));
    if (axis == AXIS_CHAN && select->has_freq) {
        TRY(open_select_band(select, archive, seen));
    } else if (select->nstreams[axis] == 0) {
        TRY(open_select_add(archive, axis, "", 0, count - 1, seen));
    }
    for (uint32_t i = 0; i < select->nstreams[axis]; i++) {
        TRY(open_select_add_text(archive, axis, select->streams[axis][i], seen));
    }
out:
    free(seen);
    return st;
}

/* The numbers of the first samples at or after the bounds of a selection. */
static void open_select_bounds(const struct job_select *select, const struct archive *archive,
                               uint64_t *first, uint64_t *end)
{
    double rate = archive->sample_rate_hz;
    int is_utc = select->kind == SELECT_UTC;
    *first =
        sample_time_next(is_utc ? sample_time_between(archive->sky.start, select->from_utc, rate)
                                : sample_time_of(select->from_second, rate));
    *end = sample_time_next(is_utc ? sample_time_between(archive->sky.start, select->to_utc, rate)
                                   : sample_time_of(select->to_second, rate));
}

static status_t open_select_time(const struct job_select *select, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t total = archive->count[AXIS_TIME];
    uint64_t first = 0;
    uint64_t end = total;
    double from = select->from_second;
    double to = select->to_second;
    if (select->kind == SELECT_UTC) {
        REQUIRE(archive->sky.has_start, STATUS_USAGE,
                "input.select.utc: %s does not say when it starts", archive->parts[0].path);
        from = utc_difference(select->from_utc, archive->sky.start);
        to = utc_difference(select->to_utc, archive->sky.start);
    }
    if (select->kind == SELECT_SAMPLES) {
        first = select->first_sample;
        end = select->end_sample;
    } else if (select->kind != SELECT_ALL) {
        double length = (double)total / archive->sample_rate_hz;
        REQUIRE(to > 0 && from < length, STATUS_USAGE,
                "input.select: %.9g .. %.9g s after the first sample of %s lie outside of the "
                "observation, which lasts %.9g s",
                from, to, archive->parts[0].path, length);
        open_select_bounds(select, archive, &first, &end);
        end = min_u64(end, total);
        REQUIRE(first < end, STATUS_USAGE,
                "input.select: no sample lies in %.9g .. %.9g s: one is taken every %.9g s", from,
                to, 1 / archive->sample_rate_hz);
    }
    REQUIRE(first < end && end <= total, STATUS_USAGE,
            "input.select: samples %" PRIu64 " .. %" PRIu64 " of the observation %s, which has "
            "%" PRIu64,
            first, end, archive->parts[0].path, total);
    archive->first_sample = first;
    archive->samples = end - first;
out:
    return st;
}

status_t open_select(const struct job_select *select, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t streams = 1;
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        TRY(open_select_axis(select, axis, archive));
        REQUIRE(
            multiply_u64(streams, archive->nselected[axis], &streams) && streams <= MOST_STREAMS,
            STATUS_DATA, "%s: its number of streams is absurd: more than %d, by the %u of axis %s",
            archive->parts[0].path, MOST_STREAMS, archive->nselected[axis], axis_name(axis));
    }
    TRY(open_select_sort_by_frequency(archive));
    streams /= archive->nselected[AXIS_CHAN];
    TRY(open_select_places(select, archive));
    archive->nstreams = (uint32_t)streams * archive->nselected[AXIS_CHAN];
    TRY(open_select_time(select, archive));
out:
    return st;
}
