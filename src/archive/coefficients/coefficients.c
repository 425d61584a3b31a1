/* Reads, judges, packs and unpacks the coefficients of a job's filters. */
#include "archive/coefficients/coefficients.h"

#include "archive/coefficients/coefficients_parts.h"
#include "base/memory.h"
#include "io/identity.h"

#include <float.h>
#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const struct pack_field coefficients_fields[] = {
    PACK_LIST(struct coefficients, values, count, &pack_numbers),
    PACK_FIELD(struct coefficients, is_complex),
};
static const struct pack_type coefficients_type =
    PACK_TYPE(struct coefficients, coefficients_fields);

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

static status_t coefficients_read_file(const char *path, struct coefficients *out)
{
    status_t st = STATUS_OK;
    struct identity identity; /* who is no ordinary file is not opened */
    apart_at("%s", path);
    TRY(identity_of_path(path, &identity));
    TRY(H5Fis_hdf5(path) > 0 ? coefficients_read_hdf5(path, out)
                             : coefficients_read_text(path, out));
    TRY(coefficients_check(path, out));
out:
    return st;
}

static status_t coefficients_answer(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct coefficients c = {0};
    char *path = NULL;
    TRY(apart_path(question, &path));
    TRY(coefficients_read_file(path, &c));
    TRY(pack_struct(answer, &c, &coefficients_type));
out:
    free(c.values);
    free(path);
    return st;
}

const struct apart_task coefficients_task = {"coefficients", coefficients_answer};

/* The next ones of `in` become the filter's. */
static status_t coefficients_take(struct unpack *in, struct job_filter *filter)
{
    status_t st = STATUS_OK;
    struct coefficients c = {0};
    unpack_struct(in, &c, &coefficients_type);
    TRY(unpack_check(in, "coefficients"));
    free(filter->taps);
    filter->taps = c.values;
    filter->is_complex = c.is_complex;
    filter->ntaps = (uint32_t)(c.count / (c.is_complex ? 2 : 1));
    c.values = NULL;
out:
    free(c.values);
    return st;
}

status_t coefficients_read(struct job *job)
{
    status_t st = STATUS_OK;
    struct text answer = {0};
    for (uint32_t i = 0; i < job->nfilters; i++) {
        struct job_filter *filter = &job->filters[i];
        if (filter->source == FILTER_COEFFICIENTS) {
            text_free(&answer);
            TRY(apart_do_path(&coefficients_task, filter->coefficients, &answer));
            struct unpack in = {.data = answer.data, .length = answer.length};
            TRY(coefficients_take(&in, filter));
        }
    }
out:
    text_free(&answer);
    return st;
}

status_t coefficients_pack(const struct job *job, struct text *out)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < job->nfilters; i++) {
        const struct job_filter *filter = &job->filters[i];
        const struct coefficients c = {filter->taps,
                                       (uint64_t)filter->ntaps * (filter->is_complex ? 2 : 1),
                                       filter->is_complex};
        if (filter->source == FILTER_COEFFICIENTS) {
            TRY(pack_struct(out, &c, &coefficients_type));
        }
    }
out:
    return st;
}

status_t coefficients_unpack(struct unpack *in, struct job *job)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < job->nfilters; i++) {
        if (job->filters[i].source == FILTER_COEFFICIENTS) {
            TRY(coefficients_take(in, &job->filters[i]));
        }
    }
out:
    return st;
}
