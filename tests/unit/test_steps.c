/* Numbers in few bits: rounded as fma() rounds, clipped, counted, read back within half a step;
 * lines that are constant, zero, or no numbers at all. */
#include "dsp/steps_kernels.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINES = 37, ROWS = 100 };

struct table {
    float rows[ROWS][LINES * 2];
    double sums[4][LINES];
    float scale[LINES], offset[LINES], factor[LINES];
    uint16_t low[LINES], high[LINES];
    int16_t stored[ROWS][LINES * 2];
};

static float noise(uint64_t i)
{
    uint64_t random = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    random ^= random >> 29;
    random *= UINT64_C(0xBF58476D1CE4E5B9);
    return (float)((double)(random >> 11) * 0x1p-53 - 0.5);
}

static void settle(struct table *t, struct steps_form form)
{
    memset(t->sums, 0, sizeof t->sums);
    memset(t->low, 0, sizeof t->low);
    memset(t->high, 0, sizeof t->high);
    struct steps_sums sums = {t->sums[0], t->sums[1], t->sums[2], t->sums[3]};
    steps_measure(form, t->rows[0], 1, 0, LINES, sums);
    steps_measure(form, t->rows[1], ROWS - 1, sizeof t->rows[0] / sizeof(float), LINES, sums);
    steps_settle(form, sums, LINES, t->scale, t->offset);
    steps_factors(t->scale, LINES, t->factor);
    /* Rows of a byte lie twice as close as those of t->stored. */
    const size_t stride = sizeof t->rows[0] / sizeof(float);
    struct steps_rows rows = {.form = form,
                              .rows = t->rows[0],
                              .count = form.bits == 8 ? 1 : ROWS,
                              .stride = stride,
                              .lines = LINES,
                              .offset = t->offset,
                              .factor = t->factor,
                              .out = t->stored[0],
                              .low = t->low,
                              .high = t->high};
    for (int r = 0; r < ROWS; r += (int)rows.count) {
        rows.rows = t->rows[r];
        rows.out = t->stored[r];
        steps_store(&rows);
    }
}

/* The operations of a kernel on a device, without the ends. */
static float by_fma(float value, float offset, float factor)
{
    const float whole = 0x1.8p23F;
    return fmaf(value - offset, factor, whole) - whole;
}

static void check(struct steps_form form, double amplitude, double mean)
{
    static struct table t;
    uint32_t parts = form.is_signed ? 2 : 1;
    memset(&t, 0, sizeof t);
    for (int r = 0; r < ROWS; r++) {
        float *row = t.rows[r];
        for (uint32_t i = 0; i < LINES * parts; i++) {
            row[i] = (float)(mean + amplitude * (double)noise((uint64_t)r * 1000 + i));
        }
        for (uint32_t p = 0; p < parts; p++) {
            row[3 * parts + p] = r % 7 ? (float)mean : NAN;
            row[5 * parts + p] = r == 50 ? INFINITY : r == 51 ? -INFINITY : row[5 * parts + p];
            row[6 * parts + p] = r == 50 ? (float)(mean + amplitude * 1e6) : row[6 * parts + p];
        }
    }
    settle(&t, form);
    uint64_t clipped = 0;
    for (int r = 0; r < ROWS; r++) {
        float back[LINES * 2];
        steps_load(form, t.stored[r], LINES, t.scale, t.offset, back);
        for (uint32_t i = 0; i < LINES * parts; i++) {
            uint32_t line = i / parts;
            float value = t.rows[r][i];
            int32_t number = steps_number(form, t.stored[r], i);
            if (isnan(value)) {
                assert_int_equal(number, steps_blank(form));
                assert_true(isnan(back[i]));
                continue;
            }
            double steps = steps_of(value, t.offset[line], t.factor[line]);
            double whole = nearbyint(steps);
            int is_in = whole >= steps_least(form) && whole <= steps_most(form);
            clipped += is_in ? 0 : 1;
            if (is_in) {
                assert_int_equal(number, (int)whole);
                assert_true((float)number == by_fma(value, t.offset[line], t.factor[line]));
                double error =
                    fabs((double)t.scale[line] * number + (double)t.offset[line] - (double)value);
                assert_true(error <= (double)t.scale[line] * (0.5 + 0x1p-22 * abs(number)));
            } else {
                assert_int_equal(number, whole < 0 ? steps_least(form) : steps_most(form));
            }
        }
    }
    uint64_t counted = 0;
    for (int i = 0; i < LINES; i++) {
        counted += (uint64_t)t.low[i] + t.high[i];
        assert_true(t.low[i] == (i == 5 ? parts : 0) || i == 6);
    }
    assert_true(clipped == counted && counted >= 2 * parts);
}

static void numbers_are_rounded_and_counted(void **state)
{
    (void)state;
    for (uint32_t bits = 8; bits <= 16; bits += 8) {
        for (int scale = -20; scale <= 20; scale += 10) {
            check((struct steps_form){bits, 0}, pow(10, scale), 3 * pow(10, scale));
            check((struct steps_form){bits, 1}, pow(10, scale), 0);
        }
        check((struct steps_form){bits, 0}, 1, 1e6); /* the mean's own digits are the step */
        check((struct steps_form){bits, 0}, 1, -1e4);
    }
}

static void halves_go_to_even(void **state)
{
    (void)state;
    const struct steps_form form = {8, 0};
    const float values[] = {0.4F, 0.5F, 0.75F, 1.5F, 2.5F, 254.5F, 255.25F, 255.5F};
    const uint8_t expected[] = {1, 1, 1, 2, 2, 254, 255, 255};
    enum { COUNT = sizeof values / sizeof *values };
    float offset[COUNT] = {0};
    float factor[COUNT];
    uint8_t out[COUNT];
    uint16_t low[COUNT] = {0};
    uint16_t high[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        factor[i] = 1;
    }
    steps_store(&(const struct steps_rows){form, values, 1, 0, COUNT, offset, factor, out, low,
                                           high, NULL});
    assert_memory_equal(out, expected, sizeof expected);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(low[i], i < 2);
        assert_int_equal(high[i], i == COUNT - 1);
    }
}

/* Kernels of this machine's instruction sets do as the plain loops: one line at a time. */
static void kernels_are_as_plain_loops(void **state)
{
    (void)state;
    enum { MANY = 83, DEEP = 21, NUMBERS = DEEP * MANY * 2 };
    static float rows[NUMBERS];
    static const float odd[] = {NAN,    INFINITY, -INFINITY, 1e38F, -1e38F,
                                1e-40F, 0.5F,     254.5F,    -0.0F};
    float offset[MANY];
    float factor[MANY];
    for (size_t i = 0; i < NUMBERS; i++) {
        rows[i] = i % 7 == 0 ? floorf(300 * noise(i)) + 0.5F : 400 * noise(i);
        rows[i] = i % 11 == 0 ? odd[i / 11 % (sizeof odd / sizeof *odd)] : rows[i];
    }
    for (size_t i = 0; i < MANY; i++) {
        offset[i] = i % 3 ? 100 * noise(i) : 0;
        factor[i] = i % 5 ? (float)(i + 1) / 20 : i % 2 ? 0 : 1;
    }
    for (int variant = 0; variant < 4 * SIMD_LEVELS; variant++) {
        const struct steps_form form = {variant & 1 ? 8 : 16, variant >> 1 & 1};
        const struct steps_kernels *kernels = steps_kernels((enum simd_level)(variant / 4));
        const size_t parts = form.is_signed ? 2 : 1;
        static uint8_t out[2][2 * NUMBERS];
        uint16_t counts[2][2][MANY] = {0};
        int any = 0;
        struct steps_rows of = {form,   rows,   DEEP,         MANY * parts, MANY, offset,
                                factor, out[0], counts[0][0], counts[0][1], &any};
        const size_t done = kernels ? kernels->store(&of) : 0;
        assert_true(any || done == 0);
        for (size_t i = 0; i < done; i++) {
            of = (struct steps_rows){form,
                                     rows + i * parts,
                                     DEEP,
                                     MANY * parts,
                                     1,
                                     offset + i,
                                     factor + i,
                                     out[1] + i * parts * form.bits / 8,
                                     counts[1][0] + i,
                                     counts[1][1] + i,
                                     &any};
            any = 0;
            steps_store(&of);
            assert_true(any || counts[1][0][i] + counts[1][1][i] == 0);
        }
        for (size_t row = 0; row < DEEP; row++) {
            const size_t at = row * MANY * parts * form.bits / 8;
            assert_memory_equal(out[0] + at, out[1] + at, done * parts * form.bits / 8);
        }
        for (int side = 0; side < 2; side++) {
            assert_memory_equal(counts[0][side], counts[1][side], done * sizeof(uint16_t));
        }
        double sums[2][4][MANY] = {0};
        struct steps_sums all = {sums[0][0], sums[0][1], sums[0][2], sums[0][3]};
        const size_t measured = kernels ? kernels->measure(rows, DEEP, MANY, MANY, all) : 0;
        for (size_t i = 0; i < measured; i++) {
            const struct steps_sums one = {&sums[1][0][i], &sums[1][1][i], &sums[1][2][i],
                                           &sums[1][3][i]};
            steps_measure((struct steps_form){8, 0}, rows + i, DEEP, MANY, 1, one);
        }
        for (int i = 0; i < 4; i++) {
            assert_memory_equal(sums[0][i], sums[1][i], measured * sizeof(double));
        }
    }
}

static void lines_without_noise(void **state)
{
    (void)state;
    static struct table t;
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        const struct steps_form form = {8, is_signed};
        const float constants[] = {0, 1, -3e30F, 1e-44F, 12345.678F};
        uint32_t parts = is_signed ? 2 : 1;
        memset(&t, 0, sizeof t);
        for (int r = 0; r < ROWS; r++) {
            for (uint32_t i = 0; i < LINES * parts; i++) {
                t.rows[r][i] = i / parts < 5 ? constants[i / parts] : NAN;
            }
        }
        settle(&t, form);
        assert_true(t.scale[0] == 1 && t.scale[5] == 1 && t.scale[3] >= FLT_MIN);
        for (uint32_t i = 0; i < LINES; i++) {
            int32_t number = steps_number(form, t.stored[7], i * parts);
            double back = (double)t.scale[i] * number + (double)t.offset[i];
            assert_true(t.low[i] + t.high[i] == 0);
            assert_true(i >= 5 ? number == steps_blank(form)
                               : fabs(back - (double)constants[i]) <= (double)t.scale[i] / 2);
        }
    }
}

/* A number stands for half a step around it; those at the ends for all beyond, too. */
static void the_ends_stand_for_all_beyond(void **state)
{
    (void)state;
    for (uint32_t bits = 8; bits <= 16; bits += 8) {
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            const struct steps_form form = {bits, is_signed};
            int32_t least = steps_least(form);
            int32_t most = steps_most(form);
            float far = 1e6F;
            assert_true(steps_nearest(form, least, 1, 0, -far) == -far);
            assert_true(steps_nearest(form, most, 1, 0, far) == far);
            const int32_t inner[] = {least + 1, (least + most) / 2, most - 1};
            for (int i = 0; i < 3; i++) {
                float low = steps_nearest(form, inner[i], 1, 0, -far);
                float high = steps_nearest(form, inner[i], 1, 0, far);
                assert_true(fabs((double)low - inner[i] + 0.5) < 0.05);
                assert_true(fabs((double)high - inner[i] - 0.5) < 0.05);
            }
            float inside = (float)least + 0.25F;
            assert_true(steps_nearest(form, least, 1, 0, inside) == inside);
            assert_true(fabs((double)steps_nearest(form, least, 1, 0, far) - least - 0.5) < 0.05);
            assert_true(fabs((double)steps_nearest(form, most, 1, 0, -far) - most + 0.5) < 0.05);
            assert_true(isnan(steps_nearest(form, steps_blank(form), 1, 0, 0)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_rounded_and_counted), cmocka_unit_test(halves_go_to_even),
        cmocka_unit_test(kernels_are_as_plain_loops),      cmocka_unit_test(lines_without_noise),
        cmocka_unit_test(the_ends_stand_for_all_beyond),
    };
    return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
