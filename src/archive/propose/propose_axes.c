/* Names of dimensions are dimension scales, their labels, or texts in an attribute of the dataset:
 * axis (CHIME), dim_name (kotekan), axes. */
#include "archive/propose/propose_axes.h"

#include "base/memory.h"
#include "base/terms.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_scales.h"
#include "io/hdf5/h5_versions.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 32, MOST_DIMS = AXIS_KINDS };

struct propose_dims {
    int rank;
    hsize_t size[H5S_MAX_RANK];
    char name[H5S_MAX_RANK][NAME_BYTES];
    int axis[H5S_MAX_RANK]; /* AXIS_KINDS: not known */
};

/* The last parts of the paths of scales. */
static status_t propose_take_scales(hid_t dataset, const char *path, struct propose_dims *dims)
{
    status_t st = STATUS_OK;
    char scale[H5_SCALE_NAME];
    for (int i = 0; i < dims->rank; i++) {
        TRY(h5_first_scale(dataset, path, i, scale));
        snprintf(dims->name[i], NAME_BYTES, "%.31s", text_basename(scale));
    }
out:
    return st;
}

/* Texts of an attribute, one for each dimension. */
static status_t propose_take_texts(hid_t dataset, const char *path, const char *attribute,
                                   struct propose_dims *dims)
{
    status_t st = STATUS_OK;
    char raw[H5S_MAX_RANK * 64];
    int is_there = 0;
    hid_t id = -1;
    hid_t type = -1;
    hid_t space = -1;
    TRY(h5_has_attribute(dataset, path, attribute, &is_there));
    if (!is_there) {
        goto out;
    }
    id = H5Aopen(dataset, attribute, H5P_DEFAULT);
    H5_TRY(id, "%s: attribute %s cannot be opened", path, attribute);
    type = H5Aget_type(id);
    space = H5Aget_space(id);
    size_t size = type >= 0 && H5Tget_class(type) == H5T_STRING ? H5Tget_size(type) : 0;
    int is_variable = size > 0 && H5Tis_variable_str(type) > 0;
    if (size > 0 && H5Sget_simple_extent_npoints(space) == dims->rank &&
        size * (size_t)dims->rank <= sizeof raw) {
        H5_TRY(H5Aread(id, type, raw), "%s: attribute %s cannot be read", path, attribute);
        for (int i = 0; i < dims->rank; i++) {
            const char *text = raw + (size_t)i * size;
            size_t length = is_variable ? 0 : strnlen(text, size);
            if (is_variable) {
                memcpy(&text, raw + (size_t)i * size, sizeof text);
                length = text ? strlen(text) : 0;
            }
            length = length < NAME_BYTES - 1 ? length : NAME_BYTES - 1;
            if (length > 0) {
                memcpy(dims->name[i], text, length);
                dims->name[i][length] = '\0';
            }
        }
        if (is_variable) {
            h5_reclaim(type, space, raw);
        }
    }
out:
    h5_close(space);
    h5_close(type);
    h5_close(id);
    return st;
}

/* A name in words of no use is guessed, with a warning. Fails with DEVICE, and with DATA where the
 * file itself cannot be read. */
static status_t propose_forgive(status_t st)
{
    if (st != STATUS_DATA || strstr(report_cause(), "file read failed")) {
        return st;
    }
    report_warn("%s: names of dimensions are guessed", report_cause());
    return report_forgive(st);
}

static int propose_axis_of(const char *name)
{
    static const struct {
        const char *begins;
        enum axis axis;
    } words[] = {{"time", AXIS_TIME},     {"samp", AXIS_TIME},    {"freq", AXIS_CHAN},
                 {"chan", AXIS_CHAN},     {"coarse", AXIS_CHAN},  {"subband", AXIS_CHAN},
                 {"pol", AXIS_POL},       {"beam", AXIS_BEAM},    {"ant", AXIS_STATION},
                 {"input", AXIS_STATION}, {"stat", AXIS_STATION}, {"dish", AXIS_STATION},
                 {"feed", AXIS_STATION},  {"reim", AXIS_REIM},    {"re_im", AXIS_REIM},
                 {"complex", AXIS_REIM},  {"iq", AXIS_REIM}};
    static const struct {
        char letter;
        enum axis axis;
    } letters[] = {
        {'t', AXIS_TIME}, {'f', AXIS_CHAN}, {'p', AXIS_POL}, {'d', AXIS_STATION}, {'c', AXIS_REIM}};
    char low[NAME_BYTES] = "";
    for (size_t i = 0; name[i] && i < NAME_BYTES - 1; i++) {
        low[i] = (char)tolower((unsigned char)name[i]);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(low, words[i].begins, strlen(words[i].begins)) == 0) {
            return (int)words[i].axis;
        }
    }
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (low[0] == letters[i].letter && low[1] == '\0') {
            return (int)letters[i].axis;
        }
    }
    return AXIS_KINDS;
}

/* The largest dimension without an axis; -1: all have one. */
static int propose_largest(const struct propose_dims *dims)
{
    int largest = -1;
    for (int i = 0; i < dims->rank; i++) {
        if (dims->axis[i] == AXIS_KINDS && (largest < 0 || dims->size[i] > dims->size[largest])) {
            largest = i;
        }
    }
    return largest;
}

/* What names leave open: pairs last, time the longest, two polarisations, then channels. */
static void propose_guess(struct propose_dims *dims, int is_compound)
{
    static const enum axis order[] = {AXIS_TIME, AXIS_CHAN, AXIS_STATION, AXIS_BEAM, AXIS_POL};
    int taken[AXIS_KINDS + 1] = {0};
    int last = dims->rank - 1;
    for (int i = 0; i < dims->rank; i++) {
        taken[dims->axis[i]]++;
    }
    if (!is_compound && !taken[AXIS_REIM] && last > 0 && dims->size[last] == 2 &&
        dims->axis[last] == AXIS_KINDS) {
        dims->axis[last] = AXIS_REIM;
    }
    for (int i = 0; i < dims->rank && !taken[AXIS_POL]; i++) {
        if (dims->axis[i] == AXIS_KINDS && dims->size[i] == 2) {
            dims->axis[i] = AXIS_POL;
            taken[AXIS_POL] = 1;
        }
    }
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int at = taken[order[i]] ? -1 : propose_largest(dims);
        if (at >= 0) {
            dims->axis[at] = (int)order[i];
            taken[order[i]] = 1;
        }
    }
}

static status_t propose_name(hid_t dataset, const char *path, struct propose_dims *dims)
{
    status_t st = STATUS_OK;
    static const char *const attributes[] = {"axis", "axes", "dim_name", "DIMENSION_LABELS"};
    unsigned seen = 0;
    TRY(propose_forgive(propose_take_scales(dataset, path, dims)));
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        TRY(propose_forgive(propose_take_texts(dataset, path, attributes[i], dims)));
    }
    for (int i = 0; i < dims->rank; i++) {
        dims->axis[i] = propose_axis_of(dims->name[i]);
        if (seen & 1U << dims->axis[i]) {
            dims->axis[i] = AXIS_KINDS;
        }
        seen |= dims->axis[i] < AXIS_KINDS ? 1U << dims->axis[i] : 0;
    }
out:
    return st;
}

status_t propose_add_axes(hid_t dataset, const char *path, struct text *out)
{
    status_t st = STATUS_OK;
    struct propose_dims dims = {.rank = 0};
    hid_t space = H5Dget_space(dataset);
    hid_t type = H5Dget_type(dataset);
    int is_guess = 0;
    dims.rank = H5Sget_simple_extent_dims(space, dims.size, NULL);
    REQUIRE(dims.rank >= 1, STATUS_DATA, "%s: the shape of a dataset cannot be read", path);
    if (dims.rank > MOST_DIMS) {
        TRY(text_add(out, "    axes: time  # check: the dataset has %d dimensions\n", dims.rank));
        goto out;
    }
    TRY(propose_name(dataset, path, &dims));
    for (int i = 0; i < dims.rank; i++) {
        is_guess |= dims.axis[i] == AXIS_KINDS;
    }
    propose_guess(&dims, H5Tget_class(type) == H5T_COMPOUND);
    TRY(text_add(out, "    axes: \""));
    for (int i = 0; i < dims.rank; i++) {
        const char *name = dims.axis[i] < AXIS_KINDS ? axis_name((enum axis)dims.axis[i]) : "?";
        TRY(text_add(out, "%s%s", i > 0 ? "," : "", name));
    }
    TRY(text_add(out, "\"%s\n", is_guess ? "  # check: by the sizes of the dimensions" : ""));
out:
    h5_close(type);
    h5_close(space);
    return st;
}
