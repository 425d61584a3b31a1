/* The file of a join: objects and attributes of the first part, with axes as long as all parts
 * need, once it is certain that the others say the same. */
#include "base/memory.h"
#include "base/text.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "product/contents.h"
#include "product/join/join_parts.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/spans.h"

#include <string.h>

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
    } else if (strcmp(name, "provenance/holes") == 0) {
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

/* Parts cut within one coarse channel, or made of one archive, share their coarse channels. */
static status_t join_is_alike(const struct join *join, const char *name, int *out)
{
    char difference[256];
    *out = 1;
    for (uint32_t i = 1; i < join->count && *out; i++) {
        TRY(join_compare_values(join->parts[0].file, join->parts[i].file, name, out, difference));
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
        set->start = is_block ? 0 : first->first_time - first->time_step / 2 + set->step / 2;
    }
    return STATUS_OK;
}

/* Shape of the dataset in each part; all axes but one are alike. */
static status_t join_measure(const struct join *join, const struct h5_dataset *data,
                             struct join_dataset *set)
{
    status_t st = STATUS_OK;
    struct h5_dataset other = {0};
    TRY_OUT(memory_zeroed(3 * join->count, sizeof *set->first, "parts", &set->first));
    set->count = set->first + join->count;
    set->from = set->count + join->count;
    for (uint32_t i = 0; i < join->count; i++) {
        const char *path = join->parts[i].path;
        int has = 0;
        TRY_OUT(join_has(join, i, set->name, &has));
        if (!has) { /* weights, of parts in time */
            set->count[i] = join->parts[i].product->rows;
            set->from[i] = HADDR_UNDEF;
            continue;
        }
        TRY_OUT(h5_dataset_open(join->parts[i].file, path, set->name, &other));
        int is_alike = other.rank == data->rank && H5Tequal(other.type, data->type) > 0;
        for (int k = 0; k < data->rank && is_alike; k++) {
            is_alike = k == set->at || other.dims[k] == data->dims[k];
        }
        REQUIRE_OUT(is_alike, STATUS_USAGE, "join: /%s of %s has another shape or type than in %s",
                    set->name, path, join->parts[0].path);
        set->count[i] = other.dims[set->at];
        set->from[i] = h5_offset(other.id);
        REQUIRE_OUT(set->is_rows || set->from[i] != HADDR_UNDEF, STATUS_DATA,
                    "%s: %s does not lie in one piece", path, set->name);
        h5_dataset_close(&other);
    }
out:
    h5_dataset_close(&other);
    return st;
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
    if (set->is_rows || strcmp(name, "kurtosis") == 0) {
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
    status_t st = STATUS_OK;
    struct h5_dataset data = {0};
    hid_t made = -1;
    char scale[H5_SCALE_NAME] = "";
    hsize_t dims[H5S_MAX_RANK];
    uint32_t first = 0;
    int at = -1;
    int is_scale = 0;
    int is_counted = TEXT_IS_AMONG(counted, name);
    int is_alike = 0;
    TRY_OUT(join_find(join, name, &first));
    const struct join_part *part = &join->parts[first];
    TRY_OUT(h5_dataset_open(part->file, part->path, name, &data));
    memcpy(dims, data.dims, sizeof dims);
    TRY_OUT(is_counted ? STATUS_OK : join_find_own_axis(join, &data, name, &at, scale));
    if (at >= 0 && strcmp(scale, "coarse_frequency") == 0) {
        TRY_OUT(join_is_alike(join, "coarse_frequency", &is_alike));
        at = is_alike ? -1 : at;
    }
    if (at >= 0) {
        TRY_OUT(join_add_set(join, &data, name, at, scale));
        memcpy(dims, join->sets[join->nsets - 1].dims, sizeof dims);
    } else if (!is_counted) {
        TRY_OUT(join_check_values(join, name));
    }
    if (strcmp(name, "provenance/crc32") == 0) {
        dims[0] = ceil_div_u64(join->place.rows, join->place.span_rows);
    }
    TRY_OUT(h5_create_dataset(out, name, data.type, data.rank, dims, &made));
    TRY_OUT(h5_is_scale(data.id, name, &is_scale));
    TRY_OUT(is_scale ? h5_make_scale(made, name) : STATUS_OK);
    TRY_OUT(join_copy_attributes(join, name, data.id, made));
    if (at < 0 && !is_counted) {
        TRY_OUT(join_copy_values(&data, part->path, name, made));
    }
out:
    h5_close(made);
    h5_dataset_close(&data);
    return st;
}

/* Scales and labels of the axes of a dataset, as the first part has them. */
static status_t join_attach(const struct join *join, hid_t out, const char *name)
{
    status_t st = STATUS_OK;
    struct h5_dataset data = {0};
    char label[H5_SCALE_NAME];
    char path[H5_SCALE_NAME];
    int is_scale = 0;
    hid_t made = -1;
    uint32_t first = 0;
    TRY_OUT(join_find(join, name, &first));
    TRY_OUT(h5_dataset_open(join->parts[first].file, join->parts[first].path, name, &data));
    made = H5Dopen2(out, name, H5P_DEFAULT);
    H5_TRY_OUT(made, "%s cannot be opened", name);
    TRY_OUT(h5_is_scale(data.id, name, &is_scale));
    for (int i = 0; i < data.rank && !is_scale; i++) {
        TRY_OUT(h5_first_scale(data.id, name, i, path));
        if (!path[0]) {
            continue;
        }
        TRY_OUT(h5_get_label(data.id, name, i, label));
        TRY_OUT(parts_attach(out, made, path, (unsigned)i, label));
    }
out:
    h5_close(made);
    h5_dataset_close(&data);
    return st;
}

/* The provenance, as the first part has it; its attributes in a heap: a long job does not fit an
 * object's header. */
static status_t join_make_group(struct join *join, hid_t out, const char *name)
{
    status_t st = STATUS_OK;
    hid_t plist = H5Pcreate(H5P_GROUP_CREATE);
    hid_t from = -1;
    hid_t made = -1;
    H5_TRY_OUT(H5Pset_obj_track_times(plist, 0), "%s cannot be made", name);
    H5_TRY_OUT(H5Pset_attr_phase_change(plist, 0, 0), "%s cannot be made", name);
    from = H5Gopen2(join->parts[0].file, name, H5P_DEFAULT);
    made = H5Gcreate2(out, name, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5_TRY_OUT(from, "%s: %s cannot be opened", join->parts[0].path, name);
    H5_TRY_OUT(made, "%s cannot be made", name);
    TRY_OUT(join_copy_attributes(join, name, from, made));
out:
    h5_close(from);
    h5_close(made);
    h5_close(plist);
    return st;
}

static status_t join_make_objects(struct join *join, hid_t out, const struct h5_names *names)
{
    status_t st = STATUS_OK;
    hid_t object = -1;
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < names->count; i++) {
            const char *name = names->names[i];
            uint32_t first = 0;
            TRY_OUT(join_find(join, name, &first));
            object = H5Oopen(join->parts[first].file, name, H5P_DEFAULT);
            H5_TRY_OUT(object, "%s: %s cannot be opened", join->parts[first].path, name);
            int is_group = H5Iget_type(object) == H5I_GROUP;
            h5_close(object);
            object = -1;
            if (strcmp(name, "provenance/objects") == 0) {
                continue; /* made when all else is */
            }
            TRY_OUT(pass == 0 && is_group    ? join_make_group(join, out, name)
                    : pass == 1 && !is_group ? join_make_dataset(join, out, name)
                    : pass == 2 && !is_group ? join_attach(join, out, name)
                                             : STATUS_OK);
        }
    }
out:
    h5_close(object);
    return st;
}

status_t join_make(struct join *join, int fd, const char *path)
{
    status_t st = STATUS_OK;
    struct h5_names names = {0};
    uint64_t bytes = 0;
    hid_t out = -1;
    const struct product *first = join->parts[0].product;
    join->place.rows = join->rows;
    join->place.row_bytes = first->place.row_bytes / first->frequencies * join->channels;
    join->place.span_rows = spans_rows(join->rows, join->place.row_bytes);
    TRY_OUT(join_list_names(join, &names));
    TRY_OUT(memory_zeroed(names.count, sizeof *join->sets, "datasets", &join->sets));
    TRY_OUT(h5_file_create(fd, path, MARK_JOIN, &out));
    TRY_OUT(join_copy_attributes(join, "/", join->parts[0].file, out));
    TRY_OUT(join_make_objects(join, out, &names));
    TRY_OUT(join_put_words(join, out));
    TRY_OUT(contents_reserve(out));
    for (size_t i = 0; i < join->nsets; i++) {
        hid_t made = H5Dopen2(out, join->sets[i].name, H5P_DEFAULT);
        join->sets[i].offset = made >= 0 ? h5_offset(made) : HADDR_UNDEF;
        h5_close(made);
        REQUIRE_OUT(join->sets[i].offset != HADDR_UNDEF, STATUS_DATA, "%s has no place in its file",
                    join->sets[i].name);
    }
    TRY_OUT(h5_file_finish(&out, &bytes));
    TRY_OUT(product_find_part(path, &join->place));
out:
    h5_close(out);
    text_free_list(names.names, names.count);
    return st;
}
