/* Datasets with their type and shape, and lists of names. */
#include "io/hdf5/h5_dataset.h"

#include "base/memory.h"
#include "io/apart.h"
#include "io/hdf5/h5_versions.h"
#include "io/hdf5/h5_walk.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 1 << 16 };

status_t h5_dataset_open(hid_t at, const char *where, const char *name, struct h5_dataset *out)
{
    status_t st = STATUS_OK;
    apart_at("%s: %s", where, name);
    hid_t dataset = H5Dopen2(at, name, H5P_DEFAULT);
    H5_TRY(dataset, "%s: %s cannot be opened", where, name);
    TRY(h5_dataset_of(dataset, where, out));
out:
    return st;
}

status_t h5_dataset_of(hid_t dataset, const char *where, struct h5_dataset *out)
{
    status_t st = STATUS_OK;
    *out = (struct h5_dataset){dataset, H5Dget_type(dataset), H5Dget_space(dataset), 0, {0}, 0};
    H5_TRY(out->type, "%s: the type of a dataset cannot be read", where);
    H5_TRY(out->space, "%s: the shape of a dataset cannot be read", where);
    out->rank = H5Sget_simple_extent_dims(out->space, out->dims, NULL);
    H5_TRY(out->rank, "%s: the shape of a dataset cannot be read", where);
    hssize_t points = H5Sget_simple_extent_npoints(out->space);
    out->count = points > 0 ? (uint64_t)points : 0;
out:
    return st;
}

void h5_dataset_close(struct h5_dataset *dataset)
{
    const hid_t ids[] = {dataset->space, dataset->type, dataset->id};
    for (int i = 0; i < 3; i++) {
        h5_close(ids[i] > 0 ? ids[i] : -1);
    }
    *dataset = (struct h5_dataset){0};
}

status_t h5_dataset_read(const struct h5_dataset *dataset, const char *where, const char *name,
                         hid_t type, uint64_t count, void *out)
{
    status_t st = STATUS_OK;
    REQUIRE(dataset->count == count, STATUS_DATA, "%s: %s holds %llu values, expected %llu", where,
            name, (unsigned long long)dataset->count, (unsigned long long)count);
    TRY(h5_refuse_external(dataset->id, where, name));
    H5_TRY(H5Dread(dataset->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out), "%s: %s cannot be read",
           where, name);
out:
    return st;
}

static status_t h5_names_add(struct h5_names *to, const char *name)
{
    status_t st = STATUS_OK;
    REQUIRE(to->count < MOST_NAMES, STATUS_DATA, "%s: more than %d names", name, MOST_NAMES);
    char **grown = realloc(to->names, (to->count + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: names");
    to->names = grown;
    TRY(memory_text(name, &grown[to->count]));
    to->count++;
out:
    return st;
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
    status_t st = STATUS_OK;
    H5_TRY(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, h5_names_attribute, out),
           "%s: attributes of %s cannot be listed", where, name);
out:
    return st;
}

status_t h5_list_links(hid_t group, const char *where, const char *name, struct h5_names *out)
{
    status_t st = STATUS_OK;
    H5_TRY(h5_iterate_links(group, h5_names_link, out), "%s: what %s holds cannot be listed", where,
           name);
out:
    return st;
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
