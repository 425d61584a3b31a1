/* Random spectra of an array, and the beams that a backend forms of them. */
#ifndef VOLTMILL_TESTS_BEAMFORM_BENCH_H
#define VOLTMILL_TESTS_BEAMFORM_BENCH_H

#include "base/memory.h"
#include "base/report.h"
#include "draw.h"
#include "tested_backends.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights: none, factors, tables; with gains where they are not NO_GAINS. */
enum weighed { ALL_ONE, BY_FACTORS, BY_TABLE };

struct beams_case {
    uint32_t stations, beams, pols, coarse, nchannels, cell;
    uint64_t first, spectra;
    enum weighed weighed;
    int has_gains, has_turns, has_beam_turns;
};

struct beams_bench {
    struct between_spec spec;
    uint64_t first, spectra;
    float *in, *gains, *weights, *factors, *turns, *beam_turns;
    float *out;
};

static float *beams_draw(size_t count, double scale)
{
    float *out = malloc((count > 0 ? count : 1) * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        out[i] = (float)(scale * draw_number());
    }
    return out;
}

/* Pairs of turns: some at channel 0, some over the band, which may be more than one; a few none. */
static float *beams_draw_turns(size_t pairs, uint32_t nchannels, double most)
{
    float *out = beams_draw(2 * pairs, 0.5);
    for (size_t i = 0; i < pairs; i++) {
        out[2 * i + 1] *= (float)(2 * most / nchannels);
        if (i % 7 == 3) {
            out[2 * i] = out[2 * i + 1] = 0;
        }
    }
    return out;
}

static void beams_start(struct beams_bench *b, const struct beams_case *c)
{
    const size_t series = (size_t)c->pols * c->coarse * c->nchannels;
    const size_t pairs = (size_t)c->beams * c->stations;
    const size_t turns = (size_t)c->stations * c->coarse;
    memset(b, 0, sizeof *b);
    b->spec = (struct between_spec){.stage = BETWEEN_BEAMFORM,
                                    .stations = c->stations,
                                    .beams = c->beams,
                                    .pols = c->pols,
                                    .coarse = c->coarse,
                                    .nchannels = c->nchannels,
                                    .max_spectra = c->spectra,
                                    .cell = c->cell,
                                    .threads = 1};
    b->first = c->first;
    b->spectra = c->spectra;
    b->in = beams_draw(2 * c->spectra * c->stations * series, 1);
    if (c->has_gains) {
        b->spec.gains = b->gains = beams_draw(2 * c->stations * series, 1);
    }
    if (c->weighed == BY_FACTORS) {
        b->spec.factors = b->factors = beams_draw(2 * pairs, 1);
    } else if (c->weighed == BY_TABLE) {
        b->spec.weights = b->weights = beams_draw(2 * pairs * series, 1);
    }
    if (c->has_turns) {
        b->turns = beams_draw_turns(c->spectra * turns, c->nchannels, 1);
    }
    if (c->has_beam_turns) {
        const uint64_t cells = beamform_cells(&b->spec, c->first, c->spectra);
        b->beam_turns = beams_draw_turns(cells * pairs * c->coarse, c->nchannels, 10);
    }
}

static void beams_end(struct beams_bench *b)
{
    free(b->in);
    free(b->gains);
    free(b->weights);
    free(b->factors);
    free(b->turns);
    free(b->beam_turns);
    free(b->out);
}

static size_t beams_row(const struct between_spec *spec, uint32_t streams)
{
    return (size_t)2 * streams * spec->pols * spec->coarse * spec->nchannels;
}

/* Forms all beams, `cut` spectra at a time, one run after the other without waiting: b->out. */
static void beams_run(struct beams_bench *b, backend_t *backend, enum buffer_use use, uint64_t cut)
{
    const struct between_spec *spec = &b->spec;
    const size_t in_row = beams_row(spec, spec->stations);
    const size_t out_row = beams_row(spec, spec->beams);
    enum { SLOTS = 2 };
    between_t *stage;
    buffer_t *in[SLOTS];
    buffer_t *out[SLOTS];
    void *host;
    free(b->out);
    b->out = malloc(b->spectra * out_row * sizeof(float));
    assert_non_null(b->out);
    assert_int_equal(between_create(backend, spec, &stage), STATUS_OK);
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(buffer_create(backend, BUFFER_IN, cut * in_row * sizeof(float), &in[i]),
                         STATUS_OK);
        assert_int_equal(buffer_create(backend, use, cut * out_row * sizeof(float), &out[i]),
                         STATUS_OK);
    }
    for (uint64_t done = 0, run = 0; done < b->spectra + SLOTS * cut; done += cut, run++) {
        if (run >= SLOTS && done - SLOTS * cut < b->spectra) {
            const uint64_t at = done - SLOTS * cut;
            const uint64_t count = min_u64(cut, b->spectra - at);
            assert_int_equal(buffer_get(out[run % SLOTS], &host), STATUS_OK);
            memcpy(b->out + at * out_row, host, count * out_row * sizeof(float));
        }
        if (done < b->spectra) {
            const uint64_t count = min_u64(cut, b->spectra - done);
            const uint64_t cell = (b->first + done) / spec->cell - b->first / spec->cell;
            const size_t station_turns = (size_t)spec->stations * spec->coarse * 2;
            const struct beamform_turns turns = {
                b->turns ? b->turns + done * station_turns : NULL,
                b->beam_turns ? b->beam_turns + cell * spec->beams * station_turns : NULL};
            assert_int_equal(buffer_get(in[run % SLOTS], &host), STATUS_OK);
            memcpy(host, b->in + done * in_row, count * in_row * sizeof(float));
            assert_int_equal(between_run(stage, in[run % SLOTS], b->first + done, count, &turns,
                                         out[run % SLOTS]),
                             STATUS_OK);
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        buffer_destroy(in[i]);
        buffer_destroy(out[i]);
    }
    stage_destroy(stage);
}

/* The largest rms of a beam's errors, relative to the rms of the beam. */
static double beams_error(const struct beams_bench *b, const float *expected)
{
    const struct between_spec *spec = &b->spec;
    const size_t row = beams_row(spec, 1);
    double worst = 0;
    for (uint32_t beam = 0; beam < spec->beams; beam++) {
        double errors = 0;
        double numbers = 0;
        for (uint64_t s = 0; s < b->spectra; s++) {
            for (size_t i = 0; i < row; i++) {
                const size_t at = (s * spec->beams + beam) * row + i;
                const double error = (double)b->out[at] - (double)expected[at];
                errors += error * error;
                numbers += (double)expected[at] * (double)expected[at];
            }
        }
        const double relative = sqrt(errors / numbers);
        worst = relative <= worst ? worst : relative; /* NaN is the worst */
    }
    return worst;
}

static int has_beams(const struct backend_ops *ops)
{
    return ops != NULL; /* all that are built */
}

static int open_backends(void **state)
{
    (void)state;
    return open_tested(has_beams, "beams");
}

#endif
