/* Directions, delays and baselines of stations on the Earth; and its orientation: UT1 - UTC and
 * polar motion, as numbers or from an IERS finals file. */
#ifndef VOLTMILL_DSP_GEOMETRY_H
#define VOLTMILL_DSP_GEOMETRY_H

#include "base/status.h"
#include "base/units.h"

/* Orientation of the Earth; all 0: unknown. It is constant over an observation, though UT1 drifts
 * by about 1 ms a day. */
struct earth {
    double ut1_utc_s;
    double polar_x_rad, polar_y_rad;
    int32_t mjd_day; /* of ut1_utc_s: a leap second after it changes that; 0: any day */
};

/* Finds the orientation at a moment in the text of a file finals2000A (all, data or daily): columns
 * of Bulletin A at 0 h UTC of each day, interpolated linearly between two days. UT1 - UTC is
 * interpolated without the leap second that may be between them. `text` has `length` bytes, and
 * need not end with a zero. `path` names the file in messages. Fails with DATA: a text that is no
 * such file, or does not cover the moment; *out is unchanged then. */
status_t earth_find(const char *path, const char *text, size_t length, struct utc utc,
                    struct earth *out);

/* Returns the largest error in seconds of the delay of a baseline where UT1 - UTC (at most 0.9 s)
 * and polar motion (at most 0.6 arc seconds) are unknown and taken as 0. */
double earth_unknown_error_s(double baseline_m);

#define LIGHT_M_PER_S 299792458.0

/* A moment in UTC as ERFA has it: a Julian date in two parts, whose day with a leap second has
 * 86,401 seconds. */
struct moment {
    double jd1, jd2;
};

/* Converts an instant to two parts of a Julian date, in days: jd1 is the beginning of the UTC day,
 * jd2 the fraction of the day, accurate to 1e-11 s. */
struct moment moment_of_utc(struct utc utc);

/* A place on the Earth in ITRF and in geodetic coordinates of WGS84. */
struct earth_place {
    double xyz_m[3];
    double lon_rad, lat_rad, height_m;
};

/* Return a place in both coordinates. earth_place_of_xyz(): from metres in ITRF.
 * earth_place_of_geodetic(): from longitude, positive to the east, and latitude in radians and the
 * height in metres above the ellipsoid of WGS84. */
struct earth_place earth_place_of_xyz(const double xyz_m[3]);
struct earth_place earth_place_of_geodetic(double lon_rad, double lat_rad, double height_m);
/* Computes ITRF coordinates xyz_m of a point that is enu_m, metres east, north and up, away from
 * the place. */
void earth_place_add_enu(const struct earth_place *place, const double enu_m[3], double xyz_m[3]);
/* Computes unit vectors at the place in ITRF axes: axes[0] to the east, axes[1] north, axes[2] up.
 */
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

/* Computes unit vectors from the observer towards `count` directions at a moment.
 *
 *   out   double [count][3]   x, y, z in ITRS
 *
 * Fails with USAGE if the moment is no date of UTC, and leaves `out` unchanged. */
status_t geometry_vectors(const struct observer *observer, struct moment moment,
                          const struct direction *directions, uint32_t count, double (*out)[3]);

/* Computes the axes u, v, w of a direction in ITRS.
 *
 *   axes   double [3][3]   rows u (east), v (north), w (towards the source)
 *
 * North is towards the ICRS pole for right ascension and declination, and towards the Earth's pole
 * for azimuth and elevation, as in pyuvdata. Fails with USAGE if the moment is no date of UTC, and
 * leaves `axes` unchanged. */
status_t geometry_axes(const struct observer *observer, struct moment moment,
                       const struct direction *direction, double axes[3][3]);

/* Computes u, v, w of a baseline in metres: the axes of geometry_axes() times baseline_m, in ITRF
 * axes. The baseline of a pair (a, b) in UVH5 is position b minus position a. */
void geometry_uvw(const double axes[3][3], const double baseline_m[3], double uvw_m[3]);

/* Apparent place as UVH5 states it for each row: right ascension from the equinox, declination from
 * the ITRF pole, position angle of the ICRS north there, local apparent sidereal time. */
struct apparent {
    double ra_rad, dec_rad, frame_pa_rad, lst_rad;
};

/* Computes the apparent place of a direction from its axes, as geometry_axes() makes them for the
 * same observer and moment. Fails with USAGE if the moment is no date of UTC, and leaves *out
 * unchanged. */
status_t geometry_apparent(const struct observer *observer, struct moment moment,
                           const double axes[3][3], struct apparent *out);

#endif
