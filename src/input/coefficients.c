/* Coefficients of filters and windows: text line by line, or a dataset of an HDF5 file. */
#include "input/coefficients.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "dsp/fir/fir_design.h"
#include "dsp/fir/prototype.h"
#include "input/about.h"
#include "io/file_rights.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_versions.h"
#include "io/hdf5/h5_walk.h"
#include "io/mark.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_BYTES = 1 << 30, /* of a file: 64 for each of the most coefficients */
    WORD_BYTES = 128,
    SHOWN = 40 /* of a word in messages */
};

static const char blanks[] = " \t\r\f\v,";

/* Reads "(0.5-0.25j)", with brackets or without, of which `length` bytes may be written to. */
static int coefficients_parse_pair(char *word, size_t length, double pair[2])
{
    if (length > 2 && word[0] == '(' && word[length - 1] == ')') {
        word[length - 1] = '\0';
        word++;
        length -= 2;
    }
    if (length < 2 || (word[length - 1] != 'j' && word[length - 1] != 'i')) {
        return 0;
    }
    word[length - 1] = '\0';
    /* The last sign that is not an exponent's begins the imaginary part. */
    size_t at = length - 1;
    while (at > 0 && !((word[at] == '+' || word[at] == '-') && tolower(word[at - 1]) != 'e')) {
        at--;
    }
    if (at == 0) {
        return 0;
    }
    int ok = units_parse_f64(word + at, &pair[1]);
    /* savetxt() has written "+-" for a minus. */
    at -= at > 1 && word[at] == '-' && word[at - 1] == '+';
    word[at] = '\0';
    return ok && units_parse_f64(word, &pair[0]);
}

/* The numbers of a line: *n of them, at most 2, whether the line says or shows that they are one
 * complex coefficient. */
static status_t coefficients_parse_line(const char *path, size_t number, const char *line,
                                        double pair[2], size_t *n)
{
    char word[WORD_BYTES];
    *n = 0;
    for (line += strspn(line, blanks); *line; line += strspn(line, blanks)) {
        size_t length = strcspn(line, blanks);
        REQUIRE(length < WORD_BYTES && *n < 2, STATUS_DATA,
                "%s, line %zu: '%.*s' is too much, expected one coefficient a line: a number, or "
                "two of a complex one",
                path, number, (int)(length < SHOWN ? length : SHOWN), line);
        memcpy(word, line, length);
        word[length] = '\0';
        if (*n == 0 && coefficients_parse_pair(word, length, pair)) {
            *n = 2;
        } else {
            memcpy(word, line, length);
            word[length] = '\0';
            REQUIRE(units_parse_f64(word, &pair[*n]), STATUS_DATA,
                    "%s, line %zu: '%.*s' is no number, expected one coefficient a line", path,
                    number, SHOWN, word);
            *n += 1;
        }
        line += length;
    }
    return STATUS_OK;
}

/* Splits the text, which it writes to, into lines. */
static status_t coefficients_take_lines(const char *path, char *text, struct coefficients *out)
{
    size_t number = 0;
    size_t first_line = 0;
    for (char *line = text; line;) {
        char *end = strchr(line, '\n');
        double pair[2];
        size_t n = 0;
        number++;
        if (end) {
            *end = '\0';
        }
        line[strcspn(line, "#")] = '\0';
        TRY(coefficients_parse_line(path, number, line, pair, &n));
        first_line = n && !first_line ? number : first_line;
        REQUIRE(n == 0 || out->count == 0 || (n == 2) == out->is_complex, STATUS_DATA,
                "%s, line %zu: a %s coefficient, but those from line %zu on are %s", path, number,
                n == 2 ? "complex" : "real", first_line, n == 2 ? "real" : "complex");
        if (n) {
            out->is_complex = n == 2;
            REQUIRE(out->count / n < FIR_MOST_TAPS, STATUS_DATA,
                    "%s, line %zu: more than %d coefficients", path, number, FIR_MOST_TAPS);
            TRY(memory_grown(out->count + n, sizeof *out->values, "coefficients of a filter",
                             &out->values));
            memcpy(out->values + out->count, pair, n * sizeof *pair);
            out->count += n;
        }
        line = end ? end + 1 : NULL;
    }
    return STATUS_OK;
}

/* Read coefficients. Start from {0}; the caller frees *out, also when they fail. Values are not
 * checked yet. Fail with DATA, DEVICE. */
static status_t coefficients_read_text(const char *path, struct coefficients *out)
{
    SCOPED(text_free) struct text text = {0};
    TRY(text_read_file(&text, path, MOST_BYTES, "a file of coefficients"));
    size_t nul = text_line_of_nul(text.data, text.length);
    REQUIRE(nul == 0, STATUS_DATA, "%s, line %zu: a NUL byte, expected text or HDF5", path, nul);
    return coefficients_take_lines(path, text.data, out);
}

/* Datasets found so far, and the path of the first. */
struct datasets {
    size_t count;
    char *name;
};

/* Coefficients in a dataset. */

static status_t coefficients_note_dataset(const struct h5_found *found, void *out, int *is_enough)
{
    struct datasets *datasets = out;
    (void)is_enough;
    if (!found->is_new || found->type != H5O_TYPE_DATASET) {
        return STATUS_OK;
    }
    return datasets->count++ == 0 ? memory_text(found->path, &datasets->name) : STATUS_OK;
}

SCOPED_CALLS(datasets_free, struct datasets, free(at->name))

/* Finds the name of the dataset: the requested one, "coefficients", or the only one. */
static status_t coefficients_find(hid_t file, const char *path, const char *member, char **out)
{
    SCOPED(datasets_free) struct datasets found = {0};
    SCOPED(text_free) struct text names = {0};
    int is_there = 0;
    const char *name = member ? member + strspn(member, "/") : "coefficients";
    TRY(h5_has(file, path, name, &is_there));
    if (is_there) {
        TRY(memory_text(name, out));
        return STATUS_OK;
    }
    if (member) {
        TRY(holds_names(file, path, &names));
        return report_fail(STATUS_DATA, "%s contains no dataset /%s; it contains %s", path, name,
                           names.length ? names.data : "none at all");
    }
    TRY(h5_walk(file, path, coefficients_note_dataset, &found));
    if (found.count != 1) {
        TRY(holds_names(file, path, &names));
        return report_fail(STATUS_DATA,
                           "%s contains no dataset /coefficients, nor only one; it contains %s",
                           path, names.length ? names.data : "none at all");
    }
    *out = memory_move(&found.name);
    return STATUS_OK;
}

/* Checks that all of it is in this file, which alone is known as an input of the job. */
static status_t coefficients_check_place(hid_t file, const struct h5_dataset *dataset,
                                         const char *path, const char *name)
{
    SCOPED(h5_close_at) hid_t list = H5Dget_create_plist(dataset->id);
    H5_TRY(list, "%s: how /%s is stored cannot be read", path, name);
    int is_here = h5_share_file(file, dataset->id);
    H5_TRY(is_here, "%s: /%s cannot be read", path, name);
    return REQUIRED(
        is_here && H5Pget_layout(list) != H5D_VIRTUAL && H5Pget_external_count(list) <= 0,
        STATUS_DATA, "%s: the numbers of /%s are in other files, expected them in this one", path,
        name);
}

/* Reads shape and type: one number for each coefficient, or two. */
static status_t coefficients_read_shape(const struct h5_dataset *dataset, const char *where,
                                        struct coefficients *out)
{
    H5T_class_t class = H5Tget_class(dataset->type);
    int is_compound = class == H5T_COMPOUND;
    int has_pairs = dataset->rank == 2 && dataset->dims[1] == 2 && !is_compound;
    int is_vector = dataset->rank == 1 || (dataset->rank == 2 && !has_pairs &&
                                           (dataset->dims[0] == 1 || dataset->dims[1] == 1));
    uint64_t count = dataset->rank == 2 && !has_pairs && dataset->dims[0] == 1 ? dataset->dims[1]
                                                                               : dataset->dims[0];
    REQUIRE(is_vector || has_pairs, STATUS_DATA,
            "%s: its rank is %d, expected 1, or 2 with the shape [coefficients][2], or of a row or "
            "a column",
            where, dataset->rank);
    REQUIRE(is_compound || class == H5T_INTEGER || class == H5T_FLOAT, STATUS_DATA,
            "%s: expected integers, floating point, or compounds of two of them", where);
    REQUIRE(count <= FIR_MOST_TAPS, STATUS_DATA, "%s: %llu coefficients, expected at most %d",
            where, (unsigned long long)count, FIR_MOST_TAPS);
    out->is_complex = is_compound || has_pairs;
    out->count = count * (out->is_complex ? 2 : 1);
    return STATUS_OK;
}

/* Reads coefficients from HDF5. `member`: a name in the file, or NULL. */
static status_t coefficients_read_hdf5(const char *path, const char *member,
                                       struct coefficients *out)
{
    SCOPED(h5_close_at) hid_t file = -1;
    SCOPED(h5_close_at) hid_t pair = -1;
    SCOPED(free_at) char *name = NULL;
    SCOPED(text_free) struct text where = {0};
    SCOPED(h5_dataset_close) struct h5_dataset dataset = {0};
    TRY(h5_open_file(path, &file));
    TRY(coefficients_find(file, path, member, &name));
    TRY(text_add(&where, "%s: /%s", path, name));
    TRY(h5_dataset_open(file, path, name, &dataset));
    TRY(coefficients_check_place(file, &dataset, path, name));
    TRY(coefficients_read_shape(&dataset, where.data, out));
    if (H5Tget_class(dataset.type) == H5T_COMPOUND) {
        TRY(h5_pair_type(dataset.type, H5T_NATIVE_DOUBLE, where.data, &pair));
    }
    TRY(memory_zeroed((size_t)out->count, sizeof *out->values, "coefficients of a filter",
                      &out->values));
    return H5_TRIED(H5Dread(dataset.id, pair >= 0 ? pair : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL,
                            H5P_DEFAULT, out->values),
                    "%s cannot be read", where.data);
}

static const struct pack_field pointers[] = {
    PACK_LIST(struct coefficients, values, count, &pack_numbers)};
static const struct pack_type coefficients_type = PACK_WHOLE(struct coefficients, pointers);

/* Reads, judges, packs and unpacks the coefficients of a job's filters and windows. */

/* Backends compute in 32-bit floats. */
static status_t coefficients_check(const char *path, const struct coefficients *c)
{
    double largest = 0;
    REQUIRE(c->count > 0, STATUS_DATA, "%s contains no coefficients", path);
    for (uint64_t i = 0; i < c->count; i++) {
        double magnitude = fabs(c->values[i]);
        REQUIRE(isfinite(magnitude), STATUS_DATA,
                "%s: coefficient %" PRIu64 " (from 0) is %f, expected a number", path,
                i / (c->is_complex ? 2 : 1), c->values[i]);
        largest = fmax(largest, magnitude);
    }
    return REQUIRED(largest >= (double)FLT_MIN && largest <= sqrt((double)FLT_MAX), STATUS_DATA,
                    largest > 0
                        ? "%s: the largest of the coefficients is %g, beyond what 32-bit floats "
                          "can compute with"
                        : "%s: all coefficients are %g",
                    path, largest);
}

status_t coefficients_split(const char *named, char **path, const char **member)
{
    const char *colon = strrchr(named, ':');
    int has_member = colon && colon > named && colon[1] != '\0' && access(named, F_OK) != 0;
    TRY(memory_text(named, path));
    *member = has_member ? colon + 1 : NULL;
    (*path)[has_member ? (size_t)(colon - named) : strlen(named)] = '\0';
    return STATUS_OK;
}

/* The header of version 5 ends with a mark: 0x0100 and "MI" as 16-bit numbers of either order. */
static int coefficients_is_mat(const char *path)
{
    enum { MARK_AT = 124, HEADER_BYTES = 128 };
    char head[HEADER_BYTES];
    FILE *file = fopen(path, "rb");
    int is_mat =
        file && fread(head, 1, sizeof head, file) == sizeof head &&
        (memcmp(head + MARK_AT, "\0\1IM", 4) == 0 || memcmp(head + MARK_AT, "\1\0MI", 4) == 0);
    text_close(file);
    return is_mat;
}

/* A window, text, and unreadable files are left to the caller that knows how many numbers there
 * must be (dsp/fir/prototype.h): there is none then. */
static status_t coefficients_read_file(const char *path, const char *member, int is_window,
                                       struct coefficients *out)
{
    struct identity identity; /* who is no ordinary file is not opened */
    struct stat info;
    apart_at("%s", path);
    if (is_window && (stat(path, &info) != 0 || !S_ISREG(info.st_mode))) {
        return STATUS_OK;
    }
    TRY(identity_of_path(path, &identity));
    TRY(mark_refuse(-1, path));
    if (h5_is_hdf5(path) > 0) {
        TRY(coefficients_read_hdf5(path, member, out));
    } else {
        REQUIRE(!coefficients_is_mat(path), STATUS_DATA,
                "%s is a MATLAB file of version 5: `python3 -m voltmill coefficients %s%s%s "
                "FILE.h5` makes a file of coefficients of it",
                path, path, member ? ":" : "", member ? member : "");
        REQUIRE(!member, STATUS_DATA,
                "%s is not HDF5, so nothing in it has a name, but %s is asked for", path, member);
        TRY(is_window ? STATUS_OK : coefficients_read_text(path, out));
    }
    TRY(is_window && out->count == 0 ? STATUS_OK : coefficients_check(path, out));
    return REQUIRED(!is_window || !out->is_complex, STATUS_DATA,
                    "%s: complex coefficients, but those of a window are real", path);
}

static status_t coefficients_describe(const struct apart_request *request, void **out)
{
    TRY(memory_zeroed(1, sizeof(struct coefficients), "coefficients", out));
    return coefficients_read_file(request->path, request->name, request->wants != 0, *out);
}

const struct description coefficients_description = {"coefficients", &coefficients_type,
                                                     coefficients_describe};

/* Where a job names coefficients, and where they go: of its filters, then its windows. */
struct place {
    const char *named;                 /* NULL: nowhere here */
    const struct telescope *telescope; /* that is its name */
    int is_window;
    double **values;
    uint32_t *count; /* of coefficients */
    int *is_complex; /* NULL: they are real */
};

static struct place coefficients_place(const struct job *job, uint32_t i)
{
    struct place place = {.named = NULL};
    if (i < job->nfilters) {
        struct job_filter *filter = &job->filters[i];
        place = (struct place){.named = job_filter_file(filter),
                               .values = &filter->taps,
                               .count = &filter->ntaps,
                               .is_complex = &filter->is_complex};
        place.telescope = place.named && filter->source != FILTER_COEFFICIENTS
                              ? telescope_find(place.named)
                              : NULL;
    } else {
        struct job_window *window = &job->banks[i - job->nfilters].window;
        place = (struct place){.named = window->path,
                               .is_window = 1,
                               .values = &window->values,
                               .count = &window->nvalues};
    }
    return place;
}

static uint32_t coefficients_places(const struct job *job)
{
    return job->nfilters + job->nbanks;
}

/* Moves the coefficients to a place of the job, and destroys *c. */
static void coefficients_take(struct coefficients *c, const struct place *place)
{
    free(*place->values);
    *place->values = c->count > 0 ? c->values : NULL;
    c->values = c->count > 0 ? NULL : c->values;
    *place->count = (uint32_t)(c->count / (c->is_complex ? 2 : 1));
    if (place->is_complex) {
        *place->is_complex = c->is_complex;
    }
    pack_destroy(c, &coefficients_type);
}

static status_t coefficients_ask(const struct place *place)
{
    struct apart_request request = {.wants = (uint64_t)place->is_window};
    SCOPED(free_at) char *path = NULL;
    void *found = NULL;
    TRY(coefficients_split(place->named, &path, &request.name));
    request.path = path;
    TRY(apart_describe(&coefficients_description, &request, &found));
    coefficients_take(found, place);
    return STATUS_OK;
}

status_t coefficients_read(struct job *job)
{
    for (uint32_t i = 0; i < coefficients_places(job); i++) {
        const struct place place = coefficients_place(job, i);
        if (place.telescope) {
            double *made = NULL;
            TRY(telescope_prototype(place.telescope, &made));
            free(*place.values);
            *place.values = made;
            *place.count = place.telescope->taps * place.telescope->points;
        } else if (place.named) {
            TRY(coefficients_ask(&place));
        }
    }
    return STATUS_OK;
}

status_t coefficients_read_real(const char *named, double **out, uint64_t *count)
{
    SCOPED(free_at) double *values = NULL;
    uint32_t found = 0;
    int is_complex = 0;
    const struct place place = {
        .named = named, .values = &values, .count = &found, .is_complex = &is_complex};
    TRY(coefficients_ask(&place));
    REQUIRE(!is_complex, STATUS_DATA, "%s contains complex coefficients, expected real ones",
            named);
    *count = found;
    *out = memory_move(&values);
    return STATUS_OK;
}

status_t coefficients_pack(const struct job *job, struct text *out)
{
    for (uint32_t i = 0; i < coefficients_places(job); i++) {
        const struct place place = coefficients_place(job, i);
        if (place.named) {
            const int is_complex = place.is_complex && *place.is_complex;
            const struct coefficients c = {
                *place.values, (uint64_t)*place.count * (is_complex ? 2 : 1), is_complex};
            TRY(pack_struct(out, &c, &coefficients_type));
        }
    }
    return STATUS_OK;
}

status_t coefficients_unpack(struct unpack *in, struct job *job)
{
    for (uint32_t i = 0; i < coefficients_places(job); i++) {
        const struct place place = coefficients_place(job, i);
        if (place.named) {
            void *found = NULL;
            TRY(unpack_new(in, &coefficients_type, "coefficients", &found));
            coefficients_take(found, &place);
        }
    }
    return STATUS_OK;
}
