/* The job's description of its files' layout: values that it leaves to the file are looked up, and
 * put where the job would have put them; the others go over the file's own. */
#include "input/format/said.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/hdf5/links.h"
#include "input/hdf5/stored.h"
#include "io/apart.h"
#include "job/yaml/mistakes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The job's description of its files' layout, put over the file's own. */

#define OVERRIDE_TEXT(word)                                                                        \
    if (layout->word) {                                                                            \
        free(own->word);                                                                           \
        own->word = NULL;                                                                          \
        TRY(memory_text(layout->word, &own->word));                                                \
    }

static void override_free_frequencies(struct job_layout *own)
{
    free(own->freq.hz);
    own->freq.hz = NULL;
    own->freq.count = 0;
    free(own->freq.rule.from);
    free(own->freq.rule.attribute);
    free(own->freq.rule.member);
    own->freq.rule = (struct job_frequencies){.has_start = 0};
}

/* A list takes the place of another, unless it is empty. */
static status_t override_list(void **own, uint32_t *count, const void *list, uint32_t length,
                              size_t bytes)
{
    status_t st = STATUS_OK;
    if (length > 0) {
        void *copy = NULL;
        TRY(memory_zeroed(length, bytes, "a list of a layout", &copy));
        memcpy(copy, list, length * bytes);
        free(*own);
        *own = copy;
        *count = length;
    }
out:
    return st;
}

int override_has(const struct job_layout *layout, enum job_said_key key)
{
    const int is_given[SAID_KEYS] = {[SAID_SAMPLE_RATE] = layout->time.has_sample_rate,
                                     [SAID_SAMPLE_PERIOD] = layout->time.has_sample_period,
                                     [SAID_START] = layout->time.has_start,
                                     [SAID_SIDEBAND] = layout->has_sideband,
                                     [SAID_OVERSAMPLING] = layout->has_oversampling,
                                     [SAID_MISSING_VALUE] = layout->numbers.has_missing_value};
    return is_given[key] || layout->said[key].attribute != NULL;
}

int override_has_rate(const struct job_layout *layout)
{
    return override_has(layout, SAID_SAMPLE_RATE) || override_has(layout, SAID_SAMPLE_PERIOD);
}

int override_has_frequencies(const struct job_layout *layout)
{
    return layout->freq.count > 0 || layout->freq.rule.has_start || layout->freq.rule.from ||
           layout->freq.rule.attribute;
}

int override_has_spacing(const struct job_layout *layout)
{
    return override_has_rate(layout) || override_has_frequencies(layout);
}

status_t layout_make_frequencies(struct job_layout *own, uint32_t count)
{
    own->freq.count = count;
    return memory_zeroed(count, sizeof *own->freq.hz, "frequencies", &own->freq.hz);
}

/* Frequencies that are listed, counted or in the file: one way takes the place of another. */
static status_t override_frequencies(const struct job_layout *layout, struct job_layout *own)
{
    status_t st = STATUS_OK;
    if (!override_has_frequencies(layout)) {
        goto out;
    }
    override_free_frequencies(own);
    own->freq.rule.has_start = layout->freq.rule.has_start;
    own->freq.rule.start = layout->freq.rule.start;
    own->freq.rule.step = layout->freq.rule.step;
    own->freq.rule.unit = layout->freq.rule.unit;
    OVERRIDE_TEXT(freq.rule.from)
    OVERRIDE_TEXT(freq.rule.attribute)
    OVERRIDE_TEXT(freq.rule.member)
    TRY(override_list((void **)&own->freq.hz, &own->freq.count, layout->freq.hz, layout->freq.count,
                      sizeof *own->freq.hz));
out:
    return st;
}

status_t override_layout(const struct job_layout *layout, struct job_layout *own)
{
    status_t st = STATUS_OK;
#define OVERRIDE(flag, ...)                                                                        \
    if (layout->flag) {                                                                            \
        own->flag = layout->flag;                                                                  \
        __VA_ARGS__;                                                                               \
    }
    OVERRIDE(has_domain, own->is_complex = layout->is_complex)
    OVERRIDE(time.has_sample_rate, own->time.sample_rate_hz = layout->time.sample_rate_hz;
             own->time.has_sample_period = 0)
    OVERRIDE(time.has_sample_period, own->time.sample_period_s = layout->time.sample_period_s;
             own->time.has_sample_rate = layout->time.has_sample_rate)
    OVERRIDE(numbers.has_packing, own->numbers.packing = layout->numbers.packing;
             own->numbers.nlevels = 0)
    OVERRIDE(numbers.type.bits, own->numbers.type = layout->numbers.type)
    OVERRIDE(has_skip, own->skip = layout->skip)
    OVERRIDE(numbers.has_offset, own->numbers.offset = layout->numbers.offset)
    OVERRIDE(has_dc, own->is_dc_at_edge = layout->is_dc_at_edge)
    OVERRIDE(sky.has_ra, own->sky.ra_deg = layout->sky.ra_deg)
    OVERRIDE(sky.has_dec, own->sky.dec_deg = layout->sky.dec_deg)
    OVERRIDE(numbers.has_missing_value, own->numbers.missing_value = layout->numbers.missing_value)
    OVERRIDE(numbers.has_scale, own->numbers.scale = layout->numbers.scale)
    OVERRIDE(has_sideband, own->sideband = layout->sideband)
    OVERRIDE(time.has_start, own->time.start = layout->time.start)
    OVERRIDE(has_oversampling, own->oversample.num = layout->oversample.num;
             own->oversample.den = layout->oversample.den)
    OVERRIDE_TEXT(sky.telescope)
    OVERRIDE_TEXT(sky.source)
    OVERRIDE_TEXT(format)
    OVERRIDE_TEXT(dataset)
    OVERRIDE_TEXT(parts[0])
    OVERRIDE_TEXT(parts[1])
    OVERRIDE_TEXT(axes)
    for (int i = 0; i < SAID_KEYS; i++) {
        own->said[i].unit = layout->said[i].attribute ? layout->said[i].unit : own->said[i].unit;
        OVERRIDE_TEXT(said[i].attribute)
    }
    own->files_along = layout->files_along;
    own->is_reim_along = layout->is_reim_along;
    TRY(override_list((void **)&own->time.first_sample, &own->time.nfirst_sample,
                      layout->time.first_sample, layout->time.nfirst_sample,
                      sizeof *own->time.first_sample));
    TRY(override_list((void **)&own->numbers.levels, &own->numbers.nlevels, layout->numbers.levels,
                      layout->numbers.nlevels, sizeof *own->numbers.levels));
    TRY(override_frequencies(layout, own));
out:
    return st;
}

void override_free(struct job_layout *own)
{
    free(own->format);
    free(own->dataset);
    free(own->axes);
    free(own->parts[0]);
    free(own->parts[1]);
    free(own->time.first_sample);
    free(own->numbers.levels);
    free(own->sky.telescope);
    free(own->sky.source);
    for (int i = 0; i < SAID_KEYS; i++) {
        free(own->said[i].attribute);
    }
    override_free_frequencies(own);
    *own = (struct job_layout){0};
}

enum { MOST_VALUES = 1 << 24, UNIX_EPOCH_MJD = 40587, DAY_SECONDS = 86400 };

/* Values of the file: an attribute's or a dataset's. Identifiers are below 0 before said_open(). */
struct said_values {
    const char *where;     /* "PATH@NAME" or "PATH" of `file`, for messages */
    const char *path;      /* of the file */
    hid_t object;          /* that has the attribute */
    hid_t id, type, space; /* of the attribute, or dataset */
    const char *attribute; /* its name; NULL: a dataset */
    size_t count;
};
#define SAID_VALUES(where, path)                                                                   \
    {                                                                                              \
        where, path, -1, -1, -1, -1, NULL, 0                                                       \
    }

static void said_close(struct said_values *values)
{
    h5_close(values->space);
    h5_close(values->type);
    h5_close(values->id);
    h5_close(values->object);
}

static status_t said_note(void *context, const char *path, const char *from)
{
    return sources_add(context, path, SOURCE_LINKED, from);
}

/* Opens the object at `name`, of which `length` characters count. */
static status_t said_open_object(hid_t file, const struct said_values *values, const char *name,
                                 size_t length, struct storage *storage, hid_t *out)
{
    status_t st = STATUS_OK;
    struct text object = {0};
    int is_there = 0;
    TRY(text_add(&object, "%.*s", (int)length, name));
    apart_at("%s: %s", values->path, object.data);
    const struct links_request request = {.file = file,
                                          .path = values->path,
                                          .name = object.data,
                                          .note = said_note,
                                          .context = &storage->sources};
    TRY(links_open(&request, out, &is_there));
    REQUIRE(is_there, STATUS_DATA, "%s: %s: there is no %s", values->path, values->where,
            object.data);
out:
    text_free(&object);
    return st;
}

/* `values` with where and path set; said_close() in any case. */
static status_t said_open(hid_t file, const char *dataset, struct storage *storage,
                          struct said_values *values)
{
    status_t st = STATUS_OK;
    int found = 0;
    const char *at = strrchr(values->where, '@');
    const char *name = at == values->where && dataset ? dataset : values->where;
    size_t length = at && name == values->where ? (size_t)(at - name) : strlen(name);
    hid_t *object = at ? &values->object : &values->id;
    values->attribute = at ? at + 1 : NULL;
    TRY(at ? STATUS_OK : stored_require_whole(values->path, values->where, storage));
    TRY(said_open_object(file, values, name, length, storage, object));
    if (at) {
        TRY(h5_has_attribute(*object, values->path, at + 1, &found));
        REQUIRE(found, STATUS_DATA, "%s: %s: there is no attribute %s", values->path, values->where,
                at + 1);
        values->id = H5Aopen(*object, at + 1, H5P_DEFAULT);
    } else {
        REQUIRE(H5Iget_type(*object) == H5I_DATASET, STATUS_DATA, "%s: %s is no dataset",
                values->path, values->where);
    }
    H5_TRY(values->id, "%s: %s cannot be opened", values->path, values->where);
    values->type = at ? H5Aget_type(values->id) : H5Dget_type(values->id);
    values->space = at ? H5Aget_space(values->id) : H5Dget_space(values->id);
    H5_TRY(values->type, "%s: %s: its type cannot be read", values->path, values->where);
    H5_TRY(values->space, "%s: %s: its shape cannot be read", values->path, values->where);
    hssize_t count = H5Sget_simple_extent_npoints(values->space);
    REQUIRE(count >= 1 && count <= MOST_VALUES, STATUS_DATA, "%s: %s holds %lld values",
            values->path, values->where, (long long)count);
    values->count = (size_t)count;
out:
    return st;
}

/* All values, of a compound a member, as doubles. */
static status_t said_read_numbers(const struct said_values *values, const char *member,
                                  double **out)
{
    status_t st = STATUS_OK;
    hid_t type = -1;
    hid_t number = -1;
    double *numbers = NULL;
    int is_compound = H5Tget_class(values->type) == H5T_COMPOUND;
    REQUIRE(is_compound == (member != NULL), STATUS_DATA,
            is_compound ? "%s: %s holds compounds: say which member%s"
                        : "%s: %s holds no compounds, and so no member %s",
            values->path, values->where, member ? member : "");
    int index = is_compound ? H5Tget_member_index(values->type, member) : -1;
    REQUIRE(!is_compound || index >= 0, STATUS_DATA, "%s: %s has no member %s", values->path,
            values->where, member);
    number =
        is_compound ? H5Tget_member_type(values->type, (unsigned)index) : H5Tcopy(values->type);
    H5T_class_t class = H5Tget_class(number);
    REQUIRE(class == H5T_INTEGER || class == H5T_FLOAT, STATUS_DATA, "%s: %s holds no numbers",
            values->path, values->where);
    type = is_compound ? H5Tcreate(H5T_COMPOUND, sizeof(double)) : H5Tcopy(H5T_NATIVE_DOUBLE);
    H5_TRY(type, "%s: %s cannot be read", values->path, values->where);
    if (is_compound) {
        H5_TRY(H5Tinsert(type, member, 0, H5T_NATIVE_DOUBLE), "%s: %s cannot be read", values->path,
               values->where);
    }
    TRY(memory_zeroed(values->count, sizeof *numbers, values->where, &numbers));
    H5_TRY(values->attribute ? H5Aread(values->id, type, numbers)
                             : H5Dread(values->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers),
           "%s: %s cannot be read", values->path, values->where);
    *out = numbers;
    numbers = NULL;
out:
    free(numbers);
    h5_close(number);
    h5_close(type);
    return st;
}

/* The first value: a text as it is, a number as it must be written to be read again. */
static status_t said_read_text(hid_t file, const char *dataset, struct storage *storage,
                               struct said_values *values, struct text *out, double *number)
{
    status_t st = STATUS_OK;
    char *text = NULL;
    double *numbers = NULL;
    int found = 0;
    *number = NAN;
    TRY(said_open(file, dataset, storage, values));
    if (H5Tget_class(values->type) == H5T_STRING) {
        TRY(h5_get_text(values->object, values->path, values->attribute, &text, &found));
        TRY(text_add(out, "%s", found ? text : ""));
    } else {
        TRY(said_read_numbers(values, NULL, &numbers));
        *number = numbers[0];
        int is_whole = fabs(*number) < 0x1p53 && *number == floor(*number);
        TRY(text_add(out, is_whole ? "%.0f" : "%.17g", *number));
    }
out:
    free(numbers);
    free(text);
    return st;
}

/* A start that is a number. */
static status_t said_put_start(const struct said_values *values, double number, enum job_unit unit,
                               struct job_layout *own)
{
    status_t st = STATUS_OK;
    double most = unit == UNIT_UNIX ? 1e11 : 1e6;
    REQUIRE(number >= 0 && number <= most, STATUS_DATA, "%s: %s is %.17g: no time", values->path,
            values->where, number);
    if (unit == UNIT_MJD) {
        own->time.start = utc_of_mjd(number);
    } else {
        double day = floor(number / DAY_SECONDS);
        own->time.start = (struct utc){(int32_t)day + UNIX_EPOCH_MJD, number - day * DAY_SECONDS};
    }
    own->time.has_start = 1;
out:
    return st;
}

static status_t said_fill_value(hid_t file, const char *path, const char *keys,
                                enum job_said_key key, struct job_layout *own,
                                struct storage *storage)
{
    status_t st = STATUS_OK;
    struct said_values values = SAID_VALUES(own->said[key].attribute, path);
    enum job_unit unit = own->said[key].unit;
    struct text text = {0};
    double number = NAN;
    char message[MISTAKE_BYTES];
    char expected[MISTAKE_BYTES];
    int ok = 0;
    const char *name = job_layout_key(key, expected);
    TRY(said_read_text(file, own->dataset ? own->dataset : own->parts[0], storage, &values, &text,
                       &number));
    if (unit == UNIT_UNIX || unit == UNIT_MJD) {
        REQUIRE(isfinite(number), STATUS_DATA, "%s: %s is \"%s\", expected a number", path,
                values.where, text.data);
        TRY(said_put_start(&values, number, unit, own));
        goto out;
    }
    if (unit != UNIT_NONE) {
        REQUIRE(isfinite(number) || units_parse_f64(text.data, &number), STATUS_DATA,
                "%s: %s is \"%s\", expected a number", path, values.where, text.data);
        text_free(&text);
        TRY(text_add(&text, "%.17g", number * job_unit_factor(unit)));
    }
    TRY(job_layout_put(own, key, text.data, message, &ok));
    REQUIRE(ok, STATUS_DATA, "%s: %s, which is to say %s%s, is %s%s%s", path, values.where, keys,
            name, text.data, *message ? ": " : ", expected ", *message ? message : expected);
    own->time.has_sample_rate = key == SAID_SAMPLE_PERIOD ? 0 : own->time.has_sample_rate;
    own->time.has_sample_period = key == SAID_SAMPLE_RATE ? 0 : own->time.has_sample_period;
out:
    text_free(&text);
    said_close(&values);
    return st;
}

static status_t said_fill_frequencies(hid_t file, const char *path, struct job_layout *own,
                                      struct storage *storage)
{
    status_t st = STATUS_OK;
    const struct job_frequencies *of = &own->freq.rule;
    struct said_values values = SAID_VALUES(of->from ? of->from : of->attribute, path);
    const char *dataset = own->dataset ? own->dataset : own->parts[0];
    double *numbers = NULL;
    TRY(said_open(file, dataset, storage, &values));
    TRY(said_read_numbers(&values, of->member, &numbers));
    for (size_t i = 0; i < values.count; i++) {
        numbers[i] *= job_unit_factor(of->unit);
        REQUIRE(isfinite(numbers[i]) && fabs(numbers[i]) <= 1e15, STATUS_DATA,
                "%s: %s holds %g, expected frequencies up to 1e15 Hz", path, values.where,
                numbers[i]);
    }
    free(own->freq.hz);
    own->freq.hz = numbers;
    own->freq.count = (uint32_t)values.count;
    numbers = NULL;
out:
    free(numbers);
    said_close(&values);
    return st;
}

status_t said_fill(hid_t file, const char *path, const char *keys, struct job_layout *own,
                   struct storage *storage)
{
    status_t st = STATUS_OK;
    for (int key = 0; key < SAID_KEYS; key++) {
        TRY(own->said[key].attribute
                ? said_fill_value(file, path, keys, (enum job_said_key)key, own, storage)
                : STATUS_OK);
    }
    if (own->freq.rule.from || own->freq.rule.attribute) {
        TRY(said_fill_frequencies(file, path, own, storage));
    }
out:
    return st;
}

status_t said_refuse(const char *path, const struct job_layout *layout)
{
    char expected[MISTAKE_BYTES];
    const char *key = layout->freq.rule.from || layout->freq.rule.attribute ? "freq_hz" : NULL;
    for (int i = 0; i < SAID_KEYS; i++) {
        key = layout->said[i].attribute ? job_layout_key((enum job_said_key)i, expected) : key;
    }
    return REQUIRED(!key, STATUS_USAGE,
                    "%s: input.layout.%s is to be looked up in the file, which is no HDF5 and has "
                    "no attributes",
                    path, key);
}
