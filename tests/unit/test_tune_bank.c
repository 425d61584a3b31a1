/* The tuner of filter banks: every candidate that it may try is right or found out, what rounds
 * alike gives the same bytes, and what a search has found comes back, for this problem and those
 * near. */
#include "base/memory.h"
#include "dsp/fir/prototype.h"
#include "tune/problem/problem_ppf.h"
#include "tune/problem/problems.h"
#include "tune/tuning.h"

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
                                    .outputs = {{.quantity = QUANTITY_SPECTRA, .integrate = 1},
                                                {.quantity = QUANTITY_POWER, .integrate = 16}},
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
    struct sample_input input = {&re, &im, 2};
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
    stage_destroy(stage);
    return copy;
}

/* How many spectra a CPU filters in one go is no part of what rounds. */
static void block_sizes_change_no_byte(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct channelise_shape *list = NULL;
    struct channelise_choice plan;
    uint32_t count = 0;
    float *first = NULL;
    uint32_t compared = 0;
    assert_int_equal(channelise_choose(backend, &spec, &plan), STATUS_OK);
    assert_int_equal(channelise_candidates(backend, &spec, SPACE_ALL, &list, &count), STATUS_OK);
    assert_true(count >= 2);
    for (uint32_t i = 0; i < count; i++) {
        spec.choice = plan;
        spec.choice.shape = list[i];
        float *found = spectra_of(backend, &spec);
        if (i == 0 || list[i].simd != list[i - 1].simd) {
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

/* The reference makes few spectra of many channels, and whole dumps. */
static void few_long_spectra_are_compared(void **state)
{
    static const struct {
        uint32_t channels, compared;
    } cases[] = {{CHANNELS, PPF_TRIAL_WINDOW},
                 {1 << 16, PPF_TRIAL_WINDOW},
                 {1 << 17, 8},
                 {3 << 18, 2},
                 {1 << 22, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct channelise_spec spec = {.channels = cases[i].channels,
                                       .noutputs = 2,
                                       .outputs = {{.quantity = QUANTITY_SPECTRA, .integrate = 1},
                                                   {.quantity = QUANTITY_POWER, .integrate = 1}}};
        assert_int_equal(ppf_trial_window(&spec), cases[i].compared);
        spec.outputs[1].integrate = 64;
        assert_int_equal(ppf_trial_window(&spec), PPF_TRIAL_WINDOW);
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
    struct channelise_shape *list = NULL;
    struct ppf_trial trial;
    uint32_t count = 0;
    uint32_t right = 0;
    if (!backend) {
        free(coeff);
        skip();
    }
    assert_int_equal(channelise_candidates(backend, &spec, SPACE_ALL, &list, &count), STATUS_OK);
    assert_true(count > 100);
    assert_int_equal(ppf_trial_begin(backend, &spec, NULL, PPF_TRIAL_FEW_POINTS, 0, &trial),
                     STATUS_OK);
    for (uint32_t i = 0; i < TRIED; i++) {
        struct trial_times times;
        /* Kernels of all kinds; wide items take processors long to build. */
        uint32_t at = (uint32_t)((uint64_t)(count - 1) * i / (TRIED - 1));
        while (at > 0 && list[at].kernel == KERNEL_FUSED && list[at].batch > 2) {
            at--;
        }
        if (ppf_trial_time(&trial, &list[at], 1, NULL, &times) == STATUS_OK) {
            assert_int_equal(times.wrong, 0);
            assert_true(times.median > 0 && times.best.seconds > 0);
            right++;
        }
        report_clear();
    }
    assert_true(right >= TRIED / 2);
    ppf_trial_end(&trial);
    free(list);
    free(coeff);
    backend_close(backend);
}

/* A trial tells wrong from right: here the reference has filtered with other coefficients. */
static void wrong_ones_are_found_out(void **state)
{
    (void)state;
    for (int has_pairs = 0; has_pairs < 2; has_pairs++) {
        double *coeff = NULL;
        struct channelise_spec spec = make_spec(&coeff);
        backend_t *backend = open_backend(BACKEND_CPU);
        struct channelise_shape *list = NULL;
        struct ppf_trial trial;
        uint32_t count = 0;
        struct trial_times times;
        if (has_pairs) {
            spec.nstreams = 12;
            spec.pol_inner = 3;
            spec.outputs[1] =
                (struct channelise_output){.quantity = QUANTITY_COHERENCY, .integrate = 16};
            spec.outputs[spec.noutputs++] =
                (struct channelise_output){.quantity = QUANTITY_SQUARES, .integrate = 1};
        }
        assert_int_equal(channelise_candidates(backend, &spec, SPACE_ALL, &list, &count),
                         STATUS_OK);
        assert_int_equal(ppf_trial_begin(backend, &spec, NULL, PPF_TRIAL_POINTS, 0, &trial),
                         STATUS_OK);
        assert_int_equal(ppf_trial_time(&trial, &list[0], 1, NULL, &times), STATUS_OK);
        assert_int_equal(times.wrong, 0);
        coeff[2 * CHANNELS + 3] *= 1.1;
        assert_int_equal(ppf_trial_time(&trial, &list[0], 1, NULL, &times), STATUS_OK);
        assert_true(times.wrong > 0);
        ppf_trial_end(&trial);
        free(list);
        free(coeff);
        backend_close(backend);
    }
}

static enum tune_found look_up(const struct tune_problem *problem, backend_t *backend,
                               const struct channelise_spec *spec, uint32_t values[TUNE_PARAMETERS])
{
    struct tuning t;
    assert_int_equal(tuning_begin(problem, backend, spec, database, &t), STATUS_OK);
    memcpy(values, t.values, sizeof t.values);
    enum tune_found found = t.found;
    tuning_end(&t);
    return found;
}

/* A search that has `seconds` (0: any number). */
static struct tune_summary search(const struct tune_problem *problem, backend_t *backend,
                                  const struct channelise_spec *spec, struct tune_options options,
                                  double seconds, const uint32_t *also,
                                  uint32_t values[TUNE_PARAMETERS])
{
    struct tune_budget budget = {.seconds = seconds, .problems = 1};
    const struct tune_request request = {
        .search = options, .budget = &budget, .database = database};
    struct tuning t;
    assert_int_equal(tuning_begin(problem, backend, spec, database, &t), STATUS_OK);
    assert_int_equal(tuning_search(&t, &request, also), STATUS_OK);
    memcpy(values, t.values, sizeof t.values);
    struct tune_summary summary = t.summary;
    tuning_end(&t);
    return summary;
}

static void what_was_found_comes_back(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    const struct tune_options options = {.is_guided = 1, .repeats = 1};
    uint32_t best[TUNE_PARAMETERS];
    uint32_t again[TUNE_PARAMETERS];
    assert_int_equal(look_up(&tune_ppf, backend, &spec, again), TUNE_NOTHING);
    struct tune_summary summary = search(&tune_ppf, backend, &spec, options, 0, NULL, best);
    assert_true(summary.seconds > 0 && summary.timed == summary.fit && summary.wrong == 0);
    assert_int_equal(look_up(&tune_ppf, backend, &spec, again), TUNE_EXACT);
    assert_memory_equal(again, best, sizeof best);
    spec.outputs[1].integrate = 64;
    assert_int_equal(look_up(&tune_ppf, backend, &spec, again), TUNE_NEAREST);
    spec.taps = 8;
    assert_int_equal(look_up(&tune_ppf, backend, &spec, again), TUNE_NOTHING);
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
    struct channelise_shape *list = NULL;
    struct ppf_trial trial;
    uint32_t count = 0;
    struct trial_times times;
    assert_int_equal(channelise_candidates(backend, &spec, SPACE_ALL, &list, &count), STATUS_OK);
    assert_int_equal(ppf_trial_begin(backend, &spec, NULL, PPF_TRIAL_POINTS, 0, &trial), STATUS_OK);
    uint64_t bytes = ppf_trial_bytes(&trial);
    ppf_trial_end(&trial);
    for (uint64_t memory = bytes; memory >= bytes / 8; memory /= 2) {
        assert_int_equal(ppf_trial_begin(backend, &spec, NULL, PPF_TRIAL_POINTS, memory, &trial),
                         STATUS_OK);
        assert_true(ppf_trial_bytes(&trial) <= memory);
        assert_int_equal(ppf_trial_time(&trial, &list[0], 1, NULL, &times), STATUS_OK);
        assert_int_equal(times.wrong, 0);
        ppf_trial_end(&trial);
    }
    assert_int_equal(ppf_trial_begin(backend, &spec, NULL, PPF_TRIAL_POINTS, 4096, &trial),
                     STATUS_USAGE);
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
    struct ppf_trial trial;
    if (backend_open(BACKEND_OPENCL, &options, &backend) != STATUS_OK) {
        report_clear();
        free(coeff);
        skip();
    }
    assert_int_equal(ppf_trial_begin(backend, &spec, NULL, PPF_TRIAL_POINTS, 0, &trial), STATUS_OK);
    assert_int_equal(report_cause_status(), STATUS_OK);
    ppf_trial_end(&trial);
    free(coeff);
    backend_close(backend);
}

/* The record of the very problem, "" without one. */
static void kept(backend_t *backend, const struct channelise_spec *spec, char words[64],
                 struct store_record *out)
{
    struct tune_key key;
    store_t *store = NULL;
    uint32_t count = 0;
    assert_int_equal(tune_key_of(&tune_ppf, backend, spec, &key), STATUS_OK);
    struct store_key stored = tune_key_stored(&key);
    assert_int_equal(store_open(database, &store), STATUS_OK);
    store_find(store, &stored, out, 1, &count);
    snprintf(words, 64, "%s", count > 0 && out->distance == 0 ? out->words : "");
    store_close(store);
    tune_key_free(&key);
}

static void plant(backend_t *backend, const struct channelise_spec *spec, const char *words,
                  double seconds, double searched)
{
    struct tune_key key;
    assert_int_equal(tune_key_of(&tune_ppf, backend, spec, &key), STATUS_OK);
    unlink(database);
    struct store_record record = {
        .key = tune_key_stored(&key), .words = words, .seconds = seconds, .searched = searched};
    assert_int_equal(store_put(database, &record, NULL), STATUS_OK);
    tune_key_free(&key);
}

/* The words of the last candidate. */
static void last_words(backend_t *backend, const struct channelise_spec *spec, struct text *out)
{
    struct channelise_shape *list = NULL;
    uint32_t count = 0;
    assert_int_equal(channelise_candidates(backend, spec, SPACE_ALL, &list, &count), STATUS_OK);
    assert_int_equal(tune_problem_words(&tune_ppf, (const uint32_t *)&list[count - 1], out),
                     STATUS_OK);
    free(list);
}

/* A configuration of the database is timed beside the searched ones, whatever its time there. A
 * search without time leaves it alone, and one that tried fewer reports that. */
static void searches_begin_with_what_is_known(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    const struct tune_options options = {.repeats = 1, .limit = 1};
    struct store_record found;
    struct text last = {0};
    uint32_t best[TUNE_PARAMETERS];
    char words[64];
    last_words(backend, &spec, &last);
    plant(backend, &spec, last.data, 1e-9, INFINITY);
    struct tune_summary summary = search(&tune_ppf, backend, &spec, options, 0, NULL, best);
    kept(backend, &spec, words, &found);
    assert_int_equal(summary.timed, 2);
    assert_true(found.seconds > 1e-8 && isinf(found.searched));
    /* One that cannot be. */
    plant(backend, &spec, "kernel=fused batch=1", 1e-9, INFINITY);
    (void)search(&tune_ppf, backend, &spec, options, 0, NULL, best);
    kept(backend, &spec, words, &found);
    assert_string_not_equal(words, "kernel=fused batch=1");
    assert_true(found.seconds > 1e-8 && found.searched == 0);
    /* No time. */
    plant(backend, &spec, last.data, 1e-9, INFINITY);
    summary = search(&tune_ppf, backend, &spec, options, 1e-9, NULL, best);
    assert_true(summary.is_cut && summary.timed == 0);
    kept(backend, &spec, words, &found);
    assert_true(found.seconds < 1e-8);
    unlink(database);
    text_free(&last);
    free(coeff);
    backend_close(backend);
}

/* Records of earlier programs, which had no names for parameters, are skipped. */
static void old_records_are_not_read(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct tune_key key;
    uint32_t values[TUNE_PARAMETERS];
    assert_int_equal(tune_key_of(&tune_ppf, backend, &spec, &key), STATUS_OK);
    struct store_record record = {.key = tune_key_stored(&key), .seconds = 1};
    char old[256];
    assert_non_null(strstr(record.key.kernel, "filter bank v2, "));
    snprintf(old, sizeof old, "filter bank, %s", strstr(record.key.kernel, " v2, ") + 5);
    record.key.kernel = old;
    record.words = "auto:auto:0/8";
    assert_int_equal(store_put(database, &record, NULL), STATUS_OK);
    snprintf(old, sizeof old, "%s", key.kernel.data);
    assert_int_equal(store_put(database, &record, NULL), STATUS_OK);
    assert_int_equal(look_up(&tune_ppf, backend, &spec, values), TUNE_NOTHING);
    unlink(database);
    tune_key_free(&key);
    free(coeff);
    backend_close(backend);
}

/* Looks up, searches and keeps, as a run does. */
static void tune(backend_t *backend, const struct channelise_spec *spec,
                 const struct tune_request *request, struct tuning *t)
{
    assert_int_equal(tuning_begin(&tune_ppf, backend, spec, request->database, t), STATUS_OK);
    assert_int_equal(tuning_now(t, request, NULL), STATUS_OK);
    assert_int_equal(tuning_keep(t, request->database), STATUS_OK);
}

/* A run takes what a cut search has found, unless it has more time. */
static void more_time_searches_on(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    struct store_record found;
    struct tuning t;
    struct text last = {0};
    char words[64];
    report_quiet(1);
    last_words(backend, &spec, &last);
    plant(backend, &spec, last.data, 1e-9, 10);
    struct tune_budget budget = {.seconds = 60, .spent = 50, .problems = 2};
    const struct tune_request request = {
        .search = {.is_guided = 1, .repeats = 1}, .database = database, .budget = &budget};
    tune(backend, &spec, &request, &t);
    kept(backend, &spec, words, &found);
    assert_true(t.found == TUNE_EXACT && found.seconds < 1e-8);
    assert_true(budget.spent < 51);
    tuning_end(&t);
    budget.spent = 0;
    tune(backend, &spec, &request, &t);
    kept(backend, &spec, words, &found);
    assert_true(t.found == TUNE_EXACT && found.seconds > 1e-8 && isinf(found.searched));
    assert_true(budget.spent > 0);
    tuning_end(&t);
    report_quiet(0);
    unlink(database);
    text_free(&last);
    free(coeff);
    backend_close(backend);
}

/* On every backend, in every length: the rows of one block of all of it. */
static void blocks_of_any_length_are_right(void **state)
{
    (void)state;
    static const enum backend_kind kinds[] = {BACKEND_CPU, BACKEND_OPENCL};
    static const uint32_t lengths[] = {16, 48, 1024};
    const struct tune_pick pick = {.also = lengths, .nalso = 3};
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        backend_t *backend = open_backend(kinds[k]);
        struct tune_space space;
        if (!backend) {
            continue;
        }
        assert_int_equal(tune_block_length.begin(backend, &spec, &pick, 256 << 20, &space),
                         STATUS_OK);
        assert_true(space.count > 3 && space.values[0] == 16 && space.values[1] == 48);
        /* A processor takes seconds for a device's kernels as they are built for tests. */
        const uint32_t tried = kinds[k] == BACKEND_CPU || getenv("VOLTMILL_TEST_ALL") ? 4 : 1;
        for (uint32_t i = 0; i < tried; i++) {
            struct trial_times measure = {.wrong = 1};
            assert_int_equal(space.time(space.context, i, 1, NULL, &measure), STATUS_OK);
            assert_int_equal(measure.wrong, 0);
            assert_true(measure.median > 0);
        }
        tune_block_length.end(&space);
        backend_close(backend);
    }
    free(coeff);
}

/* Results of a search are found again, for near problems, too, but not for filter banks that are
 * computed otherwise. */
static void lengths_of_blocks_come_back(void **state)
{
    (void)state;
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_CPU);
    const struct tune_options options = {.repeats = 1, .memory = 24 << 20};
    const struct tune_problem *problem = &tune_block_length;
    const uint32_t suits = 80;
    uint32_t best[TUNE_PARAMETERS];
    uint32_t length[TUNE_PARAMETERS];
    int is_known = 1;
    assert_int_equal(look_up(problem, backend, &spec, length), TUNE_NOTHING);
    struct tune_summary summary = search(problem, backend, &spec, options, 0, &suits, best);
    assert_true(summary.timed >= 3 && summary.wrong == 0 && summary.failed == 0);
    assert_true(best[0] > 0 && best[0] % 16 == 0);
    assert_int_equal(look_up(problem, backend, &spec, length), TUNE_EXACT);
    assert_int_equal(length[0], best[0]);
    spec.noutputs = 1;
    assert_int_equal(look_up(problem, backend, &spec, length), TUNE_NEAREST);
    assert_int_equal(length[0], best[0]);
    assert_int_equal(tuning_is_known(problem, BACKEND_CPU, &spec, database, &is_known), STATUS_OK);
    assert_int_equal(is_known, 1);
    spec.taps = TAPS / 2;
    assert_int_equal(look_up(problem, backend, &spec, length), TUNE_NOTHING);
    assert_int_equal(tuning_is_known(problem, BACKEND_CPU, &spec, database, &is_known), STATUS_OK);
    assert_int_equal(is_known, 0);
    /* A filter bank's own record is no length of blocks. */
    spec.taps = TAPS;
    unlink(database);
    plant(backend, &spec, "simd=1 rows=16", 1e-9, INFINITY);
    assert_int_equal(look_up(problem, backend, &spec, length), TUNE_NOTHING);
    unlink(database);
    free(coeff);
    backend_close(backend);
}

/* The automatic choice is one of the few, settles once, and is kept in the cache folder. */
static void the_automatic_choice_is_remembered(void **state)
{
    (void)state;
    char folder[] = "/tmp/voltmill-test-choice-XXXXXX";
    char command[128];
    double *coeff = NULL;
    struct channelise_spec spec = make_spec(&coeff);
    backend_t *backend = open_backend(BACKEND_OPENCL);
    struct channelise_shape *few = NULL;
    struct channelise_choice first;
    struct channelise_choice again;
    uint32_t count = 0;
    int is_there = 0;
    if (!backend) {
        free(coeff);
        skip();
    }
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("VOLTMILL_CACHE", folder, 1), 0);
    assert_int_equal(channelise_candidates(backend, &spec, SPACE_FEW, &few, &count), STATUS_OK);
    assert_int_equal(tune_ppf_choose(backend, &spec, 0, &first), STATUS_OK);
    for (uint32_t i = 0; i < count; i++) {
        is_there |= memcmp(&few[i], &first.shape, sizeof first.shape) == 0;
    }
    assert_true(is_there && first.backend == BACKEND_OPENCL);
    assert_int_equal(tune_ppf_choose(backend, &spec, 0, &again), STATUS_OK);
    assert_memory_equal(&again.shape, &first.shape, sizeof first.shape);
    /* A choice that is made stays. */
    spec.choice = first;
    spec.choice.shape = few[count - 1];
    assert_int_equal(tune_ppf_choose(backend, &spec, 0, &again), STATUS_OK);
    assert_memory_equal(&again.shape, &few[count - 1], sizeof again.shape);
    snprintf(command, sizeof command, "ls %s/choice* >/dev/null && rm -r %s", folder, folder);
    assert_int_equal(system(command), 0);
    free(few);
    free(coeff);
    backend_close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_sizes_change_no_byte),
        cmocka_unit_test(few_long_spectra_are_compared),
        cmocka_unit_test(candidates_are_right),
        cmocka_unit_test(wrong_ones_are_found_out),
        cmocka_unit_test(what_was_found_comes_back),
        cmocka_unit_test(trials_keep_to_their_memory),
        cmocka_unit_test(trials_fit_a_small_device),
        cmocka_unit_test(searches_begin_with_what_is_known),
        cmocka_unit_test(old_records_are_not_read),
        cmocka_unit_test(more_time_searches_on),
        cmocka_unit_test(blocks_of_any_length_are_right),
        cmocka_unit_test(lengths_of_blocks_come_back),
        cmocka_unit_test(the_automatic_choice_is_remembered),
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
