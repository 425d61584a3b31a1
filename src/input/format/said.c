/* The job's description of its files' layout: values that it leaves to the file are looked up, and
 * put where the job would have put them; the others go over the file's own. */
#include "input/format/said.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/hdf5/links.h"
#include "input/hdf5/stored.h"
#include "io/apart.h"
#include "job/job_schema.h"
#include "job/yaml/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The job's description of its files' layout, put over the file's own. */

static status_t override_text(const char *from, char *to)
{
    char *text = NULL;
    char *own = NULL;
    memcpy(&text, from, sizeof text);
    if (text) {
        memcpy(&own, to, sizeof own);
        TRY(memory_text(text, &text));
        memcpy(to, &text, sizeof text);
        free(own);
    }
    return STATUS_OK;
}

/* Replaces a list by another one, unless that is empty. */
static status_t override_list(const struct schema *row, const char *from, char *to)
{
    char *list = NULL;
    char *copy = NULL;
    uint32_t count = 0;
    memcpy(&count, from + row->count_at, sizeof count);
    if (count > 0) {
        TRY(memory_zeroed(count, row->size, "a list of a layout", &copy));
        memcpy(&list, from + row->at, sizeof list);
        memcpy(copy, list, count * row->size);
        memcpy(&list, to + row->at, sizeof list);
        free(list);
        memcpy(to + row->at, &copy, sizeof copy);
        memcpy(to + row->count_at, &count, sizeof count);
    }
    return STATUS_OK;
}

/* Copies the values that `from` gives, all that these rows describe, but for lists of mappings. */
static status_t override_rows(const struct schema *rows, const char *from, char *to)
{
    for (const struct schema *row = rows; row->key; row++) {
        const struct schema *instead = row->instead;
        const size_t flag = row->given.as != 0 ? sizeof(int) : 0; /* bytes */
        int is_given = 1;
        memcpy(&is_given, from + row->given.at, flag);
        TRY(instead ? override_rows(instead->members, from + instead->at, to + instead->at)
                    : STATUS_OK);
        if (row->type == SCHEMA_MAPPING && row->most == 0) {
            TRY(override_rows(row->members, from + row->at, to + row->at));
        } else if (row->type == SCHEMA_TEXT) {
            TRY(override_text(from + row->at, to + row->at));
        } else if (row->most > 0 && row->type != SCHEMA_MAPPING) {
            TRY(override_list(row, from, to));
        } else if (row->most == 0 && is_given) {
            memcpy(to + row->at, from + row->at, row->size);
            memcpy(to + row->given.at, &is_given, flag);
        }
    }
    return STATUS_OK;
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

struct ratio override_ratio(const struct job_layout *layout)
{
    return layout->has_oversampling ? layout->oversample : (struct ratio){1, 1};
}

status_t layout_make_frequencies(struct job_layout *own, uint32_t count)
{
    own->freq.count = count;
    return memory_zeroed(count, sizeof *own->freq.hz, "frequencies", &own->freq.hz);
}

status_t override_layout(const struct job_layout *layout, struct job_layout *own)
{
    /* One way to say rate and frequencies, which formats list, takes the place of another. */
    if (layout->time.has_sample_rate || layout->time.has_sample_period) {
        own->time.has_sample_rate = own->time.has_sample_period = 0;
    }
    if (override_has_frequencies(layout)) {
        free(own->freq.hz);
        own->freq = (struct job_layout_freq){.count = 0};
    }
    own->numbers.nlevels = layout->numbers.has_packing ? 0 : own->numbers.nlevels;
    return override_rows(job_layout_schema, (const char *)layout, (char *)own);
}

void override_free(struct job_layout *own)
{
    schema_free(job_layout_schema, own);
    *own = (struct job_layout){0};
}

enum { MOST_VALUES = 1 << 24 };

/* Values of the file: an attribute's or a dataset's. said_close() in any case. */
struct said_values {
    const char *where;     /* "PATH@NAME" or "PATH" of `file`, for messages */
    const char *path;      /* of the file */
    hid_t object;          /* that has the attribute; below 0: there is none */
    const char *attribute; /* its name; NULL: a dataset */
    struct h5_dataset data;
};

SCOPED_CALLS(said_close, struct said_values, h5_dataset_close(&at->data), h5_close(at->object))

static status_t said_note(void *context, const char *path, const char *from)
{
    return sources_add(context, path, SOURCE_LINKED, from);
}

/* Opens the object at `name`, of which `length` characters count. */
static status_t said_open_object(hid_t file, const struct said_values *values, const char *name,
                                 size_t length, struct storage *storage, hid_t *out)
{
    SCOPED(text_free) struct text object = {0};
    int is_there = 0;
    TRY(text_add(&object, "%.*s", (int)length, name));
    apart_at("%s: %s", values->path, object.data);
    const struct links_request request = {.file = file,
                                          .path = values->path,
                                          .name = object.data,
                                          .note = said_note,
                                          .context = &storage->sources};
    TRY(links_open(&request, out, &is_there));
    return REQUIRED(is_there, STATUS_DATA, "%s: %s: there is no %s", values->path, values->where,
                    object.data);
}

/* Opens the attribute or dataset; `where` and `path` of *values are set. */
static status_t said_open(hid_t file, const char *dataset, struct storage *storage,
                          struct said_values *values)
{
    struct h5_dataset *data = &values->data;
    const char *at = strrchr(values->where, '@');
    const char *name = at == values->where && dataset ? dataset : values->where;
    size_t length = at && name == values->where ? (size_t)(at - name) : strlen(name);
    values->attribute = at ? at + 1 : NULL;
    TRY(at ? STATUS_OK : stored_require_whole(values->path, values->where, storage));
    TRY(said_open_object(file, values, name, length, storage, &values->object));
    if (at) {
        TRY(h5_attribute_open(values->object, values->path, at + 1, data));
        REQUIRE(data->id > 0, STATUS_DATA, "%s: %s: there is no attribute %s", values->path,
                values->where, at + 1);
    } else {
        REQUIRE(H5Iget_type(values->object) == H5I_DATASET, STATUS_DATA, "%s: %s is no dataset",
                values->path, values->where);
        TRY(h5_dataset_of(h5_move(&values->object), values->path, data));
    }
    return REQUIRED(data->count >= 1 && data->count <= MOST_VALUES, STATUS_DATA,
                    "%s: %s contains %llu values", values->path, values->where,
                    (unsigned long long)data->count);
}

/* All values, of a compound a member, as doubles; for free() in any case. */
static status_t said_read_numbers(const struct said_values *values, const char *member,
                                  double **out)
{
    const struct h5_dataset *data = &values->data;
    SCOPED(text_free) struct text where = {0};
    SCOPED(h5_close_at) hid_t type = -1;
    int is_compound = H5Tget_class(data->type) == H5T_COMPOUND;
    REQUIRE(is_compound == (member != NULL), STATUS_DATA,
            is_compound ? "%s: %s contains compounds: say which member%s"
                        : "%s: %s contains no compounds, and so no member %s",
            values->path, values->where, member ? member : "");
    TRY(text_add(&where, "%s: %s", values->path, values->where));
    TRY(h5_number_type(data->type, where.data, member, H5T_NATIVE_DOUBLE, &type));
    TRY(memory_zeroed((size_t)data->count, sizeof **out, values->where, out));
    return H5_TRIED(h5_values_read(data, type, *out), "%s cannot be read", where.data);
}

/* A text as it is, a number as it must be written to be read again: the only one of an attribute,
 * the first of a dataset. */
static status_t said_read_text(hid_t file, const char *dataset, struct storage *storage,
                               struct said_values *values, struct text *out, double *number)
{
    SCOPED(free_at) char *text = NULL;
    SCOPED(free_at) double *numbers = NULL;
    int found = 0;
    *number = NAN;
    TRY(said_open(file, dataset, storage, values));
    if (H5Tget_class(values->data.type) == H5T_STRING) {
        TRY(h5_get_text(values->object, values->path, values->attribute, &text, &found));
        TRY(text_add(out, "%s", found ? text : ""));
    } else {
        TRY(said_read_numbers(values, NULL, &numbers));
        *number = numbers[0];
        const size_t count = values->attribute ? (size_t)values->data.count : 1;
        for (size_t i = 1; i < count; i++) {
            REQUIRE(numbers[i] == *number, STATUS_DATA,
                    "%s: %s contains %zu values, such as %.17g and %.17g, expected one",
                    values->path, values->where, count, *number, numbers[i]);
        }
        int is_whole = fabs(*number) < 0x1p53 && *number == floor(*number);
        TRY(text_add(out, is_whole ? "%.0f" : "%.17g", *number));
    }
    return STATUS_OK;
}

/* Sets the start from a number: MJD or Unix time. */
static status_t said_put_start(const struct said_values *values, double number, enum job_unit unit,
                               struct job_layout *own)
{
    double most = unit == UNIT_UNIX ? 1e11 : 1e6;
    REQUIRE(number >= 0 && number <= most, STATUS_DATA, "%s: %s is %.17g: no time", values->path,
            values->where, number);
    own->time.start = unit == UNIT_MJD ? utc_of_mjd(number) : utc_of_unix(number);
    own->time.has_start = 1;
    return STATUS_OK;
}

static status_t said_fill_value(hid_t file, const char *path, const char *keys,
                                enum job_said_key key, struct job_layout *own,
                                struct storage *storage)
{
    SCOPED(said_close) struct said_values values = {own->said[key].attribute, path, .object = -1};
    enum job_unit unit = own->said[key].unit;
    SCOPED(text_free) struct text text = {0};
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
        return STATUS_OK;
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
    return STATUS_OK;
}

static status_t said_fill_frequencies(hid_t file, const char *path, struct job_layout *own,
                                      struct storage *storage)
{
    const struct job_frequencies *of = &own->freq.rule;
    SCOPED(said_close)
    struct said_values values = {of->from ? of->from : of->attribute, path, .object = -1};
    const char *dataset = own->dataset ? own->dataset : own->parts[0];
    TRY(said_open(file, dataset, storage, &values));
    free(memory_move(&own->freq.hz));
    TRY(said_read_numbers(&values, of->member, &own->freq.hz));
    double *numbers = own->freq.hz;
    for (size_t i = 0; i < values.data.count; i++) {
        numbers[i] *= job_unit_factor(of->unit);
        REQUIRE(isfinite(numbers[i]) && fabs(numbers[i]) <= 1e15, STATUS_DATA,
                "%s: %s contains %g, expected frequencies up to 1e15 Hz", path, values.where,
                numbers[i]);
    }
    own->freq.count = (uint32_t)values.data.count;
    return STATUS_OK;
}

status_t said_fill(hid_t file, const char *path, const char *keys, struct job_layout *own,
                   struct storage *storage)
{
    for (int key = 0; key < SAID_KEYS; key++) {
        TRY(own->said[key].attribute
                ? said_fill_value(file, path, keys, (enum job_said_key)key, own, storage)
                : STATUS_OK);
    }
    if (own->freq.rule.from || own->freq.rule.attribute) {
        TRY(said_fill_frequencies(file, path, own, storage));
    }
    return STATUS_OK;
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
