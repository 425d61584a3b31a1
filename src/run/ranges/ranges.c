/* Looks at the filterbank of each dedispersion that is to be divided. */
#include "run/ranges/ranges.h"

#include "base/memory.h"
#include "dsp/bursts/boxes.h"
#include "dsp/dispersion/ddplan.h"
#include "plan/dedisperse_plan.h"

#include <inttypes.h>
#include <stdlib.h>

_Static_assert((int)DDPLAN_RANGES <= (int)JOB_DEDISPERSE, "a job has room for all ranges");

/* Frequencies and times of what dedispersion `number` reads. */
static status_t ranges_open_filterbank(const struct job *job, uint32_t number,
                                       const struct channelise_plan *work, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    if (work) {
        TRY(dedisperse_plan_foresee(work, job->dedisperse[number].input, &fbh5));
    } else {
        TRY(fbh5_open(job_filterbank(job, number), &fbh5));
        TRY(fbh5_load_band(fbh5));
    }
    TRY(fbh5_check_dispersed(fbh5));
    REQUIRE(!fbh5->coherent.delay_hz, STATUS_USAGE,
            "%s: dedisperse.%u.dm.downsample: is auto, which counts what each DM smears within "
            "channels, but %s was dedispersed coherently: expected downsample beside dm",
            job->path, number, fbh5->path);
    *out = fbh5;
    fbh5 = NULL;
out:
    fbh5_destroy(fbh5);
    return st;
}

/* The first and the last DM of a range's series, and how many times these will have: 0 where delays
 * are longer than the observation. */
struct range_series {
    double first, last;
    uint64_t times;
};

static status_t ranges_look(const struct job_dedisperse *what, const struct fbh5 *fbh5,
                            const struct dispersion_spec *band, const struct job_dm_range *range,
                            struct range_series *out)
{
    status_t st = STATUS_OK;
    struct dispersion_spec spec = *band;
    struct dispersion delays = {.ndms = 0};
    double *dms = NULL;
    uint32_t count = 0;
    uint64_t samples = fbh5->rows / range->downsample;
    spec.sample_seconds *= (double)range->downsample;
    spec.reference_hz = what->reference_hz;
    TRY(dispersion_tolerant(&spec, range->start, range->end, what->dm.width, what->dm.tolerance,
                            JOB_DMS, &dms, &count));
    spec.dms = dms;
    spec.ndms = count;
    TRY(dispersion_settle(&spec, &delays));
    *out = (struct range_series){dms[0], dms[count - 1],
                                 samples > delays.largest ? samples - delays.largest : 0};
out:
    dispersion_free(&delays);
    free(dms);
    return st;
}

/* Ranges whose series are too short to tell their noise are not searched, and not made when nothing
 * else was wanted of them; when then nothing is left, the first one's own plan refuses. The higher
 * the DMs, the shorter series are. */
static status_t ranges_leave_out(const struct job *job, uint32_t number, const struct fbh5 *fbh5,
                                 const struct dispersion_spec *band, struct job_division *division)
{
    status_t st = STATUS_OK;
    const struct job_dedisperse *what = &job->dedisperse[number];
    struct job_dm_range *ranges = division->ranges[number];
    uint64_t least = max_u64(BOXES_LEAST_TIMES, 2 * (uint64_t)what->search.widths);
    uint32_t kept = 0;
    for (uint32_t r = 0; what->search.file && r < division->count[number]; r++) {
        struct range_series series = {.times = 0};
        TRY(ranges_look(what, fbh5, band, &ranges[r], &series));
        if (series.times >= least || (r == 0 && !what->file)) {
            kept = r + 1;
            continue;
        }
        ranges[r].is_unsearched = 1;
        report_warn("dedisperse.%u.search: DMs %g to %g are not searched: %" PRIu64
                    " times of each DM, by %" PRIu64
                    " samples, tell no noise: boxes of %u need at least %" PRIu64,
                    number, series.first, series.last, series.times, ranges[r].downsample,
                    what->search.widths, least);
        kept = what->file ? r + 1 : kept;
    }
    division->count[number] = what->search.file ? kept : division->count[number];
out:
    return st;
}

static status_t ranges_divide(const struct job *job, uint32_t number,
                              const struct channelise_plan *work, struct job_division *division)
{
    status_t st = STATUS_OK;
    const struct job_dedisperse *what = &job->dedisperse[number];
    struct fbh5 *fbh5 = NULL;
    struct ddplan_range ranges[DDPLAN_RANGES];
    double constant = dispersion_default_constant;
    TRY(ranges_open_filterbank(job, number, work, &fbh5));
    if (what->constant && !dispersion_constant(what->constant, &constant)) {
        goto out; /* each range's own plan says so */
    }
    const struct dispersion_spec spec = {.freq_hz = fbh5->freq_hz,
                                         .nchannels = fbh5->nchannels,
                                         .constant = constant,
                                         .sample_seconds = fbh5->time.step};
    TRY(ddplan_make(&spec, what->dm.start, what->dm.end, what->dm.width, what->dm.tolerance,
                    JOB_DMS, ranges, &division->count[number]));
    for (uint32_t r = 0; r < division->count[number]; r++) {
        division->ranges[number][r] =
            (struct job_dm_range){ranges[r].start, ranges[r].end, ranges[r].downsample, 0};
    }
    TRY(ranges_leave_out(job, number, fbh5, &spec, division));
out:
    fbh5_destroy(fbh5);
    return st;
}

status_t ranges_find(const struct job *job, const struct archive *archive, struct job_division *out)
{
    status_t st = STATUS_OK;
    struct channelise_plan *work = NULL;
    uint32_t all = 0;
    *out = (struct job_division){.count = {0}};
    if (archive) {
        /* Of one thread: what threads take of run.memory is no matter here. */
        TRY(channelise_plan_create(job, archive, backend_settle(job->backend), 1, NULL, &work));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(job->dedisperse[i].dm.is_divided ? ranges_divide(job, i, work, out) : STATUS_OK);
        all += out->count[i] > 0 ? out->count[i] : 1;
    }
    REQUIRE(all <= JOB_DEDISPERSE, STATUS_USAGE,
            "%s: dedisperse: one for each range of DMs of downsample: auto makes %u, expected at "
            "most %d in one job",
            job->path, all, JOB_DEDISPERSE);
out:
    channelise_plan_destroy(work);
    return st;
}
