/* voltmill bench correlate */
#include "base/units.h"
#include "bench/bench_correlate.h"
#include "cli/csv.h"
#include "cli/values.h"
#include "plan/channelise_plan.h"

#include <inttypes.h>
#include <stdio.h>

/* Options of the command, and the state of the table while it is made. */
struct correlate_settings {
    struct shared shared;
    struct option_list stations, channels, integrate;
    uint32_t pols;
    uint64_t spectra;
    int is_turned;

    backend_t *opened;
    double flops; /* a second, of bare multiply-adds */
    uint32_t failed;
    struct csv csv;
};

static const char heading[] =
    "stations,pols,channels,integrate,spectra,ms,turn_ms,autos_ms,crosses_ms,finish_ms,"
    "gspectra_per_s,tflop_per_s,share_of_multiply_adds,threads,rms_error,result";

static void bench_print_row(struct correlate_settings *s, const struct bench_correlate *c,
                            const struct bench_correlated *r)
{
    const uint64_t spectra = c->spectra > c->integrate ? c->spectra : c->integrate;
    const double rate = r->flops / r->seconds;
    const double numbers = (double)spectra * c->channels * c->stations * c->pols;
    printf("%8u %4u %8u %9" PRIu64 " %9" PRIu64 " %10.3f %10.3f %9.3f %9.2f %5.0f%% %9.2g%s\n",
           c->stations, c->pols, c->channels, c->integrate, spectra, 1e3 * r->seconds,
           1e3 * r->steps[CORRELATE_STEP_CROSSES], 1e-9 * numbers / r->seconds, 1e-12 * rate,
           100 * rate / s->flops, r->error, r->is_right ? "" : " FAILED");
    csv_print(&s->csv, "%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%.6f,%.6f,%.6f,%.6f,%.6f,", c->stations,
              c->pols, c->channels, c->integrate, spectra, 1e3 * r->seconds,
              1e3 * r->steps[CORRELATE_STEP_TURN], 1e3 * r->steps[CORRELATE_STEP_AUTOS],
              1e3 * r->steps[CORRELATE_STEP_CROSSES], 1e3 * r->steps[CORRELATE_STEP_FINISH]);
    csv_print(&s->csv, "%.4f,%.4f,%.4f,%u,%.3g,%s\n", 1e-9 * numbers / r->seconds, 1e-12 * rate,
              rate / s->flops, c->threads, r->error, r->is_right ? "ok" : "FAILED");
    csv_flush(&s->csv);
    report_show();
}

/* Times one row. An impossible case is reported and skipped. */
static void bench_row(struct correlate_settings *s, const struct bench_correlate *c)
{
    struct bench_correlated result;
    if (bench_correlate(s->opened, c, &result) != STATUS_OK) {
        printf("%8u %4u %8u %9" PRIu64 " %s\n", c->stations, c->pols, c->channels, c->integrate,
               report_cause());
        report_clear();
        s->failed++;
        return;
    }
    bench_print_row(s, c, &result);
    s->failed += !result.is_right;
}

static status_t bench_all(struct correlate_settings *s)
{
    status_t st = STATUS_OK;
    struct backend_options options = {.device = s->shared.device, .local_size = 1};
    struct job all_cores = {0};
    s->shared.threads =
        s->shared.threads ? s->shared.threads : channelise_plan_threads(&all_cores, 1);
    TRY(csv_open(s->shared.csv, "w", heading, &s->csv));
    TRY(backend_open(backend_settle(s->shared.backend), &options, &s->opened));
    TRY(backend_measure_fma(s->opened, s->shared.threads, &s->flops));
    const char *device = backend_device(s->opened);
    printf("%s%s%s: %.3g TFLOP/s of multiply-adds in registers\n",
           backend_name(backend_which(s->opened)), *device ? ", " : "", device, 1e-12 * s->flops);
    printf("%8s %4s %8s %9s %9s %10s %10s %9s %9s %6s %9s\n", "stations", "pols", "channels",
           "integrate", "spectra", "ms", "crosses ms", "Gnum/s", "TFLOP/s", "share", "rms error");
    for (uint32_t i = 0; i < s->stations.count * s->channels.count * s->integrate.count; i++) {
        const uint32_t rest = i / s->integrate.count;
        const struct bench_correlate c = {
            .stations = (uint32_t)s->stations.values[rest / s->channels.count],
            .pols = s->pols,
            .channels = (uint32_t)s->channels.values[rest % s->channels.count],
            .integrate = s->integrate.values[i % s->integrate.count],
            .spectra = s->spectra,
            .is_turned = s->is_turned,
            .threads = s->shared.threads,
            .repeats = s->shared.repeats};
        bench_row(s, &c);
    }
    REQUIRE(s->failed == 0, STATUS_DEVICE, "bench: %u %s failed", s->failed,
            units_plural(s->failed, "row", "rows"));
out:
    return st;
}

#define AT(field) offsetof(struct correlate_settings, field)

static const struct option_row rows[] = {
    {.name = "backend"},
    {.name = "device"},
    {"stations", "LIST", value_list, AT(stations), "1..4096", "37,64,128", "stations"},
    {"pols", "N", value_u32, AT(pols), "1..2", "2", "polarisations of a station: 1 or 2"},
    {"channels", "LIST", value_list, AT(channels), "1..1048576", "512", "channels of a spectrum"},
    {"integrate", "LIST", value_list, AT(integrate), "1..1073741824", "1024",
     "spectra that are summed"},
    {"spectra", "COUNT", value_u64, AT(spectra), "1..1073741824", NULL,
     "spectra of a run (default: those of one sum)"},
    {"turns", NULL, value_flag, AT(is_turned), NULL, NULL,
     "rotates each station's spectra by a phase that changes from spectrum to spectrum"},
    {.name = "repeat"},
    {.name = "threads"},
    {.name = "csv"},
    {.name = NULL}};

static status_t bench_run(void *settings)
{
    struct correlate_settings *s = settings;
    status_t st = bench_all(s);
    backend_close(s->opened);
    return csv_close(&s->csv, st);
}

const struct command cli_bench_correlate = {
    .name = "bench correlate",
    .summary = "time the correlation on this machine, and check it",
    .usage = "[OPTION]...",
    .about =
        "Times the correlation of all pairs of stations alone, on random spectra, and compares "
        "some of its sums with the reference's; a row whose result is wrong says FAILED. "
        "TFLOP/s count eight operations for each product of each pair, those of a station with "
        "itself too; the share is that of multiply-adds in registers alone, measured on the "
        "same device or threads. Times are a device's own without transfers. Lists are written "
        "37,64 or 4..256 (doubling).",
    .rows = rows,
    .bytes = sizeof(struct correlate_settings),
    .run = bench_run};
