/* Signal to noise over DM and time, its best against DM, and the series where it is best. */
#include "plot/from/series_panels.h"

#include "base/memory.h"
#include "plot/from/choice.h"

#include <math.h>
#include <stdlib.h>

enum { PULSE_AROUND = 60 }; /* widths of the pulse, to both sides */

status_t series_add_map(struct series_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    TRY(figure_panel(out, "dm-time", 4, &panel));
    TRY(memory_text("best of sums of 1 to 256 samples", &panel->title));
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
    TRY(figure_settle_colours(panel, 1));
    double peak = p->best[p->best_dm].snr;
    panel->z.to = isfinite(peak) && peak > panel->z.to ? peak : panel->z.to;
out:
    return st;
}

status_t series_add_snr(const struct series_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    struct plot_line *line;
    uint64_t count = 0;
    TRY(figure_panel(out, "snr", 2, &panel));
    TRY(memory_text("the best of each DM", &panel->title));
    TRY(figure_label(&panel->x, "DM (pc cm^-3)"));
    TRY(figure_label(&panel->y, "signal / noise"));
    TRY(figure_line(panel, NULL, (size_t)p->series->ndms, LOOK_MARKED, 1, &line));
    for (uint64_t i = 0; i < p->series->ndms; i++) {
        if (isfinite(p->best[i].snr)) {
            line->x[count] = p->series->dm[i];
            line->y[count++] = p->best[i].snr;
        }
    }
    line->count = (size_t)count;
    panel->x.from = p->y.from;
    panel->x.to = grid_end(p->y);
out:
    return st;
}

/* Samples of the best DM in at most `most` groups: their mean, and what they reach. */
static status_t series_add_samples(struct series_picture *p, const char *name, const char *title,
                                   uint64_t first, uint64_t count, struct figure *out)
{
    status_t st = STATUS_OK;
    static const char *const titles[] = {"greatest", "mean", "least"};
    struct panel *panel;
    struct plot_line *lines[3];
    struct pixels pixels = {.sum = NULL};
    uint32_t *columns = NULL;
    double step = p->series->header.tsamp;
    struct grid x = grid_of_cells((double)first * step, step, count, choice_width(p->choice, 1));
    uint64_t group = ceil_div_u64(count, x.count);
    TRY(pixels_create(x, (struct grid){0, 1, 1}, &pixels));
    TRY(memory_zeroed(SERIES_PIECE, sizeof *columns, "samples", &columns));
    for (uint64_t at = 0; at < count; at += SERIES_PIECE) {
        uint64_t here = min_u64(SERIES_PIECE, count - at);
        TRY(series_read(p->series, p->best_dm, first + at, here, p->samples));
        for (uint64_t i = 0; i < here; i++) {
            columns[i] = (uint32_t)((at + i) / group);
        }
        pixels_add(&pixels, 0, columns, p->samples, here);
    }
    TRY(figure_panel(out, name, 2, &panel));
    TRY(memory_text(title, &panel->title));
    TRY(figure_label(&panel->x, "time (s)"));
    TRY(figure_label(&panel->y, "power"));
    panel->x.from = x.from;
    panel->x.to = grid_end(x);
    for (uint32_t k = group > 1 ? 0 : 1; k < (group > 1 ? 3u : 2u); k++) {
        TRY(figure_line(panel, group > 1 ? titles[k] : NULL, x.count,
                        k == 1 ? LOOK_LINE : LOOK_FAINT,
                        k == 1   ? 1
                        : k == 0 ? 5
                                 : 7,
                        &lines[k]));
        for (uint32_t i = 0; i < x.count; i++) {
            lines[k]->x[i] = grid_middle(x, i);
            lines[k]->y[i] = k == 0   ? pixels.most[i]
                             : k == 1 ? pixels_column_mean(&pixels, i)
                                      : pixels.least[i];
        }
    }
out:
    pixels_free(&pixels);
    free(columns);
    return st;
}

status_t series_add_best(struct series_picture *p, struct figure *out)
{
    status_t st = STATUS_OK;
    char *title = NULL;
    const struct pulse *pulse = &p->best[p->best_dm];
    double dm = p->series->dm[p->best_dm];
    double step = p->series->header.tsamp;
    if (choice_has(p->choice, "series")) {
        TRY(memory_format(&title, "at DM %.9g", dm));
        TRY(series_add_samples(p, "series", title, p->first, p->count, out));
    }
    if (choice_has(p->choice, "pulse") && isfinite(pulse->snr)) {
        uint64_t side = PULSE_AROUND * pulse->width;
        uint64_t middle = pulse->first + pulse->width / 2;
        uint64_t first = max_u64(p->first, middle > side ? middle - side : 0);
        uint64_t end = min_u64(p->first + p->count, middle + side);
        free(title);
        title = NULL;
        TRY(memory_format(&title, "the best: signal / noise %.3g at %.9g s, %llu %s wide, DM %.9g",
                          pulse->snr, (double)pulse->first * step, (unsigned long long)pulse->width,
                          pulse->width > 1 ? "samples" : "sample", dm));
        TRY(series_add_samples(p, "pulse", title, first, end - first, out));
    }
out:
    free(title);
    return st;
}
