/* Sums of squares, rounded once each, from the first coefficient on. */
#include "dsp/fir/energy.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void energy_free(struct energy *energy)
{
    free(energy->below);
    *energy = (struct energy){0};
}

static double energy_of(const double *coeff, uint64_t at, uint32_t parts)
{
    double sum = 0;
    for (uint32_t i = 0; i < parts; i++) {
        sum += coeff[at * parts + i] * coeff[at * parts + i];
    }
    return sum;
}

status_t energy_create(const double *coeff, uint64_t count, uint32_t parts, int is_reversed,
                       struct energy *out)
{
    double total = 0;
    double sum = 0;
    double rest = 0; /* that `sum` has lost to rounding */
    *out = (struct energy){.count = count};
    for (uint64_t i = 0; i < count; i++) {
        total += energy_of(coeff, i, parts);
    }
    if (!(total > 0) || !isfinite(total)) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)count + 1, sizeof *out->below, "energies", &out->below));
    for (uint64_t i = 0; i < count; i++) {
        double more = energy_of(coeff, is_reversed ? count - 1 - i : i, parts) / total - rest;
        double next = sum + more;
        rest = (next - sum) - more;
        sum = next;
        out->below[i + 1] =
            min_u64((uint64_t)llround(fmin(sum, 1) * (double)ENERGY_WHOLE), ENERGY_WHOLE);
    }
    out->below[count] = ENERGY_WHOLE;
    return STATUS_OK;
}

/* floor(at 2^40 / count) of up to 2^34 coefficients, in two steps that fit 64 bits. */
static uint64_t energy_flat_below(uint64_t count, uint64_t at)
{
    enum { HALF = ENERGY_BITS / 2 };
    uint64_t high = (at << HALF) / count;
    uint64_t rest = (at << HALF) % count;
    return (high << HALF) + (rest << HALF) / count;
}

static uint64_t energy_below(const struct energy *energy, uint64_t at)
{
    return energy->below ? energy->below[at] : energy_flat_below(energy->count, at);
}

uint64_t energy_between(const struct energy *energy, int64_t first, int64_t end)
{
    uint64_t low = first > 0 ? min_u64((uint64_t)first, energy->count) : 0;
    uint64_t high = end > 0 ? min_u64((uint64_t)end, energy->count) : 0;
    return high > low ? energy_below(energy, high) - energy_below(energy, low) : 0;
}
