/* Divides channels by the gain of what was before the filter bank (plan/plan_products.h). */
#include "pipeline/finish/finish.h"

#include "base/memory.h"
#include "plan/plan_products.h"
#include "product/kind/bank_axes.h"

#include <math.h>
#include <stdlib.h>

struct droop {
    uint32_t coarse; /* lines of an if */
    uint64_t nchannels;
    uint32_t parts;  /* floats of a channel: 2 of spectra */
    float factors[]; /* [coarse][nchannels] */
};

static status_t droop_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                             void **out)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &work->products[i].spec;
    int is_power = product_quantity(spec->kind) != QUANTITY_SPECTRA;
    uint64_t count = bank_channels(spec);
    struct droop *droop = NULL;
    double most = 0;
    (void)rows;
    *out = NULL;
    if (!spec->droop) {
        return STATUS_OK;
    }
    TRY_OUT(
        memory_zeroed(1, sizeof *droop + (size_t)count * sizeof *droop->factors, "gains", &droop));
    droop->coarse = spec->archive->nselected[AXIS_CHAN];
    droop->nchannels = spec->bank.nchannels;
    droop->parts = is_power ? 1 : 2;
    for (uint64_t k = 0; k < count; k++) {
        most = fmax(most, spec->droop[k]);
    }
    for (uint64_t k = 0; k < count; k++) {
        double gain = spec->droop[k];
        droop->factors[k] =
            gain < DROOP_LEAST * most ? NAN : (float)(1 / (is_power ? gain : sqrt(gain)));
    }
    *out = droop;
    droop = NULL;
out:
    free(droop);
    return st;
}

struct droop_work {
    const struct droop *droop;
    const struct finish_rows *rows;
};

static void droop_group(void *context, uint32_t thread, uint64_t group)
{
    const struct droop_work *work = context;
    const struct droop *droop = work->droop;
    const struct finish_rows *rows = work->rows;
    uint64_t first = finish_group(rows, group) * rows->columns;
    uint64_t end = finish_group(rows, group + 1) * rows->columns;
    float *at = (float *)rows->data + first * droop->nchannels * droop->parts;
    (void)thread;
    for (uint64_t i = first; i < end; i++) {
        /* Groups of streams are of whole ifs. */
        const float *factors = droop->factors + i % droop->coarse * droop->nchannels;
        for (uint64_t k = 0; k < droop->nchannels; k++) {
            for (uint32_t part = 0; part < droop->parts; part++) {
                *at++ *= factors[k];
            }
        }
    }
}

static status_t droop_run(void *step, struct finish_rows *rows)
{
    struct droop_work work = {step, rows};
    finish_each(rows, FINISH_GROUPS, droop_group, &work);
    return STATUS_OK;
}

const struct finish_step finish_droop = {.create = droop_create, .run = droop_run, .destroy = free};
