/* Every transform of the fused overlap-save kernel against the reference's direct sums, with shapes
 * given by hand; and that the rule takes the kernel where it is the fastest. */
#include "filter_bench.h"

/* Calls for the backend that has the kernel, where it is there. */
#define EACH_OPENCL(t)                                                                             \
    for (struct tested *t = tested; t < tested + TESTED; t++)                                      \
        if (t->kind == BACKEND_OPENCL && t->backend)

struct problem {
    uint32_t length, values;
    enum sample_format format;
    int is_complex, is_complex_coeff;
    uint32_t taps, decimate;
    int is_long; /* seconds to build on a processor */
};

static void one_agrees(const struct tested *t, const struct problem *p)
{
    static const int64_t shift[STREAMS] = {-3, 20};
    struct bench b;
    bench_start(&b, p->format, p->is_complex, p->is_complex_coeff, p->taps, 3 * p->length + 5);
    b.spec.decimate = p->decimate;
    b.spec.shift = shift;
    b.spec.choice.backend = BACKEND_OPENCL;
    b.spec.choice.shape = (struct filter_shape){.method = FILTER_OVERLAP_SAVE,
                                                .length = p->length,
                                                .kernel = FILTER_KERNEL_FUSED,
                                                .values = p->values};
    bench_rows(&b, -7, 5 * (uint64_t)p->length / 2 / p->decimate);
    bench_run(&b, t, 0);
    bench_agrees(&b, t, NULL);
    bench_end(&b);
}

static void every_transform_agrees_with_the_reference(void **state)
{
    (void)state;
    static const struct problem problems[] = {
        {256, 16, SAMPLE_F32, 1, 0, 31, 1, 0},      {256, 8, SAMPLE_I8, 1, 1, 9, 2, 0},
        {512, 16, SAMPLE_I4, 1, 0, 64, 3, 0},       {512, 8, SAMPLE_F32, 0, 0, 65, 1, 1},
        {1024, 32, SAMPLE_I16, 1, 0, 129, 1, 0},    {1024, 16, SAMPLE_F32, 0, 1, 100, 1, 0},
        {2048, 16, SAMPLE_I8, 0, 0, 257, 5, 1},     {2048, 32, SAMPLE_F32, 1, 1, 1, 1, 1},
        {4096, 16, SAMPLE_F32, 1, 0, 1025, 1, 0},   {4096, 32, SAMPLE_I16, 0, 0, 700, 1, 1},
        {8192, 32, SAMPLE_I8, 1, 1, 2700, 1, 0},    {8192, 64, SAMPLE_F32, 0, 0, 2700, 1, 1},
        {16384, 64, SAMPLE_F32, 1, 1, 5000, 1, 1},  {32768, 32, SAMPLE_I8, 1, 1, 9000, 1, 1},
        {65536, 32, SAMPLE_F32, 0, 0, 9240, 3, 0},  {131072, 32, SAMPLE_I4, 1, 1, 19800, 1, 0},
        {262144, 32, SAMPLE_F32, 1, 0, 40000, 1, 1}};
    EACH_OPENCL(t)
    {
        for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
            if (!problems[i].is_long || getenv("VOLTMILL_TEST_ALL")) {
                one_agrees(t, &problems[i]);
            }
        }
    }
}

/* Short filters take short transforms, and those beyond the kernel the library. */
static void the_rule_weighs_length_against_waste(void **state)
{
    (void)state;
    static const struct {
        uint32_t taps, decimate, length, kernel;
    } cases[] = {
        {129, 1, 2048, FILTER_KERNEL_FUSED},     {1025, 1, 4096, FILTER_KERNEL_FUSED},
        {2700, 1, 8192, FILTER_KERNEL_FUSED},    {9240, 1, 65536, FILTER_KERNEL_FUSED},
        {19800, 1, 131072, FILTER_KERNEL_FUSED}, {300000, 1, 4194304, FILTER_KERNEL_LIBRARY}};
    EACH_OPENCL(t)
    {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct bench b;
            bench_start(&b, SAMPLE_I8, 1, 1, cases[i].taps, 10);
            b.spec.decimate = cases[i].decimate;
            b.spec.max_rows = 1000000;
            bench_choose(&b, t, FILTER_OVERLAP_SAVE);
            assert_int_equal(b.spec.choice.shape.length, cases[i].length);
            assert_int_equal(b.spec.choice.shape.kernel, cases[i].kernel);
            bench_end(&b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_transform_agrees_with_the_reference),
        cmocka_unit_test(the_rule_weighs_length_against_waste),
    };
    return cmocka_run_group_tests(tests, open_backends, close_backends);
}
