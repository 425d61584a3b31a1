/* Digital RF: the files of a recording's channels, whose samples are counted from 1970 on
 * (MITHaystack/digital_rf, c/lib/rf_write_hdf5.c). What is missing, /rf_data_index alone says. */
#include "base/memory.h"
#include "base/text.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/gather.h"
#include "input/format/said.h"
#include "input/hdf5/stored.h"
#include "input/lost.h"
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which channels of Digital RF, and which of their files, a job's paths stand for. */

/* Samples are counted from 1970 on: number n is taken at n * denominator / numerator seconds. */
struct drf_rate {
    uint64_t numerator, denominator;
};

/* One channel of a recording: CHANNEL/YYYY-MM-DDTHH-MM-SS/rf@SECONDS.MILLISECONDS.h5, with what it
 * says of itself in CHANNEL/metadata. */
struct drf_channel {
    char *name;   /* of its folder */
    char *folder; /* its real path, which tells channels apart */
    struct h5_names files;
    /* Facts that all of its files state. */
    struct drf_rate rate;
    uint64_t first, end; /* samples */
    uint64_t subchannels;
    /* Facts that the channel states and its files do not. */
    uint64_t cadence_ms; /* of its files, by its properties; 0: not said */
    double *centres;     /* [ncentres] frequencies, one for each subchannel; none: unknown */
    size_t ncentres;
    int is_later;             /* these are stated for a sample after the first */
    struct h5_names metadata; /* the files that say so, or that it is continuous */
};

/* Starts from {0}. */
struct drf_channels {
    struct drf_channel *items;
    size_t count;
};

/* The value that continuous writers leave where nothing came. Starts from {.searched_left = ...}:
 * up to this number of bytes, of all files together, the samples are searched; larger ones, or
 * those that are unreadable or elsewhere, are assumed to have it. */
struct drf_fill {
    uint64_t searched_left;
    int is_there;
    double value;
};

enum { MOST_FILES = 1 << 22 };

/* Adds `name`, a text for free(), to the list, which owns it from now on, also when it fails: then
 * it is freed. Fails with DEVICE (memory). */
static status_t drf_names_add(struct h5_names *names, char *given)
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

/* Lists the channels of these paths, each a file, the folder of a channel (or of a time in it), or
 * a folder of such folders: sets name, folder and files of each. Opens no file. The caller calls
 * drf_free() in any case. Fails with DATA for a missing or unreadable path, any other folder, or
 * more than 2^22 files in one; with DEVICE (memory). */
static status_t drf_list(char *const *paths, size_t npaths, struct drf_channels *out)
{
    for (size_t i = 0; i < npaths; i++) {
        TRY(drf_add_path(out, paths[i]));
    }
    return STATUS_OK;
}

/* Frees the channels, and leaves {0}. */
static void drf_free(struct drf_channels *channels)
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

/* Sets *is_it to whether a folder is a channel, or contains some. Fails with DATA if it is
 * unreadable; with DEVICE (memory); *is_it is unchanged then. */
static status_t drf_is_recording(const char *path, int *is_it)
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

static const char metadata_title[] = "a Digital Metadata file";

/* Where recorders put it, below the group of a sample. */
static const char *const centre_names[] = {"center_frequencies", "center_frequency", "center_freq",
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
    for (size_t i = 0; i < sizeof centre_names / sizeof *centre_names && *count == 0; i++) {
        char name[200];
        int is_there = 0;
        snprintf(name, sizeof name, "%s/%s", group, centre_names[i]);
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
    TRY(fields_open(path, metadata_title, NULL, &fields));
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
        TRY(fields_open(path, metadata_title, NULL, &fields));
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

/* Finds the centre frequencies (Hz) that the channel's Digital Metadata states for its first
 * sample, sets centres, ncentres and is_later (none: 0), and adds the files that do to `metadata`:
 * that of the sample, and the metadata's properties. rate, first and end are known. Fails with
 * DATA: other ones for a sample before the channel's end, unreadable metadata; with DEVICE (memory,
 * descriptors); centres are unchanged then. */
static status_t drf_find_centres(struct drf_channel *channel)
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

/* Searches /rf_data of a continuous writer, `data`, in the file at `path`, for the value that
 * stands where nothing came, unless it was found before: sets is_there and value, and counts down
 * searched_left, the bytes that may still be searched. Floats need none: it is NaN. Fails with
 * DATA: a type or fill value that cannot be read; with DEVICE (memory). */
static status_t drf_find_fill(const char *path, const struct h5_dataset *data, struct drf_fill *out)
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

__extension__ typedef unsigned __int128 digital_rf_wide_t;

static const char title[] = "a Digital RF recording";

/* Bytes of samples that are searched for fill values, so that short recordings without any have no
 * weights. */
static const uint64_t digital_rf_searched = 256 << 20;

/* Rows row .. row + count - 1 of /rf_data are samples `sample` and following. */
struct digital_rf_block {
    uint64_t sample, row, count;
};

struct digital_rf_file {
    struct drf_rate rate;
    struct digital_rf_block *blocks;
    size_t nblocks;
    uint64_t subchannels;
    int rank;
    int is_complex;      /* by the type of its numbers */
    int is_continuous;   /* its writer fills gaps; -1: it does not say */
    uint64_t cadence_ms; /* of files; 0: it does not say */
};

/* A file that is opened: with its channel, and the values that stand for missing samples. */
struct digital_rf_opened {
    const struct drf_channel *channel;
    const struct drf_fill *fill;
    uint64_t first_sample;
};

static status_t digital_rf_recognise(const char *path, int *is_it)
{
    static const char *const names[] = {"rf_data", "rf_data_index", NULL};
    int is_folder = 0;
    int is_ordinary = 0;
    *is_it = 0;
    TRY(file_is_folder(path, &is_folder));
    TRY(file_is_ordinary(path, &is_ordinary));
    return is_folder                             ? drf_is_recording(path, is_it)
           : is_ordinary && h5_is_hdf5(path) > 0 ? fields_have(path, names, is_it)
                                                 : STATUS_OK;
}

/* The time of a sample, exact but for the rounding of the double. */
static struct utc digital_rf_utc(uint64_t sample, struct drf_rate rate)
{
    digital_rf_wide_t time = (digital_rf_wide_t)sample * rate.denominator;
    uint64_t seconds = (uint64_t)(time / rate.numerator);
    uint64_t rest = (uint64_t)(time % rate.numerator);
    return fields_unix((int64_t)min_u64(seconds, INT64_MAX), (double)rest / (double)rate.numerator);
}

static status_t digital_rf_read_rate(const struct fields *f, struct drf_rate *out)
{
    int64_t numerator = 0;
    int64_t denominator = 1;
    double old = 0;
    int is_rational = 0;
    int is_old = 0;
    TRY(fields_i64(f, "rf_data", "sample_rate_numerator", &numerator, &is_rational));
    TRY(fields_f64(f, "rf_data", "samples_per_second", &old, &is_old));
    if (is_rational) {
        TRY(fields_need_i64(f, "rf_data", "sample_rate_denominator", &denominator));
    } else {
        REQUIRE(is_old, STATUS_DATA,
                "%s: /rf_data has no attributes sample_rate_numerator and sample_rate_denominator, "
                "expected in %s",
                f->path, title);
        REQUIRE(old >= 1 && old < 9e15 && old == floor(old), STATUS_DATA,
                "%s: samples_per_second is %.17g, expected a whole number", f->path, old);
        numerator = (int64_t)old;
    }
    REQUIRE(numerator > 0 && denominator > 0, STATUS_DATA,
            "%s: its sample rate is %" PRId64 "/%" PRId64 " Hz", f->path, numerator, denominator);
    double rate = (double)numerator / (double)denominator;
    REQUIRE(!is_old || override_has_rate(f->layout) || fabs(old / rate - 1) < 1e-9, STATUS_DATA,
            "%s: samples_per_second is %.17g, sample_rate_numerator and denominator %" PRId64
            "/%" PRId64 ": input.layout.sample_rate_hz says which is right",
            f->path, old, numerator, denominator);
    *out = (struct drf_rate){(uint64_t)numerator, (uint64_t)denominator};
    return fields_check_rate(f, rate);
}

/* Attributes that repeat what type and shape of /rf_data say. */
static status_t digital_rf_check_shape(const struct fields *f, const char *object,
                                       const struct digital_rf_file *file)
{
    int64_t number = 0;
    int found = 0;
    TRY(fields_i64(f, object, "num_subchannels", &number, &found));
    REQUIRE(!found || (number >= 0 && (uint64_t)number == file->subchannels), STATUS_DATA,
            "%s: num_subchannels is %" PRId64 ", but /rf_data has %" PRIu64, f->path, number,
            file->subchannels);
    TRY(fields_i64(f, object, "is_complex", &number, &found));
    return REQUIRED(!found || (number != 0) == file->is_complex || f->layout->has_domain,
                    STATUS_DATA,
                    "%s: is_complex is %" PRId64
                    ", but /rf_data contains %s numbers: input.layout.domain says which is right",
                    f->path, number, file->is_complex ? "pairs of" : "single");
}

/* Checks the shape, and that the epoch is 1970. */
static status_t digital_rf_check_words(const struct fields *f, const struct digital_rf_file *file)
{
    SCOPED(free_at) char *epoch = NULL;
    TRY(digital_rf_check_shape(f, "rf_data", file));
    TRY(fields_text(f, "rf_data", "epoch", &epoch, NULL));
    return REQUIRED(!epoch || strncmp(epoch, "1970-01-01T00:00:00", 19) == 0 ||
                        override_has(f->layout, SAID_START),
                    STATUS_DATA,
                    "%s: samples are counted from the epoch %s, expected 1970-01-01T00:00:00Z: "
                    "input.layout.start says when the first was taken",
                    f->path, epoch);
}

/* Rows of the index: (first sample, row of rf_data), both ascending. Those that go on where the one
 * before ends are one block. */
static status_t digital_rf_read_index(const struct fields *f, uint64_t rows,
                                      struct digital_rf_file *out)
{
    SCOPED(free_at) uint64_t *index = NULL;
    size_t count = 0;
    hsize_t dims[2];
    TRY(fields_shape(f, "rf_data_index", 2, dims));
    TRY(fields_u64s(f, "rf_data_index", NULL, &index, &count));
    REQUIRE(dims[1] == 2 && dims[0] >= 1 && index[1] == 0, STATUS_DATA,
            "%s: /rf_data_index is %" PRIu64 " x %" PRIu64
            ", expected rows (first sample, row of rf_data), the first for row 0",
            f->path, (uint64_t)dims[0], (uint64_t)dims[1]);
    size_t blocks = (size_t)dims[0];
    TRY(memory_zeroed(blocks, sizeof *out->blocks, "blocks", &out->blocks));
    for (size_t i = 0; i < blocks; i++) {
        uint64_t sample = index[2 * i];
        uint64_t row = index[2 * i + 1];
        uint64_t next = i + 1 < blocks ? index[2 * i + 3] : rows;
        struct digital_rf_block *last = out->nblocks > 0 ? &out->blocks[out->nblocks - 1] : NULL;
        REQUIRE(next > row && next <= rows && sample < UINT64_C(1) << 62, STATUS_DATA,
                "%s: /rf_data_index: block %zu begins at row %" PRIu64 ", the next at %" PRIu64
                ", of %" PRIu64 " rows",
                f->path, i, row, next, rows);
        REQUIRE(!last || sample >= last->sample + last->count, STATUS_DATA,
                "%s: /rf_data_index: block %zu begins with sample %" PRIu64
                ", the one before ends with %" PRIu64,
                f->path, i, sample, last ? last->sample + last->count - 1 : 0);
        if (last && sample == last->sample + last->count) {
            last->count += next - row;
        } else {
            out->blocks[out->nblocks++] = (struct digital_rf_block){sample, row, next - row};
        }
    }
    return STATUS_OK;
}

static status_t digital_rf_read_cadence(const struct fields *f, const char *object, uint64_t *out)
{
    int64_t cadence = 0;
    int found = 0;
    status_t st = fields_i64(f, object, "file_cadence_millisecs", &cadence, &found);
    *out = found && cadence > 0 ? (uint64_t)cadence : 0;
    return st;
}

static status_t digital_rf_read(const struct fields *f, struct digital_rf_file *out)
{
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    int64_t is_continuous = 0;
    int found = 0;
    TRY(digital_rf_read_rate(f, &out->rate));
    TRY(h5_dataset_open(f->file, f->path, "rf_data", &data));
    REQUIRE((data.rank == 1 || data.rank == 2) && data.dims[0] > 0, STATUS_DATA,
            "%s: /rf_data has %d dimensions, expected [samples][subchannels]", f->path, data.rank);
    out->rank = data.rank;
    out->subchannels = data.rank == 2 ? data.dims[1] : 1;
    out->is_complex = H5Tget_class(data.type) == H5T_COMPOUND;
    TRY(digital_rf_check_words(f, out));
    TRY(digital_rf_read_cadence(f, "rf_data", &out->cadence_ms));
    TRY(fields_i64(f, "rf_data", "is_continuous", &is_continuous, &found));
    out->is_continuous = found ? is_continuous != 0 : -1;
    return digital_rf_read_index(f, data.dims[0], out);
}

/* The archive's one part becomes one for each block. */
static status_t digital_rf_split(const struct digital_rf_file *file, struct archive *archive)
{
    struct archive_part *parts = NULL;
    const struct digital_rf_block *last = &file->blocks[file->nblocks - 1];
    uint64_t first = file->blocks[0].sample;
    if (file->nblocks > 1) {
        TRY(memory_zeroed(file->nblocks, sizeof *parts, "blocks", &parts));
        for (size_t i = 0; i < file->nblocks; i++) {
            parts[i].origin = file->blocks[i].row;
            parts[i].samples = file->blocks[i].count;
            parts[i].first_sample = file->blocks[i].sample - first;
        }
        TRY(cut_parts(archive, parts, file->nblocks));
    }
    archive->count[AXIS_TIME] = last->sample + last->count - first;
    return STATUS_OK;
}

static status_t digital_rf_fill(struct fields *f, const struct digital_rf_file *file,
                                const struct digital_rf_opened *opened)
{
    struct job_layout *own = &f->own;
    const struct drf_channel *channel = opened->channel;
    /* Subchannels at one frequency are polarisations (or antennas), at several coarse channels. */
    int is_one = 1;
    for (size_t i = 1; i < channel->ncentres; i++) {
        is_one = is_one && channel->centres[i] == channel->centres[0];
    }
    own->has_sideband = 1;
    own->sideband = 1;
    own->numbers.has_missing_value = opened->fill->is_there;
    own->numbers.missing_value = opened->fill->value;
    TRY(fields_set_words(f, "rf_data",
                         file->rank == 1 ? "time"
                         : is_one        ? "time,pol"
                                         : "time,chan",
                         NULL));
    own->time.has_sample_rate = 1;
    own->time.sample_rate_hz = (double)file->rate.numerator / (double)file->rate.denominator;
    own->time.has_start = 1;
    own->time.start = digital_rf_utc(file->blocks[0].sample, file->rate);
    if (channel->ncentres > 0) {
        TRY(layout_make_frequencies(own, is_one ? 1 : (uint32_t)channel->ncentres));
        memcpy(own->freq.hz, channel->centres, own->freq.count * sizeof *own->freq.hz);
    }
    return STATUS_OK;
}

static void digital_rf_file_free(struct digital_rf_file *file)
{
    free(file->blocks);
    *file = (struct digital_rf_file){.blocks = NULL};
}

/* Reads what the channel's folder says of all its files. *path: of the file that does, for free();
 * else it stays. */
static status_t digital_rf_read_properties(const struct drf_channel *channel,
                                           struct digital_rf_file *out, char **path)
{
    SCOPED(free_at) char *name = NULL;
    SCOPED(fields_close) struct fields fields = {.file = -1};
    int is_there = 0;
    int64_t is_continuous = 0;
    int64_t rate[2] = {0, 0};
    int found[3] = {0, 0, 0};
    TRY(memory_format(&name, "%s/drf_properties.h5", channel->folder));
    TRY(file_exists(name, &is_there));
    if (is_there && h5_is_hdf5(name) > 0) {
        TRY(fields_open(name, title, NULL, &fields));
        TRY(fields_i64(&fields, "/", "is_continuous", &is_continuous, &found[0]));
        TRY(fields_i64(&fields, "/", "sample_rate_numerator", &rate[0], &found[1]));
        TRY(fields_i64(&fields, "/", "sample_rate_denominator", &rate[1], &found[2]));
        out->is_continuous = found[0] && is_continuous != 0;
        TRY(digital_rf_read_cadence(&fields, "/", &out->cadence_ms));
        if (found[1] && found[2]) {
            out->rate = (struct drf_rate){(uint64_t)rate[0], (uint64_t)rate[1]};
        }
        *path = memory_move(&name);
    }
    return STATUS_OK;
}

static status_t digital_rf_check_properties(const char *path, const struct job_layout *layout,
                                            const struct digital_rf_file *file)
{
    SCOPED(fields_close) struct fields fields = {.file = -1};
    TRY(fields_open(path, title, layout, &fields));
    return digital_rf_check_shape(&fields, "/", file);
}

/* Fill values in a file of a continuous writer. */
static status_t digital_rf_find_fill(const struct fields *f, const struct digital_rf_file *file,
                                     const struct digital_rf_file *properties,
                                     struct drf_fill *fill)
{
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    int is_continuous = file->is_continuous < 0 ? properties->is_continuous : file->is_continuous;
    if (is_continuous && !fill->is_there) {
        TRY(h5_dataset_open(f->file, f->path, "rf_data", &data));
        TRY(drf_find_fill(f->path, &data, fill));
    }
    return STATUS_OK;
}

/* Rates and numbers of samples of a channel's files, by which its metadata is found. */
static status_t digital_rf_survey(struct drf_channel *channel, const struct job_layout *layout,
                                  struct drf_fill *fill)
{
    const struct h5_names *files = &channel->files;
    struct digital_rf_file properties = {.blocks = NULL};
    SCOPED(fields_close) struct fields fields = {.file = -1};
    SCOPED(digital_rf_file_free) struct digital_rf_file file = {.blocks = NULL};
    SCOPED(free_at) char *path = NULL;
    int is_used = 0;
    TRY(digital_rf_read_properties(channel, &properties, &path));
    channel->cadence_ms = properties.cadence_ms;
    channel->first = UINT64_MAX;
    for (size_t i = 0; i < files->count; i++) {
        TRY(fields_open(files->names[i], title, layout, &fields));
        TRY(digital_rf_read(&fields, &file));
        TRY(i == 0 && path ? digital_rf_check_properties(path, layout, &file) : STATUS_OK);
        TRY(override_has(layout, SAID_MISSING_VALUE)
                ? STATUS_OK
                : digital_rf_find_fill(&fields, &file, &properties, fill));
        is_used = is_used || (properties.is_continuous && file.is_continuous < 0);
        REQUIRE(properties.rate.numerator == 0 || override_has_rate(layout) ||
                    (file.rate.numerator == properties.rate.numerator &&
                     file.rate.denominator == properties.rate.denominator),
                STATUS_DATA,
                "%s has samples at %" PRIu64 "/%" PRIu64 " Hz, but %s says %" PRIu64 "/%" PRIu64
                " Hz: input.layout.sample_rate_hz says which is right",
                files->names[i], file.rate.numerator, file.rate.denominator, path,
                properties.rate.numerator, properties.rate.denominator);
        const struct digital_rf_block *last = &file.blocks[file.nblocks - 1];
        channel->first = min_u64(channel->first, file.blocks[0].sample);
        channel->end = max_u64(channel->end, last->sample + last->count);
        REQUIRE(i == 0 || (file.rate.numerator == channel->rate.numerator &&
                           file.rate.denominator == channel->rate.denominator),
                STATUS_DATA,
                "%s has samples at %" PRIu64 "/%" PRIu64 " Hz, but %s at %" PRIu64 "/%" PRIu64
                " Hz: they are not of one channel",
                files->names[i], file.rate.numerator, file.rate.denominator, files->names[0],
                channel->rate.numerator, channel->rate.denominator);
        channel->rate = file.rate;
        channel->subchannels = file.subchannels;
        digital_rf_file_free(&file);
        fields_close(&fields);
    }
    if (is_used) {
        TRY(drf_names_add(&channel->metadata, path));
        path = NULL;
    }
    return STATUS_OK;
}

static status_t digital_rf_find_centres(struct drf_channel *channel)
{
    const struct h5_names *files = &channel->metadata;
    TRY(drf_find_centres(channel));
    return REQUIRED(
        channel->ncentres <= 1 || channel->ncentres == channel->subchannels, STATUS_DATA,
        "%s states %zu centre frequencies, but the files of %s have %" PRIu64 " subchannels",
        files->names[files->count - 2], channel->ncentres, channel->folder, channel->subchannels);
}

/* The name of a file, "rf@1700000000.500.h5": its first sample is taken then or later, within the
 * cadence of files. */
static status_t digital_rf_check_name(const struct digital_rf_file *file,
                                      const struct drf_channel *channel, const char *path,
                                      const struct job_layout *layout)
{
    enum { HOUR_MS = 3600 * 1000 }; /* longer files are not known */
    const uint64_t sample = file->blocks[0].sample;
    const char *at = strchr(text_basename(path), '@');
    char *end = NULL;
    uint64_t cadence_ms = file->cadence_ms      ? file->cadence_ms
                          : channel->cadence_ms ? channel->cadence_ms
                                                : HOUR_MS;
    double stated = at ? strtod(at + 1, &end) : 0;
    double first = (double)((long double)sample * (long double)file->rate.denominator /
                            (long double)file->rate.numerator);
    int is_inside = first - stated > -2e-3 && first - stated < (double)cadence_ms / 1e3 + 2e-3;
    int is_job = layout->time.has_start || layout->said[SAID_START].attribute ||
                 layout->time.has_sample_rate;
    return REQUIRED(
        !at || end == at + 1 || is_inside || is_job, STATUS_DATA,
        "%s: the file's name says %.3f s of 1970, but /rf_data_index begins with sample "
        "%" PRIu64 ", %.3f s at the sample rate %" PRIu64 "/%" PRIu64
        " Hz: input.layout.start or sample_rate_hz says what is right",
        path, stated, sample, first, file->rate.numerator, file->rate.denominator);
}

static status_t digital_rf_read_file(struct fields *f, void *context)
{
    struct digital_rf_opened *opened = context;
    const struct h5_names *metadata = &opened->channel->metadata;
    struct archive *archive = f->archive;
    struct storage *storage = &archive->parts[0].storage;
    SCOPED(digital_rf_file_free) struct digital_rf_file file = {.blocks = NULL};
    TRY(digital_rf_read(f, &file));
    TRY(digital_rf_fill(f, &file, opened));
    TRY(fields_describe(f, "Digital RF"));
    TRY(stored_require_whole(f->path, "rf_data_index", storage));
    for (size_t i = 0; i < metadata->count; i++) {
        TRY(sources_add(&storage->sources, metadata->names[i], SOURCE_NAMED, NULL));
    }
    if (!archive->is_complex && f->layout->freq.count == 0) {
        free(archive->freq_hz); /* what metadata calls the centre is that of complex samples */
        archive->freq_hz = NULL;
        archive->states.freq = 0;
    }
    TRY(digital_rf_check_name(&file, opened->channel, f->path, f->layout));
    TRY(digital_rf_split(&file, archive));
    archive->shape.stacked = AXIS_TIME;
    opened->first_sample = file.blocks[0].sample;
    return STATUS_OK;
}

/* Opens a channel's files, in places of a stack. */
static status_t digital_rf_open_channel(const struct drf_channel *channel,
                                        const struct job_layout *layout,
                                        const struct drf_fill *fill, uint64_t stack,
                                        struct places *places)
{
    for (size_t i = 0; i < channel->files.count; i++) {
        struct digital_rf_opened opened = {channel, fill, 0};
        struct place *place = NULL;
        TRY(places_add(places, &place));
        place->stack = stack;
        TRY(fields_make_file(channel->files.names[i], title, layout, digital_rf_read_file, &opened,
                             &place->archive));
        place->first_sample = opened.first_sample;
    }
    return STATUS_OK;
}

/* Channels beside each other are coarse channels when their frequencies differ, else polarisations;
 * stations when they have several subchannels each, which are the polarisations then. */
static enum axis digital_rf_stack_axis(const struct drf_channel *channels, size_t count,
                                       const struct job_layout *layout)
{
    if (layout->files_along != AXIS_TIME) {
        return layout->files_along;
    }
    for (size_t i = 1; i < count && channels[0].ncentres > 0; i++) {
        if (channels[i].ncentres > 0 && channels[i].centres[0] != channels[0].centres[0]) {
            return AXIS_CHAN;
        }
    }
    return channels[0].subchannels > 1 ? AXIS_STATION : AXIS_POL;
}

static status_t digital_rf_stack(const struct drf_channels *named, const struct places *places,
                                 const struct job_layout *layout)
{
    enum axis axis = digital_rf_stack_axis(named->items, named->count, layout);
    for (size_t i = 0; i < places->count; i++) {
        struct archive *archive = places->items[i].archive;
        archive->shape.stacked = axis;
        TRY(axis != AXIS_CHAN && archive->count[axis] == 1
                ? gather_name(archive, axis, 1, 0, named->items[places->items[i].stack].name)
                : STATUS_OK);
    }
    return STATUS_OK;
}

static status_t digital_rf_note_doubts(const struct job_layout *layout, const struct drf_fill *fill,
                                       int is_later, struct archive *archive)
{
    TRY(assume_if(is_later && archive->states.freq, &archive->assumed,
                  "metadata state a centre frequency only behind the first sample: it is used for "
                  "all (input.layout.freq_hz says another)"));
    TRY(assume_if(fill->is_there, &archive->assumed,
                  "is_continuous is 1: samples of the fill value %.0f are missing "
                  "(input.layout.missing_value says another)",
                  fill->value));
    return assume_if(!archive->states.freq && layout->freq.count == 0, &archive->assumed,
                     archive->is_complex
                         ? "centre frequency 0 Hz: no metadata beside the recording "
                           "says it (input.layout.freq_hz does)"
                         : "band from 0 Hz on: real samples, taken to be of the first "
                           "Nyquist zone (input.layout.freq_hz says the centre)");
}

static status_t digital_rf_open(const struct format_input *input, struct archive **out)
{
    SCOPED(drf_free) struct drf_channels named = {0};
    SCOPED(places_free) struct places places = {0};
    struct drf_fill fill = {.searched_left = digital_rf_searched};
    const struct job_layout *layout = input->layout;
    int is_later = 0;
    TRY(drf_list(input->paths, input->npaths, &named));
    for (size_t i = 0; i < named.count; i++) {
        TRY(digital_rf_survey(&named.items[i], layout, &fill));
    }
    for (size_t i = 0; i < named.count; i++) {
        TRY(layout->freq.count > 0 ? STATUS_OK : digital_rf_find_centres(&named.items[i]));
        TRY(digital_rf_open_channel(&named.items[i], layout, &fill, i, &places));
        is_later = is_later || named.items[i].is_later;
    }
    TRY(named.count > 1 ? digital_rf_stack(&named, &places, layout) : STATUS_OK);
    TRY(place_join(&places, PLACE_NEAR, out));
    return digital_rf_note_doubts(layout, &fill, is_later, *out);
}

const struct format digital_rf_format = {.name = "digital_rf",
                                         .is_no_product = 1,
                                         .recognise = digital_rf_recognise,
                                         .open = digital_rf_open};
