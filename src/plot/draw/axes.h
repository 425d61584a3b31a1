/* Axes in gnuplot's language, with labels of numbers that differ and do not touch each other. */
#ifndef VOLTMILL_PLOT_DRAW_AXES_H
#define VOLTMILL_PLOT_DRAW_AXES_H

#include "base/text.h"
#include "plot/draw/figure.h"

/* The axis of a panel, 0: x, 1: y; where it has no range that of its lines' numbers, with some room
 * at both sides: gnuplot would round it, and choose labels of any width. */
struct plot_axis axes_range(const struct panel *panel, int side);

/* Appends label, range and labels of axis `name`, which is `room` pixels long; `letter` is the
 * height of letters in pixels. Fails with DEVICE (memory). */
status_t axes_write(const char *name, const struct plot_axis *axis, double room, double letter,
                    struct text *script);

/* The same of a linear axis' labels alone. is_wide: they stand beside each other. */
status_t axes_tics(const char *name, const struct plot_axis *axis, double room, double letter,
                   int is_wide, struct text *script);

#endif
