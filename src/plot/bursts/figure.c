/* The peaks of all DMs, and what they say of one candidate. */
#include "plot/bursts/bursts.h"

#include "base/memory.h"
#include "dsp/bursts/boxes.h"
#include "plot/from/choice.h"
#include "plot/from/from_product.h"
#include "plot/from/pixels.h"
#include "product/pack/rows.h"

#include <math.h>
#include <stdlib.h>

static const char bursts_there[] = "dm-time|snr|waterfall";

struct bursts_picture {
    const struct product *product;
    const struct plot_choice *choice;
    struct candidates_file *file;
    const struct candidate *one; /* NULL: there is none */
    uint64_t first_cell, ncells; /* that are drawn, */
    uint64_t first_dm, ndms;     /* and DMs */
    struct grid x, y;            /* seconds, DMs */
    float *image;                /* [y.count][x.count] */
    double *best;                /* [ndms] of the candidate's times; NaN: no peak */
    struct peak *row;            /* [ncells of the product] */
};

/* Which candidate: the one that is asked for, or the strongest. */
static status_t bursts_choose_one(struct bursts_picture *p)
{
    status_t st = STATUS_OK;
    const struct candidates *found = &p->file->found;
    REQUIRE(!p->choice->has_candidate || p->choice->candidate < found->count, STATUS_USAGE,
            "%s has no candidate %llu: it has %llu, counted from 0", p->product->path,
            (unsigned long long)p->choice->candidate, (unsigned long long)found->count);
    for (uint64_t i = 0; i < found->count && !p->choice->has_candidate; i++) {
        p->one = !p->one || found->rows[i].snr > p->one->snr ? &found->rows[i] : p->one;
    }
    p->one = p->choice->has_candidate ? &found->rows[p->choice->candidate] : p->one;
out:
    return st;
}

/* Seconds that are drawn: those asked for, what is around a candidate that is, or all. */
static status_t bursts_choose_times(struct bursts_picture *p)
{
    status_t st = STATUS_OK;
    double step = p->product->time_step;
    double begin = p->file->first_time;
    double from = begin;
    double to = begin + (double)p->product->frequencies * step;
    if (p->choice->has_time) {
        from = p->choice->time[0];
        to = p->choice->time[1];
    } else if (p->choice->has_candidate) {
        double margin = fmax(p->one->time_last_s - p->one->time_first_s, 2 * step);
        from = p->one->time_first_s - margin;
        to = p->one->time_last_s + margin;
    }
    double first = fmax(0, floor((from - begin) / step + 1e-9));
    double end = fmin((double)p->product->frequencies, ceil((to - begin) / step - 1e-9));
    REQUIRE(first < end, STATUS_USAGE, "%s has no cells from %.9g to %.9g s", p->product->path,
            from, to);
    p->first_cell = (uint64_t)first;
    p->ncells = (uint64_t)(end - first);
    p->x = grid_of_cells(begin + first * step, p->file->tsamp, PEAK_CELL * p->ncells,
                         choice_width(p->choice, 1));
out:
    return st;
}

static status_t bursts_choose_dms(struct bursts_picture *p)
{
    status_t st = STATUS_OK;
    const double *dms = p->file->dms;
    uint64_t all = p->file->ndms;
    double from = dms[0];
    double to = dms[all - 1];
    if (p->choice->has_dm) {
        from = p->choice->dm[0];
        to = p->choice->dm[1];
    } else if (p->choice->has_candidate) {
        double margin = fmax(p->one->dm_most - p->one->dm_least, (to - from) / 100);
        from = p->one->dm_least - margin;
        to = p->one->dm_most + margin;
    }
    while (p->first_dm < all && dms[p->first_dm] < from) {
        p->first_dm++;
    }
    while (p->first_dm + p->ndms < all && dms[p->first_dm + p->ndms] <= to) {
        p->ndms++;
    }
    REQUIRE(p->ndms > 0, STATUS_USAGE, "%s has no DMs from %g to %g: it has %g .. %g",
            p->product->path, from, to, dms[0], dms[all - 1]);
    double low = dms[p->first_dm];
    double high = dms[p->first_dm + p->ndms - 1];
    double step = p->ndms > 1 ? (high - low) / (double)(p->ndms - 1) : 1;
    p->y = grid_of_cells(low - step / 2, step > 0 ? step : 1, p->ndms, choice_height(p->choice));
out:
    return st;
}

/* The pixel rows nearest to this DM; every DM has at least one. */
static void bursts_rows_of(const struct bursts_picture *p, uint64_t dm, uint32_t *first,
                           uint32_t *end)
{
    const double *dms = p->file->dms;
    double low = dm > 0 ? (dms[dm - 1] + dms[dm]) / 2 : dms[dm];
    double high = dm + 1 < p->file->ndms ? (dms[dm] + dms[dm + 1]) / 2 : dms[dm];
    double own = floor((dms[dm] - p->y.from) / p->y.step);
    double from = fmin(floor((low - p->y.from) / p->y.step + 0.5), own);
    double to = fmax(ceil((high - p->y.from) / p->y.step - 0.5), own + 1);
    *first = (uint32_t)fmin(fmax(from, 0), p->y.count - 1);
    *end = (uint32_t)fmin(fmax(to, 1), p->y.count);
}

/* The box of a peak, in the pixels that it lies in. */
static void bursts_put_box(struct bursts_picture *p, uint64_t dm, uint64_t cell,
                           const struct peak *peak)
{
    uint64_t group = ceil_div_u64(PEAK_CELL * p->ncells, p->x.count);
    uint64_t from = cell * PEAK_CELL + peak->offset;
    uint64_t last = min_u64((from + peak->width - 1) / group, p->x.count - 1);
    uint32_t first;
    uint32_t end;
    bursts_rows_of(p, dm, &first, &end);
    for (uint32_t j = first; j < end; j++) {
        for (uint64_t i = from / group; i <= last; i++) {
            float *pixel = &p->image[(size_t)j * p->x.count + i];
            *pixel = fmaxf(*pixel, peak->snr);
        }
    }
}

static void bursts_take_row(struct bursts_picture *p, uint64_t dm)
{
    double half = p->file->tsamp / 2;
    for (uint64_t i = 0; i < p->ncells; i++) {
        const struct peak *peak = &p->row[p->first_cell + i];
        uint64_t sample = (p->first_cell + i) * PEAK_CELL + peak->offset;
        double time = p->file->first_time + (double)sample * p->file->tsamp;
        if (peak->snr > 0) {
            bursts_put_box(p, dm, i, peak);
        }
        if (peak->snr > 0 && p->one && time >= p->one->time_first_s - half &&
            time <= p->one->time_last_s + half) {
            double *best = &p->best[dm - p->first_dm];
            *best = fmax(*best, (double)peak->snr); /* NaN counts for nothing */
        }
    }
}

static status_t bursts_look(struct bursts_picture *p)
{
    status_t st = STATUS_OK;
    rows_t *rows = NULL;
    uint64_t bytes = p->product->place.row_bytes;
    TRY(memory_aligned((size_t)bytes, 1, "peaks", &p->row));
    TRY(memory_zeroed((size_t)p->x.count * p->y.count, sizeof *p->image, "an image", &p->image));
    TRY(memory_zeroed((size_t)p->ndms, sizeof *p->best, "DMs", &p->best));
    for (uint64_t i = 0; i < p->ndms; i++) {
        p->best[i] = NAN;
    }
    TRY(rows_open(p->product, &rows));
    for (uint64_t dm = p->first_dm; dm < p->first_dm + p->ndms; dm++) {
        TRY(rows_read(rows, dm, 1, 0, bytes, p->row));
        bursts_take_row(p, dm);
    }
out:
    rows_close(rows);
    return st;
}

static status_t bursts_add_map(struct bursts_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    double peak = p->file->threshold;
    TRY(figure_panel(out, "dm-time", 4, &panel));
    TRY(memory_format(&panel->title, "best boxes of 1 to %u samples, S/N %g or more: %llu %s",
                      p->file->widths, p->file->threshold, (unsigned long long)p->file->found.count,
                      units_plural(p->file->found.count, "candidate", "candidates")));
    TRY(figure_label(&panel->x, "time (s)"));
    TRY(figure_label(&panel->y, "DM (pc cm^-3)"));
    TRY(figure_label(&panel->z, "signal / noise"));
    panel->x.from = p->x.from;
    panel->x.to = grid_end(p->x);
    panel->y.from = p->y.from;
    panel->y.to = grid_end(p->y);
    panel->width = p->x.count;
    panel->height = p->y.count;
    panel->image = p->image;
    p->image = NULL;
    for (size_t i = 0; i < (size_t)panel->width * panel->height; i++) {
        peak = fmax(peak, (double)panel->image[i]);
    }
    panel->z.from = 0; /* no peak is there */
    panel->z.to = peak;
out:
    return st;
}

static status_t bursts_add_snr(const struct bursts_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    struct plot_line *line;
    size_t count = 0;
    TRY(figure_panel(out, "snr", 2, &panel));
    TRY(memory_format(&panel->title,
                      "the candidate of S/N %.3g at %.9g s, %llu %s wide, DM %.9g: the best of "
                      "each DM",
                      p->one->snr, p->one->time_s, (unsigned long long)p->one->width,
                      units_plural(p->one->width, "sample", "samples"), p->one->dm));
    TRY(figure_label(&panel->x, "DM (pc cm^-3)"));
    TRY(figure_label(&panel->y, "signal / noise"));
    TRY(figure_line(panel, NULL, (size_t)p->ndms, LOOK_MARKED, 1, &line));
    for (uint64_t i = 0; i < p->ndms; i++) {
        if (!isnan(p->best[i])) {
            line->x[count] = p->file->dms[p->first_dm + i];
            line->y[count++] = p->best[i];
        }
    }
    line->count = count;
    panel->x.from = p->y.from;
    panel->x.to = grid_end(p->y);
out:
    return st;
}

static status_t bursts_put_title(const struct bursts_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct text title = {0};
    char a[UNITS_TEXT];
    const struct candidates_file *f = p->file;
    TRY(from_title(p->product->path, f->source, f->telescope, &title));
    TRY(text_add(&title, "0 s: %s%s", f->has_start ? units_utc(f->start, a) : "unknown",
                 f->has_start ? " UTC" : ""));
    TRY(text_add(&title, ";  %zu DMs, samples of %s", f->ndms, from_seconds(f->tsamp, a)));
    out->title = title.data;
    title.data = NULL;
out:
    text_free(&title);
    return st;
}

status_t from_candidates(const struct product *product, const struct plot_choice *choice,
                         struct figure *out)
{
    status_t st = STATUS_OK;
    struct bursts_picture p = {.product = product, .choice = choice};
    TRY(choice_check(choice, product->path, bursts_there));
    REQUIRE(!choice->pols && !choice->sum && !choice->flatten && !choice->has_freq, STATUS_USAGE,
            "%s: candidates have neither pols nor frequencies to choose from", product->path);
    TRY(candidates_open(product->path, &p.file));
    REQUIRE(p.file->ndms == product->rows && p.file->ndms > 0, STATUS_DATA,
            "%s: /dm is not that of /peaks", product->path);
    TRY(bursts_choose_one(&p));
    TRY(bursts_choose_times(&p));
    TRY(bursts_choose_dms(&p));
    TRY(bursts_look(&p));
    TRY(bursts_put_title(&p, out));
    TRY(choice_has(choice, "dm-time") ? bursts_add_map(&p, out) : STATUS_OK);
    if (p.one) {
        TRY(choice_has(choice, "snr") ? bursts_add_snr(&p, out) : STATUS_OK);
        TRY(choice_has(choice, "waterfall") ? bursts_add_waterfall(p.file, p.one, choice, out)
                                            : STATUS_OK);
    }
    REQUIRE(out->count > 0, STATUS_USAGE, "%s has no candidate to draw", product->path);
out:
    candidates_close(p.file);
    free(p.image);
    free(p.best);
    free(p.row);
    return st;
}
