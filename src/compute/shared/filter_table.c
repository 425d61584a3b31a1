/* Responses by FFTW in double, or as their maker gives them. */
#include "compute/shared/filter_table.h"

#include "base/memory.h"
#include "base/pool.h"

#include <fftw3.h>
#include <string.h>

uint64_t filter_grain(const struct filter_spec *spec)
{
    const struct filter_shape *shape = &spec->choice.shape;
    if (shape->method != FILTER_OVERLAP_SAVE) {
        return shape->method == FILTER_DIRECT;
    }
    /* Real streams through a real filter: two blocks, one the real and one the imaginary part. */
    uint32_t blocks = spec->is_complex_out ? 1 : 2;
    return (shape->length - (spec->taps - 1)) / spec->decimate * (uint64_t)blocks;
}

uint32_t filter_table_responses(const struct filter_spec *spec)
{
    return spec->response ? spec->nresponses : 1;
}

uint32_t filter_table_of(const struct filter_spec *spec, uint32_t stream)
{
    return spec->response ? spec->response_of[stream] : 0;
}

/* Threads that make responses, each one after the other; 1: responses whose makers use threads. */
static uint32_t table_makers(const struct filter_spec *spec)
{
    return filter_table_responses(spec) < spec->threads ? 1 : (uint32_t)max_u64(spec->threads, 1);
}

uint64_t filter_table_bytes(const struct filter_spec *spec, uint32_t length)
{
    return (uint64_t)filter_table_responses(spec) * length * 2 * sizeof(float);
}

/* A response in double for each thread; FFTW's own tables are smaller than as much again. */
uint64_t filter_table_extra(const struct filter_spec *spec, uint32_t length)
{
    return (uint64_t)table_makers(spec) * length * 2 * sizeof(double) * (spec->response ? 1 : 2);
}

/* Transforms the coefficients, with zeros after them. */
static status_t table_transform(const struct filter_spec *spec, uint32_t length, double (*data)[2])
{
    fftw_plan plan = fftw_plan_dft_1d((int)length, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
    REQUIRE(plan, STATUS_DEVICE, "FFTW cannot plan a transform of %u points", length);
    memset(data, 0, length * sizeof *data);
    for (size_t i = 0; i < spec->taps; i++) {
        data[i][0] = spec->is_complex_coeff ? spec->coeff[2 * i] : spec->coeff[i];
        data[i][1] = spec->is_complex_coeff ? spec->coeff[2 * i + 1] : 0;
    }
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return STATUS_OK;
}

static void table_store(const double (*data)[2], uint32_t length, const uint32_t *place,
                        float (*out)[2])
{
    for (size_t k = 0; k < length; k++) {
        float *to = out[place ? place[k] : k];
        to[0] = (float)(data[k][0] / length);
        to[1] = (float)(data[k][1] / length);
    }
}

struct responding {
    const struct filter_spec *spec;
    uint32_t length;
    const uint32_t *place;
    double (*data)[2]; /* [makers][length] scratch */
    float (*table)[2];
};

static void table_respond(void *context, uint32_t thread, uint64_t which)
{
    const struct responding *r = context;
    double(*mine)[2] = r->data + (size_t)thread * r->length;
    r->spec->response(r->spec->context, (uint32_t)which, r->length, mine);
    table_store((const double(*)[2])mine, r->length, r->place,
                r->table + (size_t)which * r->length);
}

status_t filter_table_create(const struct filter_spec *spec, uint32_t length, const uint32_t *place,
                             float (**out)[2])
{
    SCOPED(free_at) double(*data)[2] = NULL;
    SCOPED(free_at) float(*table)[2] = NULL;
    size_t responses = filter_table_responses(spec);
    TRY(memory_aligned((size_t)table_makers(spec) * length, sizeof *data, "responses", &data));
    TRY(memory_aligned(responses * length, sizeof *table, "responses", &table));
    if (spec->response) {
        struct responding r = {spec, length, place, data, table};
        pool_each(table_makers(spec), spec->nresponses, table_respond, &r);
    } else {
        TRY(table_transform(spec, length, data));
        table_store((const double(*)[2])data, length, place, table);
    }
    *out = memory_move(&table);
    return STATUS_OK;
}
