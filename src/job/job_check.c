/* Checks of several keys of a job together. */
#include "base/units.h"
#include "job/job_schema.h"

#include <string.h>

/* Needs that the passes of a job have of each other: archive, filters, filter bank, dedispersions.
 */

/* Whether the job asks for a product of kind voltages. */
static int job_passes_has_voltages(struct tree *root)
{
    int has = 0;
    for (size_t i = 0; tree_entry(root, "products", i); i++) {
        has |= tree_says(tree_entry(root, "products", i), "kind", "voltages");
    }
    return has;
}

/* Without `channelise`, a job dedisperses a filterbank as it is. */
static void job_passes_filterbank(struct tree *root, struct mistakes *mistakes)
{
    static const char *const keys[] = {"input.layout", "input.select", "filter"};
    mistakes_if(tree_member(root, "products") != NULL, mistakes, root, "products",
                "expected none without channelise: dedisperse has a file of its own");
    for (size_t i = 0; i < 3; i++) {
        mistakes_if(tree_count(root, keys[i]) > 0, mistakes, root, keys[i],
                    "is for voltages, but without channelise the input is a filterbank (FBH5)");
    }
    mistakes_if(tree_count(root, "input.files") > 1, mistakes, root, "input.files",
                "expected one filterbank to dedisperse");
}

/* A product of kind voltages is what comes out of the filters, or of the archive: it stands alone,
 * where no filter bank is. */
static void job_passes_voltages(struct tree *root, struct mistakes *mistakes)
{
    int has_bank = tree_member(root, "channelise") != NULL;
    struct tree *product;
    for (size_t i = 0; (product = tree_entry(root, "products", i)); i++) {
        const char *kind = tree_value(product, "kind");
        int is_voltages = kind && strcmp(kind, "voltages") == 0;
        if (is_voltages && has_bank) {
            mistakes_at(mistakes, product, "kind",
                        "is voltages, which a job without channelise writes, alone");
        } else if (kind && !is_voltages && !has_bank) {
            mistakes_at(mistakes, product, "kind",
                        "is %s, which needs channelise: beside voltages there is no other product",
                        kind);
        } else if (is_voltages && i > 0) {
            mistakes_at(mistakes, product, "kind", "is voltages, expected one such product, alone");
        }
    }
}

/* A job channelises and may dedisperse what comes of it; or writes voltages again, filtered or cut;
 * or dedisperses a filterbank as it is. */
static void job_passes_order(struct tree *root, struct mistakes *mistakes)
{
    int dedisperses = tree_member(root, "dedisperse") != NULL;
    int has_bank = tree_member(root, "channelise") != NULL;
    mistakes_if(dedisperses && has_bank && !tree_member(root, "products"), mistakes, root,
                "products", "is missing, expected a list of products, each with kind and file");
    if (dedisperses && !has_bank) {
        job_passes_filterbank(root, mistakes);
    } else if (job_passes_has_voltages(root)) {
        job_passes_voltages(root, mistakes);
    } else {
        schema_require(mistakes, root, job_schema, "channelise");
    }
}

/* All that computes does so by one backend: those that are named must be alike. */
static void job_passes_backends(struct tree *root, struct mistakes *mistakes)
{
    static const char *const lists[] = {"channelise", "filter"};
    struct text path = {0};
    const char *first = NULL;
    for (size_t list = 0; list < 2; list++) {
        struct tree *entry;
        for (size_t i = 0; (entry = tree_entry(root, lists[list], i)); i++) {
            const char *backend = tree_value(entry, "backend");
            if (backend && !first) {
                first = backend;
                mistakes_keep(mistakes, tree_path(entry, &path));
            } else if (backend && strcmp(backend, first) != 0) {
                mistakes_at(
                    mistakes, entry, "backend",
                    "is %s, but %s.backend is %s: filters and filter banks have one backend",
                    backend, path.data, first);
            }
        }
    }
    text_free(&path);
}

/* `dedisperse.N.input` must name a power product. */
static void job_passes_dedisperse_input(struct tree *root, struct tree *entry,
                                        struct mistakes *mistakes)
{
    const char *text = tree_value(entry, "input"); /* at most JOB_PRODUCTS, in digits */
    struct tree *product = tree_entry(root, "products", (size_t)tree_number(entry, "input", 0));
    if (text && !tree_member(root, "channelise")) {
        mistakes_at(mistakes, entry, "input", "names a product, but the job makes none");
    } else if (text && !product) {
        mistakes_at(mistakes, entry, "input", "is %s, but there are %zu products (counted from 0)",
                    text, tree_list(root, "products") ? tree_count(root, "products") : 0);
    } else if (text && !tree_says(product, "kind", "power")) {
        mistakes_at(
            mistakes, entry, "input",
            "is %s, but products.%s is not of kind power: only power can be dedispersed here", text,
            text);
    }
}

/* A semi-coherent search makes one power product after the other, each of a filter of its own. */
static void job_passes_coherent(struct tree *root, struct tree *entry, struct mistakes *mistakes)
{
    const struct tree *filters = tree_list(root, "filter");
    int is_filtered = 0;
    for (size_t i = 0; tree_entry(root, "filter", i); i++) {
        is_filtered |= tree_member(tree_entry(root, "filter", i), "dispersion") != NULL;
    }
    if (!tree_list(entry, "coherent") || !tree_member(root, "channelise") || is_filtered) {
        return; /* the share of what is dedispersed already */
    }
    mistakes_if(tree_count(root, "dedisperse") > 1, mistakes, entry, "coherent",
                "expected one dedispersion: a semi-coherent search has no other");
    mistakes_if(tree_count(root, "products") > 1, mistakes, root, "products",
                "expected the power product alone: a semi-coherent search makes it for each "
                "coherent DM, and removes it");
    mistakes_if(filters && filters->nchildren >= JOB_FILTERS, mistakes, root, "filter",
                "has %zu entries, expected at most %d: a semi-coherent search adds one",
                tree_count(root, "filter"), JOB_FILTERS - 1);
}

/* The format of a product's complete file. */

/* Whether numbers are floats, and whether rows are compressed; values that were told are ignored.
 */
static int job_check_is_float(struct tree *product)
{
    return !tree_value(product, "bits") || tree_says(product, "bits", "32");
}

static int job_check_compresses(struct tree *product)
{
    return tree_value(product, "compress") && !tree_says(product, "compress", "none");
}

/* The format of a product's file: as `format` says, or its name. */
static enum file_format job_format_of(struct tree *product, const struct job_product *p)
{
    const char *file = tree_value(product, "file");
    return tree_value(product, "format") ? p->format : file ? file_format_of(file) : FILE_HDF5;
}

/* The same of what its file is when it is complete. */
static void job_format_check(struct tree *product, const struct job_product *p,
                             struct mistakes *mistakes)
{
    static const char *const endings[] = {".h5", ".fil", ".fits or .sf"};
    enum file_format format = job_format_of(product, p);
    const char *file = tree_value(product, "file");
    mistakes_if(tree_value(product, "format") && file && file_format_of(file) != format, mistakes,
                product, "file", "is %s, expected a name that ends in %s, as its format is %s",
                file, endings[format], file_format_name(format));
    if (format == FILE_HDF5) {
        return;
    }
    mistakes_if(!tree_says(product, "kind", "power"), mistakes, product,
                tree_value(product, "format") ? "format" : "file",
                "makes it a file of %s, which holds products of kind power alone",
                format == FILE_FIL ? "SIGPROC" : "PSRFITS");
    mistakes_if(job_check_compresses(product), mistakes, product, "compress",
                "is for products in HDF5, expected none");
    mistakes_if(tree_says(product, "bandpass", "median"), mistakes, product, "bandpass",
                "is for products in HDF5, expected none");
}

/* The two bounds of a selection, if there is one. */
static void job_check_bounds(struct tree *list, int is_utc, struct mistakes *mistakes)
{
    const char *first = tree_value(list, "0");
    const char *second = tree_value(list, "1");
    struct utc utc[2];
    uint64_t whole[2];
    int is_behind = 1;
    if (!first || !second) {
        return;
    }
    if (is_utc) {
        is_behind = units_parse_utc(first, &utc[0]) && units_parse_utc(second, &utc[1]) &&
                    utc_difference(utc[1], utc[0]) > 0;
    } else if (tree_parse_whole(first, &whole[0]) && tree_parse_whole(second, &whole[1])) {
        /* Large sample numbers differ by less than doubles can tell. */
        is_behind = whole[1] > whole[0];
    } else {
        is_behind = tree_number(list, "1", 0) > tree_number(list, "0", 0);
    }
    mistakes_if(!is_behind, mistakes, list, NULL, "ends at %.40s, expected %s than %.40s", second,
                is_utc ? "later" : "more", first);
}

static void job_check_select(struct tree *root, struct mistakes *mistakes)
{
    static const char *const lists[] = {"input.select.samples", "input.select.seconds",
                                        "input.select.utc"};
    int found = 0;
    struct tree *band = tree_at(root, "input.select.freq_hz");
    for (size_t i = 0; i < 3; i++) {
        int is_there = tree_count(root, lists[i]) > 0;
        mistakes_if(is_there && found, mistakes, root, lists[i],
                    "expected at most one of samples, seconds, utc");
        found |= is_there;
        job_check_bounds(tree_at(root, lists[i]), i == 2, mistakes);
    }
    job_check_bounds(band, 0, mistakes);
    mistakes_if(band && tree_at(root, "input.select.chans"), mistakes, band, NULL,
                "says which chans, too, expected one of them");
}

/* Whether two paths are the same text, a leading "./" aside. */
static int job_check_is_same(const char *a, const char *b)
{
    a += strncmp(a, "./", 2) == 0 ? 2 : 0;
    b += strncmp(b, "./", 2) == 0 ? 2 : 0;
    return strcmp(a, b) == 0;
}

/* Adds a mistake when a file of `entry`, an output, is that of an output before it, or an input. */
static void job_check_file(struct tree *root, struct tree *entry, const char *key,
                           struct mistakes *mistakes)
{
    /* Lists of outputs, then two of inputs. */
    enum { OUTPUTS = 4, LISTS = 6 };
    static const char *const lists[LISTS][2] = {
        {"products", "file"},         {"dedisperse", "file"}, {"dedisperse", "search.file"},
        {"dedisperse", "search.csv"}, {"input.files", ""},    {"filter", "coefficients"}};
    const char *file = tree_value(entry, key);
    struct text path = {0};
    int is_before = 1;
    for (size_t list = 0; list < LISTS && file; list++) {
        int is_mine = list < OUTPUTS && strcmp(lists[list][1], key) == 0;
        struct tree *other;
        for (size_t i = 0; (other = tree_entry(root, lists[list][0], i)); i++) {
            const char *name = tree_value(other, lists[list][1]);
            is_before = is_before && !(is_mine && other == entry);
            if ((is_before || list >= OUTPUTS) && name && job_check_is_same(file, name)) {
                mistakes_keep(mistakes, tree_path(other, &path));
                mistakes_at(mistakes, entry, key,
                            "is the same as %s%s%s, expected a file of its own", path.data,
                            *lists[list][1] ? "." : "", lists[list][1]);
                goto out;
            }
        }
    }
out:
    text_free(&path);
}

/* How voltages are stored. Their rows are samples: none of them can say that it is a hole. */
static void job_check_stored(struct tree *root, struct tree *product, const struct job_product *p,
                             struct mistakes *mistakes)
{
    mistakes_if(!job_check_is_float(product) && !tree_value(product, "scale"), mistakes, product,
                "scale",
                "is missing, expected the volts of 1 as it is stored: %u bits hold whole numbers",
                p->steps.bits);
    mistakes_if(
        job_check_compresses(product), mistakes, product, "compress",
        "is for products of kind power and spectra: archives of voltages are read where they lie");
    mistakes_if(tree_says(root, "run.on_bad", "nan"), mistakes, root, "run.on_bad",
                "is nan, but voltages have no rows that are marked: what cannot be read must stop "
                "the run, or be left out by input.select");
}

/* How spectra and power are stored. */
static void job_check_steps(struct tree *product, int is_voltages, struct mistakes *mistakes)
{
    static const char *const keys[] = {"scales", "scale_rows"};
    for (size_t i = 0; i < 2 && (is_voltages || job_check_is_float(product)); i++) {
        mistakes_if(tree_value(product, keys[i]) != NULL, mistakes, product, keys[i],
                    "is for products of kind power and spectra with 8 or 16 bits");
    }
    mistakes_if(!is_voltages && tree_value(product, "scale"), mistakes, product, "scale",
                "is for products of kind voltages: each channel of power and spectra has scales of "
                "its own");
}

/* Visibilities are floats in a file that other programs read, too. */
static void job_check_visibilities(struct tree *product, struct mistakes *mistakes)
{
    mistakes_if(!job_check_is_float(product), mistakes, product, "bits",
                "expected 32: visibilities are floats");
    mistakes_if(job_check_compresses(product), mistakes, product, "compress",
                "is for products of kind power and spectra");
}

/* Which of its frequencies a product has. */
static void job_check_kept(struct tree *product, const struct job_product *p,
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
    job_check_bounds(band, 0, mistakes);
}

/* Medians are of the numbers themselves. */
static void job_check_bandpass(struct tree *product, const struct job_product *p,
                               struct mistakes *mistakes)
{
    const int is_median = tree_says(product, "bandpass", "median");
    if (is_median && !tree_says(product, "kind", "power")) {
        mistakes_at(mistakes, product, "bandpass", "is for products of kind power");
    } else if (is_median && !job_check_is_float(product)) {
        mistakes_at(mistakes, product, "bandpass",
                    "is for floats, bits: 32: each block of rows of %u bits has scales of its own",
                    p->steps.bits);
    }
}

/* Adds the mistakes of a product's `droop`. */
static void job_droop_check(struct tree *root, struct tree *product, struct mistakes *mistakes)
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

static void job_check_product(struct tree *root, struct tree *product, const struct job_product *p,
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
        job_check_stored(root, product, p, mistakes);
    }
    if (tree_says(product, "kind", "visibilities")) {
        job_check_visibilities(product, mistakes);
    }
    job_check_steps(product, is_voltages, mistakes);
    job_check_kept(product, p, mistakes);
    mistakes_if(first_sum && tree_says(product, "sum.1", first_sum), mistakes, product, "sum",
                "is twice the same");
    job_format_check(product, p, mistakes);
    job_check_bandpass(product, p, mistakes);
    mistakes_if(tree_says(product, "kind", "power") && tree_value(product, "feed") &&
                    !tree_says(product, "polarisation", "IQUV"),
                mistakes, product, "feed", "is for polarisation: IQUV");
    job_flag_check(product, mistakes);
    job_droop_check(root, product, mistakes);
    job_bank_check_product(root, product, mistakes);
    job_check_file(root, product, "file", mistakes);
}

/* Adds the mistakes of `synthesise`, and of what it needs of the rest: it stands before all else,
 * and what comes of it are voltages; one backend computes all. */
static void job_synthesise_check(struct tree *root, struct mistakes *mistakes)
{
    static const char *const others[][2] = {{"channelise", "channelises"},
                                            {"dedisperse", "dedisperses"}};
    struct tree *entry = tree_member(root, "synthesise");
    struct tree *filter;
    if (!entry) {
        return;
    }
    const char *taps = tree_value(entry, "taps");
    const char *mine = tree_value(entry, "backend");
    for (size_t i = 0; i < 2; i++) {
        mistakes_if(tree_member(root, others[i][0]) != NULL, mistakes, root, "synthesise",
                    "makes voltages, which this job does not write but %s: expected two jobs, the "
                    "second of which reads the voltages of the first",
                    others[i][1]);
    }
    for (size_t i = 0; mine && (filter = tree_entry(root, "filter", i)); i++) {
        const char *backend = tree_value(filter, "backend");
        mistakes_if(backend && strcmp(backend, mine) != 0, mistakes, filter, "backend",
                    "is %s, but synthesise.backend is %s: both have one backend", backend, mine);
    }
    mistakes_if(taps && strcmp(taps, "auto") != 0 && tree_value(entry, "accuracy"), mistakes, entry,
                "accuracy", "chooses the taps, but taps is %s: expected one of them", taps);
    mistakes_if(tree_value(entry, "prototype_taps") &&
                    (!tree_value(entry, "prototype") || tree_says(entry, "prototype", "auto")),
                mistakes, entry, "prototype_taps",
                "is for a prototype from a file: an archive says its own");
    mistakes_if_descends(mistakes, tree_at(entry, "channels"), tree_at(entry, "channels"));
}

void job_check(const struct job *job, struct tree *root, struct mistakes *mistakes)
{
    struct tree *entry;
    job_layout_check(root, mistakes);
    job_check_select(root, mistakes);
    job_bank_check(job, root, mistakes);
    for (size_t i = 0; i < JOB_PRODUCTS && (entry = tree_entry(root, "products", i)); i++) {
        job_check_product(root, entry, &job->products[i], mistakes);
    }
    job_passes_order(root, mistakes);
    job_passes_backends(root, mistakes);
    job_synthesise_check(root, mistakes);
    job_array_check(root, mistakes);
    for (size_t i = 0; i < JOB_FILTERS && (entry = tree_entry(root, "filter", i)); i++) {
        job_filter_check(entry, mistakes);
    }
    for (size_t i = 0; i < JOB_DEDISPERSE && (entry = tree_entry(root, "dedisperse", i)); i++) {
        job_passes_dedisperse_input(root, entry, mistakes);
        job_passes_coherent(root, entry, mistakes);
        job_dedisperse_check(entry, mistakes);
        job_check_file(root, entry, "file", mistakes);
        job_check_file(root, entry, "search.file", mistakes);
        job_check_file(root, entry, "search.csv", mistakes);
    }
}
