/* Tables of stations: keys of YAML, datasets of HDF5, or what an archive states; one check for all.
 */
#include "input/array_table.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/archive.h"
#include "input/array_job.h"
#include "io/file_rights.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"
#include "job/yaml/schema.h"
#include "job/yaml/yaml_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_STATIONS = 65536, ARRAY_GAINS = 1 << 20 };

static const double ARRAY_DEGREE = 0.01745329251994329577;

/* Copies `count` numbers; the caller frees *out. */
static status_t array_copy(const double *from, uint64_t count, double **out, uint32_t *ncopied)
{
    TRY(memory_zeroed((size_t)count, sizeof **out, "a table of stations", out));
    memcpy(*out, from, (size_t)count * sizeof **out);
    *ncopied = (uint32_t)count;
    return STATUS_OK;
}

/* Whether a gain is of polarisation `pol` (NULL: of all). */
static int array_gain_is_of(const struct array_gain *gain, const char *pol)
{
    return pol && gain->pol ? strcmp(gain->pol, pol) == 0 : pol == gain->pol;
}

static const struct pack_field gain_pointers[] = {PACK_FIELD(struct array_gain, pol)};
static const struct pack_type gain_type = PACK_WHOLE(struct array_gain, gain_pointers);
#define NUMBERS(i) PACK_LIST(struct array_station, stated[i], nstated[i], &pack_numbers)
static const struct pack_field station_pointers[] = {
    PACK_FIELD(struct array_station, name),
    PACK_LIST(struct array_station, gains, ngains, &gain_type), NUMBERS(ARRAY_ITRF),
    NUMBERS(ARRAY_ENU), NUMBERS(ARRAY_DELAY)};
static const struct pack_type station_type = PACK_WHOLE(struct array_station, station_pointers);
static const struct pack_field table_pointers[] = {
    PACK_FIELD(struct array_table, path), PACK_FIELD(struct array_table, name),
    PACK_LIST(struct array_table, stated.itrf_m, stated.nitrf_m, &pack_numbers),
    PACK_LIST(struct array_table, stations, nstations, &station_type)};
const struct pack_type array_table_type = PACK_WHOLE(struct array_table, table_pointers);

void array_table_destroy(struct array_table *table)
{
    pack_destroy(table, &array_table_type);
}

/* ---- YAML ---- */

static const char *const false_or_true[] = {"false", "true", NULL};

#define STATION(member) SCHEMA_AT(struct array_station, member)
#define STATED(i, least, most) SCHEMA_LIST(struct array_station, stated[i], nstated[i], least, most)
#define TABLE(member) SCHEMA_AT(struct array_table, member)

static const struct schema place_rows[] = {
    {"itrf_m", SCHEMA_NUMBER, SCHEMA_LIST(struct array_table, stated.itrf_m, stated.nitrf_m, 3, 3)},
    {"lon_deg", SCHEMA_NUMBER, TABLE(stated.lon_deg),
     SCHEMA_GIVEN(struct array_table, stated.has_lon, 1), .min = -360, .max = 360},
    {"lat_deg", SCHEMA_NUMBER, TABLE(stated.lat_deg),
     SCHEMA_GIVEN(struct array_table, stated.has_lat, 1), .min = -90, .max = 90},
    {"height_m", SCHEMA_NUMBER, TABLE(stated.height_m)},
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
    {"itrf_m", SCHEMA_NUMBER, STATED(ARRAY_ITRF, 3, 3)},
    {"enu_m", SCHEMA_NUMBER, STATED(ARRAY_ENU, 3, 3)},
    {"delay_s", SCHEMA_NUMBER, STATED(ARRAY_DELAY, 1, DELAY_CLOCK_TERMS)},
    {"flagged", SCHEMA_CHOICE, STATION(is_flagged), .choices = false_or_true},
    {"swapped", SCHEMA_CHOICE, STATION(is_swapped), .choices = false_or_true},
    {"gains", SCHEMA_MAPPING, SCHEMA_LIST(struct array_station, gains, ngains, 1, ARRAY_GAINS),
     .members = gain_rows, .expected = "a list of gains, each with gain, freq_hz, pol"},
    {.key = NULL},
};

static const struct schema table_rows[] = {
    {"name", SCHEMA_TEXT, TABLE(name)},
    {"reference", SCHEMA_MAPPING, .members = place_rows,
     .expected = "a mapping with itrf_m, or lon_deg, lat_deg and height_m"},
    {"epoch", SCHEMA_UTC, TABLE(epoch), SCHEMA_GIVEN(struct array_table, has_epoch, 1),
     .expected = "a UTC date and time such as 2020-01-01T00:00:00"},
    {"stations", SCHEMA_MAPPING,
     SCHEMA_LIST(struct array_table, stations, nstations, 1, ARRAY_STATIONS),
     .members = station_rows, .is_required = 1,
     .expected = "a list of stations, each with name and itrf_m or enu_m"},
    {.key = NULL},
};

static status_t array_read_yaml(const char *path, struct array_table *table)
{
    SCOPED(text_free) struct text text = {0};
    SCOPED(mistakes_free) struct mistakes mistakes = {.file = path};
    SCOPED(tree_destroy_at) struct tree *root = NULL;
    TRY(text_read_file(&text, path, YAML_FILE_BYTES, "a table of stations (YAML or HDF5)"));
    TRY(yaml_file_read(text.data, text.length, NULL, 0, NULL, &mistakes, &root));
    TRY(schema_fill(root, table_rows, &mistakes, table));
    return mistakes_report(&mistakes);
}

/* ---- HDF5 ---- */

/* Reads all numbers of a dataset [count], or [count][...]: *each of every one, 0 if there is no
 * such dataset. *out: for free(). */
static status_t array_read_numbers(hid_t file, const char *path, const char *name, uint64_t count,
                                   double **out, uint64_t *each)
{
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    int found = 0;
    *each = 0;
    TRY(h5_has(file, path, name, &found));
    if (!found) {
        return STATUS_OK;
    }
    TRY(h5_dataset_open(file, path, name, &dataset));
    TRY(h5_refuse_external(dataset.id, path, name));
    REQUIRE(dataset.rank >= 1 && dataset.dims[0] == count && dataset.count <= 2 * ARRAY_GAINS,
            STATUS_DATA, "%s: /%s has not one row for each of %llu stations", path, name,
            (unsigned long long)count);
    TRY(memory_zeroed((size_t)dataset.count, sizeof **out, "a table of stations", out));
    TRY(h5_dataset_read(&dataset, path, name, H5T_NATIVE_DOUBLE, dataset.count, *out));
    *each = dataset.count / count;
    return STATUS_OK;
}

/* Gains [nstations][npols][nfreqs][2] (re, im), with /pols and /freq_hz beside them. */
static status_t array_read_gains(hid_t file, const char *path, struct array_table *table)
{
    SCOPED(free_at) double *gains = NULL;
    SCOPED(free_at) double *freq_hz = NULL;
    SCOPED(h5_names_free) struct h5_names pols = {0};
    size_t nfreqs = 0;
    uint64_t each = 0;
    TRY(array_read_numbers(file, path, "gains", table->nstations, &gains, &each));
    if (each == 0) {
        return STATUS_OK;
    }
    TRY(h5_read_texts(file, path, "pols", &pols.names, &pols.count));
    TRY(h5_read_f64s(file, path, "freq_hz", &freq_hz, &nfreqs));
    REQUIRE(each == (uint64_t)pols.count * nfreqs * 2, STATUS_DATA,
            "%s: /gains has %llu numbers of each station, expected [%zu pols][%zu freq_hz][2]",
            path, (unsigned long long)each, pols.count, nfreqs);
    for (uint32_t i = 0; i < table->nstations; i++) {
        struct array_station *station = &table->stations[i];
        TRY(memory_zeroed((size_t)each / 2, sizeof *station->gains, "gains", &station->gains));
        for (uint64_t at = 0; at < each / 2; at++) {
            struct array_gain *gain = &station->gains[station->ngains++];
            TRY(memory_text(pols.names[at / nfreqs], &gain->pol));
            gain->freq_hz = freq_hz[at % nfreqs];
            memcpy(gain->value, gains + i * each + 2 * at, sizeof gain->value);
        }
    }
    return STATUS_OK;
}

/* Reads from HDF5 the numbers that YAML states for each station: positions, delays, flags. */
static status_t array_read_stations(hid_t file, const char *path, struct array_table *table)
{
    static const char *const names[] = {"itrf_m", "enu_m", "delay_s", "flagged", "swapped"};
    SCOPED(free_at) double *numbers = NULL;
    uint64_t each;
    for (int k = 0; k < ARRAY_NUMBERS + 2; k++) {
        TRY(array_read_numbers(file, path, names[k], table->nstations, &numbers, &each));
        REQUIRE(each <= DELAY_CLOCK_TERMS, STATUS_DATA,
                "%s: /%s has %llu numbers of each station, expected at most %d", path, names[k],
                (unsigned long long)each, (int)DELAY_CLOCK_TERMS);
        for (uint32_t i = 0; i < table->nstations && each > 0; i++) {
            struct array_station *s = &table->stations[i];
            const double *from = numbers + i * each;
            if (k < ARRAY_NUMBERS) {
                TRY(array_copy(from, each, &s->stated[k], &s->nstated[k]));
            } else {
                *(k == ARRAY_NUMBERS ? &s->is_flagged : &s->is_swapped) = *from != 0;
            }
        }
        free(memory_move(&numbers));
    }
    return array_read_gains(file, path, table);
}

/* Reads the root's attributes: name, epoch and the reference place. */
static status_t array_read_root(hid_t file, const char *path, struct array_table *table)
{
    SCOPED(free_at) char *epoch = NULL;
    uint64_t each;
    int found = 0;
    TRY(h5_find_text(file, path, "name", &table->name, &found));
    TRY(h5_find_text(file, path, "epoch", &epoch, &table->has_epoch));
    REQUIRE(!table->has_epoch || units_parse_utc(epoch, &table->epoch), STATUS_DATA,
            "%s: epoch is \"%s\", expected a UTC date and time such as 2020-01-01T00:00:00", path,
            epoch);
    TRY(h5_get_f64(file, path, "lon_deg", &table->stated.lon_deg, &table->stated.has_lon));
    TRY(h5_get_f64(file, path, "lat_deg", &table->stated.lat_deg, &table->stated.has_lat));
    TRY(h5_get_f64(file, path, "height_m", &table->stated.height_m, &found));
    TRY(array_read_numbers(file, path, "reference_itrf_m", 3, &table->stated.itrf_m, &each));
    table->stated.nitrf_m = each > 0 ? 3 : 0;
    return STATUS_OK;
}

static status_t array_read_hdf5(const char *path, struct array_table *table)
{
    SCOPED(h5_close_at) hid_t file = -1;
    SCOPED(h5_names_free) struct h5_names list = {0};
    TRY(h5_open_file(path, &file));
    TRY(h5_read_texts(file, path, "names", &list.names, &list.count));
    REQUIRE(list.count >= 1 && list.count <= ARRAY_STATIONS, STATUS_DATA,
            "%s: /names has %zu stations, expected 1 to %d", path, list.count, (int)ARRAY_STATIONS);
    TRY(memory_zeroed(list.count, sizeof *table->stations, "stations", &table->stations));
    for (; table->nstations < list.count; table->nstations++) {
        TRY(memory_text(list.names[table->nstations], &table->stations[table->nstations].name));
    }
    TRY(array_read_root(file, path, table));
    return array_read_stations(file, path, table);
}

/* ---- checks ---- */

/* Checks that a position is on the Earth, or not far above it. */
static status_t array_check_position(const char *path, const char *what, const double itrf_m[3])
{
    const double radius_m = sqrt(itrf_m[0] * itrf_m[0] + itrf_m[1] * itrf_m[1] +
                                 itrf_m[2] * itrf_m[2]); /* NaN is on no side of a limit */
    return REQUIRED(
        radius_m > 6.33e6 && radius_m < 6.5e6, STATUS_DATA,
        "%s: %s is at %.9g, %.9g, %.9g m (ITRF), not on the Earth, expected 6.33e6 to 6.5e6 m "
        "from its centre (enu_m takes metres east, north, up of the reference)",
        path, what, itrf_m[0], itrf_m[1], itrf_m[2]);
}

static status_t array_settle_reference(struct array_table *table)
{
    const double *itrf_m = table->stated.itrf_m;
    REQUIRE(table->stated.has_lon == table->stated.has_lat && !(table->stated.has_lon && itrf_m),
            STATUS_DATA, "%s: the reference has %s, expected itrf_m, or lon_deg and lat_deg",
            table->path, itrf_m ? "itrf_m and lon_deg" : "one of lon_deg and lat_deg");
    if (table->stated.has_lon) {
        table->reference =
            earth_place_of_geodetic(table->stated.lon_deg * ARRAY_DEGREE,
                                    table->stated.lat_deg * ARRAY_DEGREE, table->stated.height_m);
    } else if (itrf_m) {
        table->reference = earth_place_of_xyz(itrf_m);
    }
    return itrf_m || table->stated.has_lon
               ? array_check_position(table->path, "the reference", table->reference.xyz_m)
               : STATUS_OK;
}

/* Checks the gains of a station: finite, and of ascending frequency in each polarisation. */
static status_t array_check_gains(const char *path, const struct array_station *station)
{
    for (uint32_t i = 0; i < station->ngains; i++) {
        const struct array_gain *gain = &station->gains[i];
        const struct array_gain *before = i > 0 ? gain - 1 : gain;
        REQUIRE(isfinite(gain->freq_hz) && isfinite(gain->value[0]) && isfinite(gain->value[1]),
                STATUS_DATA, "%s: station %s: gain %u (from 0) is %g + %gi at %g Hz, not finite",
                path, station->name, (unsigned)i, gain->value[0], gain->value[1], gain->freq_hz);
        REQUIRE(i == 0 || !array_gain_is_of(before, gain->pol) || gain->freq_hz > before->freq_hz,
                STATUS_DATA,
                "%s: station %s: gain %u (from 0) is at %.15g Hz, expected more than "
                "the %.15g Hz of the one before",
                path, station->name, (unsigned)i, gain->freq_hz, before->freq_hz);
    }
    return STATUS_OK;
}

static status_t array_settle_station(const struct array_table *table, struct array_station *s)
{
    const char *path = table->path;
    const int has_reference = table->stated.itrf_m || table->stated.has_lon;
    const uint32_t *n = s->nstated;
    REQUIRE(n[ARRAY_ITRF] + n[ARRAY_ENU] == 3, STATUS_DATA,
            "%s: station %s has %u numbers of itrf_m and %u of enu_m, expected 3 of one of them",
            path, s->name, (unsigned)n[ARRAY_ITRF], (unsigned)n[ARRAY_ENU]);
    REQUIRE(n[ARRAY_ITRF] || has_reference, STATUS_DATA,
            "%s: station %s is at enu_m, so the table needs a reference", path, s->name);
    if (n[ARRAY_ENU]) {
        earth_place_add_enu(&table->reference, s->stated[ARRAY_ENU], s->itrf_m);
    } else {
        memcpy(s->itrf_m, s->stated[ARRAY_ITRF], sizeof s->itrf_m);
    }
    TRY(array_check_position(path, s->name, s->itrf_m));
    for (uint32_t i = 0; i < n[ARRAY_DELAY]; i++) {
        s->clock.c[i] = s->stated[ARRAY_DELAY][i];
        REQUIRE(fabs(s->clock.c[i]) < 1, STATUS_DATA,
                "%s: station %s: number %u of delay_s is %g, expected less than 1", path, s->name,
                (unsigned)i, s->clock.c[i]);
    }
    return array_check_gains(path, s);
}

static int array_compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static status_t array_check_names(const struct array_table *table)
{
    SCOPED(free_at) const char **names = NULL;
    TRY(memory_zeroed(table->nstations, sizeof *names, "names of stations", &names));
    for (uint32_t i = 0; i < table->nstations; i++) {
        names[i] = table->stations[i].name;
    }
    qsort(names, table->nstations, sizeof *names, array_compare_names);
    for (uint32_t i = 1; i < table->nstations; i++) {
        REQUIRE(strcmp(names[i - 1], names[i]) != 0, STATUS_DATA,
                "%s: two stations have the name %s, expected one", table->path, names[i]);
    }
    return STATUS_OK;
}

/* Checks what a table states, and makes positions and clocks of it. */
static status_t array_settle(struct array_table *table)
{
    double mean[3] = {0};
    TRY(array_settle_reference(table));
    for (uint32_t i = 0; i < table->nstations; i++) {
        struct array_station *station = &table->stations[i];
        TRY(array_settle_station(table, station));
        for (int k = 0; k < 3; k++) {
            mean[k] += station->itrf_m[k] / table->nstations;
            free(memory_move(&station->stated[k]));
            station->nstated[k] = 0;
        }
    }
    if (!table->stated.itrf_m && !table->stated.has_lon) {
        table->reference = earth_place_of_xyz(mean);
    }
    return array_check_names(table);
}

static status_t array_open(const struct apart_request *request, void **out)
{
    struct identity identity; /* of no ordinary file there is none */
    apart_at("%s", request->path);
    TRY(identity_of_path(request->path, &identity));
    TRY(memory_zeroed(1, sizeof(struct array_table), "a table of stations", out));
    struct array_table *table = *out;
    TRY(h5_is_hdf5(request->path) > 0 ? array_read_hdf5(request->path, table)
                                      : array_read_yaml(request->path, table));
    TRY(memory_text(request->path, &table->path));
    return array_settle(table);
}

const struct description array_table_description = {"a table of stations", &array_table_type,
                                                    array_open};

status_t array_table_read(const char *path, struct array_table **out)
{
    return apart_describe(&array_table_description, &(struct apart_request){.path = path}, out);
}

status_t array_table_of_archive(const struct archive *archive, int may_be_nowhere,
                                struct array_table **out)
{
    static const double nowhere[3] = {0, 0, 0};
    const uint64_t count = archive->count[AXIS_STATION];
    const int has_places = archive->states.nitrf_m == 3 * count;
    if (!has_places && !may_be_nowhere) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof **out, "a table of stations", out));
    struct array_table *table = *out;
    table->is_nowhere = !has_places;
    table->stated.has_lon = table->stated.has_lat = !has_places;
    TRY(memory_text(archive->parts[0].path, &table->path));
    TRY(memory_text(archive->sky.telescope, &table->name));
    if (has_places && archive->states.has_reference) {
        TRY(array_copy(archive->states.reference_m, 3, &table->stated.itrf_m,
                       &table->stated.nitrf_m));
    }
    TRY(memory_zeroed((size_t)count, sizeof *table->stations, "stations", &table->stations));
    for (; table->nstations < count; table->nstations++) {
        const uint32_t i = table->nstations;
        struct array_station *s = &table->stations[i];
        char *const *names = archive->names[AXIS_STATION];
        TRY(names ? memory_text(names[i], &s->name) : memory_format(&s->name, "%u", (unsigned)i));
        const int as = has_places ? ARRAY_ITRF : ARRAY_ENU;
        TRY(array_copy(has_places ? archive->states.itrf_m + 3 * (size_t)i : nowhere, 3,
                       &s->stated[as], &s->nstated[as]));
    }
    return array_settle(table);
}

/* ---- use ---- */

static status_t array_find(const struct array_table *table, const char *name, uint32_t *out)
{
    struct text_guess guess = {.typed = name};
    for (uint32_t i = 0; i < table->nstations; i++) {
        if (strcmp(table->stations[i].name, name) == 0) {
            *out = i;
            return STATUS_OK;
        }
        text_guess(&guess, table->stations[i].name);
    }
    return report_fail(STATUS_DATA, "%s has no station %s, which the archive has%s%s%s",
                       table->path, name, guess.meant ? " (did you mean " : "",
                       guess.meant ? guess.meant : "", guess.meant ? "?)" : "");
}

status_t array_table_match(const struct array_table *table, const struct archive *archive,
                           uint32_t *out)
{
    char *const *names = archive->names[AXIS_STATION];
    REQUIRE(names || archive->count[AXIS_STATION] == table->nstations, STATUS_DATA,
            "%s has %u stations, but the archive %llu without names, expected as many", table->path,
            (unsigned)table->nstations, (unsigned long long)archive->count[AXIS_STATION]);
    for (uint32_t i = 0; i < archive->nselected[AXIS_STATION]; i++) {
        const uint64_t station = archive->selected[AXIS_STATION][i];
        out[i] = (uint32_t)station;
        TRY(names ? array_find(table, names[station], &out[i]) : STATUS_OK);
    }
    return STATUS_OK;
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

status_t array_table_delays(const struct array_table *table, const struct array_aim *aim,
                            const struct calc_table *calc, const uint32_t *sources,
                            delay_model_t **out)
{
    SCOPED(free_at) double(*offset_m)[3] = NULL;
    SCOPED(free_at) struct delay_clock *clocks = NULL;
    SCOPED(free_at) uint32_t *columns = NULL;
    TRY(memory_zeroed(aim->nstations, sizeof *offset_m, "positions of stations", &offset_m));
    TRY(memory_zeroed(aim->nstations, sizeof *clocks, "clocks of stations", &clocks));
    TRY(memory_zeroed(aim->nstations, sizeof *columns, "stations", &columns));
    for (uint32_t i = 0; i < aim->nstations; i++) {
        const struct array_station *s = &table->stations[aim->stations ? aim->stations[i] : i];
        clocks[i] = s->clock;
        for (int k = 0; k < 3; k++) {
            offset_m[i][k] = s->itrf_m[k] - table->reference.xyz_m[k];
        }
        while (calc && columns[i] < calc->table.nstations &&
               strcmp(calc->stations[columns[i]], s->name) != 0) {
            columns[i]++;
        }
        REQUIRE(!calc || columns[i] < calc->table.nstations, STATUS_DATA,
                "the table of delays has no telescope %s, which %s has", s->name, table->path);
    }
    const struct delay_spec spec = {
        .observer = {table->reference, aim->earth, aim->has_diurnal},
        .offset_m = (const double(*)[3])offset_m,
        .clocks = clocks,
        .nstations = aim->nstations,
        .directions = aim->directions,
        .ndirections = aim->ndirections,
        .start = aim->start,
        .epoch_s = table->has_epoch ? utc_difference(table->epoch, aim->start) : 0,
        .from_s = aim->from_s,
        .to_s = aim->to_s};
    return calc ? delay_model_create_table(&spec, &calc->table, columns, sources, out)
                : delay_model_create(&spec, out);
}
