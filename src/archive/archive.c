/* An observation: its files joined, the job's selection applied. */
#include "archive/archive.h"

#include "archive/format/described.h"
#include "archive/lost.h"
#include "base/memory.h"
#include "dsp/sample_time.h"
#include "io/file.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const enum axis archive_stream_axes[STREAM_AXES] = {AXIS_STATION, AXIS_BEAM, AXIS_POL, AXIS_CHAN};

double archive_chan_width_hz(const struct archive *archive)
{
    return archive->is_complex ? archive->sample_rate_hz : archive->sample_rate_hz / 2;
}

void archive_stream_index(const struct archive *archive, uint32_t stream,
                          uint64_t index[AXIS_KINDS])
{
    for (int i = 0; i < AXIS_KINDS; i++) {
        index[i] = 0;
    }
    for (int i = STREAM_AXES - 1; i >= 0; i--) {
        enum axis axis = archive_stream_axes[i];
        index[axis] = archive->selected[axis][stream % archive->nselected[axis]];
        stream /= archive->nselected[axis];
    }
}

size_t archive_gap_after(const struct archive *archive, uint64_t sample)
{
    size_t low = 0;
    size_t high = archive->ngaps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (archive->gaps[middle][0] + archive->gaps[middle][1] > sample) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

uint64_t archive_gap_in(const struct archive *archive, uint64_t first, uint64_t count)
{
    uint64_t missing = 0;
    for (size_t i = archive_gap_after(archive, first);
         i < archive->ngaps && archive->gaps[i][0] < first + count; i++) {
        uint64_t low = max_u64(archive->gaps[i][0], first);
        uint64_t high = min_u64(archive->gaps[i][0] + archive->gaps[i][1], first + count);
        missing += high > low ? high - low : 0;
    }
    return missing;
}

uint64_t archive_gap_samples(const struct archive *archive, uint64_t used)
{
    return archive_gap_in(archive, archive->first_sample, used) * archive->nstreams;
}

int archive_zero_is_missing(const struct archive *archive)
{
    int zero = archive->format == SAMPLE_I4 && archive->nibbles.offset_binary ? 0x88 : 0;
    return archive->has_missing_value && archive->missing_value == zero;
}

uint64_t archive_lost_samples(const struct archive *archive)
{
    uint64_t lost = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < archive->nlost; i++) {
        uint64_t low = max_u64(archive->lost[i].first, end);
        end = max_u64(end, archive->lost[i].first + archive->lost[i].count);
        lost += end > low ? end - low : 0;
    }
    return lost * archive->nstreams;
}

status_t archive_check_unchanged(const struct archive *archive)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(sources_check(&archive->parts[i].storage.sources));
    }
out:
    return st;
}

/* A file that exists is meant, even if its name looks like a pattern: "obs[1].h5". */
static status_t archive_escape_existing(const char *name, char **out)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

static int archive_by_name(const void *left, const void *right)
{
    return text_compare_natural(*(char *const *)left, *(char *const *)right);
}

/* In the order of the job's list; what one pattern stands for, in the natural order of names. */
static status_t archive_expand_globs(const struct job *job, glob_t *paths)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < job->nfiles; i++) {
        int flags = (i ? GLOB_APPEND : 0);
        size_t before = i ? paths->gl_pathc : 0;
        /* A name without wildcards stays as it is, so that the open reports what is wrong. */
        int has_wildcards = strpbrk(job->files[i], "*?[") != NULL;
        char *pattern = NULL;
        TRY(archive_escape_existing(job->files[i], &pattern));
        int status = glob(pattern, flags | (has_wildcards ? 0 : GLOB_NOCHECK), NULL, paths);
        free(pattern);
        REQUIRE(status != GLOB_NOMATCH, STATUS_DATA, "no file matches input.files: %s",
                job->files[i]);
        REQUIRE(status == 0, STATUS_DATA, "input.files: %s cannot be looked up", job->files[i]);
        qsort(paths->gl_pathv + before, paths->gl_pathc - before, sizeof(char *), archive_by_name);
    }
out:
    return st;
}

static int archive_same_names(const struct archive *a, const struct archive *b, enum axis axis)
{
    int same = !a->names[axis] == !b->names[axis];
    for (uint64_t i = 0; same && a->names[axis] && i < a->count[axis]; i++) {
        same = strcmp(a->names[axis][i], b->names[axis][i]) == 0;
    }
    return same;
}

/* What two files do not have in common, though they should; NULL if nothing. */
static const char *archive_difference(const struct archive *a, const struct archive *b)
{
    if (a->ndims != b->ndims || a->time_dim != b->time_dim) {
        return "axes";
    }
    for (uint32_t i = 0; i < a->ndims; i++) {
        if (a->dims[i].axis != b->dims[i].axis) {
            return "axes";
        }
        if (a->dims[i].size != b->dims[i].size &&
            (a->dims[i].axis != AXIS_TIME || a->stacked != AXIS_TIME)) {
            return "shapes";
        }
    }
    if (a->format != b->format || a->is_complex != b->is_complex ||
        a->is_compound != b->is_compound || a->swap_bytes != b->swap_bytes ||
        memcmp(&a->nibbles, &b->nibbles, sizeof a->nibbles) != 0) {
        return "sample types";
    }
    if (a->sample_rate_hz != b->sample_rate_hz) {
        return "sample rates";
    }
    if (a->sideband != b->sideband) {
        return "sidebands";
    }
    if (a->oversampling_num != b->oversampling_num || a->oversampling_den != b->oversampling_den) {
        return "oversampling ratios";
    }
    if (a->has_missing_value != b->has_missing_value ||
        memcmp(&a->missing_value, &b->missing_value, sizeof a->missing_value) != 0) {
        return "missing values";
    }
    for (int i = 0; i < STREAM_AXES; i++) {
        if (archive_stream_axes[i] != a->stacked &&
            !archive_same_names(a, b, archive_stream_axes[i])) {
            return "names of streams";
        }
    }
    int has_freq = a->is_native && a->stacked != AXIS_CHAN;
    return has_freq && memcmp(a->freq_hz, b->freq_hz,
                              (size_t)a->count[AXIS_CHAN] * sizeof *a->freq_hz) != 0
               ? "freq_hz"
               : NULL;
}

/* Two files of one observation must be alike in all but time (or the stacked axis). */
static status_t archive_check_alike(const struct archive *a, const struct archive *b)
{
    status_t st = STATUS_OK;
    const char *what = archive_difference(a, b);
    REQUIRE(!what, STATUS_DATA, "%s and %s do not belong to one observation: their %s differ",
            a->parts[0].path, b->parts[0].path, what);
out:
    return st;
}

/* Samples are counted, so what their times say beyond that is lost: said where it is more than the
 * rounding of the times. */
static void archive_say_shift(const struct archive *next, struct sample_time start)
{
    enum { OF_A_SAMPLE = 100 };
    if (fabs(start.over) > 1.0 / OF_A_SAMPLE + start.doubt) {
        report_warn(
            "%s starts %.2f of a sample (%.3g s) %s than the samples of the files before it "
            "would go on: taken as if it did not",
            next->parts[0].path, fabs(start.over), fabs(start.over) / next->sample_rate_hz,
            start.over > 0 ? "later" : "earlier");
    }
}

/* How many samples are missing between the files before, of `samples`, and the next: their start
 * times tell, if they have any. They must not overlap, and more must be there than is missing
 * (`held`, in all files): another observation is among them else. */
static status_t archive_find_gap(const struct archive *base, uint64_t samples, uint64_t held,
                                 const struct archive *next, uint64_t *gap)
{
    status_t st = STATUS_OK;
    *gap = 0;
    if (base->has_start && next->has_start && base->is_native) {
        struct sample_time start =
            sample_time_between(base->start, next->start, base->sample_rate_hz);
        int64_t behind = start.whole - (int64_t)samples;
        REQUIRE(behind >= 0, STATUS_DATA,
                "%s starts %.1f samples before the end of the files before it: files of one "
                "observation must not overlap",
                next->parts[0].path, -((double)behind + start.over));
        REQUIRE((uint64_t)behind <= held, STATUS_DATA,
                "%s starts %.1f samples behind the end of the files before it, more than all files "
                "hold together: do they belong to one observation?",
                next->parts[0].path, (double)behind + start.over);
        archive_say_shift(next, start);
        *gap = (uint64_t)behind;
    }
out:
    return st;
}

static int archive_by_start(const void *left, const void *right)
{
    const struct archive *a = *(struct archive *const *)left;
    const struct archive *b = *(struct archive *const *)right;
    double difference = utc_difference(a->start, b->start);
    return (difference > 0) - (difference < 0);
}

/* Appends freq_hz and names of `next` along the stacked axis. */
static status_t archive_append_stack(struct archive *base, const struct archive *next)
{
    status_t st = STATUS_OK;
    enum axis axis = base->stacked;
    uint64_t had = base->count[axis];
    uint64_t more = next->count[axis];
    if (base->is_native && axis == AXIS_CHAN) {
        double *freq = realloc(base->freq_hz, (size_t)(had + more) * sizeof *freq);
        REQUIRE(freq, STATUS_DEVICE, "out of memory: frequencies of coarse channels");
        memcpy(freq + had, next->freq_hz, (size_t)more * sizeof *freq);
        base->freq_hz = freq;
    }
    if (base->names[axis] && next->names[axis]) {
        char **names = realloc(base->names[axis], (size_t)(had + more) * sizeof *names);
        REQUIRE(names, STATUS_DEVICE, "out of memory: names of axis %s", axis_name(axis));
        memcpy(names + had, next->names[axis], (size_t)more * sizeof *names);
        memset(next->names[axis], 0, (size_t)more * sizeof *names); /* they moved */
        base->names[axis] = names;
    } else if (base->names[axis]) {
        h5_free_texts(base->names[axis], (size_t)had);
        base->names[axis] = NULL;
    }
    base->count[axis] = had + more;
    base->present[axis] = 1;
out:
    return st;
}

/* Samples that are missing before sample `at`, and in the file that begins there. */
static status_t archive_append_gaps(struct archive *base, const struct archive *next,
                                    uint64_t missing, uint64_t at)
{
    status_t st = STATUS_OK;
    if (next->ngaps == 0 && missing == 0) {
        goto out;
    }
    uint64_t(*gaps)[2] = realloc(base->gaps, (base->ngaps + next->ngaps + 1) * sizeof *gaps);
    REQUIRE(gaps, STATUS_DEVICE, "out of memory: gaps");
    if (missing > 0) {
        gaps[base->ngaps][0] = at - missing;
        gaps[base->ngaps][1] = missing;
        base->ngaps++;
    }
    for (size_t i = 0; i < next->ngaps; i++) {
        gaps[base->ngaps + i][0] = next->gaps[i][0] + at;
        gaps[base->ngaps + i][1] = next->gaps[i][1];
    }
    base->gaps = gaps;
    base->ngaps += next->ngaps;
out:
    return st;
}

static uint64_t archive_sum_samples(struct archive *const *files, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += files[i]->parts[0].samples;
    }
    return sum;
}

/* Joins files[1..] to files[0], which becomes the observation. */
static status_t archive_join(struct archive **files, size_t count)
{
    status_t st = STATUS_OK;
    struct archive *base = files[0];
    struct archive_part *parts = realloc(base->parts, count * sizeof *parts);
    REQUIRE(parts, STATUS_DEVICE, "out of memory: %zu files", count);
    base->parts = parts;
    uint64_t samples = base->parts[0].samples;
    uint64_t held = archive_sum_samples(files, count);
    for (size_t i = 1; i < count; i++) {
        struct archive *next = files[i];
        TRY(archive_check_alike(base, next));
        if (base->stacked == AXIS_TIME) {
            uint64_t gap = 0;
            TRY(archive_find_gap(base, samples, held, next, &gap));
            samples += gap;
            TRY(archive_append_gaps(base, next, gap, samples));
        } else {
            REQUIRE(
                next->has_start == base->has_start &&
                    (!base->has_start ||
                     sample_time_between(base->start, next->start, base->sample_rate_hz).whole ==
                         0),
                STATUS_DATA, "%s and %s do not start together", base->parts[0].path,
                next->parts[0].path);
            if (base->has_start) {
                archive_say_shift(
                    next, sample_time_between(base->start, next->start, base->sample_rate_hz));
            }
            TRY(archive_append_stack(base, next));
        }
        struct archive_part part = next->parts[0];
        next->nparts = 0; /* its contents move */
        part.first_sample = base->stacked == AXIS_TIME ? samples : 0;
        part.stack = base->stacked == AXIS_TIME ? 0 : i;
        base->parts[base->nparts++] = part;
        samples += base->stacked == AXIS_TIME ? part.samples : 0;
    }
    base->count[AXIS_TIME] = samples;
out:
    return st;
}

/* A job may leave out rate only if the file says it; centre frequencies have a sensible default
 * for one coarse channel. */
static status_t archive_settle_frequencies(const struct job *job, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t chans = archive->count[AXIS_CHAN];
    REQUIRE(archive->sample_rate_hz > 0, STATUS_USAGE,
            "%s: input.layout.sample_rate_hz is missing, and the file cannot say it",
            job ? job->path : archive->parts[0].path);
    if (!archive->freq_hz) {
        REQUIRE(chans == 1, STATUS_USAGE,
                "%s: input.layout.freq_hz is missing: expected the centre of each of %" PRIu64
                " coarse channels",
                job->path, chans);
        TRY(memory_zeroed(1, sizeof *archive->freq_hz, "frequencies", &archive->freq_hz));
        /* Real samples: the first Nyquist zone; complex: baseband. */
        archive->freq_hz[0] = archive->is_complex ? 0 : archive->sample_rate_hz / 4;
    } else if (!archive->is_native) {
        REQUIRE(job->layout.nfreq == chans, STATUS_USAGE,
                "%s: input.layout.freq_hz lists %u frequencies, but the dataset has %" PRIu64
                " coarse channels",
                job->path, job->layout.nfreq, chans);
    }
    for (uint64_t i = 0; i < chans; i++) {
        REQUIRE(isfinite(archive->freq_hz[i]), STATUS_DATA,
                "%s: the frequency of coarse channel %" PRIu64 " is not a number",
                archive->parts[0].path, i);
    }
out:
    return st;
}

static status_t archive_check_gaps(const struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t end = 0;
    for (size_t i = 0; i < archive->ngaps; i++) {
        uint64_t low = archive->gaps[i][0];
        uint64_t high = 0;
        REQUIRE(add_u64(low, archive->gaps[i][1], &high) && low >= end &&
                    high <= archive->count[AXIS_TIME],
                STATUS_DATA,
                "%s: gap %zu (%" PRIu64 " samples from %" PRIu64
                ") overlaps the one before or lies beyond the last sample",
                archive->parts[0].path, i, archive->gaps[i][1], low);
        end = high;
    }
out:
    return st;
}

/* The file that holds a sample. */
static const char *archive_file(const struct archive *archive, uint64_t sample)
{
    const char *path = archive->parts[0].path;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        path = archive->parts[i].first_sample <= sample ? archive->parts[i].path : path;
    }
    return path;
}

/* What nobody has written or can have must not be taken for zeros. */
static status_t archive_check_lost(const struct job *job, const struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct lost_range *lost = archive->lost;
    REQUIRE(archive->nlost == 0 || job->on_bad == ON_BAD_NAN, STATUS_DATA,
            "%s: %s: samples %" PRIu64 " .. %" PRIu64
            " cannot be had: %s (run.on_bad: nan makes what needs them NaN)",
            archive_file(archive, lost->first), archive->dataset, lost->first,
            lost->first + lost->count, lost->why);
out:
    return st;
}

status_t archive_open_here(const struct job *job, struct archive **out)
{
    status_t st = STATUS_OK;
    glob_t paths = {0};
    struct archive **files = NULL;
    size_t count = 0;
    TRY(archive_expand_globs(job, &paths));
    count = paths.gl_pathc;
    TRY(memory_zeroed(count, sizeof(struct archive *), "input files", &files));
    int all_start = 1;
    for (size_t i = 0; i < count; i++) {
        TRY(described_file(paths.gl_pathv[i], &job->layout, 0, &files[i]));
        all_start = all_start && files[i]->has_start && files[i]->is_native;
    }
    if (all_start && files[0]->stacked == AXIS_TIME) {
        qsort(files, count, sizeof(struct archive *), archive_by_start);
    }
    TRY(archive_join(files, count));
    files[0]->are_by_start = all_start && files[0]->stacked == AXIS_TIME;
    TRY(archive_settle_frequencies(job, files[0]));
    TRY(archive_check_gaps(files[0]));
    TRY(select_apply(&job->select, files[0]));
    TRY(lost_apply(files[0]));
    TRY(archive_check_lost(job, files[0]));
    *out = files[0];
    files[0] = NULL;
out:
    for (size_t i = 0; files && i < count; i++) {
        archive_destroy(files[i]);
    }
    free(files);
    globfree(&paths);
    return st;
}

status_t archive_open_native(const char *path, struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    struct job_layout automatic = {.automatic = 1, .files_along = AXIS_TIME};
    struct job_select everything = {.kind = SELECT_ALL};
    TRY(described_file(path, &automatic, 1, &archive));
    if (archive) {
        TRY(archive_settle_frequencies(NULL, archive));
        TRY(archive_check_gaps(archive));
        TRY(select_apply(&everything, archive));
        TRY(lost_apply(archive));
    }
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    return st;
}

void archive_destroy(struct archive *archive)
{
    if (!archive) {
        return;
    }
    for (uint32_t i = 0; i < archive->nparts; i++) {
        for (uint32_t j = 0; j < archive->parts[i].nextents; j++) {
            free(archive->parts[i].extents[j].path);
        }
        free(archive->parts[i].extents);
        storage_free(&archive->parts[i].storage);
        lost_boxes_free(archive->parts[i].boxes, archive->parts[i].nboxes);
        free(archive->parts[i].path);
    }
    for (int i = 0; i < AXIS_KINDS; i++) {
        h5_free_texts(archive->names[i], (size_t)archive->count[i]);
        free(archive->selected[i]);
    }
    free(archive->parts);
    lost_free(archive->lost, archive->nlost);
    free(archive->freq_hz);
    free(archive->gaps);
    free(archive->dataset);
    free(archive->telescope);
    free(archive->source);
    free(archive);
}
