/* The kernels of steps_kernels.h, compiled once for each instruction set (base/lanes.h).
 *
 * A register of lines stays at hand for TOGETHER rows, whose cache lines are asked for while the
 * rows before are worked on: rows are far apart, and tiles of many rows fit no near cache. What is
 * clipped is rare, and counted lane by lane. */
#include "dsp/steps_kernels.h"

#include "base/lanes.h"

#if defined __FMA__ || defined __ARM_FEATURE_FMA

enum { TOGETHER = 8 };
/* Added to a float it leaves the nearest whole number, halves to even, in the lowest bits. */
#define ROUND_TO_WHOLE 0x1.8p23F

typedef uint8_t steps_8_t __attribute__((vector_size(LANES)));
typedef uint16_t steps_16_t __attribute__((vector_size(2 * LANES)));
typedef uint64_t steps_words_t __attribute__((vector_size(VECTOR)));

/* Whether all numbers are between these, and none is NaN. */
INLINE int steps_are_inside(lanes_t x, lanes_t least, lanes_t most)
{
#if LANES == 16
    const __mmask16 above = _mm512_cmp_ps_mask((__m512)x, (__m512)least, _CMP_GE_OQ);
    return _mm512_mask_cmp_ps_mask(above, (__m512)x, (__m512)most, _CMP_LE_OQ) == 0xffff;
#elif LANES == 8
    return _mm256_movemask_ps((__m256)((x >= least) & (x <= most))) == 0xff;
#else
    const steps_words_t words = (steps_words_t)((x >= least) & (x <= most));
    return (words[0] & words[1]) == UINT64_MAX;
#endif
}

static void steps_count(mask_t which, size_t parts, uint16_t *counts)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        counts[lane / parts] = (uint16_t)(counts[lane / parts] - which[lane]);
    }
}

/* The same of numbers of which some are clipped, or NaN. */
static __attribute__((noinline, cold)) mask_t
steps_clip(const struct steps_rows *work, struct steps_form form, lanes_t whole, size_t line)
{
    const size_t parts = form.is_signed ? 2 : 1;
    const lanes_t least = lanes_of(ROUND_TO_WHOLE + (float)steps_least(form));
    const lanes_t most = lanes_of(ROUND_TO_WHOLE + (float)steps_most(form));
    const mask_t is_number = whole == whole;
    const lanes_t inside = LANES_LESSER(LANES_GREATER(whole, least), most);
    const mask_t number = (mask_t)inside - (mask_t)lanes_of(ROUND_TO_WHOLE);
    if (work->any) {
        *work->any = 1;
    }
    steps_count(whole < least, parts, work->low + line);
    steps_count(whole > most, parts, work->high + line);
    return (number & is_number) | (((mask_t){0} + steps_blank(form)) & ~is_number);
}

/* Rounds one register of numbers. Ends are odd, so that halves beyond them round outwards: numbers
 * beyond the ends are those that are clipped. */
INLINE mask_t steps_round(const struct steps_rows *work, struct steps_form form, lanes_t value,
                          lanes_t offset, lanes_t factor, size_t line)
{
    const lanes_t least = lanes_of(ROUND_TO_WHOLE + (float)steps_least(form));
    const lanes_t most = lanes_of(ROUND_TO_WHOLE + (float)steps_most(form));
    const lanes_t whole = LANES_MULTIPLY_ADD(value - offset, factor, lanes_of(ROUND_TO_WHOLE));
    return steps_are_inside(whole, least, most) ? (mask_t)whole - (mask_t)lanes_of(ROUND_TO_WHOLE)
                                                : steps_clip(work, form, whole, line);
}

INLINE size_t steps_store_as(const struct steps_rows of, struct steps_form form)
{
    const size_t parts = form.is_signed ? 2 : 1;
    const size_t end = of.lines / LANES * LANES;
    for (size_t row = 0; row < of.count; row += TOGETHER) {
        const size_t count = of.count - row < TOGETHER ? of.count - row : TOGETHER;
        const size_t next = row + TOGETHER < of.count ? TOGETHER * of.stride : 0;
        for (size_t line = 0; line < end; line += LANES) {
            /* Spectra have none. */
            const lanes_t offset = parts == 1 ? lanes_load(of.offset + line) : lanes_of(0);
            const lanes_t factor = lanes_load(of.factor + line);
            for (size_t part = 0; part < parts; part++) {
                const lanes_t turned[2] = {SHUFFLE(factor, factor, EACH_LANE(LANE_TWICE, 0)),
                                           SHUFFLE(factor, factor, EACH_LANE(LANE_TWICE, LANES))};
                const lanes_t by = parts == 1 ? factor : turned[part];
                const size_t begin = line * parts + part * LANES;
                for (size_t i = 0; i < count; i++) {
                    const size_t at = (row + i) * of.stride + begin;
                    __builtin_prefetch(of.rows + at + next, 0, 3);
                    const mask_t number = steps_round(&of, form, lanes_load(of.rows + at), offset,
                                                      by, line + part * LANES / parts);
                    if (form.bits == 8) {
                        const steps_8_t few = __builtin_convertvector(number, steps_8_t);
                        memcpy((uint8_t *)of.out + at, &few, sizeof few);
                    } else {
                        const steps_16_t few = __builtin_convertvector(number, steps_16_t);
                        memcpy((uint16_t *)of.out + at, &few, sizeof few);
                    }
                }
            }
        }
    }
    return end;
}

static size_t steps_store_lanes(const struct steps_rows *work)
{
    const struct steps_form form = work->form;
    return form.is_signed   ? form.bits == 8 ? steps_store_as(*work, (struct steps_form){8, 1})
                                             : steps_store_as(*work, (struct steps_form){16, 1})
             : form.bits == 8 ? steps_store_as(*work, (struct steps_form){8, 0})
                            : steps_store_as(*work, (struct steps_form){16, 0});
}

typedef double steps_sum_t __attribute__((vector_size(VECTOR), aligned(8)));
typedef int64_t steps_chosen_t __attribute__((vector_size(VECTOR)));
typedef float steps_half_t __attribute__((vector_size(VECTOR / 2), aligned(4), may_alias));
enum { SUMS = LANES / 2 /* of a register */ };

static size_t steps_measure_lanes(const float *rows, size_t count, size_t stride, size_t lines,
                                  struct steps_sums sums)
{
    const size_t end = lines / LANES * LANES;
    const steps_sum_t one = (steps_sum_t){0} + 1;
    for (size_t row = 0; row < count; row += TOGETHER, rows += TOGETHER * stride) {
        const size_t now = count - row < TOGETHER ? count - row : TOGETHER;
        const size_t next = row + TOGETHER < count ? TOGETHER * stride : 0;
        for (size_t line = 0; line < end; line += SUMS) {
            steps_sum_t first = *(const steps_sum_t *)(sums.first + line);
            steps_sum_t sum = *(const steps_sum_t *)(sums.sum + line);
            steps_sum_t squares = *(const steps_sum_t *)(sums.squares + line);
            steps_sum_t numbers = *(const steps_sum_t *)(sums.count + line);
            for (size_t i = 0; i < now; i++) {
                const float *from = rows + i * stride + line;
                __builtin_prefetch(from + next, 0, 3);
                const steps_half_t half = *(const steps_half_t *)from;
                const steps_sum_t value = __builtin_convertvector(half, steps_sum_t);
                const steps_chosen_t is_there = (steps_chosen_t)(value - value == 0);
                const steps_chosen_t is_begun = (steps_chosen_t)(numbers > 0);
                first = (steps_sum_t)(((steps_chosen_t)first & is_begun) |
                                      ((steps_chosen_t)value & is_there & ~is_begun));
                const steps_sum_t difference =
                    (steps_sum_t)((steps_chosen_t)(value - first) & is_there);
                sum += difference;
                squares += difference * difference;
                numbers += (steps_sum_t)((steps_chosen_t)one & is_there);
            }
            *(steps_sum_t *)(sums.first + line) = first;
            *(steps_sum_t *)(sums.sum + line) = sum;
            *(steps_sum_t *)(sums.squares + line) = squares;
            *(steps_sum_t *)(sums.count + line) = numbers;
        }
    }
    return end;
}

#else

static size_t steps_store_lanes(const struct steps_rows *work)
{
    (void)work;
    return 0;
}

static size_t steps_measure_lanes(const float *rows, size_t count, size_t stride, size_t lines,
                                  struct steps_sums sums)
{
    (void)rows, (void)count, (void)stride, (void)lines, (void)sums;
    return 0;
}

#endif

extern const struct steps_kernels FOR_LEVEL(steps_kernels);
const struct steps_kernels FOR_LEVEL(steps_kernels) = {steps_store_lanes, steps_measure_lanes};
