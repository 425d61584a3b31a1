/* Flags, cell by cell. */
#include "pipeline/finish/flag_cells.h"

#include "base/memory.h"
#include "dsp/kurtosis.h"
#include "io/file.h"
#include "plan/products/flag_mask.h"
#include "product/flag/flagged.h"
#include "product/kind/bank_axes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void flag_cells_destroy(flag_cells_t *cells)
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

/* What only judging takes. */
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

status_t flag_cells_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
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

status_t flag_cells_row(flag_cells_t *cells, const struct flag_row *row,
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

struct flag_block flag_cells_block(const flag_cells_t *cells)
{
    return (struct flag_block){
        cells->flags, cells->spec->flag.has_kurtosis ? cells->kurtosis : NULL, cells->tolerance};
}
