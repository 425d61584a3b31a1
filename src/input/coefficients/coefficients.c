/* Reads, judges, packs and unpacks the coefficients of a job's filters and windows. */
#include "input/coefficients/coefficients.h"

#include "base/memory.h"
#include "dsp/telescope.h"
#include "input/coefficients/coefficients_parts.h"
#include "io/file_rights.h"
#include "io/hdf5/h5.h"
#include "io/mark.h"

#include <float.h>
#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct pack_field pointers[] = {
    PACK_LIST(struct coefficients, values, count, &pack_numbers)};
static const struct pack_type coefficients_type = PACK_WHOLE(struct coefficients, pointers);

/* Backends compute in 32-bit floats. */
static status_t coefficients_check(const char *path, const struct coefficients *c)
{
    status_t st = STATUS_OK;
    double largest = 0;
    REQUIRE(c->count > 0, STATUS_DATA, "%s holds no coefficients", path);
    for (uint64_t i = 0; i < c->count; i++) {
        double magnitude = fabs(c->values[i]);
        REQUIRE(isfinite(magnitude), STATUS_DATA,
                "%s: coefficient %" PRIu64 " (from 0) is %f, expected a number", path,
                i / (c->is_complex ? 2 : 1), c->values[i]);
        largest = fmax(largest, magnitude);
    }
    REQUIRE(largest >= (double)FLT_MIN && largest <= sqrt((double)FLT_MAX), STATUS_DATA,
            largest > 0 ? "%s: the largest of the coefficients is %g, beyond what 32-bit floats "
                          "can compute with"
                        : "%s: all coefficients are %g",
            path, largest);
out:
    return st;
}

status_t coefficients_split(const char *named, char **path, const char **member)
{
    status_t st = STATUS_OK;
    const char *colon = strrchr(named, ':');
    int has_member = colon && colon > named && colon[1] != '\0' && access(named, F_OK) != 0;
    TRY(memory_text(named, path));
    *member = has_member ? colon + 1 : NULL;
    (*path)[has_member ? (size_t)(colon - named) : strlen(named)] = '\0';
out:
    return st;
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
    if (file) {
        fclose(file);
    }
    return is_mat;
}

/* Of a window, text, and what cannot be read, is left to who knows how many numbers there must be
 * (dsp/fir/prototype.h): there is none then. */
static status_t coefficients_read_file(const char *path, const char *member, int is_window,
                                       struct coefficients *out)
{
    status_t st = STATUS_OK;
    struct identity identity; /* who is no ordinary file is not opened */
    struct stat info;
    apart_at("%s", path);
    if (is_window && (stat(path, &info) != 0 || !S_ISREG(info.st_mode))) {
        return STATUS_OK;
    }
    TRY(identity_of_path(path, &identity));
    TRY(mark_refuse(path));
    if (h5_is_hdf5(path) > 0) {
        TRY(coefficients_read_hdf5(path, member, out));
    } else {
        REQUIRE(
            !coefficients_is_mat(path), STATUS_DATA,
            "%s is a MATLAB file of version 5: `python3 -m voltmill coefficients %s%s%s FILE.h5` "
            "makes a file of coefficients of it",
            path, path, member ? ":" : "", member ? member : "");
        REQUIRE(!member, STATUS_DATA,
                "%s is not HDF5, so nothing in it has a name, but %s is asked for", path, member);
        TRY(is_window ? STATUS_OK : coefficients_read_text(path, out));
    }
    TRY(is_window && out->count == 0 ? STATUS_OK : coefficients_check(path, out));
    REQUIRE(!is_window || !out->is_complex, STATUS_DATA,
            "%s: complex coefficients, but those of a window are real", path);
out:
    return st;
}

static status_t coefficients_answer(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct coefficients c = {0};
    char *path = NULL;
    char *member = NULL;
    TRY(apart_path(question, &path));
    member = unpack_text(question);
    int is_window = unpack_u64(question) != 0;
    TRY(unpack_check(question, "coefficients"));
    TRY(coefficients_read_file(path, member, is_window, &c));
    TRY(pack_struct(answer, &c, &coefficients_type));
out:
    free(c.values);
    free(member);
    free(path);
    return st;
}

const struct apart_task coefficients_task = {"coefficients", coefficients_answer};

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

/* The next ones of `in` go there. */
static status_t coefficients_take(struct unpack *in, const struct place *place)
{
    status_t st = STATUS_OK;
    struct coefficients c = {0};
    unpack_struct(in, &c, &coefficients_type);
    TRY(unpack_check(in, "coefficients"));
    free(*place->values);
    *place->values = c.count > 0 ? c.values : NULL;
    c.values = c.count > 0 ? NULL : c.values;
    *place->count = (uint32_t)(c.count / (c.is_complex ? 2 : 1));
    if (place->is_complex) {
        *place->is_complex = c.is_complex;
    }
out:
    free(c.values);
    return st;
}

static status_t coefficients_ask(const struct place *place)
{
    status_t st = STATUS_OK;
    struct text question = {0};
    struct text answer = {0};
    char *path = NULL;
    const char *member = NULL;
    TRY(coefficients_split(place->named, &path, &member));
    TRY(pack_text(&question, path));
    TRY(pack_text(&question, member));
    TRY(pack_u64(&question, (uint64_t)place->is_window));
    TRY(apart_do(&coefficients_task, &question, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    TRY(coefficients_take(&in, place));
out:
    free(path);
    text_free(&question);
    text_free(&answer);
    return st;
}

static status_t coefficients_take_telescope(const struct place *place)
{
    status_t st = STATUS_OK;
    double *made = NULL;
    TRY(telescope_prototype(place->telescope, &made));
    free(*place->values);
    *place->values = made;
    *place->count = place->telescope->taps * place->telescope->points;
out:
    return st;
}

status_t coefficients_read(struct job *job)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < coefficients_places(job); i++) {
        const struct place place = coefficients_place(job, i);
        if (place.telescope) {
            TRY(coefficients_take_telescope(&place));
        } else if (place.named) {
            TRY(coefficients_ask(&place));
        }
    }
out:
    return st;
}

status_t coefficients_read_real(const char *named, double **out, uint64_t *count)
{
    status_t st = STATUS_OK;
    double *values = NULL;
    uint32_t found = 0;
    int is_complex = 0;
    const struct place place = {
        .named = named, .values = &values, .count = &found, .is_complex = &is_complex};
    TRY(coefficients_ask(&place));
    REQUIRE(!is_complex, STATUS_DATA, "%s holds complex coefficients, expected real ones", named);
    *count = found;
    *out = values;
    values = NULL;
out:
    free(values);
    return st;
}

status_t coefficients_pack(const struct job *job, struct text *out)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < coefficients_places(job); i++) {
        const struct place place = coefficients_place(job, i);
        if (place.named) {
            const int is_complex = place.is_complex && *place.is_complex;
            const struct coefficients c = {
                *place.values, (uint64_t)*place.count * (is_complex ? 2 : 1), is_complex};
            TRY(pack_struct(out, &c, &coefficients_type));
        }
    }
out:
    return st;
}

status_t coefficients_unpack(struct unpack *in, struct job *job)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < coefficients_places(job); i++) {
        const struct place place = coefficients_place(job, i);
        if (place.named) {
            TRY(coefficients_take(in, &place));
        }
    }
out:
    return st;
}
