/* Visibilities: one HDF5 file that is UVH5 as published (pyuvdata's memo, version 1.2) and a
 * product at once. A row is a dump, float [pairs][frequencies][npols][2]: means of A B*, A of a
 * pair's first station and B of its second, of amplitudes of exp(+ i omega t).
 *
 * UVH5 takes drift data to turn with exp(+ 2 pi i w / lambda), w of ant_2 - ant_1, so ant_1 is the
 * pair's second station, ant_2 its first, and a product of polarisations is called by that of B,
 * then that of A. docs/products.md describes the layout. */
#ifndef VOLTMILL_PRODUCT_KIND_VISIBILITIES_KIND_H
#define VOLTMILL_PRODUCT_KIND_VISIBILITIES_KIND_H

#include "product/product.h"

/* Polarisation products of a pair of stations with two polarisations p of A, q of B: p q = 00, 11,
 * 01, 10. */
enum { VISIBILITIES_MOST_POLS = 4 };

struct visibilities_antenna {
    const char *name;
    double itrf[3]; /* m */
};

/* Geometry of a dump, angles in radians. `uvw`: unit vectors u, v, w in ITRF, by which
 * baselines in metres become uvw; of drift data east, north, up at the array's place. The apparent
 * place and position angle are those of the phase centre, of drift data the zenith's: lst, the
 * geodetic latitude, 0. */
struct visibilities_sky {
    double lst; /* apparent, at the array's place */
    double app_ra, app_dec, frame_pa;
    double uvw[3][3];
};

/* ICRS, degrees. */
struct visibilities_centre {
    const char *name;
    double ra_deg, dec_deg;
};

/* Description of the visibilities of a new product (struct product_spec). */
struct visibilities_spec {
    uint32_t npairs, npols;                         /* npols: 1 or 4 */
    const uint32_t (*pairs)[2];                     /* of antennas, a <= b */
    uint32_t nantennas;                             /* at most 2048, */
    const struct visibilities_antenna *antennas;    /* all that have a name in the file */
    const char *name;                               /* of the array */
    double place[3];                                /* its reference place, ITRF, m, */
    double latitude_deg, longitude_deg, altitude_m; /* which is this on WGS84 */
    const struct visibilities_centre *centre;       /* NULL: drift */
    /* Computes the geometry of dump `row`, whose centre is `seconds` after the observation's start.
     * Fails with USAGE if that is no date of UTC; product_create() fails alike. */
    status_t (*look)(const void *context, uint64_t row, double seconds,
                     struct visibilities_sky *out);
    const void *context;
};

/* Seconds that dumps are at least apart: UVH5 tells them apart by their Julian dates, doubles,
 * which are 40 us apart. */
#define VISIBILITIES_LEAST_STEP 1e-4

/* Writes flags [count] for weights [count], shares of good samples: 1 where a weight is below
 * `least`, or is 0 or NaN; else 0. */
void visibilities_flag(const float *weights, uint64_t count, double least, unsigned char *flags);

#endif
