/* The first step of flagged power: cells are flagged, and what is good of them becomes dumps, whose
 * weights are each channel's own. */
#include "base/wide.h"
#include "dsp/kurtosis.h"
#include "io/file.h"
#include "pipeline/finish/finish.h"
#include "plan/flag_mask.h"
#include "plan/plan_products.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Flags of cells of power (product/flagged.h): by their kurtosis, by a mask, by the job. A pure
 * function of a cell's numbers and of its position.
 *
 * Flags, cell by cell. */

/* The part of a row that one task works on: a coarse channel of an antenna, or some channels of
 * one, with all polarisations. No number of it depends on another part's. */
struct flag_slice {
    uint64_t antenna, coarse;
    uint64_t first, count; /* of its channels, in those of an if */
};

/* One row of cells of a group of streams, which are whole antennas, or the same coarse channels of
 * each: */
struct flag_row {
    uint64_t cell; /* of the product's, in time */
    uint64_t at;   /* of the block's rows */
    uint64_t first_antenna;
    const float *power;   /* [antennas][sums][all], as struct combine's rows; */
    const float *squares; /* [antennas][pols][all]; NULL without kurtosis */
    const float *weights; /* [antennas][pols][coarse]; NULL: all 1 */
};

/* A dump that is not complete, or just so. */
struct flag_open {
    double *sums;    /* [antennas][sums][all] */
    double *weights; /* [antennas][pols][all] */
    double *joint;   /* [antennas][all] of polarisations that are combined, and flagged together;
                        else NULL */
    double *read;    /* like `joint` (of separate ones like `weights`): had all been read */
    double *whole;   /* [antennas][pols][all] of all cells, where rows are judged; else NULL */
};

struct flag_step {
    const struct product_spec *spec;
    const struct job_flag *job;
    flag_mask_t *mask;
    uint32_t pols, coarse, sums; /* coarse channels of a group, */
    uint64_t all;                /* and its channels of an if */
    uint64_t cells;              /* of a dump */
    /* The group that is worked on: */
    uint64_t antennas;
    uint64_t skipped;       /* channels before its first */
    struct chunk_kept kept; /* cells */
    size_t untold; /* first channels of each coarse one of which kurtosis decides nothing */
    int has_limits;
    struct kurtosis_limits limits;
    unsigned char *marks; /* of a row of a group, all channels, */
    float *values;        /* and its kurtosis */
    unsigned char *flags; /* of a block, kept channels */
    float *kurtosis;
    /* Where rows are judged: numbers that rounding cannot distinguish from a limit are flagged as
     * they were. */
    const struct product *judged;
    int fd;
    double rounding; /* times what rounds a number of a spectrum */
    float *errors, *tolerance;
    unsigned char *stored;
    struct flag_open open;
    /* A block's dumps, as combine_row() takes them: each channel counts as a coarse one. */
    float *streams, *joint;
    char *unread;
    struct combine_weights lost;
    struct agreement_whole *wholes; /* [dumps][ifs] where rows are judged; else NULL */
};

static void flag_destroy(void *step)
{
    struct flag_step *flag = step;
    if (flag) {
        void *const buffers[] = {
            flag->marks,        flag->values,     flag->flags,     flag->kurtosis,
            flag->errors,       flag->tolerance,  flag->stored,    flag->open.sums,
            flag->open.weights, flag->open.joint, flag->open.read, flag->open.whole,
            flag->streams,      flag->joint,      flag->unread,    flag->wholes};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
            free(buffers[i]);
        }
        file_close(flag->fd);
        free(flag);
    }
}
SCOPED_END_ANY(flag_destroy)

/* Buffers of the flags of at most `rows` rows of cells of `ifs` ifs. */
static status_t flag_create_cells(const struct channelise_plan *work, struct flag_step *flag,
                                  uint64_t rows, uint64_t ifs)
{
    const double filtered = 100; /* filters leave rounding of what they took away */
    size_t numbers = (size_t)(ifs * flag->all);
    size_t block = (size_t)(rows * ifs * min_u64(flagged_channels(flag->spec), flag->all));
    TRY(memory_zeroed(numbers, 1, "flags", &flag->marks));
    TRY(memory_zeroed(numbers, sizeof *flag->values, "kurtosis", &flag->values));
    TRY(memory_zeroed(block, 1, "flags", &flag->flags));
    TRY(memory_zeroed(block, sizeof *flag->kurtosis, "kurtosis", &flag->kurtosis));
    if (work->judged) {
        flag->judged = work->judged;
        flag->rounding = work->filters ? filtered : 1;
        TRY(file_open_read(work->judged->path, &flag->fd));
        TRY(memory_zeroed(numbers, sizeof *flag->errors, "kurtosis", &flag->errors));
        TRY(memory_zeroed(block, sizeof *flag->tolerance, "kurtosis", &flag->tolerance));
        TRY(memory_zeroed(block, 1, "flags", &flag->stored));
    }
    return STATUS_OK;
}

/* Buffers of `dumps` dumps of `ifs` ifs. */
static status_t flag_create_open(const struct channelise_plan *work, struct flag_step *flag,
                                 uint64_t dumps, uint64_t ifs)
{
    int is_joint = flag->spec->combine.polarisation != POLARISATION_SEPARATE;
    size_t antennas = ifs / flag->pols;
    size_t lines = ifs * flag->all;
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
    return STATUS_OK;
}

/* Returns how many channels of each coarse one, from its first, kurtosis does not flag: of real
 * samples the bank's channel 0 is a real number (DC, or half the sample rate), whose noise has K of
 * about 2. */
static size_t flagged_untold(const struct product_spec *spec)
{
    return !spec->archive->is_complex && spec->bank.first_channel == 0 ? 1 : 0;
}

static status_t flag_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                            void **out)
{
    const struct product_spec *spec = &work->products[i].spec;
    const uint32_t *selected = spec->archive->nselected;
    SCOPED(flag_destroy_at) struct flag_step *flag = NULL;
    *out = NULL;
    if (!spec->flag.is_on) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *flag, "flags", &flag));
    const struct combine combine = {.pols = selected[AXIS_POL],
                                    .polarisation = spec->combine.polarisation};
    *flag = (struct flag_step){.spec = spec,
                               .job = &work->job->products[i].flag,
                               .mask = work->products[i].mask,
                               .pols = selected[AXIS_POL],
                               .coarse = channelise_plan_coarse(work),
                               .sums = combine_sums(&combine),
                               .all = (uint64_t)channelise_plan_coarse(work) * spec->bank.nchannels,
                               .cells = flagged_cells(spec),
                               .untold = flagged_untold(spec),
                               .has_limits = spec->flag.has_kurtosis && spec->flag.sigma > 0,
                               .fd = -1};
    if (flag->has_limits) {
        flag->limits = kurtosis_limits(spec->flag.spectra, spec->flag.sigma);
    }
    uint64_t ifs = channelise_plan_made(work, i, work->chunking.group_streams) / flag->coarse;
    TRY(flag_create_open(work, flag, rows / flag->cells + 1, ifs));
    TRY(flag_create_cells(work, flag, rows, ifs));
    *out = memory_move(&flag);
    return STATUS_OK;
}

/* Computes the largest change of the kurtosis of a spectrum's channels by rounding alone. Numbers
 * of spectra are right to 5e-6 of their rms and 5e-7 of the largest (compute/shared/agreement.h);
 * errors of fourth powers are four times as large. */
static void flag_errors(const struct flag_step *flag, const float *power, const float *kurtosis,
                        size_t nchannels, float *errors)
{
    double mean = 0;
    double most = 0;
    for (size_t k = 0; k < nchannels; k++) {
        double one = isfinite(power[k]) ? (double)power[k] : 0;
        mean += one / (double)nchannels;
        most = fmax(most, one);
    }
    double bound = flag->rounding * (5e-6 * sqrt(mean) + 5e-7 * sqrt(most));
    for (size_t k = 0; k < nchannels; k++) {
        double share = bound / sqrt(fmax((double)power[k], FLT_MIN));
        double error = 8 * share + 8 * share * share + 2e-5;
        errors[k] =
            (float)((fabs((double)kurtosis[k]) + 1) * fmin(error * (1 + share * share), 1e6));
    }
}

/* Computes the kurtosis of channels. */
static void flag_kurtosis(uint64_t spectra, const float *restrict power,
                          const float *restrict squares, size_t count, float *restrict values)
{
    for (size_t k = 0; k < count; k++) {
        values[k] = kurtosis_of(spectra, power[k], squares[k]);
    }
}

static void flag_beyond(struct kurtosis_limits limits, const float *restrict values, size_t count,
                        unsigned char *restrict marks)
{
    for (size_t k = 0; k < count; k++) {
        marks[k] |= ((values[k] < limits.low) | (values[k] > limits.high)) ? FLAG_KURTOSIS : 0;
    }
}

/* Computes the kurtosis of a slice, and flags cells beyond the limits. */
static void flag_measure_cells(struct flag_step *flag, const struct flag_row *row,
                               const struct flag_slice *slice)
{
    size_t nchannels = (size_t)slice->count;
    uint64_t spectra = flag->spec->flag.spectra;
    const size_t before = (size_t)(slice->first % flag->spec->bank.nchannels);
    const size_t untold = flag->untold > before ? flag->untold - before : 0;
    for (uint64_t p = 0; p < flag->pols; p++) {
        uint64_t line = slice->antenna * flag->pols + p; /* an if */
        uint64_t sum = slice->antenna * flag->sums + p;
        uint64_t at = line * flag->all + slice->first;
        const float *power = row->power + sum * flag->all + slice->first;
        const float *squares = row->squares + at;
        float *values = flag->values + at;
        unsigned char *marks = flag->marks + at;
        int is_whole = !row->weights || row->weights[line * flag->coarse + slice->coarse] == 1;
        for (size_t k = 0; k < nchannels && !is_whole; k++) {
            values[k] = NAN;
        }
        if (is_whole) {
            flag_kurtosis(spectra, power, squares, nchannels, values);
        }
        if (flag->has_limits && is_whole && untold < nchannels) {
            flag_beyond(flag->limits, values + untold, nchannels - untold, marks + untold);
        }
        if (flag->judged) {
            flag_errors(flag, power, values, nchannels, flag->errors + at);
        }
    }
}

/* Kept channels that are too near to a limit to be judged are taken as they were. */
static status_t flag_recall(struct flag_step *flag, const struct flag_row *row)
{
    uint64_t ifs = flag->antennas * flag->pols;
    uint64_t kept = flag->kept.count;
    for (uint64_t i = 0; i < ifs && kept > 0; i++) {
        uint64_t line = row->cell * flagged_ifs(flag->spec) + row->first_antenna * flag->pols + i;
        uint64_t at = line * flagged_channels(flag->spec) + flag->kept.first;
        TRY(file_read(flag->fd, flag->judged->path, flag->judged->place.flags_offset + at,
                      flag->stored + i * kept, kept));
    }
    for (uint64_t i = 0; i < ifs * kept; i++) {
        uint64_t from = i / kept * flag->all + flag->kept.from + i % kept;
        float value = flag->values[from];
        float error = flag->errors[from];
        int is_near =
            fabsf(value - flag->limits.low) <= error || fabsf(value - flag->limits.high) <= error;
        int is_told = from % flag->spec->bank.nchannels >= flag->untold;
        if (is_near && is_told && flag->has_limits) {
            unsigned char mark = flag->marks[from] & (unsigned char)~FLAG_KURTOSIS;
            flag->marks[from] = mark | (flag->stored[i] & FLAG_KURTOSIS);
        }
    }
    return STATUS_OK;
}

/* Polarisations of an antenna alike. */
static void flag_join(const struct flag_step *flag, const struct flag_slice *slice)
{
    unsigned char *marks = flag->marks + slice->antenna * flag->pols * flag->all + slice->first;
    for (uint64_t k = 0; k < slice->count; k++) {
        unsigned char all = 0;
        for (uint64_t p = 0; p < flag->pols; p++) {
            all |= marks[p * flag->all + k];
        }
        for (uint64_t p = 0; p < flag->pols; p++) {
            marks[p * flag->all + k] = all;
        }
    }
}

static void flag_keep(struct flag_step *flag, const struct flag_row *row,
                      const struct flag_slice *slice)
{
    const struct chunk_kept *kept = &flag->kept;
    uint64_t first = max_u64(slice->first, kept->from);
    uint64_t end = min_u64(slice->first + slice->count, kept->from + kept->count);
    size_t count = end > first ? (size_t)(end - first) : 0;
    for (uint64_t p = 0; p < flag->pols && count > 0; p++) {
        uint64_t line = slice->antenna * flag->pols + p;
        uint64_t from = line * flag->all + first;
        uint64_t to =
            (row->at * flag->antennas * flag->pols + line) * kept->count + first - kept->from;
        memcpy(flag->flags + to, flag->marks + from, count);
        if (flag->spec->flag.has_kurtosis) {
            memcpy(flag->kurtosis + to, flag->values + from, count * sizeof *flag->kurtosis);
        }
        if (flag->judged) {
            memcpy(flag->tolerance + to, flag->errors + from, count * sizeof *flag->tolerance);
        }
    }
}

/* Clears the marks of a row, but for what the mask says. Fails with DATA. */
static status_t flag_begin(struct flag_step *flag, const struct flag_row *row)
{
    uint64_t ifs = flag->antennas * flag->pols;
    memset(flag->marks, 0, (size_t)(ifs * flag->all));
    const struct flag_mask_part part = {row->first_antenna * flag->pols, ifs, flag->skipped,
                                        flag->all};
    return flag->mask ? flag_mask_mark(flag->mask, row->cell, &part, flag->marks) : STATUS_OK;
}

/* Marks a slice of a row by the job's channels and by kurtosis. */
static void flag_mark(struct flag_step *flag, const struct flag_row *row,
                      const struct flag_slice *slice)
{
    uint64_t at = slice->antenna * flag->pols * flag->all;
    for (uint64_t p = 0; p < flag->pols && !flag->mask; p++) {
        memset(flag->marks + at + p * flag->all + slice->first, 0, (size_t)slice->count);
    }
    for (uint32_t i = 0; i < flag->job->nchannels; i++) {
        const struct job_range *range = &flag->job->channels[i];
        uint64_t first = flag->skipped + slice->first;
        uint64_t end = min_u64(range->last + 1, first + slice->count);
        for (uint64_t p = 0; p < flag->pols; p++) {
            for (uint64_t k = max_u64(range->first, first); k < end; k++) {
                flag->marks[at + p * flag->all + k - flag->skipped] |= FLAG_CHANNELS;
            }
        }
    }
    if (row->squares) {
        flag_measure_cells(flag, row, slice);
    }
}

static void flag_clear(double *numbers, uint64_t line, uint64_t all, const struct flag_slice *slice)
{
    if (numbers) {
        memset(numbers + line * all + slice->first, 0, (size_t)slice->count * sizeof *numbers);
    }
}

static void flag_begin_dump(struct flag_step *flag, const struct flag_slice *slice)
{
    const struct flag_open *open = &flag->open;
    for (uint64_t i = 0; i < flag->sums; i++) {
        flag_clear(open->sums, slice->antenna * flag->sums + i, flag->all, slice);
    }
    for (uint64_t p = 0; p < flag->pols; p++) {
        uint64_t line = slice->antenna * flag->pols + p;
        flag_clear(open->weights, line, flag->all, slice);
        flag_clear(open->whole, line, flag->all, slice);
        flag_clear(open->joint ? NULL : open->read, line, flag->all, slice);
    }
    flag_clear(open->joint, slice->antenna, flag->all, slice);
    flag_clear(open->joint ? open->read : NULL, slice->antenna, flag->all, slice);
}

/* Adds one cell's numbers, or their weight, where it is not flagged. */
static void flag_add(const unsigned char *restrict marks, const float *restrict from,
                     uint64_t count, double *restrict to)
{
    for (uint64_t k = 0; k < count; k++) {
        to[k] += marks[k] ? 0 : (double)from[k];
    }
}

/* `weight` of the coarse channel; `is_unread`: it counts as if it were there. */
static void flag_add_weight(const unsigned char *restrict marks, const float *weight, int is_unread,
                            uint64_t count, double *restrict to)
{
    double share = weight && !is_unread ? (double)*weight : 1;
    for (uint64_t k = 0; k < count; k++) {
        to[k] += marks[k] ? 0 : share;
    }
}

/* A slice of a row of cells into the open dump. `lost`: what row `at` has lost; NULL: nothing. */
static void flag_add_row(struct flag_step *flag, const float *power,
                         const struct combine_weights *lost, uint64_t at,
                         const struct flag_slice *slice)
{
    const struct flag_open *open = &flag->open;
    uint64_t all = flag->all;
    uint64_t antenna = slice->antenna;
    uint64_t row = at * flag->antennas;
    const unsigned char *marks = flag->marks + antenna * flag->pols * all + slice->first;
    for (uint64_t i = 0; i < flag->sums; i++) {
        uint64_t line = (antenna * flag->sums + i) * all + slice->first;
        flag_add(marks + (open->joint ? 0 : i) * all, power + line, slice->count,
                 open->sums + line);
    }
    for (uint64_t p = 0; p < flag->pols; p++) {
        uint64_t line = antenna * flag->pols + p;
        uint64_t of = (row * flag->pols + line) * flag->coarse + slice->coarse;
        uint64_t into = line * all + slice->first;
        const float *weight = lost ? lost->streams + of : NULL;
        flag_add_weight(marks + p * all, weight, 0, slice->count, open->weights + into);
        if (!open->joint) {
            flag_add_weight(marks + p * all, weight, lost && lost->unread && lost->unread[of],
                            slice->count, open->read + into);
        }
        const float *from = power + (antenna * flag->sums + p) * all + slice->first;
        for (uint64_t k = 0; k < slice->count && open->whole; k++) {
            open->whole[into + k] += isfinite(from[k]) ? (double)from[k] : 0;
        }
    }
    if (open->joint) {
        uint64_t of = (row + antenna) * flag->coarse + slice->coarse;
        uint64_t into = antenna * all + slice->first;
        const float *weight = lost ? lost->joint + of : NULL;
        flag_add_weight(marks, weight, 0, slice->count, open->joint + into);
        flag_add_weight(marks, weight, lost && lost->unread && lost->unread[of], slice->count,
                        open->read + into);
    }
}

/* Returns the weight of a sum; 1 only if nothing is lost. */
static float flag_weight(double sum, uint64_t cells)
{
    static const float almost = 1 - FLT_EPSILON / 2;
    float weight = (float)(sum / (double)cells);
    return ((sum < (double)cells) & (weight > almost)) ? almost : weight;
}

static void flag_weights(const double *restrict sums, uint64_t count, uint64_t cells,
                         float *restrict weights)
{
    for (uint64_t k = 0; k < count; k++) {
        weights[k] = flag_weight(sums[k], cells);
    }
}

static int flag_is_blank(double least, float weight)
{
    return (double)weight < least || weight == 0;
}

/* Marks channels that are blank only because some input was unreadable. */
static void flag_unread(const double *weights, const double *read, uint64_t count, uint64_t cells,
                        double least, char *unread)
{
    int is_all = memcmp(weights, read, (size_t)count * sizeof *read) == 0;
    memset(unread, 0, (size_t)count);
    for (uint64_t k = 0; k < count && !is_all; k++) {
        unread[k] = flag_is_blank(least, flag_weight(weights[k], cells)) &&
                    !flag_is_blank(least, flag_weight(read[k], cells));
    }
}

static void flag_round(const double *restrict sums, uint64_t count, float *restrict out)
{
    for (uint64_t k = 0; k < count; k++) {
        out[k] = (float)sums[k];
    }
}

/* Measures a line before any of it is flagged. */
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

/* Measures each if of an output row: its line, or the sum of all lines that are combined into
 * it. */
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

/* Finishes a slice of dump number `dump` of the block, which is complete. */
static void flag_end_dump(struct flag_step *flag, uint64_t dump, float *data,
                          const struct flag_slice *slice)
{
    const struct flag_open *open = &flag->open;
    uint64_t all = flag->all;
    uint64_t lines = flag->antennas * flag->pols;
    uint64_t marked = open->joint ? flag->antennas : lines;
    for (uint64_t i = 0; i < flag->sums; i++) {
        uint64_t at = (slice->antenna * flag->sums + i) * all + slice->first;
        flag_round(open->sums + at, slice->count,
                   data + dump * flag->antennas * flag->sums * all + at);
    }
    for (uint64_t p = 0; p < flag->pols; p++) {
        uint64_t at = (slice->antenna * flag->pols + p) * all + slice->first;
        flag_weights(open->weights + at, slice->count, flag->cells,
                     flag->streams + dump * lines * all + at);
    }
    for (uint64_t i = 0; i < marked / flag->antennas; i++) {
        uint64_t at = (slice->antenna * (marked / flag->antennas) + i) * all + slice->first;
        uint64_t into = dump * marked * all + at;
        const double *weights = (open->joint ? open->joint : open->weights) + at;
        if (open->joint) {
            flag_weights(weights, slice->count, flag->cells, flag->joint + into);
        }
        flag_unread(weights, open->read + at, slice->count, flag->cells, flag->spec->weights.least,
                    flag->unread + into);
    }
}

/* Some rows of a block, slice by slice. */
struct flag_work {
    struct flag_step *flag;
    const struct finish_rows *rows;
    uint64_t first, end;
    int marks, adds; /* what is done with them */
};

static struct flag_row flag_row_of(const struct flag_work *work, uint64_t at)
{
    const struct flag_step *flag = work->flag;
    const struct finish_rows *rows = work->rows;
    uint64_t numbers = flag->antennas * flag->sums * flag->all;
    uint64_t squares = flag->antennas * flag->pols * flag->all;
    return (struct flag_row){
        .cell = rows->first + at,
        .at = at,
        .first_antenna = chunk_is_coarse(rows->chunk)
                             ? 0
                             : rows->chunk->first_stream / ((uint64_t)flag->pols * flag->coarse),
        .power = (const float *)rows->data + at * numbers,
        .squares = rows->squares ? rows->squares + at * squares : NULL,
        .weights = rows->lost ? rows->lost->streams + at * rows->streams : NULL};
}

/* Returns the slices of a coarse channel: enough for all threads. Judged cells are compared within
 * whole ones. */
static uint64_t flag_parts(const struct flag_step *flag)
{
    enum { TASKS = 64, LEAST = 4096 /* channels */ };
    const uint64_t most = max_u64(flag->spec->bank.nchannels / LEAST, 1);
    return flag->judged ? 1 : min_u64(ceil_div_u64(TASKS, flag->antennas * flag->coarse), most);
}

/* A dump's numbers go where no other slice reads: its row is none after those that it is made of.
 */
WIDE static void flag_slice(void *context, uint32_t thread, uint64_t number)
{
    const struct flag_work *work = context;
    struct flag_step *flag = work->flag;
    const uint64_t nchannels = flag->spec->bank.nchannels;
    const uint64_t parts = flag_parts(flag);
    const uint64_t coarse = number / parts % flag->coarse;
    const uint64_t begin = number % parts * nchannels / parts;
    const uint64_t end = (number % parts + 1) * nchannels / parts;
    const struct flag_slice slice = {.antenna = number / parts / flag->coarse,
                                     .coarse = coarse,
                                     .first = coarse * nchannels + begin,
                                     .count = end - begin};
    (void)thread;
    for (uint64_t i = work->first; i < work->end; i++) {
        const struct flag_row row = flag_row_of(work, i);
        if (work->marks) {
            flag_mark(flag, &row, &slice);
        }
        if (!work->adds) {
            continue;
        }
        if (flag->open.joint) {
            flag_join(flag, &slice);
        }
        flag_keep(flag, &row, &slice);
        if (row.cell % flag->cells == 0) {
            flag_begin_dump(flag, &slice);
        }
        flag_add_row(flag, row.power, work->rows->lost, i, &slice);
        if (row.cell % flag->cells == flag->cells - 1) {
            uint64_t dump = row.cell / flag->cells - work->rows->first / flag->cells;
            flag_end_dump(flag, dump, work->rows->data, &slice);
        }
    }
}

/* Rows one after the other, where a mask is read for each, or flags that were decided before. */
static status_t flag_each_row(struct flag_step *flag, const struct finish_rows *rows, uint64_t ifs)
{
    const uint64_t slices = flag->antennas * flag->coarse * flag_parts(flag);
    for (uint64_t i = 0; i < rows->count; i++) {
        struct flag_work marking = {flag, rows, i, i + 1, 1, 0};
        struct flag_work adding = {flag, rows, i, i + 1, 0, 1};
        const struct flag_row row = flag_row_of(&marking, i);
        TRY(flag_begin(flag, &row));
        finish_each(rows, slices, flag_slice, &marking);
        TRY(flag->judged && row.squares ? flag_recall(flag, &row) : STATUS_OK);
        finish_each(rows, slices, flag_slice, &adding);
        if (flag->wholes && row.cell % flag->cells == flag->cells - 1) {
            flag_measure_dump(flag, row.cell / flag->cells - rows->first / flag->cells, ifs);
        }
    }
    return STATUS_OK;
}

static status_t flag_run(void *step, struct finish_rows *rows)
{
    struct flag_step *flag = step;
    flag->antennas = rows->streams / ((uint64_t)flag->pols * flag->coarse);
    const int is_coarse = chunk_is_coarse(rows->chunk);
    const struct chunk_row cells = plan_products_cells_row(flag->spec);
    flag->skipped =
        is_coarse ? rows->chunk->first_stream * (uint64_t)flag->spec->bank.nchannels : 0;
    flag->kept = chunk_kept_of(&cells, rows->chunk);
    uint64_t ifs = is_coarse
                       ? flag->spec->nifs
                       : flag->spec->nifs * (uint64_t)rows->streams / flag->spec->archive->nstreams;
    struct flag_work all = {flag, rows, 0, rows->count, 1, 1};
    if (flag->mask || flag->judged || flag->wholes) {
        TRY(flag_each_row(flag, rows, ifs));
    } else {
        finish_each(rows, flag->antennas * flag->coarse * flag_parts(flag), flag_slice, &all);
    }
    rows->flagged = (struct flag_block){
        flag->flags, flag->spec->flag.has_kurtosis ? flag->kurtosis : NULL, flag->tolerance};
    rows->first_cell = rows->first;
    rows->cells = rows->count;
    rows->first /= flag->cells;
    rows->count = (rows->first_cell + rows->cells) / flag->cells - rows->first;
    flag->lost = (struct combine_weights){flag->streams, flag->joint, flag->unread};
    rows->lost = &flag->lost;
    return STATUS_OK;
}

static const struct agreement_whole *flag_wholes(const void *step)
{
    return ((const struct flag_step *)step)->wholes;
}

const struct finish_step finish_flag = {
    .create = flag_create, .run = flag_run, .destroy = flag_destroy, .wholes = flag_wholes};
