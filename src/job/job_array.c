/* The tables of `array` and `beams`: delays of stations, directions. */
#include "job/job_schema.h"

#define ARRAY(member) SCHEMA_AT(struct job_array, member)
#define DIRECTION(member) SCHEMA_AT(struct job_direction, member)
#define DIRECTION_KIND(as) SCHEMA_GIVEN(struct job_direction, kind, as)

static const struct schema_need with_dec[] = {
    {"dec_deg", NULL, "is one half of a direction, expected dec_deg, too"}, {.key = NULL}};
static const struct schema_need with_ra[] = {
    {"ra_deg", NULL, "is one half of a direction, expected ra_deg, too"}, {.key = NULL}};
static const struct schema_need with_elevation[] = {
    {"elevation_deg", NULL, "is one half of a direction, expected elevation_deg, too"},
    {.key = NULL}};
static const struct schema_need with_azimuth[] = {
    {"azimuth_deg", NULL, "is one half of a direction, expected azimuth_deg, too"}, {.key = NULL}};

#define DIRECTION_ROWS                                                                             \
    {"ra_deg",                                                                                     \
     SCHEMA_NUMBER,                                                                                \
     "right ascension, ICRS; with `dec_deg`",                                                      \
     DIRECTION(lon_deg),                                                                           \
     DIRECTION_KIND(DIRECTION_RADEC),                                                              \
     .unit = UNITS_ANGLE,                                                                          \
     .min = -360,                                                                                  \
     .max = 360,                                                                                   \
     .needs = with_dec},                                                                           \
        {"dec_deg",                                                                                \
         SCHEMA_NUMBER,                                                                            \
         "declination, ICRS; with `ra_deg`",                                                       \
         DIRECTION(lat_deg),                                                                       \
         DIRECTION_KIND(DIRECTION_RADEC),                                                          \
         .unit = UNITS_ANGLE,                                                                      \
         .min = -90,                                                                               \
         .max = 90,                                                                                \
         .needs = with_ra},                                                                        \
        {"azimuth_deg",                                                                            \
         SCHEMA_NUMBER,                                                                            \
         "instead: azimuth from north through east, fixed to the ground; with `elevation_deg`",    \
         DIRECTION(azimuth_deg),                                                                   \
         DIRECTION_KIND(DIRECTION_AZEL),                                                           \
         .unit = UNITS_ANGLE,                                                                      \
         .min = -360,                                                                              \
         .max = 360,                                                                               \
         .needs = with_elevation},                                                                 \
    {                                                                                              \
        "elevation_deg", SCHEMA_NUMBER, "elevation, without refraction; with `azimuth_deg`",       \
            DIRECTION(elevation_deg), DIRECTION_KIND(DIRECTION_AZEL),                              \
            .unit = UNITS_ANGLE, .min = -90, .max = 90, .needs = with_azimuth                      \
    }

const struct schema job_direction_schema[] = {
    {"name", SCHEMA_TEXT, "name of the source, in files and in `delays`",
     .absent = "the archive's source; of `delays` the first", DIRECTION(name)},
    DIRECTION_ROWS,
    {.key = NULL}};

const struct schema job_beam_schema[] = {
    {"name", SCHEMA_TEXT, "name of the beam", .absent = "its number, from 0", DIRECTION(name)},
    DIRECTION_ROWS,
    {.key = NULL},
};

const struct schema job_array_schema[] = {
    {"table", SCHEMA_TEXT,
     "stations with positions, delays and gains: a YAML or HDF5 file (array-table.md)",
     .absent = "what the archive says of its stations", ARRAY(table), .is_path = 1,
     .expected = "the path of a table of stations"},
    {"centre", SCHEMA_MAPPING,
     "direction in which the stations' signals are in phase: phase centre of visibilities, and "
     "direction relative to which beams are steered",
     .absent = "none: only the delays of cables and clocks are taken out, and beams are steered by "
               "phases alone",
     ARRAY(centre), .members = job_direction_schema,
     .expected = "ra_deg and dec_deg, or azimuth_deg and elevation_deg"},
    {"ut1_utc", SCHEMA_NUMBER, "UT1 - UTC on that day", .absent = "`iers`, or 0 (assumed)",
     ARRAY(ut1_utc_s), SCHEMA_GIVEN(struct job_array, has_ut1_utc, 1), .unit = UNITS_TIME,
     .min = -1, .max = 1},
    {"polar_motion", SCHEMA_NUMBER, "position of the pole, x and y in arc seconds",
     .absent = "`iers`, or 0 (assumed)", SCHEMA_PAIR(struct job_array, polar_motion[0]),
     SCHEMA_GIVEN(struct job_array, has_polar_motion, 1), .min = -1, .max = 1,
     .expected = "two numbers of arc seconds: [x, y]"},
    {"iers", SCHEMA_TEXT, "a file finals2000A of the IERS, which says both", ARRAY(iers),
     .is_path = 1, .expected = "the path of a file finals2000A"},
    {"delays", SCHEMA_TEXT,
     "table of delay polynomials, as CALC writes them, in the place of the geometry "
     "(array-table.md)",
     ARRAY(delays), .is_path = 1, .expected = "the path of a table of delays"},
    {.key = NULL},
};

/* A direction is one, unless a table of delays knows it by its name. */
static void job_direction_check(struct tree *root, struct tree *at, struct mistakes *mistakes)
{
    const int has_sky = tree_member(at, "ra_deg") || tree_member(at, "dec_deg");
    const int has_ground = tree_member(at, "azimuth_deg") || tree_member(at, "elevation_deg");
    if (has_sky && has_ground) {
        mistakes_at(mistakes, at, NULL,
                    "has two directions, expected ra_deg and dec_deg, or azimuth_deg and "
                    "elevation_deg");
    } else if (!has_sky && !has_ground && !tree_value(root, "array.delays")) {
        mistakes_at(mistakes, at, NULL,
                    "has no direction, expected ra_deg and dec_deg, or azimuth_deg and "
                    "elevation_deg");
    }
}

void job_array_check(struct tree *root, struct mistakes *mistakes)
{
    struct tree *array = tree_member(root, "array");
    struct tree *centre = array ? tree_member(array, "centre") : NULL;
    const struct tree *beams = tree_list(root, "beams");
    if (centre && centre->kind == TREE_MAPPING) {
        job_direction_check(root, centre, mistakes);
    }
    const struct tree *products = tree_list(root, "products");
    for (size_t i = 0; products && i < products->nchildren; i++) {
        struct tree *own = products->child[i]->kind == TREE_MAPPING
                               ? tree_member(products->child[i], "centre")
                               : NULL;
        if (own && own->kind == TREE_MAPPING) {
            job_direction_check(root, own, mistakes);
        }
    }
    for (size_t i = 0; beams && i < beams->nchildren && i < JOB_BEAMS; i++) {
        if (beams->child[i]->kind == TREE_MAPPING) {
            job_direction_check(root, beams->child[i], mistakes);
        }
    }
    const int has_weights = tree_member(root, "beam_weights") != NULL;
    mistakes_if((array || beams || has_weights) && !tree_member(root, "channelise"), mistakes, root,
                array   ? "array"
                : beams ? "beams"
                        : "beam_weights",
                "needs channelise: delays are taken out of spectra");
}
