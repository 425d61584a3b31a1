/* The first step of flagged power: cells are flagged, and what is good of them becomes dumps, whose
 * weights are each channel's own. */
#include "pipeline/finish/finish_steps.h"

#include "base/memory.h"
#include "pipeline/finish/flag_cells.h"
#include "product/flag/flagged.h"
#include "product/kind/bank_axes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A dump that is not complete, or just so. */
struct flag_open {
    double *sums;    /* [antennas][sums][all] */
    double *weights; /* [antennas][pols][all] */
    double *joint;   /* [antennas][all] of polarisations that are combined; else NULL */
    double *read;    /* like `joint` (of separate ones like `weights`): had all been read */
    double *whole;   /* [antennas][pols][all] of all cells, where rows are judged; else NULL */
};

struct flag_step {
    const struct product_spec *spec;
    flag_cells_t *flags;
    uint32_t pols, coarse, sums;
    uint64_t all, cells; /* channels of an if, cells of a dump */
    uint64_t antennas;   /* of the group that is worked on */
    struct flag_open open;
    /* Of the dumps of a block, as combine.h takes them: each channel counts as a coarse one. */
    float *streams, *joint;
    char *unread;
    struct combine_weights lost;
    struct agreement_whole *wholes; /* [dumps][ifs] where rows are judged; else NULL */
};

static void flag_destroy(void *step)
{
    struct flag_step *flag = step;
    if (flag) {
        flag_cells_destroy(flag->flags);
        free(flag->open.sums);
        free(flag->open.weights);
        free(flag->open.joint);
        free(flag->open.read);
        free(flag->open.whole);
        free(flag->streams);
        free(flag->joint);
        free(flag->unread);
        free(flag->wholes);
        free(flag);
    }
}

static status_t flag_create_open(const struct channelise_plan *work, struct flag_step *flag,
                                 uint64_t dumps)
{
    status_t st = STATUS_OK;
    int is_joint = flag->spec->combine.polarisation != POLARISATION_SEPARATE;
    size_t antennas = work->chunking.group_streams / flag->coarse / flag->pols;
    size_t lines = antennas * flag->pols * flag->all;
    size_t marked = is_joint ? antennas * flag->all : lines;
    struct flag_open *open = &flag->open;
    TRY(memory_zeroed(antennas * flag->sums * flag->all, sizeof(double), "a dump", &open->sums));
    TRY(memory_zeroed(lines, sizeof(double), "weights", &open->weights));
    TRY(memory_zeroed(marked, sizeof(double), "weights", &open->read));
    TRY(memory_zeroed(dumps * lines, sizeof *flag->streams, "weights", &flag->streams));
    TRY(memory_zeroed(dumps * marked, 1, "weights", &flag->unread));
    if (is_joint) {
        TRY(memory_zeroed(marked, sizeof(double), "weights", &open->joint));
        TRY(memory_zeroed(dumps * marked, sizeof *flag->joint, "weights", &flag->joint));
    }
    if (work->is_judged) {
        TRY(memory_zeroed(lines, sizeof(double), "a dump", &open->whole));
        TRY(memory_zeroed(dumps * flag->spec->nifs, sizeof *flag->wholes, "dumps", &flag->wholes));
    }
out:
    return st;
}

static status_t flag_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                            void **out)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &work->products[i].spec;
    const uint32_t *selected = spec->archive->nselected;
    struct flag_step *flag = NULL;
    *out = NULL;
    if (!spec->flag.is_on) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *flag, "flags", &flag));
    flag->spec = spec;
    flag->pols = selected[AXIS_POL];
    flag->coarse = selected[AXIS_CHAN];
    const struct combine combine = {.pols = flag->pols, .polarisation = spec->combine.polarisation};
    flag->sums = combine_sums(&combine);
    flag->all = bank_channels(spec);
    flag->cells = flagged_cells(spec);
    TRY(flag_create_open(work, flag, rows / flag->cells + 1));
    TRY(flag_cells_create(work, i, rows, &flag->flags));
    *out = flag;
    flag = NULL;
out:
    flag_destroy(flag);
    return st;
}

static void flag_begin_dump(struct flag_step *flag)
{
    size_t lines = (size_t)(flag->antennas * flag->pols * flag->all);
    size_t antennas = (size_t)(flag->antennas * flag->all);
    struct flag_open *open = &flag->open;
    memset(open->sums, 0, antennas * flag->sums * sizeof *open->sums);
    memset(open->weights, 0, lines * sizeof *open->weights);
    memset(open->read, 0, (open->joint ? antennas : lines) * sizeof *open->read);
    if (open->joint) {
        memset(open->joint, 0, antennas * sizeof *open->joint);
    }
    if (open->whole) {
        memset(open->whole, 0, lines * sizeof *open->whole);
    }
}

/* Adds one cell's numbers, or its weight, of an if, where it is not flagged. */
static void flag_add(const struct flag_step *flag, const unsigned char *marks, const float *from,
                     double *to)
{
    for (uint64_t k = 0; k < flag->all; k++) {
        to[k] += marks[k] ? 0 : (double)from[k];
    }
}

/* `weights` of its coarse channels; NULL: all 1. `unread`: those count as if they were there. */
static void flag_add_weights(const struct flag_step *flag, const unsigned char *marks,
                             const float *weights, const char *unread, double *to)
{
    size_t nchannels = flag->spec->bank.nchannels;
    for (uint64_t c = 0; c < flag->coarse; c++) {
        double weight = weights && !(unread && unread[c]) ? (double)weights[c] : 1;
        for (size_t k = c * nchannels; k < (c + 1) * nchannels; k++) {
            to[k] += marks[k] ? 0 : weight;
        }
    }
}

/* A row of cells into the open dump. `lost`: what row `at` has lost; NULL: nothing. */
static void flag_add_row(struct flag_step *flag, const float *power, const unsigned char *marks,
                         const struct combine_weights *lost, uint64_t at)
{
    const struct flag_open *open = &flag->open;
    uint64_t all = flag->all;
    uint64_t row = at * flag->antennas;
    for (uint64_t i = 0; i < flag->antennas * flag->sums; i++) {
        uint64_t line = i / flag->sums * flag->pols + (open->joint ? 0 : i % flag->sums);
        flag_add(flag, marks + line * all, power + i * all, open->sums + i * all);
    }
    for (uint64_t i = 0; i < flag->antennas * flag->pols; i++) {
        uint64_t of = (row * flag->pols + i) * flag->coarse;
        const float *weights = lost ? lost->streams + of : NULL;
        flag_add_weights(flag, marks + i * all, weights, NULL, open->weights + i * all);
        if (!open->joint) {
            flag_add_weights(flag, marks + i * all, weights, lost ? lost->unread + of : NULL,
                             open->read + i * all);
        }
    }
    for (uint64_t a = 0; a < flag->antennas && open->joint; a++) {
        uint64_t of = (row + a) * flag->coarse;
        const float *weights = lost ? lost->joint + of : NULL;
        const unsigned char *its = marks + a * flag->pols * all;
        flag_add_weights(flag, its, weights, NULL, open->joint + a * all);
        flag_add_weights(flag, its, weights, lost ? lost->unread + of : NULL, open->read + a * all);
    }
    for (uint64_t i = 0; i < flag->antennas * flag->pols && open->whole; i++) {
        const float *from = power + (i / flag->pols * flag->sums + i % flag->pols) * all;
        for (uint64_t k = 0; k < all; k++) {
            open->whole[i * all + k] += isfinite(from[k]) ? (double)from[k] : 0;
        }
    }
}

/* 1 only where nothing is lost. */
static float flag_weight(double sum, uint64_t cells)
{
    static const float almost = 1 - FLT_EPSILON / 2;
    float weight = (float)(sum / (double)cells);
    return sum < (double)cells && weight > almost ? almost : weight;
}

static int flag_is_blank(const struct product_spec *spec, float weight)
{
    return (double)weight < spec->weights.least || weight == 0;
}

/* What a line was before anything was left out of it. */
static struct agreement_whole flag_measure(const double *line, uint64_t count)
{
    struct agreement_whole whole = {0, 0, 0};
    for (uint64_t k = 0; k < count; k++) {
        whole.mean += line[k] / (double)count;
        whole.most = fmax(whole.most, line[k]);
        whole.mean_square += line[k] * line[k] / (double)count;
    }
    return whole;
}

/* Of each if of a dump: its line's, or those of all that are combined with it, added up. */
static void flag_measure_dump(struct flag_step *flag, uint64_t dump, uint64_t ifs)
{
    const struct product_spec *spec = flag->spec;
    double factor = spec->combine.weights ? 0 : 1;
    int is_summed = spec->combine.sums_stations || spec->combine.sums_beams;
    for (uint32_t i = 0; i < spec->combine.nweights; i++) {
        factor = fmax(factor, spec->combine.weights[i]);
    }
    for (uint64_t i = 0; i < ifs; i++) {
        uint64_t lines = flag->antennas * flag->pols;
        uint64_t of = ifs / flag->antennas; /* ifs of an antenna, where these are not added up */
        uint64_t first = is_summed ? 0 : flag->open.joint ? i / of * flag->pols : i;
        uint64_t count = is_summed ? lines : flag->open.joint ? flag->pols : 1;
        struct agreement_whole *whole = &flag->wholes[dump * ifs + i];
        *whole = (struct agreement_whole){0, 0, 0};
        for (uint64_t line = first; line < first + count; line++) {
            struct agreement_whole its =
                flag_measure(flag->open.whole + line * flag->all, flag->all);
            whole->mean += its.mean * factor;
            whole->most += its.most * factor;
            double root = sqrt(whole->mean_square) + factor * sqrt(its.mean_square);
            whole->mean_square = root * root;
        }
    }
}

/* Dump number `dump` of the block, complete. */
static void flag_end_dump(struct flag_step *flag, uint64_t dump, float *data)
{
    const struct flag_open *open = &flag->open;
    size_t numbers = (size_t)(flag->antennas * flag->sums * flag->all);
    size_t lines = (size_t)(flag->antennas * flag->pols * flag->all);
    size_t marked = open->joint ? (size_t)(flag->antennas * flag->all) : lines;
    float *streams = flag->streams + dump * lines;
    for (size_t k = 0; k < numbers; k++) {
        data[dump * numbers + k] = (float)open->sums[k];
    }
    for (size_t k = 0; k < lines; k++) {
        streams[k] = flag_weight(open->weights[k], flag->cells);
    }
    for (size_t k = 0; k < marked; k++) {
        float weight = open->joint ? flag_weight(open->joint[k], flag->cells) : streams[k];
        float read = flag_weight(open->read[k], flag->cells);
        if (open->joint) {
            flag->joint[dump * marked + k] = weight;
        }
        flag->unread[dump * marked + k] =
            flag_is_blank(flag->spec, weight) && !flag_is_blank(flag->spec, read);
    }
}

static status_t flag_run(void *step, struct finish_rows *rows)
{
    status_t st = STATUS_OK;
    struct flag_step *flag = step;
    uint64_t antenna = (uint64_t)flag->pols * flag->coarse;
    flag->antennas = rows->chunk->streams / antenna;
    uint64_t numbers = flag->antennas * flag->sums * flag->all;
    uint64_t squares = flag->antennas * flag->pols * flag->all;
    uint64_t ifs =
        flag->spec->nifs * (uint64_t)rows->chunk->streams / flag->spec->archive->nstreams;
    uint64_t dumps = 0;
    float *data = rows->data;
    for (uint64_t i = 0; i < rows->count; i++) {
        const unsigned char *marks = NULL;
        const struct flag_row row = {
            .cell = rows->first + i,
            .at = i,
            .first_antenna = rows->chunk->first_stream / antenna,
            .antennas = flag->antennas,
            .power = data + i * numbers,
            .squares = rows->squares ? rows->squares + i * squares : NULL,
            .weights = rows->lost ? rows->lost->streams + i * rows->chunk->streams : NULL};
        if (row.cell % flag->cells == 0) {
            flag_begin_dump(flag);
        }
        TRY(flag_cells_row(flag->flags, &row, &marks));
        flag_add_row(flag, row.power, marks, rows->lost, i);
        if (row.cell % flag->cells == flag->cells - 1) {
            if (flag->wholes) {
                flag_measure_dump(flag, dumps, ifs);
            }
            flag_end_dump(flag, dumps++, data);
        }
    }
    rows->flagged = flag_cells_block(flag->flags);
    rows->first_cell = rows->first;
    rows->cells = rows->count;
    rows->first /= flag->cells;
    rows->count = dumps;
    flag->lost = (struct combine_weights){flag->streams, flag->joint, flag->unread};
    rows->lost = &flag->lost;
out:
    return st;
}

static const struct agreement_whole *flag_wholes(const void *step)
{
    return ((const struct flag_step *)step)->wholes;
}

const struct finish_step finish_flag = {
    .create = flag_create, .run = flag_run, .destroy = flag_destroy, .wholes = flag_wholes};
