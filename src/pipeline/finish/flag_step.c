/* The first step of flagged power: cells are flagged, and what is good of them becomes dumps, whose
 * weights are each channel's own. */
#include "base/memory.h"
#include "dsp/kurtosis.h"
#include "io/file.h"
#include "pipeline/finish/combine.h"
#include "pipeline/finish/finish.h"
#include "plan/channelise_plan.h"
#include "plan/flag_mask.h"
#include "product/flagged.h"
#include "product/kind/bank_axes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which cells of flagged power are left out (product/flagged.h): by their kurtosis, by a mask,
 * by the job. A pure function of a cell's numbers and of where it lies.
 *
 * Flags, cell by cell. */

typedef struct flag_cells flag_cells_t;

/* One row of cells of a group of streams, which are whole antennas: */
struct flag_row {
    uint64_t cell; /* of the product's, in time */
    uint64_t at;   /* of the block's rows */
    uint64_t first_antenna, antennas;
    const float *power;   /* [antennas][sums][all], as combine.h's rows; */
    const float *squares; /* [antennas][pols][all]; NULL without kurtosis */
    const float *weights; /* [antennas][pols][coarse]; NULL: all 1 */
};

struct flag_cells {
    const struct product_spec *spec;
    const struct job_flag *job;
    flag_mask_t *mask;
    uint32_t pols, coarse, sums;
    uint64_t all, kept; /* channels of an if */
    size_t untold;      /* first channels of each coarse one of which kurtosis decides nothing */
    int is_joint;       /* polarisations are flagged together */
    int has_limits;
    struct kurtosis_limits limits;
    unsigned char *marks; /* of a row of a group, all channels, */
    float *values;        /* and its kurtosis */
    unsigned char *flags; /* of a block, kept channels */
    float *kurtosis;
    /* Where rows are judged: numbers that are not to be told from a limit are flagged as they were.
     */
    const struct product *judged;
    int fd;
    double rounding; /* times what rounds a number of a spectrum */
    float *errors, *tolerance;
    unsigned char *stored;
};

static void flag_cells_destroy(flag_cells_t *cells)
{
    if (cells) {
        file_close(cells->fd);
        free(cells->marks);
        free(cells->values);
        free(cells->flags);
        free(cells->kurtosis);
        free(cells->errors);
        free(cells->tolerance);
        free(cells->stored);
        free(cells);
    }
}

/* Buffers for judging alone. */
static status_t flag_cells_judge(flag_cells_t *cells, const struct channelise_plan *work,
                                 size_t numbers, size_t block)
{
    status_t st = STATUS_OK;
    const double filtered = 100; /* filters leave rounding of what they took away */
    cells->judged = work->judged;
    cells->rounding = work->filters ? filtered : 1;
    TRY(file_open_read(work->judged->path, &cells->fd));
    TRY(memory_zeroed(numbers, sizeof *cells->errors, "kurtosis", &cells->errors));
    TRY(memory_zeroed(block, sizeof *cells->tolerance, "kurtosis", &cells->tolerance));
    TRY(memory_zeroed(block, 1, "flags", &cells->stored));
out:
    return st;
}

/* Makes that of product i, for blocks of at most this number of rows of cells. `work` must outlive
 * it. Fails with DEVICE (memory), DATA. */
static status_t flag_cells_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                                  flag_cells_t **out)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &work->products[i].spec;
    const uint32_t *selected = spec->archive->nselected;
    flag_cells_t *cells = NULL;
    TRY(memory_zeroed(1, sizeof *cells, "flags", &cells));
    cells->fd = -1;
    cells->spec = spec;
    cells->job = &work->job->products[i].flag;
    cells->mask = work->products[i].mask;
    cells->pols = selected[AXIS_POL];
    cells->coarse = selected[AXIS_CHAN];
    const struct combine combine = {.pols = cells->pols,
                                    .polarisation = spec->combine.polarisation};
    cells->sums = combine_sums(&combine);
    cells->all = bank_channels(spec);
    cells->kept = flagged_channels(spec);
    cells->is_joint = spec->combine.polarisation != POLARISATION_SEPARATE;
    cells->has_limits = spec->flag.has_kurtosis && spec->flag.sigma > 0;
    cells->untold = flagged_untold(spec);
    if (cells->has_limits) {
        cells->limits = kurtosis_limits(spec->flag.spectra, spec->flag.sigma);
    }
    uint64_t ifs = work->chunking.group_streams / cells->coarse;
    size_t numbers = (size_t)(ifs * cells->all);
    size_t block = (size_t)(rows * ifs * cells->kept);
    TRY(memory_zeroed(numbers, 1, "flags", &cells->marks));
    TRY(memory_zeroed(numbers, sizeof *cells->values, "kurtosis", &cells->values));
    TRY(memory_zeroed(block, 1, "flags", &cells->flags));
    TRY(memory_zeroed(block, sizeof *cells->kurtosis, "kurtosis", &cells->kurtosis));
    TRY(work->judged ? flag_cells_judge(cells, work, numbers, block) : STATUS_OK);
    *out = cells;
    cells = NULL;
out:
    flag_cells_destroy(cells);
    return st;
}

/* By how much the kurtosis of a spectrum's channels may be another by rounding alone: numbers of
 * spectra are right to 5e-6 of their rms and 5e-7 of the largest (compute/shared/agreement.h);
 * those of fourth powers count four times as much. */
static void flag_cells_errors(const flag_cells_t *cells, const float *power, const float *kurtosis,
                              size_t nchannels, float *errors)
{
    double mean = 0;
    double most = 0;
    for (size_t k = 0; k < nchannels; k++) {
        double one = isfinite(power[k]) ? (double)power[k] : 0;
        mean += one / (double)nchannels;
        most = fmax(most, one);
    }
    double bound = cells->rounding * (5e-6 * sqrt(mean) + 5e-7 * sqrt(most));
    for (size_t k = 0; k < nchannels; k++) {
        double share = bound / sqrt(fmax((double)power[k], FLT_MIN));
        double error = 8 * share + 8 * share * share + 2e-5;
        errors[k] =
            (float)((fabs((double)kurtosis[k]) + 1) * fmin(error * (1 + share * share), 1e6));
    }
}

/* The kurtosis of a row, and what lies beyond the limits. */
static void flag_cells_kurtosis(flag_cells_t *cells, const struct flag_row *row)
{
    size_t nchannels = cells->spec->bank.nchannels;
    uint64_t spectra = cells->spec->flag.spectra;
    for (uint64_t i = 0; i < row->antennas * cells->pols * cells->coarse; i++) {
        uint64_t line = i / cells->coarse; /* an if */
        uint64_t sum = line / cells->pols * cells->sums + line % cells->pols;
        const float *power = row->power + (sum * cells->coarse + i % cells->coarse) * nchannels;
        const float *squares = row->squares + i * nchannels;
        float *values = cells->values + i * nchannels;
        unsigned char *marks = cells->marks + i * nchannels;
        int is_whole = !row->weights || row->weights[i] == 1;
        for (size_t k = 0; k < nchannels; k++) {
            values[k] = is_whole ? kurtosis_of(spectra, power[k], squares[k]) : NAN;
            int is_out = values[k] < cells->limits.low || values[k] > cells->limits.high;
            marks[k] |= is_out && cells->has_limits && k >= cells->untold ? FLAG_KURTOSIS : 0;
        }
        if (cells->judged) {
            flag_cells_errors(cells, power, values, nchannels, cells->errors + i * nchannels);
        }
    }
}

/* Kept channels that are too near to a limit to be told are taken as they were. */
static status_t flag_cells_recall(flag_cells_t *cells, const struct flag_row *row)
{
    status_t st = STATUS_OK;
    uint64_t ifs = row->antennas * cells->pols;
    uint64_t first = row->first_antenna * cells->pols;
    uint64_t at = (row->cell * flagged_ifs(cells->spec) + first) * cells->kept;
    TRY(file_read(cells->fd, cells->judged->path, cells->judged->place.flags_offset + at,
                  cells->stored, ifs * cells->kept));
    for (uint64_t i = 0; i < ifs * cells->kept; i++) {
        uint64_t from =
            i / cells->kept * cells->all + cells->spec->first_frequency + i % cells->kept;
        float value = cells->values[from];
        float error = cells->errors[from];
        int is_near =
            fabsf(value - cells->limits.low) <= error || fabsf(value - cells->limits.high) <= error;
        int is_told = from % cells->spec->bank.nchannels >= cells->untold;
        if (is_near && is_told && cells->has_limits) {
            unsigned char mark = cells->marks[from] & (unsigned char)~FLAG_KURTOSIS;
            cells->marks[from] = mark | (cells->stored[i] & FLAG_KURTOSIS);
        }
    }
out:
    return st;
}

/* Polarisations of an antenna alike. */
static void flag_cells_join(const flag_cells_t *cells, uint64_t antennas)
{
    for (uint64_t a = 0; a < antennas; a++) {
        unsigned char *marks = cells->marks + a * cells->pols * cells->all;
        for (uint64_t k = 0; k < cells->all; k++) {
            unsigned char all = 0;
            for (uint64_t p = 0; p < cells->pols; p++) {
                all |= marks[p * cells->all + k];
            }
            for (uint64_t p = 0; p < cells->pols; p++) {
                marks[p * cells->all + k] = all;
            }
        }
    }
}

static void flag_cells_keep(flag_cells_t *cells, const struct flag_row *row)
{
    uint64_t ifs = row->antennas * cells->pols;
    for (uint64_t i = 0; i < ifs; i++) {
        uint64_t from = i * cells->all + cells->spec->first_frequency;
        uint64_t to = (row->at * ifs + i) * cells->kept;
        memcpy(cells->flags + to, cells->marks + from, cells->kept);
        if (cells->spec->flag.has_kurtosis) {
            memcpy(cells->kurtosis + to, cells->values + from,
                   cells->kept * sizeof *cells->kurtosis);
        }
        if (cells->judged) {
            memcpy(cells->tolerance + to, cells->errors + from,
                   cells->kept * sizeof *cells->tolerance);
        }
    }
}

/* Flags it. *marks: uint8 [antennas][pols][all], until the next call. Fails with DATA. */
static status_t flag_cells_row(flag_cells_t *cells, const struct flag_row *row,
                               const unsigned char **marks)
{
    status_t st = STATUS_OK;
    uint64_t ifs = row->antennas * cells->pols;
    memset(cells->marks, 0, (size_t)(ifs * cells->all));
    for (uint32_t i = 0; i < cells->job->nchannels; i++) {
        const struct job_range *range = &cells->job->channels[i];
        for (uint64_t s = 0; s < ifs; s++) {
            for (uint64_t k = range->first; k <= range->last; k++) {
                cells->marks[s * cells->all + k] |= FLAG_CHANNELS;
            }
        }
    }
    TRY(cells->mask ? flag_mask_mark(cells->mask, row->cell, row->first_antenna * cells->pols, ifs,
                                     cells->marks)
                    : STATUS_OK);
    if (row->squares) {
        flag_cells_kurtosis(cells, row);
        TRY(cells->judged ? flag_cells_recall(cells, row) : STATUS_OK);
    }
    if (cells->is_joint) {
        flag_cells_join(cells, row->antennas);
    }
    flag_cells_keep(cells, row);
    *marks = cells->marks;
out:
    return st;
}

/* Flags of the block. */
static struct flag_block flag_cells_block(const flag_cells_t *cells)
{
    return (struct flag_block){
        cells->flags, cells->spec->flag.has_kurtosis ? cells->kurtosis : NULL, cells->tolerance};
}

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
