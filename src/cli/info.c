/* voltmill info FILE */
#include "archive/format/formats.h"
#include "archive/format/holds.h"
#include "archive/open.h"
#include "archive/propose/propose.h"
#include "archive/propose/propose_said.h"
#include "base/display.h"
#include "cli/options/values.h"
#include "cli/print/describe.h"
#include "cli/print/elsewhere.h"
#include "compute/backend.h"

#include <stdio.h>
#include <stdlib.h>

struct info_settings {
    struct shared shared;
    int devices;
};

/* An HDF5 file of no known format: its datasets help to write input.layout. */
static status_t info_describe_other(const char *path)
{
    status_t st = STATUS_OK;
    struct text titles = {0};
    struct text datasets = {0};
    TRY(formats_add_titles(&titles));
    TRY(holds_describe(path, &datasets));
    TRY(propose_layout(path, &datasets));
    display_print("%s is an HDF5 file, but neither %s, nor a product.\n"
                  "A job can describe it under input.layout (docs/archives.md). It holds\n",
                  path, titles.data);
    fputs(datasets.data ? datasets.data : "", stdout);
out:
    text_free(&titles);
    text_free(&datasets);
    return st;
}

static status_t info_filterbank(const char *path)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    TRY(fbh5_open(path, &fbh5));
    describe_filterbank(fbh5);
    TRY(elsewhere_of_filterbank(fbh5));
out:
    fbh5_destroy(fbh5);
    return st;
}

/* An archive that leaves to the job what must be known. */
static status_t info_unsaid(const char *path, const struct format *format)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY(propose_said(path, format->name, report_cause(), &text));
    display_print("archive (%s)\n  %-13s %s\n", format->name, "unsaid", report_cause());
    fputs(text.data, stdout);
    report_clear();
out:
    text_free(&text);
    return st;
}

static status_t info_archive(const char *path, const struct format *format)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    st = archive_open_file(path, &archive);
    if (st == STATUS_USAGE) {
        st = info_unsaid(path, format);
        goto out;
    }
    TRY(st);
    describe_archive(archive);
    TRY(elsewhere_of_archive(archive));
out:
    archive_destroy(archive);
    return st;
}

/* A file that was cut off is no product that can be trusted, but may be an archive that is read as
 * far as it goes. */
static status_t info_open_product(const char *path, const struct format *format,
                                  struct product **out)
{
    status_t st = STATUS_OK;
    if (format && format->is_no_product) {
        goto out;
    }
    st = product_open(path, out);
    if (st == STATUS_DATA && format && format->open) {
        report_clear();
        st = STATUS_OK;
    }
out:
    return st;
}

static status_t info_describe_here(const char *path)
{
    status_t st = STATUS_OK;
    const struct format *format = NULL;
    struct product *product = NULL;
    TRY(formats_recognise(path, &format));
    TRY(info_open_product(path, format, &product));
    if (product) {
        describe_product(product);
    } else if (!format) {
        TRY(info_describe_other(path));
    } else {
        TRY(format->open ? info_archive(path, format) : info_filterbank(path));
    }
out:
    product_destroy(product);
    return st;
}

static status_t info_answer(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    (void)answer; /* what is printed comes through */
    char *path = unpack_text(question);
    REQUIRE(path, STATUS_DEVICE, "out of memory: a name");
    TRY(info_describe_here(path));
out:
    free(path);
    return st;
}

const struct apart_task info_task = {"info", info_answer};

static status_t info_run(void *settings)
{
    status_t st = STATUS_OK;
    const struct info_settings *s = settings;
    struct text text = {0};
    if (s->devices) {
        TRY(backend_devices(&text));
        fputs(text.data ? text.data : "no OpenCL platform: is a driver (ICD) installed?\n", stdout);
    } else {
        TRY(apart_do_path(&info_task, s->shared.operand, &text));
    }
out:
    text_free(&text);
    return st;
}

static const struct option_row rows[] = {{"devices", NULL, value_flag,
                                          offsetof(struct info_settings, devices), NULL, NULL,
                                          "lists the OpenCL devices of this machine instead"},
                                         {.name = NULL}};

const struct command cli_info = {
    .name = "info",
    .summary = "describe an archive or a product, or list compute devices",
    .usage = "FILE\n--devices",
    .about =
        "Describes an archive of any known format, a filterbank, or a product of voltmill, in "
        "words and units; of another HDF5 file what it holds, and a description to begin with.",
    .operand = "file",
    .ends = "h5",
    .instead = "devices",
    .rows = rows,
    .bytes = sizeof(struct info_settings),
    .run = info_run};
