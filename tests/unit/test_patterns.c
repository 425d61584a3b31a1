/* Patterns of delays: they are the delays, each once, and as few as are known of telescopes. */
#include "dsp/dispersion/dispersion.h"
#include "dsp/dispersion/patterns.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct setup {
    const char *name;
    uint32_t nchannels, ndms;
    double first_hz, width_hz, sample_seconds, dm_step;
    double gain; /* additions fewer, to two digits */
};

/* ASKAP's band descends. */
static const struct setup setups[] = {
    {"Apertif", 1024, 4096, 1420e6, 0.29e6, 50e-6, 0.25, 7.85},
    {"ASKAP", 336, 701, 1465e6, -1e6, 1.26646875e-3, 1, 7.91},
    {"CHIME", 1024, 2000, 799.8046875e6, -0.390625e6, 0.983e-3, 1, 4.39},
    {"MeerKAT L", 1024, 2000, 856.41796875e6, 0.8359375e6, 76.6e-6, 0.5, 3.90},
    {"MeerKAT UHF", 1024, 2000, 544.265625e6, 0.53125e6, 120.4e-6, 0.5, 3.35},
    {"LOFAR", 32, 4096, 138e6, 0.19e6, 5e-6, 0.25, 1.00}};
enum { SETUPS = sizeof setups / sizeof *setups };

static void make_delays(const struct setup *s, struct dispersion *out)
{
    double *freq = calloc(s->nchannels, sizeof *freq);
    double *dms = calloc(s->ndms, sizeof *dms);
    assert_non_null(freq);
    assert_non_null(dms);
    for (uint32_t c = 0; c < s->nchannels; c++) {
        freq[c] = s->first_hz + c * s->width_hz;
    }
    for (uint32_t d = 0; d < s->ndms; d++) {
        dms[d] = d * s->dm_step;
    }
    struct dispersion_spec spec = {.freq_hz = freq,
                                   .nchannels = s->nchannels,
                                   .sample_seconds = s->sample_seconds,
                                   .dms = dms,
                                   .ndms = s->ndms};
    assert_int_equal(dispersion_create(&spec, out), STATUS_OK);
    free(freq);
    free(dms);
}

static void telescopes_save_what_is_known(void **state)
{
    (void)state;
    for (int i = 0; i < SETUPS; i++) {
        const struct setup *s = &setups[i];
        struct dispersion delays = {0};
        struct patterns p = {0};
        uint64_t adds = 0;
        make_delays(s, &delays);
        assert_int_equal(
            patterns_create(delays.table, s->ndms, s->nchannels, PATTERN_LEVELS, UINT32_MAX, &p),
            STATUS_OK);
        patterns_best(&p, &adds);
        double gain = (double)s->ndms * s->nchannels / (double)adds;
        if (fabs(gain - s->gain) > 0.0051) {
            fail_msg("%s: %.3f times fewer additions, expected %.2f", s->name, gain, s->gain);
        }
        patterns_free(&p);
        dispersion_free(&delays);
    }
}

/* The delay of each row of a pattern whose first row has `delay`. */
static void expand(const struct patterns *p, uint32_t level, uint32_t number, uint32_t delay,
                   uint32_t row, uint32_t *out)
{
    const struct pattern *one = &p->levels[level].patterns[number];
    uint32_t half = 1U << level;
    uint32_t next = delay + (uint32_t)one->shift;
    assert_true(delay >= one->least && delay <= one->most);
    if (level == 0) {
        assert_int_equal(one->left, row);
        out[0] = delay;
        if (one->right != PATTERN_NONE) {
            assert_int_equal(one->right, row + 1);
            out[1] = next;
        }
        return;
    }
    expand(p, level - 1, one->left, delay, row, out);
    if (one->right != PATTERN_NONE) {
        expand(p, level - 1, one->right, next, row + half, out + half);
    }
}

/* For odd numbers of rows, and for patterns without holes, too; those of a group differ. */
static void patterns_are_the_delays(void **state)
{
    (void)state;
    static const uint32_t reaches[] = {UINT32_MAX, 40, 0};
    struct setup s = {"", 75, 90, 1300e6, 2e6, 200e-6, 0.7, 0};
    struct dispersion delays = {0};
    make_delays(&s, &delays);
    for (int i = 0; i < 3; i++) {
        struct patterns p = {0};
        uint32_t found[75] = {0};
        uint32_t nlevels = 4;
        assert_int_equal(
            patterns_create(delays.table, s.ndms, s.nchannels, nlevels, reaches[i], &p), STATUS_OK);
        const struct pattern_level *top = &p.levels[nlevels - 1];
        assert_int_equal(top->ngroups, 5);
        for (uint32_t dm = 0; dm < s.ndms; dm++) {
            const uint32_t *row = delays.table + (size_t)dm * s.nchannels;
            for (uint32_t g = 0; g < top->ngroups; g++) {
                uint32_t number = p.of[(size_t)g * s.ndms + dm];
                assert_true(number >= top->first[g] && number < top->first[g + 1]);
                expand(&p, nlevels - 1, number, row[16 * g], 16 * g, found + 16 * g);
            }
            assert_memory_equal(found, row, sizeof found);
        }
        for (uint32_t l = 0; l < nlevels; l++) {
            const struct pattern *list = p.levels[l].patterns;
            for (uint32_t g = 0; g < p.levels[l].ngroups; g++) {
                uint64_t covered = 0;
                for (uint32_t a = p.levels[l].first[g]; a < p.levels[l].first[g + 1]; a++) {
                    covered += list[a].most - list[a].least;
                    for (uint32_t b = a + 1; b < p.levels[l].first[g + 1]; b++) {
                        int are_equal = list[a].left == list[b].left &&
                                        list[a].right == list[b].right &&
                                        list[a].shift == list[b].shift;
                        assert_true(!are_equal || i > 0);
                    }
                }
                assert_true(i == 0 || covered <= (uint64_t)reaches[i] * s.ndms);
            }
        }
        patterns_free(&p);
    }
    dispersion_free(&delays);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(telescopes_save_what_is_known),
        cmocka_unit_test(patterns_are_the_delays),
    };
    return cmocka_run_group_tests_name("patterns", tests, NULL, NULL);
}
