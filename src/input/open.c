/* Opening an observation in this process: its files found, opened by their format, checked, and cut
 * to what the job selects. */
#include "input/open.h"

#include "base/memory.h"
#include "base/text.h"
#include "dsp/axes.h"
#include "input/format/formats.h"
#include "input/format/recorder.h"
#include "input/hdf5/sources.h"
#include "input/lost.h"
#include "input/packets/packets.h"
#include "io/file.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Invariants of an archive, whatever its files say: parts, runs and gaps are in order, inside of
 * the observation, and their sums do not overflow. */

/* Whether a range of samples begins at or after *end, which becomes its own, and ends by `limit`.
 */
static int check_range(uint64_t first, uint64_t count, uint64_t limit, uint64_t *end)
{
    return first >= *end && add_u64(first, count, end) && *end <= limit;
}

/* Parts come by stack, then time, and have no sample twice. */
static status_t check_parts(const struct archive *archive)
{
    uint64_t end = 0;
    uint64_t stacks = archive->shape.is_reim_stacked ? 2 : 1;
    if (archive->shape.stacked != AXIS_TIME) {
        stacks *= archive->count[archive->shape.stacked] /
                  archive_in_file(archive, archive->shape.stacked);
    }
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        int is_next = i > 0 && part->stack == archive->parts[i - 1].stack;
        REQUIRE(part->stack < stacks && (i == 0 || part->stack >= archive->parts[i - 1].stack),
                STATUS_DATA, "%s: it is at place %" PRIu64 " of %" PRIu64, part->path, part->stack,
                stacks);
        end = is_next ? end : 0;
        REQUIRE(part->samples > 0 &&
                    check_range(part->first_sample, part->samples, archive->count[AXIS_TIME], &end),
                STATUS_DATA,
                "%s: its %" PRIu64 " samples from %" PRIu64
                " overlap those before or are beyond the last",
                part->path, part->samples, part->first_sample);
    }
    return STATUS_OK;
}

static status_t check_runs(const struct archive *archive, const struct archive_part *part)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < part->nruns; i++) {
        const struct archive_run *run = &part->runs[i];
        uint64_t bits = archive_piece_bits(archive, run->stored);
        uint64_t samples = 0;
        uint64_t bytes = 0;
        REQUIRE(run->pieces > 0 && run->steps > 0 && run->steps <= run->stored && bits > 0,
                STATUS_DATA, "%s: %" PRIu64 " pieces of %" PRIu64 " samples, %" PRIu64 " stored",
                run->path, run->pieces, run->steps, run->stored);
        REQUIRE(run->pieces == 1 || run->piece_bytes >= ceil_div_u64(bits, 8), STATUS_DATA,
                "%s: %" PRIu64 " bytes are too few for a piece of %" PRIu64 " samples", run->path,
                run->piece_bytes, run->stored);
        REQUIRE(multiply_u64(run->pieces, run->steps, &samples) &&
                    check_range(run->first_sample, samples, part->samples, &end),
                STATUS_DATA,
                "%s: its %" PRIu64 " pieces from sample %" PRIu64
                " on overlap those before or are beyond the last sample",
                run->path, run->pieces, run->first_sample);
        REQUIRE(multiply_u64(run->pieces - 1, run->piece_bytes, &bytes) &&
                    add_u64(bytes, ceil_div_u64(bits, 8), &bytes) &&
                    add_u64(bytes, run->file_offset, &bytes) && bytes < UINT64_C(1) << 62,
                STATUS_DATA, "%s: the size of its %" PRIu64 " pieces is absurd", run->path,
                run->pieces);
    }
    return STATUS_OK;
}

static status_t check_partials(const struct archive_part *part)
{
    uint64_t end = 0;
    for (uint64_t i = 0; i < part->npartials; i++) {
        const struct archive_partial *partial = &part->partials[i];
        REQUIRE(partial->lost > 0 && partial->lost <= LOST_WHOLE &&
                    check_range(partial->first, partial->count, part->samples, &end),
                STATUS_DATA,
                "%s: its %" PRIu64 " samples from %" PRIu64
                " that lack packets overlap those before or are beyond the last sample",
                part->path, partial->count, partial->first);
    }
    return STATUS_OK;
}

static status_t check_stream_gaps(const struct archive *archive)
{
    uint64_t streams = 1;
    uint64_t end = 0;
    for (int i = 0; i < STREAM_AXES; i++) {
        REQUIRE(multiply_u64(streams, archive->count[archive_stream_axes[i]], &streams),
                STATUS_DATA, "%s: its number of streams is absurd", archive->parts[0].path);
    }
    for (size_t i = 0; i < archive->losses.nstream_gaps; i++) {
        const struct archive_gap *gap = &archive->losses.stream_gaps[i];
        const struct archive_gap *last = i > 0 ? gap - 1 : gap;
        end = last->stream == gap->stream && i > 0 ? end : 0;
        REQUIRE(gap->stream < streams && gap->stream >= last->stream, STATUS_DATA,
                "%s: a gap is of stream %" PRIu64 " of %" PRIu64 ", or out of order",
                archive->parts[0].path, gap->stream, streams);
        REQUIRE(check_range(gap->first, gap->count, archive->count[AXIS_TIME], &end), STATUS_DATA,
                "%s: a gap of stream %" PRIu64 " (%" PRIu64 " samples from %" PRIu64
                ") overlaps the one before or is beyond the last sample",
                archive->parts[0].path, gap->stream, gap->count, gap->first);
    }
    return STATUS_OK;
}

/* Fails with DATA: parts, runs or gaps that are out of order, overlap, or are outside of the
 * observation; numbers that no file can have. */
static status_t check_archive(const struct archive *archive)
{
    uint64_t end = 0;
    TRY(check_parts(archive));
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(check_runs(archive, &archive->parts[i]));
        TRY(check_partials(&archive->parts[i]));
    }
    for (size_t i = 0; i < archive->losses.ngaps; i++) {
        const uint64_t *gap = archive->losses.gaps[i];
        REQUIRE(check_range(gap[0], gap[1], archive->count[AXIS_TIME], &end), STATUS_DATA,
                "%s: gap %zu (%" PRIu64 " samples from %" PRIu64
                ") overlaps the one before or is beyond the last sample",
                archive->parts[0].path, i, gap[1], gap[0]);
    }
    return check_stream_gaps(archive);
}

/* Each stream is listed: a number that a damaged file makes up must not take all memory. */
enum { MOST_STREAMS = 1 << 24 };

/* The selection of a job: a range of samples, and streams by name, number or frequency. */

/* Finds what a job calls `text` on an axis: a name, else a number. */
static status_t open_select_find_index(const struct archive *archive, enum axis axis,
                                       const char *text, uint64_t *out)
{
    SCOPED(text_free) struct text names = {0};
    uint64_t count = archive->names[axis] ? archive->count[axis] : 0;
    for (uint64_t i = 0; i < count; i++) {
        if (strcmp(archive->names[axis][i], text) == 0) {
            *out = i;
            return STATUS_OK;
        }
    }
    for (uint64_t i = 0; i < count && names.length < 200; i++) {
        TRY(text_add(&names, "%s%s", i ? ", " : "; names ", archive->names[axis][i]));
        TRY(text_add(&names, "%s", i + 1 < count && names.length >= 200 ? ", ..." : ""));
    }
    return REQUIRED(units_parse_u64(text, out) && *out < archive->count[axis], STATUS_USAGE,
                    "input.select: %s is none of the %" PRIu64 " %ss of %s (numbers 0 .. %" PRIu64
                    "%s)",
                    *text ? text : "\"\"", archive->count[axis], axis_name(axis),
                    archive->parts->path, archive->count[axis] - 1, names.data ? names.data : "");
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
    uint32_t count = archive->nselected[AXIS_CHAN];
    SCOPED(free_at) struct ranked *ranked = NULL;
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
    return STATUS_OK;
}

/* Selects, of the selected channels, which are sorted, the ones at places first .. last of their
 * group. */
static status_t open_select_places(const struct job_select *select, struct archive *archive)
{
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
    return STATUS_OK;
}

/* Selects indices first .. last of an axis, `text` in the job; none may be selected before. */
static status_t open_select_add(struct archive *archive, enum axis axis, const char *text,
                                uint64_t first, uint64_t last, char *seen)
{
    uint32_t had = archive->nselected[axis];
    TRY(memory_grown(had + last - first + 1, sizeof *archive->selected[axis], "selected streams",
                     &archive->selected[axis]));
    for (uint64_t i = first; i <= last; i++) {
        REQUIRE(!seen[i], STATUS_USAGE, "input.select names %s %s twice", axis_name(axis), text);
        seen[i] = 1;
        archive->selected[axis][archive->nselected[axis]++] = i;
    }
    return STATUS_OK;
}

/* A name, a number, or a range of them, both ends included: "3..10". */
static status_t open_select_add_text(struct archive *archive, enum axis axis, const char *text,
                                     char *seen)
{
    const char *dots = strstr(text, "..");
    SCOPED(free_at) char *low = NULL;
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
    return open_select_add(archive, axis, text, first, last, seen);
}

/* Selects the coarse channels that overlap the band. */
static status_t open_select_band(const struct job_select *select, struct archive *archive,
                                 char *seen)
{
    double half =
        archive_chan_width_hz(archive) / 2 * archive->oversample.den / archive->oversample.num;
    for (uint64_t i = 0; i < archive->count[AXIS_CHAN]; i++) {
        double freq = archive->freq_hz[i];
        if (freq + half > select->from_hz && freq - half < select->to_hz) {
            TRY(open_select_add(archive, AXIS_CHAN, "", i, i, seen));
        }
    }
    return REQUIRED(archive->nselected[AXIS_CHAN] > 0, STATUS_USAGE,
                    "input.select.freq_hz: %s has no coarse channel between %.15g and %.15g Hz",
                    archive->parts[0].path, select->from_hz, select->to_hz);
}

static status_t open_select_axis(const struct job_select *select, enum axis axis,
                                 struct archive *archive)
{
    SCOPED(free_at) char *seen = NULL;
    uint64_t count = archive->count[axis];
    REQUIRE(count > 0 && count <= MOST_STREAMS, STATUS_DATA,
            "%s: its number of streams is absurd: more than %d, by the %" PRIu64 " of axis %s",
            archive->parts[0].path, MOST_STREAMS, count, axis_name(axis));
    TRY(memory_zeroed((size_t)count, 1, "selected streams", &seen));
    TRY(axis == AXIS_CHAN && select->has_freq ? open_select_band(select, archive, seen)
        : select->nstreams[axis] == 0 ? open_select_add(archive, axis, "", 0, count - 1, seen)
                                      : STATUS_OK);
    for (uint32_t i = 0; i < select->nstreams[axis]; i++) {
        TRY(open_select_add_text(archive, axis, select->streams[axis][i], seen));
    }
    return STATUS_OK;
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
                "input.select: %.9g .. %.9g s after the first sample of %s are outside of the "
                "observation, which lasts %.9g s",
                from, to, archive->parts[0].path, length);
        open_select_bounds(select, archive, &first, &end);
        end = min_u64(end, total);
        REQUIRE(first < end, STATUS_USAGE,
                "input.select: no sample is in %.9g .. %.9g s: one is taken every %.9g s", from, to,
                1 / archive->sample_rate_hz);
    }
    REQUIRE(first < end && end <= total, STATUS_USAGE,
            "input.select: samples %" PRIu64 " .. %" PRIu64
            " of the observation %s, which has %" PRIu64,
            first, end, archive->parts[0].path, total);
    archive->first_sample = first;
    archive->samples = end - first;
    return STATUS_OK;
}

/* Fills first_sample, samples, selected and nstreams of an archive that is whole but for that.
 * Fails with USAGE: what it does not hold. */
static status_t open_select(const struct job_select *select, struct archive *archive)
{
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
    return open_select_time(select, archive);
}

/* A file that exists is meant, even if its name looks like a pattern: "obs[1].h5". */
static status_t open_escape_existing(const char *name, char **out)
{
    int exists = 0;
    char *pattern = NULL;
    size_t at = 0;
    TRY(file_exists(name, &exists));
    TRY(memory_zeroed(2 * strlen(name) + 1, 1, "a name", &pattern));
    for (const char *c = name; *c; c++) {
        if (exists && strchr("*?[\\", *c)) {
            pattern[at++] = '\\';
        }
        pattern[at++] = *c;
    }
    *out = pattern;
    return STATUS_OK;
}

/* In the order of the job's list; what one pattern stands for, in the natural order of names. */
static status_t open_expand_globs(const struct job *job, glob_t *paths)
{
    for (uint32_t i = 0; i < job->nfiles; i++) {
        int flags = (i ? GLOB_APPEND : 0);
        size_t before = i ? paths->gl_pathc : 0;
        /* A name without wildcards stays as it is, so that the open reports what is wrong. */
        int has_wildcards = strpbrk(job->files[i], "*?[") != NULL;
        char *pattern = NULL;
        TRY(open_escape_existing(job->files[i], &pattern));
        int status = glob(pattern, flags | (has_wildcards ? 0 : GLOB_NOCHECK), NULL, paths);
        free(pattern);
        REQUIRE(status != GLOB_NOMATCH, STATUS_DATA, "no file matches input.files: %s",
                job->files[i]);
        REQUIRE(status == 0, STATUS_DATA, "input.files: %s cannot be looked up", job->files[i]);
        qsort(paths->gl_pathv + before, paths->gl_pathc - before, sizeof(char *),
              text_compare_natural);
    }
    return STATUS_OK;
}

struct open_named {
    struct stat info;
    const char *path;
};

static int open_by_file(const void *left, const void *right)
{
    const struct stat *a = &((const struct open_named *)left)->info;
    const struct stat *b = &((const struct open_named *)right)->info;
    return a->st_dev != b->st_dev ? (a->st_dev > b->st_dev) - (a->st_dev < b->st_dev)
                                  : (a->st_ino > b->st_ino) - (a->st_ino < b->st_ino);
}

/* Files without times of their own are joined in the order of the list: one that is listed twice,
 * by overlapping patterns or through a link, would repeat its samples without a word. */
static status_t open_check_once(const glob_t *paths)
{
    SCOPED(free_at) struct open_named *named = NULL;
    size_t count = 0;
    TRY(memory_zeroed(paths->gl_pathc, sizeof *named, "names of files", &named));
    for (size_t i = 0; i < paths->gl_pathc; i++) {
        named[count].path = paths->gl_pathv[i];
        count += stat(paths->gl_pathv[i], &named[count].info) == 0; /* else its open reports why */
    }
    qsort(named, count, sizeof *named, open_by_file);
    for (size_t i = 1; i < count; i++) {
        int is_again = strcmp(named[i].path, named[i - 1].path) == 0;
        REQUIRE(open_by_file(&named[i], &named[i - 1]) != 0, STATUS_USAGE,
                "input.files: %s is listed twice%s%s: expected each file once", named[i].path,
                is_again ? "" : ", also as ", is_again ? "" : named[i - 1].path);
    }
    return STATUS_OK;
}

/* A job may leave out rate only if the file says it; centre frequencies have a sensible default
 * for one coarse channel. */
static status_t open_settle_frequencies(const struct job *job, struct archive *archive)
{
    uint64_t chans = archive->count[AXIS_CHAN];
    REQUIRE(
        archive->sample_rate_hz > 0, STATUS_USAGE,
        "%s: input.layout.sample_rate_hz is missing, and the file cannot say it (a job states it, "
        "or an option: --layout '{sample_rate_hz: 1e6}')",
        job->path);
    if (job->layout.freq.rule.has_start) {
        TRY(memory_grown((size_t)chans, sizeof *archive->freq_hz, "frequencies of coarse channels",
                         &archive->freq_hz));
        archive->states.freq = 1;
        for (uint64_t i = 0; i < chans; i++) {
            const struct job_frequencies *of = &job->layout.freq.rule;
            archive->freq_hz[i] = of->start + (double)i * of->step;
        }
    }
    if (!archive->freq_hz) {
        REQUIRE(chans == 1, STATUS_USAGE,
                "%s: input.layout.freq_hz is missing: expected the centre of each of %" PRIu64
                " coarse channels%s",
                job->path, chans,
                archive->parts[0].packets && archive->parts[0].packets->kind == PACKETS_VDIF
                    ? ", or streams if they are polarisations"
                    : "");
        TRY(memory_zeroed(1, sizeof *archive->freq_hz, "frequencies", &archive->freq_hz));
        /* Real samples: the first Nyquist zone; complex: baseband. */
        archive->freq_hz[0] = archive->is_complex ? 0 : archive->sample_rate_hz / 4;
    } else if (!archive->states.freq) {
        REQUIRE(job->layout.freq.count == chans, STATUS_USAGE,
                "%s: input.layout.freq_hz lists %u frequencies, but the dataset has %" PRIu64
                " coarse channels",
                job->path, job->layout.freq.count, chans);
    }
    for (uint64_t i = 0; i < chans; i++) {
        REQUIRE(isfinite(archive->freq_hz[i]), STATUS_DATA,
                "%s: the frequency of coarse channel %" PRIu64 " is not a number",
                archive->parts[0].path, i);
    }
    return STATUS_OK;
}

/* Samples that were never written or are unreadable must not be taken for zeros. */
static status_t open_check_lost(const struct job *job, const struct archive *archive)
{
    const struct lost_range *lost = archive->losses.lost.items;
    const char *path = archive->parts[0].path; /* of the file that holds the first of them */
    for (uint32_t i = 0; lost && i < archive->nparts; i++) {
        path = archive->parts[i].first_sample <= lost->first ? archive->parts[i].path : path;
    }
    return REQUIRED(archive->losses.lost.count == 0 || job->on_bad == ON_BAD_NAN, STATUS_DATA,
                    "%s: %s: samples %" PRIu64 " .. %" PRIu64
                    " are unreadable: %s (set run.on_bad: nan to continue with NaN)",
                    path, archive->dataset, lost->first, lost->first + lost->count, lost->why);
}

static status_t open_check_external(const struct job *job, const struct archive *archive)
{
    const struct external_list list = {(const char *const *)job->external, job->nexternal};
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        TRY(external_check(&part->storage.sources, part->path, list, JOB_EXTERNAL));
    }
    return STATUS_OK;
}

/* Neighbouring coarse channels must not be closer together than the band of each, less what
 * oversampling repeats of it: a wrong rate or wrong frequencies show there. */

/* Frequencies are written with few digits: by 1 % of a channel they may be wrong. No filter bank
 * known is oversampled by that little. */
static const double tolerance = 0.01;

/* The closest two of the selected coarse channels, in Hz. */
struct spacing {
    double low, high, apart;
};

/* Channels that filter banks divided are compared within each of these. Returns 0 if there are no
 * two. */
static int spacing_find(const struct archive *archive, struct spacing *out)
{
    const uint64_t *selected = archive->selected[AXIS_CHAN];
    int found = 0;
    for (uint32_t i = 1; i < archive->nselected[AXIS_CHAN]; i++) {
        double low = archive->freq_hz[selected[i - 1]];
        double high = archive->freq_hz[selected[i]];
        int is_one_bank = archive_bank_group(archive, selected[i - 1]) ==
                          archive_bank_group(archive, selected[i]);
        if (is_one_bank && (!found || high - low < out->apart)) {
            *out = (struct spacing){low, high, high - low};
            found = 1;
        }
    }
    return found;
}

/* Neighbours of a filter bank, or every second, third ... channel of one. */
static int spacing_is_multiple(double apart, double width)
{
    double times = rint(apart / width);
    return times >= 1 && fabs(apart - times * width) <= tolerance * width * times;
}

/* Compares the distances of the selected coarse channels with what their samples span. Bands of
 * independent receivers (archive->has_receivers) may overlap, which is noted in archive->assumed.
 * Fails with DATA: channels are closer together, so that they must be oversampled, or rate or
 * frequencies are wrong; the ratio that a file states is not that of its frequencies. Fails with
 * DEVICE (memory), too. */
static status_t spacing_check(const struct job_layout *layout, struct archive *archive)
{
    struct spacing closest = {.apart = 0};
    char remedy[SPACING_WORDS];
    double band = archive_chan_width_hz(archive);
    double kept = band * archive->oversample.den / archive->oversample.num;
    if (!spacing_find(archive, &closest) || closest.apart >= band * (1 - tolerance)) {
        return STATUS_OK;
    }
    int is_close = closest.apart < kept * (1 - tolerance);
    spacing_remedy(archive->is_complex, closest.apart > 0 ? band / closest.apart : INFINITY,
                   remedy);
    if (is_close && archive->has_receivers) {
        return assume(&archive->assumed,
                      "bands around %.9g and %.9g MHz overlap, each %.9g MHz wide: none is cut",
                      closest.low / 1e6, closest.high / 1e6, kept / 1e6);
    }
    REQUIRE(!is_close, STATUS_DATA,
            "%s: coarse channels at %.12g and %.12g MHz are %.9g Hz apart, but each is %.9g Hz "
            "wide (%s samples at %.9g Hz%s): %s",
            archive->parts[0].path, closest.low / 1e6, closest.high / 1e6, closest.apart, kept,
            archive->is_complex ? "complex" : "real", archive->sample_rate_hz,
            kept < band ? ", less what oversampling repeats" : "", remedy);
    return REQUIRED(
        layout->has_oversampling || spacing_is_multiple(closest.apart, kept), STATUS_DATA,
        "%s: coarse channels at %.12g and %.12g MHz are %.9g Hz apart, but samples at %.9g Hz "
        "with the file's oversampling of %u/%u are of channels %.9g Hz apart: %s",
        archive->parts[0].path, closest.low / 1e6, closest.high / 1e6, closest.apart,
        archive->sample_rate_hz, archive->oversample.num, archive->oversample.den, kept, remedy);
}

static status_t open_here(const struct job *job, struct archive **out)
{
    SCOPED(globfree) glob_t paths = {0};
    TRY(open_expand_globs(job, &paths));
    TRY(open_check_once(&paths));
    const struct format_input input = {paths.gl_pathv, paths.gl_pathc, &job->layout};
    TRY(formats_open(&input, out));
    struct archive *archive = *out;
    TRY(open_check_external(job, archive));
    TRY(open_settle_frequencies(job, archive));
    TRY(check_archive(archive));
    TRY(open_select(&job->select, archive));
    TRY(spacing_check(&job->layout, archive));
    TRY(lost_apply(archive));
    TRY(open_check_lost(job, archive));
    return archive_settle_reach(archive);
}

status_t archive_open_files(char **files, uint32_t count, const char *layout, struct archive **out)
{
    SCOPED(job_destroy_at) struct job *described = NULL;
    char allow[] = EXTERNAL_ALLOW;
    char *external = allow;
    struct job job = {.path = files[0],
                      .external = &external,
                      .nexternal = 1,
                      .files = files,
                      .nfiles = count,
                      .layout = {.automatic = 1, .files_along = AXIS_TIME},
                      .select = {.kind = SELECT_ALL},
                      .on_bad = ON_BAD_NAN};
    if (layout) {
        TRY(job_parse_layout(layout, &described));
        job.layout = described->layout;
    }
    return open_here(&job, out);
}

static status_t open_describe_archive(const struct apart_request *request, void **out)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    struct archive *archive = NULL;
    struct unpack in = {.data = request->more.data, .length = request->more.length};
    TRY(job_unpack_input(&in, &job));
    const status_t st = open_here(job, &archive);
    *out = archive;
    return st;
}

const struct description archive_description = {"an archive", &archive_type, open_describe_archive};

SCOPED_CALLS(apart_request_free, struct apart_request, text_free(&at->more))

status_t archive_open(const struct job *job, struct archive **out)
{
    SCOPED(apart_request_free) struct apart_request request = {.path = NULL};
    TRY(job_pack_input(&request.more, job));
    return apart_describe(&archive_description, &request, out);
}

static status_t open_describe_filterbank(const struct apart_request *request, void **out)
{
    struct fbh5 *fbh5 = NULL;
    status_t st = formats_open_filterbank(request->path, &fbh5);
    *out = fbh5;
    TRY(st);
    TRY(request->wants & FBH5_BAND ? fbh5_load_band(fbh5) : STATUS_OK);
    return request->wants & FBH5_EVEN ? fbh5_check_even(fbh5) : STATUS_OK;
}

const struct description fbh5_description = {"a filterbank", &fbh5_type, open_describe_filterbank};

status_t fbh5_open(const char *path, enum fbh5_wants wants, struct fbh5 **out)
{
    const struct apart_request request = {.path = path, .wants = wants};
    return apart_describe(&fbh5_description, &request, out);
}

status_t fbh5_open_own(const char *path, struct fbh5 **out)
{
    return fbh5_format.open_filterbank(path, out);
}
