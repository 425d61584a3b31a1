/* What a job selects of an observation: a range of samples, and streams by name or number. */
#include "archive/select.h"

#include "base/memory.h"
#include "dsp/sample_time.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each stream is listed: a number that a damaged file makes up must not take all memory. */
enum { MOST_STREAMS = 1 << 24 };

/* "X, Y, ..." */
static status_t select_list_names(const struct archive *archive, enum axis axis, struct text *out)
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
static status_t select_find_index(const struct archive *archive, enum axis axis, const char *text,
                                  uint64_t *out)
{
    status_t st = STATUS_OK;
    struct text names = {0};
    for (uint64_t i = 0; archive->names[axis] && i < archive->count[axis]; i++) {
        if (strcmp(archive->names[axis][i], text) == 0) {
            *out = i;
            goto out;
        }
    }
    TRY(select_list_names(archive, axis, &names));
    REQUIRE(units_parse_u64(text, out) && *out < archive->count[axis], STATUS_USAGE,
            "input.select: %s is none of the %" PRIu64 " %ss of %s (numbers 0 .. %" PRIu64 "%s)",
            text, archive->count[axis], axis_name(axis), archive->parts[0].path,
            archive->count[axis] - 1, names.data ? names.data : "");
out:
    text_free(&names);
    return st;
}

struct ranked {
    double freq;
    uint64_t index;
};

static int select_by_frequency(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    return a->freq != b->freq ? (a->freq > b->freq) - (a->freq < b->freq)
                              : (a->index > b->index) - (a->index < b->index);
}

static status_t select_sort_by_frequency(struct archive *archive)
{
    status_t st = STATUS_OK;
    uint32_t count = archive->nselected[AXIS_CHAN];
    struct ranked *ranked = NULL;
    TRY(memory_zeroed(count, sizeof *ranked, "coarse channels", &ranked));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t index = archive->selected[AXIS_CHAN][i];
        ranked[i] = (struct ranked){archive->freq_hz[index], index};
    }
    qsort(ranked, count, sizeof *ranked, select_by_frequency);
    for (uint32_t i = 0; i < count; i++) {
        archive->selected[AXIS_CHAN][i] = ranked[i].index;
    }
out:
    free(ranked);
    return st;
}

static status_t select_axis(struct archive *archive, enum axis axis, char *const *names,
                            uint32_t count)
{
    status_t st = STATUS_OK;
    uint32_t selected = count ? count : (uint32_t)archive->count[axis];
    TRY(memory_zeroed(selected, sizeof(uint64_t), "selected streams", &archive->selected[axis]));
    archive->nselected[axis] = selected;
    for (uint32_t i = 0; i < selected; i++) {
        archive->selected[axis][i] = i;
        if (count) {
            TRY(select_find_index(archive, axis, names[i], &archive->selected[axis][i]));
        }
        for (uint32_t j = 0; count && j < i; j++) {
            REQUIRE(archive->selected[axis][j] != archive->selected[axis][i], STATUS_USAGE,
                    "input.select names %s %s twice", axis_name(axis), names[i]);
        }
    }
out:
    return st;
}

/* The numbers of the first samples at or after the bounds of a selection. */
static void select_bounds(const struct job_select *select, const struct archive *archive,
                          uint64_t *first, uint64_t *end)
{
    double rate = archive->sample_rate_hz;
    int is_utc = select->kind == SELECT_UTC;
    *first = sample_time_next(is_utc ? sample_time_between(archive->start, select->from_utc, rate)
                                     : sample_time_of(select->from_second, rate));
    *end = sample_time_next(is_utc ? sample_time_between(archive->start, select->to_utc, rate)
                                   : sample_time_of(select->to_second, rate));
}

static status_t select_time(const struct job_select *select, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t total = archive->count[AXIS_TIME];
    uint64_t first = 0;
    uint64_t end = total;
    double from = select->from_second;
    double to = select->to_second;
    if (select->kind == SELECT_UTC) {
        REQUIRE(archive->has_start, STATUS_USAGE,
                "input.select.utc: %s does not say when it starts", archive->parts[0].path);
        from = utc_difference(select->from_utc, archive->start);
        to = utc_difference(select->to_utc, archive->start);
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
        select_bounds(select, archive, &first, &end);
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

status_t select_apply(const struct job_select *select, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t streams = 1;
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        uint64_t count = select->nstreams[axis] ? select->nstreams[axis] : archive->count[axis];
        REQUIRE(multiply_u64(streams, count, &streams) && streams <= MOST_STREAMS, STATUS_DATA,
                "%s: its number of streams is absurd: more than %d, by the %" PRIu64 " of axis %s",
                archive->parts[0].path, MOST_STREAMS, count, axis_name(axis));
        TRY(select_axis(archive, axis, select->streams[axis], select->nstreams[axis]));
    }
    archive->nstreams = (uint32_t)streams;
    TRY(select_sort_by_frequency(archive));
    TRY(select_time(select, archive));
out:
    return st;
}
