/* The file of a join: objects and attributes of the first part, with axes as long as all parts
 * need, once it is certain that the others say the same, or with the reason why they do not. */
#include "base/memory.h"
#include "base/text.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "product/contents.h"
#include "product/join_parts.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/places.h"

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
static const char *const of_weights[] = {"weights", "coarse_frequency", "if"};
/* An attribute that differs between raw sums with weights and those without, which are the same. */
static const char word_of_weights[] = "sum_convention";

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

/* Lists the names of the objects that all parts have. Some parts may have no weights, which are 1
 * then. Fails with USAGE if other objects are missing in a part, with DATA or DEVICE if names
 * are unreadable. */
static status_t join_list_names(const struct join *join, struct h5_names *out)
{
    status_t st = STATUS_OK;
    struct h5_names names[2] = {{0}};
    uint32_t fullest = 0;
    for (uint32_t i = 0; i < join->count; i++) {
        TRY_OUT(h5_list_all(join->parts[i].file, join->parts[i].path, &names[1]));
        int is_fuller = i == 0 || names[1].count > names[0].count;
        const uint32_t parts[2] = {fullest, i}; /* that have these names */
        for (int k = 0; k < 2 && i > 0; k++) {  /* those of the fuller one first */
            const int mine = is_fuller ? 1 - k : k;
            for (size_t j = 0; j < names[mine].count; j++) {
                const char *name = names[mine].names[j];
                int may_lack = k == 0 && TEXT_IS_AMONG(of_weights, name);
                REQUIRE_OUT(may_lack || words_have(&names[1 - mine], name), STATUS_USAGE,
                            "join: %s has /%s, but %s has not", join->parts[parts[mine]].path, name,
                            join->parts[parts[1 - mine]].path);
            }
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

/* join_has(): sets *out to whether part i has the object `name`. join_find(): sets *out to the
 * first part that has it; to the number of parts if none has. Fail with DATA, DEVICE (memory). */
static status_t join_has(const struct join *join, uint32_t i, const char *name, int *out)
{
    *out = 1;
    return TEXT_IS_AMONG(of_weights, name)
               ? h5_has(join->parts[i].file, join->parts[i].path, name, out)
               : STATUS_OK;
}

static status_t join_find(const struct join *join, const char *name, uint32_t *out)
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

/* Reads the bytes of an attribute; *bytes is 0 if it is empty. */
static status_t words_read(hid_t object, const char *name, char **out, size_t *bytes, hid_t *type,
                           hid_t *space)
{
    SCOPED(h5_close_at) hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    H5_TRY(attribute, "attribute %s cannot be opened", name);
    *type = H5Aget_type(attribute);
    *space = H5Aget_space(attribute);
    H5_TRY(*type, "attribute %s cannot be read", name);
    H5_TRY(*space, "attribute %s cannot be read", name);
    hssize_t count = H5Sget_simple_extent_npoints(*space);
    *bytes = H5Tget_size(*type) * (size_t)(count > 0 ? count : 0);
    TRY(memory_zeroed(*bytes + 1, 1, "an attribute", out));
    H5_TRY(H5Aread(attribute, *type, *out), "attribute %s cannot be read", name);
    return STATUS_OK;
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

/* Checks that one attribute of an object, open in two parts, is the same in both. */
static status_t words_check(const hid_t ids[2], const char *const paths[2], const char *object,
                            const char *name)
{
    SCOPED(h5_close_two) hid_t types[2] = {-1, -1};
    SCOPED(h5_close_two) hid_t spaces[2] = {-1, -1};
    SCOPED(free_two) char *values[2] = {NULL, NULL};
    size_t bytes[2] = {0};
    char shown[2][WORDS] = {"nothing", "nothing"};
    int is_there[2] = {0};
    for (int k = 0; k < 2; k++) {
        TRY(h5_has_attribute(ids[k], paths[k], name, &is_there[k]));
        if (is_there[k]) {
            TRY(words_read(ids[k], name, &values[k], &bytes[k], &types[k], &spaces[k]));
            words_show(ids[k], paths[k], name, shown[k]);
        }
    }
    int is_alike = is_there[0] && is_there[1] && bytes[0] == bytes[1] &&
                   memcmp(values[0], values[1], bytes[0]) == 0;
    return REQUIRED(is_alike, STATUS_USAGE, "join: %s of %s is %s in %s, but %s in %s", name,
                    strcmp(object, "/") == 0 ? "the root" : object, shown[1], paths[1], shown[0],
                    paths[0]);
}

static status_t words_check_all(const struct join *join, uint32_t first, hid_t from,
                                const char *object, const struct h5_names *names)
{
    for (uint32_t i = first + 1; i < join->count; i++) {
        int has = 0;
        int weighs[2];
        TRY(join_has(join, i, object, &has));
        if (!has) {
            continue;
        }
        TRY(join_has(join, first, "weights", &weighs[0]));
        TRY(join_has(join, i, "weights", &weighs[1]));
        const char *const paths[2] = {join->parts[first].path, join->parts[i].path};
        SCOPED(h5_names_free) struct h5_names other = {0};
        SCOPED(h5_close_at) hid_t id = H5Oopen(join->parts[i].file, object, H5P_DEFAULT);
        const hid_t ids[2] = {from, id};
        H5_TRY(id, "%s: %s cannot be opened", paths[1], object);
        TRY(h5_list_attributes(id, paths[1], object, &other));
        for (size_t j = 0; j < names->count + other.count; j++) {
            const char *name = j < names->count ? names->names[j] : other.names[j - names->count];
            int is_own = weighs[0] != weighs[1] && strcmp(name, word_of_weights) == 0;
            TRY(words_are_shared(join, name) && !is_own ? words_check(ids, paths, object, name)
                                                        : STATUS_OK);
        }
    }
    return STATUS_OK;
}

/* Copies the attributes of an object of the first part that has it, except those of scales' links,
 * after checking that the other parts have the same. Attributes of each part's own times, channels
 * and provenance may differ. Fails with USAGE if another differs; with DATA, NO_SPACE, DEVICE
 * (memory). */
static status_t join_copy_attributes(const struct join *join, const char *name, hid_t from,
                                     hid_t to)
{
    SCOPED(h5_names_free) struct h5_names names = {0};
    uint32_t first = 0;
    uint32_t weighed = 0;
    TRY(join_find(join, name, &first));
    TRY(join_find(join, "weights", &weighed));
    SCOPED(h5_close_at)
    hid_t other =
        weighed < join->count ? H5Oopen(join->parts[weighed].file, name, H5P_DEFAULT) : -1;
    TRY(h5_list_attributes(from, join->parts[first].path, name, &names));
    TRY(words_check_all(join, first, from, name, &names));
    /* CLASS of the root is FBH5's. */
    int is_root = strcmp(name, "/") == 0;
    for (size_t i = 0; i < names.count; i++) {
        const char *word = names.names[i];
        SCOPED(free_at) char *value = NULL;
        size_t bytes = 0;
        SCOPED(h5_close_at) hid_t space = -1;
        SCOPED(h5_close_at) hid_t type = -1;
        if (TEXT_IS_AMONG(left_out, word) && !(is_root && strcmp(word, "CLASS") == 0)) {
            continue;
        }
        TRY(words_read(other >= 0 && strcmp(word, word_of_weights) == 0 ? other : from, word,
                       &value, &bytes, &type, &space));
        SCOPED(h5_close_at)
        hid_t made = H5Acreate2(to, word, type, space, H5P_DEFAULT, H5P_DEFAULT);
        H5_TRY(made < 0 ? -1 : H5Awrite(made, type, value), "attribute %s cannot be made", word);
    }
    return STATUS_OK;
}

/* Reads all of a small dataset: filters, names, frequencies. */
static status_t words_read_all(const struct h5_dataset *data, const char *path, const char *name,
                               char **out, size_t *bytes)
{
    *bytes = (size_t)data->count * H5Tget_size(data->type);
    TRY(memory_zeroed(*bytes + 1, 1, name, out));
    return h5_dataset_read(data, path, name, data->type, data->count, *out);
}

/* Sets *is_alike to whether a dataset holds the same in two files; *difference says in words what
 * differs. Fails with DATA, DEVICE (memory). */
static status_t join_compare_values(hid_t a, hid_t b, const char *name, int *is_alike,
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

/* Checks that a dataset is the same in all parts. Fails with USAGE if not; with DATA, DEVICE. */
static status_t join_check_values(const struct join *join, const char *name)
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

static status_t join_copy_values(const struct h5_dataset *data, const char *path, const char *name,
                                 hid_t out)
{
    SCOPED(free_at) char *values = NULL;
    size_t bytes = 0;
    TRY(words_read_all(data, path, name, &values, &bytes));
    H5_TRY(H5Dwrite(out, data->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "%s cannot be written",
           name);
    return STATUS_OK;
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

static status_t words_put_numbers(const struct join *join, hid_t out, hid_t provenance)
{
    uint64_t gaps = 0;
    SCOPED(h5_close_at) hid_t crc = H5Dopen2(provenance, "crc32", H5P_DEFAULT);
    SCOPED(h5_close_at)
    hid_t rows = H5Dopen2(out, kind_of(join->parts[0].product->kind)->rows, H5P_DEFAULT);
    int is_there = 0;
    H5_TRY(crc, "crc32 cannot be opened");
    H5_TRY(rows, "the rows cannot be opened");
    for (uint32_t i = 0; i < join->count; i++) {
        gaps += join->parts[i].product->gaps;
    }
    H5_TRY(H5Adelete(provenance, "gap_samples"), "gap_samples cannot be replaced");
    TRY(h5_put_u64(provenance, "gap_samples", gaps));
    H5_TRY(H5Adelete(crc, "span_rows"), "span_rows cannot be replaced");
    TRY(h5_put_u64(crc, "span_rows", join->place.span_rows));
    TRY(h5_has(out, "the result", "weights", &is_there));
    TRY(is_there ? words_put_text(rows, "ancillary_variables", "weights") : STATUS_OK);
    TRY(h5_has_attribute(rows, "the result", "nchans", &is_there));
    if (is_there) {
        REQUIRE(join->channels <= INT32_MAX, STATUS_USAGE,
                "join: %llu channels do not fit a filterbank", (unsigned long long)join->channels);
        H5_TRY(H5Adelete(rows, "nchans"), "nchans cannot be replaced");
        TRY(h5_put_i32(rows, "nchans", (int32_t)join->channels));
    }
    return STATUS_OK;
}

static status_t words_put_if_any(hid_t object, const char *name, const struct text *text)
{
    return text->length > 0 ? words_put_text(object, name, text->data) : STATUS_OK;
}

/* Writes the attributes of the whole: the list of its parts, and the number of channels. Fails with
 * USAGE, DATA, NO_SPACE, DEVICE (memory). */
static status_t join_put_words(const struct join *join, hid_t out)
{
    const struct text *inputs = &join->origin.inputs;
    SCOPED(h5_close_at) hid_t provenance = H5Gopen2(out, "provenance", H5P_DEFAULT);
    H5_TRY(provenance, "the provenance cannot be opened");
    TRY(words_put_text(provenance, "job", join->origin.job.data));
    TRY(words_put_text(provenance, "inputs", inputs->data ? inputs->data : ""));
    TRY(words_put_if_any(provenance, "assumed", &join->origin.assumed));
    TRY(words_put_if_any(provenance, "arithmetic", &join->origin.arithmetic));
    TRY(words_put_text(provenance, "version", VOLTMILL_VERSION));
    return words_put_numbers(join, out, provenance);
}

/* Made anew for the whole, or by counting. */
static const char *const counted[] = {"provenance/crc32", "provenance/missing_samples",
                                      "provenance/objects"};

/* Finds the name of an axis of a dataset by its scale; "" if it has none. */
static status_t join_name_axis(const struct h5_dataset *data, const char *name, int axis,
                               char out[H5_SCALE_NAME])
{
    int is_scale = 0;
    TRY(h5_is_scale(data->id, name, &is_scale));
    if (is_scale) {
        snprintf(out, H5_SCALE_NAME, "%s", name);
    } else if (strcmp(name, place_name(PLACE_HOLES)) == 0) {
        snprintf(out, H5_SCALE_NAME, "time");
    } else if (strcmp(name, "delay_hz") == 0) {
        snprintf(out, H5_SCALE_NAME, "frequency");
    } else {
        TRY(h5_first_scale(data->id, name, axis, out));
        const char *counts = text_basename(out);
        memmove(out, counts, strlen(counts) + 1);
    }
    return STATUS_OK;
}

/* The axis along which a dataset is put together, and what it counts; -1: it is alike in all parts.
 */
static status_t join_find_own_axis(const struct join *join, const struct h5_dataset *data,
                                   const char *name, int *axis, char scale[H5_SCALE_NAME])
{
    static const char *const times[] = {"time", "cell_time", "block"};
    static const char *const bands[] = {"frequency", "cell_frequency", "coarse_frequency"};
    for (int i = 0; i < data->rank; i++) {
        TRY(join_name_axis(data, name, i, scale));
        if (join->along == JOIN_TIME ? TEXT_IS_AMONG(times, scale) : TEXT_IS_AMONG(bands, scale)) {
            *axis = i;
            return STATUS_OK;
        }
    }
    *axis = -1;
    return STATUS_OK;
}

/* Parts cut within one coarse channel, or made of one archive, share their coarse channels, and all
 * or none have weights. */
static status_t join_is_alike(const struct join *join, const char *name, int *out)
{
    char difference[256];
    int has[2];
    *out = 1;
    for (uint32_t i = 1; i < join->count && *out; i++) {
        TRY(join_has(join, 0, name, &has[0]));
        TRY(join_has(join, i, name, &has[1]));
        *out = has[0] && has[1];
        TRY(*out ? join_compare_values(join->parts[0].file, join->parts[i].file, name, out,
                                       difference)
                 : STATUS_OK);
    }
    return STATUS_OK;
}

/* Computes the place of each part along the axis, and the total length. */
static status_t join_place_times(const struct join *join, struct join_dataset *set,
                                 const char *scale)
{
    uint64_t rows = join->parts[0].product->rows;
    uint64_t of_rows = 1;  /* rows for each step of the axis, */
    uint64_t of_steps = 1; /* or steps of a row */
    if (strcmp(scale, "block") == 0) {
        of_rows = join->parts[0].product->place.scale_rows;
        REQUIRE(of_rows > 0, STATUS_DATA, "%s: its rows do not say scale_rows",
                join->parts[0].path);
    } else {
        of_steps = set->count[0] / rows;
    }
    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_part *part = &join->parts[i];
        uint64_t expected = ceil_div_u64(part->product->rows, of_rows) * of_steps;
        REQUIRE(set->count[i] == expected, STATUS_USAGE,
                "join: %s: %s has %llu steps along %s for %llu rows, expected %llu", part->path,
                set->name, (unsigned long long)set->count[i], scale,
                (unsigned long long)part->product->rows, (unsigned long long)expected);
        REQUIRE(part->first_row % of_rows == 0, STATUS_USAGE,
                "join: %s begins with row %llu of the whole: its numbers in few bits have scales "
                "for blocks of %llu rows, which must begin at multiples of that",
                part->path, (unsigned long long)part->first_row, (unsigned long long)of_rows);
        set->first[i] = part->first_row / of_rows * of_steps;
    }
    set->dims[set->at] = ceil_div_u64(join->rows, of_rows) * of_steps;
    if (strcmp(set->name, scale) == 0) {
        const struct product *first = join->parts[0].product;
        int is_block = strcmp(scale, "block") == 0;
        set->step = is_block ? (double)of_rows : first->time_step / (double)of_steps;
        set->start = is_block ? 0 : first->first_time - (first->time_step - set->step) / 2;
    }
    return STATUS_OK;
}

/* Sets *out to the length of a dataset of weights that a part does not have: to its rows, or to its
 * coarse channels, whose frequencies follow from those of the channels as in the first part that
 * has weights (`has`: how many coarse channels that one has). Fails with USAGE if they do not; with
 * DATA, DEVICE (memory). */
static status_t join_count_weights(const struct join *join, uint32_t part, uint64_t has,
                                   struct join_dataset *set, uint64_t *out)
{
    const struct product *product = join->parts[part].product;
    uint32_t like = 0;
    int is_range[2] = {0, 0};
    SCOPED(free_at) double *hz = NULL;
    size_t count = 0;
    *out = product->rows;
    if (join->along == JOIN_TIME) {
        return STATUS_OK;
    }
    TRY(join_find(join, set->name, &like));
    const struct product *other = join->parts[like].product;
    const uint32_t both[2] = {like, part};
    for (int k = 0; k < 2; k++) {
        TRY(h5_has_attribute(join->parts[both[k]].file, join->parts[both[k]].path, "first_channel",
                             &is_range[k]));
    }
    set->each = other->frequencies / has;
    REQUIRE(!is_range[0] && !is_range[1] && set->each * has == other->frequencies &&
                product->frequencies % set->each == 0,
            STATUS_USAGE,
            "join: %s has /weights, but %s has not, and keeps some of its channels only: which "
            "coarse channels it is of is not known",
            other->path, product->path);
    *out = product->frequencies / set->each;
    TRY(h5_read_f64s(join->parts[like].file, join->parts[like].path, "coarse_frequency", &hz,
                     &count));
    set->centre = count > 0 ? hz[0] - other->frequency_hz[0] : 0;
    return STATUS_OK;
}

/* Shape of the dataset in each part; all axes but one are alike. */
static status_t join_measure(const struct join *join, const struct h5_dataset *data,
                             struct join_dataset *set)
{
    TRY(memory_zeroed(3 * join->count, sizeof *set->first, "parts", &set->first));
    set->count = set->first + join->count;
    set->from = set->count + join->count;
    for (uint32_t i = 0; i < join->count; i++) {
        const char *path = join->parts[i].path;
        int has = 0;
        TRY(join_has(join, i, set->name, &has));
        if (!has) {
            TRY(join_count_weights(join, i, data->dims[set->at], set, &set->count[i]));
            set->from[i] = HADDR_UNDEF;
            continue;
        }
        SCOPED(h5_dataset_close) struct h5_dataset other = {0};
        TRY(h5_dataset_open(join->parts[i].file, path, set->name, &other));
        int is_alike = other.rank == data->rank && H5Tequal(other.type, data->type) > 0;
        for (int k = 0; k < data->rank && is_alike; k++) {
            is_alike = k == set->at || other.dims[k] == data->dims[k];
        }
        REQUIRE(is_alike, STATUS_USAGE, "join: /%s of %s has another shape or type than in %s",
                set->name, path, join->parts[0].path);
        set->count[i] = other.dims[set->at];
        set->from[i] = h5_offset(other.id);
        REQUIRE(set->is_rows || set->from[i] != HADDR_UNDEF, STATUS_DATA,
                "%s: %s is not contiguous", path, set->name);
    }
    return STATUS_OK;
}

/* Returns the missing value of a number type, as 4 bytes: NaN; of spectra in few bits the smallest
 * number; else 0 (also of power in few bits, where it means NaN). */
static uint32_t join_find_missing(hid_t type)
{
    static const uint32_t nan = 0x7fc00000;
    if (H5Tget_class(type) == H5T_FLOAT) {
        return nan;
    }
    if (H5Tget_class(type) != H5T_COMPOUND) {
        return 0;
    }
    hid_t part = H5Tget_member_type(type, 0);
    int is_float = H5Tget_class(part) == H5T_FLOAT;
    int is_byte = H5Tget_size(part) == 1;
    h5_close(part);
    return is_float ? nan : is_byte ? 0x80808080 : 0x80008000;
}

static status_t join_add_set(struct join *join, const struct h5_dataset *data, const char *name,
                             int at, const char *scale)
{
    struct join_dataset *set = &join->sets[join->nsets++];
    set->at = at;
    set->rank = data->rank;
    memcpy(set->dims, data->dims, sizeof set->dims);
    set->element_bytes = H5Tget_size(data->type);
    set->is_rows = strcmp(name, kind_of(join->parts[0].product->kind)->rows) == 0;
    if (set->is_rows || strcmp(name, place_name(PLACE_KURTOSIS)) == 0) {
        set->missing = join_find_missing(data->type);
    }
    TRY(memory_text(name, &set->name));
    TRY(join_measure(join, data, set));
    if (join->along == JOIN_TIME) {
        TRY(join_place_times(join, set, scale));
    } else {
        set->dims[at] = 0;
        for (uint32_t i = 0; i < join->count; i++) {
            set->first[i] = set->dims[at];
            set->dims[at] += set->count[i];
        }
    }
    return STATUS_OK;
}

/* A dataset as the first part has it; values alike in all are copied, too. */
static status_t join_make_dataset(struct join *join, hid_t out, const char *name)
{
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    SCOPED(h5_close_at) hid_t made = -1;
    char scale[H5_SCALE_NAME] = "";
    hsize_t dims[H5S_MAX_RANK];
    uint32_t first = 0;
    int at = -1;
    int is_scale = 0;
    int is_counted = TEXT_IS_AMONG(counted, name);
    int is_alike = 0;
    TRY(join_find(join, name, &first));
    const struct join_part *part = &join->parts[first];
    TRY(h5_dataset_open(part->file, part->path, name, &data));
    memcpy(dims, data.dims, sizeof dims);
    TRY(is_counted ? STATUS_OK : join_find_own_axis(join, &data, name, &at, scale));
    if (at >= 0 && strcmp(scale, "coarse_frequency") == 0) {
        TRY(join_is_alike(join, "coarse_frequency", &is_alike));
        at = is_alike ? -1 : at;
    }
    if (at >= 0) {
        TRY(join_add_set(join, &data, name, at, scale));
        memcpy(dims, join->sets[join->nsets - 1].dims, sizeof dims);
    } else if (!is_counted) {
        TRY(join_check_values(join, name));
    }
    if (strcmp(name, place_name(PLACE_CRC)) == 0) {
        dims[0] = ceil_div_u64(join->place.rows, join->place.span_rows);
    }
    TRY(h5_create_dataset(out, name, data.type, data.rank, dims, &made));
    TRY(h5_is_scale(data.id, name, &is_scale));
    TRY(is_scale ? h5_make_scale(made, name) : STATUS_OK);
    TRY(join_copy_attributes(join, name, data.id, made));
    return at < 0 && !is_counted ? join_copy_values(&data, part->path, name, made) : STATUS_OK;
}

/* Scales and labels of the axes of a dataset, as the first part has them. */
static status_t join_attach(const struct join *join, hid_t out, const char *name)
{
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    char label[H5_SCALE_NAME];
    char path[H5_SCALE_NAME];
    int is_scale = 0;
    uint32_t first = 0;
    TRY(join_find(join, name, &first));
    TRY(h5_dataset_open(join->parts[first].file, join->parts[first].path, name, &data));
    SCOPED(h5_close_at) hid_t made = H5Dopen2(out, name, H5P_DEFAULT);
    H5_TRY(made, "%s cannot be opened", name);
    TRY(h5_is_scale(data.id, name, &is_scale));
    for (int i = 0; i < data.rank && !is_scale; i++) {
        TRY(h5_first_scale(data.id, name, i, path));
        if (!path[0]) {
            continue;
        }
        TRY(h5_get_label(data.id, name, i, label));
        TRY(parts_attach(out, made, path, (unsigned)i, label));
    }
    return STATUS_OK;
}

/* Makes the provenance as the first part has it. */
static status_t join_make_group(struct join *join, hid_t out, const char *name)
{
    SCOPED(h5_close_at) hid_t made = -1;
    SCOPED(h5_close_at) hid_t from = H5Gopen2(join->parts[0].file, name, H5P_DEFAULT);
    H5_TRY(from, "%s: %s cannot be opened", join->parts[0].path, name);
    TRY(parts_make_group(out, name, 0, &made));
    return join_copy_attributes(join, name, from, made);
}

static status_t join_make_objects(struct join *join, hid_t out, const struct h5_names *names)
{
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < names->count; i++) {
            const char *name = names->names[i];
            uint32_t first = 0;
            TRY(join_find(join, name, &first));
            SCOPED(h5_close_at)
            hid_t object = H5Oopen(join->parts[first].file, name, H5P_DEFAULT);
            H5_TRY(object, "%s: %s cannot be opened", join->parts[first].path, name);
            int is_group = H5Iget_type(object) == H5I_GROUP;
            if (strcmp(name, "provenance/objects") == 0) {
                continue; /* made when all else is */
            }
            TRY(pass == 0 && is_group    ? join_make_group(join, out, name)
                : pass == 1 && !is_group ? join_make_dataset(join, out, name)
                : pass == 2 && !is_group ? join_attach(join, out, name)
                                         : STATUS_OK);
        }
    }
    return STATUS_OK;
}

status_t join_make(struct join *join, int fd, const char *path)
{
    SCOPED(h5_names_free) struct h5_names names = {0};
    uint64_t bytes = 0;
    SCOPED(h5_close_at) hid_t out = -1;
    const struct product *first = join->parts[0].product;
    join->place.rows = join->rows;
    join->place.row_bytes = first->place.row_bytes / first->frequencies * join->channels;
    join->place.span_rows = spans_rows(join->rows, join->place.row_bytes);
    TRY(join_list_names(join, &names));
    TRY(memory_zeroed(names.count, sizeof *join->sets, "datasets", &join->sets));
    TRY(h5_file_create(fd, path, MARK_JOIN, &out));
    TRY(join_copy_attributes(join, "/", join->parts[0].file, out));
    TRY(join_make_objects(join, out, &names));
    TRY(join_put_words(join, out));
    TRY(contents_reserve(out));
    for (size_t i = 0; i < join->nsets; i++) {
        SCOPED(h5_close_at) hid_t made = H5Dopen2(out, join->sets[i].name, H5P_DEFAULT);
        join->sets[i].offset = made >= 0 ? h5_offset(made) : HADDR_UNDEF;
        REQUIRE(join->sets[i].offset != HADDR_UNDEF, STATUS_DATA, "%s has no place in its file",
                join->sets[i].name);
    }
    TRY(h5_file_finish(&out, &bytes));
    return product_find_part(path, &join->place);
}
