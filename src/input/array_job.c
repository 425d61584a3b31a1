/* Reads, packs and unpacks what `array` of a job names. */
#include "input/array_job.h"

#include "input/assumed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rad_per_arcsec = 3.14159265358979323846 / 180 / 3600;

/* The numbers of the observation's first sample. */
static status_t array_job_read_iers(struct job *job, const struct archive *archive)
{
    status_t st = STATUS_OK;
    struct job_array *array = &job->array;
    FILE *file = NULL;
    struct text text = {0};
    struct earth earth;
    char *line = NULL;
    size_t room = 0;
    REQUIRE_OUT(
        archive->sky.has_start, STATUS_USAGE,
        "%s: array.iers: the archive does not say when it starts (input.layout.start sets it)",
        job->path);
    TRY_OUT(text_open(array->iers, "the IERS file ", 0, &file));
    while (getline(&line, &room, file) >= 0) {
        TRY_OUT(text_add(&text, "%s", line));
    }
    REQUIRE_OUT(!ferror(file), STATUS_DATA, "cannot read %s: %s", array->iers, strerror(errno));
    TRY_OUT(earth_find(array->iers, text.data ? text.data : "", text.length, archive->sky.start,
                       &earth));
    array->ut1_utc_s = array->has_ut1_utc ? array->ut1_utc_s : earth.ut1_utc_s;
    if (!array->has_polar_motion) {
        array->polar_motion[0] = earth.polar_x_rad / rad_per_arcsec;
        array->polar_motion[1] = earth.polar_y_rad / rad_per_arcsec;
    }
    array->has_ut1_utc = array->has_polar_motion = 1;
out:
    text_close(file);
    free(line);
    text_free(&text);
    return st;
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
    status_t st = STATUS_OK;
    static const char words[] = "cal_all";
    struct beam_file *file = NULL;
    int is_turned = 0;
    TRY_OUT(beam_file_read(job->beam_weights, &file));
    for (uint64_t i = 1; i < file->nweights; i += 2) {
        is_turned |= file->ncalc && file->weights[i] != 0;
    }
    TRY_OUT(assume_if(is_turned && !(archive->assumed && strstr(archive->assumed, words)),
                      &archive->assumed,
                      "%s of %s multiplies spectra as COSMIC's beamformer does it (hpguppi and "
                      "seticore multiply by its conjugate)",
                      words, job->beam_weights));
    TRY_OUT(beam_file_fill(file, job));
    TRY_OUT(pack_struct(packed, file, &beam_file_type));
out:
    beam_file_destroy(file);
    return st;
}

status_t array_job_read(struct job *job, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct array_table *table = NULL;
    struct calc_table *calc = NULL;
    struct text packed = {0};
    if (!job->is_array) {
        return STATUS_OK;
    }
    TRY_OUT(job->array.table ? array_table_read(job->array.table, &table)
                             : array_table_of_archive(archive, job->beam_weights != NULL, &table));
    REQUIRE_OUT(
        table, STATUS_USAGE,
        "%s: array: %s does not say where its stations are: expected array.table, a file with "
        "their positions (docs/array-table.md)",
        job->path, archive->parts[0].path);
    TRY_OUT(job->beam_weights ? STATUS_OK : array_job_assume(job, table, archive));
    TRY_OUT(job->array.iers ? array_job_read_iers(job, archive) : STATUS_OK);
    TRY_OUT(pack_struct(&packed, table, &array_table_type));
    TRY_OUT(job->array.delays ? calc_table_read(job->array.delays, archive->sky.start, &calc)
                              : STATUS_OK);
    TRY_OUT(calc ? pack_struct(&packed, calc, &calc_table_type) : STATUS_OK);
    TRY_OUT(job->beam_weights ? array_job_read_beams(job, archive, &packed) : STATUS_OK);
    job->array.packed = packed.data;
    job->array.npacked = packed.length;
    packed.data = NULL;
out:
    array_table_destroy(table);
    calc_table_destroy(calc);
    text_free(&packed);
    return st;
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
    *tables = (struct array_tables){NULL};
}

status_t array_job_unpack(struct unpack *in, struct job *job)
{
    status_t st = STATUS_OK;
    struct array_tables tables = {NULL};
    unpack_fields(in, &job->array, fields, FIELDS);
    TRY_OUT(unpack_check(in, "the array"));
    if (job->beam_weights) {
        TRY_OUT(array_job_tables(job, &tables));
        TRY_OUT(beam_file_fill(tables.beams, job));
    }
out:
    array_job_drop(&tables);
    return st;
}
