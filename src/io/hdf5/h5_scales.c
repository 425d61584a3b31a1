/* The only calls of HDF5's high-level library: none of them goes unchecked. */
#include "io/hdf5/h5_scales.h"

#include "base/memory.h"
#include "io/hdf5/h5_versions.h"
#include "io/hdf5/h5_walk.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

status_t h5_is_scale(hid_t object, const char *name, int *out)
{
    htri_t is = H5Iget_type(object) == H5I_DATASET ? H5DSis_scale(object) : 0;
    H5_TRY(is, "%s: whether it is a scale cannot be read", name);
    *out = is > 0;
    return STATUS_OK;
}

/* An attribute of a dataset with an element of variable length for each dimension. */
struct lists {
    hid_t id, type, space;
    void *elements;
};

static void h5_close_lists(struct lists *lists)
{
    if (lists->elements) {
        h5_reclaim(lists->type, lists->space, lists->elements);
    }
    free(lists->elements);
    h5_close(lists->space);
    h5_close(lists->type);
    h5_close(lists->id);
}

/* `id` below 0: there is none. h5_close_lists() in any case. HDF5's own functions free pointers
 * that were never set when the read fails. */
static status_t h5_read_lists(hid_t dataset, const char *name, const char *attribute, int dim,
                              H5T_class_t class, size_t element_bytes, struct lists *out)
{
    int is_there = 0;
    *out = (struct lists){-1, -1, -1, NULL};
    TRY(h5_has_attribute(dataset, name, attribute, &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    out->id = H5Aopen(dataset, attribute, H5P_DEFAULT);
    H5_TRY(out->id, "%s: %s cannot be opened", name, attribute);
    out->type = H5Aget_type(out->id);
    H5_TRY(out->type, "%s: %s cannot be opened", name, attribute);
    out->space = H5Aget_space(out->id);
    H5_TRY(out->space, "%s: %s cannot be opened", name, attribute);
    hssize_t count = H5Sget_simple_extent_npoints(out->space);
    REQUIRE(H5Tget_class(out->type) == class && H5Tget_size(out->type) == element_bytes &&
                count > dim && count <= H5S_MAX_RANK,
            STATUS_DATA, "%s: %s is not what HDF5 writes", name, attribute);
    TRY(memory_zeroed((size_t)count, element_bytes, attribute, &out->elements));
    H5_TRY(H5Aread(out->id, out->type, out->elements), "%s: %s cannot be read", name, attribute);
    return STATUS_OK;
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
    status_t st = STATUS_OK;
    hid_t scale = h5_open_reference(dataset, reference);
    H5_TRY_OUT(scale, "%s: a scale of dimension %d cannot be opened", name, dim);
    struct sought sought = {.path = out};
    H5_TRY_OUT(h5_address(scale, &sought.address),
               "%s: a scale of dimension %d cannot be looked at", name, dim);
    out[0] = '\0';
    TRY_OUT(h5_walk(dataset, name, h5_seek, &sought));
    REQUIRE_OUT(!sought.is_long, STATUS_DATA, "%s: a scale of dimension %d has too long a path",
                name, dim);
out:
    h5_close(scale);
    return st;
}

/* Paths of scales with a blank after each; with `first`, only that one, into it. */
static status_t h5_walk_scales(hid_t dataset, const char *name, int dim, char *first,
                               struct text *all)
{
    status_t st = STATUS_OK;
    struct lists lists;
    char path[H5_SCALE_NAME];
    hid_t element = -1;
    TRY_OUT(h5_read_lists(dataset, name, "DIMENSION_LIST", dim, H5T_VLEN, sizeof(hvl_t), &lists));
    if (lists.id < 0) {
        goto out;
    }
    element = H5Tget_super(lists.type);
    REQUIRE_OUT(H5Tequal(element, H5T_STD_REF_OBJ) > 0, STATUS_DATA,
                "%s: DIMENSION_LIST is not what HDF5 writes", name);
    const hvl_t *references = (const hvl_t *)lists.elements + dim;
    for (size_t i = 0; i < references->len; i++) {
        TRY_OUT(h5_name_scale(dataset, name, dim, (const hobj_ref_t *)references->p + i, path));
        if (first && path[0]) {
            memcpy(first, path, sizeof path);
            goto out;
        }
        TRY_OUT(first ? STATUS_OK : text_add(all, "%s ", path));
    }
out:
    h5_close(element);
    h5_close_lists(&lists);
    return st;
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
    status_t st = STATUS_OK;
    struct lists lists;
    out[0] = '\0';
    TRY_OUT(
        h5_read_lists(dataset, name, "DIMENSION_LABELS", dim, H5T_STRING, sizeof(char *), &lists));
    if (lists.id >= 0) {
        REQUIRE_OUT(H5Tis_variable_str(lists.type) > 0, STATUS_DATA,
                    "%s: DIMENSION_LABELS is not what HDF5 writes", name);
        const char *label = ((const char *const *)lists.elements)[dim];
        snprintf(out, H5_SCALE_NAME, "%s", label ? label : "");
    }
out:
    h5_close_lists(&lists);
    return st;
}

status_t h5_make_scale(hid_t dataset, const char *name)
{
    H5_TRY(H5DSset_scale(dataset, name), "%s cannot be made a scale", name);
    return STATUS_OK;
}

status_t h5_attach_scale(hid_t dataset, hid_t scale, const char *name, int dim)
{
    H5_TRY(H5DSattach_scale(dataset, scale, (unsigned)dim), "scale %s cannot be attached", name);
    return STATUS_OK;
}

status_t h5_put_label(hid_t dataset, int dim, const char *label)
{
    H5_TRY(H5DSset_label(dataset, (unsigned)dim, label), "dimension %s cannot be labelled", label);
    return STATUS_OK;
}
