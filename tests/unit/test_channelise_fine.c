/* Fine channels on the CPU, whose spectra are made by columns and rows: they agree with the
 * reference, whatever is made of them, and neither the samples' order, threads nor blocks change a
 * bit. */
#include "channelise_bench.h"

#include "compute/cpu/fine_fft.h"

#include <stdio.h>

enum { TAPS = 3, SPECTRA = 21, FIRST = 7 };

/* Few channels, too, for which the rule would not choose this. */
static const struct fine_shape shapes[] = {
    {16, 32, 0}, {16, 32, 1}, {48, 128, 0}, {64, 32, 1}, {128, 256, 1}};

static void start(struct bench *bench, uint32_t streams, struct fine_shape shape)
{
    const size_t channels = shape.height * shape.width;
    bench_start_streams(bench, streams, SAMPLE_I8, 1, (uint32_t)channels, TAPS, SPECTRA);
    bench->spec.choice.backend = BACKEND_CPU;
    bench->spec.choice.shape.simd = (uint32_t)simd_best() + 1;
    bench->spec.choice.shape.radix[0] = (uint32_t)shape.height;
    bench->spec.choice.shape.radix[1] = (uint32_t)shape.width;
    bench->spec.choice.shape.vector = shape.is_beside ? FINE_COLUMNS : 0;
    bench->spec.pol_inner = 1;
    bench->spec.missing.has_value = 1;
    bench->spec.missing.value = -128;
    add_output(bench, QUANTITY_SPECTRA, 1);
    add_output(bench, QUANTITY_POWER, FIRST);
    add_output(bench, QUANTITY_SQUARES, 1);
    if (streams == 2) {
        add_output(bench, QUANTITY_COHERENCY, FIRST);
    }
}

static void assert_same(const struct bench *one, const struct bench *other)
{
    assert_int_equal(one->missing, other->missing);
    for (uint32_t i = 0; i < one->spec.noutputs; i++) {
        uint64_t floats = one->rows[i] * channelise_row_floats(&one->spec, i, one->streams);
        assert_int_equal(one->rows[i], other->rows[i]);
        assert_memory_equal(one->out[i], other->out[i], (size_t)floats * sizeof(float));
    }
}

static void fine_channels_agree_with_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (uint32_t streams = 1; streams <= 2; streams++) {
            struct bench bench;
            struct bench expected;
            struct bench again;
            const uint64_t state_before = random_state;
            start(&bench, streams, shapes[i]);
            random_state = state_before;
            start(&expected, streams, shapes[i]);
            random_state = state_before;
            start(&again, streams, shapes[i]);
            expected.spec.choice.backend = BACKEND_AUTO;
            bench_run(&expected, BACKEND_REFERENCE, FIRST, 1000);
            bench_run(&bench, BACKEND_CPU, FIRST, 1000);
            assert_int_equal(bench.missing, expected.missing);
            assert_true(bench.missing > 0);
            for (uint32_t output = 0; output < bench.spec.noutputs; output++) {
                assert_agrees(&bench, &expected, output, "fine channels");
            }
            /* Each stream's samples side by side, which threads may share, in blocks. */
            again.is_side_by_side = 1;
            again.spec.threads = 3;
            bench_run(&again, BACKEND_CPU, FIRST, 16);
            assert_same(&bench, &again);
            again.spec.threads = 2;
            bench_run(&again, BACKEND_CPU, FIRST, 1000);
            assert_same(&bench, &again);
            /* Interleaved, which threads deinterleave first. */
            again.is_side_by_side = 0;
            again.spec.threads = 3;
            bench_run(&again, BACKEND_CPU, FIRST, 16);
            assert_same(&bench, &again);
            /* All at once, which threads share in pieces where a piece has enough for two. */
            again.spec.threads = 2;
            bench_run(&again, BACKEND_CPU, FIRST, 1000);
            assert_same(&bench, &again);
            /* The same where each thread makes spectra of its own. */
            again.spec.threads = 1;
            again.spec.is_interleaved = 1;
            bench_run(&again, BACKEND_CPU, FIRST, 16);
            assert_same(&bench, &again);
            bench_end(&bench);
            bench_end(&expected);
            bench_end(&again);
        }
    }
}

/* A range of channels that begins and ends inside of what is made side by side. */
static void a_range_of_channels_is_a_part_of_all(void **state)
{
    enum { LOW = 103, COUNT = 301 };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct bench all;
        struct bench part;
        const uint64_t state_before = random_state;
        start(&all, 2, shapes[i]);
        random_state = state_before;
        start(&part, 2, shapes[i]);
        part.spec.first_channel = LOW;
        part.spec.nchannels = COUNT;
        all.is_side_by_side = part.is_side_by_side = 1;
        const size_t channels = all.spec.channels;
        bench_run(&all, BACKEND_CPU, FIRST, 1000);
        bench_run(&part, BACKEND_CPU, FIRST, 1000);
        for (uint32_t output = 0; output < all.spec.noutputs; output++) {
            size_t floats = all.spec.outputs[output].quantity == QUANTITY_SPECTRA ? 2 : 1;
            size_t lines = (size_t)(part.rows[output] *
                                    channelise_row_floats(&part.spec, output, 2) / COUNT / floats);
            for (size_t line = 0; line < lines; line++) {
                assert_memory_equal(part.out[output] + line * COUNT * floats,
                                    all.out[output] + (line * channels + LOW) * floats,
                                    COUNT * floats * sizeof(float));
            }
        }
        bench_end(&all);
        bench_end(&part);
    }
}

/* Spectra that nothing else is made of go to memory at once. */
static void spectra_alone_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct bench all;
        struct bench alone;
        const uint64_t state_before = random_state;
        start(&all, 2, shapes[i]);
        random_state = state_before;
        start(&alone, 2, shapes[i]);
        alone.spec.noutputs = 1;
        alone.spec.threads = 2;
        all.is_side_by_side = alone.is_side_by_side = 1;
        bench_run(&all, BACKEND_CPU, FIRST, 1000);
        bench_run(&alone, BACKEND_CPU, FIRST, 16);
        assert_int_equal(alone.rows[0], all.rows[0]);
        assert_memory_equal(alone.out[0], all.out[0],
                            (size_t)(alone.rows[0] * channelise_row_floats(&alone.spec, 0, 2)) *
                                sizeof(float));
        alone.spec.noutputs = all.spec.noutputs; /* all were allocated */
        bench_end(&all);
        bench_end(&alone);
    }
}

/* Lengths that have no two such factors go to FFTW as a whole. */
static void shapes_are_a_rule(void **state)
{
    const size_t least = fine_least();
    (void)state;
    assert_int_equal(fine_shape(FINE_LEAST / 2, 1).height, 0);
    assert_int_equal(fine_shape(FINE_LEAST, 0).height, 0);
    assert_int_equal(fine_shape(least / 4 * 3, 1).height, 0);
    assert_false(fine_shape(least * 3, 1).is_beside);
    assert_int_equal(fine_shape(least * 3, 1).height * fine_shape(least * 3, 1).width, least * 3);
    assert_int_equal(fine_shape(least + 2, 1).height, 0);
    assert_int_equal(fine_shape(least + least / 16, 1).height, 0);
    assert_int_equal(fine_shape(1000000, 1).height, 0);
    for (size_t points = FINE_LEAST; points <= (size_t)1 << 26; points *= 2) {
        struct fine_shape shape = fine_shape(points, 1);
        assert_true(shape.is_beside);
        assert_int_equal(shape.height * shape.width, points);
        assert_int_equal(shape.height % FINE_COLUMNS, 0);
        assert_int_equal(shape.width % FINE_STRIP, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fine_channels_agree_with_reference),
        cmocka_unit_test(a_range_of_channels_is_a_part_of_all),
        cmocka_unit_test(spectra_alone_are_the_same),
        cmocka_unit_test(shapes_are_a_rule),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
