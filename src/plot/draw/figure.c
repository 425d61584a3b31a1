/* Panels and lines as lists that grow; ranges of colours that outliers do not move. */
#include "plot/draw/figure.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

status_t figure_panel(struct figure *figure, const char *name, double share, struct panel **out)
{
    status_t st = STATUS_OK;
    struct panel *grown = realloc(figure->panels, (figure->count + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: a picture");
    figure->panels = grown;
    figure->columns = figure->columns ? figure->columns : 1;
    *out = &grown[figure->count++];
    **out = (struct panel){.name = name, .share = share};
out:
    return st;
}

status_t figure_label(struct plot_axis *axis, const char *label)
{
    free(axis->label);
    axis->label = NULL;
    return memory_text(label, &axis->label);
}

status_t figure_line(struct panel *panel, const char *title, size_t count, enum look look,
                     uint32_t colour, struct plot_line **out)
{
    status_t st = STATUS_OK;
    struct plot_line *grown = realloc(panel->lines, (panel->nlines + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: a picture");
    panel->lines = grown;
    *out = &grown[panel->nlines++];
    **out = (struct plot_line){.count = count, .look = look, .colour = colour};
    TRY(memory_text(title, &(*out)->title));
    TRY(memory_zeroed(count, sizeof(double), "a line of a picture", &(*out)->x));
    TRY(memory_zeroed(count, sizeof(double), "a line of a picture", &(*out)->y));
out:
    return st;
}

status_t figure_image(struct panel *panel, uint32_t width, uint32_t height)
{
    panel->width = width;
    panel->height = height;
    return memory_zeroed((size_t)width * height, sizeof(float), "an image", &panel->image);
}

void figure_free(struct figure *figure)
{
    for (size_t i = 0; i < figure->count; i++) {
        struct panel *panel = &figure->panels[i];
        for (size_t j = 0; j < panel->nlines; j++) {
            free(panel->lines[j].title);
            free(panel->lines[j].x);
            free(panel->lines[j].y);
        }
        free(panel->lines);
        free(panel->image);
        free(panel->title);
        free(panel->x.label);
        free(panel->y.label);
        free(panel->z.label);
    }
    free(figure->panels);
    free(figure->title);
    *figure = (struct figure){0};
}

static int figure_compare(const void *left, const void *right)
{
    float a = *(const float *)left;
    float b = *(const float *)right;
    return (a > b) - (a < b);
}

status_t figure_settle_colours(struct panel *panel, double least)
{
    status_t st = STATUS_OK;
    size_t all = (size_t)panel->width * panel->height;
    size_t count = 0;
    float *sorted = NULL;
    TRY(memory_zeroed(all, sizeof *sorted, "an image", &sorted));
    for (size_t i = 0; i < all; i++) {
        if (isfinite(panel->image[i])) {
            sorted[count++] = panel->image[i];
        }
    }
    qsort(sorted, count, sizeof *sorted, figure_compare);
    panel->z.from = count ? (double)sorted[(size_t)(0.01 * (double)(count - 1))] : 0;
    panel->z.to = count ? (double)sorted[(size_t)(0.995 * (double)(count - 1))] : 0;
    double missing = least - (panel->z.to - panel->z.from);
    if (missing > 0) {
        panel->z.from -= missing / 2;
        panel->z.to += missing / 2;
    }
out:
    free(sorted);
    return st;
}

int figure_has_blanks(const struct panel *panel)
{
    for (size_t i = 0; panel->image && i < (size_t)panel->width * panel->height; i++) {
        if (isnan(panel->image[i])) {
            return 1;
        }
    }
    return 0;
}
