/* From a file to a figure, from a figure to a picture. */
#include "plot/plot.h"

#include "base/memory.h"
#include "io/file.h"
#include "plot/bursts/bursts.h"
#include "plot/draw/gnuplot.h"
#include "plot/draw/numbers.h"
#include "plot/draw/publish.h"
#include "plot/draw/script.h"
#include "plot/from/choice.h"
#include "plot/from/from_product.h"
#include "plot/tables/tables.h"
#include "product/product.h"
#include "product/sheet.h"

#include <stdlib.h>
#include <string.h>

enum { PANEL_HEIGHT = 90, ABOVE = 90, LETTER = 15 };

/* Somebody's dedispersed series say so by their dataset. */
static status_t plot_is_series(const char *path, int *out)
{
    struct sheet *sheet = NULL;
    status_t st = sheet_open(path, "dedispersed", &sheet);
    *out = sheet != NULL;
    sheet_close(sheet);
    return report_forgive(st);
}

status_t plot_product(const char *path, const struct plot_choice *choice, struct figure *out)
{
    status_t st = STATUS_OK;
    struct bank *bank = NULL;
    struct product *product = NULL;
    int is_series = 0;
    st = product_open(path, &product);
    TRY(report_forgive(
        st)); /* perhaps a filterbank that is no HDF5: its reader says what is wrong */
    TRY(product ? STATUS_OK : plot_is_series(path, &is_series));
    REQUIRE(!choice->has_candidate || (product && product->kind == PRODUCT_CANDIDATES),
            STATUS_USAGE, "%s: --candidate is for what dedisperse.search has found", path);
    if (is_series || (product && product->kind == PRODUCT_DEDISPERSED)) {
        TRY(from_series(path, choice, out));
    } else if (product && product->kind == PRODUCT_CANDIDATES) {
        TRY(from_candidates(product, choice, out));
    } else if (product && product->kind == PRODUCT_VOLTAGES) {
        FAIL(STATUS_USAGE, "%s: voltages, expected power, spectra or dedispersed series", path);
    } else {
        int is_spectra = product && product->kind == PRODUCT_SPECTRA;
        struct product *given = is_spectra ? product : NULL;
        product = is_spectra ? NULL : product;
        TRY(bank_open(path, given, choice->external, &bank));
        TRY(from_bank(bank, choice, out));
    }
out:
    bank_close(bank);
    product_destroy(product);
    return st;
}

static status_t plot_gather(const struct plot_options *o, struct figure *out)
{
    switch (o->of) {
    case PLOT_FILTER:
        return from_filter(o->files[0], o->sets, o->nsets, out);
    case PLOT_BENCH:
        return from_bench(o->files, o->nfiles, out);
    case PLOT_TUNER:
        return from_tuner(o->files[0], out);
    default:
        return plot_product(o->files[0], &o->choice, out);
    }
}

/* As large as its panels ask for. */
static struct picture plot_size(const struct plot_options *o, const struct figure *figure,
                                enum picture_kind kind)
{
    struct picture picture = {kind, o->choice.width, o->choice.height, LETTER};
    double most = 0;
    for (uint32_t column = 0; column < figure->columns; column++) {
        double height = 0;
        for (size_t i = 0; i < figure->count; i++) {
            if (figure->panels[i].column == column) {
                height += PANEL_HEIGHT * figure->panels[i].share + ABOVE;
            }
        }
        most = height > most ? height : most;
    }
    if (!picture.width) {
        picture.width = choice_default_width(figure->columns);
        picture.height = (uint32_t)most + 50;
    }
    return picture;
}

/* Numbers are neither the picture, nor what it is called while it is written. */
static status_t plot_check_apart(const char *output, const char *data)
{
    status_t st = STATUS_OK;
    char *part = NULL;
    TRY(file_part_name(output, &part));
    const char *const names[] = {output, part};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int is_same = 0;
        TRY(file_is_same(names[i], data, &is_same));
        REQUIRE(!is_same, STATUS_USAGE, "%s: picture and numbers cannot be one file", names[i]);
    }
out:
    free(part);
    return st;
}

/* Nothing that is read is written, nor both to one file. */
static status_t plot_protect(const struct plot_options *o, const char *output, struct guard *guard)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < o->nfiles; i++) {
        TRY(guard_add(guard, "the input file", o->files[i]));
    }
    TRY(guard_check_part(guard, "the output", output));
    TRY(file_check_new(output, 1)); /* what is there may be the same */
    if (o->data) {
        TRY(guard_check_part(guard, "the output", o->data));
        TRY(file_check_new(o->data, 1));
        TRY(plot_check_apart(output, o->data));
    }
out:
    return st;
}

static status_t plot_name(const struct plot_options *o, char **out, enum picture_kind *kind)
{
    status_t st = STATUS_OK;
    const char *first = o->files[0];
    const char *base = text_basename(first);
    const char *dot = strrchr(base, '.');
    int length = (int)(dot && dot > base ? (size_t)(dot - first) : strlen(first));
    TRY(o->output ? memory_text(o->output, out) : memory_format(out, "%.*s.png", length, first));
    REQUIRE(picture_kind_of(*out, kind), STATUS_USAGE,
            "%s: expected a name that ends in .png or .svg", *out);
out:
    return st;
}

/* What a panel of a search's best pulse says above itself. */
static status_t plot_say_best(const struct figure *figure, struct text *said)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < figure->count; i++) {
        const struct panel *panel = &figure->panels[i];
        TRY(strcmp(panel->name, "pulse") == 0 ? text_add(said, "%s\n", panel->title) : STATUS_OK);
    }
out:
    return st;
}

/* *were_before stays if this file was there already. */
static status_t plot_publish(const struct plot_options *o, const char *path,
                             const struct text *text, const struct guard *guard, int *were_before)
{
    int is_before = 0;
    const struct publish what = {.path = path, .text = text, .mark = MARK_PLOT, .force = o->force};
    status_t st = publish(&what, guard, &is_before);
    *were_before = *were_before && is_before;
    return st;
}

status_t plot_make(const struct plot_options *o, struct text *said)
{
    status_t st = STATUS_OK;
    struct guard guard = {.count = 0};
    struct figure figure = {.count = 0};
    struct text script = {0};
    struct text picture = {0};
    struct text numbers = {0};
    char *output = NULL;
    enum picture_kind kind;
    int is_before = 1;
    TRY(plot_name(o, &output, &kind));
    TRY(plot_protect(o, output, &guard));
    TRY(gnuplot_check());
    TRY(plot_gather(o, &figure));
    struct picture size = plot_size(o, &figure, kind);
    TRY(script_write(&figure, &size, &script));
    TRY(gnuplot_run(&script, &picture));
    if (o->data) {
        TRY(numbers_write(&figure, &numbers));
        TRY(plot_publish(o, o->data, &numbers, &guard, &is_before));
    }
    TRY(plot_publish(o, output, &picture, &guard, &is_before));
    if (is_before) {
        TRY(text_add_shown(said, "complete before: %s\n", output));
        goto out;
    }
    TRY(text_add_shown(said, "%s: %u x %u pixels\n", output, size.width, size.height));
    TRY(plot_say_best(&figure, said));
out:
    guard_free(&guard);
    figure_free(&figure);
    text_free(&script);
    text_free(&picture);
    text_free(&numbers);
    free(output);
    return st;
}
