/* The table of an array: its stations, where they are, and how their samples are corrected.
 *
 * Read from YAML, from HDF5, or from an archive that states positions (docs/array-table.md). Rank 0
 * reads it (apart, io/apart.h: main thread only) and packs it by array_table_type; the others
 * unpack it. */
#ifndef VOLTMILL_INPUT_ARRAY_TABLE_H
#define VOLTMILL_INPUT_ARRAY_TABLE_H

#include "base/units.h"
#include "dsp/delay_model.h"
#include "io/apart.h"
#include "io/pack.h"

/* A factor by which the spectra of a station are multiplied, at one frequency. */
struct array_gain {
    char *pol; /* name of the polarisation; NULL: all that have no gains of their own */
    double freq_hz;
    double value[2]; /* re, im */
};

enum array_numbers { ARRAY_ITRF, ARRAY_ENU, ARRAY_DELAY, ARRAY_NUMBERS };

struct array_station {
    char *name;
    double itrf_m[3];
    struct delay_clock clock; /* of cable and clock, counted from the table's epoch */
    int is_flagged;           /* the station counts as missing */
    int is_swapped;           /* its two polarisations are exchanged */
    struct array_gain *gains; /* [ngains] by polarisation, then ascending frequency; none: 1 */
    uint32_t ngains;
    double *stated[ARRAY_NUMBERS]; /* as a file states them; none once it is read */
    uint32_t nstated[ARRAY_NUMBERS];
};

struct array_table {
    char *path; /* for messages: the table's, or the archive's */
    char *name; /* of the array; NULL: unknown */
    /* Where delays are 0 and uvw have their origin. Unless it is stated, the mean of the stations'
     * positions. */
    struct earth_place reference;
    struct { /* as a file states it */
        double *itrf_m;
        uint32_t nitrf_m;
        double lon_deg, lat_deg, height_m;
        int has_lon, has_lat;
    } stated;
    int is_nowhere; /* positions are unknown, and all 0 */
    int has_epoch;  /* 0: clocks are counted from the observation's first sample */
    struct utc epoch;
    struct array_station *stations; /* [nstations] */
    uint32_t nstations;
};

/* Reads a table of stations, YAML or HDF5. array_table_destroy() frees *out, which is NULL after a
 * failure. Fails with USAGE (mistakes in YAML, all at once). Fails with DATA: file, station, and
 * what is wrong (missing, unreadable, two stations of one name, a position that is not on the
 * Earth, gains that are not finite or not in order, ...). Fails with DEVICE (memory, no child),
 * STOPPED. Main thread only. */
status_t array_table_read(const char *path, struct array_table **out);

struct archive;

/* Makes a table of the positions that an archive states, its stations in their order, selected or
 * not. If it states none, *out stays NULL, or with `may_be_nowhere` all stations are at one place.
 * The caller calls array_table_destroy(*out), NULL before, in any case. Fails with DATA: a position
 * that is not on the Earth, two stations of one name; with DEVICE (memory). */
status_t array_table_of_archive(const struct archive *archive, int may_be_nowhere,
                                struct array_table **out);
/* Frees a table and all that it points to; takes NULL. */
void array_table_destroy(struct array_table *table);
SCOPED_END(array_table_destroy, struct array_table *)

extern const struct pack_type array_table_type;
/* For the table of tasks (main.c). */
extern const struct description array_table_description;

/* Finds the table's station for each station that the archive's selection has. It is found by name,
 * or by number if the archive has no names and as many stations as the table.
 *
 *   out   uint32_t [archive->nselected[AXIS_STATION]]   numbers of stations in the table, from 0
 *
 * Fails with DATA: a station that the table does not have; without names, another number of them;
 * `out` is undefined then. */
status_t array_table_match(const struct array_table *table, const struct archive *archive,
                           uint32_t *out);

/* Computes the factor gain[2] (re, im) of a station's polarisation at a frequency (Hz). Real and
 * imaginary part are interpolated linearly between the station's gains; beyond them they are those
 * of the nearest one. Gains without a `pol` are used if none is of this one, and if `pol` is NULL.
 * The factor is 1 if there is none. */
void array_gain_at(const struct array_station *station, const char *pol, double freq_hz,
                   double gain[2]);

/* The delays that are wanted of a table. */
struct array_aim {
    struct earth earth;
    int has_diurnal;
    const uint32_t *stations; /* [nstations] numbers in the table; NULL: all in their order */
    uint32_t nstations;
    const struct direction *directions; /* [ndirections] */
    uint32_t ndirections;
    struct utc start;    /* of the observation's sample 0 */
    double from_s, to_s; /* after it: the time to be covered */
};

struct calc_table;

/* Makes the model of the delays that `aim` wants, from the reference place and with cables and
 * clocks. delay_model_destroy() frees *out, which a failure leaves unchanged.
 *
 * `calc` not NULL: polynomials that CALC wrote take the place of the geometry. Stations are found
 * there by name. Direction i < aim->ndirections is number sources[i] of that table; aim->directions
 * is ignored. Without `calc`, `sources` is ignored.
 *
 * Fails with DATA: a station that `calc` does not have. Fails with USAGE: dates, more than 2^20
 * intervals, a `calc` that does not cover the time, is empty or has more than 16 terms. Fails with
 * DEVICE (memory). */
status_t array_table_delays(const struct array_table *table, const struct array_aim *aim,
                            const struct calc_table *calc, const uint32_t *sources,
                            delay_model_t **out);

#endif
