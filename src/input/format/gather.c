/* Files one after the other, or each at its place: beside others, with real or imaginary parts. */
#include "input/format/gather.h"

#include "base/memory.h"
#include "dsp/axes.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/plain.h"
#include "input/lost.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Files of one observation: compared, put in order by their start times, joined along time or a
 * stream axis. */

static int join_same_names(const struct archive *a, const struct archive *b, enum axis axis)
{
    int same = !a->names[axis] == !b->names[axis];
    for (uint64_t i = 0; same && a->names[axis] && i < a->count[axis]; i++) {
        same = strcmp(a->names[axis][i], b->names[axis][i]) == 0;
    }
    return same;
}

/* The native layout alone says any, and its files are joined along time. */
static int join_same_delays(const struct archive *a, const struct archive *b)
{
    return !a->coherent.delay_hz == !b->coherent.delay_hz && a->coherent.dm == b->coherent.dm &&
           a->coherent.constant == b->coherent.constant &&
           (!a->coherent.delay_hz ||
            memcmp(a->coherent.delay_hz, b->coherent.delay_hz,
                   (size_t)a->count[AXIS_CHAN] * sizeof *a->coherent.delay_hz) == 0);
}

/* Returns whether two archives hand out the same of what they store in the same way. */
static int numbers_are_alike(const struct archive *a, const struct archive *b)
{
    const struct archive_number *one = &a->stored.number;
    const struct archive_number *other = &b->stored.number;
    return a->format == b->format && a->stored.is_dc_at_edge == b->stored.is_dc_at_edge &&
           one->kind == other->kind && one->bits == other->bits &&
           one->is_big_endian == other->is_big_endian &&
           one->is_high_bit_first == other->is_high_bit_first && one->offset == other->offset &&
           one->is_doubled == other->is_doubled &&
           memcmp(one->levels, other->levels, sizeof one->levels) == 0 &&
           one->has_missing == other->has_missing && one->missing == other->missing &&
           one->is_missing_byte == other->is_missing_byte && one->has_steps == other->has_steps;
}

/* Returns the property in which two files differ, though they should not; NULL if there is none. */
static const char *join_difference(const struct archive *a, const struct archive *b)
{
    if (a->shape.ndims != b->shape.ndims || a->shape.time_dim != b->shape.time_dim) {
        return "axes";
    }
    for (uint32_t i = 0; i < a->shape.ndims; i++) {
        if (a->shape.dims[i].axis != b->shape.dims[i].axis) {
            return "axes";
        }
    }
    if (!numbers_are_alike(a, b) || a->is_complex != b->is_complex ||
        a->stored.is_compound != b->stored.is_compound ||
        a->stored.swap_bytes != b->stored.swap_bytes ||
        memcmp(&a->stored.nibbles, &b->stored.nibbles, sizeof a->stored.nibbles) != 0) {
        return "sample types";
    }
    if (a->sideband != b->sideband) {
        return "sidebands";
    }
    if (a->oversample.num != b->oversample.num || a->oversample.den != b->oversample.den) {
        return "oversampling ratios";
    }
    if (memcmp(&a->bank, &b->bank, offsetof(struct archive_bank, prototype)) != 0 ||
        a->bank.nprototype != b->bank.nprototype ||
        (a->bank.nprototype > 0 &&
         memcmp(a->bank.prototype, b->bank.prototype,
                (size_t)a->bank.nprototype * sizeof *a->bank.prototype) != 0)) {
        return "filter banks";
    }
    if (a->stored.has_missing_value != b->stored.has_missing_value ||
        memcmp(&a->stored.missing_value, &b->stored.missing_value,
               sizeof a->stored.missing_value) != 0) {
        return "missing values";
    }
    if (a->scale != b->scale) {
        return "scales";
    }
    if (!join_same_delays(a, b)) {
        return "coherent dedispersion";
    }
    for (int i = 0; i < STREAM_AXES; i++) {
        if (archive_stream_axes[i] != a->shape.stacked &&
            !join_same_names(a, b, archive_stream_axes[i])) {
            return "names of streams";
        }
    }
    return NULL;
}

/* Compares two files with the same axes. */
static status_t join_check_shapes(const struct archive *a, const struct archive *b,
                                  int times_differ)
{
    for (uint32_t i = 0; i < a->shape.ndims; i++) {
        const struct archive_dim *one = &a->shape.dims[i];
        const struct archive_dim *other = &b->shape.dims[i];
        REQUIRE(one->size == other->size || (one->axis == AXIS_TIME && times_differ), STATUS_DATA,
                "%s and %s do not belong to one observation: their shapes differ, %" PRIu64
                " and %" PRIu64 " along %s",
                a->parts[0].path, b->parts[0].path, one->size, other->size, axis_name(one->axis));
    }
    return STATUS_OK;
}

/* Compares the frequencies of two files with as many coarse channels. */
static status_t join_check_frequencies(const struct archive *a, const struct archive *b)
{
    int is_said = a->states.freq && b->states.freq && a->shape.stacked != AXIS_CHAN;
    for (uint64_t i = 0; is_said && i < a->count[AXIS_CHAN]; i++) {
        REQUIRE(a->freq_hz[i] == b->freq_hz[i], STATUS_DATA,
                "%s and %s do not belong to one observation: their freq_hz differ, coarse channel "
                "%" PRIu64 " is at %.17g Hz and %.17g Hz: input.layout.files_along: chan joins "
                "neighbouring bands",
                a->parts[0].path, b->parts[0].path, i, a->freq_hz[i], b->freq_hz[i]);
    }
    return STATUS_OK;
}

enum join_fact {
    JOIN_TYPE,
    JOIN_NUMBERS,
    JOIN_AXES,
    JOIN_BAND,
    JOIN_SCALE,
    JOIN_NAMES,
    JOIN_FACTS
};

/* The names of one axis' indices, or of as many as a line takes. */
static status_t join_describe_names(const struct archive *archive, struct text *out)
{
    enum { MOST = 4 };
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        uint64_t count = archive->names[axis] ? archive->count[axis] : 0;
        TRY(text_add(out, "%s%s%s", count > 0 && out->length > 0 ? ", " : "",
                     count > 0 ? axis_name(axis) : "", count > MOST ? " ..." : ""));
        for (uint64_t k = 0; k < count && count <= MOST; k++) {
            TRY(text_add(out, " %s", archive->names[axis][k]));
        }
    }
    return out->length == 0 ? text_add(out, "no names") : STATUS_OK;
}

/* Describes one fact about samples, for messages: "8 bit complex", "[chan][time][pol]". */
static status_t join_describe(const struct archive *archive, enum join_fact fact, struct text *out)
{
    const struct archive_number *number = &archive->stored.number;
    switch (fact) {
    case JOIN_TYPE:
        return text_add(out, "%s %s", sample_types[archive->format].name,
                        archive->is_complex ? "complex" : "real");
    case JOIN_NUMBERS:
        return text_add(out, "%s-endian, offset %.9g, 0 Hz at the %s",
                        archive->stored.swap_bytes || number->is_big_endian ? "big" : "little",
                        number->offset, archive->stored.is_dc_at_edge ? "edge" : "centre");
    case JOIN_BAND:
        return text_add(out, "sideband %+d, oversampling %u/%u", archive->sideband,
                        archive->oversample.num, archive->oversample.den);
    case JOIN_SCALE:
        return text_add(out, "scale %.9g", archive->scale);
    case JOIN_AXES:
        for (uint32_t i = 0; i < archive->shape.ndims; i++) {
            TRY(text_add(out, "[%s]", axis_name(archive->shape.dims[i].axis)));
        }
        break;
    default:
        return join_describe_names(archive, out);
    }
    return STATUS_OK;
}

/* Appends the facts in which two files differ: ", 8 bit complex and 16 bit complex". */
static status_t join_add_differences(const struct archive *a, const struct archive *b,
                                     struct text *out)
{
    SCOPED(text_free) struct text one = {0};
    SCOPED(text_free) struct text other = {0};
    for (int fact = 0; fact < JOIN_FACTS; fact++) {
        text_free(&one);
        text_free(&other);
        TRY(join_describe(a, (enum join_fact)fact, &one));
        TRY(join_describe(b, (enum join_fact)fact, &other));
        TRY(strcmp(one.data, other.data) == 0 ? STATUS_OK
                                              : text_add(out, ", %s and %s", one.data, other.data));
    }
    return STATUS_OK;
}

/* Checks that two archives can be files of one observation: alike in all but time and the axis
 * along which they are stacked, and, unless `times_differ`, of as many samples. Fails with DATA,
 * naming what differs; with DEVICE (memory). */
static status_t join_check_alike(const struct archive *a, const struct archive *b, int times_differ)
{
    const char *what = join_difference(a, b);
    SCOPED(text_free) struct text facts = {0};
    int is_one_station = a->shape.stacked != AXIS_STATION && a->sky.telescope && b->sky.telescope;
    REQUIRE(!is_one_station || strcmp(a->sky.telescope, b->sky.telescope) == 0, STATUS_DATA,
            "%s and %s do not belong to one observation: their telescopes differ, %s and %s",
            a->parts[0].path, b->parts[0].path, a->sky.telescope, b->sky.telescope);
    REQUIRE(a->sample_rate_hz == b->sample_rate_hz, STATUS_DATA,
            "%s and %s do not belong to one observation: their sample rates differ, %.17g Hz and "
            "%.17g Hz",
            a->parts[0].path, b->parts[0].path, a->sample_rate_hz, b->sample_rate_hz);
    if (what) {
        TRY(join_add_differences(a, b, &facts));
        return report_fail(STATUS_DATA,
                           "%s and %s do not belong to one observation: their %s differ%s",
                           a->parts[0].path, b->parts[0].path, what, facts.data ? facts.data : "");
    }
    TRY(join_check_shapes(a, b, times_differ));
    return join_check_frequencies(a, b);
}

/* Notes in next->assumed where two files state different sources or positions (0.1 degrees), of
 * which the first file's are kept; not of beams. Then adds the assumptions of `next` to those of
 * `base`. Fails with DEVICE (memory). */
static status_t join_take_assumed(struct archive *base, struct archive *next)
{
    static const double limit = 0.1; /* degrees */
    const double degree = M_PI / 180;
    double ra =
        remainder(next->sky.ra_deg - base->sky.ra_deg, 360) * cos(base->sky.dec_deg * degree);
    double dec = next->sky.dec_deg - base->sky.dec_deg;
    int are_beams = base->shape.stacked == AXIS_BEAM;
    TRY(assume_if(!are_beams && base->sky.source && next->sky.source &&
                      strcmp(base->sky.source, next->sky.source) != 0,
                  &next->assumed, "source %s and %s of the first file differ: %s is kept",
                  next->sky.source, base->sky.source, base->sky.source));
    TRY(assume_if(!are_beams && base->sky.has_position && next->sky.has_position &&
                      hypot(ra, dec) > limit,
                  &next->assumed,
                  "RA, Dec (%.9g, %.9g degrees) and those of the first file (%.9g, %.9g) differ: "
                  "these are kept",
                  next->sky.ra_deg, next->sky.dec_deg, base->sky.ra_deg, base->sky.dec_deg));
    return assumed_add(&base->assumed, next->parts[0].path, next->assumed);
}

/* Warns if `next` starts a fraction of a sample off the samples of the files before it, start.over,
 * which is ignored: more than 1/100 of a sample and the rounding of the times (start.doubt). */
static void join_say_shift(const struct archive *next, struct sample_time start)
{
    enum { OF_A_SAMPLE = 100 };
    if (fabs(start.over) > 1.0 / OF_A_SAMPLE + start.doubt) {
        report_warn("%s starts %.2f of a sample (%.3g s) %s than the samples of the files before "
                    "it would go on: taken as if it did not",
                    next->parts[0].path, fabs(start.over), fabs(start.over) / next->sample_rate_hz,
                    start.over > 0 ? "later" : "earlier");
    }
}

/* How many samples are missing between the files before, of `samples`, and the next: by their start
 * times, if they have any. They must not overlap, and more must be there than is missing (`held`,
 * in all files): another observation is among them else. */
static status_t join_find_gap(const struct archive *base, uint64_t samples, uint64_t held,
                              const struct archive *next, uint64_t *gap)
{
    *gap = 0;
    if (base->states.start && next->states.start) {
        struct sample_time start =
            sample_time_between(base->sky.start, next->sky.start, base->sample_rate_hz);
        int64_t behind = start.whole - (int64_t)samples;
        REQUIRE(behind >= 0, STATUS_DATA,
                "%s starts %.1f samples before the end of the files before it: files of one "
                "observation must not overlap%s",
                next->parts[0].path, -((double)behind + start.over),
                start.whole == 0 ? "; input.layout.files_along joins those of several beams, "
                                   "polarisations or stations"
                                 : "");
        REQUIRE((uint64_t)behind <= held, STATUS_DATA,
                "%s starts %.1f samples after the end of the files before it, more than all files "
                "contain together: do they belong to one observation?",
                next->parts[0].path, (double)behind + start.over);
        join_say_shift(next, start);
        *gap = (uint64_t)behind;
    }
    return STATUS_OK;
}

/* Channels of a filter bank of ours turn on from the first sample of their own file: files go on in
 * phase where they begin whole turns of the transform later, every `num` spectra; `begin` in rows
 * after the first file's. */
static status_t join_check_phases(const struct archive *base, const struct archive *next,
                                  uint64_t begin)
{
    enum { OF_A_SAMPLE = 100 };
    struct sample_time start = {.over = 0};
    if (base->bank.channels == 0) {
        return STATUS_OK;
    }
    const uint64_t turn =
        base->oversample.num / gcd_u64(base->oversample.num, base->oversample.den);
    if (base->states.start && next->states.start) {
        start = sample_time_between(base->sky.start, next->sky.start, base->sample_rate_hz);
    }
    return REQUIRED(
        begin % turn == 0 && fabs(start.over) <= 1.0 / OF_A_SAMPLE + start.doubt, STATUS_DATA,
        "%s begins %.2f spectra after %s: phases of channels count from the first sample of their "
        "own file, and go on only from a whole number of spectra, a multiple of %" PRIu64,
        next->parts[0].path, (double)begin + start.over, base->parts[0].path, turn);
}

static int join_by_start(const void *left, const void *right)
{
    const struct archive *a = *(struct archive *const *)left;
    const struct archive *b = *(struct archive *const *)right;
    double difference = utc_difference(a->sky.start, b->sky.start);
    return (difference > 0) - (difference < 0);
}

/* Appends the stacked axis of `next`: its count, frequencies, names and positions of stations.
 * Names move out of `next`; if only one of both has names, the axis has none. Fails with DEVICE
 * (memory). */
static status_t join_append_stack(struct archive *base, const struct archive *next)
{
    enum axis axis = base->shape.stacked;
    uint64_t had = base->count[axis];
    uint64_t more = next->count[axis];
    if (base->states.freq && axis == AXIS_CHAN) {
        TRY(memory_grown((size_t)(had + more), sizeof *base->freq_hz,
                         "frequencies of coarse channels", &base->freq_hz));
        memcpy(base->freq_hz + had, next->freq_hz, (size_t)more * sizeof *base->freq_hz);
    }
    if (base->names[axis] && next->names[axis]) {
        TRY(memory_grown((size_t)(had + more), sizeof *base->names[axis], "names of an axis",
                         &base->names[axis]));
        memcpy(base->names[axis] + had, next->names[axis], (size_t)more * sizeof(char *));
        memset(next->names[axis], 0, (size_t)more * sizeof(char *)); /* they moved */
    } else if (base->names[axis]) {
        text_free_list(base->names[axis], (size_t)had);
        base->names[axis] = NULL;
    }
    /* Positions of all stations, or of none. */
    const uint64_t known = base->states.nitrf_m;
    if (axis == AXIS_STATION && known == 3 * had && next->states.nitrf_m == 3 * more) {
        TRY(memory_grown((size_t)(3 * (had + more)), sizeof(double), "positions of stations",
                         &base->states.itrf_m));
        memcpy(base->states.itrf_m + known, next->states.itrf_m,
               (size_t)(3 * more) * sizeof(double));
        base->states.nitrf_m = 3 * (had + more);
    }
    base->count[axis] = had + more;
    base->present[axis] = 1;
    return STATUS_OK;
}

/* Along time: appends the gaps of `next`, which begins at sample `at`, and `missing` samples before
 * it. Fails with DEVICE (memory). */
static status_t join_append_gaps(struct archive *base, const struct archive *next, uint64_t missing,
                                 uint64_t at)
{
    struct archive_losses *to = &base->losses;
    const struct archive_losses *from = &next->losses;
    TRY(memory_grown(to->nstream_gaps + from->nstream_gaps, sizeof *to->stream_gaps, "gaps",
                     &to->stream_gaps));
    for (size_t i = 0; i < from->nstream_gaps; i++) {
        to->stream_gaps[to->nstream_gaps] = from->stream_gaps[i];
        to->stream_gaps[to->nstream_gaps++].first += at;
    }
    archive_gaps_sort(to->stream_gaps, to->nstream_gaps);
    TRY(missing > 0 ? archive_add_gap(base, at - missing, missing) : STATUS_OK);
    for (size_t i = 0; i < from->ngaps; i++) {
        TRY(archive_add_gap(base, from->gaps[i][0] + at, from->gaps[i][1]));
    }
    return STATUS_OK;
}

enum { MOST_GAPS = 1 << 26 };

/* Returns the number in the observation of stream `number` of one file, which has `one` indices of
 * each axis; those of the stacked axis are from `from` on of `total`. Numbers are those of struct
 * archive_gap. */
static uint64_t join_stream_number(const uint64_t one[AXIS_KINDS], enum axis stacked,
                                   uint64_t number, uint64_t from, uint64_t total)
{
    uint64_t out = 0;
    uint64_t each = 1;
    for (int i = STREAM_AXES - 1; i >= 0; i--) {
        enum axis axis = archive_stream_axes[i];
        out += (number % one[axis] + (axis == stacked ? from : 0)) * each;
        each *= axis == stacked ? total : one[axis];
        number /= one[axis];
    }
    return out;
}

static uint64_t join_gaps_streams(const struct archive *file)
{
    uint64_t streams = 1;
    for (int i = 0; i < STREAM_AXES; i++) {
        streams *= file->count[archive_stream_axes[i]];
    }
    return streams;
}

/* Returns whether all files have the same gaps: then these are the observation's. */
static int join_gaps_are_alike(struct archive *const *files, size_t count)
{
    int are_alike = 1;
    for (size_t i = 0; i < count && are_alike; i++) {
        const struct archive *file = files[i];
        are_alike = file->losses.nstream_gaps == 0 &&
                    file->losses.ngaps == files[0]->losses.ngaps &&
                    (file->losses.ngaps == 0 ||
                     memcmp(file->losses.gaps, files[0]->losses.gaps,
                            file->losses.ngaps * sizeof *file->losses.gaps) == 0);
    }
    return are_alike;
}

/* Side by side along files[0]->stacked, before they are joined: what all streams of one file lack,
 * these streams of the observation lack. All of them become files[0]'s. Fails with DEVICE
 * (memory), with DATA: too many. */
static status_t join_spread_gaps(struct archive **files, size_t count)
{
    struct archive *base = files[0];
    SCOPED(free_at) struct archive_gap *gaps = NULL;
    uint64_t total = 0;
    uint64_t needed = 0;
    uint64_t from = 0;
    size_t found = 0;
    if (join_gaps_are_alike(files, count)) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t spread = 0;
        REQUIRE(
            multiply_u64(files[i]->losses.ngaps, join_gaps_streams(files[i]), &spread) &&
                spread <= MOST_GAPS && needed + spread + files[i]->losses.nstream_gaps <= MOST_GAPS,
            STATUS_DATA, "%s has too many gaps, each of all its streams", files[i]->parts[0].path);
        needed += spread + files[i]->losses.nstream_gaps;
        total += files[i]->count[base->shape.stacked];
    }
    TRY(memory_zeroed((size_t)needed, sizeof *gaps, "gaps", &gaps));
    for (size_t i = 0; i < count; i++) {
        const struct archive *file = files[i];
        uint64_t streams = file->losses.ngaps > 0 ? join_gaps_streams(file) : 0;
        for (uint64_t stream = 0; stream < streams; stream++) {
            uint64_t number =
                join_stream_number(file->count, base->shape.stacked, stream, from, total);
            for (size_t k = 0; k < file->losses.ngaps; k++) {
                gaps[found++] =
                    (struct archive_gap){file->losses.gaps[k][0], file->losses.gaps[k][1], number};
            }
        }
        for (size_t k = 0; k < file->losses.nstream_gaps; k++) {
            gaps[found] = file->losses.stream_gaps[k];
            gaps[found].stream = join_stream_number(file->count, base->shape.stacked,
                                                    gaps[found].stream, from, total);
            found++;
        }
        from += file->count[base->shape.stacked];
    }
    archive_gaps_sort(gaps, found);
    free(base->losses.stream_gaps);
    base->losses.stream_gaps = gaps;
    base->losses.nstream_gaps = found;
    base->losses.ngaps = 0;
    gaps = NULL;
    return STATUS_OK;
}

/* Joins files[1..] to files[0], which becomes the observation. */
static status_t join_all(struct archive **files, size_t count)
{
    struct archive *base = files[0];
    TRY(memory_grown(count, sizeof *base->parts, "files", &base->parts));
    uint64_t samples = base->parts[0].samples;
    uint64_t held = 0; /* in all files */
    for (size_t i = 0; i < count; i++) {
        held += files[i]->parts[0].samples;
    }
    TRY(base->shape.stacked == AXIS_TIME ? STATUS_OK : join_spread_gaps(files, count));
    for (size_t i = 1; i < count; i++) {
        struct archive *next = files[i];
        TRY(join_check_alike(base, next, base->shape.stacked == AXIS_TIME));
        TRY(join_take_assumed(base, next));
        if (base->shape.stacked == AXIS_TIME) {
            uint64_t gap = 0;
            TRY(join_find_gap(base, samples, held, next, &gap));
            samples += gap;
            TRY(join_check_phases(base, next, samples));
            TRY(join_append_gaps(base, next, gap, samples));
        } else {
            REQUIRE(next->sky.has_start == base->sky.has_start &&
                        (!base->sky.has_start ||
                         sample_time_between(base->sky.start, next->sky.start, base->sample_rate_hz)
                                 .whole == 0),
                    STATUS_DATA, "%s and %s do not start together", base->parts[0].path,
                    next->parts[0].path);
            if (base->sky.has_start) {
                join_say_shift(next, sample_time_between(base->sky.start, next->sky.start,
                                                         base->sample_rate_hz));
            }
            TRY(join_append_stack(base, next));
        }
        struct archive_part part = next->parts[0];
        next->nparts = 0; /* its contents move */
        part.first_sample = base->shape.stacked == AXIS_TIME ? samples : 0;
        part.stack = base->shape.stacked == AXIS_TIME ? 0 : i;
        base->parts[base->nparts++] = part;
        samples += base->shape.stacked == AXIS_TIME ? part.samples : 0;
    }
    base->count[AXIS_TIME] = samples;
    return STATUS_OK;
}

/* Joins files[1..] to files[0], each an archive of one part, along files[0]->shape.stacked. Sorts
 * `files` by their start times first if they continue in time and all state one. Their contents
 * move: the caller still destroys all of them. May warn (join_say_shift()), and adds to
 * files[0]->assumed. Fails with DATA: two files that are not of one observation, overlap, do not
 * start together or continue out of phase, and what differs; more than 2^26 gaps; with DEVICE
 * (memory). */
static status_t join_archives(struct archive **files, size_t count)
{
    int all_start = 1;
    for (size_t i = 0; i < count; i++) {
        all_start = all_start && files[i]->states.start;
    }
    int are_by_start = all_start && files[0]->shape.stacked == AXIS_TIME;
    if (are_by_start) {
        qsort(files, count, sizeof(struct archive *), join_by_start);
    }
    TRY(join_all(files, count));
    files[0]->are_by_start = are_by_start;
    return STATUS_OK;
}

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
