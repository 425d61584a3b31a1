/* Opening an observation in this process: its files found, opened by their format, checked, and cut
 * to what the job selects. */
#include "input/open.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/format/formats.h"
#include "input/gaps_check.h"
#include "input/hdf5/external.h"
#include "input/lost.h"
#include "input/spacing.h"
#include "io/file.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A file that exists is meant, even if its name looks like a pattern: "obs[1].h5". */
static status_t open_escape_existing(const char *name, char **out)
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

static int open_by_name(const void *left, const void *right)
{
    return text_compare_natural(*(char *const *)left, *(char *const *)right);
}

/* In the order of the job's list; what one pattern stands for, in the natural order of names. */
static status_t open_expand_globs(const struct job *job, glob_t *paths)
{
    status_t st = STATUS_OK;
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
        qsort(paths->gl_pathv + before, paths->gl_pathc - before, sizeof(char *), open_by_name);
    }
out:
    return st;
}

/* A job may leave out rate only if the file says it; centre frequencies have a sensible default
 * for one coarse channel. */
static status_t open_settle_frequencies(const struct job *job, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t chans = archive->count[AXIS_CHAN];
    REQUIRE(archive->sample_rate_hz > 0, STATUS_USAGE,
            "%s: input.layout.sample_rate_hz is missing, and the file cannot say it", job->path);
    if (job->layout.freq.rule.has_start) {
        double *counted = realloc(archive->freq_hz, (size_t)chans * sizeof *counted);
        REQUIRE(counted, STATUS_DEVICE, "out of memory: frequencies of coarse channels");
        archive->freq_hz = counted;
        archive->states.freq = 1;
        for (uint64_t i = 0; i < chans; i++) {
            const struct job_frequencies *of = &job->layout.freq.rule;
            archive->freq_hz[i] = of->start + (double)i * of->step;
        }
    }
    if (!archive->freq_hz) {
        REQUIRE(chans == 1, STATUS_USAGE,
                "%s: input.layout.freq_hz is missing: expected the centre of each of %" PRIu64
                " coarse channels",
                job->path, chans);
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
out:
    return st;
}

/* The file that holds a sample. */
static const char *open_file_of(const struct archive *archive, uint64_t sample)
{
    const char *path = archive->parts[0].path;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        path = archive->parts[i].first_sample <= sample ? archive->parts[i].path : path;
    }
    return path;
}

/* What nobody has written or can have must not be taken for zeros. */
static status_t open_check_lost(const struct job *job, const struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct lost_range *lost = archive->losses.lost;
    REQUIRE(archive->losses.nlost == 0 || job->on_bad == ON_BAD_NAN, STATUS_DATA,
            "%s: %s: samples %" PRIu64 " .. %" PRIu64
            " cannot be had: %s (run.on_bad: nan makes what needs them NaN)",
            open_file_of(archive, lost->first), archive->dataset, lost->first,
            lost->first + lost->count, lost->why);
out:
    return st;
}

static status_t open_check_external(const struct job *job, const struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct external_list list = {(const char *const *)job->external, job->nexternal};
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        TRY(external_check(&part->storage.sources, part->path, list, JOB_EXTERNAL));
    }
out:
    return st;
}

status_t archive_open_here(const struct job *job, struct archive **out)
{
    status_t st = STATUS_OK;
    glob_t paths = {0};
    struct archive *archive = NULL;
    TRY(open_expand_globs(job, &paths));
    const struct format_input input = {paths.gl_pathv, paths.gl_pathc, &job->layout};
    TRY(formats_open(&input, &archive));
    TRY(open_check_external(job, archive));
    TRY(open_settle_frequencies(job, archive));
    TRY(check_archive(archive));
    TRY(open_select(&job->select, archive));
    TRY(spacing_check(&job->layout, archive));
    TRY(lost_apply(archive));
    TRY(open_check_lost(job, archive));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    globfree(&paths);
    return st;
}

status_t archive_open_files(char **files, uint32_t count, struct archive **out)
{
    char allow[] = EXTERNAL_ALLOW;
    char *external = allow;
    const struct job job = {.path = files[0],
                            .external = &external,
                            .nexternal = 1,
                            .files = files,
                            .nfiles = count,
                            .layout = {.automatic = 1, .files_along = AXIS_TIME},
                            .select = {.kind = SELECT_ALL},
                            .on_bad = ON_BAD_NAN};
    return archive_open_here(&job, out);
}
