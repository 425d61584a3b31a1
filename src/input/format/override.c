/* What a job says of its files' layout, put over what a file says. */
#include "input/format/override.h"

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
    free(own->freq.hz);
    own->freq.hz = NULL;
    own->freq.count = 0;
    free(own->freq.rule.from);
    free(own->freq.rule.attribute);
    free(own->freq.rule.member);
    own->freq.rule = (struct job_frequencies){.has_start = 0};
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
    const int is_given[SAID_KEYS] = {[SAID_SAMPLE_RATE] = layout->time.has_sample_rate,
                                     [SAID_SAMPLE_PERIOD] = layout->time.has_sample_period,
                                     [SAID_START] = layout->time.has_start,
                                     [SAID_SIDEBAND] = layout->has_sideband,
                                     [SAID_OVERSAMPLING] = layout->has_oversampling,
                                     [SAID_MISSING_VALUE] = layout->numbers.has_missing_value};
    return is_given[key] || layout->said[key].attribute != NULL;
}

int override_has_rate(const struct job_layout *layout)
{
    return override_has(layout, SAID_SAMPLE_RATE) || override_has(layout, SAID_SAMPLE_PERIOD);
}

int override_has_frequencies(const struct job_layout *layout)
{
    return layout->freq.count > 0 || layout->freq.rule.has_start || layout->freq.rule.from ||
           layout->freq.rule.attribute;
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
    own->freq.rule.has_start = layout->freq.rule.has_start;
    own->freq.rule.start = layout->freq.rule.start;
    own->freq.rule.step = layout->freq.rule.step;
    own->freq.rule.unit = layout->freq.rule.unit;
    OVERRIDE_TEXT(freq.rule.from)
    OVERRIDE_TEXT(freq.rule.attribute)
    OVERRIDE_TEXT(freq.rule.member)
    TRY(override_list((void **)&own->freq.hz, &own->freq.count, layout->freq.hz, layout->freq.count,
                      sizeof *own->freq.hz));
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
    OVERRIDE(time.has_sample_rate, own->time.sample_rate_hz = layout->time.sample_rate_hz;
             own->time.has_sample_period = 0)
    OVERRIDE(time.has_sample_period, own->time.sample_period_s = layout->time.sample_period_s;
             own->time.has_sample_rate = layout->time.has_sample_rate)
    OVERRIDE(numbers.has_packing, own->numbers.packing = layout->numbers.packing;
             own->numbers.nlevels = 0)
    OVERRIDE(numbers.has_offset, own->numbers.offset = layout->numbers.offset)
    OVERRIDE(has_dc, own->is_dc_at_edge = layout->is_dc_at_edge)
    OVERRIDE(sky.has_ra, own->sky.ra_deg = layout->sky.ra_deg)
    OVERRIDE(sky.has_dec, own->sky.dec_deg = layout->sky.dec_deg)
    OVERRIDE(numbers.has_missing_value, own->numbers.missing_value = layout->numbers.missing_value)
    OVERRIDE(numbers.has_scale, own->numbers.scale = layout->numbers.scale)
    OVERRIDE(has_sideband, own->sideband = layout->sideband)
    OVERRIDE(time.has_start, own->time.start = layout->time.start)
    OVERRIDE(has_oversampling, own->oversample.num = layout->oversample.num;
             own->oversample.den = layout->oversample.den)
    OVERRIDE_TEXT(sky.telescope)
    OVERRIDE_TEXT(sky.source)
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
    TRY(override_list((void **)&own->time.first_sample, &own->time.nfirst_sample,
                      layout->time.first_sample, layout->time.nfirst_sample,
                      sizeof *own->time.first_sample));
    TRY(override_list((void **)&own->numbers.levels, &own->numbers.nlevels, layout->numbers.levels,
                      layout->numbers.nlevels, sizeof *own->numbers.levels));
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
    free(own->time.first_sample);
    free(own->numbers.levels);
    free(own->sky.telescope);
    free(own->sky.source);
    for (int i = 0; i < SAID_KEYS; i++) {
        free(own->said[i].attribute);
    }
    override_free_frequencies(own);
    *own = (struct job_layout){0};
}
