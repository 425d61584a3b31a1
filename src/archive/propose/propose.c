/* Goes through all objects once: the largest dataset, what its dimensions are called, and the
 * attributes and datasets whose names tell rate, start, frequencies, names. */
#include "archive/propose/propose.h"

#include "archive/propose/propose_axes.h"
#include "base/memory.h"
#include "io/apart/apart.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names of attributes, and the line of a layout that each is for: "%s" stands for PATH@NAME. Of two
 * with the same key the first in this table is taken. */
static const struct clue {
    const char *name, *key, *line;
} clues[] = {
    {"sample_rate_hz", "rate", "sample_rate_hz: {attribute: \"%s\"}"},
    {"sample_rate", "rate", "sample_rate_hz: {attribute: \"%s\"}  # check: in Hz?"},
    {"samp_rate", "rate", "sample_rate_hz: {attribute: \"%s\"}  # check: in Hz?"},
    {"sampling_rate", "rate", "sample_rate_hz: {attribute: \"%s\"}  # check: in Hz?"},
    {"sampleRate", "rate", "sample_rate_hz: {attribute: \"%s\"}  # check: in Hz?"},
    {"SAMPLING_RATE", "rate", "sample_rate_hz: {attribute: \"%s\"}  # check: in Hz?"},
    {"SAMPLE_FREQUENCY", "rate",
     "sample_rate_hz: {attribute: \"%s\", unit: MHz}  # check: in MHz?"},
    {"sample_rate_numerator", "rate",
     "sample_rate_hz: {attribute: \"%s\"}  # check: divided by sample_rate_denominator"},
    {"delta_time", "rate", "sample_period_s: {attribute: \"%s\"}  # check: in seconds?"},
    {"tsamp", "rate", "sample_period_s: {attribute: \"%s\"}  # check: in seconds?"},
    {"TSAMP", "rate", "sample_period_s: {attribute: \"%s\"}  # check: in seconds?"},
    {"SAMPLING_TIME", "rate", "sample_period_s: {attribute: \"%s\"}  # check: in seconds?"},
    {"time0_ctime", "start", "start: {attribute: \"%s\", unit: unix}  # check"},
    {"ts_start", "start", "start: {attribute: \"%s\", unit: unix}  # check"},
    {"timestamp", "start", "start: {attribute: \"%s\", unit: unix}  # check"},
    {"tstart", "start", "start: {attribute: \"%s\", unit: mjd}  # check"},
    {"EXPTIME_START_MJD", "start", "start: {attribute: \"%s\", unit: mjd}"},
    {"OBSERVATION_START_MJD", "start", "start: {attribute: \"%s\", unit: mjd}"},
    {"start_time", "start", "start: {attribute: \"%s\"}  # check: a UTC date and time?"},
    {"telescope", "telescope", "telescope: {attribute: \"%s\"}"},
    {"TELESCOPE", "telescope", "telescope: {attribute: \"%s\"}"},
    {"source", "source", "source: {attribute: \"%s\"}"},
    {"source_name", "source", "source: {attribute: \"%s\"}"},
};
enum { CLUES = sizeof clues / sizeof *clues, MOST_LINES = 60 };

struct proposal {
    const char *path;
    hid_t file;
    struct text *out;
    int lines; /* of attributes */
    char *dataset;
    uint64_t elements;
    char *said[CLUES]; /* where the attribute was found: PATH@NAME */
    char *freq;        /* a dataset that seems to hold frequencies */
};

/* " = 2.56e-06", " = \"CHIME\"", or nothing where it is neither number nor text. */
static status_t propose_add_value(struct proposal *p, hid_t object, const char *name)
{
    status_t st = STATUS_OK;
    char *text = NULL;
    double number = 0;
    int found = 0;
    TRY(h5_find_text(object, p->path, name, &text, &found));
    if (found) {
        TRY(text_add_shown(p->out, " = \"%.60s\"", text));
    } else if (h5_get_f64(object, p->path, name, &number, &found) == STATUS_OK) {
        TRY(found ? text_add(p->out, " = %.10g", number) : STATUS_OK);
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

struct propose_object {
    struct proposal *proposal;
    const char *name; /* without the first slash; "." is the root */
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
    for (size_t i = 0; i < CLUES; i++) {
        if (!p->said[i] && strcmp(clues[i].name, name) == 0) {
            TRY(memory_format(&p->said[i], "/%s@%s", at, name));
        }
    }
    if (p->lines++ < MOST_LINES) {
        TRY(text_add_shown(p->out, "  /%s@%s", at, name));
        TRY(propose_add_value(p, object, name));
        TRY(text_add(p->out, "\n"));
    }
out:
    return st == STATUS_OK ? 0 : -1;
}

/* A dataset of samples: numbers, or pairs of them; the largest is the one. One dimension whose name
 * ends with freq and the like holds frequencies. */
static status_t propose_see_dataset(struct proposal *p, hid_t dataset, const char *name)
{
    status_t st = STATUS_OK;
    hid_t space = H5Dget_space(dataset);
    hid_t type = H5Dget_type(dataset);
    hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : 0;
    H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    int is_number = class == H5T_INTEGER || class == H5T_FLOAT ||
                    (class == H5T_COMPOUND && H5Tget_nmembers(type) == 2);
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    if (is_number && rank == 1 && !p->freq && strncmp(base, "freq", 4) == 0) {
        TRY(memory_format(&p->freq, "/%s", name));
    } else if (is_number && rank >= 1 && count > 0 && (uint64_t)count > p->elements) {
        free(p->dataset);
        p->dataset = NULL;
        p->elements = (uint64_t)count;
        TRY(memory_format(&p->dataset, "/%s", name));
    }
out:
    h5_close(type);
    h5_close(space);
    return st;
}

static status_t propose_see_object(const struct h5_found *found, void *context, int *is_enough)
{
    struct proposal *p = context;
    status_t st = STATUS_OK;
    struct propose_object of = {p, found->path};
    hid_t object = -1;
    (void)is_enough;
    if (!found->is_new || (found->type != H5O_TYPE_DATASET && found->type != H5O_TYPE_GROUP)) {
        return STATUS_OK;
    }
    apart_at("%s: /%s", p->path, found->path);
    object = H5Oopen(found->at, found->name, H5P_DEFAULT);
    H5_TRY(object, "%s: /%s cannot be opened", p->path, found->path);
    H5_TRY(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, propose_see_attribute, &of),
           "%s: attributes of /%s cannot be listed", p->path, found->path);
    TRY(found->type == H5O_TYPE_DATASET ? propose_see_dataset(p, object, found->path) : STATUS_OK);
out:
    h5_close(object);
    return st;
}

/* The line of each key, by the first clue that was found. */
static status_t propose_add_clues(const struct proposal *p)
{
    status_t st = STATUS_OK;
    int has_rate = 0;
    for (size_t i = 0; i < CLUES; i++) {
        int is_first = p->said[i] != NULL;
        for (size_t k = 0; k < i && is_first; k++) {
            is_first = !p->said[k] || strcmp(clues[k].key, clues[i].key) != 0;
        }
        if (is_first) {
            const char *gap = strstr(clues[i].line, "%s");
            TRY(text_add(p->out, "    %.*s%s%s\n", (int)(gap - clues[i].line), clues[i].line,
                         p->said[i], gap + 2));
            has_rate |= strcmp(clues[i].key, "rate") == 0;
        }
    }
    TRY(has_rate
            ? STATUS_OK
            : text_add(p->out, "    sample_rate_hz: 1e6  # check: the file does not say it\n"));
out:
    return st;
}

/* Frequencies of a dataset: a member, if it is a compound, and the unit by their size. */
static status_t propose_add_frequencies(const struct proposal *p)
{
    status_t st = STATUS_OK;
    hid_t dataset = H5Dopen2(p->file, p->freq, H5P_DEFAULT);
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    char *member = NULL;
    H5_TRY(type, "%s: %s cannot be opened", p->path, p->freq);
    member = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_member_name(type, 0) : NULL;
    TRY(text_add(p->out, "    freq_hz: {from: %s%s%s, unit: %s}  # check: centres? the unit?\n",
                 p->freq, member ? ", member: " : "", member ? member : "",
                 strstr(p->freq, "hz") ? "Hz" : "MHz"));
out:
    H5free_memory(member);
    h5_close(type);
    h5_close(dataset);
    return st;
}

static status_t propose_add_layout(const struct proposal *p)
{
    status_t st = STATUS_OK;
    hid_t dataset = H5Dopen2(p->file, p->dataset, H5P_DEFAULT);
    H5_TRY(dataset, "%s: %s cannot be opened", p->path, p->dataset);
    TRY(text_add(p->out, "A job may begin so:\ninput:\n  files: %s\n  layout:\n    dataset: %s\n",
                 p->path, p->dataset));
    TRY(propose_add_axes(dataset, p->path, p->out));
    TRY(propose_add_clues(p));
    TRY(p->freq ? propose_add_frequencies(p) : STATUS_OK);
out:
    h5_close(dataset);
    return st;
}

status_t propose_layout(const char *path, struct text *out)
{
    status_t st = STATUS_OK;
    struct proposal p = {.path = path, .file = -1, .out = out};
    TRY(h5_open_cut_file(path, &p.file));
    TRY(h5_walk(p.file, path, propose_see_object, &p));
    if (p.lines > MOST_LINES) {
        TRY(text_add(out, "  and %d attributes more\n", p.lines - MOST_LINES));
    }
    TRY(p.dataset ? propose_add_layout(&p) : STATUS_OK);
out:
    for (size_t i = 0; i < CLUES; i++) {
        free(p.said[i]);
    }
    free(p.dataset);
    free(p.freq);
    h5_close(p.file);
    return st;
}
