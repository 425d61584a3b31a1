/* Channels that are no power of two in the fused kernel: their shapes, whatever the device; what
 * they compute, on whatever device there is. */
#include "channelise_bench.h"
#include "compute/opencl/ppf/mixed.h"
#include "find_device.h"

enum { MOST_JOBS = 1 << 13 };

static const struct device_info gpu = {
    .is_gpu = 1, .is_nvidia = 1, .units = 132, .local_bytes = 48 << 10, .group_size = 1024};

static uint32_t product_of(const struct channelise_shape *shape)
{
    uint32_t product = 1;
    for (int i = 0; i < CHANNELISE_STAGES; i++) {
        product *= shape->radix[i];
    }
    return product;
}

/* Each butterfly of the middle stage is made once, and neighbours rarely ask one bank. */
static void order_visits_each_cell_once(const struct channelise_spec *spec,
                                        const struct channelise_shape *shape)
{
    static uint32_t order[MOST_JOBS];
    static unsigned char is_seen[1 << 16];
    const uint32_t count = mixed_order_count(spec, shape);
    if (count == 0) {
        assert_int_equal(shape->radix[2], 1);
        return;
    }
    assert_true(count <= MOST_JOBS);
    mixed_order(spec, shape, order);
    memset(is_seen, 0, sizeof is_seen);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < shape->radix[1]; k++) {
            const uint32_t cell = (order[i] & 0xffff) + k * shape->radix[2];
            assert_true(cell * (shape->paired ? 16U : 8U) < 100 << 10);
            assert_false(is_seen[cell]);
            is_seen[cell] = 1;
        }
        assert_true(order[i] >> 16 < shape->radix[0]);
    }
    assert_int_equal(count * shape->radix[1] * (shape->paired ? 2 : 1),
                     spec->channels * shape->batch);
}

/* Every number of channels that is for these stages has shapes, and these are whole. */
static void shapes_are_whole(void **state)
{
    enum { MOST = 12 };
    uint32_t known = 0;
    (void)state;
    for (uint32_t channels = 2; channels <= 8192; channels += 2) {
        const struct channelise_spec spec = {.channels = channels,
                                             .nchannels = channels,
                                             .taps = 8,
                                             .is_complex = 1,
                                             .format = SAMPLE_I8};
        struct channelise_shape shapes[MOST];
        if (!mixed_is(channels)) {
            continue;
        }
        uint32_t count = 0;
        for (int mode = FUSED_SPECTRA; mode <= FUSED_STEPS; mode++) {
            count = mixed_shapes(&spec, mode, &gpu, shapes, MOST);
            assert_true(count > 0 || channels > 4096);
            for (uint32_t i = 0; i < count; i++) {
                assert_int_equal(product_of(&shapes[i]), channels);
                assert_int_equal(shapes[i].radix[0], shapes[i].values);
                assert_true(mode < FUSED_GRAINS || 16 % shapes[i].batch == 0);
                order_visits_each_cell_once(&spec, &shapes[i]);
            }
        }
        known += count > 0;
    }
    assert_true(known >= 70);
}

/* Output of the kernel. */
enum leaving { SPECTRA, POWER, SUMS };

/* Coefficients: the same from both ends; but for their sign, with the order's shift folded in;
 * neither. Cases take them in turn. */
enum coefficients { SYMMETRIC, FOLDED, ANY, COEFFICIENTS };

/* Every radix in every place, each with what its butterflies could get wrong; two and three stages,
 * padded and swizzled, one and two spectra in a cell, several teams, all formats, all that can
 * leave it; blocks of fewer spectra than a batch. */
static const struct {
    struct channelise_shape shape; /* values, batch, teams, radices, whether paired */
    enum sample_format format;
    int is_complex;
    enum leaving leaving;
    int is_soon_built;
} cases[] = {
    {{.values = 10, .batch = 3, .teams = 2, .radix = {10, 3, 5, 1}}, SAMPLE_I8, 1, SPECTRA, 1},
    {{.values = 6, .batch = 2, .teams = 1, .radix = {6, 2, 6, 1}, .paired = 1},
     SAMPLE_I16,
     0,
     SUMS,
     1},
    {{.values = 16, .batch = 2, .teams = 1, .radix = {16, 32, 16, 1}}, SAMPLE_I8, 1, SPECTRA, 1},
    {{.values = 16, .batch = 1, .teams = 1, .radix = {16, 16, 16, 1}}, SAMPLE_I4, 1, SPECTRA, 1},
    {{.values = 16, .batch = 3, .teams = 1, .radix = {16, 32, 16, 1}, .streaming = 1},
     SAMPLE_I8,
     1,
     SPECTRA,
     0},
    {{.values = 16, .batch = 3, .teams = 1, .radix = {16, 16, 16, 1}, .streaming = 1},
     SAMPLE_I8,
     1,
     SPECTRA,
     0},
    {{.values = 16, .batch = 3, .teams = 1, .radix = {16, 16, 16, 1}}, SAMPLE_I16, 1, POWER, 0},
    {{.values = 16, .batch = 2, .teams = 1, .radix = {16, 32, 16, 1}, .paired = 1},
     SAMPLE_I16,
     1,
     SUMS,
     0},
    {{.values = 16, .batch = 2, .teams = 1, .radix = {16, 16, 16, 1}}, SAMPLE_I8, 1, SUMS, 0},
    {{.values = 16, .batch = 1, .teams = 1, .radix = {16, 16, 16, 1}}, SAMPLE_F32, 0, POWER, 0},
    {{.values = 8, .batch = 4, .teams = 1, .radix = {8, 12, 8, 1}}, SAMPLE_I8, 1, SPECTRA, 0},
    {{.values = 8, .batch = 4, .teams = 1, .radix = {8, 24, 8, 1}, .paired = 1},
     SAMPLE_I8,
     1,
     SUMS,
     0},
    {{.values = 12, .batch = 1, .teams = 2, .radix = {12, 12, 1, 1}}, SAMPLE_F32, 1, POWER, 0},
    {{.values = 9, .batch = 2, .teams = 1, .radix = {9, 18, 9, 1}}, SAMPLE_I4, 1, SPECTRA, 0},
    {{.values = 5, .batch = 4, .teams = 1, .radix = {5, 20, 5, 1}, .paired = 1},
     SAMPLE_F32,
     0,
     SPECTRA,
     0},
    {{.values = 15, .batch = 1, .teams = 1, .radix = {15, 16, 15, 1}}, SAMPLE_I8, 0, SUMS, 0},
    {{.values = 15, .batch = 2, .teams = 1, .radix = {15, 8, 3, 1}}, SAMPLE_I8, 1, POWER, 0},
    {{.values = 16, .batch = 1, .teams = 1, .radix = {16, 15, 16, 1}}, SAMPLE_I16, 1, SPECTRA, 0},
    {{.values = 16, .batch = 2, .teams = 2, .radix = {16, 6, 4, 1}}, SAMPLE_I8, 0, SPECTRA, 0},
    {{.values = 10, .batch = 1, .teams = 1, .radix = {10, 25, 10, 1}}, SAMPLE_F32, 1, SUMS, 0},
    {{.values = 10, .batch = 2, .teams = 1, .radix = {10, 30, 10, 1}, .paired = 1},
     SAMPLE_I8,
     1,
     SPECTRA,
     0},
    {{.values = 20, .batch = 2, .teams = 1, .radix = {20, 15, 10, 1}}, SAMPLE_I8, 1, SPECTRA, 0},
    {{.values = 10, .batch = 2, .teams = 1, .radix = {10, 9, 2, 1}}, SAMPLE_I8, 1, SPECTRA, 0},
    {{.values = 12, .batch = 2, .teams = 1, .radix = {12, 5, 6, 1}}, SAMPLE_I8, 1, SPECTRA, 0},
    {{.values = 12, .batch = 2, .teams = 1, .radix = {12, 10, 12, 1}}, SAMPLE_I8, 1, SPECTRA, 0},
    {{.values = 8, .batch = 5, .teams = 1, .radix = {8, 15, 8, 1}}, SAMPLE_I8, 1, SPECTRA, 0},
    {{.values = 6, .batch = 8, .teams = 1, .radix = {6, 4, 3, 1}}, SAMPLE_I8, 1, SPECTRA, 0}};

static void set_coefficients(struct bench *bench, enum coefficients coefficients)
{
    const struct channelise_spec *spec = &bench->spec;
    const size_t samples = channelise_samples(spec);
    if (coefficients == FOLDED) {
        prototype_fold(bench->coeff, spec->taps * samples, 1, 1, bench->coeff);
    }
    for (size_t i = 0; coefficients == ANY && i < spec->taps * samples; i++) {
        bench->coeff[i] *= 1 + 0.5 * draw_number();
    }
}

/* Runs it on OpenCL and on the reference, in blocks of 16 spectra. */
static void agree(struct bench *bench, enum leaving leaving)
{
    struct bench reference;
    const enum quantity quantity = leaving == SPECTRA ? QUANTITY_SPECTRA : QUANTITY_POWER;
    const uint64_t integrate = leaving == SUMS ? 5 : 1;
    reference = *bench;
    add_output(bench, quantity, integrate);
    add_output(&reference, quantity, integrate);
    bench_run(bench, BACKEND_OPENCL, 40, 16);
    bench_run(&reference, BACKEND_REFERENCE, 40, 64);
    assert_int_equal(bench->missing, reference.missing);
    assert_agrees(bench, &reference, 0, "mixed radices");
    free(reference.out[0]);
}

/* Long spectra, of falling frequencies, with silence in them: zeros have the same sign in whole
 * batches and in a block that is shorter than one. */
static void cuts_of_long_spectra_change_nothing(void **state)
{
    enum { CHANNELS = 4096, TAPS = 4, ROWS = 6, SILENT = 6 /* spectra of samples */, CUT = 5 };
    const struct channelise_choice choice = {.backend = BACKEND_OPENCL,
                                             .shape = {.kernel = KERNEL_FUSED,
                                                       .values = 16,
                                                       .batch = 2,
                                                       .teams = 1,
                                                       .radix = {16, 16, 16, 1},
                                                       .buffers = 2}};
    struct bench whole, cut;
    (void)state;
    if (!has_device) {
        skip();
    }
    bench_start(&whole, SAMPLE_I8, 1, CHANNELS, TAPS, ROWS);
    const size_t spectrum = CHANNELS * whole.streams * whole.sample_bytes;
    memset((char *)whole.in + 3 * spectrum, 0, SILENT * spectrum);
    whole.spec.conjugate = 1;
    whole.spec.choice = choice;
    cut = whole;
    agree(&cut, SPECTRA);
    free(cut.out[0]);
    cut = whole;
    add_output(&whole, QUANTITY_SPECTRA, 1);
    add_output(&cut, QUANTITY_SPECTRA, 1);
    bench_run(&whole, BACKEND_OPENCL, 0, 1024);
    bench_run(&cut, BACKEND_OPENCL, 0, CUT);
    assert_int_equal(cut.rows[0], whole.rows[0]);
    assert_memory_equal(cut.out[0], whole.out[0],
                        (size_t)whole.rows[0] * spectrum / whole.sample_bytes * 2 * sizeof(float));
    free(cut.out[0]);
    bench_end(&whole);
}

static void mixed_radices_agree_with_the_reference(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench;
        struct channelise_choice choice = {.backend = BACKEND_OPENCL, .shape = cases[i].shape};
        const uint32_t channels = product_of(&choice.shape);
        if (!cases[i].is_soon_built && !getenv("VOLTMILL_TEST_ALL")) {
            continue;
        }
        choice.shape.kernel = KERNEL_FUSED;
        choice.shape.buffers = choice.shape.batch;
        bench_start(&bench, cases[i].format, cases[i].is_complex, channels, 4, 25);
        set_coefficients(&bench, (enum coefficients)(i % COEFFICIENTS));
        bench.spec.choice = choice;
        bench.spec.first_channel = cases[i].leaving == SUMS ? 5 : 0;
        bench.spec.nchannels = channels - 2 * bench.spec.first_channel;
        if (cases[i].format == SAMPLE_F32) {
            ((float *)(void *)bench.in)[77] = NAN;
        }
        agree(&bench, cases[i].leaving);
        bench_end(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_whole),
        cmocka_unit_test(mixed_radices_agree_with_the_reference),
        cmocka_unit_test(cuts_of_long_spectra_change_nothing),
    };
    return cmocka_run_group_tests_name("opencl_mixed", tests, find_device, NULL);
}
