/* The synthesis on an OpenCL device by the fused transform, which `auto` takes on GPUs only:
 * against the reference, where samples are read as they lie and where they are lined up, and by
 * tiles. */
#include "synthesise_bench.h"

#include "compute/opencl/opencl.h"
#include "compute/opencl/opencl_synthesise.h"

static struct tested *const device = &tested[TESTED - 1];

/* The shape with the fewest spectra an item, which is built the fastest. */
static struct synthesise_choice fused_choice(const struct synthesise_spec *spec)
{
    const struct opencl *opencl = (const struct opencl *)device->backend;
    struct synthesise_choice out = {.backend = BACKEND_OPENCL};
    struct synthesise_shape shape;
    for (uint32_t i = 0; fused_points_shape(spec, &opencl->device->info, i, &shape); i++) {
        out.shape = i == 0 || shape.batch < out.shape.batch ? shape : out.shape;
    }
    assert_int_equal(out.shape.kernel, SYNTHESIS_FUSED);
    return out;
}

/* All rows, `cut` at a time (0: at once). */
static void run_fused(struct bench *b, uint64_t cut)
{
    synthesise_t *stage;
    uint64_t counted = 0;
    cut = cut > 0 ? cut : b->rows;
    b->spec.max_rows = cut;
    b->spec.choice = fused_choice(&b->spec);
    b->missing = 0;
    assert_int_equal(synthesise_create(device->backend, &b->spec, &stage), STATUS_OK);
    for (uint64_t done = 0; done < b->rows; done += cut) {
        bench_run_rows(b, device, stage, b->first_row + (int64_t)done, min_u64(cut, b->rows - done),
                       &counted);
    }
    stage_destroy(stage);
}

enum { POINTS = 64, HOP = 54, TAPS = 5, STREAMS = 2, SPECTRA = 90, ROWS = 4000 };

/* Some samples are no numbers. */
static void spoil(struct bench *b)
{
    for (size_t n = 0; n < (size_t)SPECTRA * STREAMS * b->spec.channels * 2; n += 2 * 271) {
        ((float *)(void *)b->in)[n + n / 2 % 2] = n % 4 ? NAN : INFINITY;
    }
}

/* Read where they lie (by spectra), or lined up: the same bits, and the reference's numbers. */
static void samples_are_read_or_lined_up(void **state)
{
    (void)state;
    struct bench b;
    float *made[2];
    uint64_t missing[2];
    if (!device->backend) {
        skip();
    }
    bench_start(&b, SAMPLE_F32, 0, POINTS, HOP, TAPS, STREAMS, SPECTRA);
    spoil(&b);
    for (int i = 0; i < 2; i++) {
        b.layout = i ? BY_CHANNELS : BY_SPECTRA;
        bench_rows(&b, -70, ROWS);
        run_fused(&b, 0);
        made[i] = b.out;
        missing[i] = b.missing;
        b.out = NULL;
    }
    assert_true(missing[0] > 0);
    assert_int_equal(missing[0], missing[1]);
    assert_memory_equal(made[0], made[1], (size_t)ROWS * STREAMS * 2 * sizeof(float));
    b.out = made[0];
    bench_agrees(&b, device);
    free(made[1]);
    bench_end(&b);
}

/* Channels that are not all points', and real streams. */
static void ranges_and_real_streams(void **state)
{
    (void)state;
    if (!device->backend) {
        skip();
    }
    for (int is_real = 0; is_real < 2; is_real++) {
        struct bench b;
        bench_start(&b, SAMPLE_I8, is_real, POINTS, HOP, TAPS, STREAMS, SPECTRA);
        b.spec.channels = 29;
        b.spec.first_point = is_real ? 3 : -11;
        b.spec.turn = 1000003;
        bench_rows(&b, 17, ROWS);
        run_fused(&b, 0);
        bench_agrees(&b, device);
        bench_end(&b);
    }
}

static void cuts_change_nothing(void **state)
{
    (void)state;
    static const uint64_t cuts[] = {1700, 333};
    struct bench b;
    if (!device->backend) {
        skip();
    }
    bench_start(&b, SAMPLE_F32, 0, POINTS, HOP, TAPS, STREAMS, SPECTRA);
    spoil(&b);
    bench_rows(&b, -70, ROWS);
    run_fused(&b, 0);
    float *whole = b.out;
    const uint64_t missing = b.missing;
    b.out = NULL;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        bench_rows(&b, -70, ROWS);
        run_fused(&b, cuts[i]);
        assert_int_equal(b.missing, missing);
        assert_memory_equal(whole, b.out, (size_t)ROWS * STREAMS * 2 * sizeof(float));
    }
    free(whole);
    bench_end(&b);
}

/* More spectra than a tile holds, missing ones among those that two tiles need. */
static void tiles_change_nothing(void **state)
{
    (void)state;
    enum { MANY = 5200, CUT = 100000 };
    const uint64_t rows = (MANY - 20) * (uint64_t)HOP;
    struct bench b;
    if (!device->backend) {
        skip();
    }
    bench_start(&b, SAMPLE_F32, 0, POINTS, HOP, TAPS, 1, MANY);
    for (size_t s = 0; s < MANY; s++) {
        ((float *)(void *)b.in)[(s * POINTS + s % POINTS) * 2] = NAN;
    }
    bench_rows(&b, 0, rows);
    run_fused(&b, 0);
    float *whole = b.out;
    const uint64_t missing = b.missing;
    b.out = NULL;
    bench_rows(&b, 0, rows);
    run_fused(&b, CUT);
    assert_int_equal(b.missing, missing);
    assert_memory_equal(whole, b.out, rows * 2 * sizeof(float));
    free(whole);
    bench_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_read_or_lined_up),
        cmocka_unit_test(ranges_and_real_streams),
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(tiles_change_nothing),
    };
    return cmocka_run_group_tests(tests, open_backends, close_backends);
}
