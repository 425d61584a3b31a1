/* Directions on the sky as seen from an array: unit vectors in ITRS, delays of stations, baselines
 * in the coordinates u, v, w.
 *
 * A direction in right ascension and declination (ICRS) becomes its geocentric apparent place
 * (CIRS: light deflection by the Sun, annual aberration, precession and nutation IAU 2006/2000A),
 * turned to ITRS by the Earth rotation angle and polar motion. No refraction, no proper motion, no
 * parallax. Diurnal aberration, up to 1.5e-6 rad, is by choice: clocks set to UTC over the whole
 * Earth need none, pyuvdata includes it. Precision: 1e-15 of a baseline's delay.
 *
 * Formulas: ERFA (IAU SOFA). Lengths in metres, angles in radians, times in seconds. */
#ifndef VOLTMILL_DSP_ARRAY_GEOMETRY_H
#define VOLTMILL_DSP_ARRAY_GEOMETRY_H

#include "base/status.h"
#include "base/units.h"
#include "dsp/array/earth.h"

#include <stdint.h>

#define LIGHT_M_PER_S 299792458.0

/* A moment in UTC as ERFA has it: a Julian date in two parts, whose day with a leap second has
 * 86,401 seconds. */
struct moment {
    double jd1, jd2;
};

/* Converts: jd1 is the day's beginning, jd2 the share of the day, good to 1e-11 s. */
struct moment moment_of_utc(struct utc utc);

/* A place on the Earth: ITRF, and geodetic of WGS84. */
struct earth_place {
    double xyz_m[3];
    double lon_rad, lat_rad, height_m;
};

struct earth_place earth_place_of_xyz(const double xyz_m[3]);
struct earth_place earth_place_of_geodetic(double lon_rad, double lat_rad, double height_m);
/* Computes ITRF coordinates of a point given by metres east, north and up of the place. */
void earth_place_add_enu(const struct earth_place *place, const double enu_m[3], double xyz_m[3]);
/* Computes unit vectors east, north and up of the place, rows in ITRF axes. */
void earth_place_axes(const struct earth_place *place, double axes[3][3]);

struct direction {
    int is_azel;             /* 0: right ascension and declination, ICRS */
    double lon_rad, lat_rad; /* azimuth from north through east, and elevation */
};

/* Observer: an array's reference place, and how the Earth is turned. */
struct observer {
    struct earth_place place;
    struct earth earth;
    int has_diurnal; /* diurnal aberration of the place is included */
};

/* Computes unit vectors towards `count` directions at a moment.
 *
 *   out   double [count][3]   x, y, z in ITRS
 *
 * Fails with USAGE if the moment is no date of UTC. */
status_t geometry_vectors(const struct observer *observer, struct moment moment,
                          const struct direction *directions, uint32_t count, double (*out)[3]);

/* Returns the delay of a station: the time by which a plane wave reaches it later than the
 * reference place. `offset_m` is the station's position minus the reference place, `vector` the
 * unit vector towards the source. Negative for a station that is nearer to the source. */
double geometry_delay(const double offset_m[3], const double vector[3]);

/* Computes the axes u, v, w of a direction in ITRS.
 *
 *   axes   double [3][3]   rows u (east), v (north), w (towards the source)
 *
 * North is towards the ICRS pole for right ascension and declination, and towards the Earth's pole
 * for azimuth and elevation, as in pyuvdata. Fails as geometry_vectors(). */
status_t geometry_axes(const struct observer *observer, struct moment moment,
                       const struct direction *direction, double axes[3][3]);

/* Multiplies: uvw of a baseline. That of the pair (a, b) in UVH5 is position b minus position a. */
void geometry_uvw(const double axes[3][3], const double baseline_m[3], double uvw_m[3]);

/* Apparent place as UVH5 states it for each row: right ascension from the equinox, declination from
 * the ITRF pole, position angle of the ICRS north there, local apparent sidereal time. */
struct apparent {
    double ra_rad, dec_rad, frame_pa_rad, lst_rad;
};

/* Computes it from the axes of geometry_axes(). Fails as geometry_vectors(). */
status_t geometry_apparent(const struct observer *observer, struct moment moment,
                           const double axes[3][3], struct apparent *out);

#endif
