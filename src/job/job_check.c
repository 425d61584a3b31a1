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

/* Checks a job without `channelise`, which dedisperses a filterbank. */
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

/* Checks that `dedisperse.N.input` names a power product. */
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

/* Checks the two bounds of a selection, if there is one. */
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
    SCOPED(text_free) struct text path = {0};
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
                return;
            }
        }
    }
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
        job_product_check(root, entry, &job->products[i], mistakes);
        job_check_bounds(tree_list(entry, "freq_hz"), 0, mistakes);
        job_check_file(root, entry, "file", mistakes);
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
