/* Tables of stations: keys of YAML, datasets of HDF5, or what an archive states; one check for all.
 */
#include "input/array_table.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/archive.h"
#include "io/crc.h"
#include "io/file_rights.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"
#include "job/yaml/schema.h"
#include "job/yaml/yaml_file.h"

#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_STATIONS = 65536, ARRAY_GAINS = 1 << 20 };

static const double ARRAY_DEGREE = 0.01745329251994329577;

/* A place as it is stated. */
struct array_place {
    double *itrf_m; /* [3], or 0 of them */
    uint32_t nitrf_m;
    double lon_deg, lat_deg, height_m;
    int has_lon, has_lat;
};

/* A station as it is stated. */
struct array_stated {
    char *name;
    double *itrf_m, *enu_m; /* [3], or 0 of them */
    uint32_t nitrf_m, nenu_m;
    double *delay_s; /* [ndelay_s] */
    uint32_t ndelay_s;
    int is_flagged, is_swapped;
    struct array_gain *gains;
    uint32_t ngains;
};

/* A table as a file states it; what becomes part of the table proper is moved there. */
struct array_draft {
    char *name;
    struct array_place reference;
    int has_epoch;
    struct utc epoch;
    struct array_stated *stations;
    uint32_t nstations;
};

static const struct pack_field gain_pointers[] = {PACK_FIELD(struct array_gain, pol)};
static const struct pack_type gain_type = PACK_WHOLE(struct array_gain, gain_pointers);
static const struct pack_field station_pointers[] = {
    PACK_FIELD(struct array_station, name),
    PACK_LIST(struct array_station, gains, ngains, &gain_type)};
static const struct pack_type station_type = PACK_WHOLE(struct array_station, station_pointers);
static const struct pack_field table_pointers[] = {
    PACK_FIELD(struct array_table, path), PACK_FIELD(struct array_table, name),
    PACK_LIST(struct array_table, stations, nstations, &station_type)};
const struct pack_type array_table_type = PACK_WHOLE(struct array_table, table_pointers);

void array_table_destroy(struct array_table *table)
{
    pack_destroy(table, &array_table_type);
}

/* ---- YAML ---- */

#define VECTOR(type, member, count) SCHEMA_LIST(type, member, count, 3, 3)
#define TRUE_OR_FALSE                                                                              \
    .choices = (const char *const[])                                                               \
    {                                                                                              \
        "false", "true", NULL                                                                      \
    }
#define STATION(member) SCHEMA_AT(struct array_stated, member)
#define PLACE(member) SCHEMA_AT(struct array_place, member)

static const struct schema place_rows[] = {
    {"itrf_m", SCHEMA_NUMBER, VECTOR(struct array_place, itrf_m, nitrf_m)},
    {"lon_deg", SCHEMA_NUMBER, PLACE(lon_deg), SCHEMA_GIVEN(struct array_place, has_lon, 1),
     .min = -360, .max = 360},
    {"lat_deg", SCHEMA_NUMBER, PLACE(lat_deg), SCHEMA_GIVEN(struct array_place, has_lat, 1),
     .min = -90, .max = 90},
    {"height_m", SCHEMA_NUMBER, PLACE(height_m)},
    {.key = NULL},
};

static const struct schema gain_rows[] = {
    {"pol", SCHEMA_TEXT, SCHEMA_AT(struct array_gain, pol)},
    {"freq_hz", SCHEMA_NUMBER, SCHEMA_AT(struct array_gain, freq_hz), .unit = UNITS_FREQUENCY},
    {"gain", SCHEMA_NUMBER, SCHEMA_PAIR(struct array_gain, value[0]), .is_required = 1,
     .expected = "a factor [re, im]"},
    {.key = NULL},
};

static const struct schema station_rows[] = {
    {"name", SCHEMA_TEXT, STATION(name), .is_required = 1},
    {"itrf_m", SCHEMA_NUMBER, VECTOR(struct array_stated, itrf_m, nitrf_m)},
    {"enu_m", SCHEMA_NUMBER, VECTOR(struct array_stated, enu_m, nenu_m)},
    {"delay_s", SCHEMA_NUMBER,
     SCHEMA_LIST(struct array_stated, delay_s, ndelay_s, 1, DELAY_CLOCK_TERMS)},
    {"flagged", SCHEMA_CHOICE, STATION(is_flagged), TRUE_OR_FALSE},
    {"swapped", SCHEMA_CHOICE, STATION(is_swapped), TRUE_OR_FALSE},
    {"gains", SCHEMA_MAPPING, SCHEMA_LIST(struct array_stated, gains, ngains, 1, ARRAY_GAINS),
     .members = gain_rows, .expected = "a list of gains, each with gain, freq_hz, pol"},
    {.key = NULL},
};

static const struct schema table_rows[] = {
    {"name", SCHEMA_TEXT, SCHEMA_AT(struct array_draft, name)},
    {"reference", SCHEMA_MAPPING, SCHEMA_AT(struct array_draft, reference), .members = place_rows,
     .expected = "a mapping with itrf_m, or lon_deg, lat_deg and height_m"},
    {"epoch", SCHEMA_UTC, SCHEMA_AT(struct array_draft, epoch),
     SCHEMA_GIVEN(struct array_draft, has_epoch, 1),
     .expected = "a UTC date and time such as 2020-01-01T00:00:00"},
    {"stations", SCHEMA_MAPPING,
     SCHEMA_LIST(struct array_draft, stations, nstations, 1, ARRAY_STATIONS),
     .members = station_rows, .is_required = 1,
     .expected = "a list of stations, each with name and itrf_m or enu_m"},
    {.key = NULL},
};

static status_t array_read_yaml(const char *path, struct array_draft *draft)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    struct mistakes mistakes = {.file = path};
    struct tree *root = NULL;
    TRY(text_read_file(&text, path, YAML_FILE_BYTES, "a table of stations (YAML or HDF5)"));
    TRY(yaml_file_read(text.data, text.length, NULL, 0, NULL, &mistakes, &root));
    TRY(schema_fill(root, table_rows, &mistakes, draft));
    TRY(mistakes_report(&mistakes));
out:
    tree_destroy(root);
    mistakes_free(&mistakes);
    text_free(&text);
    return st;
}

/* ---- HDF5 ---- */

/* Reads all numbers of a dataset that is [nstations], or [nstations][...]; *each of every station,
 * 0 if there is no such dataset. *out: for free(). */
static status_t array_read_numbers(hid_t file, const char *path, const char *name,
                                   uint32_t nstations, double **out, uint64_t *each)
{
    status_t st = STATUS_OK;
    struct h5_dataset dataset = {0};
    int found = 0;
    *each = 0;
    TRY(h5_has(file, path, name, &found));
    if (!found) {
        goto out;
    }
    TRY(h5_dataset_open(file, path, name, &dataset));
    TRY(h5_refuse_external(dataset.id, path, name));
    REQUIRE(dataset.rank >= 1 && dataset.dims[0] == nstations, STATUS_DATA,
            "%s: /%s has %llu rows, expected one for each of %u stations", path, name,
            dataset.rank < 1 ? 0ull : (unsigned long long)dataset.dims[0], (unsigned)nstations);
    REQUIRE(dataset.count <= ARRAY_GAINS * 2, STATUS_DATA,
            "%s: /%s has %llu numbers, expected at "
            "most %d",
            path, name, (unsigned long long)dataset.count, ARRAY_GAINS * 2);
    TRY(memory_zeroed((size_t)dataset.count, sizeof **out, "a table of stations", out));
    TRY(h5_dataset_read(&dataset, path, name, H5T_NATIVE_DOUBLE, dataset.count, *out));
    *each = nstations ? dataset.count / nstations : 0;
out:
    h5_dataset_close(&dataset);
    return st;
}

/* A copy of `count` numbers, for free(). */
static status_t array_copy(const double *from, uint64_t count, double **out, uint32_t *ncopied)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed((size_t)count, sizeof **out, "a table of stations", out));
    memcpy(*out, from, (size_t)count * sizeof **out);
    *ncopied = (uint32_t)count;
out:
    return st;
}

/* Gains [nstations][npols][nfreqs][2] (re, im), with /pols and /freq_hz beside them. */
static status_t array_read_gains(hid_t file, const char *path, struct array_draft *draft)
{
    status_t st = STATUS_OK;
    double *gains = NULL;
    double *freq_hz = NULL;
    char **pols = NULL;
    size_t npols = 0;
    size_t nfreqs = 0;
    uint64_t each = 0;
    TRY(array_read_numbers(file, path, "gains", draft->nstations, &gains, &each));
    if (each == 0) {
        goto out;
    }
    TRY(h5_read_texts(file, path, "pols", &pols, &npols));
    TRY(h5_read_f64s(file, path, "freq_hz", &freq_hz, &nfreqs));
    REQUIRE(each == (uint64_t)npols * nfreqs * 2, STATUS_DATA,
            "%s: /gains has %llu numbers for each station, expected [%zu pols][%zu freq_hz][2]",
            path, (unsigned long long)each, npols, nfreqs);
    for (uint32_t i = 0; i < draft->nstations; i++) {
        struct array_stated *station = &draft->stations[i];
        TRY(memory_zeroed((size_t)each / 2, sizeof *station->gains, "gains", &station->gains));
        for (uint64_t at = 0; at < each / 2; at++) {
            struct array_gain *gain = &station->gains[station->ngains++];
            TRY(memory_text(pols[at / nfreqs], &gain->pol));
            gain->freq_hz = freq_hz[at % nfreqs];
            memcpy(gain->value, gains + (uint64_t)i * each + 2 * at, sizeof gain->value);
        }
    }
out:
    free(gains);
    free(freq_hz);
    h5_free_texts(pols, npols);
    return st;
}

static status_t array_read_flags(hid_t file, const char *path, struct array_draft *draft)
{
    status_t st = STATUS_OK;
    double *flags[2] = {NULL, NULL};
    uint64_t each[2];
    TRY(array_read_numbers(file, path, "flagged", draft->nstations, &flags[0], &each[0]));
    TRY(array_read_numbers(file, path, "swapped", draft->nstations, &flags[1], &each[1]));
    for (uint32_t i = 0; i < draft->nstations; i++) {
        draft->stations[i].is_flagged = each[0] > 0 && flags[0][i * each[0]] != 0;
        draft->stations[i].is_swapped = each[1] > 0 && flags[1][i * each[1]] != 0;
    }
out:
    free(flags[0]);
    free(flags[1]);
    return st;
}

static status_t array_read_vectors(hid_t file, const char *path, struct array_draft *draft)
{
    status_t st = STATUS_OK;
    static const char *const names[] = {"itrf_m", "enu_m", "delay_s"};
    double *numbers[3] = {NULL, NULL, NULL};
    uint64_t each;
    for (int k = 0; k < 3; k++) {
        TRY(array_read_numbers(file, path, names[k], draft->nstations, &numbers[k], &each));
        const uint64_t most = k < 2 ? 3 : DELAY_CLOCK_TERMS;
        REQUIRE(each == 0 || each == 3 || (k == 2 && each <= most), STATUS_DATA,
                "%s: /%s has %llu numbers for each station, expected %s%llu", path, names[k],
                (unsigned long long)each, k < 2 ? "" : "at most ", (unsigned long long)most);
        for (uint32_t i = 0; i < draft->nstations && each > 0; i++) {
            struct array_stated *s = &draft->stations[i];
            double **to = k == 0 ? &s->itrf_m : k == 1 ? &s->enu_m : &s->delay_s;
            uint32_t *count = k == 0 ? &s->nitrf_m : k == 1 ? &s->nenu_m : &s->ndelay_s;
            TRY(array_copy(numbers[k] + i * each, each, to, count));
        }
    }
out:
    for (int k = 0; k < 3; k++) {
        free(numbers[k]);
    }
    return st;
}

/* Attributes of the root: name, epoch, and the reference place. */
static status_t array_read_root(hid_t file, const char *path, struct array_draft *draft)
{
    status_t st = STATUS_OK;
    struct array_place *place = &draft->reference;
    char *epoch = NULL;
    int found = 0;
    TRY(h5_find_text(file, path, "name", &draft->name, &found));
    TRY(h5_find_text(file, path, "epoch", &epoch, &draft->has_epoch));
    REQUIRE(!draft->has_epoch || units_parse_utc(epoch, &draft->epoch), STATUS_DATA,
            "%s: epoch is \"%s\", expected a UTC date and time such as 2020-01-01T00:00:00", path,
            epoch);
    TRY(h5_get_f64(file, path, "lon_deg", &place->lon_deg, &place->has_lon));
    TRY(h5_get_f64(file, path, "lat_deg", &place->lat_deg, &place->has_lat));
    TRY(h5_get_f64(file, path, "height_m", &place->height_m, &found));
    TRY(h5_has(file, path, "reference_itrf_m", &found));
    if (found) {
        double *numbers = NULL;
        size_t count = 0;
        st = h5_read_f64s(file, path, "reference_itrf_m", &numbers, &count);
        place->itrf_m = numbers;
        place->nitrf_m = (uint32_t)count;
        TRY(st);
    }
out:
    free(epoch);
    return st;
}

static status_t array_read_hdf5(const char *path, struct array_draft *draft)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    char **names = NULL;
    size_t count = 0;
    TRY(h5_open_file(path, &file));
    TRY(h5_read_texts(file, path, "names", &names, &count));
    REQUIRE(count >= 1 && count <= ARRAY_STATIONS, STATUS_DATA,
            "%s: /names has %zu stations, expected 1 to %d", path, count, (int)ARRAY_STATIONS);
    TRY(memory_zeroed(count, sizeof *draft->stations, "stations", &draft->stations));
    for (; draft->nstations < count; draft->nstations++) {
        TRY(memory_text(names[draft->nstations], &draft->stations[draft->nstations].name));
    }
    TRY(array_read_root(file, path, draft));
    TRY(array_read_vectors(file, path, draft));
    TRY(array_read_flags(file, path, draft));
    TRY(array_read_gains(file, path, draft));
out:
    h5_free_texts(names, count);
    h5_close(file);
    return st;
}

/* ---- checks ---- */

/* Checks that a position is on the Earth, or not far above. */
static int array_is_on_earth(const double itrf_m[3])
{
    const double radius_m = sqrt(itrf_m[0] * itrf_m[0] + itrf_m[1] * itrf_m[1] +
                                 itrf_m[2] * itrf_m[2]); /* NaN is on no side of a limit */
    return radius_m > 6.33e6 && radius_m < 6.5e6;
}

static status_t array_settle_reference(const char *path, const struct array_place *stated,
                                       struct earth_place *out, int *found)
{
    status_t st = STATUS_OK;
    REQUIRE(stated->nitrf_m == 0 || stated->nitrf_m == 3, STATUS_DATA,
            "%s: the reference has %u coordinates, expected 3", path, (unsigned)stated->nitrf_m);
    REQUIRE(stated->has_lon == stated->has_lat && !(stated->has_lon && stated->nitrf_m),
            STATUS_DATA, "%s: the reference has %s, expected itrf_m, or lon_deg and lat_deg", path,
            stated->nitrf_m ? "itrf_m and lon_deg" : "one of lon_deg and lat_deg");
    *found = stated->nitrf_m || stated->has_lon;
    if (stated->has_lon) {
        *out = earth_place_of_geodetic(stated->lon_deg * ARRAY_DEGREE,
                                       stated->lat_deg * ARRAY_DEGREE, stated->height_m);
    } else if (*found) {
        *out = earth_place_of_xyz(stated->itrf_m);
    }
    REQUIRE(!*found || array_is_on_earth(out->xyz_m), STATUS_DATA,
            "%s: the reference %.9g, %.9g, %.9g m (ITRF) is not on the Earth, expected 6.33e6 to "
            "6.5e6 m from its centre",
            path, out->xyz_m[0], out->xyz_m[1], out->xyz_m[2]);
out:
    return st;
}

/* Checks the gains of a station: finite, and of ascending frequency in each polarisation. */
static status_t array_check_gains(const char *path, const struct array_station *station)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < station->ngains; i++) {
        const struct array_gain *gain = &station->gains[i];
        const struct array_gain *before = i > 0 ? gain - 1 : NULL;
        REQUIRE(isfinite(gain->freq_hz) && isfinite(gain->value[0]) && isfinite(gain->value[1]),
                STATUS_DATA,
                "%s: station %s: gain %u (from 0) is %g + %gi at %g Hz, expected numbers", path,
                station->name, (unsigned)i, gain->value[0], gain->value[1], gain->freq_hz);
        int is_same = before && (before->pol && gain->pol ? strcmp(before->pol, gain->pol) == 0
                                                          : before->pol == gain->pol);
        REQUIRE(
            !is_same || gain->freq_hz > before->freq_hz, STATUS_DATA,
            "%s: station %s: gain %u (from 0) is at %.15g Hz, expected more than the %.15g Hz of "
            "the one before",
            path, station->name, (unsigned)i, gain->freq_hz, before ? before->freq_hz : 0);
    }
out:
    return st;
}

/* Moves one station into the table, and checks it. */
static status_t array_settle_station(const char *path, struct array_stated *from, uint32_t number,
                                     const struct earth_place *reference, /* NULL: none */
                                     struct array_station *to)
{
    status_t st = STATUS_OK;
    to->name = from->name;
    to->gains = from->gains;
    to->ngains = from->ngains;
    to->is_flagged = from->is_flagged;
    to->is_swapped = from->is_swapped;
    from->name = NULL;
    from->gains = NULL;
    from->ngains = 0;
    REQUIRE((from->nitrf_m == 3) != (from->nenu_m == 3), STATUS_DATA,
            "%s: station %u (from 0), %s, has %s, expected itrf_m or enu_m", path, (unsigned)number,
            to->name, from->nitrf_m ? "itrf_m and enu_m" : "no position");
    REQUIRE(
        from->nitrf_m || reference, STATUS_DATA,
        "%s: station %s is at enu_m, so the table needs a reference: itrf_m, or lon_deg, lat_deg "
        "and height_m",
        path, to->name);
    if (from->nenu_m) {
        earth_place_add_enu(reference, from->enu_m, to->itrf_m);
    } else {
        memcpy(to->itrf_m, from->itrf_m, sizeof to->itrf_m);
    }
    REQUIRE(array_is_on_earth(to->itrf_m), STATUS_DATA,
            "%s: station %s is at %.9g, %.9g, %.9g m (ITRF), not on the Earth, expected 6.33e6 to "
            "6.5e6 m from its centre (enu_m takes metres east, north, up of the reference)",
            path, to->name, to->itrf_m[0], to->itrf_m[1], to->itrf_m[2]);
    for (uint32_t i = 0; i < from->ndelay_s; i++) {
        to->clock.c[i] = from->delay_s[i];
        REQUIRE(isfinite(to->clock.c[i]) && fabs(to->clock.c[i]) < 1, STATUS_DATA,
                "%s: station %s: number %u of delay_s is %g, expected less than 1", path, to->name,
                (unsigned)i, to->clock.c[i]);
    }
    TRY(array_check_gains(path, to));
out:
    return st;
}

static int array_compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static status_t array_check_names(const struct array_table *table)
{
    status_t st = STATUS_OK;
    const char **names = NULL;
    TRY(memory_zeroed(table->nstations, sizeof *names, "names of stations", &names));
    for (uint32_t i = 0; i < table->nstations; i++) {
        names[i] = table->stations[i].name;
    }
    qsort(names, table->nstations, sizeof *names, array_compare_names);
    for (uint32_t i = 1; i < table->nstations; i++) {
        REQUIRE(strcmp(names[i - 1], names[i]) != 0, STATUS_DATA,
                "%s: two stations have the name %s, expected one", table->path, names[i]);
    }
out:
    free(names);
    return st;
}

/* Makes the table of a draft, which it takes apart. */
static status_t array_settle(const char *path, struct array_draft *draft, struct array_table **out)
{
    status_t st = STATUS_OK;
    struct array_table *table = NULL;
    int has_reference = 0;
    double mean[3] = {0};
    TRY(memory_zeroed(1, sizeof *table, "a table of stations", &table));
    TRY(memory_text(path, &table->path));
    table->name = draft->name;
    draft->name = NULL;
    table->has_epoch = draft->has_epoch;
    table->epoch = draft->epoch;
    TRY(array_settle_reference(path, &draft->reference, &table->reference, &has_reference));
    TRY(memory_zeroed(draft->nstations, sizeof *table->stations, "stations", &table->stations));
    for (; table->nstations < draft->nstations;) {
        const uint32_t i = table->nstations++;
        TRY(array_settle_station(path, &draft->stations[i], i,
                                 has_reference ? &table->reference : NULL, &table->stations[i]));
        for (int axis = 0; axis < 3; axis++) {
            mean[axis] += table->stations[i].itrf_m[axis] / draft->nstations;
        }
    }
    if (!has_reference) {
        table->reference = earth_place_of_xyz(mean);
    }
    TRY(array_check_names(table));
    *out = table;
    table = NULL;
out:
    array_table_destroy(table);
    return st;
}

static status_t array_open(const struct apart_request *request, void **out)
{
    status_t st = STATUS_OK;
    struct array_draft draft = {.name = NULL};
    struct array_table *table = NULL;
    struct identity identity; /* of no ordinary file there is none */
    apart_at("%s", request->path);
    TRY(identity_of_path(request->path, &identity));
    TRY(h5_is_hdf5(request->path) > 0 ? array_read_hdf5(request->path, &draft)
                                      : array_read_yaml(request->path, &draft));
    TRY(array_settle(request->path, &draft, &table));
    *out = table;
out:
    schema_free(table_rows, &draft);
    return st;
}

const struct description array_table_description = {"a table of stations", &array_table_type,
                                                    array_open};

status_t array_table_read(const char *path, struct array_table **out)
{
    status_t st = STATUS_OK;
    const struct apart_request request = {.path = path};
    void *found = NULL;
    TRY(apart_describe(&array_table_description, &request, &found));
    *out = found;
out:
    return st;
}

status_t array_table_of_archive(const struct archive *archive, struct array_table **out)
{
    status_t st = STATUS_OK;
    const uint64_t count = archive->count[AXIS_STATION];
    struct array_draft draft = {.name = NULL};
    *out = NULL;
    if (archive->states.nitrf_m == 0 || archive->states.nitrf_m != 3 * count) {
        goto out;
    }
    TRY(archive->sky.telescope ? memory_text(archive->sky.telescope, &draft.name) : STATUS_OK);
    if (archive->states.has_reference) {
        TRY(array_copy(archive->states.reference_m, 3, &draft.reference.itrf_m,
                       &draft.reference.nitrf_m));
    }
    TRY(memory_zeroed((size_t)count, sizeof *draft.stations, "stations", &draft.stations));
    for (; draft.nstations < count; draft.nstations++) {
        const uint32_t i = draft.nstations;
        struct array_stated *station = &draft.stations[i];
        TRY(archive->names[AXIS_STATION]
                ? memory_text(archive->names[AXIS_STATION][i], &station->name)
                : memory_format(&station->name, "%u", (unsigned)i));
        TRY(array_copy(archive->states.itrf_m + 3 * (size_t)i, 3, &station->itrf_m,
                       &station->nitrf_m));
    }
    TRY(array_settle(archive->parts[0].path, &draft, out));
out:
    schema_free(table_rows, &draft);
    return st;
}

/* ---- use ---- */

status_t array_table_identity(const struct array_table *table, uint32_t *out)
{
    status_t st = STATUS_OK;
    struct text bytes = {0};
    const struct utc epoch = table->has_epoch ? table->epoch : (struct utc){0, -1};
    TRY(text_add(&bytes, "%d %a", (int)epoch.mjd_day, epoch.second));
    for (int axis = 0; axis < 3; axis++) {
        TRY(text_add(&bytes, " %a", table->reference.xyz_m[axis]));
    }
    for (uint32_t i = 0; i < table->nstations; i++) {
        const struct array_station *s = &table->stations[i];
        TRY(text_add(&bytes, "\n%s\n%a %a %a %d %d", s->name, s->itrf_m[0], s->itrf_m[1],
                     s->itrf_m[2], s->is_flagged != 0, s->is_swapped != 0));
        for (int k = 0; k < DELAY_CLOCK_TERMS; k++) {
            TRY(text_add(&bytes, " %a", s->clock.c[k]));
        }
        for (uint32_t g = 0; g < s->ngains; g++) {
            TRY(text_add(&bytes, "\n%s %a %a %a", s->gains[g].pol ? s->gains[g].pol : "",
                         s->gains[g].freq_hz, s->gains[g].value[0], s->gains[g].value[1]));
        }
    }
    *out = crc_of(bytes.data, bytes.length);
out:
    text_free(&bytes);
    return st;
}

static status_t array_find(const struct array_table *table, const char *name, uint32_t *out)
{
    status_t st = STATUS_OK;
    struct text_guess guess = {.typed = name};
    for (uint32_t i = 0; i < table->nstations; i++) {
        if (strcmp(table->stations[i].name, name) == 0) {
            *out = i;
            goto out;
        }
        text_guess(&guess, table->stations[i].name);
    }
    FAIL(STATUS_DATA, "%s has no station %s, which the archive has%s%s%s", table->path, name,
         guess.meant ? " (did you mean " : "", guess.meant ? guess.meant : "",
         guess.meant ? "?)" : "");
out:
    return st;
}

status_t array_table_match(const struct array_table *table, const struct archive *archive,
                           uint32_t *out)
{
    status_t st = STATUS_OK;
    char *const *names = archive->names[AXIS_STATION];
    REQUIRE(names || archive->count[AXIS_STATION] == table->nstations, STATUS_DATA,
            "%s has %u stations, but the archive %llu without names, expected as many", table->path,
            (unsigned)table->nstations, (unsigned long long)archive->count[AXIS_STATION]);
    for (uint32_t i = 0; i < archive->nselected[AXIS_STATION]; i++) {
        const uint64_t station = archive->selected[AXIS_STATION][i];
        out[i] = (uint32_t)station;
        TRY(names ? array_find(table, names[station], &out[i]) : STATUS_OK);
    }
out:
    return st;
}

/* Whether a gain is of polarisation `pol` (NULL: of all). */
static int array_gain_is_of(const struct array_gain *gain, const char *pol)
{
    return pol && gain->pol ? strcmp(gain->pol, pol) == 0 : pol == gain->pol;
}

void array_gain_at(const struct array_station *station, const char *pol, double freq_hz,
                   double gain[2])
{
    const struct array_gain *low = NULL;
    const struct array_gain *high = NULL;
    gain[0] = 1;
    gain[1] = 0;
    for (int general = 0; general < 2 && !low && !high; general++) {
        for (uint32_t i = 0; i < station->ngains; i++) {
            const struct array_gain *g = &station->gains[i];
            if (array_gain_is_of(g, general ? NULL : pol)) {
                low = g->freq_hz <= freq_hz ? g : low;
                high = g->freq_hz > freq_hz && !high ? g : high;
            }
        }
    }
    if (!low && !high) {
        return;
    }
    const struct array_gain *from = low ? low : high;
    const struct array_gain *to = high ? high : low;
    const double share = from == to ? 0 : (freq_hz - from->freq_hz) / (to->freq_hz - from->freq_hz);
    for (int part = 0; part < 2; part++) {
        gain[part] = (1 - share) * from->value[part] + share * to->value[part];
    }
}

double array_table_epoch_s(const struct array_table *table, struct utc start)
{
    return table->has_epoch ? utc_difference(table->epoch, start) : 0;
}
