/* Spectra of a bank that come in again: what is detected of them has the bytes of the bank's own
 * outputs. */
#include "channelise_bench.h"
#include "find_device.h"

#include "dsp/steps.h"

enum { SPECTRA = 75, FIRST = 48, PAIRS = 4 };

static const struct channelise_output kinds[] = {
    {.quantity = QUANTITY_SPECTRA, .integrate = 1},
    {.quantity = QUANTITY_POWER, .integrate = 1},
    {.quantity = QUANTITY_POWER, .integrate = 24},
    {.quantity = QUANTITY_SQUARES, .integrate = 16},
    {.quantity = QUANTITY_COHERENCY, .integrate = 6},
    {.quantity = QUANTITY_SPECTRA, .integrate = 1, .bits = 8, .scale_rows = 20}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* All outputs of a stage, for all its spectra. */
struct made {
    char *data[KINDS];
    uint64_t bytes[KINDS];
};

static void free_made(struct made *made)
{
    for (int i = 0; i < KINDS; i++) {
        free(made->data[i]);
    }
}

/* Runs a stage over all spectra, at most `cut` at a time. Samples, or spectra, begin at `from`. */
static void run_stage(backend_t *backend, const struct channelise_spec *spec,
                      const struct bench *bench, const char *from, uint64_t cut, struct made *made)
{
    const size_t row = (size_t)spec->nstreams * spec->nchannels * 8;
    const size_t step = spec->is_spectra ? row : bench->streams * bench->sample_bytes;
    const struct sample_input input = {bench->re, bench->im, step};
    channelise_t *stage;
    buffer_t *in;
    buffer_t *out[KINDS];
    float factors[MOST_STREAMS * 64];
    memset(made, 0, sizeof *made);
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        factors[i] = (float)(1 + i % 5) * 40;
    }
    assert_int_equal(channelise_create(backend, spec, &stage), STATUS_OK);
    assert_int_equal(
        buffer_create(backend, BUFFER_IN,
                      bench->samples * bench->streams * bench->sample_bytes + SPECTRA * row, &in),
        STATUS_OK);
    for (uint32_t i = 0; i < KINDS; i++) {
        uint64_t bytes = channelise_output_bytes(spec, i, spec->nstreams, SPECTRA);
        assert_int_equal(buffer_create(backend, BUFFER_OUT, bytes, &out[i]), STATUS_OK);
        made->data[i] = calloc(2, bytes);
    }
    channelise_begin(stage, FIRST);
    assert_int_equal(channelise_scale(stage, KINDS - 1, spec->nstreams, factors), STATUS_OK);
    for (uint64_t done = 0; done < SPECTRA;) {
        const uint64_t count = min_u64(cut, SPECTRA - done);
        const uint64_t inputs = spec->is_spectra ? count : channelise_inputs(spec, count);
        const uint64_t at = spec->is_spectra ? done : done * channelise_hop(spec);
        uint64_t rows[MOST_OUTPUTS];
        void *host;
        assert_int_equal(buffer_get(in, &host), STATUS_OK);
        memcpy(host, from + at * step, inputs * step);
        assert_int_equal(channelise_run(stage, in, spec->is_spectra ? NULL : &input, spec->nstreams,
                                        count, 0, out, rows),
                         STATUS_OK);
        for (uint32_t i = 0; i < KINDS; i++) {
            size_t bytes = rows[i] * channelise_row_bytes(spec, i, spec->nstreams);
            if (kinds[i].bits) {
                const struct channelise_clipped clipped =
                    channelise_clipped(spec, i, spec->nstreams, FIRST + done, count);
                bytes = clipped.at + clipped.bytes;
            }
            assert_int_equal(buffer_get(out[i], &host), STATUS_OK);
            memcpy(made->data[i] + made->bytes[i], host, bytes);
            made->bytes[i] += bytes;
        }
        done += count;
    }
    for (uint32_t i = 0; i < KINDS; i++) {
        buffer_destroy(out[i]);
    }
    buffer_destroy(in);
    stage_destroy(stage);
}

/* The reference's own bank sums doubles that were never floats. */
static void assert_same(enum backend_kind kind, int i, const char *found, const char *expected,
                        size_t bytes)
{
    if (kind != BACKEND_REFERENCE || kinds[i].quantity == QUANTITY_SPECTRA) {
        assert_memory_equal(found, expected, bytes);
        return;
    }
    const float *a = (const float *)(const void *)found;
    const float *b = (const float *)(const void *)expected;
    struct agreement agreement = {0};
    agreement_sums(&agreement, a, b, bytes / sizeof *a, 0);
    assert_true(agreement_holds(&agreement));
}

static void check(enum backend_kind kind, enum kernel_kind kernel, uint32_t channels,
                  uint32_t first_channel, uint32_t nchannels, uint32_t threads)
{
    const struct backend_options options = {.local_size = 1};
    struct bench bench;
    struct made bank;
    backend_t *backend;
    bench_start_streams(&bench, PAIRS * 2, SAMPLE_I8, 1, channels, 3, SPECTRA);
    struct channelise_spec *spec = &bench.spec;
    spec->kernel = kernel;
    spec->first_channel = first_channel;
    spec->nchannels = nchannels;
    spec->pol_inner = PAIRS / 2;
    spec->threads = threads;
    spec->noutputs = KINDS;
    memcpy(spec->outputs, kinds, sizeof kinds);
    assert_int_equal(backend_open(kind, &options, &backend), STATUS_OK);
    run_stage(backend, spec, &bench, bench.in, 32, &bank);
    const struct channelise_spec detect = channelise_of_spectra(spec);
    for (uint64_t cut = 32; cut <= SPECTRA + 32; cut += 48) {
        struct made again;
        /* Few bits: counts follow the rows of each run. */
        run_stage(backend, &detect, &bench, bank.data[0], cut, &again);
        for (int i = 0; i < KINDS - (cut > 32); i++) {
            assert_int_equal(again.bytes[i], bank.bytes[i]);
            assert_same(kind, i, again.data[i], bank.data[i], bank.bytes[i]);
        }
        free_made(&again);
    }
    free_made(&bank);
    backend_close(backend);
    free(bench.in);
    free(bench.coeff);
}

static void reference_detects_spectra(void **state)
{
    (void)state;
    check(BACKEND_REFERENCE, KERNEL_AUTO, 12, 2, 7, 1);
}

static void cpu_detects_spectra(void **state)
{
    (void)state;
    check(BACKEND_CPU, KERNEL_AUTO, 64, 0, 64, 1);
    check(BACKEND_CPU, KERNEL_AUTO, 40, 5, 21, 3);
}

static void opencl_detects_spectra(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    check(BACKEND_OPENCL, KERNEL_CACHE, 30, 5, 21, 1);
    if (getenv("VOLTMILL_TEST_ALL")) { /* a processor takes two seconds to build it */
        check(BACKEND_OPENCL, KERNEL_FUSED, 64, 0, 64, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_detects_spectra),
        cmocka_unit_test(cpu_detects_spectra),
        cmocka_unit_test(opencl_detects_spectra),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}
