/* `products` in a job file: the keys of a product, and what they must have in common. */
#include "base/memory.h"
#include "base/units.h"
#include "job/job_schema.h"

#include <string.h>

/* `products.N.flag` in a job file: its keys, and what they must have in common with the product. */

enum {
    JOB_RANGES = 1 << 16,
    JOB_FLAG_SPECTRA = 1024,  /* of a cell, where that suits */
    JOB_KURTOSIS_SPECTRA = 8, /* at least */
    JOB_KURTOSIS_SIGMA = 6    /* at most */
};

static const struct schema range_rows[] = {
    {"range", SCHEMA_WHOLE, "first and last channel", SCHEMA_PAIR(struct job_range, first),
     .max = 0x1p40, .is_required = 1, .expected = "two whole numbers: [first, last]"},
    {.key = NULL},
};

#define FLAG(member) SCHEMA_AT(struct job_flag, member)

static const struct schema flag_rows[] = {
    {"kurtosis", SCHEMA_NUMBER,
     "omits cells whose spectral kurtosis differs by N sigma from that of noise (steady tones are "
     "below, pulses above), and stores it; 0 only stores it",
     FLAG(kurtosis), SCHEMA_GIVEN(struct job_flag, has_kurtosis, 1), .max = JOB_KURTOSIS_SIGMA},
    {"spectra", SCHEMA_WHOLE,
     "spectra of a cell; it divides `integrate`. Kurtosis needs at least 8, and detects more with "
     "hundreds",
     .absent = "1024 if that divides `integrate`, else `integrate`", FLAG(spectra), .min = 1,
     .max = 0x1p40},
    {"mask", SCHEMA_TEXT, "file of channels and times to omit", FLAG(mask), .is_path = 1,
     .expected = "the path of a text file of frequencies and times, or of a product with /flags"},
    {"channels", SCHEMA_MAPPING,
     "channels to omit, by number among those of the filter bank (coarse channels side by side, "
     "from 0); the last of a range is included",
     SCHEMA_LIST(struct job_flag, channels, nchannels, 1, JOB_RANGES), .members = range_rows,
     .list_key = "range", .expected = "a list of ranges: [[first, last], ...]"},
    {.key = NULL},
};

static uint64_t job_flag_spectra(uint64_t integrate)
{
    return integrate % JOB_FLAG_SPECTRA == 0 ? JOB_FLAG_SPECTRA : integrate;
}

void job_flag_settle(struct job_product *product)
{
    struct job_flag *flag = &product->flag;
    flag->spectra = flag->spectra > 0 ? flag->spectra : job_flag_spectra(product->integrate);
}

static void job_product_check_cell(struct tree *product, struct tree *flag,
                                   struct mistakes *mistakes)
{
    uint64_t integrate = (uint64_t)tree_number(product, "integrate", 1);
    uint64_t spectra = (uint64_t)tree_number(flag, "spectra", 0);
    uint64_t cell = spectra > 0 ? spectra : job_flag_spectra(max_u64(integrate, 1));
    const char *key = spectra > 0 ? "spectra" : NULL;
    const char *written = tree_value(product, "integrate");
    if (written && units_of(written)) {
        return; /* a time: the number of spectra is not known yet */
    }
    if (integrate % cell != 0) {
        mistakes_at(mistakes, flag, key,
                    "is %llu, expected a number that divides integrate, %llu: a row is made of "
                    "whole cells",
                    (unsigned long long)cell, (unsigned long long)integrate);
    } else if (tree_value(flag, "kurtosis") && cell < JOB_KURTOSIS_SPECTRA) {
        mistakes_at(mistakes, flag, key,
                    "takes the kurtosis of %llu spectra, expected at least %d (integrate is %llu)",
                    (unsigned long long)cell, JOB_KURTOSIS_SPECTRA, (unsigned long long)integrate);
    }
}

static void job_product_check_flag(struct tree *product, struct mistakes *mistakes)
{
    struct tree *flag = tree_at(product, "flag");
    struct tree *entry;
    if (!flag) {
        return;
    }
    mistakes_if(!tree_at(flag, "kurtosis") && !tree_at(flag, "mask") && !tree_at(flag, "channels"),
                mistakes, product, "flag", "expected kurtosis, mask or channels in it");
    for (size_t i = 0; (entry = tree_entry(flag, "channels", i)); i++) {
        mistakes_if_descends(mistakes, tree_at(entry, "range"), entry);
    }
    job_product_check_cell(product, flag, mistakes);
}

/* Parses an entry of `droop` (a schema's `parse`). */
static int job_droop_parse(const char *text, void *out)
{
    static const char file[] = "file:";
    struct job_droop *droop = out;
    if (strncmp(text, file, strlen(file)) == 0) {
        droop->path = text + strlen(file);
        return *droop->path != '\0';
    }
    return strcmp(text, "correct") == 0;
}

#define PRODUCT_NAME(id, name, quantity, is_filterbank) #name,

#define FOR(kinds, words) SCHEMA_NEEDS({"kind", kinds, "is for products of kind " words})
#define FOR_POWER "kind", "power", "is for products of kind power"
#define FOR_ROWS FOR("power|spectra", "power and spectra")

const struct schema job_product_schema[] = {
    {"kind", SCHEMA_CHOICE,
     "`spectra`: complex voltages of every channel; `power`: detected and integrated (FBH5, for "
     "blimpy and turbo_seti); `voltages`: filtered samples, an archive in the native layout; "
     "`visibilities`: correlations of stations (UVH5)",
     SCHEMA_AT(struct job_product, kind), .is_required = 1,
     .choices = (const char *const[]){PRODUCT_KINDS_OF_JOB(PRODUCT_NAME) NULL}},
    {"file", SCHEMA_TEXT,
     "file to write, another one for each product; its directory is made if necessary",
     SCHEMA_AT(struct job_product, file), .is_path = 1, .is_required = 1, JOB_WITHOUT_EFFECT,
     .expected = "the path of the file to write"},
    {"bank", SCHEMA_TEXT, "name of the filter bank that makes it", .absent = "the first",
     SCHEMA_AT(struct job_product, bank_name), JOB_WITHOUT_EFFECT,
     .expected = "the name of an entry of channelise"},
    {"integrate", SCHEMA_WHOLE,
     "spectra summed into one row (`power`, `visibilities`), or a time such as `10 ms`, of which "
     "the nearest number of spectra is made",
     SCHEMA_AT(struct job_product, integrate), .unit = UNITS_TIME,
     .amount_at = offsetof(struct job_product, integrate_s), .min = 1, .max = 0x1p40,
     .otherwise = "1",
     .expected = "a whole number from 1 to 1099511627776, or a time with a unit, such as 10 ms"},
    {"channels", SCHEMA_WHOLE,
     "channels to keep, by number on the product's frequency axis (coarse channels side by side, "
     "from 0); the last is included",
     .absent = "all", SCHEMA_PAIR(struct job_product, first_channel),
     SCHEMA_GIVEN(struct job_product, has_channels, 1), .max = 0x1p40,
     .expected = "two whole numbers: [first, last]", FOR_ROWS},
    {"freq_hz", SCHEMA_NUMBER,
     "instead of `channels`: keeps the channels with their centres in this band; with `average`, "
     "and as many more as complete a mean",
     .absent = "all", SCHEMA_PAIR(struct job_product, from_hz),
     SCHEMA_GIVEN(struct job_product, has_freq, 1), .unit = UNITS_FREQUENCY, .min = -1e15,
     .max = 1e15, .expected = "two frequencies in Hz: [from, to]", FOR_ROWS},
    {"average", SCHEMA_WHOLE,
     "`power` and `visibilities`: number of neighbouring channels averaged into one (of power "
     "without NaN); it divides the number of channels that are kept, of visibilities those of a "
     "coarse channel",
     SCHEMA_AT(struct job_product, average), .min = 1, .max = 1 << 30, .otherwise = "1"},
    {"centre", SCHEMA_MAPPING,
     "`visibilities`: their own phase centre, by phases alone beyond `array.centre`",
     SCHEMA_AT(struct job_product, centre), .members = job_direction_schema,
     .absent = "`array.centre`", FOR("visibilities", "visibilities"),
     .expected = "ra_deg and dec_deg"},
    {"pairs", SCHEMA_TEXT,
     "`visibilities`: pairs of stations: `all`, `crosses` (without autocorrelations), `autos`, or "
     "a list of pairs such as `CS001*CS002`, by name or number",
     SCHEMA_LIST(struct job_product, pairs, npairs, 1, 1 << 20), .absent = "all",
     .expected = "all, crosses, autos, or a list of pairs such as CS001*CS002",
     FOR("visibilities", "visibilities")},
    {"polarisation", SCHEMA_CHOICE,
     "`power` of two polarisations: each by itself, their sum, Stokes parameters, or `|A|^2`, "
     "`|B|^2`, `Re A B*`, `Im A B*` (products.md)",
     SCHEMA_AT(struct job_product, combine.polarisation), .choices = polarisation_names,
     SCHEMA_NEEDS({FOR_POWER})},
    {"stokes_v", SCHEMA_CHOICE,
     "`IQUV`: sign of V, which is RR - LL with `iau` and LL - RR with `psr`",
     SCHEMA_AT(struct job_product, combine.stokes.v), .choices = stokes_v_names,
     SCHEMA_NEEDS({FOR_POWER}, {"polarisation", "IQUV", "is for polarisation: IQUV"})},
    {"feed", SCHEMA_CHOICE,
     "`IQUV` and `visibilities`: type of the feed; `auto` knows the names of polarisations X and "
     "Y, H and V (H is X), R and L",
     SCHEMA_AT(struct job_product, combine.stokes.feed), .choices = feed_names,
     FOR("power|visibilities", "power and visibilities")},
    {"sum", SCHEMA_CHOICE, "`power`: streams that are summed incoherently",
     SCHEMA_LIST(struct job_product, sums, nsums, 1, 2), SCHEMA_CHOICES("stations", "beams"),
     .values = (const int[]){AXIS_STATION, AXIS_BEAM}, SCHEMA_NEEDS({FOR_POWER})},
    {"sum_weights", SCHEMA_TEXT,
     "`sum`: text file with a factor for the power of each station or beam (of both: of each beam "
     "of each station), separated by blanks or line ends; # starts a comment",
     .absent = "all 1", SCHEMA_AT(struct job_product, sum_file), .is_path = 1,
     .expected = "the path of a text file with a number for each station or beam",
     SCHEMA_NEEDS({FOR_POWER},
                  {"sum", NULL, "is for sums, expected sum: stations, beams or both, too"})},
    {"weights", SCHEMA_CHOICE,
     "`power` with missing samples: `renormalise` divides a row by its weight (products.md), `raw` "
     "does not",
     SCHEMA_AT(struct job_product, is_raw), SCHEMA_CHOICES("renormalise", "raw"),
     FOR("power", "power: nothing else is renormalised")},
    {"min_weight", SCHEMA_NUMBER, "rows (of visibilities: pairs) with a smaller weight are NaN",
     SCHEMA_AT(struct job_product, weights.least), .max = 1, .otherwise = "0.1",
     FOR("power|spectra|visibilities", "power, spectra and visibilities")},
    {"flag", SCHEMA_MAPPING, "`power`: cells of a channel that are omitted from the sums",
     SCHEMA_AT(struct job_product, flag), .members = flag_rows,
     SCHEMA_GIVEN(struct job_product, is_flagged, 1),
     .expected = "a mapping with kurtosis, mask or channels", SCHEMA_NEEDS({FOR_POWER})},
    {"droop", SCHEMA_TEXT,
     "`power` and `spectra`: divides channels by the gain of earlier stages: `correct` for the "
     "job's own filters, `file:PATH` for a table (filters.md#droop)",
     SCHEMA_LIST(struct job_product, droop, ndroop, 1, 2), .parse = job_droop_parse, .is_path = 1,
     .expected = "correct, file:PATH, or a list of both", FOR_ROWS},
    {"bits", SCHEMA_CHOICE,
     "32-bit floating point, or integers of 8 or 16 bits: `power` and `spectra` with a scale and "
     "an offset for each channel (products.md#few-bits), `voltages` with one `scale`",
     SCHEMA_AT(struct job_product, steps.bits), SCHEMA_CHOICES("32", "16", "8"),
     .values = (const int[]){32, 16, 8}, .otherwise = "32"},
    {"scales", SCHEMA_CHOICE,
     "`power` and `spectra` in 8 or 16 bits: scales of its own for each block of rows, or those of "
     "the first block for all, which is faster for `spectra` (products.md#few-bits)",
     SCHEMA_AT(struct job_product, steps.are_first), SCHEMA_CHOICES("block", "first")},
    {"scale_rows", SCHEMA_WHOLE,
     "`power` and `spectra` in 8 or 16 bits: rows of a block with its own scales. Chunks begin "
     "with a block: fewer rows keep more ranks busy and store more scales",
     .absent = "`auto`: 1024; at most a sixteenth of all rows, but at least 64; fewer, down to 16, "
               "if that is more than 128 MiB as floats",
     SCHEMA_AT(struct job_product, steps.rows), .min = 1, .max = TERMS_MOST_SCALE_ROWS,
     .may_be_auto = 1},
    {"scale", SCHEMA_NUMBER,
     "`voltages`: volts of the stored number 1; larger values are clipped and counted",
     .absent = "1; required for 8 and 16 bits", SCHEMA_AT(struct job_product, scale),
     SCHEMA_GIVEN(struct job_product, has_scale, 1), .min = TERMS_LEAST_SCALE,
     .max = TERMS_MOST_SCALE, .otherwise = "1"},
    {"bandpass", SCHEMA_CHOICE,
     "`power` in HDF5 and 32 bits: `median` stores the median of each channel over all rows "
     "(products.md)",
     SCHEMA_AT(struct job_product, has_bandpass), SCHEMA_CHOICES("none", "median")},
    {"compress", SCHEMA_CHOICE,
     "`power` and `spectra`: compression of the rows when all are complete "
     "(products.md#compressed-rows)",
     SCHEMA_AT(struct job_product, compression), SCHEMA_CHOICES(COMPRESSION_NAMES)},
    {"format", SCHEMA_CHOICE,
     "`power`: format of the complete file, HDF5 or as `voltmill export` writes it (export.md)",
     .absent = "by the ending of `file`: `.fil`; `.fits`, `.sf`; else `hdf5`",
     SCHEMA_AT(struct job_product, format), SCHEMA_GIVEN(struct job_product, has_format, 1),
     JOB_WITHOUT_EFFECT, SCHEMA_CHOICES("hdf5", "fil", "psrfits")},
    {.key = NULL},
};

/* Whether numbers are floats, and whether rows are compressed; values that were told are ignored.
 */
static int job_product_is_float(struct tree *product)
{
    return !tree_value(product, "bits") || tree_says(product, "bits", "32");
}

static int job_product_compresses(struct tree *product)
{
    return tree_value(product, "compress") && !tree_says(product, "compress", "none");
}

/* Checks the format of a product's file. */
static void job_product_check_format(struct tree *product, const struct job_product *p,
                                     struct mistakes *mistakes)
{
    static const char *const endings[] = {".h5", ".fil", ".fits or .sf"};
    const char *file = tree_value(product, "file");
    enum file_format format = tree_value(product, "format") ? p->format
                              : file                        ? file_format_of(file)
                                                            : FILE_HDF5;
    mistakes_if(tree_value(product, "format") && file && file_format_of(file) != format, mistakes,
                product, "file", "is %s, expected a name that ends in %s, as its format is %s",
                file, endings[format], file_format_name(format));
    if (format == FILE_HDF5) {
        return;
    }
    mistakes_if(!tree_says(product, "kind", "power"), mistakes, product,
                tree_value(product, "format") ? "format" : "file",
                "makes it a file of %s, which contains products of kind power alone",
                format == FILE_FIL ? "SIGPROC" : "PSRFITS");
    mistakes_if(job_product_compresses(product), mistakes, product, "compress",
                "is for products in HDF5, expected none");
    mistakes_if(tree_says(product, "bandpass", "median"), mistakes, product, "bandpass",
                "is for products in HDF5, expected none");
}

/* Checks how voltages are stored. Their rows are samples, which cannot mark themselves as holes. */
static void job_product_check_stored(struct tree *root, struct tree *product,
                                     const struct job_product *p, struct mistakes *mistakes)
{
    mistakes_if(!job_product_is_float(product) && !tree_value(product, "scale"), mistakes, product,
                "scale",
                "is missing, expected the volts of 1 as it is stored: %u bits hold whole numbers",
                p->steps.bits);
    mistakes_if(
        job_product_compresses(product), mistakes, product, "compress",
        "is for products of kind power and spectra: archives of voltages are read where they lie");
    mistakes_if(tree_says(root, "run.on_bad", "nan"), mistakes, root, "run.on_bad",
                "is nan, but voltages have no rows that are marked: what cannot be read must stop "
                "the run, or be left out by input.select");
}

/* Checks how spectra and power are stored. */
static void job_product_check_steps(struct tree *product, int is_voltages,
                                    struct mistakes *mistakes)
{
    static const char *const keys[] = {"scales", "scale_rows"};
    for (size_t i = 0; i < 2 && (is_voltages || job_product_is_float(product)); i++) {
        mistakes_if(tree_value(product, keys[i]) != NULL, mistakes, product, keys[i],
                    "is for products of kind power and spectra with 8 or 16 bits");
    }
    mistakes_if(!is_voltages && tree_value(product, "scale"), mistakes, product, "scale",
                "is for products of kind voltages: each channel of power and spectra has scales of "
                "its own");
}

/* Checks the keys that select a product's frequencies. */
static void job_product_check_kept(struct tree *product, const struct job_product *p,
                                   struct mistakes *mistakes)
{
    struct tree *band = tree_list(product, "freq_hz");
    struct tree *channels = tree_at(product, "channels");
    mistakes_if(tree_member(product, "average") &&
                    (tree_says(product, "kind", "voltages") ||
                     (tree_says(product, "kind", "spectra") && p->average > 1)),
                mistakes, product, "average", "is for products of kind power and visibilities");
    mistakes_if(tree_list(product, "channels") && band, mistakes, band, NULL,
                "says which channels, too, expected one of them");
    mistakes_if_descends(mistakes, channels, channels);
}

/* Medians are of the numbers themselves. */
static void job_product_check_bandpass(struct tree *product, const struct job_product *p,
                                       struct mistakes *mistakes)
{
    const int is_median = tree_says(product, "bandpass", "median");
    if (is_median && !tree_says(product, "kind", "power")) {
        mistakes_at(mistakes, product, "bandpass", "is for products of kind power");
    } else if (is_median && !job_product_is_float(product)) {
        mistakes_at(mistakes, product, "bandpass",
                    "is for floats, bits: 32: each block of rows of %u bits has scales of its own",
                    p->steps.bits);
    }
}

/* Adds the mistakes of a product's `droop`. */
static void job_product_check_droop(struct tree *root, struct tree *product,
                                    struct mistakes *mistakes)
{
    struct tree *entry;
    int found[2] = {0}; /* files; corrections of the job's own */
    for (size_t i = 0; (entry = tree_entry(product, "droop", i)); i++) {
        const char *text = tree_value(entry, "");
        int is_correct = text && strcmp(text, "correct") == 0;
        mistakes_if(text && found[is_correct], mistakes, product, "droop",
                    "has two %s, expected one of each", is_correct ? "of correct" : "files");
        found[is_correct] |= text != NULL;
    }
    mistakes_if(found[1] && !tree_at(root, "filter"), mistakes, product, "droop",
                "is correct, which is for what the job's own filters do, but it has no filter: "
                "expected file:PATH, a table of gains");
}

/* Checks the bank that makes a product. */
static void job_product_check_bank(struct tree *root, struct tree *product,
                                   struct mistakes *mistakes)
{
    const char *name = tree_value(product, "bank");
    struct tree *bank = job_bank_of(root, product);
    mistakes_if(name && !bank, mistakes, product, "bank",
                "is %.40s, expected the name of an entry of channelise", name);
    mistakes_if(
        bank && tree_says(product, "kind", "power") && tree_says(bank, "order", "fft"), mistakes,
        product, "kind",
        "is power, but channelise.order is fft: the frequency axis of a power product must ascend");
    mistakes_if(bank && tree_member(bank, "oversample") && tree_at(product, "flag.kurtosis"),
                mistakes, product, "flag.kurtosis",
                "takes spectra for independent ones, but those of an oversampled bank share "
                "samples: expected flag.mask or flag.channels");
    mistakes_if(bank && tree_list(product, "freq_hz") && tree_says(bank, "order", "fft"), mistakes,
                product, "freq_hz",
                "is for frequencies that ascend, but channelise.order is fft: expected channels");
}

void job_product_check(struct tree *root, struct tree *product, const struct job_product *p,
                       struct mistakes *mistakes)
{
    int is_voltages = tree_says(product, "kind", "voltages");
    int is_summed = !is_voltages && !tree_says(product, "kind", "spectra");
    const char *integrate = tree_value(product, "integrate");
    const char *first_sum = tree_value(product, "sum.0");
    if (!is_summed && integrate && strcmp(integrate, "1") != 0) {
        mistakes_at(mistakes, product, "integrate",
                    "is %s, but only products of kind power and visibilities are integrated",
                    integrate);
    }
    if (is_voltages) {
        job_product_check_stored(root, product, p, mistakes);
    }
    if (tree_says(product, "kind", "visibilities")) {
        mistakes_if(!job_product_is_float(product), mistakes, product, "bits",
                    "expected 32: visibilities are floats");
        mistakes_if(job_product_compresses(product), mistakes, product, "compress",
                    "is for products of kind power and spectra");
    }
    job_product_check_steps(product, is_voltages, mistakes);
    job_product_check_kept(product, p, mistakes);
    mistakes_if(first_sum && tree_says(product, "sum.1", first_sum), mistakes, product, "sum",
                "is twice the same");
    job_product_check_format(product, p, mistakes);
    job_product_check_bandpass(product, p, mistakes);
    mistakes_if(tree_says(product, "kind", "power") && tree_value(product, "feed") &&
                    !tree_says(product, "polarisation", "IQUV"),
                mistakes, product, "feed", "is for polarisation: IQUV");
    job_product_check_flag(product, mistakes);
    job_product_check_droop(root, product, mistakes);
    job_product_check_bank(root, product, mistakes);
}
