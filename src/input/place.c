/* Joins archives at known places: in order of the stacked axis, then of time. */
#include "input/place.h"

#include "base/memory.h"
#include "input/join_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int place_compare(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    if (a->stack != b->stack) {
        return (a->stack > b->stack) - (a->stack < b->stack);
    }
    return (a->first_sample > b->first_sample) - (a->first_sample < b->first_sample);
}

static uint64_t place_samples(const struct place *place)
{
    return place->archive->count[AXIS_TIME];
}

static const char *place_path(const struct place *place)
{
    return place->archive->parts[0].path;
}

/* The ends of each stack; those before it are in order. */
static status_t place_check_order(const struct place *places, size_t count, enum place_apart apart)
{
    status_t st = STATUS_OK;
    uint64_t held = 0;
    for (size_t i = 0; i < count; i++) {
        held += place_samples(&places[i]);
    }
    for (size_t i = 1; i < count; i++) {
        const struct place *before = &places[i - 1];
        const struct place *next = &places[i];
        if (before->stack != next->stack) {
            continue;
        }
        uint64_t end = before->first_sample + place_samples(before);
        REQUIRE(next->first_sample >= end, STATUS_DATA,
                "%s starts %" PRIu64 " samples before the end of %s: files of one observation "
                "must not overlap",
                place_path(next), end - next->first_sample, place_path(before));
        REQUIRE(apart == PLACE_ANY || next->first_sample - end <= held, STATUS_DATA,
                "%s starts %" PRIu64 " samples behind the end of %s, more than all files hold "
                "together: do they belong to one observation?",
                place_path(next), next->first_sample - end, place_path(before));
    }
out:
    return st;
}

/* Those that stand side by side must have samples in common, unless they may lie anywhere. */
static status_t place_check_common(const struct place *places, size_t count)
{
    status_t st = STATUS_OK;
    size_t latest = 0;
    size_t ends_first = 0;
    uint64_t first_end = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int begins = i == 0 || places[i].stack != places[i - 1].stack;
        int ends = i + 1 == count || places[i].stack != places[i + 1].stack;
        uint64_t end = places[i].first_sample + place_samples(&places[i]);
        if (begins && places[i].first_sample > places[latest].first_sample) {
            latest = i;
        }
        if (ends && end < first_end) {
            ends_first = i;
            first_end = end;
        }
    }
    REQUIRE(places[latest].first_sample < first_end, STATUS_DATA,
            "%s starts %" PRIu64 " samples behind the end of %s: beside each other they have no "
            "sample in common, do they belong to one observation?",
            place_path(&places[latest]), places[latest].first_sample - first_end,
            place_path(&places[ends_first]));
out:
    return st;
}

/* Numbers that a damaged file makes up. */
static status_t place_check_span(const struct place *places, size_t count, uint64_t origin)
{
    status_t st = STATUS_OK;
    static const uint64_t most = UINT64_C(1) << 50;
    for (size_t i = 0; i < count; i++) {
        uint64_t behind = places[i].first_sample - origin;
        REQUIRE(behind < most && place_samples(&places[i]) < most, STATUS_DATA,
                "%s: its %" PRIu64 " samples begin %" PRIu64
                " behind the first of the observation: absurd",
                place_path(&places[i]), place_samples(&places[i]), behind);
    }
out:
    return st;
}

static status_t place_add_gap(struct archive *base, uint64_t first, uint64_t count)
{
    status_t st = STATUS_OK;
    uint64_t(*gaps)[2] = realloc(base->losses.gaps, (base->losses.ngaps + 1) * sizeof *gaps);
    REQUIRE(gaps, STATUS_DEVICE, "out of memory: gaps");
    base->losses.gaps = gaps;
    gaps[base->losses.ngaps][0] = first;
    gaps[base->losses.ngaps][1] = count;
    base->losses.ngaps++;
out:
    return st;
}

/* What single streams lack, numbered as the streams of all are. */
static status_t place_move_stream_gaps(struct archive *base, const struct place *place,
                                       const uint64_t one[AXIS_KINDS], uint64_t origin)
{
    status_t st = STATUS_OK;
    struct archive *from = place->archive;
    size_t had = from == base ? 0 : base->losses.nstream_gaps;
    uint64_t stack = base->shape.is_reim_stacked ? place->stack / 2 : place->stack;
    struct archive_gap *gaps =
        realloc(base->losses.stream_gaps, (had + from->losses.nstream_gaps + 1) * sizeof *gaps);
    REQUIRE(gaps, STATUS_DEVICE, "out of memory: gaps");
    base->losses.stream_gaps = gaps;
    for (size_t i = 0; i < from->losses.nstream_gaps; i++) {
        struct archive_gap gap = from->losses.stream_gaps[i];
        uint64_t rest = gap.stream;
        uint64_t stream = 0;
        uint64_t below = 1; /* streams of one index of the axis */
        for (int a = STREAM_AXES - 1; a >= 0; a--) {
            enum axis axis = archive_stream_axes[a];
            uint64_t index = rest % one[axis];
            rest /= one[axis];
            index += axis == base->shape.stacked ? stack * one[axis] : 0;
            stream += index * below;
            below *= base->count[axis];
        }
        gap.stream = stream;
        gap.first += place->first_sample - origin;
        gaps[had + i] = gap;
    }
    base->losses.nstream_gaps = had + from->losses.nstream_gaps;
out:
    return st;
}

static int place_compare_gaps(const void *left, const void *right)
{
    const struct archive_gap *a = left;
    const struct archive_gap *b = right;
    if (a->stream != b->stream) {
        return (a->stream > b->stream) - (a->stream < b->stream);
    }
    return (a->first > b->first) - (a->first < b->first);
}

/* Moves its parts, numbered from `origin` on. */
static status_t place_move(struct archive *base, struct place *place, uint64_t origin)
{
    status_t st = STATUS_OK;
    struct archive *from = place->archive;
    uint32_t had = from == base ? 0 : base->nparts;
    struct archive_part *parts = realloc(base->parts, ((size_t)had + from->nparts) * sizeof *parts);
    REQUIRE(parts, STATUS_DEVICE, "out of memory: %u files", had + from->nparts);
    base->parts = parts;
    for (uint32_t i = 0; i < from->nparts; i++) {
        if (from != base) {
            parts[had + i] = from->parts[i];
        }
        parts[had + i].first_sample += place->first_sample - origin;
        parts[had + i].stack = place->stack;
    }
    base->nparts = had + from->nparts;
    from->nparts = from == base ? from->nparts : 0; /* they moved */
out:
    return st;
}

/* Along time alone, what is missing between the parts is missing of all streams. */
static status_t place_find_gaps(struct archive *base)
{
    status_t st = STATUS_OK;
    uint64_t end = 0;
    for (uint32_t i = 0; i < base->nparts && base->shape.stacked == AXIS_TIME; i++) {
        const struct archive_part *part = &base->parts[i];
        if (part->stack == 0 && part->first_sample > end) {
            TRY(place_add_gap(base, end, part->first_sample - end));
        }
        end = part->first_sample + part->samples;
    }
out:
    return st;
}

/* All but the first, whose archive becomes the observation. */
static status_t place_add(struct archive *base, struct place *places, size_t count, uint64_t origin)
{
    status_t st = STATUS_OK;
    uint64_t end = 0;
    uint64_t one[AXIS_KINDS];
    memcpy(one, base->count, sizeof one);
    for (size_t i = 0; i < count; i++) {
        struct archive *next = places[i].archive;
        end = max_u64(end, places[i].first_sample - origin + place_samples(&places[i]));
        if (i == 0) {
            continue;
        }
        int is_imaginary = base->shape.is_reim_stacked && places[i].stack % 2 == 1;
        if (places[i].stack != places[i - 1].stack && !is_imaginary) {
            TRY(join_append_stack(base, next));
        }
    }
    for (size_t i = 0; i < count; i++) {
        TRY(place_move_stream_gaps(base, &places[i], one, origin));
        TRY(place_move(base, &places[i], origin));
    }
    if (base->losses.nstream_gaps > 1) {
        qsort(base->losses.stream_gaps, base->losses.nstream_gaps, sizeof *base->losses.stream_gaps,
              place_compare_gaps);
    }
    base->count[AXIS_TIME] = end;
    TRY(place_find_gaps(base));
out:
    return st;
}

status_t place_join(struct place *places, size_t count, enum place_apart apart,
                    struct archive **out)
{
    status_t st = STATUS_OK;
    struct place earliest = {.archive = NULL};
    qsort(places, count, sizeof *places, place_compare);
    struct archive *base = places[0].archive;
    for (size_t i = 0; i < count; i++) {
        if (!earliest.archive || places[i].first_sample < earliest.first_sample) {
            earliest = places[i];
        }
    }
    struct utc start = earliest.archive->sky.start;
    for (size_t i = 1; i < count; i++) {
        TRY(join_check_alike(base, places[i].archive, 1));
    }
    TRY(place_check_order(places, count, apart));
    TRY(place_check_span(places, count, earliest.first_sample));
    TRY(apart == PLACE_NEAR ? place_check_common(places, count) : STATUS_OK);
    for (size_t i = 1; i < count; i++) {
        TRY(join_take_assumed(base, places[i].archive));
    }
    TRY(place_add(base, places, count, earliest.first_sample));
    base->sky.start = start;
    base->are_by_start = base->shape.stacked == AXIS_TIME;
    *out = base;
    places[0].archive = NULL;
out:
    return st;
}
