/* A picture before it is drawn: panels with axes, each with an image or lines in the units of its
 * axes. Who makes figures knows nothing of who draws them (plot/draw/script.h) or writes their
 * numbers (plot/draw/numbers.h). */
#ifndef VOLTMILL_PLOT_DRAW_FIGURE_H
#define VOLTMILL_PLOT_DRAW_FIGURE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum palette {
    PALETTE_LEVEL, /* from dark to light */
    PALETTE_ABOUT  /* blue below, white at, red above the middle of the range */
};

enum look { LOOK_LINE, LOOK_FAINT, LOOK_DASHED, LOOK_MARKED, LOOK_POINTS, LOOK_DRAWN };

struct plot_line {
    char *title; /* NULL: not in the key */
    double *x, *y;
    size_t count;
    enum look look;
    uint32_t colour; /* which of the palette of lines (plot/draw/script.c) */
};

struct plot_axis {
    char *label;
    double from, to; /* to <= from: as the numbers ask for */
    double base;     /* of a logarithmic axis, 2 or 10; 0: linear */
};

/* An image's pixel [j][i] is of x.from + (i + 0 .. 1) (x.to - x.from) / width, and y likewise; NaN
 * has a colour of its own. */
struct panel {
    const char *name; /* what --kind calls it */
    char *title;      /* NULL: none */
    struct plot_axis x, y, z;
    enum palette palette;
    float *image; /* [height][width]; NULL: lines */
    uint32_t width, height;
    struct plot_line *lines;
    size_t nlines;
    uint32_t column; /* of the figure, in which panels stand below each other */
    double share;    /* of the column's height, relative to the others */
};

/* Begins as {0}; figure_free() in any case. */
struct figure {
    char *title; /* lines; NULL: none */
    struct panel *panels;
    size_t count;
    uint32_t columns; /* >= 1 once there is a panel */
};

/* A new panel at the end, to be filled. All fail with DEVICE (memory). */
status_t figure_panel(struct figure *figure, const char *name, double share, struct panel **out);
status_t figure_label(struct plot_axis *axis, const char *label);
/* A line of `count` points, to be filled. `title` may be NULL. */
status_t figure_line(struct panel *panel, const char *title, size_t count, enum look look,
                     uint32_t colour, struct plot_line **out);
status_t figure_image(struct panel *panel, uint32_t width, uint32_t height);
void figure_free(struct figure *figure);

/* The range of an image's colours: what all but the least 1 % and the greatest 0.5 % of its finite
 * numbers fill, at least `least` wide. Fails with DEVICE (memory). */
status_t figure_settle_colours(struct panel *panel, double least);
/* Whether some pixel is NaN. */
int figure_has_blanks(const struct panel *panel);

#endif
