/* Weights of beams. */
#include "compute/shared/beam_weights.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

uint64_t beam_most_cells(const struct between_spec *spec)
{
    return spec->max_spectra > 0 ? (spec->max_spectra - 1) / spec->cell + 2 : 0;
}

size_t beam_station_turns(const struct between_spec *spec)
{
    return (size_t)spec->stations * spec->coarse * 2;
}

size_t beam_cell_turns(const struct between_spec *spec)
{
    return spec->beams * beam_station_turns(spec);
}

/* Returns the number of channels of a station: of all its polarisations and coarse channels. */
static size_t beam_series(const struct between_spec *spec)
{
    return (size_t)spec->pols * spec->coarse * spec->nchannels;
}

void beam_weight(const struct between_spec *spec, uint32_t beam, uint32_t station, size_t series,
                 double out[2])
{
    static const float one[2] = {1, 0};
    const size_t pair = (size_t)beam * spec->stations + station;
    const float *weight = spec->weights   ? spec->weights + 2 * (pair * beam_series(spec) + series)
                          : spec->factors ? spec->factors + 2 * pair
                                          : one;
    const float *gain =
        spec->gains ? spec->gains + 2 * (station * beam_series(spec) + series) : one;
    out[0] = (double)weight[0] * gain[0] - (double)weight[1] * gain[1];
    out[1] = (double)weight[0] * gain[1] + (double)weight[1] * gain[0];
}

/* Returns whether all weights of a beam and a station are exactly `value`. */
static int beam_is_all(const struct between_spec *spec, uint32_t beam, uint32_t station,
                       double value)
{
    const size_t count = spec->weights ? beam_series(spec) : 1;
    for (size_t i = 0; i < count; i++) {
        double weight[2];
        beam_weight(spec, beam, station, i, weight);
        if (weight[0] != value || weight[1] != 0) {
            return 0;
        }
    }
    return 1;
}

uint32_t beam_copied(const struct between_spec *spec, uint32_t beam)
{
    uint32_t found = spec->stations;
    for (uint32_t s = 0; s < spec->stations; s++) {
        const int is_one = beam_is_all(spec, beam, s, 1);
        if (spec->gains || (is_one && found < spec->stations) ||
            (!is_one && !beam_is_all(spec, beam, s, 0))) {
            return spec->stations;
        }
        found = is_one ? s : found;
    }
    return found;
}

static status_t beam_copy(const float *from, size_t count, const float **out)
{
    float *copy = NULL;
    *out = NULL;
    if (from) {
        TRY(memory_aligned(count, sizeof *copy, "weights of beams", &copy));
        memcpy(copy, from, count * sizeof *copy);
        *out = copy;
    }
    return STATUS_OK;
}

status_t beam_spec_copy(const struct between_spec *spec, struct between_spec *out)
{
    const size_t pairs = (size_t)spec->beams * spec->stations;
    *out = *spec;
    out->gains = out->weights = out->factors = NULL;
    TRY(beam_copy(spec->gains, 2 * spec->stations * beam_series(spec), &out->gains));
    TRY(beam_copy(spec->weights, 2 * pairs * beam_series(spec), &out->weights));
    return beam_copy(spec->factors, 2 * pairs, &out->factors);
}

void beam_spec_free(struct between_spec *spec)
{
    free((void *)(uintptr_t)spec->gains);
    free((void *)(uintptr_t)spec->weights);
    free((void *)(uintptr_t)spec->factors);
}

uint64_t beam_spec_bytes(const struct between_spec *spec)
{
    const uint64_t pairs = (uint64_t)spec->beams * spec->stations;
    const uint64_t floats = (spec->gains ? 2 * spec->stations * beam_series(spec) : 0) +
                            (spec->weights ? 2 * pairs * beam_series(spec) : 0) +
                            (spec->factors ? 2 * pairs : 0);
    return floats * sizeof(float);
}
