/* The kernels of dedispersion once in every variant, on tiny problems: run under oclgrind by
 * tests/cli/oclgrind.sh. */
#include "dedisperse_bench.h"

static const struct {
    const char *shape;
    struct problem problem;
} cases[] = {{"copies:4:4x2:4x2:4:0:0", {SERIES_U8, 5, 5, 9, 90, 1, 0, 0}},
             {"copies:4:4x2:3x2:2:8:0", {SERIES_U8, 5, 5, 9, 90, 0, 1, 0}},
             {"funnel:4:4x2:3x2:4:0:0", {SERIES_U8, 5, 5, 9, 90, 1, 0, 0}},
             {"direct:4:4x2:3x2:4:4:0", {SERIES_U8, 5, 5, 9, 90, 0, 0, 0}},
             {"copies:2:4x2:4x2:4:0:0", {SERIES_U8, 5, 5, 1, 90, 1, 0, 2}},
             {"copies:1:4x2:3x2:4:3:0", {SERIES_F32, 5, 5, 9, 90, 1, 0, 0}},
             {"direct:2:4x2:4x2:4:0:0:4", {SERIES_U8, 5, 5, 9, 90, 1, 0, 0}},
             {"direct:2:4x2:2x2:16:4:0:8", {SERIES_U8, 25, 5, 1, 90, 0, 1, 0}},
             {"direct:1:4x2:2x2:16:0:0:8", {SERIES_F32, 21, 5, 9, 90, 1, 0, 0}}};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dedisperse_bench b;
        uint64_t stride = cases[i].problem.samples;
        uint32_t wrong = 0;
        bench_start(&b, &cases[i].problem);
        float *expected = bench_run(&b, BACKEND_REFERENCE, stride, stride);
        if (!dedisperse_shape_parse(cases[i].shape, &b.spec.shape)) {
            return 1;
        }
        float *found = bench_run(&b, BACKEND_OPENCL, stride, stride);
        for (uint64_t j = 0; j < b.delays.ndms * stride; j++) {
            wrong += !(fabsf(found[j] - expected[j]) <= 1e-5F * fabsf(expected[j]) + 0.05F);
        }
        printf("%s: %u wrong\n", cases[i].shape, wrong);
        free(found);
        free(expected);
        bench_end(&b);
    }
    return 0;
}
