/* What a job says of its files' layout, put over what a file says. */
#include "archive/format/override.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

status_t override_layout(const struct job_layout *layout, struct job_layout *own)
{
    status_t st = STATUS_OK;
#define OVERRIDE(flag, ...)                                                                        \
    if (layout->flag) {                                                                            \
        own->flag = layout->flag;                                                                  \
        __VA_ARGS__;                                                                               \
    }
#define OVERRIDE_TEXT(word)                                                                        \
    if (layout->word) {                                                                            \
        free(own->word);                                                                           \
        own->word = NULL;                                                                          \
        TRY(memory_text(layout->word, &own->word));                                                \
    }
    OVERRIDE(has_domain, own->is_complex = layout->is_complex)
    OVERRIDE(has_sample_rate, own->sample_rate_hz = layout->sample_rate_hz)
    OVERRIDE(has_packing, own->nibbles = layout->nibbles)
    OVERRIDE(has_missing_value, own->missing_value = layout->missing_value)
    OVERRIDE(has_scale, own->scale = layout->scale)
    OVERRIDE(has_sideband, own->sideband = layout->sideband)
    OVERRIDE(has_start, own->start = layout->start)
    OVERRIDE(has_oversampling, own->oversampling_num = layout->oversampling_num;
             own->oversampling_den = layout->oversampling_den)
    OVERRIDE_TEXT(telescope)
    OVERRIDE_TEXT(source)
    own->files_along = layout->files_along;
    if (layout->nfreq > 0) {
        free(own->freq_hz);
        own->freq_hz = NULL;
        own->nfreq = layout->nfreq;
        TRY(memory_zeroed(own->nfreq, sizeof *own->freq_hz, "frequencies", &own->freq_hz));
        memcpy(own->freq_hz, layout->freq_hz, own->nfreq * sizeof *own->freq_hz);
    }
out:
    return st;
}

void override_free(struct job_layout *own)
{
    free(own->format);
    free(own->dataset);
    free(own->axes);
    free(own->freq_hz);
    free(own->telescope);
    free(own->source);
    *own = (struct job_layout){0};
}
