/* voltmill info FILE */
#include "base/display.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/print/describe.h"
#include "cli/print/elsewhere.h"
#include "compute/backend.h"
#include "io/apart/apart.h"
#include "io/hdf5/h5.h"

#include <stdio.h>
#include <stdlib.h>

static const char help[] = "Usage: voltmill info FILE\n"
                           "       voltmill info --devices\n"
                           "\n"
                           "Describes an archive in the native layout, a filterbank (FBH5), or a "
                           "product of voltmill,\nin words and units.\n"
                           "\n"
                           "  --devices   lists the OpenCL devices of this machine instead\n"
                           "  --help      prints this\n";

/* An HDF5 file that is none of them: its datasets help to write input.layout. */
static herr_t info_print_dataset(hid_t root, const char *name, const H5O_info_t *info, void *unused)
{
    (void)unused;
    if (info->type != H5O_TYPE_DATASET) {
        return 0;
    }
    hid_t dataset = H5Dopen2(root, name, H5P_DEFAULT);
    hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    hsize_t dims[H5S_MAX_RANK] = {0};
    int rank = space >= 0 ? H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    display_print("  /%s:", name);
    for (int i = 0; i < rank; i++) {
        display_print("%s%llu", i ? " x " : " ", (unsigned long long)dims[i]);
    }
    display_print(rank > 0 ? " of" : " one of");
    H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    size_t bits = type >= 0 ? 8 * H5Tget_size(type) : 0;
    display_print(" %zu bits, %s\n", bits,
                  class == H5T_INTEGER    ? "integer"
                  : class == H5T_FLOAT    ? "floating point"
                  : class == H5T_COMPOUND ? "compound"
                  : class == H5T_STRING   ? "text"
                                          : "other");
    h5_close(type);
    h5_close(space);
    h5_close(dataset);
    return 0;
}

static status_t info_describe_other(const char *path)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    TRY(h5_open_file(path, &file));
    display_print(
        "%s is an HDF5 file, but neither an archive in the native layout nor a filterbank nor a "
        "product.\n"
        "A job can describe it under input.layout (docs/archives.md). It holds\n",
        path);
    H5_TRY(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, info_print_dataset, NULL, H5O_INFO_BASIC),
           "%s: what it holds cannot be listed", path);
out:
    h5_close(file);
    return st;
}

static status_t info_looks_like_filterbank(const char *path, int *out)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    htri_t does = 0;
    int is_there = 0;
    TRY(h5_open_file(path, &file));
    TRY(h5_has(file, path, "data", &is_there));
    if (is_there) {
        does = H5Aexists_by_name(file, "data", "fch1", H5P_DEFAULT);
        H5_TRY(does, "%s: /data cannot be looked at", path);
    }
    *out = does > 0;
out:
    h5_close(file);
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

static status_t info_describe_here(const char *path)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    struct product *product = NULL;
    int is_filterbank = 0;
    TRY(product_open(path, &product));
    if (product) {
        describe_product(product);
        goto out;
    }
    TRY(archive_open_native(path, &archive));
    if (archive) {
        describe_archive(archive);
        TRY(elsewhere_of_archive(archive));
        goto out;
    }
    TRY(info_looks_like_filterbank(path, &is_filterbank));
    if (is_filterbank) {
        TRY(info_filterbank(path));
    } else {
        TRY(info_describe_other(path));
    }
out:
    product_destroy(product);
    archive_destroy(archive);
    return st;
}

status_t cli_answer_info(struct unpack *question, struct text *answer)
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

static status_t info_describe(const char *path)
{
    struct text answer = {0};
    status_t st = apart_is_used() ? apart_ask_of("info", path, &answer) : info_describe_here(path);
    text_free(&answer);
    return st;
}

static status_t info_print_devices(void)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY(backend_devices(&text));
    fputs(text.data ? text.data : "no OpenCL platform: is a driver (ICD) installed?\n", stdout);
out:
    text_free(&text);
    return st;
}

status_t cli_info(int argc, char **argv)
{
    status_t st = STATUS_OK;
    struct options options;
    TRY(options_read(argc, argv, OPTION_DEVICES, "file", &options));
    if (options.help) {
        fputs(help, stdout);
        goto out;
    }
    TRY(options.devices ? info_print_devices() : info_describe(options.operand));
out:
    options_free(&options);
    return st;
}
