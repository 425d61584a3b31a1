/* What an HDF5 file that is not what was expected seems to be. */
#include "input/format/holds.h"

#include "io/hdf5/h5.h"
#include "io/hdf5/h5_walk.h"

#include <stddef.h>

const char *holds_what(hid_t file)
{
    static const struct {
        const char *dataset;
        const char *words;
    } known[] = {{"dedispersed", "holds dedispersed series (--format dat or tim)"},
                 {"spectra", "holds complex spectra, which no other format keeps"},
                 {"voltages", "holds voltages"},
                 {"data", "holds /data, as a filterbank does (--format fil)"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (H5Lexists(file, known[i].dataset, H5P_DEFAULT) > 0) {
            return known[i].words;
        }
    }
    return "is HDF5, but no product";
}

/* The names, until the list is long enough. */
static status_t holds_add_name(const struct h5_found *found, void *out, int *is_enough)
{
    enum { ENOUGH = 300 };
    struct text *list = out;
    if (!found->is_new || found->type != H5O_TYPE_DATASET) {
        return STATUS_OK;
    }
    *is_enough = list->length > ENOUGH;
    return *is_enough ? text_add(list, ", ...")
                      : text_add(list, "%s/%s", list->length ? ", " : "", found->path);
}

status_t holds_names(hid_t file, const char *path, struct text *out)
{
    return h5_walk(file, path, holds_add_name, out);
}

/* ", in chunks, deflate, shuffle" */
static status_t holds_add_filters(hid_t dataset, struct text *out)
{
    status_t st = STATUS_OK;
    hid_t plist = H5Dget_create_plist(dataset);
    int is_chunked = plist >= 0 && H5Pget_layout(plist) == H5D_CHUNKED;
    int filters = is_chunked ? H5Pget_nfilters(plist) : 0;
    TRY(is_chunked ? text_add(out, ", in chunks") : STATUS_OK);
    for (int i = 0; i < filters; i++) {
        char name[64] = "";
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(plist, (unsigned)i, NULL, &values, NULL, sizeof name, name, NULL);
        name[sizeof name - 1] = '\0';
        TRY(*name ? text_add_shown(out, ", %s", name) : text_add(out, ", filter %d", (int)filter));
    }
out:
    h5_close(plist);
    return st;
}

static status_t holds_add_dataset(const struct h5_found *found, void *out, int *is_enough)
{
    (void)is_enough;
    if (!found->is_new || found->type != H5O_TYPE_DATASET) {
        return STATUS_OK;
    }
    hid_t dataset = H5Dopen2(found->at, found->name, H5P_DEFAULT);
    hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    hsize_t dims[H5S_MAX_RANK] = {0};
    int rank = space >= 0 ? H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    status_t st = text_add_shown(out, "  /%s:", found->path);
    for (int i = 0; i < rank && st == STATUS_OK; i++) {
        st = text_add(out, "%s%llu", i ? " x " : " ", (unsigned long long)dims[i]);
    }
    H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    if (st == STATUS_OK) {
        st = text_add(out, " %s %zu bits, %s", rank > 0 ? "of" : "one of",
                      type >= 0 ? 8 * H5Tget_size(type) : (size_t)0,
                      class == H5T_INTEGER    ? "integer"
                      : class == H5T_FLOAT    ? "floating point"
                      : class == H5T_COMPOUND ? "compound"
                      : class == H5T_STRING   ? "text"
                                              : "other");
    }
    st = st == STATUS_OK && dataset >= 0 ? holds_add_filters(dataset, out) : st;
    st = st == STATUS_OK ? text_add(out, "\n") : st;
    h5_close(type);
    h5_close(space);
    h5_close(dataset);
    return st;
}

status_t holds_describe(const char *path, struct text *out)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    TRY(h5_open_cut_file(path, &file));
    TRY(h5_walk(file, path, holds_add_dataset, out));
out:
    h5_close(file);
    return st;
}
