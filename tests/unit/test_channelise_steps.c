/* Spectra that a filter bank rounds to few bits: the bytes, and what is clipped, are those of
 * dsp/steps.h made of the same backend's floats. */
#include "channelise_bench.h"
#include "dsp/steps.h"
#include "find_device.h"

enum { MOST_BYTES = 1 << 20, MOST_CHANNELS = 256 };

/* Rounded output: alone, or beside others, for which backends take other branches. */
enum beside { ALONE, BESIDE_POWER, BESIDE_SPECTRA };

struct few {
    struct bench bench;
    uint32_t output; /* of few bits */
    struct steps_form form;
    uint64_t scale_rows;
    float factors[MOST_STREAMS * MOST_CHANNELS];
    char rows[MOST_BYTES];
    uint32_t
        counts[MOST_BYTES / 16]; /* [blocks][streams][channels][2], blocks from spectrum 0 on */
};

/* Runs spectra `first` .. in blocks; takes rows and counts together. */
static void few_run(struct few *few, enum backend_kind kind, uint64_t first, uint64_t block)
{
    struct bench *bench = &few->bench;
    const struct channelise_spec *spec = &bench->spec;
    struct backend_options options = {.local_size = 1};
    const size_t step = bench->streams * bench->sample_bytes;
    const size_t period = channelise_samples(spec);
    const uint64_t row = channelise_row_bytes(spec, few->output, bench->streams);
    const size_t lines = (size_t)bench->streams * spec->nchannels;
    backend_t *backend;
    channelise_t *stage;
    buffer_t *in;
    buffer_t *out[MOST_OUTPUTS];
    assert_int_equal(backend_open(kind, &options, &backend), STATUS_OK);
    assert_int_equal(channelise_create(backend, spec, &stage), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, bench->samples * step, &in), STATUS_OK);
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        uint64_t bytes =
            channelise_output_bytes(spec, i, bench->streams, min_u64(block, spec->max_spectra));
        assert_int_equal(buffer_create(backend, BUFFER_OUT, bytes, &out[i]), STATUS_OK);
    }
    memset(few->rows, 0x55, sizeof few->rows);
    memset(few->counts, 0, sizeof few->counts);
    channelise_begin(stage, first);
    assert_int_equal(channelise_scale(stage, few->output, bench->streams, few->factors), STATUS_OK);
    for (uint64_t done = 0; done < spec->max_spectra;) {
        uint64_t end = (first + done) / block * block + block - first;
        uint64_t count = min_u64(end, spec->max_spectra) - done;
        uint64_t rows[MOST_OUTPUTS];
        struct sample_input input = {bench->re, bench->im, step};
        void *host;
        assert_int_equal(buffer_get(in, &host), STATUS_OK);
        memcpy(host, bench->in + done * period * step,
               (size_t)(count + spec->taps - 1) * period * step);
        assert_int_equal(
            channelise_run(stage, in, &input, bench->streams, count, count * period, out, rows),
            STATUS_OK);
        assert_int_equal(rows[few->output], count);
        assert_int_equal(buffer_get(out[few->output], &host), STATUS_OK);
        memcpy(few->rows + done * row, host, (size_t)(count * row));
        struct channelise_clipped clipped =
            channelise_clipped(spec, few->output, bench->streams, first + done, count);
        const uint32_t *counts = (const uint32_t *)(const void *)((const char *)host + clipped.at);
        uint64_t from = (first + done) / few->scale_rows * lines * 2;
        for (uint64_t i = 0; i < clipped.blocks * lines * 2; i++) {
            few->counts[from + i] += counts[i];
        }
        done += count;
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        buffer_destroy(out[i]);
    }
    buffer_destroy(in);
    stage_destroy(stage);
    backend_close(backend);
}

static void few_start(struct few *few, uint32_t bits, enum beside beside)
{
    struct bench *bench = &few->bench;
    if (beside == BESIDE_POWER) {
        add_output(bench, QUANTITY_POWER, 3);
    } else if (beside == BESIDE_SPECTRA) {
        add_output(bench, QUANTITY_SPECTRA, 1);
    }
    few->output = bench->spec.noutputs;
    few->form = (struct steps_form){.bits = bits, .is_signed = 1};
    add_output(bench, QUANTITY_SPECTRA, 1);
    bench->spec.outputs[few->output].bits = bits;
    bench->spec.outputs[few->output].scale_rows = few->scale_rows;
    assert_true(bench->spec.channels <= MOST_CHANNELS);
}

/* The same spectra as floats, as the same choice makes them. */
static void floats_of(const struct few *few, enum backend_kind kind, uint64_t first,
                      struct bench *floats)
{
    struct backend_options options = {.local_size = 1};
    backend_t *backend;
    *floats = few->bench;
    floats->spec.noutputs = 0;
    add_output(floats, QUANTITY_SPECTRA, 1);
    assert_int_equal(backend_open(kind, &options, &backend), STATUS_OK);
    assert_int_equal(channelise_choose(backend, &few->bench.spec, &floats->spec.choice), STATUS_OK);
    backend_close(backend);
    bench_run(floats, kind, first, 1024);
}

/* Rows and counts are the steps of the floats. Returns how many are clipped. */
static uint64_t assert_steps(const struct few *few, const struct bench *floats, uint64_t first)
{
    const struct channelise_spec *spec = &few->bench.spec;
    const size_t lines = (size_t)few->bench.streams * spec->nchannels;
    const size_t row = lines * 2 * few->form.bits / 8;
    char expected[MOST_STREAMS * MOST_CHANNELS * 4];
    static uint32_t counts[MOST_BYTES / 16];
    uint64_t clipped = 0;
    memset(counts, 0, sizeof counts);
    for (uint64_t s = 0; s < spec->max_spectra; s++) {
        uint16_t low[MOST_STREAMS * MOST_CHANNELS] = {0};
        uint16_t high[MOST_STREAMS * MOST_CHANNELS] = {0};
        steps_store(&(const struct steps_rows){.form = few->form,
                                               .rows = floats->out[0] + s * lines * 2,
                                               .count = 1,
                                               .lines = lines,
                                               .factor = few->factors,
                                               .out = expected,
                                               .low = low,
                                               .high = high});
        assert_memory_equal(few->rows + s * row, expected, row);
        uint32_t *at = counts + (first + s) / few->scale_rows * lines * 2;
        for (size_t i = 0; i < lines; i++) {
            at[2 * i] += low[i];
            at[2 * i + 1] += high[i];
            clipped += (uint64_t)low[i] + high[i];
        }
    }
    assert_memory_equal(few->counts, counts, sizeof counts);
    return clipped;
}

static void set_factors(struct few *few, double rms)
{
    const double most = steps_most(few->form);
    for (size_t i = 0; i < sizeof few->factors / sizeof *few->factors; i++) {
        /* From far inside the range to far outside of it. */
        few->factors[i] = (float)(most / rms * pow(10, (double)(i % 11) / 5 - 1.5));
    }
}

static double rms_of(const struct bench *floats)
{
    const size_t count =
        (size_t)floats->spec.max_spectra * floats->streams * floats->spec.nchannels * 2;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)floats->out[0][i] * (double)floats->out[0][i];
    }
    return sqrt(sum / (double)count);
}

static void check(enum backend_kind kind, enum kernel_kind kernel, enum sample_format format,
                  int is_complex, uint32_t channels, uint32_t bits, enum beside beside)
{
    static struct few few;
    struct bench floats;
    memset(&few, 0, sizeof few);
    few.scale_rows = 20; /* blocks of 16 end elsewhere */
    bench_start(&few.bench, format, is_complex, channels, 3, 67);
    few.bench.spec.kernel = kernel;
    if (channels > 8) { /* not all of them */
        few.bench.spec.first_channel = beside == BESIDE_SPECTRA ? 0 : 5;
        few.bench.spec.nchannels = channels - (beside == BESIDE_SPECTRA ? 0 : 7);
    }
    few_start(&few, bits, beside);
    floats_of(&few, kind, 48, &floats);
    set_factors(&few, rms_of(&floats));
    const uint64_t blocks[] = {1024, 16};
    for (int i = 0; i < 2; i++) {
        few_run(&few, kind, 48, blocks[i]);
        assert_true(assert_steps(&few, &floats, 48) > 100);
    }
    free(floats.out[0]);
    bench_end(&few.bench);
}

static void reference_rounds(void **state)
{
    (void)state;
    check(BACKEND_REFERENCE, KERNEL_AUTO, SAMPLE_I8, 1, 12, 8, ALONE);
    check(BACKEND_REFERENCE, KERNEL_AUTO, SAMPLE_I16, 0, 12, 16, BESIDE_POWER);
}

static void cpu_rounds(void **state)
{
    (void)state;
    check(BACKEND_CPU, KERNEL_AUTO, SAMPLE_I8, 1, 64, 8, ALONE);
    check(BACKEND_CPU, KERNEL_AUTO, SAMPLE_I8, 1, 6, 8, BESIDE_SPECTRA);
    check(BACKEND_CPU, KERNEL_AUTO, SAMPLE_I4, 1, 64, 16, BESIDE_POWER);
    check(BACKEND_CPU, KERNEL_AUTO, SAMPLE_F32, 0, 96, 8, BESIDE_SPECTRA);
}

static void opencl_rounds(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    check(BACKEND_OPENCL, KERNEL_FUSED, SAMPLE_I8, 1, 64, 8, ALONE);
    check(BACKEND_OPENCL, KERNEL_FUSED, SAMPLE_I8, 1, 64, 8, BESIDE_SPECTRA);
    if (getenv("VOLTMILL_TEST_ALL")) { /* a processor takes two seconds to build each */
        check(BACKEND_OPENCL, KERNEL_FUSED, SAMPLE_F32, 0, 64, 16, ALONE);
        check(BACKEND_OPENCL, KERNEL_FUSED, SAMPLE_I8, 1, 64, 8, BESIDE_POWER);
    }
    check(BACKEND_OPENCL, KERNEL_FINE, SAMPLE_I8, 1, 256, 8, ALONE);
    check(BACKEND_OPENCL, KERNEL_SLIDE, SAMPLE_I8, 1, 30, 8, ALONE);
    check(BACKEND_OPENCL, KERNEL_CACHE, SAMPLE_I16, 0, 30, 16, BESIDE_SPECTRA);
}

/* Spectra in which all channels have the same number: halves, the ends of the range and their
 * neighbours, what is beyond all floats; and one whose sums leave the range of floats, so that
 * channels have no number. */
static void check_edges(enum backend_kind kind, enum kernel_kind kernel)
{
    static const float edges[] = {0,      -0.0f,   0.5f,     -0.5f,   1.5f,       2.5f,
                                  126.5f, -126.5f, 127.0f,   -127.0f, 127.499f,   -127.499f,
                                  127.5f, -127.5f, 127.501f, 128.0f,  -128.0f,    -128.5f,
                                  300.0f, -300.0f, 3e6f,     -9e6f,   4194303.5f, -4194304.5f,
                                  3e38f,  -3e38f,  1e-45f,   -1e-45f, INFINITY,   3e38f};
    enum { EDGES = sizeof edges / sizeof *edges, C = 32, LOW = 13 };
    static struct few few;
    struct bench floats;
    double ones[C];
    memset(&few, 0, sizeof few);
    few.scale_rows = 16;
    bench_start_streams(&few.bench, 1, SAMPLE_F32, 1, C, 1, EDGES);
    few.bench.spec.kernel = kernel;
    few.bench.spec.missing.is_none = 1; /* else what is not finite were missing */
    for (int i = 0; i < C; i++) {
        ones[i] = 1;
    }
    few.bench.spec.coeff = ones;
    memset(few.bench.in, 0, few.bench.samples * few.bench.sample_bytes);
    float *samples = (float *)(void *)few.bench.in;
    for (size_t s = 0; s < EDGES; s++) {
        samples[2 * s * C] = edges[s];
    }
    for (int i = 1; i < 4; i++) { /* inf - inf */
        samples[2 * (EDGES - 1) * C + i * C / 2] = i == 2 ? 3e38f : -3e38f;
    }
    few_start(&few, 8, ALONE);
    for (size_t i = 0; i < sizeof few.factors / sizeof *few.factors; i++) {
        few.factors[i] = 1;
    }
    floats_of(&few, kind, 0, &floats);
    few_run(&few, kind, 0, 1024);
    assert_true(assert_steps(&few, &floats, 0) >= (uint64_t)LOW * C);
    const signed char *q = (const signed char *)few.rows;
    assert_int_equal(q[2 * C * 5], 2);     /* 2.5 */
    assert_int_equal(q[2 * C * 11], -127); /* -127.499 */
    assert_int_equal(few.counts[0], 1);    /* of the first 16: -127.5, */
    assert_int_equal(few.counts[1], 3);    /* 127.5 and two beyond */
    int blank = 0;
    for (size_t i = 0; i < (size_t)EDGES * C * 2; i++) {
        blank += q[i] == -128;
        assert_int_equal(q[i] == -128, isnan(floats.out[0][i]) != 0);
    }
    assert_true(blank > 0 || kind == BACKEND_REFERENCE); /* whose sums are doubles */
    free(floats.out[0]);
    bench_end(&few.bench);
}

static void edges_are_exact(void **state)
{
    (void)state;
    check_edges(BACKEND_REFERENCE, KERNEL_AUTO);
    check_edges(BACKEND_CPU, KERNEL_AUTO);
    if (has_device) {
        check_edges(BACKEND_OPENCL, KERNEL_FUSED);
        check_edges(BACKEND_OPENCL, KERNEL_SLIDE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_rounds),
        cmocka_unit_test(cpu_rounds),
        cmocka_unit_test(opencl_rounds),
        cmocka_unit_test(edges_are_exact),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}
