/* Walks through a product and what its job and input make, object by object. */
#include "product/compare.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "product/codec.h"
#include "product/kind/kinds.h"
#include "product/places.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <sys/mman.h>

struct comparison {
    const char *path; /* of the product, for messages */
    const char *rows; /* its dataset of rows */
    int is_old, is_moved;
    enum compression compression; /* of the rows */
    double tstart_later; /* days by which its tstart is later than what is expected: it is the
                          * centre's in products before PRODUCT_VERSION_OF_EDGES */
    struct text first;   /* the first difference, in words */
    uint64_t count;      /* of differences */
};

/* The same object in both files. */
struct pair {
    hid_t found, expected;
    const char *name; /* "/data" */
};

/* Attributes and values of the same object in two files; what differs is noted. */

/* Values of a dataset that are read at once. */
enum { BLOCK = 1 << 17 };

/* The last bits may be another mathematical library's; relative. */
static const double rounding = 4 * DBL_EPSILON;

/* Notes a difference. */
static status_t compare_differ(struct comparison *comparison, const char *format, ...)
{
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return comparison->count++ == 0 ? text_add(&comparison->first, "%s", words) : STATUS_OK;
}

static int compare_is_number(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    return class == H5T_INTEGER || class == H5T_FLOAT;
}

/* Numbers of `type`, as doubles. `scale`: that rounding goes by. */
static int compare_is_same(hid_t type, double found, double expected, double scale)
{
    if (isnan(found) || isnan(expected)) {
        return isnan(found) && isnan(expected);
    }
    return found == expected ||
           (H5Tget_class(type) == H5T_FLOAT && fabs(found - expected) <= rounding * scale);
}

/* Notes numbers that differ, with as many digits as distinguish them. */
static status_t compare_differ_in_number(struct comparison *comparison, const char *what,
                                         double found, double expected)
{
    char text[2][32];
    for (int digits = 15; digits <= 17; digits += 2) {
        snprintf(text[0], sizeof text[0], "%.*g", digits, found);
        snprintf(text[1], sizeof text[1], "%.*g", digits, expected);
        if (strcmp(text[0], text[1]) != 0) {
            break;
        }
    }
    return compare_differ(comparison, "%s is %s, expected %s", what, text[0], text[1]);
}

/* Words that earlier programs wrote for what has another name now. */
static const struct renamed {
    const char *attribute, *before, *now;
} renamed[] = {{"mode", "brute", "exact"}};

static int compare_is_same_text(const char *name, const char *found, const char *expected)
{
    int is = strcmp(found, expected) == 0;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        is |= strcmp(name, renamed[i].attribute) == 0 && strcmp(found, renamed[i].before) == 0 &&
              strcmp(expected, renamed[i].now) == 0;
    }
    return is;
}

static status_t compare_attribute_text(struct comparison *comparison, const struct pair *pair,
                                       const char *name)
{
    SCOPED(free_at) char *found = NULL;
    SCOPED(free_at) char *expected = NULL;
    int is_there = 0;
    TRY(h5_get_text(pair->found, comparison->path, name, &found, &is_there));
    TRY(h5_get_text(pair->expected, comparison->path, name, &expected, &is_there));
    if (!compare_is_same_text(name, found, expected)) {
        TRY(compare_differ(comparison, "attribute %s of %s is \"%.80s\", expected \"%.80s\"", name,
                           pair->name, found, expected));
    }
    return STATUS_OK;
}

static status_t compare_attribute_number(struct comparison *comparison, const struct pair *pair,
                                         const char *name, hid_t type)
{
    double found = 0;
    double expected = 0;
    int is_there = 0;
    char what[256];
    TRY(h5_get_f64(pair->found, comparison->path, name, &found, &is_there));
    TRY(h5_get_f64(pair->expected, comparison->path, name, &expected, &is_there));
    if (strcmp(name, "tstart") == 0 && expected > 0) {
        expected += comparison->tstart_later;
    }
    if (!compare_is_same(type, found, expected, fabs(expected))) {
        snprintf(what, sizeof what, "attribute %s of %s", name, pair->name);
        TRY(compare_differ_in_number(comparison, what, found, expected));
    }
    return STATUS_OK;
}

/* Compares an attribute of both objects: type, shape, and the values of texts and numbers. Links
 * between scales and datasets are of other types: their objects are compared. Differences are
 * counted, and are no failure. Fails with DATA if one cannot be read; with DEVICE (memory). */
static status_t compare_attribute(struct comparison *comparison, const struct pair *pair,
                                  const char *name)
{
    SCOPED(h5_close_two) hid_t attributes[2] = {-1, -1};
    SCOPED(h5_close_two) hid_t types[2] = {-1, -1};
    SCOPED(h5_close_two) hid_t spaces[2] = {-1, -1};
    for (int i = 0; i < 2; i++) {
        attributes[i] = H5Aopen(i ? pair->expected : pair->found, name, H5P_DEFAULT);
        H5_TRY(attributes[i], "%s: attribute %s of %s cannot be opened", comparison->path, name,
               pair->name);
        types[i] = H5Aget_type(attributes[i]);
        spaces[i] = H5Aget_space(attributes[i]);
    }
    int is_text = H5Tget_class(types[1]) == H5T_STRING;
    if (H5Tget_class(types[0]) != H5Tget_class(types[1]) ||
        H5Sextent_equal(spaces[0], spaces[1]) <= 0 ||
        (!is_text && H5Tequal(types[0], types[1]) <= 0)) {
        TRY(compare_differ(comparison, "attribute %s of %s is of another type or shape", name,
                           pair->name));
    } else if (is_text && H5Sget_simple_extent_npoints(spaces[1]) == 1) {
        TRY(compare_attribute_text(comparison, pair, name));
    } else if (compare_is_number(types[1])) {
        TRY(compare_attribute_number(comparison, pair, name, types[1]));
    }
    return STATUS_OK;
}

/* Compares a block of numbers; reports only the first difference. */
static status_t compare_block(struct comparison *comparison, const struct pair *pair, hid_t type,
                              uint64_t first, uint64_t count, const char *found,
                              const char *expected)
{
    char what[256];
    size_t size = H5Tget_size(type);
    const double *a = (const double *)(const void *)found;
    const double *b = (const double *)(const void *)expected;
    double scale = 0;
    for (uint64_t i = 0; i < count && compare_is_number(type); i++) {
        scale = fmax(scale, fabs(b[i]));
    }
    for (uint64_t i = 0; i < count; i++) {
        if (compare_is_number(type) && !compare_is_same(type, a[i], b[i], scale)) {
            snprintf(what, sizeof what, "%s[%llu]", pair->name, (unsigned long long)(first + i));
            return compare_differ_in_number(comparison, what, a[i], b[i]);
        }
        if (!compare_is_number(type) && memcmp(found + i * size, expected + i * size, size) != 0) {
            return compare_differ(comparison, "%s[%llu] is \"%.*s\", expected \"%.*s\"", pair->name,
                                  (unsigned long long)(first + i), (int)size, found + i * size,
                                  (int)size, expected + i * size);
        }
    }
    return STATUS_OK;
}

/* The datasets' values in the order in which they are, some rows at a time. */
static status_t compare_values(struct comparison *comparison, const struct pair *pair)
{
    hsize_t start[H5S_MAX_RANK] = {0};
    hsize_t size[H5S_MAX_RANK] = {0};
    SCOPED(free_two) char *blocks[2] = {NULL, NULL};
    SCOPED(h5_close_at) hid_t type = H5Dget_type(pair->expected);
    SCOPED(h5_close_at) hid_t space = H5Dget_space(pair->expected);
    int rank = H5Sget_simple_extent_dims(space, size, NULL);
    hid_t as = compare_is_number(type) ? H5T_NATIVE_DOUBLE : type;
    hsize_t total = rank > 0 ? size[0] : 1;
    hsize_t row = 1;
    for (int i = 1; i < rank; i++) {
        row *= size[i];
    }
    hsize_t rows = max_u64(BLOCK / max_u64(row, 1), 1);
    for (; start[0] < total; start[0] += rows) {
        size[0] = min_u64(rows, total - start[0]);
        SCOPED(h5_close_at) hid_t memory = H5Screate_simple(rank, size, NULL);
        if (rank > 0) {
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL);
        }
        for (int i = 0; i < 2; i++) {
            if (!blocks[i]) {
                TRY(memory_zeroed(size[0] * row, H5Tget_size(as), pair->name, &blocks[i]));
            }
            H5_TRY(H5Dread(i ? pair->expected : pair->found, as, memory, space, H5P_DEFAULT,
                           blocks[i]),
                   "%s: %s%s cannot be read", comparison->path, i ? "what must be in " : "",
                   pair->name);
        }
        TRY(compare_block(comparison, pair, type, start[0] * row, size[0] * row, blocks[0],
                          blocks[1]));
    }
    return STATUS_OK;
}

/* CRCs of all else: added when all is there. */
static const char made_last[] = "objects";
static const char where_last[] = "/provenance/objects";

/* Who made it, of which bytes, and the job itself: from these all else is expected. */
static const char *const makers[] = {"version", "libraries", "arithmetic",
                                     "inputs",  "assumed",   "job"};

static const char *const file_names[] = {"rawdatafile", "filterbank"};

/* Links of dimension scales: followed by name. */
static const char *const links[] = {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"};

/* In format_version 2: 0 whatever the telescope, and a count of the whole observation. */
static const char *const changed[] = {"telescope_id", "gap_samples", "format_version", "title"};

/* Attributes that products of format_version 3 have only since the program writes them. */
static const char *const added[] = {
    "pol_type", "cutoff",   "units", "standard_name", "axis",
    "type",     "observer", "scale", "_Encoding",     "ancillary_variables"};

/* Whether it only explains. */
static int compare_is_prose(const char *name)
{
    const char *end = strrchr(name, '_');
    return (end && strcmp(end, "_convention") == 0) || strcmp(name, "long_name") == 0;
}

static int compare_has_name(const struct h5_names *names, const char *name)
{
    return text_is_among((const char *const *)names->names, names->count, name);
}

/* Notes what only one of both has. */
static status_t compare_names(struct comparison *comparison, const struct pair *pair, int of_links,
                              const struct h5_names *found, const struct h5_names *expected)
{
    const char *what = of_links ? "object" : "attribute";
    for (size_t i = 0; i < expected->count && !comparison->is_old; i++) {
        if (!compare_has_name(found, expected->names[i]) &&
            !TEXT_IS_AMONG(added, expected->names[i])) {
            TRY(compare_differ(comparison, "%s has no %s %s", pair->name, what,
                               expected->names[i]));
        }
    }
    for (size_t i = 0; i < found->count && !comparison->is_old; i++) {
        const char *name = found->names[i];
        if (!compare_has_name(expected, name) && !TEXT_IS_AMONG(makers, name) &&
            strcmp(name, made_last) != 0) {
            TRY(compare_differ(comparison,
                               "%s has an %s %.80s, which its job and input do not make",
                               pair->name, what, found->names[i]));
        }
    }
    return STATUS_OK;
}

static int compare_is_passed_over(const struct comparison *comparison, const char *name)
{
    return TEXT_IS_AMONG(makers, name) || TEXT_IS_AMONG(links, name) ||
           (comparison->is_moved && TEXT_IS_AMONG(file_names, name)) ||
           (comparison->is_old && (TEXT_IS_AMONG(changed, name) || compare_is_prose(name)));
}

/* Lists the names that both objects have, except ignored ones: of links, or of attributes. */
static status_t compare_list_names(struct comparison *comparison, const struct pair *pair,
                                   int of_links, struct h5_names *both)
{
    SCOPED(h5_names_free) struct h5_names found = {0};
    status_t (*list)(hid_t, const char *, const char *, struct h5_names *) =
        of_links ? h5_list_links : h5_list_attributes;
    TRY(list(pair->found, comparison->path, pair->name, &found));
    TRY(list(pair->expected, comparison->path, pair->name, both));
    TRY(compare_names(comparison, pair, of_links, &found, both));
    size_t kept = 0;
    for (size_t i = 0; i < both->count; i++) {
        char *name = both->names[i];
        if (compare_has_name(&found, name) &&
            (of_links || !compare_is_passed_over(comparison, name))) {
            both->names[kept++] = name;
        } else {
            free(name);
        }
    }
    both->count = kept;
    return STATUS_OK;
}

static status_t compare_object(struct comparison *comparison, const struct pair *group,
                               const char *name);

/* Compares the objects of two groups, or the attributes of two objects. */
static status_t compare_all(struct comparison *comparison, const struct pair *pair, int of_links)
{
    SCOPED(h5_names_free) struct h5_names names = {0};
    TRY(compare_list_names(comparison, pair, of_links, &names));
    for (size_t i = 0; i < names.count; i++) {
        TRY((of_links ? compare_object : compare_attribute)(comparison, pair, names.names[i]));
    }
    return STATUS_OK;
}

/* "time: /time " */
static status_t compare_describe_dimension(hid_t dataset, const char *name, int dim,
                                           struct text *out)
{
    char label[H5_SCALE_NAME];
    int is_scale = 0;
    TRY(h5_get_label(dataset, name, dim, label));
    TRY(text_add(out, "%s: ", label));
    TRY(h5_is_scale(dataset, name, &is_scale));
    return is_scale ? STATUS_OK : h5_list_scales(dataset, name, dim, out);
}

static status_t compare_dimensions(struct comparison *comparison, const struct pair *pair, int rank)
{
    SCOPED(text_free) struct text found = {0};
    SCOPED(text_free) struct text expected = {0};
    for (int i = 0; i < rank; i++) {
        found.length = 0;
        expected.length = 0;
        TRY(compare_describe_dimension(pair->found, pair->name, i, &found));
        TRY(compare_describe_dimension(pair->expected, pair->name, i, &expected));
        if (strcmp(found.data, expected.data) != 0) {
            TRY(compare_differ(comparison, "dimension %d of %s is %.80s, expected %.80s", i,
                               pair->name, found.data, expected.data));
        }
    }
    return STATUS_OK;
}

/* Returns whether one of the datasets beside the rows has this path. */
static int compare_is_place(const char *name)
{
    int is_one = 0;
    for (int i = 0; i < PLACE_COUNT; i++) {
        is_one |= strcmp(name, place_name((enum place)i)) == 0;
    }
    return is_one;
}

static status_t compare_datasets(struct comparison *comparison, const struct pair *pair)
{
    SCOPED(h5_close_two)
    hid_t spaces[2] = {H5Dget_space(pair->found), H5Dget_space(pair->expected)};
    SCOPED(h5_close_two) hid_t types[2] = {H5Dget_type(pair->found), H5Dget_type(pair->expected)};
    /* Values of these come with the rows. */
    int is_later =
        compare_is_place(pair->name + 1) || strcmp(pair->name + 1, comparison->rows) == 0;
    if (H5Sextent_equal(spaces[0], spaces[1]) <= 0 || H5Tequal(types[0], types[1]) <= 0) {
        TRY(compare_differ(comparison, "%s is of another type or shape", pair->name));
    } else {
        TRY(compare_dimensions(comparison, pair, H5Sget_simple_extent_ndims(spaces[1])));
        TRY(is_later ? STATUS_OK : compare_values(comparison, pair));
    }
    return STATUS_OK;
}

/* Compares an object that both groups have. */
static status_t compare_object(struct comparison *comparison, const struct pair *group,
                               const char *name)
{
    SCOPED(free_at) char *path = NULL;
    TRY(memory_format(&path, "%s/%s", strcmp(group->name, "/") == 0 ? "" : group->name, name));
    SCOPED(h5_close_at) hid_t found = H5Oopen(group->found, name, H5P_DEFAULT);
    H5_TRY(found, "%s: %s cannot be opened", comparison->path, path);
    SCOPED(h5_close_at) hid_t expected = H5Oopen(group->expected, name, H5P_DEFAULT);
    H5_TRY(expected, "what %s must be cannot be opened", path);
    const struct pair pair = {found, expected, path};
    if (H5Iget_type(pair.found) != H5Iget_type(pair.expected)) {
        TRY(compare_differ(comparison, "%s is another kind of object", pair.name));
    } else {
        TRY(compare_all(comparison, &pair, 0));
        TRY(H5Iget_type(pair.expected) == H5I_GROUP ? compare_all(comparison, &pair, 1)
                                                    : compare_datasets(comparison, &pair));
    }
    return STATUS_OK;
}

/* Makes what the product must say. A file in no folder, of which only what is written takes memory:
 * not its rows. */
static status_t compare_make_expected(const struct comparison *comparison,
                                      const struct product_spec *spec, hid_t *expected, int *fd)
{
    struct product_spec what = *spec;
    what.compression = comparison->compression;
    static const char path[] = "what a product must say";
    struct product_place place;
    uint64_t at = 0;
    *fd = memfd_create("expected", MFD_CLOEXEC);
    REQUIRE(*fd >= 0, STATUS_DEVICE, "no file in memory for the attributes of %s: %s",
            comparison->path, strerror(errno));
    TRY(h5_file_create(*fd, path, MARK_NONE, expected));
    TRY(kind_describe(*expected, &what, &place));
    TRY(kind_find_frequencies(*expected, path, &what, &at));
    return product_put_frequencies(*fd, path, &what, at);
}

SCOPED_CALLS(comparison_end, struct comparison, packed_rows_forget(at->compression),
             text_free(&at->first))
SCOPED_CALLS(pair_close, struct pair, h5_close(at->found), h5_close(at->expected))

status_t compare_product(const struct product *product, int is_moved,
                         const struct product_spec *spec)
{
    int is_of_centres = product->origin.version_of_format < PRODUCT_VERSION_OF_EDGES;
    SCOPED(file_close_at) int fd = -1;
    SCOPED(comparison_end)
    struct comparison comparison = {.path = product->path,
                                    .compression = product->compression,
                                    .rows = kind_of(product->kind)->rows,
                                    .is_old = product->origin.version_of_format < PRODUCT_VERSION,
                                    .is_moved = is_moved,
                                    .tstart_later =
                                        is_of_centres ? product->time_step / 2 / 86400 : 0};
    SCOPED(pair_close) struct pair pair = {-1, -1, "/"};
    int has_last = 0;
    TRY(compare_make_expected(&comparison, spec, &pair.expected, &fd));
    TRY(h5_open_file(product->path, &pair.found));
    TRY(compare_all(&comparison, &pair, 0));
    TRY(compare_all(&comparison, &pair, 1));
    TRY(h5_has(pair.found, product->path, where_last, &has_last));
    if (!has_last && product->origin.version_of_format >= PRODUCT_VERSION_OF_OBJECTS) {
        TRY(compare_differ(&comparison, "it has no %s", where_last));
    }
    if (comparison.count > 1) {
        TRY(text_add(&comparison.first, " (and %llu more differences)",
                     (unsigned long long)comparison.count - 1));
    }
    return REQUIRED(comparison.count == 0, STATUS_DATA,
                    "%s is not what its job and input make of it: %s", product->path,
                    comparison.first.data);
}
