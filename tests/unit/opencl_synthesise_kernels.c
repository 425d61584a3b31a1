/* The kernels of a synthesis once in every variant, on tiny problems: run under oclgrind by
 * tests/cli/oclgrind.sh. */
#include "synthesise_bench.h"

#include "compute/opencl/opencl.h"
#include "compute/opencl/opencl_synthesise.h"

static const struct {
    int is_fused;
    enum sample_format format;
    int is_real_out;
    uint32_t points, hop, taps, channels;
    enum layout layout;
} cases[] = {{0, SAMPLE_F32, 0, 12, 9, 3, 12, BY_SPECTRA},
             {0, SAMPLE_I8, 1, 10, 10, 2, 3, BY_CHANNELS},
             {1, SAMPLE_F32, 0, 32, 27, 2, 32, BY_SPECTRA},
             {1, SAMPLE_I16, 0, 32, 24, 40, 30, PLANES}};

int main(void)
{
    struct tested *device = &tested[TESTED - 1];
    if (open_backends(NULL) != 0 || !device->backend) {
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        struct text words = {0};
        uint64_t counted = 0;
        synthesise_t *stage;
        const struct device_info *info = &((struct opencl *)device->backend)->device->info;
        bench_start(&b, cases[i].format, cases[i].is_real_out, cases[i].points, cases[i].hop,
                    cases[i].taps, 1, 12);
        b.spec.channels = cases[i].channels;
        b.layout = cases[i].layout;
        bench_rows(&b, -3, 103);
        b.spec.max_rows = b.rows;
        if (synthesise_choose(device->backend, &b.spec, &b.spec.choice) != STATUS_OK ||
            (cases[i].is_fused && !fused_points_shape(&b.spec, info, 1, &b.spec.choice.shape)) ||
            synthesise_words(&b.spec.choice, &words) != STATUS_OK ||
            synthesise_create(device->backend, &b.spec, &stage) != STATUS_OK) {
            return 1;
        }
        bench_run_rows(&b, device, stage, b.first_row, b.rows, &counted);
        stage_destroy(stage);
        bench_agrees(&b, device);
        printf("%s of %u points\n", words.data, b.spec.points);
        text_free(&words);
        bench_end(&b);
    }
    return close_backends(NULL);
}
