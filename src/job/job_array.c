/* The tables of `array` and `beams`: delays of stations, directions. */
#include "job/job_schema.h"

#define ARRAY(member) SCHEMA_AT(struct job_array, member)
#define DIRECTION(member) SCHEMA_AT(struct job_direction, member)

/* One of two numbers that are a direction together. */
#define DIRECTION_ROW(key, help, member, as, largest, other)                                       \
    {                                                                                              \
        key, SCHEMA_NUMBER, help, DIRECTION(member), SCHEMA_GIVEN(struct job_direction, kind, as), \
            .unit = UNITS_ANGLE, .min = -(largest), .max = (largest),                              \
            SCHEMA_NEEDS({other, NULL, "is one half of a direction, expected " other ", too"})     \
    }
#define DIRECTION_ROWS                                                                             \
    DIRECTION_ROW("ra_deg", "right ascension, ICRS; with `dec_deg`", lon_deg, DIRECTION_RADEC,     \
                  360, "dec_deg"),                                                                 \
        DIRECTION_ROW("dec_deg", "declination, ICRS; with `ra_deg`", lat_deg, DIRECTION_RADEC, 90, \
                      "ra_deg"),                                                                   \
        DIRECTION_ROW(                                                                             \
            "azimuth_deg",                                                                         \
            "instead: azimuth from north through east, fixed to the ground; with `elevation_deg`", \
            azimuth_deg, DIRECTION_AZEL, 360, "elevation_deg"),                                    \
        DIRECTION_ROW("elevation_deg", "elevation, without refraction; with `azimuth_deg`",        \
                      elevation_deg, DIRECTION_AZEL, 90, "azimuth_deg")

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

/* A direction, where there is one, is one, unless a table of delays knows it by its name. */
static void job_direction_check(struct tree *root, struct tree *at, struct mistakes *mistakes)
{
    if (!at || at->kind != TREE_MAPPING) {
        return;
    }
    const int has_sky = tree_member(at, "ra_deg") || tree_member(at, "dec_deg");
    const int has_ground = tree_member(at, "azimuth_deg") || tree_member(at, "elevation_deg");
    mistakes_if(has_sky == has_ground && (has_sky || !tree_value(root, "array.delays")), mistakes,
                at, NULL, "has %s, expected ra_deg and dec_deg, or azimuth_deg and elevation_deg",
                has_sky ? "two directions" : "no direction");
}

void job_array_check(struct tree *root, struct mistakes *mistakes)
{
    struct tree *entry;
    job_direction_check(root, tree_at(root, "array.centre"), mistakes);
    for (size_t i = 0; (entry = tree_entry(root, "products", i)); i++) {
        job_direction_check(root, tree_at(entry, "centre"), mistakes);
    }
    for (size_t i = 0; i < JOB_BEAMS && (entry = tree_entry(root, "beams", i)); i++) {
        job_direction_check(root, entry, mistakes);
    }
    const char *key = tree_member(root, "array") ? "array"
                      : tree_list(root, "beams") ? "beams"
                                                 : "beam_weights";
    mistakes_if(tree_member(root, key) && !tree_member(root, "channelise"), mistakes, root, key,
                "needs channelise: delays are taken out of spectra");
}
