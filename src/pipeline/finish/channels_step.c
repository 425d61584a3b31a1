/* The channels of a product: divided by the gain of what was before the filter bank
 * (plan/plan_products.c); a part of them kept, coarse channels side by side, with the mean of
 * `average` neighbours: in place, since rows only become shorter. */
#include "pipeline/finish/finish.h"
#include "plan/plan_products.h"
#include "product/kind/bank_axes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Channels whose gain is less than this part of the largest gain of all channels become NaN. */
static const double least_gain = 0.01;

struct gains {
    uint32_t coarse; /* lines of an if */
    uint64_t nchannels;
    uint32_t parts;  /* floats of a channel: 2 of spectra */
    float factors[]; /* [coarse][nchannels] */
};

static status_t gains_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                             void **out)
{
    const struct product_spec *spec = &work->products[i].spec;
    int is_power = product_quantity(spec->kind) != QUANTITY_SPECTRA;
    uint64_t count = bank_channels(spec);
    SCOPED(free_at) struct gains *gains = NULL;
    double most = 0;
    (void)rows;
    *out = NULL;
    if (!spec->gains) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *gains + (size_t)count * sizeof *gains->factors, "gains", &gains));
    gains->coarse = spec->archive->nselected[AXIS_CHAN];
    gains->nchannels = spec->bank.nchannels;
    gains->parts = is_power ? 1 : 2;
    for (uint64_t k = 0; k < count; k++) {
        most = fmax(most, spec->gains[k]);
    }
    for (uint64_t k = 0; k < count; k++) {
        double gain = spec->gains[k];
        gains->factors[k] =
            gain < least_gain * most ? NAN : (float)(1 / (is_power ? gain : sqrt(gain)));
    }
    *out = memory_move(&gains);
    return STATUS_OK;
}

struct gains_work {
    const struct gains *gains;
    const struct finish_rows *rows;
};

static void gains_group(void *context, uint32_t thread, uint64_t group)
{
    const struct gains_work *work = context;
    const struct gains *gains = work->gains;
    const struct finish_rows *rows = work->rows;
    uint64_t first = finish_group(rows, group) * rows->columns;
    uint64_t end = finish_group(rows, group + 1) * rows->columns;
    float *at = (float *)rows->data + first * gains->nchannels * gains->parts;
    /* Groups of streams are of whole ifs, or have the same coarse channels of each. */
    const struct chunk *chunk = rows->chunk;
    const int are_some = chunk_is_coarse(chunk);
    const uint64_t coarse = are_some ? chunk->run : gains->coarse;
    const uint64_t skipped = are_some ? chunk->first_stream : 0;
    (void)thread;
    for (uint64_t i = first; i < end; i++) {
        const float *factors = gains->factors + (skipped + i % coarse) * gains->nchannels;
        for (uint64_t k = 0; k < gains->nchannels; k++) {
            for (uint32_t part = 0; part < gains->parts; part++) {
                *at++ *= factors[k];
            }
        }
    }
}

static status_t gains_run(void *step, struct finish_rows *rows)
{
    struct gains_work work = {step, rows};
    finish_each(rows, FINISH_GROUPS, gains_group, &work);
    return STATUS_OK;
}

const struct finish_step finish_gains = {.create = gains_create, .run = gains_run, .destroy = free};

struct keep {
    struct chunk_row row;
    uint64_t all;           /* channels of an if, of a group; */
    struct chunk_kept kept; /* those of the group at hand that are kept, and what becomes of them */
    uint32_t average;
    uint32_t parts;                 /* floats of a channel: 2 of spectra */
    int is_flagged;                 /* each channel has a weight */
    float *weights;                 /* [rows][ifs][kept.count] then */
    struct agreement_whole *wholes; /* [rows][ifs] if needed */
};

static void keep_destroy(void *step)
{
    struct keep *keep = step;
    if (keep) {
        MEMORY_FREE(keep->weights, keep->wholes, keep);
    }
}
SCOPED_END_ANY(keep_destroy)

static status_t keep_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                            void **out)
{
    const struct product_spec *spec = &work->products[i].spec;
    SCOPED(keep_destroy_at) struct keep *keep = NULL;
    *out = NULL;
    if (spec->frequencies == bank_channels(spec) || work->products[i].visibilities) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *keep, "kept channels", &keep));
    *keep = (struct keep){.row = plan_products_row(spec),
                          .all = (uint64_t)channelise_plan_coarse(work) * spec->bank.nchannels,
                          .average = spec->average,
                          .parts = product_quantity(spec->kind) == QUANTITY_SPECTRA ? 2 : 1};
    keep->is_flagged = spec->flag.is_on;
    if (keep->is_flagged) {
        uint64_t dumps = rows / flagged_cells(spec) + 1;
        uint64_t lines = plan_products_lines(work, i, work->chunking.group_streams);
        TRY(memory_zeroed((size_t)(dumps * lines), sizeof *keep->weights,
                          "weights of kept channels", &keep->weights));
    } else if (work->is_judged) {
        TRY(memory_zeroed((size_t)rows * spec->nifs, sizeof *keep->wholes, "kept channels",
                          &keep->wholes));
    }
    *out = memory_move(&keep);
    return STATUS_OK;
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
        memmove(to, from + keep->kept.from * keep->parts,
                keep->kept.count * keep->parts * sizeof *to);
        return;
    }
    from += keep->kept.from;
    for (uint64_t i = 0; i < keep->kept.count; i++, from += keep->average) {
        to[i] = keep_mean(keep, from);
    }
}

/* The same of flagged power. The weight of a mean is the mean of the weights, 0 for what is NaN. */
static void keep_flagged_if(const struct keep *keep, const float *from, const float *weights,
                            float *to, float *weight)
{
    from += keep->kept.from;
    weights += keep->kept.from;
    for (uint64_t i = 0; i < keep->kept.count;
         i++, from += keep->average, weights += keep->average) {
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
                            keep->weights + i * keep->kept.count);
        } else {
            keep_if(keep, from, to);
        }
        from += keep->all * keep->parts;
        to += keep->kept.count * keep->parts;
    }
}

/* Each group was left at its beginning: moves them together. from_bytes and to_bytes are bytes of a
 * row before and after the step. */
static void keep_close(const struct finish_rows *rows, size_t from_bytes, size_t to_bytes)
{
    char *data = rows->data;
    for (uint64_t g = 1; g < FINISH_GROUPS && from_bytes != to_bytes; g++) {
        uint64_t first = finish_group(rows, g);
        memmove(data + first * to_bytes, data + first * from_bytes,
                (size_t)(finish_group(rows, g + 1) - first) * to_bytes);
    }
}

static status_t keep_run(void *step, struct finish_rows *rows)
{
    struct keep *keep = step;
    keep->kept = chunk_kept_of(&keep->row, rows->chunk);
    struct keep_work work = {keep, rows, (uint32_t)(rows->columns * rows->channels / keep->all)};
    size_t number = work.ifs * keep->parts * sizeof(float);
    finish_each(rows, FINISH_GROUPS, keep_group, &work);
    keep_close(rows, (size_t)keep->all * number, (size_t)keep->kept.count * number);
    rows->weights = keep->is_flagged ? keep->weights : rows->weights;
    rows->columns = work.ifs;
    rows->channels = keep->kept.count;
    return STATUS_OK;
}

static const struct agreement_whole *keep_wholes(const void *step)
{
    return ((const struct keep *)step)->wholes;
}

const struct finish_step finish_keep = {
    .create = keep_create, .run = keep_run, .destroy = keep_destroy, .wholes = keep_wholes};
