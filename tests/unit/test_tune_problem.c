/* Every problem that can be tuned: its configurations survive their words, other texts are none,
 * names are told apart, and keys have all that a record needs. */
#include "base/memory.h"
#include "dsp/fir/prototype.h"
#include "tune/problem/problem_fir.h"
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

enum { CHANNELS = 64, TAPS = 4, DMS = 16, FILTER_TAPS = 100 };

static const struct tune_problem *const problems[] = {&tune_ppf, &tune_block_length, &tune_fir,
                                                      &tune_dedispersion};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* A case of each problem, on the CPU. */
struct cases {
    backend_t *backend;
    double *coeff;
    struct channelise_spec bank;
    struct dispersion delays;
    struct dedisperse_spec dedispersion;
    double taps[FILTER_TAPS];
    struct filter_spec filter;
};

static struct cases *cases;

static int set_up(void **state)
{
    (void)state;
    static struct cases c;
    static double freq[CHANNELS];
    static double dms[DMS];
    struct backend_options options = {.local_size = 1};
    struct prototype_spec filter = {.channels = CHANNELS,
                                    .taps = TAPS,
                                    .samples_per_spectrum = CHANNELS,
                                    .window = WINDOW_HANN,
                                    .cutoff = 1};
    for (int i = 0; i < CHANNELS; i++) {
        freq[i] = 1e8 + 1e5 * i;
    }
    for (int i = 0; i < DMS; i++) {
        dms[i] = i;
    }
    for (int i = 0; i < FILTER_TAPS; i++) {
        c.taps[i] = 1.0 / (1 + i);
    }
    struct dispersion_spec spec = {
        .freq_hz = freq, .nchannels = CHANNELS, .sample_seconds = 1e-3, .dms = dms, .ndms = DMS};
    cases = &c;
    return backend_open(BACKEND_CPU, &options, &c.backend) != STATUS_OK ||
           prototype_create(&filter, &c.coeff) != STATUS_OK ||
           dispersion_create(&spec, &c.delays) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    dispersion_free(&cases->delays);
    free(cases->coeff);
    backend_close(cases->backend);
    return 0;
}

static const void *case_of(const struct tune_problem *problem)
{
    cases->bank =
        (struct channelise_spec){.channels = CHANNELS,
                                 .taps = TAPS,
                                 .is_complex = 1,
                                 .format = SAMPLE_I8,
                                 .coeff = cases->coeff,
                                 .nchannels = CHANNELS,
                                 .nstreams = 1,
                                 .max_spectra = 64,
                                 .noutputs = 1,
                                 .outputs = {{.quantity = QUANTITY_POWER, .integrate = 4}},
                                 .threads = 1};
    cases->dedispersion = (struct dedisperse_spec){
        .format = SERIES_U8, .delays = &cases->delays, .max_samples = 256, .threads = 1};
    cases->filter = (struct filter_spec){.coding = {.format = SAMPLE_I8, .is_complex = 1},
                                         .is_complex_out = 1,
                                         .taps = FILTER_TAPS,
                                         .decimate = 1,
                                         .coeff = cases->taps,
                                         .nstreams = 1,
                                         .max_rows = 4096,
                                         .threads = 1};
    return problem == &tune_dedispersion ? (const void *)&cases->dedispersion
           : problem == &tune_fir        ? (const void *)&cases->filter
                                         : &cases->bank;
}

/* One that has all its numbers, and the one whose numbers are the least. */
static void configurations_survive_words(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < PROBLEMS; k++) {
        const struct tune_problem *p = problems[k];
        for (int most = 0; most < 2; most++) {
            uint32_t values[TUNE_PARAMETERS] = {0};
            uint32_t again[TUNE_PARAMETERS] = {0};
            struct text words = {0};
            for (uint32_t i = 0; i < p->nparameters; i++) {
                const struct tune_parameter *one = &p->parameters[i];
                values[i] = most && one->most < 64 ? one->most : one->least + (most ? i + 1 : 0);
                values[i] = !most && p->parameters[i].value ? 1 : values[i];
            }
            assert_int_equal(tune_problem_words(p, values, &words), STATUS_OK);
            assert_null(strpbrk(words.data, ",\t\n\""));
            assert_true(tune_problem_parse(p, words.data, again));
            assert_memory_equal(again, values, p->nparameters * sizeof *values);
            text_free(&words);
        }
    }
}

/* As the searches list them: each comes back from its words, which no other has. */
static void listed_configurations_are_told_apart(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < PROBLEMS; k++) {
        const struct tune_problem *p = problems[k];
        const struct tune_pick all = {.every = 1};
        struct tune_space space;
        assert_int_equal(p->begin(cases->backend, case_of(p), &all, 0, &space), STATUS_OK);
        assert_true(space.count > 1 && space.fit >= space.count && space.problem == p);
        for (uint32_t i = 0; i < space.count; i++) {
            uint32_t again[TUNE_PARAMETERS];
            uint32_t at = space.count;
            int fits = 0;
            struct text words = {0};
            assert_int_equal(tune_problem_words(p, tune_space_values(&space, i), &words),
                             STATUS_OK);
            assert_true(tune_problem_parse(p, words.data, again));
            assert_true(tune_space_find(&space, again, &at));
            assert_int_equal(at, i);
            assert_int_equal(tune_problem_fits(p, cases->backend, case_of(p), again, &fits),
                             STATUS_OK);
            assert_true(fits);
            text_free(&words);
        }
        p->end(&space);
    }
}

static void other_texts_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"", " ", "speed=1", "1", "auto:auto:0/8", "fused:auto:8/5/1"};
    static const char *const bad_banks[] = {
        "kernel=quick",   "kernel=fused fft=x", "rows=",    "rows=a", "rows=-1",
        "rows=16 simd=1", "rows=16 rows=8",     "rows=16 ", "rows=0", "rows=99999999999999999999",
        "split=2"};
    for (uint32_t k = 0; k < PROBLEMS; k++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            uint32_t values[TUNE_PARAMETERS] = {7};
            assert_false(tune_problem_parse(problems[k], bad[i], values));
            assert_int_equal(values[0], 7);
        }
    }
    for (size_t i = 0; i < sizeof bad_banks / sizeof *bad_banks; i++) {
        uint32_t values[TUNE_PARAMETERS];
        assert_false(tune_problem_parse(&tune_ppf, bad_banks[i], values));
    }
}

/* Names of problems and of their parameters are words of their own. */
static void names_are_told_apart(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < PROBLEMS; k++) {
        const struct tune_problem *p = problems[k];
        assert_true(p->nparameters > 0 && p->nparameters <= TUNE_PARAMETERS && p->version > 0);
        for (uint32_t i = 0; i < p->nparameters; i++) {
            assert_true(p->parameters[i].least <= p->parameters[i].most);
            assert_null(strpbrk(p->parameters[i].name, " =,/\t"));
            for (uint32_t j = 0; j < i; j++) {
                assert_string_not_equal(p->parameters[i].name, p->parameters[j].name);
            }
        }
        for (uint32_t j = 0; j < k; j++) {
            assert_string_not_equal(p->name, problems[j]->name);
        }
    }
}

/* A record is found under its key for the same case, and by the kernel's name alone; not for one
 * whose kernel differs. */
static void keys_bring_records_back(void **state)
{
    (void)state;
    char database[] = "/tmp/voltmill-test-problem-XXXXXX";
    char lock[sizeof database + 8];
    int fd = mkstemp(database);
    assert_true(fd >= 0);
    close(fd);
    for (uint32_t k = 0; k < PROBLEMS; k++) {
        const struct tune_problem *p = problems[k];
        const void *spec = case_of(p);
        const struct tune_pick all = {.every = 1};
        struct tune_space space;
        struct tuning t;
        int is_known = 1;
        unlink(database);
        assert_int_equal(tuning_is_known(p, BACKEND_CPU, spec, database, &is_known), STATUS_OK);
        assert_false(is_known);
        assert_int_equal(p->begin(cases->backend, spec, &all, 0, &space), STATUS_OK);
        const uint32_t *last = tune_space_values(&space, space.count - 1);
        assert_int_equal(tuning_begin(p, cases->backend, spec, database, &t), STATUS_OK);
        assert_int_equal(t.found, TUNE_NOTHING);
        assert_true(strlen(t.key.hash) == 16 && t.key.identity.length > 0);
        for (int i = 0; i < STORE_FEATURES; i++) {
            assert_true(t.key.features[i] > 0);
        }
        assert_int_equal(tuning_put(&t, database, last, 1e-3, 5, NULL), STATUS_OK);
        tuning_end(&t);
        assert_int_equal(tuning_begin(p, cases->backend, spec, database, &t), STATUS_OK);
        assert_int_equal(t.found, TUNE_EXACT);
        assert_memory_equal(t.values, last, p->nparameters * sizeof *last);
        assert_true(t.searched == 5);
        tuning_end(&t);
        assert_int_equal(tuning_is_known(p, BACKEND_CPU, spec, database, &is_known), STATUS_OK);
        assert_true(is_known);
        cases->bank.threads = cases->dedispersion.threads = cases->filter.threads = 3;
        assert_int_equal(tuning_is_known(p, BACKEND_CPU, spec, database, &is_known), STATUS_OK);
        assert_false(is_known);
        p->end(&space);
    }
    snprintf(lock, sizeof lock, "%s.lock", database);
    unlink(database);
    unlink(lock);
}

/* Each shape of a filter computes what the reference does; a wrong coefficient shows. */
static void filters_are_checked(void **state)
{
    (void)state;
    const struct filter_spec spec = *(const struct filter_spec *)case_of(&tune_fir);
    const struct tune_pick all = {.every = 1};
    struct tune_space space;
    assert_int_equal(tune_fir.begin(cases->backend, &spec, &all, 0, &space), STATUS_OK);
    uint32_t overlap_save = 0;
    for (uint32_t i = 0; i < space.count; i++) {
        struct trial_times measure = {.wrong = 1};
        assert_int_equal(space.time(space.context, i, 1, NULL, &measure), STATUS_OK);
        assert_int_equal(measure.wrong, 0);
        assert_true(measure.median > 0);
        overlap_save += tune_space_values(&space, i)[0] == FILTER_OVERLAP_SAVE;
    }
    assert_true(overlap_save > 0 && overlap_save < space.count);
    tune_fir.end(&space);
}

/* One row that is off is one too many, and so are all of them by a little. */
static void wrong_rows_of_filters_show(void **state)
{
    (void)state;
    const struct filter_spec spec = *(const struct filter_spec *)case_of(&tune_fir);
    struct fir_trial trial;
    struct fir_windows *windows = &trial.windows;
    struct filter_choice choice;
    struct trial_times times;
    uint32_t wrong = 0;
    void *data = NULL;
    assert_int_equal(filter_choose(BACKEND_CPU, &spec, &choice), STATUS_OK);
    assert_int_equal(fir_trial_begin(cases->backend, &spec, spec.max_rows, 0, &trial), STATUS_OK);
    assert_int_equal(fir_trial_time(&trial, &choice, 1, NULL, &times), STATUS_OK);
    assert_int_equal(times.wrong, 0);
    assert_int_equal(buffer_get(trial.out, &data), STATUS_OK);
    float(*rows)[2] = data;
    float last = rows[trial.rows - 1][0];
    for (int i = 0; i < 2; i++) {
        rows[trial.rows - 1][0] =
            i == 0 ? NAN : last + (float)(2 * fir_worst_limit * windows->unit);
        wrong = 0;
        fir_windows_compare(windows, &trial.spec, data, &wrong);
        assert_true(wrong > 0);
    }
    rows[trial.rows - 1][0] = last;
    wrong = 0;
    fir_windows_compare(windows, &trial.spec, data, &wrong);
    assert_int_equal(wrong, 0);
    for (uint64_t i = 0; i < trial.rows; i++) {
        rows[i][1] += (float)(3 * fir_rms_limit * windows->unit);
    }
    fir_windows_compare(windows, &trial.spec, data, &wrong);
    assert_int_equal(wrong, 1);
    fir_trial_end(&trial);
}

/* The automatic choice is one of the candidates, of the method that is asked for, and the same when
 * it is asked again. */
static void filters_are_chosen(void **state)
{
    (void)state;
    struct filter_spec spec = *(const struct filter_spec *)case_of(&tune_fir);
    for (int method = FILTER_AUTO; method <= FILTER_OVERLAP_SAVE; method++) {
        struct filter_choice choice;
        struct filter_choice again;
        int fits = 0;
        spec.method = (enum filter_method)method;
        assert_int_equal(tune_fir_choose(cases->backend, &spec, 0, &choice), STATUS_OK);
        assert_int_equal(choice.backend, BACKEND_CPU);
        assert_true(method == FILTER_AUTO || choice.shape.method == (uint32_t)method);
        assert_int_equal(tune_problem_fits(&tune_fir, cases->backend, &spec,
                                           (const uint32_t *)&choice.shape, &fits),
                         STATUS_OK);
        assert_true(fits);
        assert_int_equal(tune_fir_choose(cases->backend, &spec, 0, &again), STATUS_OK);
        assert_memory_equal(&again.shape, &choice.shape, sizeof choice.shape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configurations_survive_words),
        cmocka_unit_test(listed_configurations_are_told_apart),
        cmocka_unit_test(other_texts_are_none),
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(keys_bring_records_back),
        cmocka_unit_test(filters_are_checked),
        cmocka_unit_test(wrong_rows_of_filters_show),
        cmocka_unit_test(filters_are_chosen),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
