/* How a filter bank is computed, as a problem of the tuner; and the automatic choice. */
#include "base/memory.h"
#include "tune/problem/ppf_trial.h"
#include "tune/problem/problems.h"
#include "tune/search.h"
#include "tune/tuning.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *ppf_kernel_name(uint32_t i)
{
    return kernel_name((enum kernel_kind)i);
}

static const char *ppf_fft_name(uint32_t i)
{
    return fft_name((enum fft_kind)i);
}

static const struct tune_parameter ppf_parameters[] = {
    {"kernel", 0, KERNEL_BLOCKS, ppf_kernel_name},
    {"fft", 0, FFT_CLFFT, ppf_fft_name},
    {"simd", 0, 16, NULL},
    {"rows", 0, 1 << 16, NULL},
    {"width", 0, 1 << 16, NULL},
    {"run", 0, 1 << 24, NULL},
    {"vector", 0, 16, NULL},
    {"values", 0, 1 << 16, NULL},
    {"batch", 0, 1 << 16, NULL},
    {"teams", 0, 1 << 16, NULL},
    {"radix1", 0, 1 << 16, NULL},
    {"radix2", 0, 1 << 16, NULL},
    {"radix3", 0, 1 << 16, NULL},
    {"radix4", 0, 1 << 16, NULL},
    {"buffers", 0, 1 << 16, NULL},
    {"split", 0, 1, NULL},
    {"padded", 0, 1, NULL},
    {"streaming", 0, 1, NULL},
    {"paired", 0, 1, NULL}};

enum { PPF_NUMBERS = sizeof ppf_parameters / sizeof *ppf_parameters };

_Static_assert(sizeof(struct channelise_shape) == PPF_NUMBERS * sizeof(uint32_t) &&
                   (int)PPF_NUMBERS <= (int)TUNE_PARAMETERS,
               "a shape is a row of numbers");

status_t ppf_kernel(enum backend_kind kind, const void *what, struct text *out)
{
    const struct channelise_spec *spec = what;
    static const char *const formats[] = {"4 bit", "8 bit", "16 bit", "float"};
    TRY(text_add(out, ", %u channels, %u taps, %s %s", spec->channels, spec->taps,
                 spec->is_complex ? "complex" : "real", formats[spec->format]));
    TRY(channelise_is_oversampled(spec) ? text_add(out, ", every %u samples", spec->hop)
                                        : STATUS_OK);
    TRY(text_add(out, ", kernel %s, fft %s", kernel_name(spec->kernel), fft_name(spec->fft)));
    if (backend_abilities(kind)->uses_threads) {
        TRY(text_add(out, ", %u threads", spec->threads));
    }
    return STATUS_OK;
}

status_t ppf_describe(backend_t *backend, const void *what, struct tune_key *out)
{
    const struct channelise_spec *spec = what;
    double *features = out->features;
    features[0] = spec->nchannels;
    features[1] = spec->noutputs;
    features[2] = features[3] = 1;
    TRY(backend_identity(backend, &out->identity));
    TRY(text_add(&out->words, "channels %u+%u%s%s", spec->first_channel, spec->nchannels,
                 spec->conjugate ? ", conjugate" : "",
                 spec->missing.has_value ? ", missing value" : ""));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(text_add(&out->words, ", %s/%" PRIu64, quantity_name(spec->outputs[i].quantity),
                     spec->outputs[i].integrate));
        TRY(spec->outputs[i].bits ? text_add(&out->words, " of %u bits", spec->outputs[i].bits)
                                  : STATUS_OK);
        features[2] += spec->outputs[i].quantity == QUANTITY_SPECTRA;
        features[3] += (double)spec->outputs[i].integrate;
    }
    return STATUS_OK;
}

static status_t ppf_candidates(backend_t *backend, const void *spec, void *out, uint32_t *count)
{
    return channelise_candidates(backend, spec, SPACE_ALL, out, count);
}

struct ppf_space {
    struct channelise_shape *shapes;
    struct ppf_trial trial;
};

static status_t ppf_time(void *context, uint32_t i, uint32_t repeats, const struct tune_time *time,
                         struct tune_measure *out)
{
    struct ppf_space *ppf = context;
    struct trial_times times;
    TRY(ppf_trial_time(&ppf->trial, &ppf->shapes[i], repeats, time, &times));
    out->seconds = times.median;
    out->wrong = times.wrong;
    return STATUS_OK;
}

/* There is no model: those that are known to be good come first. */
static status_t ppf_begin(backend_t *backend, const void *spec, const struct tune_pick *pick,
                          uint64_t memory, struct tune_space *out)
{
    struct ppf_space *ppf = NULL;
    enum channelise_space space = pick->is_few ? SPACE_FEW : SPACE_ALL;
    TRY(memory_zeroed(1, sizeof *ppf, "a search space", &ppf));
    *out = (struct tune_space){.problem = &tune_ppf, .context = ppf, .time = ppf_time};
    uint64_t points = ppf_trial_points(backend, pick->is_few);
    TRY(channelise_candidates(backend, spec, space, &ppf->shapes, &out->count));
    /* A shape without rivals is only verified. */
    points = pick->is_few && out->count == 1 ? PPF_TRIAL_FEW_POINTS : points;
    out->fit = out->count;
    out->values = (const uint32_t *)ppf->shapes;
    if (out->count > 0) {
        TRY(ppf_trial_begin(backend, spec, &ppf->shapes[0], points, memory, &ppf->trial));
    }
    return STATUS_OK;
}

static void ppf_end(struct tune_space *space)
{
    struct ppf_space *ppf = space->context;
    ppf_trial_end(&ppf->trial);
    free(ppf->shapes);
    free(ppf);
}

const struct tune_problem tune_ppf = {.name = "filter bank",
                                      .version = 2,
                                      .title = "the filter bank",
                                      .nparameters = PPF_NUMBERS,
                                      .parameters = ppf_parameters,
                                      .kernel = ppf_kernel,
                                      .describe = ppf_describe,
                                      .candidates = ppf_candidates,
                                      .begin = ppf_begin,
                                      .end = ppf_end};

status_t tune_ppf_choose(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                         struct channelise_choice *out)
{
    status_t st = STATUS_OK;
    /* Beyond, the reference of a trial takes longer than a user waits for a choice by rule. */
    enum { MOST_VERIFIED = 1 << 14 };
    struct channelise_choice choice;
    struct channelise_shape *list = NULL;
    uint32_t count = 0;
    TRY_OUT(channelise_choose(backend, spec, &choice));
    if (spec->choice.backend == BACKEND_AUTO) {
        TRY_OUT(channelise_candidates(backend, spec, SPACE_FEW, &list, &count));
    }
    if (count == 1 && (spec->channels > MOST_VERIFIED ||
                       !backend_abilities(backend_which(backend))->has_device)) {
        count = 0;
    }
    TRY_OUT(tune_few(&tune_ppf, backend, spec, "choice", (const uint32_t *)list, count, memory,
                     (uint32_t *)&choice.shape));
    *out = choice;
out:
    free(list);
    return st;
}
