/* What all ways of overlap-save agree on, and what kernels are told of samples and rows. */
#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/filter/filter_parts.h"

status_t filter_options(const struct filter_spec *spec, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(deinterleave_options(&spec->coding, out));
    TRY(text_add(out, " -DCOMPLEX_COEFF=%d -DCOMPLEX_OUT=%d -DDECIMATE=%u",
                 spec->is_complex_coeff != 0, spec->is_complex_out != 0, spec->decimate));
out:
    return st;
}

uint64_t filter_valid(const struct filter_spec *spec)
{
    return (spec->choice.shape.length - (spec->taps - 1)) / spec->decimate;
}

/* Towards minus infinity. */
static int64_t overlap_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

void filter_blocks(const struct filter_spec *spec, const struct filter_block *run, int64_t *first,
                   uint64_t *count)
{
    int64_t grain = (int64_t)filter_grain(spec);
    *first = overlap_floor(run->first_row, grain);
    *count = (uint64_t)(overlap_floor(run->first_row + (int64_t)run->rows - 1, grain) - *first + 1);
}

uint32_t filter_take(const struct filter_spec *spec)
{
    return spec->response ? (uint32_t)-spec->first : spec->taps - 1;
}
