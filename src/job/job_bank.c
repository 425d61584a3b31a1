/* `channelise` in a job file: the keys of a filter bank, what they must have in common, and which
 * bank makes a product. The tables of `array` and `beams`: delays of stations, directions. */
#include "job/job_schema.h"

#include <stdio.h>
#include <string.h>

/* `synthesise` in a job file: its keys, and what they need of each other and of the rest. */

#define SYNTHESISE(member) SCHEMA_AT(struct job_synthesise, member)

const struct schema job_synthesise_schema[] = {
    {"prototype", SCHEMA_TEXT,
     "filter that made the channels: `auto` reads it from the archive (spectra of voltmill have "
     "it); a file as in `filter.coefficients`, oldest sample first; or the name of a telescope, "
     "`chime` or `katgpucbf`",
     SYNTHESISE(prototype), .is_path = 1, .may_be_auto = 1,
     .expected = "the path of a file with the prototype of the channels' filter bank, or a "
                 "telescope's name"},
    {"prototype_taps", SCHEMA_WHOLE,
     "taps of a prototype from a file; its points are numbers / taps. Spectra of voltmill need "
     "their own taps and points",
     .absent = "required with a file", SYNTHESISE(prototype_taps), .min = 1, .max = 1 << 16},
    {"channels", SCHEMA_WHOLE,
     "channels to use, counted by frequency from 0 in each coarse channel that was channelised: "
     "makes a narrower stream",
     .absent = "all", SCHEMA_PAIR(struct job_synthesise, first_channel),
     SCHEMA_GIVEN(struct job_synthesise, has_channels, 1), .max = 0x1p40,
     .expected = "two whole numbers: [first, last]"},
    {"taps", SCHEMA_WHOLE, "taps of the synthesis filter, instead of `accuracy`", SYNTHESISE(taps),
     .min = 1, .max = 4096, .may_be_auto = 1},
    {"accuracy", SCHEMA_NUMBER,
     "largest error of white noise, in dB below the signal: uses the fewest taps that reach it",
     SYNTHESISE(accuracy), .unit = UNITS_DECIBEL, .min = 10, .max = 200, .otherwise = "100"},
    {"origin", SCHEMA_WHOLE,
     "samples of the stream, before its first, from which phases of the channels count: 0 for "
     "spectra of voltmill, else see the telescope's documents",
     .absent = "0", SYNTHESISE(origin), .max = 0x1p62},
    {"backend", SCHEMA_CHOICE, "as `channelise.backend`: one for all that compute",
     SYNTHESISE(backend), .choices = backend_names},
    {.key = NULL},
};

static int job_bank_parse_window(const char *text, void *out)
{
    static const char kaiser[] = "kaiser:";
    static const char file[] = "file:";
    struct job_window *window = out;
    if (strncmp(text, kaiser, strlen(kaiser)) == 0) {
        window->kind = WINDOW_KAISER;
        /* Up to 100 the Bessel functions stay far from overflow, and no one needs more. */
        return tree_parse_number(text + strlen(kaiser), &window->kaiser_beta) &&
               window->kaiser_beta >= 0 && window->kaiser_beta <= 100;
    }
    if (strncmp(text, file, strlen(file)) == 0) {
        window->kind = WINDOW_FILE;
        window->path = text + strlen(file);
        return *window->path != '\0';
    }
    for (window->kind = WINDOW_HANN; strcmp(text, window_name(window->kind)) != 0; window->kind++) {
        if (window->kind == WINDOW_RECT) {
            return 0;
        }
    }
    return window->kind != WINDOW_KAISER;
}

static int job_bank_parse_cutoff(const char *text, void *out)
{
    double value = CUTOFF_FLAT;
    int ok =
        strcmp(text, "flat") == 0 || (tree_parse_number(text, &value) && value >= 0 && value <= 64);
    memcpy(out, &value, sizeof value);
    return ok;
}

#define BANK(member) SCHEMA_AT(struct job_bank, member)

static const struct schema oversample_rows[] = {
    {"num", SCHEMA_WHOLE, "P, larger than Q", BANK(oversample.num), .is_required = 1, .min = 2,
     .max = 1000000},
    {"den", SCHEMA_WHOLE, "Q", BANK(oversample.den), .is_required = 1, .min = 1, .max = 1000000},
    {.key = NULL},
};

const struct schema job_bank_schema[] = {
    {"name", SCHEMA_TEXT, "name by which products refer to the bank (`bank`)",
     .absent = "none; required in a list of several", BANK(name), JOB_WITHOUT_EFFECT,
     .expected = "a name for products to call the bank by"},
    {"channels", SCHEMA_WHOLE, "channels made of each coarse channel (C)", BANK(channels),
     .unless = "width", .is_even = 1, .min = 2, .max = 1 << 30},
    {"width", SCHEMA_NUMBER,
     "instead of `channels`: spacing of the channels, Hz, of which the nearest even number of "
     "channels is made",
     BANK(width_hz), .unit = UNITS_FREQUENCY, .is_above = 1, .max = 1e15},
    {"taps", SCHEMA_WHOLE,
     "length of the filter in spectra (T); 1 is a windowed Fourier transform, without `cutoff` the "
     "bare one of the window",
     BANK(taps), SCHEMA_GIVEN(struct job_bank, has_taps, 1), .min = 1, .max = 1 << 24,
     .otherwise = "8"},
    {"oversample", SCHEMA_MAPPING,
     "`{num: P, den: Q}`: samples channels P/Q times as fast as their spacing", .absent = "1/1",
     .members = oversample_rows, SCHEMA_GIVEN(struct job_bank, is_oversampled, 1),
     .expected = "a mapping with num and den"},
    {"attenuation", SCHEMA_NUMBER,
     "with `oversample`, instead of `taps`: attenuation, in dB, of what aliases into the part of a "
     "channel that is kept",
     .absent = "as `taps` reach", BANK(attenuation), .unit = UNITS_DECIBEL, .min = 20, .max = 200},
    {"window", SCHEMA_TEXT, "window of the filter", BANK(window),
     SCHEMA_GIVEN(struct job_bank, has_window, 1), .parse = job_bank_parse_window, .is_path = 1,
     .otherwise = "hann",
     .expected = "one of hann, hamming, blackman, kaiser:BETA (0 to 100), rect, file:PATH"},
    {"window_points", SCHEMA_WHOLE,
     "coefficients per tap in the file of `window`, if it was made for another number of channels: "
     "they are resampled",
     .absent = "samples of a raw spectrum", BANK(window_points), .min = 1, .max = 1 << 30},
    {"cutoff", SCHEMA_PARSED,
     "bandwidth of the filter in channels: 1 puts -6 dB at the edges of a channel, 0 uses the "
     "window alone; `flat` finds the bandwidth with -3 dB there",
     .absent = "1; with `taps: 1` 0; oversampled: `num` / `den`", BANK(cutoff),
     SCHEMA_GIVEN(struct job_bank, has_cutoff, 1), .parse = job_bank_parse_cutoff, .otherwise = "1",
     .expected = "flat or a number from 0 to 64"},
    {"normalise", SCHEMA_CHOICE,
     "gain of the filter: `energy` keeps the variance of white noise, `peak` the amplitude of a "
     "tone at the centre of a channel, `none` the coefficients",
     BANK(normalise), .choices = normalise_names},
    {"order", SCHEMA_CHOICE,
     "order of the channels: ascending sky frequency, or `fft` as the transform gives it",
     BANK(order), .choices = order_names},
    {"backend", SCHEMA_CHOICE,
     "`opencl` computes on a GPU (or another OpenCL device), `cpu` on the processor, `reference` "
     "slowly, in double precision; `auto` is `opencl` if every rank sees a GPU, else `cpu`",
     BANK(backend), .choices = backend_names},
    {"kernel", SCHEMA_CHOICE,
     "OpenCL kernel (opencl.md): `fused` filters and transforms in one kernel, `fine` by columns "
     "and rows, the others filter before a library's FFT; `auto` measures them on the device and "
     "remembers",
     BANK(kernel), .choices = kernel_names},
    {"fft", SCHEMA_CHOICE, "FFT library on OpenCL devices, for kernels that use one", BANK(fft),
     .choices = fft_names},
    {.key = NULL},
};

/* The entry of `channelise` of this name; NULL: there is none. Without a name the first. */
static struct tree *job_bank_named(struct tree *root, const char *name)
{
    struct tree *bank = NULL;
    size_t i = 0;
    while ((bank = tree_entry(root, "channelise", i++)) && name && !tree_says(bank, "name", name)) {
    }
    return bank;
}

struct tree *job_bank_of(struct tree *root, struct tree *product)
{
    return job_bank_named(root, tree_value(product, "bank"));
}

/* Whether some product is of the bank. */
static int job_bank_is_used(struct tree *root, const struct tree *bank)
{
    int is_used = !tree_list(root, "products"); /* which has been told */
    for (size_t i = 0; tree_entry(root, "products", i); i++) {
        is_used |= job_bank_of(root, tree_entry(root, "products", i)) == bank;
    }
    return is_used;
}

/* Checks that the prototype of an oversampled bank leaves a number of taps to choose. */
static void job_bank_check_oversample(const struct job_bank *bank, struct tree *entry,
                                      struct mistakes *mistakes)
{
    const struct ratio ratio = bank->oversample;
    const int is_told = bank->attenuation > 0;
    if (bank->is_oversampled && ratio.num > 0 && ratio.den > 0 && ratio.num <= ratio.den) {
        mistakes_at(mistakes, entry, "oversample",
                    "is %u/%u, expected num to be greater than den (rate of spectra over distance "
                    "of channels)",
                    ratio.num, ratio.den);
    } else if (bank->is_oversampled && tree_says(entry, "cutoff", "flat")) {
        mistakes_at(mistakes, entry, "cutoff",
                    "is flat, but channels that are oversampled are flat as they are: expected a "
                    "number, or none");
    }
    if (is_told && !bank->is_oversampled) {
        mistakes_at(mistakes, entry, "attenuation",
                    "designs the prototype of an oversampled bank, expected oversample beside it");
    } else if (is_told && bank->has_taps) {
        mistakes_at(mistakes, entry, "attenuation",
                    "finds the number of taps, but taps says it, too: expected one of them");
    } else if (is_told && (bank->has_window || bank->has_cutoff)) {
        mistakes_at(mistakes, entry, "attenuation",
                    "finds window and cutoff, but %s says it, too: expected one of them",
                    bank->has_window ? "window" : "cutoff");
    }
}

/* Banks are distinguished by their names. */
static void job_bank_check_name(struct tree *root, struct tree *bank, int is_alone,
                                struct mistakes *mistakes)
{
    const char *name = tree_value(bank, "name");
    const struct tree *first = name ? job_bank_named(root, name) : bank;
    if (!tree_member(bank, "name") && !is_alone) {
        mistakes_at(mistakes, bank, "name",
                    "is missing, expected a name, which products say as their bank");
    } else if (first->index < bank->index) {
        mistakes_at(mistakes, bank, "name", "is that of channelise.%zu, too", first->index);
    }
}

/* A cutoff that is to be found must be able to make a channel wider or narrower. */
static void job_bank_check_cutoff(const struct job_bank *bank, struct tree *entry,
                                  struct mistakes *mistakes)
{
    if (!tree_says(entry, "cutoff", "flat")) {
        return;
    }
    if (bank->window.kind == WINDOW_FILE) {
        mistakes_at(mistakes, entry, "cutoff",
                    "is flat, but window is a file, which has the coefficients themselves: no "
                    "cutoff is applied to them, expected another window, or no cutoff");
    } else if (bank->taps == 1) {
        mistakes_at(mistakes, entry, "cutoff",
                    "is flat, but taps is 1, a Fourier transform whose channels are as wide as its "
                    "window makes them: expected at least 2 taps, or a number");
    }
}

void job_bank_check(const struct job *job, struct tree *root, struct mistakes *mistakes)
{
    const uint64_t most = (uint64_t)1 << 34; /* 64 GiB of coefficients */
    struct tree *entry;
    for (uint32_t i = 0; i < JOB_BANKS && (entry = tree_entry(root, "channelise", i)); i++) {
        const struct job_bank *bank = &job->banks[i];
        uint64_t coefficients = (uint64_t)bank->channels * bank->taps;
        mistakes_if(
            coefficients > most, mistakes, entry, tree_value(entry, "taps") ? "taps" : "channels",
            "%u channels times %u taps are %llu coefficients, expected at most %llu",
            bank->channels, bank->taps, (unsigned long long)coefficients, (unsigned long long)most);
        mistakes_if(bank->width_hz > 0 && tree_member(entry, "channels"), mistakes, entry, "width",
                    "gives the number of channels, as channels does: expected one of them");
        job_bank_check_name(root, entry, job->nbanks == 1, mistakes);
        mistakes_if(
            bank->window_points > 0 && !(bank->has_window && bank->window.kind == WINDOW_FILE),
            mistakes, entry, "window_points", "is how many coefficients a tap has in a file, %s",
            bank->has_window ? "but window is none: expected file:PATH there"
                             : "expected window: file:PATH beside it");
        job_bank_check_cutoff(bank, entry, mistakes);
        job_bank_check_oversample(bank, entry, mistakes);
        mistakes_if(job->nbanks > 1 && tree_value(entry, "name") && !job_bank_is_used(root, entry),
                    mistakes, entry, "name",
                    "is %.40s, but no product says that as its bank, expected one",
                    tree_value(entry, "name"));
    }
}

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
