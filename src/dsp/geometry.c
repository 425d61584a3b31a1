/* Unit vectors, delays and baselines, by ERFA; and the orientation of the Earth, from the text of
 * an IERS finals file. */
#include "dsp/geometry.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ARC_SECOND_RAD = 3.14159265358979323846 / 648000;

/* A day of the file. */
struct earth_day {
    int32_t mjd_day;
    double value[3]; /* x and y of polar motion, arc seconds, and UT1 - UTC, s */
};

/* Reads the number in columns first .. first + width - 1 (from 0); blank columns hold none. */
static int earth_number(const char *line, size_t length, size_t first, size_t width, double *out)
{
    char word[16] = "";
    char *end = word;
    if (length < first + width) {
        return 0;
    }
    memcpy(word, line + first, width);
    *out = strtod(word, &end);
    return end > word && end[strspn(end, " ")] == '\0' && isfinite(*out);
}

/* Reads a line with an MJD and all three values; later lines of predictions have fewer. */
static int earth_read_day(const char *line, size_t length, struct earth_day *day)
{
    double mjd;
    if (!earth_number(line, length, 7, 8, &mjd) || !(mjd > 0 && mjd < 1e6) ||
        !earth_number(line, length, 18, 9, &day->value[0]) ||
        !earth_number(line, length, 37, 9, &day->value[1]) ||
        !earth_number(line, length, 58, 10, &day->value[2])) {
        return 0;
    }
    day->mjd_day = (int32_t)mjd;
    return 1;
}

status_t earth_find(const char *path, const char *text, size_t length, struct utc utc,
                    struct earth *out)
{
    struct earth_day days[2] = {{0, {0}}, {0, {0}}};
    struct earth_day day;
    int32_t first = 0;
    int32_t last = 0;
    int found = 0;
    for (const char *line = text; length > 0 && line < text + length;) {
        const char *end = memchr(line, '\n', (size_t)(text + length - line));
        end = end ? end : text + length;
        if (earth_read_day(line, (size_t)(end - line), &day)) {
            first = first ? first : day.mjd_day;
            last = day.mjd_day;
            for (int32_t i = 0; i < 2; i++) {
                if (day.mjd_day == utc.mjd_day + i) {
                    days[i] = day;
                    found |= 1 << i;
                }
            }
        }
        line = end + 1;
    }
    REQUIRE(first, STATUS_DATA,
            "%s has no line with polar motion and UT1 - UTC, expected a file "
            "finals2000A of the IERS",
            path);
    REQUIRE(found == 3 || (found == 1 && utc.second == 0), STATUS_DATA,
            "%s covers 0 h of MJD %d to 0 h of MJD %d, but the observation is at %.0f s of MJD %d",
            path, (int)first, (int)last, utc.second, (int)utc.mjd_day);
    /* UT1 - UTC jumps by a leap second at the end of the day, UT1 does not. */
    const int leap = leap_day_seconds(utc.mjd_day) - 86400;
    const double share = utc.second / (86400 + leap);
    days[1].value[2] -= leap;
    double value[3];
    for (int i = 0; i < 3; i++) {
        value[i] =
            days[0].value[i] + (share > 0 ? share * (days[1].value[i] - days[0].value[i]) : 0);
    }
    *out =
        (struct earth){value[2], value[0] * ARC_SECOND_RAD, value[1] * ARC_SECOND_RAD, utc.mjd_day};
    return STATUS_OK;
}

double earth_unknown_error_s(double baseline_m)
{
    const double turn_rad_per_s = 7.292115e-5;
    const double light_m_per_s = 299792458.0;
    return baseline_m / light_m_per_s * (0.9 * turn_rad_per_s + 0.6 * ARC_SECOND_RAD);
}

static const double MJD_0 = 2400000.5;

struct moment moment_of_utc(struct utc utc)
{
    return (struct moment){MJD_0 + utc.mjd_day, utc.second / leap_day_seconds(utc.mjd_day)};
}

struct earth_place earth_place_of_xyz(const double xyz_m[3])
{
    struct earth_place place = {.xyz_m = {xyz_m[0], xyz_m[1], xyz_m[2]}};
    double xyz[3] = {xyz_m[0], xyz_m[1], xyz_m[2]};
    eraGc2gd(ERFA_WGS84, xyz, &place.lon_rad, &place.lat_rad, &place.height_m);
    return place;
}

struct earth_place earth_place_of_geodetic(double lon_rad, double lat_rad, double height_m)
{
    struct earth_place place = {.lon_rad = lon_rad, .lat_rad = lat_rad, .height_m = height_m};
    eraGd2gc(ERFA_WGS84, lon_rad, lat_rad, height_m, place.xyz_m);
    return place;
}

void earth_place_axes(const struct earth_place *place, double axes[3][3])
{
    const double sl = sin(place->lon_rad);
    const double cl = cos(place->lon_rad);
    const double sb = sin(place->lat_rad);
    const double cb = cos(place->lat_rad);
    const double rows[3][3] = {{-sl, cl, 0}, {-sb * cl, -sb * sl, cb}, {cb * cl, cb * sl, sb}};
    memcpy(axes, rows, sizeof rows);
}

static double geometry_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void earth_place_add_enu(const struct earth_place *place, const double enu_m[3], double xyz_m[3])
{
    double axes[3][3];
    earth_place_axes(place, axes);
    for (int i = 0; i < 3; i++) {
        xyz_m[i] =
            place->xyz_m[i] + enu_m[0] * axes[0][i] + enu_m[1] * axes[1][i] + enu_m[2] * axes[2][i];
    }
}

/* The sky at a moment: ICRS to CIRS, CIRS to ITRS. */
struct geometry_sky {
    eraASTROM astrom;
    double to_itrs[3][3];
    double velocity[3]; /* of the observer by the Earth's rotation, ITRS axes, of light's */
    double gst_rad, sp_rad;
};

static status_t geometry_sky_at(const struct observer *observer, struct moment moment,
                                struct geometry_sky *sky)
{
    const struct earth *earth = &observer->earth;
    double tai[2];
    double tt[2];
    double ut1[2];
    double polar[3][3];
    double origins;
    const int32_t day = (int32_t)floor(moment.jd1 - MJD_0 + moment.jd2);
    const int leaps =
        earth->mjd_day > 0 ? leap_seconds_before(day) - leap_seconds_before(earth->mjd_day) : 0;
    REQUIRE(eraUtctai(moment.jd1, moment.jd2, &tai[0], &tai[1]) >= 0 &&
                eraUtcut1(moment.jd1, moment.jd2, earth->ut1_utc_s + leaps, &ut1[0], &ut1[1]) >= 0,
            STATUS_USAGE, "Julian date %.9g is no date of UTC", moment.jd1 + moment.jd2);
    eraTaitt(tai[0], tai[1], &tt[0], &tt[1]);
    eraApci13(tt[0], tt[1], &sky->astrom, &origins); /* TT for TDB: 2 ms of the Earth's orbit */
    sky->sp_rad = eraSp00(tt[0], tt[1]);
    const double era_rad = eraEra00(ut1[0], ut1[1]);
    sky->gst_rad = era_rad - origins;
    eraPom00(earth->polar_x_rad, earth->polar_y_rad, sky->sp_rad, polar);
    eraIr(sky->to_itrs);
    eraRz(era_rad, sky->to_itrs);
    eraRxr(polar, sky->to_itrs, sky->to_itrs);
    const double turn = observer->has_diurnal ? ERFA_D2PI * 1.00273781191135448 / ERFA_DAYSEC : 0;
    sky->velocity[0] = -turn * observer->place.xyz_m[1] / LIGHT_M_PER_S;
    sky->velocity[1] = turn * observer->place.xyz_m[0] / LIGHT_M_PER_S;
    sky->velocity[2] = 0;
    return STATUS_OK;
}

/* The unit vector towards a place of the sky; `lat_rad` may be beyond a pole. */
static void geometry_look(const struct geometry_sky *sky, double lon_rad, double lat_rad,
                          double out[3])
{
    eraASTROM astrom = sky->astrom;
    double ra;
    double dec;
    double cirs[3];
    double length;
    eraAtciqz(lon_rad, lat_rad, &astrom, &ra, &dec);
    eraS2c(ra, dec, cirs);
    for (int i = 0; i < 3; i++) {
        out[i] = geometry_dot(sky->to_itrs[i], cirs) + sky->velocity[i];
    }
    eraPn(out, &length, out);
}

static void geometry_look_azel(const struct earth_place *place, double az_rad, double el_rad,
                               double out[3])
{
    double axes[3][3];
    const double enu[3] = {sin(az_rad) * cos(el_rad), cos(az_rad) * cos(el_rad), sin(el_rad)};
    earth_place_axes(place, axes);
    for (int i = 0; i < 3; i++) {
        out[i] = enu[0] * axes[0][i] + enu[1] * axes[1][i] + enu[2] * axes[2][i];
    }
}

status_t geometry_vectors(const struct observer *observer, struct moment moment,
                          const struct direction *directions, uint32_t count, double (*out)[3])
{
    struct geometry_sky sky;
    TRY(geometry_sky_at(observer, moment, &sky));
    for (uint32_t i = 0; i < count; i++) {
        const struct direction *d = &directions[i];
        if (d->is_azel) {
            geometry_look_azel(&observer->place, d->lon_rad, d->lat_rad, out[i]);
        } else {
            geometry_look(&sky, d->lon_rad, d->lat_rad, out[i]);
        }
    }
    return STATUS_OK;
}

/* North at `w` is the part across it of `north`; where that has none, of the x axis. */
static void geometry_fill_axes(const double w[3], const double north[3], double axes[3][3])
{
    const double x[3] = {1, 0, 0};
    double length;
    double across[3];
    eraCp((double *)w, axes[2]);
    eraPxp((double *)north, axes[2], across);
    if (eraPm(across) == 0) {
        eraPxp((double *)x, axes[2], across);
    }
    eraPn(across, &length, axes[0]);
    eraPxp(axes[2], axes[0], axes[1]);
}

status_t geometry_axes(const struct observer *observer, struct moment moment,
                       const struct direction *direction, double axes[3][3])
{
    const double step = 1e-3; /* aberration turns the north by less than its square times 1e-4 */
    const double pole[3] = {0, 0, 1};
    double w[3];
    double up[3];
    double down[3];
    double north[3];
    struct geometry_sky sky;
    TRY(geometry_sky_at(observer, moment, &sky));
    if (direction->is_azel) {
        geometry_look_azel(&observer->place, direction->lon_rad, direction->lat_rad, w);
        geometry_fill_axes(w, pole, axes);
    } else {
        geometry_look(&sky, direction->lon_rad, direction->lat_rad, w);
        geometry_look(&sky, direction->lon_rad, direction->lat_rad + step, up);
        geometry_look(&sky, direction->lon_rad, direction->lat_rad - step, down);
        eraPmp(up, down, north);
        geometry_fill_axes(w, north, axes);
    }
    return STATUS_OK;
}

void geometry_uvw(const double axes[3][3], const double baseline_m[3], double uvw_m[3])
{
    for (int i = 0; i < 3; i++) {
        uvw_m[i] = geometry_dot(axes[i], baseline_m);
    }
}

status_t geometry_apparent(const struct observer *observer, struct moment moment,
                           const double axes[3][3], struct apparent *out)
{
    const double pole[3] = {0, 0, 1};
    double itrf[3][3];
    struct geometry_sky sky;
    TRY(geometry_sky_at(observer, moment, &sky));
    const double greenwich_rad = sky.gst_rad + sky.sp_rad;
    geometry_fill_axes(axes[2], pole, itrf);
    out->ra_rad = eraAnp(greenwich_rad + atan2(axes[2][1], axes[2][0]));
    out->dec_rad = atan2(axes[2][2], hypot(axes[2][0], axes[2][1]));
    out->frame_pa_rad = atan2(geometry_dot(axes[1], itrf[0]), geometry_dot(axes[1], itrf[1]));
    out->lst_rad = eraAnp(greenwich_rad + observer->place.lon_rad);
    return STATUS_OK;
}
