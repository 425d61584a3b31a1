/* Attributes and datasets of HDF5 files of known formats, and the archive that is made of their
 * description. */
#include "input/format/fields.h"

#include "base/memory.h"
#include "input/format/dataset.h"
#include "input/format/said.h"
#include "input/hdf5/stored.h"
#include "io/apart.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { FIELDS_WHERE = 1200 }; /* room for "FILE: OBJECT" */

static const double most_rate_hz = 1e15;

/* Whether there is an object of that path, which leads somewhere. */
static status_t fields_has_object(hid_t file, const char *path, const char *name, int *out)
{
    *out = 1;
    if (*name && strcmp(name, "/") != 0) {
        TRY(h5_has(file, path, name, out));
        *out = *out && H5Oexists_by_name(file, name, H5P_DEFAULT) > 0;
    }
    return STATUS_OK;
}

static status_t fields_open_object(hid_t file, const char *path, const char *name, hid_t *out)
{
    apart_at("%s%s%s", path, *name ? ": " : "", name);
    *out = H5Oopen(file, *name ? name : "/", H5P_DEFAULT);
    H5_TRY(*out, "%s: %s cannot be opened", path, name);
    return h5_require_header(*out, *name ? name : "/");
}

/* Whether there is such an object; or an attribute, "group@name", or one of that text,
 * "group@name=text". */
static status_t fields_has(hid_t file, const char *path, const char *what, int *out)
{
    char name[200];
    SCOPED(h5_close_at) hid_t object = -1;
    snprintf(name, sizeof name, "%s", what);
    char *at = strchr(name, '@');
    if (at) {
        *at = '\0';
    }
    TRY(fields_has_object(file, path, name, out));
    if (*out && at) {
        TRY(fields_open_object(file, path, name, &object));
        char *text = strchr(at + 1, '=');
        if (text) {
            *text++ = '\0';
        }
        TRY(text ? h5_says(object, path, at + 1, text, out)
                 : h5_has_attribute(object, path, at + 1, out));
    }
    return STATUS_OK;
}

status_t fields_have(const char *path, const char *const *names, int *is_it)
{
    SCOPED(h5_close_at) hid_t file = -1;
    *is_it = 1;
    TRY(h5_open_cut_file(path, &file));
    for (; *names && *is_it; names++) {
        TRY(fields_has(file, path, *names, is_it));
    }
    return STATUS_OK;
}

status_t fields_open(const char *path, const char *format, const struct job_layout *layout,
                     struct fields *out)
{
    *out = (struct fields){.path = path, .format = format, .file = -1, .layout = layout};
    return h5_open_cut_file(path, &out->file);
}

void fields_close(struct fields *f)
{
    if (f->path) {
        h5_close(f->file);
    }
    *f = (struct fields){.file = -1};
}

SCOPED_CALLS(fields_free, struct fields, override_free(&at->own))

status_t fields_make(const struct fields *file, fields_read_t *read, void *context,
                     struct archive **out)
{
    SCOPED(fields_free) struct fields f = *file;
    TRY(archive_create(f.path, out));
    f.archive = *out;
    return read(&f, context);
}

status_t fields_make_file(const char *path, const char *format, const struct job_layout *layout,
                          fields_read_t *read, void *context, struct archive **out)
{
    SCOPED(fields_close) struct fields f = {.file = -1};
    TRY(fields_open(path, format, layout, &f));
    return fields_make(&f, read, context, out);
}

/* Opens the object that has the attribute; *out stays what it is when it has none, or is not there.
 * `where` becomes "FILE: OBJECT". */
static status_t fields_find(const struct fields *f, const char *object, const char *name,
                            char where[FIELDS_WHERE], hid_t *out)
{
    int is_there = 0;
    SCOPED(h5_close_at) hid_t found = -1;
    int is_root = !*object || strcmp(object, "/") == 0;
    snprintf(where, FIELDS_WHERE, "%s%s%s", f->path, is_root ? "" : ": ", is_root ? "" : object);
    TRY(fields_has_object(f->file, f->path, object, &is_there));
    if (is_there) {
        TRY(fields_open_object(f->file, f->path, object, &found));
        TRY(h5_has_attribute(found, where, name, &is_there));
    }
    if (is_there) {
        *out = h5_move(&found);
    }
    return STATUS_OK;
}

#define FIELDS_GET(type, function, get)                                                            \
    status_t function(const struct fields *f, const char *object, const char *name, type *out,     \
                      int *found)                                                                  \
    {                                                                                              \
        status_t st = STATUS_OK;                                                                   \
        char where[FIELDS_WHERE];                                                                  \
        hid_t holder = -1;                                                                         \
        int is_there = 0;                                                                          \
        TRY_OUT(fields_find(f, object, name, where, &holder));                                     \
        if (holder >= 0) {                                                                         \
            TRY_OUT(get(holder, where, name, out, &is_there));                                     \
        }                                                                                          \
    out:                                                                                           \
        if (found) {                                                                               \
            *found = is_there;                                                                     \
        }                                                                                          \
        h5_close(holder);                                                                          \
        return st;                                                                                 \
    }

FIELDS_GET(char *, fields_text, h5_get_text)
FIELDS_GET(double, fields_f64, h5_get_f64)
FIELDS_GET(int64_t, fields_i64, h5_get_i64)

static status_t fields_require(const struct fields *f, const char *object, const char *name,
                               int found)
{
    return REQUIRED(found, STATUS_DATA, "%s: %s has no attribute %s, expected one in %s", f->path,
                    *object && strcmp(object, "/") != 0 ? object : "the file", name, f->format);
}

status_t fields_need_f64(const struct fields *f, const char *object, const char *name, double *out)
{
    int found = 0;
    TRY(fields_f64(f, object, name, out, &found));
    TRY(fields_require(f, object, name, found));
    return REQUIRED(isfinite(*out), STATUS_DATA, "%s: %s: %s is %g, expected a number", f->path,
                    object, name, *out);
}

status_t fields_need_i64(const struct fields *f, const char *object, const char *name, int64_t *out)
{
    int found = 0;
    TRY(fields_i64(f, object, name, out, &found));
    return fields_require(f, object, name, found);
}

struct utc fields_unix(int64_t seconds, double fraction)
{
    struct utc utc = utc_of_unix((double)seconds);
    utc.second += fraction;
    return utc;
}

/* 2000-01-01. */
static const int64_t first_start = 946684800;

status_t fields_set_start(struct fields *f, const char *name, int64_t seconds, double fraction)
{
    f->own.time.has_start = seconds >= first_start;
    f->own.time.start = fields_unix(seconds, fraction);
    return assume_unless(f->own.time.has_start || override_has(f->layout, SAID_START),
                         &f->archive->assumed,
                         "%s is %.9g s of 1970, a clock that was never set: the start is unknown; "
                         "input.layout.start says it",
                         name, (double)seconds + fraction);
}

status_t fields_set_words(struct fields *f, const char *dataset, const char *axes,
                          const char *telescope)
{
    TRY(memory_text(dataset, &f->own.dataset));
    TRY(memory_text(axes, &f->own.axes));
    return memory_text(telescope, &f->own.sky.telescope);
}

status_t fields_set_frequencies(struct fields *f, const char *dataset, const char *member)
{
    size_t count = 0;
    status_t st = fields_f64s(f, dataset, member, &f->own.freq.hz, &count);
    f->own.freq.count = (uint32_t)count;
    return st;
}

status_t fields_set_oversampling(struct fields *f, const char *object, const char *where)
{
    int64_t num = 1;
    int64_t den = 1;
    int has_num = 0;
    int has_den = 0;
    TRY(fields_i64(f, object, "oversampling_num", &num, &has_num));
    TRY(fields_i64(f, object, "oversampling_den", &den, &has_den));
    REQUIRE(has_num == has_den, STATUS_DATA,
            "%s has no attribute %s, expected oversampling_num and oversampling_den, or neither",
            where, has_num ? "oversampling_den" : "oversampling_num");
    REQUIRE(den >= 1 && num >= den && num <= 1000000, STATUS_DATA,
            "%s: oversampling is %" PRId64 "/%" PRId64 ", expected 1 or more", where, num, den);
    f->own.has_oversampling = 1;
    f->own.oversample = (struct ratio){(uint32_t)num, (uint32_t)den};
    return STATUS_OK;
}

status_t fields_check_scale(const struct fields *f)
{
    SCOPED(free_at) char *scale = NULL;
    TRY(fields_text(f, "/", "time_scale", &scale, NULL));
    REQUIRE(!scale || strcmp(scale, "UTC") == 0, STATUS_DATA, "%s: time_scale is %s, expected UTC",
            f->path, scale);
    return assume_if(f->own.time.has_start && !scale, &f->archive->assumed,
                     "start in UTC: the file has no time_scale");
}

double fields_unit(const char *unit)
{
    static const struct {
        const char *name;
        double size;
    } units[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9},
                 {"s", 1},  {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++) {
        if (strcasecmp(unit, units[i].name) == 0) {
            return units[i].size;
        }
    }
    return 0;
}

status_t fields_check_rate(const struct fields *f, double rate_hz)
{
    return REQUIRED(rate_hz > 0 && rate_hz <= most_rate_hz, STATUS_DATA,
                    "%s: a sample rate of %g Hz, expected more than 0 in %s", f->path, rate_hz,
                    f->format);
}

status_t fields_describe(struct fields *f, const char *name)
{
    struct archive *archive = f->archive;
    TRY(memory_text(name, &archive->layout));
    TRY(override_layout(f->layout, &f->own));
    TRY(dataset_describe(f->file, &f->own, "", archive));
    uint64_t chans = archive->count[AXIS_CHAN];
    REQUIRE(f->own.freq.count == 0 || f->own.freq.count == chans, STATUS_DATA,
            "%s: %u frequencies of %" PRIu64 " coarse channels in %s", f->path, f->own.freq.count,
            chans, f->format);
    archive->states.start = archive->sky.has_start;
    archive->states.freq = archive->states.freq || f->own.freq.count > 0;
    return STATUS_OK;
}

status_t fields_note_coherent(struct fields *f, double dm)
{
    struct coherent *coherent = &f->archive->coherent;
    size_t bytes = (size_t)f->archive->count[AXIS_CHAN] * sizeof *coherent->delay_hz;
    REQUIRE(isfinite(dm), STATUS_DATA, "%s: it was dedispersed to DM %g", f->path, dm);
    if (dm != 0 && f->archive->freq_hz) {
        coherent->dm = dm;
        coherent->constant = 1 / 2.41e-4;
        TRY(memory_zeroed(bytes, 1, "frequencies", &coherent->delay_hz));
        memcpy(coherent->delay_hz, f->archive->freq_hz, bytes);
    }
    return STATUS_OK;
}

enum { MOST_NUMBERS = 1 << 26, MOST_TEXTS = 1 << 20, MOST_TEXT = 1024 };

/* Numbers, texts and names of datasets in HDF5 files, read with every check that a hostile file
 * needs. */

status_t fields_require_whole(const struct fields *f, const char *dataset)
{
    status_t st = STATUS_OK;
    struct storage storage = {.nabsent = 0};
    struct stat info;
    if (stat(f->path, &info) == 0 && h5_is_cut(f->file, (uint64_t)info.st_size)) {
        st = stored_require_whole(f->path, dataset, &storage);
    }
    storage_free(&storage);
    return st;
}

/* Reads the numbers of a dataset, or of a member of it, as 8 bytes each. */
static status_t fields_numbers(const struct fields *f, const char *name, const char *member,
                               hid_t number, void *out, size_t *count)
{
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    SCOPED(h5_close_at) hid_t type = -1;
    void *numbers = NULL;
    char where[FIELDS_WHERE];
    int is_there = 0;
    snprintf(where, sizeof where, "%s: %s", f->path, name);
    TRY(fields_has(f->file, f->path, name, &is_there));
    REQUIRE(is_there, STATUS_DATA, "%s has no %s, expected in %s", f->path, name, f->format);
    TRY(fields_require_whole(f, name));
    TRY(h5_dataset_open(f->file, f->path, name, &dataset));
    REQUIRE(dataset.count <= MOST_NUMBERS, STATUS_DATA, "%s contains %" PRIu64 " values: absurd",
            where, dataset.count);
    TRY(h5_number_type(dataset.type, where, member, number, &type));
    TRY(memory_zeroed((size_t)dataset.count, 8, "numbers of a file", out));
    memcpy(&numbers, out, sizeof numbers);
    TRY(h5_dataset_read(&dataset, f->path, name, type, dataset.count, numbers));
    *count = (size_t)dataset.count;
    return STATUS_OK;
}

status_t fields_f64s(const struct fields *f, const char *dataset, const char *member, double **out,
                     size_t *count)
{
    return fields_numbers(f, dataset, member, H5T_NATIVE_DOUBLE, out, count);
}

status_t fields_u64s(const struct fields *f, const char *dataset, const char *member,
                     uint64_t **out, size_t *count)
{
    return fields_numbers(f, dataset, member, H5T_NATIVE_UINT64, out, count);
}

/* Elements may be arrays, of *each numbers. */
static status_t fields_array_type(hid_t stored, const char *where, hid_t number, size_t *each,
                                  hid_t *out)
{
    SCOPED(h5_close_at) hid_t of = -1;
    if (H5Tget_class(stored) != H5T_ARRAY) {
        TRY(h5_number_type(stored, where, NULL, number, out));
        return STATUS_OK;
    }
    of = H5Tget_super(stored);
    H5_TRY(of, "%s: a type cannot be read", where);
    H5T_class_t class = H5Tget_class(of);
    REQUIRE(class == H5T_INTEGER || class == H5T_FLOAT, STATUS_DATA, "%s does not contain numbers",
            where);
    hsize_t numbers = H5Tget_size(stored) / H5Tget_size(of);
    *each = (size_t)numbers;
    *out = H5Tarray_create2(number, 1, &numbers);
    return H5_TRIED(*out, "%s: a type cannot be made", where);
}

/* Reads the numbers of an attribute; *count is 0 if it is missing. */
static status_t fields_attribute(const struct fields *f, const char *object, const char *name,
                                 hid_t number, void *out, size_t *count)
{
    SCOPED(h5_close_at) hid_t holder = -1;
    SCOPED(h5_dataset_close) struct h5_dataset attribute = {0};
    SCOPED(h5_close_at) hid_t type = -1;
    void *numbers = NULL;
    size_t each = 1;
    char where[FIELDS_WHERE];
    *count = 0;
    TRY(fields_find(f, object, name, where, &holder));
    TRY(holder >= 0 ? h5_attribute_open(holder, where, name, &attribute) : STATUS_OK);
    if (attribute.count == 0) {
        return STATUS_OK;
    }
    REQUIRE(attribute.count <= MOST_NUMBERS, STATUS_DATA, "%s: attribute %s is absurd", where,
            name);
    TRY(fields_array_type(attribute.type, where, number, &each, &type));
    REQUIRE(each <= MOST_NUMBERS, STATUS_DATA, "%s: attribute %s is absurd", where, name);
    TRY(memory_zeroed((size_t)attribute.count * each, 8, "numbers of a file", out));
    memcpy(&numbers, out, sizeof numbers);
    H5_TRY(h5_values_read(&attribute, type, numbers), "%s: attribute %s cannot be read", where,
           name);
    *count = (size_t)attribute.count * each;
    return STATUS_OK;
}

status_t fields_attribute_f64s(const struct fields *f, const char *object, const char *name,
                               double **out, size_t *count)
{
    return fields_attribute(f, object, name, H5T_NATIVE_DOUBLE, out, count);
}

status_t fields_attribute_u64s(const struct fields *f, const char *object, const char *name,
                               uint64_t **out, size_t *count)
{
    return fields_attribute(f, object, name, H5T_NATIVE_UINT64, out, count);
}

status_t fields_shape(const struct fields *f, const char *name, int rank, hsize_t *dims)
{
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    int is_there = 0;
    TRY(fields_has(f->file, f->path, name, &is_there));
    REQUIRE(is_there, STATUS_DATA, "%s has no %s, expected in %s", f->path, name, f->format);
    TRY(h5_dataset_open(f->file, f->path, name, &dataset));
    REQUIRE(dataset.rank == rank, STATUS_DATA, "%s: %s has %d dimensions, expected %d in %s",
            f->path, name, dataset.rank, rank, f->format);
    memcpy(dims, dataset.dims, (size_t)rank * sizeof *dims);
    return STATUS_OK;
}

/* A text type in memory for `stored`, or for that member of it; below 0 when that is no text of
 * fixed length. */
static status_t fields_text_type(hid_t stored, const char *where, const char *member, size_t *size,
                                 hid_t *out)
{
    SCOPED(h5_close_at) hid_t of = -1;
    SCOPED(h5_close_at) hid_t text = -1;
    int index =
        member && H5Tget_class(stored) == H5T_COMPOUND ? H5Tget_member_index(stored, member) : -1;
    of = !member ? H5Tcopy(stored) : index >= 0 ? H5Tget_member_type(stored, (unsigned)index) : -1;
    if (of < 0 || H5Tget_class(of) != H5T_STRING || H5Tis_variable_str(of) != 0 ||
        H5Tget_size(of) > MOST_TEXT ||
        (member &&
         H5Tget_member_offset(stored, (unsigned)index) + H5Tget_size(of) > H5Tget_size(stored))) {
        return STATUS_OK;
    }
    *size = H5Tget_size(of) + 1;
    text = H5Tcopy(of);
    H5_TRY(H5Tset_size(text, *size), "%s: a type cannot be made", where);
    H5_TRY(H5Tset_strpad(text, H5T_STR_NULLTERM), "%s: a type cannot be made", where);
    return h5_type_as(text, where, member, out);
}

status_t fields_texts(const struct fields *f, const char *name, const char *member, char ***out,
                      size_t *count)
{
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    SCOPED(h5_close_at) hid_t type = -1;
    size_t size = 0;
    SCOPED(free_at) char *bytes = NULL;
    int is_there = 0;
    *count = 0;
    TRY(fields_has(f->file, f->path, name, &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(fields_require_whole(f, name));
    TRY(h5_dataset_open(f->file, f->path, name, &dataset));
    TRY(fields_text_type(dataset.type, f->path, member, &size, &type));
    if (type < 0 || dataset.rank != 1 || dataset.count > MOST_TEXTS) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)dataset.count, size, "texts of a file", &bytes));
    TRY(memory_zeroed((size_t)dataset.count, sizeof **out, "texts of a file", out));
    TRY(h5_dataset_read(&dataset, f->path, name, type, dataset.count, bytes));
    for (; *count < dataset.count; ++*count) {
        bytes[*count * size + size - 1] = '\0';
        TRY(memory_text(bytes + *count * size, &(*out)[*count]));
    }
    return STATUS_OK;
}

static status_t fields_is_dataset(const struct fields *f, const char *name, const char *attribute,
                                  int *is_one)
{
    SCOPED(h5_close_at) hid_t object = -1;
    TRY(fields_has_object(f->file, f->path, name, is_one));
    if (*is_one) {
        TRY(fields_open_object(f->file, f->path, name, &object));
        *is_one = H5Iget_type(object) == H5I_DATASET;
        TRY(*is_one ? h5_has_attribute(object, f->path, attribute, is_one) : STATUS_OK);
    }
    return STATUS_OK;
}

status_t fields_datasets(const struct fields *f, int (*is_wanted)(const char *path),
                         const char *attribute, struct h5_names *out)
{
    size_t kept = 0;
    TRY(h5_list_all(f->file, f->path, out));
    for (size_t i = 0; i < out->count; i++) {
        char *name = out->names[i];
        int is_one = is_wanted(name);
        TRY(is_one ? fields_is_dataset(f, name, attribute, &is_one) : STATUS_OK);
        out->names[i] = NULL;
        if (is_one) {
            out->names[kept++] = name;
        } else {
            free(name);
        }
    }
    out->count = kept;
    return STATUS_OK;
}
