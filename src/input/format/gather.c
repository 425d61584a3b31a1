/* Files one after the other, or each at its place: beside others, with real or imaginary parts. */
#include "input/format/gather.h"

#include "base/memory.h"
#include "dsp/axes.h"
#include "input/format/fields.h"
#include "input/format/plain.h"
#include "input/join_files.h"
#include "input/lost.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Joins archives at known places: in order of the stacked axis, then of time. */

status_t places_add(struct places *places, struct place **out)
{
    TRY(memory_grow(places->count, sizeof *places->items, "files", &places->items));
    *out = &places->items[places->count++];
    **out = (struct place){.archive = NULL};
    return STATUS_OK;
}

void places_free(struct places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        archive_destroy(places->items[i].archive);
    }
    free(places->items);
}

status_t gather_name(struct archive *archive, enum axis axis, size_t count, size_t i,
                     const char *name)
{
    char ***names = &archive->names[axis];
    TRY(*names ? STATUS_OK : memory_zeroed(count, sizeof **names, "names", names));
    return memory_text(name, &(*names)[i]);
}

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

/* Checks that neighbours in a stack neither overlap nor are too far apart; places are in order. */
static status_t place_check_order(const struct place *places, size_t count, enum place_apart apart)
{
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
                "%s starts %" PRIu64 " samples after the end of %s, more than all files contain "
                "together: do they belong to one observation?",
                place_path(next), next->first_sample - end, place_path(before));
    }
    return STATUS_OK;
}

/* Files that stand side by side must have samples in common, unless they may be anywhere. */
static status_t place_check_common(const struct place *places, size_t count)
{
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
    return REQUIRED(places[latest].first_sample < first_end, STATUS_DATA,
                    "%s starts %" PRIu64
                    " samples after the end of %s: beside each other they have no sample in "
                    "common, do they belong to one observation?",
                    place_path(&places[latest]), places[latest].first_sample - first_end,
                    place_path(&places[ends_first]));
}

/* Numbers that a damaged file makes up. */
static status_t place_check_span(const struct place *places, size_t count, uint64_t origin)
{
    static const uint64_t most = UINT64_C(1) << 50;
    for (size_t i = 0; i < count; i++) {
        uint64_t behind = places[i].first_sample - origin;
        REQUIRE(behind < most && place_samples(&places[i]) < most, STATUS_DATA,
                "%s: its %" PRIu64 " samples begin %" PRIu64
                " after the first of the observation: absurd",
                place_path(&places[i]), place_samples(&places[i]), behind);
    }
    return STATUS_OK;
}

/* Moves the gaps of single streams, numbered as the streams of all are. */
static status_t place_move_stream_gaps(struct archive *base, const struct place *place,
                                       const uint64_t one[AXIS_KINDS], uint64_t origin)
{
    struct archive *from = place->archive;
    size_t had = from == base ? 0 : base->losses.nstream_gaps;
    uint64_t stack = base->shape.is_reim_stacked ? place->stack / 2 : place->stack;
    const enum axis stacked = base->shape.stacked;
    TRY(memory_grown(had + from->losses.nstream_gaps + 1, sizeof *base->losses.stream_gaps, "gaps",
                     &base->losses.stream_gaps));
    for (size_t i = 0; i < from->losses.nstream_gaps; i++) {
        struct archive_gap gap = from->losses.stream_gaps[i];
        gap.stream = join_stream_number(one, stacked, gap.stream, stack * one[stacked],
                                        base->count[stacked]);
        gap.first += place->first_sample - origin;
        base->losses.stream_gaps[had + i] = gap;
    }
    base->losses.nstream_gaps = had + from->losses.nstream_gaps;
    return STATUS_OK;
}

/* Moves its parts, numbered from `origin` on. */
static status_t place_move(struct archive *base, struct place *place, uint64_t origin)
{
    struct archive *from = place->archive;
    uint32_t had = from == base ? 0 : base->nparts;
    TRY(memory_grown((size_t)had + from->nparts, sizeof *base->parts, "files", &base->parts));
    for (uint32_t i = 0; i < from->nparts; i++) {
        if (from != base) {
            base->parts[had + i] = from->parts[i];
        }
        base->parts[had + i].first_sample += place->first_sample - origin;
        base->parts[had + i].stack = place->stack;
    }
    base->nparts = had + from->nparts;
    from->nparts = from == base ? from->nparts : 0; /* they moved */
    return STATUS_OK;
}

/* Along time alone, what is missing between the parts is missing of all streams. */
static status_t place_find_gaps(struct archive *base)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < base->nparts && base->shape.stacked == AXIS_TIME; i++) {
        const struct archive_part *part = &base->parts[i];
        TRY(part->stack == 0 && part->first_sample > end
                ? archive_add_gap(base, end, part->first_sample - end)
                : STATUS_OK);
        end = part->first_sample + part->samples;
    }
    return STATUS_OK;
}

/* All but the first, whose archive becomes the observation. */
static status_t place_add(struct archive *base, struct place *places, size_t count, uint64_t origin)
{
    uint64_t end = 0;
    uint64_t one[AXIS_KINDS];
    memcpy(one, base->count, sizeof one);
    for (size_t i = 0; i < count; i++) {
        int is_imaginary = base->shape.is_reim_stacked && places[i].stack % 2 == 1;
        int is_next = i > 0 && places[i].stack != places[i - 1].stack && !is_imaginary;
        end = max_u64(end, places[i].first_sample - origin + place_samples(&places[i]));
        TRY(is_next ? join_append_stack(base, places[i].archive) : STATUS_OK);
    }
    for (size_t i = 0; i < count; i++) {
        TRY(place_move_stream_gaps(base, &places[i], one, origin));
        TRY(place_move(base, &places[i], origin));
    }
    archive_gaps_sort(base->losses.stream_gaps, base->losses.nstream_gaps);
    base->count[AXIS_TIME] = end;
    return place_find_gaps(base);
}

status_t place_join(struct places *places, enum place_apart apart, struct archive **out)
{
    struct place *all = places->items;
    const size_t count = places->count;
    qsort(all, count, sizeof *all, place_compare);
    struct archive *base = all[0].archive;
    struct place earliest = all[0];
    for (size_t i = 1; i < count; i++) {
        earliest = all[i].first_sample < earliest.first_sample ? all[i] : earliest;
    }
    struct utc start = earliest.archive->sky.start;
    for (size_t i = 1; i < count; i++) {
        TRY(join_check_alike(base, all[i].archive, 1));
    }
    TRY(place_check_order(all, count, apart));
    TRY(place_check_span(all, count, earliest.first_sample));
    TRY(apart == PLACE_NEAR ? place_check_common(all, count) : STATUS_OK);
    for (size_t i = 1; i < count; i++) {
        TRY(join_take_assumed(base, all[i].archive));
    }
    TRY(place_add(base, all, count, earliest.first_sample));
    base->sky.start = start;
    base->are_by_start = base->shape.stacked == AXIS_TIME;
    *out = base;
    all[0].archive = NULL;
    return STATUS_OK;
}

/* Opened files, in order; of each, real part and imaginary part. */
struct gathered {
    const struct format_input *input;
    struct archive **archives;
    size_t count;
    size_t each; /* 2: real and imaginary parts in turn, two of which make one */
};

#define GATHER_ODD                                                                                 \
    "input.files: %zu files, expected real and imaginary parts in turn: an even number"

static status_t gather_open_all(struct gathered *gathered, const struct format *format)
{
    const struct format_input *input = gathered->input;
    struct job_layout layout = *input->layout;
    int has_parts = layout.parts[0] != NULL;
    size_t each = has_parts ? 2 : 1;
    gathered->each = has_parts || layout.is_reim_along ? 2 : 1;
    REQUIRE(!layout.is_reim_along || input->npaths % 2 == 0, STATUS_USAGE, GATHER_ODD,
            input->npaths);
    TRY(memory_zeroed(each * input->npaths, sizeof(struct archive *), "input files",
                      &gathered->archives));
    for (size_t i = 0; i < each * input->npaths; i++) {
        if (has_parts) {
            layout.dataset = layout.parts[i % 2];
        }
        gathered->count = i + 1;
        const char *path = input->paths[i / each];
        struct archive **out = &gathered->archives[i];
        TRY(format->read ? fields_make_file(path, format->title, &layout, format->read, NULL, out)
            : format->plain ? plain_open(path, &layout, format->plain, NULL, NULL, out)
                            : format->open_file(path, &layout, out));
        gathered->archives[i]->shape.is_reim_stacked = gathered->each == 2;
    }
    return STATUS_OK;
}

/* Returns the number of the archive's first sample, relative to any origin. With `is_known`, the
 * layout or the file states it. Else it follows from the start times, if both archives state one.
 * Else the archive follows the one before in time, or begins with all others. */
static status_t gather_first_sample(const struct gathered *gathered, size_t i, int is_known,
                                    const struct place *places, uint64_t *out)
{
    enum { MIDDLE = 62 }; /* what is earlier than the first has a number, too */
    const struct job_layout *layout = gathered->input->layout;
    const struct archive *archive = gathered->archives[i];
    const struct archive *first = gathered->archives[0];
    size_t each = gathered->each;
    *out = 0;
    if (is_known) {
        *out = layout->time.nfirst_sample > 0 ? layout->time.first_sample[i / each]
                                              : archive->parts[0].first_sample;
    } else if (first->states.start && archive->states.start) {
        struct sample_time start =
            sample_time_between(first->sky.start, archive->sky.start, first->sample_rate_hz);
        REQUIRE(start.whole < INT64_C(1) << (MIDDLE - 1) &&
                    start.whole > -(INT64_C(1) << (MIDDLE - 1)),
                STATUS_DATA, "%s and %s start at times that are absurdly far apart",
                first->parts[0].path, archive->parts[0].path);
        join_say_shift(archive, start);
        *out = (uint64_t)((INT64_C(1) << MIDDLE) + start.whole);
    } else if (first->shape.stacked == AXIS_TIME && i >= each) {
        *out = places[i - each].first_sample + gathered->archives[i - each]->count[AXIS_TIME];
    }
    return STATUS_OK;
}

static status_t gather_at_places(struct gathered *gathered, int is_known, struct archive **out)
{
    SCOPED(places_free) struct places places = {0};
    for (size_t i = 0; i < gathered->count; i++) {
        struct archive *archive = gathered->archives[i];
        struct place *place = NULL;
        REQUIRE(archive->losses.ngaps == 0 && archive->losses.nstream_gaps == 0, STATUS_DATA,
                "%s has /gaps: it cannot stand beside others with samples of its own",
                archive->parts[0].path);
        TRY(places_add(&places, &place));
        place->stack = archive->shape.stacked == AXIS_TIME ? i % gathered->each : i;
        TRY(gather_first_sample(gathered, i, is_known, places.items, &place->first_sample));
    }
    for (size_t i = 0; i < gathered->count; i++) {
        places.items[i].archive = gathered->archives[i];  /* for `places` to keep */
        gathered->archives[i]->parts[0].first_sample = 0; /* counted from its own start */
        gathered->archives[i] = NULL;
    }
    return place_join(&places, PLACE_NEAR, out);
}

/* The file of a sequence that follows: the next to start, or in the list if that is not known; NULL
 * after the last. */
static const struct archive *gather_next(const struct gathered *gathered, size_t i)
{
    const struct archive *this = gathered->archives[i];
    const struct archive *next = NULL;
    int all_start = 1;
    for (size_t j = 0; j < gathered->count; j++) {
        const struct archive *other = gathered->archives[j];
        all_start = all_start && other->states.start;
        if (all_start && utc_difference(other->sky.start, this->sky.start) > 0 &&
            (!next || utc_difference(other->sky.start, next->sky.start) < 0)) {
            next = other;
        }
    }
    return all_start ? next : i + 1 < gathered->count ? gathered->archives[i + 1] : NULL;
}

/* Leaves out of each file of a sequence what the next one repeats. Nothing repeats the end of the
 * last; where the next one begins later than it should, what is before its begin is kept. Heaps are
 * kept whole. */
static status_t gather_cut_repeated(struct gathered *gathered)
{
    for (size_t i = 0; i < gathered->count; i++) {
        struct archive *archive = gathered->archives[i];
        struct archive_part *part = &archive->parts[0];
        const struct archive *next = part->repeated > 0 ? gather_next(gathered, i) : NULL;
        if (!next || archive->shape.stacked != AXIS_TIME) {
            continue;
        }
        REQUIRE(part->repeated < part->samples, STATUS_DATA,
                "%s: the next file repeats %" PRIu64 " of its %" PRIu64
                " samples, by its header: expected fewer than all",
                part->path, part->repeated, part->samples);
        uint64_t kept = part->samples - part->repeated;
        int64_t later =
            next->states.start
                ? sample_time_between(archive->sky.start, next->sky.start, archive->sample_rate_hz)
                      .whole
                : 0;
        uint64_t begin = later > 0 ? min_u64((uint64_t)later, part->samples) : 0;
        begin -= part->nruns > 0 ? begin % part->runs[0].steps : 0;
        if (begin > kept) {
            TRY(assume(&archive->assumed,
                       "%" PRIu64 " samples should be repeated by the next file, %" PRIu64
                       " are by its start: its start is used",
                       part->repeated, part->samples - begin));
            kept = begin;
        }
        TRY(cut_time(archive, kept));
        for (uint32_t j = 0; j < part->nruns; j++) {
            part->runs[j].pieces = kept / part->runs[j].steps;
        }
    }
    return STATUS_OK;
}

/* Side by side, and not of the same times. */
static int gather_is_uneven(const struct gathered *gathered)
{
    const struct archive *first = gathered->archives[0];
    int is_uneven = 0;
    int all_start = 1;
    for (size_t i = 0; i < gathered->count; i++) {
        const struct archive *archive = gathered->archives[i];
        all_start = all_start && archive->states.start;
        is_uneven = is_uneven || archive->count[AXIS_TIME] != first->count[AXIS_TIME] ||
                    (all_start && sample_time_between(first->sky.start, archive->sky.start,
                                                      first->sample_rate_hz)
                                          .whole != 0);
    }
    return first->shape.stacked != AXIS_TIME && all_start && is_uneven;
}

/* Seconds that the last digit of a start stands for, as its value shows. */
static double gather_start_step(struct utc start, enum job_unit unit)
{
    enum { DAY = 86400, DIGITS = 6, MJD_DIGITS = 10 };
    int is_mjd = unit == UNIT_MJD;
    double number = is_mjd ? utc_mjd(start) : start.second;
    double rounding = is_mjd ? 2e-11 : 5e-7;
    double power = 1;
    for (int i = 0; i < (is_mjd ? MJD_DIGITS : DIGITS); i++) {
        if (fabs(number * power - rint(number * power)) <= rounding * power) {
            break;
        }
        power *= 10;
    }
    return (is_mjd ? DAY : 1) / power;
}

/* Returns the largest difference in seconds between a start and the end of the samples before it
 * that a computer's clock or a coarse start time explains: then files of `length` seconds follow
 * each other. The start is `found` seconds after the first one. */
static double gather_start_doubt(double coarse, double found, double length)
{
    static const double clock_s = 0.1; /* such clocks and writers' buffers are as far off, */
    static const double share = 0.05;  /* of a file: lost data are more */
    static const double drift = 2e-5;
    return fmax(fmin(clock_s, share * length), fmin(0.999 * coarse, 0.999)) + drift * found;
}

/* Starts that attributes of files of a sequence state, or a computer's clock, compared with the
 * samples before them. One that all repeat is that of the first. */
static status_t gather_compare_starts(const struct gathered *gathered)
{
    double worst = 0;
    const struct job_layout *layout = gathered->input->layout;
    struct archive *first = gathered->archives[0];
    const size_t each = gathered->each;
    uint64_t samples = 0;
    int is_repeated = 1;
    const char *name = first->states.clock ? "auxi" : layout->said[SAID_START].attribute;
    if (!name || first->states.start || first->shape.stacked != AXIS_TIME) {
        return STATUS_OK;
    }
    for (size_t i = each; i < gathered->count; i++) {
        if (!gathered->archives[i]->sky.has_start) {
            return STATUS_OK;
        }
        is_repeated =
            is_repeated && utc_difference(gathered->archives[i]->sky.start, first->sky.start) == 0;
    }
    for (size_t i = each; i < gathered->count && !is_repeated; i += each) {
        const struct archive *next = gathered->archives[i];
        samples += gathered->archives[i - each]->parts[0].samples;
        enum job_unit unit = layout->said[SAID_START].unit;
        double steps[] = {gather_start_step(first->sky.start, unit),
                          gather_start_step(next->sky.start, unit)};
        double stated = utc_difference(next->sky.start, first->sky.start);
        double found = (double)samples / first->sample_rate_hz;
        double apart = fabs(stated - found);
        if (apart < fmax(0.999 * fmin(steps[0], steps[1]), 0.5 / first->sample_rate_hz)) {
            continue;
        }
        worst = fmax(worst, apart);
        double length = found / (double)(i / each);
        REQUIRE(apart < gather_start_doubt(fmax(steps[0], steps[1]), found, length), STATUS_DATA,
                "%s: %s states a start %.9g s after that of %s, but the %" PRIu64
                " samples of the files before it are %.9g s: input.layout.start says when the "
                "first file starts, input.layout.first_sample where each begins",
                next->parts[0].path, name, stated, first->parts[0].path, samples, found);
    }
    TRY(assume_if(worst > 0, &first->assumed,
                  "starts by %s are up to %.3g s from those that the samples before them give: "
                  "files follow each other from the first on",
                  name, worst));
    return assume_if(is_repeated && gathered->count > each, &first->assumed,
                     "%s states the same start in all %zu files: the first file starts then, the "
                     "others follow",
                     name, gathered->count / each);
}

static status_t gather_put_together(struct gathered *gathered, struct archive **out)
{
    const struct job_layout *layout = gathered->input->layout;
    /* Whether archives at their own places begin at samples that are known: of each file, not each
     * archive. */
    int is_known = layout->time.nfirst_sample > 0 || layout->said[SAID_FIRST_SAMPLE].attribute;
    size_t units = gathered->count / gathered->each;
    REQUIRE(layout->time.nfirst_sample == 0 || layout->time.nfirst_sample == units, STATUS_USAGE,
            "input.layout.first_sample lists %u samples, expected one for each of %zu files%s",
            layout->time.nfirst_sample, units, layout->is_reim_along ? " with real parts" : "");
    TRY(is_known ? STATUS_OK : gather_compare_starts(gathered));
    TRY(gather_cut_repeated(gathered));
    if (is_known || gathered->each == 2 || gather_is_uneven(gathered)) {
        TRY(gather_at_places(gathered, is_known, out));
    } else {
        TRY(join_archives(gathered->archives, gathered->count));
        *out = memory_move(&gathered->archives[0]);
    }
    return STATUS_OK;
}

status_t gather_opened(const struct format_input *input, struct archive **archives,
                       struct archive **out)
{
    const struct job_layout *layout = input->layout;
    struct gathered gathered = {input, archives, input->npaths, layout->is_reim_along ? 2 : 1};
    REQUIRE(!layout->parts[0], STATUS_USAGE,
            "input.layout.parts are datasets, but %s is no HDF5 file", input->paths[0]);
    REQUIRE(input->npaths % gathered.each == 0, STATUS_USAGE, GATHER_ODD, input->npaths);
    for (size_t i = 0; i < gathered.count; i++) {
        archives[i]->shape.is_reim_stacked = layout->is_reim_along;
    }
    return gather_put_together(&gathered, out);
}

status_t gather_files(const struct format_input *input, const struct format *format,
                      struct archive **out)
{
    status_t st = STATUS_OK;
    struct gathered gathered = {.input = input};
    TRY_OUT(gather_open_all(&gathered, format));
    TRY_OUT(gather_put_together(&gathered, out));
out:
    for (size_t i = 0; i < gathered.count; i++) {
        archive_destroy(gathered.archives[i]);
    }
    free(gathered.archives);
    return st;
}
