/* voltmill bench beams, voltmill bench correlate */
#include "base/clock.h"
#include "base/memory.h"
#include "cli/csv.h"
#include "cli/values.h"
#include "compute/between.h"
#include "compute/correlate.h"
#include "compute/shared/agreement.h"
#include "compute/shared/correlate_table.h"
#include "tune/problem/problem_bank.h"
#include "tune/trial.h"

#include <inttypes.h>
#include <math.h>

/* A row of a table. */
struct array_row {
    uint32_t stations, channels;
    uint64_t other;
};

/* Options of the commands, and the state of the table while it is made. */
struct array_settings {
    struct shared shared;
    struct option_list stations, channels;
    struct option_list others; /* beams, or spectra that are summed */
    uint32_t pols, cell;
    uint64_t spectra;
    int is_fixed, is_turned;

    const char *head; /* above the rows that are printed, */
    status_t (*print)(struct array_settings *s, const struct array_row *row); /* each by this */
    struct bench_table table;
    double peak; /* operations a second, of bare multiply-adds */
};

struct bench_formed {
    uint64_t spectra;
    double seconds; /* best of the repeats, by the device's clock, else the host's */
    double error;   /* rms of a few spectra's errors, relative to the rms of the beams */
    int is_right;
};

struct bench_correlated {
    double seconds; /* best of the repeats, by the device's clock without transfers, else the
                       host's */
    double steps[DEVICE_STEPS];
    double flops; /* eight for each product of each pair, of stations with themselves too */
    double error; /* rms, in units of the geometric mean of both powers */
    int is_right;
};

struct beams {
    backend_t *backend;
    struct between_spec spec;
    uint64_t spectra;
    float *weights;
    float *turns[2]; /* of stations and beams; NULL: none */
    buffer_t *in, *out;
    between_t *stage;
    struct agreement agreement;
};

static void beams_end(struct beams *bench)
{
    stage_destroy(bench->stage);
    buffer_destroy(bench->in);
    buffer_destroy(bench->out);
    MEMORY_FREE(bench->weights, bench->turns[0], bench->turns[1]);
}

/* Floats of a spectrum of `streams` stations, or beams. */
static size_t beams_row(const struct between_spec *spec, uint32_t streams)
{
    return (size_t)2 * streams * spec->pols * spec->coarse * spec->nchannels;
}

/* Turns up to half a turn at channel 0, and over all channels. */
static status_t beams_make_turns(const struct beams *bench, size_t pairs, float **out)
{
    TRY(memory_zeroed(pairs, 2 * sizeof **out, "turns", out));
    for (size_t i = 0; i < pairs; i++) {
        (*out)[2 * i] = (float)(i * 37 % 997) / 1994.0F;
        (*out)[2 * i + 1] = (float)(i * 41 % 991) / 1982.0F / (float)bench->spec.nchannels;
    }
    return STATUS_OK;
}

static status_t beams_fill(struct beams *bench, int is_fixed)
{
    struct between_spec *spec = &bench->spec;
    const size_t in = bench->spectra * beams_row(spec, spec->stations);
    const size_t out = bench->spectra * beams_row(spec, spec->beams);
    const size_t pairs = (size_t)spec->beams * spec->stations;
    if (is_fixed) {
        TRY(memory_zeroed(pairs * beams_row(spec, 1), sizeof *bench->weights, "weights",
                          &bench->weights));
        bank_noise(SAMPLE_F32, 0, pairs * beams_row(spec, 1) / 2, bench->weights);
        spec->weights = bench->weights;
    } else {
        TRY(beams_make_turns(bench, bench->spectra * spec->stations, &bench->turns[0]));
        TRY(beams_make_turns(bench, beamform_cells(spec, 0, bench->spectra) * pairs,
                             &bench->turns[1]));
    }
    TRY(bank_noise_buffer(bench->backend, SAMPLE_F32, 0, in / 2, &bench->in));
    return bank_blank_buffer(bench->backend, out * sizeof(float), &bench->out);
}

static status_t beams_run(void *context, struct trial_run *out)
{
    struct beams *bench = context;
    const struct beamform_turns turns = {bench->turns[0], bench->turns[1]};
    const double started = clock_now();
    void *data = NULL;
    *out = (struct trial_run){.seconds = 0};
    TRY(between_run(bench->stage, bench->in, 0, bench->spectra, &turns, bench->out));
    TRY(buffer_get(bench->out, &data));
    out->seconds = clock_now() - started;
    TRY(stage_times(bench->stage, out->steps));
    trial_run_settle(out, STEP_FILTER);
    return STATUS_OK;
}

/* Compares one spectrum with that of the reference. */
static status_t beams_check_spectrum(struct beams *bench, backend_t *reference, uint64_t s)
{
    struct between_spec spec = bench->spec;
    const size_t row = beams_row(&spec, spec.stations);
    const size_t beams = beams_row(&spec, spec.beams);
    const size_t turn = (size_t)spec.stations * 2;
    const struct beamform_turns turns = {
        bench->turns[0] ? bench->turns[0] + s * turn : NULL,
        bench->turns[1] ? bench->turns[1] + s / spec.cell * spec.beams * turn : NULL};
    SCOPED(buffer_destroy_at) buffer_t *out = NULL;
    SCOPED(buffer_destroy_at) buffer_t *in = NULL;
    SCOPED(stage_destroy_at) between_t *stage = NULL;
    void *from = NULL;
    void *to = NULL;
    spec.max_spectra = 1;
    TRY(between_create(reference, &spec, &stage));
    TRY(bank_part(reference, bench->in, s * row * sizeof(float), row * sizeof(float), &in));
    TRY(buffer_create(reference, BUFFER_OUT, beams * sizeof(float), &out));
    TRY(between_run(stage, in, s, 1, &turns, out));
    TRY(buffer_get(out, &to));
    TRY(buffer_get(bench->out, &from));
    agreement_sums(&bench->agreement, (const float *)from + s * beams, to, beams, 0);
    return STATUS_OK;
}

/* Compares some spectra with the reference, and checks that every number was written. */
static status_t beams_check(void *context, uint32_t *wrong)
{
    struct beams *bench = context;
    const uint64_t at[] = {0, bench->spectra / 2, bench->spectra - 1};
    const size_t count = bench->spectra * beams_row(&bench->spec, bench->spec.beams);
    SCOPED(backend_close_at) backend_t *reference = NULL;
    void *data = NULL;
    size_t missing = 0;
    bench->agreement = (struct agreement){0};
    TRY(bank_open_reference(&reference));
    for (uint32_t i = 0; i < sizeof at / sizeof *at; i++) {
        TRY(beams_check_spectrum(bench, reference, at[i]));
    }
    TRY(buffer_get(bench->out, &data));
    for (size_t i = 0; i < count; i++) {
        missing += isnan(((const float *)data)[i]) != 0;
    }
    *wrong = missing > 0 || !agreement_holds(&bench->agreement);
    return STATUS_OK;
}

/* Times beams. Fails with DEVICE, USAGE (a case that the backend cannot do). A wrong result is no
 * failure. */
static status_t bench_beams(const struct array_settings *s, const struct array_row *row,
                            struct bench_formed *out)
{
    static const struct trial timed = {beams_run, beams_check};
    const int has_device = backend_abilities(backend_which(s->table.opened))->has_device;
    const uint64_t beyond_caches = has_device ? UINT64_C(1) << 29 : UINT64_C(1) << 26;
    SCOPED(beams_end)
    struct beams bench = {.backend = s->table.opened,
                          .spec = {.stage = BETWEEN_BEAMFORM,
                                   .stations = row->stations,
                                   .beams = (uint32_t)row->other,
                                   .pols = s->pols,
                                   .coarse = 1,
                                   .nchannels = row->channels,
                                   .cell = s->cell,
                                   .threads = s->shared.threads,
                                   .is_timed = 1}};
    struct trial_times times;
    const uint64_t bytes = beams_row(&bench.spec, row->stations) * sizeof(float);
    bench.spectra = s->spectra > 0 ? s->spectra : ceil_div_u64(beyond_caches / bytes + 1, 64) * 64;
    bench.spec.max_spectra = bench.spectra;
    TRY(beams_fill(&bench, s->is_fixed));
    TRY(between_create(s->table.opened, &bench.spec, &bench.stage));
    TRY(trial_time(&timed, &bench, s->shared.repeats, NULL, &times));
    *out = (struct bench_formed){.spectra = bench.spectra,
                                 .seconds = times.best.seconds,
                                 .error = agreement_rms(&bench.agreement),
                                 .is_right = times.wrong == 0};
    return STATUS_OK;
}

enum {
    CHECKED_STATIONS = 8,
    CHECKED_CHANNELS = 4,
    CHECKED_DUMPS = 2 /* of most runs: a dump of many spectra is checked alone */
};

/* A correlation, or that of some of its stations' first channels by the reference. */
struct correlation {
    backend_t *backend;
    struct correlate_spec spec;
    uint32_t stations[CHECKED_STATIONS]; /* of the timed one */
    uint32_t (*pairs)[2];
    float *turns;
    buffer_t *in, *out;
    correlate_t *stage;
    double error;
};

static void correlation_end(struct correlation *bench)
{
    correlate_destroy(bench->stage);
    buffer_destroy(bench->in);
    buffer_destroy(bench->out);
    MEMORY_FREE(bench->pairs, bench->turns);
}

static uint64_t correlation_dumps(const struct correlation *bench)
{
    return bench->spec.max_spectra / bench->spec.integrate;
}

/* Makes the stage for all pairs of the spec's stations, random spectra, and turns that are the same
 * for all of a station's. */
static status_t correlation_begin(struct correlation *bench)
{
    struct correlate_spec *spec = &bench->spec;
    const uint32_t stations = spec->stations;
    const uint64_t pairs = spec->max_spectra * correlate_inputs(spec) * correlate_columns(spec);
    spec->npairs = 0;
    TRY(memory_zeroed((size_t)stations * (stations + 1) / 2, sizeof *bench->pairs, "pairs",
                      &bench->pairs));
    for (uint32_t a = 0; a < stations; a++) {
        for (uint32_t b = a; b < stations; b++) {
            bench->pairs[spec->npairs][0] = a;
            bench->pairs[spec->npairs++][1] = b;
        }
    }
    spec->pairs = (const uint32_t(*)[2])bench->pairs;
    TRY(correlate_create(bench->backend, spec, &bench->stage));
    TRY(bank_noise_buffer(bench->backend, SAMPLE_F32, 0, pairs, &bench->in));
    TRY(bank_blank_buffer(bench->backend,
                          correlation_dumps(bench) * correlate_row_floats(spec) * sizeof(float),
                          &bench->out));
    if (spec->is_turned) {
        TRY(memory_zeroed(spec->max_spectra * stations, 2 * sizeof(float), "turns", &bench->turns));
        for (uint64_t i = 0; i < spec->max_spectra * stations; i++) {
            bench->turns[2 * i] = (float)(i * 37 % 997) / 1994.0F;
            bench->turns[2 * i + 1] = (float)(i % stations) * 0x1p-20F;
        }
    }
    return STATUS_OK;
}

static status_t correlation_run(void *context, struct trial_run *out)
{
    struct correlation *bench = context;
    uint64_t rows = 0;
    void *data = NULL;
    const double started = clock_now();
    *out = (struct trial_run){.seconds = 0};
    correlate_begin(bench->stage, 0);
    TRY(correlate_run(bench->stage, bench->in, bench->spec.max_spectra, bench->turns, bench->out,
                      &rows));
    TRY(buffer_get(bench->out, &data));
    out->seconds = clock_now() - started;
    TRY(stage_times(bench->stage, out->steps));
    trial_run_settle(out, STEP_DEINTERLEAVE);
    return STATUS_OK;
}

/* Copies the part of the spectra, and of the turns, that is checked. */
static status_t checked_fill(const struct correlation *bench, struct correlation *checked)
{
    const struct correlate_spec *all = &bench->spec;
    const struct correlate_spec *spec = &checked->spec;
    const size_t row = (size_t)correlate_columns(spec) * 2;
    void *from = NULL;
    void *to = NULL;
    TRY(buffer_get(bench->in, &from));
    TRY(buffer_get(checked->in, &to));
    for (uint64_t i = 0; i < spec->max_spectra * spec->stations; i++) {
        const uint64_t station =
            i / spec->stations * all->stations + checked->stations[i % spec->stations];
        for (uint64_t p = 0; p < spec->pols; p++) {
            memcpy((float *)to + (i * spec->pols + p) * row,
                   (float *)from + (station * spec->pols + p) * correlate_columns(all) * 2,
                   row * sizeof(float));
        }
        if (bench->turns) {
            memcpy(checked->turns + 2 * i, bench->turns + 2 * station, 2 * sizeof(float));
        }
    }
    return STATUS_OK;
}

static status_t checked_make(const struct correlation *bench, struct correlation *checked)
{
    const struct correlate_spec *all = &bench->spec;
    struct correlate_spec *spec = &checked->spec;
    struct trial_run run;
    *spec = *all;
    spec->stations = (uint32_t)min_u64(CHECKED_STATIONS, all->stations);
    spec->nchannels = (uint32_t)min_u64(CHECKED_CHANNELS, all->nchannels);
    spec->max_spectra = min_u64(CHECKED_DUMPS * all->integrate, all->max_spectra);
    for (uint32_t i = 0; i < spec->stations; i++) {
        checked->stations[i] = (uint32_t)((uint64_t)i * all->stations / spec->stations);
    }
    TRY(correlation_begin(checked));
    TRY(checked_fill(bench, checked));
    return correlation_run(checked, &run);
}

/* Place of the pair of stations a <= b among all of `stations`. */
static uint64_t correlation_pair(uint32_t stations, uint32_t a, uint32_t b)
{
    return (uint64_t)a * stations - (uint64_t)a * (a + 1) / 2 + b;
}

/* The mean square of errors, in units of the product of both powers, which are the reference's. */
static double checked_error(const struct correlation *bench, const struct correlation *checked,
                            const float *found, const float *expected)
{
    const struct correlate_spec *all = &bench->spec;
    const struct correlate_spec *spec = &checked->spec;
    const uint32_t products = correlate_products(spec);
    const uint64_t dumps = correlation_dumps(checked);
    double squares = 0;
    for (uint64_t i = 0; i < dumps * spec->npairs; i++) {
        const uint64_t dump = i / spec->npairs;
        const uint32_t *pair = spec->pairs[i % spec->npairs];
        const float *a = found + dump * correlate_row_floats(all) +
                         correlation_pair(all->stations, checked->stations[pair[0]],
                                          checked->stations[pair[1]]) *
                             all->nchannels * products * 2;
        const float *row = expected + dump * correlate_row_floats(spec);
        const uint64_t floats = (uint64_t)spec->nchannels * products * 2;
        const float *b = row + i % spec->npairs * floats;
        const float *first = row + correlation_pair(spec->stations, pair[0], pair[0]) * floats;
        const float *second = row + correlation_pair(spec->stations, pair[1], pair[1]) * floats;
        for (uint64_t k = 0; k < floats / 2; k++) {
            const uint64_t product = k % products;
            const uint64_t p = 2 * (k - product + (product == 1 || product == 3));
            const uint64_t q = 2 * (k - product + (product == 1 || product == 2));
            const double re = (double)a[2 * k] - (double)b[2 * k];
            const double im = (double)a[2 * k + 1] - (double)b[2 * k + 1];
            squares += (re * re + im * im) / ((double)first[p] * (double)second[q]);
        }
    }
    return squares / (double)(dumps * spec->npairs * spec->nchannels * products);
}

static status_t correlation_check(void *context, uint32_t *wrong)
{
    struct correlation *bench = context;
    const double limit = 5e-7;
    SCOPED(backend_close_at) backend_t *backend = NULL;
    void *found = NULL;
    void *expected = NULL;
    TRY(bank_open_reference(&backend));
    SCOPED(correlation_end) struct correlation checked = {.backend = backend};
    TRY(checked_make(bench, &checked));
    TRY(buffer_get(bench->out, &found));
    TRY(buffer_get(checked.out, &expected));
    bench->error = sqrt(checked_error(bench, &checked, found, expected));
    *wrong = !(bench->error <= limit);
    return STATUS_OK;
}

/* Correlates all pairs of stations. Fails with DEVICE, USAGE. A wrong result is no failure. */
static status_t bench_correlate(const struct array_settings *s, const struct array_row *row,
                                struct bench_correlated *out)
{
    static const struct trial timed = {correlation_run, correlation_check};
    SCOPED(correlation_end) struct correlation bench = {.backend = s->table.opened};
    struct trial_times times;
    struct correlate_spec *spec = &bench.spec;
    *spec = (struct correlate_spec){.stations = row->stations,
                                    .pols = s->pols,
                                    .coarse = 1,
                                    .nchannels = row->channels,
                                    .average = 1,
                                    .integrate = row->other,
                                    .max_spectra = max_u64(s->spectra, row->other),
                                    .threads = s->shared.threads,
                                    .is_turned = s->is_turned,
                                    .is_timed = 1};
    TRY(correlation_begin(&bench));
    TRY(trial_time(&timed, &bench, s->shared.repeats, NULL, &times));
    out->seconds = times.best.seconds;
    memcpy(out->steps, times.best.steps, sizeof out->steps);
    out->flops =
        8.0 * spec->npairs * correlate_products(spec) * spec->nchannels * (double)spec->max_spectra;
    out->error = bench.error;
    out->is_right = times.wrong == 0;
    return STATUS_OK;
}

/* Prints all rows of the lists, below the heading. */
static status_t array_rows(void *settings)
{
    struct array_settings *s = settings;
    const uint32_t nchannels = s->channels.count;
    const uint32_t nothers = s->others.count;
    TRY(backend_measure_fma(s->table.opened, s->shared.threads, &s->peak));
    bench_table_print_device(&s->table);
    printf("%.3g TFLOP/s of multiply-adds in registers%s\n%s\n", 1e-12 * s->peak,
           s->is_fixed ? "; weights from a table" : "", s->head);
    for (uint32_t i = 0; i < s->stations.count * nchannels * nothers; i++) {
        const struct array_row row = {
            .stations = (uint32_t)s->stations.values[i / nchannels / nothers],
            .channels = (uint32_t)s->channels.values[i / nothers % nchannels],
            .other = s->others.values[i % nothers]};
        TRY(s->print(s, &row));
    }
    return STATUS_OK;
}

#define AT(field) offsetof(struct array_settings, field)

/* ---- beams ---- */

static status_t beams_print(struct array_settings *s, const struct array_row *row)
{
    struct bench_formed r = {.is_right = 0};
    TRY(bench_beams(s, row, &r));
    /* Numbers of all streams, each of which comes to one number of a spectrum; the sums are eight
     * operations for each complex multiply-add. */
    const double numbers =
        (double)row->stations * s->pols * row->channels * (double)r.spectra / r.seconds;
    const double rate = 8 * numbers * (double)row->other;
    const double share = s->peak > 0 ? rate / s->peak : 0;
    printf("%8u %6" PRIu64 " %5u %8u %6u %8" PRIu64 " %10.4f %9.3f %8.1f%% %9.3f %9.2g%s\n",
           row->stations, row->other, s->pols, row->channels, s->cell, r.spectra, 1e3 * r.seconds,
           1e-12 * rate, 1e2 * share, 1e-9 * numbers, r.error, r.is_right ? "" : " FAILED");
    csv_print(&s->table.csv,
              "%u,%" PRIu64 ",%u,%u,%u,%" PRIu64 ",%s,%.6f,%.4f,%.4f,%.4f,%u,%.3g,%s\n",
              row->stations, row->other, s->pols, row->channels, s->cell, r.spectra,
              s->is_fixed ? "table" : "turns", 1e3 * r.seconds, 1e-12 * rate, share, 1e-9 * numbers,
              s->shared.threads, r.error, r.is_right ? "ok" : "FAILED");
    bench_table_end_row(&s->table, r.is_right);
    return STATUS_OK;
}

static status_t beams_run_rows(void *settings)
{
    static const char heading[] = "stations,beams,pols,channels,cell,spectra,weights,ms,"
                                  "tflop_per_s,share_of_peak,gsamples_per_s,threads,rms_error,"
                                  "result";
    struct array_settings *s = settings;
    s->head = "stations  beams  pols  channel   cell  spectra         ms   TFLOP/s   of "
              "peak   Gsamp/s rms error";
    s->print = beams_print;
    return bench_table_run(&s->shared, &s->table, heading, array_rows);
}

static const struct option_row beams_rows[] = {
    {.name = "backend device"},
    {"stations", "LIST", value_list, AT(stations), "1..65536", "64", "stations of the array"},
    {"beams", "LIST", value_list, AT(others), "1..65536", "64", "beams that are formed"},
    {"channels", "LIST", value_list, AT(channels), "1..16777216", "1024", "channels of a spectrum"},
    {"pols", "N", value_u32, AT(pols), "1..2", "2", "polarisations of a station"},
    {"cell", "N", value_u32, AT(cell), "1..1073741824", "16",
     "spectra for which the beams' weights are made once"},
    {"spectra", "COUNT", value_u64, AT(spectra), "1..1073741824", NULL,
     "spectra of a block (default: as many as exceed caches)"},
    {"fixed", FLAG(AT(is_fixed)),
     "weights from a table of all beams, stations and channels, instead of delays"},
    {.name = "repeat threads csv"},
    {.name = NULL}};

const struct command cli_bench_beams = {
    .name = "bench beams",
    .summary = "time beams of an array on this machine, and check them",
    .usage = "[OPTION]...",
    .about = "Times the coherent sums of an array's stations to beams on random spectra. Stations "
             "are turned in each spectrum, and beams in each cell of spectra, as delays do. Three "
             "spectra of the timed block are compared with sums in double; one that is wrong says "
             "FAILED. TFLOP/s count eight operations for each station of each number of a beam; "
             "their share is that of multiply-adds in registers alone, on the same device or "
             "threads. A device's time is its own clock's.",
    .rows = beams_rows,
    .bytes = sizeof(struct array_settings),
    .run = beams_run_rows};

/* ---- correlate ---- */

/* Prints a case's row; reports and skips an impossible case. */
static status_t correlate_print(struct array_settings *s, const struct array_row *row)
{
    const uint64_t spectra = max_u64(s->spectra, row->other);
    struct bench_correlated r = {.is_right = 0};
    printf("%8u %4u %8u %9" PRIu64, row->stations, s->pols, row->channels, row->other);
    if (bench_correlate(s, row, &r) != STATUS_OK) {
        printf(" %s\n", report_cause());
        report_clear();
        bench_table_end_row(&s->table, 0);
        return STATUS_OK;
    }
    const double rate = r.flops / r.seconds;
    const double numbers =
        1e-9 * (double)spectra * row->channels * row->stations * s->pols / r.seconds;
    printf(" %9" PRIu64 " %10.3f %10.3f %9.3f %9.2f %5.0f%% %9.2g%s\n", spectra, 1e3 * r.seconds,
           1e3 * r.steps[CORRELATE_STEP_CROSSES], numbers, 1e-12 * rate, 100 * rate / s->peak,
           r.error, r.is_right ? "" : " FAILED");
    csv_print(&s->table.csv, "%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%.6f", row->stations, s->pols,
              row->channels, row->other, spectra, 1e3 * r.seconds);
    for (int step = CORRELATE_STEP_TURN; step <= CORRELATE_STEP_FINISH; step++) {
        csv_print(&s->table.csv, ",%.6f", 1e3 * r.steps[step]);
    }
    csv_print(&s->table.csv, ",%.4f,%.4f,%.4f,%u,%.3g,%s\n", numbers, 1e-12 * rate, rate / s->peak,
              s->shared.threads, r.error, r.is_right ? "ok" : "FAILED");
    bench_table_end_row(&s->table, r.is_right);
    return STATUS_OK;
}

static status_t correlate_run_rows(void *settings)
{
    static const char heading[] = "stations,pols,channels,integrate,spectra,ms,turn_ms,autos_ms,"
                                  "crosses_ms,finish_ms,gspectra_per_s,tflop_per_s,"
                                  "share_of_multiply_adds,threads,rms_error,result";
    struct array_settings *s = settings;
    s->head = "stations pols channels integrate   spectra         ms crosses ms    Gnum/s  "
              " TFLOP/s  share rms error";
    s->print = correlate_print;
    return bench_table_run(&s->shared, &s->table, heading, array_rows);
}

static const struct option_row correlate_rows[] = {
    {.name = "backend device"},
    {"stations", "LIST", value_list, AT(stations), "1..4096", "37,64,128", "stations"},
    {"pols", "N", value_u32, AT(pols), "1..2", "2", "polarisations of a station: 1 or 2"},
    {"channels", "LIST", value_list, AT(channels), "1..1048576", "512", "channels of a spectrum"},
    {"integrate", "LIST", value_list, AT(others), "1..1073741824", "1024",
     "spectra that are summed"},
    {"spectra", "COUNT", value_u64, AT(spectra), "1..1073741824", NULL,
     "spectra of a run (default: those of one sum)"},
    {"turns", FLAG(AT(is_turned)),
     "rotates each station's spectra by a phase that changes from spectrum to spectrum"},
    {.name = "repeat threads csv"},
    {.name = NULL}};

const struct command cli_bench_correlate = {
    .name = "bench correlate",
    .summary = "time the correlation on this machine, and check it",
    .usage = "[OPTION]...",
    .about = "Times the correlation of all pairs of stations alone, on random spectra, and "
             "compares some of its sums with the reference's; a row whose result is wrong says "
             "FAILED. TFLOP/s count eight operations for each product of each pair, those of a "
             "station with itself too; the share is that of multiply-adds in registers alone, "
             "measured on the same device or threads. Times are a device's own without transfers. "
             "Lists are written 37,64 or 4..256 (doubling).",
    .rows = correlate_rows,
    .bytes = sizeof(struct array_settings),
    .run = correlate_run_rows};
