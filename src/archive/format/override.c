/* What a job says of its files' layout, put over what a file says. */
#include "archive/format/override.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define OVERRIDE_TEXT(word)                                                                        \
    if (layout->word) {                                                                            \
        free(own->word);                                                                           \
        own->word = NULL;                                                                          \
        TRY(memory_text(layout->word, &own->word));                                                \
    }

static void override_free_frequencies(struct job_layout *own)
{
    free(own->freq_hz);
    own->freq_hz = NULL;
    own->nfreq = 0;
    free(own->frequencies.from);
    free(own->frequencies.attribute);
    free(own->frequencies.member);
    own->frequencies = (struct job_frequencies){.has_start = 0};
}

/* A list takes the place of another, unless it is empty. */
static status_t override_list(void **own, uint32_t *count, const void *list, uint32_t length,
                              size_t bytes)
{
    status_t st = STATUS_OK;
    if (length > 0) {
        void *copy = NULL;
        TRY(memory_zeroed(length, bytes, "a list of a layout", &copy));
        memcpy(copy, list, length * bytes);
        free(*own);
        *own = copy;
        *count = length;
    }
out:
    return st;
}

int override_has(const struct job_layout *layout, enum job_said_key key)
{
    const int is_given[SAID_KEYS] = {[SAID_SAMPLE_RATE] = layout->has_sample_rate,
                                     [SAID_SAMPLE_PERIOD] = layout->has_sample_period,
                                     [SAID_START] = layout->has_start,
                                     [SAID_SIDEBAND] = layout->has_sideband,
                                     [SAID_OVERSAMPLING] = layout->has_oversampling,
                                     [SAID_MISSING_VALUE] = layout->has_missing_value};
    return is_given[key] || layout->said[key].attribute != NULL;
}

int override_has_rate(const struct job_layout *layout)
{
    return override_has(layout, SAID_SAMPLE_RATE) || override_has(layout, SAID_SAMPLE_PERIOD);
}

int override_has_frequencies(const struct job_layout *layout)
{
    return layout->nfreq > 0 || layout->frequencies.has_start || layout->frequencies.from ||
           layout->frequencies.attribute;
}

int override_has_spacing(const struct job_layout *layout)
{
    return override_has_rate(layout) || override_has_frequencies(layout);
}

/* Frequencies that are listed, counted or in the file: one way takes the place of another. */
static status_t override_frequencies(const struct job_layout *layout, struct job_layout *own)
{
    status_t st = STATUS_OK;
    if (!override_has_frequencies(layout)) {
        goto out;
    }
    override_free_frequencies(own);
    own->frequencies.has_start = layout->frequencies.has_start;
    own->frequencies.start = layout->frequencies.start;
    own->frequencies.step = layout->frequencies.step;
    own->frequencies.unit = layout->frequencies.unit;
    OVERRIDE_TEXT(frequencies.from)
    OVERRIDE_TEXT(frequencies.attribute)
    OVERRIDE_TEXT(frequencies.member)
    TRY(override_list((void **)&own->freq_hz, &own->nfreq, layout->freq_hz, layout->nfreq,
                      sizeof *own->freq_hz));
out:
    return st;
}

status_t override_layout(const struct job_layout *layout, struct job_layout *own)
{
    status_t st = STATUS_OK;
#define OVERRIDE(flag, ...)                                                                        \
    if (layout->flag) {                                                                            \
        own->flag = layout->flag;                                                                  \
        __VA_ARGS__;                                                                               \
    }
    OVERRIDE(has_domain, own->is_complex = layout->is_complex)
    OVERRIDE(has_sample_rate, own->sample_rate_hz = layout->sample_rate_hz;
             own->has_sample_period = 0)
    OVERRIDE(has_sample_period, own->sample_period_s = layout->sample_period_s;
             own->has_sample_rate = layout->has_sample_rate)
    OVERRIDE(has_packing, own->packing = layout->packing; own->nlevels = 0)
    OVERRIDE(has_offset, own->offset = layout->offset)
    OVERRIDE(has_dc, own->is_dc_at_edge = layout->is_dc_at_edge)
    OVERRIDE(has_ra, own->ra_deg = layout->ra_deg)
    OVERRIDE(has_dec, own->dec_deg = layout->dec_deg)
    OVERRIDE(has_missing_value, own->missing_value = layout->missing_value)
    OVERRIDE(has_scale, own->scale = layout->scale)
    OVERRIDE(has_sideband, own->sideband = layout->sideband)
    OVERRIDE(has_start, own->start = layout->start)
    OVERRIDE(has_oversampling, own->oversampling_num = layout->oversampling_num;
             own->oversampling_den = layout->oversampling_den)
    OVERRIDE_TEXT(telescope)
    OVERRIDE_TEXT(source)
    OVERRIDE_TEXT(format)
    OVERRIDE_TEXT(dataset)
    OVERRIDE_TEXT(parts[0])
    OVERRIDE_TEXT(parts[1])
    OVERRIDE_TEXT(axes)
    for (int i = 0; i < SAID_KEYS; i++) {
        own->said[i].unit = layout->said[i].attribute ? layout->said[i].unit : own->said[i].unit;
        OVERRIDE_TEXT(said[i].attribute)
    }
    own->files_along = layout->files_along;
    own->is_reim_along = layout->is_reim_along;
    TRY(override_list((void **)&own->first_sample, &own->nfirst_sample, layout->first_sample,
                      layout->nfirst_sample, sizeof *own->first_sample));
    TRY(override_list((void **)&own->levels, &own->nlevels, layout->levels, layout->nlevels,
                      sizeof *own->levels));
    TRY(override_frequencies(layout, own));
out:
    return st;
}

void override_free(struct job_layout *own)
{
    free(own->format);
    free(own->dataset);
    free(own->axes);
    free(own->parts[0]);
    free(own->parts[1]);
    free(own->first_sample);
    free(own->levels);
    free(own->telescope);
    free(own->source);
    for (int i = 0; i < SAID_KEYS; i++) {
        free(own->said[i].attribute);
    }
    override_free_frequencies(own);
    *own = (struct job_layout){0};
}
