/* Filter banks that take the same samples, one after the other: each makes what it makes alone, and
 * samples are unpacked, and missing ones counted, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channelise_bench.h"

enum { SPECTRA = 48 };

/* Runs `first`, which has more samples, then `second`, on one buffer, twice in a row. */
static void run_both(struct bench *first, struct bench *second, enum backend_kind kind)
{
    struct bench *const both[2] = {first, second};
    backend_t *backend;
    channelise_t *stages[2];
    buffer_t *in;
    buffer_t *out[2];
    size_t step = first->streams * first->sample_bytes;
    const struct backend_options options = {.local_size = 1};
    const struct sample_input input = {first->re, first->im, step};
    void *host;
    assert_int_equal(backend_open(kind, &options, &backend), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, first->samples * step, &in), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        struct channelise_spec spec = both[i]->spec;
        spec.is_beside = i;
        spec.beside = i ? stages[0] : NULL;
        spec.most_samples = first->samples;
        size_t bytes = (size_t)SPECTRA * first->streams * spec.channels * sizeof(float);
        assert_int_equal(channelise_create(backend, &spec, &stages[i]), STATUS_OK);
        assert_int_equal(buffer_create(backend, BUFFER_OUT, bytes, &out[i]), STATUS_OK);
    }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(buffer_get(in, &host), STATUS_OK);
        memcpy(host, first->in, first->samples * step);
        channelise_begin(stages[0], 0);
        channelise_begin(stages[1], 0);
        assert_int_equal(channelise_run(stages[0], in, &input, first->streams,
                                        first->spec.max_spectra,
                                        channelise_inputs(&first->spec, first->spec.max_spectra),
                                        &out[0], first->rows),
                         STATUS_OK);
        assert_int_equal(channelise_run_after(stages[1], stages[0], in, &input, first->streams,
                                              second->spec.max_spectra, &out[1], second->rows),
                         STATUS_OK);
        assert_int_equal(buffer_missing(in, &first->missing), STATUS_OK);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(buffer_get(out[i], &host), STATUS_OK);
            memcpy(both[i]->out[0], host,
                   (size_t)both[i]->rows[0] * first->streams * both[i]->spec.channels *
                       sizeof(float));
        }
    }
    for (int i = 0; i < 2; i++) {
        buffer_destroy(out[i]);
    }
    buffer_destroy(in);
    stage_destroy(stages[1]);
    stage_destroy(stages[0]);
    backend_close(backend);
}

static void check(enum backend_kind kind, enum sample_format format, int is_complex)
{
    struct bench first[2];
    struct bench second[2];
    for (int i = 0; i < 2; i++) {
        random_state = 5;
        bench_start(&first[i], format, is_complex, 20, 4, SPECTRA);
        bench_start(&second[i], format, is_complex, 16, 3, SPECTRA);
        first[i].spec.missing.has_value = second[i].spec.missing.has_value = 1;
        first[i].spec.missing.value = second[i].spec.missing.value = 17;
        add_output(&first[i], QUANTITY_POWER, 5);
        add_output(&second[i], QUANTITY_POWER, 7);
        memcpy(second[i].in, first[i].in,
               second[i].samples * second[i].streams * second[i].sample_bytes);
    }
    bench_run(&first[0], kind, 0, SPECTRA);
    bench_run(&second[0], kind, 0, SPECTRA);
    run_both(&first[1], &second[1], kind);
    assert_true(first[0].missing > 0 || format == SAMPLE_F32);
    assert_int_equal(first[1].missing, first[0].missing);
    for (int i = 0; i < 2; i++) {
        const struct bench *alone = i ? &second[0] : &first[0];
        const struct bench *shared = i ? &second[1] : &first[1];
        assert_int_equal(shared->rows[0], alone->rows[0]);
        assert_memory_equal(shared->out[0], alone->out[0],
                            (size_t)alone->rows[0] * alone->streams * alone->spec.channels *
                                sizeof(float));
    }
    for (int i = 0; i < 2; i++) {
        bench_end(&first[i]);
        bench_end(&second[i]);
    }
}

static void shared_samples_change_nothing(void **state)
{
    (void)state;
    static const enum backend_kind kinds[] = {BACKEND_REFERENCE, BACKEND_CPU, BACKEND_OPENCL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct backend_options options = {.local_size = 1};
        backend_t *backend = NULL;
        if (backend_open(kinds[i], &options, &backend) != STATUS_OK) {
            report_clear(); /* no such device */
            continue;
        }
        backend_close(backend);
        check(kinds[i], SAMPLE_I8, 1);
        check(kinds[i], SAMPLE_I8, 0);
        check(kinds[i], SAMPLE_F32, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_samples_change_nothing)};
    return cmocka_run_group_tests_name("channelise_shared", tests, NULL, NULL);
}
