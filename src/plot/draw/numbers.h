/* The numbers of a figure as a table of comma-separated values, for who draws them otherwise. */
#ifndef VOLTMILL_PLOT_DRAW_NUMBERS_H
#define VOLTMILL_PLOT_DRAW_NUMBERS_H

#include "base/text.h"
#include "plot/draw/figure.h"

/* Appends "panel,title,line,x,y,value" and a row for each point of a line (its value is y, and y is
 * empty) and for each pixel, by its middle. Fails with DEVICE (memory). */
status_t numbers_write(const struct figure *figure, struct text *out);

#endif
