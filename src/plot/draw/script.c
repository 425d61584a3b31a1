/* Panels stand where this file says, to the pixel, so that axes of one column lie above each other
 * whatever their numbers are. Numbers follow their command as they are in memory. */
#include "plot/draw/script.h"

#include "plot/draw/axes.h"
#include "plot/draw/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Colours that people of all eyes tell apart (Okabe, Ito 2008), the first one black. */
static const char *const colours[] = {"#000000", "#0072b2", "#d55e00", "#009e73",
                                      "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"};
enum { COLOURS = sizeof colours / sizeof *colours };

static const char blank[] = "#35b0a7"; /* of NaN: in none of the palettes */

static const char *const palettes[] = {
    [PALETTE_LEVEL] = "0 '#000004', 0.13 '#1d1147', 0.25 '#51127c', 0.38 '#822681', 0.5 '#b63679', "
                      "0.63 '#e65164', 0.75 '#fb8861', 0.88 '#fec287', 1 '#fcfdbf'",
    [PALETTE_ABOUT] = "0 '#053061', 0.25 '#4393c3', 0.5 '#f7f7f7', 0.75 '#d6604d', 1 '#67001f'"};

/* Where a panel's axes are, in pixels from the lower left corner. */
struct place {
    double left, right, bottom, top;
};

int picture_kind_of(const char *path, enum picture_kind *out)
{
    const char *dot = strrchr(path, '.');
    *out = dot && strcasecmp(dot, ".svg") == 0 ? PICTURE_SVG : PICTURE_PNG;
    return dot && (*out == PICTURE_SVG || strcasecmp(dot, ".png") == 0);
}

static status_t script_begin(const struct picture *p, struct text *script)
{
    status_t st = STATUS_OK;
    /* A point of the PNG is 4/3 pixels; SVG's are pixels. */
    double points = p->kind == PICTURE_PNG ? 0.75 * p->letter : p->letter;
    TRY(text_add(script,
                 "set terminal %s noenhanced size %u,%u background '#ffffff' font "
                 "'Sans,%.4g' linewidth 1\nset encoding utf8\n",
                 p->kind == PICTURE_PNG ? "pngcairo" : "svg standalone", p->width, p->height,
                 points));
    TRY(text_add(script, "set border linecolor rgb '#404040'\nset tics nomirror out scale 0.6\n"
                         "set style data lines\n"));
out:
    return st;
}

static status_t script_place(const struct place *place, const struct picture *p,
                             struct text *script)
{
    return text_add(script,
                    "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
                    "set bmargin at screen %.6f\nset tmargin at screen %.6f\n",
                    place->left / p->width, place->right / p->width, place->bottom / p->height,
                    place->top / p->height);
}

/* gnuplot draws no image of less than 2 x 2 pixels: one of them is said twice. */
static uint32_t script_twice(uint32_t pixels)
{
    return pixels > 1 ? pixels : 2;
}

/* Numbers below the range are as dark as it gets, -infinity (the level of 0) too. */
static status_t script_pixels(const struct panel *panel, struct text *script)
{
    status_t st = STATUS_OK;
    uint32_t width = script_twice(panel->width);
    size_t all = (size_t)width * script_twice(panel->height);
    for (size_t i = 0; i < all; i++) {
        size_t x = i % width * panel->width / width;
        size_t y = panel->height > 1 ? i / width : 0;
        double value = (double)panel->image[y * panel->width + x];
        float kept = isnan(value) ? NAN : (float)fmin(fmax(value, panel->z.from), panel->z.to);
        TRY(text_add_bytes(script, (const char *)&kept, sizeof kept));
    }
    TRY(text_add(script, "\n"));
out:
    return st;
}

static status_t script_image(const struct panel *panel, const struct place *place,
                             const struct picture *p, struct text *script)
{
    status_t st = STATUS_OK;
    uint32_t width = script_twice(panel->width);
    uint32_t height = script_twice(panel->height);
    double dx = (panel->x.to - panel->x.from) / width;
    double dy = (panel->y.to - panel->y.from) / height;
    double at = place->right + p->letter;
    TRY(text_add(script, "set palette defined (%s)\nset cbrange [%.9g:%.9g]\nset cblabel ",
                 palettes[panel->palette], panel->z.from, panel->z.to));
    TRY(gnuplot_quote(script, panel->z.label ? panel->z.label : ""));
    TRY(text_add(
        script,
        " offset 0.8,0\nset colorbox user origin screen %.6f, screen %.6f size screen %.6f, "
        "screen %.6f noborder\n",
        at / p->width, place->bottom / p->height, p->letter / p->width,
        (place->top - place->bottom) / p->height));
    TRY(axes_tics("cb", &panel->z, place->top - place->bottom, p->letter, 0, script));
    TRY(text_add(script,
                 "set object 1 rectangle from graph 0,0 to graph 1,1 behind fillcolor rgb "
                 "'%s' fillstyle solid noborder\n",
                 blank));
    TRY(text_add(script,
                 "plot '-' binary array=(%u,%u) dx=%.17g dy=%.17g origin=(%.17g,%.17g) "
                 "format='%%float32' using 1 with image notitle\n",
                 width, height, dx, dy, panel->x.from + dx / 2, panel->y.from + dy / 2));
    TRY(script_pixels(panel, script));
    TRY(text_add(script, "unset object 1\nunset colorbox\n"));
out:
    return st;
}

static const char *script_look(enum look look)
{
    static const char *const looks[] = {[LOOK_LINE] = "lines linewidth 1.2",
                                        [LOOK_FAINT] = "lines linewidth 0.8",
                                        [LOOK_DASHED] = "lines dashtype 2 linewidth 1",
                                        [LOOK_MARKED] = "linespoints pointtype 7 pointsize 0.6",
                                        [LOOK_POINTS] = "points pointtype 7 pointsize 0.4",
                                        [LOOK_DRAWN] = "lines linewidth 2"};
    return looks[look];
}

/* gnuplot complains of lines that are NaN alone. */
static int script_has_points(const struct plot_line *line)
{
    for (size_t j = 0; j < line->count; j++) {
        if (isfinite(line->x[j]) && isfinite(line->y[j])) {
            return 1;
        }
    }
    return 0;
}

static status_t script_line(const struct plot_line *line, struct text *script)
{
    status_t st = STATUS_OK;
    TRY(text_add(script,
                 ", '-' binary record=(%zu) format='%%float64%%float64' using 1:2 with %s "
                 "linecolor rgb '%s' ",
                 line->count, script_look(line->count > 1 ? line->look : LOOK_POINTS),
                 colours[line->colour % COLOURS]));
    TRY(text_add(script, line->title ? "title " : "notitle"));
    TRY(line->title ? gnuplot_quote(script, line->title) : STATUS_OK);
out:
    return st;
}

/* The command first, then the numbers of each line. */
static status_t script_lines(const struct panel *panel, struct text *script)
{
    status_t st = STATUS_OK;
    TRY(text_add(script, "set grid xtics ytics linetype 1 linecolor rgb '#e0e0e0' linewidth 0.6\n"
                         "plot NaN notitle"));
    for (size_t i = 0; i < panel->nlines; i++) {
        TRY(script_has_points(&panel->lines[i]) ? script_line(&panel->lines[i], script)
                                                : STATUS_OK);
    }
    TRY(text_add(script, "\n"));
    for (size_t i = 0; i < panel->nlines; i++) {
        const struct plot_line *line = &panel->lines[i];
        size_t count = script_has_points(line) ? line->count : 0;
        for (size_t j = 0; j < count; j++) {
            double point[2] = {line->x[j], isfinite(line->y[j]) ? line->y[j] : NAN};
            TRY(text_add_bytes(script, (const char *)point, sizeof point));
        }
    }
    TRY(text_add(script, "\nunset grid\n"));
out:
    return st;
}

/* How wide the widest entry of a panel's key is, in pixels, and how many there are. */
static double script_key(const struct panel *panel, double letter, double *count)
{
    double widest = 0;
    *count = 0;
    for (size_t i = 0; i < panel->nlines; i++) {
        const char *title = panel->lines[i].title;
        *count += title != NULL;
        widest = fmax(widest, title ? (0.58 * (double)strlen(title) + 3.8) * letter : 0);
    }
    return widest;
}

/* The key is beside the title, its entries in columns of one width, or right of the panel where
 * there is no room. */
static int script_is_key_aside(const struct panel *panel, double room, double letter)
{
    double count;
    double widest = script_key(panel, letter, &count);
    double title = 0.58 * letter * (double)strlen(panel->title ? panel->title : "");
    return count * widest + title > room;
}

static status_t script_heads(const struct panel *panel, const struct place *place,
                             const struct picture *p, struct text *script)
{
    status_t st = STATUS_OK;
    double y = (place->top + 0.75 * p->letter) / p->height;
    TRY(text_add(script, "set label 1 "));
    TRY(gnuplot_quote(script, panel->title ? panel->title : ""));
    TRY(text_add(script, " at screen %.6f, screen %.6f left\n", place->left / p->width, y));
    if (figure_has_blanks(panel)) {
        TRY(text_add(script,
                     "set label 3 '■ no numbers' at screen %.6f, screen %.6f right "
                     "textcolor rgb '%s'\n",
                     place->right / p->width, y, blank));
    }
    if (script_is_key_aside(panel, place->right - place->left, p->letter)) {
        TRY(text_add(script,
                     "set key at screen %.6f, screen %.6f left top vertical reverse Left "
                     "maxcols 1 maxrows auto samplen 2\n",
                     (place->right + 0.5 * p->letter) / p->width, place->top / p->height));
    } else {
        TRY(text_add(script,
                     "set key at screen %.6f, screen %.6f right center horizontal "
                     "noreverse Right maxcols auto maxrows 1 samplen 2\n",
                     place->right / p->width, y));
    }
out:
    return st;
}

static status_t script_panel(const struct panel *panel, const struct place *place,
                             const struct picture *p, struct text *script)
{
    status_t st = STATUS_OK;
    struct plot_axis x = axes_range(panel, 0);
    struct plot_axis y = axes_range(panel, 1);
    TRY(script_place(place, p, script));
    TRY(axes_write("x", &x, place->right - place->left, p->letter, script));
    TRY(p->kind == PICTURE_SVG ? text_add(script, "set xlabel offset 0,0.7\n") : STATUS_OK);
    TRY(axes_write("y", &y, place->top - place->bottom, p->letter, script));
    TRY(script_heads(panel, place, p, script));
    TRY(panel->image ? script_image(panel, place, p, script) : script_lines(panel, script));
    TRY(text_add(script, "unset label\n"));
out:
    return st;
}

static uint32_t script_count_lines(const char *text)
{
    uint32_t lines = 0;
    for (; text && *text; text++) {
        lines += *text == '\n';
    }
    return text ? lines + 1 : 0;
}

/* What stands right of a column's panels: colours, or keys. */
static double script_aside(const struct figure *figure, uint32_t column, double width, double u)
{
    double aside = 1.5 * u;
    for (size_t i = 0; i < figure->count; i++) {
        const struct panel *panel = &figure->panels[i];
        double count;
        double widest = script_key(panel, u, &count);
        if (panel->column == column && panel->image) {
            aside = fmax(aside, 8.5 * u); /* keys of bandpasses fit there, too */
        } else if (panel->column == column && script_is_key_aside(panel, width - 8 * u, u)) {
            aside = fmax(aside, fmin(widest + u, 0.45 * width));
        }
    }
    return aside;
}

/* Panels of a column share its height; under each is room for its axis, above for its title. */
static status_t script_column(const struct figure *figure, uint32_t column, const struct picture *p,
                              double top, struct text *script)
{
    status_t st = STATUS_OK;
    const double u = p->letter;
    const double above = 1.7 * u;
    const double below = 4.2 * u;
    double width = (double)p->width / figure->columns;
    double aside = script_aside(figure, column, width, u);
    double shares = 0;
    double at = top;
    for (size_t i = 0; i < figure->count; i++) {
        if (figure->panels[i].column == column) {
            shares += figure->panels[i].share;
            top -= above + below;
        }
    }
    for (size_t i = 0; i < figure->count; i++) {
        const struct panel *panel = &figure->panels[i];
        if (panel->column == column) {
            double height = fmax(u, top * panel->share / shares);
            struct place place = {.left = column * width + 6.8 * u,
                                  .right = (column + 1) * width - aside,
                                  .top = at - above,
                                  .bottom = at - above - height};
            TRY(script_panel(panel, &place, p, script));
            at -= above + height + below;
        }
    }
out:
    return st;
}

status_t script_write(const struct figure *figure, const struct picture *p, struct text *script)
{
    status_t st = STATUS_OK;
    double title = 1.4 * p->letter * script_count_lines(figure->title) + 0.4 * p->letter;
    TRY(script_begin(p, script));
    TRY(text_add(script, "set multiplot\n"));
    if (figure->title) {
        TRY(text_add(script, "set label 2 ")); /* until the first panel is drawn */
        TRY(gnuplot_quote(script, figure->title));
        TRY(text_add(script, " at screen %.6f, screen %.6f left\n", p->letter / p->width,
                     1 - p->letter / p->height));
    }
    for (uint32_t column = 0; column < figure->columns; column++) {
        TRY(script_column(figure, column, p, p->height - title, script));
    }
    TRY(text_add(script, "unset multiplot\nunset output\n"));
out:
    return st;
}
