/* Prints the planned filters of a job: how long each is, what it does, what leaves it. */
#include "base/display.h"
#include "base/units.h"
#include "cli/print/plan_job.h"

#include <inttypes.h>
#include <math.h>

static void filters_print_deripple(uint32_t reach, double ripple_db, double left_db)
{
    display_print(", deripple of up to %.3g dB, %u samples to either side (%.0f dB of it left out)",
                  ripple_db, reach, left_db);
}

static void filters_print_source(const struct job_filter *filter,
                                 const struct filter_plan_stage *stage)
{
    const struct filter_coefficients *made = &stage->made;
    if (filter->source == FILTER_DISPERSION) {
        const struct chirp *chirp = &stage->chirps[0];
        char reference[UNITS_TEXT];
        display_print("dispersion, DM %g, reference %s, %u samples", filter->dispersion.dm,
                      filter->dispersion.reference_hz > 0
                          ? units_hertz(chirp->reference_hz, reference)
                          : "each coarse channel's centre",
                      stage->spec.taps);
        if (stage->deripple.half) {
            filters_print_deripple(stage->deripple.reach, stage->deripple.ripple_db,
                                   stage->deripple.left_db);
        }
    } else if (made->is_deripple) {
        display_print("%u real coefficients", made->taps);
        filters_print_deripple(made->taps / 2, made->ripple_db, made->left_db);
    } else if (made->is_design) {
        display_print("%u %s coefficients by design: ripple %.3g dB, attenuation %.3g dB (Kaiser, "
                      "beta %.3g)",
                      made->taps, made->is_complex ? "complex" : "real", made->ripple_db,
                      made->attenuation_db, made->beta);
    } else {
        display_print("%u %s %s", made->taps, made->is_complex ? "complex" : "real",
                      units_plural(made->taps, "coefficient", "coefficients"));
    }
}

static void filters_print_method(const struct filter_plan_stage *stage)
{
    const struct filter_shape *shape = &stage->spec.choice.shape;
    display_print("  method        %s", filter_method_name((enum filter_method)shape->method));
    if (shape->method == FILTER_OVERLAP_SAVE) {
        uint64_t fresh = shape->length - (stage->spec.taps - 1);
        display_print(", transforms of %u samples, %.0f %% of them new", shape->length,
                      100.0 * (double)fresh / shape->length);
    }
    display_print("\n");
}

/* What makes streams of channels, how well, and what streams. */
static void filters_print_synthesis(const struct synthesis_plan *plan)
{
    const struct synthesis_bank *bank = &plan->bank;
    const struct archive *seen = &plan->seen;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    display_print("synthesis\n  takes         %u channels of each stream, %s apart", bank->channels,
                  units_hertz(bank->spacing_hz, a));
    if (bank->points != bank->channels) {
        display_print(", as %u points", bank->points);
    }
    display_print("\n  filter        %u taps: %" PRIu64
                  " coefficients, dual of a prototype of %u\n",
                  plan->spec.taps, (uint64_t)plan->spec.taps * bank->points, plan->bank_taps);
    display_print("  error         %.1f dB of the signal's power, of white noise; noise of the "
                  "channels is passed on by %.3g\n",
                  plan->error_db, plan->noise);
    display_print("  reaches over  %" PRId64 " spectra for a sample\n", plan->reach.length);
    display_print("  leaves        %s %s of each stream at %s, %u samples for a spectrum\n",
                  units_count(seen->samples, a),
                  seen->is_complex ? "complex samples" : "real samples",
                  units_hertz(seen->sample_rate_hz, b), bank->hop);
    for (uint32_t i = 0; i < bank->groups; i++) {
        double half = bank->channels * bank->spacing_hz / 2;
        double low = synthesis_bank_low(bank, plan->in, i);
        display_print("  %-13s %s to %s, centre %s\n", i == 0 ? "band" : "", units_hertz(low, a),
                      units_hertz(low + 2 * half, b),
                      units_hertz(seen->freq_hz[i], (char[UNITS_TEXT]){0}));
    }
}

void plan_filters_print(const struct channelise_plan *work)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    if (work->filters && work->filters->synthesis) {
        filters_print_synthesis(work->filters->synthesis);
    }
    for (uint32_t i = 0; i < work->job->nfilters; i++) {
        const struct filter_plan_stage *stage = &work->filters->stages[i];
        display_print("filter %u\n  made of       ", i);
        filters_print_source(&work->job->filters[i], stage);
        display_print("\n");
        filters_print_method(stage);
        display_print("  leaves        %s %s of each stream at %s, %s",
                      units_count(stage->seen.samples, a),
                      stage->seen.is_complex ? "complex samples" : "real samples",
                      units_hertz(stage->seen.sample_rate_hz, b),
                      work->job->filters[i].is_padded ? "padded" : "valid");
        if (stage->spec.decimate > 1) {
            display_print(", every %u", stage->spec.decimate);
        }
        display_print("\n  delay         %g samples%s\n", stage->delay,
                      stage->delay != 0 ? ", taken out of the times" : "");
    }
}
