/* Formats that are text, small enough for memory. A run writes comma-separated values itself; the
 * others are made by the Python module. */
#include "base/units.h"
#include "io/python.h"
#include "product/candidates.h"
#include "product/export/export.h"
#include "product/export/export_file.h"
#include "product/product.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *ending, *source, *what;
} formats[] = {
    [EXPORT_CSV] = {".csv", "the file which it is made of,", "comma-separated values"},
    [EXPORT_HEIMDALL] = {".cand", "the file which it is made of,", "columns of heimdall"},
    [EXPORT_FETCH] = {".fetch.csv", "the file which it is made of,", "columns of FETCH"},
    [EXPORT_KERCHUNK] = {".json", "the product which it refers to,", "kerchunk"}};

/* *what: the candidates, counted, and their format. */
static status_t text_make_candidates(const struct export_text_options *options, struct text *out,
                                     struct text *what)
{
    status_t st = STATUS_OK;
    struct candidates_file *in = NULL;
    const char *const arguments[] = {options->product, NULL};
    TRY_OUT(candidates_open(options->product, &in));
    TRY_OUT(
        options->format == EXPORT_CSV
            ? candidates_csv(&in->found, out)
            : python_run(options->format == EXPORT_FETCH ? "fetch" : "heimdall", arguments, out));
    TRY_OUT(text_add(what, "%llu candidates, %s", (unsigned long long)in->found.count,
                     formats[options->format].what));
out:
    candidates_close(in);
    return st;
}

/* The module says on a first line how many references there are. */
static status_t text_make_kerchunk(const struct export_text_options *options, struct text *out,
                                   struct text *what)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    struct text made = {0};
    char *path = NULL;
    char *rest = NULL;
    TRY_OUT(product_open(options->product, &product));
    REQUIRE_OUT(
        product, STATUS_DATA,
        "%s is not a product of voltmill: kerchunk itself makes references to other HDF5 files",
        options->product);
    REQUIRE_OUT(product->kind != PRODUCT_VISIBILITIES, STATUS_USAGE,
                "%s contains visibilities (UVH5), which pyuvdata reads and converts; kerchunk "
                "refers to other products",
                options->product);
    path = realpath(options->product, NULL);
    REQUIRE_OUT(path, STATUS_DATA, "%s has no path", options->product);
    const char *url = options->url ? options->url : path;
    const char *const arguments[] = {options->product, url, NULL};
    TRY_OUT(python_run("kerchunk", arguments, &made));
    uint64_t count = strtoull(made.data ? made.data : "", &rest, 10);
    REQUIRE_OUT(rest && *rest == '\n', STATUS_DEVICE, "kerchunk: the Python module wrote nothing");
    TRY_OUT(text_add_bytes(out, rest + 1, strlen(rest + 1)));
    TRY_OUT(
        text_add(what, "kerchunk, %s to %s", units_amount(count, "reference", "references"), url));
out:
    product_destroy(product);
    text_free(&made);
    free(path);
    return st;
}

status_t export_text(const struct export_text_options *options, struct text *said)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    struct text what = {0};
    struct guard reads = {0};
    char *path = NULL;
    int is_before = 0;
    TRY_OUT(export_name(options->out, options->product, formats[options->format].ending, &path));
    TRY_OUT(options->format == EXPORT_KERCHUNK ? text_make_kerchunk(options, &words, &what)
                                               : text_make_candidates(options, &words, &what));
    const struct export_plan plan = {.path = path,
                                     .mark = MARK_EXPORT,
                                     .force = options->force,
                                     .bytes = words.length,
                                     .head = &words};
    TRY_OUT(guard_add(&reads, formats[options->format].source, options->product));
    TRY_OUT(export_file_write(&plan, &reads, &is_before));
    TRY_OUT(is_before ? text_add_shown(said, "complete before: %s\n", path)
                      : text_add_shown(said, "%s: %s\n", path, what.data));
out:
    guard_free(&reads);
    text_free(&words);
    text_free(&what);
    free(path);
    return st;
}
