/* Compares what a file says of where it comes from with the job: products in HDF5 tell all of it,
 * files of other formats have a stamp. */
#include "output/origin/made_by.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/identity.h"
#include "output/origin/origin.h"
#include "product/product.h"
#include "product/stamp/stamp.h"

#include <inttypes.h>
#include <string.h>

/* Fails with USAGE when what has the name of a product is no ordinary file: a folder, a pipe, a
 * link that leads nowhere. */
static status_t made_by_check_file(const char *path)
{
    status_t st = STATUS_OK;
    struct identity identity;
    if (identity_of_path(path, &identity) != STATUS_OK) {
        report_clear();
        TRY(file_check_new(path, 0));
    }
out:
    return st;
}

/* What is wrong with it, that was just reported as DATA, is why it is not ours. */
static status_t made_by_fail_broken(const char *path)
{
    status_t st = STATUS_OK;
    struct text cause = {0};
    TRY(text_add(&cause, "%s", report_cause()));
    report_clear();
    FAIL(STATUS_USAGE, "%s exists already: --force replaces it (it is no whole product: %s)", path,
         cause.data);
out:
    text_free(&cause);
    return st;
}

static status_t made_by_check_hdf5(const struct output_spec_item *item, const char *inputs)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    struct text difference = {0};
    st = product_open(item->file, &product);
    TRY(st == STATUS_DATA ? made_by_fail_broken(item->file) : st);
    REQUIRE(product, STATUS_USAGE, "%s exists already: --force replaces it (it is no product)",
            item->file);
    struct origin then = {.job = product->origin.job_text, .inputs = product->origin.inputs};
    struct origin now = {.job = item->text, .inputs = inputs};
    TRY(origin_compare(&then, &now, &difference));
    REQUIRE(difference.length == 0, STATUS_USAGE,
            "%s exists already: --force replaces it (it was made by another job or of other files: "
            "%s)",
            item->file, difference.data);
out:
    text_free(&difference);
    product_destroy(product);
    return st;
}

/* A file of another format, by its stamp. */
static status_t made_by_check_stamp(const struct output_spec_item *item, const char *inputs)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    struct stamp then = {0};
    int found = 0;
    const char *format = item->format == FILE_FIL ? "SIGPROC" : "PSRFITS";
    st = fbh5_open(item->file, &fbh5);
    TRY(st == STATUS_DATA ? made_by_fail_broken(item->file) : st);
    TRY(stamp_read(item->file, &then, &found));
    REQUIRE(found && fbh5->format && strcmp(fbh5->format, format) == 0, STATUS_USAGE,
            "%s exists already: --force replaces it (it is no %s file that says which job made it)",
            item->file, format);
    REQUIRE(fbh5->rows == then.rows, STATUS_USAGE,
            "%s exists already: --force replaces it (it is no whole product: it holds %" PRIu64
            " of %" PRIu64 " spectra)",
            item->file, fbh5->rows, then.rows);
    struct stamp now = stamp_of(item->text, inputs, then.rows);
    REQUIRE(then.job == now.job && then.inputs == now.inputs, STATUS_USAGE,
            "%s exists already: --force replaces it (it was made %s)", item->file,
            then.job != now.job ? "by another job" : "of other files");
out:
    fbh5_destroy(fbh5);
    return st;
}

status_t made_by_check(const struct output_spec_item *item, const char *inputs)
{
    status_t st = STATUS_OK;
    TRY(made_by_check_file(item->file));
    TRY(item->format == FILE_HDF5 ? made_by_check_hdf5(item, inputs)
                                  : made_by_check_stamp(item, inputs));
out:
    return st;
}
