/* The kernels of beams once in every variant, on tiny problems: run under oclgrind by
 * tests/cli/oclgrind.sh. */
#include "beamform_bench.h"

static const struct beams_case cases[] = {
    {9, 3, 2, 1, 5, 4, 2, 5, ALL_ONE, 1, 1, 1},
    {3, 2, 1, 1, 3, 16, 0, 3, BY_TABLE, 0, 0, 0},
};

int main(void)
{
    struct tested *device = &tested[TESTED - 1];
    if (open_backends(NULL) != 0 || !device->backend) {
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct beams_bench b;
        beams_start(&b, &cases[i]);
        for (size_t k = 0; b.weights && k < beams_row(&b.spec, b.spec.stations); k++) { /* a copy */
            b.weights[k] = k < beams_row(&b.spec, 1) && k % 2 == 0;
        }
        beams_run(&b, reference->backend, BUFFER_OUT, b.spectra);
        float *expected = b.out;
        b.out = NULL;
        beams_run(&b, device->backend, BUFFER_OUT, b.spectra);
        printf("%u beams: %s\n", b.spec.beams, beams_error(&b, expected) < 5e-7 ? "ok" : "wrong");
        free(expected);
        beams_end(&b);
    }
    return close_backends(NULL);
}
