/* Files that `array` of a job names: delays of CALC, weights of beams; read, packed, unpacked. */
#include "input/array_job.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28, MOST_ORDER = 15, MOST_NAMES = 65536, MOST_DELAYS = 1 << 26 };

/* Files .im of DiFX: lines "KEY: VALUE". Keys of all scans come first, then scan by scan the
 * polynomials, for each interval by source and station. */

static const struct pack_field calc_pointers[] = {
    PACK_COUNTED(struct calc_table, stations, table.nstations, &pack_texts),
    PACK_COUNTED(struct calc_table, directions, table.ndirections, &pack_texts),
    PACK_LIST(struct calc_table, table.delay_s, ndelays, &pack_numbers)};
static const struct pack_type calc_table_type = PACK_WHOLE(struct calc_table, calc_pointers);

void calc_table_destroy(struct calc_table *calc)
{
    pack_destroy(calc, &calc_table_type);
}

/* Makes a list of `count` names longer, so that it has place `at`. */
static status_t calc_put_name(char ***names, uint32_t *count, uint64_t at, const char *name)
{
    if (at < MOST_NAMES && at >= *count) {
        TRY(memory_grown(at + 1, sizeof **names, "names", names));
        memset(*names + *count, 0, (at + 1 - *count) * sizeof **names);
        *count = (uint32_t)at + 1;
    }
    if (at < MOST_NAMES && !(*names)[at]) {
        TRY(memory_text(name + strspn(name, " "), &(*names)[at]));
    }
    return STATUS_OK;
}

/* Begins the polynomials of a scan. */
static status_t calc_begin(const char *path, struct calc_table *calc, unsigned npolys)
{
    struct delay_table *t = &calc->table;
    const double count = (double)t->ndirections * t->nstations * npolys * t->terms;
    REQUIRE(count > 0 && count <= MOST_DELAYS && t->interval_s > 0, STATUS_DATA,
            "%s: %u sources, %u telescopes, %u polynomials of %u terms every %g s, expected at "
            "least one of each",
            path, (unsigned)t->ndirections, (unsigned)t->nstations, npolys, (unsigned)t->terms,
            t->interval_s);
    t->nintervals = npolys;
    calc->ndelays = (uint64_t)count;
    TRY(memory_zeroed((size_t)count, sizeof(double), "delays", &t->delay_s));
    for (uint64_t i = 0; i < calc->ndelays; i++) {
        t->delay_s[i] = NAN;
    }
    return STATUS_OK;
}

/* The state of reading: the last interval, and its beginning. */
struct calc_place {
    unsigned poly;
    struct utc at;
};

/* Reads the polynomial of a source and station, in microseconds. */
static void calc_take(struct calc_table *calc, unsigned poly, unsigned source, unsigned station,
                      const char *text)
{
    const struct delay_table *t = &calc->table;
    if (poly >= t->nintervals || source >= t->ndirections || station >= t->nstations) {
        return;
    }
    double *to =
        t->delay_s + (((size_t)source * t->nstations + station) * t->nintervals + poly) * t->terms;
    for (uint32_t k = 0; k < t->terms; k++) {
        char *end;
        const double value = strtod(text, &end);
        to[k] = end > text ? -1e-6 * value : NAN;
        text = end;
    }
}

/* Reads a line of the header, or of a scan before its polynomials: it sizes these. */
static status_t calc_read_size(const char *path, const char *line, struct calc_table *calc)
{
    struct delay_table *t = &calc->table;
    unsigned i;
    int at = 0;
    if (sscanf(line, "POLYNOMIAL ORDER: %u", &i) == 1 && i <= MOST_ORDER) {
        t->terms = i + 1;
    } else if (sscanf(line, "INTERVAL (SECS): %u", &i) == 1) {
        t->interval_s = i;
    } else if (sscanf(line, "TELESCOPE %u NAME:%n", &i, &at) == 1 && at) {
        TRY(calc_put_name(&calc->stations, &t->nstations, i, line + at));
    } else if (sscanf(line, "SCAN %*u POINTING SRC:%n", &at) == 0 && at) {
        TRY(calc_put_name(&calc->directions, &t->ndirections, 0, line + at));
    } else if (sscanf(line, "SCAN %*u PHS CTR %u SRC:%n", &i, &at) == 1 && at) {
        TRY(calc_put_name(&calc->directions, &t->ndirections, i + UINT64_C(1), line + at));
    } else if (sscanf(line, "SCAN %*u NUM POLY: %u", &i) == 1) {
        TRY(calc_begin(path, calc, i));
    }
    return STATUS_OK;
}

/* Reads a line of polynomials. */
static status_t calc_read_delay(const char *path, const char *line, struct calc_table *calc,
                                struct calc_place *place)
{
    struct delay_table *t = &calc->table;
    unsigned i;
    unsigned j;
    int at = 0;
    if (sscanf(line, "SCAN %*u POLY %u MJD: %u", &place->poly, &j) == 2) {
        place->at.mjd_day = (int32_t)(j % 1000000);
    } else if (sscanf(line, "SCAN %*u POLY %u SEC: %u", &place->poly, &j) == 2) {
        place->at.second = j;
        t->first = place->poly == 0 ? place->at : t->first;
        const double after_s = utc_difference(place->at, t->first);
        REQUIRE(after_s == place->poly * t->interval_s, STATUS_DATA,
                "%s: polynomial %u of a scan begins %g s after its first, expected %g s", path,
                place->poly, after_s, place->poly * t->interval_s);
    } else if (sscanf(line, "SRC %u ANT %u DELAY (us):%n", &i, &j, &at) == 2 && at) {
        calc_take(calc, place->poly, i, j, line + at);
    }
    return STATUS_OK;
}

/* Whether what was read is a scan that contains the moment. */
static int calc_contains(const struct calc_table *calc, struct utc utc)
{
    const double after_s = utc_difference(utc, calc->table.first);
    return calc->table.delay_s && after_s >= 0 &&
           after_s < calc->table.nintervals * calc->table.interval_s;
}

/* Forgets the scan, for the next one. */
static void calc_end_scan(struct calc_table *calc)
{
    text_free_list(calc->directions, calc->table.ndirections);
    free(calc->table.delay_s);
    calc->directions = NULL;
    calc->table.delay_s = NULL;
    calc->table.ndirections = 0;
    calc->ndelays = 0;
}

static status_t calc_check(const char *path, const struct calc_table *calc, struct utc utc)
{
    REQUIRE(calc_contains(calc, utc), STATUS_DATA,
            "%s has no scan with polynomials at %s, expected a file .im of difxcalc or calcif2",
            path, units_utc(utc));
    for (uint32_t i = 0; i < calc->table.nstations + calc->table.ndirections; i++) {
        REQUIRE(i < calc->table.nstations ? calc->stations[i]
                                          : calc->directions[i - calc->table.nstations],
                STATUS_DATA, "%s: names of telescopes or sources are missing", path);
    }
    for (uint64_t i = 0; i < calc->ndelays; i++) {
        const uint64_t row = i / calc->table.terms / calc->table.nintervals;
        REQUIRE(isfinite(calc->table.delay_s[i]), STATUS_DATA,
                "%s: polynomial %u of source %u, telescope %u is missing or has no %u numbers",
                path, (unsigned)(i / calc->table.terms % calc->table.nintervals),
                (unsigned)(row / calc->table.nstations), (unsigned)(row % calc->table.nstations),
                (unsigned)calc->table.terms);
    }
    return STATUS_OK;
}

status_t calc_table_read(const char *path, struct utc utc, struct calc_table **out)
{
    SCOPED(text_free) struct text text = {0};
    struct calc_place place = {0};
    char *rest = NULL;
    TRY(memory_zeroed(1, sizeof **out, "a table of delays", out));
    struct calc_table *calc = *out;
    TRY(text_read_file(&text, path, MOST_BYTES, "a table of delays (.im)"));
    for (char *line = text.data ? strtok_r(text.data, "\r\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        if (strncmp(line, "SCAN ", 5) == 0 && strstr(line, "POINTING SRC:")) {
            if (calc_contains(calc, utc)) {
                break;
            }
            calc_end_scan(calc);
        }
        TRY(calc->table.delay_s ? calc_read_delay(path, line, calc, &place)
                                : calc_read_size(path, line, calc));
    }
    return calc_check(path, calc, utc);
}

/* Recipes of weights of beams: /diminfo/nants, npol, nchan, nbeams, ntimes; /calinfo/cal_all
 * complex [nchan][npol][nants]; /obsinfo/freq_array GHz [nchan]; /beaminfo/ras, decs rad [nbeams],
 * src_names; /telinfo/antenna_names; /delayinfo/delays ns [ntimes][nbeams][nants], time_array s
 * after 1970. A delay is (w of the beam - w of the phase centre) / c of the antenna, so the wave is
 * early by it, relative to the centre that the telescope has tracked. */

enum { MOST_WEIGHTS = 1 << 29, DAY = 86400 };

static const struct pack_field beam_pointers[] = {
    PACK_FIELD(struct beam_file, path),
    PACK_LIST(struct beam_file, weights, nweights, &pack_numbers),
    PACK_LIST(struct beam_file, freq_hz, nfreq_hz, &pack_numbers),
    PACK_LIST(struct beam_file, directions, ndirections, &pack_numbers),
    PACK_LIST(struct beam_file, names, nnames, &pack_texts),
    PACK_LIST(struct beam_file, stations, nnamed, &pack_texts),
    PACK_LIST(struct beam_file, calc, ncalc, &calc_table_type)};
static const struct pack_type beam_file_type = PACK_WHOLE(struct beam_file, beam_pointers);

static void beam_file_destroy(struct beam_file *file)
{
    pack_destroy(file, &beam_file_type);
}
SCOPED_END(beam_file_destroy, struct beam_file *)

/* Reads all numbers of a dataset whose count must be that of `dims`; complex ones are compounds of
 * two numbers, or have a last dimension of 2. */
static status_t beam_read(hid_t file, const char *path, const char *name, int is_complex, int rank,
                          const uint64_t *dims, double **out)
{
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    SCOPED(h5_close_at) hid_t pair = -1;
    uint64_t count = 1;
    TRY(h5_dataset_open(file, path, name, &dataset));
    TRY(h5_refuse_external(dataset.id, path, name));
    const int is_pair = is_complex && H5Tget_class(dataset.type) == H5T_COMPOUND;
    int is_right = dataset.rank == rank + (is_complex && !is_pair) &&
                   (!is_complex || is_pair || dataset.dims[dataset.rank - 1] == 2);
    for (int i = 0; i < rank; i++) {
        is_right = is_right && dataset.dims[i] == dims[i] && dims[i] <= MOST_WEIGHTS / count;
        count *= is_right ? dims[i] : 1;
    }
    REQUIRE(is_right, STATUS_DATA,
            "%s: %s has another shape than expected: %d dimensions%s, the first %llu, at most 2^29 "
            "numbers",
            path, name, rank, is_complex ? " of complex numbers" : "",
            (unsigned long long)(rank > 0 ? dims[0] : 1));
    TRY(is_pair ? h5_pair_type(dataset.type, H5T_NATIVE_DOUBLE, path, &pair) : STATUS_OK);
    TRY(memory_zeroed((size_t)count, (is_complex ? 2 : 1) * sizeof **out, "weights", out));
    TRY(h5_dataset_read(&dataset, path, name, is_pair ? pair : H5T_NATIVE_DOUBLE, dataset.count,
                        *out));
    for (uint64_t i = 0; i < count * (is_complex ? 2 : 1); i++) {
        REQUIRE(isfinite((*out)[i]), STATUS_DATA, "%s: %s: number %llu (from 0) is not finite",
                path, name, (unsigned long long)i);
    }
    return STATUS_OK;
}

/* Reads texts or ascending frequencies that may be there. */
static status_t beam_read_names(hid_t file, const char *path, const char *name, uint32_t expected,
                                char ***out, uint32_t *count)
{
    size_t found = 0;
    int is_there = 0;
    TRY(h5_has(file, path, name, &is_there));
    if (is_there) {
        TRY(h5_read_texts(file, path, name, out, &found));
        *count = (uint32_t)found;
        REQUIRE(found == expected, STATUS_DATA, "%s: %s has %zu names, expected %u", path, name,
                found, expected);
    }
    return STATUS_OK;
}

static status_t beam_read_frequencies(hid_t file, const char *name, double unit,
                                      struct beam_file *out)
{
    const uint64_t dims[1] = {out->nfreqs};
    int is_there = 0;
    TRY(h5_has(file, out->path, name, &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(beam_read(file, out->path, name, 0, 1, dims, &out->freq_hz));
    out->nfreq_hz = out->nfreqs;
    for (uint32_t i = 0; i < out->nfreqs; i++) {
        out->freq_hz[i] *= unit;
        REQUIRE(i == 0 || out->freq_hz[i] > out->freq_hz[i - 1], STATUS_DATA,
                "%s: %s: number %u (from 0) is not above the one before, expected ascending "
                "frequencies",
                out->path, name, i);
    }
    return STATUS_OK;
}

static status_t beam_read_weights(hid_t file, struct beam_file *out)
{
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    uint64_t dims[4] = {0};
    TRY(h5_dataset_open(file, out->path, "weights", &dataset));
    for (int i = 0; i < 4; i++) {
        dims[i] = i < dataset.rank ? dataset.dims[i] : 0;
        REQUIRE(dims[i] >= 1 && dims[i] <= MOST_WEIGHTS, STATUS_DATA,
                "%s: /weights: expected complex [beam][station][pol][channel]", out->path);
    }
    out->nbeams = out->sets = (uint32_t)dims[0];
    out->nstations = (uint32_t)dims[1];
    out->npols = (uint32_t)dims[2];
    out->nfreqs = (uint32_t)dims[3];
    TRY(beam_read(file, out->path, "weights", 1, 4, dims, &out->weights));
    out->nweights = 2 * dims[0] * dims[1] * dims[2] * dims[3];
    TRY(beam_read_frequencies(file, "freq_hz", 1, out));
    TRY(beam_read_names(file, out->path, "beams", out->nbeams, &out->names, &out->nnames));
    return beam_read_names(file, out->path, "stations", out->nstations, &out->stations,
                           &out->nnamed);
}

/* Delays of a recipe as lines from one of its times to the next. The outermost lines go on, so that
 * observations begin and end half a block beyond the times. */
static status_t beam_make_lines(const struct beam_file *file, uint32_t ntimes, const double *times,
                                const double *delays, struct calc_table *calc)
{
    struct delay_table *t = &calc->table;
    const uint32_t lines = file->nbeams * file->nstations;
    const double step = ntimes > 1 ? (times[ntimes - 1] - times[0]) / (ntimes - 1) : DAY;
    for (uint32_t i = 1; i < ntimes; i++) {
        REQUIRE(fabs(times[i] - times[i - 1] - step) <= 1e-3 * step && step > 0, STATUS_DATA,
                "%s: /delayinfo/time_array: time %u is %.9g s after the one before, expected %.9g "
                "as on average",
                file->path, i, times[i] - times[i - 1], step);
    }
    t->first = utc_of_unix(times[0] - step);
    t->ndirections = file->nbeams;
    t->nstations = calc->table.nstations = file->nstations;
    t->nintervals = ntimes + 1;
    t->terms = 2;
    t->interval_s = step;
    calc->ndelays = (uint64_t)lines * t->nintervals * t->terms;
    TRY(memory_zeroed((size_t)calc->ndelays, sizeof(double), "delays", &t->delay_s));
    for (uint32_t line = 0; line < lines; line++) {
        for (uint32_t i = 0; i < t->nintervals; i++) {
            const uint32_t from = i > 0 ? (i < ntimes ? i - 1 : (ntimes > 1 ? ntimes - 2 : 0)) : 0;
            const uint32_t to = ntimes > 1 ? from + 1 : from;
            const double low = -1e-9 * delays[(uint64_t)from * lines + line];
            const double rate = (-1e-9 * delays[(uint64_t)to * lines + line] - low) / step;
            double *c = t->delay_s + ((uint64_t)line * t->nintervals + i) * t->terms;
            c[0] = low + rate * ((double)i - 1 - from) * step;
            c[1] = rate;
        }
    }
    return STATUS_OK;
}

static status_t beam_read_delays(hid_t file, uint32_t ntimes, struct beam_file *out)
{
    const uint64_t dims[3] = {ntimes, out->nbeams, out->nstations};
    SCOPED(free_at) double *times = NULL;
    SCOPED(free_at) double *delays = NULL;
    TRY(beam_read(file, out->path, "delayinfo/time_array", 0, 1, dims, &times));
    TRY(beam_read(file, out->path, "delayinfo/delays", 0, 3, dims, &delays));
    TRY(memory_zeroed(1, sizeof *out->calc, "delays", &out->calc));
    out->ncalc = 1;
    TRY(beam_make_lines(out, ntimes, times, delays, out->calc));
    TRY(memory_zeroed(out->nstations, sizeof(char *), "names", &out->calc->stations));
    for (uint32_t i = 0; i < out->nstations; i++) {
        TRY(memory_text(out->stations[i], &out->calc->stations[i]));
    }
    return memory_zeroed(out->nbeams, sizeof(char *), "names", &out->calc->directions);
}

static status_t beam_read_recipe(hid_t file, struct beam_file *out)
{
    static const char *const names[] = {"diminfo/nants", "diminfo/npol", "diminfo/nchan",
                                        "diminfo/nbeams", "diminfo/ntimes"};
    static const char *const angles[] = {"beaminfo/ras", "beaminfo/decs"};
    static const double deg_per_rad = 180 / 3.14159265358979323846;
    uint32_t n[5];
    SCOPED(free_at) double *number = NULL;
    for (int i = 0; i < 5; i++) {
        TRY(beam_read(file, out->path, names[i], 0, 0, NULL, &number));
        REQUIRE(*number >= 1 && *number <= 1 << 24 && *number == floor(*number), STATUS_DATA,
                "%s: /%s is %g, expected a count", out->path, names[i], *number);
        n[i] = (uint32_t)*number;
        free(memory_move(&number));
    }
    out->nstations = n[0];
    out->npols = n[1];
    out->nfreqs = n[2];
    out->nbeams = n[3];
    out->sets = 1;
    const uint64_t dims[3] = {n[2], n[1], n[0]};
    TRY(beam_read(file, out->path, "calinfo/cal_all", 1, 3, dims, &number));
    out->nweights = 2 * dims[0] * dims[1] * dims[2];
    TRY(memory_zeroed((size_t)out->nweights, sizeof(double), "weights", &out->weights));
    for (uint64_t i = 0; i < out->nweights / 2; i++) { /* to [station][pol][freq] */
        const uint64_t line = i % n[0] * n[1] + i / n[0] % n[1];
        memcpy(out->weights + 2 * (line * n[2] + i / n[0] / n[1]), number + 2 * i,
               2 * sizeof *number);
    }
    TRY(beam_read_frequencies(file, "obsinfo/freq_array", 1e9, out));
    TRY(beam_read_names(file, out->path, "beaminfo/src_names", n[3], &out->names, &out->nnames));
    TRY(beam_read_names(file, out->path, "telinfo/antenna_names", n[0], &out->stations,
                        &out->nnamed));
    REQUIRE(out->nnamed > 0, STATUS_DATA, "%s: there is no /telinfo/antenna_names", out->path);
    TRY(memory_zeroed(n[3], 2 * sizeof(double), "directions", &out->directions));
    out->ndirections = 2 * (uint64_t)n[3];
    for (int i = 0; i < 2; i++) {
        const uint64_t beams[1] = {n[3]};
        free(memory_move(&number));
        TRY(beam_read(file, out->path, angles[i], 0, 1, beams, &number));
        for (uint32_t k = 0; k < n[3]; k++) {
            out->directions[(size_t)i * n[3] + k] = number[k] * deg_per_rad;
        }
    }
    return beam_read_delays(file, n[4], out);
}

static status_t beam_open(const struct apart_request *request, void **out)
{
    SCOPED(h5_close_at) hid_t file = -1;
    int is_recipe = 0;
    int has_weights = 0;
    apart_at("%s", request->path);
    TRY(h5_open_file(request->path, &file));
    TRY(memory_zeroed(1, sizeof(struct beam_file), "weights of beams", out));
    struct beam_file *made = *out;
    TRY(memory_text(request->path, &made->path));
    TRY(h5_has(file, request->path, "diminfo", &is_recipe));
    TRY(h5_has(file, request->path, "weights", &has_weights));
    REQUIRE(is_recipe != has_weights, STATUS_DATA,
            "%s has %s, expected /weights, complex [beam][station][pol][channel], or the groups of "
            "a bfr5 file (/diminfo, /calinfo, ...)",
            request->path, is_recipe ? "both /weights and /diminfo" : "neither");
    TRY(is_recipe ? beam_read_recipe(file, made) : beam_read_weights(file, made));
    return REQUIRED(made->nbeams <= JOB_BEAMS, STATUS_DATA, "%s: %u beams, expected at most %d",
                    request->path, made->nbeams, (int)JOB_BEAMS);
}

const struct description beam_file_description = {"weights of beams", &beam_file_type, beam_open};

/* Gives the job the beams of the file: their names and directions; of a job with `beams` none.
 * Fails with USAGE: as many as the file has are expected, and of a recipe none. */
static status_t beam_file_fill(const struct beam_file *file, struct job *job)
{
    REQUIRE(job->nbeams == 0 || (job->nbeams == file->nbeams && file->ncalc == 0), STATUS_USAGE,
            "%s: beam_weights: %s has %u beams%s, and `beams` %u: expected %s", job->path,
            file->path, file->nbeams, file->ncalc ? " with their directions" : "", job->nbeams,
            file->ncalc ? "no `beams`" : "as many, or no `beams`");
    REQUIRE(file->ncalc == 0 || (job->array.centre.kind == DIRECTION_NONE && !job->array.delays),
            STATUS_USAGE,
            "%s: array.centre and array.delays: the delays of %s count from the centre that the "
            "telescope has tracked, expected neither",
            job->path, file->path);
    if (job->nbeams > 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(file->nbeams, sizeof *job->beams, "beams", &job->beams));
    for (; job->nbeams < file->nbeams; job->nbeams++) {
        struct job_direction *beam = &job->beams[job->nbeams];
        TRY(file->nnames ? memory_text(file->names[job->nbeams], &beam->name) : STATUS_OK);
        if (file->ndirections > 0) {
            beam->kind = DIRECTION_RADEC;
            beam->lon_deg = file->directions[job->nbeams];
            beam->lat_deg = file->directions[file->nbeams + job->nbeams];
        }
    }
    return STATUS_OK;
}

static const double rad_per_arcsec = 3.14159265358979323846 / 180 / 3600;

/* Reads UT1 - UTC and polar motion at the observation's first sample from the IERS file. */
static status_t array_job_read_iers(struct job *job, const struct archive *archive)
{
    struct job_array *array = &job->array;
    SCOPED(text_free) struct text text = {0};
    SCOPED(free_at) char *line = NULL;
    struct earth earth;
    SCOPED(text_close_at) FILE *file = NULL;
    size_t room = 0;
    REQUIRE(archive->sky.has_start, STATUS_USAGE,
            "%s: array.iers: the archive does not say when it starts (input.layout.start sets it)",
            job->path);
    TRY(text_open(array->iers, "the IERS file ", 0, &file));
    while (getline(&line, &room, file) >= 0) {
        TRY(text_add(&text, "%s", line));
    }
    REQUIRE(!ferror(file), STATUS_DATA, "cannot read %s: %s", array->iers, strerror(errno));
    TRY(earth_find(array->iers, text.data ? text.data : "", text.length, archive->sky.start,
                   &earth));
    array->ut1_utc_s = array->has_ut1_utc ? array->ut1_utc_s : earth.ut1_utc_s;
    if (!array->has_polar_motion) {
        array->polar_motion[0] = earth.polar_x_rad / rad_per_arcsec;
        array->polar_motion[1] = earth.polar_y_rad / rad_per_arcsec;
    }
    array->has_ut1_utc = array->has_polar_motion = 1;
    return STATUS_OK;
}

/* Directions on the sky depend on how the Earth is turned. */
static status_t array_job_assume(const struct job *job, const struct array_table *table,
                                 struct archive *archive)
{
    static const char words[] = "array.ut1_utc";
    double longest = 0;
    int is_needed = job->array.centre.kind == DIRECTION_RADEC;
    for (uint32_t i = 0; i < job->nbeams; i++) {
        is_needed |= job->beams[i].kind == DIRECTION_RADEC;
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        is_needed |= job->products[i].centre.kind == DIRECTION_RADEC;
    }
    if (!is_needed || job->array.iers || (job->array.has_ut1_utc && job->array.has_polar_motion) ||
        (archive->assumed && strstr(archive->assumed, words))) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < table->nstations; i++) {
        const double *at = table->stations[i].itrf_m;
        const double *from = table->reference.xyz_m;
        longest = fmax(longest, hypot(hypot(at[0] - from[0], at[1] - from[1]), at[2] - from[2]));
    }
    return assume(&archive->assumed,
                  "%s%s 0: delays may be wrong by %.2g ns (array.iers names a file that says them)",
                  job->array.has_ut1_utc ? "" : words,
                  job->array.has_ut1_utc        ? "array.polar_motion is"
                  : job->array.has_polar_motion ? " is"
                                                : " and array.polar_motion are",
                  earth_unknown_error_s(longest) * 1e9);
}

/* Reads weights of beams, and says what recipes leave open. */
static status_t array_job_read_beams(struct job *job, struct archive *archive, struct text *packed)
{
    static const char words[] = "cal_all";
    SCOPED(beam_file_destroy_at) struct beam_file *file = NULL;
    int is_turned = 0;
    TRY(apart_describe(&beam_file_description, &(struct apart_request){.path = job->beam_weights},
                       &file));
    for (uint64_t i = 1; i < file->nweights; i += 2) {
        is_turned |= file->ncalc && file->weights[i] != 0;
    }
    TRY(assume_if(is_turned && !(archive->assumed && strstr(archive->assumed, words)),
                  &archive->assumed,
                  "%s of %s multiplies spectra as COSMIC's beamformer does it (hpguppi and "
                  "seticore multiply by its conjugate)",
                  words, job->beam_weights));
    TRY(beam_file_fill(file, job));
    return pack_struct(packed, file, &beam_file_type);
}

status_t array_job_read(struct job *job, struct archive *archive)
{
    SCOPED(text_free) struct text packed = {0};
    SCOPED(calc_table_destroy_at) struct calc_table *calc = NULL;
    SCOPED(array_table_destroy_at) struct array_table *table = NULL;
    if (!job->is_array || job->array.packed) {
        return STATUS_OK;
    }
    TRY(job->array.table ? array_table_read(job->array.table, &table)
                         : array_table_of_archive(archive, job->beam_weights != NULL, &table));
    REQUIRE(table, STATUS_USAGE,
            "%s: array: %s does not say where its stations are: expected array.table, a file with "
            "their positions (docs/array-table.md)",
            job->path, archive->parts[0].path);
    TRY(job->beam_weights ? STATUS_OK : array_job_assume(job, table, archive));
    TRY(job->array.iers ? array_job_read_iers(job, archive) : STATUS_OK);
    TRY(pack_struct(&packed, table, &array_table_type));
    TRY(job->array.delays ? calc_table_read(job->array.delays, archive->sky.start, &calc)
                          : STATUS_OK);
    TRY(calc ? pack_struct(&packed, calc, &calc_table_type) : STATUS_OK);
    TRY(job->beam_weights ? array_job_read_beams(job, archive, &packed) : STATUS_OK);
    job->array.packed = packed.data;
    job->array.npacked = packed.length;
    packed.data = NULL;
    return STATUS_OK;
}

static const struct pack_type byte_type = PACK_PLAIN(char);
static const struct pack_field fields[] = {PACK_LIST(struct job_array, packed, npacked, &byte_type),
                                           PACK_FIELD(struct job_array, ut1_utc_s),
                                           PACK_FIELD(struct job_array, polar_motion)};
enum { FIELDS = sizeof fields / sizeof *fields };

status_t array_job_pack(const struct job *job, struct text *out)
{
    return pack_fields(out, &job->array, fields, FIELDS);
}

status_t array_job_tables(const struct job *job, struct array_tables *out)
{
    struct unpack in = {.data = job->array.packed, .length = (size_t)job->array.npacked};
    TRY(unpack_new(&in, &array_table_type, "the array", &out->table));
    TRY(job->array.delays ? unpack_new(&in, &calc_table_type, "delays", &out->calc) : STATUS_OK);
    return job->beam_weights ? unpack_new(&in, &beam_file_type, "weights of beams", &out->beams)
                             : STATUS_OK;
}

void array_job_drop(struct array_tables *tables)
{
    array_table_destroy(tables->table);
    calc_table_destroy(tables->calc);
    beam_file_destroy(tables->beams);
    *tables = (struct array_tables){0};
}

status_t array_job_unpack(struct unpack *in, struct job *job)
{
    SCOPED(array_job_drop) struct array_tables tables = {0};
    unpack_fields(in, &job->array, fields, FIELDS);
    TRY(unpack_check(in, "the array"));
    if (job->beam_weights) {
        TRY(array_job_tables(job, &tables));
        TRY(beam_file_fill(tables.beams, job));
    }
    return STATUS_OK;
}
