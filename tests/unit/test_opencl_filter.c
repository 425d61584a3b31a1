/* Long filters on an OpenCL device: its kernels beside each other, and stages that follow each
 * other there. What all backends have in common is tested by test_filter.c. */
#include "filter_bench.h"

#include "compute/channelise.h"

static struct tested *const device = &tested[TESTED - 1];

/* Skips the test where there is no device. */
static void need_device(void)
{
    if (!device->backend) {
        skip();
    }
}

static void set_shape(struct bench *b, struct filter_shape shape)
{
    b->spec.choice = (struct filter_choice){BACKEND_OPENCL, shape};
}

/* Whatever kernel, group and number of rows of an item: direct sums are the same bytes. */
static void direct_kernels_add_in_one_order(void **state)
{
    (void)state;
    static const struct filter_shape shapes[] = {
        {.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_REGISTERS},
        {.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_REGISTERS, .width = 64, .values = 8},
        {.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_LOCAL},
        {.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_LOCAL, .width = 16},
        {.method = FILTER_DIRECT, .kernel = FILTER_KERNEL_PASSES, .width = 128}};
    need_device();
    for (int i = 0; i < 2; i++) {
        struct bench first;
        bench_start(&first, i ? SAMPLE_F32 : SAMPLE_I16, i, 1, 59, 900);
        set_shape(&first, shapes[0]);
        bench_rows(&first, -1, 903);
        bench_run(&first, device, 0);
        bench_agrees(&first, device, NULL);
        for (size_t k = 1; k < sizeof shapes / sizeof *shapes; k++) {
            struct bench b = first;
            b.out = NULL;
            set_shape(&b, shapes[k]);
            bench_rows(&b, first.first_row, first.rows);
            bench_run(&b, device, 0);
            assert_memory_equal(b.out, first.out, b.rows * STREAMS * b.out_parts * sizeof(float));
            free(b.out);
        }
        bench_end(&first);
    }
}

/* All shapes that may be measured are right, the choice by rule among them. */
static void candidates_agree_with_the_reference(void **state)
{
    (void)state;
    need_device();
    struct bench b;
    struct filter_shape *shapes = NULL;
    uint32_t count = 0;
    bench_start(&b, SAMPLE_I8, 0, 0, 100, 3000);
    bench_rows(&b, 0, 3000);
    b.spec.max_rows = b.rows;
    bench_choose(&b, device, FILTER_AUTO);
    struct filter_shape chosen = b.spec.choice.shape;
    assert_int_equal(filter_candidates(device->backend, &b.spec, &shapes, &count), STATUS_OK);
    assert_true(count > 4);
    assert_int_equal(shapes[0].method, chosen.method);
    assert_int_equal(shapes[0].length, chosen.length);
    for (uint32_t i = 0; i < count; i++) {
        if (i % 4 == 0 || getenv("VOLTMILL_TEST_ALL")) {
            set_shape(&b, shapes[i]);
            bench_run(&b, device, 0);
            bench_agrees(&b, device, NULL);
        }
    }
    free(shapes);
    bench_end(&b);
}

/* Blocks of decimated rows see no sample that another cut does not give them. */
static void cuts_of_blocks_change_nothing(void **state)
{
    (void)state;
    static const struct filter_shape shapes[] = {
        {.method = FILTER_OVERLAP_SAVE, .kernel = FILTER_KERNEL_FUSED, .length = 256},
        {.method = FILTER_OVERLAP_SAVE, .kernel = FILTER_KERNEL_LIBRARY, .length = 128},
        {.method = FILTER_OVERLAP_SAVE, .kernel = FILTER_KERNEL_LIBRARY, .length = 256},
        {.method = FILTER_OVERLAP_SAVE, .kernel = FILTER_KERNEL_FUSED, .length = 32768}};
    static const uint64_t cuts[] = {7, 50, 111};
    need_device();
    /* A processor is slow to build the long one. */
    for (size_t i = 0; i < (getenv("VOLTMILL_TEST_ALL") ? 4 : 2); i++) {
        struct bench whole;
        bench_start(&whole, SAMPLE_F32, i % 2, 0, 70, 900 + 2 * shapes[i].length);
        whole.spec.decimate = i % 2 ? 3 : 2;
        set_shape(&whole, shapes[i]);
        bench_rows(&whole, (int64_t)filter_grain(&whole.spec) - 100, 290);
        bench_run(&whole, device, 0);
        bench_agrees(&whole, device, NULL);
        for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
            struct bench cut = whole;
            cut.out = NULL;
            bench_rows(&cut, whole.first_row, whole.rows);
            bench_run(&cut, device, cuts[k]);
            assert_memory_equal(cut.out, whole.out,
                                whole.rows * STREAMS * whole.out_parts * sizeof(float));
            free(cut.out);
        }
        bench_end(&whole);
    }
}

/* A filter's rows [STREAMS][rows][2] from samples in `in`. */
static void filter_into(filter_t *filter, buffer_t *in, const struct sample_input *input,
                        uint64_t samples, uint64_t rows, buffer_t *out)
{
    struct stage_run run = {
        .streams = stream_range(0, STREAMS), .samples = samples, .rows = rows, .out_stride = rows};
    assert_int_equal(stage_run(filter, in, input, &run, out), STATUS_OK);
}

static void make_buffer(enum buffer_use use, uint64_t bytes, buffer_t **out)
{
    assert_int_equal(buffer_create(device->backend, use, bytes, out), STATUS_OK);
}

static void *see(buffer_t *buffer)
{
    void *host = NULL;
    assert_int_equal(buffer_get(buffer, &host), STATUS_OK);
    return host;
}

/* A filter bank of one tap on complex floats, for all channels. */
static channelise_t *make_bank(uint32_t channels, uint64_t spectra)
{
    channelise_t *bank = NULL;
    double coeff[64];
    for (uint32_t i = 0; i < channels; i++) {
        coeff[i] = 1;
    }
    const struct channelise_spec spec = {
        .channels = channels,
        .taps = 1,
        .is_complex = 1,
        .format = SAMPLE_F32,
        .coeff = coeff,
        .nchannels = channels,
        .nstreams = STREAMS,
        .max_spectra = spectra,
        .noutputs = 1,
        .outputs = {{.quantity = QUANTITY_SPECTRA, .integrate = 1}}};
    assert_int_equal(channelise_create(device->backend, &spec, &bank), STATUS_OK);
    return bank;
}

/* Two filters and a filter bank, from buffer to buffer on the device, and by way of the host. */
static void stages_follow_on_the_device(void **state)
{
    (void)state;
    enum { SAMPLES = 2000, SPECTRA = 30, CHANNELS = 16, BYTES = SAMPLES * STREAMS * 8 };
    need_device();
    struct bench first;
    struct bench second;
    filter_t *filters[2];
    bench_start(&first, SAMPLE_I8, 1, 0, 30, SAMPLES);
    bench_start(&second, SAMPLE_F32, 1, 1, 50, SAMPLES);
    first.spec.max_rows = second.spec.max_rows = SAMPLES;
    bench_choose(&first, device, FILTER_DIRECT);
    bench_choose(&second, device, FILTER_OVERLAP_SAVE);
    assert_int_equal(filter_create(device->backend, &first.spec, &filters[0]), STATUS_OK);
    assert_int_equal(filter_create(device->backend, &second.spec, &filters[1]), STATUS_OK);
    buffer_t *in;
    buffer_t *between[2];
    buffer_t *host_in;
    buffer_t *out;
    make_buffer(BUFFER_IN, BYTES, &in);
    make_buffer(BUFFER_BETWEEN, BYTES, &between[0]);
    make_buffer(BUFFER_BETWEEN, BYTES, &between[1]);
    make_buffer(BUFFER_IN, BYTES, &host_in);
    make_buffer(BUFFER_OUT, BYTES, &out);
    size_t re[STREAMS];
    size_t im[STREAMS];
    struct sample_input raw = {re, im, 0};
    bench_lay_out(&first, 0, SAMPLES, see(in), re, im, &raw.step);
    filter_into(filters[0], in, &raw, SAMPLES, SAMPLES, between[0]);
    /* Rows of a filter, as samples. */
    const size_t real[STREAMS] = {0, (size_t)SAMPLES * 8};
    const size_t imaginary[STREAMS] = {4, (size_t)SAMPLES * 8 + 4};
    const struct sample_input rows = {real, imaginary, 8};
    filter_into(filters[1], between[0], &rows, SAMPLES, SAMPLES, between[1]);
    memcpy(see(host_in), see(between[0]), BYTES);
    filter_into(filters[1], host_in, &rows, SAMPLES, SAMPLES, out);
    assert_memory_equal(see(between[1]), see(out), BYTES);
    /* It is there to be seen, and goes on from there. */
    memcpy(see(host_in), see(out), BYTES);
    channelise_t *bank = make_bank(CHANNELS, SPECTRA);
    uint64_t made[2];
    buffer_t *spectra[2];
    for (int i = 0; i < 2; i++) {
        make_buffer(BUFFER_OUT, BYTES, &spectra[i]);
        channelise_begin(bank, 0);
        assert_int_equal(channelise_run(bank, i ? host_in : between[1], &rows, STREAMS, SPECTRA,
                                        SPECTRA, &spectra[i], &made[i]),
                         STATUS_OK);
        assert_int_equal(made[i], SPECTRA);
    }
    assert_memory_equal(see(spectra[0]), see(spectra[1]),
                        (size_t)SPECTRA * STREAMS * CHANNELS * 2 * sizeof(float));
    stage_destroy(bank);
    buffer_t *const all[] = {in, between[0], between[1], host_in, out, spectra[0], spectra[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        buffer_destroy(all[i]);
    }
    stage_destroy(filters[0]);
    stage_destroy(filters[1]);
    bench_end(&first);
    bench_end(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct_kernels_add_in_one_order),
        cmocka_unit_test(candidates_agree_with_the_reference),
        cmocka_unit_test(cuts_of_blocks_change_nothing),
        cmocka_unit_test(stages_follow_on_the_device),
    };
    return cmocka_run_group_tests(tests, open_backends, close_backends);
}
