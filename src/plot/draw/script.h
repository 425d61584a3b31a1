/* Figures in gnuplot's language. */
#ifndef VOLTMILL_PLOT_DRAW_SCRIPT_H
#define VOLTMILL_PLOT_DRAW_SCRIPT_H

#include "base/text.h"
#include "plot/draw/figure.h"

enum picture_kind { PICTURE_PNG, PICTURE_SVG };

struct picture {
    enum picture_kind kind;
    uint32_t width, height; /* pixels */
    double letter;          /* height of letters, pixels */
};

/* The kind of picture that a file of this name is; 0: of none. */
int picture_kind_of(const char *path, enum picture_kind *out);

/* Appends all that gnuplot needs to draw it, numbers included. Fails with DEVICE (memory). */
status_t script_write(const struct figure *figure, const struct picture *picture,
                      struct text *script);

#endif
