/* Places of chunks, as HDF5 looks them up. HDF5 reads the chunk through a file driver of our own,
 * which records the offset and reads nothing. HDF5 1.10 has calls that return places, but they walk
 * through all chunks for each. Dimension scales by the only calls of HDF5's high-level library:
 * none of them goes unchecked. */
#include "io/hdf5/h5_dataset.h"

#include "base/memory.h"
#include "io/apart.h"
#include "io/hdf5/h5_file.h"
#include "io/hdf5/h5_versions.h"
#include "io/hdf5/h5_walk.h"

#include <hdf5_hl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Datasets with their type and shape, and lists of names. */

enum { MOST_NAMES = 1 << 16 };

status_t h5_dataset_read_part(const struct h5_dataset *dataset, const hsize_t *start,
                              const hsize_t *size, hid_t type, void *out, const char *format, ...)
{
    char what[1024];
    va_list args;
    SCOPED(h5_close_at) hid_t space = H5Dget_space(dataset->id);
    SCOPED(h5_close_at) hid_t memory = H5Screate_simple(dataset->rank, size, NULL);
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL), "%s cannot be read",
           what);
    return H5_TRIED(H5Dread(dataset->id, type, memory, space, H5P_DEFAULT, out),
                    "%s cannot be read", what);
}

status_t h5_pair_type(hid_t stored, hid_t number, const char *where, hid_t *out)
{
    SCOPED(h5_close_at) hid_t pair = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(number));
    size_t bytes = H5Tget_size(stored);
    REQUIRE(H5Tget_nmembers(stored) == 2, STATUS_DATA,
            "%s: its compound has %d members, expected 2 (real, imaginary)", where,
            H5Tget_nmembers(stored));
    for (unsigned i = 0; i < 2; i++) {
        SCOPED(h5_close_at) hid_t member = H5Tget_member_type(stored, i);
        size_t at = H5Tget_member_offset(stored, i);
        const H5T_class_t class = H5Tget_class(member);
        REQUIRE((class == H5T_INTEGER || class == H5T_FLOAT) && at <= bytes &&
                    H5Tget_size(member) <= bytes - at,
                STATUS_DATA, "%s: member %u of its compound is no number", where, i);
        SCOPED(H5free_memory_at) char *name = H5Tget_member_name(stored, i);
        H5_TRY(name ? H5Tinsert(pair, name, i * H5Tget_size(number), number) : -1,
               "%s: the names of its compound's members cannot be read", where);
    }
    *out = h5_move(&pair);
    return STATUS_OK;
}

static status_t h5_names_add(struct h5_names *to, const char *name)
{
    REQUIRE(to->count < MOST_NAMES, STATUS_DATA, "%s: more than %d names", name, MOST_NAMES);
    TRY(memory_grow(to->count, sizeof *to->names, "names", &to->names));
    TRY(memory_text(name, &to->names[to->count]));
    to->count++;
    return STATUS_OK;
}

static herr_t h5_names_link(const char *name, H5L_type_t type, void *context)
{
    (void)type;
    return h5_names_add(context, name) == STATUS_OK ? 0 : -1;
}

static herr_t h5_names_attribute(hid_t object, const char *name, const H5A_info_t *info,
                                 void *context)
{
    (void)object;
    (void)info;
    return h5_names_add(context, name) == STATUS_OK ? 0 : -1;
}

status_t h5_list_attributes(hid_t object, const char *where, const char *name, struct h5_names *out)
{
    return H5_TRIED(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, h5_names_attribute, out),
                    "%s: attributes of %s cannot be listed", where, name);
}

status_t h5_list_links(hid_t group, const char *where, const char *name, struct h5_names *out)
{
    return H5_TRIED(h5_iterate_links(group, h5_names_link, out),
                    "%s: what %s contains cannot be listed", where, name);
}

static status_t h5_names_found(const struct h5_found *found, void *context, int *is_enough)
{
    (void)is_enough;
    return strcmp(found->path, ".") == 0 ? STATUS_OK : h5_names_add(context, found->path);
}

status_t h5_list_all(hid_t file, const char *where, struct h5_names *out)
{
    return h5_walk(file, where, h5_names_found, out);
}

/* The index of a chunked dataset, tried before it is needed. */

enum { MOST_LOOKED_UP = 4096 };

void h5_chunk_origin(uint64_t number, int rank, const hsize_t *chunk, const hsize_t *grid,
                     hsize_t *origin)
{
    for (int i = rank; i-- > 0;) {
        origin[i] = number % grid[i] * chunk[i];
        number /= grid[i];
    }
}

void h5_try_chunks(hid_t dataset, const char *where, const char *name)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    hsize_t chunk[H5S_MAX_RANK] = {0};
    hsize_t offset[H5S_MAX_RANK] = {0};
    hsize_t count[H5S_MAX_RANK] = {0};
    hsize_t there = 0;
    uint64_t all = 1;
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(dataset);
    SCOPED(h5_close_at) hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    if (plist < 0 || rank < 1 || H5Pget_layout(plist) != H5D_CHUNKED ||
        H5Pget_chunk(plist, rank, chunk) != rank) {
        return;
    }
    apart_at("%s: chunks of %s", where, name);
    for (int i = 0; i < rank; i++) {
        count[i] = ceil_div_u64(dims[i], max_u64(chunk[i], 1));
        if (count[i] == 0 || !multiply_u64(all, count[i], &all)) {
            return;
        }
    }
    (void)H5Dget_num_chunks(dataset, H5S_ALL, &there); /* walks it all */
    /* Chunks that are looked up may be found by another way than that. */
    uint64_t looked_up = min_u64(all, MOST_LOOKED_UP);
    for (uint64_t i = 0; i < looked_up; i++) {
        hsize_t bytes = 0;
        uint64_t step = all / looked_up;
        h5_chunk_origin(i * step + step / 2, rank, chunk, count, offset);
        (void)H5Dget_chunk_storage_size(dataset, offset, &bytes);
    }
}

struct h5_places {
    hid_t file, dataset;
    struct h5_seen seen; /* by the file's driver */
};

status_t h5_places_open(const char *path, haddr_t address, h5_places_t **out)
{
    TRY(memory_zeroed(1, sizeof **out, "places of chunks", out));
    h5_places_t *places = *out;
    places->file = places->dataset = -1;
    TRY(h5_file_read(path, &places->seen, &places->file));
    places->dataset = h5_open_address(places->file, address);
    return H5_TRIED(places->dataset, "%s: its dataset cannot be opened", path);
}

void h5_places_close(h5_places_t *places)
{
    if (!places) {
        return;
    }
    h5_close(places->dataset);
    h5_close(places->file);
    free(places);
}

status_t h5_places_find(h5_places_t *places, const hsize_t *chunk, struct h5_place *out)
{
    struct h5_seen *seen = &places->seen;
    uint32_t mask = 0;
    char nothing = 0;
    *seen = (struct h5_seen){.is_asked = 1};
    herr_t status = h5_read_chunk(places->dataset, chunk, &mask, &nothing, SIZE_MAX);
    seen->is_asked = 0;
    *out = (struct h5_place){0, 0, 0};
    if (status < 0 && seen->reads == 0 && h5_failed_for("chunk address isn't defined")) {
        return STATUS_OK;
    }
    H5_TRY(status, "it cannot be looked up");
    REQUIRE(seen->reads == 1, STATUS_DATA, "it is in %u pieces", seen->reads);
    *out = (struct h5_place){seen->offset, seen->bytes, mask};
    return STATUS_OK;
}

status_t h5_is_scale(hid_t object, const char *name, int *out)
{
    htri_t is = H5Iget_type(object) == H5I_DATASET ? H5DSis_scale(object) : 0;
    H5_TRY(is, "%s: whether it is a scale cannot be read", name);
    *out = is > 0;
    return STATUS_OK;
}

/* An attribute of a dataset with an element of variable length for each dimension. */
struct lists {
    struct h5_dataset values;
    void *elements;
};

static void h5_close_lists(struct lists *lists)
{
    if (lists->elements) {
        h5_reclaim(lists->values.type, lists->values.space, lists->elements);
    }
    free(lists->elements);
    h5_dataset_close(&lists->values);
}

/* No elements: there is none. Begins as {0}; h5_close_lists() in any case. HDF5's own functions
 * free pointers that were never set when the read fails. */
static status_t h5_read_lists(hid_t dataset, const char *name, const char *attribute, int dim,
                              H5T_class_t class, size_t element_bytes, struct lists *out)
{
    struct h5_dataset *values = &out->values;
    TRY(h5_attribute_open(dataset, name, attribute, values));
    if (values->id <= 0) {
        return STATUS_OK;
    }
    REQUIRE(H5Tget_class(values->type) == class && H5Tget_size(values->type) == element_bytes &&
                values->count > (uint64_t)dim && values->count <= H5S_MAX_RANK,
            STATUS_DATA, "%s: %s is not what HDF5 writes", name, attribute);
    TRY(memory_zeroed((size_t)values->count, element_bytes, attribute, &out->elements));
    return H5_TRIED(h5_values_read(values, values->type, out->elements), "%s: %s cannot be read",
                    name, attribute);
}

/* An object to be found by its address, and its path. */
struct sought {
    haddr_t address;
    char *path;
    int is_long;
};

static status_t h5_seek(const struct h5_found *found, void *context, int *is_enough)
{
    struct sought *sought = context;
    if (found->address == sought->address) {
        int length = snprintf(sought->path, H5_SCALE_NAME, "/%s", found->path);
        sought->is_long = length >= H5_SCALE_NAME;
        *is_enough = 1;
    }
    return STATUS_OK;
}

/* The path of the scale to which a reference leads; "" where it has none in its file. */
static status_t h5_name_scale(hid_t dataset, const char *name, int dim, const hobj_ref_t *reference,
                              char out[H5_SCALE_NAME])
{
    SCOPED(h5_close_at) hid_t scale = H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, reference);
    H5_TRY(scale, "%s: a scale of dimension %d cannot be opened", name, dim);
    struct sought sought = {.path = out};
    H5_TRY(h5_address(scale, &sought.address), "%s: a scale of dimension %d cannot be looked at",
           name, dim);
    out[0] = '\0';
    TRY(h5_walk(dataset, name, h5_seek, &sought));
    return REQUIRED(!sought.is_long, STATUS_DATA, "%s: a scale of dimension %d has too long a path",
                    name, dim);
}

/* Paths of scales with a blank after each; with `first`, only that one, into it. */
static status_t h5_walk_scales(hid_t dataset, const char *name, int dim, char *first,
                               struct text *all)
{
    SCOPED(h5_close_lists) struct lists lists = {.elements = NULL};
    char path[H5_SCALE_NAME];
    SCOPED(h5_close_at) hid_t element = -1;
    TRY(h5_read_lists(dataset, name, "DIMENSION_LIST", dim, H5T_VLEN, sizeof(hvl_t), &lists));
    if (!lists.elements) {
        return STATUS_OK;
    }
    element = H5Tget_super(lists.values.type);
    REQUIRE(H5Tequal(element, H5T_STD_REF_OBJ) > 0, STATUS_DATA,
            "%s: DIMENSION_LIST is not what HDF5 writes", name);
    const hvl_t *references = (const hvl_t *)lists.elements + dim;
    for (size_t i = 0; i < references->len; i++) {
        TRY(h5_name_scale(dataset, name, dim, (const hobj_ref_t *)references->p + i, path));
        if (first && path[0]) {
            memcpy(first, path, sizeof path);
            return STATUS_OK;
        }
        TRY(first ? STATUS_OK : text_add(all, "%s ", path));
    }
    return STATUS_OK;
}

status_t h5_list_scales(hid_t dataset, const char *name, int dim, struct text *out)
{
    return h5_walk_scales(dataset, name, dim, NULL, out);
}

status_t h5_first_scale(hid_t dataset, const char *name, int dim, char out[H5_SCALE_NAME])
{
    out[0] = '\0';
    return h5_walk_scales(dataset, name, dim, out, NULL);
}

status_t h5_get_label(hid_t dataset, const char *name, int dim, char out[H5_SCALE_NAME])
{
    SCOPED(h5_close_lists) struct lists lists = {.elements = NULL};
    out[0] = '\0';
    TRY(h5_read_lists(dataset, name, "DIMENSION_LABELS", dim, H5T_STRING, sizeof(char *), &lists));
    if (lists.elements) {
        REQUIRE(H5Tis_variable_str(lists.values.type) > 0, STATUS_DATA,
                "%s: DIMENSION_LABELS is not what HDF5 writes", name);
        const char *label = ((const char *const *)lists.elements)[dim];
        snprintf(out, H5_SCALE_NAME, "%s", label ? label : "");
    }
    return STATUS_OK;
}

status_t h5_make_scale(hid_t dataset, const char *name)
{
    return H5_TRIED(H5DSset_scale(dataset, name), "%s cannot be made a scale", name);
}

status_t h5_attach_scale(hid_t dataset, hid_t scale, const char *name, int dim)
{
    return H5_TRIED(H5DSattach_scale(dataset, scale, (unsigned)dim), "scale %s cannot be attached",
                    name);
}

status_t h5_put_label(hid_t dataset, int dim, const char *label)
{
    return H5_TRIED(H5DSset_label(dataset, (unsigned)dim, label), "dimension %s cannot be labelled",
                    label);
}
