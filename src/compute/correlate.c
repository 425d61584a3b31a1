/* The stage `correlate`, checked and handed on to its backend. */
#include "compute/correlate.h"

#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/shared/correlate_table.h"

#include <stdlib.h>
#include <string.h>

uint64_t correlate_row_floats(const struct correlate_spec *spec)
{
    return spec->npairs * (correlate_columns(spec) / spec->average) * correlate_products(spec) * 2;
}

static status_t correlate_check_pairs(const struct correlate_spec *spec)
{
    const size_t stations = spec->stations;
    SCOPED(free_at) char *seen = NULL;
    TRY(memory_zeroed(stations * stations, 1, "pairs of stations", &seen));
    for (uint32_t i = 0; i < spec->npairs; i++) {
        const uint32_t a = spec->pairs[i][0];
        const uint32_t b = spec->pairs[i][1];
        REQUIRE(a <= b && b < stations, STATUS_USAGE,
                "correlate: pair %u is of stations %u and %u, expected ascending ones below %u", i,
                a, b, spec->stations);
        REQUIRE(!seen[a * stations + b], STATUS_USAGE,
                "correlate: the pair of stations %u and %u is listed twice", a, b);
        seen[a * stations + b] = 1;
    }
    return STATUS_OK;
}

static status_t correlate_check(const struct correlate_spec *spec)
{
    REQUIRE(spec->pols == 1 || spec->pols == 2, STATUS_USAGE,
            "correlate: %u polarisations, expected 1 or 2", spec->pols);
    REQUIRE(spec->stations > 0 && spec->coarse > 0 && spec->nchannels > 0 && spec->npairs > 0 &&
                spec->integrate > 0,
            STATUS_USAGE,
            "correlate: %u pairs of %u stations, %u x %u channels, %llu spectra a dump: expected "
            "at least 1 of each",
            spec->npairs, spec->stations, spec->coarse, spec->nchannels,
            (unsigned long long)spec->integrate);
    REQUIRE(spec->average > 0 && spec->nchannels % spec->average == 0, STATUS_USAGE,
            "correlate: %u channels are averaged, expected a divisor of %u", spec->average,
            spec->nchannels);
    return correlate_check_pairs(spec);
}

status_t correlate_create(backend_t *backend, const struct correlate_spec *spec, correlate_t **out)
{
    struct correlate_spec kept = *spec;
    SCOPED(free_at) uint32_t(*pairs)[2] = NULL;
    SCOPED(free_at) float *gains = NULL;
    TRY(correlate_check(spec));
    const size_t count = spec->gains ? 2 * correlate_inputs(spec) * correlate_columns(spec) : 0;
    TRY(memory_zeroed(spec->npairs, sizeof *pairs, "pairs of stations", &pairs));
    TRY(memory_zeroed(count, sizeof *gains, "gains", &gains));
    memcpy(pairs, spec->pairs, spec->npairs * sizeof *pairs);
    kept.pairs = (const uint32_t(*)[2])pairs;
    if (spec->gains) {
        memcpy(gains, spec->gains, count * sizeof *gains);
        kept.gains = gains;
    }
    TRY(stage_create(backend, backend->ops->correlate, &kept, sizeof kept, "the correlation", out));
    (*out)->pairs = memory_move(&pairs);
    (*out)->gains = memory_move(&gains);
    return STATUS_OK;
}

void correlate_destroy(correlate_t *correlate)
{
    if (correlate) {
        void *pairs = correlate->pairs;
        float *gains = correlate->gains;
        stage_destroy(correlate);
        MEMORY_FREE(pairs, gains);
    }
}

void correlate_begin(correlate_t *correlate, uint64_t first_spectrum)
{
    correlate->next = first_spectrum;
    if (correlate->ops->begin) {
        correlate->ops->begin(correlate);
    }
}

status_t correlate_run(correlate_t *correlate, buffer_t *in, uint64_t spectra, const float *turns,
                       buffer_t *out, uint64_t *rows)
{
    TRY(correlate->ops->run(correlate, in, spectra, turns, out));
    *rows = dumps_finished(correlate->next, spectra, correlate->spec.integrate);
    correlate->next += spectra;
    return STATUS_OK;
}
