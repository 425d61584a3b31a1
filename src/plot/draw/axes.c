/* Steps of 1, 2 or 5, as many as there is room for. */
#include "plot/draw/axes.h"

#include "plot/draw/gnuplot.h"

#include <math.h>

/* A step of 1, 2 or 5 times a power of ten for at most `most` steps. */
static double axes_step(double span, double most)
{
    double least = span / most;
    double power = pow(10, floor(log10(least)));
    double digit = least / power;
    return power * (digit <= 1 + 1e-9 ? 1 : digit <= 2 + 1e-9 ? 2 : digit <= 5 + 1e-9 ? 5 : 10);
}

/* That tell numbers a step apart from each other. */
static int axes_decimals(double step)
{
    return (int)fmax(0, ceil(-log10(step) - 1e-9));
}

/* The labels of a linear axis with a known range: all of their digits differ, and they do not
 * touch. `room`: pixels of the axis, `wide` of a letter along it (0: lines of text above each
 * other). */
status_t axes_tics(const char *name, const struct plot_axis *axis, double room, double letter,
                   int is_wide, struct text *script)
{
    status_t st = STATUS_OK;
    double span = axis->to - axis->from;
    double most = fmax(room / (1.8 * letter), 3);
    double step = axes_step(span, most);
    double large = fmax(fabs(axis->from), fabs(axis->to));
    int decimals = axes_decimals(step);
    for (int i = 0; i < 2 && is_wide;
         i++) { /* fewer labels need fewer digits, and less room each */
        double letters =
            decimals + 2 + fmax(1, floor(log10(fmax(large, 1))) + 1) + (axis->from < 0);
        most = fmin(room / (0.62 * letter * letters + letter), 10);
        step = axes_step(span, fmax(most, 1.5));
        decimals = axes_decimals(step);
    }
    if (!is_wide && large >= 1e5) { /* as 1.5M: there is no room beside the axis */
        double unit = pow(1000, floor(log10(large) / 3));
        TRY(text_add(script, "set %stics %.17g\nset format %s '%%.%ds%%c'\n", name, step, name,
                     axes_decimals(step / unit)));
    } else if (large >= 1e7 || decimals > 9) {
        TRY(text_add(script, "set %stics autofreq\nset format %s '%%g'\n", name, name));
    } else {
        TRY(text_add(script, "set %stics %.17g\nset format %s '%%.%df'\n", name, step, name,
                     decimals));
    }
out:
    return st;
}

status_t axes_write(const char *name, const struct plot_axis *axis, double room, double letter,
                    struct text *script)
{
    status_t st = STATUS_OK;
    TRY(text_add(script, "set %slabel ", name));
    TRY(gnuplot_quote(script, axis->label ? axis->label : ""));
    TRY(text_add(script, " offset 0,%s\n", *name == 'x' ? "0.4" : "0"));
    if (axis->base > 0) {
        TRY(text_add(script, "set logscale %s %g\nset %stics autofreq\nset format %s '%%g'\n", name,
                     axis->base, name, name));
    } else {
        TRY(text_add(script, "unset logscale %s\n", name));
        TRY(axes_tics(name, axis, room, letter, *name == 'x', script));
    }
    if (axis->to > axis->from) {
        TRY(text_add(script, "set %srange [%.17g:%.17g]\n", name, axis->from, axis->to));
    } else {
        TRY(text_add(script, "set %srange [*:*]\n", name));
    }
out:
    return st;
}

/* Where the numbers of a panel's lines lie, with some room at both sides: gnuplot would round it,
 * and choose labels of any width. `side` 0: x, 1: y. */
struct plot_axis axes_range(const struct panel *panel, int side)
{
    struct plot_axis axis = side ? panel->y : panel->x;
    double least = INFINITY;
    double most = -INFINITY;
    if (axis.to > axis.from || axis.base > 0) {
        return axis;
    }
    for (size_t i = 0; i < panel->nlines; i++) {
        const double *values = side ? panel->lines[i].y : panel->lines[i].x;
        for (size_t j = 0; j < panel->lines[i].count; j++) {
            least = isfinite(values[j]) ? fmin(least, values[j]) : least;
            most = isfinite(values[j]) ? fmax(most, values[j]) : most;
        }
    }
    least = isfinite(least) ? least : 0;
    most = isfinite(most) ? most : 1;
    double around = most > least ? 0.06 * (most - least) : fmax(0.1 * fabs(most), 1e-3);
    axis.from = least - around;
    axis.to = most + around;
    return axis;
}
