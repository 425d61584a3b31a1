/* Tables of products, and their pictures. A picture that fails never stops the page. */
#include "plot/glance.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/file.h"
#include "plot/drawing.h"
#include "plot/page.h"
#include "product/kind/dedispersed.h"
#include "product/product.h"
#include "product/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 30 }; /* of a product that is read for its pictures */

/* Memory is the only failure that may stop the page; others are said on it. */
static status_t glance_excuse(struct glance *glance, status_t st, const char *what)
{
    struct text words = {0};
    if (st == STATUS_OK) {
        return st;
    }
    st = text_add_shown(&words, "%s: no picture: %s", what, report_cause());
    report_clear();
    TRY(st);
    TRY(page_paragraph(glance->page, words.data));
    report_warn("%s", words.data);
out:
    text_free(&words);
    return st;
}

/* Pictures of a product (`path`) or of the job's filter bank. Without Python there is one warning
 * for all. */
static status_t glance_draw(struct glance *glance, const struct drawing *drawing, const char *what)
{
    struct drawn drawn = {.said = {0}};
    status_t st = drawing_make(drawing, &drawn);
    if (st == STATUS_OK) {
        st = text_add_bytes(glance->page, drawn.picture.data, drawn.picture.length);
    } else {
        glance->is_blind = st == STATUS_DEVICE;
        st = glance_excuse(glance, st, glance->is_blind ? "report" : what);
    }
    drawn_free(&drawn);
    return st;
}

/* The mean of all weights. */
static status_t glance_weigh(const char *path, double *out)
{
    status_t st = STATUS_OK;
    struct sheet *sheet = NULL;
    float *row = NULL;
    double sum = 0;
    double count = 0;
    *out = NAN;
    TRY(sheet_open(path, "weights", &sheet));
    if (!sheet) {
        goto out;
    }
    enum { READ = 1 << 20 };
    uint64_t rows = max_u64(1, READ / sheet->nchannels);
    TRY(memory_aligned((size_t)(rows * sheet->nchannels), sizeof *row, "weights", &row));
    for (uint64_t at = 0; at < sheet->rows; at += rows) {
        uint64_t here = min_u64(rows, sheet->rows - at);
        for (uint64_t i = 0; i < sheet->nifs; i++) {
            TRY(sheet_read(sheet, at, here, i, 0, sheet->nchannels, row));
            for (uint64_t k = 0; k < here * sheet->nchannels; k++) {
                sum += (double)row[k];
            }
            count += (double)(here * sheet->nchannels);
        }
    }
    *out = sum / count;
out:
    free(row);
    sheet_close(sheet);
    return st;
}

static status_t glance_add_losses(struct glance *glance, const struct product *p)
{
    status_t st = STATUS_OK;
    char text[2 * UNITS_TEXT];
    uint64_t holes = 0;
    double weight = NAN;
    int fd = -1;
    if (p->kind != PRODUCT_VOLTAGES) {
        TRY(file_open_read(p->path, &fd));
        TRY(product_count_holes(fd, p->path, &p->place, &holes));
    }
    TRY(page_row(glance->page, "missing samples", units_count(p->missing, text)));
    TRY(page_row(glance->page, "samples in gaps", units_count(p->gaps, text)));
    if (p->kind != PRODUCT_VOLTAGES) {
        TRY(page_row(glance->page, "rows with NaN for unread input", units_count(holes, text)));
    } else {
        TRY(page_row(glance->page, "clipped numbers", units_count(p->clipped, text)));
    }
    if (p->place.scale_rows > 0) {
        struct product_clips clips = {0, 0};
        TRY(product_count_clips(fd, p->path, &p->place, p->streams * p->frequencies, &clips));
        TRY(page_row(glance->page, "numbers clipped low", units_count(clips.low, text)));
        TRY(page_row(glance->page, "numbers clipped high", units_count(clips.high, text)));
    }
    TRY(glance_weigh(p->path, &weight));
    if (!isnan(weight)) {
        snprintf(text, sizeof text, "%.6g", weight);
        TRY(page_row(glance->page, "mean weight", text));
    }
out:
    file_close(fd);
    return st;
}

static status_t glance_add_table(struct glance *glance, const struct product *p)
{
    status_t st = STATUS_OK;
    struct text size = {0};
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    int is_search = p->kind == PRODUCT_CANDIDATES;
    int is_series = p->kind == PRODUCT_DEDISPERSED || is_search;
    TRY(text_add(&size, "%s %s x ", units_count(p->rows, a),
                 is_series ? units_plural(p->rows, "DM", "DMs")
                           : units_plural(p->rows, "row", "rows")));
    TRY(is_series ? STATUS_OK
                  : text_add(&size, "%s %s x ", units_count(p->streams, a),
                             p->ifs.pol_type ? units_plural(p->streams, "pol", "pols")
                                             : units_plural(p->streams, "stream", "streams")));
    TRY(text_add(&size, "%s %s, %s", units_count(p->frequencies, a),
                 is_search   ? "cells"
                 : is_series ? "times"
                             : units_plural(p->frequencies, "channel", "channels"),
                 units_bytes(p->place.file_bytes, b)));
    TRY(page_table_begin(glance->page));
    TRY(page_row(glance->page, "kind", product_name(p->kind)));
    TRY(page_row(glance->page, "size", size.data));
    TRY(is_search ? page_row(glance->page, "candidates", units_count(p->candidates, a))
                  : STATUS_OK);
    if (p->kind != PRODUCT_VOLTAGES) {
        TRY(page_row(glance->page,
                     is_search   ? "a cell"
                     : is_series ? "a sample"
                                 : "a row",
                     units_seconds(p->time_step, a)));
    }
    TRY(page_row(glance->page, "filters", p->origin.filters));
    TRY(glance_excuse(glance, glance_add_losses(glance, p), "losses"));
    TRY(page_table_end(glance->page));
out:
    text_free(&size);
    return st;
}

/* Of a large product only its begin is read. */
static struct plot_choice glance_choice(const struct product *p)
{
    struct plot_choice choice = {.has_time = 0};
    double times =
        (double)(p->kind == PRODUCT_DEDISPERSED || p->kind == PRODUCT_CANDIDATES ? p->frequencies
                                                                                 : p->rows);
    double bytes = (double)p->rows * (double)p->place.row_bytes;
    if (bytes > MOST_BYTES) {
        choice.has_time = 1;
        choice.time[1] = ceil(times * MOST_BYTES / bytes) * p->time_step;
    }
    return choice;
}

status_t glance_at_product(struct glance *glance, const char *path)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    TRY(page_heading(glance->page, path));
    if (file_format_of(path) != FILE_HDF5) {
        TRY(page_paragraph(glance->page,
                           file_format_of(path) == FILE_FIL
                               ? "A SIGPROC filterbank: voltmill info says what is in it."
                               : "Search-mode PSRFITS: voltmill info says what is in it."));
        goto out;
    }
    st = product_open(path, &product);
    if (st != STATUS_OK || !product) {
        TRY(glance_excuse(glance, st, path));
        goto out;
    }
    TRY(glance_add_table(glance, product));
    if (!glance->is_blind && product->kind != PRODUCT_VOLTAGES) {
        char *const file = product->path;
        const struct drawing drawing = {
            .files = &file, .nfiles = 1, .format = "html", .choice = glance_choice(product)};
        TRY(glance_draw(glance, &drawing, path));
        TRY(drawing.choice.has_time ? page_paragraph(glance->page, "Only its first GiB is shown.")
                                    : STATUS_OK);
    }
out:
    product_destroy(product);
    return st;
}

status_t glance_at_filter(struct glance *glance, const struct job *job)
{
    status_t st = STATUS_OK;
    const struct drawing drawing = {.of = PLOT_FILTER, .job = job, .format = "html"};
    TRY(page_heading(glance->page, "The filter bank"));
    TRY(glance->is_blind ? STATUS_OK : glance_draw(glance, &drawing, "filter bank"));
out:
    return st;
}
