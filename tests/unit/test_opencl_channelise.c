/* The OpenCL backend against the reference: every kernel, on whatever device there is. */
#include "channelise_bench.h"
#include "find_device.h"
#include "sampled.h"

#include <stdio.h>

static const struct {
    enum sample_format format;
    int is_complex;
} inputs[] = {{SAMPLE_I4, 1},  {SAMPLE_I8, 1},  {SAMPLE_I8, 0}, {SAMPLE_I16, 1},
              {SAMPLE_I16, 0}, {SAMPLE_F32, 1}, {SAMPLE_F32, 0}};
enum { INPUTS = sizeof inputs / sizeof *inputs };

/* Kernels take a second to build on a processor: of most lists only some, but in `make test-long`.
 */
static int is_all(void)
{
    return getenv("VOLTMILL_TEST_ALL") != NULL;
}

/* Runs `a` on OpenCL and the same on the reference, and compares every output. */
static void agree(struct bench *a, uint64_t first, uint64_t block, const char *what)
{
    struct bench b = *a;
    b.spec.noutputs = 0;
    for (uint32_t i = 0; i < a->spec.noutputs; i++) {
        add_output(&b, a->spec.outputs[i].quantity, a->spec.outputs[i].integrate);
    }
    bench_run(a, BACKEND_OPENCL, first, block);
    bench_run(&b, BACKEND_REFERENCE, first, 64);
    assert_int_equal(a->missing, b.missing);
    for (uint32_t i = 0; i < a->spec.noutputs; i++) {
        assert_agrees(a, &b, i, what);
        free(b.out[i]);
    }
}

/* Each kernel with every kind of input, or with two of them. */
static void kernels_agree_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        enum kernel_kind kernel;
        uint32_t channels, taps;
        int few[2]; /* inputs */
    } cases[] = {{KERNEL_FUSED, 64, 3, {0, 2}},  {KERNEL_SLIDE, 30, 4, {1, 6}},
                 {KERNEL_FINE, 256, 3, {2, 3}},  {KERNEL_CACHE, 1000, 17, {4, 5}},
                 {KERNEL_LOCAL, 96, 16, {3, 6}}, {KERNEL_BLOCKS, 20, 19, {1, 1}}};
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int input = 0; input < INPUTS; input++) {
            struct bench bench;
            const int is_first = input == cases[i].few[0];
            const int is_few = is_first || input == cases[i].few[1];
            if (!is_all() && !(is_few && is_sampled((unsigned)i * 2 + !is_first, 4))) {
                continue;
            }
            bench_start(&bench, inputs[input].format, inputs[input].is_complex, cases[i].channels,
                        cases[i].taps, 37);
            bench.spec.kernel = cases[i].kernel;
            add_output(&bench, QUANTITY_SPECTRA, 1);
            agree(&bench, 0, 16, kernel_name(cases[i].kernel));
            bench_end(&bench);
        }
    }
}

/* Power, sums, several products at once, kept channels: for fused and separate kernels. */
static void products_agree_with_the_reference(void **state)
{
    (void)state;
    static const enum kernel_kind kernels[] = {KERNEL_FUSED, KERNEL_CACHE};
    static const uint64_t integrates[] = {1, 2, 5, 16, 40};
    if (!has_device) {
        skip();
    }
    for (int kernel = 0; kernel < 2; kernel++) {
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            for (int i = 0; i < 7; i++) {
                struct bench bench;
                int is_often = is_complex ? i == 2 || i == 6 || (i == 3 && kernel == 0)
                                          : i == 6 && kernel == 0;
                if (!is_all() && !(is_often && is_sampled((unsigned)(i + kernel), 2))) {
                    continue;
                }
                bench_start(&bench, SAMPLE_I8, is_complex, 64, 3, 120);
                bench.spec.kernel = kernels[kernel];
                bench.spec.first_channel = i == 2 ? 5 : 0;
                bench.spec.nchannels = i == 2 ? 50 : 64;
                for (int j = 0; j < 5; j++) {
                    if (i == j || i >= 5) {
                        add_output(&bench, QUANTITY_POWER, integrates[j]);
                    }
                }
                if (i == 6) {
                    add_output(&bench, QUANTITY_SPECTRA, 1);
                }
                agree(&bench, 40, 32, kernel_name(kernels[kernel]));
                bench_end(&bench);
            }
        }
    }
}

/* Neither blocks nor where a chunk begins change a bit. */
static void cuts_change_nothing(void **state)
{
    (void)state;
    static const enum kernel_kind kernels[] = {KERNEL_FUSED, KERNEL_SLIDE, KERNEL_CACHE,
                                               KERNEL_LOCAL, KERNEL_FINE,  KERNEL_BLOCKS};
    static const uint64_t blocks[] = {16, 48, 112};
    enum { SPECTRA = 242 };
    if (!has_device) {
        skip();
    }
    for (int kernel = 0; kernel < 6; kernel++) {
        for (int is_power = 0; is_power < 2; is_power++) {
            struct bench whole;
            uint64_t integrate = is_power ? 40 : 1;
            /* Power of all that are neither fused nor fine is made by one kernel. */
            int is_often = !is_power || kernels[kernel] == KERNEL_FUSED ||
                           kernels[kernel] == KERNEL_CACHE || kernels[kernel] == KERNEL_FINE;
            if (!is_all() && (!is_often || !is_sampled((unsigned)(kernel + is_power), 2))) {
                continue;
            }
            size_t channels = kernels[kernel] == KERNEL_FINE ? 256 : 64;
            bench_start(&whole, SAMPLE_I8, 1, (uint32_t)channels, 3, SPECTRA);
            whole.spec.kernel = kernels[kernel];
            add_output(&whole, is_power ? QUANTITY_POWER : QUANTITY_SPECTRA, integrate);
            bench_run(&whole, BACKEND_OPENCL, 0, 1024);
            for (int i = 0; i < 3; i++) {
                struct bench cut = whole;
                cut.spec.noutputs = 0;
                add_output(&cut, is_power ? QUANTITY_POWER : QUANTITY_SPECTRA, integrate);
                bench_run(&cut, BACKEND_OPENCL, 0, blocks[i]);
                assert_int_equal(cut.rows[0], whole.rows[0]);
                assert_memory_equal(cut.out[0], whole.out[0],
                                    (size_t)whole.rows[0] * STREAMS * channels *
                                        (is_power ? 1 : 2) * sizeof(float));
                free(cut.out[0]);
            }
            bench_end(&whole);
        }
    }
}

/* More taps than a piece of their sum has, whole blocks of them and a rest: the same order, so the
 * same bytes, after the same transform; and the fused kernel, which takes them in rounds. */
static void many_taps_are_added_in_one_order(void **state)
{
    (void)state;
    enum { TAPS = 139, CHANNELS = 24, SPECTRA = 43 };
    if (!has_device) {
        skip();
    }
    for (int is_complex = is_all() ? 0 : 1; is_complex < 2; is_complex++) {
        struct bench cache;
        struct bench blocks;
        bench_start(&cache, SAMPLE_I8, is_complex, CHANNELS, TAPS, SPECTRA);
        blocks = cache;
        cache.spec.kernel = KERNEL_CACHE;
        add_output(&cache, QUANTITY_SPECTRA, 1);
        agree(&cache, 0, 64, "cache, many taps");
        blocks.spec.choice = (struct channelise_choice){.backend = BACKEND_OPENCL,
                                                        .shape = {.kernel = KERNEL_BLOCKS,
                                                                  .width = 16,
                                                                  .teams = 2,
                                                                  .run = 8,
                                                                  .vector = 1,
                                                                  .fft = FFT_VKFFT}};
        blocks.spec.kernel = KERNEL_BLOCKS;
        add_output(&blocks, QUANTITY_SPECTRA, 1);
        bench_run(&blocks, BACKEND_OPENCL, 0, 64);
        assert_memory_equal(blocks.out[0], cache.out[0],
                            (size_t)SPECTRA * STREAMS * CHANNELS * 2 * sizeof(float));
        free(blocks.out[0]);
        bench_end(&cache);
    }
    struct bench fused;
    bench_start(&fused, SAMPLE_I8, 1, 32, TAPS, SPECTRA);
    /* Three do not divide a round. */
    fused.spec.choice = (struct channelise_choice){.backend = BACKEND_OPENCL,
                                                   .shape = {.kernel = KERNEL_FUSED,
                                                             .values = 8,
                                                             .batch = 3,
                                                             .teams = 1,
                                                             .radix = {8, 4, 1, 1},
                                                             .buffers = 3}};
    fused.spec.kernel = KERNEL_FUSED;
    add_output(&fused, QUANTITY_SPECTRA, 1);
    agree(&fused, 0, 64, "fused, many taps");
    bench_end(&fused);
}

/* Columns and rows of every length, in two steps and in three, relayed and not; blocks of fewer
 * spectra than a batch; what leaves them, of all channels and of some. */
static void fine_channels_agree_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        uint32_t radix[3], width, batch, buffers, lanes, lag; /* 0: not relayed */
        int is_often;
    } cases[] = {{{16, 16, 16}, 16, 2, 1, 16, 0, 1},  {{128, 16, 1}, 16, 2, 2, 8, 0, 1},
                 {{16, 64, 1}, 64, 3, 3, 16, 2, 1},   {{16, 16, 32}, 16, 1, 1, 16, 2, 1},
                 {{16, 64, 1}, 32, 5, 5, 8, 0, 0},    {{32, 32, 1}, 32, 5, 1, 8, 0, 0},
                 {{64, 128, 1}, 16, 5, 1, 4, 0, 0},   {{256, 16, 1}, 16, 4, 1, 16, 0, 0},
                 {{16, 256, 1}, 64, 4, 4, 16, 0, 0},  {{16, 512, 1}, 16, 2, 1, 8, 0, 0},
                 {{16, 1024, 1}, 16, 3, 3, 4, 0, 0},  {{16, 32, 16}, 16, 4, 4, 16, 0, 0},
                 {{16, 64, 16}, 16, 4, 4, 16, 0, 0},  {{16, 128, 16}, 16, 4, 4, 8, 0, 0},
                 {{16, 256, 16}, 16, 5, 5, 16, 0, 0}, {{32, 256, 1}, 32, 5, 5, 8, 3, 0},
                 {{64, 64, 1}, 16, 5, 5, 8, 0, 0},    {{16, 128, 128}, 64, 5, 5, 16, 3, 0}};
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t channels = cases[i].radix[0] * cases[i].radix[1] * cases[i].radix[2];
        for (int is_power = 0; is_power < 2; is_power++) {
            struct bench bench;
            /* Sums with one of the few. */
            int is_often = cases[i].is_often && (is_power ? i == 1 : i != 1);
            if ((!is_all() && !(is_often && is_sampled((unsigned)i, 2))) ||
                (is_power && cases[i].lag)) {
                continue;
            }
            bench_start(&bench, SAMPLE_I8, 1, channels, 3, 34);
            bench.spec.choice = (struct channelise_choice){
                .backend = BACKEND_OPENCL,
                .shape = {.kernel = KERNEL_FINE,
                          .radix = {cases[i].radix[0], cases[i].radix[1], cases[i].radix[2], 1},
                          .width = cases[i].width,
                          .batch = cases[i].batch,
                          .buffers = cases[i].buffers,
                          .run = 1,
                          .vector = cases[i].lanes,
                          .streaming = cases[i].lag > 0,
                          .teams = cases[i].lag}};
            bench.spec.first_channel = is_power ? 5 : 0;
            bench.spec.nchannels = is_power ? channels - 9 : channels;
            add_output(&bench, is_power ? QUANTITY_POWER : QUANTITY_SPECTRA, is_power ? 5 : 1);
            /* A block that begins amid a grain and reaches over its end. */
            agree(&bench, 40, is_power ? 64 : 16, "fine");
            bench_end(&bench);
        }
    }
}

/* Samples that are no numbers, and the missing value of every format. */
static void missing_samples_agree(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    for (int input = 0; input < INPUTS; input++) {
        /* Byte order and offset matter to nibbles alone. */
        for (int variant = inputs[input].format == SAMPLE_I4 ? 0 : 2; variant < 4; variant++) {
            struct bench bench;
            int is_often = (variant + input) % 2 == 0 && input != 2 && input != 3 && input != 6;
            if (!is_all() &&
                (!is_often || !is_sampled((unsigned)input / 4 + (unsigned)variant / 2, 2))) {
                continue;
            }
            bench_start(&bench, inputs[input].format, inputs[input].is_complex, 20, 4, 60);
            bench.spec.kernel = KERNEL_CACHE;
            bench.spec.missing.has_value = 1;
            bench.spec.missing.value = variant == 3 ? 0.5 : 17;
            bench.spec.nibbles.offset_binary = variant & 1;
            bench.spec.nibbles.high_is_real = variant >> 1 & 1;
            bench.spec.conjugate = inputs[input].is_complex && (variant & 1);
            if (bench.spec.format == SAMPLE_F32) {
                float *numbers = (float *)(void *)bench.in;
                numbers[3] = NAN;
                numbers[400] = -INFINITY;
                numbers[404] = 17;
                numbers[405] = 0.5F;
            }
            add_output(&bench, QUANTITY_SPECTRA, 1);
            agree(&bench, 0, 16, "missing");
            if (bench.spec.format == SAMPLE_F32) {
                assert_int_equal(bench.missing, 3);
            }
            bench_end(&bench);
        }
    }
}

/* The fused kernel looks for them itself where a stream lies as it reads it: at both ends of
 * blocks, in overlaps, of either part. */
static void fused_kernel_finds_missing(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    for (int kind = 0; kind < 4; kind++) {
        struct bench bench;
        /* Spectra of complex samples, power of real ones. */
        if (kind != 1 && kind != 2 && !is_all()) {
            continue;
        }
        bench_start_streams(&bench, 1, SAMPLE_F32, kind & 1, 32, 3, 37);
        const uint64_t numbers = bench.samples * (kind & 1 ? 2 : 1);
        const uint64_t row = channelise_samples(&bench.spec) * (kind & 1 ? 2 : 1);
        float *in = (float *)(void *)bench.in;
        const uint64_t bad[] = {0,
                                1,
                                5,
                                row - 1,
                                16 * row,
                                16 * row + 9,
                                18 * row - 1,
                                36 * row + 3,
                                numbers - 2 * row,
                                numbers - 1};
        bench.spec.kernel = KERNEL_FUSED;
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            in[bad[i]] = i % 2 ? NAN : INFINITY;
        }
        add_output(&bench, kind & 2 ? QUANTITY_POWER : QUANTITY_SPECTRA, kind & 2 ? 5 : 1);
        agree(&bench, 0, 16, "missing, fused");
        /* Both parts of the first complex sample are one. */
        assert_int_equal(bench.missing, kind & 1 ? 9 : 10);
        bench_end(&bench);
    }
}

/* The middle stage in halves of a batch, and four coefficients by one load where there are fours of
 * them; the last block is shorter than a batch. */
static void halves_agree_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        enum sample_format format;
        uint32_t taps;
        uint64_t integrate; /* 0: spectra */
    } cases[] = {{SAMPLE_I8, 8, 5}, {SAMPLE_I8, 3, 40}, {SAMPLE_F32, 4, 0}};
    const struct channelise_choice halves = {.backend = BACKEND_OPENCL,
                                             .shape = {.kernel = KERNEL_FUSED,
                                                       .values = 4,
                                                       .batch = 4,
                                                       .teams = 2,
                                                       .radix = {4, 8, 4, 1},
                                                       .buffers = 4,
                                                       .paired = 1}};
    if (!has_device) {
        skip();
    }
    for (size_t i = is_all() ? 0 : 1; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench;
        bench_start(&bench, cases[i].format, 1, 128, cases[i].taps, 83);
        bench.spec.choice = halves;
        add_output(&bench, cases[i].integrate ? QUANTITY_POWER : QUANTITY_SPECTRA,
                   cases[i].integrate ? cases[i].integrate : 1);
        agree(&bench, 40, 16, "halves");
        bench_end(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree_with_the_reference),
        cmocka_unit_test(products_agree_with_the_reference),
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(many_taps_are_added_in_one_order),
        cmocka_unit_test(fine_channels_agree_with_the_reference),
        cmocka_unit_test(missing_samples_agree),
        cmocka_unit_test(fused_kernel_finds_missing),
        cmocka_unit_test(halves_agree_with_the_reference),
    };
    return cmocka_run_group_tests_name("opencl_channelise", tests, find_device, NULL);
}
