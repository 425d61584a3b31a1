/* Waterfall, bandpass and time of pixels that are full; weights and kurtosis, which are read here.
 */
#include "plot/from/bank_panels.h"

#include "base/memory.h"
#include "plot/from/choice.h"
#include "product/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WATERFALL_SHARE 4.0 /* of the height */

static double level(double power)
{
    return 10 * log10(power);
}

/* Datasets beside the rows, that only ours have. */
struct beside {
    const char *name;
    const char *label;
    enum palette palette;
    double least, most; /* of the colours; both 0: as the numbers are */
    int is_share;       /* how many of the numbers are not 0 */
};

static const struct beside besides[] = {
    {"weights", "weight", PALETTE_LEVEL, 0, 1, 0},
    {"kurtosis", "spectral kurtosis", PALETTE_ABOUT, 0.5, 1.5, 0},
    {"flags", "share left out", PALETTE_LEVEL, 0, 1, 1},
};
/* Their panels are so many times lower than a waterfall. */
enum { BESIDES = sizeof besides / sizeof *besides, BESIDE_SHARE = 3 };

static int bank_is_hdf5(const struct bank *bank)
{
    return !bank->fbh5 || (!bank->fbh5->format && bank->fbh5->table.bits == 0);
}

static status_t bank_open_beside(const struct bank *bank, const struct beside *beside,
                                 struct sheet **out)
{
    *out = NULL;
    return bank_is_hdf5(bank) ? sheet_open(bank->path, beside->name, out) : STATUS_OK;
}

status_t bank_panels_check(const struct bank *bank, const struct plot_choice *choice)
{
    status_t st = STATUS_OK;
    struct text there = {0};
    TRY(text_add(&there, "waterfall|bandpass|time"));
    for (int i = 0; i < BESIDES && choice->kinds; i++) {
        struct sheet *sheet = NULL;
        TRY(bank_open_beside(bank, &besides[i], &sheet));
        if (sheet) {
            TRY(text_add(&there, "|%s", besides[i].name));
        }
        sheet_close(sheet);
    }
    TRY(choice_check(choice, bank->path, there.data));
out:
    text_free(&there);
    return st;
}

static status_t bank_add_panel(const struct bank_view *v, const char *name, double share,
                               const char *title, struct panel **out)
{
    status_t st = STATUS_OK;
    TRY(figure_panel(v->out, name, share, out));
    (*out)->column = v->figure_column;
    TRY(memory_format(&(*out)->title, "%s, %s", v->name, title));
out:
    return st;
}

static void bank_set_sky(struct panel *panel, struct grid x)
{
    panel->x.from = 1e-6 * x.from;
    panel->x.to = 1e-6 * grid_end(x);
}

static status_t bank_add_waterfall(const struct bank_view *v, const struct pixels *p)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    double *scratch = NULL;
    int flat = v->choice->flatten;
    TRY(memory_zeroed(p->y.count, sizeof *scratch, "an image", &scratch));
    TRY(bank_add_panel(v, "waterfall", WATERFALL_SHARE,
                       flat ? "above each channel's median" : "waterfall", &panel));
    TRY(figure_label(&panel->x, "frequency (MHz)"));
    TRY(figure_label(&panel->y, "time (s)"));
    TRY(figure_label(&panel->z, v->is_power ? "power (dB)" : "value"));
    bank_set_sky(panel, p->x);
    panel->y.from = p->y.from;
    panel->y.to = grid_end(p->y);
    TRY(figure_image(panel, p->x.count, p->y.count));
    for (uint32_t i = 0; i < p->x.count; i++) {
        double median = flat ? pixels_column_median(p, i, scratch) : 0;
        for (uint32_t j = 0; j < p->y.count; j++) {
            double mean = pixels_mean(p, i, j);
            panel->image[(size_t)j * p->x.count + i] =
                (float)(!v->is_power ? mean - median : level(flat ? mean / median : mean));
        }
    }
    panel->palette = v->is_power ? PALETTE_LEVEL : PALETTE_ABOUT;
    TRY(figure_settle_colours(panel, v->is_power ? 0.2 : 1e-30));
    if (!v->is_power) {
        panel->z.to = fmax(fabs(panel->z.from), fabs(panel->z.to));
        panel->z.from = -panel->z.to;
    }
out:
    free(scratch);
    return st;
}

/* The medians of all rows, where the product has them. */
static status_t bank_add_median(const struct bank_view *v, const struct pixels *p,
                                struct panel *panel)
{
    status_t st = STATUS_OK;
    const struct grid row = {.from = 0, .step = 1, .count = 1};
    struct sheet *sheet = NULL;
    struct pixels own = {.sum = NULL};
    struct plot_line *line;
    float *values = NULL;
    TRY(!v->choice->sum && bank_is_hdf5(v->bank) ? sheet_open(v->bank->path, "bandpass", &sheet)
                                                 : STATUS_OK);
    if (!sheet || sheet->nchannels != v->bank->nchannels || sheet->rows != v->bank->nifs) {
        goto out;
    }
    TRY(memory_aligned((size_t)sheet->nchannels, sizeof *values, "medians", &values));
    TRY(sheet_read(sheet, v->at_if, 1, 0, 0, sheet->nchannels, values));
    TRY(pixels_create(p->x, row, &own));
    pixels_add(&own, 0, v->columns, values, sheet->nchannels);
    TRY(figure_line(panel, "median", p->x.count, LOOK_LINE, 3, &line));
    for (uint32_t i = 0; i < p->x.count; i++) {
        double value = pixels_mean(&own, i, 0);
        line->x[i] = 1e-6 * grid_middle(p->x, i);
        line->y[i] = v->is_power ? level(value) : value;
    }
out:
    pixels_free(&own);
    sheet_close(sheet);
    free(values);
    return st;
}

static status_t bank_add_bandpass(const struct bank_view *v, const struct pixels *p)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    static const char *const titles[] = {"greatest", "mean", "least"};
    TRY(bank_add_panel(v, "bandpass", 2, "bandpass", &panel));
    TRY(figure_label(&panel->x, "frequency (MHz)"));
    TRY(figure_label(&panel->y, v->is_power ? "power (dB)" : "value"));
    bank_set_sky(panel, p->x);
    for (uint32_t k = 0; k < 3; k++) {
        struct plot_line *line;
        TRY(figure_line(panel, titles[k], p->x.count, k == 1 ? LOOK_LINE : LOOK_FAINT,
                        k == 1   ? 1
                        : k == 0 ? 5
                                 : 7,
                        &line));
        for (uint32_t i = 0; i < p->x.count; i++) {
            double value = k == 0 ? p->most[i] : k == 1 ? pixels_column_mean(p, i) : p->least[i];
            line->x[i] = 1e-6 * grid_middle(p->x, i);
            line->y[i] = v->is_power ? level(value) : value;
        }
    }
    TRY(bank_add_median(v, p, panel));
out:
    return st;
}

static status_t bank_add_time(const struct bank_view *v, const struct pixels *p)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    struct plot_line *line;
    TRY(bank_add_panel(v, "time", 1.5, "all channels", &panel));
    TRY(figure_label(&panel->x, "time (s)"));
    TRY(figure_label(&panel->y, v->is_power ? "power (dB)" : "value"));
    panel->x.from = p->y.from;
    panel->x.to = grid_end(p->y);
    TRY(figure_line(panel, NULL, p->y.count, LOOK_LINE, 1, &line));
    for (uint32_t j = 0; j < p->y.count; j++) {
        double value = pixels_row_mean(p, j);
        line->x[j] = grid_middle(p->y, j);
        line->y[j] = v->is_power ? level(value) : value;
    }
out:
    return st;
}

/* The sheet's rows that are of the picture's times, as pixels; its rows may be longer than ours. */
static struct grid bank_beside_times(const struct bank_view *v, const struct sheet *sheet,
                                     struct grid y, uint64_t *first, uint64_t *count)
{
    double step = (double)v->bank->rows / (double)sheet->rows * v->bank->step;
    double from = floor(y.from / step + 1e-6);
    double end = fmin((double)sheet->rows, ceil(grid_end(y) / step - 1e-6));
    *first = (uint64_t)from;
    *count = (uint64_t)fmax(end - from, 1);
    return grid_of_cells(from * step, step, *count, y.count / BESIDE_SHARE + 1);
}

/* Which of the sheet's channels each of the file's is in, [channels]: a product may have kept a
 * part of its coarse channels, so the nearest one. Both lists run one way. */
static status_t bank_match_channels(const struct bank_view *v, const struct sheet *sheet,
                                    uint64_t **out)
{
    status_t st = STATUS_OK;
    uint32_t channels = v->bank->nchannels;
    const double *coarse = sheet->coarse_hz;
    uint64_t *of = NULL;
    REQUIRE(coarse || channels % sheet->nchannels == 0 || sheet->nchannels % channels == 0,
            STATUS_DATA, "%s: %u channels and those of its weights, %llu, do not fit each other",
            v->bank->path, channels, (unsigned long long)sheet->nchannels);
    TRY(memory_zeroed(channels, sizeof *of, "weights", &of));
    uint64_t at = 0;
    for (uint32_t c = 0; c < channels; c++) {
        double sky = v->bank->freq_hz[c];
        while (coarse && at + 1 < sheet->nchannels &&
               fabs(sky - coarse[at + 1]) < fabs(sky - coarse[at])) {
            at++;
        }
        of[c] = coarse                         ? at
                : channels >= sheet->nchannels ? c / (channels / sheet->nchannels)
                                               : c * (sheet->nchannels / channels);
    }
    *out = of;
out:
    return st;
}

/* What a channel of the file shows of `count` of the sheet's: their mean, NaN apart. */
static float bank_mean_beside(const struct beside *beside, const float *values, uint64_t count)
{
    double sum = 0;
    uint64_t there = 0;
    for (uint64_t i = 0; i < count; i++) {
        int is_there = !isnan(values[i]);
        sum += !is_there ? 0 : beside->is_share ? values[i] != 0 : (double)values[i];
        there += is_there ? 1 : 0;
    }
    return there > 0 ? (float)(sum / (double)there) : NAN;
}

/* The sheet's if that is shown beside one of the file's: where they are not the same, one of those
 * that it was made of. */
static uint64_t bank_beside_if(const struct bank_view *v, const struct sheet *sheet)
{
    return v->at_if * sheet->nifs / v->bank->nifs;
}

/* A channel of the sheet is many of the file's, or one of some that became one; rows are read by
 * the thousand. */
static status_t bank_fill_beside(const struct bank_view *v, const struct beside *beside,
                                 const struct sheet *sheet, uint64_t first, uint64_t count,
                                 struct pixels *p)
{
    status_t st = STATUS_OK;
    enum { READ = 1 << 20 };
    uint64_t rows = max_u64(1, READ / sheet->nchannels);
    uint64_t group = ceil_div_u64(count, p->y.count);
    uint64_t each = max_u64(sheet->nchannels / v->bank->nchannels, 1);
    uint64_t *of = NULL;
    float *values = NULL;
    float *spread = NULL;
    TRY(bank_match_channels(v, sheet, &of));
    TRY(memory_aligned((size_t)(rows * sheet->nchannels), sizeof *values, "weights", &values));
    TRY(memory_zeroed(v->bank->nchannels, sizeof *spread, "weights", &spread));
    for (uint64_t row = 0; row < count; row += rows) {
        uint64_t here = min_u64(rows, count - row);
        TRY(sheet_read(sheet, first + row, here, bank_beside_if(v, sheet), 0, sheet->nchannels,
                       values));
        for (uint64_t r = 0; r < here; r++) {
            for (uint64_t c = 0; c < v->bank->nchannels; c++) {
                spread[c] = bank_mean_beside(beside, values + r * sheet->nchannels + of[c], each);
            }
            pixels_add(p, (uint32_t)((row + r) / group), v->columns, spread, v->bank->nchannels);
        }
    }
out:
    free(of);
    free(values);
    free(spread);
    return st;
}

static status_t bank_put_beside(const struct bank_view *v, const struct pixels *p,
                                const struct beside *beside, int is_part)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    char title[96];
    snprintf(title, sizeof title, "%s%s", beside->label,
             is_part ? ", of one that it was made of" : "");
    TRY(bank_add_panel(v, beside->name, WATERFALL_SHARE / BESIDE_SHARE, title, &panel));
    TRY(figure_label(&panel->x, "frequency (MHz)"));
    TRY(figure_label(&panel->y, "time (s)"));
    TRY(figure_label(&panel->z, beside->label));
    bank_set_sky(panel, p->x);
    panel->y.from = p->y.from;
    panel->y.to = grid_end(p->y);
    panel->z.from = beside->least;
    panel->z.to = beside->most;
    panel->palette = beside->palette;
    TRY(figure_image(panel, p->x.count, p->y.count));
    for (uint32_t j = 0; j < p->y.count; j++) {
        for (uint32_t i = 0; i < p->x.count; i++) {
            panel->image[(size_t)j * p->x.count + i] = (float)pixels_mean(p, i, j);
        }
    }
out:
    return st;
}

static status_t bank_add_beside(const struct bank_view *v, const struct pixels *p,
                                const struct beside *beside)
{
    status_t st = STATUS_OK;
    struct pixels own = {.sum = NULL};
    struct sheet *sheet = NULL;
    uint64_t first;
    uint64_t count;
    TRY(v->choice->sum ? STATUS_OK : bank_open_beside(v->bank, beside, &sheet));
    if (sheet) {
        int is_part = sheet->nifs != v->bank->nifs;
        struct grid y = bank_beside_times(v, sheet, p->y, &first, &count);
        TRY(pixels_create(p->x, y, &own));
        TRY(bank_fill_beside(v, beside, sheet, first, count, &own));
        TRY(bank_put_beside(v, &own, beside, is_part));
    }
out:
    pixels_free(&own);
    sheet_close(sheet);
    return st;
}

status_t bank_panels(const struct bank_view *v, const struct pixels *p)
{
    status_t st = STATUS_OK;
    TRY(choice_has(v->choice, "bandpass") ? bank_add_bandpass(v, p) : STATUS_OK);
    TRY(choice_has(v->choice, "waterfall") ? bank_add_waterfall(v, p) : STATUS_OK);
    for (int i = 0; i < BESIDES; i++) {
        TRY(choice_has(v->choice, besides[i].name) ? bank_add_beside(v, p, &besides[i])
                                                   : STATUS_OK);
    }
    TRY(choice_has(v->choice, "time") ? bank_add_time(v, p) : STATUS_OK);
out:
    return st;
}
