/* Keeps a part of a product's channels, coarse channels side by side, and makes the mean of
 * `average` neighbours: in place, since rows only become shorter. */
#include "pipeline/finish/finish.h"

#include "base/memory.h"
#include "product/flagged.h"
#include "product/kind/bank_axes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct keep {
    uint64_t all, first,
        count; /* channels of an if; those that are kept, and what becomes of them */
    uint32_t average;
    uint32_t parts;                 /* floats of a channel: 2 of spectra */
    int is_flagged;                 /* each channel has a weight */
    float *weights;                 /* [rows][ifs][count] then */
    struct agreement_whole *wholes; /* [rows][ifs] if needed */
};

static void keep_destroy(void *step)
{
    struct keep *keep = step;
    if (keep) {
        free(keep->weights);
        free(keep->wholes);
        free(keep);
    }
}

static status_t keep_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                            void **out)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &work->products[i].spec;
    struct keep *keep = NULL;
    *out = NULL;
    if (spec->frequencies == bank_channels(spec) || work->products[i].visibilities) {
        return STATUS_OK;
    }
    TRY_OUT(memory_zeroed(1, sizeof *keep, "kept channels", &keep));
    *keep = (struct keep){.all = bank_channels(spec),
                          .first = spec->first_frequency,
                          .count = spec->frequencies,
                          .average = spec->average,
                          .parts = product_quantity(spec->kind) == QUANTITY_SPECTRA ? 2 : 1};
    keep->is_flagged = spec->flag.is_on;
    if (keep->is_flagged) {
        uint64_t dumps = rows / flagged_cells(spec) + 1;
        TRY_OUT(memory_zeroed((size_t)(dumps * spec->nifs * keep->count), sizeof *keep->weights,
                              "weights of kept channels", &keep->weights));
    } else if (work->is_judged) {
        TRY_OUT(memory_zeroed((size_t)rows * spec->nifs, sizeof *keep->wholes, "kept channels",
                              &keep->wholes));
    }
    *out = keep;
    keep = NULL;
out:
    keep_destroy(keep);
    return st;
}

/* Measures an if before it is changed. */
static struct agreement_whole keep_measure(const struct keep *keep, const float *row)
{
    struct agreement_whole whole = {0, 0, 0};
    for (uint64_t i = 0; i < keep->all; i++) {
        double power = keep->parts == 1 ? (double)row[i]
                                        : (double)row[2 * i] * (double)row[2 * i] +
                                              (double)row[2 * i + 1] * (double)row[2 * i + 1];
        power = isfinite(power) ? power : 0;
        whole.mean += power / (double)keep->all;
        whole.most = fmax(whole.most, power);
        whole.mean_square += power * power / (double)keep->all;
    }
    return whole;
}

/* Computes the mean of neighbours that are not NaN. */
static float keep_mean(const struct keep *keep, const float *from)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t j = 0; j < keep->average; j++) {
        int is_there = !isnan(from[j]);
        sum += is_there ? (double)from[j] : 0;
        count += is_there ? 1 : 0;
    }
    return count > 0 ? (float)(sum / count) : NAN;
}

/* Keeps channels of one if; `to` is `from` or before it. */
static void keep_if(const struct keep *keep, const float *from, float *to)
{
    if (keep->average == 1) {
        memmove(to, from + keep->first * keep->parts, keep->count * keep->parts * sizeof *to);
        return;
    }
    from += keep->first;
    for (uint64_t i = 0; i < keep->count; i++, from += keep->average) {
        to[i] = keep_mean(keep, from);
    }
}

/* The same of flagged power. The weight of a mean is the mean of the weights, 0 for what is NaN. */
static void keep_flagged_if(const struct keep *keep, const float *from, const float *weights,
                            float *to, float *weight)
{
    from += keep->first;
    weights += keep->first;
    for (uint64_t i = 0; i < keep->count; i++, from += keep->average, weights += keep->average) {
        double left = 0;
        for (uint32_t j = 0; j < keep->average; j++) {
            left += isnan(from[j]) ? 0 : (double)weights[j];
        }
        weight[i] = keep->average == 1 ? weights[0] : (float)(left / keep->average);
        to[i] = keep_mean(keep, from);
    }
}

struct keep_work {
    const struct keep *keep;
    const struct finish_rows *rows;
    uint32_t ifs;
};

static void keep_group(void *context, uint32_t thread, uint64_t group)
{
    const struct keep_work *work = context;
    const struct keep *keep = work->keep;
    uint64_t first = finish_group(work->rows, group) * work->ifs;
    uint64_t end = finish_group(work->rows, group + 1) * work->ifs;
    const float *from = (float *)work->rows->data + first * keep->all * keep->parts;
    float *to = (float *)work->rows->data + first * keep->all * keep->parts;
    (void)thread;
    for (uint64_t i = first; i < end; i++) {
        if (keep->wholes) {
            keep->wholes[i] = keep_measure(keep, from);
        }
        if (keep->is_flagged) {
            keep_flagged_if(keep, from, work->rows->weights + i * keep->all, to,
                            keep->weights + i * keep->count);
        } else {
            keep_if(keep, from, to);
        }
        from += keep->all * keep->parts;
        to += keep->count * keep->parts;
    }
}

static status_t keep_run(void *step, struct finish_rows *rows)
{
    const struct keep *keep = step;
    struct keep_work work = {keep, rows, (uint32_t)(rows->columns * rows->channels / keep->all)};
    size_t number = work.ifs * keep->parts * sizeof(float);
    finish_each(rows, FINISH_GROUPS, keep_group, &work);
    finish_close(rows, (size_t)keep->all * number, (size_t)keep->count * number);
    rows->weights = keep->is_flagged ? keep->weights : rows->weights;
    rows->columns = work.ifs;
    rows->channels = keep->count;
    return STATUS_OK;
}

static const struct agreement_whole *keep_wholes(const void *step)
{
    return ((const struct keep *)step)->wholes;
}

const struct finish_step finish_keep = {
    .create = keep_create, .run = keep_run, .destroy = keep_destroy, .wholes = keep_wholes};
