/* Reading back what a product says of itself. */
#include "base/memory.h"
#include "io/hdf5/h5.h"
#include "product/kind/dedispersed.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/place.h"
#include "product/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void product_destroy(struct product *product)
{
    if (!product) {
        return;
    }
    free(product->path);
    free(product->job_text);
    free(product->version);
    free(product->inputs);
    free(product->telescope);
    free(product->source);
    free(product->frequency_hz);
    dedispersed_destroy(product->series);
    free(product);
}

static status_t inspect_read_root(hid_t file, struct product *product)
{
    status_t st = STATUS_OK;
    const char *path = product->path;
    int64_t day = 0;
    int found = 0;
    TRY(h5_get_i64(file, path, "format_version", &product->version_of_format, &found));
    REQUIRE(product->version_of_format <= PRODUCT_VERSION, STATUS_DATA,
            "%s: format_version is %lld, this program knows products up to %d", path,
            (long long)product->version_of_format, PRODUCT_VERSION);
    TRY(parts_need_f64(file, path, "first_time", &product->first_time));
    TRY(parts_need_f64(file, path, "time_step", &product->time_step));
    TRY(h5_get_text(file, path, "telescope", &product->telescope, &found));
    TRY(h5_get_text(file, path, "source", &product->source, &found));
    TRY(h5_get_i64(file, path, "start_mjd_day", &day, &product->has_start));
    if (product->has_start) {
        product->start.mjd_day = (int32_t)day;
        TRY(parts_need_f64(file, path, "start_second", &product->start.second));
    }
out:
    return st;
}

/* A dataset; an attribute in products of format 1. */
static status_t inspect_read_missing(hid_t group, struct product *product)
{
    status_t st = STATUS_OK;
    hid_t dataset = -1;
    int is_attribute = 0;
    TRY(h5_has_attribute(group, product->path, "missing_samples", &is_attribute));
    if (is_attribute) {
        TRY(parts_need_u64(group, product->path, "missing_samples", &product->missing));
        goto out;
    }
    dataset = H5Dopen2(group, "missing_samples", H5P_DEFAULT);
    H5_TRY(dataset, "%s does not say how many samples were missing", product->path);
    H5_TRY(H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &product->missing),
           "%s: its number of missing samples cannot be read", product->path);
out:
    h5_close(dataset);
    return st;
}

static status_t inspect_read_provenance(hid_t file, struct product *product)
{
    status_t st = STATUS_OK;
    int found = 0;
    hid_t group = H5Gopen2(file, "provenance", H5P_DEFAULT);
    H5_TRY(group, "%s has no provenance", product->path);
    TRY(h5_get_text(group, product->path, "job", &product->job_text, &found));
    REQUIRE(found, STATUS_DATA, "%s: its provenance holds no job", product->path);
    TRY(h5_get_text(group, product->path, "version", &product->version, &found));
    TRY(h5_get_text(group, product->path, "inputs", &product->inputs, &found));
    TRY(inspect_read_missing(group, product));
    TRY(parts_need_u64(group, product->path, "gap_samples", &product->gaps));
out:
    h5_close(group);
    return st;
}

/* Where the counts lie; nowhere in products of format 1. */
static status_t inspect_read_counts_place(hid_t file, const char *path, struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t missing = -1;
    hid_t space = -1;
    hid_t crc = -1;
    hid_t holes = -1;
    int is_there = 0;
    TRY(h5_has(file, path, "provenance/crc32", &is_there));
    if (!is_there) {
        goto out;
    }
    crc = H5Dopen2(file, "provenance/crc32", H5P_DEFAULT);
    missing = H5Dopen2(file, "provenance/missing_samples", H5P_DEFAULT);
    holes = H5Dopen2(file, "provenance/holes", H5P_DEFAULT);
    H5_TRY(holes, "%s does not say which rows are NaN", path);
    H5_TRY(crc, "%s: its CRCs cannot be opened", path);
    H5_TRY(missing, "%s does not say how many samples were missing", path);
    TRY(parts_need_u64(crc, path, "span_rows", &place->span_rows));
    space = H5Dget_space(crc);
    haddr_t crc_at = h5_offset(crc);
    haddr_t missing_at = h5_offset(missing);
    haddr_t holes_at = h5_offset(holes);
    REQUIRE(holes_at != HADDR_UNDEF && H5Dget_storage_size(holes) == place->rows, STATUS_DATA,
            "%s: what it says of NaN rows is not about all rows", path);
    place->holes_offset = holes_at;
    REQUIRE(place->span_rows > 0 && crc_at != HADDR_UNDEF && missing_at != HADDR_UNDEF &&
                H5Sget_simple_extent_npoints(space) == (hssize_t)spans_count(place),
            STATUS_DATA, "%s: its CRCs are not those of its rows", path);
    place->crc_offset = crc_at;
    place->missing_offset = missing_at;
out:
    h5_close(space);
    h5_close(missing);
    h5_close(holes);
    h5_close(crc);
    return st;
}

/* Where the rows lie, and that the file really is as long as it says. */
static status_t inspect_read_place(hid_t file, struct product *product)
{
    status_t st = STATUS_OK;
    hid_t space = -1;
    hid_t time = -1;
    struct stat info;
    hsize_t dims[8] = {0};
    const struct kind *kind = kind_of(product->kind);
    hid_t data = H5Dopen2(file, kind->rows, H5P_DEFAULT);
    H5_TRY(data, "%s has no rows", product->path);
    time = H5Dopen2(file, "time", H5P_DEFAULT);
    H5_TRY(time, "%s has no time stamps", product->path);
    space = H5Dget_space(data);
    int rank = H5Sget_simple_extent_ndims(space);
    REQUIRE(rank >= kind->least_dims && rank <= kind->most_dims, STATUS_DATA,
            "%s: its rows have %d dimensions", product->path, rank);
    H5Sget_simple_extent_dims(space, dims, NULL);
    product->rows = dims[0];
    product->streams = 1;
    for (int i = 1; i < rank - 1; i++) {
        product->streams *= dims[i];
    }
    product->frequencies = dims[rank - 1];
    product->place.row_bytes =
        product_row_bytes(product->kind, product->streams, product->frequencies);
    REQUIRE(product->place.row_bytes > 0, STATUS_DATA, "%s holds empty rows", product->path);
    haddr_t data_at = h5_offset(data);
    haddr_t time_at = h5_offset(time);
    REQUIRE(stat(product->path, &info) == 0, STATUS_DATA, "%s: %s", product->path, strerror(errno));
    product->place.file_bytes = (uint64_t)info.st_size;
    REQUIRE(data_at != HADDR_UNDEF && time_at != HADDR_UNDEF, STATUS_DATA,
            "%s: its rows do not lie in one piece, as voltmill writes them: was it repacked?",
            product->path);
    REQUIRE(product->place.file_bytes >= data_at &&
                (product->place.file_bytes - data_at) / product->place.row_bytes >= product->rows,
            STATUS_DATA, "%s does not hold all of its %llu rows", product->path,
            (unsigned long long)product->rows);
    product->place.rows = product->rows;
    product->place.data_offset = data_at;
    product->place.time_offset = time_at;
    TRY(inspect_read_counts_place(file, product->path, &product->place));
out:
    h5_close(space);
    h5_close(time);
    h5_close(data);
    return st;
}

/* Which of our products the file says it is, if any (*is_ours). Whatever else it says makes it
 * none; what cannot be read says nothing: fails with DATA. */
static status_t inspect_read_kind(hid_t file, const char *path, enum product_kind *kind,
                                  int *is_ours)
{
    status_t st = STATUS_OK;
    char *format = NULL;
    int found = 0;
    TRY(h5_find_text(file, path, "format", &format, &found));
    int is_known = found && product_kind_named(format, kind);
    TRY(h5_has(file, path, "provenance", &found));
    *is_ours = is_known && found;
out:
    free(format);
    return st;
}

static status_t inspect_answer_is_ours(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    enum product_kind kind;
    int ours = 0;
    char *path = NULL;
    hid_t file = -1;
    TRY(apart_path(question, &path));
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    int is_known = file >= 0 && inspect_read_kind(file, path, &kind, &ours) == STATUS_OK;
    h5_close(file);
    file = -1;
    TRY(pack_u64(answer, (is_known && ours) || h5_is_unfinished(path)));
out:
    h5_close(file);
    free(path);
    return st;
}

const struct apart_task product_is_ours_task = {"is-product", inspect_answer_is_ours};

int product_is_ours(const char *path)
{
    return apart_is_true(&product_is_ours_task, path);
}

static status_t inspect_answer_place(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    struct product product = {0};
    int is_ours = 0;
    TRY(apart_path(question, &product.path));
    const char *path = product.path;
    TRY(h5_open_file(path, &file));
    TRY(inspect_read_kind(file, path, &product.kind, &is_ours));
    REQUIRE(is_ours, STATUS_DATA, "%s is no product of voltmill", path);
    TRY(inspect_read_place(file, &product));
    TRY(product_pack_place(&product.place, answer));
out:
    free(product.path);
    h5_close(file);
    return st;
}

const struct apart_task product_place_task = {"place", inspect_answer_place};

status_t product_find_place(const char *path, struct product_place *out)
{
    status_t st = STATUS_OK;
    struct text answer = {0};
    TRY(apart_do_path(&product_place_task, path, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    product_unpack_place(&in, out);
out:
    text_free(&answer);
    return st;
}

static status_t inspect_read(const char *path, struct product **out)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    struct product *product = NULL;
    int is_ours = 0;
    TRY(h5_open_file(path, &file));
    TRY(memory_zeroed(1, sizeof *product, "a product", &product));
    TRY(inspect_read_kind(file, path, &product->kind, &is_ours));
    if (!is_ours) {
        *out = NULL;
        goto out;
    }
    TRY(memory_text(path, &product->path));
    TRY(inspect_read_root(file, product));
    TRY(inspect_read_provenance(file, product));
    TRY(inspect_read_place(file, product));
    TRY(kind_of(product->kind)->inspect(file, product));
    *out = product;
    product = NULL;
out:
    product_destroy(product);
    h5_close(file);
    return st;
}

#define FIELD(name) PACK_FIELD(struct product, name)
static const struct pack_field inspect_fields[] = {FIELD(kind),         FIELD(version_of_format),
                                                   FIELD(path),         FIELD(job_text),
                                                   FIELD(version),      FIELD(inputs),
                                                   FIELD(telescope),    FIELD(source),
                                                   FIELD(has_start),    FIELD(start.mjd_day),
                                                   FIELD(start.second), FIELD(rows),
                                                   FIELD(streams),      FIELD(frequencies),
                                                   FIELD(integrate),    FIELD(channels),
                                                   FIELD(taps),         FIELD(sample_rate_hz),
                                                   FIELD(first_time),   FIELD(time_step),
                                                   FIELD(missing),      FIELD(gaps)};
enum { FIELDS = sizeof inspect_fields / sizeof *inspect_fields };

/* The answer is empty when the file is none of our products. */
static status_t inspect_answer_product(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    char *path = NULL;
    TRY(apart_path(question, &path));
    TRY(inspect_read(path, &product));
    if (product) {
        TRY(pack_fields(answer, product, inspect_fields, FIELDS));
        TRY(product_pack_place(&product->place, answer));
        TRY(pack_f64s(answer, product->frequency_hz, product->frequencies));
        TRY(pack_i64(answer, product->series != NULL));
        if (product->series) {
            TRY(dedispersed_pack(product->series, answer));
        }
    }
out:
    product_destroy(product);
    free(path);
    return st;
}

const struct apart_task product_open_task = {"product", inspect_answer_product};

static status_t inspect_unpack(struct unpack *in, struct product **out)
{
    status_t st = STATUS_OK;
    struct product *product = NULL;
    size_t count = 0;
    TRY(memory_zeroed(1, sizeof *product, "a product", &product));
    unpack_fields(in, product, inspect_fields, FIELDS);
    product_unpack_place(in, &product->place);
    TRY(unpack_f64s(in, &product->frequency_hz, &count));
    if (unpack_i64(in) == 1) {
        TRY(dedispersed_unpack(in, &product->series));
    }
    TRY(unpack_check(in, "a product"));
    *out = product;
    product = NULL;
out:
    product_destroy(product);
    return st;
}

status_t product_open(const char *path, struct product **out)
{
    status_t st = STATUS_OK;
    struct text answer = {0};
    *out = NULL;
    TRY(apart_do_path(&product_open_task, path, &answer));
    if (answer.length > 0) {
        struct unpack in = {.data = answer.data, .length = answer.length};
        TRY(inspect_unpack(&in, out));
    }
out:
    text_free(&answer);
    return st;
}
