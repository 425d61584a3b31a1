/* Coefficients in a dataset. */
#include "input/coefficients/coefficients_parts.h"

#include "base/memory.h"
#include "dsp/fir/fir_design.h"
#include "input/format/holds.h"
#include "io/apart.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_versions.h"
#include "io/hdf5/h5_walk.h"

#include <stdlib.h>
#include <string.h>

/* Datasets found so far, and the path of the first. */
struct datasets {
    size_t count;
    char *name;
};

static status_t coefficients_note_dataset(const struct h5_found *found, void *out, int *is_enough)
{
    struct datasets *datasets = out;
    (void)is_enough;
    if (!found->is_new || found->type != H5O_TYPE_DATASET) {
        return STATUS_OK;
    }
    return datasets->count++ == 0 ? memory_text(found->path, &datasets->name) : STATUS_OK;
}

/* The name of the dataset: as asked, "coefficients", or that of the only one. */
static status_t coefficients_find(hid_t file, const char *path, const char *member, char **out)
{
    status_t st = STATUS_OK;
    struct datasets found = {0};
    struct text names = {0};
    int is_there = 0;
    const char *name = member ? member + strspn(member, "/") : "coefficients";
    TRY(h5_has(file, path, name, &is_there));
    if (is_there) {
        TRY(memory_text(name, out));
        goto out;
    }
    if (member) {
        TRY(holds_names(file, path, &names));
        FAIL(STATUS_DATA, "%s holds no dataset /%s; it holds %s", path, name,
             names.length ? names.data : "none at all");
    }
    TRY(h5_walk(file, path, coefficients_note_dataset, &found));
    if (found.count != 1) {
        TRY(holds_names(file, path, &names));
        FAIL(STATUS_DATA, "%s holds no dataset /coefficients, nor only one; it holds %s", path,
             names.length ? names.data : "none at all");
    }
    *out = found.name;
    found.name = NULL;
out:
    free(found.name);
    text_free(&names);
    return st;
}

/* That all of it lies in this file, which alone is known as an input of the job. */
static status_t coefficients_check_place(hid_t file, const struct h5_dataset *dataset,
                                         const char *path, const char *name)
{
    status_t st = STATUS_OK;
    hid_t list = H5Dget_create_plist(dataset->id);
    H5_TRY(list, "%s: how /%s is stored cannot be read", path, name);
    int is_here = h5_share_file(file, dataset->id);
    H5_TRY(is_here, "%s: /%s cannot be read", path, name);
    REQUIRE(is_here && H5Pget_layout(list) != H5D_VIRTUAL && H5Pget_external_count(list) <= 0,
            STATUS_DATA, "%s: the numbers of /%s lie in other files, expected them in this one",
            path, name);
out:
    h5_close(list);
    return st;
}

static int coefficients_is_number(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    return class == H5T_INTEGER || class == H5T_FLOAT;
}

/* A compound of two doubles with the names of the file's: HDF5 matches members by name. Members
 * that lie outside of their compound would make it crash. */
static status_t coefficients_pair_type(const struct h5_dataset *dataset, const char *where,
                                       hid_t *out)
{
    status_t st = STATUS_OK;
    hid_t pair = H5Tcreate(H5T_COMPOUND, 2 * sizeof(double));
    hid_t member = -1;
    char *name = NULL;
    size_t bytes = H5Tget_size(dataset->type);
    REQUIRE(H5Tget_nmembers(dataset->type) == 2, STATUS_DATA,
            "%s: its compound has %d members, expected 2 (real, imaginary)", where,
            H5Tget_nmembers(dataset->type));
    for (unsigned i = 0; i < 2; i++) {
        member = H5Tget_member_type(dataset->type, i);
        size_t at = H5Tget_member_offset(dataset->type, i);
        REQUIRE(coefficients_is_number(member) && at <= bytes && H5Tget_size(member) <= bytes - at,
                STATUS_DATA, "%s: member %u of its compound is no number", where, i);
        name = H5Tget_member_name(dataset->type, i);
        H5_TRY(name ? H5Tinsert(pair, name, i * sizeof(double), H5T_NATIVE_DOUBLE) : -1,
               "%s: the names of its compound's members cannot be read", where);
        H5free_memory(name);
        name = NULL;
        h5_close(member);
        member = -1;
    }
    *out = pair;
    pair = -1;
out:
    H5free_memory(name);
    h5_close(member);
    h5_close(pair);
    return st;
}

/* Shape and type: a number of each coefficient, or two. */
static status_t coefficients_read_shape(const struct h5_dataset *dataset, const char *where,
                                        struct coefficients *out)
{
    status_t st = STATUS_OK;
    int is_compound = H5Tget_class(dataset->type) == H5T_COMPOUND;
    int has_pairs = dataset->rank == 2 && dataset->dims[1] == 2 && !is_compound;
    int is_vector = dataset->rank == 1 || (dataset->rank == 2 && !has_pairs &&
                                           (dataset->dims[0] == 1 || dataset->dims[1] == 1));
    uint64_t count = dataset->rank == 2 && !has_pairs && dataset->dims[0] == 1 ? dataset->dims[1]
                                                                               : dataset->dims[0];
    REQUIRE(is_vector || has_pairs, STATUS_DATA,
            "%s: its rank is %d, expected 1, or 2 with the shape [coefficients][2], or of a row or "
            "a column",
            where, dataset->rank);
    REQUIRE(is_compound || coefficients_is_number(dataset->type), STATUS_DATA,
            "%s: expected integers, floating point, or compounds of two of them", where);
    REQUIRE(count <= FIR_MOST_TAPS, STATUS_DATA, "%s: %llu coefficients, expected at most %d",
            where, (unsigned long long)count, FIR_MOST_TAPS);
    out->is_complex = is_compound || has_pairs;
    out->count = count * (out->is_complex ? 2 : 1);
out:
    return st;
}

status_t coefficients_read_hdf5(const char *path, const char *member, struct coefficients *out)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    hid_t pair = -1;
    char *name = NULL;
    struct text where = {0};
    struct h5_dataset dataset = {0};
    TRY(h5_open_file(path, &file));
    TRY(coefficients_find(file, path, member, &name));
    TRY(text_add(&where, "%s: /%s", path, name));
    TRY(h5_dataset_open(file, path, name, &dataset));
    TRY(coefficients_check_place(file, &dataset, path, name));
    TRY(coefficients_read_shape(&dataset, where.data, out));
    if (H5Tget_class(dataset.type) == H5T_COMPOUND) {
        TRY(coefficients_pair_type(&dataset, where.data, &pair));
    }
    TRY(memory_zeroed((size_t)out->count, sizeof *out->values, "coefficients of a filter",
                      &out->values));
    H5_TRY(H5Dread(dataset.id, pair >= 0 ? pair : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   out->values),
           "%s cannot be read", where.data);
out:
    h5_close(pair);
    h5_dataset_close(&dataset);
    h5_close(file);
    text_free(&where);
    free(name);
    return st;
}
