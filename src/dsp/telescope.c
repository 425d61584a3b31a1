/* The table of telescopes, and their windowed sincs. */
#include "dsp/telescope.h"

#include "base/memory.h"
#include "dsp/fir/prototype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct telescope telescopes[] = {
    {"chime", 4, 2048, 0.08, 4096},
    {"katgpucbf", 16, 2048, 0, 16 * 2048 / 2 - 0.5},
};
enum { TELESCOPES = sizeof telescopes / sizeof *telescopes };

const struct telescope *telescope_find(const char *name)
{
    for (size_t i = 0; i < TELESCOPES; i++) {
        if (strcmp(name, telescopes[i].name) == 0) {
            return &telescopes[i];
        }
    }
    return NULL;
}

status_t telescope_add_names(struct text *out)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < TELESCOPES; i++) {
        TRY(text_add(out, "%s%s", i > 0 ? ", " : "", telescopes[i].name));
    }
out:
    return st;
}

status_t telescope_prototype(const struct telescope *telescope, double **out)
{
    status_t st = STATUS_OK;
    const size_t count = (size_t)telescope->taps * telescope->points;
    double *coeff = NULL;
    TRY(memory_zeroed(count, sizeof *coeff, "filter coefficients", &coeff));
    for (size_t j = 0; j < count; j++) {
        double hann = 0.5 - 0.5 * cos(2 * M_PI * (double)j / (double)(count - 1));
        coeff[j] = prototype_sinc(((double)j - telescope->centre) / telescope->points) *
                   (telescope->window_low + (1 - telescope->window_low) * hann);
    }
    *out = coeff;
out:
    return st;
}
