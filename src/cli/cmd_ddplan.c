/* voltmill ddplan FILTERBANK */
#include "base/display.h"
#include "base/units.h"
#include "cli/values.h"
#include "dsp/dispersion/ddplan.h"
#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "input/open.h"

enum { MOST_DMS = 1 << 20 };

struct ddplan_settings {
    struct shared shared;
    double dms[2];
    double tolerance, width;
    int job;
};

#define AT(field) offsetof(struct ddplan_settings, field)

static const struct option_row rows[] = {
    {"dms", "A..B", value_range, AT(dms), "a range such as 0..2000", NULL,
     "the DMs to search, pc cm^-3"},
    {"tolerance", "T", value_positive, AT(tolerance), "..1000", "1.25",
     "how many times wider than it must be a pulse may become: by adding up samples, and once more "
     "between two DMs"},
    {"width", "SECONDS", value_positive, AT(width), "..1000", NULL,
     "of the pulse (default: as short as a sample)"},
    {"job", FLAG(AT(job)), "prints the `dedisperse` of a job for it, a search for each range"},
    {.name = NULL}};

static status_t ddplan_print(const struct ddplan_settings *s, const struct fbh5 *fbh5,
                             const struct dispersion_spec *spec, const struct ddplan_range *ranges,
                             uint32_t count)
{
    uint64_t all = 0;
    double work = 0;
    display_print("%s: %u channels, samples of %s\n", fbh5->path, fbh5->nchannels,
                  units_seconds(fbh5->time.step));
    display_print("  range  DM from      to  downsample     sample     DMs       step          "
                  "channel      pulse   loss of S/N\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct ddplan_range *r = &ranges[i];
        char steps[64];
        double loss = 0;
        TRY(ddplan_loss(spec, s->width, s->tolerance, r, &loss));
        display_format(steps, sizeof steps, "%.3g..%.3g", r->first_step, r->last_step);
        display_print("  %5u %8.6g %8.6g %11llu %10s %7u  %-14s %10s %10s  at most %.1f %%\n", i,
                      r->start, r->end, (unsigned long long)r->downsample,
                      units_seconds(fbh5->time.step * (double)r->downsample), r->count, steps,
                      units_seconds(r->smear), units_seconds(r->width), 100 * loss);
        all += r->count;
        work += (double)r->count / (double)r->downsample;
    }
    display_print("  %s DMs in all, %.3g %% of the sums that as many without downsampling would "
                  "be\n",
                  units_count(all), 100 * work / (double)(all > 0 ? all : 1));
    return STATUS_OK;
}

static void ddplan_print_job(const struct ddplan_settings *s, const struct ddplan_range *ranges,
                             uint32_t count)
{
    display_print("input: {files: '");
    for (const char *c = s->shared.operand; *c; c++) { /* so that YAML leaves it as it is */
        display_print(*c == '\'' ? "''" : "%c", *c);
    }
    display_print("'}\ndedisperse:\n");
    for (uint32_t i = 0; i < count; i++) {
        display_print("- dm: {start: %s, end: %s, tolerance: %s", units_exact(ranges[i].start),
                      units_exact(ranges[i].end), units_exact(s->tolerance));
        if (s->width > 0) {
            display_print(", width: %s", units_exact(s->width));
        }
        display_print("}\n  downsample: %llu\n  search: {file: found-%u.h5}\n",
                      (unsigned long long)ranges[i].downsample, i);
    }
}

static status_t ddplan_check(void *settings)
{
    const struct ddplan_settings *s = settings;
    REQUIRE(options_first(s, "dms"), STATUS_USAGE, "ddplan: --dms is missing: such as 0..2000");
    REQUIRE(s->dms[0] < s->dms[1] && s->dms[0] >= 0, STATUS_USAGE,
            "ddplan: --dms is %g..%g, expected an ascending range from 0 on", s->dms[0], s->dms[1]);
    return REQUIRED(s->tolerance > 1, STATUS_USAGE,
                    "ddplan: --tolerance is %g, expected more than 1", s->tolerance);
}

static status_t ddplan_run(void *settings)
{
    const struct ddplan_settings *s = settings;
    struct ddplan_range ranges[DDPLAN_RANGES];
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    uint32_t count = 0;
    TRY(fbh5_open(s->shared.operand, FBH5_BAND, &fbh5));
    assumed_say(fbh5->path, fbh5->assumed);
    const struct dispersion_spec spec = {
        .freq_hz = fbh5->freq_hz, .nchannels = fbh5->nchannels, .sample_seconds = fbh5->time.step};
    TRY(ddplan_make(&spec, s->dms[0], s->dms[1], s->width, s->tolerance, MOST_DMS, ranges, &count));
    if (s->job) {
        ddplan_print_job(s, ranges, count);
    } else {
        TRY(ddplan_print(s, fbh5, &spec, ranges, count));
    }
    return STATUS_OK;
}

const struct command cli_ddplan = {
    .only_prints = 1,
    .name = "ddplan",
    .summary = "choose DMs and downsampling for a filterbank",
    .usage = "--dms A..B [OPTION]... FILTERBANK",
    .about = "Divides DMs into ranges, each with its step and with samples summed in time such "
             "that a pulse grows by no more than the tolerance, and says what that loses; --job "
             "prints the job (docs/job-file.md).",
    .operand = "filterbank",
    .ends = "h5|fil|fits",
    .rows = rows,
    .bytes = sizeof(struct ddplan_settings),
    .check = ddplan_check,
    .run = ddplan_run};
