/* The tuner of filter banks: every candidate that it may try is right or found out, what rounds
 * alike gives the same bytes, and what a search has found comes back, for this problem and those
 * near. */
#include "base/memory.h"
#include "dsp/prototype.h"
#include "tune/problem/block_length.h"
#include "tune/problem/block_trial.h"
#include "tune/problem/ppf.h"
#include "tune/problem/ppf_trial.h"
#include "tune/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHANNELS = 256, TAPS = 4, SPECTRA = 48 };

static char database[] = "/tmp/voltmill-test-bank-XXXXXX";

static struct channelise_spec make_spec(double **coeff)
{
    struct prototype_spec filter = {.channels = CHANNELS,
                                    .taps = TAPS,
                                    .samples_per_spectrum = CHANNELS,
                                    .window = WINDOW_HANN,
                                    .cutoff = 1};
    assert_int_equal(prototype_create(&filter, coeff), STATUS_OK);
    return (struct channelise_spec){.channels = CHANNELS,
                                    .taps = TAPS,
                                    .is_complex = 1,
                                    .format = SAMPLE_I8,
                                    .coeff = *coeff,
                                    .nchannels = CHANNELS,
                                    .nstreams = 1,
                                    .max_spectra = SPECTRA,
                                    .noutputs = 2,
                                    .outputs = {{QUANTITY_SPECTRA, 1}, {QUANTITY_POWER, 16}},
                                    .threads = 2};
}

static backend_t *open_backend(enum backend_kind kind)
{
    struct backend_options options = {.local_size = 1};
    backend_t *backend = NULL;
    if (backend_open(kind, &options, &backend) != STATUS_OK) {
        report_clear();
    }
    return backend;
}

/* The spectra of some samples, [SPECTRA][CHANNELS][2]. */
static float *spectra_of(backend_t *backend, const struct channelise_spec *spec)
{
    channelise_t *stage = NULL;
    buffer_t *in = NULL;
    buffer_t *out[2] = {NULL, NULL};
    void *data = NULL;
    uint64_t rows[MOST_OUTPUTS];
    size_t re = 0;
    size_t im = 1;
    struct channelise_input input = {&re, &im, 2};
    size_t samples = (SPECTRA + TAPS - 1) * CHANNELS;
    size_t bytes = SPECTRA * CHANNELS * 2 * sizeof(float);
    float *copy = malloc(bytes);
    assert_non_null(copy);
    assert_int_equal(channelise_create(backend, spec, &stage), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, 2 * samples, &in), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_OUT, bytes, &out[0]), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_OUT, bytes, &out[1]), STATUS_OK);
    assert_int_equal(buffer_get(in, &data), STATUS_OK);
    for (size_t i = 0; i < 2 * samples; i++) {
        ((int8_t *)data)[i] = (int8_t)(i * i % 251 - 125);
    }
    channelise_begin(stage, 0);
    assert_int_equal(channelise_run(stage, in, &input, 1, SPECTRA, 0, out, rows), STATUS_OK);
    assert_int_equal(buffer_get(out[0], &data), STATUS_OK);
    memcpy(copy, data, bytes);
    buffer_destroy(in);
    buffer_destroy(out[0]);
    buffer_destroy(out[1]);
    channelise_destroy(stage);
    return copy;
}

/* How many spectra a CPU filters in one go is no part of what rounds. */
static void block_sizes_change_no_byte(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct channelise_choice *list = NULL;
    struct channelise_choice plan;
    uint32_t count = 0;
    float *first = NULL;
    uint32_t compared = 0;
    assert_int_equal(channelise_choose(backend, &spec, &plan), STATUS_OK);
    assert_int_equal(channelise_candidates(backend, &spec, &list, &count), STATUS_OK);
    assert_true(count >= 2);
    for (uint32_t i = 0; i < count; i++) {
        spec.choice = list[i];
        memcpy(spec.choice.wisdom, plan.wisdom, sizeof plan.wisdom);
        float *found = spectra_of(backend, &spec);
        if (i == 0 || list[i].numbers[0] != list[i - 1].numbers[0]) {
            free(first);
            first = found;
        } else {
            assert_memory_equal(found, first, SPECTRA * CHANNELS * 2 * sizeof(float));
            free(found);
            compared++;
        }
    }
    assert_true(compared > 0);
    free(first);
    free(list);
    free(coeff);
    backend_close(backend);
}

/* A choice in words is the same choice, and other texts are none. */
static void choices_survive_words(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "fused",
                                      "fused:auto:",
                                      "quick:auto:1",
                                      "fused:x:1",
                                      "fused:auto:a",
                                      "fused:auto:1/",
                                      "fused:auto:1/2x",
                                      "fused:auto:1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"};
    struct channelise_choice choice = {
        .kernel = KERNEL_FUSED, .fft = FFT_CLFFT, .numbers = {8, 0, 1, 4}};
    struct channelise_choice again;
    struct text words = {0};
    assert_int_equal(channelise_choice_words(&choice, &words), STATUS_OK);
    assert_true(channelise_choice_parse(words.data, &again));
    assert_memory_equal(&again, &choice, sizeof again);
    text_free(&words);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(channelise_choice_parse(bad[i], &again));
    }
}

/* Each candidate of an OpenCL device works or fails in good order; none is wrong. */
static void candidates_are_right(void **state)
{
    (void)state;
    enum { TRIED = 4 };
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_OPENCL);
    struct channelise_choice *list = NULL;
    ppf_trial_t *trial = NULL;
    uint32_t count = 0;
    uint32_t right = 0;
    if (!backend) {
        free(coeff);
        skip();
    }
    assert_int_equal(channelise_candidates(backend, &spec, &list, &count), STATUS_OK);
    assert_true(count > 100);
    assert_int_equal(ppf_trial_create(backend, &spec, 0, &trial), STATUS_OK);
    for (uint32_t i = 0; i < TRIED; i++) {
        double seconds = 0;
        uint32_t wrong = 0;
        /* Kernels of all kinds; wide items take processors long to build. */
        uint32_t at = (uint32_t)((uint64_t)(count - 1) * i / (TRIED - 1));
        while (at > 0 && list[at].kernel == KERNEL_FUSED && list[at].numbers[1] > 2) {
            at--;
        }
        if (ppf_trial_time(trial, &list[at], 1, NULL, &seconds, &wrong) == STATUS_OK) {
            assert_int_equal(wrong, 0);
            assert_true(seconds > 0);
            right++;
        }
        report_clear();
    }
    assert_true(right >= TRIED / 2);
    ppf_trial_destroy(trial);
    free(list);
    free(coeff);
    backend_close(backend);
}

/* A trial tells wrong from right: here the reference has filtered with other coefficients. */
static void wrong_ones_are_found_out(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct channelise_choice *list = NULL;
    ppf_trial_t *trial = NULL;
    uint32_t count = 0;
    uint32_t wrong = 0;
    double seconds = 0;
    assert_int_equal(channelise_candidates(backend, &spec, &list, &count), STATUS_OK);
    assert_int_equal(ppf_trial_create(backend, &spec, 0, &trial), STATUS_OK);
    assert_int_equal(ppf_trial_time(trial, &list[0], 1, NULL, &seconds, &wrong), STATUS_OK);
    assert_int_equal(wrong, 0);
    coeff[2 * CHANNELS + 3] *= 1.1;
    assert_int_equal(ppf_trial_time(trial, &list[0], 1, NULL, &seconds, &wrong), STATUS_OK);
    assert_true(wrong > 0);
    ppf_trial_destroy(trial);
    free(list);
    free(coeff);
    backend_close(backend);
}

static void what_was_found_comes_back(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    const struct tune_options options = {.method = TUNE_GUIDED, .repeats = 1};
    struct channelise_choice best = {.backend = BACKEND_AUTO};
    struct channelise_choice again;
    struct tune_summary summary;
    enum tune_found found = TUNE_EXACT;
    assert_int_equal(tune_ppf_find(backend, &spec, database, &again, &found), STATUS_OK);
    assert_int_equal(found, TUNE_NOTHING);
    assert_int_equal(tune_ppf_search(backend, &spec, &options, NULL, database, &best, &summary),
                     STATUS_OK);
    assert_true(summary.seconds > 0 && summary.timed == summary.fit && summary.wrong == 0);
    assert_int_equal(tune_ppf_find(backend, &spec, database, &again, &found), STATUS_OK);
    assert_int_equal(found, TUNE_EXACT);
    assert_memory_equal(&again, &best, sizeof best);
    spec.outputs[1].integrate = 64;
    assert_int_equal(tune_ppf_find(backend, &spec, database, &again, &found), STATUS_OK);
    assert_int_equal(found, TUNE_NEAREST);
    spec.taps = 8;
    assert_int_equal(tune_ppf_find(backend, &spec, database, &again, &found), STATUS_OK);
    assert_int_equal(found, TUNE_NOTHING);
    free(coeff);
    backend_close(backend);
}

/* Trials keep to the memory that they are given, on the host and on a device. */
static void trials_keep_to_their_memory(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct channelise_choice *list = NULL;
    ppf_trial_t *trial = NULL;
    uint32_t count = 0;
    uint32_t wrong = 1;
    double seconds = 0;
    assert_int_equal(channelise_candidates(backend, &spec, &list, &count), STATUS_OK);
    assert_int_equal(ppf_trial_create(backend, &spec, 0, &trial), STATUS_OK);
    uint64_t bytes = ppf_trial_bytes(trial);
    ppf_trial_destroy(trial);
    trial = NULL;
    for (uint64_t memory = bytes; memory >= bytes / 8; memory /= 2) {
        assert_int_equal(ppf_trial_create(backend, &spec, memory, &trial), STATUS_OK);
        assert_true(ppf_trial_bytes(trial) <= memory);
        assert_int_equal(ppf_trial_time(trial, &list[0], 1, NULL, &seconds, &wrong), STATUS_OK);
        assert_int_equal(wrong, 0);
        ppf_trial_destroy(trial);
        trial = NULL;
    }
    assert_int_equal(ppf_trial_create(backend, &spec, 4096, &trial), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "run.memory leaves 4.00 KiB for trials of 256"));
    report_clear();
    free(list);
    free(coeff);
    backend_close(backend);
}

static void trials_fit_a_small_device(void **state)
{
    (void)state;
    struct backend_options options = {.local_size = 1, .device_memory = 8 << 20};
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = NULL;
    ppf_trial_t *trial = NULL;
    if (backend_open(BACKEND_OPENCL, &options, &backend) != STATUS_OK) {
        report_clear();
        free(coeff);
        skip();
    }
    assert_int_equal(ppf_trial_create(backend, &spec, 0, &trial), STATUS_OK);
    assert_int_equal(report_cause_status(), STATUS_OK);
    ppf_trial_destroy(trial);
    free(coeff);
    backend_close(backend);
}

/* The record of the very problem, "" without one. */
static void kept(backend_t *backend, const struct channelise_spec *spec, char words[64],
                 struct store_record *out)
{
    struct tune_problem problem = {.hash = ""};
    store_t *store = NULL;
    uint32_t count = 0;
    assert_int_equal(tune_ppf_problem(backend, spec, &problem), STATUS_OK);
    struct store_key key = tune_problem_key(&problem);
    assert_int_equal(store_open(database, &store), STATUS_OK);
    store_find(store, &key, out, 1, &count);
    snprintf(words, 64, "%s", count > 0 && out->distance == 0 ? out->words : "");
    store_close(store);
    tune_problem_free(&problem);
}

static void plant(backend_t *backend, const struct channelise_spec *spec, const char *words,
                  double seconds, double searched)
{
    struct tune_problem problem = {.hash = ""};
    assert_int_equal(tune_ppf_problem(backend, spec, &problem), STATUS_OK);
    unlink(database);
    struct store_record record = {.key = tune_problem_key(&problem),
                                  .words = words,
                                  .seconds = seconds,
                                  .searched = searched};
    assert_int_equal(store_put(database, &record, NULL), STATUS_OK);
    tune_problem_free(&problem);
}

/* What the database has is timed beside what is searched, whatever it says of itself; a search
 * without time leaves it alone, and one that saw less says so. */
static void searches_begin_with_what_is_known(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct tune_options options = {.method = TUNE_RANDOM, .repeats = 1, .limit = 1};
    struct channelise_choice *list = NULL;
    struct channelise_choice best;
    struct tune_summary summary;
    struct store_record found;
    struct text last = {0};
    uint32_t count = 0;
    char words[64];
    assert_int_equal(channelise_candidates(backend, &spec, &list, &count), STATUS_OK);
    assert_int_equal(channelise_choice_words(&list[count - 1], &last), STATUS_OK);
    plant(backend, &spec, last.data, 1e-9, INFINITY);
    assert_int_equal(tune_ppf_search(backend, &spec, &options, NULL, database, &best, &summary),
                     STATUS_OK);
    kept(backend, &spec, words, &found);
    assert_int_equal(summary.timed, 2);
    assert_true(found.seconds > 1e-8 && isinf(found.searched));
    /* One that cannot be. */
    plant(backend, &spec, "fused:auto:1", 1e-9, INFINITY);
    assert_int_equal(tune_ppf_search(backend, &spec, &options, NULL, database, &best, &summary),
                     STATUS_OK);
    kept(backend, &spec, words, &found);
    assert_string_not_equal(words, "fused:auto:1");
    assert_true(found.seconds > 1e-8 && found.searched == 0);
    /* No time. */
    plant(backend, &spec, last.data, 1e-9, INFINITY);
    options.time = (struct tune_time){.from = 1, .until = 1};
    assert_int_equal(tune_ppf_search(backend, &spec, &options, NULL, database, &best, &summary),
                     STATUS_OK);
    assert_true(summary.is_cut && summary.timed == 0);
    kept(backend, &spec, words, &found);
    assert_true(found.seconds < 1e-8);
    unlink(database);
    text_free(&last);
    free(list);
    free(coeff);
    backend_close(backend);
}

/* A run takes what a cut search has found, unless it has more time. */
static void more_time_searches_on(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct channelise_choice *list = NULL;
    struct channelise_choice choice;
    struct store_record found;
    enum tune_found how;
    struct text last = {0};
    uint32_t count = 0;
    char words[64];
    report_quiet(1);
    assert_int_equal(channelise_candidates(backend, &spec, &list, &count), STATUS_OK);
    assert_int_equal(channelise_choice_words(&list[count - 1], &last), STATUS_OK);
    plant(backend, &spec, last.data, 1e-9, 10);
    struct tune_budget budget = {.seconds = 60, .spent = 50, .problems = 2};
    const struct tune_wish wish = {.database = database, .budget = &budget};
    assert_int_equal(tune_ppf_now(backend, &spec, &wish, &choice, &how), STATUS_OK);
    kept(backend, &spec, words, &found);
    assert_true(how == TUNE_EXACT && found.seconds < 1e-8);
    assert_true(budget.spent < 51);
    budget.spent = 0;
    assert_int_equal(tune_ppf_now(backend, &spec, &wish, &choice, &how), STATUS_OK);
    kept(backend, &spec, words, &found);
    assert_true(how == TUNE_EXACT && found.seconds > 1e-8 && isinf(found.searched));
    assert_true(budget.spent > 0);
    report_quiet(0);
    unlink(database);
    text_free(&last);
    free(list);
    free(coeff);
    backend_close(backend);
}

/* On every backend, in every length: the rows of one block of all of it. */
static void blocks_of_any_length_are_right(void **state)
{
    (void)state;
    static const enum backend_kind kinds[] = {BACKEND_CPU, BACKEND_OPENCL};
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        backend_t *backend = open_backend(kinds[k]);
        block_trial_t *trial = NULL;
        if (!backend) {
            continue;
        }
        assert_int_equal(block_trial_create(backend, &spec, 256 << 20, &trial), STATUS_OK);
        uint64_t most = block_trial_most(trial);
        const uint64_t lengths[] = {16, 48, most / 32 * 16, most};
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            double seconds = 0;
            uint32_t wrong = 1;
            assert_int_equal(block_trial_time(trial, lengths[i], 1, NULL, &seconds, &wrong),
                             STATUS_OK);
            assert_int_equal(wrong, 0);
            assert_true(seconds > 0);
        }
        block_trial_destroy(trial);
        backend_close(backend);
    }
    free(coeff);
}

/* What a search finds comes back, for problems that are near, too, but not for other ways to
 * compute. */
static void lengths_of_blocks_come_back(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct tune_options options = {.method = TUNE_EXHAUSTIVE, .repeats = 1, .memory = 24 << 20};
    struct tune_summary summary;
    enum tune_found found;
    uint64_t best = 0;
    uint64_t length = 1;
    int are_known = 1;
    assert_int_equal(tune_block_length_find(backend, &spec, database, &length, &found), STATUS_OK);
    assert_true(found == TUNE_NOTHING && length == 0);
    assert_int_equal(
        tune_block_length_search(backend, &spec, 80, &options, NULL, database, &best, &summary),
        STATUS_OK);
    assert_true(summary.timed >= 3 && summary.wrong == 0 && summary.failed == 0);
    assert_true(best > 0 && best % 16 == 0);
    assert_int_equal(tune_block_length_find(backend, &spec, database, &length, &found), STATUS_OK);
    assert_true(found == TUNE_EXACT && length == best);
    spec.noutputs = 1;
    assert_int_equal(tune_block_length_find(backend, &spec, database, &length, &found), STATUS_OK);
    assert_true(found == TUNE_NEAREST && length == best);
    assert_int_equal(tune_block_length_are_known(BACKEND_CPU, &spec, database, &are_known),
                     STATUS_OK);
    assert_int_equal(are_known, 1);
    spec.taps = TAPS / 2;
    assert_int_equal(tune_block_length_find(backend, &spec, database, &length, &found), STATUS_OK);
    assert_true(found == TUNE_NOTHING && length == 0);
    assert_int_equal(tune_block_length_are_known(BACKEND_CPU, &spec, database, &are_known),
                     STATUS_OK);
    assert_int_equal(are_known, 0);
    /* A filter bank's own record is no length of blocks. */
    spec.taps = TAPS;
    unlink(database);
    plant(backend, &spec, "auto:auto:1", 1e-9, INFINITY);
    assert_int_equal(tune_block_length_find(backend, &spec, database, &length, &found), STATUS_OK);
    assert_true(found == TUNE_NOTHING && length == 0);
    unlink(database);
    free(coeff);
    backend_close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_sizes_change_no_byte),
        cmocka_unit_test(choices_survive_words),
        cmocka_unit_test(candidates_are_right),
        cmocka_unit_test(wrong_ones_are_found_out),
        cmocka_unit_test(what_was_found_comes_back),
        cmocka_unit_test(trials_keep_to_their_memory),
        cmocka_unit_test(trials_fit_a_small_device),
        cmocka_unit_test(searches_begin_with_what_is_known),
        cmocka_unit_test(more_time_searches_on),
        cmocka_unit_test(blocks_of_any_length_are_right),
        cmocka_unit_test(lengths_of_blocks_come_back),
    };
    int fd = mkstemp(database);
    if (fd < 0) {
        return 1;
    }
    close(fd);
    unlink(database);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char lock[sizeof database + 8];
    snprintf(lock, sizeof lock, "%s.lock", database);
    unlink(database);
    unlink(lock);
    return failed;
}
