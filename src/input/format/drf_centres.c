/* The centre frequency of a Digital RF channel, from its Digital Metadata: contents are not part of
 * the standard, but those of the usual recorder (thor) are well known. */
#include "base/memory.h"
#include "base/text.h"
#include "input/format/drf.h"
#include "input/format/fields.h"
#include "io/file.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "a Digital Metadata file";

/* Where recorders put it, below the group of a sample. */
static const char *const places[] = {"center_frequencies", "center_frequency", "center_freq",
                                     "receiver/center_freq"};

/* What is sought, and what is found so far. */
struct drf_search {
    struct drf_rate rate; /* of the metadata's own samples */
    uint64_t first, end;  /* of them, too */
    int is_found;
    uint64_t sample; /* whose metadata it is */
    double *centres;
    size_t count;
    char *path;
};

/* "NAME@1567105700.h5" */
static int drf_is_metadata_file(const char *name)
{
    const char *at = strchr(name, '@');
    return at && strncmp(name, "tmp.", 4) != 0 && isdigit((unsigned char)at[1]) &&
           strcmp(name + strlen(name) - 3, ".h5") == 0;
}

/* The group of a sample is named by its number. */
static int drf_sample_of(const char *name, uint64_t *sample)
{
    return isdigit((unsigned char)name[0]) && units_parse_u64(name, sample);
}

static status_t drf_read_centres(const struct fields *fields, const char *group, double **out,
                                 size_t *count)
{
    status_t st = STATUS_OK;
    *count = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && *count == 0; i++) {
        char name[200];
        int is_there = 0;
        snprintf(name, sizeof name, "%s/%s", group, places[i]);
        TRY(h5_has(fields->file, fields->path, name, &is_there));
        TRY(is_there ? fields_f64s(fields, name, NULL, out, count) : STATUS_OK);
    }
out:
    return st;
}

static int drf_same_centres(const struct drf_search *search, const double *centres, size_t count)
{
    return search->count == count && memcmp(search->centres, centres, count * sizeof *centres) == 0;
}

/* What is said last before the first sample counts; what is said later must be the same. */
static status_t drf_take_centres(struct drf_search *search, uint64_t sample, double **centres,
                                 size_t count, const char *path)
{
    status_t st = STATUS_OK;
    int is_before = sample <= search->first;
    if (!is_before && search->is_found) {
        REQUIRE(sample >= search->end || drf_same_centres(search, *centres, count), STATUS_DATA,
                "%s: the centre frequency is %.12g Hz from sample %llu on, %.12g Hz before: "
                "input.layout.freq_hz says which of them is right, or input.files leaves the other "
                "out",
                path, (*centres)[0], (unsigned long long)sample, search->centres[0]);
        goto out;
    }
    if (!search->is_found || sample >= search->sample) {
        free(search->centres);
        search->centres = *centres;
        *centres = NULL;
        search->count = count;
        search->sample = sample;
        search->is_found = 1;
        free(search->path);
        search->path = NULL;
        TRY(memory_text(path, &search->path));
    }
out:
    return st;
}

static status_t drf_search_file(struct drf_search *search, const char *path)
{
    status_t st = STATUS_OK;
    struct fields fields = {.file = -1};
    struct h5_names groups = {0};
    double *centres = NULL;
    TRY(fields_open(path, title, &fields));
    TRY(h5_list_links(fields.file, path, "the file", &groups));
    for (size_t i = 0; i < groups.count; i++) {
        uint64_t sample = 0;
        size_t count = 0;
        if (!drf_sample_of(groups.names[i], &sample)) {
            continue;
        }
        TRY(drf_read_centres(&fields, groups.names[i], &centres, &count));
        for (size_t j = 0; j < count; j++) {
            REQUIRE(isfinite(centres[j]), STATUS_DATA, "%s: a centre frequency of sample %s is %g",
                    path, groups.names[i], centres[j]);
        }
        TRY(count > 0 ? drf_take_centres(search, sample, &centres, count, path) : STATUS_OK);
        free(centres);
        centres = NULL;
    }
out:
    free(centres);
    h5_free_texts(groups.names, groups.count);
    fields_close(&fields);
    return st;
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
    status_t st = STATUS_OK;
    struct fields fields = {.file = -1};
    char *path = NULL;
    int64_t numerator = 0;
    int64_t denominator = 0;
    int is_metadata = 0;
    TRY(memory_format(&path, "%s/dmd_properties.h5", folder));
    TRY(file_exists(path, &is_metadata));
    if (is_metadata) {
        int found[2] = {0, 0};
        TRY(fields_open(path, title, &fields));
        TRY(fields_i64(&fields, "/", "sample_rate_numerator", &numerator, &found[0]));
        TRY(fields_i64(&fields, "/", "sample_rate_denominator", &denominator, &found[1]));
        if (found[0] && found[1] && numerator > 0 && denominator > 0) {
            *rate = (struct drf_rate){(uint64_t)numerator, (uint64_t)denominator};
        }
        *properties = path;
        path = NULL;
    }
out:
    fields_close(&fields);
    free(path);
    return st;
}

/* Seconds since 1970 in a file's name, from which on it tells of samples. */
static double drf_file_seconds(const char *path)
{
    return strtod(strchr(text_basename(path), '@') + 1, NULL);
}

static status_t drf_search_folder(struct drf_search *search, const char *folder)
{
    status_t st = STATUS_OK;
    struct drf_names times = {0};
    struct drf_names files = {0};
    double to_seconds = (double)search->rate.denominator / (double)search->rate.numerator;
    TRY(drf_list_folder(folder, drf_is_time_folder, &times));
    for (size_t i = 0; i < times.count; i++) {
        TRY(drf_list_folder(times.items[i], drf_is_metadata_file, &files));
    }
    /* From the last that begins before the first sample, to the last that begins before the end. */
    size_t from = 0;
    for (size_t i = 0; i < files.count; i++) {
        from = drf_file_seconds(files.items[i]) <= (double)search->first * to_seconds ? i : from;
    }
    for (size_t i = from; i < files.count; i++) {
        if (i == from || !search->is_found ||
            drf_file_seconds(files.items[i]) < (double)search->end * to_seconds) {
            TRY(drf_search_file(search, files.items[i]));
        }
    }
out:
    drf_names_free(&files);
    drf_names_free(&times);
    return st;
}

static int drf_is_visible(const char *name)
{
    return name[0] != '.' && !drf_is_time_folder(name);
}

/* For somebody else to free. */
static char *drf_take(char **name)
{
    char *taken = *name;
    *name = NULL;
    return taken;
}

status_t drf_centres(const struct drf_channel *channel, struct drf_rate rate, uint64_t first,
                     uint64_t end, double **out, size_t *count, int *is_later,
                     struct drf_names *files)
{
    status_t st = STATUS_OK;
    struct drf_search search = {.is_found = 0};
    struct drf_names folders = {0};
    char *properties = NULL;
    TRY(drf_list_folder(channel->folder, drf_is_visible, &folders));
    for (size_t i = 0; i < folders.count && !search.is_found; i++) {
        free(properties);
        properties = NULL;
        search.rate = rate;
        TRY(drf_read_rate(folders.items[i], &search.rate, &properties));
        search.first = drf_convert(first, rate, search.rate);
        search.end = drf_convert(end, rate, search.rate);
        TRY(properties ? drf_search_folder(&search, folders.items[i]) : STATUS_OK);
    }
    if (search.is_found) {
        TRY(drf_names_add(files, drf_take(&search.path)));
        TRY(drf_names_add(files, drf_take(&properties)));
    }
    *out = search.centres;
    *count = search.count;
    *is_later = search.is_found && search.sample > search.first;
    search.centres = NULL;
out:
    free(properties);
    free(search.centres);
    free(search.path);
    drf_names_free(&folders);
    return st;
}
