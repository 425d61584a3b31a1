/* Facts about HDF5 files for people: datasets of unknown files, attributes that no sample needs. */
#include "input/about.h"

#include "base/memory.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Facts about HDF5 files for people: datasets of unknown files, and attributes. */

const char *holds_what(hid_t file)
{
    static const struct {
        const char *dataset;
        const char *words;
    } known[] = {
        {"dedispersed", "contains dedispersed series (--format dat or tim)"},
        {"candidates", "contains candidates of a search (--format csv, heimdall or fetch)"},
        {"spectra", "contains complex spectra, which no other format keeps"},
        {"voltages", "contains voltages"},
        {"Data/visdata", "contains visibilities (UVH5), which pyuvdata reads and converts"},
        {"data", "contains /data, as a filterbank does (--format fil)"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (H5Lexists(file, known[i].dataset, H5P_DEFAULT) > 0) {
            return known[i].words;
        }
    }
    return "is HDF5, but not a product";
}

/* Adds a dataset's name to the list, until the list is long enough. */
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
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(dataset);
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
    return STATUS_OK;
}

static status_t holds_add_dataset(const struct h5_found *found, void *out, int *is_enough)
{
    (void)is_enough;
    if (!found->is_new || found->type != H5O_TYPE_DATASET) {
        return STATUS_OK;
    }
    SCOPED(h5_close_at) hid_t dataset = H5Dopen2(found->at, found->name, H5P_DEFAULT);
    SCOPED(h5_close_at) hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    SCOPED(h5_close_at) hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    hsize_t dims[H5S_MAX_RANK] = {0};
    int rank = space >= 0 ? H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    TRY(text_add_shown(out, "  /%s:", found->path));
    for (int i = 0; i < rank; i++) {
        TRY(text_add(out, "%s%llu", i ? " x " : " ", (unsigned long long)dims[i]));
    }
    H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    TRY(text_add(out, " %s %zu bits, %s", rank > 0 ? "of" : "one of",
                 type >= 0 ? 8 * H5Tget_size(type) : (size_t)0,
                 class == H5T_INTEGER    ? "integer"
                 : class == H5T_FLOAT    ? "floating point"
                 : class == H5T_COMPOUND ? "compound"
                 : class == H5T_STRING   ? "text"
                                         : "other"));
    TRY(dataset >= 0 ? holds_add_filters(dataset, out) : STATUS_OK);
    return text_add(out, "\n");
}

status_t holds_describe(const char *path, struct text *out)
{
    SCOPED(h5_close_at) hid_t file = -1;
    TRY(h5_open_cut_file(path, &file));
    return h5_walk(file, path, holds_add_dataset, out);
}

enum { MOST_ITEMS = 256, MOST_TEXT = 1024 };

void about_free(struct about *about)
{
    for (size_t i = 0; i < about->count; i++) {
        free(about->items[i].object);
        free(about->items[i].name);
        free(about->items[i].text);
    }
    free(about->items);
    *about = (struct about){0};
}

/* Returns whether a name is HDF5's, our own formats' or FBH5's: these are read elsewhere, or follow
 * from others. */
static int about_is_known(const char *name)
{
    /* Each with a NUL after it. */
    static const char known[] =
        "CLASS\0NAME\0DIMENSION_LIST\0DIMENSION_LABELS\0REFERENCE_LIST\0VERSION\0"
        "Conventions\0format\0format_version\0title\0history\0time_scale\0start_mjd_day\0"
        "start_second\0first_time\0first_sample\0time_step\0channels\0taps\0integrate\0"
        "order\0sample_rate_hz\0domain\0sideband\0telescope\0source\0ra_deg\0dec_deg\0"
        "axes\0packing\0scale\0missing_value\0dc\0oversampling_num\0oversampling_den\0"
        "coherent_dm\0coherent_constant\0coherent_convention\0long_name\0"
        "tstart_convention\0fch1\0foff\0nchans\0nifs\0nbits\0nfpc\0nbeams\0ibeam\0"
        "machine_id\0data_type\0tsamp\0tsamp_s\0tstart\0telescope_id\0source_name\0"
        "src_raj\0src_dej\0rawdatafile\0pol_type\0";
    const char *at = known;
    while (*at && strcmp(name, at) != 0) {
        at += strlen(at) + 1;
    }
    return *at != '\0';
}

/* Numbers without sign that int64 does not hold, as text: HDF5 would make the largest one of them.
 */
static status_t about_read_large(const struct h5_dataset *attribute, const char *where,
                                 const char *name, struct about_item *item)
{
    uint64_t values[ABOUT_NUMBERS] = {0};
    SCOPED(text_free) struct text text = {0};
    int is_large = 0;
    H5_TRY(h5_values_read(attribute, H5T_NATIVE_UINT64, values), "%s: attribute %s cannot be read",
           where, name);
    for (uint64_t i = 0; i < attribute->count; i++) {
        is_large |= values[i] > INT64_MAX;
        TRY(text_add(&text, "%s%llu", i > 0 ? ", " : "", (unsigned long long)values[i]));
    }
    if (is_large) {
        item->text = memory_move(&text.data);
    }
    return STATUS_OK;
}

/* Reads up to ABOUT_NUMBERS numbers; leaves the count 0 where there are none, or more. */
static status_t about_read_numbers(hid_t object, const char *where, const char *name,
                                   struct about_item *item)
{
    SCOPED(h5_dataset_close) struct h5_dataset attribute = {0};
    TRY(h5_attribute_open(object, where, name, &attribute));
    H5T_class_t class = H5Tget_class(attribute.type);
    int is_whole = class == H5T_INTEGER;
    if (attribute.count == 0 || attribute.count > ABOUT_NUMBERS ||
        (!is_whole && class != H5T_FLOAT)) {
        return STATUS_OK;
    }
    if (is_whole && H5Tget_sign(attribute.type) == H5T_SGN_NONE) {
        TRY(about_read_large(&attribute, where, name, item));
    }
    if (item->text) {
        return STATUS_OK;
    }
    H5_TRY(h5_values_read(&attribute, H5T_NATIVE_DOUBLE, item->numbers),
           "%s: attribute %s cannot be read", where, name);
    if (is_whole) {
        H5_TRY(h5_values_read(&attribute, H5T_NATIVE_INT64, item->whole),
               "%s: attribute %s cannot be read", where, name);
    }
    item->count = (uint32_t)attribute.count;
    item->is_whole = is_whole;
    return STATUS_OK;
}

/* Reads one attribute; item->name stays NULL if it cannot be shown. */
static status_t about_read_one(hid_t object, const char *where, const char *name,
                               struct about_item *item)
{
    int found = 0;
    TRY(h5_find_text(object, where, name, &item->text, &found));
    if (!found || strlen(item->text) > MOST_TEXT) {
        free(memory_move(&item->text));
        TRY(about_read_numbers(object, where, name, item));
    }
    if (item->text || item->count > 0) {
        TRY(memory_text(where, &item->object));
        TRY(memory_text(name, &item->name));
    }
    return STATUS_OK;
}

SCOPED_CALLS(about_item_free, struct about_item, MEMORY_FREE(at->object, at->text))

static status_t about_add_object(hid_t file, const char *name, struct about *out)
{
    SCOPED(h5_names_free) struct h5_names attributes = {0};
    SCOPED(h5_close_at) hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    H5_TRY(object, "%s cannot be opened", name);
    TRY(h5_list_attributes(object, name, name, &attributes));
    for (size_t i = 0; i < attributes.count && out->count < MOST_ITEMS; i++) {
        SCOPED(about_item_free) struct about_item item = {.text = NULL};
        if (about_is_known(attributes.names[i])) {
            continue;
        }
        TRY(about_read_one(object, name, attributes.names[i], &item));
        if (item.name) {
            out->items[out->count++] = item;
            item = (struct about_item){.text = NULL};
        }
    }
    return STATUS_OK;
}

status_t about_read(const char *path, const char *dataset, struct about *out)
{
    SCOPED(text_free) struct text name = {0};
    struct stat info;
    SCOPED(h5_close_at) hid_t file = -1;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return STATUS_OK;
    }
    if (h5_is_hdf5(path) == 0) { /* -1: opening it tells why */
        return STATUS_OK;
    }
    TRY(memory_zeroed(MOST_ITEMS, sizeof *out->items, "attributes", &out->items));
    TRY(h5_open_cut_file(path, &file));
    TRY(about_add_object(file, "/", out));
    for (const char *at = dataset ? dataset : ""; *at;) {
        at += strspn(at, "/");
        size_t length = strcspn(at, "/");
        if (length > 0) {
            int is_there = 0;
            TRY(text_add(&name, "/%.*s", (int)length, at));
            TRY(h5_has(file, path, name.data, &is_there));
            TRY(is_there ? about_add_object(file, name.data, out) : STATUS_OK);
        }
        at += length;
    }
    return STATUS_OK;
}
