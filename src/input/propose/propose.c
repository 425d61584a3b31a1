/* Goes through all objects once: datasets that may hold the samples, and values whose names are
 * known words. */
#include "input/propose/propose.h"

#include "base/memory.h"
#include "input/propose/propose_parts.h"
#include "io/apart.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_scales.h"
#include "io/hdf5/h5_walk.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 60, MOST_DATA = 1024 };

/* " = 2.56e-06", " = \"CHIME\"", or nothing where it is neither number nor text. */
static status_t propose_add_value(struct proposal *p, hid_t object, const char *name)
{
    status_t st = STATUS_OK;
    char *text = NULL;
    double number = 0;
    int found = 0;
    TRY(h5_find_text(object, p->path, name, &text, &found));
    if (found) {
        TRY(text_add_shown(p->attributes, " = \"%.60s\"", text));
    } else if (h5_get_f64(object, p->path, name, &number, &found) == STATUS_OK) {
        TRY(found ? text_add(p->attributes, " = %.10g", number) : STATUS_OK);
    }
    report_clear(); /* of what is no number */
out:
    free(text);
    return st;
}

/* Whether it helps to be told of an attribute: HDF5's own do not. */
static int propose_is_own(const char *name)
{
    static const char *const own[] = {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS",
                                      "NAME",           "_Netcdf4Dimid",  "_Netcdf4Coordinates",
                                      "_NCProperties"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (strcmp(name, own[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Context of an object's attributes. */
struct propose_object {
    struct proposal *proposal;
    const char *name; /* without the first slash; "." is the root */
    int is_of_data;   /* a dataset of several values */
};

static herr_t propose_see_attribute(hid_t object, const char *name, const H5A_info_t *info,
                                    void *context)
{
    const struct propose_object *of = context;
    struct proposal *p = of->proposal;
    const char *at = strcmp(of->name, ".") == 0 ? "" : of->name;
    status_t st = STATUS_OK;
    (void)info;
    apart_at("%s: /%s: attribute %s", p->path, at, name);
    if (propose_is_own(name)) {
        goto out;
    }
    TRY(propose_note_attribute(p, object, of->name, name, of->is_of_data));
    if (p->lines++ < MOST_LINES) {
        TRY(text_add_shown(p->attributes, "  /%s@%s", at, name));
        TRY(propose_add_value(p, object, name));
        TRY(text_add(p->attributes, "\n"));
    }
out:
    return st == STATUS_OK ? 0 : -1;
}

/* Describes the numbers of a dataset; returns 0 where it holds others, or scales of another one. */
static status_t propose_describe(const struct h5_dataset *data, const char *name,
                                 struct propose_data *out, int *is_it)
{
    status_t st = STATUS_OK;
    hid_t number = -1;
    hid_t second = -1;
    enum job_unit unit = UNIT_NONE;
    const struct propose_word *word = propose_word_of(text_basename(name), &unit);
    int is_scale = 0;
    H5T_class_t class = H5Tget_class(data->type);
    out->is_compound = class == H5T_COMPOUND;
    if (out->is_compound && H5Tget_nmembers(data->type) == 2) {
        number = H5Tget_member_type(data->type, 0);
        second = H5Tget_member_type(data->type, 1);
    } else if (!out->is_compound) {
        number = H5Tcopy(data->type);
    }
    out->class = number >= 0 ? H5Tget_class(number) : H5T_NO_CLASS;
    out->bytes = number >= 0 ? H5Tget_size(number) : 0;
    out->is_unsigned = out->class == H5T_INTEGER && H5Tget_sign(number) == H5T_SGN_NONE;
    out->numbers = data->count * (out->is_compound ? 2 : 1);
    out->rank = data->rank;
    memcpy(out->dims, data->dims, sizeof out->dims);
    TRY(h5_is_scale(data->id, name, &is_scale));
    int is_aside = word && (word->means == MEANS_ASIDE || word->means == MEANS_CENTRE);
    *is_it = (out->class == H5T_INTEGER || out->class == H5T_FLOAT) && data->rank >= 1 &&
             data->count > 1 && !is_scale && !is_aside &&
             (!out->is_compound || H5Tequal(number, second) > 0);
out:
    h5_close(second);
    h5_close(number);
    return st;
}

/* Keeps a dataset that may hold the samples. Where there are too many, the last one gives its place
 * to a larger one. */
static status_t propose_keep(struct proposal *p, const char *name, struct propose_data *data)
{
    status_t st = STATUS_OK;
    TRY(memory_format(&data->path, "/%s", name));
    if (p->ndata < MOST_DATA) {
        p->data[p->ndata++] = *data;
        data->path = NULL;
    } else if (data->numbers > p->data[MOST_DATA - 1].numbers) {
        struct propose_data other = p->data[MOST_DATA - 1];
        p->data[MOST_DATA - 1] = *data;
        *data = other;
    }
out:
    free(data->path);
    return st;
}

static status_t propose_see_dataset(struct proposal *p, hid_t dataset, const char *name,
                                    int *is_of_data)
{
    status_t st = STATUS_OK;
    struct h5_dataset data = {0};
    struct propose_data found = {.path = NULL};
    int is_it = 0;
    H5_TRY(H5Iinc_ref(dataset), "%s: /%s cannot be opened", p->path, name);
    TRY(h5_dataset_of(dataset, p->path, &data));
    *is_of_data = data.count > 1;
    TRY(propose_describe(&data, name, &found, &is_it));
    const char *power = found.is_compound ? NULL : propose_power_word(text_basename(name));
    if (is_it && power) {
        is_it = 0;
        TRY(text_add_shown(p->attributes,
                           "  /%s looks like powers, not voltages (\"%s\" in its name)\n", name,
                           power));
    }
    TRY(is_it ? propose_keep(p, name, &found) : propose_note_dataset(p, dataset, name));
out:
    h5_dataset_close(&data);
    return st;
}

static status_t propose_see_object(const struct h5_found *found, void *context, int *is_enough)
{
    struct proposal *p = context;
    status_t st = STATUS_OK;
    struct propose_object of = {p, found->path, 0};
    hid_t object = -1;
    (void)is_enough;
    if (!found->is_new || (found->type != H5O_TYPE_DATASET && found->type != H5O_TYPE_GROUP)) {
        return STATUS_OK;
    }
    apart_at("%s: /%s", p->path, found->path);
    object = H5Oopen(found->at, found->name, H5P_DEFAULT);
    H5_TRY(object, "%s: /%s cannot be opened", p->path, found->path);
    TRY(found->type == H5O_TYPE_DATASET
            ? propose_see_dataset(p, object, found->path, &of.is_of_data)
            : STATUS_OK);
    H5_TRY(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, propose_see_attribute, &of),
           "%s: attributes of /%s cannot be listed", p->path, found->path);
out:
    h5_close(object);
    return st;
}

status_t propose_layout(const char *path, struct text *attributes, struct text *job)
{
    status_t st = STATUS_OK;
    struct proposal p = {.path = path, .file = -1, .attributes = attributes, .out = job};
    TRY(memory_zeroed(MOST_DATA, sizeof *p.data, "datasets", &p.data));
    TRY(h5_open_cut_file(path, &p.file));
    TRY(h5_walk(p.file, path, propose_see_object, &p));
    if (p.lines > MOST_LINES) {
        TRY(text_add(attributes, "  and %d attributes more\n", p.lines - MOST_LINES));
    }
    propose_choose(&p);
    TRY(p.re ? propose_add_job(&p) : STATUS_OK);
out:
    propose_facts_free(&p);
    for (size_t i = 0; i < p.ndata; i++) {
        free(p.data[i].path);
    }
    free(p.data);
    h5_close(p.file);
    return st;
}
