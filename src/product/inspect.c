/* Reading back what a product says of itself. */
#include "base/memory.h"
#include "base/text.h"
#include "input/fbh5/fbh5_header.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "product/attributes.h"
#include "product/codec.h"
#include "product/contents.h"
#include "product/kind/dedispersed_kind.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/places.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

static const struct pack_field pointers[] = {
    PACK_FIELD(struct product, path),
    PACK_FIELD(struct product, origin.job_text),
    PACK_FIELD(struct product, origin.version),
    PACK_FIELD(struct product, origin.arithmetic),
    PACK_FIELD(struct product, origin.inputs),
    PACK_FIELD(struct product, origin.assumed),
    PACK_FIELD(struct product, origin.filters),
    PACK_SKY(struct product),
    PACK_FIELD(struct product, ifs.pols),
    PACK_FIELD(struct product, ifs.pol_names),
    PACK_FIELD(struct product, ifs.pol_type),
    PACK_FIELD(struct product, ifs.feed),
    PACK_FIELD(struct product, ifs.v),
    PACK_FIELD(struct product, ifs.sum_of),
    PACK_COUNTED(struct product, frequency_hz, frequencies, &pack_numbers),
    PACK_COUNTED(struct product, series, nseries, &dedispersed_type),
};
static const struct pack_type product_type = PACK_WHOLE(struct product, pointers);

void product_destroy(struct product *product)
{
    pack_destroy(product, &product_type);
}

/* Appends each of the names of a scale to each line; a scale that is missing changes nothing. */
static status_t inspect_name_further(hid_t file, const char *path, const char *scale,
                                     struct text *lines)
{
    enum { MOST = 4096 }; /* lines */
    SCOPED(text_free) struct text more = {0};
    SCOPED(text_free) struct text line = {0};
    SCOPED(h5_names_free) struct h5_names further = {0};
    size_t length = 0;
    uint32_t made = 0;
    uint32_t at = 0;
    int found = 0;
    TRY(h5_has(file, path, scale, &found));
    TRY(found ? h5_read_texts(file, path, scale, &further.names, &further.count) : STATUS_OK);
    do {
        const char *before = lines->data ? text_line(lines->data, at, &length) : NULL;
        for (size_t i = 0; i < further.count && made < MOST; i++, made++) {
            line.length = 0;
            TRY(before ? text_add(&line, "%.*s/", (int)length, before) : STATUS_OK);
            TRY(text_add(&line, "%s", further.names[i]));
            TRY(text_add_line(&more, line.data));
        }
    } while (lines->data && text_line(lines->data, ++at, &length));
    if (further.count > 0) {
        text_free(lines);
        *lines = more;
        more = (struct text){0};
    }
    return STATUS_OK;
}

/* The names of the lines of a row: of power /pol has them. */
static status_t inspect_name_lines(hid_t file, struct product *product)
{
    static const char *const scales[] = {"station", "beam", "pol"};
    SCOPED(text_free) struct text lines = {0};
    for (size_t i = product->kind == PRODUCT_SPECTRA ? 0 : 2; i < 3; i++) {
        TRY(inspect_name_further(file, product->path, scales[i], &lines));
    }
    product->ifs.pol_names = memory_move(&lines.data);
    return STATUS_OK;
}

/* Reads the position on the sky, and the names of the polarisations. */
static status_t inspect_read_sky(hid_t file, struct product *product)
{
    const char *path = product->path;
    SCOPED(text_free) struct text list = {0};
    SCOPED(h5_names_free) struct h5_names pols = {0};
    int has_ra = 0;
    int has_dec = 0;
    int has_pols = 0;
    TRY(h5_get_f64(file, path, "ra_deg", &product->sky.ra_deg, &has_ra));
    TRY(h5_get_f64(file, path, "dec_deg", &product->sky.dec_deg, &has_dec));
    product->sky.has_position =
        has_ra && has_dec && fabs(product->sky.ra_deg) <= 360 && fabs(product->sky.dec_deg) <= 90;
    TRY(h5_has(file, path, "pol", &has_pols));
    TRY(has_pols ? h5_read_texts(file, path, "pol", &pols.names, &pols.count) : STATUS_OK);
    for (size_t i = 0; i < pols.count; i++) {
        TRY(text_add(&list, "%s%s", i ? ", " : "", pols.names[i]));
    }
    product->ifs.pols = memory_move(&list.data);
    return product->kind == PRODUCT_SPECTRA || product->kind == PRODUCT_POWER
               ? inspect_name_lines(file, product)
               : STATUS_OK;
}

static status_t inspect_read_root(hid_t file, struct product *product)
{
    const char *path = product->path;
    struct start start = {0};
    int found = 0;
    int is_archive = kind_of(product->kind)->is_archive;
    TRY(is_archive ? STATUS_OK
                   : start_read_version(file, path, &product->origin.version_of_format, &found));
    TRY(start_read_root(file, path, &start, &found));
    REQUIRE(found || is_archive, STATUS_DATA,
            "%s: attribute first_time is missing: not a whole product", path);
    product->first_time = start.first_time;
    product->sky.has_start = start.is_known;
    product->sky.start = start.utc;
    TRY(h5_has_attribute(file, path, "start_mjd_day", &found));
    REQUIRE(!found || start.is_known, STATUS_DATA,
            "%s: attribute start_second is missing: not a whole product", path);
    TRY(is_archive ? STATUS_OK : parts_need_f64(file, path, "time_step", &product->time_step));
    TRY(h5_get_f64(file, path, "coherent_dm", &product->coherent_dm, &product->is_coherent));
    TRY(h5_get_text(file, path, "telescope", &product->sky.telescope, &found));
    TRY(h5_get_text(file, path, "source", &product->sky.source, &found));
    return inspect_read_sky(file, product);
}

static status_t inspect_read_provenance(hid_t file, struct product *product)
{
    static const char missing[] = "missing_samples"; /* an attribute in products of format 1 */
    int found = 0;
    SCOPED(h5_close_at) hid_t group = H5Gopen2(file, "provenance", H5P_DEFAULT);
    H5_TRY(group, "%s has no provenance", product->path);
    TRY(h5_get_text(group, product->path, "job", &product->origin.job_text, &found));
    REQUIRE(found, STATUS_DATA, "%s: its provenance contains no job", product->path);
    if (kind_of(product->kind)->is_archive) {
        /* The root has that of the native layout. */
        TRY(start_read_version(group, product->path, &product->origin.version_of_format, &found));
    }
    TRY(h5_get_text(group, product->path, "version", &product->origin.version, &found));
    TRY(h5_find_text(group, product->path, "arithmetic", &product->origin.arithmetic, &found));
    TRY(h5_get_text(group, product->path, "inputs", &product->origin.inputs, &found));
    TRY(h5_find_text(group, product->path, "assumed", &product->origin.assumed, &found));
    TRY(h5_get_text(group, product->path, "filters", &product->origin.filters, &found));
    TRY(h5_has_attribute(group, product->path, missing, &found));
    TRY((found ? parts_need_u64 : parts_need_count)(group, product->path, missing,
                                                    &product->missing));
    return parts_need_u64(group, product->path, "gap_samples", &product->gaps);
}

/* Checks the shapes of datasets beside rows, if there are any. */
static status_t inspect_check_beside(const struct h5_dataset *beside, struct product *product)
{
    const char *path = product->path;
    int is_pairs = product->array.pairs > 0;
    const struct h5_dataset *weights = &beside[is_pairs ? PLACE_NSAMPLES : PLACE_WEIGHTS];
    const struct h5_dataset *flags = &beside[is_pairs ? PLACE_BAD : PLACE_FLAGS];
    const struct h5_dataset *medians = &beside[PLACE_BANDPASS];
    uint64_t times = max_u64(product->array.pairs, 1);
    uint64_t row = weights->rank == 3 ? weights->dims[1] * weights->dims[2] * times : 0;
    REQUIRE(weights->id <= 0 || (weights->dims[0] == product->rows * times && row > 0 &&
                                 row <= UINT32_MAX && weights->count == product->rows * row),
            STATUS_DATA, "%s: its weights are not those of its rows", path);
    product->weights = (uint32_t)row;
    for (int i = 0; i < 2; i++) {
        const struct h5_dataset *data = i ? &beside[PLACE_KURTOSIS] : flags;
        REQUIRE(data->id <= 0 ||
                    (data->rank == 3 && data->count > 0 && product->rows > 0 &&
                     data->dims[0] % product->rows == 0 && data->count == flags->count),
                STATUS_DATA, "%s: its %s are not those of its rows", path,
                place_name(i          ? PLACE_KURTOSIS
                           : is_pairs ? PLACE_BAD
                                      : PLACE_FLAGS));
    }
    product->flags.rows = flags->dims[0];
    product->flags.ifs = flags->dims[1];
    product->flags.channels = flags->dims[2];
    return REQUIRED(medians->id <= 0 || medians->count == product->streams * product->frequencies,
                    STATUS_DATA, "%s: its %s is not that of its rows", path,
                    place_name(PLACE_BANDPASS));
}

/* Fails if a dataset is missing: opening it again gives the cause. */
static status_t inspect_need(hid_t file, const char *path, const struct h5_dataset *beside,
                             enum place which)
{
    struct h5_dataset none = {0};
    return beside[which].id > 0 ? STATUS_OK : h5_dataset_open(file, path, place_name(which), &none);
}

/* Checks the shapes of the counts, which products of format 1 lack. */
static status_t inspect_check_counts(hid_t file, const struct h5_dataset *beside, int is_archive,
                                     struct product *product)
{
    const char *path = product->path;
    struct product_place *place = &product->place;
    const struct h5_dataset *crc = &beside[PLACE_CRC];
    if (crc->id > 0) {
        TRY(inspect_need(file, path, beside, PLACE_MISSING));
        TRY(inspect_need(file, path, beside, is_archive ? PLACE_CLIPPED : PLACE_HOLES));
        REQUIRE(is_archive || beside[PLACE_HOLES].count == place->rows, STATUS_DATA,
                "%s: /provenance/holes has %" PRIu64 " numbers, but there are %" PRIu64
                " rows: is it a copy of some of them?",
                path, beside[PLACE_HOLES].count, place->rows);
        TRY(parts_need_u64(crc->id, path, "span_rows", &place->span_rows));
        REQUIRE(place->span_rows > 0 && crc->count == spans_count(place), STATUS_DATA,
                "%s: its CRCs are not those of its rows", path);
    }
    return STATUS_OK;
}

/* Bytes of a row whose numbers are as the dataset's type says. */
static uint64_t inspect_row_bytes(hid_t data, const struct product *product)
{
    hid_t type = H5Dget_type(data);
    uint64_t numbers = 0;
    uint64_t bytes = 0;
    int fits = multiply_u64(product->streams, product->frequencies, &numbers) &&
               multiply_u64(numbers, H5Tget_size(type), &bytes);
    h5_close(type);
    return fits ? bytes : 0;
}

/* Reads the number of rows, and of streams and frequencies in a row. A row of visibilities is
 * several rows of their dataset, one for each pair. */
static status_t inspect_read_shape(hid_t file, const struct h5_dataset *data,
                                   struct product *product)
{
    SCOPED(h5_dataset_close) struct h5_dataset time = {0};
    product->rows = data->dims[0];
    product->streams = 1;
    for (int i = 1; i < data->rank - 1; i++) {
        product->streams *= data->dims[i];
    }
    product->frequencies = data->dims[data->rank - 1];
    if (product_quantity(product->kind) == QUANTITY_VISIBILITIES) {
        TRY(h5_dataset_open(file, product->path, "time", &time));
        REQUIRE(time.count > 0 && data->dims[0] > 0 && data->dims[0] % time.count == 0 &&
                    data->dims[0] / time.count <= UINT32_MAX && data->dims[2] <= UINT32_MAX,
                STATUS_DATA, "%s: /Data/visdata has %llu baselines and times, but %llu times",
                product->path, (unsigned long long)data->dims[0], (unsigned long long)time.count);
        product->rows = time.count;
        product->array.pairs = (uint32_t)(data->dims[0] / time.count);
        product->array.pols = (uint32_t)data->dims[2];
        product->streams = (uint64_t)product->array.pairs * product->array.pols;
        product->frequencies = data->dims[1];
    }
    return STATUS_OK;
}

/* Checks that the datasets' counts agree with each other and with the rows. */
static status_t quantised_check(const char *path, uint64_t lines, const struct product_place *place,
                                const struct h5_dataset *beside)
{
    uint64_t all = ceil_div_u64(place->rows, place->scale_rows);
    for (enum place which = PLACE_SCALE; which <= PLACE_HIGH; which++) {
        const struct h5_dataset *found = &beside[which];
        uint64_t blocks = found->dims[0];
        int is_count = which >= PLACE_LOW;
        REQUIRE(found->rank == 3 && blocks > 0 && found->count / blocks == lines &&
                    (blocks == all || (!is_count && blocks == 1 && place->scales == 1)) &&
                    (which != PLACE_OFFSET || blocks == place->scales),
                STATUS_DATA, "%s: /%s is not that of its rows", path, place_name(which));
    }
    return STATUS_OK;
}

/* Reads back how many bits the numbers of an open dataset of rows have, and checks the shapes of
 * the datasets beside it (product/places.h). Fails with DATA, DEVICE (memory). */
static status_t quantised_inspect(hid_t rows, const struct h5_dataset *beside,
                                  struct product *product)
{
    const char *path = product->path;
    struct product_place *place = &product->place;
    uint32_t parts = product_quantity(product->kind) == QUANTITY_SPECTRA ? 2 : 1;
    uint64_t lines = product->streams * product->frequencies;
    uint64_t bits = 8 * place->row_bytes / parts / lines;
    REQUIRE(place->row_bytes == lines * parts * bits / 8 && (bits == 8 || bits == 16 || bits == 32),
            STATUS_DATA, "%s: its numbers have %llu bits, expected 8, 16 or 32", path,
            (unsigned long long)bits);
    product->bits = (uint32_t)bits;
    if (bits < 32) {
        TRY(parts_need_u64(rows, path, "scale_rows", &place->scale_rows));
        REQUIRE(place->scale_rows > 0 && place->scale_rows <= TERMS_MOST_SCALE_ROWS, STATUS_DATA,
                "%s: its scale_rows is %llu, expected 1 .. %d", path,
                (unsigned long long)place->scale_rows, TERMS_MOST_SCALE_ROWS);
        TRY(quantised_check(path, lines, place, beside));
    }
    return STATUS_OK;
}

/* Reads the place of the rows, and checks that the file is long enough for them. */
static status_t inspect_read_place(hid_t file, struct product *product)
{
    const struct kind *kind = kind_of(product->kind);
    const char *path = product->path;
    struct product_place *place = &product->place;
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    SCOPED(places_close) struct h5_dataset beside[PLACE_COUNT] = {{0}};
    struct stat info;
    TRY(h5_dataset_open(file, path, kind->rows, &data));
    REQUIRE(data.rank >= kind->least_dims && data.rank <= kind->most_dims, STATUS_DATA,
            "%s: its rows have %d dimensions", path, data.rank);
    TRY(inspect_read_shape(file, &data, product));
    uint64_t row_bytes = inspect_row_bytes(data.id, product);
    REQUIRE(row_bytes > 0, STATUS_DATA, "%s contains empty rows", path);
    haddr_t data_at = h5_offset(data.id);
    REQUIRE(stat(path, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    *place = (struct product_place){.rows = product->rows,
                                    .row_bytes = row_bytes,
                                    .data_offset = data_at,
                                    .file_bytes = h5_end(path, (uint64_t)info.st_size)};
    product->bits = 32;
    TRY(packed_rows_find(&data, path, &product->compression));
    int is_packed = product->compression != COMPRESSION_NONE;
    REQUIRE((data_at != HADDR_UNDEF) != is_packed, STATUS_DATA,
            "%s: its rows are not contiguous, as voltmill writes them: was it repacked?", path);
    place->data_offset = is_packed ? 0 : data_at;
    REQUIRE(is_packed || (place->file_bytes >= data_at &&
                          (place->file_bytes - data_at) / row_bytes >= product->rows),
            STATUS_DATA, "%s does not contain all of its %llu rows", path,
            (unsigned long long)product->rows);
    TRY(attributes_get(data.id, AT_IFS, product));
    TRY(places_find(file, path, place, beside));
    TRY(kind->is_archive ? STATUS_OK : inspect_need(file, path, beside, PLACE_TIME));
    TRY(inspect_check_counts(file, beside, kind->is_archive, product));
    TRY(kind->is_archive ? STATUS_OK : inspect_check_beside(beside, product));
    return product_quantity(product->kind) == QUANTITY_SPECTRA ||
                   product_quantity(product->kind) == QUANTITY_POWER
               ? quantised_inspect(data.id, beside, product)
               : STATUS_OK;
}

/* Whether an archive in the native layout is one that we made of others. */
static status_t inspect_is_voltages(hid_t file, const char *path, int *out)
{
    SCOPED(h5_close_at) hid_t object = -1;
    TRY(h5_says(file, path, "format", "voltage", out));
    if (*out) {
        object = H5Oopen(file, "provenance", H5P_DEFAULT);
        H5_TRY(object, "%s: /provenance cannot be opened", path);
        TRY(h5_says(object, path, "software", "voltmill", out));
    }
    return STATUS_OK;
}

/* Which of our products the file says it is, if any (*is_ours). Whatever else it says makes it
 * none; what cannot be read says nothing: fails with DATA, DEVICE (memory). */
static status_t inspect_read_kind(hid_t file, const char *path, enum product_kind *kind,
                                  int *is_ours)
{
    int has_provenance = 0;
    TRY(start_read_kind(file, path, kind, is_ours));
    TRY(h5_has(file, path, "provenance", &has_provenance));
    *is_ours &= has_provenance;
    if (!*is_ours && has_provenance) {
        TRY(inspect_is_voltages(file, path, is_ours));
        *kind = *is_ours ? PRODUCT_VOLTAGES : *kind;
    }
    return STATUS_OK;
}

/* With INSPECT_PLACE, only the kind and the place: all else may be large. With INSPECT_PART, also
 * of a file that is not complete. With INSPECT_KIND, only the kind. */
enum { INSPECT_ALL = 0, INSPECT_PLACE = 1, INSPECT_PART = 2, INSPECT_KIND = 4 };

static status_t inspect_read(const char *path, int wants, struct product **out)
{
    int is_place_all = wants & INSPECT_PLACE;
    SCOPED(h5_close_at) hid_t file = -1;
    SCOPED(product_destroy_at) struct product *product = NULL;
    int is_ours = 0;
    enum mark mark = MARK_NONE;
    TRY(wants & INSPECT_PART ? mark_find(path, &mark) : STATUS_OK);
    int is_part = mark != MARK_NONE && mark != MARK_EXPORT && mark != MARK_PLOT;
    TRY(is_part ? h5_file_read(path, NULL, &file) : h5_open_file(path, &file));
    TRY(memory_zeroed(1, sizeof *product, "a product", &product));
    TRY(inspect_read_kind(file, path, &product->kind, &is_ours));
    if (!is_ours || wants & INSPECT_KIND) {
        *out = is_ours ? product : NULL;
        product = is_ours ? NULL : product;
        return STATUS_OK;
    }
    TRY(memory_text(path, &product->path));
    if (!is_place_all) {
        TRY(inspect_read_root(file, product));
        TRY(inspect_read_provenance(file, product));
    }
    TRY(inspect_read_place(file, product));
    TRY(is_place_all ? STATUS_OK : kind_of(product->kind)->inspect(file, product));
    *out = memory_move(&product);
    return STATUS_OK;
}

/* Describes a product in a child process; *out is NULL if the file is none of ours. */
static status_t inspect_describe(const struct apart_request *request, void **out)
{
    struct product *product = NULL;
    status_t st = inspect_read(request->path, (int)request->wants, &product);
    *out = product;
    return st;
}

const struct description product_description = {"a product", &product_type, inspect_describe};

static status_t inspect_ask(const char *path, int wants, struct product **out)
{
    const struct apart_request request = {.path = path, .wants = (uint64_t)wants};
    void *found = NULL;
    status_t st = apart_describe(&product_description, &request, &found);
    *out = found;
    return st;
}

int product_is_ours(const char *path)
{
    SCOPED(product_destroy_at) struct product *product = NULL;
    int is_ours = mark_of(path) != MARK_NONE;
    (void)report_failed(is_ours ? STATUS_OK : inspect_ask(path, INSPECT_KIND, &product));
    return is_ours || product;
}

status_t product_open(const char *path, struct product **out)
{
    return inspect_ask(path, INSPECT_ALL, out);
}

status_t product_open_part(const char *path, struct product **out)
{
    return inspect_ask(path, INSPECT_PART, out);
}

static status_t inspect_find_place(const char *path, int wants, struct product_place *out)
{
    SCOPED(product_destroy_at) struct product *product = NULL;
    TRY(inspect_ask(path, wants | INSPECT_PLACE, &product));
    REQUIRE(product, STATUS_DATA, "%s is not a product of voltmill", path);
    *out = product->place;
    return STATUS_OK;
}

status_t product_find_place(const char *path, struct product_place *out)
{
    REQUIRE(h5_is_hdf5(path) != 0, STATUS_DATA,
            "%s is not a product of voltmill: it is not an HDF5 file", path);
    return inspect_find_place(path, INSPECT_ALL, out);
}

status_t product_find_part(const char *path, struct product_place *out)
{
    return inspect_find_place(path, INSPECT_PART, out);
}
