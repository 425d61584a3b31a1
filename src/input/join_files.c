/* Files of one observation: compared, put in order by their start times, joined along time or a
 * stream axis. */
#include "input/join_files.h"

#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

status_t join_check_alike(const struct archive *a, const struct archive *b, int times_differ)
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

status_t join_take_assumed(struct archive *base, struct archive *next)
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

void join_say_shift(const struct archive *next, struct sample_time start)
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

status_t join_append_stack(struct archive *base, const struct archive *next)
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

uint64_t join_stream_number(const uint64_t one[AXIS_KINDS], enum axis stacked, uint64_t number,
                            uint64_t from, uint64_t total)
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

status_t join_archives(struct archive **files, size_t count)
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
