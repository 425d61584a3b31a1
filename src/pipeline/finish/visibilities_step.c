/* Visibilities become means over the good samples: sums are divided by their weight and their
 * number, and those of too small a weight become NaN. */
#include "pipeline/finish/finish.h"

#include "plan/visibilities_plan.h"

#include <math.h>
#include <string.h>

struct visibilities_step {
    const struct visibilities_plan *plan;
    double count;                   /* numbers of a sum */
    double least;                   /* weight */
    uint64_t nchannels;             /* of a coarse channel, after averaging */
    int divides;                    /* by weights */
    float *weights;                 /* [rows][pairs][coarse][nchannels][products] */
    char *holes;                    /* [rows] */
    struct agreement_whole *wholes; /* [rows][pairs][products] where rows are judged; else NULL */
};

static void visibilities_step_destroy(void *step)
{
    struct visibilities_step *v = step;
    if (v) {
        MEMORY_FREE(v->weights, v->holes, v->wholes, v);
    }
}
SCOPED_END_ANY(visibilities_step_destroy)

static status_t visibilities_step_create(const struct channelise_plan *work, uint32_t i,
                                         uint64_t rows, void **out)
{
    const struct visibilities_plan *plan = work->products[i].visibilities;
    const struct product_spec *spec = &work->products[i].spec;
    SCOPED(visibilities_step_destroy_at) struct visibilities_step *v = NULL;
    *out = NULL;
    if (!plan) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *v, "visibilities", &v));
    v->plan = plan;
    v->count = (double)plan->spec.integrate * plan->spec.average;
    v->least = spec->weights.least;
    v->divides = spec->weights.divide;
    v->nchannels = plan->spec.nchannels / plan->spec.average;
    TRY(memory_zeroed((size_t)rows, 1, "holes", &v->holes));
    TRY(memory_zeroed((size_t)rows, (size_t)spec->nifs * spec->frequencies * sizeof *v->weights,
                      "weights of visibilities", &v->weights));
    TRY(work->is_judged ? memory_zeroed((size_t)rows * spec->nifs, sizeof *v->wholes,
                                        "weights of visibilities", &v->wholes)
                        : STATUS_OK);
    *out = memory_move(&v);
    return STATUS_OK;
}

struct visibilities_work {
    const struct visibilities_step *step;
    struct finish_rows *rows;
};

static int visibilities_is_blank(const struct visibilities_step *v,
                                 const struct combine_weights *lost, uint64_t line)
{
    return lost && ((lost->unread && lost->unread[line]) || lost->streams[line] == 0 ||
                    (double)lost->streams[line] < v->least);
}

/* Measures a line of a row by its autocorrelations: visibilities are as precise as sqrt(A A* B B*)
 * is large. */
static struct agreement_whole visibilities_measure(const struct visibilities_step *v,
                                                   const float *row, const uint32_t pair[2],
                                                   uint32_t product)
{
    struct agreement_whole whole = {0, 0, 0};
    const uint32_t products = v->plan->products;
    const uint64_t channels = v->plan->spec.coarse * v->nchannels;
    const float *autos[2];
    for (int i = 0; i < 2; i++) {
        const uint64_t of = v->plan->autos[pair[i]];
        autos[i] =
            row + 2 * (of * channels * products + visibilities_pol(v->plan->spec.pols, product, i));
    }
    for (uint64_t k = 0; k < channels; k++) {
        double unit = sqrt((double)autos[0][2 * k * products] * (double)autos[1][2 * k * products]);
        whole.mean += unit / v->count / (double)channels;
        whole.most = fmax(whole.most, unit / v->count);
    }
    return whole;
}

/* Where rows are judged, measures all lines, and removes the autocorrelations of this purpose. */
static void visibilities_judge(const struct visibilities_step *v, const struct finish_rows *rows)
{
    const struct visibilities_plan *plan = v->plan;
    const uint64_t pair = 2 * plan->spec.coarse * v->nchannels * plan->products;
    float *data = rows->data;
    for (uint64_t row = 0; row < rows->count; row++) {
        const float *from = data + row * plan->spec.npairs * pair;
        for (uint32_t i = 0; i < plan->npairs * plan->products; i++) {
            v->wholes[row * plan->npairs * plan->products + i] =
                visibilities_measure(v, from, plan->pairs[i / plan->products], i % plan->products);
        }
        memmove(data + row * plan->npairs * pair, from, plan->npairs * pair * sizeof *data);
    }
}

/* Finishes one pair of one row. */
static void visibilities_pair(void *context, uint32_t thread, uint64_t task)
{
    const struct visibilities_work *work = context;
    const struct visibilities_step *v = work->step;
    const struct combine_weights *lost = work->rows->lost;
    const uint32_t products = v->plan->products;
    const uint64_t lines = (uint64_t)v->plan->spec.coarse * products;
    const uint32_t *pair = v->plan->pairs[task % v->plan->npairs];
    (void)thread;
    for (uint64_t line = 0; line < lines; line++) {
        const uint64_t coarse = line / products;
        const uint64_t at =
            ((task * v->plan->spec.coarse + coarse) * v->nchannels) * products + line % products;
        const float weight = lost ? lost->streams[task * lines + line] : 1;
        const float divisor = v->divides ? weight : 1;
        const int is_blank = visibilities_is_blank(v, lost, task * lines + line);
        /* pyuvdata takes autocorrelations that are not real for damaged. */
        const int is_real = pair[0] == pair[1] && line % products < 2;
        float *sum = (float *)work->rows->data + 2 * at;
        float *of = v->weights + at;
        for (uint64_t k = 0; k < v->nchannels; k++) {
            of[k * products] = weight;
            for (int part = 0; part < 2; part++) {
                float *number = &sum[2 * k * products + (uint64_t)part];
                *number = !is_blank         ? (float)((double)(*number / divisor) / v->count)
                          : is_real && part ? 0
                                            : NAN;
            }
        }
    }
}

/* Counts lines that became NaN, and marks rows in which something was unreadable. */
static status_t visibilities_step_run(void *step, struct finish_rows *rows)
{
    struct visibilities_step *v = step;
    struct visibilities_work work = {v, rows};
    const uint64_t lines = visibilities_lines(v->plan);
    if (v->wholes) {
        visibilities_judge(v, rows);
    }
    finish_each(rows, rows->count * v->plan->npairs, visibilities_pair, &work);
    memset(v->holes, 0, (size_t)rows->count);
    for (uint64_t i = 0; rows->lost && i < rows->count * lines; i++) {
        const int is_unread = rows->lost->unread && rows->lost->unread[i];
        v->holes[i / lines] |= (char)is_unread;
        rows->blanked += !is_unread && visibilities_is_blank(v, rows->lost, i);
    }
    rows->holes = memchr(v->holes, 1, (size_t)rows->count) ? v->holes : NULL;
    rows->weights = v->weights;
    rows->columns = v->plan->npairs * v->plan->products;
    rows->channels = (uint64_t)v->plan->spec.coarse * v->nchannels;
    return STATUS_OK;
}

static const struct agreement_whole *visibilities_step_wholes(const void *step)
{
    return ((const struct visibilities_step *)step)->wholes;
}

const struct finish_step finish_visibilities = {.create = visibilities_step_create,
                                                .run = visibilities_step_run,
                                                .wholes = visibilities_step_wholes,
                                                .destroy = visibilities_step_destroy};
