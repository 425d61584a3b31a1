/* Looks at the filterbank of each dedispersion that is to be divided. */
#include "run/ranges/ranges.h"

#include "dsp/dispersion/ddplan.h"
#include "plan/dedisperse_plan.h"

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
    REQUIRE(!fbh5->delay_hz, STATUS_USAGE,
            "%s: dedisperse.%u.dm.downsample: is auto, which counts what each DM smears within "
            "channels, but %s was dedispersed coherently: expected downsample beside dm",
            job->path, number, fbh5->path);
    *out = fbh5;
    fbh5 = NULL;
out:
    fbh5_destroy(fbh5);
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
                                         .sample_seconds = fbh5->tsamp};
    TRY(ddplan_make(&spec, what->dm.start, what->dm.end, what->dm.width, what->dm.tolerance,
                    JOB_DMS, ranges, &division->count[number]));
    for (uint32_t r = 0; r < division->count[number]; r++) {
        division->ranges[number][r] =
            (struct job_dm_range){ranges[r].start, ranges[r].end, ranges[r].downsample};
    }
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
