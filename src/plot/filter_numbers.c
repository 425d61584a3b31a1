/* Prototype filters as a job asks for them, with the words of `voltmill plan`. */
#include "plot/filter_numbers.h"

#include "base/units.h"
#include "dsp/fir/filter_report.h"
#include "dsp/fir/flat_cutoff.h"
#include "plan/bank/bank_prototype.h"

#include <stdlib.h>

/* With more channels the response, in channels, differs by less than a line is wide. */
enum { ENOUGH_CHANNELS = 4096, MOST_BANKS = 4 };

/* A file of coefficients has as many as complex or as real samples ask for. */
static status_t filter_create(const struct job_bank *job, struct prototype_spec *spec, double **out)
{
    status_t st = STATUS_OK;
    int is_file = job->window.kind == WINDOW_FILE;
    uint32_t channels =
        job->channels > ENOUGH_CHANNELS && !is_file ? ENOUGH_CHANNELS : job->channels;
    TRY(bank_prototype(job, spec));
    spec->channels = spec->samples_per_spectrum = channels;
    TRY(flat_cutoff_settle(spec));
    st = prototype_create(spec, out);
    if (st == STATUS_DATA && is_file) {
        report_clear();
        spec->samples_per_spectrum = 2 * channels;
        st = prototype_create(spec, out);
    }
out:
    return st;
}

/* Two lines: the bank, and what its filter does to tones. */
static status_t filter_add_words(const struct job_bank *bank, const struct prototype_spec *spec,
                                 const double *coeff, struct text *out)
{
    status_t st = STATUS_OK;
    struct filter_report report;
    char count[UNITS_TEXT];
    char window[UNITS_TEXT];
    char cutoff[UNITS_TEXT];
    TRY(filter_report_make(coeff, spec->taps, spec->samples_per_spectrum, &report));
    TRY(text_add_shown(out, "%s%s%s channels, %u %s, window %s%s\n", bank->name ? bank->name : "",
                       bank->name ? ": " : "", units_count(bank->channels, count), spec->taps,
                       units_plural(spec->taps, "tap", "taps"),
                       bank->has_window ? bank->window.text : bank_prototype_window(spec, window),
                       bank_prototype_cutoff(spec, bank->cutoff == CUTOFF_FLAT, cutoff)));
    TRY(text_add(out,
                 "a tone between channels loses %.2f dB, beyond 1.5 channels at least %.0f dB;  "
                 "noise width %.3f channels",
                 report.scalloping_db, report.beyond_db, report.noise_width));
out:
    return st;
}

static status_t filter_add(const struct job_bank *bank, struct json *json)
{
    status_t st = STATUS_OK;
    struct prototype_spec spec;
    struct text words = {0};
    double *coeff = NULL;
    TRY(filter_create(bank, &spec, &coeff));
    TRY(filter_add_words(bank, &spec, coeff, &words));
    json_begin(json, NULL);
    json_text(json, "name", bank->name);
    json_text(json, "title", words.data);
    json_u64(json, "taps", spec.taps);
    json_u64(json, "samples", spec.samples_per_spectrum);
    json_doubles(json, "coefficients", coeff, (uint64_t)spec.taps * spec.samples_per_spectrum);
    json_end(json);
out:
    text_free(&words);
    free(coeff);
    return st;
}

status_t filter_numbers(const struct job *job, struct json *json)
{
    status_t st = STATUS_OK;
    REQUIRE(job->nbanks > 0, STATUS_USAGE, "%s: has no filter bank (channelise) to draw",
            job->path);
    json_list(json, "filters");
    for (uint32_t i = 0; i < job->nbanks && i < MOST_BANKS; i++) {
        TRY(filter_add(&job->banks[i], json));
    }
    json_list_end(json);
out:
    return st;
}
