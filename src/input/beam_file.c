/* Reads weights of beams. Recipes: /diminfo/nants, npol, nchan, nbeams, ntimes; /calinfo/cal_all
 * complex [nchan][npol][nants]; /obsinfo/freq_array GHz [nchan]; /beaminfo/ras, decs rad [nbeams],
 * src_names; /telinfo/antenna_names; /delayinfo/delays ns [ntimes][nbeams][nants], time_array s
 * after 1970. A delay is (w of the beam - w of the phase centre) / c of the antenna, so the wave is
 * early by it, relative to the centre that the telescope has tracked. */
#include "input/beam_file.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"

#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WEIGHTS = 1 << 29, MJD_OF_1970 = 40587, DAY = 86400 };

static const struct pack_field pointers[] = {
    PACK_FIELD(struct beam_file, path),
    PACK_LIST(struct beam_file, weights, nweights, &pack_numbers),
    PACK_LIST(struct beam_file, freq_hz, nfreq_hz, &pack_numbers),
    PACK_LIST(struct beam_file, directions, ndirections, &pack_numbers),
    PACK_LIST(struct beam_file, names, nnames, &pack_texts),
    PACK_LIST(struct beam_file, stations, nnamed, &pack_texts),
    PACK_LIST(struct beam_file, calc, ncalc, &calc_table_type)};
const struct pack_type beam_file_type = PACK_WHOLE(struct beam_file, pointers);

void beam_file_destroy(struct beam_file *file)
{
    pack_destroy(file, &beam_file_type);
}

/* Reads all numbers of a dataset whose count must be that of `dims`; complex ones are compounds of
 * two numbers, or have a last dimension of 2. */
static status_t beam_read(hid_t file, const char *path, const char *name, int is_complex, int rank,
                          const uint64_t *dims, double **out)
{
    status_t st = STATUS_OK;
    struct h5_dataset dataset = {0};
    hid_t pair = -1;
    uint64_t count = 1;
    TRY_OUT(h5_dataset_open(file, path, name, &dataset));
    TRY_OUT(h5_refuse_external(dataset.id, path, name));
    const int is_pair = is_complex && H5Tget_class(dataset.type) == H5T_COMPOUND;
    int is_right = dataset.rank == rank + (is_complex && !is_pair) &&
                   (!is_complex || is_pair || dataset.dims[dataset.rank - 1] == 2);
    for (int i = 0; i < rank; i++) {
        is_right = is_right && dataset.dims[i] == dims[i] && dims[i] <= MOST_WEIGHTS / count;
        count *= is_right ? dims[i] : 1;
    }
    REQUIRE_OUT(
        is_right, STATUS_DATA,
        "%s: %s has another shape than expected: %d dimensions%s, the first %llu, at most 2^29 "
        "numbers",
        path, name, rank, is_complex ? " of complex numbers" : "",
        (unsigned long long)(rank > 0 ? dims[0] : 1));
    TRY_OUT(is_pair ? h5_dataset_pair(&dataset, path, &pair) : STATUS_OK);
    TRY_OUT(memory_zeroed((size_t)count, (is_complex ? 2 : 1) * sizeof **out, "weights", out));
    TRY_OUT(h5_dataset_read(&dataset, path, name, is_pair ? pair : H5T_NATIVE_DOUBLE, dataset.count,
                            *out));
    for (uint64_t i = 0; i < count * (is_complex ? 2 : 1); i++) {
        REQUIRE_OUT(isfinite((*out)[i]), STATUS_DATA, "%s: %s: number %llu (from 0) is not finite",
                    path, name, (unsigned long long)i);
    }
out:
    h5_close(pair);
    h5_dataset_close(&dataset);
    return st;
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
    status_t st = STATUS_OK;
    struct h5_dataset dataset = {0};
    uint64_t dims[4] = {0};
    TRY_OUT(h5_dataset_open(file, out->path, "weights", &dataset));
    for (int i = 0; i < 4; i++) {
        dims[i] = i < dataset.rank ? dataset.dims[i] : 0;
        REQUIRE_OUT(dims[i] >= 1 && dims[i] <= MOST_WEIGHTS, STATUS_DATA,
                    "%s: /weights: expected complex [beam][station][pol][channel]", out->path);
    }
    out->nbeams = out->sets = (uint32_t)dims[0];
    out->nstations = (uint32_t)dims[1];
    out->npols = (uint32_t)dims[2];
    out->nfreqs = (uint32_t)dims[3];
    TRY_OUT(beam_read(file, out->path, "weights", 1, 4, dims, &out->weights));
    out->nweights = 2 * dims[0] * dims[1] * dims[2] * dims[3];
    TRY_OUT(beam_read_frequencies(file, "freq_hz", 1, out));
    TRY_OUT(beam_read_names(file, out->path, "beams", out->nbeams, &out->names, &out->nnames));
    TRY_OUT(
        beam_read_names(file, out->path, "stations", out->nstations, &out->stations, &out->nnamed));
out:
    h5_dataset_close(&dataset);
    return st;
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
    const double days = floor((times[0] - step) / DAY);
    t->first = (struct utc){MJD_OF_1970 + (int32_t)days, times[0] - step - days * DAY};
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
    status_t st = STATUS_OK;
    const uint64_t dims[3] = {ntimes, out->nbeams, out->nstations};
    double *times = NULL;
    double *delays = NULL;
    TRY_OUT(beam_read(file, out->path, "delayinfo/time_array", 0, 1, dims, &times));
    TRY_OUT(beam_read(file, out->path, "delayinfo/delays", 0, 3, dims, &delays));
    TRY_OUT(memory_zeroed(1, sizeof *out->calc, "delays", &out->calc));
    out->ncalc = 1;
    TRY_OUT(beam_make_lines(out, ntimes, times, delays, out->calc));
    TRY_OUT(memory_zeroed(out->nstations, sizeof(char *), "names", &out->calc->stations));
    for (uint32_t i = 0; i < out->nstations; i++) {
        TRY_OUT(memory_text(out->stations[i], &out->calc->stations[i]));
    }
    TRY_OUT(memory_zeroed(out->nbeams, sizeof(char *), "names", &out->calc->directions));
out:
    free(times);
    free(delays);
    return st;
}

static status_t beam_read_recipe(hid_t file, struct beam_file *out)
{
    status_t st = STATUS_OK;
    static const char *const names[] = {"diminfo/nants", "diminfo/npol", "diminfo/nchan",
                                        "diminfo/nbeams", "diminfo/ntimes"};
    static const char *const angles[] = {"beaminfo/ras", "beaminfo/decs"};
    static const double deg_per_rad = 180 / 3.14159265358979323846;
    uint32_t n[5];
    double *number = NULL;
    for (int i = 0; i < 5; i++) {
        TRY_OUT(beam_read(file, out->path, names[i], 0, 0, NULL, &number));
        REQUIRE_OUT(*number >= 1 && *number <= 1 << 24 && *number == floor(*number), STATUS_DATA,
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
    TRY_OUT(beam_read(file, out->path, "calinfo/cal_all", 1, 3, dims, &number));
    out->nweights = 2 * dims[0] * dims[1] * dims[2];
    TRY_OUT(memory_zeroed((size_t)out->nweights, sizeof(double), "weights", &out->weights));
    for (uint64_t i = 0; i < out->nweights / 2; i++) { /* to [station][pol][freq] */
        const uint64_t line = i % n[0] * n[1] + i / n[0] % n[1];
        memcpy(out->weights + 2 * (line * n[2] + i / n[0] / n[1]), number + 2 * i,
               2 * sizeof *number);
    }
    TRY_OUT(beam_read_frequencies(file, "obsinfo/freq_array", 1e9, out));
    TRY_OUT(
        beam_read_names(file, out->path, "beaminfo/src_names", n[3], &out->names, &out->nnames));
    TRY_OUT(beam_read_names(file, out->path, "telinfo/antenna_names", n[0], &out->stations,
                            &out->nnamed));
    REQUIRE_OUT(out->nnamed > 0, STATUS_DATA, "%s: there is no /telinfo/antenna_names", out->path);
    TRY_OUT(memory_zeroed(n[3], 2 * sizeof(double), "directions", &out->directions));
    out->ndirections = 2 * (uint64_t)n[3];
    for (int i = 0; i < 2; i++) {
        const uint64_t beams[1] = {n[3]};
        free(memory_move(&number));
        TRY_OUT(beam_read(file, out->path, angles[i], 0, 1, beams, &number));
        for (uint32_t k = 0; k < n[3]; k++) {
            out->directions[(size_t)i * n[3] + k] = number[k] * deg_per_rad;
        }
    }
    TRY_OUT(beam_read_delays(file, n[4], out));
out:
    free(number);
    return st;
}

static status_t beam_open(const struct apart_request *request, void **out)
{
    status_t st = STATUS_OK;
    struct beam_file *made = NULL;
    hid_t file = -1;
    int is_recipe = 0;
    int has_weights = 0;
    apart_at("%s", request->path);
    TRY_OUT(h5_open_file(request->path, &file));
    TRY_OUT(memory_zeroed(1, sizeof *made, "weights of beams", &made));
    TRY_OUT(memory_text(request->path, &made->path));
    TRY_OUT(h5_has(file, request->path, "diminfo", &is_recipe));
    TRY_OUT(h5_has(file, request->path, "weights", &has_weights));
    REQUIRE_OUT(
        is_recipe != has_weights, STATUS_DATA,
        "%s has %s, expected /weights, complex [beam][station][pol][channel], or the groups of "
        "a bfr5 file (/diminfo, /calinfo, ...)",
        request->path, is_recipe ? "both /weights and /diminfo" : "neither");
    TRY_OUT(is_recipe ? beam_read_recipe(file, made) : beam_read_weights(file, made));
    REQUIRE_OUT(made->nbeams <= JOB_BEAMS, STATUS_DATA, "%s: %u beams, expected at most %d",
                request->path, made->nbeams, (int)JOB_BEAMS);
    *out = memory_move(&made);
out:
    h5_close(file);
    beam_file_destroy(made);
    return st;
}

const struct description beam_file_description = {"weights of beams", &beam_file_type, beam_open};

status_t beam_file_read(const char *path, struct beam_file **out)
{
    return apart_describe(&beam_file_description, &(struct apart_request){.path = path}, out);
}

status_t beam_file_fill(const struct beam_file *file, struct job *job)
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

status_t beam_file_match(const struct beam_file *file, const struct archive *archive, uint32_t *out)
{
    char *const *names = file->nnamed ? archive->names[AXIS_STATION] : NULL;
    REQUIRE(names || archive->count[AXIS_STATION] == file->nstations, STATUS_DATA,
            "%s has %u stations, but the archive %llu, expected as many, or names in both",
            file->path, file->nstations, (unsigned long long)archive->count[AXIS_STATION]);
    REQUIRE(file->npols == 1 || archive->count[AXIS_POL] == file->npols, STATUS_DATA,
            "%s has %u polarisations, but the archive %llu, expected 1 or as many", file->path,
            file->npols, (unsigned long long)archive->count[AXIS_POL]);
    for (uint32_t i = 0; i < archive->nselected[AXIS_STATION]; i++) {
        const uint64_t station = archive->selected[AXIS_STATION][i];
        out[i] = names ? 0 : (uint32_t)station;
        while (names && out[i] < file->nstations &&
               strcmp(names[station], file->stations[out[i]]) != 0) {
            out[i]++;
        }
        REQUIRE(out[i] < file->nstations, STATUS_DATA,
                "%s has no station %s, which the archive has", file->path, names[station]);
    }
    return STATUS_OK;
}

void beam_file_weight(const struct beam_file *file, uint32_t set, uint32_t station, uint32_t pol,
                      double freq_hz, uint64_t k, uint64_t channels, double out[2])
{
    const uint64_t line =
        ((uint64_t)set * file->nstations + station) * file->npols + (file->npols > 1 ? pol : 0);
    const double *of = file->weights + 2 * line * file->nfreqs;
    uint64_t low = k * file->nfreqs / channels;
    uint64_t high = low;
    double share = 0;
    if (file->nfreq_hz > 0) {
        uint64_t end = file->nfreqs;
        for (low = 0; low + 1 < end;) { /* the last one that is not above */
            const uint64_t middle = (low + end) / 2;
            *(file->freq_hz[middle] <= freq_hz ? &low : &end) = middle;
        }
        high = low + (low + 1 < file->nfreqs && freq_hz > file->freq_hz[low]);
        share = high > low
                    ? (freq_hz - file->freq_hz[low]) / (file->freq_hz[high] - file->freq_hz[low])
                    : 0;
    }
    for (int part = 0; part < 2; part++) {
        out[part] =
            (1 - share) * of[2 * low + (uint64_t)part] + share * of[2 * high + (uint64_t)part];
    }
}
