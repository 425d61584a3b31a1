/* voltmill bench beams, voltmill bench correlate */
#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "bench/bench_arrays.h"
#include "cli/csv.h"
#include "cli/values.h"
#include "tune/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Options of the commands, and the state of the table while it is made. */
struct array_settings {
    struct shared shared;
    struct option_list stations, channels;
    struct option_list others; /* beams, or spectra that are summed */
    uint32_t pols, cell;
    uint64_t spectra;
    int is_fixed, is_turned;

    backend_t *opened;
    double peak; /* operations a second, of bare multiply-adds */
    uint32_t failed;
    struct csv csv;
};

static status_t array_open(struct array_settings *s, const char *heading)
{
    struct backend_options options = {.device = s->shared.device, .local_size = 1};
    s->shared.threads = options_threads(s);
    TRY(csv_open(s->shared.csv, "w", heading, &s->csv));
    TRY(backend_open(backend_settle(s->shared.backend), &options, &s->opened));
    TRY(backend_measure_fma(s->opened, s->shared.threads, &s->peak));
    const char *device = backend_device(s->opened);
    printf("%s%s%s: %.3g TFLOP/s of multiply-adds in registers%s\n",
           backend_name(backend_which(s->opened)), *device ? ", " : "", device, 1e-12 * s->peak,
           s->is_fixed ? "; weights from a table" : "");
    return STATUS_OK;
}

/* A row of a table. */
struct array_row {
    uint32_t stations, channels;
    uint64_t other;
};

/* Prints all rows of the lists. */
static status_t array_rows(struct array_settings *s,
                           status_t (*print)(struct array_settings *, const struct array_row *))
{
    const uint32_t nchannels = s->channels.count;
    const uint32_t nothers = s->others.count;
    for (uint32_t i = 0; i < s->stations.count * nchannels * nothers; i++) {
        const struct array_row row = {
            .stations = (uint32_t)s->stations.values[i / nchannels / nothers],
            .channels = (uint32_t)s->channels.values[i / nothers % nchannels],
            .other = s->others.values[i % nothers]};
        TRY(print(s, &row));
        csv_flush(&s->csv);
        report_show();
    }
    return REQUIRED(s->failed == 0, STATUS_DEVICE, "bench: %s failed",
                    units_number(s->failed, "row", "rows"));
}

static status_t array_close(struct array_settings *s, status_t st)
{
    backend_close(s->opened);
    return csv_close(&s->csv, st);
}

#define AT(field) offsetof(struct array_settings, field)

/* ---- beams ---- */

/* Returns the operations of the sums: eight for each complex multiply-add. */
static double bench_beams_flops(const struct bench_beams *c, uint64_t spectra)
{
    return 8.0 * c->stations * c->beams * c->pols * c->channels * (double)spectra;
}

static status_t beams_print(struct array_settings *s, const struct array_row *row)
{
    const struct bench_beams c = {.stations = row->stations,
                                  .beams = (uint32_t)row->other,
                                  .pols = s->pols,
                                  .channels = row->channels,
                                  .cell = s->cell,
                                  .spectra = s->spectra,
                                  .is_fixed = s->is_fixed,
                                  .threads = s->shared.threads,
                                  .repeats = s->shared.repeats};
    struct bench_formed r;
    TRY(bench_beams(s->opened, &c, &r));
    const double rate = bench_beams_flops(&c, r.spectra) / r.seconds;
    const double share = s->peak > 0 ? rate / s->peak : 0;
    /* Samples of all streams, each of which comes to one number of a spectrum. */
    const double samples = 1e-9 * c.stations * c.pols * c.channels * (double)r.spectra / r.seconds;
    printf("%8u %6u %5u %8u %6u %8" PRIu64 " %10.4f %9.3f %8.1f%% %9.3f %9.2g%s\n", c.stations,
           c.beams, c.pols, c.channels, c.cell, r.spectra, 1e3 * r.seconds, 1e-12 * rate,
           1e2 * share, samples, r.error, r.is_right ? "" : " FAILED");
    csv_print(&s->csv, "%u,%u,%u,%u,%u,%" PRIu64 ",%s,%.6f,%.4f,%.4f,%.4f,%u,%.3g,%s\n", c.stations,
              c.beams, c.pols, c.channels, c.cell, r.spectra, c.is_fixed ? "table" : "turns",
              1e3 * r.seconds, 1e-12 * rate, share, samples, c.threads, r.error,
              r.is_right ? "ok" : "FAILED");
    s->failed += !r.is_right;
    return STATUS_OK;
}

static status_t beams_run(void *settings)
{
    status_t st = STATUS_OK;
    struct array_settings *s = settings;
    TRY_OUT(array_open(s,
                       "stations,beams,pols,channels,cell,spectra,weights,ms,tflop_per_s,share_of_"
                       "peak,gsamples_per_s,threads,rms_error,result"));
    printf("%8s %6s %5s %8s %6s %8s %10s %9s %9s %9s %9s\n", "stations", "beams", "pols", "channel",
           "cell", "spectra", "ms", "TFLOP/s", "of peak", "Gsamp/s", "rms error");
    TRY_OUT(array_rows(s, beams_print));
out:
    return array_close(s, st);
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
    .run = beams_run};

/* ---- correlate ---- */

/* An impossible case is reported and skipped. */
static status_t correlate_print(struct array_settings *s, const struct array_row *row)
{
    const uint64_t spectra = max_u64(s->spectra, row->other);
    const struct bench_correlate c = {.stations = row->stations,
                                      .pols = s->pols,
                                      .channels = row->channels,
                                      .integrate = row->other,
                                      .spectra = s->spectra,
                                      .is_turned = s->is_turned,
                                      .threads = s->shared.threads,
                                      .repeats = s->shared.repeats};
    struct bench_correlated r;
    printf("%8u %4u %8u %9" PRIu64, c.stations, c.pols, c.channels, c.integrate);
    if (bench_correlate(s->opened, &c, &r) != STATUS_OK) {
        printf(" %s\n", report_cause());
        report_clear();
        s->failed++;
        return STATUS_OK;
    }
    const double rate = r.flops / r.seconds;
    const double numbers = 1e-9 * (double)spectra * c.channels * c.stations * c.pols / r.seconds;
    printf(" %9" PRIu64 " %10.3f %10.3f %9.3f %9.2f %5.0f%% %9.2g%s\n", spectra, 1e3 * r.seconds,
           1e3 * r.steps[CORRELATE_STEP_CROSSES], numbers, 1e-12 * rate, 100 * rate / s->peak,
           r.error, r.is_right ? "" : " FAILED");
    csv_print(&s->csv, "%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%.6f", c.stations, c.pols, c.channels,
              c.integrate, spectra, 1e3 * r.seconds);
    for (int step = CORRELATE_STEP_TURN; step <= CORRELATE_STEP_FINISH; step++) {
        csv_print(&s->csv, ",%.6f", 1e3 * r.steps[step]);
    }
    csv_print(&s->csv, ",%.4f,%.4f,%.4f,%u,%.3g,%s\n", numbers, 1e-12 * rate, rate / s->peak,
              c.threads, r.error, r.is_right ? "ok" : "FAILED");
    s->failed += !r.is_right;
    return STATUS_OK;
}

static status_t correlate_run_rows(void *settings)
{
    status_t st = STATUS_OK;
    struct array_settings *s = settings;
    TRY_OUT(array_open(
        s, "stations,pols,channels,integrate,spectra,ms,turn_ms,autos_ms,crosses_ms,finish_ms,"
           "gspectra_per_s,tflop_per_s,share_of_multiply_adds,threads,rms_error,result"));
    printf("%8s %4s %8s %9s %9s %10s %10s %9s %9s %6s %9s\n", "stations", "pols", "channels",
           "integrate", "spectra", "ms", "crosses ms", "Gnum/s", "TFLOP/s", "share", "rms error");
    TRY_OUT(array_rows(s, correlate_print));
out:
    return array_close(s, st);
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
