/* Tables of kernels by instruction set, and the rule of missing samples for them. */
#include "compute/cpu/arrays/beam_kernels.h"
#include "compute/cpu/arrays/correlate_kernels.h"
#include "compute/cpu/dedisperse/strips.h"
#include "compute/cpu/filter/filter_kernels.h"
#include "compute/cpu/ppf/kernels.h"
#include "compute/cpu/ppf/synthesis_kernels.h"

SIMD_DEFINE_FIND(simd_kernels, cpu_kernels)
SIMD_DEFINE_FIND(strip_kernels, strip_kernels)
SIMD_DEFINE_FIND(filter_kernels, filter_kernels)
SIMD_DEFINE_FIND(synthesis_kernels, synthesis_kernels)
SIMD_DEFINE_FIND(correlate_kernels, correlate_kernels)
SIMD_DEFINE_FIND(beam_kernels, beam_kernels)

/* Nibbles are missing as a byte: both of them. Of larger samples, one such part makes all of it
 * missing. */
int missing_rule_of(const struct cpu_kernels *kernels, const struct sample_coding *coding,
                    struct missing_rule *out)
{
    int must_be_finite = coding->format == SAMPLE_F32 && !coding->is_made;
    int has_rule = must_be_finite || coding->has_missing_value;
    *out = (struct missing_rule){.finite = must_be_finite,
                                 .value = coding->has_missing_value,
                                 .re = (float)coding->missing_value,
                                 .im = (float)coding->missing_value};
    if (coding->format == SAMPLE_I4 && coding->has_missing_value) {
        unsigned char byte = (unsigned char)coding->missing_value;
        unsigned char bytes[MOST_LANES] = {0};
        float pair[2 * MOST_LANES];
        bytes[0] = byte;
        kernels->unpack[SAMPLE_I4][1](bytes, 1, &coding->nibbles, pair);
        out->both = 1;
        out->re = pair[0];
        out->im = pair[kernels->lanes];
        /* A number that no byte has is never missing. */
        has_rule = out->value = byte == coding->missing_value;
    }
    return has_rule;
}
