/* The tuner's searches on spaces with a known optimum: what they find, in how many trials, that
 * what is wrong never wins, and that a log saves trials. */
#include "base/clock.h"
#include "bench/experiment.h"
#include "tune/search.h"

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

enum { WIDTH = 4, STEPS = 7, COUNT = STEPS * STEPS * STEPS * STEPS, NOBODY = COUNT };

struct made {
    uint32_t values[COUNT][WIDTH];
    double costs[COUNT], seconds[COUNT];
    uint32_t wrong, failing; /* NOBODY: none */
    uint32_t wrong_later;    /* right the first time only */
    uint32_t only_right;     /* all others are wrong; NOBODY: no */
    uint32_t calls[COUNT], all;
    int is_dead;
};

static const struct tune_parameter parameters[WIDTH] = {
    {"a", 0, 64, NULL}, {"b", 0, 64, NULL}, {"c", 0, 64, NULL}, {"d", 0, 64, NULL}};
static const struct tune_problem problem = {.nparameters = WIDTH, .parameters = parameters};

static status_t time_one(void *context, uint32_t i, uint32_t repeats, const struct tune_time *time,
                         struct trial_times *out)
{
    struct made *m = context;
    (void)repeats;
    (void)time;
    m->calls[i]++;
    m->all++;
    if (m->is_dead || i == m->failing) {
        return report_fail(STATUS_DEVICE, "it does not build");
    }
    out->median = m->seconds[i];
    out->wrong = i == m->wrong || (i == m->wrong_later && m->calls[i] > 1) ||
                 (m->only_right != NOBODY && i != m->only_right);
    return STATUS_OK;
}

static uint32_t number(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return ((a * STEPS + b) * STEPS + c) * STEPS + d;
}

/* A bowl around (1, 4, 2, 5) with steep walls in one direction; the model thinks that it lies
 * elsewhere. */
static struct made *make(void)
{
    struct made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->wrong = m->failing = m->wrong_later = m->only_right = NOBODY;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t rest = i;
        static const double true_best[WIDTH] = {1, 4, 2, 5};
        static const double model_best[WIDTH] = {2, 3, 4, 4};
        double far = 0;
        double model = 0;
        for (int p = WIDTH - 1; p >= 0; p--, rest /= STEPS) {
            m->values[i][p] = 1U << rest % STEPS;
            far += pow(rest % STEPS - true_best[p], 2);
            model += pow(rest % STEPS - model_best[p], 2);
        }
        m->seconds[i] = 1e-3 * (1 + 0.2 * far + (m->values[i][0] == 8 ? 2 : 0));
        m->costs[i] = 1e-3 * (1 + 0.2 * model);
    }
    return m;
}

static struct tune_space space_of(struct made *m)
{
    return (struct tune_space){.problem = &problem,
                               .context = m,
                               .count = COUNT,
                               .fit = COUNT,
                               .values = &m->values[0][0],
                               .costs = m->costs,
                               .time = time_one};
}

static const uint32_t best_of_all = ((1 * STEPS + 4) * STEPS + 2) * STEPS + 5;

static void exhaustive_finds_the_best(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.repeats = 1, .rounds = 2};
    struct tune_outcome o;
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_int_equal(o.best, best_of_all);
    assert_int_equal(o.ok, COUNT);
    assert_int_equal(m->all, COUNT + 2 * 10);
    assert_int_equal(o.results[o.best].rounds, 2);
    tune_outcome_free(&o);
    free(m);
}

static void guided_finds_the_best_in_a_tenth(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.is_guided = 1, .repeats = 1};
    struct tune_outcome o;
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_true(o.results[o.best].seconds <= 1.05 * m->seconds[best_of_all]);
    assert_true(m->all < COUNT / 10);
    tune_outcome_free(&o);
    free(m);
}

static void guided_works_without_a_model(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.is_guided = 1, .repeats = 1};
    struct tune_outcome o;
    space.costs = NULL;
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_int_equal(o.best, best_of_all);
    tune_outcome_free(&o);
    free(m);
}

/* Where all that it begins with is wrong, it looks on. */
static void guided_looks_for_what_is_right(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.is_guided = 1, .repeats = 1};
    struct tune_outcome o;
    m->only_right = COUNT - 7;
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_int_equal(o.ok, 1);
    assert_int_equal(o.best, m->only_right);
    tune_outcome_free(&o);
    /* All wrong: it tries all, once. */
    struct made *none = make();
    space = space_of(none);
    none->only_right = COUNT + 1;
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_true(o.ok == 0 && o.wrong == COUNT);
    assert_int_equal(none->all, COUNT);
    tune_outcome_free(&o);
    free(none);
    free(m);
}

static void random_follows_its_seed(void **state)
{
    (void)state;
    uint32_t bests[3];
    for (int run = 0; run < 3; run++) {
        struct made *m = make();
        struct tune_space space = space_of(m);
        struct tune_options options = {.repeats = 1, .limit = 50, .seed = run == 2 ? 8 : 7};
        experiment_choose(EXPERIMENT_RANDOM, &options);
        struct tune_outcome o;
        assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
        assert_int_equal(m->all, 50);
        bests[run] = o.best;
        tune_outcome_free(&o);
        free(m);
    }
    assert_int_equal(bests[0], bests[1]);
    assert_int_not_equal(bests[0], bests[2]);
}

static void wrong_ones_never_win(void **state)
{
    (void)state;
    for (int method = 0; method < EXPERIMENT_METHODS; method++) {
        struct made *m = make();
        struct tune_space space = space_of(m);
        struct tune_options options = {.repeats = 1, .rounds = 2};
        experiment_choose((enum experiment_method)method, &options);
        struct tune_outcome o;
        /* The fastest of all is wrong, the next one does not build, and the one after that is wrong
         * from the second time on. */
        m->wrong = best_of_all;
        m->failing = number(1, 4, 2, 4);
        m->wrong_later = number(1, 4, 2, 6);
        m->seconds[best_of_all] = 1e-4;
        m->seconds[m->failing] = 2e-4;
        m->seconds[m->wrong_later] = 3e-4;
        assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
        assert_int_not_equal(o.best, m->wrong);
        assert_int_not_equal(o.best, m->failing);
        assert_int_not_equal(o.best, m->wrong_later);
        assert_int_equal(o.results[o.best].state, TUNE_OK);
        if (method != EXPERIMENT_GUIDED) {
            assert_int_equal(o.wrong, 2);
            assert_int_equal(o.failed, 1);
        }
        assert_int_equal(report_cause_status(), STATUS_OK);
        tune_outcome_free(&o);
        free(m);
    }
}

static void a_dead_device_ends_it(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.repeats = 1};
    struct tune_outcome o;
    m->is_dead = 1;
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_DEVICE);
    assert_true(m->all < 20);
    assert_string_equal(report_cause(), "it does not build");
    report_clear();
    tune_outcome_free(&o);
    free(m);
}

static void replay_times_nothing(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.repeats = 1};
    struct tune_outcome all;
    struct tune_outcome again;
    assert_int_equal(tune_search(&space, &options, NULL, "", &all), STATUS_OK);
    uint32_t before = m->all;
    for (uint32_t i = 0; i < COUNT; i++) {
        all.results[i].spent = 2;
    }
    options.is_guided = 1;
    assert_int_equal(experiment_replay(&space, &options, &all, &again), STATUS_OK);
    assert_int_equal(m->all, before);
    assert_int_equal(again.spent, 2 * again.ok);
    assert_true(again.results[again.best].seconds <= 1.05 * m->seconds[best_of_all]);
    tune_outcome_free(&all);
    tune_outcome_free(&again);
    free(m);
}

static void statistics_are_the_papers(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_result results[COUNT] = {{0}};
    struct tune_outcome o = {.results = results, .ok = 4};
    struct tune_statistics s;
    struct text text = {0};
    /* Rates 1, 2, 3, 6: mean 3, deviation sqrt(14 / 4). */
    static const double rates[] = {2, 6, 1, 3};
    for (int i = 0; i < 4; i++) {
        results[i] = (struct tune_result){.state = TUNE_OK, .seconds = 1 / rates[i]};
    }
    results[4] = (struct tune_result){.state = TUNE_WRONG, .seconds = 1e-9};
    assert_int_equal(tune_statistics(&space, &o, &s), STATUS_OK);
    assert_int_equal(s.count, 4);
    assert_true(fabs(s.best - 6) < 1e-9 && fabs(s.mean - 3) < 1e-9 && fabs(s.median - 2.5) < 1e-9);
    assert_true(fabs(s.signal_to_noise - 3 / sqrt(3.5)) < 1e-9);
    assert_int_equal(experiment_histogram(&space, &o, 6, 1, &text), STATUS_OK);
    assert_non_null(strstr(text.data, "        5.7 ..       6.0      1 #"));
    text_free(&text);
    free(m);
}

/* Runs a search with the log at `path`; gives how many were timed. */
static uint32_t search_with(const char *path, uint32_t limit, uint32_t *recalled, uint32_t *best)
{
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.repeats = 1, .rounds = 1, .limit = limit};
    struct tune_outcome o;
    tune_log_t *log = NULL;
    assert_int_equal(tune_log_open(path, &log), STATUS_OK);
    assert_int_equal(tune_search(&space, &options, log, "p1", &o), STATUS_OK);
    uint32_t all = m->all;
    *recalled = o.recalled;
    *best = o.best;
    tune_log_close(log);
    tune_outcome_free(&o);
    free(m);
    return all;
}

static void a_log_saves_trials(void **state)
{
    (void)state;
    char path[] = "/tmp/voltmill-test-tune-XXXXXX";
    uint32_t recalled = 0;
    uint32_t best = 0;
    uint32_t again = 0;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(search_with(path, 100, &recalled, &best), 110);
    assert_int_equal(recalled, 0);
    assert_int_equal(search_with(path, 100, &recalled, &again), 0);
    assert_int_equal(recalled, 100);
    assert_int_equal(again, best);
    /* Killed while it wrote a line: that one is timed again, and nothing sticks to what is left. */
    off_t size = lseek(fd, 0, SEEK_END);
    assert_int_equal(ftruncate(fd, size - 3), 0);
    report_quiet(1);
    assert_int_equal(search_with(path, 100, &recalled, &again), 1);
    assert_int_equal(search_with(path, 100, &recalled, &again), 0);
    report_quiet(0);
    assert_int_equal(again, best);
    close(fd);
    unlink(path);
}

static int yes(void)
{
    return 1;
}

/* Report of a search that was cut. */
static void searches_say_how_far_they_came(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.repeats = 1, .rounds = 1};
    struct tune_outcome o;
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_true(!o.is_cut && isinf(o.searched));
    tune_outcome_free(&o);
    options.limit = 3;
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_true(!o.is_cut && o.ok == 3 && o.searched == 0);
    tune_outcome_free(&o);
    /* No time at all: nothing is timed. */
    m->all = 0;
    options.limit = 0;
    options.time = (struct tune_time){.from = clock_now() - 20, .until = clock_now() - 10};
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_true(o.is_cut && o.ok == 0 && m->all == 0);
    assert_true(fabs(o.searched - 10) < 0.1);
    tune_outcome_free(&o);
    options.time = (struct tune_time){.from = clock_now() - 2, .is_stopped = yes};
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    assert_true(o.is_cut && m->all == 0 && o.searched >= 2 && o.searched < 10);
    tune_outcome_free(&o);
    free(m);
}

static void what_was_known_takes_part(void **state)
{
    (void)state;
    for (int method = 0; method < EXPERIMENT_METHODS; method++) {
        struct made *m = make();
        struct tune_space space = space_of(m);
        struct tune_options options = {.repeats = 1, .known = &best_of_all, .limit = 2};
        experiment_choose((enum experiment_method)method, &options);
        struct tune_outcome o;
        assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
        assert_true(m->calls[best_of_all] == 1 && m->all == 3);
        assert_int_equal(o.best, best_of_all);
        assert_true(o.searched == 0);
        tune_outcome_free(&o);
        free(m);
    }
}

/* Compiles two of a batch; then its time is over. */
static void compile_two(void *context, const uint32_t *list, uint32_t count,
                        const struct tune_time *time, unsigned char *done)
{
    (void)context;
    (void)list;
    for (uint32_t k = 0; k < count && k < 2; k++) {
        done[k] = 1;
    }
    while (!tune_time_is_over(time, 1)) {
        usleep(1000);
    }
}

static void what_is_not_compiled_in_time_is_not_timed(void **state)
{
    (void)state;
    struct made *m = make();
    struct tune_space space = space_of(m);
    struct tune_options options = {.repeats = 1};
    struct tune_outcome o;
    space.prepare = compile_two;
    space.ahead = 16;
    m->wrong = 0;
    options.time = (struct tune_time){.from = clock_now(), .until = clock_now() + 0.05};
    assert_int_equal(tune_search(&space, &options, NULL, "", &o), STATUS_OK);
    /* The first one is wrong, so the second is timed, however late it is. */
    assert_true(o.is_cut && m->calls[0] == 1 && m->calls[1] == 1 && m->all == 2);
    assert_int_equal(o.best, 1);
    tune_outcome_free(&o);
    free(m);
}

static void a_budget_is_shared(void **state)
{
    (void)state;
    struct tune_budget budget = {.seconds = 60, .problems = 3};
    struct tune_time time = tune_budget_begin(&budget);
    assert_true(fabs(tune_time_seconds(&time) - 20) < 1e-6);
    time.from -= 50; /* it took longer than its share */
    tune_budget_end(&budget, &time);
    budget.problems = 2;
    time = tune_budget_begin(&budget);
    assert_true(fabs(tune_time_seconds(&time) - 5) < 0.1);
    assert_false(tune_time_is_over(&time, 1));
    time.from -= 50;
    tune_budget_end(&budget, &time);
    budget.problems = 1;
    time = tune_budget_begin(&budget);
    assert_true(tune_time_is_over(&time, 1));
    budget.seconds = 0;
    time = tune_budget_begin(&budget);
    assert_true(isinf(tune_time_seconds(&time)) && !tune_time_is_over(&time, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exhaustive_finds_the_best),
        cmocka_unit_test(guided_finds_the_best_in_a_tenth),
        cmocka_unit_test(guided_works_without_a_model),
        cmocka_unit_test(guided_looks_for_what_is_right),
        cmocka_unit_test(random_follows_its_seed),
        cmocka_unit_test(wrong_ones_never_win),
        cmocka_unit_test(a_dead_device_ends_it),
        cmocka_unit_test(replay_times_nothing),
        cmocka_unit_test(statistics_are_the_papers),
        cmocka_unit_test(a_log_saves_trials),
        cmocka_unit_test(searches_say_how_far_they_came),
        cmocka_unit_test(what_was_known_takes_part),
        cmocka_unit_test(what_is_not_compiled_in_time_is_not_timed),
        cmocka_unit_test(a_budget_is_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
