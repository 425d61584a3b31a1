/* One long table, as programs for data like it. */
#include "plot/draw/numbers.h"

#include "base/display.h"

#include <string.h>

/* A field between quotes, which are doubled inside. */
static status_t numbers_add_field(struct text *out, const char *text)
{
    status_t st = STATUS_OK;
    char shown[1024];
    display_format(shown, sizeof shown, "%s,", text ? text : "");
    if (!strpbrk(shown, "\",") || strchr(shown, ',') == shown + strlen(shown) - 1) {
        TRY(text_add(out, "%s", shown));
    } else {
        shown[strlen(shown) - 1] = '\0';
        TRY(text_add(out, "\""));
        for (const char *at = shown; *at; at++) {
            TRY(text_add(out, *at == '"' ? "\"\"" : "%c", *at));
        }
        TRY(text_add(out, "\","));
    }
out:
    return st;
}

static status_t numbers_add_names(struct text *out, const struct panel *panel, const char *line)
{
    status_t st = STATUS_OK;
    TRY(numbers_add_field(out, panel->name));
    TRY(numbers_add_field(out, panel->title));
    TRY(numbers_add_field(out, line));
out:
    return st;
}

static status_t numbers_add_image(struct text *out, const struct panel *panel)
{
    status_t st = STATUS_OK;
    struct text names = {0};
    double dx = (panel->x.to - panel->x.from) / panel->width;
    double dy = (panel->y.to - panel->y.from) / panel->height;
    TRY(numbers_add_names(&names, panel, NULL));
    for (uint32_t j = 0; j < panel->height; j++) {
        for (uint32_t i = 0; i < panel->width; i++) {
            TRY(text_add(out, "%s%.12g,%.12g,%.9g\n", names.data, panel->x.from + (i + 0.5) * dx,
                         panel->y.from + (j + 0.5) * dy,
                         (double)panel->image[(size_t)j * panel->width + i]));
        }
    }
out:
    text_free(&names);
    return st;
}

status_t numbers_write(const struct figure *figure, struct text *out)
{
    status_t st = STATUS_OK;
    struct text names = {0};
    TRY(text_add(out, "panel,title,line,x,y,value\n"));
    for (size_t k = 0; k < figure->count; k++) {
        const struct panel *panel = &figure->panels[k];
        TRY(panel->image ? numbers_add_image(out, panel) : STATUS_OK);
        for (size_t i = 0; i < panel->nlines; i++) {
            const struct plot_line *line = &panel->lines[i];
            text_free(&names);
            TRY(numbers_add_names(&names, panel, line->title));
            for (size_t j = 0; j < line->count; j++) {
                TRY(text_add(out, "%s%.12g,,%.12g\n", names.data, line->x[j], line->y[j]));
            }
        }
    }
out:
    text_free(&names);
    return st;
}
