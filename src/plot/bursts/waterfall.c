/* The power around a candidate, each channel moved back by its delay: a burst is upright. */
#include "plot/bursts/bursts.h"

#include "base/memory.h"
#include "plot/from/bank.h"
#include "plot/from/choice.h"

#include <math.h>
#include <stdlib.h>

enum {
    LEAST_AROUND = 48, /* samples before and behind, at least; else */
    AROUND = 12,       /* so many widths */
    PIXELS_A_WIDTH = 4,
    MOST_BANDS = 64 /* groups of channels that are added up */
};

struct dedispersing {
    struct bank *bank;
    const struct candidates_file *file;
    const struct candidate *candidate;
    int64_t
        first; /* the row at the reference frequency where the picture begins, perhaps below 0 */
    uint64_t count, group;          /* rows; rows of a pixel */
    uint32_t bands, each;           /* groups of channels; channels of each */
    int64_t *delays;                /* [nchannels] rows */
    int64_t least, most;            /* of them */
    double *sums, *squares, *cells; /* [nchannels] of all rows; [count / group][nchannels] */
    uint64_t *there;                /* [nchannels] rows that are numbers */
    float *rows;
};

static void waterfall_find_delays(struct dedispersing *d)
{
    double r = d->file->reference_hz / 1e6;
    d->least = INT64_MAX;
    d->most = INT64_MIN;
    for (uint32_t c = 0; c < d->bank->nchannels; c++) {
        double f = d->bank->freq_hz[c] / 1e6;
        double seconds = d->file->constant * d->candidate->dm * (1 / (f * f) - 1 / (r * r));
        d->delays[c] = (int64_t)floor(seconds / d->bank->step + 0.5);
        d->least = d->delays[c] < d->least ? d->delays[c] : d->least;
        d->most = d->delays[c] > d->most ? d->delays[c] : d->most;
    }
}

static status_t waterfall_begin(struct dedispersing *d)
{
    status_t st = STATUS_OK;
    const struct candidate *one = d->candidate;
    size_t nchannels = d->bank->nchannels;
    double wide = (double)one->width * d->file->tsamp / d->bank->step;
    uint64_t side = max_u64((uint64_t)(AROUND * wide), LEAST_AROUND);
    d->group = max_u64((uint64_t)(wide / PIXELS_A_WIDTH), 1);
    d->count = ceil_div_u64(2 * side, d->group) * d->group;
    double first_time = d->bank->fbh5->time.first; /* of row 0's centre */
    d->first = (int64_t)floor((one->time_s - first_time) / d->bank->step) - (int64_t)side;
    d->each = (uint32_t)ceil_div_u64(nchannels, MOST_BANDS);
    d->bands = (uint32_t)ceil_div_u64(nchannels, d->each);
    TRY(memory_zeroed(nchannels, sizeof *d->delays, "channels", &d->delays));
    TRY(memory_zeroed(nchannels, sizeof *d->sums, "channels", &d->sums));
    TRY(memory_zeroed(nchannels, sizeof *d->squares, "channels", &d->squares));
    TRY(memory_zeroed(nchannels, sizeof *d->there, "channels", &d->there));
    TRY(memory_zeroed(nchannels * (size_t)(d->count / d->group), sizeof *d->cells, "an image",
                      &d->cells));
    TRY(memory_aligned(BANK_BLOCK, sizeof *d->rows, "samples", &d->rows));
    waterfall_find_delays(d);
out:
    return st;
}

/* One row of the filterbank: every channel of it belongs to another time. */
static void waterfall_take(struct dedispersing *d, int64_t row, const float *powers)
{
    for (uint32_t c = 0; c < d->bank->nchannels; c++) {
        int64_t at = row - d->first - d->delays[c];
        if (at >= 0 && at < (int64_t)d->count && isfinite(powers[c])) {
            double power = (double)powers[c];
            d->sums[c] += power;
            d->squares[c] += power * power;
            d->there[c]++;
            d->cells[(uint64_t)at / d->group * d->bank->nchannels + c] += power;
        }
    }
}

/* The first if: the total power of what filterbanks usually hold. */
static status_t waterfall_read(struct dedispersing *d)
{
    status_t st = STATUS_OK;
    uint64_t chans = d->bank->nchannels;
    uint64_t piece = max_u64(BANK_BLOCK / chans, 1);
    int64_t from = d->first + d->least > 0 ? d->first + d->least : 0;
    int64_t end = d->first + (int64_t)d->count + d->most;
    end = end < (int64_t)d->bank->rows ? end : (int64_t)d->bank->rows;
    REQUIRE(chans <= BANK_BLOCK, STATUS_USAGE, "%s: %llu channels are too many for a picture",
            d->bank->path, (unsigned long long)chans);
    for (int64_t at = from; at < end; at += (int64_t)piece) {
        struct bank_block block = {(uint64_t)at, min_u64(piece, (uint64_t)(end - at)), 0, 1, 0,
                                   chans};
        TRY(bank_read(d->bank, &block, d->rows));
        for (uint64_t i = 0; i < block.rows; i++) {
            waterfall_take(d, at + (int64_t)i, d->rows + i * chans);
        }
    }
out:
    return st;
}

/* Above each channel's mean, in units of its rms: the mean of a group's channels. */
static void waterfall_fill(const struct dedispersing *d, struct panel *panel)
{
    for (uint32_t j = 0; j < d->bands; j++) {
        /* Rows of pixels ascend in frequency. */
        int is_ascending = d->bank->freq_hz[0] < d->bank->freq_hz[d->bank->nchannels - 1];
        uint32_t band = is_ascending ? j : d->bands - 1 - j;
        for (uint32_t i = 0; i < panel->width; i++) {
            double sum = 0;
            uint32_t used = 0;
            for (uint32_t c = band * d->each; c < (band + 1) * d->each && c < d->bank->nchannels;
                 c++) {
                double n = (double)d->there[c];
                double mean = n > 0 ? d->sums[c] / n : 0;
                double variance = n > 1 ? d->squares[c] / n - mean * mean : 0;
                double group = (double)d->group;
                double cell = d->cells[(size_t)i * d->bank->nchannels + c] / group;
                if (variance > 0 && n >= (double)d->count) {
                    sum += (cell - mean) / sqrt(variance / group);
                    used++;
                }
            }
            panel->image[(size_t)j * panel->width + i] = used > 0 ? (float)(sum / sqrt(used)) : NAN;
        }
    }
}

static status_t waterfall_add(struct dedispersing *d, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    const double *hz = d->bank->freq_hz;
    uint32_t last = d->bank->nchannels - 1;
    double width = last > 0 ? fabs(hz[last] - hz[0]) / last : 0;
    double first = d->bank->fbh5->time.first;
    TRY(figure_panel(out, "waterfall", 4, &panel));
    TRY(memory_format(&panel->title, "dedispersed to DM %.9g, above each channel's mean",
                      d->candidate->dm));
    TRY(figure_label(&panel->x, "time (s)"));
    TRY(figure_label(&panel->y, "frequency (MHz)"));
    TRY(figure_label(&panel->z, "rms"));
    TRY(figure_image(panel, (uint32_t)(d->count / d->group), d->bands));
    panel->x.from = first + ((double)d->first - 0.5) * d->bank->step;
    panel->x.to = panel->x.from + (double)d->count * d->bank->step;
    panel->y.from = (fmin(hz[0], hz[last]) - width / 2) / 1e6;
    panel->y.to = (fmax(hz[0], hz[last]) + width / 2) / 1e6;
    waterfall_fill(d, panel);
    TRY(figure_settle_colours(panel, 1));
out:
    return st;
}

status_t bursts_add_waterfall(const struct candidates_file *file, const struct candidate *candidate,
                              const struct plot_choice *choice, struct figure *out)
{
    status_t st = STATUS_OK;
    struct dedispersing d = {.file = file, .candidate = candidate};
    if (file->filterbank) {
        st = bank_open(file->filterbank, NULL, choice->external, &d.bank);
        if (st == STATUS_DATA || st == STATUS_USAGE) {
            report_note("%s: no waterfall: %s", file->filterbank, report_cause());
        }
        TRY(report_forgive(st));
    }
    REQUIRE(d.bank || !choice->kinds || out->count > 0, STATUS_DATA,
            "%s cannot be read: there is no waterfall to draw",
            file->filterbank ? file->filterbank : "the filterbank");
    if (d.bank) {
        TRY(waterfall_begin(&d));
        TRY(waterfall_read(&d));
        TRY(waterfall_add(&d, out));
    }
out:
    bank_close(d.bank);
    free(d.delays);
    free(d.sums);
    free(d.squares);
    free(d.there);
    free(d.cells);
    free(d.rows);
    return st;
}
