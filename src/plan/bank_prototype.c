/* Taps, window and cutoff of an oversampled bank, where the job leaves them open. */
#include "plan/bank_prototype.h"

#include "dsp/fir/oversampled.h"

#include <stdio.h>

status_t bank_prototype(const struct job_bank *job, struct prototype_spec *out)
{
    status_t st = STATUS_OK;
    struct prototype_spec spec = {.channels = job->channels,
                                  .taps = job->taps,
                                  .window = job->window.kind,
                                  .kaiser_beta = job->window.kaiser_beta,
                                  .path = job->window.path,
                                  .values = job->window.values,
                                  .nvalues = job->window.nvalues,
                                  .points = job->window_points,
                                  .cutoff = job->cutoff,
                                  .normalise = job->normalise};
    if (job->is_oversampled && job->attenuation > 0) {
        TRY(oversampled_taps(job->oversample, job->attenuation, &spec.taps));
    }
    if (job->is_oversampled && !job->has_window) {
        spec.window = WINDOW_KAISER;
        spec.kaiser_beta = oversampled_beta(job->oversample, spec.taps);
    }
    if (job->is_oversampled && !job->has_cutoff) {
        spec.cutoff = oversampled_cutoff(job->oversample);
    }
    *out = spec;
out:
    return st;
}

const char *bank_prototype_window(const struct prototype_spec *spec, char text[UNITS_TEXT])
{
    if (spec->window == WINDOW_KAISER) {
        snprintf(text, UNITS_TEXT, "%s:%g", window_name(spec->window), spec->kaiser_beta);
        return text;
    }
    return window_name(spec->window);
}

const char *bank_prototype_cutoff(const struct prototype_spec *spec, int is_flat,
                                  char text[UNITS_TEXT])
{
    text[0] = '\0';
    if (spec->window != WINDOW_FILE) {
        snprintf(text, UNITS_TEXT, ", cutoff %s%.10g%s", is_flat ? "flat (" : "", spec->cutoff,
                 is_flat ? ")" : "");
    }
    return text;
}
