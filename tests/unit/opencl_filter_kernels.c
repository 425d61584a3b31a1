/* The kernels of long filters once in every variant, on tiny problems: run under oclgrind by
 * tests/cli/oclgrind.sh. */
#include "filter_bench.h"

static const struct {
    struct filter_shape shape;
    enum sample_format format;
    int is_complex, is_complex_coeff;
    uint32_t taps, decimate;
} cases[] = {
    {{.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_REGISTERS, .width = 32},
     SAMPLE_F32,
     0,
     0,
     6,
     1},
    {{.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_REGISTERS, .width = 32},
     SAMPLE_I8,
     1,
     1,
     5,
     1},
    {{.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_LOCAL, .width = 8}, SAMPLE_F32, 1, 0, 20, 1},
    {{.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_LOCAL, .width = 8}, SAMPLE_I16, 0, 1, 9, 2},
    {{.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_PASSES, .width = 8},
     SAMPLE_I4,
     1,
     0,
     70,
     70},
    {{.method = FILTER_OVERLAP_SAVE, .kernel = FILTER_KERNEL_LIBRARY, .length = 64, .batch = 2},
     SAMPLE_F32,
     0,
     0,
     20,
     1},
    {{.method = FILTER_OVERLAP_SAVE, .kernel = FILTER_KERNEL_LIBRARY, .length = 32, .batch = 3},
     SAMPLE_I8,
     1,
     1,
     12,
     2}};

int main(void)
{
    struct tested *device = &tested[TESTED - 1];
    if (open_backends(NULL) != 0 || !device->backend) {
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        struct text words = {0};
        bench_start(&b, cases[i].format, cases[i].is_complex, cases[i].is_complex_coeff,
                    cases[i].taps, 100 * cases[i].decimate);
        b.spec.decimate = cases[i].decimate;
        b.spec.choice = (struct filter_choice){BACKEND_OPENCL, cases[i].shape};
        bench_rows(&b, -3, 103);
        bench_run(&b, device, 0);
        bench_agrees(&b, device, NULL);
        if (filter_words(&b.spec.choice, &words) != STATUS_OK) {
            return 1;
        }
        printf("%s of %u taps\n", words.data, b.spec.taps);
        text_free(&words);
        bench_end(&b);
    }
    return close_backends(NULL);
}
