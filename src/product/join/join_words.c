/* Attributes and values of the parts: alike, or the reason why they cannot be joined. */
#include "product/join/join_parts.h"

#include "base/memory.h"
#include "base/text.h"
#include "product/kind/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 256 };

/* Links of scales, made anew; how rows were compressed, which those of a join are not. */
static const char *const left_out[] = {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS",
                                       "CLASS",          "NAME",           "compression"};

/* Attributes that belong to a part alone. */
static const char *const own[] = {
    "ancillary_variables", "job",      "inputs",      "arithmetic",  "version",  "assumed",
    "libraries",           "software", "gap_samples", "rawdatafile", "span_rows"};
static const char *const own_of_times[] = {"start_mjd_day", "start_second", "first_time",
                                           "first_sample",  "tstart",       "units"};
static const char *const own_of_bands[] = {"fch1",    "nchans",        "nfpc",
                                           "average", "first_channel", "kept_convention"};

/* Datasets that a part without missing samples does not have. */
static const char *const of_weights[] = {"weights", "coarse_frequency"};

static int words_have(const struct h5_names *names, const char *name)
{
    return text_is_among((const char *const *)names->names, names->count, name);
}

static int words_are_shared(const struct join *join, const char *name)
{
    return !TEXT_IS_AMONG(left_out, name) && !TEXT_IS_AMONG(own, name) &&
           !(join->along == JOIN_TIME ? TEXT_IS_AMONG(own_of_times, name)
                                      : TEXT_IS_AMONG(own_of_bands, name));
}

status_t join_list_names(const struct join *join, struct h5_names *out)
{
    status_t st = STATUS_OK;
    struct h5_names names[2] = {{0}};
    uint32_t fullest = 0;
    for (uint32_t i = 0; i < join->count; i++) {
        TRY_OUT(h5_list_all(join->parts[i].file, join->parts[i].path, &names[1]));
        int is_fuller = i == 0 || names[1].count > names[0].count;
        const struct h5_names *most = &names[is_fuller ? 1 : 0];
        const struct h5_names *least = &names[is_fuller ? 0 : 1];
        uint32_t here = is_fuller ? i : fullest;
        uint32_t other = is_fuller ? fullest : i;
        for (size_t j = 0; j < most->count && i > 0; j++) {
            int may_lack = join->along == JOIN_TIME && TEXT_IS_AMONG(of_weights, most->names[j]);
            REQUIRE_OUT(may_lack || words_have(least, most->names[j]), STATUS_USAGE,
                        "join: %s has /%s, but %s has not", join->parts[here].path, most->names[j],
                        join->parts[other].path);
        }
        for (size_t j = 0; j < least->count && i > 0; j++) {
            REQUIRE_OUT(words_have(most, least->names[j]), STATUS_USAGE,
                        "join: %s has /%s, but %s has not", join->parts[other].path,
                        least->names[j], join->parts[here].path);
        }
        if (is_fuller) {
            text_free_list(names[0].names, names[0].count);
            names[0] = names[1];
            fullest = i;
        } else {
            text_free_list(names[1].names, names[1].count);
        }
        names[1] = (struct h5_names){0};
    }
    *out = names[0];
    names[0] = (struct h5_names){0};
out:
    for (int k = 0; k < 2; k++) {
        text_free_list(names[k].names, names[k].count);
    }
    return st;
}

status_t join_has(const struct join *join, uint32_t i, const char *name, int *out)
{
    *out = 1;
    return TEXT_IS_AMONG(of_weights, name)
               ? h5_has(join->parts[i].file, join->parts[i].path, name, out)
               : STATUS_OK;
}

status_t join_find(const struct join *join, const char *name, uint32_t *out)
{
    int has = 0;
    for (*out = 0; *out < join->count; ++*out) {
        TRY(join_has(join, *out, name, &has));
        if (has) {
            break;
        }
    }
    return STATUS_OK;
}

/* The bytes of an attribute; *bytes 0: there is none. */
static status_t words_read(hid_t object, const char *name, char **out, size_t *bytes, hid_t *type,
                           hid_t *space)
{
    status_t st = STATUS_OK;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    H5_TRY_OUT(attribute, "attribute %s cannot be opened", name);
    *type = H5Aget_type(attribute);
    *space = H5Aget_space(attribute);
    H5_TRY_OUT(*type, "attribute %s cannot be read", name);
    H5_TRY_OUT(*space, "attribute %s cannot be read", name);
    hssize_t count = H5Sget_simple_extent_npoints(*space);
    *bytes = H5Tget_size(*type) * (size_t)(count > 0 ? count : 0);
    TRY_OUT(memory_zeroed(*bytes + 1, 1, "an attribute", out));
    H5_TRY_OUT(H5Aread(attribute, *type, *out), "attribute %s cannot be read", name);
out:
    h5_close(attribute);
    return st;
}

/* As people read it, short. */
static void words_show(hid_t object, const char *where, const char *name, char out[WORDS])
{
    char *text = NULL;
    double number = 0;
    int found = 0;
    if (h5_get_f64(object, where, name, &number, &found) == STATUS_OK && found) {
        snprintf(out, WORDS, "%.15g", number);
    } else if (h5_get_text(object, where, name, &text, &found) == STATUS_OK && found) {
        snprintf(out, WORDS, "%.100s", text);
    } else {
        snprintf(out, WORDS, "something else");
    }
    report_clear();
    free(text);
}

/* Checks that one attribute of an object is the same in a part and the first one. */
static status_t words_check(const struct join *join, uint32_t first, uint32_t i, const char *object,
                            const char *name)
{
    status_t st = STATUS_OK;
    hid_t ids[2] = {-1, -1};
    hid_t types[2] = {-1, -1};
    hid_t spaces[2] = {-1, -1};
    char *values[2] = {NULL, NULL};
    size_t bytes[2] = {0};
    const char *paths[2] = {join->parts[first].path, join->parts[i].path};
    char shown[2][WORDS] = {"nothing", "nothing"};
    int is_there[2] = {0};
    for (int k = 0; k < 2; k++) {
        ids[k] = H5Oopen(join->parts[k == 0 ? first : i].file, object, H5P_DEFAULT);
        H5_TRY_OUT(ids[k], "%s: %s cannot be opened", paths[k], object);
        TRY_OUT(h5_has_attribute(ids[k], paths[k], name, &is_there[k]));
        if (is_there[k]) {
            TRY_OUT(words_read(ids[k], name, &values[k], &bytes[k], &types[k], &spaces[k]));
            words_show(ids[k], paths[k], name, shown[k]);
        }
    }
    int is_alike = is_there[0] && is_there[1] && bytes[0] == bytes[1] &&
                   memcmp(values[0], values[1], bytes[0]) == 0;
    REQUIRE_OUT(is_alike, STATUS_USAGE, "join: %s of %s is %s in %s, but %s in %s", name,
                strcmp(object, "/") == 0 ? "the root" : object, shown[1], paths[1], shown[0],
                paths[0]);
out:
    for (int k = 0; k < 2; k++) {
        h5_close(ids[k]);
        h5_close(types[k]);
        h5_close(spaces[k]);
        free(values[k]);
    }
    return st;
}

static status_t words_check_all(const struct join *join, uint32_t first, const char *object,
                                const struct h5_names *names)
{
    status_t st = STATUS_OK;
    struct h5_names other = {0};
    hid_t id = -1;
    for (uint32_t i = first + 1; i < join->count; i++) {
        int has = 0;
        TRY_OUT(join_has(join, i, object, &has));
        if (!has) {
            continue;
        }
        id = H5Oopen(join->parts[i].file, object, H5P_DEFAULT);
        H5_TRY_OUT(id, "%s: %s cannot be opened", join->parts[i].path, object);
        TRY_OUT(h5_list_attributes(id, join->parts[i].path, object, &other));
        for (size_t j = 0; j < names->count + other.count; j++) {
            const char *name = j < names->count ? names->names[j] : other.names[j - names->count];
            TRY_OUT(words_are_shared(join, name) ? words_check(join, first, i, object, name)
                                                 : STATUS_OK);
        }
        text_free_list(other.names, other.count);
        other = (struct h5_names){0};
        h5_close(id);
        id = -1;
    }
out:
    h5_close(id);
    text_free_list(other.names, other.count);
    return st;
}

status_t join_copy_attributes(const struct join *join, const char *name, hid_t from, hid_t to)
{
    status_t st = STATUS_OK;
    struct h5_names names = {0};
    uint32_t first = 0;
    TRY_OUT(join_find(join, name, &first));
    TRY_OUT(h5_list_attributes(from, join->parts[first].path, name, &names));
    TRY_OUT(words_check_all(join, first, name, &names));
    /* CLASS of the root is FBH5's. */
    int is_root = strcmp(name, "/") == 0;
    for (size_t i = 0; i < names.count; i++) {
        const char *word = names.names[i];
        char *value = NULL;
        size_t bytes = 0;
        hid_t type = -1;
        hid_t space = -1;
        hid_t made = -1;
        if (TEXT_IS_AMONG(left_out, word) && !(is_root && strcmp(word, "CLASS") == 0)) {
            continue;
        }
        st = words_read(from, word, &value, &bytes, &type, &space);
        made = st == STATUS_OK ? H5Acreate2(to, word, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
        int is_written = made >= 0 && H5Awrite(made, type, value) >= 0;
        st = st == STATUS_OK && !is_written ? h5_fail("attribute %s cannot be made", word) : st;
        h5_close(made);
        h5_close(type);
        h5_close(space);
        free(value);
        TRY_OUT(st);
    }
out:
    text_free_list(names.names, names.count);
    return st;
}

/* All of a dataset that is small: filters, names, frequencies. */
static status_t words_read_all(const struct h5_dataset *data, const char *path, const char *name,
                               char **out, size_t *bytes)
{
    *bytes = (size_t)data->count * H5Tget_size(data->type);
    TRY(memory_zeroed(*bytes + 1, 1, name, out));
    return h5_dataset_read(data, path, name, data->type, data->count, *out);
}

status_t join_compare_values(hid_t a, hid_t b, const char *name, int *is_alike,
                             char difference[WORDS])
{
    status_t st = STATUS_OK;
    struct h5_dataset data[2] = {{0}};
    hid_t files[2] = {a, b};
    char *values[2] = {NULL, NULL};
    size_t bytes[2] = {0};
    for (int k = 0; k < 2; k++) {
        TRY_OUT(h5_dataset_open(files[k], "a part", name, &data[k]));
        TRY_OUT(words_read_all(&data[k], "a part", name, &values[k], &bytes[k]));
    }
    *is_alike = bytes[0] == bytes[1] && memcmp(values[0], values[1], bytes[0]) == 0;
    snprintf(difference, WORDS, "%llu and %llu values", (unsigned long long)data[0].count,
             (unsigned long long)data[1].count);
out:
    for (int k = 0; k < 2; k++) {
        h5_dataset_close(&data[k]);
        free(values[k]);
    }
    return st;
}

status_t join_check_values(const struct join *join, const char *name)
{
    char difference[WORDS] = "";
    uint32_t first = 0;
    TRY(join_find(join, name, &first));
    for (uint32_t i = first + 1; i < join->count; i++) {
        int is_alike = 0;
        int has = 0;
        TRY(join_has(join, i, name, &has));
        if (!has) {
            continue;
        }
        TRY(join_compare_values(join->parts[first].file, join->parts[i].file, name, &is_alike,
                                difference));
        REQUIRE(is_alike, STATUS_USAGE, "join: /%s of %s is not that of %s (%s)", name,
                join->parts[i].path, join->parts[first].path, difference);
    }
    return STATUS_OK;
}

status_t join_copy_values(const struct h5_dataset *data, const char *path, const char *name,
                          hid_t out)
{
    status_t st = STATUS_OK;
    char *values = NULL;
    size_t bytes = 0;
    TRY_OUT(words_read_all(data, path, name, &values, &bytes));
    H5_TRY_OUT(H5Dwrite(out, data->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
               "%s cannot be written", name);
out:
    free(values);
    return st;
}

/* Replaces an attribute. */
static status_t words_put_text(hid_t object, const char *name, const char *text)
{
    int is_there = 0;
    TRY(h5_has_attribute(object, "the result", name, &is_there));
    if (is_there) {
        H5_TRY(H5Adelete(object, name), "attribute %s cannot be replaced", name);
    }
    return h5_put_text(object, name, text);
}

/* Lines of `text` that are not in `out` yet. */
static void words_add_lines(struct text *out, const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        int is_there = 0;
        for (const char *line = out->data; line && *line && !is_there;) {
            size_t its = strcspn(line, "\n");
            is_there = its == length && memcmp(line, text, length) == 0;
            line += its + (line[its] == '\n');
        }
        if (!is_there) {
            text_add_bytes(out, text, length);
            text_add(out, "\n");
        }
        text += length + (text[length] == '\n');
    }
}

void join_origin_free(struct join_origin *origin)
{
    text_free(&origin->job);
    text_free(&origin->inputs);
    text_free(&origin->assumed);
    text_free(&origin->arithmetic);
}

/* As a part has it: without a newline at its end. */
static void words_cut_end(struct text *text)
{
    if (text->length > 0) {
        text->data[--text->length] = '\0';
    }
}

status_t join_list_parts(const struct join *join, struct join_origin *out)
{
    struct text *job = &out->job;
    text_add(job, "join: %s\nparts:\n", join->along == JOIN_TIME ? "time" : "frequency");
    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_part *part = &join->parts[i];
        text_add(job, "  - file: %s\n    rows: [%llu, %llu]\n    version: %s\n    job: |\n",
                 text_basename(part->path), (unsigned long long)part->first_row,
                 (unsigned long long)(part->first_row + part->product->rows - 1),
                 part->product->origin.version ? part->product->origin.version : "unknown");
        const char *line = part->product->origin.job_text;
        for (size_t length; *line; line += length + (line[length] == '\n')) { /* further in */
            length = strcspn(line, "\n");
            text_add(job, "      %.*s\n", (int)length, line);
        }
        words_add_lines(&out->inputs, part->product->origin.inputs);
        words_add_lines(&out->assumed, part->product->origin.assumed);
        words_add_lines(&out->arithmetic, part->product->origin.arithmetic);
    }
    words_cut_end(&out->assumed);
    words_cut_end(&out->arithmetic);
    TRY(job->status);
    TRY(out->inputs.status);
    TRY(out->assumed.status);
    return out->arithmetic.status;
}

static status_t words_put_numbers(const struct join *join, hid_t out, hid_t provenance)
{
    status_t st = STATUS_OK;
    uint64_t gaps = 0;
    hid_t crc = H5Dopen2(provenance, "crc32", H5P_DEFAULT);
    hid_t rows = H5Dopen2(out, kind_of(join->parts[0].product->kind)->rows, H5P_DEFAULT);
    int is_there = 0;
    H5_TRY_OUT(crc, "crc32 cannot be opened");
    H5_TRY_OUT(rows, "the rows cannot be opened");
    for (uint32_t i = 0; i < join->count; i++) {
        gaps += join->parts[i].product->gaps;
    }
    H5_TRY_OUT(H5Adelete(provenance, "gap_samples"), "gap_samples cannot be replaced");
    TRY_OUT(h5_put_u64(provenance, "gap_samples", gaps));
    H5_TRY_OUT(H5Adelete(crc, "span_rows"), "span_rows cannot be replaced");
    TRY_OUT(h5_put_u64(crc, "span_rows", join->place.span_rows));
    TRY_OUT(h5_has(out, "the result", "weights", &is_there));
    TRY_OUT(is_there ? words_put_text(rows, "ancillary_variables", "weights") : STATUS_OK);
    TRY_OUT(h5_has_attribute(rows, "the result", "nchans", &is_there));
    if (is_there) {
        REQUIRE_OUT(join->channels <= INT32_MAX, STATUS_USAGE,
                    "join: %llu channels do not fit a filterbank",
                    (unsigned long long)join->channels);
        H5_TRY_OUT(H5Adelete(rows, "nchans"), "nchans cannot be replaced");
        TRY_OUT(h5_put_i32(rows, "nchans", (int32_t)join->channels));
    }
out:
    h5_close(crc);
    h5_close(rows);
    return st;
}

static status_t words_put_if_any(hid_t object, const char *name, const struct text *text)
{
    return text->length > 0 ? words_put_text(object, name, text->data) : STATUS_OK;
}

status_t join_put_words(const struct join *join, hid_t out)
{
    status_t st = STATUS_OK;
    struct join_origin origin = {.job = {0}};
    hid_t provenance = H5Gopen2(out, "provenance", H5P_DEFAULT);
    H5_TRY_OUT(provenance, "the provenance cannot be opened");
    TRY_OUT(join_list_parts(join, &origin));
    TRY_OUT(words_put_text(provenance, "job", origin.job.data));
    TRY_OUT(words_put_text(provenance, "inputs", origin.inputs.data ? origin.inputs.data : ""));
    TRY_OUT(words_put_if_any(provenance, "assumed", &origin.assumed));
    TRY_OUT(words_put_if_any(provenance, "arithmetic", &origin.arithmetic));
    TRY_OUT(words_put_text(provenance, "version", VOLTMILL_VERSION));
    TRY_OUT(words_put_numbers(join, out, provenance));
out:
    join_origin_free(&origin);
    h5_close(provenance);
    return st;
}
