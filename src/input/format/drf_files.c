/* Which channels of Digital RF, and which of their files, a job's paths stand for. */
#include "input/format/drf.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/format/fields.h"
#include "io/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1 << 22 };

status_t drf_names_add(struct h5_names *names, char *given)
{
    SCOPED(free_at) char *name = given;
    TRY(memory_grow(names->count, sizeof *names->names, "names of files", &names->names));
    names->names[names->count++] = memory_move(&name);
    return STATUS_OK;
}

SCOPED_CALLS(folder_end, DIR *, (void)(*at &&closedir(*at)))

/* Lists the files of a folder for which `is_wanted` returns 1, in natural order, each with the
 * folder's path. */
static status_t drf_list_folder(const char *folder, int (*is_wanted)(const char *name),
                                struct h5_names *out)
{
    size_t before = out->count;
    SCOPED(folder_end) DIR *stream = opendir(folder);
    REQUIRE(stream, STATUS_DATA, "%s cannot be read: %s", folder, strerror(errno));
    errno = 0;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        char *name = NULL;
        if (is_wanted(entry->d_name)) {
            REQUIRE(out->count < MOST_FILES, STATUS_DATA, "%s contains more than %d files", folder,
                    MOST_FILES);
            TRY(memory_format(&name, "%s/%s", folder, entry->d_name));
            TRY(drf_names_add(out, name));
        }
        errno = 0;
    }
    REQUIRE(errno == 0, STATUS_DATA, "%s cannot be read: %s", folder, strerror(errno));
    if (out->count > before) {
        qsort(out->names + before, out->count - before, sizeof *out->names, text_compare_natural);
    }
    return STATUS_OK;
}

/* "2024-06-27T14-00-00" */
static int drf_is_time_folder(const char *name)
{
    static const char pattern[] = "0000-00-00T00-00-00";
    for (size_t i = 0; i < sizeof pattern; i++) {
        if (pattern[i] == '0' ? !isdigit((unsigned char)name[i]) : name[i] != pattern[i]) {
            return 0;
        }
    }
    return 1;
}

/* Returns whether a name is that of a file of samples. "tmp.rf@..." is still being written. */
static int drf_is_file(const char *name)
{
    return strncmp(name, "rf@", 3) == 0 && text_ends(name, ".h5") && strlen(name) > 6;
}

static int drf_is_any(const char *name)
{
    return name[0] != '.';
}

/* Files of a channel, or of one time of it. */
static status_t drf_list_files(const char *folder, struct h5_names *out)
{
    SCOPED(h5_names_free) struct h5_names times = {0};
    TRY(drf_list_folder(folder, drf_is_file, out));
    TRY(drf_list_folder(folder, drf_is_time_folder, &times));
    for (size_t i = 0; i < times.count; i++) {
        int is_folder = 0;
        TRY(file_is_folder(times.names[i], &is_folder));
        TRY(is_folder ? drf_list_folder(times.names[i], drf_is_file, out) : STATUS_OK);
    }
    return STATUS_OK;
}

/* The channel of this folder, which may be of one time of it, or of a file in it. */
static status_t drf_find_channel(struct drf_channels *channels, const char *path,
                                 struct drf_channel **out)
{
    int is_folder = 0;
    SCOPED(free_at) char *real = realpath(path, NULL);
    REQUIRE(real, STATUS_DATA, "%s: %s", path, strerror(errno));
    char *slash = strrchr(real, '/');
    TRY(file_is_folder(real, &is_folder));
    if (!is_folder && slash > real) {
        *slash = '\0';
        slash = strrchr(real, '/');
    }
    if (drf_is_time_folder(text_basename(real)) && slash > real) {
        *slash = '\0';
    }
    for (size_t i = 0; i < channels->count; i++) {
        if (strcmp(channels->items[i].folder, real) == 0) {
            *out = &channels->items[i];
            return STATUS_OK;
        }
    }
    TRY(memory_grown(channels->count + 1, sizeof *channels->items, "channels", &channels->items));
    struct drf_channel *channel = &channels->items[channels->count++];
    *channel = (struct drf_channel){.name = NULL};
    TRY(memory_text(text_basename(real), &channel->name));
    channel->folder = memory_move(&real);
    *out = channel;
    return STATUS_OK;
}

static status_t drf_add_files(struct drf_channels *channels, const char *path,
                              struct h5_names *files)
{
    struct drf_channel *channel = NULL;
    TRY(drf_find_channel(channels, path, &channel));
    for (size_t i = 0; i < files->count; i++) {
        char *name = files->names[i];
        files->names[i] = NULL;
        TRY(drf_names_add(&channel->files, name));
    }
    return STATUS_OK;
}

static status_t drf_add_path(struct drf_channels *channels, const char *path)
{
    SCOPED(h5_names_free) struct h5_names files = {0};
    SCOPED(h5_names_free) struct h5_names folders = {0};
    char *name = NULL;
    size_t before = channels->count;
    int is_folder = 0;
    TRY(file_is_folder(path, &is_folder));
    if (!is_folder) {
        TRY(memory_text(path, &name));
        TRY(drf_names_add(&files, name));
        TRY(drf_add_files(channels, path, &files));
        return STATUS_OK;
    }
    TRY(drf_list_files(path, &files));
    if (files.count > 0) {
        TRY(drf_add_files(channels, path, &files));
        return STATUS_OK;
    }
    TRY(drf_list_folder(path, drf_is_any, &folders));
    for (size_t i = 0; i < folders.count; i++) {
        h5_names_free(&files);
        TRY(file_is_folder(folders.names[i], &is_folder));
        TRY(is_folder ? drf_list_files(folders.names[i], &files) : STATUS_OK);
        TRY(files.count > 0 ? drf_add_files(channels, folders.names[i], &files) : STATUS_OK);
    }
    return REQUIRED(channels->count > before, STATUS_DATA,
                    "%s is not a file, and contains no channel of Digital RF (files "
                    "YYYY-MM-DDTHH-MM-SS/rf@SECONDS.MILLISECONDS.h5)",
                    path);
}

status_t drf_list(char *const *paths, size_t npaths, struct drf_channels *out)
{
    for (size_t i = 0; i < npaths; i++) {
        TRY(drf_add_path(out, paths[i]));
    }
    return STATUS_OK;
}

void drf_free(struct drf_channels *channels)
{
    for (size_t i = 0; i < channels->count; i++) {
        free(channels->items[i].name);
        free(channels->items[i].folder);
        h5_names_free(&channels->items[i].files);
        h5_names_free(&channels->items[i].metadata);
        free(channels->items[i].centres);
    }
    free(channels->items);
    *channels = (struct drf_channels){NULL, 0};
}

status_t drf_is_recording(const char *path, int *is_it)
{
    SCOPED(h5_names_free) struct h5_names files = {0};
    SCOPED(h5_names_free) struct h5_names folders = {0};
    TRY(drf_list_files(path, &files));
    TRY(drf_list_folder(path, drf_is_any, &folders));
    for (size_t i = 0; i < folders.count && files.count == 0; i++) {
        int is_folder = 0;
        TRY(file_is_folder(folders.names[i], &is_folder));
        TRY(is_folder ? drf_list_files(folders.names[i], &files) : STATUS_OK);
    }
    *is_it = files.count > 0;
    return STATUS_OK;
}

static const char title[] = "a Digital Metadata file";

/* Where recorders put it, below the group of a sample. */
static const char *const places[] = {"center_frequencies", "center_frequency", "center_freq",
                                     "receiver/center_freq"};

/* The search's target, and its results so far. */
struct drf_search {
    struct drf_rate rate; /* of the metadata's own samples */
    uint64_t first, end;  /* of them, too */
    int is_found;
    uint64_t sample; /* whose metadata it is */
    double *centres;
    size_t count;
    char *path;
};

/* The centre frequency of a Digital RF channel, from its Digital Metadata: contents are not part of
 * the standard, but those of the usual recorder (thor) are well known. */

/* "NAME@1567105700.h5" */
static int drf_is_metadata_file(const char *name)
{
    const char *at = strchr(name, '@');
    return at && strncmp(name, "tmp.", 4) != 0 && isdigit((unsigned char)at[1]) &&
           text_ends(name, ".h5");
}

static status_t drf_read_centres(const struct fields *f, const char *group, double **out,
                                 size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && *count == 0; i++) {
        char name[200];
        int is_there = 0;
        snprintf(name, sizeof name, "%s/%s", group, places[i]);
        TRY(h5_has(f->file, f->path, name, &is_there));
        TRY(is_there ? fields_f64s(f, name, NULL, out, count) : STATUS_OK);
    }
    return STATUS_OK;
}

/* The last entry before the first sample counts; later entries must be the same. */
static status_t drf_take_centres(struct drf_search *search, uint64_t sample, double **centres,
                                 size_t count, const char *path)
{
    int is_before = sample <= search->first;
    if (!is_before && search->is_found) {
        int is_same = search->count == count &&
                      memcmp(search->centres, *centres, count * sizeof **centres) == 0;
        return REQUIRED(
            sample >= search->end || is_same, STATUS_DATA,
            "%s: the centre frequency is %.12g Hz from sample %llu on, %.12g Hz before: "
            "input.layout.freq_hz says which of them is right, or input.files leaves the other "
            "out",
            path, (*centres)[0], (unsigned long long)sample, search->centres[0]);
    }
    if (!search->is_found || sample >= search->sample) {
        free(search->centres);
        free(memory_move(&search->path));
        search->centres = *centres;
        *centres = NULL;
        search->count = count;
        search->sample = sample;
        search->is_found = 1;
        TRY(memory_text(path, &search->path));
    }
    return STATUS_OK;
}

static status_t drf_search_file(struct drf_search *search, const char *path)
{
    SCOPED(fields_close) struct fields fields = {.file = -1};
    SCOPED(h5_names_free) struct h5_names groups = {0};
    SCOPED(free_at) double *centres = NULL;
    TRY(fields_open(path, title, NULL, &fields));
    TRY(h5_list_links(fields.file, path, "the file", &groups));
    for (size_t i = 0; i < groups.count; i++) {
        uint64_t sample = 0;
        size_t count = 0;
        const char *name = groups.names[i]; /* of a sample's group: its number */
        if (!isdigit((unsigned char)name[0]) || !units_parse_u64(name, &sample)) {
            continue;
        }
        TRY(drf_read_centres(&fields, name, &centres, &count));
        for (size_t j = 0; j < count; j++) {
            REQUIRE(isfinite(centres[j]), STATUS_DATA, "%s: a centre frequency of sample %s is %g",
                    path, name, centres[j]);
        }
        TRY(count > 0 ? drf_take_centres(search, sample, &centres, count, path) : STATUS_OK);
        free(memory_move(&centres));
    }
    return STATUS_OK;
}

/* Samples of one rate as samples of another, to within the rounding of doubles. */
static uint64_t drf_convert(uint64_t sample, struct drf_rate from, struct drf_rate to)
{
    if (from.numerator == to.numerator && from.denominator == to.denominator) {
        return sample;
    }
    long double seconds =
        (long double)sample * (long double)from.denominator / (long double)from.numerator;
    long double number = seconds * (long double)to.numerator / (long double)to.denominator;
    return number < 1.8e19L ? (uint64_t)number : UINT64_MAX;
}

/* The path of its properties, for free(), when the folder holds metadata; else NULL. */
static status_t drf_read_rate(const char *folder, struct drf_rate *rate, char **properties)
{
    SCOPED(free_at) char *path = NULL;
    SCOPED(fields_close) struct fields fields = {.file = -1};
    int64_t numerator = 0;
    int64_t denominator = 0;
    int is_metadata = 0;
    TRY(memory_format(&path, "%s/dmd_properties.h5", folder));
    TRY(file_exists(path, &is_metadata));
    if (is_metadata) {
        int found[2] = {0, 0};
        TRY(fields_open(path, title, NULL, &fields));
        TRY(fields_i64(&fields, "/", "sample_rate_numerator", &numerator, &found[0]));
        TRY(fields_i64(&fields, "/", "sample_rate_denominator", &denominator, &found[1]));
        if (found[0] && found[1] && numerator > 0 && denominator > 0) {
            *rate = (struct drf_rate){(uint64_t)numerator, (uint64_t)denominator};
        }
        *properties = memory_move(&path);
    }
    return STATUS_OK;
}

/* Seconds since 1970 in a file's name: the time of its first samples. */
static double drf_file_seconds(const char *path)
{
    return strtod(strchr(text_basename(path), '@') + 1, NULL);
}

static status_t drf_search_folder(struct drf_search *search, const char *folder)
{
    SCOPED(h5_names_free) struct h5_names times = {0};
    SCOPED(h5_names_free) struct h5_names files = {0};
    double to_seconds = (double)search->rate.denominator / (double)search->rate.numerator;
    TRY(drf_list_folder(folder, drf_is_time_folder, &times));
    for (size_t i = 0; i < times.count; i++) {
        TRY(drf_list_folder(times.names[i], drf_is_metadata_file, &files));
    }
    /* From the last that begins before the first sample, to the last that begins before the end. */
    size_t from = 0;
    for (size_t i = 0; i < files.count; i++) {
        from = drf_file_seconds(files.names[i]) <= (double)search->first * to_seconds ? i : from;
    }
    for (size_t i = from; i < files.count; i++) {
        int is_before = drf_file_seconds(files.names[i]) < (double)search->end * to_seconds;
        TRY(i == from || !search->is_found || is_before ? drf_search_file(search, files.names[i])
                                                        : STATUS_OK);
    }
    return STATUS_OK;
}

static int drf_is_visible(const char *name)
{
    return name[0] != '.' && !drf_is_time_folder(name);
}

SCOPED_CALLS(drf_search_free, struct drf_search, MEMORY_FREE(at->centres, at->path))

status_t drf_find_centres(struct drf_channel *channel)
{
    SCOPED(drf_search_free) struct drf_search search = {.is_found = 0};
    SCOPED(h5_names_free) struct h5_names folders = {0};
    SCOPED(free_at) char *properties = NULL;
    TRY(drf_list_folder(channel->folder, drf_is_visible, &folders));
    for (size_t i = 0; i < folders.count && !search.is_found; i++) {
        free(memory_move(&properties));
        search.rate = channel->rate;
        TRY(drf_read_rate(folders.names[i], &search.rate, &properties));
        search.first = drf_convert(channel->first, channel->rate, search.rate);
        search.end = drf_convert(channel->end, channel->rate, search.rate);
        TRY(properties ? drf_search_folder(&search, folders.names[i]) : STATUS_OK);
    }
    if (search.is_found) {
        TRY(drf_names_add(&channel->metadata, memory_move(&search.path)));
        TRY(drf_names_add(&channel->metadata, memory_move(&properties)));
    }
    channel->centres = search.centres;
    channel->ncentres = search.count;
    channel->is_later = search.is_found && search.sample > search.first;
    search.centres = NULL;
    return STATUS_OK;
}

enum { MOST_ELEMENT = 16, PIECE_BYTES = 1 << 22 };

/* Integers of a dataset, one or two in each element; `fill` is an element that never came. */
struct fill_integers {
    hid_t number;
    size_t bytes, count;
    char fill[MOST_ELEMENT];
    double value; /* of its first number */
};

/* Fill values of Digital RF: a continuous writer without compression makes files of full length,
 * and what never came keeps the dataset's fill value: the smallest integer of its type, or NaN
 * (rf_write_hdf5.c, digital_rf_set_fill_value). No index lists them. */

/* *is_known = 0: they are no integers, or have a form that no writer makes. */
static status_t fill_find_integers(const struct h5_dataset *data, const char *path, int *is_known,
                                   struct fill_integers *out)
{
    size_t element = H5Tget_size(data->type);
    int is_pair = H5Tget_class(data->type) == H5T_COMPOUND;
    *is_known = 0;
    if (is_pair && H5Tget_nmembers(data->type) != 2) {
        return STATUS_OK;
    }
    out->count = is_pair ? 2 : 1;
    out->number = is_pair ? H5Tget_member_type(data->type, 0) : H5Tcopy(data->type);
    H5_TRY(out->number, "%s: /rf_data: its type cannot be read", path);
    out->bytes = H5Tget_size(out->number);
    *is_known = H5Tget_class(out->number) == H5T_INTEGER && out->bytes * out->count == element &&
                element <= MOST_ELEMENT;
    return STATUS_OK;
}

/* The fill value that the dataset states, or else that of its type. */
static status_t fill_find_value(const struct h5_dataset *data, const char *path,
                                struct fill_integers *out)
{
    H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
    int is_signed = H5Tget_sign(out->number) != H5T_SGN_NONE;
    char number[MOST_ELEMENT] = {0};
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(data->id);
    H5_TRY(plist, "%s: /rf_data does not say how it is stored", path);
    out->value = is_signed ? -ldexp(1, 8 * (int)out->bytes - 1) : 0;
    if (H5Pfill_value_defined(plist, &kind) >= 0 && kind == H5D_FILL_VALUE_USER_DEFINED) {
        H5_TRY(H5Pget_fill_value(plist, data->type, out->fill),
               "%s: the fill value of /rf_data cannot be read", path);
        memcpy(number, out->fill, out->bytes);
        H5_TRY(H5Tconvert(out->number, H5T_NATIVE_DOUBLE, 1, number, NULL, H5P_DEFAULT),
               "%s: the fill value of /rf_data is no number", path);
        memcpy(&out->value, number, sizeof out->value);
        return STATUS_OK;
    }
    memcpy(number, &out->value, sizeof out->value);
    H5_TRY(H5Tconvert(H5T_NATIVE_DOUBLE, out->number, 1, number, NULL, H5P_DEFAULT),
           "%s: /rf_data has numbers without a fill value", path);
    for (size_t i = 0; i < out->count; i++) {
        memcpy(out->fill + i * out->bytes, number, out->bytes);
    }
    return STATUS_OK;
}

/* Looks for it in all elements. What cannot be read is left to the reading. */
static status_t fill_search(const struct h5_dataset *data, const struct fill_integers *integers,
                            int *found)
{
    size_t element = integers->bytes * integers->count;
    hsize_t start[H5S_MAX_RANK] = {0};
    hsize_t size[H5S_MAX_RANK] = {1, data->rank > 1 ? data->dims[1] : 1};
    uint64_t row = max_u64(size[1], 1);
    uint64_t rows = max_u64(1, PIECE_BYTES / (row * element));
    SCOPED(free_at) char *values = NULL;
    TRY(memory_zeroed((size_t)(min_u64(rows, data->dims[0]) * row), element, "samples", &values));
    for (uint64_t at = 0; at < data->dims[0] && !*found; at += rows) {
        uint64_t count = min_u64(rows, data->dims[0] - at);
        start[0] = at;
        size[0] = count;
        *found =
            report_failed(h5_dataset_read_part(data, start, size, data->type, values, "/rf_data"));
        for (uint64_t i = 0; i < count * row && !*found; i++) {
            *found = memcmp(values + i * element, integers->fill, element) == 0;
        }
    }
    return STATUS_OK;
}

/* Whether HDF5 would read the dataset from its own file alone. */
static int fill_is_here(const struct h5_dataset *data)
{
    hid_t plist = H5Dget_create_plist(data->id);
    int is_here =
        plist >= 0 && H5Pget_layout(plist) != H5D_VIRTUAL && H5Pget_external_count(plist) == 0;
    h5_close(plist);
    return is_here;
}

SCOPED_CALLS(fill_integers_close, struct fill_integers, h5_close(at->number))

status_t drf_find_fill(const char *path, const struct h5_dataset *data, struct drf_fill *out)
{
    SCOPED(fill_integers_close) struct fill_integers integers = {.number = -1};
    uint64_t bytes = 0;
    int is_known = 0;
    TRY(fill_find_integers(data, path, &is_known, &integers));
    if (!is_known || out->is_there) {
        return STATUS_OK; /* NaN is missing anyway */
    }
    TRY(fill_find_value(data, path, &integers));
    out->value = integers.value;
    if (!multiply_u64(data->count, integers.bytes * integers.count, &bytes) ||
        bytes > out->searched_left || !fill_is_here(data)) {
        out->is_there = 1;
        return STATUS_OK;
    }
    out->searched_left -= bytes;
    return fill_search(data, &integers, &out->is_there);
}
