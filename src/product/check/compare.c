#include "product/check/compare.h"

#include "base/memory.h"
#include "io/hdf5/h5_file.h"
#include "product/check/compare_parts.h"

#include <errno.h>
#include <hdf5_hl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Values that come with the rows. */
static const char *const made_later[] = {"/spectra",
                                         "/data",
                                         "/dedispersed",
                                         "/time",
                                         "/provenance/missing_samples",
                                         "/provenance/crc32",
                                         "/provenance/holes"};

/* CRCs of all else: added when all is there. */
static const char made_last[] = "objects";
static const char where_last[] = "/provenance/objects";

/* Who made it, of which bytes, and the job itself: from these all else is expected. */
static const char *const makers[] = {"version", "libraries", "arithmetic", "inputs", "job"};

static const char *const file_names[] = {"rawdatafile", "filterbank"};

/* Links of dimension scales: followed by name. */
static const char *const links[] = {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"};

/* In format_version 2: 0 whatever the telescope, and a count of the whole observation. */
static const char *const changed[] = {"telescope_id", "gap_samples", "format_version", "title"};

#define IS_AMONG(names, name) compare_is_among(names, sizeof(names) / sizeof *(names), name)

static int compare_is_among(const char *const *names, size_t count, const char *name)
{
    int is = 0;
    for (size_t i = 0; i < count; i++) {
        is |= strcmp(names[i], name) == 0;
    }
    return is;
}

/* Whether it only explains. */
static int compare_is_prose(const char *name)
{
    const char *end = strrchr(name, '_');
    return (end && strcmp(end, "_convention") == 0) || strcmp(name, "long_name") == 0;
}

status_t compare_differ(struct comparison *comparison, const char *format, ...)
{
    status_t st = STATUS_OK;
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (comparison->count++ == 0) {
        TRY(text_add(&comparison->first, "%s", words));
    }
out:
    return st;
}

/* Names of a group's links, or of an object's attributes. */
struct names {
    char **names;
    size_t count, room;
};

static herr_t compare_take_name(struct names *names, const char *name)
{
    if (names->count == names->room) {
        size_t room = 2 * names->room + 16;
        char **grown = realloc(names->names, room * sizeof *grown);
        if (!grown) {
            return -1;
        }
        names->names = grown;
        names->room = room;
    }
    names->names[names->count] = NULL;
    if (memory_text(name, &names->names[names->count]) != STATUS_OK) {
        return -1;
    }
    names->count++;
    return 0;
}

static herr_t compare_take_link(hid_t group, const char *name, const H5L_info_t *info,
                                void *context)
{
    (void)group;
    (void)info;
    return compare_take_name(context, name);
}

static herr_t compare_take_attribute(hid_t object, const char *name, const H5A_info_t *info,
                                     void *context)
{
    (void)object;
    (void)info;
    return compare_take_name(context, name);
}

static status_t compare_list_names(const struct comparison *comparison, hid_t object, int of_links,
                                   const char *name, struct names *out)
{
    status_t st = STATUS_OK;
    herr_t done =
        of_links
            ? H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, NULL, compare_take_link, out)
            : H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, compare_take_attribute, out);
    H5_TRY(done, "%s: %s cannot be listed", comparison->path, name);
out:
    return st;
}

static void compare_names_free(struct names *names)
{
    h5_free_texts(names->names, names->count);
}

static int compare_has_name(const struct names *names, const char *name)
{
    return compare_is_among((const char *const *)names->names, names->count, name);
}

/* Notes what only one of both has. */
static status_t compare_names(struct comparison *comparison, const struct pair *pair, int of_links,
                              const struct names *found, const struct names *expected)
{
    status_t st = STATUS_OK;
    const char *what = of_links ? "object" : "attribute";
    for (size_t i = 0; i < expected->count && !comparison->is_old; i++) {
        if (!compare_has_name(found, expected->names[i])) {
            TRY(compare_differ(comparison, "%s has no %s %s", pair->name, what,
                               expected->names[i]));
        }
    }
    for (size_t i = 0; i < found->count && !comparison->is_old; i++) {
        const char *name = found->names[i];
        if (!compare_has_name(expected, name) && !IS_AMONG(makers, name) &&
            strcmp(name, made_last) != 0) {
            TRY(compare_differ(comparison,
                               "%s has an %s %.80s, which its job and input do not make",
                               pair->name, what, found->names[i]));
        }
    }
out:
    return st;
}

static int compare_is_passed_over(const struct comparison *comparison, const char *name)
{
    return IS_AMONG(makers, name) || IS_AMONG(links, name) ||
           (comparison->is_moved && IS_AMONG(file_names, name)) ||
           (comparison->is_old && (IS_AMONG(changed, name) || compare_is_prose(name)));
}

static status_t compare_attributes(struct comparison *comparison, const struct pair *pair)
{
    status_t st = STATUS_OK;
    struct names found = {0};
    struct names expected = {0};
    TRY(compare_list_names(comparison, pair->found, 0, pair->name, &found));
    TRY(compare_list_names(comparison, pair->expected, 0, pair->name, &expected));
    TRY(compare_names(comparison, pair, 0, &found, &expected));
    for (size_t i = 0; i < expected.count; i++) {
        const char *name = expected.names[i];
        if (compare_has_name(&found, name) && !compare_is_passed_over(comparison, name)) {
            TRY(compare_attribute(comparison, pair, name));
        }
    }
out:
    compare_names_free(&found);
    compare_names_free(&expected);
    return st;
}

static herr_t compare_add_scale(hid_t dataset, unsigned dim, hid_t scale, void *context)
{
    (void)dataset;
    (void)dim;
    char name[256] = "";
    H5Iget_name(scale, name, sizeof name);
    return text_add(context, "%s ", name) == STATUS_OK ? 0 : -1;
}

/* "time: /time " */
static status_t compare_describe_dimension(hid_t dataset, unsigned dim, struct text *out)
{
    status_t st = STATUS_OK;
    char label[128] = "";
    if (H5DSget_label(dataset, dim, label, sizeof label) < 0) {
        label[0] = '\0';
    }
    TRY(text_add(out, "%s: ", label));
    if (H5DSis_scale(dataset) <= 0) {
        H5_TRY(H5DSiterate_scales(dataset, dim, NULL, compare_add_scale, out),
               "a dimension's scales cannot be listed");
    }
out:
    return st;
}

static status_t compare_dimensions(struct comparison *comparison, const struct pair *pair, int rank)
{
    status_t st = STATUS_OK;
    struct text words[2] = {{0}, {0}};
    for (int i = 0; i < rank; i++) {
        words[0].length = 0;
        words[1].length = 0;
        TRY(compare_describe_dimension(pair->found, (unsigned)i, &words[0]));
        TRY(compare_describe_dimension(pair->expected, (unsigned)i, &words[1]));
        if (strcmp(words[0].data, words[1].data) != 0) {
            TRY(compare_differ(comparison, "dimension %d of %s is %.80s, expected %.80s", i,
                               pair->name, words[0].data, words[1].data));
        }
    }
out:
    text_free(&words[0]);
    text_free(&words[1]);
    return st;
}

static status_t compare_datasets(struct comparison *comparison, const struct pair *pair)
{
    status_t st = STATUS_OK;
    hid_t spaces[2] = {H5Dget_space(pair->found), H5Dget_space(pair->expected)};
    hid_t types[2] = {H5Dget_type(pair->found), H5Dget_type(pair->expected)};
    int later = IS_AMONG(made_later, pair->name);
    int rank = H5Sget_simple_extent_ndims(spaces[1]);
    if (H5Sextent_equal(spaces[0], spaces[1]) <= 0 || H5Tequal(types[0], types[1]) <= 0) {
        TRY(compare_differ(comparison, "%s is of another type or shape", pair->name));
        goto out;
    }
    TRY(compare_dimensions(comparison, pair, rank));
    if (!later) {
        TRY(compare_values(comparison, pair));
    }
out:
    for (int i = 0; i < 2; i++) {
        h5_close(spaces[i]);
        h5_close(types[i]);
    }
    return st;
}

static status_t compare_groups(struct comparison *comparison, const struct pair *pair);

/* An object of both groups. */
static status_t compare_object(struct comparison *comparison, const struct pair *group,
                               const char *name)
{
    status_t st = STATUS_OK;
    struct text path = {0};
    struct pair pair = {-1, -1, NULL};
    TRY(text_add(&path, "%s/%s", strcmp(group->name, "/") == 0 ? "" : group->name, name));
    pair.name = path.data;
    pair.found = H5Oopen(group->found, name, H5P_DEFAULT);
    H5_TRY(pair.found, "%s: %s cannot be opened", comparison->path, pair.name);
    pair.expected = H5Oopen(group->expected, name, H5P_DEFAULT);
    H5_TRY(pair.expected, "what %s must be cannot be opened", pair.name);
    if (H5Iget_type(pair.found) != H5Iget_type(pair.expected)) {
        TRY(compare_differ(comparison, "%s is another kind of object", pair.name));
    } else if (H5Iget_type(pair.expected) == H5I_GROUP) {
        TRY(compare_groups(comparison, &pair));
    } else {
        TRY(compare_attributes(comparison, &pair));
        TRY(compare_datasets(comparison, &pair));
    }
out:
    h5_close(pair.found);
    h5_close(pair.expected);
    text_free(&path);
    return st;
}

static status_t compare_groups(struct comparison *comparison, const struct pair *pair)
{
    status_t st = STATUS_OK;
    struct names found = {0};
    struct names expected = {0};
    TRY(compare_attributes(comparison, pair));
    TRY(compare_list_names(comparison, pair->found, 1, pair->name, &found));
    TRY(compare_list_names(comparison, pair->expected, 1, pair->name, &expected));
    TRY(compare_names(comparison, pair, 1, &found, &expected));
    for (size_t i = 0; i < expected.count; i++) {
        if (compare_has_name(&found, expected.names[i])) {
            TRY(compare_object(comparison, pair, expected.names[i]));
        }
    }
out:
    compare_names_free(&found);
    compare_names_free(&expected);
    return st;
}

/* Makes what the product must say. A file in no folder, of which only what is written takes memory:
 * not its rows. */
static status_t compare_make_expected(const struct comparison *comparison,
                                      const struct product_spec *spec, hid_t *expected, int *fd)
{
    status_t st = STATUS_OK;
    char path[64];
    struct product_place place;
    *fd = memfd_create("expected", MFD_CLOEXEC);
    REQUIRE(*fd >= 0, STATUS_DEVICE, "no room for what %s must say: %s", comparison->path,
            strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    TRY(h5_file_create(path, expected));
    TRY(product_describe(*expected, spec, &place));
out:
    return st;
}

status_t compare_product(const struct product *product, int is_moved,
                         const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    int is_of_centres = product->version_of_format < PRODUCT_VERSION_OF_EDGES;
    struct comparison comparison = {.path = product->path,
                                    .is_old = product->version_of_format < PRODUCT_VERSION,
                                    .is_moved = is_moved,
                                    .tstart_later =
                                        is_of_centres ? product->time_step / 2 / 86400 : 0};
    struct pair pair = {-1, -1, "/"};
    int has_last = 0;
    int fd = -1;
    TRY(compare_make_expected(&comparison, spec, &pair.expected, &fd));
    TRY(h5_open_file(product->path, &pair.found));
    TRY(compare_groups(&comparison, &pair));
    TRY(h5_has(pair.found, product->path, where_last, &has_last));
    if (!has_last && product->version_of_format >= PRODUCT_VERSION_OF_OBJECTS) {
        TRY(compare_differ(&comparison, "it has no %s", where_last));
    }
    if (comparison.count > 1) {
        TRY(text_add(&comparison.first, " (and %llu more differences)",
                     (unsigned long long)comparison.count - 1));
    }
    REQUIRE(comparison.count == 0, STATUS_DATA, "%s is not what its job and input make of it: %s",
            product->path, comparison.first.data);
out:
    h5_close(pair.found);
    h5_close(pair.expected);
    text_free(&comparison.first);
    if (fd >= 0) {
        close(fd);
    }
    return st;
}
